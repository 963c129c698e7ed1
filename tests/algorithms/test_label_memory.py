"""The last labels and rows beside a stack: their rates, what opens them, and what they see."""

import copy

import numpy as np
import pyarrow as pa
import pytest

import crossview
from crossview import AROWClassifier, OnlineStackingClassifier, load, save, train
from crossview.algorithms.stacking.label_memory import DECAYS
from crossview.errors import InputError
from reference import stream_memory as slow

EXPERTS = [("arow", AROWClassifier()), ("diagonal", AROWClassifier(covariance="diagonal"))]


def labels(n, stay, K, rng):
    """Labels of which each is the one before with this probability, and otherwise any."""
    y = rng.integers(K, size=n)
    for t in range(1, n):
        if rng.random() < stay:
            y[t] = y[t - 1]
    return y


def stream(n=3000, stay=0.7, K=2, seed=0):
    rng = np.random.default_rng(seed)
    y = labels(n, stay, K, rng)
    X = rng.normal(size=(n, 3))
    X[np.arange(n), y % 3] += 0.7
    return X, y


def stack(**options):
    return OnlineStackingClassifier(experts=EXPERTS, random_state=0, **options)


def remembers(**options):
    return stack(memory=True, **options)


@pytest.mark.parametrize(("K", "delay"), [(2, 0), (3, 0), (3, 2)])
def test_rates_and_gains_equal_a_slow_reference(K, delay):
    X, y = stream(300, 0.5, K)
    model = remembers().set_delay(delay).partial_fit(X, y, classes=np.arange(K))
    rates = np.full((3, K), 0.5)
    for label in y:
        for i, decay in enumerate(DECAYS):
            rates[i] = decay * rates[i] + (1 - decay) * (np.arange(K) == label)
    expected = rates[:, 1:] if K == 2 else rates
    np.testing.assert_allclose(model.get_state()["memory_rates"], expected, rtol=1e-12)
    gain = slow.mean_gain(slow.slow_gains(y, K, delay), delay)
    np.testing.assert_allclose(model.memory_gain_, gain, rtol=1e-9)
    assert not model.uses_memory_  # there are not 2,000 labels


@pytest.mark.parametrize(("K", "delay"), [(2, 0), (3, 0), (2, 2)])
def test_scores_equal_a_slow_reference(K, delay):
    """From row 2,000 on the memory is open, and combines what the stack says without it."""
    X, y = stream(2600, 0.8 if delay else 0.6, K)
    kinds, model = np.arange(K), remembers()
    scores, plain = (
        one.set_delay(delay).score_then_learn(X, y, classes=kinds) for one in (model, stack())
    )
    plain = plain.reshape(len(y), -1)
    bound = np.log(1e6 - 1) if K == 2 else 1e-6
    expected = slow.combined(plain, X, y, np.arange(len(y)) >= 2000, bound, delay)
    np.testing.assert_allclose(scores.reshape(expected.shape), expected, rtol=1e-6, atol=1e-8)
    assert np.any(scores.reshape(expected.shape) != plain, axis=1)[2100:].mean() > 0.9


@pytest.mark.parametrize("K", [2, 4])
def test_it_counts_only_where_the_last_label_predicts_the_next_one(K):
    kinds = np.arange(K)
    X, y = stream(stay=0.0, K=K)
    model = remembers()
    np.testing.assert_array_equal(
        model.score_then_learn(X, y, classes=kinds), stack().score_then_learn(X, y, classes=kinds)
    )
    assert not model.uses_memory_
    X, y = stream(K=K)
    scores, without = (one.score_then_learn(X, y, classes=kinds) for one in (remembers(), stack()))
    predicted = [s > 0 if K == 2 else s.argmax(axis=1) for s in (scores, without)]
    correct = [(p == y)[2000:].mean() for p in predicted]
    assert correct[0] > correct[1] + 0.1


def test_it_closes_where_labels_no_longer_depend_on_each_other():
    X, y = stream()
    model = remembers().partial_fit(X, y, classes=[0, 1])
    assert model.uses_memory_
    assert model.memory_gain_[0] > 3 * model.memory_gain_[1]
    other, random = stream(6000, stay=0.0, seed=1)
    model.partial_fit(other, random)
    assert not model.uses_memory_


