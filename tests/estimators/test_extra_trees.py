"""Extremely randomized trees: the arrays, shares of classes, categories, missing views."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

import crossview
from crossview import MultiViewExtraTreesClassifier, MultiViewExtraTreesRegressor
from crossview.algorithms.trees.scores import WORDS_OF_SET, Trees, score_rows
from crossview.batch import read_only
from crossview.estimators.trees.arrays import joined
from crossview.estimators.trees.randomized import ORDERS, trees_of

NO_SETS = np.zeros((1, WORDS_OF_SET), dtype=np.uint32)
FEW = {"n_estimators": 20, "random_state": 0}


def noisy(n_classes, n=300, seed=0):
    """Return rows, some without the second view, and labels that three columns tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(2)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    X[rng.random(n) < 0.1, 3:] = np.nan
    if n_classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    return X, y


@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_trees_as_arrays_say_what_those_of_scikit_learn_say(n_classes):
    X, y = noisy(n_classes)
    X /= 8.0  # 32 bits have all digits
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    kind = ExtraTreesClassifier if n_classes else ExtraTreesRegressor
    model = kind(30, max_leaf_nodes=100, random_state=0).fit(X, y, weight)
    trees = [one.tree_ for one in model.estimators_]
    found = np.zeros((len(X), n_classes if n_classes > 2 else 1))
    for one in trees_of(trees, np.zeros(4), np.ones(4), n_classes, 1 / 30):
        score_rows(read_only(X), Trees(*map(read_only, joined([one], NO_SETS))), found)
    expected = model.predict_proba(X) if n_classes else model.predict(X)[:, None]
    expected = expected[:, 1:] if n_classes == 2 else expected
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_shares_with_one_more_tree_of_all_rows(n_classes):
    X, y = noisy(n_classes)
    X = X[:, :3]
    model = MultiViewExtraTreesClassifier([2, 1], **FEW).fit(X, y)
    prior = np.bincount(y) / len(y)
    each = [
        MultiViewExtraTreesClassifier([2, 1], n_estimators=20, random_state=s).fit(X, y)
        for s in range(3)
    ]
    for one in (model, *each):  # the trees have no doubt of rows that they learned
        shares = (20 * np.eye(n_classes)[y] + prior) / 21
        np.testing.assert_allclose(one.predict_proba(X), shares, atol=1e-12)
    new = noisy(n_classes, seed=5)[0][:, :3]
    assert np.abs(model.predict_proba(new) - each[1].predict_proba(new)).max() > 0.01
    assert model.predict_proba(new).min() > 0.0


def test_numbers_far_from_zero_and_beyond_32_bits_are_told_apart():
    """Seconds of a day of 2026 are equal as 32-bit floats."""
    rng = np.random.default_rng(0)
    seconds = 1.79e9 + rng.integers(0, 100, 400)
    X = np.column_stack([seconds, 1e290 * rng.choice([-1.0, 1.0], 400)])
    y = (seconds % 100 > 50) ^ (X[:, 1] > 0)
    model = MultiViewExtraTreesClassifier([1, 1], max_features=1.0, **FEW).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.95


@pytest.mark.filterwarnings("default")
def test_threads_leave_the_filters_of_warnings_as_they_were(recwarn):
    X, y = noisy(0)
    filters = list(warnings.filters)
    for _ in range(5):
        MultiViewExtraTreesRegressor([3, 1], n_estimators=100, n_jobs=4).fit(X, y)
        assert list(warnings.filters) == filters
    assert not recwarn


def test_numbers_are_means_of_leaves():
    X, y = noisy(0)
    model = MultiViewExtraTreesRegressor([3, 1], **FEW).fit(X[:200], y[:200])
    np.testing.assert_allclose(model.predict(X[:200]), y[:200], atol=1e-9)
    assert model.score(X[200:], y[200:]) > 0.5
    coarse = MultiViewExtraTreesRegressor([3, 1], min_samples_leaf=200, **FEW)
    np.testing.assert_allclose(coarse.fit(X[:200], y[:200]).predict(X), y[:200].mean())


def test_parameters_are_honoured():
    X, y = noisy(2)

    def size(**options):
        model = MultiViewExtraTreesClassifier([3, 1], **{**FEW, **options}).fit(X, y)
        return len(model._state["roots"]), len(model._state["ends"])

    assert size() == size()
    assert size(n_estimators=5)[0] == 5
    assert size(max_leaf_nodes=4) == (20, 20 * 7)
    assert size(min_samples_leaf=20)[1] < size(min_samples_leaf=5)[1] < size()[1]
    assert size(max_features=1.0)[1] < size(max_features=0.25)[1]
    for name, value in (("n_estimators", 0), ("max_features", 1.5), ("max_leaf_nodes", 1)):
        with pytest.raises(ValueError, match=name):
            size(**{name: value})


def test_threads_change_nothing():
    X, y = noisy(2)
    one, two, all_, none = (
        MultiViewExtraTreesClassifier([3, 1], n_jobs=n, **FEW).fit(X, y).decision_function(X)
        for n in (1, 2, -1, None)
    )
    for other in (two, all_, none):
        np.testing.assert_array_equal(other, one)
    for n in (0, -2):
        with pytest.raises(ValueError, match="n_jobs"):
            MultiViewExtraTreesClassifier(n_jobs=n).fit(X, y)


def test_class_weights_move_the_shares():
    X, y = noisy(2)
    rare = (y == 1) & (np.arange(len(y)) % 5 > 0)
    X, y = X[~rare], y[~rare]
    options = {"min_samples_leaf": 20, **FEW}
    plain, balanced = (
        MultiViewExtraTreesClassifier([3, 1], class_weight=w, **options).fit(X, y).predict_proba(X)
        for w in (None, "balanced")
    )
    assert balanced[:, 1].mean() > 1.5 * plain[:, 1].mean()


def test_categories_are_split_by_statistics_that_do_not_know_their_row():
    """Ids that came once say nothing, and those that came often do."""
    rng = np.random.default_rng(0)
    n = 800
    user = rng.integers(0, 40, n)
    likes = np.random.default_rng(3).random(40) < 0.5
    y = likes[user] ^ (rng.random(n) < 0.1)
    table = {"u__user": [f"u{i}" for i in user], "u__once": [f"x{i}" for i in range(n)]}
    table |= {"z__number": rng.normal(size=n).tolist()}
    encoder = crossview.ViewEncoder(hash_bits=12)
    part = {name: values[:600] for name, values in table.items()}
    rest = {name: values[600:] for name, values in table.items()}
    import pandas as pd

    X, new = encoder.fit_transform(pd.DataFrame(part)), encoder.transform(pd.DataFrame(rest))
    model = MultiViewExtraTreesClassifier(n_estimators=ORDERS + 16, random_state=0).fit(X, y[:600])
    assert model.score(new, y[600:]) > 0.85
    model.fit(X, y[:600])
    of_users = model.feature_importances_[: X.layout.widths[0]].sum()
    assert of_users > 0.6


def test_a_missing_view_and_an_unknown_category_have_a_probability():
    X, y = noisy(3)
    model = MultiViewExtraTreesClassifier([3, 1], **FEW).fit(X, y)
    new = noisy(3, seed=8)[0]
    new[:, 3] = np.nan
    P = model.predict_proba(new)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.std(axis=0).min() > 0.05
    assert 0.4 < np.mean(P.argmax(axis=1) == noisy(3, seed=8)[1]) < 0.95
    scores = model.view_scores(new)
    np.testing.assert_allclose(scores[:, 0], model.decision_function(new), atol=1e-12)
