"""Views of randomly drawn columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from crossview.batch import make_rows, matrix_of, views_of
from crossview.errors import InputError
from crossview.estimators.base import Columns
from crossview.kernels.rows import Rows
from crossview.views import ALL, MultiView, ViewLayout


@dataclass(frozen=True, eq=False)
class RandomColumns(Columns):
    """Columns of which each view has some, drawn at random; a column may be in several views.

    subsets: the columns of X of each view.
    width: number of columns of X.
    """

    subsets: tuple[np.ndarray, ...] = ()
    width: int = 0

    @classmethod
    def from_subsets(cls, subsets: Any, width: int) -> Self:
        """Return the columns for these ones of each view."""
        names = [f"random{v}" for v in range(len(subsets))]
        layout = ViewLayout(names, [len(own) for own in subsets])
        return cls(layout, layout, subsets=tuple(subsets), width=width)

    @classmethod
    def draw(cls, width: int, n_views: int, fraction: float, random_state: Any) -> Self:
        """Return views that have this fraction of the columns each, without repetition."""
        size = max(1, round(float(fraction) * width))
        rng = check_random_state(random_state)
        drawn = [np.sort(rng.choice(width, size, replace=False)) for _ in range(n_views)]
        return cls.from_subsets(drawn, width)

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return self.width

    def rows(self, X: Any, names: Any, *, checked: bool = True, as_is: bool = False) -> Rows:
        """Return a matrix as rows for the learning loops."""
        if isinstance(X, MultiView):
            raise InputError(
                "X is a MultiView, which has its own views; leave random_views= at None"
            )
        rows = make_rows(X, ViewLayout([ALL], [self.width]), names=names)
        table = matrix_of(views_of(rows)[0], 0, self.width)
        table = table.toarray() if rows.shared else table
        pairs = zip(self.layout.names, self.subsets, strict=True)
        views = MultiView({name: table[:, own] for name, own in pairs})
        present = rows.present.repeat(len(self.subsets), axis=1) if len(rows.present) else None
        return make_rows(views.matrix, self.slots, present)

    def by_view(self) -> dict[str, np.ndarray]:
        """Return the columns of X that form each view."""
        return dict(zip(self.layout.names, self.subsets, strict=True))

    def of_slots(self) -> np.ndarray:
        """Return the column of X that each column of the state is."""
        return np.concatenate(self.subsets)

    def spread(self, values: np.ndarray, absent: float = 0.0) -> np.ndarray:
        """Return the sums over the views of values of the columns of the state."""
        found = np.full((*values.shape[:-1], self.width), absent)
        for own, part in zip(self.subsets, np.split(values, self.slots.ptr[1:-1], -1), strict=True):
            found[..., own] += part
        return found

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {**super().to_json(), "subsets": [own.tolist() for own in self.subsets]}

    @classmethod
    def from_json(cls, header: Mapping[str, Any], owner: str) -> Self:
        """Undo `to_json`; `InputError` if the entries contradict each other."""
        subsets = [np.asarray(own, dtype=np.int64) for own in header["subsets"]]
        width, given = header["n_features_in"], header["views"]
        self = cls.from_subsets(subsets, width)
        in_range = all(len(own) and 0 <= own.min() <= own.max() < width for own in subsets)
        same = ViewLayout(given["names"], given["widths"]) == self.layout
        if not (in_range and same and header["named"] is None and header["column_map"] is None):
            raise InputError(f"the columns of {owner} contradict each other")
        return self
