"""What becomes of the columns of each view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crossview.errors import InputError, closest_names
from crossview.streams.arrow import column_names, to_arrow
from crossview.streams.columns import Batch, Column, as_codes, as_matrix, as_numbers, one_array
from crossview.streams.fill import Blocks
from crossview.views import ViewLayout

__all__ = ["Plan"]


class Plan:
    """The columns that are encoded, and the layout of what they become.

    Parameters
    ----------
    columns : list of Column
        The columns, view by view.
    n_slots : int
        Slots of each view that has categories or text.
    n_bins : int
        Bins of each column of numbers.

    Attributes
    ----------
    layout : ViewLayout
        Names and widths of the views.
    numbers, hashed : list of Column
        The columns of numbers, and the others.
    """

    def __init__(self, columns: list[Column], n_slots: int, n_bins: int) -> None:
        self.columns = columns
        self.n_bins = n_bins
        self.numbers = [c for c in columns if c.kind == "numeric"]
        self.hashed = [c for c in columns if c.kind != "numeric"]
        views = list(dict.fromkeys(c.view for c in columns))
        hashing = {c.view for c in self.hashed}
        widths = [
            (2 + n_bins) * sum(c.view == view for c in self.numbers)
            + (n_slots if view in hashing else 0)
            for view in views
        ]
        self.layout = ViewLayout(views, widths)
        self._recent: tuple[Any, Batch] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_recent": None}  # a cache

    def first_slot(self, view: str) -> int:
        """Return the column of the output at which the slots of a view start."""
        return self.layout.block(view).start + (2 + self.n_bins) * self._count(view)[0]

    def plain_names(self, view: str, knots: Sequence[np.ndarray]) -> list[str]:
        """Return the names of a view's columns before its slots; ``knots`` of all numbers."""
        names = [c.name for c in self.numbers if c.view == view]
        bins = [
            f"{number.name} near {own[k]:.4g}"
            if k < len(own)
            else f"{number.name} bin {k} (unused)"
            for number, own in zip(self.numbers, knots, strict=False)
            if number.view == view
            for k in range(self.n_bins)
        ]
        return [*names, *(f"{name} is missing" for name in names), *bins]

    def blocks(self) -> Blocks:
        """Return where each view starts."""
        counts = np.array([self._count(name) for name in self.layout.names]).reshape(-1, 2)
        numeric_ptr, slots_ptr = np.vstack([[0, 0], counts.cumsum(axis=0)]).T.copy()
        ptrs = (numeric_ptr, slots_ptr, self.layout.ptr)
        return Blocks(*(ptr.astype(np.uint64) for ptr in ptrs))

    def _count(self, view: str) -> tuple[int, int]:
        """Number of numeric and of categorical columns of a view."""
        kinds = [c.kind for c in self.columns if c.view == view]
        return kinds.count("numeric"), kinds.count("categorical")

    def decode(self, X: Any) -> Batch:
        """Return the columns as numbers and codes; decode the same Arrow batch only once."""
        recent = self._recent  # read once: another thread may replace it
        if recent is not None and recent[0] is X:
            return recent[1]
        names = column_names(X)
        known = set(names)
        for column in self.columns:
            if column.name not in known:
                raise InputError(f"no column {column.name!r}{closest_names(column.name, names)}")
        table = to_arrow(X, [c.name for c in self.columns])
        values = as_matrix(table.select([c.name for c in self.numbers]) if self.hashed else table)
        if values is None:
            values = np.empty((table.num_rows, len(self.numbers)))
            for column, numbers in zip(self.numbers, values.T, strict=True):
                numbers[:] = as_numbers(column, one_array(table.column(column.name)))
        coded = [as_codes(c, one_array(table.column(c.name))) for c in self.hashed]
        batch = Batch(values, coded)
        if type(X).__module__.startswith("pyarrow"):  # cannot change in place
            self._recent = (X, batch)
        return batch
