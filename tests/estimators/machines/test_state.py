"""What a machine has learned grows: with features, views and classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from crossview import (
    FactorizationMachineClassifier,
    MultiView,
    MultiViewMachineClassifier,
    MultiViewMachineRegressor,
    SupportTensorMachineClassifier,
)
from machine_models import mappings


def test_features_that_come_later_are_as_if_they_had_been_there():
    model = MultiViewMachineRegressor(n_factors=4, random_state=0)
    rows = list(mappings())
    for x, y in rows:
        model.learn_one(x, y)
    # the same as a matrix, its columns in the order in which they came
    order = {
        view: list(dict.fromkeys(next(iter(x[view])) for x, _ in rows)) for view in ("user", "item")
    }
    frames = {
        view: pd.get_dummies(pd.Series([next(iter(x[view])) for x, _ in rows]))[names].astype(float)
        for view, names in order.items()
    }
    batch = MultiViewMachineRegressor(n_factors=4, random_state=0)
    batch.partial_fit(MultiView(frames), [y for _, y in rows])
    for view in order:
        np.testing.assert_array_equal(model.factors_[view], batch.factors_[view])
    assert model.predict_one(rows[0][0]) == batch.predict(MultiView(frames)[:1])[0]
    assert model.view_norms()["user"][0] == 6


@pytest.mark.parametrize("first", [["user"], ["user", "item"]])
def test_a_view_that_comes_later_changes_nothing_that_was_learned(first):
    model = MultiViewMachineClassifier(n_factors=4, random_state=0)
    rows = list(mappings())
    for x, y in rows:
        model.learn_one({view: x[view] for view in first}, y > 6)
    row = {view: rows[0][0][view] for view in first}
    before = model.predict_one(row), model._joint_scores(model._read_one(row, learn=False))
    model.learn_one(row | {"week": {"w3": 1.0}}, True, sample_weight=0.0)
    after = model.predict_one(row), model._joint_scores(model._read_one(row, learn=False))
    assert model.layout_.names == (*first, "week")
    assert before == after
    for x, y in mappings(300, seed=1):
        late = x | {"week": {f"w{int(y) % 2}": 1.0}}
        model.learn_one(late, y % 2 == 1)
    right = [
        model.predict_one(x | {"week": {f"w{int(y) % 2}": 1.0}}) == (y % 2 == 1)
        for x, y in mappings(100, seed=2)
    ]
    assert np.mean(right) > 0.9


@pytest.mark.parametrize(
    "model",
    [
        MultiViewMachineClassifier(n_factors=4, groups=None, random_state=0),
        MultiViewMachineClassifier(n_factors=4, loss="hinge", optimizer="sgd", random_state=0),
        FactorizationMachineClassifier(n_factors=4, loss="squared", random_state=0),
        SupportTensorMachineClassifier(optimizer="adagrad", random_state=0),
    ],
    ids=["logistic", "hinge", "FM", "STM"],
)
def test_a_class_that_comes_later_leaves_the_others_as_they_were(model):
    model = clone(model)
    rows = list(mappings())
    for x, y in rows:
        model.learn_one(x, "b" if y > 6 else "d")
    x = rows[0][0]
    before = model._joint_scores(model._read_one(x, learn=False))[0, 0]
    model.learn_one(x, "c", sample_weight=0.0)
    b, _, d = model._joint_scores(model._read_one(x, learn=False))[0]
    if isinstance(model, FactorizationMachineClassifier):  # but for the initial pairs of b
        assert d == pytest.approx(before)
    else:
        assert d - b == pytest.approx(before)
    three = [model._joint_scores(model._read_one(x, learn=False))[0] for x, _ in rows[:20]]
    model.learn_one(x, "a", sample_weight=0.0)
    four = [model._joint_scores(model._read_one(x, learn=False))[0] for x, _ in rows[:20]]
    np.testing.assert_array_equal(np.array(four)[:, 1:], np.array(three))
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
