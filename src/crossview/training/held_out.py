"""Calibration and threshold by rows that were held out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from crossview.errors import argument
from crossview.estimators.base.calibration import FOLDS
from crossview.estimators.base.held_out import (
    Part,
    fit_parts,
    folds_to_fit,
    groups_of,
    notes_of_alone,
)
from crossview.labels import has_label, known_labels
from crossview.scoring.problems import Classification, Problem
from crossview.views import MultiView


def can_hold_out(learner: Any, y: np.ndarray) -> bool:
    """Return whether folds can be held out: of enough labeled rows, which are no kernel values."""
    counts = np.unique(known_labels(y), return_counts=True)[1]
    precomputed = getattr(learner, "kernel", None) == "precomputed"  # rows are columns, too
    return not precomputed and len(counts) > 1 and int(counts.min()) > 1


def held_out_scores(
    learner: Any,
    task: Classification,
    X: MultiView,
    y: np.ndarray,
    weight: np.ndarray | None,
    seed: int,
    **params: Any,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None] | None:
    """Scores of rows held out by three folds, labels and weights; None if rows are too few.

    Rows of one group of X are held out together.
    """
    known, unlabeled = np.flatnonzero(has_label(y)), np.flatnonzero(~has_label(y))
    labels = known_labels(y)
    if not can_hold_out(learner, y):
        return None
    codes = np.unique(labels, return_inverse=True)[1]
    n_folds = min(FOLDS, int(np.bincount(codes).min()))
    parts, tests = [], []
    for train, test in folds_to_fit(n_folds, len(codes), codes, groups_of(X, known), seed):
        part = np.concatenate([known[train], unlabeled])
        parts.append(Part(X, y, weight, part))
        tests.append(test)
    model = clone(learner).set_params(calibration="none", **params)
    fitted = zip(tests, fit_parts(model, parts), strict=True)
    scores = np.concatenate([one.decision_function(X[known[test]]) for test, one in fitted])
    tested = np.concatenate(tests)
    return scores, labels[tested], None if weight is None else weight[known[tested]]


def notes_of_groups(task: Problem, groups: np.ndarray | None, y: np.ndarray) -> list[str]:
    """Return a line for rows without a group, and for a class that is of one group alone."""
    if groups is None:
        return []
    lines = notes_of_alone(groups)
    if not isinstance(task, Classification):
        return lines
    known = has_label(y)
    codes = np.unique(np.column_stack([task.encode(known_labels(y[known])), groups[known]]), axis=0)
    alone = np.flatnonzero(np.bincount(codes[:, 0]) == 1)
    if not len(alone):
        return lines
    return [
        *lines,
        f"class {task.classes.tolist()[alone[0]]!r} has rows of one group alone: it is learned "
        f"always, and folds hold rows out one by one, as without {argument('groups')}",
    ]


def tune(
    learner: Any,
    task: Classification,
    scores: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray | None,
) -> np.ndarray:
    """Calibrate a fitted learner by scores of held-out rows, and place its threshold.

    Returns how many of these rows are predicted as each class.
    """
    learner.calibrate(scores, labels, weight)
    scored = task.decide(scores, learner.probabilities(scores))
    learner.set_threshold(task.tune(labels, scored)[0])
    return np.bincount(task.encode(learner.decide(scores)), minlength=len(task.classes))


def threshold_of(learner: Any, task: Problem) -> dict[str, Any]:
    """The positive class and its threshold, as a probability, and what chose them."""
    threshold = getattr(learner, "threshold_", None)
    return {
        "positive": task.positive_label,
        "positive_by": task.positive_by,
        "threshold": None if threshold is None else task.of_other_side(threshold),
        "threshold_for": None if threshold is None else task.tuned_for,
    }
