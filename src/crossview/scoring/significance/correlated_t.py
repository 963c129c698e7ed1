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

    The differences, of shape (k,), have the sign such that above 0 is better; of folds that are
    repeated all count.  Two training parts share rows, so the differences of two folds are
    correlated; the correlation is taken to be ρ = n_test / n, the ``test_share``, repeated or not.
    Then the posterior is Student's with k - 1 degrees of freedom, location mean(d) and squared
    scale ``(1/k + ρ / (1 - ρ)) var(d)`` (Benavoli et al. 2017, section 3.1).  Its p is that of the
    t-test of Nadeau and Bengio (2003, equation 9 and section 5), for ρ / (1 - ρ) rows of a test
    fold by rows of its training part.  The scale is 0 where all differences are the same, NaN for
    fewer than two, and all is NaN if a difference is.

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
