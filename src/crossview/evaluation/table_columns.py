"""Which columns of a table predict which label, by names and types, before a row is read.

It loads nothing heavy, so that the command line names a mistyped column at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crossview.errors import InputError, closest_names
from crossview.streams.table import TableStream

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["predictors"]


def predictors(
    stream: TableStream,
    label: str | None,
    views: Mapping[str, Any] | None = None,
    ignored: Sequence[str] = (),
) -> pa.Table:
    """Return the columns that may predict a label, without rows.

    Parameters
    ----------
    stream : TableStream
        The table.
    label : str or None
        The column of the labels; None: they are elsewhere.
    views : mapping of str to columns, default=None
        As for `ViewEncoder`.  None of them may name the label; globs pass it over.
    ignored : sequence of str, default=()
        Columns that are in no view.

    Returns
    -------
    table : pyarrow.Table
        All other columns, of which `plan_columns` makes views.
    """
    names = stream.column_names
    if label is not None and label not in names:
        file = stream.files[0] if stream.files else None
        raise InputError(f"no label column {label!r}{closest_names(label, names)}", file=file)
    for view, spec in (views or {}).items():
        if label in ([spec] if isinstance(spec, str) else list(spec)):
            raise InputError(
                f"view {view!r} names the label column; leave it out of the views", column=label
            )
    left_out = {label, *ignored}
    return _without_rows([field for field in stream.schema if field.name not in left_out])


def _without_rows(fields: Sequence[pa.Field]) -> pa.Table:
    """A table of these columns; one array per type, as Arrow takes long to make thousands."""
    import pyarrow as pa

    types = list(dict.fromkeys(field.type for field in fields))
    one_of_each = pa.schema([(str(i), kind) for i, kind in enumerate(types)]).empty_table()
    empty = dict(zip(types, one_of_each.columns, strict=True))
    return pa.table([empty[field.type] for field in fields], schema=pa.schema(fields))
