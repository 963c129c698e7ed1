"""Learners and pipelines in River: its own checks of estimators, pipelines and evaluations."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from crossview import (
    AROWClassifier,
    FactorizationMachineRegressor,
    InputError,
    MultiViewSVMPerf,
    OnlineNewtonRegressor,
    OnlineStackingClassifier,
    OnlineStackingRegressor,
    PassiveAggressiveClassifier,
    UnusedColumnsWarning,
    ViewEncoder,
    make_pipeline,
)

pytest.importorskip("river")

from river import checks, datasets, evaluate, metrics, multioutput, preprocessing

from crossview.compat.river import RiverClassifier, RiverRegressor, to_river

EXPERTS = [("fm", FactorizationMachineRegressor()), ("newton", OnlineNewtonRegressor())]
STACK = OnlineStackingRegressor(experts=EXPERTS, random_state=0)
REGRESSOR = make_pipeline(ViewEncoder(hash_bits=8), STACK)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(AROWClassifier(), id="learner", marks=pytest.mark.exhaustive),
        pytest.param(REGRESSOR, id="pipeline"),
    ],
)
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


def test_a_regressor_predicts_0_before_its_first_row_as_those_of_river_do():
    chain = multioutput.RegressorChain(to_river(REGRESSOR))
    for x, y in datasets.SolarFlare().take(2):
        chain.learn_one(x, y)
    assert all(isinstance(one, float) for one in chain.predict_one(x).values())
    assert to_river(REGRESSOR).predict_one({"x": 1.0}) == 0.0


def sticky(n):
    """Rows of which the last labels say more than the numbers; most labels are as the last one."""
    rng, label = np.random.default_rng(0), 0
    for _ in range(n):
        label = label if rng.random() < 0.9 else int(rng.integers(2))
        yield {"x": float(rng.normal() + 0.5 * label)}, label


@pytest.mark.parametrize("delay", [None, 2])
def test_the_last_labels_count_where_they_have_come(delay):
    """As River delays labels; and of a row they are those that were known when it was predicted."""
    experts = [("arow", AROWClassifier())]

    def accuracy(memory):
        learner = OnlineStackingClassifier(experts=experts, memory=memory, random_state=0)
        model, metric = to_river(make_pipeline(ViewEncoder(bins=None), learner)), metrics.Accuracy()
        return evaluate.progressive_val_score(sticky(3000), model, metric, delay=delay).get(), model

    (with_memory, model), (without, _) = accuracy(True), accuracy(False)
    assert with_memory > without + (0.05 if delay else 0.08)
    learner = model.model[-1]
    assert learner.uses_memory_
    expected = make_pipeline(
        ViewEncoder(bins=None),
        OnlineStackingClassifier(experts=experts, memory=True, random_state=0),
    )
    stack, said, n_labels = expected[-1].follow_stream(), [], []
    rows = list(sticky(3000))
    for t in range(3000 + (delay or 0)):
        learned = t - (delay or 0)
        if delay and learned >= 0:  # River asks for row 2 after the label of row 0
            stack.set_delay(learned - n_labels[learned], [said[learned]])
            expected.learn_one(*rows[learned])
        if t < 3000:
            if t > (delay or 0):
                expected.predict_one(rows[t][0])
            said += stack.expert_predictions() or [None]
            n_labels.append(learned + 1 if delay and learned >= 0 else 0)
            if not delay:
                expected.learn_one(*rows[t])
    for name, array in expected[-1].get_state().items():
        np.testing.assert_array_equal(learner.get_state()[name], array, err_msg=name)
