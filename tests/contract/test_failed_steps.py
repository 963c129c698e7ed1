"""A step that fails changes nothing: neither arrays, nor classes, nor columns."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

from contract.instances import (
    has_kernel,
    learn,
    make_rows,
    new,
    params,
    public_learners,
    scores_of,
    streams,
    targets,
)
from crossview import (
    AROWClassifier,
    FactorizationMachineRegressor,
    InputError,
    KeCoClassifier,
    MultiViewMachineClassifier,
    MultiViewPAClassifier,
    OnlineStackingClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
    SupportTensorMachineClassifier,
)


def changed(X, value):
    X = X.copy()
    X[30, 6] = value
    return X


def with_column(X, column):
    X = sp.csr_array(X)
    X.indices[-1] = column
    return X


def labels_with(y, value):
    y = list(y)
    y[17] = value
    return y


FAILURES = {
    "NaN": lambda m, X, y: m.partial_fit(changed(X, np.nan), y),
    "infinity": lambda m, X, y: m.partial_fit(changed(X, np.inf), y),
    "columns": lambda m, X, y: m.partial_fit(X[:, :5], y),
    "index": lambda m, X, y: m.partial_fit(with_column(X, -1), y),
    "lengths": lambda m, X, y: m.partial_fit(X, y[:5]),
    "weights": lambda m, X, y: m.partial_fit(X, y, sample_weight=-np.ones(len(y))),
    "a label of another kind": lambda m, X, y: m.partial_fit(X, labels_with(y, "no")),
    "labels of another kind": lambda m, X, y: m.partial_fit(X, ["?"] * len(y)),
    "a missing label": lambda m, X, y: m.partial_fit(X, labels_with(y, np.nan)),
    "one NaN": lambda m, X, y: m.learn_one(changed(X, np.nan)[30], y[0]),
    "one of other columns": lambda m, X, y: m.learn_one(X[0, :5], y[0]),
    "one index": lambda m, X, y: m.learn_one(with_column(X[8:9], 10**6), y[0]),
    "one weight": lambda m, X, y: m.learn_one(X[0], y[0], sample_weight=-1.0),
    "one label of another kind": lambda m, X, y: m.learn_one(X[0], 0 if is_classifier(m) else "no"),
    "one list of labels": lambda m, X, y: m.learn_one(X[0], ["ant", "bee"]),
    "an unknown feature": lambda m, X, y: m.learn_one({"view0": {"nope": 1.0}}, y[0]),
}


def everything(model):
    """Return all that a model knows, to compare."""
    state = {name: value.tobytes() for name, value in model.get_state().items()}
    return state, repr(model.get_header()), len(getattr(model, "classes_", ()))


@pytest.mark.parametrize("name", params(streams))
def test_a_failed_step_changes_nothing(name):
    X, y = make_rows(3)
    model = new(name)
    y = targets(model, y)
    learn(model, X, y)
    before, scores = everything(model), scores_of(model, X)
    for what, fail in FAILURES.items():
        if has_kernel(model) and "missing" in what:
            continue  # an unlabeled row is learned
        try:
            fail(model, X, y)
        except ValueError:
            pass
        else:
            pytest.fail(f"{what}: did not raise")
        assert everything(model) == before, what
    np.testing.assert_array_equal(scores_of(model, X), scores)


def test_labels_of_mixed_types_are_refused_and_forgotten():
    """The class "0" was added once more by each failure, and the label 0 refused for ever."""
    model = PassiveAggressiveClassifier()
    for y in (0, 1, 0):
        model.learn_one({"x": 1.0}, y)
    for _ in range(3):
        with pytest.raises(InputError, match="'a' is of another kind than the classes so far"):
            model.learn_one({"x": 1.0, "new": 1.0}, "a")
        model.learn_one({"x": 1.0}, 0)
    assert model.classes_.tolist() == [0, 1]
    assert model.layout_.widths == (1,)


@pytest.mark.parametrize("name", params(streams, each_loop=True))
def test_a_failed_first_row_leaves_an_unfitted_learner(name):
    model = new(name)
    good = "ant" if is_classifier(model) else 1.0
    for x, y, weight in [
        (np.full(12, np.inf), good, 1.0),
        (np.ones(12), [good], 1.0),
        (np.ones(12), good, -1.0),
    ]:
        with pytest.raises(ValueError, match=r"."):
            model.learn_one(x, y, weight)
        assert model.predict_one(np.ones(12)) is None
    model.learn_one(np.ones(12), good)
    assert model.predict_one(np.ones(12)) is not None


def assert_unfitted(model, X, y):
    """Assert that each first step fails and leaves a learner that knows nothing."""
    y = targets(model, y)
    steps = [lambda: model.fit(X, y)]
    if streams(model):
        steps.append(lambda: learn(model, X, y))
        steps.append(lambda: model.learn_one(X[:1] if sp.issparse(X) else X[0], y[0]))
    for step in steps:
        with pytest.raises(ValueError, match=r"."):
            step()
        with pytest.raises(NotFittedError):
            model.predict(X)
        assert not hasattr(model, "classes_")
        assert not hasattr(model, "layout_")


# what any value is right for
UNRANGED = {"MultiViewSVMPerf": {"pos_label"}}


@pytest.mark.parametrize("learner", public_learners(), ids=lambda learner: learner.__name__)
def test_a_wrong_parameter_is_refused_before_there_is_a_state(learner):
    X, y = make_rows()
    names = set(learner().get_params(deep=False)) - UNRANGED.get(learner.__name__, set())
    assert names <= learner._parameter_constraints.keys()
    for name in sorted(names):
        assert_unfitted(learner(**{name: object()}), X, y)


def test_parameters_that_contradict_each_other_are_refused_before_there_is_a_state():
    X, y = make_rows()
    published = {"update": "published", "C": 0.1}
    for learner in (
        MultiViewPAClassifier([7, 5], **published),
        MultiViewPAClassifier([7, 5], coupling="absolute", variant="PA", **published),
        MultiViewPAClassifier([4, 3, 5], coupling="absolute", **published),
        KeCoClassifier(kernel="linear", approximation="fourier"),
        KeCoClassifier(gamma={"another": 1.0}),
        MultiViewMachineClassifier([7, 5], groups=[["view0", "another"]]),
        FactorizationMachineRegressor([7, 5], optimizer="als"),
        SupportTensorMachineClassifier([7, 5], optimizer="alternating", penalty="l1"),
        OnlineStackingClassifier(experts=[("one", Perceptron(), "another")]),
    ):
        assert_unfitted(learner, X, y)
    # more columns than there is memory for
    wide = sp.csr_array((np.ones(len(y)), (np.arange(len(y)), np.arange(len(y)))), (len(y), 10**7))
    assert_unfitted(AROWClassifier(covariance="full"), wide, y)


# rows that made weights infinite or NaN, for ever
EXTREMES = [1e300, 1e160, 1e150, 1e100, 1e50, 1e20, 1e-20, 1e-50, 1e-150, 1e-160, 1e-300]


@pytest.mark.parametrize("name", params(streams))
def test_no_row_makes_the_state_nonfinite(name):
    X, y = make_rows(2)
    model = new(name)
    y = targets(model, y)
    learn(model, X, y)
    rng = np.random.default_rng(0)
    n_refused = 0
    for factor in EXTREMES * 3:
        i = rng.integers(40, 60)
        before = everything(model)
        target = y[i] if is_classifier(model) else factor
        try:
            model.learn_one(factor * X[i], target)
        except InputError:
            n_refused += 1
            assert everything(model) == before
        for key, value in model.get_state().items():
            assert "calibration" in key or np.isfinite(value).all(), (factor, key)
        assert np.isfinite(model.view_scores(X)).all()
    assert n_refused > 0
    assert np.isfinite(scores_of(model, X)).all()
    assert len(model.predict(X)) == len(X)


def test_a_target_that_is_too_large_is_named():
    X, y = make_rows(2)
    model = new("MVM-regressor")
    y = targets(model, y)
    model.partial_fit(X, y)
    before = everything(model)
    y[7] = 1e300
    with pytest.raises(InputError, match="row 7: the target is too large"):
        model.partial_fit(X, y)
    with pytest.raises(InputError, match="the target is too large"):
        model.learn_one(X[0], -1e300)
    assert everything(model) == before
    with pytest.raises(InputError, match="row 7: the target is too large"):
        new("MVM-regressor").fit(X, y)
