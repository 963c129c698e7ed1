"""Networks: what they learn, what they read, and what changes nothing."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_friedman1

from crossview import MultiView, MultiViewNetworkClassifier, MultiViewNetworkRegressor
from crossview.algorithms import network
from crossview.estimators.network.features import RAMPS

pytestmark = pytest.mark.usefixtures("models_are_as_in_use")
FEW = {"n_members": 2, "n_hidden": 16, "random_state": 0}


@pytest.fixture(scope="module")
def circles():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    return X, np.where(X[:, 0] ** 2 + X[:, 2] ** 2 > 1.4, "out", "in")


@pytest.fixture(scope="module")
def model(circles):
    X, y = circles
    return MultiViewNetworkClassifier([2, 2], **FEW).fit(X[:400], y[:400])


def test_it_learns_what_no_linear_model_does(circles, model):
    X, y = circles
    assert model.score(X[400:], y[400:]) > 0.9
    assert model.feature_importances_[[0, 2]].sum() > 0.8
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_numbers():
    X, y = make_friedman1(900, noise=0.1, random_state=0)
    found = MultiViewNetworkRegressor([5, 5], **FEW).fit(X[:600], 1e6 + 1e3 * y[:600])
    assert found.score(X[600:], 1e6 + 1e3 * y[600:]) > 0.93


def test_classes_of_more_than_two(circles):
    X = circles[0]
    y = np.digitize(X[:, 1], [-0.5, 0.5])
    found = MultiViewNetworkClassifier([2, 2], **FEW).fit(X[:400], y[:400])
    assert found.score(X[400:], y[400:]) > 0.9
    np.testing.assert_allclose(found.predict_proba(X).sum(axis=1), 1.0)


def test_the_scale_of_a_column_says_nothing(circles, model):
    """Ramps are between quantiles, and powers of two change no digit of them."""
    X, y = circles
    scaled = X * [2.0**30, 1.0, 2.0**-30, 4.0]
    other = MultiViewNetworkClassifier([2, 2], **FEW).fit(scaled[:400], y[:400])
    np.testing.assert_array_equal(other.decision_function(scaled), model.decision_function(X))


def test_far_numbers_are_as_the_largest_of_training(circles, model):
    X = circles[0]
    far = np.where(X > 0.0, 1e9, -1e9)
    ends = np.where(X > 0.0, X[:400].max(axis=0), X[:400].min(axis=0))
    np.testing.assert_allclose(model.decision_function(far), model.decision_function(ends))


@pytest.mark.parametrize("n_jobs", [2, -1, None])
def test_threads_change_nothing(circles, model, n_jobs):
    X, y = circles
    other = MultiViewNetworkClassifier([2, 2], n_jobs=n_jobs, **FEW).fit(X[:400], y[:400])
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


def test_one_thread_is_that_of_the_caller(circles, monkeypatch):
    """Its clock tells `compare` what a fit takes."""
    X, y = circles
    seen, learn = set(), network.learn

    def noted(*given):
        seen.add(threading.get_ident())
        return learn(*given)

    monkeypatch.setattr(network, "learn", noted)
    MultiViewNetworkClassifier([2, 2], max_epochs=1, **FEW).fit(X, y)
    assert seen == {threading.get_ident()}


def test_a_row_of_weight_0_is_not_there_and_weights_have_no_unit(circles):
    X, y = circles
    weight = np.ones(300)
    weight[::3] = 0.0
    learner = MultiViewNetworkClassifier([2, 2], max_epochs=4, **FEW)
    some = learner.fit(X[:300], y[:300], sample_weight=weight).decision_function(X)
    kept = np.arange(300) % 3 > 0
    np.testing.assert_array_equal(
        some, learner.fit(X[:300][kept], y[:300][kept]).decision_function(X)
    )
    twice = learner.fit(X[:300], y[:300], sample_weight=2.0 * weight).decision_function(X)
    np.testing.assert_array_equal(some, twice)


def test_rows_of_more_weight_decide():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2))
    y = np.where(np.arange(400) < 200, X[:, 0] > 0, X[:, 0] < 0)
    learner = MultiViewNetworkClassifier([2], **FEW)
    for of_first in (9.0, 1.0 / 9.0):
        weight = np.where(np.arange(400) < 200, of_first, 1.0)
        right = learner.fit(X, y, sample_weight=weight).score(X[:200], y[:200])
        assert (right > 0.9) == (of_first > 1.0)


def test_class_weights_are_weights(circles):
    X, y = circles
    options = {"max_epochs": 4, **FEW}
    by_class = MultiViewNetworkClassifier([2, 2], class_weight={"in": 3.0, "out": 1.0}, **options)
    by_row = MultiViewNetworkClassifier([2, 2], **options)
    by_row.fit(X, y, sample_weight=np.where(y == "in", 3.0, 1.0))
    scores = by_class.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(scores, by_row.decision_function(X))


def test_a_missing_view_is_the_mean(circles):
    X, y = circles
    model = MultiViewNetworkClassifier(**FEW).fit(MultiView({"a": X[:, :2], "b": X[:, 2:]}), y)
    without = MultiView(
        {"a": X[:, :2], "b": X[:, 2:]},
        present=np.column_stack([np.ones(600, bool), np.zeros(600, bool)]),
    )
    changed = X.copy()
    changed[:, 2:] = 7.0
    other = MultiView({"a": changed[:, :2], "b": changed[:, 2:]}, present=without.present)
    np.testing.assert_array_equal(model.decision_function(without), model.decision_function(other))


def test_rows_with_a_missing_view_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = X[:, 0] > 0
    present = np.column_stack([np.ones(500, bool), rng.random(500) < 0.5])
    X[:, 2:] = np.where(present[:, [1]], X[:, [0]] * [1.0, 2.0], 0.0)
    views = MultiView({"a": X[:, :2], "b": X[:, 2:]}, present=present)
    model = MultiViewNetworkClassifier(**FEW).fit(views, y)
    assert model.score(views, y) > 0.95


def test_categories_words_and_wide_views():
    rng = np.random.default_rng(0)
    words = sp.random(800, 300, 0.03, format="csr", random_state=0)
    weights = rng.normal(size=300)
    numbers = rng.normal(size=(800, 1))
    y = words @ weights + numbers[:, 0] ** 2 - 1.0 > 0.0
    X = sp.csr_array(sp.hstack([numbers, words]))
    model = MultiViewNetworkClassifier([1, 300], max_columns=40, **FEW).fit(X[:600], y[:600])
    state = model._state
    assert state["numbers"].tolist() == [0]
    assert state["low"].shape == (1, RAMPS)
    assert 0 < len(state["columns"]) <= 40
    assert state["loadings"].shape == (300, 50)
    assert model.score(X[600:], y[600:]) > 0.65
    found = model.decision_function(X[:50].toarray())
    np.testing.assert_array_equal(found, model.decision_function(X[:50]))


def test_more_than_128_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 200))
    y = X[:, :5].sum(axis=1) > 0.0
    model = MultiViewNetworkClassifier([200], **FEW).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.65
    assert model._state["low"].shape == (200, 8)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_few_rows(n):
    X = np.arange(12.0 * n).reshape(n, 12) % 5.0
    found = MultiViewNetworkRegressor([5, 7], max_epochs=3, **FEW).fit(X, np.arange(n) * 1.0)
    assert np.isfinite(found.predict(X)).all()
    if n > 1:
        y = np.arange(n) % 2
        found = MultiViewNetworkClassifier([5, 7], max_epochs=3, **FEW).fit(X, y)
        assert np.isfinite(found.decision_function(X)).all()


def test_constant_columns_and_no_columns():
    y = np.arange(60) % 2
    for X in (np.zeros((60, 3)), np.ones((60, 3))):
        found = MultiViewNetworkClassifier([2, 1], max_epochs=5, **FEW).fit(X, y)
        np.testing.assert_allclose(found.predict_proba(X), 0.5, atol=0.2)


def test_groups_are_held_out_together():
    """Columns that know the group alone do not stop late: no row of it is held out with others."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 10)
    y = rng.integers(0, 2, 60)[groups]
    X = rng.normal(size=(60, 8))[groups]
    learner = MultiViewNetworkClassifier(n_members=1, random_state=0)
    views = MultiView({"all": X})
    alone = learner.fit(views, y).predict_proba(views)
    whole = learner.fit(views.with_groups(groups), y).predict_proba(views)
    right = np.arange(600), y
    assert alone[right].mean() > 0.9 > whole[right].mean()
