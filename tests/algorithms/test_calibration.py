"""Calibration in the pass against its reference, and the batch fit against its minimum."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax

from crossview.algorithms import calibration
from reference.calibration import calibration_of_several, calibration_of_two


def rows(n, K, seed=0):
    """Scores of rows, their classes and weights; the scale of the scores is far from 1."""
    rng = np.random.default_rng(seed)
    scores = 30.0 * rng.normal(size=(n, 1 if K == 2 else K))
    eta = scores / 10.0 + (0.5 if K == 2 else np.arange(K))
    p = np.hstack([1 - expit(eta), expit(eta)]) if K == 2 else softmax(eta, axis=1)
    codes = (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    return scores, np.minimum(codes, K - 1), rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_two_classes(sign):
    scores, y, weight = rows(300, 2)
    scores *= sign  # -1: worse than chance, which the slope does not follow
    state = calibration.start(1)
    p = calibration.calibrate(scores, y, weight, state)
    theta, scale, expected = calibration_of_two(scores[:, 0], y, weight)
    assert_allclose(p[:, 0], expected, rtol=1e-9)
    assert_allclose(state[:2], theta, rtol=1e-9)
    assert (state[0] == pytest.approx(1e-3)) == (sign < 0.0)
    found = calibration.probabilities(scores, state)
    assert_allclose(found[:, 1], expit(theta[0] * scores[:, 0] / scale + theta[1]), rtol=1e-9)
    assert_allclose(found.sum(axis=1), 1.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_several_classes(sign):
    scores, y, weight = rows(300, 4)
    scores *= sign
    state = calibration.start(4)
    p = calibration.calibrate(scores, y, weight, state)
    theta, scale, expected = calibration_of_several(scores, y, weight)
    assert_allclose(p, expected, rtol=1e-8)
    assert_allclose(state[:5], theta, rtol=1e-8)
    assert (state[0] == pytest.approx(1e-3)) == (sign < 0.0)
    z = (scores - scores.mean(axis=1, keepdims=True)) / scale
    assert_allclose(
        calibration.probabilities(scores, state),
        softmax(theta[0] * z + theta[1:], axis=1),
        rtol=1e-8,
    )


@pytest.mark.parametrize("K", [2, 5])
def test_finds_the_probabilities_that_the_labels_were_drawn_from(K):
    scores, y, weight = rows(20_000, K)
    state = calibration.start(scores.shape[1])
    calibration.calibrate(scores, y, weight, state)
    eta = scores / 10.0 + (0.5 if K == 2 else np.arange(K))
    true = np.hstack([1 - expit(eta), expit(eta)]) if K == 2 else softmax(eta, axis=1)
    error = calibration.probabilities(scores, state) - true
    assert np.sqrt((error**2).mean()) < 0.02


@pytest.mark.parametrize("K", [2, 3])
def test_pieces_and_rows_without_label(K):
    scores, y, weight = rows(200, K)
    y[::7] = -1
    weight[::5] = 0.0
    scores[11] = np.inf
    whole, pieces = calibration.start(scores.shape[1]), calibration.start(scores.shape[1])
    p = calibration.calibrate(scores, y, weight, whole)
    parts = [slice(0, 1), slice(1, 60), slice(60, 200)]
    q = [calibration.calibrate(scores[i], y[i], weight[i], pieces) for i in parts]
    assert_array_equal(np.concatenate(q), p)
    assert_array_equal(pieces, whole)
    used = (y >= 0) & (weight > 0.0) & (np.arange(200) != 11)
    kept = calibration.start(scores.shape[1])
    calibration.calibrate(scores[used], y[used], weight[used], kept)
    assert_array_equal(kept, whole)
    assert np.isfinite(p).all()


@pytest.mark.parametrize("K", [2, 3])
def test_long_streams_leave_rows_out_wherever_they_are_cut(K):
    scores, y, weight = rows(9000, K)
    states = [calibration.start(scores.shape[1]) for _ in range(3)]
    p = calibration.calibrate(scores, y, weight, states[0])
    cuts = [0, 4500, 4501, 4567, 5000, 9000]
    q = [
        calibration.calibrate(scores[a:b], y[a:b], weight[a:b], states[1])
        for a, b in pairwise(cuts)
    ]
    calibration.calibrate(scores, y, weight, states[2], return_proba=False)
    assert_array_equal(np.concatenate(q), p)
    assert_array_equal(states[1], states[0])

    assert_array_equal(states[2], states[0])
    assert states[0][calibration.N] < 0.9 * weight.sum()
    assert np.isfinite(p).all()


def test_is_back_after_a_change():
    # the scores tell a fifth of what they did; without forgetting 4,000 rows do not undo 100,000
    n, rng = 104_000, np.random.default_rng(0)
    scores, slope = rng.normal(size=(n, 1)), np.where(np.arange(n) < 100_000, 5.0, 1.0)
    eta = slope * scores[:, 0]
    y, state = (rng.random(n) < expit(eta)).astype(int), calibration.start(1)
    last = np.arange(n - 2000, n)
    calibration.calibrate(scores[:100_000], y[:100_000], np.ones(100_000), state)
    before = calibration.probabilities(scores[last], state)[:, 1]
    after = calibration.calibrate(scores[100_000:], y[100_000:], np.ones(4000), state)[2000:, 0]
    true = y[last] == 1
    before, after, best = (
        -np.log(np.where(true, p, 1 - p)).mean() for p in (before, after, expit(eta[last]))
    )
    assert before > 1.3 * best
    assert after < 1.1 * best


@pytest.mark.parametrize(("K", "sign"), [(2, 1.0), (4, 1.0), (2, -1.0)])
def test_fit_reaches_the_minimum(K, sign):
    scores, y, weight = rows(400, K)
    state = calibration.fit(sign * scores, y, weight)

    def objective(theta):
        changed = state.copy()
        changed[: len(theta)] = theta
        p = calibration.probabilities(sign * scores, changed)[np.arange(400), y]
        start = np.eye(len(theta))[0]
        return -weight @ np.log(p) + 0.5 * ((theta - start) ** 2).sum()

    theta = state[: 2 if K == 2 else K + 1]
    for step in np.vstack([np.eye(len(theta)), -np.eye(len(theta))]):
        if sign < 0.0 and step[0] < 0.0:  # the slope is as low as it may be
            assert theta[0] == pytest.approx(1e-3)
            continue
        assert objective(theta) <= objective(theta + 0.01 * step)


def test_a_new_class_keeps_what_is_known_of_the_others():
    scores, y, weight = rows(500, 3)
    state = calibration.start(3)
    calibration.calibrate(scores, y, weight, state)
    more = calibration.insert_class(state, 3, 1, 500, -2.0)
    assert len(more) == len(calibration.start(4))
    before = calibration.probabilities(scores, state)
    p = calibration.probabilities(np.insert(scores, 1, -2.0, axis=1), more)
    assert_allclose(np.delete(p, 1, axis=1), before * (1.0 - p[:, 1:2]))
    # a single class is the positive one until a second comes after it
    one = calibration.start(1)
    calibration.calibrate(scores[:9, :1], np.ones(9, dtype=np.int64), weight[:9], one)
    two = calibration.insert_class(one, 1, 1, 9, 0.0)
    assert_allclose(
        calibration.probabilities(-scores[:9, :1], two),
        calibration.probabilities(scores[:9, :1], one)[:, ::-1],
    )


@pytest.mark.parametrize("score", [0.0, -3.0])
def test_a_third_class_leaves_the_odds_of_two_and_has_the_share_of_one_row(score):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    s = (2.0 * y - 1.0 + rng.normal(size=2000))[:, None]
    state = calibration.start(1)
    calibration.calibrate(s, y, np.ones(2000), state)
    before = calibration.probabilities(s, state)
    wider = calibration.insert_class(state, 2, 0, 2000, score)
    three = np.hstack([np.full_like(s, score), -s / 2.0, s / 2.0])
    p = calibration.probabilities(three, wider)
    assert_allclose(p[:, 2] / p[:, 1], before[:, 1] / before[:, 0])
    assert 0.2 / 2000 < p[:, 0].mean() < 2.0 / 2000
    # and is learned like any other
    calibration.calibrate(three[:500], np.zeros(500, dtype=np.int64), np.ones(500), wider)
    assert calibration.probabilities(three, wider)[:, 0].mean() > 0.5


@pytest.mark.parametrize("K", [2, 3])
def test_class_weights_are_taken_out_of_log_odds(K):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(K), size=20)
    w = np.array([0.5, 4.0, 1.5])[:K]
    learned = p * w / (p * w).sum(axis=1, keepdims=True)
    scores = np.log(learned[:, 1:] / learned[:, :1]) if K == 2 else np.log(learned)
    state = calibration.without_weights(w)
    np.testing.assert_allclose(calibration.probabilities(scores, state), p)
    # a class of weight 0 is never learned
    w[0] = 0.0
    assert np.isfinite(calibration.probabilities(scores, calibration.without_weights(w))).all()
