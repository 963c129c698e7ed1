"""What was learned survives files, predictions and calls that fail."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

import crossview
from contract.instances import (
    N_COLUMNS,
    assert_same_state,
    learn,
    make_rows,
    scores_of,
    streams,
    targets,
)
from crossview import InputError, Perceptron


def test_a_learner_whose_arrays_joblib_maps_into_memory_goes_on(stream_learner_of_loop, tmp_path):
    X, y = make_rows()
    learner = learn(stream_learner_of_loop, X[:50], y[:50], classes=y)
    joblib.dump(learner, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    np.testing.assert_array_equal(scores_of(mapped, X), scores_of(learner, X))
    for one in (learner, mapped):
        learn(one, X[50:], y[50:], classes=y)
        one.learn_one(X[0], targets(one, y)[0])
    assert_same_state(learner, mapped)


def test_a_learner_that_has_learned_nothing_is_not_saved(learner_of_loop, tmp_path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        crossview.save(learner_of_loop, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_predicting_never_learns(any_learner, table):
    X, y = table
    trained = learn(any_learner, X, y)
    before = pickle.loads(pickle.dumps(trained))
    trained.predict(X)
    if is_classifier(trained):
        trained.decision_function(X)
    trained.view_scores(X)
    trained.predict_one(X[0])
    assert_same_state(trained, before)


def test_a_saved_model_resumes_as_if_never_stopped(stream_learner, table, tmp_path):
    X, y = table
    never = learn(clone(stream_learner), X, y)
    stopped = learn(stream_learner, X[:33], y[:33], classes=y)
    crossview.save(stopped, tmp_path / "model.safetensors")
    resumed = crossview.load(tmp_path / "model.safetensors")
    assert repr(resumed.get_params()) == repr(stopped.get_params())  # some are learners
    y = targets(never, y)
    resumed.partial_fit(X[33:], y[33:])
    assert_same_state(never, resumed)
    np.testing.assert_array_equal(never.predict(X), resumed.predict(X))
    assert_same_state(never, pickle.loads(pickle.dumps(stopped)).partial_fit(X[33:], y[33:]))


FAILING_FITS = {
    "NaN": lambda m, X, y: m.fit(np.where(np.arange(X.size).reshape(X.shape) == 30, np.nan, X), y),
    "one class": lambda m, X, y: m.fit(X, ["a"] * len(y)),
    "weights": lambda m, X, y: m.fit(X, y, sample_weight=-np.ones(len(y))),
}


@pytest.mark.parametrize("what", FAILING_FITS)
def test_a_failed_fit_leaves_an_unfitted_learner(learner_of_loop, what):
    X, y = make_rows()
    learner, y = learner_of_loop, targets(learner_of_loop, y)
    if what == "one class" and not is_classifier(learner):
        return  # has no classes
    learner.fit(X, y)
    with pytest.raises(ValueError, match=r"NaN|one class|[Nn]egative"):
        FAILING_FITS[what](learner, X, y)
    with pytest.raises(NotFittedError):
        learner.predict(X)
    assert learner.predict_one(X[0]) is None
    assert learner.fit(X, y).predict(X).shape == y.shape


def test_a_failed_partial_fit_changes_nothing(stream_classifier_of_loop):
    X, y = make_rows()
    learner = stream_classifier_of_loop
    with pytest.raises(InputError, match="not among the classes"):
        learner.partial_fit(X, y, classes=["ant", "fly"])
    learner.partial_fit(X, y, classes=["ant", "bee"])
    before = pickle.loads(pickle.dumps(learner))
    X[30, 3] = np.inf
    with pytest.raises(InputError, match="row 30"):
        learner.partial_fit(X, y)
    assert_same_state(learner, before)


# parameters that decide which arrays a state has, or how large they are
CHANGES = [
    *(("coupling", name) for name in ("squared", "absolute", "independent", "concatenated")),
    *(("covariance", name) for name in ("full", "diagonal", "low-rank")),
    *(("geometry", "mahalanobis"), ("geometry", "euclidean"), ("rank", 3), ("views", [N_COLUMNS])),
    *(("average", True), ("average", False), ("fit_intercept", False), ("calibration", "none")),
    *(("kernel", "linear"), ("kernel", "rbf"), ("approximation", "fourier"), ("budget", 7)),
    *(("n_factors", 5), ("experts", [("pa", Perceptron())])),
]


def test_a_number_beyond_64_bits_is_no_parameter():
    with pytest.raises(InputError, match=r"n_epochs=18446744073709551616; give a whole number"):
        Perceptron(n_epochs=2**64).check_params()


def test_parameters_that_are_set_later_fit_the_state_or_are_one_line(any_learner, tmp_path):
    X, y = make_rows(rows=30)
    fitted = learn(any_learner, X, y)
    given = fitted.get_params(deep=False)

    def use(model):
        assert np.isfinite(scores_of(model, X)).all()
        if streams(model):
            learn(model, X, y)

    for name, value in CHANGES:
        if name not in given:
            continue
        model = copy.deepcopy(fitted).set_params(**{name: value})
        try:
            use(model)
        except ValueError as error:
            message = str(error)
            assert "\n" not in message
            assert "changed" in message or name.rstrip("s") in message
            if "changed" in message:
                with pytest.raises(InputError, match="changed"):
                    crossview.save(model, tmp_path / "model")
            use(model.set_params(**{name: given[name]}))
        crossview.save(model, tmp_path / "model")
        assert_same_state(crossview.load(tmp_path / "model"), model)
