"""What an evaluation keeps for pictures: a sample of the rows, and where views differ most."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from crossview.data.encoding.encode import ViewEncoder
from crossview.evaluating.counts import ROWS_FOR_SCALE
from crossview.scoring.diagnostics import (
    MOST_DIFFERING,
    DifferingRow,
    RowSample,
    StrongColumn,
    ViewNumbers,
    mean_difference,
    n_sampled,
    view_numbers,
)
from crossview.scoring.fitted_model import FittedModel
from crossview.scoring.problems import Scored, Task
from crossview.scoring.row_values import cells_of_row, columns_of, strong_columns
from crossview.scoring.weights import ColumnNames
from crossview.views import MultiView

__all__ = ["Keeper", "Kept", "Start", "start_of"]


class Start(NamedTuple):
    """What the first batch with a label says before any row is counted.

    Attributes
    ----------
    typical : Scored
        Its first rows, which say where the scores are.
    numbers : list of ViewNumbers
        Its views in numbers.
    strong : list of StrongColumn
        The columns that contribute most to its scores.
    """

    typical: Scored
    numbers: list[ViewNumbers]
    strong: list[StrongColumn]


def start_of(fitted: FittedModel, X: MultiView, scored: Scored) -> Start:
    """Return what the first rows with a label say.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    X : MultiView
        The rows of the first batch.
    scored : Scored
        What the model says of them.
    """
    columns = kinds = None
    if isinstance(fitted.encoder, ViewEncoder):
        columns = {view: len(names) for view, names in fitted.encoder.view_columns().items()}
        kinds = fitted.encoder.column_kinds()
    strong = strong_columns(fitted.learner, ColumnNames.of_model(fitted.learner, fitted.encoder), X)
    typical = scored.take(slice(ROWS_FOR_SCALE))
    return Start(typical, view_numbers(X, columns, kinds), strong)


@dataclass
class Kept:
    """What is kept of some rows; that of consecutive rows adds up.

    Attributes
    ----------
    sample : RowSample
        A sample of the rows.
    most : list of (float, DifferingRow)
        The rows in which the views differ most, and how much.
    """

    sample: RowSample
    most: list[tuple[float, DifferingRow]] = field(default_factory=list)

    def __add__(self, other: Kept) -> Kept:
        return Kept(self.sample + other.sample, _first_most([*self.most, *other.most]))


class Keeper:
    """Keeps what pictures need, batch by batch.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    task : Task
        What is predicted.
    first_row : int, default=0
        Labeled rows before these, which others keep.

    Attributes
    ----------
    kept : Kept
        What was kept.
    """

    def __init__(self, fitted: FittedModel, task: Task, first_row: int = 0) -> None:
        self.fitted, self.task = fitted, task
        self.views = fitted.learner.layout_.names
        n = n_sampled(len(task.classes), len(self.views))
        self.kept = Kept(RowSample(n, first_row=first_row))
        self._names = ColumnNames.of_model(fitted.learner, fitted.encoder)
        self._columns = columns_of(fitted.encoder)

    def add(
        self,
        X: MultiView,
        source: Any,
        places: np.ndarray,
        y: np.ndarray,
        scored: Scored,
        each: Any,
    ) -> None:
        """Keep some of these rows.

        Parameters
        ----------
        X : MultiView
            The rows.
        source : callable
            Takes the position of one of them, and returns rows before they are encoded, and its
            position there.
        places : ndarray of int
            Their positions in the source.
        y : ndarray
            Their labels.
        scored : Scored
            What the model says of them.
        each : ndarray of shape (n_samples, n_views) or None
            The scores of their views; None for one view.
        """
        drawn = self.kept.sample.draw(len(y))
        some = scored.take(drawn)
        more = None if each is None else each[drawn]
        self.kept.sample.add(y=self.task.encode(y)[drawn], view_scores=more, **some._asdict())
        if each is not None:
            self._differ(X, source, places, y, scored, each)

    def _differ(
        self,
        X: MultiView,
        source: Any,
        places: np.ndarray,
        y: np.ndarray,
        scored: Scored,
        each: np.ndarray,
    ) -> None:
        """Keep those rows in which the views differ most."""
        difference, most = np.nan_to_num(mean_difference(each)), list(self.kept.most)
        least = most[-1][0] if len(most) == MOST_DIFFERING else 0.0
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
                values=self._cells(source(i), X[[i]]),
            )
            most.append((float(difference[i]), row))
        self.kept.most = _first_most(most)

    def _cells(self, source: tuple[Any, int], encoded: MultiView) -> dict[str, str | None]:
        rows, i = source
        return cells_of_row(rows, i, self._names, self._columns, encoded)


def _first_most(rows: list[tuple[float, DifferingRow]]) -> list[tuple[float, DifferingRow]]:
    """The rows in which the views differ most, of equals the first ones."""
    return sorted(rows, key=lambda one: -one[0])[:MOST_DIFFERING]


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
