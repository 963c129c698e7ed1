"""The posterior of a difference: over folds, whose training parts overlap, and over a stream.

C. Nadeau, Y. Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003;
G. Corani, A. Benavoli, "A Bayesian Approach for Comparing Cross-Validated Algorithms on Multiple
Data Sets", Machine Learning 100, 2015; A. Benavoli, G. Corani, J. Demšar, M. Zaffalon, "Time for a
Change: a Tutorial for Comparing Multiple Classifiers Through Bayesian Analysis", JMLR 18, 2017.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special


class Areas(NamedTuple):
    """Probabilities that a difference is below -rope, within the rope and above; they add up to 1.

    The rope is the region of practical equivalence: within it two models are practically equal.
    """

    worse: float
    equal: float
    better: float


@dataclass(frozen=True)
class Posterior:
    """The posterior of a difference: Student's distribution around the measured one.

    --------
    >>> difference = Posterior(location=0.02, scale=0.01, degrees=9)
    >>> [round(area, 3) for area in difference.areas(rope=0.01)]
    [0.007, 0.164, 0.828]
    >>> [round(end, 3) for end in difference.interval()], round(difference.p, 3)
    ([-0.003, 0.043], 0.077)
    """

    location: float  # the measured difference
    scale: float  # its standard error; 0: the difference is certain; NaN: nothing is known of it
    degrees: float  # of freedom; infinity for the normal distribution

    def areas(self, rope: float) -> Areas:
        """Return the probabilities of worse, practically equal and better; NaN if nothing is known.

        Differences from -rope to rope, in units of the metric, count as none; 0: only 0 itself.
        """
        if math.isnan(self.location) or math.isnan(self.scale):
            return Areas(math.nan, math.nan, math.nan)
        if self.scale == 0.0:
            worse, better = float(self.location < -rope), float(self.location > rope)
        else:
            worse = self._lower_tail((-rope - self.location) / self.scale)
            better = self._lower_tail((self.location - rope) / self.scale)
        return Areas(worse, max(0.0, 1.0 - worse - better), better)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval around the difference that has a probability; NaN if it is
        unknown.
        """
        if math.isnan(self.scale) or self.scale == 0.0:
            certain = self.location + self.scale
            return certain, certain
        tail = (1.0 - level) / 2.0
        normal = math.isinf(self.degrees)
        quantile = special.ndtri(tail) if normal else special.stdtrit(self.degrees, tail)
        half = -self.scale * float(quantile)
        return self.location - half, self.location + half

    @property
    def p(self) -> float:
        """The two-sided p of the test of no difference; 0 or 1 where the difference is certain."""
        if math.isnan(self.location) or math.isnan(self.scale):
            return math.nan
        if self.scale == 0.0:
            return 0.0 if self.location else 1.0
        return 2.0 * self._lower_tail(-abs(self.location) / self.scale)

    def _lower_tail(self, t: float) -> float:
        """The probability of a standardized difference below t."""
        # `scipy.stats` takes a hundred times as long
        normal = math.isinf(self.degrees)
        return float(special.ndtr(t) if normal else special.stdtr(self.degrees, t))


# differences that differ by less than this, relative to their mean, are the same
ROUNDING = 1e-12


def correlated_t_posterior(
    differences: Any, test_share: float, least_scale: float = 0.0
) -> Posterior:
    """Return the posterior of the mean difference over folds: the Bayesian correlated t-test.

    The differences, of shape (k,), have the sign such that above 0 is better; of folds that are
    repeated all count.  Two training parts share rows, so the differences of two folds are
    correlated; the correlation is taken to be ρ = n_test / n, the ``test_share``, repeated or not.
    Then the posterior is Student's with k - 1 degrees of freedom, location mean(d) and squared
    scale ``(1/k + ρ / (1 - ρ)) var(d)`` (Benavoli et al. 2017, section 3.1).  Its p is that of the
    t-test of Nadeau and Bengio (2003, equation 9 and section 5), for ρ / (1 - ρ) rows of a test
    fold by rows of its training part.  The scale is ``least_scale`` or more: few rows may give the
    same value in each fold by chance.  It is NaN for fewer than two differences, and all is NaN if
    one is.

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
    return Posterior(mean, max(scale, least_scale), k - 1)


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
