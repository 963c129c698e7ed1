"""Kernel ridge regression: landmarks, scales, missing views, weights and explanations."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_friedman1
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import log_loss

from crossview import (
    MultiView,
    MultiViewKernelRidgeClassifier,
    MultiViewKernelRidgeRegressor,
    MultiViewRidge,
)
from crossview.errors import InputError
from crossview.estimators.kernel import ridge

VIEWS = {"own": slice(0, 5), "noise": slice(5, 10)}


@pytest.fixture(scope="module")
def friedman():
    return make_friedman1(900, noise=1.0, random_state=0)


def test_it_is_the_kernel_ridge_regression_of_scikit_learn(friedman):
    X, y = friedman[0][:120], friedman[1][:120]
    ours = MultiViewKernelRidgeRegressor([10], n_landmarks=120, random_state=0).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    K = np.exp(-ours.gamma_["view0"] * ((Z[:, None] - Z) ** 2).sum(axis=2))
    # alpha is the only one for which scores agree
    errors = []
    for alpha in 10.0 ** np.arange(-5.0, 2.5, 0.5):
        theirs = KernelRidge(alpha=alpha, kernel="precomputed").fit(K, y - y.mean())
        errors.append(np.abs(y.mean() + theirs.predict(K) - ours.predict(X)).max())
    assert min(errors) < 1e-6
    assert sorted(errors)[1] > 1e-2


def test_a_view_of_noise_has_no_part(friedman):
    X, y = friedman
    model = MultiViewKernelRidgeRegressor(VIEWS, random_state=0).fit(X[:600], y[:600])
    assert model.gamma_["noise"] == 0.0 < model.gamma_["own"]
    assert model.feature_importances_[:5].sum() == pytest.approx(1.0)
    assert not model.feature_importances_[5:].any()
    alone = MultiViewKernelRidgeRegressor([5], random_state=0).fit(X[:600, :5], y[:600])
    rest = slice(600, None)
    assert model.score(X[rest], y[rest]) >= alone.score(X[rest, :5], y[rest]) - 1e-3
    assert model.score(X[rest], y[rest]) > MultiViewRidge().fit(X, y).score(X, y) + 0.1


def test_units_of_columns_and_targets_do_not_matter(friedman):
    X, y = friedman[0][:300], friedman[1][:300]
    first = MultiViewKernelRidgeRegressor(VIEWS, random_state=0).fit(X, y)
    scale, shift = 10.0 ** np.arange(-5, 5), np.linspace(-1e3, 1e3, 10)
    Z, z = X * scale + shift * scale, 1e4 * y - 1e6
    second = MultiViewKernelRidgeRegressor(VIEWS, random_state=0).fit(Z, z)
    np.testing.assert_allclose(second.predict(Z), 1e4 * first.predict(X) - 1e6, rtol=1e-5)
    far = MultiViewKernelRidgeRegressor(VIEWS, random_state=0).fit(X + 2.0**30, y)
    np.testing.assert_allclose(far.predict(X + 2.0**30), first.predict(X), rtol=1e-4)


def test_landmarks_double_as_long_as_they_help(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 2))
    noise = 0.1 * rng.normal(size=500)
    straight, wavy = X[:, 0] + noise, np.sin(12.0 * X[:, 0]) * np.cos(12.0 * X[:, 1]) + 0.1 * noise
    monkeypatch.setattr(ridge, "FEW_LANDMARKS", 40)
    models = [
        MultiViewKernelRidgeRegressor([2], random_state=0).fit(X, y) for y in (straight, wavy)
    ]
    assert [model.n_landmarks_ for model in models] == [40, 320]
    fixed = MultiViewKernelRidgeRegressor([2], n_landmarks=320, random_state=0).fit(X, wavy)
    np.testing.assert_array_equal(models[1].predict(X), fixed.predict(X))
    monkeypatch.setattr(ridge, "MOST_PRODUCTS", 500 * 80.0**2)
    assert MultiViewKernelRidgeRegressor([2], random_state=0).fit(X, wavy).n_landmarks_ == 80


def test_weights_are_copies_of_rows_and_0_leaves_them_out(friedman):
    X, y = friedman[0][:80], friedman[1][:80]
    times = np.arange(80) % 3
    few = {"n_landmarks": 200, "random_state": 0}
    weighted = MultiViewKernelRidgeRegressor([10], **few).fit(X, y, sample_weight=times)
    again = MultiViewKernelRidgeRegressor([10], **few).fit(X, y, sample_weight=2.0 * times)
    np.testing.assert_allclose(weighted.predict(X), again.predict(X), rtol=1e-9)
    y2 = np.where(times == 0, 1e6, y)  # what has no weight does not count
    other = MultiViewKernelRidgeRegressor([10], **few).fit(X, y2, sample_weight=times)
    np.testing.assert_allclose(weighted.predict(X), other.predict(X), rtol=1e-9)


def test_sparse_rows_and_missing_views(friedman):
    X, y = friedman[0][:200], friedman[1][:200]
    X = np.where(np.arange(10) % 5 == 4, X > 0.7, X)
    dense = MultiViewKernelRidgeRegressor(VIEWS, random_state=0).fit(X, y)
    sparse = MultiViewKernelRidgeRegressor(VIEWS, random_state=0).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), rtol=1e-8)
    present = np.ones((200, 2), dtype=bool)
    present[::4, 1] = False
    views = MultiView({"own": X[:, :5], "noise": X[:, 5:]}, present=present)
    model = MultiViewKernelRidgeRegressor(random_state=0).fit(views, y)
    nothing = MultiView(
        {"own": X[:1, :5], "noise": X[:1, 5:]}, present=np.zeros((1, 2), dtype=bool)
    )
    center = {"own": X[:, :5].mean(axis=0), "noise": X[present[:, 1], 5:].mean(axis=0)}
    for own in center.values():
        own[4] = 0.0  # few rows have it
    middle = MultiView({name: own[None] for name, own in center.items()})
    own, _, of_all = model.get_state()["stand_in"][:, 0] * model._score_scale()
    expected = model.predict(middle) + own + of_all
    np.testing.assert_allclose(model.predict(nothing), expected, rtol=1e-9)


def test_contributions_are_what_the_score_loses(friedman):
    X, y = friedman[0][:200], friedman[1][:200]
    model = MultiViewKernelRidgeRegressor(VIEWS, random_state=0).fit(X, y)
    found = model.contributions(X[:3]).toarray()
    for column in range(10):
        without = X[:3].copy()
        without[:, column] = 0.0
        expected = model.predict(X[:3]) - model.predict(without)
        np.testing.assert_allclose(found[:, column], expected, atol=1e-9)


def test_probabilities_are_honest_without_folds():
    X, y = load_digits(return_X_y=True)
    model = MultiViewKernelRidgeClassifier([32, 32], random_state=0).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.96
    p = model.predict_proba(X[1::2])
    assert log_loss(y[1::2], p) < 0.15
    assert abs(p.max(axis=1).mean() - model.score(X[1::2], y[1::2])) < 0.03


def test_two_classes_have_one_score_of_the_second(friedman):
    X, y = friedman
    y = np.where(y > np.median(y), "high", "low")
    model = MultiViewKernelRidgeClassifier(VIEWS, random_state=0).fit(X[:500], y[:500])
    scores = model.decision_function(X)
    assert scores.shape == (900,)
    np.testing.assert_array_equal(model.predict(X) == "low", scores > 0.0)
    assert model.score(X[500:], y[500:]) > 0.85
    heavier = MultiViewKernelRidgeClassifier(VIEWS, class_weight={"low": 20.0}, random_state=0)
    assert (heavier.fit(X[:500], y[:500]).predict(X) == "low").mean() > 0.6


def test_too_many_columns_and_too_large_numbers_are_refused():
    X = sp.random_array((20, 6000), density=0.5, rng=np.random.default_rng(0), format="csr")
    with pytest.raises(InputError, match="columns have a value"):
        MultiViewKernelRidgeRegressor().fit(X, np.arange(20.0))
    X = np.ones((20, 2))
    X[::2] = 1e300
    with pytest.raises(InputError, match="too large"):
        MultiViewKernelRidgeRegressor().fit(X, np.arange(20.0))


def test_constant_columns_and_targets():
    X, y = np.ones((10, 3)), np.arange(10.0)
    np.testing.assert_allclose(MultiViewKernelRidgeRegressor().fit(X, y).predict(X), 4.5)
    X = np.arange(30.0).reshape(10, 3)
    np.testing.assert_allclose(MultiViewKernelRidgeRegressor().fit(X, y * 0 + 2).predict(X), 2.0)
    many = np.random.default_rng(0).normal(size=(350, 3))  # more than the first landmarks
    found = MultiViewKernelRidgeRegressor().fit(many, np.full(350, 7.0)).predict(many)
    np.testing.assert_allclose(found, 7.0)
    assert MultiViewKernelRidgeRegressor().fit(X[:1], y[:1]).predict(X).tolist() == [0.0] * 10


def test_predictions_stay_near_the_learned_targets():
    """A courier is alike in all of its rows, so that a new one is far from all of them."""
    rng = np.random.default_rng(0)
    courier = np.repeat(rng.normal(size=(40, 3)), 10, axis=0)
    trip = rng.gamma(2.0, 1.0, size=(400, 2))
    y = np.exp(trip[:, 0] + np.repeat(rng.normal(size=40), 10) + 0.1 * rng.normal(size=400))
    model = MultiViewKernelRidgeRegressor([3, 2], target_scale="log", random_state=0)
    model.fit(np.hstack([courier, trip]), y)
    far = np.hstack([rng.normal(size=(2000, 3)), rng.uniform(-10, 20, size=(2000, 2))])
    low, high = np.log(y).min(), np.log(y).max()
    found = np.log(model.predict(far))
    beyond = 0.1 * (high - low)
    assert found.min() == pytest.approx(low - beyond)
    assert found.max() == pytest.approx(high + beyond)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_an_outlier_does_not_make_the_other_rows_alike(friedman, kind):
    X, y = friedman[0][:330].copy(), friedman[1][:330]
    model = MultiViewKernelRidgeRegressor([10], random_state=0)
    clean = model.fit(kind(X[:300]), y[:300]).score(kind(X[300:]), y[300:])
    X[[3, 50], [0, 3]] = 1e6, -1e9  # in both of which the target changes
    model.fit(kind(X[:300]), y[:300])
    assert model.score(kind(X[300:]), y[300:]) > clean - 0.02
