"""The combinations of experts against their references; the regret bound of the mixture."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from crossview.algorithms.stacking import history, numbers, several_classes, two_classes
from crossview.algorithms.stacking.blend import blend_numbers
from crossview.algorithms.stacking.stack import MIXTURE, STACKING, Settings
from crossview.batch import read_only
from crossview.estimators.stacking import state as states
from reference import stacking as reference

LOOPS = {1: two_classes.learn, 4: several_classes.learn, None: numbers.learn}


def experts(C, n=400, K=3, seed=0):
    """What experts of different skill predict; the classes or numbers, and weights of the rows."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 2.0, n)
    noise = np.linspace(0.5, 2.0, K)[:, None] * rng.normal(size=(n, K, C or 1))
    truth = rng.normal(size=(n, 1, C or 1))
    if C is None:
        return truth + noise, truth[:, 0, 0] + 0.1 * rng.normal(size=n), weight
    if C == 1:
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * truth[:, 0, 0])), 1.0, -1.0)
        return 1 / (1 + np.exp(-2 * truth - noise)), y, weight
    p = np.exp(2 * truth + noise)
    return p / p.sum(axis=2, keepdims=True), truth[:, 0].argmax(axis=1), weight


def combine(C, p, y, weight, only=None, share=0.01, prune=0, delay=None):
    """Run the loop; ``only`` one of the combinations decides.  Return output, state and history."""
    n, K, width = p.shape
    state = states.make_state(K, width, 20.0, C)
    if only is not None:  # an infinite loss never decides
        state["losses"][1 - only] = np.inf
    alive, out = np.ones(K, dtype=bool), np.empty((n, width))
    past = states.as_history(state, read_only(np.arange(K)))
    stack = states.as_stack(state, alive)
    delay = np.zeros(n, dtype=np.int64) if delay is None else delay
    rows = read_only(y), read_only(weight), read_only(delay)
    LOOPS[C](
        read_only(np.ascontiguousarray(p)), rows, stack, Settings(share, 20.0, prune), past, out
    )
    return out if width > 1 else out[:, 0], state, alive


@pytest.mark.parametrize("most_delay", [0, 3])
@pytest.mark.parametrize("C", LOOPS)
def test_both_combinations_and_the_choice_against_the_reference(C, most_delay):
    p, y, weight = experts(C)
    delay = np.random.default_rng(0).integers(most_delay + 1, size=len(y))
    if C is None:
        expected_of_all = reference.numbers(p[:, :, 0], y, weight, delay, 0.01, 20.0)
    elif C == 1:
        expected_of_all = reference.two_classes(p[:, :, 0], (y > 0) * 1, weight, delay, 0.01, 20.0)
    else:
        expected_of_all = reference.several_classes(p, y, weight, delay, 0.01, 20.0)
    for only, expected in zip((MIXTURE, STACKING, None), expected_of_all, strict=True):
        if C is None and only is STACKING:
            continue  # the mixture's loss is part of its likelihood
        found = combine(C, p, y, weight, only, delay=delay)[0]
        assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@given(st.integers(1, 6), st.integers(1, 60), st.integers(0, 2**31), st.floats(0.1, 5.0))
def test_the_regret_of_the_mixture_is_at_most_log_k(K, n, seed, spread):
    """Also where experts are sure and wrong; with α = 0."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-spread * rng.normal(size=(n, K, 1))))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    score, _, _ = combine(1, p, y, np.ones(n), MIXTURE, share=0.0)
    loss = np.logaddexp(0.0, -y * score).sum()
    each = -np.log(np.where(y[:, None] > 0, p[:, :, 0], 1 - p[:, :, 0])).sum(axis=0)
    assert loss <= each.min() + np.log(K) + 1e-6


@pytest.mark.parametrize("unit", [1.0, 1e-7, 1e7])
@pytest.mark.parametrize(("K", "seed"), [(1, 0), (2, 1), (3, 2), (3, 3)])
def test_a_blend_of_least_absolute_error_against_the_reference(K, seed, unit):
    rng = np.random.default_rng(seed)
    y = np.maximum(rng.normal(size=15), 0.0).round(1)  # many are equal
    predicted = 0.7 * y + np.linspace(0.3, 1.0, K)[:, None] * rng.normal(size=(K, 15))
    blend = blend_numbers(unit * predicted[:, :, None], unit * y, K, "absolute_error")
    c = sorted(y)[7]
    assert blend.center == unit * c
    _, least = reference.least_absolute(predicted - c, y - c)
    found = blend.combine(unit * predicted[blend.members, :, None])[:, 0]
    assert (blend.weights >= 0.0).all()
    assert np.abs(unit * y - found).sum() == pytest.approx(unit * least, rel=1e-6)


def test_a_blend_of_least_absolute_error_is_not_led_by_a_far_row():
    rng = np.random.default_rng(0)
    y = rng.normal(size=30_000)
    predicted = np.stack([y + 0.1 * rng.normal(size=len(y)), rng.normal(size=len(y))])[:, :, None]
    y[7] = 1e6
    for loss, is_led in (("absolute_error", False), ("squared_error", True)):
        blend = blend_numbers(predicted, y, 1, loss)
        assert (abs(blend.weights[0] - 1.0) > 0.1) == is_led


def test_an_expert_without_prediction_leaves_the_others_alone():
    p, y, _ = experts(1)
    p[:, 2], weight = np.nan, np.ones(len(y))
    with_sleeper, state, _ = combine(1, p, y, weight, MIXTURE, share=0.0)
    assert_allclose(with_sleeper, combine(1, p[:, :2], y, weight, MIXTURE, share=0.0)[0])
    # its weight is that of an expert as good as the mixture
    assert_allclose(state["omega"][2], 1 / 3)


@pytest.mark.parametrize("C", LOOPS)
def test_an_expert_without_weight_is_dropped(C):
    p, y, weight = experts(C, n=900)
    noise = 0.01 * np.random.default_rng(1).normal(size=p[:, 2].shape)
    p[:, 2] = noise if C is None else np.exp(noise) / max(C, 2)
    _, state, alive = combine(C, p, y, weight, share=1e-4, prune=300)
    assert alive[0]
    assert not alive[2]
    assert state["omega"][2] == state["v"][2] == 0.0
    assert not state["A_inv"][2].any()
    assert not state["A_inv"][:, 2].any()
    assert_allclose(state["omega"].sum(), 1.0)
    # until then nothing differs, and what it added since is small
    first, _, _ = combine(C, p, y, weight, STACKING, share=1e-4, prune=300)
    second, _, _ = combine(C, p, y, weight, STACKING, share=1e-4)
    assert_allclose(first[:300], second[:300])
    assert_allclose(first[300:], second[300:], atol=0.5)


def test_the_history_is_thinned_evenly():
    p, y, weight = experts(1, n=1600)
    _, state, _ = combine(1, p, y, weight)
    n = state["clock"][2]
    assert state["clock"].tolist() == [1600, 4, 400]
    np.testing.assert_array_equal(state["rows"][:n], np.arange(4, 1601, 4))
    assert n <= history.MAX_SNAPSHOTS
    assert_allclose(state["weights"][n - 1, 0], state["omega"])
    assert_allclose(state["weights"][:n, 0].sum(axis=1), 1.0)
