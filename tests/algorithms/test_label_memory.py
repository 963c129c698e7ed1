"""The last labels as features: their rates, the chain that lets them count, and what they see."""

import copy

import numpy as np
import pytest

import crossview
from crossview import OnlineNewtonClassifier
from crossview.algorithms.label_memory import DECAYS


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


def remembers(**options):
    return OnlineNewtonClassifier(memory="labels", calibration="none", **options)


def slow_gains(y, K):
    """By how much the last labels predict each one, with counts that decay by .999."""
    gains = []
    for t in range(1, len(y)):
        weight = 0.999 ** np.arange(t - 2, -1, -1.0)  # of the pairs before
        before, after = y[: t - 1], y[1:t]
        from_last, to_label = before == y[t - 1], after == y[t]
        p = (weight @ (from_last & to_label) + 0.5) / (weight @ from_last + 0.5 * K)
        alone = (weight @ to_label + 0.5) / (weight.sum() + 0.5 * K)
        gains.append(np.log(p / alone))
    return np.array(gains)


@pytest.mark.parametrize("K", [2, 3])
def test_rates_and_gains_equal_a_slow_reference(K):
    X, y = stream(300, 0.5, K)
    model = remembers().partial_fit(X, y, classes=np.arange(K))
    rates = np.full((3, K), 0.5)
    for label in y:
        for i, decay in enumerate(DECAYS):
            rates[i] = decay * rates[i] + (1 - decay) * (np.arange(K) == label)
    expected = rates[:, 1:] if K == 2 else rates
    np.testing.assert_allclose(model.get_state()["rates"], expected, rtol=1e-12)
    gains = slow_gains(y, K)
    weight = 0.999 ** np.arange(len(gains) - 1, -1, -1.0)
    mean = np.average(gains, weights=weight)
    variance = np.average((gains - mean) ** 2, weights=weight)
    error = np.sqrt(variance * (weight**2).sum()) / weight.sum()
    np.testing.assert_allclose(model.memory_gain_, [mean, error], rtol=1e-9)
    assert not model.uses_memory_  # there are not 2,000 labels


@pytest.mark.parametrize("K", [2, 4])
def test_it_counts_only_where_the_last_label_predicts_the_next_one(K):
    kinds = np.arange(K)
    X, y = stream(stay=0.0, K=K)
    plain = OnlineNewtonClassifier(calibration="none")
    model = remembers()
    np.testing.assert_array_equal(
        model.score_then_learn(X, y, classes=kinds), plain.score_then_learn(X, y, classes=kinds)
    )
    assert not model.uses_memory_
    X, y = stream(K=K)
    scores, without = (one.score_then_learn(X, y, classes=kinds) for one in (remembers(), plain))
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


def test_batches_single_rows_and_files_give_the_same_model(tmp_path):
    X, y = stream(2400)
    whole = remembers(random_state=0).partial_fit(X, y, classes=[0, 1])
    cut = remembers(random_state=0).partial_fit(X[:2100], y[:2100], classes=[0, 1])
    assert cut.uses_memory_
    crossview.save(cut, tmp_path / "m.safetensors")
    cut = crossview.load(tmp_path / "m.safetensors")
    for i in range(2100, 2400):
        cut.learn_one(X[i], y[i])
    for name, array in whole.get_state().items():
        np.testing.assert_array_equal(cut.get_state()[name], array, err_msg=name)
    merged = crossview.merge([whole, copy.deepcopy(whole)], start=whole)
    np.testing.assert_allclose(merged.decision_function(X), whole.decision_function(X), rtol=1e-9)


def test_a_new_class_begins_the_memory_anew():
    X, y = stream(2200)
    model = remembers(full_columns=2).partial_fit(X, y, classes=[0, 1])
    before = model.coef_
    model.learn_one(X[0], 2)
    assert not model.uses_memory_
    assert model.get_state()["rates"].shape == (3, 3)
    np.testing.assert_allclose(model.coef_[1] - model.coef_[0], before[0], atol=0.2)
    X, y = stream(2500, K=3)
    scores = model.score_then_learn(X, y)
    assert model.uses_memory_
    assert (scores.argmax(axis=1) == y)[2300:].mean() > 0.7