def test_no_score_depends_on_a_label_that_has_not_come():
    X, y = stream()
    t = 2500
    changed = np.where(np.arange(len(y)) < t, y, 1 - y)
    scores, other = (
        remembers().score_then_learn(X, labels, classes=[0, 1]) for labels in (y, changed)
    )
    np.testing.assert_array_equal(scores[: t + 1], other[: t + 1])
    assert not np.array_equal(scores[t + 1 : t + 10], other[t + 1 : t + 10])


def test_of_late_labels_it_knows_what_was_known_at_the_prediction(tmp_path):
    """Delays that vary: by rows, in batches and from a file; beyond its past the memory closes."""
    X, y = stream(2600, 0.8)
    delays = np.random.default_rng(0).integers(4, size=len(y))
    whole = remembers()
    scores = whole.set_delay(delays).score_then_learn(X, y, classes=[0, 1])
    assert whole.uses_memory_
    cut = remembers().set_delay(delays[:2100]).partial_fit(X[:2100], y[:2100], classes=[0, 1])
    save(cut, tmp_path / "m.safetensors")
    cut = load(tmp_path / "m.safetensors")
    for i in range(2100, 2600):
        cut.set_delay(int(delays[i])).learn_one(X[i], y[i])
    for name, array in whole.get_state().items():
        np.testing.assert_array_equal(cut.get_state()[name], array, err_msg=name)
    in_time = remembers().score_then_learn(X, y, classes=[0, 1])
    assert not np.array_equal(in_time, scores)
    whole.set_delay(257).partial_fit(*stream(3000, 0.8, seed=1))
    assert not whole.uses_memory_
    for wrong in (-1, 0.5, [[1]]):
        with pytest.raises(InputError, match="give a number of labels"):
            whole.set_delay(wrong)
    with pytest.raises(InputError, match="delays of 2 rows, and 1 rows to learn"):
        whole.set_delay([1, 2]).learn_one(X[0], y[0])


@pytest.mark.parametrize("K", [2, 3])
def test_late_labels_weigh_experts_by_what_they_said(K):
    """In batches, also with a class that comes later, and row by row; not if they come at once."""
    X, y = stream(400, K=K)
    first = stack().partial_fit(X[:100], y[:100], classes=np.arange(K))
    first.predict(X)
    said, delays = first.expert_predictions(), np.random.default_rng(0).integers(3, size=300)
    late = copy.deepcopy(first).set_delay(delays, said[100:]).partial_fit(X[100:], y[100:])
    one_by_one = copy.deepcopy(first)
    for x, label, delay, own in zip(X[100:], y[100:], delays, said[100:], strict=True):
        one_by_one.set_delay(int(delay), [own]).learn_one(x, label)
    for name, array in late.get_state().items():
        np.testing.assert_array_equal(one_by_one.get_state()[name], array, err_msg=name)
    unheard = copy.deepcopy(first).set_delay(delays).partial_fit(X[100:], y[100:])
    assert not np.array_equal(unheard.get_state()["omega"], late.get_state()["omega"])
    at_once = copy.deepcopy(first).set_delay(0 * delays, said[100:]).partial_fit(X[100:], y[100:])
    expected = copy.deepcopy(first).partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(at_once.predict_proba(X), expected.predict_proba(X))
    other = np.where(np.arange(300) < 150, y[100:], 7)  # a class comes in the middle
    grown = copy.deepcopy(first).set_delay(delays, said[100:])
    grown.partial_fit(X[100:], other, new_classes=True)
    one_by_one = copy.deepcopy(first)
    for x, label, delay, own in zip(X[100:], other, delays, said[100:], strict=True):
        one_by_one.set_delay(int(delay), [own]).learn_one(x, label)
    for name, array in grown.get_state().items():
        np.testing.assert_array_equal(one_by_one.get_state()[name], array, err_msg=name)


def test_rows_of_a_table_are_predicted_without_it():
    X, y = stream()
    model, plain = (one.partial_fit(X, y, classes=[0, 1]) for one in (remembers(), stack()))
    assert model.uses_memory_
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(model.predict_proba(X[:1]), plain.predict_proba(X[:1]))


