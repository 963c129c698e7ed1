"""Calibration and threshold by rows that were held out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from crossview.evaluation.tasks import Classification, Task
from crossview.labels import has_label, known_labels
from crossview.views import MultiView

__all__ = ["held_out_scores", "threshold_of", "tune"]


def held_out_scores(
    learner: Any,
    task: Classification,
    X: MultiView,
    y: np.ndarray,
    weight: np.ndarray | None,
    seed: int,
    **params: Any,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None] | None:
    """Scores of rows held out by three folds, labels and weights; None if rows are too few."""
    known, unlabeled = np.flatnonzero(has_label(y)), np.flatnonzero(~has_label(y))
    labels = known_labels(y)
    counts = np.unique(labels, return_counts=True)[1]
    precomputed = getattr(learner, "kernel", None) == "precomputed"  # rows are columns, too
    if precomputed or len(counts) < 2 or counts.min() < 2:
        return None
    scores, of_rows, tested = [], [], []
    for train, test in task.inner_folds(labels, seed=seed).split(labels, labels):
        part = np.concatenate([known[train], unlabeled])
        own = None if weight is None else weight[part]
        model = clone(learner).set_params(calibration="none", **params).fit(X[part], y[part], own)
        scores.append(model.decision_function(X[known[test]]))
        of_rows.append(labels[test])
        tested.append(known[test])
    weights = None if weight is None else weight[np.concatenate(tested)]
    return np.concatenate(scores), np.concatenate(of_rows), weights


def tune(
    learner: Any,
    task: Classification,
    scores: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray | None,
) -> None:
    """Calibrate a fitted learner by scores of held-out rows, and place its threshold."""
    learner.calibrate(scores, labels, weight)
    scored = task.decide(scores, learner.probabilities(scores))
    learner.set_threshold(task.tune(labels, scored)[0])


def threshold_of(learner: Any, task: Task) -> dict[str, Any]:
    """The threshold of a classifier, as a probability of the positive class."""
    threshold = getattr(learner, "threshold_", None)
    return {
        "positive": task.positive_label,
        "threshold": None if threshold is None else task.of_other_side(threshold),
    }
