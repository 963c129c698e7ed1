"""Quantiles of columns of numbers that stream in, and where a number lies between them."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence

import numpy as np

from crossview.saving.schema import Array

# the knots of a column are placed after this many values, ...
FIRST_PLACED = 32
# ... after each doubling, and for the last time after this many; a rank is then right to 1 %
LAST_PLACED = 4096


class Quantiles:
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
        self._as_lists: dict[int, tuple[np.ndarray, list[float]]] = {}

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
                n_wanted = self._next_placed(c) - self.count[c]
                taken, there = there[:n_wanted], there[n_wanted:]
                self._add(c, column[taken])
                if len(taken) == n_wanted:
                    positions[start : taken[-1], c] = self._look_up(c, column[start : taken[-1]])
                    start = taken[-1]
                    self._place(c)
            positions[start:, c] = self._look_up(c, column[start:])
        return positions

    def positions_one(self, values: list[float], *, learn: bool = False) -> list[float]:
        """Return `positions` of one row."""
        if learn:
            self.learn_one(values)
        return [self._position(self._knots_of(c), x) for c, x in enumerate(values)]

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

    def _knots_of(self, c: int) -> list[float]:
        """The knots of column c as a list, which is faster for single numbers."""
        kept = self._as_lists.get(c)
        if kept is None or kept[0] is not self.knots[c]:
            kept = self._as_lists[c] = (self.knots[c], self.knots[c].tolist())
        return kept[1]

    @staticmethod
    def _position(knots: list[float], x: float) -> float:
        """Return where a number lies, as `numpy.interp` has it."""
        last = len(knots) - 1
        if last < 1 or x != x:
            return math.nan
        if x >= knots[last]:
            return float(last)
        k = bisect_right(knots, x) - 1
        if k < 0:
            return 0.0
        return 1.0 / (knots[k + 1] - knots[k]) * (x - knots[k]) + k

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

    def _next_placed(self, c: int) -> int:
        """Number of values of column c at which its knots are placed next."""
        return max(FIRST_PLACED, 1 << int(self.count[c]).bit_length())

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
