"""Rows that are views already, with their labels: a MultiView in memory, or sparse files."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from crossview.batch import make_rows
from crossview.catalog.names import check_task
from crossview.data.encoding.view_scaler import ViewScaler
from crossview.data.labeled_batch import LabeledBatch, LabeledSource
from crossview.data.read_labels import (
    Classes,
    check_classes,
    missing_label,
    read_classes,
    read_targets,
    share_long,
    with_row_location,
)
from crossview.data.row_columns import check_weights
from crossview.data.rows import RowStream
from crossview.data.source import RowBatch
from crossview.data.view_reader import ViewReader
from crossview.errors import InputError, some_names
from crossview.labels import has_label, known_labels, rows_per_class
from crossview.views import MultiView, ViewLayout

__all__ = ["LabeledRows"]


class LabeledRows(LabeledSource):
    """Rows that are views already, and their labels; `LabeledTable` does the same for columns.

    Parameters
    ----------
    source : MultiView or RowStream
        The rows; a stream has the labels, too.
    y : array-like of shape (n_samples,), default=None
        The labels of a MultiView.
    task : {"classification", "regression"}, default="classification"
        Whether the labels are classes or numbers.
    unlabeled : bool, default=False
        Whether rows may have no label.
    classes : sequence, default=None
        All labels that may occur, as labels or as text.  None: one pass over the rows finds
        them.  Numbers have none.
    scale_views : bool, default=True
        Whether each view is divided by the mean norm of its rows; see `ViewScaler`.
    weight : array-like of shape (n_samples,), default=None
        How much each row counts in learning.

    Attributes
    ----------
    layout : ViewLayout
        Names and widths of the views.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty where they are numbers.
    some_unlabeled : bool
        Whether some rows have no label, where ``unlabeled`` allows it and the labels were read.
    encoder : ViewReader, ViewScaler or None
        Scales the views, and of text files reads others; None: they stay as they are.
    weighted : bool
        Whether the file has weights other than 1.
    """

    batch_rows = 10_000
    streams = ("_source",)

    def __init__(
        self,
        source: MultiView | RowStream,
        y: Any = None,
        *,
        task: str = "classification",
        unlabeled: bool = False,
        classes: Sequence[Any] | None = None,
        scale_views: bool = True,
        weight: Any = None,
    ) -> None:
        if isinstance(weight, str):
            what = "X is a MultiView" if isinstance(source, MultiView) else "the file holds views"
            raise InputError(f"{what} and has no column {weight!r}; give weight= as an array")
        self._weights = None if weight is None else check_weights(weight)
        self.encoder = _encoder(source, scale_views)
        self.weighted = not isinstance(source, MultiView) and source.weighted
        self._numbers = check_task(task) == "regression"
        self._unlabeled = unlabeled and not self._numbers
        self._source = source
        self._view: str | None = None
        self._y: np.ndarray | None = None
        self._layout = source.layout
        self.in_memory = isinstance(source, MultiView)
        if isinstance(source, MultiView):
            self._y = self._labels_in_memory(source, y)
        elif y is not None:
            raise InputError("the file has the labels; leave the label out", file=self.file)
        if not self._numbers:
            self.classes, self.class_rows = self._find_classes(classes)

    @property
    def layout(self) -> ViewLayout:
        """Names and widths of the views."""
        if self._view is None:
            return self._layout
        width = self._layout.widths[self._layout.index(self._view)]
        return ViewLayout([self._view], [width])

    @property
    def n_rows(self) -> int:
        """Number of rows; counted where it was not known."""
        return len(self._source) if isinstance(self._source, MultiView) else self._source.n_rows

    @property
    def file(self) -> str | None:
        """The first file, where there is one."""
        return None if isinstance(self._source, MultiView) else self._source.files[0]

    def _labels_in_memory(self, X: MultiView, y: Any) -> np.ndarray:
        if isinstance(y, str) or y is None:
            raise InputError("X is a MultiView, so y is an array of labels and not a column name")
        labels = read_targets(y) if self._numbers else share_long(np.asarray(y))
        if not self._numbers:
            read_classes(labels, unlabeled=self._unlabeled)
        if len(labels) != len(X):
            raise InputError(f"{len(labels)} labels for {len(X)} rows")
        return labels

    def _find_classes(self, given: Sequence[Any] | None) -> Classes:
        if given is None and self._y is not None:
            self.some_unlabeled = not has_label(self._y).all()
            return read_classes(self._y, unlabeled=self._unlabeled)
        if given is None:
            assert not isinstance(self._source, MultiView)
            counts, unlabeled = self._source.label_counts()
            if unlabeled is not None and not self._unlabeled:
                file, row = unlabeled
                raise InputError(f"the label is missing; {missing_label()}", file=file, row=row)
            self.some_unlabeled = unlabeled is not None
            classes = check_classes(counts, None, unlabeled=self.some_unlabeled)
            return classes, rows_per_class(classes, counts)
        # the first labels determine their type
        first = next(iter(self._batches()), None)
        labels = [] if first is None else first.y[has_label(first.y)].tolist()
        kinds = {type(label) for label in labels} or {str}
        return check_classes([kind(value) for kind in kinds for value in given], None), None

    def _batches(self, rng: np.random.Generator | None = None) -> Iterator[RowBatch]:
        """The rows as they are read; those of a MultiView at once."""
        if not isinstance(self._source, MultiView):
            yield from self._source
            return
        assert self._y is not None
        yield RowBatch(self._source, self._y, None, 0)

    def select_view(self, view: str) -> LabeledRows:
        """Return the same rows with one view."""
        narrow = copy.copy(self)
        narrow._view = view
        return narrow

    def load(self) -> LabeledBatch:
        """Return all rows with their labels; what learners refuse is named by file and row."""
        parts = list(self.read())
        if not parts:
            raise InputError("there are no rows to learn from", file=self.file)
        return LabeledBatch.join(parts)

    def encode(self, batch: LabeledBatch, encoder: ViewScaler | None, learn: bool) -> MultiView:
        """Return the rows, which are views already, scaled."""
        if encoder is None:
            return batch.X
        return encoder.partial_fit_transform(batch.X) if learn else encoder.transform(batch.X)

    def read(self, rng: np.random.Generator | None = None) -> Iterator[LabeledBatch]:
        """Yield the rows, those of a MultiView at once; what learners refuse is named by row."""
        done = 0
        for batch in self.batches():
            if not len(batch.X):
                continue
            weight = batch.weight if self.weighted else None
            if self._weights is not None:
                weight = self._weights[done : done + len(batch.X)]
            done += len(batch.X)
            if weight is not None and len(weight) != len(batch.X):
                break
            with with_row_location(batch):
                _check_rows(batch.X)
                if weight is not None:
                    check_weights(weight)
                y = (
                    read_targets(batch.y)
                    if self._numbers
                    else _check_labels(batch.y, self.classes, self._unlabeled)
                )
            X = batch.X if self._view is None else batch.X.select([self._view])
            yield LabeledBatch.read(X, y, batch.file, batch.first_row, weight)
        if self._weights is not None and done != len(self._weights):
            raise InputError(f"{len(self._weights)} weights for {done} rows or more")


def _encoder(source: MultiView | RowStream, scale_views: bool) -> ViewScaler | None:
    """What reads other files as these, or scales the views."""
    reading = None if isinstance(source, MultiView) else source.reading
    if reading is not None:
        return ViewReader(**reading, scale_views=scale_views)
    return ViewScaler() if scale_views else None


def _check_labels(y: np.ndarray, classes: np.ndarray, unlabeled: bool) -> np.ndarray:
    """The labels, if all are among the classes."""
    known = has_label(y)
    if not (unlabeled or known.all()):
        raise InputError(f"the label is missing; {missing_label()}", row=int(known.argmin()))
    unknown = np.zeros(len(y), dtype=bool)
    unknown[known] = ~np.isin(known_labels(y), classes)
    if unknown.any():
        row = int(unknown.argmax())
        names = some_names(classes.tolist())
        raise InputError(f"label {y[row]!r} is not among the classes {names}", row=row)
    return y


def _check_rows(X: MultiView) -> None:
    """Name the row of what no learner takes, such as a NaN, before rows move."""
    make_rows(X.matrix, X.layout, X.present)
