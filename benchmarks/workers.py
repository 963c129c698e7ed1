"""Comparisons by two workers: how much faster than by one, and how much memory.

python benchmarks/workers.py
python benchmarks/workers.py --only internet_ads,memory
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from joblib import Parallel, delayed
from sklearn.datasets import load_digits

from crossview import MultiView, compare
from harness import in_turn, middle, ratio, table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import shared_data

# as many rows of a9a
ROWS = 10_000
COUPLED = ["pa:squared", "pa:absolute", "scw:diagonal", "mvm", "linear"]


def internet_ads() -> tuple[MultiView, np.ndarray, list[str]]:
    """1,966 advertisements: 1,554 words in five views."""
    found = shared_data.fetch("internet_ads")
    X = found.data.select(["url", "origurl", "ancurl", "alt", "caption"])
    return X, found.target == "ad", [*COUPLED, "fm", "baseline:logistic-regression"]


def digits() -> tuple[MultiView, np.ndarray, list[str]]:
    """1,797 digits: the upper and the lower half of 64 pixels, ten classes."""
    X, y = load_digits(return_X_y=True)
    views = {"upper": X[:, :32] / 16.0, "lower": X[:, 32:] / 16.0}
    return MultiView(views), y, [*COUPLED, "pam"]


def a9a() -> tuple[MultiView, np.ndarray, list[str]]:
    """10,000 people: two halves of 123 binary columns."""
    import reproduction_intercept

    X, y = reproduction_intercept.a9a()
    return X[:ROWS], y[:ROWS], [*COUPLED, "pam", "fm", "baseline:logistic-regression"]


TABLES = {one.__name__: one for one in (internet_ads, digits, a9a)}


def thorough(data: Any, n_jobs: int) -> list[float]:
    """The values of a comparison in which nothing is left out."""
    X, y, models = data
    given = {"budget": None, "curve": False, "models": models, "n_jobs": n_jobs}
    return [row.value for row in compare(X, y, **given).rows]


def speed(names: list[str], repeats: int) -> str:
    """One worker, two workers, and two comparisons at once, each by one worker."""
    lines = []
    for name in names:
        data = TABLES[name]()
        assert thorough(data, 1) == thorough(data, 2)
        one, two = partial(thorough, data, 1), partial(thorough, data, 2)
        seconds = in_turn({"one": one, "two": two}, repeats)
        # apart: joblib starts its workers anew for other options, which is not what is measured
        both = partial(Parallel(2), [delayed(thorough)(data, 1)] * 2)
        limit = in_turn({"one": one, "both": both}, repeats)
        lines.append(
            [
                f"{name}, {len(data[1]):,} rows, {len(data[2])} models",
                f"{middle(seconds['one']):.1f} s",
                f"{middle(seconds['two']):.1f} s",
                ratio(seconds["one"], seconds["two"]),
                ratio([2 * seconds for seconds in limit["one"]], limit["both"]),
            ]
        )
    return table(["table", "one worker", "two workers", "ratio", "at most"], lines)


def numbers() -> pa.Table:
    """100,000 rows of 30 numbers."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(100_000, 30)), rng.normal(size=30)
    score = X @ w + 2.0 * np.sin(2.0 * X[:, 0]) + 3.0 * rng.normal(size=len(X))
    views = {f"{'ab'[c >= 15]}__{c}": X[:, c] for c in range(30)}
    return pa.table({**views, "label": np.where(score > 0.0, "yes", "no")})


def texts() -> pa.Table:
    """10,000 rows of four texts of 40 words."""
    rng = np.random.default_rng(1)
    y, words = rng.integers(0, 2, 10_000), np.array([f"w{i}" for i in range(30_000)])
    p = np.arange(1.0, len(words) + 1.0) ** -0.9
    columns: dict[str, Any] = {}
    for v in range(4):
        drawn = rng.choice(len(words), (len(y), 40), p=p / p.sum())
        drawn[y == 1, :3] = rng.choice(200, (y.sum(), 3))
        columns[f"{'abcd'[v]}__text"] = [" ".join(row) for row in words[drawn]]
    return pa.table({**columns, "label": np.where(y == 1, "yes", "no")})


def processes(pid: int) -> list[int]:
    """A process, and all that it has started."""
    found = [pid]
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            found += processes(int(child))
    return found


def used_memory(pid: int) -> float:
    """MB of a process and all that it has started; what they share counts once."""
    kilobytes = 0
    for one in processes(pid):
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        except OSError:  # it has ended
            continue
        kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return 1.024e-3 * kilobytes


def memory() -> str:
    """Peak memory of a default comparison by two workers."""
    lines = []
    for words, make in (("100,000 x 30 numbers", numbers), ("10,000 x 4 texts", texts)):
        with tempfile.TemporaryDirectory() as folder:
            pq.write_table(make(), Path(folder, "rows.parquet"))
            text = ["--text", "*__text"] if make is texts else []
            command = [sys.executable, "-m", "crossview", "compare", "rows.parquet", *text]
            command += ["--label", "label", "--jobs", "2"]
            start, peak = time.perf_counter(), 0.0
            process = subprocess.Popen(
                command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            while process.poll() is None:
                peak = max(peak, used_memory(process.pid))
                time.sleep(0.1)
            assert process.returncode == 0
            lines.append([words, f"{time.perf_counter() - start:.0f} s", f"{peak:,.0f} MB"])
    return table(["default comparison", "time", "peak memory"], lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join([*TABLES, "memory"]))
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    wanted = options.only.split(",")
    parts = []
    if names := [name for name in TABLES if name in wanted]:
        parts.append(speed(names, options.repeats))
    if "memory" in wanted:
        parts.append(memory())
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
