"""The pass, against central differences and the slow reference."""

import numpy as np
import pytest
import scipy.sparse as sp

from crossview.algorithms.machines import online
from machine_data import (
    LOSSES,
    MODELS,
    OPTIMIZERS,
    PENALTIES,
    central_differences,
    learn,
    make_machine,
    objective,
    problem,
    rows_of,
    views_of,
)
from reference import machines as reference


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("model", MODELS)
def test_a_step_of_one_row_is_its_gradient(model, kind):
    widths, classes = [3, 2, 4], 3 if kind == "softmax" else 1
    X, y = problem(widths, rows=4, kind=kind, classes=classes)
    for i, penal in enumerate(("l2", "l1", "l2", "l1")):
        machine, _, _ = make_machine(widths, 3, classes=classes, model=MODELS[model], seed=i)
        one = X[i : i + 1], y[i : i + 1]
        # a step of size 1 of plain SGD is minus the gradient
        expected = central_differences(
            lambda: objective(*one, np.ones(1), widths, machine, kind, penal, 0.3),  # noqa: B023
            machine[:3],
        )
        if model != "multi-view":
            expected[1][:] = 0.0
        before = [machine.A.copy(), machine.B.copy(), machine.c.copy()]
        learn(rows_of(one[0], widths), one[1], machine, kind, penal, 0.3, "sgd", 1.0)
        for was, now, slope in zip(before, machine[:3], expected, strict=True):
            np.testing.assert_allclose(was - now, slope, atol=1e-5)


CASES = {
    "binary": ([3, 2, 4], [[0, 1, 2]], "logistic", 1),
    "hinge": ([3, 2, 4], [[0, 1, 2]], "hinge", 1),
    "regression": ([3, 4], [[0, 1]], "squared", 1),
    "no-intercept": ([3, 4], [[0, 1]], "squared", 1),
    "forgetting": ([3, 2, 4], [[0, 1, 2]], "logistic", 1),
    "multiclass": ([3, 2, 4], [[0, 1, 2]], "softmax", 3),
    "groups": ([3, 2, 4], [[0, 2], [0, 1, 2], [1]], "logistic", 1),
    "forgetting-multiclass": ([3, 4], [[0, 1]], "softmax", 3),
    "groups-multiclass": ([3, 2, 4], [[1, 2], [0, 1]], "softmax", 4),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("penal", PENALTIES)
@pytest.mark.parametrize("case", CASES)
def test_the_loop_equals_the_slow_reference(case, penal, optimizer):
    widths, groups, kind, classes = CASES[case]
    X, y = problem(widths, kind=kind, classes=classes)
    missing = np.random.default_rng(1).random(len(X)) < 0.3
    X[missing, widths[0] : widths[0] + widths[1]] = np.nan
    weight = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.0], size=len(y))
    rows = [views_of(x, widths) for x in X]
    arguments = (kind, penal, 0.01, optimizer, 0.02, weight, case != "no-intercept")
    arguments += (0.9 if "forgetting" in case else 1.0,)
    k = 3 if penal == "l2" else 9  # in lanes and beyond
    for container in (np.asarray, sp.csr_array):
        machine, tables, intercept = make_machine(
            widths, k, groups=groups, classes=classes, layers=1 + (optimizer == "adagrad")
        )
        scores = learn(rows_of(container(X), widths), y, machine, *arguments)
        expected = reference.learn(rows, y, tables, intercept, *arguments)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-10)
        A = np.concatenate([T[:-1].reshape(len(T) - 1, -1) for g in tables for T in g.values()])
        B = np.stack([T[-1].reshape(-1) for g in tables for T in g.values()])
        np.testing.assert_allclose(machine.A[:, 0], A, rtol=0, atol=1e-10)
        np.testing.assert_allclose(machine.B[:, 0], B, rtol=0, atol=1e-10)
        np.testing.assert_allclose(machine.c[0], intercept, rtol=0, atol=1e-10)


def in_single_precision(machine):
    A, B = machine.A.astype(np.float32), machine.B.astype(np.float32)
    return machine._replace(A=A, B=B, c=machine.c.copy())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("k", [3, 8, 17])
def test_single_precision_learns_what_double_does(model, k):
    widths = [3, 4]
    X, y = problem(widths)
    double, _, _ = make_machine(widths, k, model=MODELS[model], layers=2)
    for sums in (double.A[:, 1], double.B[:, 1]):
        sums[:] = 1.0  # else the first step is as large for a slope of 1e-9 as for one of 1
    single = in_single_precision(double)
    for machine in (double, single):
        learn(rows_of(X, widths), y, machine, "logistic", alpha=0.01)
    assert single.A.dtype == np.float32
    np.testing.assert_allclose(single.A, double.A, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(single.c, double.c, rtol=1e-5, atol=1e-5)


def test_a_row_that_single_precision_cannot_hold_is_skipped():
    widths = [3, 4]
    X, y = problem(widths)
    X[7] *= 1e16
    single = in_single_precision(make_machine(widths, 8, layers=2)[0])
    without = in_single_precision(single)
    learn(rows_of(X, widths), y, single, "logistic")
    learn(rows_of(np.delete(X, 7, 0), widths), np.delete(y, 7), without, "logistic")
    np.testing.assert_array_equal(single.A, without.A)


def test_a_view_whose_sums_are_all_zero_still_gets_its_gradient():
    """Dividing the product by S gives 0 / 0 there."""
    widths = [2, 3, 2]
    X, y = problem(widths, rows=6, kind="squared")
    machine, tables, intercept = make_machine(widths, 4)
    tables[0][1][:] = machine.B[1] = machine.A[2:5] = 0.0
    y[:] = 100.0
    _, parts = reference.gradient(
        views_of(X[4], widths), y[4], tables, intercept, "squared", "l2", 0.0
    )
    assert (parts[0][1][-1] != 0).all()
    learn(rows_of(X[4:5], widths), y[4:5], machine, "squared", "l2", 0.0, "sgd", 1.0)
    np.testing.assert_allclose(machine.B[1, 0], -parts[0][1][-1].ravel(), rtol=1e-12)
    np.testing.assert_array_equal(machine.B[0, 0], tables[0][0][-1].ravel())


@pytest.mark.exhaustive
def test_the_loop_as_plain_python_gives_the_same(monkeypatch):
    widths = [3, 2, 4]
    X, y = problem(widths, rows=8)
    results = []
    for loop in (online.learning_pass, online.learning_pass.py_func):
        monkeypatch.setattr(online, "learning_pass", loop)
        machine, _, _ = make_machine(widths, 9, groups=[[0, 1, 2], [0, 2]], layers=2)
        with np.errstate(over="ignore"):  # unsigned shifts wrap around on purpose
            scores = learn(rows_of(sp.csr_array(X), widths), y, machine, "logistic")
        results.append((machine.A, machine.B, scores))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)
