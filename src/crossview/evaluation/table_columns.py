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
    import pyarrow as pa

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
    empty = pa.Table.from_batches([], schema=stream.schema)  # `empty_table` imports pandas
    return empty.select([name for name in names if name not in left_out])
