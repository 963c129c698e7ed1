"""Base class of all learners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crossview.errors import InputError
from crossview.estimators.base.rows import RowReader
from crossview.estimators.columns import NamedColumns
from crossview.kernels.rows import Rows
from crossview.schema import Array, check_header, check_state
from crossview.views import ViewLayout


class ViewLearner(RowReader):
    """Base class of all learners: `fit`, and the learned state."""

    # --- to be implemented by subclasses --------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Learn from the rows; `fit` without its checks."""
        raise NotImplementedError

    def _start_state(self) -> None:
        """Initialize the learned state."""
        raise NotImplementedError

    def _restart(self) -> None:
        """Initialize the learned state, and what depends on it."""
        self._start_state()

    def _n_scores(self) -> int:
        """Return the number of scores per row."""
        raise NotImplementedError

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        """Return the scores of the rows, (n_samples, n_scores)."""
        raise NotImplementedError

    def _warm_starts(self) -> bool:
        """Whether `fit` continues from the learned state."""
        return False

    # --- learning ----------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch, or from the learned state with ``warm_start``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Labels of two or more classes; numeric targets for a regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, at least 0; see the notes of the class for its effect.

        Returns
        -------
        self : object
            The fitted learner.
        """
        self.check_params()
        if not self._warm_starts():
            self._forget()
        try:
            self._fit(X, y, sample_weight)
        except ValueError:
            if not self._warm_starts():
                self._forget()
            raise
        return self

    def check_params(self) -> None:
        """Raise an error if a parameter is out of its range.

        `fit` and `partial_fit` call this method; call it directly to check the parameters before
        any data is read.

        Raises
        ------
        InvalidParameterError
            The message names the parameter, its range and the given value.
        """
        self._validate_params()

    # --- state -------------------------------------------------------------------

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the learned state as arrays.

        Returns
        -------
        state : dict of str to ndarray
            The arrays by name; header, parameters and state together restore the learner.
        """
        check_is_fitted(self, "_state")
        return dict(self._state)

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `get_state` returned.

        Parameters
        ----------
        state : mapping of str to ndarray
            The arrays by name.

        Raises
        ------
        InputError
            The arrays are not a state of a learner with this header and these parameters.
        """
        check_state(state, self._state_schema(state), type(self).__name__)
        self._state = {name: np.array(value) for name, value in state.items()}

    def _state_schema(self, state: Mapping[str, np.ndarray]) -> dict[str, Array | np.ndarray]:
        """Return what the arrays of ``state`` must look like, given header and parameters."""
        return {}

    def _header_schema(self) -> dict[str, Any]:
        """Return the types of the header, for `check_header`."""
        name = (str, int, float, bool)
        return {
            "views": {"names": [str], "widths": [int]},
            "n_features_in": int,
            "feature_names_in": (None, [str]),
            "column_map": (None, [int]),
            "named": (None, {"views": [[(*name, [name])]], "room": [int]}),
        }

    def get_header(self) -> dict[str, Any]:
        """Return the part of the learned state that is not arrays: classes, columns and names.

        Returns
        -------
        header : dict
            Ready for JSON.
        """
        return {
            "views": {"names": self.layout_.names, "widths": self.layout_.widths},
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": (
                list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
            ),
            "column_map": None if self._column_map is None else self._column_map.tolist(),
            "named": self._named.to_json() if self._named and self._named.fixed is None else None,
        }

    def set_header(self, header: Mapping[str, Any]) -> None:
        """Restore the header that `get_header` returned.

        Parameters
        ----------
        header : mapping
            As from JSON.

        Raises
        ------
        InputError
            It is no header of this learner.
        """
        check_header(header, self._header_schema(), type(self).__name__)
        self.layout_ = ViewLayout(header["views"]["names"], header["views"]["widths"])
        self.n_features_in_ = int(header["n_features_in"])
        if header["feature_names_in"] is not None:
            self.feature_names_in_ = np.asarray(header["feature_names_in"], dtype=object)
        named = header["named"]
        self._named = None if named is None else NamedColumns.from_json(named)
        self._slots = self.layout_ if self._named is None else self._named.slots
        column_map = header["column_map"]
        self._column_map = None if column_map is None else np.asarray(column_map, dtype=np.int64)
        if not self._has_consistent_columns():
            raise InputError(f"the columns of {type(self).__name__} contradict each other")

    def _has_consistent_columns(self) -> bool:
        """Whether the columns of X, the views and the column map agree."""
        d, column_map = self.n_features_in_, self._column_map
        if len(getattr(self, "feature_names_in_", range(d))) != d:
            return False
        if self._named is not None:
            fits = self._named.layout == self.layout_ and self.layout_.n_columns == d
            return fits and np.array_equal(self._named.column_map, column_map)  # type: ignore[arg-type]
        if column_map is None:
            return self.layout_.n_columns == d
        used = np.sort(column_map[column_map >= 0])
        n = self.layout_.n_columns
        return len(column_map) == d and len(used) == n and bool((used == np.arange(n)).all())

    def _forget(self) -> None:
        """Delete the learned state."""
        for name in ("_state", "classes_", "threshold_", "layout_", "_named", "feature_names_in_"):
            if name in self.__dict__:
                delattr(self, name)
