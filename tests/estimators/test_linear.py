"""Learners on one view."""

import numpy as np
import pytest
import scipy.sparse as sp

from crossview import (
    InputError,
    MultiView,
    MultiViewPAClassifier,
    PassiveAggressiveClassifier,
)
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
    models = [MultiViewPAClassifier([4, 5], C=0.3 / k**2, shuffle=False) for k in (1.0, 1024.0)]
    one, other = models[0].fit(X, y), models[1].fit(1024.0 * X, y)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-9)
    np.testing.assert_allclose(one.coef_, 1024.0 * other.coef_, rtol=1e-9, atol=1e-12)


def test_rows_that_are_not_yet_scaled_do_not_weigh_on_the_intercept_for_long():
    X, y = stream(2, rows=3000)
    start = X.copy()
    start[:20] *= 1000.0
    plain, other = (PassiveAggressiveClassifier(shuffle=False).fit(Z, y) for Z in (X, start))
    assert other.score(X, y) > plain.score(X, y) - 0.02


def test_one_row_of_any_container_is_checked_and_scored_as_in_a_batch():
    X, y = stream(4)
    dense = PassiveAggressiveClassifier().partial_fit(X, y, np.unique(y))
    whole = MultiView({"a": X[:, :4], "b": X[:, 4:]})
    views = MultiViewPAClassifier().partial_fit(whole, y, np.unique(y))
    for i in range(5):
        score = dense.predict_proba(X[i : i + 1])[0].tolist()
        for row in (X[i], X[i].tolist(), sp.csr_array(X[i : i + 1]), sp.coo_array(X[i : i + 1])):
            assert list(dense.predict_proba_one(row).values()) == score
        assert views.predict_one(whole[i]) == views.predict(whole[i])[0]
    with pytest.raises(InputError, match="NaN"):
        dense.predict_one(np.where(np.arange(X.shape[1]) == 1, np.nan, X[0]))
    with pytest.raises(ValueError, match="features"):
        dense.predict_one(X[0, 1:])
    wrong = sp.csr_array(X[:1])
    wrong.indices[-1] = X.shape[1]
    with pytest.raises(InputError, match="column index"):
        dense.predict_one(wrong)
    with pytest.raises(InputError, match="2 rows"):
        views.predict_one(whole[:2])
