"""How time and memory grow with rows and with columns, and rows/s against cores and workers.

python benchmarks/growth.py
python benchmarks/growth.py --figure docs/figures/cores.svg   # and a picture of the last table

Each line is a process of its own: whole processes of the command line against Vowpal Wabbit's for
rows, and one `fit` on a matrix for columns.  A core is one that a process is bound to; a worker is
a process of a Dask cluster, bound to a core of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import stream
from harness import middle, ratio, run, table

GROWING_ROWS = (100_000, 1_000_000, 10_000_000)
GROWING_COLUMNS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
ROWS, PER_ROW = 200_000, 100
MODELS = ("pa:squared", "arow:diagonal", "mvm")
BIN = Path(sys.executable).parent


def train(model: str, file: Path, output: Path, *more: str) -> list[str | Path]:
    """The command that trains in the order of the file."""
    given = ["--label", "click", "--model", model, "--in-order", "-o", output]
    return [BIN / "crossview", "train", file, *given, *more]


def vowpal_wabbit(file: Path, output: Path) -> list[str | Path]:
    """The same by Vowpal Wabbit."""
    given = ["--loss_function", "hinge", "-b", "20", "--quiet", "-f", output]
    return [sys.executable, "-m", "vowpalwabbit", "-d", file, *given]


def by_rows(folder: Path, repeats: int) -> str:
    """Whole processes on more and more rows."""
    lines, peaks = [], []
    for rows in GROWING_ROWS:
        with ProcessPoolExecutor(1) as other:  # its memory is not passed on
            parquet, text = other.submit(stream.write, folder, rows).result()
        tasks = {
            "ours": partial(run, train("pa:squared", parquet, folder / "model")),
            "theirs": partial(run, vowpal_wabbit(text, folder / "vw")),
        }
        for task in tasks.values():
            task()
        done = {name: [task() for _ in range(repeats)] for name, task in tasks.items()}
        seconds = {name: [one.seconds for one in each] for name, each in done.items()}
        peak = {name: max(one.peak_mb for one in each) for name, each in done.items()}
        lines.append(
            [
                f"{rows:,}",
                f"{middle(seconds['ours']):.2f}",
                f"{peak['ours']:.0f}",
                f"{middle(seconds['theirs']):.2f}",
                f"{peak['theirs']:.0f}",
                ratio(seconds["theirs"], seconds["ours"]),
            ]
        )
        peaks.append(peak["ours"])
        if rows > min(GROWING_ROWS):
            text.unlink()
    header = ["rows", "`train`, s", "MB", "Vowpal Wabbit, s", "MB", "times as fast"]
    few, many = GROWING_ROWS[0], GROWING_ROWS[-1]
    times = f"{peaks[-1] / peaks[0]:.2f} times that for {few:,}"
    seen = f"The memory of `train` for {many:,} rows is {times}."
    return f"{table(header, lines)}\n\n{seen}"


def learners(columns: int) -> dict[str, Any]:
    """The learners of the table by columns."""
    from sklearn.linear_model import SGDClassifier

    import crossview

    half = [columns // 2, columns // 2]
    plain: dict[str, Any] = {"shuffle": False, "calibration": "none"}
    once: dict[str, Any] = {"n_epochs": 1, "early_stopping": False, **plain}
    pa1: dict[str, Any] = {"loss": "hinge", "penalty": None, "learning_rate": "pa1", "eta0": 1.0}
    return {
        "PA-I, two views coupled": crossview.MultiViewPAClassifier(half, **plain),
        "AROW, diagonal": crossview.AROWClassifier(covariance="diagonal", **plain),
        "multi-view machine, k = 8": crossview.MultiViewMachineClassifier(
            half, n_factors=8, **once
        ),
        "scikit-learn's PA-I": SGDClassifier(**pa1, shuffle=False, max_iter=1, tol=None),
    }


def fit_once(name: str, columns: int) -> None:
    """Fit a learner, and print the seconds of the second fit, and the memory that it adds."""
    rng = np.random.default_rng(0)
    places = np.sort(rng.integers(0, columns, (ROWS, PER_ROW), dtype=np.int32), axis=1)
    indptr = np.arange(ROWS + 1, dtype=np.int32) * PER_ROW
    values = np.full(places.size, PER_ROW**-0.5)
    X = sp.csr_array((values, places.ravel(), indptr), shape=(ROWS, columns))
    X.sum_duplicates()
    y = (X @ rng.normal(size=columns) > 0).astype(int)
    learner = learners(columns)[name]
    learner.fit(X[:100], y[:100])
    began = time.perf_counter()
    learner.fit(X, y)
    print(time.perf_counter() - began)


def by_columns(repeats: int) -> str:
    """One fit on more and more columns."""
    lines = []
    for name in learners(10):
        seconds, peaks = [], []
        for columns in GROWING_COLUMNS:
            command = [sys.executable, __file__, "--fit", name, "--columns", str(columns)]
            done = [run(command) for _ in range(repeats)]
            seconds.append([float(one.output.split()[-1]) for one in done])
            peaks.append(max(one.peak_mb for one in done))
        for what, shown in (
            ("s", [f"{middle(s):.2f}" for s in seconds]),
            ("MB", [f"{peak:.0f}" for peak in peaks]),
        ):
            lines.append([name if what == "s" else "", what, *shown])
    return table(["", "", *(f"{columns:,}" for columns in GROWING_COLUMNS)], lines)


def on_cores(n: int, command: list[str | Path]) -> float:
    """The seconds of a command that is bound to some cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(before)[:n]))
    try:
        return run(command).seconds
    finally:
        os.sched_setaffinity(0, before)


