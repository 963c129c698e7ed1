"""All rows at once: the gradient, L-BFGS, and one view after the other."""

import itertools

import numpy as np
import pytest
from sklearn.svm import LinearSVC

import crossview
from crossview.algorithms import losses
from crossview.algorithms.machines import alternating, batch, lbfgs
from machine_data import (
    LOSSES,
    MODELS,
    PENALTIES,
    central_differences,
    examples_of,
    make_machine,
    objective,
    objective_of,
    problem,
    rows_of,
)
from reference import machines as reference

WIDTHS = [3, 2, 4]


def loss_of(kind, s, y):
    if kind == "huber":
        d = abs(s - y)
        return float(np.sum(np.where(d > 1, d - 0.5, 0.5 * d**2)))
    if kind in ("hinge", "logistic", "squared") and len(s) > 1:
        y = np.where(np.arange(len(s)) == y, 1.0, -1.0)
    return reference.loss(kind, s, y)


@pytest.mark.parametrize(
    ("kind", "classes"),
    [(kind, 1) for kind in LOSSES if kind != "softmax"]
    + [(kind, 3) for kind in LOSSES if kind != "huber"],
)
def test_losses_of_rows_are_the_formulas(kind, classes):
    scores = 3.0 * np.random.default_rng(0).normal(size=(20, classes))
    _, y = problem(WIDTHS, 20, kind, classes)
    expected = [loss_of(kind, s, t) for s, t in zip(scores, y, strict=True)]
    np.testing.assert_allclose(losses.row_losses(LOSSES[kind], scores, y), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["logistic", "softmax", "hinge-of-three"])
@pytest.mark.parametrize("model", MODELS)
def test_the_gradient_of_all_rows(model, kind):
    """The slopes of the losses are tested by the steps of `online.learn`."""
    kind, _, several = kind.partition("-of-")
    classes = 3 if several or kind == "softmax" else 1
    X, y = problem(WIDTHS, 12, kind, classes)
    machine, _, _ = make_machine(WIDTHS, 2, classes=classes, model=MODELS[model], seed=1)
    weight = np.random.default_rng(5).choice([0.0, 0.5, 2.0], size=len(y))
    expected = central_differences(
        lambda: objective(X, y, weight, WIDTHS, machine, kind, "l2", 0.0), machine[:3]
    )
    shapes = machine.A[:, 0].shape, machine.B[:, 0].shape, (classes,)
    found = batch.Gradient(*(np.zeros(shape) for shape in shapes))
    scores = np.zeros((len(X), classes))
    batch.add_gradient(
        rows_of(X, WIDTHS), examples_of(y, weight), machine, LOSSES[kind], found, scores
    )
    np.testing.assert_allclose(found.A, expected[0][:, 0], atol=1e-6)
    np.testing.assert_allclose(found.c, expected[2][0], atol=1e-6)
    if model == "multi-view":
        np.testing.assert_allclose(found.B, expected[1][:, 0], atol=1e-6)
    else:
        assert not found.B.any()


def minimize(
    solver, model, kind, penal, alpha, n_iter, classes=1, weight=None, *, fit_intercept=True
):
    """The objective before and after the iterations, and the largest slope at the end.

    After each of the first ones and then after some, as the slow reference computes it.
    """
    X, y = problem(WIDTHS, 60, kind, classes)
    machine, _, _ = make_machine(WIDTHS, 2, classes=classes, model=MODELS[model], seed=1)
    weight = np.ones(len(y)) if weight is None else weight

    def value():
        return objective(X, y, weight, WIDTHS, machine, kind, penal, alpha)

    values, iterations = [value()], itertools.count()

    def after_each():
        i = next(iterations)
        if i < 20 or i % 20 == 0:
            values.append(value())
        return False

    rows, examples = rows_of(X, WIDTHS), examples_of(y, weight)
    what = objective_of(kind, penal, alpha, fit_intercept=fit_intercept)
    solver(rows, examples, machine, what, n_iter, after_each)
    slopes = central_differences(value, machine[: 2 + fit_intercept])
    if model != "multi-view":
        slopes[1][:] = 0.0
    return np.array(values), max(np.abs(g).max() for g in slopes)


@pytest.mark.parametrize("penal", PENALTIES)
@pytest.mark.parametrize("model", MODELS)
def test_lbfgs_ends_where_the_gradient_is_zero(model, penal):
    values, slope = minimize(lbfgs.fit, model, "logistic", penal, 0.05, 2000)
    assert (np.diff(values) <= 1e-9).all()
    # the bend of the smooth L1 is steep: a thousandth of the first slope is close there
    assert slope < (1e-3 if penal == "l2" else 0.5)


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        *(("multi-view", 3), ("cross", 1)),
        pytest.param("multi-view", 1, marks=pytest.mark.exhaustive),
        pytest.param("cross", 3, marks=pytest.mark.exhaustive),
    ],
)
def test_every_sweep_of_alternating_least_squares_lowers_the_objective(model, classes):
    weight = np.random.default_rng(5).choice([0.0, 0.5, 2.0], size=60)
    values, slope = minimize(
        alternating.least_squares, model, "squared", "l2", 0.1, 400, classes, weight
    )
    assert (np.diff(values) <= 1e-6 * values[0]).all()
    assert values[-1] < 0.5 * values[0]
    assert slope < 0.01 * values[-1]


@pytest.mark.parametrize(
    ("solver", "kind"), [(lbfgs.fit, "logistic"), (alternating.least_squares, "squared")]
)
def test_without_an_intercept_the_rest_comes_to_its_minimum(solver, kind):
    values, slope = minimize(solver, "multi-view", kind, "l2", 0.1, 400, fit_intercept=False)
    assert (np.diff(values) <= 1e-6 * values[0]).all()
    assert slope < 0.01 * values[-1]


def test_a_support_tensor_machine_of_one_view_is_the_support_vector_machine():
    X, y = problem(WIDTHS, 80, "hinge")
    alpha = 0.01
    model = crossview.SupportTensorMachineClassifier(alpha=alpha, early_stopping=False, n_epochs=1)
    model.fit(X, y)
    plain = LinearSVC(C=1 / (alpha * len(y)), loss="hinge", random_state=0, max_iter=10_000)
    np.testing.assert_allclose(
        model.decision_function(X), plain.fit(X, y).decision_function(X), atol=1e-9
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_turns_of_a_support_tensor_machine_lower_its_objective(classes):
    """Of three classes each against the rest, with the logistic loss too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, sum(WIDTHS)))
    product = X[:, 0] * X[:, 3] * X[:, 5]
    y = (product > 0).astype(int) if classes == 2 else np.digitize(product, [-0.3, 0.3])
    signs = np.where(y[:, None] == ([1] if classes == 2 else [0, 1, 2]), 1.0, -1.0)
    alpha, values = 0.01, []
    for turns in (1, 2, 4, 8):
        model = crossview.SupportTensorMachineClassifier(
            WIDTHS,
            alpha=alpha,
            loss="logistic",
            early_stopping=False,
            n_epochs=turns,
            random_state=0,
        ).fit(X, y)
        norms = [np.linalg.norm(w, axis=0) for w in model.factors_.values()]
        price = 0.5 * alpha * len(y) * (np.prod(norms, axis=0) ** 2).sum()
        scores = model.decision_function(X).reshape(len(X), -1)
        values.append(price + np.logaddexp(0, -signs * scores).sum())
    assert (np.diff(values) <= 1e-6).all()
    assert model.score(X, y) > (0.85 if classes == 2 else 0.6)
