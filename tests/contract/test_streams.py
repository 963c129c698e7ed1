"""A stream may come in any batches, and the rows are learned one after the other."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.utils._param_validation import Interval, InvalidParameterError

from contract.instances import (
    assert_same_state,
    has_kernel,
    is_machine,
    learn,
    make_rows,
    scores_of,
    targets,
)
from crossview import (
    InputError,
    OnlineNewtonClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
)


def without_shuffling(learner):
    """A clone whose fit learns the rows in their order."""
    return clone(learner) if has_kernel(learner) else clone(learner).set_params(shuffle=False)


def test_single_rows_chunks_and_one_batch_give_the_same_state(stream_learner, table):
    X, y = table
    whole = learn(clone(stream_learner), X, y)
    for size in (1, 7):
        parts = clone(stream_learner)
        for start in range(0, len(y), size):
            learn(parts, X[start : start + size], y[start : start + size], classes=y)
        assert_same_state(whole, parts)
    ones = learn(clone(stream_learner), X[:1], y[:1], classes=y)
    for x, target in zip(X[1:], targets(stream_learner, y)[1:], strict=True):
        ones.learn_one(x, target)
    assert_same_state(whole, ones)


def test_parameters_that_become_wrong_are_refused_by_the_next_batch(stream_learner, table):
    X, y = table
    learner = learn(clone(stream_learner), X, y)
    ranges = learner._parameter_constraints  # as scikit-learn has them
    own = [name for name in learner.get_params(deep=False) if name in ranges]
    name = next(n for n in own if any(isinstance(kind, Interval) for kind in ranges[n]))
    right = getattr(learner, name)
    setattr(learner, name, -(10**6))
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter"):
        learn(learner, X, y)
    setattr(learner, name, right)
    learn(learner, X, y)


def test_fit_without_shuffling_is_one_batch_of_a_stream(stream_learner, table):
    if is_machine(stream_learner) or is_regressor(stream_learner):
        return  # its fit knows how frequent the classes, or the targets, are; a stream does not
    X, y = table
    fitted = without_shuffling(stream_learner).fit(X, y)
    assert_same_state(fitted, learn(stream_learner, X, y).learn_stand_ins(X))


def test_score_then_learn_scores_each_row_before_it_is_learned(stream_learner_of_loop, table):
    X, y = table
    learner = stream_learner_of_loop
    numbers = targets(learner, y)
    if numbers is y:
        scores = clone(learner).score_then_learn(X, y, np.unique(y))
    else:
        scores = clone(learner).score_then_learn(X, numbers)
    walker = learn(clone(learner), X[:1], y[:1], classes=y)
    # a calibration takes the first score of a block into its scale, which a stack's score shows
    calibrated = hasattr(learner, "experts") and numbers is y
    near = {"rtol": 0.1, "atol": 0.1} if calibrated else {"atol": 1e-12}
    for i in range(1, len(y)):
        if not calibrated or i > 50:
            np.testing.assert_allclose(scores_of(walker, X[i : i + 1])[0], scores[i], **near)
        learn(walker, X[i : i + 1], y[i : i + 1], classes=y)


def test_the_same_seed_gives_the_same_result(stream_learner_of_loop, table):
    X, y = table
    if has_kernel(stream_learner_of_loop):
        options = {"schedule": "uniform", "budget": None, "lam": 1e-4}
    else:
        options = {"n_epochs": 2} if "n_epochs" in stream_learner_of_loop.get_params() else {}
    y = targets(stream_learner_of_loop, y)
    first, again = (
        clone(stream_learner_of_loop).set_params(random_state=3, **options).fit(X, y)
        for _ in range(2)
    )
    assert_same_state(first, again)
    if not isinstance(stream_learner_of_loop, Perceptron):
        other = clone(first).set_params(random_state=4).fit(X, y)
        assert not np.array_equal(scores_of(other, X), scores_of(first, X))


def test_an_empty_row_changes_nothing(linear_stream_learner, table):
    if isinstance(linear_stream_learner, OnlineNewtonClassifier):
        return  # its intercept learns how frequent the classes are
    X, y = table
    trained = learn(linear_stream_learner, X, y)
    again = pickle.loads(pickle.dumps(trained))
    again.partial_fit(np.zeros((2, X.shape[1])), y[:2])
    assert_same_state(trained, again, probabilities=False)


def test_the_first_class_that_comes_may_be_the_first_or_the_second_in_order():
    for first, second in [("a", "b"), ("b", "a")]:
        model = PassiveAggressiveClassifier(C=0.3)
        X, _ = make_rows()
        y = np.where(np.arange(len(X)) < 5, first, np.where(X[:, 0] > 0, first, second))
        for x, label in zip(X, y, strict=True):
            model.learn_one(x, label)
        whole = PassiveAggressiveClassifier(C=0.3).partial_fit(X, y, ["a", "b"])
        np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
        # p of one class was 1 - p of the other, which rounds
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_rows_whose_squares_overflow_are_not_learned(stream_classifier, table):
    """A regressor's target still counts in the mean and the deviation that it is scaled by."""
    X, y = table
    huge = X.copy()
    huge[[2, 5]] = 1e200
    keep = ~np.isin(np.arange(len(y)), [2, 5])
    streamed = clone(stream_classifier)
    with pytest.raises(InputError, match=r"^row 5: is too large .* All rows that can"):
        learn(streamed, huge, y)
    without = learn(clone(stream_classifier), X[keep], y[keep], classes=y)
    assert_same_state(streamed, without)
    with pytest.raises(InputError, match=r"^row [25]: is too large"):  # in whatever order
        stream_classifier.fit(huge, y)
