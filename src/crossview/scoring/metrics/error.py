"""Metrics of predicted numbers.

Each function takes the numbers and the predictions, ndarrays of shape (n_samples,), and returns
the error of each row, at least 0.  The value of the metric is their mean, or the root of their
mean square where its entry says ``root_mean_square``.
"""

from __future__ import annotations

import numpy as np


def absolute_errors(y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return the absolute error of each row."""
    return np.abs(predictions - y)
