"""Columns that say something of the rows and are in no view: their groups and their time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crossview.errors import InputError, closest_names
from crossview.streams.table import TableStream

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_groups", "read_order"]


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
