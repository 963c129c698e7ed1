"""What a fitted `MultiViewSVMPerf` tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crossview.estimators.svm.options import SVMPerfOptions
from crossview.saving.schema import Array

__all__ = ["SVMPerfAttributes"]


class SVMPerfAttributes(SVMPerfOptions):
    """Base class of `MultiViewSVMPerf`: what is learned besides weights."""

    def _n_biases(self) -> int:
        return self._slots.n_views

    def _state_schema(self, state: Mapping[str, np.ndarray]) -> dict[str, Array | np.ndarray]:
        K = self._n_scores()
        return super()._state_schema(state) | {
            "W": Array("f8", (self._slots.n_columns, K)),
            "b": Array("f8", (self._slots.n_views, K)),
            "n_iter": Array("i8", (K,), low=0),
            "gap": Array("f8", (K,), -np.inf, np.inf),
            "size": Array("i8", (K,), low=0),
            "history": Array("f8", (int(state["n_iter"].sum()), 2), -np.inf, np.inf),
        }

    def _per_class(self, name: str) -> Any:
        """Return one number, or an array with one number per class."""
        check_is_fitted(self, "_state")
        values = self._state[name]
        return values if len(values) > 1 else values.tolist()[0]

    @property
    def n_iter_(self) -> Any:
        """Number of iterations; an array for more than two classes."""
        return self._per_class("n_iter")

    @property
    def dual_gap_(self) -> Any:
        """Relative gap between the objective and its lower bound; an array for several classes."""
        return self._per_class("gap")

    @property
    def working_set_size_(self) -> Any:
        """Number of constraints in the last quadratic program; an array for several classes."""
        return self._per_class("size")

    @property
    def objective_history_(self) -> Any:
        """Lower bound and best objective after each iteration; a list for several classes."""
        check_is_fitted(self, "_state")
        parts = np.split(self._state["history"], np.cumsum(self._state["n_iter"])[:-1])
        return parts if len(parts) > 1 else parts[0]
