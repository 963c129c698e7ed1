"""Learners that learned different rows, as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from crossview.algorithms import merging
from crossview.errors import InputError
from crossview.estimators.base.saved import CheckedParams
from crossview.kernels.merged import total

__all__ = ["MergeableLearner", "Parts"]

State = Mapping[str, np.ndarray]


class Parts(NamedTuple):
    """The states of models that learned different rows from the same start.

    Attributes
    ----------
    states : sequence of dict
        Of each model, as from ``get_state``.
    shares : sequence of float
        Of the rows; their sum is 1.
    start : dict
        What the models started from.
    product : bool
        Whether weights with a covariance are those of the product of Gaussians; else their mean.
    """

    states: Sequence[State]
    shares: Sequence[float]
    start: State
    product: bool

    def of(self, name: str) -> list[np.ndarray]:
        """Return one array of each model."""
        return [state[name] for state in self.states]

    def mean(self, name: str) -> np.ndarray:
        """Return the mean of an array."""
        return merging.mean(self.of(name), self.shares)

    def total(self, name: str) -> np.ndarray:
        """Return the sum of an array that counts rows, those of the start once."""
        return total(self.of(name), self.start[name])

    def select(self, prefix: str) -> Parts:
        """Return the arrays whose names begin with ``prefix``, without it."""
        n = len(prefix)
        states = [
            {name[n:]: value for name, value in state.items() if name.startswith(prefix)}
            for state in [*self.states, self.start]
        ]
        return self._replace(states=states[:-1], start=states[-1])


class MergeableLearner(CheckedParams):
    """Base class of all learners: their merge, which each class extends by its own arrays."""

    def _merged(self, parts: Parts) -> dict[str, np.ndarray]:
        """Return the merged arrays; a learner that leaves out one of its arrays has no merge."""
        if not all("calibration" in state for state in parts.states):
            return {}
        own = parts.of("calibration")
        start = parts.start.get("calibration", np.zeros_like(own[0]))
        return {"calibration": merging.calibrations(own, parts.shares, start)}

    def _restart(self) -> None:
        """Initialize the learned state, and what depends on it."""
        raise NotImplementedError

    def _unlearned(self) -> Self:
        """Return a learner of the same columns that has learned nothing."""
        new = self._with_header(self.get_header())
        new._restart()
        return new

    def _with_header(self, header: Mapping[str, Any]) -> Self:
        """Return a learner with these parameters and this header, and without a state."""
        new = type(self)(**self.get_params(deep=False))
        new.set_header(header)
        return new

    def merge_with(
        self,
        others: Sequence[Self],
        shares: Sequence[float],
        start: Self | None = None,
        product: bool = False,
    ) -> Self:
        """Return one learner for this one and others; see `crossview.merge`.

        Parameters
        ----------
        others : sequence of learner
            They have the same parameters, columns and classes.
        shares : sequence of float
            Of the rows that each has learned, this one first; their sum is 1.
        start : learner, default=None
            What all of them started from.  None: they had learned nothing.
        product : bool, default=False
            Whether weights with a covariance are those of the product of Gaussians.

        Returns
        -------
        learner
            The merged one.
        """
        models = [self, *others]
        if not hasattr(self, "learn_one"):
            raise InputError(
                f"{type(self).__name__} has no merge: it is the solution for all of its rows; "
                "train it on all of them"
            )
        for model in models:
            model.check_fits_state()
        start = self._unlearned() if start is None else start
        states = [model.get_state() for model in models]
        parts = Parts(states, [float(share) for share in shares], start.get_state(), product)
        with np.errstate(over="ignore", invalid="ignore"):
            state = self._merged(parts)
        if missing := [name for name in states[0] if name not in state]:
            raise InputError(
                f"{type(self).__name__} has no merge: {self._explain_no_merge(missing)}"
            )
        new = self._with_header(self._merged_header(models, parts.shares))
        new.set_state(state)
        return new

    def _explain_no_merge(self, missing: Sequence[str]) -> str:
        """Return why these arrays cannot be merged."""
        return f"nothing says how {', '.join(missing)} of several models become one"

    def _merged_header(self, models: Sequence[Any], shares: Sequence[float]) -> dict[str, Any]:
        """Return the header of the merged learner; a threshold is the mean of all."""
        header = self.get_header()
        thresholds: list[Any] = [getattr(model, "threshold_", None) for model in models]
        if None not in thresholds:
            header["threshold"] = float(np.dot(thresholds, shares))
        elif "threshold" in header:
            header["threshold"] = None
        return header
