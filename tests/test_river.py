"""Learners and pipelines in River: its own checks of estimators, pipelines and evaluations."""

import warnings

import pytest
from sklearn.base import clone

from crossview import (
    AROWClassifier,
    InputError,
    MultiViewSVMPerf,
    OnlineStackingRegressor,
    PassiveAggressiveClassifier,
    UnusedColumnsWarning,
    ViewEncoder,
    make_pipeline,
)

pytest.importorskip("river")

from river import checks, datasets, evaluate, metrics, preprocessing

from crossview.compat.river import RiverClassifier, RiverRegressor, to_river

REGRESSOR = make_pipeline(ViewEncoder(hash_bits=8), OnlineStackingRegressor(random_state=0))


@pytest.mark.parametrize("model", [AROWClassifier(), REGRESSOR], ids=["learner", "pipeline"])
def test_the_checks_of_river_pass(model):
    with warnings.catch_warnings():
        # River adds features after the first rows, which an encoder ignores
        warnings.simplefilter("ignore", UnusedColumnsWarning)
        checks.check_estimator(to_river(model))
    kind = RiverRegressor if model is REGRESSOR else RiverClassifier
    assert [type(kind(**params)) for params in kind._unit_test_params()] == [kind]


def test_rivers_evaluation_scores_a_pipeline_with_its_scaler():
    learner = PassiveAggressiveClassifier(C=0.1)
    model = preprocessing.StandardScaler() | to_river(learner)
    found = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    scaler, plain, right, n = preprocessing.StandardScaler(), clone(learner), 0, 0
    for x, y in datasets.Phishing():
        scaler.learn_one(x)
        x = scaler.transform_one(x)
        guess = plain.predict_one(x)
        right, n = right + (guess == y), n + (guess is not None)
        plain.learn_one(x, y)
    assert found.get() == pytest.approx(right / n)
    proba = model.predict_proba_one(next(iter(datasets.Phishing()))[0])
    assert set(proba) == {False, True}


def test_parameters_are_mutable_attributes_and_a_clone_begins_as_given():
    given = AROWClassifier(r=2.0).learn_one({"x": 1.0}, "yes")
    model = to_river(given)
    model.learn_one({"x": -1.0}, "no", 2.0)
    assert given.classes_.tolist() == ["yes"]  # what was given does not change
    assert model.clone().model.classes_.tolist() == ["yes"]
    (preprocessing.StandardScaler() | model).mutate({"RiverClassifier": {"r": 5.0}})
    assert model.r == model.model.r == model.clone().model.r == 5.0
    assert model.predict_one({"x": -1.0}) == "no"
    with pytest.raises(ValueError, match="Invalid parameter 'q'"):
        model.mutate({"q": 1.0})
    with pytest.raises(AttributeError, match="no attribute 'q'"):
        model.q  # noqa: B018
    with pytest.raises(InputError, match="a MultiViewSVMPerf does not learn single rows"):
        to_river(MultiViewSVMPerf())
    unsure = to_river(PassiveAggressiveClassifier(calibration="none"))
    with pytest.raises(NotImplementedError, match="calibration='sigmoid'"):
        unsure.predict_proba_one({"x": 1.0})
