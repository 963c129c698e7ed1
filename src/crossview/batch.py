"""Matrices to `Rows`, with the types, the order and the write flags of the compiled loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.errors import InputError
from crossview.kernels.gram import ViewRows, cut_rows
from crossview.kernels.rows import Rows, gather_rows
from crossview.views import ViewLayout, canonical_csr

MAX_INT32 = 2**31 - 1
# entries that are converted at a time: they stay in the cache
ENTRIES_OF_BLOCK = 1 << 17
# numbers of a dense matrix that are made of rows at a time
NUMBERS_AT_ONCE = 4_000_000
# what a matrix may have for values until they are converted: real numbers of at most 8 bytes
NUMBERS = frozenset(map(np.dtype, "?bhilqBHILQfd"))


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of the array.

    Numba compiles a loop separately for writable and for read-only arrays.  Arguments that a loop
    does not change are therefore always read-only.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def make_rows(
    X: Any,
    layout: ViewLayout,
    present: np.ndarray | None = None,
    *,
    column_map: np.ndarray | None = None,
    names: Any = None,
    checked: bool = True,
    canonical: bool = False,
    as_is: bool = False,
) -> Rows:
    """Return the rows of a matrix for the compiled loops.

    X (n_samples, n_columns): the values.  It is not changed.
    present (n_samples, n_views): False where a view is missing.  None: a view is missing in a row
      if all its columns are NaN.
    column_map (n_columns,): position of each column of ``X`` in the layout; -1: the column is
      skipped.  None: the columns are already ordered by view.
    names: names of the columns of ``X``, for error messages.
    checked: whether to check for NaN and infinity.  False saves a pass over all values if the loop
      of the caller reports nonfinite rows.
    canonical: whether a sparse ``X`` is what `canonical_csr` returned.
    as_is: whether values and indices may keep their types, for `typed_rows`.
    Returns: the batch; it shares memory with ``X`` if ``X`` is in order, and float64 with indices
      of int32 unless ``as_is``.
    Raises InputError: a value is infinite, or NaN in a view that is not missing; the message names
      row and column.  An index of a sparse matrix is out of range.
    """
    if column_map is not None:
        X, names = _rearrange(X, column_map, layout.n_columns, names)
    if sp.issparse(X):
        matrix = X if canonical else canonical_csr(X)
        if matrix.shape[1] != layout.n_columns:
            raise InputError(
                f"X has {matrix.shape[1]} columns, but {layout} has {layout.n_columns}"
            )
        indptr, shared = matrix.indptr, False
        # scipy allows unused space at the end
        data, indices = matrix.data[: indptr[-1]], matrix.indices[: indptr[-1]]
        kind = data.dtype if as_is and data.dtype in NUMBERS else np.float64
        data = np.ascontiguousarray(data, dtype=kind)
    else:
        X = np.asarray(X)
        kind = X.dtype if as_is and X.dtype in NUMBERS else np.float64
        data = np.ascontiguousarray(X, dtype=kind).reshape(-1)
        indices = np.arange(X.shape[1], dtype=np.int32)
        indptr = np.arange(X.shape[0] + 1, dtype=np.int64) * X.shape[1]
        shared = True
    wide = layout.n_columns > MAX_INT32 or (as_is and indices.dtype == np.int64)
    indices = np.ascontiguousarray(indices, dtype=np.int64 if wide else np.int32)
    indptr = np.ascontiguousarray(indptr, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        # a sum needs no temporary array; if a finite sum overflows, the exact check below passes
        finite = not checked or data.dtype.kind != "f" or math.isfinite(np.add.reduce(data))
    if not finite:
        data, present = _missing_views(data, indices, indptr, shared, layout, present, names)
    elif present is not None and not present.all():
        row, _, view = _entries(indices, indptr, shared, layout)
        data = np.where(present[row, view], data, np.zeros_like(data, shape=()))
    else:
        present = None
    if present is None:
        present = np.empty((0, layout.n_views), dtype=np.bool_)
    return Rows(
        read_only(data),
        read_only(indices.view(np.uint64 if wide else np.uint32)),
        read_only(indptr.view(np.uint64)),
        shared,
        read_only(layout.ptr.view(np.uint64)),
        read_only(np.ascontiguousarray(present)),
    )


def make_row(
    columns: Sequence[int], values: Sequence[float], layout: ViewLayout, present: Sequence[bool]
) -> Rows:
    """Return one row for the compiled loops.

    columns: columns of the entries, ascending, each once; none is in a view that is missing.
    values: their values, which are finite.
    present: False where a view is missing.
    """
    mask = np.empty((0, layout.n_views), np.bool_) if all(present) else np.array([present])
    return Rows(
        read_only(np.array(values, dtype=np.float64)),
        read_only(np.array(columns, np.uint64 if layout.n_columns > MAX_INT32 else np.uint32)),
        read_only(np.array([0, len(columns)], dtype=np.uint64)),
        False,
        read_only(layout.ptr.view(np.uint64)),
        read_only(mask),
    )


class RowBuffers:
    """One row in arrays that stay, for loops that are bound to them.

    n_entries: the most entries that the row may have.
    rows: the row as a batch.
    columns, values, present: what was written, as in `OneRow`.
    """

    def __init__(self, layout: ViewLayout, n_entries: int) -> None:
        wide = layout.n_columns > MAX_INT32
        self._data = np.zeros(n_entries)
        self._indices = np.zeros(n_entries, dtype=np.uint64 if wide else np.uint32)
        self._indptr = np.zeros(2, dtype=np.uint64)
        self._present = np.ones((1, layout.n_views), dtype=np.bool_)
        self.columns: list[int] = []
        self.values: Any = []
        self.present = [True] * layout.n_views
        self.rows = Rows(
            read_only(self._data),
            read_only(self._indices),
            read_only(self._indptr),
            False,
            read_only(layout.ptr.view(np.uint64)),
            read_only(self._present),
        )

    def fill(self, columns: list[int], values: Any, present: list[bool]) -> bool:
        """Write a row as `make_row` takes it; False if it has too many entries."""
        n = len(columns)
        if n > len(self._data):
            return False
        self._data[:n] = values
        self.values = values
        if columns is not self.columns and columns != self.columns:
            self._indices[:n], self._indptr[1] = columns, n
            self.columns = columns
        if present != self.present:
            self._present[0] = self.present = present
        return True

    def cut(self, row: RowBuffers, lo: int, hi: int, first: int, present: bool) -> None:
        """Write the entries ``lo`` to ``hi`` of a row, which has the one view from ``first`` on."""
        n = hi - lo
        self._data[:n] = row._data[lo:hi]
        np.subtract(row._indices[lo:hi], first, out=self._indices[:n])
        self._indptr[1], self._present[0, 0] = n, present

    @property
    def n_entries(self) -> int:
        """The most entries that the row may have."""
        return len(self._data)


def _rearrange(X: Any, column_map: np.ndarray, width: int, names: Any) -> tuple[Any, Any]:
    """Return the columns of X at their positions in the layout."""
    if sp.issparse(X):
        X = canonical_csr(X)
    used = np.flatnonzero(column_map >= 0)
    order = used[np.argsort(column_map[used], kind="stable")]
    if len(order) == width:
        names = None if names is None else [names[c] for c in order]
        return X[:, order], names
    # positions without a column of X stay empty
    coo = sp.coo_array(X)
    keep = column_map[coo.col] >= 0
    matrix = sp.csr_array(
        (coo.data[keep], (coo.row[keep], column_map[coo.col[keep]])), shape=(X.shape[0], width)
    )
    return matrix, None


def _entries(
    indices: np.ndarray, indptr: np.ndarray, shared: bool, layout: ViewLayout
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row, column and view of each entry."""
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    column = np.tile(indices, len(indptr) - 1) if shared else indices
    return row, column, np.searchsorted(layout.ptr, column, side="right") - 1


