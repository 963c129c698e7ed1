"""Differences over a stream, from blocks of its rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from crossview.scoring.significance.posterior import Posterior

__all__ = ["jackknife_posterior"]


def jackknife_posterior(difference: float, whole: float, without: Any, rows: Any) -> Posterior:
    """Return the posterior of a difference over a stream, by the jackknife over blocks.

    Rows near each other have correlated errors, because the same model predicts them and because
    streams drift.  So blocks of consecutive rows are left out in turn, not rows.  The squared
    scale is ``1/g Σ_j (d_j - Σ_i m_i d_i / n)² / (n/m_j - 1)`` over the g blocks of m_j ``rows``,
    with the pseudo-values ``d_j = (n/m_j) d - (n/m_j - 1) d_(-j)`` (Busing et al. 1999, equation
    10), d the ``whole``, from the counts that the blocks keep, and d_(-j) the differences
    ``without`` a block.  For a mean over rows d_j is the mean of block j, so this is the method of
    batch means.  The scale is NaN for fewer than two blocks, or where the metric is not defined
    without one of them.  Above 0 is better.

    ----------
    F. M. T. A. Busing, E. Meijer, R. van der Leeden, "Delete-m Jackknife for Unequal m", Statistics
    and Computing 9, 1999.

    Examples
    --------
    >>> jackknife_posterior(2.0, 2.0, [2.5, 2.0, 1.5], [1, 1, 1])  # of the mean of 1, 2 and 3
    Posterior(location=2.0, scale=0.577..., degrees=2)
    """
    without, m = np.asarray(without, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    g = len(m)
    if g < 2:
        return Posterior(difference, math.nan, max(0, g - 1))
    h = m.sum() / m
    pseudo = h * whole - (h - 1.0) * without
    variance = float((((pseudo - (pseudo / h).sum()) ** 2) / (h - 1.0)).sum()) / g
    return Posterior(difference, math.sqrt(variance), g - 1)
