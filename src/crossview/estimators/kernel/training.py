"""Learning from drawn rows, again and again from the start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from crossview.algorithms.kernel.rounds import Drawable, Learner, drawable, learn
from crossview.algorithms.kernel.scores import mean_scores
from crossview.algorithms.kernel.step import Examples, Settings
from crossview.batch import read_only
from crossview.estimators.kernel.features import FeatureWeights
from crossview.estimators.kernel.supports import SupportVectors
from crossview.kernels.rows import Rows


class TrainingSet(NamedTuple):
    """The rows, labels and weights that `fit` learns from."""

    rows: Rows
    labels: np.ndarray  # (n, K): -1 and 1, or a number; NaN in an unlabeled row
    weight: np.ndarray  # (n,)


def learn_drawn(
    model: FeatureWeights | SupportVectors,
    data: TrainingSet,
    learner: Any,
    random_state: np.random.RandomState,
    advance: Callable[[int], None],
) -> _Training:
    """Learn drawn rows; return the training, which knows the last step and scores rows of `data`.

    ``model`` holds the rows of ``data``, and ``learner`` has the parameters.
    """
    settings, steps = learner._settings(drawn=True), learner.n_iterations
    training = _Training(model, data.rows, bool(learner.average), settings, advance)
    drawn = drawable(data.labels, data.weight, settings.squared)
    if learner.schedule in ("rounds", "alternating"):
        drawn = _with_agreement(drawn, data.rows, settings)
    steps = None if steps == "auto" else int(steps)  # chosen by a held-out part
    learn(Learner(training.fit, training.score), drawn, learner.schedule, steps, random_state)
    return training


def _with_agreement(data: Drawable, rows: Rows, settings: Settings) -> Drawable:
    """Leave out the unlabeled rows that change nothing: a row needs two views that agree."""
    n_views = np.full(len(data.weight), len(rows.ptr) - 1)
    if len(rows.present):
        n_views = rows.present.sum(axis=1)
    learned = settings.disagreement > 0.0 if settings.squared else not settings.supervised
    agree = (n_views[data.unknown] > 1) & learned
    return data._replace(unknown=data.unknown[agree])


class _Training:
    """Learns the rows that a model holds, and scores them."""

    def __init__(
        self,
        model: FeatureWeights | SupportVectors,
        rows: Rows,
        average: bool,
        settings: Settings,
        advance: Callable[[int], None],
    ) -> None:
        self.model, self.present, self.advance = model, rows.present, advance
        self.average, self.settings = average, settings
        self.n_views = len(rows.ptr) - 1
        self.steps = 0
        self.n_scores = 1

    def fit(self, draws: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> None:
        """Learn from the start, a step per draw."""
        drawn, places = np.unique(draws, return_inverse=True)
        examples = Examples(
            read_only(labels[drawn]), read_only(weight[drawn]), self._present_in(drawn)
        )
        self.n_scores = labels.shape[1]
        self.steps = self.model.learn_draws(
            drawn, places, examples, self.settings, self.average, self.advance
        )

    def score(self, wanted: np.ndarray) -> np.ndarray:
        """Return the joint scores of rows."""
        sums = np.zeros((len(wanted), self.n_views, self.n_scores))
        self.model.add_held_sums(wanted, sums)
        out = np.zeros((len(wanted), self.n_scores))
        mean_scores(sums, self._present_in(wanted), self.settings.lam, self.steps, out)
        return out

    def _present_in(self, rows: np.ndarray) -> np.ndarray:
        return read_only(self.present[rows]) if len(self.present) else self.present
