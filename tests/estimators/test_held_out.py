"""Rows that belong together are held out together, wherever `fit` holds rows out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

from crossview import (
    EnsembleClassifier,
    EnsembleRegressor,
    LateFusionClassifier,
    LateFusionRegressor,
    MultiView,
    MultiViewKernelRidgeClassifier,
    MultiViewKernelRidgeRegressor,
    MultiViewTreesClassifier,
    MultiViewTreesRegressor,
    PegasosClassifier,
)
from crossview.estimators.base.held_out import folds_of_groups, folds_to_fit, groups_of
from crossview.estimators.trees.boosting import HeldOut
from crossview.estimators.trees.features import Targets

pytestmark = pytest.mark.usefixtures("models_are_as_in_use")
N_PERSONS, VISITS = 120, 4


def visits(seed=0, n=N_PERSONS):
    """Rows of persons that are told apart by their columns, each with an answer of its own."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n), VISITS)
    X = rng.normal(size=(n, 4))[person] + 0.05 * rng.normal(size=(len(person), 4))
    y = rng.integers(0, 2, n)[person]
    return MultiView({"blood": X[:, :2], "urine": X[:, 2:]}), y, person


@pytest.fixture(scope="module")
def data():
    X, y, person = visits(18)
    return X, X.with_groups(person), y


CLASSIFIERS = {
    "trees": MultiViewTreesClassifier(random_state=0),
    "kernel": MultiViewKernelRidgeClassifier(random_state=0),
    "pegasos": PegasosClassifier(kernel="rbf", lam=0.001, n_iterations=2000, random_state=0),
    "ensemble": EnsembleClassifier(
        cv=3,
        members=[
            ("trees", MultiViewTreesClassifier(n_bags=1, max_iter=10, random_state=0)),
            ("pegasos", PegasosClassifier(lam=0.001, n_iterations=2000, random_state=0)),
        ],
    ),
}
REGRESSORS = {
    "trees": MultiViewTreesRegressor(random_state=0),
    "kernel": MultiViewKernelRidgeRegressor(random_state=0),
    "ensemble": EnsembleRegressor(
        cv=3,
        members=[
            ("trees", MultiViewTreesRegressor(n_bags=1, max_iter=10, random_state=0)),
            ("kernel", MultiViewKernelRidgeRegressor(n_landmarks=100, random_state=0), "blood"),
        ],
    ),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_new_persons_are_not_foretold_by_those_that_were_learned(data, name):
    X, grouped, y = data
    new, answers, _ = visits(108)
    loss = [
        log_loss(answers, CLASSIFIERS[name].fit(own, y).predict_proba(new)) for own in (X, grouped)
    ]
    assert loss[0] > 0.75  # the rows of known persons say that they are all known
    assert loss[1] < 0.72  # nothing is known: the loss of a guess is 0.693


@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers_of_new_persons_are_not_foretold_either(data, name):
    X, grouped, y = data
    new, answers, _ = visits(108)
    errors = [
        mean_squared_error(answers, REGRESSORS[name].fit(own, y).predict(new))
        for own in (X, grouped)
    ]
    assert errors[1] < min(0.27, errors[0] - 0.03)  # that of the mean is 0.25


@pytest.mark.parametrize("name", ["trees", "kernel"])
def test_one_group_of_all_rows_is_none(data, name):
    X, _, y = data
    p = CLASSIFIERS[name].fit(X, y).predict_proba(X)
    one = X.with_groups(np.zeros(len(y)))
    np.testing.assert_array_equal(CLASSIFIERS[name].fit(one, y).predict_proba(X), p)


@pytest.mark.parametrize("name", ["trees", "kernel"])
def test_rows_of_weight_0_are_no_part_of_a_group(data, name):
    _, grouped, y = data
    kept = np.arange(len(y)) % 3 > 0
    weighted = CLASSIFIERS[name].fit(grouped, y, kept.astype(float)).predict_proba(grouped)
    without = CLASSIFIERS[name].fit(grouped[kept], y[kept]).predict_proba(grouped)
    np.testing.assert_array_equal(weighted, without)


def test_a_category_tells_nothing_of_the_other_rows_of_a_group():
    """A doctor of few patients says how they are, by their own visits alone."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(150), 6)
    y = rng.integers(0, 2, 150)[person]
    doctor, noise = rng.integers(0, 200, 150)[person], rng.normal(size=(900, 1))
    matrix = np.hstack([np.eye(200)[doctor], noise])
    layout = MultiView({"all": matrix}).layout
    loss = []
    for groups in (None, person):
        X = MultiView.from_matrix(matrix, layout, categories=[np.arange(200)])
        model = MultiViewTreesClassifier(random_state=0).fit(X.with_groups(groups), y)
        new = MultiView({"all": matrix[rng.permutation(900)]})
        loss.append(log_loss(y, model.predict_proba(new)))
    assert loss[0] > 1.0
    assert loss[1] < 0.72


def test_late_fusion_weighs_views_by_new_persons():
    """One view knows each person, and says nothing of others; one says a little of everybody."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(40), 8)
    y = rng.integers(0, 2, 40)[person]
    known = rng.normal(size=(40, 30))[person]
    weak = (y + 2.0 * rng.normal(size=len(y)))[:, None]
    for model, target in ((LateFusionClassifier(C=10.0), y), (LateFusionRegressor(), 1.0 * y)):
        shares = []
        for groups in (None, person):
            X = MultiView({"known": known, "weak": weak}).with_groups(groups)
            scores = model.fit(X, target).view_scores(X).std(axis=0)
            shares.append(scores[0] / scores.sum())
        assert shares[0] > 0.6
        assert shares[1] < 0.4


def test_folds_without_groups_are_those_of_scikit_learn():
    codes = np.arange(30) % 3
    for given, kind in ((codes, StratifiedKFold), (None, KFold)):
        expected = kind(3, shuffle=True, random_state=5).split(codes, codes)
        for own, (a, b) in zip(folds_to_fit(3, 30, given, None, 5), expected, strict=True):
            np.testing.assert_array_equal(own[0], a)
            np.testing.assert_array_equal(own[1], b)


@pytest.mark.parametrize("n_groups", [12, 3000])
@pytest.mark.parametrize("classes", [True, False])
def test_folds_hold_out_whole_groups(n_groups, classes):
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(n_groups), 3))
    codes = np.random.default_rng(1).integers(0, 2, len(groups)) if classes else None
    folds = folds_to_fit(5, len(groups), codes, groups, 0)
    assert len(folds) == 5
    assert sorted(np.concatenate([b for _, b in folds])) == list(range(len(groups)))
    for a, b in folds:
        assert not set(groups[a]) & set(groups[b])
        assert 0.1 < len(b) / len(groups) < 0.35


