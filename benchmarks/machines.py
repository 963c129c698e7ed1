"""Rows per second of multi-view machines: against factorized models of River, Vowpal Wabbit, libffm
and xLearn, and how the cost grows with the factors, the features of a row and the views.

A stream of 24 one-hot features in three views, k = 8, one pass with AdaGrad, one core.  Ours is
a pass of the loop over rows in memory, Vowpal Wabbit's a whole process minus its start.
"""

import importlib.util
import os
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numba
import numpy as np
import scipy.sparse as sp

from crossview import MultiView
from crossview.algorithms import losses, optimizers
from crossview.algorithms.machines import hogwild, init, online
from crossview.algorithms.machines.state import MULTI_VIEW, Examples, Machine, Objective
from crossview.batch import make_rows, read_only
from harness import in_turn, middle, ratio, run, table

ROWS, VIEWS = 500_000, ("user", "ad", "query")
CARDINALITY = [2, 5, 12, 40, 150, 1_000, 10_000, 100_000]
MANY = 100_000  # rows for the fastest of the peers
FEW = 50_000  # rows for the slower of the peers
FEWEST = 1_000  # and for the slowest


def stream(rows, cardinality=CARDINALITY, views=VIEWS, seed=0):
    """Codes (rows, views, columns per view), drawn with Zipf's frequencies, and labels."""
    rng = np.random.default_rng(seed)
    codes = np.stack(
        [
            np.stack([np.minimum(rng.zipf(1.3, rows) - 1, n - 1) for n in cardinality], axis=1)
            for _ in views
        ],
        axis=1,
    )
    score = sum(
        np.take(0.4 * rng.normal(size=n), codes[:, v, c])
        for v in range(len(views))
        for c, n in enumerate(cardinality)
    )
    return codes, (score + rng.logistic(size=rows) > 0).astype(int)


def to_views(codes, cardinality=CARDINALITY, views=VIEWS):
    """One sparse block per view."""
    rows, _, columns = codes.shape
    first = np.concatenate([[0], np.cumsum(cardinality)])
    blocks = {}
    for v, name in enumerate(views):
        places = (codes[:, v] + first[:-1]).astype(np.int32).ravel()
        indptr = np.arange(rows + 1, dtype=np.int32) * columns
        blocks[name] = sp.csr_array((np.ones(rows * columns), places, indptr), (rows, first[-1]))
    return MultiView(blocks)


def passes(X, y, k=8, learn=online.learn):
    """A function that makes one pass of the loop; the parameters stay from pass to pass."""
    views = X.layout.n_views
    machine = Machine(
        np.zeros((X.layout.n_columns, 2, k), dtype=np.float32),
        np.zeros((views, 2, k), dtype=np.float32),
        np.zeros((2, 1)),
        read_only(np.arange(views, dtype=np.uint64)),
        read_only(np.zeros(views, dtype=np.uint64)),
        read_only(np.array([views], dtype=np.uint64)),
        MULTI_VIEW,
        np.zeros(X.layout.n_columns, dtype=bool),
        read_only(init.part_keys(0, views)),
        read_only(np.full(views, 0.02)),
        read_only(np.arange(1, dtype=np.uint64)),
    )
    init.init_bias_rows(machine, 0.0)
    rows, scores = make_rows(X.matrix, X.layout), np.zeros((len(y), 1))
    target, weight = read_only(np.where(y == 1, 1.0, -1.0)), read_only(np.ones(len(y)))
    examples = Examples(read_only(np.arange(len(y))), target, weight)
    objective = Objective(losses.LOGISTIC, optimizers.L2, 1e-4, 0.0)
    given = machine, objective, optimizers.ADAGRAD, 0.1, scores
    return lambda: learn(rows, examples, *given)


@numba.njit(error_model="numpy")
def touch(values, lines):
    """Read and write lines of 64 bytes, as a step of the machine does, and nothing else."""
    for q in range(lines.shape[0]):
        for f in range(16):
            values[16 * lines[q] + f] += np.float32(1.0)


