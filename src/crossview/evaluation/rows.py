"""Rows that are views already, with their labels: a MultiView in memory, or sparse files."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.batch import make_rows
from crossview.catalog.names import check_task
from crossview.errors import InputError
from crossview.evaluation.read_labels import (
    check_classes,
    missing_label,
    read_classes,
    read_targets,
    with_row_location,
)
from crossview.labels import has_label
from crossview.streams.prefetch import prefetch
from crossview.streams.rows import RowStream
from crossview.streams.source import RowBatch
from crossview.streams.view_scaler import ViewScaler
from crossview.views import MultiView, ViewLayout

__all__ = ["LabeledRows", "stack_rows"]

# rows per batch when a MultiView is streamed
ROWS_AT_ONCE = 10_000


class LabeledRows:
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

    Attributes
    ----------
    layout : ViewLayout
        Names and widths of the views.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty where they are numbers.
    some_unlabeled : bool
        Whether some rows have no label, where ``unlabeled`` allows it and the labels were read.
    n_rows : int or None
        Number of rows, if it is known without reading them.
    encoder : ViewScaler or None
        Scales the views; None: they stay as they are.
    """

    def __init__(
        self,
        source: MultiView | RowStream,
        y: Any = None,
        *,
        task: str = "classification",
        unlabeled: bool = False,
        classes: Sequence[Any] | None = None,
        scale_views: bool = True,
    ) -> None:
        self.encoder = ViewScaler() if scale_views else None
        self._numbers = check_task(task) == "regression"
        self._unlabeled = unlabeled and not self._numbers
        self._source = source
        self._view: str | None = None
        self._y: np.ndarray | None = None
        self.some_unlabeled = False
        self._layout = source.layout
        if isinstance(source, MultiView):
            self.n_rows: int | None = len(source)
            self._y = self._labels_in_memory(source, y)
        else:
            self.n_rows = source.n_rows
            if y is not None:
                raise InputError("the file has the labels; leave the label out", file=self.file)
        self.classes = np.empty(0) if self._numbers else self._find_classes(classes)

    @property
    def layout(self) -> ViewLayout:
        """Names and widths of the views."""
        if self._view is None:
            return self._layout
        width = self._layout.widths[self._layout.index(self._view)]
        return ViewLayout([self._view], [width])

    @property
    def file(self) -> str | None:
        """The first file, where there is one."""
        return None if isinstance(self._source, MultiView) else self._source.files[0]

    def _labels_in_memory(self, X: MultiView, y: Any) -> np.ndarray:
        if isinstance(y, str) or y is None:
            raise InputError("X is a MultiView, so y is an array of labels and not a column name")
        labels = read_targets(y) if self._numbers else np.asarray(y)
        if not self._numbers:
            read_classes(labels, unlabeled=self._unlabeled)
        if len(labels) != len(X):
            raise InputError(f"{len(labels)} labels for {len(X)} rows")
        return labels

    def _find_classes(self, given: Sequence[Any] | None) -> np.ndarray:
        if given is None and self._y is not None:
            self.some_unlabeled = not has_label(self._y).all()
            return read_classes(self._y, unlabeled=self._unlabeled)
        found: set[Any] = set()
        for batch in self._batches(0):
            known = has_label(batch.y)
            if not (self._unlabeled or known.all()):
                row = batch.first_row + int(known.argmin())
                raise InputError(
                    f"the label is missing; {missing_label()}", file=batch.file, row=row
                )
            self.some_unlabeled |= not known.all()
            found.update(np.unique(batch.y[known]).tolist())
            if given is not None:  # the first labels determine their type
                break
        if given is None:
            return check_classes(found, None, unlabeled=self.some_unlabeled)
        kinds = {type(label) for label in found} or {str}
        return check_classes([kind(value) for kind in kinds for value in given], None)

    def _batches(self, first: int) -> Iterator[RowBatch]:
        """The rows in batches; the first batch of a MultiView has ``first`` rows."""
        if not isinstance(self._source, MultiView):
            yield from self._source
            return
        assert self._y is not None
        n = len(self._source)
        starts = [0, *range(first or ROWS_AT_ONCE, n, ROWS_AT_ONCE), n]
        for start, stop in pairwise(starts):
            if start < stop:
                yield RowBatch(self._source[start:stop], self._y[start:stop], None, start)

    def select_view(self, view: str) -> LabeledRows:
        """Return the same rows with one view."""
        narrow = copy.copy(self)
        narrow._view = view
        return narrow

    def load(self) -> tuple[MultiView, np.ndarray]:
        """Return all rows and their labels; what learners refuse is named by file and row."""
        if isinstance(self._source, MultiView):
            assert self._y is not None
            _check_rows(self._source)
            X = self._source
            return (X if self._view is None else X.select([self._view])), self._y
        parts = list(self._checked(0))
        if not parts:
            raise InputError("there are no rows to learn from", file=self.file)
        return stack_rows([X for X, _ in parts]), np.concatenate([y for _, y in parts])

    def encoded(
        self, encoder: ViewScaler | None, *, learn: bool, first: int = 0
    ) -> Iterator[tuple[MultiView, np.ndarray]]:
        """Yield the rows with their labels.

        Parameters
        ----------
        encoder : ViewScaler or None
            Scales them; start with ``clone(rows.encoder)``.
        learn : bool
            Let the encoder learn each row just before it scales it.
        first : int, default=0
            Number of rows of the first batch.

        Yields
        ------
        X : MultiView
            The rows of a batch.
        y : ndarray
            Their labels.
        """
        held: list[tuple[MultiView, np.ndarray]] = []
        missing = first
        for X, y in prefetch(self._checked(first)):
            if encoder is not None:
                X = encoder.partial_fit_transform(X) if learn else encoder.transform(X)
            if missing:
                head = min(missing, len(y))
                held.append((X[:head], y[:head]))
                missing -= head
                if missing:
                    continue
                yield stack_rows([X for X, _ in held]), np.concatenate([y for _, y in held])
                X, y = X[head:], y[head:]
            if len(y):
                yield X, y

    def _checked(self, first: int) -> Iterator[tuple[MultiView, np.ndarray]]:
        """The rows; what learners refuse is named by file and row."""
        for batch in self._batches(first):
            with with_row_location(batch):
                _check_rows(batch.X)
                y = (
                    read_targets(batch.y)
                    if self._numbers
                    else _check_labels(batch.y, self.classes, self._unlabeled)
                )
            yield (batch.X if self._view is None else batch.X.select([self._view])), y


