"""Columns that hold fields, as objects in JSON do: the field city of user is user__city."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crossview.tables.arrow import check_unique, pyarrow

if TYPE_CHECKING:
    import pyarrow as pa


def columns_of_fields(schema: pa.Schema, file: str | None) -> dict[str, str] | None:
    """Return each column that `fields_as_columns` makes, and the one it is from.

    None if no column holds fields.
    """
    if not any(_has_fields(field.type) for field in schema):
        return None
    found = [(name, field.name) for field in schema for name, _ in _leaves(field.name, field)]
    check_unique([name for name, _ in found], file)
    return dict(found)


def _leaves(name: str, field: pa.Field) -> Iterator[tuple[str, pa.DataType]]:
    if not _has_fields(field.type):
        yield name, field.type
        return
    for part in field.type:
        yield from _leaves(f"{name}__{part.name}", part)


def fields_as_columns(data: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with a column for each field; where an object is missing, its fields are."""
    names, arrays = data.schema.names, data.columns
    while any(_has_fields(array.type) for array in arrays):
        parts = [_parts(one, array) for one, array in zip(names, arrays, strict=True)]
        names = [name for part in parts for name, _ in part]
        arrays = [array for part in parts for _, array in part]
    return pyarrow().RecordBatch.from_arrays(arrays, names=names)


def _parts(name: str, array: Any) -> list[tuple[str, Any]]:
    if not _has_fields(array.type):
        return [(name, array)]
    inner = [f"{name}__{field.name}" for field in array.type]
    return list(zip(inner, array.flatten(), strict=True))


def _has_fields(kind: pa.DataType) -> bool:
    return bool(pyarrow().types.is_struct(kind))
