"""Mean and variance of columns of numbers that stream in."""

from __future__ import annotations

from threading import Lock

import numpy as np

from crossview._jit import bind, borrowing

# a column whose standard deviation is less, in units of its mean, has one value but for rounding;
# for each value, as in scikit-learn's StandardScaler, but for this many at most
NOISE, MOST_NOISE = 2.0**-52, 500.0


class Moments:
    """Count, mean and sum of squared deviations of each column.

    Parameters
    ----------
    views : list of str
        The view of each column.
    sparse : list of bool
        Whether a column is not centered, and shares its scale with the other such columns of its
        view.
    """

    def __init__(self, views: list[str], sparse: list[bool]) -> None:
        self.count, self.mean, self.m2 = (np.zeros(len(views)) for _ in range(3))
        self.sparse = np.array(sparse, dtype=bool)
        names = np.array(views, dtype=object)
        self._shared = [
            np.flatnonzero(self.sparse & (names == view))
            for view in dict.fromkeys(names[self.sparse])
        ]
        ends = np.cumsum([0, *map(len, self._shared)])
        groups = np.concatenate([np.empty(0, np.int64), *self._shared]), ends
        self.given = self.count, self.mean, self.m2, *groups

    def center_and_scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what is subtracted from each column, and by what it is divided then.

        The latter is infinite where all values are equal.
        """
        squares, count = self.m2.copy(), self.count.copy()
        noise = NOISE * np.minimum(count, MOST_NOISE) * self.mean
        squares[~self.sparse & (squares <= count * (noise * noise))] = 0.0
        for group in self._shared:
            squares[group], count[group] = squares[group].sum(), count[group].sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(squares > 0.0, np.sqrt(squares / count), np.inf)
        return np.where(self.sparse, 0.0, self.mean), scale

    def standardize(self, values: np.ndarray, *, learn: bool = False) -> np.ndarray:
        """Return the numbers with mean 0 and variance 1; 0 where all are equal but for rounding.

        Those of sparse columns keep their zeros, and have variance 1 on average.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_columns)
            The numbers; NaN is missing.
        learn : bool, default=False
            Add each row before it is standardized.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
            The standardized numbers.
        """
        standardized = np.empty_like(values)
        standardize_rows(values, learn, self.given, standardized)
        return standardized


class SingleNumbers:
    """Standardize the numbers of one row at a time.

    Parameters
    ----------
    moments : Moments
        What they are standardized by.
    """

    def __init__(self, moments: Moments) -> None:
        self._lock = Lock()
        self._values, self._standardized = (np.empty((1, len(moments.count))) for _ in range(2))
        self._loops = [
            bind(standardize_rows, self._values, learn, moments.given, self._standardized)
            for learn in (False, True)
        ]

    def standardize(self, values: list[float], *, learn: bool) -> list[float]:
        """Return the numbers with mean 0 and variance 1; ``learn`` adds them first."""
        with self._lock:
            self._values[0] = values
            self._loops[learn]()
            standardized: list[float] = self._standardized[0].tolist()
        return standardized


@borrowing
def standardize_rows(
    values: np.ndarray,
    learn: bool,
    moments: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    standardized: np.ndarray,
) -> None:
    """Standardize rows, one after the other, by the moments of Welford (1962).

    ``moments`` are the count n, the mean and the sum of squared deviations of each column; with
    ``learn`` a row is added to them before it is standardized:

        d = x - mean,  mean <- mean + d / n,  m2 <- m2 + d (x - mean),
        x <- (x - mean) / sqrt(m2 / n).

    The columns are the inner loop, and it has no branch, so that it runs on all lanes.  The sparse
    columns of a view, ``shared[ends[g]:ends[g + 1]]``, have one variance, and keep their zeros:

        x <- x / sqrt(sum of their m2 / sum of their n).
    """
    count, mean, m2, shared, ends = moments
    for i in range(values.shape[0]):
        for c in range(values.shape[1]):
            x = values[i, c]
            new = learn and x == x
            count[c] += 1.0 if new else 0.0
            deviation = x - mean[c] if new else 0.0
            mean[c] += deviation / max(count[c], 1.0)
            m2[c] += deviation * (x - mean[c]) if new else 0.0
            # m2 is exactly 0 where all values are equal, and more where they differ by rounding
            noise = NOISE * min(count[c], MOST_NOISE) * mean[c]
            variance = m2[c] / count[c] if m2[c] > count[c] * (noise * noise) else np.inf
            standardized[i, c] = (x - mean[c]) / np.sqrt(variance)
        for g in range(len(ends) - 1):
            squares, n = 0.0, 0.0
            for c in shared[ends[g] : ends[g + 1]]:
                squares += m2[c]
                n += count[c]
            scale = np.sqrt(squares / n) if squares > 0.0 else np.inf
            for c in shared[ends[g] : ends[g + 1]]:
                standardized[i, c] = values[i, c] / scale
