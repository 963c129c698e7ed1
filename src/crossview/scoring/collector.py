"""The collector of what results keep for pictures, whichever verb scores the rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from crossview.scoring.diagnostics import (
    MOST_DIFFERING,
    MOST_ROWS,
    Curve,
    DifferingRow,
    ErrorCurve,
    RowSample,
    ScoredRows,
    ViewDifferences,
    mean_difference,
    most_differing,
    n_sampled,
)
from crossview.scoring.problems import Classification, Problem, Scored, errors_of

__all__ = ["DiagnosticsCollector"]


class DiagnosticsCollector:
    """Collector of the diagnostics of one model; its size does not grow with the rows.

    Collectors of consecutive rows add up, but for their curves, which need all rows in order.
    Of the labeled rows ``first_row`` come before these, and other collectors have them.
    Attributes are ``errors``, the mean error so far; ``differences`` of the views of some rows;
    ``sample``, some rows with their scores; and ``most``, the rows in which the views differ most.
    """

    def __init__(
        self,
        task: Problem,
        views: Sequence[str],
        most_rows: int = MOST_ROWS,
        *,
        seed: int = 0,
        first_row: int = 0,
    ) -> None:
        self.task, self.views = task, views
        self.errors, self.differences = ErrorCurve(), ViewDifferences()
        n = min(most_rows, n_sampled(len(task.classes), len(views)))
        self.sample = RowSample(n, seed, first_row)
        self.most: list[tuple[float, DifferingRow]] = []

    def go_on(self, tally: Any) -> None:
        """Begin the curve of errors after the rows of a tally."""
        classes = isinstance(self.task, Classification)
        total = float(tally.n_rows - np.trace(tally.confusion)) if classes else tally.loss
        self.errors = ErrorCurve(tally.n_rows, total)

    def add(self, y: np.ndarray, scored: Scored) -> None:
        """Add rows of a stream, each scored before it was learned."""
        self.errors.update(errors_of(self.task, y, scored))
        self.add_to_sample(y, scored)

    def add_to_sample(
        self, y: np.ndarray, scored: Scored, view_scores: np.ndarray | None = None
    ) -> None:
        """Add rows to the sample alone, with the scores of their views where there are any."""
        drawn = self.sample.draw(len(y))
        if len(drawn):
            codes = self.task.encode(y)[drawn]
            each = None if view_scores is None else view_scores[drawn]
            self.sample.add(y=codes, view_scores=each, **scored.take(drawn)._asdict())

    def add_differing(
        self,
        view_scores: np.ndarray | None,
        describe: Callable[[int], tuple[int, Any, Any, dict[str, str | None]]],
    ) -> None:
        """Keep those of some rows in which the views differ most, of equals the first ones.

        Of ``view_scores`` of shape (n_samples, n_views), of None and of one view no row is kept.
        ``describe`` takes the position of a row, and returns its position in the source, its label,
        what is predicted, and some of its cells.
        """
        rows = most_differing(view_scores)
        if view_scores is None or not len(rows):
            return
        least = self.most[-1][0] if len(self.most) == MOST_DIFFERING else 0.0
        sizes = mean_difference(view_scores[rows])
        for i, size in zip(rows.tolist(), sizes.tolist(), strict=True):
            if not size > least:
                break
            place, label, predicted, values = describe(i)
            scores = {
                view: float(score)
                for view, score in zip(self.views, view_scores[i], strict=True)
                if not np.isnan(score)
            }
            found = DifferingRow(place, _text(label), _text(predicted), scores, values)
            self.most.append((size, found))
        self._keep_most()

    def add_scored(
        self,
        scored: ScoredRows,
        look_up: Callable[[int], tuple[int, dict[str, str | None]]],
    ) -> None:
        """Keep rows as `add_differing`; ``look_up`` gives their places in the source and cells."""

        def describe(i: int) -> tuple[int, Any, Any, dict[str, str | None]]:
            place, values = look_up(i)
            if scored.predicted is None:
                return place, scored.y[i], scored.scores[i], values
            classes = self.task.classes
            return place, classes[scored.y[i]], classes[scored.predicted[i]], values

        self.add_differing(scored.view_scores, describe)

    def _keep_most(self) -> None:
        self.most = sorted(self.most, key=lambda one: -one[0])[:MOST_DIFFERING]

    def __add__(self, other: DiagnosticsCollector) -> DiagnosticsCollector:
        total = copy.copy(self)
        total.sample, total.most = self.sample + other.sample, [*self.most, *other.most]
        total._keep_most()
        return total

    @property
    def differing(self) -> list[DifferingRow]:
        """The rows in which the views differ most, the most differing one first."""
        return [row for _, row in self.most]

    def curves(self, model: str) -> tuple[list[Curve], list[Curve]]:
        """Return the curves of errors and of differences, those that there are."""
        errors = self.errors.curve(model, root=not len(self.task.classes))
        some = len(self.differences.rows)
        return [errors], [self.differences.curve(model)] if some else []


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
