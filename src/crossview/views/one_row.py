"""One row of views, as lists: what a stream of single rows passes on in place of a matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from crossview.errors import InputError, type_of
from crossview.views.layout import ViewLayout
from crossview.views.multi_view import MultiView


class OneRow(NamedTuple):
    """One row of views.

    columns: columns of the entries among those of all views, ascending, each once.
    values: their values, which are finite.
    present: whether each view is there; one that is missing has no entries.
    restarts: columns whose weights begin anew just before the row is learned; None: of an encoder
      that drops no users.
    """

    layout: ViewLayout
    columns: list[int]
    values: list[float]
    present: list[bool]
    restarts: np.ndarray | None = None

    @classmethod
    def of(cls, x: Any, layout: ViewLayout) -> Self:
        """Return a row of these views from a mapping of view to numbers, or as it is.

        The numbers of a view are a sequence, or a mapping of their positions.  The numbers of the
        only view need no name.
        """
        if isinstance(x, cls):
            if x.layout is not layout and x.layout != layout:
                raise InputError(f"the row has the views {x.layout}, but the model has {layout}")
            return x
        if not isinstance(x, Mapping):
            raise InputError(f"a row is a mapping of views to numbers, and not {type_of(x)}")
        if layout.n_views == 1 and not x.keys() <= set(layout.names):
            x = {layout.names[0]: x}
        entries: list[tuple[int, float]] = []
        for view, own in x.items():
            block = layout.block(view)
            if isinstance(own, Mapping):
                numbered = [(_position(at, view, block), value) for at, value in own.items()]
            else:
                numbered = list(enumerate([] if own is None else own, block.start))
            if numbered and not block.start <= max(at for at, _ in numbered) < block.stop:
                raise InputError(f"view {view!r} has {block.stop - block.start} columns")
            entries += [(at, finite_number(value, view)) for at, value in numbered]
        entries = sorted((at, value) for at, value in entries if value)
        present = [x.get(view) is not None for view in layout.names]
        return cls(layout, [at for at, _ in entries], [value for _, value in entries], present)

    @classmethod
    def join(cls, rows: Sequence[Self], layout: ViewLayout) -> MultiView:
        """Return rows of these views as a container."""
        indptr = np.cumsum([0, *(len(row.columns) for row in rows)], dtype=np.int32)
        values = np.array([x for row in rows for x in row.values], dtype=np.float64)
        columns = np.array([j for row in rows for j in row.columns], dtype=np.int32)
        matrix = sp.csr_array((values, columns, indptr), shape=(len(rows), layout.n_columns))
        matrix.has_canonical_format = True
        present = np.array([row.present for row in rows], dtype=bool).reshape(
            len(rows), layout.n_views
        )
        restarts = [(i, row.restarts) for i, row in enumerate(rows) if row.restarts is not None]
        return MultiView.from_matrix(
            *(matrix, layout),
            present=None if present.all() else present,
            restarts=restarts or None,
        )

    def as_views(self) -> MultiView:
        """Return the row as a container of one row."""
        return self.join([self], self.layout)


def _position(at: Any, view: str, block: slice) -> int:
    """Return the column of a position in a view."""
    try:
        position = int(at)
    except (TypeError, ValueError):
        position = -1
    if position < 0:
        raise InputError(f"view {view!r} has no column {at!r}; give its position, from 0")
    return block.start + position


def finite_number(value: Any, view: str) -> float:
    """Return a number of a view; `InputError` if it is none, or not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(
            f"{value!r:.60} in view {view!r} is not a finite number; leave it out where it is 0, "
            "and the whole view where it is missing"
        )
    return number
