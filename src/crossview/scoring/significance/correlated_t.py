"""Differences over folds, whose training parts overlap.

C. Nadeau, Y. Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003;
G. Corani, A. Benavoli, "A Bayesian Approach for Comparing Cross-Validated Algorithms on Multiple
Data Sets", Machine Learning 100, 2015; A. Benavoli, G. Corani, J. Demšar, M. Zaffalon, "Time for a
Change: a Tutorial for Comparing Multiple Classifiers Through Bayesian Analysis", JMLR 18, 2017.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from crossview.scoring.significance.posterior import Posterior

__all__ = ["correlated_t_posterior"]

# differences that differ by less than this, relative to their mean, are the same
ROUNDING = 1e-12


def correlated_t_posterior(differences: Any, test_share: float) -> Posterior:
    """Return the posterior of the mean difference over folds: the Bayesian correlated t-test.

    Two training parts share rows, so the differences of two folds are correlated; the correlation
    is taken to be ρ = n_test / n.  Then the posterior is Student's with k - 1 degrees of freedom,
    location mean(d) and squared scale ``(1/k + ρ / (1 - ρ)) var(d)`` (Benavoli et al. 2017, section
    3.1).  Its p is that of the t-test of Nadeau and Bengio (2003, equation 9 and section 5), for
    ρ / (1 - ρ) rows of a test fold by rows of its training part.

    Parameters
    ----------
    differences : array-like of shape (k,)
        Of the metric, fold by fold, with the sign such that above 0 is better.  Folds that are
        repeated r times: all ``r * k`` of them.
    test_share : float
        ρ, the rows of a test fold as a share of all rows: ``1 / k`` for k folds, repeated or not.

    Returns
    -------
    posterior : Posterior
        Its scale is 0 where all differences are the same, and NaN for fewer than two.  A difference
        that is NaN makes all NaN.

    Examples
    --------
    >>> difference = correlated_t_posterior([0.01, 0.02, 0.0, 0.03, 0.01], 1 / 5)
    >>> [round(area, 2) for area in difference.areas(rope=0.01)]
    [0.02, 0.3, 0.69]
    """
    d = np.asarray(differences, dtype=np.float64)
    k = len(d)
    if k < 2:
        return Posterior(float(d[0]) if k else math.nan, math.nan, 0)
    mean, variance = float(np.mean(d)), float(np.var(d, ddof=1))
    if variance <= (ROUNDING * abs(mean)) ** 2:
        variance = 0.0
    scale = math.sqrt((1.0 / k + test_share / (1.0 - test_share)) * variance)
    return Posterior(mean, scale, k - 1)
