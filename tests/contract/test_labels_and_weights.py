"""What a row's weight and a class's weight mean for every learner."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone

from contract.instances import (
    CASES,
    assert_same_state,
    learn,
    make_rows,
    new,
    scores_of,
    targets,
)
from crossview import AROWClassifier, InputError


def test_a_row_of_weight_zero_is_not_learned(stream_learner, table):
    X, y = table
    keep = np.arange(len(y)) % 3 > 0
    weighted = learn(clone(stream_learner), X, y, sample_weight=keep.astype(float))
    rest = learn(clone(stream_learner), X[keep], y[keep], classes=y)
    assert_same_state(weighted, rest)
    # a part of a stream in which all weights are 0; it ends a block of the calibration
    learn(rest, X[:3], y[:3], classes=y, sample_weight=np.zeros(3))
    np.testing.assert_allclose(scores_of(rest, X), scores_of(weighted, X), rtol=0.01)


def test_learn_one_and_partial_fit_weigh_a_row_alike(stream_learner_of_loop, table):
    X, y = table
    learner = stream_learner_of_loop
    batch = learn(clone(learner), X, y, sample_weight=0.5)
    ones = learn(clone(learner), X[:1], y[:1], classes=y, sample_weight=[0.5])
    numbers = targets(learner, y)
    for x, target in zip(X[1:], numbers[1:], strict=True):
        ones.learn_one(x, target, sample_weight=0.5)
    assert_same_state(batch, ones)
    with pytest.raises(InputError, match="give a number from 0 to 1e"):
        ones.learn_one(X[0], numbers[0], sample_weight=-1.0)
    with pytest.raises(InputError, match=r"row 1: sample_weight 1e\+13 is too large"):
        ones.partial_fit(X[:2], numbers[:2], sample_weight=[1.0, 1e13])
    assert_same_state(batch, ones)


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "bool[pyarrow]", "uint8[pyarrow]"])
def test_nullable_labels_without_gaps_keep_their_type(dtype):
    X, y = make_rows()
    labels = pd.Series(y == "ant").astype(dtype)
    learner = AROWClassifier().fit(X, labels)
    kind = bool if "bool" in dtype else int
    assert [type(one) for one in learner.classes_.tolist()] == [kind, kind]
    assert learner.score(X, labels) == (learner.predict(X) == (y == "ant")).mean()
    with pytest.raises(InputError, match="row 1: the label is missing"):
        learner.fit(X, labels.where(labels.index != 1))


def test_a_weight_of_no_class_or_out_of_range_is_refused(classifier_of_loop):
    """It was ignored, as where a label is misspelled, or made the model one of NaN."""
    X, y = make_rows()
    learner = classifier_of_loop
    if "class_weight" not in learner.get_params():
        return
    for weight in (-1.0, np.nan, np.inf, "3"):
        with pytest.raises(InputError, match=r"class_weight of 'ant' is .*give a number from 0"):
            learner.set_params(class_weight={"ant": weight}).fit(X, y)
    with pytest.raises(InputError, match=r"class_weight names 'amt', .* the classes are \['ant'"):
        learner.set_params(class_weight={"amt": 3.0}).fit(X, y)


def test_the_weight_of_a_class_is_that_of_its_rows(stream_classifier_of_loop, table):
    X, y = table
    learner = stream_classifier_of_loop
    if "class_weight" not in learner.get_params():  # CW, whose constraint has no price
        with pytest.raises(TypeError, match="class_weight"):
            type(learner)(class_weight={"ant": 3.0})
        return
    by_class = learn(clone(learner).set_params(class_weight={"ant": 3.0}), X, y)
    by_row = learn(clone(learner), X, y, sample_weight=np.where(y == "ant", 3.0, 1.0))
    # probabilities are those of the rows as they come, whatever an error costs
    assert_same_state(by_class, by_row, probabilities=False)


def test_balanced_classes_have_the_same_sum_of_weights(classifier_of_loop, table):
    """Rows were counted, so a class of heavy rows was learned several times too heavy."""
    X, y = table
    learner = classifier_of_loop
    if "class_weight" not in learner.get_params():
        return
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    weight = np.where(y == "ant", 1.0 + np.arange(len(y)) % 3, np.arange(len(y)) % 2)
    classes, codes = np.unique(y, return_inverse=True)
    sums = np.bincount(codes, weight)
    of_classes = dict(zip(classes.tolist(), weight.sum() / (len(classes) * sums), strict=True))
    balanced, given = (
        clone(learner).set_params(class_weight=one).fit(X, y, sample_weight=weight)
        for one in ("balanced", of_classes)
    )
    # folds that calibrate may be weighed by their own rows
    assert_same_state(balanced, given, probabilities=False)


@pytest.mark.parametrize(
    "name", {type(case.estimator): name for name, case in CASES.items()}.values()
)
def test_weights_are_learned_whatever_scikit_learn_is_configured_to_do(name):
    """With its routing of metadata on, pipelines inside refused them."""
    X, y = make_rows()
    learner = new(name)
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    y, weight = targets(learner, y), 1.0 + np.arange(len(y)) % 3
    expected = clone(learner).fit(X, y, sample_weight=weight)
    with config_context(enable_metadata_routing=True, transform_output="pandas"):
        learner.fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(scores_of(learner, X), scores_of(expected, X))
    assert_same_state(learner, expected)


def test_a_learner_says_whether_it_weighs_rows(linear_stream_learner, table):
    """CW and PA have hard constraints, and learned weighted rows as others without a word."""
    X, y = table
    plain = learn(clone(linear_stream_learner), X, y)
    weighted = learn(clone(linear_stream_learner), X, y, sample_weight=1.0 + np.arange(len(y)) % 3)
    differ = not np.array_equal(scores_of(plain, X), scores_of(weighted, X))
    assert differ == linear_stream_learner.weighs_rows


def test_a_label_of_another_kind_is_the_class_that_it_spells():
    X, y = make_rows()
    is_ant = y == "ant"
    model = AROWClassifier().partial_fit(X, is_ant.astype(str), classes=["False", "True"])
    same = AROWClassifier().partial_fit(X, is_ant.astype(str), classes=["False", "True"])
    model.partial_fit(X[:5], is_ant[:5]).learn_one(X[5], bool(is_ant[5]))
    model.partial_fit(X[6:9], is_ant[6:9], new_classes=True)
    same.partial_fit(X[:9], is_ant[:9].astype(str))
    assert model.classes_.tolist() == ["False", "True"]
    assert_same_state(model, same)
    with pytest.raises(InputError, match="of another kind than the classes so far"):
        model.learn_one(X[0], 7)


@pytest.mark.parametrize("y", [[], pd.Series([], dtype=str), np.array([], dtype=float)])
def test_no_rows_are_said_whatever_the_labels_are(y):
    X, labels = make_rows()
    model = AROWClassifier().partial_fit(X, labels, classes=np.unique(labels))
    with pytest.raises(ValueError, match=r"0 rows|0 sample"):
        model.partial_fit(X[:0], y)
    model.check_targets(y)
