"""The settings that all models of a comparison share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crossview.catalog.learner import OF_COMPARE, Learner
from crossview.errors import InputError
from crossview.labels import has_label
from crossview.scoring.metrics import least_rows, signed_score
from crossview.scoring.problems import Problem, Scored


@dataclass
class Run:
    """Settings that all models of a comparison share; sent to the workers.

    problem: what is predicted, and the metric that decides.
    seed: of folds and shuffling.
    epochs: passes over the training rows; None: as each learner needs.
    grid: values to try, instead of those of the catalog.
    budget: seconds that the comparison may take.
    given_metric: whether somebody asks for the metric.
    user: how all models use the column of ``per=``; see `ComparisonRow.user`.
    in_order: whether rows are learned in their order, as `train` learns them in order.
    """

    learners: list[Learner]
    problem: Problem
    seed: int
    epochs: int | None
    grid: Mapping[str, Sequence[Any]]
    budget: float = math.inf
    weighted: bool = False
    given_metric: bool = False
    user: str = ""
    in_order: bool = False

    @property
    def names(self) -> list[str]:
        """The names of the learners."""
        return [learner.name for learner in self.learners]

    @property
    def metric(self) -> str:
        """The metric that decides."""
        return self.problem.metric

    def make(self, learner: Learner, setting: Mapping[str, Any]) -> Any:
        """Return a new estimator with this setting; ``epochs`` in it is the number of passes."""
        parameters = {key: value for key, value in setting.items() if key not in OF_COMPARE}
        passes = learner.passes(setting.get("epochs", self.epochs))
        if self.in_order and learner.shuffles:
            parameters["shuffle"] = False
        return learner.make(**parameters, **passes, random_state=self.seed)

    def by_label(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows with and without label; those of a class left out are in neither."""
        return np.flatnonzero(self.problem.is_known(y)), np.flatnonzero(~has_label(y))

    def score(self, y: np.ndarray, scored: Scored) -> float:
        """Return the metric that decides, with its sign such that higher is better."""
        return signed_score(self.metric, self.problem.measure(self.metric, y, scored))

    def check_rows(self, n: int, where: str) -> None:
        """Refuse a metric of more rows than there are."""
        if n < least_rows(self.metric):
            raise InputError(
                f"{self.metric} needs {least_rows(self.metric)} rows, and {where} has {n}; "
                "give a smaller k, or a share of the rows, such as 0.1"
            )
