"""One row of numbers and categories in arrays that stay, for the loops of tables."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from threading import Lock

import numpy as np

from crossview._jit import bind, borrowing
from crossview.batch import read_only
from crossview.encoding.plan import Plan
from crossview.encoding.rows.fill import Cells, fill_rows, slot_buffer
from crossview.encoding.statistics import Moments, Quantiles, standardize_rows
from crossview.encoding.view_scaler import ViewScaler, scale_rows
from crossview.kernels.rows import Rows
from crossview.views import OneRow


class RowFill:
    """The loops that standardize, bin, fill and scale rows, bound to the arrays of one row.

    plan: its texts are not filled in.
    moments: by which numbers are standardized.
    quantiles: the knots of the bins.
    scaler: by which views are scaled.
    """

    def __init__(
        self,
        plan: Plan,
        moments: Moments,
        quantiles: Quantiles,
        standardizes: bool,
        scaler: ViewScaler | None,
    ) -> None:
        n, V = len(plan.numbers), plan.layout.n_views
        n_categories = sum(column.kind == "categorical" for column in plan.hashed)
        self._layout, self._quantiles, self._lock = plan.layout, quantiles, Lock()
        self._unused = plan.unused
        self._raw, standardized = np.empty((1, n)), np.empty((1, n))
        values = standardized if standardizes else self._raw
        self._standardize = [
            bind(standardize_rows, self._raw, learn, moments.given, standardized)
            if learn or standardizes
            else None
            for learn in (False, True)
        ]
        self._positions = np.empty((1, n if plan.n_bins else 0))
        self._codes = np.empty((n_categories, 1), dtype=np.int32)
        self._slots = np.empty(n_categories, dtype=np.int32)
        starts = np.arange(n_categories, dtype=np.uint64)
        self._present = np.empty((1, V), dtype=bool)
        most = (3 if plan.n_bins else 1) * n + n_categories
        self._data, self._indices = np.empty(most), np.empty(most, dtype=np.int32)
        self._indptr = np.zeros(2, dtype=np.int32)
        cells = Cells(values, self._positions, self._codes, self._slots, starts)
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
        # the same row for the loop that scales it, bound to the sums of the scaler as they are
        self._scaler, self._scaled = scaler, np.empty(most)
        self._total = np.empty(0)
        self._end = np.zeros(2, dtype=np.uint64)
        self._rows = Rows(
            read_only(self._data),
            read_only(self._indices.view(np.uint32)),
            read_only(self._end),
            False,
            read_only(plan.layout.ptr.view(np.uint64)),
            read_only(np.ones((1, V), dtype=bool)),
        )

    def row(
        self,
        numbers: Sequence[float],
        slots: Sequence[int],
        *,
        learn: bool,
        with_text: Sequence[int] = (),
    ) -> OneRow:
        """Return a row as a table of this row is encoded; ``learn`` learns it first.

        numbers: as they came; NaN where missing.
        slots: of each category, -1 where missing.
        learn: whether the statistics learn the row before it is encoded.
        with_text: views that are there because of a text.
        """
        with self._lock:
            self._raw[0] = numbers
            standardize = self._standardize[learn]
            if standardize is not None:
                standardize()
            if self._positions.size:
                if learn:
                    self._quantiles.learn_one(numbers)
                self._update_knots()
                self._place()
                # not in the loop, where sum and product would be rounded once and not twice
                np.add(self._share, self._below, out=self._positions)
            if slots:
                self._slots[:] = slots
                np.minimum(self._slots, 0, out=self._codes[:, 0])
            self._present[:] = False
            for v in with_text:
                self._present[0, v] = True
            self._fill()
            n = int(self._indptr[1])
            if self._unused is not None:
                used = np.flatnonzero(~self._unused[self._indices[:n]])
                n = len(used)
                self._indices[:n], self._data[:n] = self._indices[used], self._data[used]
            data = self._data if self._scaler is None else self._scale(n, learn=learn)
            columns, values = self._indices[:n].tolist(), data[:n].tolist()
            return OneRow(self._layout, columns, values, self._present[0].tolist())

    def _scale(self, n: int, *, learn: bool) -> np.ndarray:
        """Return the values of the row, scaled view by view."""
        scaler = self._scaler
        assert scaler is not None
        sums = scaler.sums
        if sums[0] is not self._total:
            self._total = sums[0]
            self._loops = [
                bind(scale_rows, self._rows, one, sums, self._scaled) for one in (False, True)
            ]
        self._end[1] = n
        self._loops[learn]()
        return self._scaled

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
