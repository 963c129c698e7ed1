"""Input of any supported type to rows for the learning loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from crossview.batch import make_row, make_rows
from crossview.errors import InputError
from crossview.estimators.columns import NamedColumns, features_by_view
from crossview.kernels.rows import Rows
from crossview.views import (
    MultiView,
    ViewLayout,
    as_views,
    check_indices,
    resolve_views,
    warn_of_unused,
)

CSR = (sp.csr_array, sp.csr_matrix)


class RowReader(BaseEstimator):
    """Base class of all learners: converts arrays, data frames, views and mappings to rows.

    Subclasses set their parameters in ``__init__`` and declare their ranges in
    ``_parameter_constraints``.
    """

    layout_: ViewLayout
    _named: NamedColumns | None
    _slots: ViewLayout  # the columns of the state; wider than layout_ if it has spare columns
    _column_map: np.ndarray | None
    _state: dict[str, np.ndarray]

    def _grow_state(self, moved: np.ndarray) -> None:
        """Make room for new columns: column ``i`` of the state moves to ``moved[i]``."""
        raise NotImplementedError

    def view_columns(self) -> dict[str, np.ndarray]:
        """Return the columns that form each view, for example to split ``coef_`` by view.

        Returns
        -------
        columns : dict of str to ndarray of int
            Positions of the columns of ``X``, in the order of the view.
        """
        check_is_fitted(self, "_state")
        column_map, ptr = self._column_map, self._slots.ptr
        if column_map is None:
            column_map = np.arange(self._slots.n_columns)
        used = np.flatnonzero(column_map >= 0)
        columns = used[np.argsort(column_map[used])]
        cuts = np.searchsorted(column_map[columns], ptr[1:-1])
        return dict(zip(self.layout_.names, np.split(columns, cuts), strict=True))

    def _read(self, X: Any, *, reset: bool, checked: bool = True) -> Rows:
        """Return X as rows for the learning loops; ``reset`` takes over its columns and views."""
        X = as_views(X)
        matrix, present = (
            self._read_views(X, reset) if isinstance(X, MultiView) else self._read_matrix(X, reset)
        )
        return make_rows(
            matrix,
            self._slots,
            present,
            column_map=self._column_map,
            names=getattr(self, "feature_names_in_", None),
            checked=checked,
        )

    def _read_views(self, X: MultiView, reset: bool) -> tuple[Any, np.ndarray | None]:
        """Return the matrix of a MultiView, and which views are present in each row."""
        if reset:
            if getattr(self, "views", None) is not None:
                raise InputError("X is a MultiView, which has its own views; leave views= at None")
            self.layout_, self.n_features_in_ = X.layout, X.layout.n_columns
            self._use_columns(None)
        elif X.layout != self.layout_:
            raise InputError(f"X has the views {X.layout}, but the learner has {self.layout_}")
        if len(X) == 0:
            raise InputError("X has 0 rows; give at least one")
        return X.matrix, X.present

    def _read_matrix(self, X: Any, reset: bool) -> tuple[Any, None]:
        """Return an array, sparse matrix or data frame as a matrix with the views ``views=``."""
        if not reset and self._is_as_fitted(X) and not hasattr(self, "feature_names_in_"):
            return X, None
        if sp.issparse(X) and X.format != "csr":
            check_indices(X)  # before it is converted; `make_rows` checks CSR
        _check_numeric(X)
        matrix = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, reset=reset
        )
        if reset:
            names = getattr(self, "feature_names_in_", None)
            views = getattr(self, "views", None)
            if views is None and names is not None:
                warn_of_unused(names)
            self.layout_, columns = resolve_views(views, matrix.shape[1], names)
            column_map = None
            if columns is not None and not np.array_equal(columns, np.arange(matrix.shape[1])):
                column_map = np.full(matrix.shape[1], -1)
                column_map[columns] = np.arange(len(columns))
            self._use_columns(column_map)
        return matrix, None

    def _is_as_fitted(self, X: Any) -> bool:
        """Whether X is a matrix of this learner that `make_rows` takes and checks as it is.

        scikit-learn's validation, which would return the same, takes several times as long as the
        score of a row.
        """
        dense = type(X) is np.ndarray and X.ndim == 2
        if not dense and not (isinstance(X, CSR) and X.ndim == 2):
            return False
        n_rows, n_columns = X.shape
        return X.dtype == np.float64 and n_rows > 0 and n_columns == self.n_features_in_

    def _use_columns(self, column_map: np.ndarray | None) -> None:
        """Map column c of X to column ``column_map[c]`` of the state, -1: none; None: identity."""
        self._column_map = column_map
        self._slots = self.layout_
        self._named = None

    def _read_one(self, x: Any, *, learn: bool) -> Rows:
        """Return the row of `learn_one` or `predict_one`; ``learn`` adds its new columns."""
        if not isinstance(x, Mapping):
            whole = isinstance(x, MultiView) or sp.issparse(x)
            row = x if whole else np.asarray(x, dtype=np.float64).reshape(1, -1)
            if row.shape[0] != 1:
                raise InputError(f"x has {row.shape[0]} rows; give one")
            return self._read(row, reset=not hasattr(self, "_state"))
        if not hasattr(self, "_state"):
            views = getattr(self, "views", None)
            self._named = NamedColumns(list(views) if isinstance(views, Mapping) else [])
        if self._named is None:
            self._named = NamedColumns.of_fitted(
                self.layout_, self._column_map, getattr(self, "feature_names_in_", None)
            )
        named = self._named
        row = named.read(features_by_view(x, list(named.views)), learn=learn)
        if row.moved is not None:
            try:
                self._check_growth(named.slots)
            except InputError:
                named.undo(row)
                raise
            self._grow(row.moved)
        return make_row(row.entries, self._slots, row.present)

    def _check_growth(self, slots: ViewLayout) -> None:
        """Raise an error if the learner cannot have these columns."""

    def _grow(self, moved: np.ndarray) -> None:
        """Add new columns; column ``i`` of the state moves to ``moved[i]``."""
        assert self._named is not None
        self._slots = self._named.slots
        self.layout_ = self._named.layout
        self._column_map = self._named.column_map
        self.n_features_in_ = self.layout_.n_columns
        if hasattr(self, "_state"):
            self._grow_state(moved)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _check_numeric(X: Any) -> None:
    """Raise an error that names the first column of a data frame that does not hold numbers."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        for name, kind in frame.schema.items():
            if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object, nw.Unknown)):
                raise InputError(
                    f"has the type {str(kind).lower()}, which is not numeric; encode it first, "
                    "for example with crossview.ViewEncoder",
                    column=str(name),
                )
