"""What encoded rows hold, and what contributes to their scores, by the names of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.errors import InputError
from crossview.evaluation.diagnostics import (
    MOST_VALUES,
    StrongColumn,
    StrongInteraction,
    short_values,
)
from crossview.evaluation.weights import ColumnNames, with_view
from crossview.views import MultiView

__all__ = ["MOST_ROWS", "entries_of_row", "strong_columns", "strong_interactions"]

# rows whose contributions are computed, and columns that are kept
MOST_ROWS, MOST_COLUMNS = 300, 20


def entries_of_row(names: ColumnNames, X: MultiView) -> dict[str, str]:
    """Return the largest entries of a row, as encoded, by the names of their columns.

    Parameters
    ----------
    names : ColumnNames
        Of the columns.
    X : MultiView
        One row.

    Returns
    -------
    values : dict of str to str
        About as many of each view.
    """
    line = np.asarray(X.matrix.toarray() if sp.issparse(X.matrix) else X.matrix).ravel()
    found: dict[str, float] = {}
    each = max(1, MOST_VALUES // X.layout.n_views)
    for view in X.layout.names:
        part = line[X.layout.block(view)]
        order = np.argsort(-np.abs(part), kind="stable")[:each]
        columns = sorted(order[part[order] != 0.0].tolist())
        for name, column in zip(names.texts(view, columns), columns, strict=True):
            found[name] = float(part[column])
    return short_values(found)


def strong_columns(learner: Any, names: ColumnNames, X: MultiView) -> list[StrongColumn]:
    """Return the columns that contribute most to the scores of some rows.

    Parameters
    ----------
    learner : learner
        A fitted one.
    names : ColumnNames
        Of the columns.
    X : MultiView
        The rows; at most 300 of them count, evenly spaced, because rows are often sorted.

    Returns
    -------
    columns : list of StrongColumn
        At most 20; none where the learner has no weights of columns.
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
    """Return the strongest interactions of a machine, by name.

    Parameters
    ----------
    learner : learner
        A fitted one.
    names : ColumnNames
        Of the columns.
    top : int, default=10
        How many of each order.

    Returns
    -------
    interactions : list of StrongInteraction
        By their order, the strongest first; none of a learner without interactions.
    """
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
