"""The columns of a learner, and inputs of any supported type as rows of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from crossview.batch import NUMBERS, make_rows
from crossview.errors import InputError, argument
from crossview.estimators.base.names import NamedColumns
from crossview.kernels.rows import Rows
from crossview.views import (
    MultiView,
    ViewLayout,
    check_indices,
    resolve_views,
    warn_of_unused,
)

CSR = (sp.csr_array, sp.csr_matrix)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a learner: views, and the positions of the columns of X in the state.

    slots: the columns of the state, wider than ``layout`` if there are spare ones.
    positions: of each column of X its position in the state, -1: none.  None: the same.
    named: the names of the features, if the learner has learned rows that are mappings.
    """

    layout: ViewLayout
    slots: ViewLayout
    positions: np.ndarray | None = None
    named: NamedColumns | None = None

    @classmethod
    def of(cls, X: Any, learner: Any) -> Self:
        """Return the columns of an input, a MultiView or from `read_matrix`, that a learner sees
        first.
        """
        views = getattr(learner, "views", None)
        if isinstance(X, MultiView):
            if views is not None:
                raise InputError(
                    f"X is a MultiView, which has its own views; leave {argument('views')} at None"
                )
            return cls(X.layout, X.layout)
        names = getattr(learner, "feature_names_in_", None)
        if views is None and names is not None:
            warn_of_unused(names, ignores=False)
        layout, columns = resolve_views(views, X.shape[1], names)
        positions = None
        if columns is not None and not np.array_equal(columns, np.arange(X.shape[1])):
            positions = np.full(X.shape[1], -1)
            positions[columns] = np.arange(len(columns))
        return cls(layout, layout, positions)

    @classmethod
    def of_names(cls, named: NamedColumns) -> Self:
        """Return the columns of the features so far, with room for more."""
        return cls(named.layout, named.slots, named.column_map, named)

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return self.layout.n_columns if self.positions is None else len(self.positions)

    # --- rows ------------------------------------------------------------------------

    def takes(self, layout: ViewLayout) -> bool:
        """Return whether rows of these views are rows of the state as they are."""
        return self.positions is None and (layout is self.layout or layout == self.layout)

    def rows(self, X: Any, names: Any, *, checked: bool = True, as_is: bool = False) -> Rows:
        """Return a matrix or a MultiView as rows for the learning loops; see `make_rows`."""
        present = None
        if isinstance(X, MultiView):
            if X.layout != self.layout:
                raise InputError(f"X has the views {X.layout}, but the learner has {self.layout}")
            if len(X) == 0:
                raise InputError("X has 0 rows; give at least one")
            X, present = X.matrix, X.present
        given = {"names": names, "checked": checked, "as_is": as_is}
        return make_rows(X, self.slots, present, column_map=self.positions, **given)

    # --- positions ---------------------------------------------------------------------

    def by_view(self) -> dict[str, np.ndarray]:
        """Return the columns of X that form each view, in its order."""
        positions = np.arange(self.slots.n_columns) if self.positions is None else self.positions
        used = np.flatnonzero(positions >= 0)
        columns = used[np.argsort(positions[used])]
        cuts = np.searchsorted(positions[columns], self.slots.ptr[1:-1])
        return dict(zip(self.layout.names, np.split(columns, cuts), strict=True))

    def of_slots(self) -> np.ndarray:
        """Return the column of X that each column of the state is."""
        if self.positions is None:
            return np.arange(self.slots.n_columns)
        used = np.flatnonzero(self.positions >= 0)
        columns = np.zeros(self.slots.n_columns, dtype=np.int64)  # spare ones have no entries
        columns[self.positions[used]] = used
        return columns

    def in_block(self, lo: int, hi: int) -> np.ndarray:
        """Return the positions from lo to hi that a column of X fills; the others are spare."""
        if self.positions is None:
            return np.arange(lo, hi)
        return np.sort(self.positions[(self.positions >= lo) & (self.positions < hi)])

    def spread(self, values: np.ndarray, absent: float = 0.0) -> np.ndarray:
        """Return values of the columns of the state, (..., n_slots), for those of X."""
        if self.positions is None:
            return values
        found = np.full((*values.shape[:-1], len(self.positions)), absent)
        used = self.positions >= 0
        found[..., used] = values[..., self.positions[used]]
        return found

    # --- header ------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        grows = self.named is not None and self.named.fixed is None
        return {
            "views": {"names": self.layout.names, "widths": self.layout.widths},
            "column_map": None if self.positions is None else self.positions.tolist(),
            "named": self.named.to_json() if grows and self.named else None,
        }

    @classmethod
    def from_json(cls, header: Mapping[str, Any], owner: str) -> Self:
        """Undo `to_json`; `InputError` if the entries contradict each other."""
        layout = ViewLayout(header["views"]["names"], header["views"]["widths"])
        named = None if header["named"] is None else NamedColumns.from_json(header["named"])
        positions = header["column_map"]
        positions = None if positions is None else np.asarray(positions, dtype=np.int64)
        self = cls(layout, layout if named is None else named.slots, positions, named)
        consistent = True  # the learner has the number of columns, and compares it
        if named is not None:
            given: Any = [] if positions is None else positions
            consistent = named.layout == layout and np.array_equal(named.column_map, given)
        elif positions is not None:
            used = np.sort(positions[positions >= 0])
            consistent = len(used) == layout.n_columns
            consistent = consistent and np.array_equal(used, np.arange(len(used)))
        if not consistent:
            raise InputError(f"the columns of {owner} contradict each other")
        return self