def _missing_views(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    shared: bool,
    layout: ViewLayout,
    present: np.ndarray | None,
    names: Any,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Mark views that are NaN throughout as missing; raise an error for other nonfinite values."""
    row, column, view = _entries(indices, indptr, shared, layout)
    nan = np.isnan(data)
    count = np.zeros((len(indptr) - 1, layout.n_views), dtype=np.int64)
    np.add.at(count, (row[nan], view[nan]), 1)
    present_here = count < np.asarray(layout.widths)
    present = present_here if present is None else present_here & present
    wrong = np.flatnonzero(present[row, view] & ~np.isfinite(data))
    if len(wrong):
        first = wrong[0]
        what = "NaN" if nan[first] else "infinity"
        v = view[first]
        name = layout.names[v]
        label = names[column[first]] if names is not None else str(column[first] - layout.ptr[v])
        where = f"of view {name!r}" if layout.n_views > 1 else "of X"
        raise InputError(
            f"{what} {where}; a view is missing where all its columns are NaN, "
            "and otherwise every value must be finite (impute it, or encode with ViewEncoder)",
            row=int(row[first]),
            column=str(label),
        )
    blanked = np.where(present[row, view], data, np.zeros_like(data, shape=()))
    return blanked, None if present.all() else present


# --- parts of a batch -----------------------------------------------------------


def has_types(rows: Rows) -> bool:
    """Return whether values and columns have the types of the compiled loops."""
    wide = int(rows.ptr[-1]) > MAX_INT32
    return rows.data.dtype == np.float64 and rows.indices.dtype.itemsize == (8 if wide else 4)


def typed_rows(rows: Rows) -> Rows:
    """Return the rows with the types of the compiled loops; shares what has them."""
    wide = int(rows.ptr[-1]) > MAX_INT32
    return rows._replace(
        data=read_only(rows.data.astype(np.float64, copy=False)),
        indices=read_only(rows.indices.astype(np.uint64 if wide else np.uint32, copy=False)),
    )


def blocks_of(rows: Rows, order: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Yield the order in parts of this number of entries at most, or of a single row."""
    ends, lo = np.cumsum(np.diff(rows.indptr.view(np.int64))[order]), 0
    while lo < len(order):
        before = ends[lo - 1] if lo else 0
        hi = max(int(np.searchsorted(ends, before + most, side="right")), lo + 1)
        yield order[lo:hi]
        lo = hi


def typed_blocks(rows: Rows, order: np.ndarray) -> Iterator[tuple[np.ndarray, Rows]]:
    """Yield the order in blocks, and the rows of each with the types of the compiled loops."""
    for here in blocks_of(rows, order, ENTRIES_OF_BLOCK):
        yield here, typed_rows(rows_at(rows, here))


def by_blocks(rows: Rows, score: Callable[[Rows], np.ndarray]) -> np.ndarray:
    """Return the scores of the rows, of which only a block at a time is converted."""
    if has_types(rows):
        return score(rows)
    blocks = typed_blocks(rows, np.arange(len(rows.indptr) - 1))
    return np.concatenate([score(part) for _, part in blocks])


def whole_matrix(rows: Rows) -> Any:
    """Return the rows as a matrix, an array if they are dense; shares their memory."""
    shape = (len(rows.indptr) - 1, int(rows.ptr[-1]))
    if rows.shared:
        return rows.data.reshape(shape)
    indices = rows.indices.view(np.int64 if rows.indices.dtype.itemsize == 8 else np.int32)
    # of two types SciPy takes the larger one, and copies the indices
    kind = indices.dtype if len(rows.data) <= MAX_INT32 else np.int64
    return sp.csr_array((rows.data, indices, rows.indptr.astype(kind)), shape=shape)


def entries_of(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column of each entry."""
    indptr, columns = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return row, np.tile(columns, len(indptr) - 1) if rows.shared else columns


def present_entries(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row and column of each entry, and whether it is not 0, in a view that is there."""
    row, column = entries_of(rows)
    counts = rows.data != 0.0
    if len(rows.present):
        counts &= rows.present[row, view_of(column, rows.ptr.astype(np.int64))]
    return row, column, counts


def view_of(columns: np.ndarray, ptr: np.ndarray) -> np.ndarray:
    """Return the view of each column of the matrix; ``ptr`` says where the views begin."""
    return np.searchsorted(ptr, columns, side="right") - 1


def blocks_of_width(n: int, width: int) -> Iterator[np.ndarray]:
    """Yield the positions of n rows in parts, of which dense matrices fit into memory."""
    size = max(1, NUMBERS_AT_ONCE // max(width, 1))
    for lo in range(0, n, size):
        yield np.arange(lo, min(lo + size, n))


def rows_at(rows: Rows, positions: np.ndarray) -> Rows:
    """Return the rows at these positions; shares memory if they are consecutive."""
    lo, hi = (int(positions[0]), int(positions[-1]) + 1) if len(positions) else (0, 0)
    present = rows.present[positions] if len(rows.present) else rows.present
    if hi - lo == len(positions) and bool((np.diff(positions) == 1).all()):
        begin, end = (int(rows.indptr[p]) for p in (lo, hi))
        return rows._replace(
            data=rows.data[begin:end],
            indices=rows.indices if rows.shared else rows.indices[begin:end],
            indptr=read_only(rows.indptr[lo : hi + 1] - rows.indptr[lo]),
            present=read_only(np.ascontiguousarray(present)),
        )
    indptr = np.zeros(len(positions) + 1, dtype=np.uint64)
    np.cumsum(rows.indptr[positions + 1] - rows.indptr[positions], out=indptr[1:])
    if rows.shared:
        data = np.take(whole_matrix(rows), positions, axis=0).reshape(-1)
        indices = rows.indices
    else:
        n_entries = int(indptr[-1])
        data, indices = (np.empty(n_entries, part.dtype) for part in (rows.data, rows.indices))
        bits = f"u{data.itemsize}"  # compiled for each size, and not for each type
        gather_rows(
            *(rows.data.view(bits), rows.indices, rows.indptr),
            *(read_only(positions), data.view(bits), indices),
        )
    return rows._replace(
        data=read_only(data),
        indices=read_only(indices),
        indptr=read_only(indptr),
        present=read_only(np.ascontiguousarray(present)),
    )


def rows_of_view(rows: Rows, v: int) -> Rows:
    """Return the rows with view ``v`` alone; shares memory if there is no other view."""
    if len(rows.ptr) == 2:
        return rows
    first, end = int(rows.ptr[v]), int(rows.ptr[v + 1])
    if rows.shared:
        data = np.ascontiguousarray(whole_matrix(rows)[:, first:end]).reshape(-1)
        columns = rows.indices[first:end] - rows.indices.dtype.type(first)
        indptr = np.arange(len(rows.indptr), dtype=np.int64) * (end - first)
    else:
        data, columns, indptr = flat_view(views_of(rows)[v])
        columns = columns - columns.dtype.type(first)
    present = rows.present[:, [v]] if len(rows.present) else np.empty((0, 1), dtype=np.bool_)
    return Rows(
        read_only(data),
        read_only(columns),
        read_only(indptr.astype(np.uint64)),
        rows.shared,
        read_only(np.array([0, end - first], dtype=np.uint64)),
        read_only(present),
    )


def views_of(rows: Rows) -> list[ViewRows]:
    """Return each view of the rows; shares their memory."""
    n = len(rows.indptr) - 1
    cuts = np.empty((n, len(rows.ptr)), dtype=np.uint64)
    cut_rows(rows.indices, rows.indptr, rows.shared, rows.ptr, cuts)
    offset = rows.indptr[:-1] if rows.shared else np.zeros(n, dtype=np.uint64)
    return [
        ViewRows(
            rows.data,
            rows.indices,
            read_only(np.ascontiguousarray(cuts[:, v])),
            read_only(np.ascontiguousarray(cuts[:, v + 1])),
            read_only(offset),
        )
        for v in range(len(rows.ptr) - 1)
    ]


def take_rows(view: ViewRows, rows: np.ndarray) -> ViewRows:
    """Return these rows of the view."""
    begin, end, offset = (read_only(part[rows]) for part in (view.begin, view.end, view.offset))
    return view._replace(begin=begin, end=end, offset=offset)


def flat_view(view: ViewRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the entries row after row: values, columns, and the start of each row."""
    lengths = (view.end - view.begin).astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    p = np.repeat(view.begin.astype(np.int64) - indptr[:-1], lengths) + np.arange(indptr[-1])
    columns = view.indices[p - np.repeat(view.offset.astype(np.int64), lengths)]
    return view.data[p], columns, indptr


def view_of_flat(data: np.ndarray, columns: np.ndarray, indptr: np.ndarray) -> ViewRows:
    """Undo `flat_view`."""
    cuts = indptr.astype(np.uint64)
    return ViewRows(
        read_only(data),
        read_only(columns),
        read_only(cuts[:-1]),
        read_only(cuts[1:]),
        read_only(np.zeros(len(cuts) - 1, dtype=np.uint64)),
    )


def view_of_matrix(X: sp.csr_array, first: int, kind: np.dtype) -> ViewRows:
    """Return the rows of a matrix as a view whose first column is ``first``."""
    return view_of_flat(X.data, (X.indices.astype(np.int64) + first).astype(kind), X.indptr)


def stack_views(views: list[ViewRows]) -> ViewRows:
    """Return the rows of all views, one view after the other."""
    parts = [flat_view(view) for view in views]
    lengths = np.concatenate([np.diff(indptr) for _, _, indptr in parts])
    return view_of_flat(
        np.concatenate([data for data, _, _ in parts]),
        np.concatenate([columns for _, columns, _ in parts]),
        np.concatenate([[0], np.cumsum(lengths)]),
    )


def matrix_of(view: ViewRows, first: int, width: int) -> sp.csr_array:
    """Return the view, whose first column is ``first``, as a separate matrix."""
    data, columns, indptr = flat_view(view)
    return sp.csr_array(
        (data, columns.astype(np.int64) - first, indptr), shape=(len(indptr) - 1, width)
    )
