"""Trees score as in scikit-learn, and target statistics do not know their own row."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from crossview.algorithms.trees.scores import Trees, score_rows
from crossview.algorithms.trees.target_statistics import (
    WEIGHTS,
    best_weight,
    category_statistics,
    ordered_statistics,
)
from crossview.batch import read_only
from crossview.estimators.trees.boosting import trees_in, trees_of
from reference import trees as reference


def rows(n=300, seed=0):
    """Return rows of two columns of categories, numbers and one missing now and then, and a sum."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, :2] = rng.integers([5, 40], size=(n, 2))
    X[rng.random((n, 6)) < 0.15] = np.nan
    signal = np.nan_to_num(X[:, 0] % 3 + (X[:, 1] % 7 > 3) + X[:, 2] * X[:, 3] + X[:, 4])
    return X, signal + 0.3 * rng.normal(size=n)


def frozen(model):
    """Return the arrays of a fitted model of scikit-learn."""
    return Trees(*map(read_only, trees_of(trees_in(model))))


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_scores_are_those_of_scikit_learn(n_classes):
    X, y = rows()
    kind = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    if n_classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    model = kind(categorical_features=[0, 1], max_iter=20, min_samples_leaf=5).fit(X, y)
    found, trees = np.tile(model._baseline_prediction, (len(X), 1)), frozen(model)
    assert {True, False} == set((trees.set_of > 0).tolist()) == set(trees.missing_left.tolist())
    score_rows(read_only(X), trees, found)
    slow = np.array([reference.score(model, x) for x in X[:40]])
    np.testing.assert_allclose(found[:40], slow, rtol=0, atol=1e-12)
    theirs = (model.decision_function if n_classes else model.predict)(X)
    np.testing.assert_allclose(found, theirs.reshape(len(X), -1), rtol=0, atol=1e-12)


def test_what_is_no_category_is_missing():
    X, y = rows()
    model = HistGradientBoostingRegressor(categorical_features=[0, 1], max_iter=20).fit(X, y)
    trees, expected = frozen(model), np.zeros((20, 1))
    X = X[:20].copy()
    X[:, :2] = np.nan
    score_rows(read_only(X), trees, expected)
    for code in (-1.0, 256.0, 1e300, np.inf):
        found = np.zeros((20, 1))
        X[:, :2] = code
        score_rows(read_only(X), trees, found)
        np.testing.assert_array_equal(found, expected)


def test_trees_after_the_lowest_loss_are_dropped():
    X, y = rows()
    y = np.random.default_rng(0).permutation(y)  # noise: the first trees are the best
    options = {"early_stopping": True, "n_iter_no_change": 10, "random_state": 0}
    model = HistGradientBoostingRegressor(**options).fit(X, y)
    best = int(np.argmax(model.validation_score_))
    assert len(trees_in(model)) == max(best, 1) < model.n_iter_


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("a", WEIGHTS[::4])
def test_statistics_are_those_of_the_rows_before(a, grouped):
    rng = np.random.default_rng(0)
    codes, y = rng.integers(-1, 6, 60), rng.normal(size=60)
    order, ones = rng.permutation(60), np.ones(60)
    if grouped:  # rows of a group have the same place
        order //= 4
    found = ordered_statistics(codes, y[:, None], ones, order, a)
    np.testing.assert_allclose(found, reference.ordered_statistics(codes, y, order, a), atol=1e-12)
    # what all rows say is what a row after them would get
    after = np.append(order, 60)
    for code in range(6):
        more = np.append(codes, code), np.append(y, y.mean())
        expected = reference.ordered_statistics(*more, after, a)[-1]
        new = category_statistics(codes, 6, y[:, None], ones, a)[code]
        np.testing.assert_allclose(new, expected, atol=1e-12)


@pytest.mark.parametrize("numbers", [False, True], ids=["classes", "numbers"])
def test_rare_values_say_as_much_as_they_know(numbers):
    """The prior weighs much where values are noise, and little where they decide."""
    rng = np.random.default_rng(0)
    n = 2000
    codes, order, ones = np.repeat(np.arange(n // 2), 2), rng.permutation(n), np.ones(n)
    values = np.repeat(rng.normal(size=n // 2), 2)
    values = values if numbers else (values > 0.0) * 1.0
    assert best_weight(codes, values[:, None], ones, order) <= 1.0
    assert best_weight(codes, rng.permutation(values)[:, None], ones, order) >= 50.0


def test_a_row_of_weight_two_counts_twice():
    rng = np.random.default_rng(0)
    codes, y, weight = rng.integers(-1, 5, 50), rng.normal(size=50), rng.integers(1, 3, 50)
    both = np.repeat(np.arange(50), weight)
    once = category_statistics(codes, 5, y[:, None], weight * 1.0, 2.0)
    twice = category_statistics(codes[both], 5, y[both, None], np.ones(len(both)), 2.0)
    np.testing.assert_allclose(once, twice)
