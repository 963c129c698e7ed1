"""A confidence sequence: intervals of a mean that hold at all times at once.

S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, "Time-uniform, nonparametric, nonasymptotic
confidence sequences", Annals of Statistics 49 (2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

__all__ = ["ConfidenceSequence", "boundary", "log_mixture"]

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

    Parameters
    ----------
    s : float or ndarray
        The sum, at least 0.
    v : float or ndarray
        The intrinsic time.
    c : float
        The scale.
    rho : float
        The larger it is, the later the boundary is tightest.
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

    Parameters
    ----------
    bound : float
        Numbers are from -bound to bound; those beyond are clipped, and the mean is that of clipped
        ones.
    level : float, default=0.95
        The probability.
    n : int
        How many numbers there were.
    total, variation : float
        Their sum, and the sum of squared deviations from guesses.

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
        """The parameter of the mixture; see `log_mixture`."""
        return best_rho(TIGHTEST * self.bound**2, (1.0 - self.level) / 2.0)

    def interval(self) -> tuple[float, float]:
        """Return the interval after the numbers so far; from -bound to bound at most."""
        if not self.n:
            return -self.bound, self.bound
        alpha = (1.0 - self.level) / 2.0
        half = boundary(self.variation, alpha, self.scale, self.rho) / self.n
        return max(self.mean - half, -self.bound), min(self.mean + half, self.bound)


def best_rho(v: float, alpha: float) -> float:
    """Return ρ with which the boundary is about as low as can be at the intrinsic time v."""
    level = 2.0 * math.log(1.0 / alpha)
    return v / (level + math.log1p(level))
