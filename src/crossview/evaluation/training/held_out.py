"""Calibration and threshold by rows that were held out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from crossview.evaluation.tasks import Classification, Task
from crossview.labels import has_label
from crossview.views import MultiView

__all__ = ["held_out_scores", "threshold_of", "tune"]


def held_out_scores(
    learner: Any,
    task: Classification,
    X: MultiView,
    y: np.ndarray,
    seed: int,
    **params: Any,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Scores of rows held out by three folds, and their labels; None if too few to hold out."""
    known, unlabeled = np.flatnonzero(has_label(y)), np.flatnonzero(~has_label(y))
    labels = np.asarray(y[known].tolist())
    counts = np.unique(labels, return_counts=True)[1]
    precomputed = getattr(learner, "kernel", None) == "precomputed"  # rows are columns, too
    if precomputed or len(counts) < 2 or counts.min() < 2:
        return None
    scores, of_rows = [], []
    for train, test in task.inner_folds(labels, seed=seed).split(labels, labels):
        part = np.concatenate([known[train], unlabeled])
        model = clone(learner).set_params(calibration="none", **params).fit(X[part], y[part])
        scores.append(model.decision_function(X[known[test]]))
        of_rows.append(labels[test])
    return np.concatenate(scores), np.concatenate(of_rows)


def tune(learner: Any, task: Classification, scores: np.ndarray, labels: np.ndarray) -> None:
    """Calibrate a fitted learner by scores of held-out rows, and place its threshold."""
    learner.calibrate(scores, labels)
    scored = task.decide(scores, learner.probabilities(scores))
    learner.set_threshold(task.tune(labels, scored)[0])


def threshold_of(learner: Any, task: Task) -> dict[str, Any]:
    """The threshold of a classifier, as a probability of the positive class."""
    threshold = getattr(learner, "threshold_", None)
    return {
        "positive": task.positive_label,
        "threshold": None if threshold is None else task.of_other_side(threshold),
    }
