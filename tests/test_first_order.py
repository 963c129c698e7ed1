"""Perceptron and passive-aggressive learners against the slow reference, the paper and a peer."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier

from crossview import PassiveAggressiveClassifier, Perceptron
from crossview.algorithms import first_order
from reference import first_order as reference

LEARNERS = {
    "perceptron": lambda **k: Perceptron(**k),
    "PA": lambda **k: PassiveAggressiveClassifier(variant="PA", **k),
    "PA-I": lambda **k: PassiveAggressiveClassifier(variant="PA-I", C=0.3, **k),
    "PA-II": lambda **k: PassiveAggressiveClassifier(variant="PA-II", C=0.3, **k),
}


def stream(classes, seed=0, rows=120, columns=9):
    """Noisy rows with a zero row, a duplicate and a constant column among them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.5)
    X[:, 3] = 1.0
    X[5] = 0.0
    X[7] = X[6]
    scores = X @ rng.normal(size=(columns, classes)) + 0.5 * rng.normal(size=(rows, classes))
    return X, scores.argmax(axis=1)


@pytest.mark.parametrize(
    "container", [np.asarray, sp.csr_array, sp.csc_matrix], ids=lambda c: c.__name__
)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("rule", LEARNERS)
def test_equals_the_slow_reference(rule, average, intercept, classes, container):
    X, y = stream(classes)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], size=len(y))
    model = LEARNERS[rule](average=average, fit_intercept=intercept)
    scores = model.score_then_learn(container(X), y, np.arange(classes), sample_weight=weights)
    W, b, expected = reference.learn(X, y, rule, 0.3, intercept, weights, average)
    np.testing.assert_allclose(model.coef_, W, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, b, rtol=0, atol=1e-12)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


def test_equals_the_peer_on_its_own_rule():
    """scikit-learn's pa1 and pa2 without intercept are the same learners."""
    X, y = stream(2, rows=400)
    X = X[X.any(axis=1)]
    y = y[: len(X)]
    for variant, rate in [("PA-I", "pa1"), ("PA-II", "pa2")]:
        peer = SGDClassifier(
            loss="hinge",
            penalty=None,
            learning_rate=rate,
            eta0=0.5,
            fit_intercept=False,
            shuffle=False,
            max_iter=1,
            tol=None,
        ).fit(X, y)
        ours = PassiveAggressiveClassifier(
            variant=variant, C=0.5, fit_intercept=False, shuffle=False
        ).fit(X, y)
        np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=0, atol=1e-12)


finite = st.floats(-1e3, 1e3, allow_nan=False)


@given(m=finite, n=st.floats(1e-6, 1e6))
def test_an_unclipped_step_ends_at_margin_one(m, n):
    P = first_order.pa_step(first_order.PA, m, n, np.inf)
    assert m + P * n == pytest.approx(max(1.0, m), abs=1e-9)
    if m >= 1:
        assert P == 0.0


@given(m=finite, n=st.floats(1e-3, 1e3), C=st.floats(1e-3, 1e3))
def test_the_soft_steps_minimize_their_objectives(m, n, C):
    """½ P² n + slack, against a fine neighborhood of the answer."""
    for rule, power in [(first_order.PA_I, 1), (first_order.PA_II, 2)]:
        P = first_order.pa_step(rule, m, n, C)

        def value(p, power=power):
            return 0.5 * p * p * n + C * max(0.0, 1 - m - p * n) ** power

        around = P + np.linspace(-0.1, 0.1, 41) * max(abs(P), 1e-3)
        tolerance = 1e-12 * max(1.0, abs(value(P)))
        assert all(value(P) <= value(p) + tolerance for p in around)


def test_a_row_of_weight_two_is_the_row_twice_for_pa_one():
    X, y = stream(2)
    X, y = X[X.any(axis=1)], y[X.any(axis=1)]
    once = PassiveAggressiveClassifier(C=0.05, fit_intercept=False)
    once.partial_fit(X, y, [0, 1], sample_weight=np.full(len(y), 2.0))
    twice = PassiveAggressiveClassifier(C=0.05, fit_intercept=False)
    twice.partial_fit(X.repeat(2, axis=0), y.repeat(2), [0, 1])
    np.testing.assert_allclose(once.coef_, twice.coef_, atol=1e-12)


def test_a_tie_is_the_first_class():
    X = np.eye(3)
    model = PassiveAggressiveClassifier(fit_intercept=False, shuffle=False).fit(X[:2], ["a", "b"])
    assert model.decision_function(X[2:])[0] == 0.0
    assert model.predict(X[2:])[0] == "a"


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), C=st.sampled_from([0.01, 0.1, 1.0, 10.0]))
def test_the_mistake_bound_of_pa_one(seed, C):
    """Crammer et al. 2006, Theorem 4: mistakes <= max(R², 1/C) (|u|² + 2C sum l*)."""
    X, y = stream(2, seed=seed)
    model = PassiveAggressiveClassifier(C=C, fit_intercept=False)
    scores = model.score_then_learn(X, y, [0, 1])
    sign = np.where(y == 1, 1.0, -1.0)
    filled = X.any(axis=1)
    mistakes = np.sum((sign * scores <= 0)[filled])
    R = np.max((X**2).sum(axis=1))
    rng = np.random.default_rng(seed)
    for u in [*rng.normal(size=(5, X.shape[1])), np.zeros(X.shape[1])]:
        losses = np.maximum(0, 1 - sign * (X @ u))[filled].sum()
        assert mistakes <= max(R, 1 / C) * (u @ u + 2 * C * losses) + 1e-9


def test_all_three_of_reference_python_and_machine_code_agree():
    """The loop as plain Python gives what the compiled one gives."""
    from crossview.batch import make_rows, read_only
    from crossview.views import ViewLayout

    X, y = stream(2, rows=40)
    rows = make_rows(sp.csr_array(X), ViewLayout(["all"], [X.shape[1]]))
    results = []
    for loop in (first_order.learn_binary, first_order.learn_binary.py_func):
        model = first_order.Weights(
            np.zeros(X.shape[1]), np.zeros(1), np.zeros(0), np.zeros(0), np.zeros(1, np.int64)
        )
        scores = np.zeros(len(y))
        order, weight = read_only(np.arange(len(y))), read_only(np.ones(len(y)))
        target = read_only(np.where(y == 1, 1.0, -1.0))
        loop(rows, order, target, weight, model, 1.0, first_order.PA_I, 0.3, scores)
        results.append((model.W, scores))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-14)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-14)
