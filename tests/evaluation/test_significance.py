"""Posteriors of differences, and the tests of significance."""

import math

import numpy as np
import pytest
from scipy import stats

from crossview.evaluation.significance import (
    Posterior,
    corrected_t_test,
    correlated_t_posterior,
    error_test,
    holm,
    mcnemar_test,
)

FIRST = np.array([0.78, 0.81, 0.75, 0.80, 0.77, 0.79, 0.82, 0.76, 0.80, 0.78])
SECOND = np.array([0.80, 0.82, 0.79, 0.80, 0.80, 0.78, 0.85, 0.78, 0.81, 0.79])


@pytest.mark.parametrize(
    ("rope", "runs", "areas"),
    [
        (0.01, 1, (0.0022474106129484355, 0.20188884804513962, 0.795863741341912)),
        (0.02, 1, (0.00028045406791184116, 0.7110794424731753, 0.2886401034589128)),
        (0.01, 2, (0.008528713586418294, 0.2502057101112015, 0.7412655763023802)),
        (0.0, 1, (0.02300601833693905, 0.0, 0.976993981663061)),
    ],
)
def test_the_areas_are_those_of_baycomp(rope, runs, areas):
    """Printed by `two_on_single(FIRST, SECOND, rope, runs)` of baycomp 1.0.3.

    It is not installed for the tests: it brings matplotlib, and a top-level package `tests`.
    """
    found = correlated_t_posterior(SECOND - FIRST, runs / len(FIRST)).areas(rope)
    assert found == pytest.approx(areas, abs=1e-12)
    swapped = correlated_t_posterior(FIRST - SECOND, runs / len(FIRST)).areas(rope)
    assert swapped == pytest.approx(areas[::-1], abs=1e-12)


def test_a_posterior_agrees_with_itself():
    """The p is below 0.05 where 0 is outside of the interval, and twice the area below 0."""
    for shift in (-0.02, -0.015, 0.0, 0.005):
        difference = correlated_t_posterior(SECOND - FIRST + shift, 1 / len(FIRST))
        low, high = difference.interval()
        assert (difference.p < 0.05) == (not low <= 0.0 <= high)
        worse, _, better = difference.areas(0.0)
        assert difference.p == pytest.approx(2 * min(worse, better))
        assert difference.p == pytest.approx(corrected_t_test(SECOND - FIRST + shift, 1 / 9))
        low, high = difference.interval(0.9)
        outside = Posterior(difference.location - low, difference.scale, difference.degrees)
        assert outside.areas(0.0).worse == pytest.approx(0.05)


def test_a_difference_that_is_certain_or_unknown():
    assert correlated_t_posterior([0.0] * 3, 1 / 3).areas(0.0) == (0, 1, 0)
    certain = correlated_t_posterior([0.1] * 3, 1 / 3)
    assert certain.areas(0.01) == (0, 0, 1)
    assert certain.areas(0.2) == (0, 1, 0)
    assert certain.interval() == pytest.approx((0.1, 0.1))
    assert correlated_t_posterior([-0.1] * 3, 1 / 3).areas(0.01) == (1, 0, 0)
    for unknown in ([0.1], [], [0.1, math.nan]):
        difference = correlated_t_posterior(unknown, 1 / 3)
        assert np.isnan(difference.areas(0.01)).all()
        assert np.isnan(difference.interval()).all()
        assert math.isnan(difference.p)


def test_holm_by_hand():
    # p in ascending order times 4, 3, 2, 1, never below the one before
    assert holm([0.04, 0.01, 0.03, 0.005]) == pytest.approx([0.06, 0.03, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    adjusted = holm([0.02, None, math.nan, 0.01])
    assert adjusted[1] is None
    assert math.isnan(adjusted[2])
    assert [adjusted[0], adjusted[3]] == [0.02, 0.02]


def test_the_corrected_t_test_by_hand():
    # d = 1, 2, 3: mean 2, variance 1; t = 2 / sqrt(1/3 + 1/2), 2 degrees of freedom
    t = 2 / math.sqrt(5 / 6)
    # survival function of Student's t with 2 degrees of freedom
    assert corrected_t_test([1, 2, 3], 1 / 2) == pytest.approx(1 - t / math.sqrt(2 + t * t))
    assert corrected_t_test([-1, -2, -3], 1 / 2) == corrected_t_test([1, 2, 3], 1 / 2)


def test_the_corrected_t_test_without_variance():
    assert corrected_t_test([0.0, 0.0, 0.0], 1 / 2) == 1.0
    assert corrected_t_test([0.1, 0.1, 0.1], 1 / 2) == 0.0
    assert math.isnan(corrected_t_test([0.1, math.nan], 1.0))


def test_mcnemar_counts_coin_flips():
    # 1 against 5: six flips with one head or none, on either side
    assert mcnemar_test(1, 5) == pytest.approx(2 * (1 + 6) / 2**6)
    assert mcnemar_test(5, 1) == mcnemar_test(1, 5)
    assert mcnemar_test(0, 0) == 1.0


def test_the_test_of_errors_by_hand():
    d = np.array([1.0, 2.0, -0.5, 0.3])
    z = d.mean() / math.sqrt(d.var(ddof=1) / 4)
    expected = 2 * stats.norm.sf(z)
    assert error_test(d.sum(), (d * d).sum(), 4) == pytest.approx(expected)
    assert error_test(-d.sum(), (d * d).sum(), 4) == pytest.approx(expected)
    assert error_test(0.0, 0.0, 4) == 1.0
    assert error_test(2.0, 1.0, 4) == 0.0
    assert math.isnan(error_test(1.0, 1.0, 1))
