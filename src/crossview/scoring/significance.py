"""Posteriors of differences between models, and p values.

A difference in a metric between two models has a `Posterior`: where the true difference lies, given
the scores.  `correlated_t_posterior` makes it from folds, and `jackknife_posterior` from blocks of
a stream.  A `ConfidenceSequence` has intervals that hold whenever one looks.  `holm` adjusts the p
of several tests.  All are functions of arrays; none knows models or data.

C. Nadeau, Y. Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003;
G. Corani, A. Benavoli, "A Bayesian Approach for Comparing Cross-Validated Algorithms on Multiple
Data Sets", Machine Learning 100, 2015; A. Benavoli, G. Corani, J. Demšar, M. Zaffalon, "Time for a
Change: a Tutorial for Comparing Multiple Classifiers Through Bayesian Analysis", JMLR 18, 2017;
S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, "Time-uniform, nonparametric, nonasymptotic
confidence sequences", Annals of Statistics 49 (2021).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    difference = float(difference)  # of NumPy it would be printed with its type
    if g < 2:
        return Posterior(difference, math.nan, max(0, g - 1))
    h = m.sum() / m
    pseudo = h * whole - (h - 1.0) * without
    variance = float((((pseudo - (pseudo / h).sum()) ** 2) / (h - 1.0)).sum()) / g
    return Posterior(difference, math.sqrt(variance), g - 1)


def share_within(n: float, level: float = 0.95) -> float:
    """Return the end of the interval of a share that is 0 in n rows, by Clopper and Pearson (1934).

    C. J. Clopper, E. S. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case
    of the Binomial", Biometrika 26, 1934: the share with which none of n rows is found with a
    probability of (1 - level) / 2; 1 of no rows.

    >>> round(share_within(2), 3), round(share_within(100), 3)
    (0.842, 0.036)
    """
    return 1.0 - ((1.0 - level) / 2.0) ** (1.0 / n) if n else 1.0


# a guess of the next number is at most this share of the bound from 0, so that none deviates from
# its guess by more than 1.1 bounds; differences of models are small beside their bound
LARGEST_GUESS = 0.1
# the sum of squared deviations, in squared bounds, at which the interval is as short as can be:
# that of two learners of which one has 1 % less log loss, when this can be seen
TIGHTEST = 1000.0


def log_mixture(s: Any, v: Any, c: float, rho: float) -> Any:
    """Return the logarithm of a supermartingale's value; it exceeds log 1/α seldom, with P <= α.

    For a process with sum s and intrinsic time v, exp(λ s - ψ(λ) v) is below a supermartingale for
    each λ in [0, 1/c), with ψ(λ) = (-log(1 - c λ) - c λ) / c².  Mixed over z = 1 - c λ with a gamma
    distribution of shape and rate ρ/c² that ends at 1, as in Proposition 9, it is

        m(s, v) = r^r / (Γ(r) γ(r, r)) · Γ(a) γ(a, x) / x^a · exp(x - r),
        r = ρ/c²,  a = (v + ρ)/c²,  x = (c s + v + ρ)/c²,

    with the regularized lower incomplete gamma function γ.

    s: the sum, at least 0.
    v: the intrinsic time.
    c: the scale.
    rho: the larger it is, the later the boundary is tightest.
    """
    r = rho / c**2
    a, x = v / c**2 + r, (c * s + v) / c**2 + r
    leading = r * math.log(r) - special.gammaln(r) - math.log(special.gammainc(r, r))
    inside = special.gammaln(a) + np.log(special.gammainc(a, x)) - a * np.log(x)
    return leading + inside + x - r


def boundary(v: float, alpha: float, c: float, rho: float) -> float:
    """Return the sum u at which `log_mixture` is log 1/α: P(some s_t >= u(v_t)) <= α."""
    level = math.log(1.0 / alpha)
    low, high = 0.0, math.sqrt(v + rho) + c
    while log_mixture(high, v, c, rho) < level:
        low, high = high, 2.0 * high
    while (high - low) > 1e-9 * high:
        middle = 0.5 * (low + high)
        if log_mixture(middle, v, c, rho) < level:
            low = middle
        else:
            high = middle
    return high


@dataclass
class ConfidenceSequence:
    """Intervals of the mean of numbers that come one after the other, which hold at all times.

    With a probability of at least ``level`` all intervals, one after each number, contain the mean
    of the expectations of the numbers so far, each given those before it.  So one may look at any
    time, and stop when one likes.  Nothing is assumed of the numbers but their bound; their
    expectation may change.  (Theorem 4, the empirical Bernstein bound, with the gamma-exponential
    mixture and the guess of a number by the mean of those before it.)

    bound: numbers are from -bound to bound; those beyond are clipped, and the mean is that of
      clipped ones.
    level: the probability.
    n: how many numbers there were.
    total, variation: their sum, and the sum of squared deviations from guesses.

    Examples
    --------
    >>> sequence = ConfidenceSequence(bound=1.0)
    >>> sequence.interval()
    (-1.0, 1.0)
    >>> for t in range(1000):
    ...     sequence.add(0.25 if t % 3 else 0.0)
    >>> [round(end, 3) for end in sequence.interval()]
    [0.136, 0.197]
    """

    bound: float
    level: float = 0.95
    n: int = 0
    total: float = 0.0
    variation: float = 0.0

    def add(self, number: float) -> None:
        """Count a number."""
        b = self.bound
        clipped = min(max(number, -b), b)
        most = LARGEST_GUESS * b
        guess = min(max(self.total / self.n, -most), most) if self.n else 0.0
        self.n += 1
        self.total += clipped
        self.variation += (clipped - guess) ** 2

    @property
    def mean(self) -> float:
        """The mean of the numbers so far; NaN without any."""
        return self.total / self.n if self.n else math.nan

    @property
    def scale(self) -> float:
        """The most by which a number can deviate from its guess."""
        return (1.0 + LARGEST_GUESS) * self.bound

    @property
    def rho(self) -> float:
        """The parameter of the mixture, with which the boundary is low; see `log_mixture`."""
        level = 2.0 * math.log(2.0 / (1.0 - self.level))
        return TIGHTEST * self.bound**2 / (level + math.log1p(level))

    def interval(self) -> tuple[float, float]:
        """Return the interval after the numbers so far; from -bound to bound at most."""
        if not self.n:
            return -self.bound, self.bound
        alpha = (1.0 - self.level) / 2.0
        half = boundary(self.variation, alpha, self.scale, self.rho) / self.n
        return max(self.mean - half, -self.bound), min(self.mean + half, self.bound)


# a p below this is significant
SIGNIFICANT = 0.05


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p of several tests, adjusted so that all of them together may be read.

    If no difference is real, the chance that any adjusted p is below 0.05 is at most 5 %, however
    the tests depend on each other.  With the m p in ascending order, the adjusted one is the
    highest of ``(m - i + 1) p_i`` up to its own, at most 1 (S. Holm, "A Simple Sequentially
    Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6, 1979).  None and NaN
    are no tests: they do not count, and stay as they are.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    adjusted = list(p_values)
    tests = sorted((p, i) for i, p in enumerate(p_values) if p is not None and p == p)
    highest = 0.0
    for done, (p, i) in enumerate(tests):
        highest = max(highest, min(1.0, (len(tests) - done) * p))
        adjusted[i] = highest
    return adjusted


def holm_of_pairs(p_values: np.ndarray) -> np.ndarray:
    """Return the p of all pairs of models, adjusted by `holm` for the number of pairs.

    Both are symmetric; the diagonal does not matter, and is then NaN.  For tests against the best
    model, too: the data choose it, so it is the one that chance favors.

    >>> p = np.array([[np.nan, 0.01, 0.04], [0.01, np.nan, 0.03], [0.04, 0.03, np.nan]])
    >>> holm_of_pairs(p)[0].tolist()
    [nan, 0.03, 0.06]
    """
    pairs = np.triu_indices(len(p_values), 1)
    adjusted = np.full(p_values.shape, np.nan)
    adjusted[pairs] = adjusted.T[pairs] = holm(p_values[pairs].tolist())
    return adjusted


def rankdata(values: Any) -> np.ndarray:
    """Return the ranks from 1 on, of equal values their mean; `scipy.stats` takes long to load."""
    _, code, n = np.unique(np.array(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(n) - (n - 1) / 2)[code])


def p_in_words(p: float) -> str:
    """Return a p as a sentence has it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
