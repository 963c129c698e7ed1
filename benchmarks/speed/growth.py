"""Time and memory by columns, and comparisons by two workers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.harness import Table, apart, benchmark, in_turn, loaded, middle, ratio, size

PAGE = "docs/benchmarks.md"
COLUMNS = size((1_000, 10_000, 100_000, 1_000_000, 10_000_000), (1_000,))
ROWS = size(200_000, 2_000)
MODELS = ("pa:squared", "arow:diagonal", "mvm")


def learners(columns: int) -> dict[str, Any]:
    """The learners of the table by columns."""
    from sklearn.linear_model import SGDClassifier

    import crossview
    from benchmarks.speed.csr_pass import PA1

    half = [columns // 2, columns // 2]
    plain: dict[str, Any] = {"shuffle": False, "calibration": "none"}
    once: dict[str, Any] = {"n_epochs": 1, "early_stopping": False, **plain}
    return {
        "PA-I, two views coupled": crossview.MultiViewPAClassifier(half, **plain),
        "AROW, diagonal": crossview.AROWClassifier(covariance="diagonal", **plain),
        "multi-view machine, k = 8": crossview.MultiViewMachineClassifier(
            half, n_factors=8, **once
        ),
        "scikit-learn's PA-I": SGDClassifier(**PA1, shuffle=False),
    }


def fit_once(name: str, columns: int) -> float:
    """Fit a learner; return the seconds of the second fit."""
    from benchmarks.speed.csr_pass import sparse_rows

    X, y = sparse_rows(ROWS, columns)
    learner = learners(columns)[name].fit(X[:100], y[:100])
    began = time.perf_counter()
    learner.fit(X, y)
    return time.perf_counter() - began


@benchmark(PAGE)
def growth() -> list[Table]:
    """One fit on more and more columns, in a process of its own."""
    table = Table(["", "", *(f"{columns:,}" for columns in COLUMNS)])
    for name in learners(10):
        done = [[apart(fit_once, name, n) for _ in range(size(3, 1))] for n in COLUMNS]
        table.add(name, "s", *(f"{middle([s for s, _ in each]):.2f}" for each in done))
        table.add("", "MB", *(f"{max(peak for _, peak in each):.0f}" for each in done))
    return [table]


# --- comparisons by two workers ---------------------------------------------------------------

COMPARED = ["pa:squared", "pa:absolute", "scw:diagonal", "mvm", "linear", "fm"]
COMPARED = size([*COMPARED, "logistic-regression"], COMPARED[:2])


def thorough(X: Any, y: np.ndarray, n_jobs: int) -> list[float]:
    """The values of a comparison in which nothing is left out."""
    from crossview import compare

    given = {"budget": None, "curve": False, "models": COMPARED, "n_jobs": n_jobs}
    return [row.value for row in compare(X, y, **given).rows]


def numbers() -> pa.Table:
    """100,000 rows of 30 numbers."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(size(100_000, 500), 30)), rng.normal(size=30)
    score = X @ w + 2.0 * np.sin(2.0 * X[:, 0]) + 3.0 * rng.normal(size=len(X))
    views = {f"{'ab'[c >= 15]}__{c}": X[:, c] for c in range(30)}
    return pa.table({**views, "label": np.where(score > 0.0, "yes", "no")})


def texts() -> pa.Table:
    """10,000 rows of four texts of 40 words."""
    rng = np.random.default_rng(1)
    y, words = rng.integers(0, 2, size(10_000, 500)), np.array([f"w{i}" for i in range(30_000)])
    p = np.arange(1.0, len(words) + 1.0) ** -0.9
    columns: dict[str, Any] = {}
    for v in range(4):
        drawn = rng.choice(len(words), (len(y), 40), p=p / p.sum())
        drawn[y == 1, :3] = rng.choice(200, (y.sum(), 3))
        columns[f"{'abcd'[v]}__text"] = [" ".join(row) for row in words[drawn]]
    return pa.table({**columns, "label": np.where(y == 1, "yes", "no")})


def used_memory(pid: int) -> float:
    """MB of a process and all that it has started; what they share counts once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        own = sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1.024e-3
        started = [one.read_text().split() for one in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:  # it has ended
        return 0.0
    return own + sum(used_memory(int(child)) for children in started for child in children)


@benchmark(PAGE)
def workers() -> list[Table]:
    """One worker, two, and two comparisons at once; and the peak memory of default comparisons."""
    from joblib import Parallel, delayed

    from benchmarks import data

    speed = Table(["table", "one worker", "two workers", "ratio", "at most"])
    for name, (X, y, _) in loaded(data.tables("internet_ads"), []):
        assert thorough(X, y, 1) == thorough(X, y, 2)
        one, two = partial(thorough, X, y, 1), partial(thorough, X, y, 2)
        seconds = in_turn({"one": one, "two": two}, 3)
        # apart: joblib starts its workers anew for other options, which is not what is measured
        both = partial(Parallel(2), [delayed(thorough)(X, y, 1)] * 2)
        limit = in_turn({"one": one, "both": both}, 3)
        speed.add(
            f"{name}, {len(y):,} rows, {len(COMPARED)} models",
            f"{middle(seconds['one']):.1f} s",
            f"{middle(seconds['two']):.1f} s",
            ratio(seconds["one"], seconds["two"]),
            ratio([2 * s for s in limit["one"]], limit["both"]),
        )
    peaks = Table(["default comparison", "time", "peak memory"])
    four = texts()
    one = pc.binary_join_element_wise(four["a__text"], four["b__text"], " ")
    tables = {
        "100,000 x 30 numbers": numbers(),
        "10,000 x 4 texts of 40 words": four,
        "10,000 x 1 text of 80 words": pa.table({"text": one, "label": four["label"]}),
    }
    for words, table in tables.items():
        with tempfile.TemporaryDirectory() as folder:
            pq.write_table(table, Path(folder, "rows.parquet"))
            text = [f"--text={name}" for name in table.column_names if "text" in name]
            command = [sys.executable, "-m", "crossview", "compare", "rows.parquet", *text]
            command += ["--label", "label", "--jobs", "2", *size([], ["--budget", "5s"])]
            start, peak = time.perf_counter(), 0.0
            process = subprocess.Popen(
                command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            while process.poll() is None:
                peak = max(peak, used_memory(process.pid))
                time.sleep(0.1)
            assert process.returncode == 0
            peaks.add(words, f"{time.perf_counter() - start:.0f} s", f"{peak:,.0f} MB")
    return [speed, peaks]
