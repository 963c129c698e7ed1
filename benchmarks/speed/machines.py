"""Rows per second of multi-view machines: against factorized models of River, Vowpal Wabbit and
libffm, and how the cost grows with the factors, the features of a row and the views.

A stream of 24 one-hot features in three views, k = 8, one pass with AdaGrad, one core.  Ours is
a pass of the loop over rows in memory, Vowpal Wabbit's a whole process minus its start.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.harness import Table, benchmark, in_turn, middle, ratio, run, size, vowpal_wabbit
from benchmarks.speed.clicks import FIRST, VIEWS, draw, to_views
from crossview import MultiView
from crossview.algorithms import losses, optimizers
from crossview.algorithms.machines import init, online
from crossview.algorithms.machines.state import MULTI_VIEW, Machine, Objective
from crossview.batch import make_rows, read_only
from crossview.kernels.rows import Examples

ROWS, LESS = size((500_000, 200_000), (4_000, 2_000))
# rows for the fastest of the peers, for the slower ones, and for the slowest
MANY, FEW, FEWEST = size((100_000, 50_000, 1_000), (1_000, 500, 50))


def passes(X: MultiView, y: np.ndarray, k: int = 8) -> Callable[[], object]:
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
    given = machine, objective, online.Pace(optimizers.ADAGRAD, 0.1), scores
    return lambda: online.learn(rows, examples, *given)


# --- peers: seconds per row -----------------------------------------------------------------


def by_river(codes: np.ndarray, y: np.ndarray, folder: Path) -> float:
    """River's FMClassifier, which takes one mapping at a time."""
    from river import facto

    rows = [
        {f"{v}_{c}={code}": 1.0 for v, own in enumerate(row) for c, code in enumerate(own)}
        for row in codes.tolist()
    ]
    model = facto.FMClassifier(n_factors=8, seed=0)
    start = time.perf_counter()
    for row, label in zip(rows, y.tolist(), strict=True):
        model.learn_one(row, bool(label))
    return (time.perf_counter() - start) / len(rows)


def by_vowpal_wabbit(codes: np.ndarray, y: np.ndarray, folder: Path) -> float:
    """Vowpal Wabbit's --lrq over the three pairs of namespaces."""
    seconds = []
    pairs = ["--lrq", "ua8", "--lrq", "uq8", "--lrq", "aq8"]
    for rows in (len(y), 200):
        file = folder / f"{rows}.vw"
        with file.open("w") as out:
            for row, label in zip(codes[:rows].tolist(), y[:rows].tolist(), strict=True):
                views = zip(VIEWS, row, strict=True)
                names = [f"|{v} " + " ".join(f"{c}_{x}" for c, x in enumerate(o)) for v, o in views]
                out.write(f"{2 * label - 1} {' '.join(names)}\n")
        command = vowpal_wabbit(file, "--loss_function", "logistic", "-b", 22, *pairs)
        seconds.append(run(command).seconds)
    return (seconds[0] - seconds[1]) / (len(y) - 200)


def by_libffm(codes: np.ndarray, y: np.ndarray, folder: Path) -> float:
    """A field-aware machine, one field per view: eleven passes minus one, which reads the file."""

    def command(n: int) -> list[object]:
        given = ("-k", 8, "-r", 0.05, "-l", 1e-4, "-s", 1, "-t", n)
        return [shutil.which("ffm-train"), *given, file, f"{file}.model"]

    file = folder / "rows.ffm"
    if not file.exists():
        places = codes + FIRST[:-1] + (np.arange(len(VIEWS)) * FIRST[-1])[:, None]
        with file.open("w") as out:
            for row, label in zip(places.tolist(), y.tolist(), strict=True):
                names = (f"{v}:{i}:1" for v, own in enumerate(row) for i in own)
                out.write(f"{label} {' '.join(names)}\n")
        run(command(1), folder)  # converts the text once
    one, eleven = (run(command(n), folder).seconds for n in (1, 11))
    return (eleven - one) / 10 / len(y)


def against_peers() -> Table:
    codes, y = draw(ROWS)
    ours = [s / ROWS for s in in_turn({"": passes(to_views(codes), y)})[""]]
    peers = {
        "River `FMClassifier`": (by_river, FEWEST),
        "Vowpal Wabbit `--lrq` over three pairs": (by_vowpal_wabbit, FEW),
    }
    if shutil.which("ffm-train"):
        peers["libffm, single precision"] = (by_libffm, MANY)
    table = Table(["24 features in three views, k = 8", "rows/s", "times as fast"])
    table.add("multi-view machine", f"{1 / middle(ours):,.0f}", "")
    for name, (peer, rows) in peers.items():
        with tempfile.TemporaryDirectory() as folder:
            theirs = [peer(codes[:rows], y[:rows], Path(folder)) for _ in ours]
        table.add(name, f"{1 / middle(theirs):,.0f}", ratio(theirs, ours))
    return table


def scaling() -> Table:
    """Cost by k, by features per row and by views, each against the first of its kind."""
    table = Table(["varied", "value", "ns per row", "times the first"])
    rng = np.random.default_rng(0)
    codes, y = draw(LESS)

    def uniform(views: int, columns: int) -> MultiView:
        """Rows with so many columns of 1,000 values in so many views."""
        drawn = np.minimum(rng.zipf(1.3, (LESS, views, columns)) - 1, 999)
        return to_views(drawn, [1_000] * columns)

    X = to_views(codes)
    varied = {
        "factors": {k: passes(X, y, k) for k in (4, 8, 16, 32, 64)},
        "features per row": {3 * n: passes(uniform(3, n), y) for n in (2, 4, 8)},
        "views": {n: passes(uniform(n, 24 // n), y) for n in (2, 3, 4, 6, 8)},
    }
    for name, tasks in varied.items():
        seconds = in_turn(tasks, 5)
        base = next(iter(seconds.values()))
        for value, own in seconds.items():
            table.add(name, value, f"{1e9 * middle(own) / LESS:,.0f}", ratio(own, base))
    return table


@benchmark("docs/benchmarks.md")
def machines() -> list[Table]:
    """Against peers, and how the cost grows."""
    return [against_peers(), scaling()]
