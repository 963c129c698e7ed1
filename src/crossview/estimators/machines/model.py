"""State and scores of the machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms.machines import contributions, scores
from crossview.algorithms.machines.state import ALL_PAIRS, CROSS_PAIRS, TENSOR, Machine
from crossview.batch import read_only
from crossview.estimators.base import ColumnWeights, Parts
from crossview.estimators.machines.interactions import InterpretableMachine
from crossview.estimators.machines.merged import merged_state
from crossview.estimators.machines.state import (
    Design,
    as_machine,
    cast_state,
    grow_state,
    make_state,
    resolve_groups,
    state_schema,
)
from crossview.kernels.rows import Rows
from crossview.saving.schema import Array

__all__ = ["MachineModel"]


class MachineModel(InterpretableMachine):
    """Base class of the machines: state and scores."""

    # --- to be implemented by subclasses --------------------------------------

    def _model(self) -> int:
        """Return MULTI_VIEW, CROSS_PAIRS, ALL_PAIRS or TENSOR."""
        raise NotImplementedError

    def _in_units(self, score: np.ndarray) -> np.ndarray:
        """Return scores in the units of the target."""
        return score

    # --- scores ---------------------------------------------------------------

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        found = np.zeros((len(rows.indptr) - 1, self._n_scores()))
        scores.score_rows(rows, read_only(np.arange(len(found))), self._frozen(), found)
        return found

    def _column_weights(self) -> ColumnWeights:
        """Return the interactions of order 1, and the norms of the factors."""
        machine, columns = self._machine(), list(self.view_columns().values())
        shape = machine.c.shape[1], int(self.n_features_in_)
        weights, sqnorms = np.zeros(shape), np.zeros(shape)
        pairs = machine.model in (CROSS_PAIRS, ALL_PAIRS)
        n_parts = np.diff(machine.ends.astype(np.intp), prepend=0)
        for a in range(shape[0]):
            tables, seen, terms_of_one = self._terms_of(a, 1)
            for (p, *others), (factors, *_), constant in terms_of_one:
                if not others:
                    where = columns[int(machine.views[p])][seen[p]]
                    weights[a, where] += factors @ constant
            for p, table in enumerate(tables):
                where = columns[int(machine.views[p])][seen[p]]
                sqnorms[a, where] += (table[:, int(pairs) :] ** 2).sum(axis=1)
        only_products = machine.model == TENSOR and n_parts.max() > 1
        interact = pairs or n_parts.max() > 1
        return ColumnWeights(
            None if only_products else weights,
            factor_norm=np.sqrt(sqnorms) if interact else None,
        )

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        return contributions.contributions(rows, self._frozen())

    def view_scores(self, X: Any) -> np.ndarray:
        """Return the score of each view alone, as if all other views were missing.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
            One score per view (and class, for more than two), in the units of
            the target for a regressor; NaN where the view is missing.
        """
        check_is_fitted(self, "_state")
        rows = self._read(X, reset=False)
        n, V = len(rows.indptr) - 1, len(rows.ptr) - 1
        present = rows.present if len(rows.present) else np.ones((n, V), dtype=np.bool_)
        scores_of_views = np.full((n, V, self._n_scores()), np.nan)
        for v in range(V):
            alone = np.zeros((n, V), dtype=np.bool_)
            alone[:, v] = present[:, v]
            joint = self._joint_scores(rows._replace(present=read_only(alone)))
            scores_of_views[present[:, v], v] = self._in_units(joint)[present[:, v]]
        return scores_of_views[:, :, 0] if scores_of_views.shape[2] == 1 else scores_of_views

    # --- state ----------------------------------------------------------------

    def _design(self) -> Design:
        return Design(
            self._model(),
            resolve_groups(getattr(self, "groups", None), self.layout_.names),
            int(getattr(self, "n_factors", 1)),
            self.optimizer == "adagrad",
            float(self.init_scale),
            getattr(self, "init", "signs") == "published",
        )

    def _machine(self) -> Machine:
        return as_machine(self._state, self._design())

    def _frozen(self) -> Machine:
        """Return the machine with read-only arrays."""
        m = self._machine()
        return m._replace(
            A=read_only(m.A), B=read_only(m.B), c=read_only(m.c), seen=read_only(m.seen)
        )

    def _start_state(self) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31))
        class_ids = np.arange(self._n_scores(), dtype=np.uint64)
        self._state = make_state(self._design(), self._slots.ptr, seed, class_ids)

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the learned state as arrays, in the form of the optimizer."""
        state = super().get_state()
        cast_state(state, self._design())
        return state

    def _merged(self, parts: Parts) -> dict[str, np.ndarray]:
        return super()._merged(parts) | merged_state(parts)

    def _merged_header(self, models: Sequence[Any], shares: Sequence[float]) -> dict[str, Any]:
        return {**super()._merged_header(models, shares), "passes": None}

    def _state_schema(self, state: Mapping[str, np.ndarray]) -> dict[str, Array | np.ndarray]:
        own = state_schema(self._design(), self._slots.ptr, self._n_scores())
        return super()._state_schema(state) | own

    def _grow_state(self, moved: np.ndarray) -> None:
        design = self._design()
        cast_state(self._state, design)
        self._state |= grow_state(self._state, design, self._slots.ptr, moved)

    def get_header(self) -> dict[str, Any]:
        """Return the part of the state that is not arrays."""
        passes = None
        if hasattr(self, "n_iter_"):
            passes = {"n": self.n_iter_, "validation_loss": self.validation_loss_.tolist()}
        return {**super().get_header(), "passes": passes}

    def set_header(self, header: Mapping[str, Any]) -> None:
        """Restore the header that `get_header` returned."""
        super().set_header(header)
        if passes := header["passes"]:
            self.n_iter_ = passes["n"]
            self.validation_loss_ = np.asarray(passes["validation_loss"])

    def _header_schema(self) -> dict[str, Any]:
        passes = (None, {"n": int, "validation_loss": [float]})
        return {**super()._header_schema(), "passes": passes}

    def _forget(self) -> None:
        super()._forget()
        for name in ("n_iter_", "validation_loss_"):
            self.__dict__.pop(name, None)
