"""Metrics of the predicted classes.

Each function takes confusion matrices, ndarray of shape (..., n_classes, n_classes): rows per true
class (second last axis) and predicted class (last axis), of one or more ways to predict.  It
returns one value for all rows, ndarray of shape (...), or one value per class, ndarray of shape
(..., n_classes): with two classes that of the positive class counts, with more the mean over the
classes that occur.  A value per class of the form 0 / 0 is NaN, which `values_of_confusions` counts
as 0 unless it is asked.  A metric with parameters in its name takes them by keyword.
"""

from __future__ import annotations

import numpy as np


def accuracy(confusion: np.ndarray) -> np.ndarray:
    """Return the share of the rows that are predicted right."""
    right, true, _ = _counts(confusion)
    return right.sum(axis=-1) / true.sum(axis=-1)


def f1(confusion: np.ndarray) -> np.ndarray:
    """Return the harmonic mean of precision and recall."""
    right, true, predicted = _counts(confusion)
    return _ratio(2 * right, true + predicted)


def macro_f1(confusion: np.ndarray) -> np.ndarray:
    """Return the mean F1 of the classes that occur or are predicted."""
    _, true, predicted = _counts(confusion)
    occurs = true + predicted > 0
    return np.nansum(f1(confusion), axis=-1) / occurs.sum(axis=-1)


def f_beta(confusion: np.ndarray, beta: float) -> np.ndarray:
    """Return F_β: the weighted harmonic mean of precision and recall, recall β² times as much."""
    right, true, predicted = _counts(confusion)
    return _ratio((1.0 + beta**2) * right, beta**2 * true + predicted)


def precision(confusion: np.ndarray) -> np.ndarray:
    """Return the share of the rows predicted as the class that are of it."""
    right, _, predicted = _counts(confusion)
    return _ratio(right, predicted)


def recall(confusion: np.ndarray) -> np.ndarray:
    """Return the share of the rows of the class that are predicted as it."""
    right, true, _ = _counts(confusion)
    return _ratio(right, true)


def balanced_accuracy(confusion: np.ndarray) -> np.ndarray:
    """Return the mean recall of the classes that occur."""
    return np.nansum(recall(confusion), axis=-1) / (confusion.sum(axis=-1) > 0).sum(axis=-1)


def g_mean(confusion: np.ndarray) -> np.ndarray:
    """Return the geometric mean of the recall of the class and the recall of the others."""
    right, true, predicted = _counts(confusion)
    rest = true.sum(axis=-1, keepdims=True) - true
    return _ratio(
        np.sqrt(right) * np.sqrt(rest - (predicted - right)), np.sqrt(true) * np.sqrt(rest)
    )


def cost(confusion: np.ndarray, fp: float, fn: float) -> np.ndarray:
    """Return the mean cost of a row: ``fp`` per false and ``fn`` per missed row of the class."""
    right, true, predicted = _counts(confusion)
    total = fp * (predicted - right) + fn * (true - right)
    return total / true.sum(axis=-1, keepdims=True)


def _counts(confusion: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows per class that are predicted right, that are of it, and that are predicted as it."""
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    return right, confusion.sum(axis=-1), confusion.sum(axis=-2)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Their ratio, NaN where both are 0; a denominator of counts is 0 or at least about 1."""
    return numerator / np.where(denominator == 0, np.nan, denominator)