def _check_labels(y: np.ndarray, classes: np.ndarray, unlabeled: bool) -> np.ndarray:
    """The labels, if all are among the classes."""
    known = has_label(y)
    if not (unlabeled or known.all()):
        raise InputError(f"the label is missing; {missing_label()}", row=int(known.argmin()))
    unknown = np.zeros(len(y), dtype=bool)
    unknown[known] = ~np.isin(np.asarray(y[known].tolist()), classes)
    if unknown.any():
        row = int(unknown.argmax())
        names = ", ".join(map(str, classes.tolist()))
        raise InputError(f"label {y[row]!r} is not among the classes {names}", row=row)
    return y


def _check_rows(X: MultiView) -> None:
    """Name the row of what no learner takes, such as a NaN, before rows move."""
    make_rows(X.matrix, X.layout, X.present)


def stack_rows(parts: list[MultiView]) -> MultiView:
    """Return the rows of all parts as one MultiView."""
    if len(parts) == 1:
        return parts[0]
    sparse = any(sp.issparse(X.matrix) for X in parts)
    matrices = [X.matrix for X in parts]
    matrix = sp.csr_array(sp.vstack(matrices)) if sparse else np.vstack(matrices)
    present = None
    if any(X.present is not None for X in parts):
        present = np.vstack(
            [
                np.ones((len(X), X.layout.n_views), dtype=bool) if X.present is None else X.present
                for X in parts
            ]
        )
    return MultiView.from_matrix(matrix, parts[0].layout, present=present)
