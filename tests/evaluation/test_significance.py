"""The tests of significance, by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from crossview.evaluation.significance import corrected_t_test, error_test, mcnemar_test


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
