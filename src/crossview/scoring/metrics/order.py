"""Metrics of the order of the scores.

Each function takes ``is_positive``, ndarray of bool, which rows are of the class, at least one
and not all; ``scores``, in which higher means more likely of the class; and ``weight``, how many
rows each entry stands for.  One whose name ends in ``_at_k`` takes ``k`` after them: how many rows,
at most all of them.  It returns one value.

Of rows with equal scores, any may come first: the value is the mean over all their orders, so it
does not depend on the order of the rows.
"""

from __future__ import annotations

import numpy as np


def roc_auc(is_positive: np.ndarray, scores: np.ndarray, weight: np.ndarray) -> float:
    """Return the area under the ROC curve."""
    rows, positive = _down_to_each_score(is_positive, scores, weight)
    true, false = positive / positive[-1], (rows - positive) / (rows[-1] - positive[-1])
    return float(((true[1:] + true[:-1]) * np.diff(false)).sum() / 2.0)


def average_precision(is_positive: np.ndarray, scores: np.ndarray, weight: np.ndarray) -> float:
    """Return the mean precision over the recall."""
    rows, positive = _down_to_each_score(is_positive, scores, weight)
    return float((np.diff(positive) * positive[1:] / rows[1:]).sum() / positive[-1])


def prbep(is_positive: np.ndarray, scores: np.ndarray, weight: np.ndarray) -> float:
    """Return the precision/recall break-even point.

    As many rows are predicted positive as are positive, those with the highest scores; precision
    and recall are then equal.
    """
    n_positive = int(weight[is_positive].sum())
    return _positive_rows(is_positive, scores, weight, n_positive) / n_positive


def precision_at_k(
    is_positive: np.ndarray, scores: np.ndarray, weight: np.ndarray, k: int
) -> float:
    """Return the share of the k rows with the highest scores that are positive."""
    return _positive_rows(is_positive, scores, weight, k) / k


def recall_at_k(is_positive: np.ndarray, scores: np.ndarray, weight: np.ndarray, k: int) -> float:
    """Return the share of the positive rows that are among the k with the highest scores."""
    return _positive_rows(is_positive, scores, weight, k) / int(weight[is_positive].sum())


def _positive_rows(
    is_positive: np.ndarray, scores: np.ndarray, weight: np.ndarray, k: int
) -> float:
    """Return the positive rows among the k with the highest scores, the mean over all orders."""
    # between two scores, rows of equal score come in any order: a straight line
    return float(np.interp(k, *_down_to_each_score(is_positive, scores, weight)))


def _down_to_each_score(
    is_positive: np.ndarray, scores: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and positive rows down to each score, from none to all."""
    place = 1 + np.unique(-scores, return_inverse=True)[1]
    return np.bincount(place, weight).cumsum(), np.bincount(place, weight * is_positive).cumsum()