def memory(rows=200_000):
    """The pass by one thread and by two, against the memory alone, by the width of the table."""
    lines = []
    rng = np.random.default_rng(0)
    for name, width in (("Zipf", 0), ("uniform", 1_000), ("uniform", 50_000)):
        codes, y = stream(rows)
        widths = [width] * 8 if width else CARDINALITY
        if width:
            codes = rng.integers(0, width, size=codes.shape)
        X = to_views(codes, widths)
        first = np.arange(len(VIEWS))[:, None] * sum(widths) + np.cumsum([0, *widths[:-1]])
        places, values = (codes + first).reshape(-1), np.zeros(16 * X.layout.n_columns, np.float32)
        seconds = in_turn(
            {
                "one": passes(X, y),
                "two": passes(X, y, learn=partial(hogwild.learn, 2)),
                "memory": partial(touch, values, places),
            },
            7,
        )
        lines.append(
            [
                f"{name}, {X.layout.n_columns:,} columns, {values.nbytes / 1e6:.1f} MB",
                f"{rows / middle(seconds['one']) / 1e6:.2f}",
                ratio(seconds["one"], seconds["two"]),
                ratio(seconds["one"], seconds["memory"]),
            ]
        )
    header = ["columns of the rows", "million rows/s", "two threads, times as fast"]
    return table([*header, "time over that of its memory accesses alone"], lines)


def river_seconds(codes, y):
    """Seconds per row of River's FMClassifier, which takes one mapping at a time."""
    from river import facto

    rows = [
        {
            f"{name}{c}={value}": 1.0
            for name, own in zip(VIEWS, row, strict=True)
            for c, value in enumerate(own)
        }
        for row in codes.tolist()
    ]  # fmt: skip
    model = facto.FMClassifier(n_factors=8, seed=0)
    start = time.perf_counter()
    for row, label in zip(rows, y.tolist(), strict=True):
        model.learn_one(row, bool(label))
    return (time.perf_counter() - start) / len(rows)


def vw_seconds(codes, y, folder):
    """Seconds per row of Vowpal Wabbit's --lrq over the three pairs of namespaces."""
    files = []
    for rows in (len(y), 200):
        file = Path(folder) / f"{rows}.vw"
        lines = (
            f"{'1' if label else '-1'} "
            + " ".join(
                f"|{name} " + " ".join(f"{c}_{value}" for c, value in enumerate(own))
                for name, own in zip(VIEWS, row, strict=True)
            )
            for row, label in zip(codes[:rows].tolist(), y[:rows].tolist(), strict=True)
        )
        file.write_text("\n".join(lines) + "\n")
        files.append(file)
    pairs = ["--lrq", "ua8", "--lrq", "uq8", "--lrq", "aq8"]
    seconds = [
        run(
            [
                sys.executable,
                "-m",
                "vowpalwabbit",
                "-d",
                file,
                "--loss_function",
                "logistic",
                "-b",
                "22",
                "--quiet",
                *pairs,
            ]
        ).seconds
        for file in files
    ]  # fmt: skip
    return (seconds[0] - seconds[1]) / (len(y) - 200)


XLEARN = """
import sys, xlearn
machine = xlearn.create_ffm()
machine.setTrain(sys.argv[1])
machine.setQuiet()
machine.fit({"task": "binary", "k": 8, "lr": 0.05, "lambda": 1e-4, "nthread": 1,
             "epoch": int(sys.argv[2])}, sys.argv[1] + ".model")
"""


def ffm_file(codes, y, folder):
    """The rows for field-aware machines, one field per view."""
    file = Path(folder) / "rows.ffm"
    if not file.exists():
        first = np.concatenate([[0], np.cumsum(CARDINALITY)])
        places = codes + first[:-1] + (np.arange(len(VIEWS)) * first[-1])[:, None]
        file.write_text(
            "".join(
                f"{label} "
                + " ".join(f"{v}:{i}:1" for v, own in enumerate(row) for i in own)
                + "\n"
                for row, label in zip(places.tolist(), y.tolist(), strict=True)
            )
        )
    return file


