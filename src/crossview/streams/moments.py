"""Mean and variance of columns of numbers that stream in."""

from __future__ import annotations

import numpy as np

__all__ = ["Moments"]


class Moments:
    """Count, mean and sum of squared deviations of each column.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    """

    def __init__(self, n_columns: int) -> None:
        self.count, self.mean, self.m2 = (np.zeros(n_columns) for _ in range(3))

    def update(self, values: np.ndarray) -> None:
        """Add rows by the merge of Chan, Golub and LeVeque; NaN is missing.

        Parameters
        ----------
        values : ndarray of shape (n_columns, n_rows)
            The numbers.
        """
        there = ~np.isnan(values)
        count = there.sum(axis=1)
        some = np.maximum(count, 1)
        mean = values.sum(axis=1, where=there) / some
        m2 = ((values - mean[:, None]) ** 2).sum(axis=1, where=there)
        total = self.count + count
        delta = mean - self.mean
        share = count / np.maximum(total, 1)
        self.m2 = self.m2 + m2 + delta**2 * self.count * share
        self.mean = self.mean + delta * share
        self.count = total

    def standardize(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers with mean 0 and variance 1; 0 where all are equal."""
        seen = np.maximum(self.count, 1)
        variance = self.m2 / seen
        # what rounding alone can make of a constant
        eps = np.finfo(float).eps
        rounding = seen * eps * variance + (seen * self.mean * eps) ** 2
        varies = variance > rounding
        scale = np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1)), 0)
        return (values - self.mean[:, None]) * scale[:, None]
