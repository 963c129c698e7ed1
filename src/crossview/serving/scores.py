"""Scores of what was predicted before its label came: since the start, over time, and now.

All are functions of the log, so a snapshot keeps them and a replay makes them again.  The first
model, which learns nothing more, is scored on the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from crossview.saving.schema import check_header
from crossview.scoring.significance import rankdata

MINUTE = 60_000_000  # microseconds
# minutes that are kept, and points of the curve
MOST_MINUTES, MOST_POINTS = 90, 240
# labels of a point of the curve, at the beginning
FEWEST_LABELS = 16
# points of which a turn can be told, and how seldom chance alone may say that there is one
FEWEST_POINTS, LEVEL = 20, 0.0001
# what matters: by how much of the mean the median grows, or by how many standard errors the mean
MATTERS, ERRORS = 0.05, 3.0


class Score(NamedTuple):
    """How a prediction turned out: its loss, whether it was right, and how probable it was."""

    loss: float
    correct: bool
    confidence: float


@dataclass
class Point:
    """Sums over some labels, in their order.

    time: when the last one came, in microseconds since 1970.
    loss: the sum of the losses.
    correct: how many predictions were right.
    confidence, spread: the sum of the probabilities p of what was predicted, and that of p (1 - p).
    first_n, first_loss, first_correct: the same of the first model, of the rows that it could
      predict.
    """

    time: int = 0
    n: int = 0
    loss: float = 0.0
    correct: int = 0
    confidence: float = 0.0
    spread: float = 0.0
    first_n: int = 0
    first_loss: float = 0.0
    first_correct: int = 0

    def add(self, time: int, score: Score, first: Score | None, sign: int = 1) -> None:
        """Count a label; ``sign`` -1 takes it back."""
        self.time = max(self.time, time)
        self.n += sign
        self.loss += sign * score.loss
        self.correct += sign * score.correct
        self.confidence += sign * score.confidence
        self.spread += sign * score.confidence * (1.0 - score.confidence)
        if first is not None:
            self.first_n += sign
            self.first_loss += sign * first.loss
            self.first_correct += sign * first.correct

    def __add__(self, other: Point) -> Point:
        sums = [a + b for a, b in zip(self.values(), other.values(), strict=True)]
        return Point(max(self.time, other.time), *sums[1:])

    def values(self) -> list[Any]:
        """Return all numbers, for JSON."""
        return [getattr(self, one.name) for one in fields(self)]

    def means(self) -> dict[str, float | None]:
        """Return the mean losses and the shares of right predictions, of both models."""
        return {
            "labels": self.n,
            "loss": self.loss / self.n if self.n > 0 else None,
            "accuracy": self.correct / self.n if self.n > 0 else None,
            "first_loss": self.first_loss / self.first_n if self.first_n > 0 else None,
            "first_accuracy": self.first_correct / self.first_n if self.first_n > 0 else None,
        }


_POINTS = ("minutes", "curve")
_NUMBERS = (int, float)
_SCHEMA: dict[str, Any] = {
    "labels": int,
    "events": int,
    "refused": int,
    "total": [_NUMBERS],
    "minutes": [[_NUMBERS]],
    "curve": [[_NUMBERS]],
    "labels_of_a_point": int,
}


@dataclass
class Served:
    """Counts and scores of what was learned, each a function of the log.

    labels: the number of the last label that was looked at.
    events: how many events there were: challengers that joined, and so on.
    refused: labels of rows that could not be learned.
    total: all labels whose row was predicted, before it was learned, by a model that had a class.
    minutes: the same by the minute in which the label came, of the last ones.
    curve: the same from the start on; the more there are, the more labels has each point.
    """

    labels: int = 0
    events: int = 0
    refused: int = 0
    total: Point = field(default_factory=Point)
    minutes: list[Point] = field(default_factory=list)
    curve: list[Point] = field(default_factory=list)
    labels_of_a_point: int = FEWEST_LABELS

    def add(
        self,
        time: int,
        score: Score,
        first: Score | None,
        before: tuple[Score | None, Score | None] | None = None,
    ) -> None:
        """Count a label, which came at a time, in place of one that was assumed ``before``."""
        time = max(time, self.total.time)  # a clock may be set back
        if not self.minutes or time // MINUTE > self.minutes[-1].time // MINUTE:
            self.minutes = [*self.minutes[1 - MOST_MINUTES :], Point()]
        if not self.curve or self.curve[-1].n >= self.labels_of_a_point:
            if len(self.curve) == MOST_POINTS:
                pairs = zip(self.curve[::2], self.curve[1::2], strict=True)
                self.curve = [one + other for one, other in pairs]
                self.labels_of_a_point *= 2
            self.curve.append(Point())
        for point in (self.total, self.minutes[-1], self.curve[-1]):
            point.add(time, score, first)
            if before is not None and before[0] is not None:
                point.add(time, before[0], before[1], -1)

    def full_curve(self) -> list[Point]:
        """Return the curve without its last point, where that has few labels."""
        few = len(self.curve) > 2 and 2 * self.curve[-1].n < self.labels_of_a_point
        return self.curve[:-1] if few else self.curve

    def since(self, time: int) -> Point:
        """Return the sums over the labels of the minutes that began at a time or later."""
        start = time // MINUTE * MINUTE
        return total(one for one in self.minutes if one.time >= start)

    def to_json(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        points = {name: [one.values() for one in vars(self)[name]] for name in _POINTS}
        return {**vars(self), "total": self.total.values(), **points}

    @classmethod
    def from_json(cls, known: Any) -> Served:
        """Return what `to_json` gave."""
        check_header(known, _SCHEMA, "serving")
        n = len(fields(Point))
        for values in (known["total"], *known["minutes"], *known["curve"]):
            check_header({"numbers": len(values) == n or None}, {"numbers": bool}, "serving")
        points = {name: [Point(*values) for values in known[name]] for name in _POINTS}
        return cls(**{**known, "total": Point(*known["total"]), **points})


def total(points: Iterable[Point]) -> Point:
    """Return the sums over points."""
    found = Point()
    for one in points:
        found = found + one
    return found


def turned(curve: Sequence[Point]) -> tuple[Point, Point] | None:
    """Return the sums before and since losses have grown; None if they have not.

    The mean losses of T points have ranks r, and U_t = 2 Σ_{i <= t} r_i - t (T + 1).  Losses have
    grown after the point t at which -U_t has its largest value K, if exp(-6 K² / (T³ + T²)) is
    below 0.0001.  Ranks, because a few rows may lose a hundred times as much as others.  A turn
    also matters: the median has grown by 5 % of the mean, or the mean by three standard errors.

    A. N. Pettitt, "A Non-Parametric Approach to the Change-Point Problem", Applied Statistics 28
    (1979), equation (2.6).
    """
    full = [one for one in curve[:-1] if one.n > 0]
    T = len(full)
    if T < FEWEST_POINTS:
        return None
    t = np.arange(1, T)
    losses = np.array([one.loss / one.n for one in full])
    ranks = rankdata(losses)
    lower = t * (T + 1) - 2.0 * np.cumsum(ranks)[:-1]
    K, at = lower.max(), int(lower.argmax()) + 1
    if K <= 0.0 or math.exp(-6.0 * K**2 / (T**3 + T**2)) > LEVEL:
        return None
    before, since = losses[:at], losses[at:]
    grown = since.mean() - before.mean()
    error = math.hypot(*(part.std() / math.sqrt(len(part)) for part in (before, since)))
    in_the_middle = np.median(since) - np.median(before)
    if in_the_middle < MATTERS * before.mean() and grown < ERRORS * error:
        return None
    return total(full[:at]), total(full[at:])