def test_rows_stand_alone_where_a_class_would_not_be_learned():
    groups, codes = np.repeat(np.arange(4), 3), np.repeat([0, 0, 0, 1], 3)
    assert len(folds_of_groups(9, codes, groups, 0)) == 4
    for own, (a, b) in zip(
        folds_to_fit(3, 12, codes, groups, 0),
        StratifiedKFold(3, shuffle=True, random_state=0).split(codes, codes),
        strict=True,
    ):
        np.testing.assert_array_equal(own[0], a)
        np.testing.assert_array_equal(own[1], b)


def test_bags_of_trees_hold_out_other_groups_and_learn_every_class():
    groups, codes = np.repeat(np.arange(20), 5), np.repeat([0, 1] * 9 + [2, 2], 5)
    codes[-5:] = 1  # the third class is in one group
    held = HeldOut(Targets(codes, 3, np.ones(100), groups), 0.1, np.random.RandomState(0))
    bags = [held.draw(bag) for bag in range(len(held.folds) + 1)]
    np.testing.assert_array_equal(bags[0], bags[-1])
    assert len({tuple(np.unique(groups[one])) for one in bags[:-1]}) == len(bags) - 1
    for one in bags:
        rest = np.setdiff1d(np.arange(100), one)
        assert not set(groups[rest]) & set(groups[one])
        assert set(codes[rest]) == {0, 1, 2}


def test_trees_of_groups_that_are_classes_hold_nothing_out():
    codes = np.repeat([0, 1, 2], 20)
    held = HeldOut(Targets(codes, 3, np.ones(60), codes), 0.1, np.random.RandomState(0))
    assert (held.any, held.folds, len(held.draw(0))) == (False, [], 0)
    X = MultiView({"all": np.random.default_rng(0).normal(size=(60, 2))}).with_groups(codes)
    assert MultiViewTreesClassifier(max_iter=3, random_state=0).fit(X, codes).n_iter_ == 3


def test_a_container_keeps_its_groups():
    plain = MultiView({"a": np.eye(4), "b": np.ones((4, 1))})
    X = plain.with_groups(["x", "z", "x", "y"])
    assert plain.groups is plain.with_groups(None).groups is None
    assert X.groups.tolist() == [0, 1, 0, 2]
    assert X.matrix is plain.matrix
    assert X[[3, 1]].groups.tolist() == [2, 1]
    assert X[1:].select(["b"]).groups.tolist() == [1, 0, 2]
    texts, big = ["x", np.nan, "x", np.nan], 2**63 + 1
    days = np.array(["2020-01-01", "NaT", "2020-01-01", "NaT"], "M8[ns]")
    for some in (
        *(
            ["x", None, "x", None],
            [0.5, np.nan, 0.5, np.nan],
            [3, -1, 3, -2],
            [big, big + 1, big, 3],
        ),
        *(texts, pd.Series(texts, dtype="string"), days),
    ):
        codes = plain.with_groups(some).groups  # a row without a group stands alone
        assert len(set(codes[[0, 1, 3]])) == 3
        assert codes[0] == codes[2]
    assert groups_of(X, np.array([0, 2])) is None  # one group is none
    assert groups_of(X, np.array([3, 0])).tolist() == [1, 0]
    for wrong, message in (
        (["x", "y"], "2 groups for 4 rows"),
        (pd.Series([["x"]] * 4), "groups= are text, numbers or dates"),
        ([["x"]] * 4, "groups= has 2 dimensions; give one per row"),
    ):
        with pytest.raises(ValueError, match=message):
            plain.with_groups(wrong)
