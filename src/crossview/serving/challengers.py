"""Challengers: models that learn the same labels as the one that is served, and are compared."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from crossview.data.row_sketch import Found, RowSketch
from crossview.errors import InputError
from crossview.saving.schema import check_header
from crossview.scoring.significance import ConfidenceSequence
from crossview.server_log.log import FIRST_NAME, JOIN, Event

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}")
# differences of log loss are clipped to so much, which is e times another probability; those of
# errors are never larger
LARGEST_DIFFERENCE = 1.0
# of numbers, so many labels say how large a squared error is, and so many times its mean is the
# largest difference
LABELS_OF_SCALE, LARGEST_RATIO = 100, 4.0
_NUMBER = (int, float)
_SCHEMA = {
    "labels": int,
    "served": _NUMBER,
    "own": _NUMBER,
    "bound": _NUMBER,
    "n": int,
    "total": _NUMBER,
    "variation": _NUMBER,
}


@dataclass
class Compared:
    """The losses of two models on the same labels, each before it had learned the label.

    labels: how many labels there were.
    served, own: sums of the losses of the model that is served, and of the challenger.
    sequence: of the difference, served - own; None while the size of squared errors is not known.
    """

    labels: int = 0
    served: float = 0.0
    own: float = 0.0
    sequence: ConfidenceSequence | None = None

    def add(self, served: float, own: float, *, is_bounded: bool) -> None:
        """Count the losses of a label."""
        if self.sequence is None and is_bounded:
            self.sequence = ConfidenceSequence(LARGEST_DIFFERENCE)
        if self.sequence is None and self.labels >= LABELS_OF_SCALE:
            mean = self.served / self.labels
            self.sequence = ConfidenceSequence(LARGEST_RATIO * mean if mean > 0.0 else 1.0)
        self.labels += 1
        self.served += served
        self.own += own
        if self.sequence is not None:
            self.sequence.add(served - own)

    def summary(self) -> dict[str, Any]:
        """Return mean losses, their difference with its interval, and what that says."""
        n = self.labels or math.nan
        found: dict[str, Any] = {
            "labels": self.labels,
            "loss_of_served": _finite(self.served / n),
            "loss": _finite(self.own / n),
            "difference": None,
            "low": None,
            "high": None,
            "is": "not told apart",
        }
        if self.sequence is not None and self.sequence.n:
            low, high = self.sequence.interval()
            found |= {"difference": self.sequence.mean, "low": low, "high": high}
            if low > 0.0 or high < 0.0:
                found["is"] = "better" if low > 0.0 else "worse"
        return found

    def to_json(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        one = self.sequence or ConfidenceSequence(0.0)
        return {
            "labels": self.labels,
            "served": self.served,
            "own": self.own,
            "bound": one.bound,
            "n": one.n,
            "total": one.total,
            "variation": one.variation,
        }

    @classmethod
    def from_json(cls, known: Any) -> Compared:
        """Return what `to_json` gave."""
        check_header(known, _SCHEMA, "a challenger")
        made = cls(known["labels"], float(known["served"]), float(known["own"]))
        if known["bound"]:
            made.sequence = ConfidenceSequence(
                float(known["bound"]),
                n=known["n"],
                total=float(known["total"]),
                variation=float(known["variation"]),
            )
        return made


@dataclass
class Challenger:
    """A model beside the one that is served.

    is_logged: whether the log knows it; if not, only a replay has it.
    sketch: of the rows that it had learned when it joined, to look for those of the log.
    learned: how many of these it has learned then.
    """

    name: str
    live: Any
    compared: Compared = field(default_factory=Compared)
    is_logged: bool = True
    sketch: RowSketch | None = None
    learned: Found = field(default_factory=Found)

    def meet(self, examples: Sequence[Any], before: int, served: Iterable[Any]) -> None:
        """Predict rows before their labels, learn them, and compare with what is served.

        examples: in the order of the log.
        before: how many labels were learned before.
        served: what the model that is served predicts before each label.
        """
        if self.sketch is not None:
            hashes = self.live.hash_rows([example.row for example in examples])
            self.learned += self.sketch.find(hashes)
        mine = self.live.learn_rows(examples, before, answered=True)
        for one, other, example in zip(served, mine, examples, strict=True):
            if one is None or other is None:
                continue
            if one.prediction is None or other.prediction is None:
                continue
            scores = [self.live.score(answer, example.label) for answer in (one, other)]
            is_class = self.live.classes is not None
            if is_class and (one.probabilities is None or other.probabilities is None):
                losses = [float(not score.correct) for score in scores]
            else:
                losses = [score.loss for score in scores]
            self.compared.add(*losses, is_bounded=is_class)

    def summary(self) -> dict[str, Any]:
        """Return what the page shows."""
        return {"name": self.name, "frozen": self.live.is_frozen, **self.compared.summary()}

    @property
    def learned_share(self) -> float | None:
        """The share of the rows that it had learned before, as `RowSketch` knows it."""
        return None if self.sketch is None else self.sketch.learned_share(self.learned)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def check_name(name: str) -> None:
    """Raise an error if a challenger cannot be called so."""
    if not NAME.fullmatch(name) or name == FIRST_NAME:
        raise InputError(
            f"challenger {name!r:.70}: a name has 1 to 60 letters, digits, '_', '-' and '.', and "
            f"{FIRST_NAME} is the model that was served first"
        )


def number_of(name: str, events: Sequence[Event]) -> int:
    """Return the number of the event by which a model has joined last; 0 for the first one."""
    joined = (n for n, one in enumerate(events, 1) if one.kind == JOIN and one.name == name)
    return max(joined, default=0)
