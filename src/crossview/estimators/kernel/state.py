"""Learned state of the kernel learners: support vectors, or explicit weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crossview.errors import InputError
from crossview.estimators.base import ColumnWeights, Parts
from crossview.estimators.kernel.bandwidth import later_gammas, view_gammas
from crossview.estimators.kernel.features import FeatureWeights, explicit_schema
from crossview.estimators.kernel.options import KernelOptions
from crossview.estimators.kernel.support_learner import SupportLearner
from crossview.estimators.kernel.support_vectors import support_schema
from crossview.estimators.kernel.values import ViewKernels
from crossview.kernels.merged import total
from crossview.kernels.rows import Rows
from crossview.saving.schema import MAX_COUNT, Array
from crossview.views import ViewLayout

__all__ = ["KernelState"]

# of explicit weights: what changes with the rows; all else follows from the first ones
LEARNED = ("W", "bias", "t", "turns")


class KernelSchema(KernelOptions):
    """Base class of KeCo and Pegasos: what their state looks like."""

    @property
    def _explicit(self) -> bool:
        """Whether the model has explicit weights, and no support vectors."""
        return self.kernel == "linear" or self.approximation is not None

    def _state_schema(self, state: Mapping[str, np.ndarray]) -> dict[str, Array | np.ndarray]:
        blocks, K = self._blocks(), self._n_scores()
        if self._explicit:
            own = explicit_schema(state, blocks, self.approximation, K)
        else:
            own = support_schema(blocks, K, self.kernel == "precomputed", bool(self.budget))
        return (
            super()._state_schema(state)
            | own
            | {
                "t": Array("i8", (1,), 0, MAX_COUNT),
                "turns": Array("f8", (3,), low=0.0),
                "gamma": Array("f8", (blocks.n_views,), low=0.0),
                "dense": Array("b1", (1,)),
            }
        )

    def _merged(self, parts: Parts) -> dict[str, np.ndarray]:
        merged = super()._merged(parts)
        if not self._explicit:
            return merged
        fixed = [name for name in parts.states[0] if name not in {*merged, *LEARNED}]
        for name in fixed:
            if any(not np.array_equal(value, parts.states[0][name]) for value in parts.of(name)):
                raise InputError(
                    f"the models have another {name!r}, which follows from their first rows; let "
                    "them go on from copies of one model"
                )
        merged |= {name: parts.states[0][name] for name in fixed}
        merged |= {name: parts.mean(name) for name in ("W", "bias")}
        start = parts.start if len(parts.start["gamma"]) else None
        for name in ("t", "turns"):
            zero = np.zeros_like(parts.states[0][name])
            merged[name] = total(parts.of(name), zero if start is None else start[name])
        return merged

    def _explain_no_merge(self, missing: Sequence[str]) -> str:
        return (
            "its support vectors are rows; set kernel='linear' or approximation='fourier', which "
            "keep weights"
        )

    def _check_growth(self, slots: ViewLayout) -> None:
        if self.approximation is not None and hasattr(self, "_state"):
            raise InputError(
                "an approximation is fitted to the first rows and cannot add columns; "
                "leave approximation= at None, or give all rows the same columns"
            )


class KernelState(KernelSchema):
    """Base class of KeCo and Pegasos: the learned state, and how it grows."""

    @property
    def _constant(self) -> float:
        """The constant in each kernel value, whose weight is the intercept."""
        return float(self.fit_intercept)

    @property
    def _has_gamma(self) -> bool:
        return not callable(self.kernel) and self.kernel not in ("linear", "precomputed")

    def _model(self) -> FeatureWeights | SupportLearner:
        """Return the model that learns, on this state."""
        if self._explicit:
            kernel = {"kernel": self.kernel, "degree": self.degree, "coef0": self.coef0}
            return FeatureWeights(
                self._state, self._blocks(), self.approximation, kernel, self._constant
            )
        return SupportLearner(
            self._state,
            self._blocks(),
            self._kernels(self._state["gamma"]),
            self.budget,
            self.maintenance,
            self.cache_size,
        )

    def _kernels(self, gammas: np.ndarray) -> ViewKernels:
        ptr, dense = self._blocks().ptr, bool(self._state["dense"][0])
        return ViewKernels(self.kernel, gammas, self.coef0, self.degree, ptr, self._constant, dense)

    def _gammas(self, gamma: Any, rows: Rows) -> np.ndarray:
        """Return γ of each view; 1 for a kernel that has none."""
        names = self.layout_.names
        return view_gammas(gamma, rows, names) if self._has_gamma else np.ones(len(names))

    # --- state ---------------------------------------------------------------------------

    def _start_state(self) -> None:
        self._state = {
            "t": np.zeros(1, dtype=np.int64),
            "turns": np.zeros(3),  # of a stream: labeled, unlabeled rows; labeled scored right
            "gamma": np.empty(0),
            "dense": np.zeros(1, dtype=bool),
        }
        self._model().start(self._n_scores())

    def _grow_state(self, moved: np.ndarray) -> None:
        self._model().grow(moved, self._n_scores())
        gamma, blocks = self._state["gamma"], self._blocks()
        if gamma.size and self.kernel != "linear":
            later = later_gammas(self.gamma, blocks.names, blocks.widths)
            self._state["gamma"] = np.concatenate([gamma, later[len(gamma) :]])

    def _insert_class(self, old: np.ndarray, position: int) -> None:
        for name, axis in self._model().class_axes().items():
            value = np.moveaxis(self._state[name], axis, 0)
            if len(old) == 1:
                # the only class so far is the positive one; its sign changes if it becomes first
                value = -value if position == 1 else value
            elif len(old) == 2:
                # half of the score for the second class, half against the first
                value = np.insert(np.concatenate([-value / 2, value / 2]), position, 0.0, axis=0)
            else:
                value = np.insert(value, position, 0.0, axis=0)
            self._state[name] = np.ascontiguousarray(np.moveaxis(value, 0, axis))

    # --- attributes ----------------------------------------------------------------------

    @property
    def n_support_(self) -> dict[str, int]:
        """Number of support vectors of each view; empty with explicit weights."""
        return {name: beta.shape[1] for name, beta in self.dual_coef_.items()}

    @property
    def dual_coef_(self) -> dict[str, np.ndarray]:
        """Coefficients α z of the support vectors of each view, (n_scores, n_support)."""
        check_is_fitted(self, "_state")
        if self._explicit:
            return {}
        return {name: self._state[f"beta{v}"].copy() for v, name in enumerate(self.layout_.names)}

    @property
    def n_steps_(self) -> int:
        """Number of steps t so far."""
        check_is_fitted(self, "_state")
        return int(self._state["t"][0])

    @property
    def gamma_(self) -> dict[str, float]:
        """γ of each view; empty before the first rows."""
        check_is_fitted(self, "_state")
        return dict(zip(self.layout_.names, self._state["gamma"].tolist(), strict=False))

    def check_weights(self) -> None:
        """Raise `InputError` if the kernel is not linear."""
        if self.kernel != "linear":
            what = "support rows" if self.approximation is None else "features of all columns"
            raise InputError(
                f"with kernel={self.kernel!r} the model has no weight per column, but {what}; "
                "kernel='linear' has weights"
            )

    def _column_weights(self) -> ColumnWeights:
        return ColumnWeights(self.coef_)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the columns, (1 or n_classes, n_features), for ``kernel="linear"``."""
        check_is_fitted(self, "_state")
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available for kernel='linear'")
        W = self._state["W"] / (float(self.lam) * max(int(self._state["t"][0]), 1))
        V = len(self.layout_.names)
        coef = np.zeros((W.shape[1], self.n_features_in_))
        if self.random_views is not None:
            blocks = pairwise(self.layout_.ptr)
            for columns, (lo, hi) in zip(self.view_columns().values(), blocks, strict=True):
                coef[:, columns] += W[lo:hi].T / V
        elif self._column_map is None:
            coef[:] = W.T / V
        else:
            used = self._column_map >= 0
            coef[:, used] = W[self._column_map[used]].T / V
        return coef

    @property
    def intercept_(self) -> np.ndarray:
        """The intercept of the joint score where no view is missing, (1,) or (n_classes,)."""
        check_is_fitted(self, "_state")
        if self._explicit:
            sums = self._state["bias"]
        else:
            sums = np.stack([beta.sum(axis=1) for beta in self.dual_coef_.values()])
        scale = float(self.lam) * max(int(self._state["t"][0]), 1)
        return self._constant * sums.mean(axis=0) / scale

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
