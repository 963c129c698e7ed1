"""Diagnostics of a training."""

from __future__ import annotations

from typing import Any

import numpy as np

from crossview.data.labeled import LabeledSource
from crossview.labels import has_label
from crossview.scoring.collector import (
    DiagnosticsCollector,
    cells_of_row,
    numbers_of,
    strong_columns,
)
from crossview.scoring.diagnostics import Diagnostics, DifferingRow, expert_weights
from crossview.scoring.drift import scores_of_views
from crossview.scoring.problems import Problem
from crossview.scoring.progressive import ProgressiveValidation
from crossview.scoring.weights import ColumnNames
from crossview.training.last_rows import LastRows


def diagnose(
    source: LabeledSource,
    task: Problem,
    learner: Any,
    encoder: Any,
    last: LastRows,
    name: str,
    scored: ProgressiveValidation | None = None,
) -> Diagnostics:
    """Return the diagnostics of a training.

    They have curves and scored rows where the first pass, ``scored``, kept its history.
    """
    found = Diagnostics(model=name, view_model=name, experts=expert_weights(learner))
    X = last.X
    if X is not None:
        found.views = numbers_of(source, X)
        found.views_of = f"the last {len(X):,} rows"
        if scored is None or scored.history is not None:
            names = ColumnNames.of_model(learner, encoder)
            found.differing = _differing(task, learner, names, last)
            found.differing_of = "the last that were learned"
            found.columns = strong_columns(learner, names, X)
            found.columns_of = "the last rows that were learned"
    if scored is None:
        return found
    if hasattr(scored.tally, "confusion"):
        found.class_rows = scored.tally.confusion.sum(axis=1).tolist()
    if scored.history is not None:
        found.errors, found.differences = scored.history.curves(name)
        found.scored = scored.history.sample.scored()
    return found


def _differing(
    task: Problem, learner: Any, names: ColumnNames, last: LastRows
) -> list[DifferingRow]:
    """Return the rows in which the views differ most, of those whose cells were kept."""
    read = last.read
    if last.X is None or read is None or not len(read) or last.X.layout.n_views < 2:
        return []
    read = read.take(np.arange(len(read))[-len(last.X) :])
    X = last.X[-len(read) :]
    placed = len(set(read.file.tolist())) == 1  # in the source, and not in one of its files

    def describe(i: int) -> tuple[int, Any, Any, dict[str, str | None]]:
        label = read.y[i] if has_label(read.y[[i]])[0] else ""
        values = cells_of_row(read.X, i, names, X[[i]])
        return int(read.row[i]) if placed else -1, label, learner.predict(X[[i]])[0], values

    collector = DiagnosticsCollector(task, X.layout.names)
    collector.add_differing(scores_of_views(learner, X), describe)
    return collector.differing
