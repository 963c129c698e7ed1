"""What stays the same for all rows of one comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crossview.catalog.learner import Learner
from crossview.errors import InputError
from crossview.evaluation.metrics import least_rows, signed_score
from crossview.evaluation.result import Comparison, ComparisonRow
from crossview.evaluation.tasks import Scored, Task
from crossview.labels import has_label
from crossview.views import ViewLayout

__all__ = ["Run"]


@dataclass
class Run:
    """What stays the same for all rows of one comparison.

    Attributes
    ----------
    learners : list of Learner
        What is compared.
    task : Task
        What is predicted, and the metric that decides.
    seed : int
        Of folds and shuffling.
    epochs : int or None
        Passes over the training rows; None: as each learner needs.
    grid : mapping of str to sequence
        Values to try, instead of those of the catalog.
    say : callable
        Called with a few words on what is being done.
    """

    learners: list[Learner]
    task: Task
    seed: int
    epochs: int | None
    grid: Mapping[str, Sequence[Any]]
    say: Callable[[str], None]

    @property
    def metric(self) -> str:
        """The metric that decides."""
        return self.task.metric

    def make(self, learner: Learner, setting: Mapping[str, Any]) -> Any:
        """Return a new estimator with this setting."""
        return learner.make(**setting, **learner.passes(self.epochs), random_state=self.seed)

    def by_label(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows with and without label; every number is a label."""
        known = has_label(y) if len(self.task.classes) else np.ones(len(y), dtype=bool)
        return np.flatnonzero(known), np.flatnonzero(~known)

    def score(self, y: np.ndarray, scored: Scored) -> float:
        """Return the metric that decides, with its sign such that higher is better."""
        return signed_score(self.metric, self.task.measure(self.metric, y, scored))

    def check_rows(self, n: int, where: str) -> None:
        """Refuse a metric of more rows than there are."""
        if n < least_rows(self.metric):
            raise InputError(
                f"{self.metric} needs {least_rows(self.metric)} rows, and {where} has {n}; "
                "give a smaller k, or a share of the rows, such as 0.1"
            )

    def answer(self, layout: ViewLayout, rows: list[ComparisonRow], **known: Any) -> Comparison:
        """Return the rows in order, and what else is known of them."""
        order = sorted(
            range(len(rows)), key=lambda i: signed_score(self.metric, rows[i].value), reverse=True
        )
        return Comparison(
            task=self.task.name,
            metric=self.metric,
            positive=self.task.positive_label,
            threshold=self.task.threshold,
            tuned=self.task.tunes,
            classes=self.task.classes.tolist(),
            views=dict(zip(layout.names, layout.widths, strict=True)),
            seed=self.seed,
            epochs=self.epochs,
            rows=rows,
            best=order[0],
            runner_up=order[1],
            **known,
        )
