"""Classes that are taken for each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from crossview.errors import InputError
from crossview.reporting.displays.style import WIDTH, Display, draw_bars, short_name
from crossview.scoring.results import in_percent

MOST_BARS = 15
# characters of a name, of which two stand beside a bar: of a longer one the first and the last
LONGEST_OF_TWO, LAST_OF_TWO = 16, 8


class ConfusionDisplay(Display):
    """The largest confusions: how many rows of one class are predicted as another.

    classes: the classes, in the order of the counts.
    confusion (n_classes, n_classes): rows per true class, in a line, and predicted class.

    >>> from crossview.reporting.displays.confusion import ConfusionDisplay
    >>> ConfusionDisplay(["a", "b"], [[9, 1], [4, 6]]).title
    'b is taken for a in 4 of 10 rows'
    """

    def __init__(self, classes: Sequence[Any], confusion: Any) -> None:
        counts = np.asarray(confusion)
        wrong = counts - np.diag(counts.diagonal())
        places = np.argsort(-wrong.ravel(), kind="stable")[:MOST_BARS]
        pairs = np.column_stack(np.unravel_index(places, wrong.shape))
        self.pairs = [(k, other) for k, other in pairs.tolist() if wrong[k, other]]
        if not self.pairs:
            raise InputError("no row is predicted as another class, so none is taken for another")
        self.classes = [str(one) for one in classes]
        self.counts, self.class_rows = counts, counts.sum(axis=1)
        self.n_wrong = int(wrong.sum())
        self.size = (WIDTH, 0.8 + 0.3 * max(len(self.pairs), 2))
        k, other = self.pairs[0]
        self.title = (
            f"{self.classes[k]} is taken for {self.classes[other]} in {counts[k, other]:,} of "
            f"{self.class_rows[k]:,} rows"
        )
        listed = ", ".join(
            f"{self.classes[k]} for {self.classes[other]} {self._words(k, other)}"
            for k, other in self.pairs
        )
        shown = sum(int(counts[pair]) for pair in self.pairs)
        self.alt = f"{shown:,} of {self.n_wrong:,} rows that are predicted wrong: {listed}."

    @classmethod
    def _of_result(cls, result: Any) -> Self:
        confusion = getattr(getattr(result, "recommended", result), "confusion", None)
        if confusion is None:
            raise InputError(
                "the picture is of the classes of an evaluation or a comparison, and this result "
                "has not counted them"
            )
        return cls(result.classes, confusion)

    def _words(self, k: int, other: int) -> str:
        n = self.counts[k, other]
        return f"{n:,} ({in_percent(n / self.class_rows[k])})"

    def _draw(self, ax: Any) -> None:
        names = [" → ".join(_short(self.classes[code]) for code in pair) for pair in self.pairs]
        values = [int(self.counts[pair]) for pair in self.pairs]
        draw_bars(ax, names, values, [self._words(*pair) for pair in self.pairs])
        ax.set_xlim(0.0, 1.9 * values[0])  # long names leave little room for the words
        ax.xaxis.get_major_locator().set_params(integer=True, nbins=3)
        ax.set_xlabel("rows, and share of the class")


def _short(name: str) -> str:
    """Return a name whose middle is left out where it is long: names often begin alike."""
    text = short_name(name, len(name))
    if len(text) <= LONGEST_OF_TWO:
        return text
    return f"{text[: LONGEST_OF_TWO - LAST_OF_TWO - 1]}…{text[-LAST_OF_TWO:]}"
