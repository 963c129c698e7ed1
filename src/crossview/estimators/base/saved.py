"""Learned state as arrays and a header, and the check of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crossview.errors import InputError
from crossview.estimators.base.rows import RowReader
from crossview.estimators.columns import NamedColumns
from crossview.kernels.rows import Rows
from crossview.saving.schema import MAX_COUNT, Array, check_header, check_state
from crossview.saving.touched import new_array
from crossview.views import ViewLayout


class SavedState(RowReader):
    """Base class of all learners: what a model file holds.

    A subclass that adds an array or an entry of the header declares it in `_state_schema` or
    `_header_schema`.
    """

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
        self._state = {name: new_array(value) for name, value in state.items()}

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


class CheckedParams(SavedState):
    """Base class of all learners: parameters that are set after `fit` fit what was learned."""

    # whether parameters were set that the learned state may not fit
    _params_changed = False

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a fitted learner goes on with them, if its learned state fits them.

        Parameters
        ----------
        **params : any
            By name.

        Returns
        -------
        self : object
            The learner.  Where the state does not fit, as with another covariance, all but `fit`
            raise an error.
        """
        super().set_params(**params)
        self._params_changed = hasattr(self, "_state")
        return self

    def _validate_params(self) -> None:
        super()._validate_params()
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, int) and abs(value) > MAX_COUNT:
                raise InputError(f"{name}={value}; give a whole number up to {MAX_COUNT:,}")

    def check_fits_state(self) -> None:
        """Raise an error if the learned state does not fit parameters that were set since.

        Raises
        ------
        InputError
            The message says what does not fit.
        """
        if not self._params_changed:
            return
        again = type(self)(**self.get_params(deep=False))
        try:
            again._validate_params()
            again.set_header(self.get_header())
            again.set_state(self.get_state())
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(
                f"the parameters were changed, and what was learned does not fit them ({error}); "
                "fit again, or set them back"
            ) from error
        self._params_changed = False

    def _read(self, X: Any, *, reset: bool, checked: bool = True) -> Rows:
        if reset:
            self._params_changed = False
        self.check_fits_state()
        return super()._read(X, reset=reset, checked=checked)

    def _read_one(self, x: Any, *, learn: bool) -> Rows:
        self.check_fits_state()
        return super()._read_one(x, learn=learn)
