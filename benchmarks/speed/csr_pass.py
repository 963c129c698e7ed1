"""One pass over a CSR matrix, with and without a covariance; one row at a time."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from benchmarks.harness import Table, benchmark, in_turn, middle, ratio, size
from crossview import (
    AROWClassifier,
    MultiView,
    MultiViewMachineClassifier,
    MultiViewPAClassifier,
    OnlineStackingClassifier,
    PAMClassifier,
    PassiveAggressiveClassifier,
)

PAGE = "docs/benchmarks.md"
ROWS, COLUMNS, PER_ROW = size(200_000, 2_000), size(1_000_000, 10_000), 100
PLAIN: dict[str, Any] = {"fit_intercept": False, "random_state": 0}
# scikit-learn's PA-I
PA1: dict[str, Any] = {
    "loss": "hinge",
    "penalty": None,
    "learning_rate": "pa1",
    "eta0": 1.0,
    "max_iter": 1,
    "tol": None,
    "random_state": 0,
}


def sparse_rows(rows: int = ROWS, columns: int = COLUMNS, per_row: int = PER_ROW) -> tuple:
    """Rows of length 1 with places that are drawn at random, and labels by a linear model."""
    rng = np.random.default_rng(0)
    places = np.sort(rng.integers(0, columns, (rows, per_row), dtype=np.int32), axis=1)
    indptr = np.arange(rows + 1, dtype=np.int32) * per_row
    values = np.full(places.size, per_row**-0.5)
    X = sp.csr_array((values, places.ravel(), indptr), shape=(rows, columns))
    X.sum_duplicates()
    return X, (X @ rng.normal(size=columns) + 0.3 * rng.normal(size=rows) > 0).astype(int)


@benchmark(PAGE)
def csr_pass() -> list[Table]:
    """Against scikit-learn's PA-I, two coupled views against one, and other types of values."""
    X, y = sparse_rows()
    half, tables = [COLUMNS // 2, COLUMNS // 2], []
    for shuffle, order in ((False, "rows in file order"), (True, "rows in random order")):
        peer = SGDClassifier(**PA1, fit_intercept=False, shuffle=shuffle)
        learners = {"peer": peer, "ours": PassiveAggressiveClassifier(**PLAIN, shuffle=shuffle)}
        for coupling in ("concatenated", "squared", "absolute", "independent"):
            learners[coupling] = MultiViewPAClassifier(
                half, coupling=coupling, shuffle=shuffle, **PLAIN
            )
        tasks = {name: partial(learner.fit, X, y) for name, learner in learners.items()}
        s = in_turn(tasks, 11)
        apart = np.abs(peer.coef_ - learners["ours"].coef_).max()
        table = Table(["learner", "seconds", "ratio"], title=order)
        table.add(
            "`PassiveAggressiveClassifier`",
            f"{middle(s['ours']):.3f}",
            f"{ratio(s['peer'], s['ours'])} times as fast as `SGDClassifier` "
            f"({middle(s['peer']):.3f} s)"
            + f"; largest difference between weights {apart:.0e}"
            * (not shuffle),
        )
        for name in ("squared", "absolute", "independent"):
            table.add(
                f"two views, {name}",
                f"{middle(s[name]):.3f}",
                f"{ratio(s[name], s['concatenated'])} times the cost of the concatenation "
                f"({middle(s['concatenated']):.3f} s)",
            )
        tables.append(table)
    return [*tables, types_of_values(X, y)]


def types_of_values(X: sp.csr_array, y: np.ndarray) -> Table:
    """Rows whose values and indices are of other types, against float64 and int32."""
    forms = {"float64": X, "float32": X.astype(np.float32)}
    forms["float64, indices of int64"] = long = X.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    table = Table(["values", "order", "seconds", "ratio", "MB"], title="other types")
    for shuffle, order in ((False, "of the file"), (True, "random")):
        learner = PassiveAggressiveClassifier(**PLAIN, shuffle=shuffle)
        tasks = {name: partial(learner.fit, rows, y) for name, rows in forms.items()}
        s = in_turn(tasks, 11)
        for name, task in tasks.items():
            tracemalloc.start()
            task()
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            against = f"{ratio(s[name], s['float64'])} times the time of float64"
            against = against if name != "float64" else ""
            table.add(name, order, f"{middle(s[name]):.3f}", against, f"{most / 1e6:.0f}")
    return table


# --- a covariance -----------------------------------------------------------------------


def random_rows(count: int, columns: int, per_row: int | None = None) -> tuple:
    """Rows of length about 1 with labels of no pattern, so that nearly all cause an update."""
    rng = np.random.default_rng(0)
    if per_row is not None:
        return sparse_rows(count, columns, per_row)[0], rng.integers(0, 2, count)
    return rng.normal(size=(count, columns)) / columns**0.5, rng.integers(0, 2, count)


def numpy_pam(X: np.ndarray, y: np.ndarray) -> tuple[int, np.ndarray]:
    """PAM-II without intercept, as one writes it with NumPy; updates and weights."""
    w, S, updates = np.zeros(X.shape[1]), np.eye(X.shape[1]), 0
    for x, sign in zip(X, np.where(y == 1, 1.0, -1.0), strict=True):
        loss = 1.0 - sign * (w @ x)
        if loss > 0.0:
            g = S @ x
            n = x @ g
            w += loss / (n + 0.5) * sign * g
            S -= np.outer(g, g) / (1.0 + n)
            updates += 1
    return updates, w


def pam(X: Any, y: np.ndarray, form: str, rank: int = 1) -> PAMClassifier:
    model = PAMClassifier(covariance=form, rank=rank, fit_intercept=False)
    return model.partial_fit(X, y, classes=[0, 1])


def against_numpy(d: int = 300, count: int = size(1000, 50)) -> list[str]:
    X, y = random_rows(count, d)
    s = in_turn({"numpy": lambda: numpy_pam(X, y), "ours": lambda: pam(X, y, "full")})
    updates, w = numpy_pam(X, y)
    apart = np.abs(pam(X, y, "full").coef_[0] - w).max()
    return [
        f"full, {d} columns",
        f"{1e6 * middle(s['ours']) / updates:.0f} µs per step",
        f"{ratio(s['numpy'], s['ours'])} times as fast as NumPy "
        f"({1e6 * middle(s['numpy']) / updates:.0f} µs); largest difference between weights "
        f"{apart:.0e}",
    ]


def low_rank(per_row: int | None) -> list[str]:
    columns, count = size((3000, 1000), (300, 100))
    X, y = random_rows(count, columns, per_row)
    forms = {"full": lambda: pam(X, y, "full"), "low": lambda: pam(X, y, "low-rank", count)}
    s = in_turn(forms, 3)
    kind = f"{per_row} entries per row" if per_row else "dense rows"
    times = f"{ratio(s['full'], s['low'])} times as fast as full ({middle(s['full']):.2f} s)"
    name = f"low-rank, {columns:,} columns, {count:,} rows, {kind}"
    return [name, f"{middle(s['low']):.2f} s", times]


@benchmark(PAGE)
def covariance() -> list[Table]:
    """Full against NumPy, low-rank against full, diagonal against PA-I."""
    table = Table(["form", "time", "ratio"])
    for cells in (against_numpy(), low_rank(60), low_rank(None)):
        table.add(*cells)
    X, y = sparse_rows()
    for shuffle, order in ((False, "in file order"), (True, "in random order")):
        given = {**PLAIN, "shuffle": shuffle}
        s = in_turn(
            {
                "PA-I": partial(PassiveAggressiveClassifier(**given).fit, X, y),
                "AROW": partial(AROWClassifier(covariance="diagonal", **given).fit, X, y),
            },
            11,
        )
        table.add(
            f"diagonal AROW, {ROWS:,} rows x {COLUMNS:,} columns, {order}",
            f"{middle(s['AROW']):.3f} s",
            f"{ratio(s['AROW'], s['PA-I'])} times the cost of PA-I ({middle(s['PA-I']):.3f} s)",
        )
    return [table]


# --- one row ------------------------------------------------------------------------------

ONE_BY_ONE = (
    *(PassiveAggressiveClassifier, AROWClassifier, MultiViewMachineClassifier),
    OnlineStackingClassifier,
)


def rows_in_containers(rows: int = 300, columns: int = 100_000, entries: int = 24) -> dict:
    """Return the same kind of rows in all containers; a mapping has 16 features."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(rows, 100))
    sparse = sp.random_array((rows, columns), density=entries / columns, rng=rng, format="csr")
    half = columns // 2
    return {
        "array of 100": dense,
        f"sparse row, {entries} entries": sparse,
        "MultiView of it": MultiView({"a": sparse[:, :half], "b": sparse[:, half:]}),
        "mapping of 16 features": [
            {"user": dict(enumerate(x[:8])), "ad": dict(enumerate(x[8:]))}
            for x in dense[:, :16].tolist()
        ],
    }


def microseconds(call: Callable[..., object], *given: object) -> float:
    """Return the processor time of one call, the median of five times 200."""
    call(*given)
    found, calls = [], size(200, 5)
    for _ in range(5):
        start = time.process_time()
        for _ in range(calls):
            call(*given)
        found.append((time.process_time() - start) / calls * 1e6)
    return middle(found)


@benchmark(PAGE)
def single_rows() -> list[Table]:
    """How long a learner takes to predict, and to learn, a single row in each container."""
    containers = rows_in_containers()
    table = Table(["µs to predict, to learn", *containers])
    for kind in ONE_BY_ONE:
        cells = []
        for X in containers.values():
            model = kind()
            if isinstance(X, list):
                for i, x in enumerate(X):
                    model.learn_one(x, i % 2)
                row = X[0]
            else:
                model.partial_fit(X, np.arange(X.shape[0]) % 2, classes=[0, 1])
                row = X[0] if isinstance(X, np.ndarray) else X[0:1]
            times = microseconds(model.predict_one, row), microseconds(model.learn_one, row, 1)
            cells.append(", ".join(f"{each:.0f}" for each in times))
        table.add(f"`{kind.__name__}`", *cells)
    return [table]
