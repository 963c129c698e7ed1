"""Tests of whether one model is better than another, on folds or row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

__all__ = [
    "SIGNIFICANT",
    "corrected_t_test",
    "error_test",
    "mcnemar_of_sums",
    "mcnemar_test",
    "p_in_words",
]

# a p below this is significant
SIGNIFICANT = 0.05


def corrected_t_test(differences: Any, test_to_train: float) -> float:
    """Return the two-sided p of a paired t-test over folds, corrected for their overlap.

    ``t = mean(d) / sqrt((1/k + n_test / n_train) var(d))`` with k - 1 degrees
    of freedom (Nadeau and Bengio 2003, equation 9 and section 5).

    Parameters
    ----------
    differences : array-like of shape (k,)
        Of the metric, fold by fold.
    test_to_train : float
        Rows of a test fold by rows of its training part; ``1 / (k - 1)`` for
        k folds.

    Returns
    -------
    p : float
        1 where all differences are 0; 0 where they are all the same otherwise.

    Examples
    --------
    >>> round(corrected_t_test([0.01, 0.02, 0.0, 0.03, 0.01], 1 / 4), 3)
    0.141
    """
    d = np.asarray(differences, dtype=np.float64)
    k, mean = len(d), float(np.mean(d))
    if np.isnan(mean):
        return math.nan
    variance = float(np.var(d, ddof=1))
    if variance <= (1e-12 * abs(mean)) ** 2:
        return 0.0 if mean else 1.0
    t = mean / math.sqrt((1.0 / k + test_to_train) * variance)
    return float(2.0 * stats.t.sf(abs(t), k - 1))


def mcnemar_test(only_first: int, only_second: int) -> float:
    """Return the two-sided p of the exact McNemar test.

    Parameters
    ----------
    only_first, only_second : int
        Rows that one predicted right and the other did not.

    Returns
    -------
    p : float
        1 where there are none.

    Examples
    --------
    >>> round(mcnemar_test(15, 5), 3)
    0.041
    """
    n = only_first + only_second
    return float(stats.binomtest(only_first, n).pvalue) if n else 1.0


def error_test(total: float, squares: float, n: int) -> float:
    """Return the two-sided p of a paired test of two errors per row, from running sums.

    The mean difference divided by its standard error, with the normal distribution
    in place of Student's, because there are many rows.

    Parameters
    ----------
    total, squares : float
        Sums over the rows of one error less the other, and of the squares of that.
    n : int
        Number of rows.

    Returns
    -------
    p : float
        1 where all differences are 0; 0 where they are all the same otherwise;
        NaN for a single row.

    Examples
    --------
    >>> round(error_test(10.0, 25.0, 100), 3)
    0.042
    """
    if n < 2:
        return math.nan
    mean = total / n
    variance = (squares - total * mean) / (n - 1)
    if variance <= (1e-12 * abs(mean)) ** 2:
        return 0.0 if mean else 1.0
    return float(2.0 * stats.norm.sf(abs(mean) / math.sqrt(variance / n)))


def mcnemar_of_sums(total: float, squares: float) -> float:
    """Return `mcnemar_test` from sums over the rows.

    Parameters
    ----------
    total, squares : float
        Sums of one's mistakes (0 or 1) less the other's, and of the squares of that.

    Returns
    -------
    p : float
        As `mcnemar_test`.
    """
    return mcnemar_test(int(squares + total) // 2, int(squares - total) // 2)


def p_in_words(p: float) -> str:
    """Return a p as a sentence has it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
