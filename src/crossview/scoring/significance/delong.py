"""The difference of two areas under the ROC curve on the same rows.

E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson, "Comparing the Areas under Two or More Correlated
Receiver Operating Characteristic Curves", Biometrics 44, 1988; X. Sun, W. Xu, "Fast Implementation
of DeLong's Algorithm", IEEE Signal Processing Letters 21, 2014.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import rankdata

from crossview.scoring.significance.posterior import Posterior

__all__ = ["delong_posterior"]


def delong_posterior(is_positive: np.ndarray, first: np.ndarray, second: np.ndarray) -> Posterior:
    """Return the posterior of the difference in ROC AUC of two scores of the same rows.

    The rows must be independent, and all in memory; `jackknife_posterior` is for streams.  The
    squared scale is ``var(a) / P + var(b) / N`` over the P positive and N negative rows, where a is
    the difference in the share of the negative rows that score below a positive one, and b that of
    the positive rows that score above a negative one.  Ranks give both in O(n log n).

    Parameters
    ----------
    is_positive : ndarray of shape (n_samples,)
        Which rows are of the positive class.
    first, second : ndarray of shape (n_samples,)
        Scores of two models; higher means more likely positive.

    Returns
    -------
    posterior : Posterior
        Of the ROC AUC of the first model less that of the second; normal.  NaN without both
        classes, and its scale is NaN with fewer than two rows of either.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([True, True, True, False, False, False])
    >>> first, second = np.array([3, 2, 0.5, 1, 0, -1]), np.array([1, 0, 2, 3, 0.5, -1])
    >>> difference = delong_posterior(y, first, second)
    >>> round(difference.location, 3), round(difference.scale, 3)
    (0.333, 0.272)
    """
    is_positive = np.asarray(is_positive, dtype=bool)
    n_positive, n_negative = int(is_positive.sum()), int((~is_positive).sum())
    if not (n_positive and n_negative):
        return Posterior(math.nan, math.nan, math.inf)
    of_positive, of_negative = np.zeros(n_positive), np.zeros(n_negative)
    for sign, scores in ((1.0, first), (-1.0, second)):
        ranks = rankdata(scores)
        inside = rankdata(scores[is_positive]), rankdata(scores[~is_positive])
        of_positive += sign * (ranks[is_positive] - inside[0]) / n_negative
        of_negative += sign * (1.0 - (ranks[~is_positive] - inside[1]) / n_positive)
    if min(n_positive, n_negative) < 2:
        return Posterior(float(of_positive.mean()), math.nan, math.inf)
    variance = of_positive.var(ddof=1) / n_positive + of_negative.var(ddof=1) / n_negative
    return Posterior(float(of_positive.mean()), math.sqrt(variance), math.inf)
