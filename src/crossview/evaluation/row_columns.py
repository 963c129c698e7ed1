"""Columns that say something of the rows and are in no view: groups, times and weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.errors import InputError
from crossview.labels import MAX_WEIGHT
from crossview.streams.arrow import numbers_of
from crossview.streams.source import TableBatch
from crossview.streams.table import TableStream

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "RowColumns",
    "about_weights",
    "check_weight_column",
    "check_weights",
    "read_groups",
    "read_order",
    "weights_of",
]

# a mean weight that changes no learner much
USUAL_WEIGHTS = (0.1, 10.0)


def read_groups(table: TableStream, name: str) -> np.ndarray:
    """Return a column of a table as numbers, the same for the same value.

    Parameters
    ----------
    table : TableStream
        With all of its columns.
    name : str
        The column; it has a value in each row.

    Returns
    -------
    codes : ndarray of int
        One per row.
    """
    return np.asarray(_column(table, name, "group").combine_chunks().dictionary_encode().indices)


def read_order(table: TableStream, name: str) -> np.ndarray:
    """Return the rows of a table in the order of a column.

    Parameters
    ----------
    table : TableStream
        With all of its columns.
    name : str
        The column, of timestamps, dates or numbers; it has a value in each row.

    Returns
    -------
    order : ndarray of int
        Positions of the rows; equal times keep their order.
    """
    import pyarrow.compute as pc

    _check_time_column(table, name)
    return np.asarray(pc.sort_indices(_column(table, name, "time")), dtype=np.intp)  # stable


def _check_time_column(table: TableStream, name: str) -> None:
    """Raise an error if there is no such column, or if it holds no times."""
    from pyarrow import types

    kind = _type_of(table, name)
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (numbers or types.is_temporal(kind)):
        raise InputError(
            f"holds {kind}, and times are timestamps, dates or numbers; convert it in a query, for "
            "example with CAST(... AS TIMESTAMP)",
            column=name,
        )


def check_weights(weight: Any) -> np.ndarray:
    """Return weights that are in memory as float64, if all are numbers from 0 to 1e12."""
    try:
        numbers = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("weight= holds something that is no number") from None
    if numbers.ndim != 1:
        raise InputError(f"weight= has {numbers.ndim} dimensions; give one number per row")
    row = _first_bad_weight(numbers)
    if row is not None:
        raise InputError(_explain_weight(numbers[row]), row=row)
    return numbers


def check_weight_column(table: TableStream, name: str) -> None:
    """Raise an error if there is no such column, or if it holds no numbers."""
    from pyarrow import types

    kind = _type_of(table, name)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        raise InputError(f"holds {kind}, and weights are numbers", column=name)


def weights_of(batch: TableBatch, name: str) -> np.ndarray:
    """Return the weights of a batch from their column; a bad one is named by file and row."""
    import pyarrow as pa

    column = batch.data.column(name)
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    numbers = numbers_of(plain.cast(pa.float64(), safe=False))
    row = _first_bad_weight(numbers)
    if row is not None:
        what = _explain_weight(column[row].as_py())
        raise InputError(what, file=batch.file, row=batch.first_row + row, column=name)
    return numbers


def about_weights(name: str, mean: float) -> list[str]:
    """Return a warning if the mean weight is far from 1."""
    least, most = USUAL_WEIGHTS
    if not mean > 0.0 or least <= mean <= most:
        return []
    return [
        f"{name}: the weights have a mean of {mean:.3g}, which multiplies C and every step of "
        "learning; divide them by it"
    ]


class RowColumns:
    """Checks of the columns of times and weights, as learning makes them, in one pass.

    Parameters
    ----------
    table : TableStream
        With all of its columns.
    time, weight : str or None
        The columns, where there are any.
    """

    def __init__(self, table: TableStream, time: str | None, weight: str | None) -> None:
        self.time, self.weight = time, weight
        self._total, self._n_rows = 0.0, 0
        if time is not None:
            _check_time_column(table, time)
        if weight is not None:
            check_weight_column(table, weight)

    def watch(self, batches: Iterable[TableBatch]) -> Iterator[TableBatch]:
        """Yield the batches; a bad time or weight is named by file and row."""
        for batch in batches:
            if self.time is not None:
                _check_complete(batch, self.time, "time")
            if self.weight is not None:
                self._total += float(weights_of(batch, self.weight).sum())
            self._n_rows += batch.data.num_rows
            yield batch

    def warnings(self) -> list[str]:
        """Return what may be wrong with the rows so far."""
        if self.weight is None or not self._n_rows:
            return []
        return about_weights(self.weight, self._total / self._n_rows)


def _first_bad_weight(numbers: np.ndarray) -> int | None:
    bad = ~((numbers >= 0.0) & (numbers <= MAX_WEIGHT))
    return int(bad.argmax()) if bad.any() else None


def _explain_weight(value: Any) -> str:
    if value is None or value != value:
        return "the weight is missing; give a number, 0 to leave the row out"
    return f"{value} is no weight; give a number from 0 to {MAX_WEIGHT:g}"


def _column(table: TableStream, name: str, what: str) -> pa.ChunkedArray:
    """A column without dictionaries; a missing value is named by file and row."""
    import pyarrow as pa

    kind = _type_of(table, name)
    pieces = []
    for batch in table.select([name]):
        _check_complete(batch, name, what)
        pieces.append(batch.data.column(0).cast(kind))
    return pa.chunked_array(pieces, type=kind)


def _type_of(table: TableStream, name: str) -> pa.DataType:
    """What a column holds, whether or not it is stored as a dictionary."""
    kind = table.select([name]).schema.field(name).type
    return getattr(kind, "value_type", kind)


def _check_complete(batch: TableBatch, name: str, what: str) -> None:
    """Raise an error for the first row of a batch without a value."""
    import pyarrow.compute as pc

    missing = pc.is_null(batch.data.column(name), nan_is_null=True)
    if pc.any(missing).as_py():
        row = batch.first_row + int(pc.index(missing, True).as_py())
        raise InputError(f"the {what} is missing", file=batch.file, row=row, column=name)
