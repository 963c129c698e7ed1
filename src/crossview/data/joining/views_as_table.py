"""Rows that are given view by view: sources joined by an id, or frames of the same rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import scipy.sparse as sp

from crossview.data.joining.join import join_sources
from crossview.encoding.table_columns import views_of_join
from crossview.errors import InputError, argument
from crossview.saving.model_header import ReadsTables, read_label, read_tables
from crossview.saving.pipelines import steps_of
from crossview.tables.frames import side_by_side
from crossview.views import MultiView, check_rows, column_called, is_mapping, row_index


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
    ``y`` may be the name of a column with several levels, which the table calls by text.
    """
    if not is_mapping(X):
        if on is not None:
            raise InputError(
                f"{argument(on=on)} joins several sources; give X as {{'view': source, ...}}, or "
                "join_tables(rows, {'view': source, ...})"
            )
        return X, column_called(X, y), views
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
    index, keys = row_index(y), [on] if isinstance(on, str) else list(on)
    # a series whose index is the id
    if index is not None and not hasattr(y, "columns") and list(index.names) == keys:
        label = "label" if y.name is None else str(y.name)
        sources.insert(0, (None, y.rename(label).reset_index()))
        y = label
    elif y is not None and not isinstance(y, str):
        check_rows(sources[0][1], y=y, **arrays)
    main = sources[0][0] is None or not (y is None or isinstance(y, str))
    known = _reads(model)
    table = join_sources(
        *(sources, on),
        main=main,
        label=label,
        named=named,
        learned=known.names,
        dialect=known.dialect,
    )
    views = views_of_join(table, views)
    for line in table.join.lines if table.join else ():
        warnings.warn(line, UserWarning, stacklevel=3)
    return table, y, views


def _reads(model: Any) -> ReadsTables:
    """Return the columns that a model has learned, and the dialect of their CSV files."""
    nothing = ReadsTables({}, None)
    if isinstance(model, str | os.PathLike):
        return read_tables(model) or nothing
    if model is None or not hasattr(encoder := steps_of(model)[0][1], "view_columns"):
        return nothing
    return ReadsTables(encoder.view_columns(), encoder.dialect)
