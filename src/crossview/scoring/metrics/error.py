"""Metrics of predicted numbers.

Of the kind *error*: each function takes the numbers and the predictions, ndarrays of shape
(n_samples,), and returns the error of each row, at least 0.  The value of the metric is their mean,
or the root of their mean square where its entry says ``root_mean_square``.

Of the kind *explained*: each function takes the sum of the squared errors, and that of the squared
differences of the numbers from their mean, ndarrays of any shape.  It returns the values, NaN where
all numbers are the same.
"""

from __future__ import annotations

import numpy as np


def absolute_errors(y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return the absolute error of each row."""
    return np.abs(predictions - y)


def r2(squares: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the coefficient of determination: 1 - squares / total."""
    return 1.0 - squares / np.where(total > 0.0, total, np.nan)
