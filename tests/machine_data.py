"""Machines with random parameters, rows for them, and calls of their loops."""

import numpy as np

from crossview.algorithms import losses, optimizers
from crossview.algorithms.machines import online, scores
from crossview.algorithms.machines.state import (
    ALL_ORDERS,
    ALL_PAIRS,
    CROSS_ORDERS,
    CROSS_PAIRS,
    MULTI_VIEW,
    TENSOR,
    Machine,
    Objective,
)
from crossview.batch import make_rows, read_only
from crossview.kernels.rows import Examples
from crossview.views import ViewLayout
from reference import machines as reference

MODELS = {
    "multi-view": MULTI_VIEW,
    "cross": CROSS_PAIRS,
    "all": ALL_PAIRS,
    "tensor": TENSOR,
    "cross orders": CROSS_ORDERS,
    "all orders": ALL_ORDERS,
}
ORDER = 4  # of the last two
LOSSES = {
    "squared": losses.SQUARED,
    "huber": losses.HUBER,
    "logistic": losses.LOGISTIC,
    "hinge": losses.HINGE,
    "softmax": losses.SOFTMAX,
}
PENALTIES = {"l2": optimizers.L2, "l1": optimizers.L1}
OPTIMIZERS = {"sgd": optimizers.SGD, "adagrad": optimizers.ADAGRAD}


def problem(widths, rows=30, kind="logistic", classes=1, seed=0):
    """Rows with an empty one, a duplicate and a constant column, and labels for a loss."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, sum(widths))) * (rng.random((rows, sum(widths))) < 0.6)
    X[2] = 0.0
    X[3] = X[1]
    X[:, 0] = 1.0
    if classes > 1:
        return X, rng.integers(classes, size=rows).astype(float)
    if kind in ("squared", "huber"):
        return X, 2.0 * rng.normal(size=rows)
    return X, rng.choice([-1.0, 1.0], size=rows)


def unsigned(values):
    return read_only(np.asarray(values).astype(np.int64).view(np.uint64))


def make_machine(widths, k, *, groups=None, classes=1, model=MULTI_VIEW, seed=0, layers=1):
    """A machine with random parameters, and a copy of them for the reference."""
    rng = np.random.default_rng(seed)
    k = 1 if model == TENSOR else k
    ptr = np.cumsum([0, *widths])
    groups = [range(len(widths))] if groups is None else groups
    tables = [{v: rng.normal(size=(widths[v] + 1, classes, k)) for v in g} for g in groups]
    parts = [(v, A) for group in tables for v, A in group.items()]
    for _, A in parts:
        A[-1] *= model == MULTI_VIEW
    slots = np.cumsum([0, *(widths[v] for v, _ in parts)])
    intercept = rng.normal(size=classes)

    def room(value, axis):
        return np.stack([value, np.zeros_like(value)][:layers], axis=axis)

    machine = Machine(
        A=room(np.concatenate([A[:-1].reshape(-1, classes * k) for _, A in parts]), 1),
        B=room(np.stack([A[-1].reshape(-1) for _, A in parts]), 1),
        c=room(intercept, 0),
        views=unsigned([v for v, _ in parts]),
        column_offset=unsigned([s - ptr[v] for s, (v, _) in zip(slots, parts, strict=False)]),
        ends=unsigned(np.cumsum([len(g) for g in groups])),
        model=model,
        seen=np.ones(slots[-1], dtype=bool),
        keys=unsigned(np.zeros(len(parts))),
        sizes=read_only(np.zeros(len(parts))),
        class_ids=unsigned(np.arange(classes)),
        order=ORDER if model in (CROSS_ORDERS, ALL_ORDERS) else 2,
    )
    return machine, tables, intercept.copy()


def rows_of(X, widths):
    return make_rows(X, ViewLayout([f"v{v}" for v in range(len(widths))], widths))


def views_of(x, widths):
    return np.split(x, np.cumsum(widths)[:-1])


def frozen(machine):
    return machine._replace(
        **{name: read_only(getattr(machine, name)) for name in ("A", "B", "c", "seen")}
    )


def scores_of(X, widths, machine):
    found = np.empty((X.shape[0], machine.c.shape[1]))
    rows, order = rows_of(X, widths), read_only(np.arange(len(found)))
    scores.score_rows(rows, order, frozen(machine), found)
    return found


def expected_scores(X, widths, machine, tables):
    """By enumeration."""
    found, c = [], machine.c[0]
    for row in X:
        x = views_of(row, widths)
        if machine.model == MULTI_VIEW:
            found.append(reference.score(x, tables, c))
            continue
        A = [table[:-1] for table in tables[0].values()]
        if machine.model == TENSOR:
            found.append(reference.tensor_score(x, A, c))
        else:
            across = machine.model in (CROSS_PAIRS, CROSS_ORDERS)
            found.append(reference.pairs_score(x, A, c, across, machine.order))
    return np.array(found)


def examples_of(y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return Examples(read_only(np.arange(len(y))), read_only(y), read_only(weight))


def objective_of(kind, penal="l2", alpha=0.0, *, fit_intercept=True):
    return Objective(LOSSES[kind], PENALTIES[penal], float(alpha), float(alpha), fit_intercept)


def learn(
    rows,
    y,
    machine,
    kind,
    penal="l2",
    alpha=0.0,
    optimizer="adagrad",
    rate=0.05,
    weight=None,
    fit_intercept=True,
    forgetting=1.0,
):
    found = np.empty((len(y), machine.c.shape[1]))
    objective = objective_of(kind, penal, alpha, fit_intercept=fit_intercept)
    what = examples_of(y, weight), machine, objective
    online.learn(rows, *what, online.Pace(OPTIMIZERS[optimizer], rate, forgetting), found)
    return found


def objective(X, y, weight, widths, machine, kind, penal, alpha):
    """What a pass minimizes, from the scores and the losses, which have tests of their own."""
    value = losses.row_losses(LOSSES[kind], scores_of(X, widths, machine), y) @ weight
    touched = (X != 0).sum(axis=0)[:, None]
    value += alpha * (touched * reference.penalty(penal, machine.A[:, 0])).sum()
    if machine.model == MULTI_VIEW:
        value += alpha * len(X) * reference.penalty(penal, machine.B[:, 0]).sum()
    return float(value)


def central_differences(value, arrays):
    """The slope of ``value()`` by each number of the arrays."""
    found = []
    for array in arrays:
        g = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            old = array[place]
            array[place] = old + 1e-5
            up = value()
            array[place] = old - 1e-5
            g[place] = (up - value()) / 2e-5
            array[place] = old
        found.append(g)
    return found
