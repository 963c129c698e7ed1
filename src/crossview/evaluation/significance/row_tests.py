"""Tests of two models row by row."""

from __future__ import annotations

import math

from scipy import stats

__all__ = ["error_test", "mcnemar_of_sums", "mcnemar_test"]


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