def eleven_minus_one(command, folder):
    """Seconds of one pass: those of eleven passes minus those of one, which reads the file too."""
    one, eleven = (run(command(n), folder).seconds for n in (1, 11))
    return (eleven - one) / 10


def libffm_seconds(codes, y, folder):
    """Seconds per row and pass of libffm on one core."""
    file = ffm_file(codes, y, folder)

    def command(passes):
        given = ("-k", 8, "-r", 0.05, "-l", 1e-4, "-s", 1, "-t", passes)
        return [shutil.which("ffm-train"), *given, file, f"{file}.model"]

    if not Path(f"{file}.bin").exists():
        run(command(1), folder)  # converts the text once
    return eleven_minus_one(command, folder) / len(y)


def xlearn_seconds(codes, y, folder):
    """Seconds per row and pass of xLearn's field-aware machine on one core."""
    file = ffm_file(codes, y, folder)
    os.environ.setdefault("USER", "nobody")  # it asks for the name, and stops without one
    return eleven_minus_one(lambda n: [sys.executable, "-c", XLEARN, file, n], folder) / len(y)


def peers():
    codes, y = stream(ROWS)
    seconds = in_turn({"ours": passes(to_views(codes), y)}, 7)["ours"]
    ours = [s / ROWS for s in seconds]
    with tempfile.TemporaryDirectory() as folder:
        theirs = {
            "River `FMClassifier`": [river_seconds(codes[:FEWEST], y[:FEWEST]) for _ in ours],
            "Vowpal Wabbit `--lrq` over three pairs": [
                vw_seconds(codes[:FEW], y[:FEW], folder) for _ in ours
            ],
        }
        if shutil.which("ffm-train"):
            theirs["libffm, single precision"] = [
                libffm_seconds(codes[:MANY], y[:MANY], folder) for _ in ours
            ]
        if importlib.util.find_spec("xlearn"):
            theirs["xLearn's field-aware machine, single precision"] = [
                xlearn_seconds(codes[:MANY], y[:MANY], folder) for _ in ours
            ]
    lines = [["multi-view machine", f"{1 / middle(ours):,.0f}", ""]]
    lines += [[name, f"{1 / middle(s):,.0f}", f"{ratio(s, ours)}"] for name, s in theirs.items()]
    return table(["24 features in three views, k = 8", "rows/s", "times as fast"], lines)


def scaling(rows=200_000):
    """Cost by k, by features per row and by views, each against the first of its kind."""
    lines = []

    def add(name, values, tasks):
        seconds = in_turn(dict(zip(values, tasks, strict=True)), 5)
        base = seconds[values[0]]
        for value in values:
            each = 1e9 * middle(seconds[value]) / rows
            lines.append([name, value, f"{each:,.0f}", ratio(seconds[value], base)])

    codes, y = stream(rows)
    X = to_views(codes)
    add("factors", [4, 8, 16, 32, 64], [passes(X, y, k) for k in (4, 8, 16, 32, 64)])
    data = []
    for many in (1, 2, 4):  # 3, 6, 12, 24 features per row in the same three views
        sizes = [1_000] * (2 * many)
        data.append(to_views(stream(rows, sizes)[0], sizes))
    add("features per row", [6, 12, 24], [passes(X, y) for X in data])
    data, counts = [], [2, 3, 4, 6, 8]
    for count in counts:  # 24 features per row, in more and more views
        names, sizes = [f"v{i}" for i in range(count)], [1_000] * (24 // count)
        data.append(to_views(stream(rows, sizes, names)[0], sizes, names))
    add("views", counts, [passes(X, y) for X in data])
    return table(["varied", "value", "ns per row", "times the first"], lines)


if __name__ == "__main__":
    print("\n\n".join([peers(), scaling(), memory()]))
