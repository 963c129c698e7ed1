"""What training keeps for pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from crossview.data.labeled import LabeledSource
from crossview.labels import has_label
from crossview.scoring.diagnostics import (
    Diagnostics,
    DifferingRow,
    expert_weights,
    most_differing,
)
from crossview.scoring.drift import scores_of_views
from crossview.scoring.progressive import ProgressiveValidation
from crossview.scoring.row_values import cells_of_row, columns_of, numbers_of, strong_columns
from crossview.scoring.weights import ColumnNames
from crossview.training.last_rows import LastRows

__all__ = ["diagnose"]


def diagnose(
    source: LabeledSource,
    learner: Any,
    encoder: Any,
    last: LastRows,
    name: str,
    scored: ProgressiveValidation | None = None,
) -> Diagnostics:
    """Return what a training keeps.

    Parameters
    ----------
    source : LabeledSource
        Where the rows came from.
    learner, encoder : estimator
        As trained; the encoder may be None.
    last : LastRows
        The last rows that were learned.
    name : str
        The model.
    scored : ProgressiveValidation or None
        The first pass; None for a learner without passes.

    Returns
    -------
    Diagnostics
        With curves and scored rows where the pass kept its history.
    """
    found = Diagnostics(model=name, view_model=name, experts=expert_weights(learner))
    X = last.X
    if X is not None:
        found.views = numbers_of(source, X)
        found.views_of = f"the last {len(X):,} rows"
        if scored is None or scored.history is not None:
            names = ColumnNames.of_model(learner, encoder)
            found.differing = _differing(learner, encoder, names, last)
            found.differing_of = "the last that were learned"
            found.columns = strong_columns(learner, names, X)
            found.columns_of = "the last rows that were learned"
    if scored is None:
        return found
    if hasattr(scored.tally, "confusion"):
        found.class_rows = scored.tally.confusion.sum(axis=1).tolist()
    if scored.history is not None:
        of_run = scored.history
        found.errors = [of_run.errors.curve(name, root=not found.class_rows)]
        if len(of_run.differences.rows):
            found.differences = [of_run.differences.curve(name)]
        found.scored = of_run.sample.scored()
    return found


def _differing(
    learner: Any, encoder: Any, names: ColumnNames, last: LastRows
) -> list[DifferingRow]:
    """The rows in which the views differ most, of those whose cells were kept."""
    read = last.read
    if last.X is None or read is None or not len(read) or last.X.layout.n_views < 2:
        return []
    read = read.take(np.arange(len(read))[-len(last.X) :])
    X, columns = last.X[-len(read) :], columns_of(encoder)
    each = scores_of_views(learner, X)
    rows = most_differing(each)
    predicted = learner.predict(X[rows]).tolist() if len(rows) else []
    placed = len(set(read.file.tolist())) == 1  # in the source, and not in one of its files
    return [
        DifferingRow(
            row=int(read.row[i]) if placed else -1,
            label=_text(read.y[i]) if has_label(read.y[[i]])[0] else "",
            predicted=_text(said),
            scores={
                view: float(score)
                for view, score in zip(X.layout.names, each[i], strict=True)
                if not np.isnan(score)
            },
            values=cells_of_row(read.X, i, names, columns, X[[i]]),
        )
        for i, said in zip(rows.tolist(), predicted, strict=True)
    ]


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
