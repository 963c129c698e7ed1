"""What an encoded row holds, by the names of its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.evaluation.diagnostics import MOST_VALUES, short_values
from crossview.evaluation.weights import ColumnNames
from crossview.views import MultiView

__all__ = ["entries_of_row"]


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
