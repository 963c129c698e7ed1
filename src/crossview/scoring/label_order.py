"""Test for labels of a stream that come in long blocks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np

from crossview.errors import LabelOrderWarning
from crossview.labels import known_labels, places_of
from crossview.saving.schema import Array
from crossview.scoring.metrics.resumable import COUNT, Resumable, counts_of_shape

__all__ = ["LabelOrder"]

# labels that change less often than this share of what random order gives come in blocks; on 4,601
# e-mails PA and SCW lose nothing at 0.04, and 0.06 to 0.12 of their accuracy at 0.01
SHARE_OF_CHANGES = 0.05
# and chance does not explain it: standard deviations below the mean
DEVIATIONS = 4.0


Batch = TypeVar("Batch", bound=tuple)


class LabelOrder(Resumable):
    """Counts of how often the label changes from row to row, and of the rows of each class.

    In random order n labels, n_k of class k, change (n² - Σ n_k²) / n times in the mean (Barton and
    David, "Multiple runs", Biometrika 44 (1957), 168-178; with two classes the runs test of Wald
    and Wolfowitz).  The count is compared with that mean, and with its standard deviation.  Without
    classes, where numbers are predicted, nothing is counted.
    """

    OPTIONAL = ("_last",)

    def __init__(self, classes: np.ndarray) -> None:
        self._classes = classes
        self._last: int | None = None
        self.n_changes = 0
        self.counts = np.zeros(len(classes), dtype=np.int64)

    def _state_schema(self) -> dict[str, Array]:
        return {
            "_last": Array("i8", (1,), 0, len(self._classes) - 1),
            "n_changes": COUNT,
            "counts": counts_of_shape(self.counts.shape),
        }

    def update(self, y: np.ndarray) -> None:
        """Count more labels; rows without one are ignored."""
        if not len(self._classes):
            return
        known = known_labels(y)
        if not len(known):
            return
        codes = places_of(known, self._classes)
        self.n_changes += int(np.count_nonzero(codes[1:] != codes[:-1]))
        self.n_changes += self._last is not None and self._last != codes[0]
        self._last = int(codes[-1])
        self.counts += np.bincount(codes, minlength=len(self._classes))

    def watch(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches (X, y, ...), and count the labels of each once it has been used."""
        for batch in batches:
            yield batch
            self.update(batch[1])

    @property
    def expected(self) -> tuple[float, float]:
        """Mean and standard deviation of the number of changes in random order."""
        n = float(self.counts.sum())
        if n < 2:
            return 0.0, 0.0
        p = self.counts / n
        squares, cubes = float((p**2).sum()), float((p**3).sum())
        variance = n * n * (squares * (squares + (n + 1) / n) - 2 * cubes - 1 / n) / (n - 1)
        return n * (1.0 - squares), math.sqrt(max(variance, 0.0))

    @property
    def in_blocks(self) -> bool:
        """True if the labels change far less often than in random order."""
        mean, deviation = self.expected
        few = self.n_changes < SHARE_OF_CHANGES * mean
        return few and mean - self.n_changes > DEVIATIONS * deviation

    def warn(self, advice: str) -> None:
        """Warn if the labels come in blocks, and say what to do."""
        if self.in_blocks:
            warnings.warn(
                f"the labels come in long blocks: the label changes in {self.n_changes:,} of "
                f"{self.counts.sum():,} rows, and in {self.expected[0]:,.0f} in random order; a "
                f"model that learns row by row follows the block it is in, and its scores on the "
                f"way mislead; {advice}",
                LabelOrderWarning,
                stacklevel=3,
            )
