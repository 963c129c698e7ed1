"""Learners on one view."""

import numpy as np
import pytest

from crossview import MultiViewPAClassifier, PassiveAggressiveClassifier
from online_learners import stream


def test_a_tie_is_the_first_class():
    X = np.eye(3)
    model = PassiveAggressiveClassifier(fit_intercept=False, shuffle=False).fit(X[:2], ["a", "b"])
    assert model.decision_function(X[2:])[0] == 0.0
    assert model.predict(X[2:])[0] == "a"


def test_the_intercept_of_two_rows_by_hand():
    """d = s² (geometric mean of x·x) / sqrt(t): 0.25 * 4 and 0.25 * sqrt(4 * 36) / sqrt(2)."""
    model = PassiveAggressiveClassifier(variant="PA", intercept_scaling=0.5)
    model.partial_fit([[2.0, 0.0]], [1], [0, 1])
    assert model.intercept_[0] == pytest.approx(1.0 / 5.0)
    model.partial_fit([[0.0, 6.0]], [0])
    d = 3.0 / np.sqrt(2.0)
    assert model.intercept_[0] == pytest.approx(0.2 - 1.2 * d / (36.0 + d))
    before = model.intercept_[0]
    scores = model.score_then_learn([[0.0, 0.0]], [1])  # scored, but not learned
    assert scores.tolist() == model.decision_function([[0.0, 0.0]]).tolist() == [before]


def test_the_intercept_does_not_depend_on_the_unit_of_the_columns():
    X, y = stream(3)
    models = [
        MultiViewPAClassifier([4, 5], C=0.3 / k**2, disagreement=0.1 / k**2, shuffle=False)
        for k in (1.0, 1024.0)
    ]
    one, other = models[0].fit(X, y), models[1].fit(1024.0 * X, y)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-9)
    np.testing.assert_allclose(one.coef_, 1024.0 * other.coef_, rtol=1e-9, atol=1e-12)


def test_rows_that_are_not_yet_scaled_do_not_weigh_on_the_intercept_for_long():
    X, y = stream(2, rows=3000)
    start = X.copy()
    start[:20] *= 1000.0
    plain, other = (PassiveAggressiveClassifier(shuffle=False).fit(Z, y) for Z in (X, start))
    assert other.score(X, y) > plain.score(X, y) - 0.02
