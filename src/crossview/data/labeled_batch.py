"""Rows with their labels, and where each was read; what all sources of them share."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from crossview.data.arrow import integers
from crossview.data.content import hash_of
from crossview.data.encoding.columns import plain_kinds
from crossview.data.prefetch import prefetch
from crossview.data.rows_read import RowsRead
from crossview.data.shuffle import Shuffled, regroup
from crossview.views import MultiView

__all__ = ["LabeledBatch", "LabeledSource", "stack_rows"]


@dataclass(frozen=True)
class LabeledBatch:
    """Rows with their labels, and where each was read.

    Attributes
    ----------
    X : pyarrow.Table or MultiView
        The rows.
    y : ndarray of shape (n_samples,)
        Their labels; None where one is missing.
    file : ndarray of shape (n_samples,)
        The file of each row, or None.
    row : ndarray of shape (n_samples,)
        Its row there, from 0.
    weight : ndarray of shape (n_samples,) or None
        How much each counts in learning; None: all the same.
    """

    X: Any
    y: np.ndarray
    file: np.ndarray
    row: np.ndarray
    weight: np.ndarray | None = None

    @classmethod
    def read(
        cls,
        X: Any,
        y: np.ndarray,
        file: str | None,
        first_row: int,
        weight: np.ndarray | None = None,
    ) -> Self:
        """Return consecutive rows of a file."""
        n = len(y)
        rows = np.arange(first_row, first_row + n)
        return cls(X, y, np.broadcast_to(np.array(file, dtype=object), n), rows, weight)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def nbytes(self) -> int:
        """Their size in memory."""
        own = self.y.nbytes + self.file.nbytes + self.row.nbytes
        return _size(self.X) + own + (0 if self.weight is None else self.weight.nbytes)

    def location(self, row: int) -> tuple[str | None, int]:
        """Return the file of a row, and its row there."""
        return self.file[row], int(self.row[row])

    def take(self, rows: np.ndarray | slice) -> Self:
        """Return some of the rows, in this order."""
        if isinstance(self.X, MultiView):
            X = self.X[rows]
        elif isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            X = self.X.slice(start, stop - start)
        else:
            X = self.X.take(integers(rows))
        weight = None if self.weight is None else self.weight[rows]
        return type(self)(X, self.y[rows], self.file[rows], self.row[rows], weight)

    def packed(self) -> Self:
        """Return the same rows, with one dictionary for each column that has dictionaries.

        An encoder hashes it once, and not again for each part of the rows.
        """
        if isinstance(self.X, MultiView) or _is_plain(self.X):
            return self
        X = self.X
        for i, field in enumerate(X.schema):
            if hasattr(field.type, "value_type"):
                X = X.set_column(i, field, X.column(i).unify_dictionaries().combine_chunks())
        return replace(self, X=X)

    @classmethod
    def join(cls, parts: list[Self]) -> Self:
        """Return the rows of all parts."""
        if len(parts) == 1:
            return parts[0]
        names = ["y", "file", "row", *([] if parts[0].weight is None else ["weight"])]
        return cls(
            stack_rows([part.X for part in parts]),
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names),
        )


class LabeledSource:
    """Rows with labels that are read as `LabeledBatch`es; base of all such sources.

    Attributes
    ----------
    batch_rows : int
        Number of rows that are encoded together.
    in_memory : bool
        Whether the rows are in memory already.
    ordered : bool
        Whether the order of the rows was asked for, as by ORDER BY.
    check : callable or None
        Is given each batch just before it is encoded.
    rows_read : RowsRead or None
        Takes note of the rows that are read, from `note_rows` on.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty where they are numbers.
    class_rows : ndarray of shape (n_classes,) or None
        The rows of each class; None where the classes were given, or a number is predicted.
    """

    batch_rows: int
    streams: tuple[str, ...] = ("table", "stream")  # the attributes that read the rows
    in_memory = False
    ordered = False
    check: Callable[[LabeledBatch], None] | None = None
    rows_read: RowsRead | None = None
    _y: np.ndarray | None = None
    _weights: np.ndarray | None = None
    _order: np.ndarray | None = None
    classes: np.ndarray = np.empty(0)
    class_rows: np.ndarray | None = None
    some_unlabeled = False
    _shuffled: Shuffled[LabeledBatch] | None = None

    def note_rows(self) -> RowsRead:
        """Take note of all rows that are read from now on."""
        self.rows_read = RowsRead(self._starts())
        return self.rows_read

    def _starts(self) -> dict[str | None, list[int]]:
        """Of each file the rows at which its row groups begin."""
        return getattr(getattr(self, self.streams[-1]), "starts", {None: [0]})

    def batches(self, rng: np.random.Generator | None = None) -> Iterator[Any]:
        """Yield the rows as the source has them; with random numbers, blocks in random order."""
        batches = self._batches(rng)
        if self.rows_read is None:
            return batches
        return self.rows_read.watch(batches, shuffled=rng is not None)

    def _batches(self, rng: np.random.Generator | None) -> Iterator[Any]:
        stream = getattr(self, self.streams[-1])
        return iter(stream) if rng is None else stream.with_shuffled_blocks(rng)

    def hashes(self) -> dict[str, str]:
        """Return a hash of each array in memory: labels, weights, and the order by time."""
        arrays = {"labels": self._y, "weights": self._weights, "order by time": self._order}
        return {name: hash_of(array) for name, array in arrays.items() if array is not None}

    def read(self, rng: np.random.Generator | None = None) -> Iterator[LabeledBatch]:
        """Yield the rows in their order; with random numbers, blocks of them in random order."""
        raise NotImplementedError

    def encode(self, batch: LabeledBatch, encoder: Any, learn: bool) -> MultiView:
        """Return the rows as views; ``learn`` lets the encoder learn each row before."""
        raise NotImplementedError

    @property
    def n_blocks(self) -> int:
        """Number of files or row groups that can be read alone; 0 of what is not in files."""
        return getattr(getattr(self, self.streams[0]), "n_blocks", 0)

    @property
    def known_rows(self) -> int | None:
        """Number of rows of what is in files, if nothing has to be read for it."""
        return getattr(getattr(self, self.streams[0]), "known_rows", None)

    def of_blocks(self, which: slice) -> Self:
        """Return the rows of consecutive files or row groups only.

        Parameters
        ----------
        which : slice
            Of the blocks, in the order of the rows.

        Returns
        -------
        LabeledSource
            It can be pickled.
        """
        part = copy.copy(self)
        for name in self.streams:
            setattr(part, name, getattr(self, name).of_blocks(which))
        return part

    def shuffle(self, seed: int) -> Shuffled[LabeledBatch]:
        """Let `encoded` yield the rows in random order, each time in another one.

        Parameters
        ----------
        seed : int
            Of the orders.

        Returns
        -------
        Shuffled
            Knows how they are shuffled.
        """
        self._shuffled = Shuffled(
            self.read, seed=seed, batch_rows=self.batch_rows, in_memory=self.in_memory
        )
        return self._shuffled

    def encoded(
        self,
        encoder: Any,
        *,
        learn: bool,
        first: int = 0,
        done: int = 0,
        see: Callable[[LabeledBatch], None] | None = None,
    ) -> Iterator[tuple[MultiView, np.ndarray, np.ndarray | None]]:
        """Yield the rows as views, with their labels and weights.

        Parameters
        ----------
        encoder : ViewEncoder, ViewScaler or None
            Encodes them; start with ``clone(source.encoder)``.
        learn : bool
            Let the encoder learn each row just before it encodes it.
        first : int, default=0
            Number of rows of the first batch, where they are in order; 0: as of the others.
        done : int, default=0
            Number of batches to pass over: they were encoded before.
        see : callable, default=None
            Is given each batch, as ``check`` is.

        Yields
        ------
        X : MultiView
            The rows of a batch.
        y : ndarray
            Their labels.
        weight : ndarray or None
            Their weights, if they have any.
        """
        in_order = regroup(self.read(), self.batch_rows, first)
        batches = prefetch(self._shuffled or in_order)
        for batch in islice(batches, done, None):
            for look in (self.check, see):
                if look is not None:
                    look(batch)
            yield self.encode(batch, encoder, learn), batch.y, batch.weight


def stack_rows(parts: list[Any]) -> Any:
    """Return the rows of all parts, Arrow tables or MultiViews, as one."""
    if not isinstance(parts[0], MultiView):
        import pyarrow as pa

        return pa.concat_tables(parts)
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


def _is_plain(X: Any) -> bool:
    """Whether all columns of an Arrow table are numbers."""
    return plain_kinds().issuperset(X.schema.types)


def _size(X: Any) -> int:
    if not isinstance(X, MultiView):
        if _is_plain(X):  # Arrow takes long to look at the buffers of many columns
            return len(X) * sum(kind.bit_width for kind in X.schema.types) // 8
        return int(X.nbytes)
    parts = (
        (X.matrix.data, X.matrix.indices, X.matrix.indptr) if sp.issparse(X.matrix) else (X.matrix,)
    )
    present = 0 if X.present is None else X.present.nbytes
    return sum(part.nbytes for part in parts) + present
