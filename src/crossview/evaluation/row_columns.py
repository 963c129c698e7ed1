"""Columns that say something of the rows and are in no view: groups, times and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.errors import InputError, closest_names
from crossview.streams.source import TableBatch
from crossview.streams.table import TableStream

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_weight_column", "check_weights", "read_groups", "read_order", "weights_of"]


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
    from pyarrow import types

    times = _column(table, name, "time")
    kind = times.type
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (numbers or types.is_temporal(kind)):
        raise InputError(
            f"holds {kind}, and times are timestamps, dates or numbers; convert it in a query, for "
            "example with CAST(... AS TIMESTAMP)",
            column=name,
        )
    return np.asarray(pc.sort_indices(times), dtype=np.intp)  # a stable sort


def check_weights(weight: Any) -> np.ndarray:
    """Return weights that are in memory as float64, if all are finite numbers of 0 or more."""
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

    kind = table.select([name]).schema.field(name).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        raise InputError(f"holds {kind}, and weights are numbers", column=name)


def weights_of(batch: TableBatch, name: str) -> np.ndarray:
    """Return the weights of a batch from their column; a bad one is named by file and row."""
    import pyarrow as pa

    column = batch.data.column(name)
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    numbers = np.asarray(plain.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    row = _first_bad_weight(numbers)
    if row is not None:
        what = _explain_weight(column[row].as_py())
        raise InputError(what, file=batch.file, row=batch.first_row + row, column=name)
    return numbers


def _first_bad_weight(numbers: np.ndarray) -> int | None:
    bad = ~((numbers >= 0.0) & (numbers < np.inf))
    return int(bad.argmax()) if bad.any() else None


def _explain_weight(value: Any) -> str:
    if value is None or value != value:
        return "the weight is missing; give a number, 0 to leave the row out"
    return f"{value} is no weight; give a finite number, 0 or more"


def _column(table: TableStream, name: str, what: str) -> pa.ChunkedArray:
    """A column without dictionaries; a missing value is named by file and row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if name not in table.column_names:
        raise InputError(f"no column {name!r}{closest_names(name, table.column_names)}")
    kind = table.schema.field(name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    pieces = []
    for batch in table.select([name]):
        column = batch.data.column(0)
        missing = pc.is_null(column, nan_is_null=True)
        if pc.any(missing).as_py():
            row = batch.first_row + int(pc.index(missing, True).as_py())
            raise InputError(f"the {what} is missing", file=batch.file, row=row, column=name)
        pieces.append(column.cast(kind))
    return pa.chunked_array(pieces, type=kind)
