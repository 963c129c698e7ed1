"""Rows as mappings from the names of features to numbers, and features that are new."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import crossview
from contract.instances import (
    COLUMN_NAMES,
    N_COLUMNS,
    assert_same_state,
    learn,
    make_rows,
)
from crossview import (
    FactorizationMachineClassifier,
    InputError,
    KeCoClassifier,
    MultiViewPAClassifier,
    OnlineStackingClassifier,
)


def absolute_weights(model):
    """The absolute weights, sorted; features that never came have weight 0."""
    missing = np.zeros((len(model.coef_), N_COLUMNS - model.n_features_in_))
    return np.sort(np.abs(np.hstack([model.coef_, missing])).ravel()).round(9)


def test_mappings_and_plain_rows_give_the_same_model(linear_stream_learner, table):
    X, y = table
    layout = learn(clone(linear_stream_learner), X, y).layout_

    def mapping(x):
        views = {
            name: {f"f{j}": v for j, v in enumerate(x[layout.block(name)].tolist()) if v}
            for name in layout.names
        }
        return views if layout.n_views > 1 else views["all"]

    plain, named = clone(linear_stream_learner), clone(linear_stream_learner)
    if hasattr(named, "views"):
        named.set_params(views=dict.fromkeys(layout.names, "*"))
    assert plain.predict_one(X[0]) is None
    for x, label in zip(X, y, strict=True):
        plain.learn_one(x, label)
        named.learn_one(mapping(x), label)
    for x in X:
        assert plain.predict_one(x) == named.predict_one(mapping(x))
    np.testing.assert_array_equal(absolute_weights(plain), absolute_weights(named))


def test_a_mapping_names_columns_of_a_data_frame(stream_learner):
    X, y = make_rows()
    frame = pd.DataFrame(X, columns=COLUMN_NAMES)
    trained = learn(stream_learner, frame, y)
    layout = trained.layout_
    for x, predicted in zip(X[:9], trained.predict(frame[:9]), strict=True):
        row = dict(zip(COLUMN_NAMES, x.tolist(), strict=True))
        if layout.n_views > 1:
            row = {
                name: {c: row[c] for c in COLUMN_NAMES[layout.block(name)]} for name in layout.names
            }
        assert trained.predict_one(row) == predicted
    with pytest.raises(InputError, match="no feature 'c99'"):
        trained.predict_one({layout.names[0]: {"c99": 1.0}})


def test_a_bad_mapping_leaves_the_learner_unchanged():
    model = MultiViewPAClassifier()
    model.learn_one({"a": {"x": 1.0}, "b": {"y": 2.0}}, "no")
    model.learn_one({"a": {"x": -1.0}, "b": {"y": -2.0}}, "yes")
    before = pickle.dumps(model.get_state())
    for bad, message in (
        ({"a": {"new": 1.0, "x": float("nan")}}, "not a finite number"),
        ({"a": {"new": 1.0, "x": None}}, "None is not a finite number; leave the feature out"),
        ({"c": {"z": "text"}}, r"'text' is text.* \{'z=text': 1.0\}, or .*ViewEncoder"),
        ({"a": "text", "b": {"y": 1.0}}, "mapping of view to features"),
    ):
        with pytest.raises(InputError, match=message):
            model.learn_one(bad, "yes")
        with pytest.raises(InputError, match="label is missing"):
            model.learn_one({"a": {"other": 1.0}}, None)
    assert pickle.dumps(model.get_state()) == before
    assert model.layout_.widths == (1, 1)


@pytest.mark.parametrize("model", [MultiViewPAClassifier(), OnlineStackingClassifier()])
def test_a_view_that_is_none_is_missing_and_a_row_may_have_none_at_all(model):
    rng = np.random.default_rng(0)
    for t in range(40):
        x = {"a": {"x": rng.normal() + t % 2}, "b": {"y": rng.normal(), "z": 1.0}}
        model.learn_one(x, t % 2)
    some, whole = {"b": {"y": 1.0}}, {"a": {"x": 1.0}, "b": {"y": 1.0}}
    assert model.predict_proba_one({"a": None, **some}) == model.predict_proba_one(some)
    assert model.predict_proba_one(some) != model.predict_proba_one(whole)
    nothing = model.predict_proba_one({})
    assert nothing == model.predict_proba_one({"a": None}) == model.predict_proba_one({"b": None})
    assert sum(nothing.values()) == pytest.approx(1.0)
    assert model.predict_one({}) in (0, 1)
    again = pickle.loads(pickle.dumps(model)).learn_one({"a": None, **some}, 1)
    assert_same_state(again, pickle.loads(pickle.dumps(model)).learn_one(some, 1))
    assert model.learn_one({}, 1).learn_one({"a": None, "b": None}, 0).layout_.names == ("a", "b")


def test_new_features_views_and_classes_are_added(tmp_path):
    rng = np.random.default_rng(0)
    model = MultiViewPAClassifier(C=0.5)
    words = [f"w{i}" for i in range(40)]
    right = 0
    for t in range(600):
        label = int(rng.integers(3)) if t > 100 else int(rng.integers(2))
        row = {"text": dict.fromkeys(rng.choice(words, 4), 1.0)}
        row["text"][f"only{label}"] = 1.0
        if t > 50 and t % 3:
            row["link"] = {f"to{label}": 1.0, f"page{int(rng.integers(30))}": 1.0}
        right += model.predict_one(row) == label
        model.learn_one(row, label)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.layout_.names == ("text", "link")
    assert right > 480
    crossview.save(model, tmp_path / "m.safetensors")
    again = crossview.load(tmp_path / "m.safetensors")
    row = {"text": {"only2": 1.0, "brand new": 1.0}, "link": {"to2": 1.0}}
    assert again.predict_one(row) == model.predict_one(row) == 2
    assert_same_state(again.learn_one(row, 0), model.learn_one(row, 0))


@pytest.mark.parametrize(
    "model",
    [
        MultiViewPAClassifier(average=True, geometry="mahalanobis"),
        KeCoClassifier(),
        KeCoClassifier(kernel="linear"),
        FactorizationMachineClassifier(n_factors=2),
        OnlineStackingClassifier(),
    ],
    ids=repr,
)
def test_a_learner_that_got_a_view_later_is_saved_with_it(model, tmp_path):
    model.learn_one({"a": {"x": 1.0}}, "no").learn_one({"a": {"x": -1.0}}, "yes")
    model.learn_one({"a": {"z": 1.0}, "b": {"y": 2.0}}, "maybe")
    crossview.save(model, tmp_path / "m.safetensors")
    again = crossview.load(tmp_path / "m.safetensors")
    row = {"b": {"y": 1.0}, "c": {"new": 1.0}}
    assert again.predict_one(row) == model.predict_one(row)
    assert_same_state(again.learn_one(row, "no"), model.learn_one(row, "no"))