def read_matrix(X: Any, learner: Any, *, reset: bool) -> Any:
    """Return an array, sparse matrix or data frame as a matrix of numbers.

    ``reset`` sets the number and the names of the columns of the learner; otherwise they must be
    the same.
    """
    if not reset and _is_as_fitted(X, learner) and not hasattr(learner, "feature_names_in_"):
        return X
    if sp.issparse(X) and X.format != "csr":
        check_indices(X)  # before it is converted; `make_rows` checks CSR
        if X.dtype in NUMBERS:  # entries of one column are added, which a type may not hold
            X = X.astype(np.float64)
    _check_numeric(X)
    # `make_rows` converts what is a matrix already
    is_matrix = isinstance(X, np.ndarray) or sp.issparse(X)
    kind = X.dtype if is_matrix and X.dtype in NUMBERS else np.float64
    return validate_data(
        learner, X, accept_sparse="csr", dtype=kind, ensure_all_finite=False, reset=reset
    )


def _is_as_fitted(X: Any, learner: Any) -> bool:
    """Return whether X is a matrix of this learner that `make_rows` takes and checks as it is.

    scikit-learn's validation, which would return the same, takes several times as long as the
    score of a row.
    """
    dense = type(X) is np.ndarray and X.ndim == 2
    if not dense and not (isinstance(X, CSR) and X.ndim == 2):
        return False
    n_rows, n_columns = X.shape
    return X.dtype in NUMBERS and n_rows > 0 and n_columns == learner.n_features_in_


def _check_numeric(X: Any) -> None:
    """Raise an error of what is no table of numbers, with the first such column of a data frame."""
    import narwhals.stable.v2 as nw

    if isinstance(X, list | tuple) and X and all(len(getattr(one, "shape", ())) == 2 for one in X):
        raise InputError(
            f"X is a {type(X).__name__} of {len(X)} tables; give their views names, such as "
            "crossview.MultiView({'page': X[0], 'link': X[1]})"
        )
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":  # NaT would be a number
        raise InputError(
            f"X holds {X.dtype}, which is not numeric; encode it first, for example with "
            "crossview.ViewEncoder"
        )

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        for name, kind in frame.schema.items():
            if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object, nw.Unknown)):
                raise InputError(
                    f"has the type {str(kind).lower()}, which is not numeric; encode it first, "
                    "for example with crossview.ViewEncoder",
                    column=str(name),
                )
