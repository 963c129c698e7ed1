"""The posterior of a difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from scipy import special

__all__ = ["Areas", "Posterior"]


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
