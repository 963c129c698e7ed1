"""Which columns of a table predict which label, by names and types, before a row is read.

It loads nothing heavy, so that the command line names a mistyped column at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from crossview.errors import InputError, closest_names
from crossview.streams.table import TableStream

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ColumnsOfModel",
    "check_label",
    "check_missing_columns",
    "columns_of_model",
    "predictors",
]


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

    if label is not None:
        check_label(stream, label, {})
    for view, spec in (views or {}).items():
        if label in ([spec] if isinstance(spec, str) else list(spec)):
            raise InputError(
                f"view {view!r} names the label column; leave it out of the views", column=label
            )
    left_out = {label, *ignored}
    fields = [field for field in stream.schema if field.name not in left_out]
    return pa.Table.from_batches([], schema=pa.schema(fields))  # `empty_table` imports pandas


def check_label(stream: TableStream, label: str, views: Mapping[str, Sequence[str]]) -> None:
    """Raise an error for a label that a table has not, or that a model predicts from.

    Parameters
    ----------
    stream : TableStream
        The table.
    label : str
        The column of the labels.
    views : mapping of str to sequence of str
        The columns of each view of the model.
    """
    names = stream.column_names
    if label not in names:
        file = stream.files[0] if stream.files else None
        raise InputError(f"no label column {label!r}{closest_names(label, names)}", file=file)
    for view, group in views.items():
        if label in group:
            raise InputError(
                f"is in view {view!r} of the model, so it is not the label", column=label
            )


_ABOUT_CSV = "; is it written in another way? Say how by delimiter=, encoding= or header=False"


class ColumnsOfModel(NamedTuple):
    """Which columns of a model a table has.

    Attributes
    ----------
    here : list of str
        Those to read.
    missing_views : list of str
        Views of which the table has no column.
    null_columns : list of str
        Columns of other views that it has not, where that is allowed.
    """

    here: list[str]
    missing_views: list[str]
    null_columns: list[str]


def check_missing_columns(missing_columns: str) -> None:
    """Raise an error for what is no way to take a missing column."""
    if missing_columns not in ("error", "null"):
        raise InputError(f"missing_columns={missing_columns!r}; give error or null")


def columns_of_model(
    table: TableStream, views: Mapping[str, list[str]], missing_columns: str
) -> ColumnsOfModel:
    """Return which columns of a model a table has, if they are enough.

    Parameters
    ----------
    table : TableStream
        The table.
    views : mapping of str to list of str
        The columns of each view of the model.
    missing_columns : {"error", "null"}
        As for `crossview.predict`.

    Returns
    -------
    ColumnsOfModel
        Those that are there, and what is missing.
    """
    check_missing_columns(missing_columns)
    known = set(table.column_names)
    absent = [view for view, group in views.items() if known.isdisjoint(group)]
    if len(absent) == len(views):
        needed = [column for group in views.values() for column in group]
        raise InputError(
            f"has none of the model's columns ({', '.join(needed[:5])}, ...); "
            f"it has {', '.join(table.column_names[:5])}, ..."
            + ("" if table.dialect is None else _ABOUT_CSV),
            file=table.files[0] if table.files else None,
        )
    wanted = [column for view, group in views.items() if view not in absent for column in group]
    nulls = [column for column in wanted if column not in known]
    if nulls and missing_columns == "error":
        raise InputError(f"no column {nulls[0]!r}{closest_names(nulls[0], table.column_names)}")
    return ColumnsOfModel([column for column in wanted if column in known], absent, nulls)
