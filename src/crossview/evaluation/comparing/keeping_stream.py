"""What a comparison in stream order keeps for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crossview.catalog.learner import Learner
from crossview.evaluation.comparing.run import Run
from crossview.evaluation.diagnostics import (
    MOST_ROWS_OF_STREAM,
    Diagnostics,
    ErrorCurve,
    RowSample,
    ViewDifferences,
    expert_weights,
    n_sampled,
)
from crossview.evaluation.result import Comparison
from crossview.evaluation.tasks import Scored, errors_of, join
from crossview.views import MultiView

__all__ = ["KeptOfStream", "join_kept"]


class KeptOfStream:
    """What is kept of one model.

    Parameters
    ----------
    run : Run
        What is compared.
    learner : Learner
        The entry of the model.
    n_views : int
        Number of views.

    Attributes
    ----------
    differences : ViewDifferences or None
        How the views differ; None for a learner that does not say how its views share a step: only
        those are what the papers compare.
    """

    def __init__(self, run: Run, learner: Learner, n_views: int) -> None:
        self.run, self.name = run, learner.name
        self.errors = ErrorCurve()
        couples = learner.view is None and "coupling" in learner.fixed
        self.differences = ViewDifferences() if couples else None
        most = n_sampled(len(run.task.classes), n_views)
        self.sample = RowSample(min(MOST_ROWS_OF_STREAM, most), run.seed)

    def scores_in_pieces(
        self, model: Any, X: MultiView, y: np.ndarray, weight: np.ndarray | None
    ) -> Scored:
        """Let a model learn labeled rows, cut where the scores of its views are kept."""
        assert self.differences is not None
        parts, done = [], 0
        while done < len(y):
            n = self.errors.n_rows + done
            piece = slice(done, done + self.differences.left(n))
            if self.differences.is_due(n):
                self.differences.add(model, X[done : done + 1], n)
            own = None if weight is None else weight[piece]
            parts.append(self.run.task.score_then_learn(model, X[piece], y[piece], own))
            done = piece.stop
        return join(parts)

    def add(self, y: np.ndarray, scored: Scored) -> None:
        """Count labeled rows."""
        self.errors.update(errors_of(self.run.task, y, scored))
        drawn = self.sample.draw(len(y))
        codes, some = self.run.task.encode(y), scored.take(drawn)
        self.sample.add(y=codes[drawn], **some._asdict())


def join_kept(
    kept: Sequence[KeptOfStream], models: Sequence[Any], answer: Comparison
) -> Diagnostics:
    """Return what was kept of all models; of the rows, what the recommended one said of them.

    Parameters
    ----------
    kept : sequence of KeptOfStream
        One per model.
    models : sequence of learners
        The models.
    answer : Comparison
        The answer.

    Returns
    -------
    Diagnostics
        With curves.
    """
    chosen = answer.recommended
    at = [one.name for one in kept].index(chosen.model)
    numbers = answer.task == "regression"
    return Diagnostics(
        model=chosen.model,
        class_rows=[sum(line) for line in chosen.confusion or []],
        scored=kept[at].sample.scored(),
        errors=[one.errors.curve(one.name, root=numbers) for one in kept],
        differences=[
            one.differences.curve(one.name)
            for one in kept
            if one.differences is not None and len(one.differences.rows)
        ],
        experts=expert_weights(models[at]),
    )
