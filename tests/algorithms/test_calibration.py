"""Calibration in the pass against its reference, and the batch fit against its minimum."""

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


def test_two_classes():
    scores, y, weight = rows(300, 2)
    state = calibration.start(1)
    p = calibration.calibrate(scores, y, weight, state)
    theta, scale, expected = calibration_of_two(scores[:, 0], y, weight)
    assert_allclose(p[:, 0], expected, rtol=1e-9)
    assert_allclose(state[:2], theta, rtol=1e-9)
    found = calibration.probabilities(scores, state)
    assert_allclose(found[:, 1], expit(theta[0] * scores[:, 0] / scale + theta[1]), rtol=1e-9)
    assert_allclose(found.sum(axis=1), 1.0)


def test_several_classes():
    scores, y, weight = rows(300, 4)
    state = calibration.start(4)
    p = calibration.calibrate(scores, y, weight, state)
    theta, scale, expected = calibration_of_several(scores, y, weight)
    assert_allclose(p, expected, rtol=1e-8)
    assert_allclose(state[:5], theta, rtol=1e-8)
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
    assert np.abs(calibration.probabilities(scores, state) - true).max() < 0.06


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


def test_is_back_after_a_change():
    # the slope changes its sign; without forgetting, 2,000 rows would not undo 100,000
    scores, y, weight = rows(100_000, 2)
    state = calibration.start(1)
    calibration.calibrate(scores, y, weight, state)
    p = calibration.calibrate(-scores[:4000], y[:4000], weight[:4000], state)[2000:, 0]
    losses = -np.log(np.where(y[2000:4000] == 1, p, 1 - p))
    eta = scores[2000:4000, 0] / 10.0 + 0.5
    best = np.log1p(np.exp(np.where(y[2000:4000] == 1, -eta, eta)))
    assert losses.mean() < 1.05 * best.mean()


@pytest.mark.parametrize("K", [2, 4])
def test_fit_reaches_the_minimum(K):
    scores, y, weight = rows(400, K)
    state = calibration.fit(scores, y, weight)

    def objective(theta):
        changed = state.copy()
        changed[: len(theta)] = theta
        p = calibration.probabilities(scores, changed)[np.arange(400), y]
        start = np.eye(len(theta))[0]
        return -weight @ np.log(p) + 0.5 * ((theta - start) ** 2).sum()

    theta = state[: 2 if K == 2 else K + 1]
    for step in np.vstack([np.eye(len(theta)), -np.eye(len(theta))]):
        assert objective(theta) <= objective(theta + 0.01 * step)


def test_a_new_class_keeps_what_is_known_of_the_others():
    scores, y, weight = rows(500, 3)
    state = calibration.start(3)
    calibration.calibrate(scores, y, weight, state)
    more = calibration.insert_class(state, 3, 1)
    assert len(more) == len(calibration.start(4))
    assert_array_equal(np.delete(more[:5], 2), state[:4])
    # a single class is the positive one until a second comes after it
    one = calibration.start(1)
    calibration.calibrate(scores[:9, :1], np.ones(9, dtype=np.int64), weight[:9], one)
    two = calibration.insert_class(one, 1, 1)
    assert_allclose(
        calibration.probabilities(-scores[:9, :1], two),
        calibration.probabilities(scores[:9, :1], one)[:, ::-1],
    )