@pytest.mark.parametrize("K", [2, 3])
def test_the_next_row_of_a_stream_is_predicted_with_it(K):
    X, y = stream(2700, K=K)
    model = remembers().partial_fit(X[:2450], y[:2450], classes=np.arange(K))
    expected = copy.deepcopy(model).score_then_learn(X[2450:], y[2450:])
    plain = model.decision_function(X[2450:])
    model.follow_stream()
    assert not np.array_equal(model.decision_function(X[2450:]), plain)
    found = []
    for x, label in zip(X[2450:], y[2450:], strict=True):
        p = model.predict_proba_one(x)
        np.testing.assert_array_equal(list(p.values()), model.predict_proba(x[None])[0])
        found.append(list(p.values()))
        model.learn_one(x, label)
    # the calibration of the experts includes the row itself where it is learned
    p = np.column_stack([1 / (1 + np.exp(expected)), 1 / (1 + np.exp(-expected))])
    p = p if K == 2 else np.exp(expected)
    np.testing.assert_allclose(found, p, atol=0.02)
    rows = X[:9]
    np.testing.assert_array_equal(
        model.follow_stream(False).predict_proba(rows),
        stack().partial_fit(X, y, classes=np.arange(K)).predict_proba(rows),
    )


def test_batches_single_rows_and_files_give_the_same_model(tmp_path):
    X, y = stream(2400)
    whole = remembers().partial_fit(X, y, classes=[0, 1])
    cut = remembers().partial_fit(X[:2100], y[:2100], classes=[0, 1])
    assert cut.uses_memory_
    crossview.save(cut, tmp_path / "m.safetensors")
    cut = crossview.load(tmp_path / "m.safetensors")
    for i in range(2100, 2400):
        cut.learn_one(X[i], y[i])
    for name, array in whole.get_state().items():
        np.testing.assert_array_equal(cut.get_state()[name], array, err_msg=name)
    merged = crossview.merge([whole, copy.deepcopy(whole)], start=whole)
    assert merged.uses_memory_


def test_a_new_class_begins_the_memory_anew():
    X, y = stream(2200)
    model = remembers().partial_fit(X, y, classes=[0, 1])
    model.learn_one(X[0], 2)
    assert not model.uses_memory_
    assert model.get_state()["memory_rates"].shape == (3, 3)
    X, y = stream(2500, K=3)
    scores = model.score_then_learn(X, y)
    assert model.uses_memory_
    assert (scores.argmax(axis=1) == y)[2300:].mean() > 0.7


def test_many_classes_have_none_and_calibrated_scores_are_refused():
    X, y = stream(300, K=21)
    model = remembers().partial_fit(X, y, classes=np.arange(21))
    assert model.get_state()["memory_rates"].size == 0
    assert not model.uses_memory_
    with pytest.raises(InputError, match="leave it at 'none'"):
        remembers(calibration="sigmoid").fit(X, y)


def test_rows_of_a_table_are_decided_by_a_threshold_of_their_own(tmp_path):
    """Labels that stay make probabilities with memory extreme, and `predict` has none."""
    rng = np.random.default_rng(0)
    y = labels(4000, 0.93, 2, rng)
    y[rng.random(len(y)) < 0.3] = 0
    X = {f"a_{j}": rng.normal(size=len(y)) + 0.4 * y for j in range(3)}
    table = pa.table({**X, "y": np.where(y == 1, "yes", "no")})
    trained = train(table, "y", in_order=True)
    learner = trained.learner
    assert learner.uses_memory_
    assert trained.metric_without_memory < trained.metric["value"]
    (line,) = [one for one in trained.notes if "last labels" in one]
    assert f"had f1 {trained.metric_without_memory:.4g} without them on these rows" in line
    assert learner.threshold_in_use == learner.threshold_ != learner.stream_threshold_
    pipeline, held_out = trained.fitted, table.drop_columns(["y"])
    above = pipeline.predict_proba(held_out)[:, 1] > learner.threshold_
    assert (np.asarray(pipeline.predict(held_out)) == np.where(above, "yes", "no")).all()
    save(learner, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors").follow_stream()
    assert again.threshold_in_use == learner.stream_threshold_
    assert learner.set_threshold(0.5).follow_stream().threshold_in_use == 0.5
