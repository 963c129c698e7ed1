"""What encoded rows hold, and what contributes to their scores, by the names of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.errors import InputError
from crossview.evaluation.diagnostics import MOST_VALUES, StrongColumn, short_values
from crossview.evaluation.weights import ColumnNames
from crossview.views import MultiView

__all__ = ["MOST_ROWS", "entries_of_row", "strong_columns"]

# rows whose contributions are computed, and columns that are kept
MOST_ROWS, MOST_COLUMNS = 300, 20


def entries_of_row(learner: Any, encoder: Any, X: MultiView) -> dict[str, str]:
    """Return the largest entries of a row, as encoded, by the names of their columns.

    Parameters
    ----------
    learner, encoder : estimator
        They know the names; the encoder may be None.
    X : MultiView
        One row.

    Returns
    -------
    values : dict of str to str
        About as many of each view.
    """
    line = np.asarray(X.matrix.toarray() if sp.issparse(X.matrix) else X.matrix).ravel()
    names = ColumnNames(learner, encoder)
    found: dict[str, float] = {}
    each = max(1, MOST_VALUES // X.layout.n_views)
    for view in X.layout.names:
        part = line[X.layout.block(view)]
        order = np.argsort(-np.abs(part), kind="stable")[:each]
        columns = sorted(order[part[order] != 0.0].tolist())
        for name, column in zip(names.texts(view, columns), columns, strict=True):
            found[name] = float(part[column])
    return short_values(found)


def strong_columns(learner: Any, encoder: Any, X: MultiView) -> list[StrongColumn]:
    """Return the columns that contribute most to the scores of the last of some rows.

    Parameters
    ----------
    learner, encoder : estimator
        Fitted; the encoder, which names the columns, may be None.
    X : MultiView
        The rows; 300 of them count.

    Returns
    -------
    columns : list of StrongColumn
        At most 20; none where the learner has no weights of columns.
    """
    try:
        found = learner.contributions(X[-MOST_ROWS:])
    except InputError:
        return []
    n = max(found.shape[0], 1)
    size = np.bincount(found.indices, np.abs(found.data), minlength=found.shape[1]) / n
    total = np.bincount(found.indices, found.data, minlength=found.shape[1])
    rows = np.bincount(found.indices, minlength=found.shape[1])
    names, kept = ColumnNames(learner, encoder), []
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
