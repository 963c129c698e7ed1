"""Rows that are given view by view: sources joined by an id, or frames of the same rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import scipy.sparse as sp

from crossview.data.arrow import pyarrow, to_arrow
from crossview.data.joining.join import join_sources
from crossview.data.table_columns import views_of_join
from crossview.errors import InputError, argument
from crossview.saving.model_header import read_label, read_tables
from crossview.saving.pipelines import steps_of
from crossview.views import MultiView, align_rows, check_rows, is_mapping, row_index


def side_by_side(views: Mapping[str, Any], named: Iterable[str] = ()) -> Any:
    """Return frames of the same rows as one table, with columns ``view__column``.

    Rows of pandas belong together by their index, others by their position; ``named`` columns keep
    their names.  Frames of other rows, or with a column that may be an id, are an error.
    """
    for name, block in views.items():
        if isinstance(block, str | os.PathLike | list) or hasattr(block, "batch_rows"):
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


def label_of_model(model: Any) -> str | None:
    """Return the column of the labels of a model or its file, where it says one."""
    if isinstance(model, str | os.PathLike):
        return read_label(model)
    label = getattr(model, "label", None)
    return label if isinstance(label, str) else None


def open_views(
    X: Any,
    y: Any,
    on: str | Sequence[str] | None,
    *,
    views: Any = None,
    per_row: Mapping[str, Any] | None = None,
    label: str | None = None,
    model: Any = None,
) -> tuple[Any, Any, Any]:
    """Return X, y and views as for one table, where X maps views to their rows; else as they are.

    ``per_row`` are other arguments with one value per row, or the name of their column; ``label``
    is the column of the labels where ``y`` does not name it; and ``model`` has read other rows.
    """
    if not is_mapping(X):
        if on is not None:
            raise InputError(
                f"{argument(on=on)} joins several sources; give X as {{'view': source, ...}}, or "
                "join_tables(rows, {'view': source, ...})"
            )
        return X, y, views
    if not X:
        raise InputError("X has no views; give at least one")
    per_row = {name: value for name, value in (per_row or {}).items() if value is not None}
    arrays = {name: value for name, value in per_row.items() if not isinstance(value, str)}
    named = [value for value in per_row.values() if isinstance(value, str)]
    if on is None:
        check_rows(X, y=y, **arrays)
        if any(sp.issparse(block) for block in X.values()):
            return MultiView(X), y, views
        names = [name for name in (y, label, *named) if isinstance(name, str)]
        return side_by_side(X, names), y, views
    sources: list[tuple[str | None, Any]] = [(str(name), one) for name, one in X.items()]
    label = y if isinstance(y, str) else label
    if _names_rows(y, [on] if isinstance(on, str) else list(on)):
        label = "label" if y.name is None else str(y.name)
        sources.insert(0, (None, y.rename(label).reset_index()))
        y = label
    elif y is not None and not isinstance(y, str):
        check_rows(sources[0][1], y=y, **arrays)
    main = sources[0][0] is None or not (y is None or isinstance(y, str))
    table = join_sources(sources, on, main=main, label=label, named=named, dialect=_dialect(model))
    views = views_of_join(table, views)
    for line in table.join.lines if table.join else ():
        warnings.warn(line, UserWarning, stacklevel=3)
    return table, y, views


def _dialect(model: Any) -> Any:
    """Return the dialect of the CSV files that a model has learned, if it is known."""
    if isinstance(model, str | os.PathLike):
        known = read_tables(model)
        return known and known.dialect
    return None if model is None else getattr(steps_of(model)[0][1], "dialect", None)


def _names_rows(y: Any, on: list[str]) -> bool:
    """Return whether labels are a series whose index is the id."""
    index = row_index(y)
    return index is not None and not hasattr(y, "columns") and list(index.names) == on
