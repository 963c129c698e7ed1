"""Multi-view machines against full enumeration, differences and the slow reference."""

import numpy as np
import pytest
import scipy.sparse as sp

from crossview.algorithms import losses, machines, optimizers
from crossview.batch import make_rows, read_only
from crossview.views import ViewLayout
from reference import machines as reference

LOSSES = {
    "squared": losses.SQUARED,
    "logistic": losses.LOGISTIC,
    "hinge": losses.HINGE,
    "softmax": losses.SOFTMAX,
}
PENALTIES = {"l2": optimizers.L2, "l1": optimizers.L1}
OPTIMIZERS = {"sgd": optimizers.SGD, "adagrad": optimizers.ADAGRAD}


def problem(widths, rows=30, seed=0, kind="logistic", classes=1):
    """Rows with an empty one, a duplicate and a constant column, and labels for a loss."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, sum(widths))) * (rng.random((rows, sum(widths))) < 0.6)
    X[2] = 0.0
    X[5] = X[4]
    X[:, 0] = 1.0
    if kind == "squared" and classes == 1:
        y = rng.normal(size=rows)
    elif classes == 1:
        y = rng.choice([-1.0, 1.0], size=rows)
    else:
        y = rng.integers(classes, size=rows).astype(float)
    return X, y


def start(widths, groups, k, classes=1, seed=0, sums=1):
    """A machine with random parameters, and the same for the reference."""
    rng = np.random.default_rng(seed)
    ptr = np.cumsum([0, *widths])
    tables = [{v: rng.normal(size=(widths[v] + 1, classes, k)) for v in g} for g in groups]
    parts = [(v, A) for group in tables for v, A in group.items()]
    places = np.cumsum([0, *(widths[v] for v, _ in parts)])[:-1]

    def room(value):
        zeros = np.zeros_like(value)
        return np.stack([value, zeros][: 1 + sums], axis=1)

    intercept = rng.normal(size=classes)
    unsigned = lambda values: read_only(np.asarray(values).astype(np.int64).view(np.uint64))  # noqa: E731
    machine = machines.Machine(
        A=room(np.concatenate([A[:-1].reshape(-1, classes * k) for _, A in parts])),
        B=room(np.stack([A[-1].reshape(-1) for _, A in parts])),
        c=np.stack([intercept, np.zeros(classes)][: 1 + sums]),
        views=unsigned([v for v, _ in parts]),
        column_offset=unsigned(
            [place - ptr[v] for place, (v, _) in zip(places, parts, strict=True)]
        ),
        ends=unsigned(np.cumsum([len(g) for g in groups])),
        model=machines.MULTI_VIEW,
        seen=np.ones(places[-1] + widths[parts[-1][0]], dtype=bool),
        keys=unsigned(np.zeros(len(parts))),
        sizes=read_only(np.zeros(len(parts))),
        class_ids=unsigned(np.arange(classes)),
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
    scores = np.empty((len(X), machine.c.shape[1]))
    machines.score(rows_of(X, widths), read_only(np.arange(len(X))), frozen(machine), scores)
    return scores


def learn(
    rows, y, machine, kind, penal="l2", alpha=0.0, optimizer="adagrad", rate=0.05, weight=None
):
    n = len(y)
    scores = np.empty((n, machine.c.shape[1]))
    weight = np.ones(n) if weight is None else weight
    machines.learn(
        rows,
        read_only(np.arange(n)),
        read_only(y),
        read_only(weight),
        machine,
        LOSSES[kind],
        OPTIMIZERS[optimizer],
        PENALTIES[penal],
        float(alpha),
        float(alpha),
        float(rate),
        scores,
    )
    return scores


def assert_same_parameters(machine, tables, intercept, atol=1e-10):
    A = np.concatenate([T[:-1].reshape(len(T) - 1, -1) for g in tables for T in g.values()])
    B = np.stack([T[-1].reshape(-1) for g in tables for T in g.values()])
    np.testing.assert_allclose(machine.A[:, 0], A, rtol=0, atol=atol)
    np.testing.assert_allclose(machine.B[:, 0], B, rtol=0, atol=atol)
    np.testing.assert_allclose(machine.c[0], intercept, rtol=0, atol=atol)


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("widths", [[6], [3, 2], [2, 3, 1], [2, 1, 3, 2], [2, 2, 1, 2, 3]], ids=len)
def test_the_score_is_the_full_enumeration(widths, k):
    X, _ = problem(widths)
    machine, tables, intercept = start(widths, [range(len(widths))], k)
    expected = [reference.score(views_of(x, widths), tables, intercept) for x in X]
    np.testing.assert_allclose(scores_of(X, widths, machine), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("penal", PENALTIES)
def test_gradients_equal_central_differences(kind, penal):
    widths, classes = [2, 3, 1], 3 if kind == "softmax" else 1
    X, y = problem(widths, rows=8, kind=kind, classes=classes)
    for x, label in zip(X[::2], y[::2], strict=True):
        machine, tables, intercept = start(widths, [[0, 1, 2], [0, 1]], 2, classes, sums=0)
        views = views_of(x, widths)

        def value(tables=tables, intercept=intercept, views=views, label=label):
            return reference.objective(views, label, tables, intercept, kind, penal, 0.3)

        def difference(array):
            g = np.zeros_like(array)
            for place in np.ndindex(array.shape):
                old = array[place]
                array[place] = old + 1e-5
                up = value()
                array[place] = old - 1e-5
                g[place] = (up - value()) / 2e-5
                array[place] = old
            return g

        # a step of size 1 of plain SGD is minus the gradient
        before = [machine.A.copy(), machine.B.copy(), machine.c.copy()]
        learn(rows_of(x[None], widths), np.array([label]), machine, kind, penal, 0.3, "sgd", 1.0)
        parts = [difference(T) for g in tables for T in g.values()]
        A = np.concatenate([g[:-1].reshape(len(g) - 1, -1) for g in parts])
        B = np.stack([g[-1].reshape(-1) for g in parts])
        np.testing.assert_allclose((before[0] - machine.A)[:, 0], A, atol=1e-7)
        np.testing.assert_allclose((before[1] - machine.B)[:, 0], B, atol=1e-7)
        np.testing.assert_allclose((before[2] - machine.c)[0], difference(intercept), atol=1e-7)


CASES = {
    "binary": ([3, 2, 4], [[0, 1, 2]], "logistic", 1),
    "hinge": ([3, 2, 4], [[0, 1, 2]], "hinge", 1),
    "regression": ([3, 4], [[0, 1]], "squared", 1),
    "multiclass": ([3, 2, 4], [[0, 1, 2]], "softmax", 3),
    "groups": ([3, 2, 4], [[0, 2], [0, 1, 2], [1]], "logistic", 1),
    "groups-multiclass": ([3, 2, 4], [[1, 2], [0, 1]], "softmax", 4),
}


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("penal", PENALTIES)
@pytest.mark.parametrize("case", CASES)
def test_the_loop_equals_the_slow_reference(case, penal, optimizer, container):
    widths, groups, kind, classes = CASES[case]
    X, y = problem(widths, kind=kind, classes=classes)
    missing = np.random.default_rng(1).random(len(X)) < 0.3
    X[missing, widths[0] : widths[0] + widths[1]] = np.nan
    weight = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.0], size=len(y))
    machine, tables, intercept = start(widths, groups, 3, classes, sums=optimizer == "adagrad")
    rows = [views_of(x, widths) for x in X]
    arguments = (kind, penal, 0.01, optimizer, 0.02)
    scores = learn(rows_of(container(X), widths), y, machine, *arguments, weight)
    expected = reference.learn(rows, y, tables, intercept, *arguments, weight)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-10)
    assert_same_parameters(machine, tables, intercept)


def in_single_precision(machine):
    A, B = machine.A.astype(np.float32), machine.B.astype(np.float32)
    return machine._replace(A=A, B=B, c=machine.c.copy())


@pytest.mark.parametrize("model", range(4))
@pytest.mark.parametrize("k", [3, 8, 17])
def test_single_precision_learns_what_double_does(model, k):
    widths = [3, 4]
    X, y = problem(widths)
    double = start(widths, [[0, 1]], k)[0]._replace(model=model)
    for sums in (double.A[:, 1], double.B[:, 1]):
        sums[:] = 1.0  # else the first step is as large for a slope of 1e-9 as for one of 1
    single = in_single_precision(double)
    for machine in (double, single):
        learn(rows_of(X, widths), y, machine, "logistic", alpha=0.01)
    assert single.A.dtype == np.float32
    np.testing.assert_allclose(single.A, double.A, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(single.c, double.c, rtol=1e-5, atol=1e-5)


def test_what_single_precision_does_not_hold_is_passed_over():
    widths = [3, 4]
    X, y = problem(widths)
    X[7] *= 1e16
    single = in_single_precision(start(widths, [[0, 1]], 8)[0])
    without = in_single_precision(single)
    learn(rows_of(X, widths), y, single, "logistic")
    learn(rows_of(np.delete(X, 7, 0), widths), np.delete(y, 7), without, "logistic")
    np.testing.assert_array_equal(single.A, without.A)


def test_a_view_whose_sums_are_all_zero_still_gets_its_gradient():
    """Dividing the product by S gives 0 / 0 there."""
    widths = [2, 3, 2]
    X, y = problem(widths, rows=6, kind="squared")
    machine, tables, intercept = start(widths, [[0, 1, 2]], 4, sums=0)
    tables[0][1][:] = machine.B[1] = machine.A[2:5] = 0.0
    y[:] = 100.0
    _, parts = reference.gradient(
        views_of(X[3], widths), y[3], tables, intercept, "squared", "l2", 0.0
    )
    assert (parts[0][1][-1] != 0).all()
    learn(rows_of(X[3:4], widths), y[3:4], machine, "squared", "l2", 0.0, "sgd", 1.0)
    np.testing.assert_allclose(machine.B[1, 0], -parts[0][1][-1].ravel(), rtol=1e-12)
    np.testing.assert_array_equal(machine.B[0, 0], tables[0][0][-1].ravel())


def test_the_score_is_multilinear():
    """Linear in the parameters of each view, the others held."""
    widths = [2, 3, 1, 2]
    X, _ = problem(widths)
    for v in range(4):
        machine, _, _ = start(widths, [range(4)], 3)
        machine.c[:] = 0.0
        one = scores_of(X, widths, machine)
        columns = slice(sum(widths[:v]), sum(widths[: v + 1]))
        rng = np.random.default_rng(v)
        other_a, other_b = rng.normal(size=machine.A[columns].shape), rng.normal(size=(2, 3))
        mixed = [machine.A[columns].copy(), machine.B[v].copy()]
        machine.A[columns], machine.B[v] = other_a, other_b
        two = scores_of(X, widths, machine)
        machine.A[columns] = 2.0 * mixed[0] - 3.0 * other_a
        machine.B[v] = 2.0 * mixed[1] - 3.0 * other_b
        np.testing.assert_allclose(
            scores_of(X, widths, machine), 2.0 * one - 3.0 * two, atol=1e-12, rtol=1e-12
        )


def test_the_loop_as_plain_python_gives_the_same():
    widths = [3, 2, 4]
    X, y = problem(widths, rows=8)
    results = []
    for compiled in (True, False):
        machine, _, _ = start(widths, [[0, 1, 2], [0, 2]], 3)
        scores = np.empty((8, 1))
        loop = machines.learn if compiled else machines.learn.py_func
        one = read_only(np.ones(8))
        order = read_only(np.arange(8))
        rows = rows_of(sp.csr_array(X), widths)
        with np.errstate(over="ignore"):  # unsigned shifts wrap around on purpose
            loop(rows, order, read_only(y), one, machine, 1, 1, 0, 0.01, 0.01, 0.1, scores)
        results.append((machine.A, machine.B, scores))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)
