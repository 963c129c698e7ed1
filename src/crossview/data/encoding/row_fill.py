"""One row of numbers and categories in arrays that stay, for the loops of tables."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from threading import Lock

import numpy as np

from crossview._jit import bind, borrowing
from crossview.data.encoding.fill import Cells, fill_rows, slot_buffer
from crossview.data.encoding.plan import Plan
from crossview.data.encoding.quantiles import Quantiles
from crossview.views import OneRow

__all__ = ["RowFill"]


class RowFill:
    """The loop that fills rows, bound to the arrays of one row.

    Parameters
    ----------
    plan : Plan
        Without texts, and without columns that no row has.
    quantiles : Quantiles
        The knots of the bins.
    """

    def __init__(self, plan: Plan, quantiles: Quantiles) -> None:
        n, n_categories, V = len(plan.numbers), len(plan.hashed), plan.layout.n_views
        self._layout, self._quantiles, self._lock = plan.layout, quantiles, Lock()
        self._raw, self._values = np.empty((1, n)), np.empty((1, n))
        self._positions = np.empty((1, n if plan.n_bins else 0))
        self._codes = np.empty((n_categories, 1), dtype=np.int32)
        self._slots = np.empty(n_categories, dtype=np.int32)
        starts = np.arange(n_categories, dtype=np.uint64)
        self._present = np.empty((1, V), dtype=bool)
        most = (3 if plan.n_bins else 1) * n + n_categories
        self._data, self._indices = np.empty(most), np.empty(most, dtype=np.int32)
        self._indptr = np.zeros(2, dtype=np.int32)
        cells = Cells(self._values, self._positions, self._codes, self._slots, starts)
        matrix = self._data, self._indices, self._indptr
        buffer = slot_buffer(n_categories)
        blocks = plan.blocks()
        self._fill = bind(fill_rows, cells, plan.n_bins, self._present, blocks, buffer, matrix)
        # as arrays, which are written anew where knots were placed
        self._kept: list[np.ndarray] = []
        self._knots = np.zeros((n, max(1, plan.n_bins)))
        self._n_knots = np.zeros(n, dtype=np.int64)
        self._below, self._share = np.empty((1, n)), np.empty((1, n))
        found = self._below, self._share
        self._place = bind(place_row, self._raw, self._knots, self._n_knots, found)

    def row(
        self,
        raw: Sequence[float],
        numbers: Sequence[float],
        positions: Sequence[float] | None,
        slots: Sequence[int],
    ) -> OneRow:
        """Return a row as `fill_rows` has it.

        Parameters
        ----------
        raw, numbers : sequence of float
            As they came, and standardized; NaN where missing.
        positions : sequence of float or None
            Between knots; None: they are found here.
        slots : sequence of int
            Of each category, -1 where missing.
        """
        with self._lock:
            self._values[0] = numbers
            if positions is not None:
                self._positions[0] = positions
            elif self._positions.size:
                self._update_knots()
                self._raw[0] = raw
                self._place()
                # not in the loop, where sum and product would be rounded once and not twice
                np.add(self._share, self._below, out=self._positions)
            if len(slots):
                self._slots[:] = slots
                np.minimum(self._slots, 0, out=self._codes[:, 0])
            self._present[:] = False
            self._fill()
            n = int(self._indptr[1])
            columns, values = self._indices[:n].tolist(), self._data[:n].tolist()
            return OneRow(self._layout, columns, values, self._present[0].tolist())

    def _update_knots(self) -> None:
        knots = self._quantiles.knots
        if len(knots) == len(self._kept) and all(map(is_, knots, self._kept)):
            return
        for c, own in enumerate(knots):
            self._n_knots[c] = len(own)
            self._knots[c, : len(own)] = own
        self._kept = list(knots)


@borrowing
def place_row(
    values: np.ndarray,
    knots: np.ndarray,
    n_knots: np.ndarray,
    found: tuple[np.ndarray, np.ndarray],
) -> None:
    """Write k and f of the numbers of a row; see `Quantiles.positions`, which is k + f."""
    below, share = found
    for c in range(values.shape[1]):
        x, last = values[0, c], n_knots[c] - 1
        share[0, c] = 0.0
        if last < 1 or np.isnan(x):
            below[0, c] = np.nan
        elif x >= knots[c, last]:
            below[0, c] = last
        elif x < knots[c, 0]:
            below[0, c] = 0.0
        else:
            low, high = 0, last  # knots[low] <= x < knots[high]
            while high - low > 1:
                middle = (low + high) // 2
                if x >= knots[c, middle]:
                    low = middle
                else:
                    high = middle
            below[0, c] = low
            share[0, c] = 1.0 / (knots[c, low + 1] - knots[c, low]) * (x - knots[c, low])
