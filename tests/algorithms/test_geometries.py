"""Forms of the covariance: equal where they must be, and positive definite always."""

import numpy as np
import pytest

from online_learners import FORMS, SECOND_ORDER, one_pass, stream


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rule", SECOND_ORDER)
def test_low_rank_with_room_for_all_updates_is_full(rule, classes):
    X, y = stream(classes, columns=30)
    full, scores = one_pass(SECOND_ORDER[rule](covariance="full"), X, y)
    low, others = one_pass(SECOND_ORDER[rule](covariance="low-rank", rank=len(y)), X, y)
    assert low.covariance_form_ == "low-rank"
    np.testing.assert_allclose(others, scores, rtol=0, atol=1e-10)
    np.testing.assert_allclose(low.coef_, full.coef_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(low.covariance_matrix(), full.covariance_matrix(), atol=1e-10)


@pytest.mark.parametrize("diagonal", ["precision", "covariance"])
@pytest.mark.parametrize("rule", SECOND_ORDER)
def test_the_diagonal_is_full_where_rows_lie_on_the_axes(rule, diagonal):
    rng = np.random.default_rng(0)
    column = rng.integers(0, 6, 200)
    X = np.zeros((200, 6))
    X[np.arange(200), column] = rng.normal(size=200) + 0.5
    y = (X.sum(axis=1) * np.where(column % 2, 1, -1) > 0.3 * rng.normal(size=200)).astype(int)
    options = {"fit_intercept": False}
    full, scores = one_pass(SECOND_ORDER[rule](covariance="full", **options), X, y)
    diag, others = one_pass(
        SECOND_ORDER[rule](covariance="diagonal", diagonal=diagonal, **options), X, y
    )
    np.testing.assert_allclose(others, scores, rtol=0, atol=1e-10)
    np.testing.assert_allclose(diag.covariance_matrix(), full.covariance_matrix(), atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", ["PAM-II", "AROW", "CW-stdev", "SCW-I", "SOP"])
def test_the_covariance_stays_positive_definite_on_badly_scaled_rows(rule, form):
    """Forty thousand updates, values from 1e-6 to 1e6, and labels that contradict each other.

    (Ten thousand in the low-rank form, which looks after its rows every few of them.)
    """
    rng = np.random.default_rng(0)
    X = 10.0 ** rng.uniform(-6, 6, (2_000, 6)) * rng.choice([-1, 1], (2_000, 6))
    X[::2] *= rng.random((1_000, 6)) < 0.5
    model = SECOND_ORDER[rule](**FORMS[form])
    if form == "low-rank":
        X = X[:500]
    for _ in range(20):  # labels against the model, so that it has to learn
        y = (model.decision_function(X) <= 0).astype(int) if hasattr(model, "classes_") else (
            rng.integers(0, 2, len(X))
        )  # fmt: skip
        scores = model.score_then_learn(X, y, [0, 1])
        assert np.isfinite(scores).all()
    S = model.covariance_matrix()
    assert np.isfinite(S).all()
    np.testing.assert_allclose(S, S.T, rtol=1e-12)
    scale = np.sqrt(np.diag(S))
    assert (scale > 0).all()
    # the signs of the eigenvalues are those of the correlations', which are well scaled
    assert np.linalg.eigvalsh(S / np.outer(scale, scale)).min() > -1e-12
    state = model.get_state()
    assert (state["S.D"] > 0).all()
    assert (state["S.d"] > 0).all()
    assert np.isfinite(model.coef_).all()
    assert set(model.predict(X)) <= {0, 1}
