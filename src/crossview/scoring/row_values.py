"""Cells of rows, and the columns that contribute to their scores, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.data.labeled import LabeledSource
from crossview.errors import InputError
from crossview.scoring.diagnostics import (
    MOST_VALUES,
    StrongColumn,
    StrongInteraction,
    ViewNumbers,
    short_values,
    view_numbers,
)
from crossview.scoring.weights import ColumnNames, with_view
from crossview.views import MultiView

__all__ = [
    "MOST_ROWS",
    "cells_of_row",
    "numbers_of",
    "strong_columns",
    "strong_interactions",
]

# rows whose contributions are computed, and columns that are kept
MOST_ROWS, MOST_COLUMNS = 300, 20


def cells_of_row(
    source: Any,
    row: int,
    names: ColumnNames,
    encoded: MultiView | None = None,
) -> dict[str, str | None]:
    """Return some cells of a row, before it is encoded, by column: about as many of each view.

    Of a view with many columns those with the largest entries in the row as ``encoded`` are shown,
    else the first ones; of a MultiView the largest entries.  A missing one is None.
    """
    if isinstance(source, MultiView):
        line = source[[row]]
        each = max(1, MOST_VALUES // line.layout.n_views)
        entries: dict[str, float] = {}
        for view in line.layout.names:
            largest, part = _largest(line, view, each)
            largest.sort()
            for name, column in zip(names.texts(view, largest), largest, strict=True):
                entries[name] = float(part[column])
        return short_values(entries)
    here = set(source.column_names)
    views = {view: [one for one in some if one in here] for view, some in names.columns.items()}
    each = max(1, MOST_VALUES // max(len(views), 1))
    shown = []
    for view, some in views.items():
        if len(some) > each and encoded is not None:
            largest, _ = _largest(encoded, view, MOST_VALUES)
            telling = dict.fromkeys(one.column for one in names.meanings(view, largest))
            first = [one for one in [*telling, *some] if one in some]
            some = sorted(list(dict.fromkeys(first))[:each], key=some.index)
        shown += some[:each]
    line = source.select(shown).slice(row, 1).to_pylist()[0]
    return short_values(line)


def _largest(X: MultiView, view: str, most: int) -> tuple[list[int], np.ndarray]:
    """The columns of the largest entries of one row in a view, largest first, and its entries."""
    part = X.matrix[:, X.layout.block(view)]
    entries = np.asarray(part.toarray() if sp.issparse(part) else part).ravel()
    order = np.argsort(-np.abs(entries), kind="stable")[:most]
    return order[entries[order] != 0.0].tolist(), entries


def strong_columns(learner: Any, names: ColumnNames, X: MultiView) -> list[StrongColumn]:
    """Return at most 20 columns, those that contribute most to the scores of some rows.

    At most 300 rows count, evenly spaced, because rows are often sorted.  A learner without weights
    of columns has none.
    """
    try:
        some = np.linspace(0, len(X) - 1, min(len(X), MOST_ROWS)).astype(np.intp)
        found = learner.contributions(X[some])
    except InputError:
        return []
    n = max(found.shape[0], 1)
    size = np.bincount(found.indices, np.abs(found.data), minlength=found.shape[1]) / n
    total = np.bincount(found.indices, found.data, minlength=found.shape[1])
    rows = np.bincount(found.indices, minlength=found.shape[1])
    kept: list[StrongColumn] = []
    places = {
        int(column): (view, i)
        for view, columns in learner.view_columns().items()
        for i, column in enumerate(columns)
        if size[column] > 0.0
    }
    for column in np.argsort(-size, kind="stable")[:MOST_COLUMNS].tolist():
        if column in places:
            view, i = places[column]
            (name,) = names.texts(view, [i])
            mean = float(total[column] / rows[column])
            kept.append(StrongColumn(view, name, float(size[column]), mean, rows[column] / n))
    return kept


def strong_interactions(learner: Any, names: ColumnNames, top: int = 10) -> list[StrongInteraction]:
    """Return the ``top`` interactions of each order of a machine, by name, the strongest first."""
    if not hasattr(learner, "interactions") or not top:
        return []
    return [
        StrongInteraction(
            [
                with_view(view, names.texts(view, [column])[0])
                for view, column in zip(one.views, one.columns, strict=True)
            ],
            float(one.weight),
            "" if one.label is None else str(one.label),
        )
        for one in learner.interactions(top)
    ]


def numbers_of(source: LabeledSource, X: MultiView) -> list[ViewNumbers]:
    """Return the views in numbers, by encoded rows; columns and kinds are those of the source."""
    if not source.has_columns:
        widths = dict(zip(source.layout.names, source.layout.widths, strict=True))
        return view_numbers(X, {name: int(width) for name, width in widths.items()})
    n_columns = {name: len(some) for name, some in source.columns.items()}
    return view_numbers(X, n_columns, source.encoder.column_kinds())
