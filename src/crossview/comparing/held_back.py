"""The last rows of a stream, held back until all others are learned.

Then each model is asked for the scores of their views, and learns them as all rows before.  So the
rows in which the views differ most are rows that the model had not learned, they do not depend on
batches, and of the stream only these rows are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from crossview.comparing.run import Run
from crossview.data.labeled import LabeledBatch, stack_rows
from crossview.data.labeled_source import take_rows
from crossview.views import MultiView

# the last rows of a stream, and the share of it that they are at most
MOST_LAST, SHARE_LAST = 1000, 0.25


class LabeledEnd(NamedTuple):
    """The last rows with a label.

    y (n_samples,): their labels.
    rows (n_samples,): their positions in the stream.
    source: the same rows, as they were before they were encoded.
    """

    X: MultiView
    y: np.ndarray
    rows: np.ndarray
    source: Any


class HeldBack:
    """The last rows of a stream, which are learned after all others.

    n_first: rows that choose the parameters.
    begin: the position of the first one.
    end: those with a label; None before all others are learned, and where there are none.
    """

    def __init__(self, run: Run, n_first: int, n_rows: int) -> None:
        self.run, self.done = run, n_first
        self.begin = n_rows - min(MOST_LAST, int(SHARE_LAST * max(0, n_rows - n_first)))
        self.end: LabeledEnd | None = None
        self._held: list[tuple] = []
        self._source: list[LabeledBatch] = []
        self._seen = 0

    def see(self, batch: LabeledBatch) -> None:
        """Keep these rows of a batch that is not encoded yet."""
        cut = max(0, self.begin - self._seen)
        if cut < len(batch):
            self._source.append(batch.take(slice(cut, len(batch))))
        self._seen += len(batch)

    def order(
        self, batches: Iterable[tuple], look: Callable[[LabeledEnd], None]
    ) -> Iterator[tuple]:
        """Yield all rows, with labels and weights; before the last ones these are looked at."""
        yield from self._before(batches)
        self.end = self._labeled()
        if self.end is not None:
            look(self.end)
        yield from self._held

    def _before(self, batches: Iterable[tuple]) -> Iterator[tuple]:
        """Yield the rows before the last ones, and hold those back."""
        for X, y, weight in batches:
            cut = min(max(0, self.begin - self.done), len(y))
            self.done += len(y)
            for part in (slice(0, cut), slice(cut, len(y))):
                if part.stop == part.start:
                    continue
                whole = part == slice(0, len(y))
                own = None if weight is None else weight[part]
                some = (X if whole else X[part], y[part], own)
                if part.start >= cut:
                    self._held.append(some)
                else:
                    yield some

    def _labeled(self) -> LabeledEnd | None:
        """The last rows that have a label."""
        y = [y for _, y, _ in self._held]
        known = [self.run.by_label(part)[0] for part in y]
        if not sum(map(len, known)):
            return None
        starts = np.cumsum([0, *map(len, y[:-1])])
        at = np.concatenate([start + rows for start, rows in zip(starts, known, strict=True)])
        return LabeledEnd(
            stack_rows([X[rows] for (X, _, _), rows in zip(self._held, known, strict=True)]),
            np.concatenate([part[rows] for part, rows in zip(y, known, strict=True)]),
            self.begin + at,
            take_rows(LabeledBatch.join(self._source).X, at),
        )