def rates(folder: Path, rows: int, repeats: int) -> dict[str, dict[str, float]]:
    """Million rows/s of each model past the start, by cores and by workers."""
    import cluster

    n = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(1) as other:
        parquet, _ = other.submit(stream.write, folder, stream.ROWS).result()
        small, _ = other.submit(stream.write, folder, 200).result()
        write = partial(other.submit, cluster.write)
        parts = [write(folder / f"{f}.parquet", rows // 4, f + 1).result() for f in range(4)]
        few = [write(folder / f"few-{f}.parquet", cluster.GROUP, 9 + f).result() for f in range(n)]
    found: dict[str, dict[str, float]] = {model: {} for model in MODELS}
    for model in MODELS:
        for cores in (1, n):
            long, short = (train(model, file, folder / "model") for file in (parquet, small))
            on_cores(cores, long)
            past = [on_cores(cores, long) - on_cores(cores, short) for _ in range(repeats)]
            found[model][f"{cores} core{'s' * (cores > 1)}"] = stream.ROWS / middle(past) / 1e6
        for workers in (1, n):
            with cluster.cores(workers) as client:
                cluster.seconds(client, few, model, workers)
                took = [cluster.seconds(client, parts, model, workers)[0] for _ in range(repeats)]
            name = f"{workers} worker{'s' * (workers > 1)}"
            found[model][name] = rows / middle(took) / 1e6
    return found


def draw(found: dict[str, dict[str, float]], file: Path) -> None:
    """Draw the rates: one line per model, for cores and for workers."""
    import matplotlib.pyplot as plt

    from crossview.reporting.displays.style import COLORS, label_ends, styled

    highest = max(rate for by_place in found.values() for rate in by_place.values())
    with styled():
        figure, axes = plt.subplots(1, 2, figsize=(7.0, 2.8), sharey=True, layout="constrained")
        for ax, kind in zip(axes, ("core", "worker"), strict=True):
            own = {m: [v for k, v in r.items() if kind in k] for m, r in found.items()}
            x = [int(k.split()[0]) for k in found[MODELS[0]] if kind in k]
            for color, y in zip(COLORS, own.values(), strict=False):
                ax.plot(x, y, "o-", color=color, clip_on=False)
            ax.set(xlabel=f"{kind}s", xticks=x, xlim=(0.9, x[-1] + 0.1), ylim=(0, 1.1 * highest))
            ax.grid(axis="y")
            last = [y[-1] for y in own.values()]
            label_ends(ax, list(own), [x[-1]] * len(own), last, COLORS[: len(own)])
        axes[0].set(ylabel="million rows/s", title="One process")
        axes[1].set(title="A cluster, each worker on a core")
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, facecolor="white", metadata={"Date": None})
        plt.close(figure)


def by_cores(folder: Path, rows: int, repeats: int, figure: Path | None) -> str:
    """The rates as a table, and as a picture."""
    found = rates(folder, rows, repeats)
    if figure is not None:
        draw(found, figure)
    places = list(found[MODELS[0]])
    body = [
        [f"`{model}`", *(f"{by_place[p]:.2f}" for p in places)] for model, by_place in found.items()
    ]
    return table(["million rows/s", *places], body)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, help="folder to keep the generated files in")
    parser.add_argument("--rows", type=int, default=GROWING_ROWS[-1], help="those of the workers")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--fit")
    parser.add_argument("--columns", type=int)
    options = parser.parse_args()
    if options.fit:
        fit_once(options.fit, options.columns)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.data or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            parts = [by_rows(folder, options.repeats), by_columns(options.repeats)]
            parts.append(by_cores(folder, options.rows, options.repeats, options.figure))
            print("\n\n".join(parts))
