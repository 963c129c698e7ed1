"""Thresholds: where the metric is best, on rows in memory and on a stream."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview import InputError, MultiView, train
from crossview.scoring.metrics import (
    RunningThreshold,
    RunningThresholds,
    best_threshold,
    best_thresholds,
    measure,
)
from reference import threshold as reference

METRICS = ["f1", "f0.5", "f2", "accuracy", "balanced_accuracy", "g_mean", "cost:fp=1,fn=7"]

rows = st.lists(
    st.tuples(st.integers(0, 1), st.integers(1, 39).map(lambda i: i / 40)), min_size=1, max_size=30
)


@given(rows, st.sampled_from(METRICS), st.integers(0, 1))
def test_the_best_threshold_is_that_of_all_ways_to_predict(rows, metric, positive):
    y, p = np.array([y for y, _ in rows]), np.array([p for _, p in rows])
    threshold, value = best_threshold(metric, y, p, positive=positive)
    highest, nearest = reference.best(metric, y.tolist(), p.tolist(), positive)
    assert value == pytest.approx(highest)
    assert abs(threshold - 0.5) == pytest.approx(abs(nearest - 0.5))
    # and it is the value of what it predicts
    predicted = (p > threshold).astype(int)
    assert measure(metric, y, p, predicted=predicted, positive=positive) == pytest.approx(value)
    assert reference.value(metric, y, predicted, positive) == pytest.approx(value)


@pytest.mark.parametrize("metric", ["precision", "recall"])
def test_precision_and_recall_take_the_threshold_of_f1(metric):
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    threshold, value = best_threshold(metric, y, p)
    assert threshold == best_threshold("f1", y, p)[0]
    assert value == measure(metric, y, p, predicted=(p > threshold).astype(int)) < 1.0


def test_neighbors_in_floating_point_are_told_apart():
    p = np.array([0.5, np.nextafter(0.5, 1.0), 0.0])
    threshold, value = best_threshold("accuracy", np.array([0, 1, 0]), p)
    assert value == 1.0
    assert (p > threshold).tolist() == [False, True, False]
    # 0 is not above 0: class 1 in every row is no choice here
    assert best_threshold("recall", np.array([1, 0]), np.array([0.0, 1.0])) == (0.5, 0.0)


GRID = 100


def make_calibrated(a, b):
    """Rows with p = i / 100, of which exactly the share p is positive; (1 - p)^b p^a sets how many.

    So nothing is left to chance.
    """
    i = np.arange(1, GRID)
    times = 1 + np.round(20 * (i / 50) ** a * (2 - i / 50) ** b).astype(int)
    p = np.repeat(i / GRID, GRID * times)
    y = np.concatenate(
        [np.repeat([1, 0], [k * m, (GRID - k) * m]) for k, m in zip(i, times, strict=True)]
    )
    return y, p


@pytest.mark.parametrize("shape", [(0, 0), (1, 0), (0, 2), (2, 1)])
def test_the_best_threshold_for_f1_is_half_the_best_f1(shape):
    """Z. C. Lipton, C. Elkan, B. Narayanaswamy, 2014, theorem 1: of calibrated probabilities."""
    y, p = make_calibrated(*shape)
    threshold, value = best_threshold("f1", y, p)
    assert 0.4 < value < 0.9
    assert threshold == pytest.approx(value / 2, abs=1 / GRID)
    running = RunningThreshold("f1")
    running.decide(y, p - 0.5, p)
    assert running.place() == pytest.approx(value / 2, abs=1.5 / GRID)


@pytest.mark.parametrize(("fp", "fn"), [(1, 1), (1, 4), (3, 1)])
def test_the_best_threshold_for_costs_is_their_ratio(fp, fn):
    """C. Elkan, 2001: predict the positive class where its probability exceeds fp / (fp + fn)."""
    y, p = make_calibrated(0, 1)
    name = f"cost:fp={fp},fn={fn}"
    assert best_threshold(name, y, p)[0] == pytest.approx(fp / (fp + fn), abs=1 / GRID)
    # of the other class the two kinds of error trade places
    assert best_threshold(name, y, p, positive=0)[0] == pytest.approx(fn / (fp + fn), abs=1 / GRID)


def make_stream(n, seed=0):
    rng = np.random.default_rng(seed)
    p = 1.0 / (1.0 + np.exp(-rng.normal(-1.0, 1.5, n)))
    return (rng.random(n) < p).astype(int), rng.normal(size=n), p


@pytest.mark.parametrize(("metric", "positive"), [("f1", 1), ("f1", 0), ("cost:fp=1,fn=3", 1)])
def test_each_row_is_decided_by_the_rows_before_it(metric, positive):
    y, scores, p = make_stream(250)
    expected = reference.progressive(metric, y.tolist(), scores.tolist(), p.tolist(), positive)
    for pieces in (1, 7, 250):
        running, predicted = RunningThreshold(metric, positive=positive), []
        for part in np.array_split(np.arange(250), pieces):
            predicted += running.decide(y[part], scores[part], p[part]).tolist()
        assert predicted == expected


def test_a_stream_of_one_class_is_decided_by_the_score():
    running = RunningThreshold("f1")
    scores = np.array([-1.0, 1.0, -1.0])
    assert running.decide(np.zeros(3, dtype=int), scores, np.full(3, 0.9)).tolist() == [0, 1, 0]
    assert running.place() is None


def test_probabilities_of_0_and_1_are_counted():
    running = RunningThreshold("accuracy")
    running.decide(np.array([0, 1]), np.zeros(2), np.array([0.0, 1.0]))
    assert running.place() == pytest.approx(0.5, abs=0.01)


def expected_f1(p, t):
    """The mean F1 of the classes if each row is of each class with its probability."""
    said = (p / t).argmax(axis=1)
    parts = [(said == c, p[:, c]) for c in range(p.shape[1])]
    return np.mean([2 * own[is_c].sum() / (is_c.sum() + own.sum()) for is_c, own in parts])


def test_thresholds_of_classes_are_nearly_the_best_of_all():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([4.0, 1.0, 0.4], 400)
    found = expected_f1(p, best_thresholds("f1", None, p))
    a, b = np.meshgrid(np.exp(np.linspace(-4, 1, 26)), np.exp(np.linspace(-4, 1, 26)))
    best = max(expected_f1(p, [1.0, *pair]) for pair in zip(a.ravel(), b.ravel(), strict=True))
    assert found > best - 0.002
    assert found > expected_f1(p, [1, 1, 1]) + 0.05
    assert sum(best_thresholds("f1", None, p)) == pytest.approx(1.0)


def test_thresholds_that_are_no_better_for_the_labels_are_not_taken():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([4.0, 1.0, 0.4], 400)
    assert best_thresholds("f1", p.argmax(axis=1), p) == [1 / 3] * 3
    assert best_thresholds("accuracy", None, p) == [1 / 3] * 3


def test_thresholds_of_a_stream_depend_on_no_batches_and_go_on_from_their_state():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([4.0, 1.0, 0.4], 9000)
    codes = np.array([rng.choice(3, p=row) for row in p])
    whole, parts = RunningThresholds("f1", 3), RunningThresholds("f1", 3)
    expected = whole.decide(codes, np.log(p), p)
    found = []
    for start in range(0, 9000, 777):
        part = slice(start, start + 777)
        found.append(parts.decide(codes[part], np.log(p[part]), p[part]))
        state, parts = parts.get_state(), RunningThresholds("f1", 3)
        parts.set_state(state)
    assert (np.concatenate(found) == expected).all()
    assert (parts.threshold, parts.step, len(parts.kept)) == (whole.threshold, 4, 2250)
    assert (whole.kept[:, :3] == p[::4]).all()
    f1 = [measure("f1", codes, np.log(p), predicted=said) for said in (expected, p.argmax(axis=1))]
    assert f1[0] > f1[1] + 0.02
    state["kept"] = state["kept"][1:]
    with pytest.raises(InputError, match="kept for the thresholds"):
        RunningThresholds("f1", 3).set_state(state)


def test_scores_decide_where_they_are_much_better():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([4.0, 1.0, 0.4], 400)
    codes = rng.choice(3, 400)
    assert best_thresholds("f1", codes, p, codes) is None
    assert best_thresholds("f1", p.argmax(axis=1), p, codes) == [1 / 3] * 3


def test_those_of_many_classes_are_equal_or_the_scores_decide():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(1.0 / np.arange(1.0, 41.0), 3000)
    codes = np.array([rng.choice(40, p=row) for row in p])
    rare = p[:, ::-1].argmax(axis=1)  # scores that say little
    assert best_thresholds("f1", codes, p, rare) == [1 / 40] * 40
    assert best_thresholds("f1", codes, p, codes) is None
    running = RunningThresholds("f1", 40)
    running.decide(codes, np.log(p[:, ::-1] + 1e-9), p)
    assert len(running.kept) <= 3072
    assert running.threshold == [1 / 40] * 40


def test_many_classes_of_which_most_are_rare_are_predicted_by_their_probabilities():
    rng = np.random.default_rng(0)
    size = 1 / np.arange(1, 41)
    y = rng.choice(40, size=3000, p=size / size.sum())
    X = 1.5 * rng.normal(size=(40, 15))[y] + rng.normal(size=(3000, 15))
    shown = MultiView({"x": X[:2000]})
    trained = train(shown, y[:2000], model="newton", task="classification")
    assert trained.threshold == [1 / 40] * 40
    new, answer = MultiView({"x": X[2000:]}), y[2000:]
    right = trained.fitted.predict(new) == answer
    by_score = trained.learner.classes_[trained.fitted.decision_function(new).argmax(axis=1)]
    assert right.mean() > (by_score == answer).mean() + 0.05
