"""Statistics of columns that stream in.

Numbers have a mean and a variance, and quantiles, between which a number lies.  Words that are in
many texts count less (tf-idf).
"""

from __future__ import annotations

import copy
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview._jit import borrowing
from crossview.errors import InputError
from crossview.saving.schema import MAX_COUNT, Array

# a column whose standard deviation is less, in units of its mean, has one value but for rounding;
# for each value, as in scikit-learn's StandardScaler, but for this many at most
NOISE, MOST_NOISE = 2.0**-52, 500.0
# the knots of a column are placed after this many values, ...
FIRST_PLACED = 32
# ... after each doubling, and for the last time after this many; a rank is then right to 1 %
LAST_PLACED = 4096


class OwnsArrays:
    """Base class of what is pickled with arrays in which loops write, or that they share."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        parts = [v if isinstance(v, tuple) else (v,) for v in state.values()]
        arrays = [one for part in parts for one in part if isinstance(one, np.ndarray)]
        if not all(one.flags.writeable for one in arrays):  # joblib has mapped them into memory
            state = copy.deepcopy(state)
        self.__dict__.update(state)


class Moments(OwnsArrays):
    """Count, mean and sum of squared deviations of each column.

    views: the view of each column.
    sparse: whether a column is not centered, and shares its scale with the other such columns of
      its view.
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

        values: NaN is missing.
        learn: add each row before it is standardized.
        """
        standardized = np.empty_like(values)
        standardize_rows(values, learn, self.given, standardized)
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


class DocumentFrequencies(OwnsArrays):
    """Number of texts so far that have a word of each slot, column by column.

    n_columns: number of text columns.
    n: texts so far.
    df: those that have a word of the slot.
    """

    def __init__(self, n_columns: int, n_slots: int) -> None:
        self.n = np.zeros(n_columns, dtype=np.int64)
        self.df = np.zeros((n_columns, n_slots), dtype=np.int64)

    def weigh(
        self, c: int, rows: sp.csr_array, present: np.ndarray, *, learn: bool = False
    ) -> sp.csr_array:
        """Return the counts of words of a column as tf-idf, each row with norm 1.

        rows: the counts, each slot once.
        present: whether the row has a text.
        learn: count each row before it is weighed.
        The answer shares the indices of ``rows``.
        """
        indptr, indices = (
            part.astype(np.int32, copy=False) for part in (rows.indptr, rows.indices)
        )
        weighed = np.empty(len(rows.data))
        counts = self.n[c : c + 1], self.df[c]
        weigh_rows((rows.data, indices, indptr), present, learn, counts, weighed)
        return sp.csr_array((weighed, indices, indptr), shape=rows.shape)

    def state(self) -> dict[str, np.ndarray]:
        """Return the counts as arrays, of the slots that have one."""
        state = {"texts": self.n} if len(self.n) else {}
        for c, df in enumerate(self.df):
            state[f"df_slots.{c}"] = np.flatnonzero(df)
            state[f"df.{c}"] = df[state[f"df_slots.{c}"]]
        return state

    def schema(self) -> dict[str, Array]:
        """Return what the arrays of `state` look like."""
        n_columns, n_slots = self.df.shape
        schema = {"texts": Array("i8", (n_columns,), 0, MAX_COUNT)} if n_columns else {}
        for c in range(n_columns):
            length = f"slots of text {c}"
            schema[f"df_slots.{c}"] = Array("i8", (length,), 0, n_slots - 1)
            schema[f"df.{c}"] = Array("i8", (length,), 1, MAX_COUNT)
        return schema

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Take the counts from what `state` gave."""
        for c in range(len(self.n)):
            n, slots, df = (np.asarray(state[key]) for key in ("texts", f"df_slots.{c}", f"df.{c}"))
            if len(np.unique(slots)) != len(slots) or (df > n[c]).any():
                raise InputError(f"the document frequencies of text {c} contradict each other")
            self.n[c] = n[c]
            self.df[c] = 0
            self.df[c, slots] = df


@borrowing
def weigh_rows(
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    present: np.ndarray,
    learn: bool,
    counts: tuple[np.ndarray, np.ndarray],
    weighed: np.ndarray,
) -> None:
    """Weigh the words of texts by their inverse document frequency, one text after the other.

    With ``learn`` a text is counted first: n <- n + 1, df_j <- df_j + 1 for its slots j.  Then

        x_j <- (1 + ln x_j) (ln((1 + n) / (1 + df_j)) + 1),  x <- x / ||x||,

    the smooth idf and the sublinear tf of scikit-learn's TfidfTransformer.
    """
    x, j, indptr = rows
    n, df = counts
    for i in range(len(present)):
        lo, hi = indptr[i], indptr[i + 1]
        if learn and present[i]:
            n[0] += 1
            for p in range(lo, hi):
                df[j[p]] += 1
        sqnorm = 0.0
        for p in range(lo, hi):
            weighed[p] = (1.0 + np.log(x[p])) * (np.log((1.0 + n[0]) / (1.0 + df[j[p]])) + 1.0)
            sqnorm += weighed[p] * weighed[p]
        for p in range(lo, hi):
            weighed[p] /= np.sqrt(sqnorm)


