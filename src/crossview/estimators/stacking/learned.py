"""What a stack has learned: its experts, their weights, and the weights over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms.stacking.stack import STACKING, choose
from crossview.errors import InputError
from crossview.estimators.base import Parts
from crossview.estimators.stacking import state as states
from crossview.estimators.stacking.defaults import EXPERT_CLASSES, MAX_VIEWS_ALONE, view_expert
from crossview.estimators.stacking.experts import (
    Experts,
    experts_from_json,
    experts_to_json,
    named_entries,
    own_layout,
)
from crossview.estimators.stacking.given import ExpertParameters
from crossview.saving.schema import Array
from crossview.views import ViewLayout

__all__ = ["LearnedStack", "WeightHistory"]


class WeightHistory(NamedTuple):
    """The weights of the experts over time, for pictures."""

    experts: tuple[str, ...]
    n_rows: np.ndarray  # (n_snapshots,): after how many rows
    mixture: np.ndarray  # (n_snapshots, n_experts): weights of the mixture, which add up to 1
    stacking: np.ndarray  # (n_snapshots, n_experts): coefficients of stacking
    stacking_decides: np.ndarray  # bool (n_snapshots,): else the mixture decides


class LearnedStack(ExpertParameters):
    """Base class of the stacks: learned state."""

    _experts: Experts

    # --- to be implemented by subclasses ------------------------------------------------

    def _default_experts(self) -> list[tuple[str, Any, str | None]]:
        """Return the experts for the views of the data, and its classes."""
        raise NotImplementedError

    def _default_of_view(self) -> type:
        """Return the learner that sees one view alone."""
        raise NotImplementedError

    def _n_calibrated(self) -> int | None:
        """Return the number of scores to calibrate; None for predictions."""
        raise NotImplementedError

    # --- state -----------------------------------------------------------------------------

    def _start_state(self) -> None:
        random_state = check_random_state(self.random_state)
        given = self._default_experts() if self.experts is None else named_entries(self.experts)
        self._experts = Experts.make(given, self, random_state)
        n_scores = self._n_calibrated()
        self._state = states.make_state(
            len(self._experts), n_scores or 1, float(self.ridge), n_scores
        )

    def _state_schema(self, state: Mapping[str, np.ndarray]) -> dict[str, Array | np.ndarray]:
        n_scores = self._n_calibrated()
        own = states.state_schema(
            len(self._experts), n_scores or 1, len(self._experts.ever), n_scores
        )
        return super()._state_schema(state) | own

    def _header_schema(self) -> dict[str, Any]:
        entry = {"name": str, "view": (None, str), "column": int, "class": str, "params": dict}
        return {**super()._header_schema(), "experts": {"ever": [str], "left": [entry]}}

    def _check_growth(self, slots: ViewLayout) -> None:
        if hasattr(self, "_experts"):
            for expert in self._experts:
                expert.learner._check_growth(own_layout(expert, slots))

    def _grow_state(self, moved: np.ndarray) -> None:
        old, names = self._experts.names, self.layout_.names
        self._experts.grow(self, moved, old)
        if self.experts is not None or not len(old) < len(names) <= MAX_VIEWS_ALONE:
            return
        random_state = check_random_state(self.random_state)
        for view in names if len(old) == 1 else names[len(old) :]:
            entry = view_expert(view, self._default_of_view())
            self._experts.add(*entry, self, random_state)
            states.with_expert(self._state, float(self.ridge), self._n_calibrated())

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the learned state as arrays, those of expert k as ``k/name``."""
        return {**super().get_state(), **self._experts.get_state()}

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `get_state` returned."""
        super().set_state({name: value for name, value in state.items() if "/" not in name})
        self._experts.set_state({name: value for name, value in state.items() if "/" in name})

    def get_header(self) -> dict[str, Any]:
        """Return the part of the state that is not arrays."""
        return {**super().get_header(), "experts": experts_to_json(self._experts)}

    def set_header(self, header: Mapping[str, Any]) -> None:
        """Restore the header that `get_header` returned."""
        super().set_header(header)
        self._experts = experts_from_json(header["experts"], self.experts, EXPERT_CLASSES, self)
        for expert in self._experts:
            if not isinstance(expert.learner, self._expert_kind):
                raise InputError(f"expert {expert.name!r} does not predict what the stack does")
            expert.learner.check_params()
            expert.learner.check_streams()

    def _merged(self, parts: Parts) -> dict[str, np.ndarray]:
        merged = super()._merged(parts) | states.merged_state(parts, self._n_calibrated())
        for k, expert in enumerate(self._experts):
            own = expert.learner._merged(parts.select(f"{k}/"))
            merged |= {f"{k}/{name}": value for name, value in own.items()}
        return merged

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("_experts", None)

    # --- what was learned -------------------------------------------------------------------

    @property
    def experts_(self) -> list[tuple[str, Any, str | None]]:
        """The experts that are left: name, learner, and view; None for all views."""
        check_is_fitted(self, "_state")
        return [(expert.name, expert.learner, expert.view) for expert in self._experts]

    @property
    def mixture_weights_(self) -> dict[str, float]:
        """Weight of each expert in the mixture; they add up to 1."""
        check_is_fitted(self, "_state")
        return self._by_name(self._state["omega"])

    @property
    def stacking_weights_(self) -> dict[str, float]:
        """Coefficient of each expert in stacking."""
        check_is_fitted(self, "_state")
        return self._by_name(self._state["v"])

    @property
    def stacking_decides_(self) -> bool:
        """Whether stacking predicts; otherwise the mixture does."""
        check_is_fitted(self, "_state")
        return bool(choose(self._state["losses"]) == STACKING)

    @property
    def weight_history_(self) -> WeightHistory:
        """Weights of all experts over time, at most 512 evenly spaced snapshots."""
        check_is_fitted(self, "_state")
        state, n = self._state, int(self._state["clock"][2])
        mixture, stacking = (state["weights"][:n, i].copy() for i in range(2))
        rows, decides = state["rows"][:n].copy(), state["stacks"][:n].copy()
        return WeightHistory(tuple(self._experts.ever), rows, mixture, stacking, decides)

    def _by_name(self, weights: np.ndarray) -> dict[str, float]:
        names = [expert.name for expert in self._experts]
        return dict(zip(names, weights[: len(names)].tolist(), strict=True))
