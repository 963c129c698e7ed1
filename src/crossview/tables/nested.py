"""Columns that hold several values, as objects and vectors do: each of them is a column.

The field city of user is user__city, and the first number of vector is vector__0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.errors import InputError
from crossview.tables.arrow import (
    check_unique,
    column_names,
    eager,
    is_number,
    numbers_of,
    pyarrow,
    to_arrow,
)

if TYPE_CHECKING:
    import pyarrow as pa


# what a cell of a data frame is that holds several values
_SEVERAL = (dict, list, tuple, np.ndarray)


def may_be_vectors(schema: pa.Schema) -> list[str]:
    """Return the columns with lists of numbers whose length their type does not say."""
    return [field.name for field in schema if _lists_of_numbers([field])]


def _lists_of_numbers(schema: Iterable[pa.Field]) -> list[str]:
    leaves = chain.from_iterable(_leaves(field.name, field.type, {}) for field in schema)
    return [name for name, kind in leaves if _is_list(kind)]


def lengths_of_vectors(data: pa.RecordBatch) -> dict[str, int]:
    """Return the columns with lists of as many numbers in all rows, and how many these are."""
    import pyarrow.compute as pc

    data, found = fields_as_columns(data, {}), {}
    for name in _lists_of_numbers(data.schema):
        n_values = pc.unique(pc.list_value_length(data.column(name))).drop_null().to_pylist()
        if len(n_values) == 1 and n_values[0] > 1:
            found[name] = int(n_values[0])
    return found


def expected_vectors(known: Iterable[str], names: Iterable[str]) -> dict[str, int]:
    """Return the columns of which only the numbers are known, and how many these are.

    known: names of columns, such as vector__0.
    names: of the columns that are there.
    """
    found, there = dict[str, int](), set(names)
    for name in known:
        vector, _, number = name.rpartition("__")
        if number.isdecimal() and vector in there and name not in there:
            found[vector] = max(found.get(vector, 0), 1 + int(number))
    return found


def frame_of_fields(frame: Any, known: Iterable[str] = ()) -> Any:
    """Return a data frame with a column for each field and number; any other one as it is.

    known: names of the columns that are expected, by which a vector has a length.
    """
    if isinstance(frame, np.ndarray):
        return frame
    lengths = expected_vectors(known, column_names(frame))
    if not lengths and not _is_nested(frame):
        return frame
    pa, table = pyarrow(), to_arrow(frame)
    if isinstance(table, pa.Table):
        none = pa.RecordBatch.from_pylist([], table.schema)
        (table,) = table.combine_chunks().to_batches() or [none]
    lengths = lengths_of_vectors(table) | lengths
    if columns_of_fields(table.schema, lengths, None) is None:
        return frame
    return fields_as_columns(table, lengths)


def _is_nested(frame: Any) -> bool:
    """Return whether a column of a data frame may hold several values in a cell."""
    pa = pyarrow()
    if isinstance(frame, pa.Table | pa.RecordBatch):
        return any(kind.num_fields for kind in frame.schema.types)
    columns = eager(frame).iter_columns()
    return any(
        column.dtype.is_nested()
        or (
            str(column.dtype) == "Object"
            and any(isinstance(cell, _SEVERAL) for cell in column.drop_nulls().head(1).to_list())
        )
        for column in columns
    )


def columns_of_fields(
    schema: pa.Schema, lengths: Mapping[str, int], file: str | None
) -> dict[str, str] | None:
    """Return each column that `fields_as_columns` makes, and the one it is from.

    None if no column holds several values.
    """
    found = [
        (name, field.name)
        for field in schema
        for name, _ in _leaves(field.name, field.type, lengths)
    ]
    if all(name == own for name, own in found) and len(found) == len(schema):
        return None
    check_unique([name for name, _ in found], file)
    return dict(found)


def _leaves(name: str, kind: Any, lengths: Mapping[str, int]) -> Iterator[tuple[str, Any]]:
    n = _length(name, kind, lengths)
    if _has_fields(kind):
        for part in kind:
            yield from _leaves(f"{name}__{part.name}", part.type, lengths)
    elif n is None:
        yield name, kind
    else:
        inside = getattr(kind, "value_type", None)  # of null there is none
        for i in range(n):
            yield from _leaves(f"{name}__{i}", inside, {})


def fields_as_columns(data: pa.RecordBatch, lengths: Mapping[str, int]) -> pa.RecordBatch:
    """Return rows with a column for each field and number; where an object is missing, these are.

    Raises `InputError` with a row for a vector of another length.
    """
    columns = list(zip(data.schema.names, data.columns, strict=True))
    while any(_is_several(name, array.type, lengths) for name, array in columns):
        columns = [part for name, array in columns for part in _parts(name, array, lengths)]
    names, arrays = [name for name, _ in columns], [array for _, array in columns]
    return pyarrow().RecordBatch.from_arrays(arrays, names=names)


def _is_several(name: str, kind: pa.DataType, lengths: Mapping[str, int]) -> bool:
    return _has_fields(kind) or _length(name, kind, lengths) is not None


def _parts(name: str, array: Any, lengths: Mapping[str, int]) -> Iterable[tuple[str, Any]]:
    if _has_fields(array.type):
        inner = [f"{name}__{field.name}" for field in array.type]
        return zip(inner, array.flatten(), strict=True)
    n = _length(name, array.type, lengths)
    if n is None:
        return [(name, array)]
    return ((f"{name}__{i}", one) for i, one in enumerate(_numbers(name, array, n)))


def _numbers(name: str, array: Any, n: int) -> list[pa.Array]:
    """Return a column of vectors of n numbers as n columns of floats."""
    import pyarrow.compute as pc

    pa = pyarrow()
    if pa.types.is_null(array.type):
        return [pa.nulls(len(array), pa.float64())] * n
    other = pc.not_equal(pc.list_value_length(array), n)
    row = pc.index(other, True).as_py()
    if row >= 0:
        held = len(array[row])
        raise InputError(f"holds {held} numbers, and {n} in other rows", row=row, column=name)
    there = numbers_of(array.is_valid())
    flat = array.flatten()
    if _length("", flat.type, {}) is not None:  # a matrix
        positions = np.full(len(array), -1)
        positions[there] = np.arange(there.sum()) * n
        base = pa.array(positions, mask=~there)
        return [flat.take(pc.add(base, i)) for i in range(n)]
    values = np.full((n, len(array)), np.nan)
    values[:, there] = numbers_of(flat.cast(pa.float64())).reshape(-1, n).T
    return [pa.array(own, from_pandas=True) for own in values]


def _length(name: str, kind: Any, lengths: Mapping[str, int]) -> int | None:
    """Return how many numbers each row of a column holds; None: it has no vectors."""
    if kind is None or not pyarrow().types.is_fixed_size_list(kind):
        return lengths.get(name) if _may_be_vector(kind) else None
    inside = kind.value_type
    is_vector = is_number(inside) or _length("", inside, {}) is not None
    return int(kind.list_size) if is_vector and kind.list_size else None


def _is_list(kind: Any) -> bool:
    """Return whether a column has lists of numbers whose length its type does not say."""
    types = pyarrow().types
    if kind is None or not (types.is_list(kind) or types.is_large_list(kind)):
        return False
    return is_number(kind.value_type)


def _may_be_vector(kind: Any) -> bool:
    return kind is not None and (_is_list(kind) or bool(pyarrow().types.is_null(kind)))


def _has_fields(kind: Any) -> bool:
    return kind is not None and bool(pyarrow().types.is_struct(kind))
