"""Frames of the same rows, one per view, as one table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from crossview.errors import InputError, argument
from crossview.tables.arrow import pyarrow, to_arrow
from crossview.views import align_rows


def side_by_side(views: Mapping[str, Any], named: Iterable[str] = ()) -> Any:
    """Return frames of the same rows as one table, with columns ``view__column``.

    Rows of pandas belong together by their index, others by their position; ``named`` columns keep
    their names.  Frames of other rows, or with a column that may be an id, are an error.
    """
    for name, block in views.items():
        if isinstance(block, list):
            raise InputError(
                f"view {str(name)!r} is a list: if it is one of values, make one table of all "
                "columns, as pandas.DataFrame(...) does, and if of files, name the column by which "
                f"the rows of the views belong together: {argument(on='id')}"
            )
        if len(getattr(block, "shape", (0, 0))) == 1:
            raise InputError(
                f"view {str(name)!r} is one column: make one table of all columns, as "
                "pandas.DataFrame(...) does, or each view a table of its columns"
            )
        if isinstance(block, str | os.PathLike) or hasattr(block, "batch_rows"):
            raise InputError(
                f"view {str(name)!r} is a source; name the column by which the rows of the views "
                f"belong together: {argument(on='id')}"
            )
    frames, index = align_rows({str(name): block for name, block in views.items()})
    tables = {name: to_arrow(frame) for name, frame in frames.items()}
    counts = {name: table.num_rows for name, table in tables.items()}
    if len(set(counts.values())) > 1:
        some = ", ".join(f"{name}: {n}" for name, n in counts.items())
        raise InputError(
            f"the views have different numbers of rows ({some}); join them by an id: "
            f"{argument(on='id')}"
        )
    if index is None or type(index).__name__ == "RangeIndex":  # which only counts the rows
        _check_no_id(list(tables.values()))
    columns: dict[str, Any] = {}
    for view, table in tables.items():
        for own, column in zip(table.schema.names, table.columns, strict=True):
            plain = own in named or own.startswith(f"{view}__")
            name = own if plain else f"{view}__{own}"
            if name in columns:
                raise InputError("is in several views", column=name)
            columns[name] = column
    return pyarrow().table(columns)


def _check_no_id(tables: list[Any]) -> None:
    """Raise an error for a column of all tables that may say which rows belong together."""
    types, first, others = pyarrow().types, tables[0], tables[1:]
    for field in first.schema if others else ():
        in_all = all(field.name in other.schema.names for other in others)
        if in_all and not types.is_floating(field.type):
            raise InputError(
                "all views have it; if it is the id by which their rows belong together, say "
                f"{argument(on=field.name)}, else leave it out",
                column=field.name,
            )
