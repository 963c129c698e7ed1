"""Metrics of the predicted classes.

Each function takes the confusion matrix, ndarray of shape (n_classes, n_classes), rows per true
class (first axis) and predicted class, and returns one value for all rows, or an ndarray of shape
(n_classes,) with one value per class: with two classes that of the positive class counts, with
more the mean over the classes that occur.  Where a value has the form 0 / 0, it is 0.
"""

from __future__ import annotations

import numpy as np

__all__ = ["accuracy", "balanced_accuracy", "f1", "g_mean", "precision", "recall"]


def accuracy(confusion: np.ndarray) -> float:
    """Return the share of the rows that are predicted right."""
    return float(confusion.diagonal().sum() / confusion.sum())


def f1(confusion: np.ndarray) -> np.ndarray:
    """Return the harmonic mean of precision and recall."""
    right, true, predicted = _counts(confusion)
    return _ratio(2 * right, true + predicted)


def precision(confusion: np.ndarray) -> np.ndarray:
    """Return the share of the rows predicted as the class that are of it."""
    right, _, predicted = _counts(confusion)
    return _ratio(right, predicted)


def recall(confusion: np.ndarray) -> np.ndarray:
    """Return the share of the rows of the class that are predicted as it."""
    right, true, _ = _counts(confusion)
    return _ratio(right, true)


def balanced_accuracy(confusion: np.ndarray) -> float:
    """Return the mean recall of the classes that occur."""
    return float(recall(confusion)[confusion.sum(axis=1) > 0].mean())


def g_mean(confusion: np.ndarray) -> np.ndarray:
    """Return the geometric mean of the recall of the class and the recall of the others."""
    right, true, predicted = _counts(confusion)
    rest = true.sum() - true
    return _ratio(
        np.sqrt(right) * np.sqrt(rest - (predicted - right)), np.sqrt(true) * np.sqrt(rest)
    )


def _counts(confusion: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows per class that are predicted right, that are of it, and that are predicted as it."""
    return confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    return numerator / np.maximum(denominator, 1)