class Quantiles(OwnsArrays):
    """Knots of each column, at equally spaced quantiles of its first values.

    A learner needs columns that keep their meaning, so the knots stay after `LAST_PLACED` values.
    When they are placed depends on the number of values of the column only, so batches change
    nothing.  A column with equal quantiles has fewer knots, and one with two values none, because
    the number itself says as much; a sparse one has none, to keep its zeros.  ``count`` is the
    number of values that the knots are about, or wait for.
    """

    def __init__(self, n_columns: int, n_knots: int, sparse: Sequence[bool] = ()) -> None:
        self.n_knots = n_knots
        self._sparse = np.array([*sparse, *[False] * n_columns][:n_columns])
        self.count = np.zeros(n_columns, dtype=np.int64)
        self.knots = [np.empty(0)] * n_columns
        self._first = [array("d") for _ in range(n_columns)]  # the values, until the knots stay
        self._settled = False  # whether all knots stay

    def fit(self, values: np.ndarray) -> None:
        """Place the knots at the quantiles of all rows; NaN is missing."""
        for c, column in enumerate(values.T):
            self._add(c, column[~np.isnan(column)])
            if self.count[c]:
                self._place(c)

    def positions(self, values: np.ndarray, *, learn: bool = False) -> np.ndarray:
        """Return k + f for a number between knots k and k + 1, at the fraction f.

        It is NaN where the number is missing, or its column has no two knots yet; ``learn`` adds
        each row before it is looked up.
        """
        positions = np.empty_like(values)
        for c, column in enumerate(values.T):
            start = 0
            there = np.flatnonzero(~np.isnan(column)) if learn else np.empty(0, dtype=np.int64)
            while len(there) and self.count[c] < LAST_PLACED:
                next_placed = max(FIRST_PLACED, 1 << int(self.count[c]).bit_length())
                n_wanted = next_placed - self.count[c]
                taken, there = there[:n_wanted], there[n_wanted:]
                self._add(c, column[taken])
                if len(taken) == n_wanted:
                    positions[start : taken[-1], c] = self._look_up(c, column[start : taken[-1]])
                    start = taken[-1]
                    self._place(c)
            positions[start:, c] = self._look_up(c, column[start:])
        return positions

    def learn_one(self, values: Sequence[float]) -> None:
        """Add one row, and place knots where it is time to."""
        if self._settled:
            return
        for c, (x, n) in enumerate(zip(values, self.count.tolist(), strict=True)):
            if x == x and n < LAST_PLACED:
                self._first[c].append(x)
                self.count[c] = n + 1
                if n + 1 >= FIRST_PLACED and not (n + 1) & n:  # a power of two
                    self._place(c)
        self._settled = bool((self.count == LAST_PLACED).all())

    def state(self) -> dict[str, np.ndarray]:
        """Return the learned state as arrays."""
        return {
            "n_values": self.count,
            "n_knots": np.array([len(knots) for knots in self.knots], dtype=np.int64),
            "knots": np.concatenate([np.empty(0), *self.knots]),
            "first_values": np.concatenate([np.empty(0), *self._first]),
        }

    def schema(self, state: Mapping[str, np.ndarray]) -> dict[str, Array]:
        """Return what the arrays of `state` look like."""
        n, n_values = len(self.count), state["n_values"]
        waiting = np.where(n_values < LAST_PLACED, n_values, 0)
        return {
            "n_values": Array("i8", (n,), 0, LAST_PLACED),
            "n_knots": Array("i8", (n,), 0, self.n_knots),
            "knots": Array("f8", (int(state["n_knots"].sum()),)),
            "first_values": Array("f8", (int(waiting.sum()),)),
        }

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Take what `state` gave."""
        self.count = np.array(state["n_values"], dtype=np.int64)
        lengths = np.asarray(state["n_knots"])
        self.knots = _split(state["knots"], lengths)
        waiting = np.where(self.count < LAST_PLACED, self.count, 0)
        self._first = [array("d", own) for own in _split(state["first_values"], waiting)]
        self._settled = False

    def _add(self, c: int, values: np.ndarray) -> None:
        self._first[c].frombytes(values.tobytes())
        self.count[c] = min(self.count[c] + len(values), LAST_PLACED)

    def _place(self, c: int) -> None:
        """Place the knots of column c in the middle of ranks 0 to 1/n, 1/n to 2/n, ..."""
        ranks = (np.arange(self.n_knots) + 0.5) / self.n_knots
        first = np.array(self._first[c])
        inside = (first != first[0]) & (first != first.max()) & (first != first.min())
        if inside.any() and not self._sparse[c]:
            self.knots[c] = np.unique(np.quantile(first, ranks))
        if self.count[c] == LAST_PLACED:
            self._first[c] = array("d")

    def _look_up(self, c: int, column: np.ndarray) -> np.ndarray:
        knots = self.knots[c]
        if len(knots) < 2:
            return np.full(len(column), np.nan)
        return np.interp(column, knots, np.arange(float(len(knots))))


def _split(flat: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """Undo the concatenation of arrays of these lengths."""
    return np.split(np.array(flat, dtype=np.float64), np.cumsum(lengths))[:-1]
