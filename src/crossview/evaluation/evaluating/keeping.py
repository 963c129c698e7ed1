"""What an evaluation keeps for pictures: a sample of the rows, and where views differ most."""

from __future__ import annotations

from typing import Any

import numpy as np

from crossview.evaluation.diagnostics import (
    MOST_DIFFERING,
    Diagnostics,
    DifferingRow,
    RowSample,
    StrongColumn,
    ViewNumbers,
    expert_weights,
    mean_difference,
    n_sampled,
    view_numbers,
)
from crossview.evaluation.fitted_model import FittedModel
from crossview.evaluation.row_values import entries_of_row, strong_columns
from crossview.evaluation.tasks import Scored, Task
from crossview.evaluation.weights import ColumnNames
from crossview.streams.encode import ViewEncoder
from crossview.views import MultiView

__all__ = ["Keeper"]


class Keeper:
    """Keeps what pictures need, batch by batch.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    task : Task
        What is predicted.
    """

    def __init__(self, fitted: FittedModel, task: Task) -> None:
        self.fitted, self.task = fitted, task
        self.views = fitted.learner.layout_.names
        self.sample = RowSample(n_sampled(len(task.classes), len(self.views)))
        self._names = ColumnNames.of_model(fitted.learner, fitted.encoder)
        self._numbers: list[ViewNumbers] = []
        self._strong: list[StrongColumn] = []
        self._most: list[tuple[float, DifferingRow]] = []

    def add(
        self, X: MultiView, places: np.ndarray, y: np.ndarray, scored: Scored, each: Any
    ) -> None:
        """Keep some of these rows.

        Parameters
        ----------
        X : MultiView
            The rows.
        places : ndarray of int
            Their positions in the source.
        y : ndarray
            Their labels.
        scored : Scored
            What the model says of them.
        each : ndarray of shape (n_samples, n_views) or None
            The scores of their views; None for one view.
        """
        if not self._numbers:
            self._numbers = view_numbers(X, *self._columns())
            self._strong = strong_columns(self.fitted.learner, self._names, X)
        drawn = self.sample.draw(len(y))
        some = scored.take(drawn)
        more = None if each is None else each[drawn]
        self.sample.add(y=self.task.encode(y)[drawn], view_scores=more, **some._asdict())
        if each is not None:
            self._differ(X, places, y, scored, each)

    def _columns(self) -> tuple[Any, Any]:
        encoder = self.fitted.encoder
        if not isinstance(encoder, ViewEncoder):
            return None, None
        n_columns = {view: len(names) for view, names in encoder.view_columns().items()}
        return n_columns, encoder.column_kinds()

    def _differ(
        self, X: MultiView, places: np.ndarray, y: np.ndarray, scored: Scored, each: np.ndarray
    ) -> None:
        """Keep those rows in which the views differ most."""
        difference = np.nan_to_num(mean_difference(each))
        least = self._most[-1][0] if len(self._most) == MOST_DIFFERING else 0.0
        for i in np.argsort(-difference, kind="stable")[:MOST_DIFFERING].tolist():
            if not difference[i] > least:
                break
            said = scored.scores[i] if scored.predicted is None else scored.predicted[i]
            row = DifferingRow(
                row=int(places[i]),
                label=_text(y[i]),
                predicted=_text(said if scored.predicted is None else self.task.classes[said]),
                scores={
                    view: float(score)
                    for view, score in zip(self.views, each[i], strict=True)
                    if not np.isnan(score)
                },
                values=entries_of_row(self._names, X[[i]]),
            )
            self._most.append((float(difference[i]), row))
        self._most.sort(key=lambda one: -one[0])
        del self._most[MOST_DIFFERING:]

    def diagnostics(self, model: str, confusion: list[list[int]] | None) -> Diagnostics:
        """Return what was kept; the confusion matrix says how many rows each class has."""
        scored = self.sample.scored()
        return Diagnostics(
            model=model,
            views=self._numbers,
            views_of="the first batch",
            class_rows=[sum(line) for line in confusion or []],
            scored=scored,
            view_model=model,
            by_view=None if scored is None or scored.view_scores is None else scored,
            differing=[row for _, row in self._most],
            columns=self._strong,
            columns_of="the rows of the first batch",
            experts=expert_weights(self.fitted.learner),
        )


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
