"""The search for leaks in rows that are learned, as they come."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from crossview.data.arrow import floats, kind_of_labels, labels_as, pyarrow
from crossview.data.encoding.dates import split_format
from crossview.data.labeled import LabeledBatch
from crossview.data.summaries.columns import Target
from crossview.data.summaries.leaks import explain_leak, find_leaks
from crossview.data.summaries.table import TableSummary
from crossview.errors import LeakWarning
from crossview.labels import has_label, places_of

__all__ = ["LeakCheck"]

# rows, and cells, that are looked at: a second of one core
MOST_ROWS, MOST_CELLS = 100_000, 2_500_000
FEWEST_ROWS = 1000


class LeakCheck:
    """A search for columns that tell the label, in the first rows of a LabeledSource that are
    learned.

    ``found`` has a line for each leak, once `finish` was called; rows without columns have none.
    """

    def __init__(self, source: Any) -> None:
        self.found: list[str] = []
        self._summary: TableSummary | None = None
        self._source = source
        self._left: int | None = None

    def _room(self) -> int:
        """Rows that are still to be looked at."""
        if self._left is None:
            self._left = 0
            if self._source.has_columns:
                n_columns = sum(len(group) for group in self._source.columns.values())
                most = max(FEWEST_ROWS, min(MOST_ROWS, MOST_CELLS // max(1, n_columns)))
                self._left = min(most, self._source.n_rows)  # later passes read them again
        return self._left

    def see(self, batch: LabeledBatch) -> None:
        """Look at a batch, as far as there is room."""
        n = min(self._room(), len(batch))
        if not n:
            return
        self._left = self._room() - n
        X, y = batch.X.slice(0, n), batch.y[:n]
        if self._summary is None:
            target = Target(not len(self._source.classes))
            encoder = self._source.encoder
            how = {"formats": dict(map(split_format, encoder.declared_columns()["date"]))}
            self._summary = TableSummary(
                X.schema, encoder.kinds(), target, values_of_text=False, **how
            )
        done = 0
        for piece in X.combine_chunks().to_batches():
            labels = _labels(y[done : done + len(piece)], self._source.classes)
            self._summary.add(piece, labels)
            done += len(piece)

    def sample(self, rows: LabeledBatch) -> None:
        """Look at rows that are all in memory: at evenly spaced ones, where they are many."""
        if 0 < (n := self._room()) < len(rows):
            rows = rows.take(np.linspace(0, len(rows) - 1, n).astype(np.intp))
        self.see(rows)

    def finish(self) -> list[str]:
        """Return a line for each leak, and warn of it."""
        summary, self._summary, self._left = self._summary, None, 0
        if summary is None:
            return self.found
        # not all were looked at: they are many, or a run that goes on had learned some before
        fewer = summary.n_rows < self._source.n_rows
        rows = f"of {summary.n_rows:,} rows" if fewer else ""
        for column, leak in find_leaks(summary).items():
            self.found.append(f"{column}: {explain_leak(leak, column, rows)}")
            warnings.warn(self.found[-1], LeakWarning, stacklevel=3)
        return self.found


def _labels(y: np.ndarray, classes: np.ndarray) -> Any:
    """Labels, or numbers where there are no classes, as an Arrow array; without pandas."""
    if not len(classes):
        return floats(y)
    known, places = has_label(y), np.full(len(y), np.nan)
    places[known] = places_of(y[known], classes)
    values = classes.tolist()
    rows = floats(places).cast(pyarrow().int64())
    return labels_as(values, kind_of_labels(values)).take(rows)
