"""The learned state that explicit weights and support vectors have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from crossview.estimators.base import Schema, State, StatePart
from crossview.estimators.kernel.values import KernelFunction, ViewKernels, later_gammas
from crossview.saving.schema import MAX_COUNT, Array
from crossview.views import ViewLayout


class KernelModel(StatePart):
    """Base class of the models: the number of steps, and γ."""

    def __init__(self, state: State, learner: Any) -> None:
        super().__init__(state, learner)
        self.function = KernelFunction.of(learner)
        self.constant = self.function.constant

    @property
    def kernels(self) -> ViewKernels:
        """The kernel of each view."""
        gammas, dense = self.state["gamma"], bool(self.state["dense"][0])
        return ViewKernels(self.function, gammas, self.slots.ptr, dense)

    def start(self) -> None:
        """Add the counts before the first step."""
        self.state |= {
            "t": np.zeros(1, dtype=np.int64),
            "turns": np.zeros(3),  # of a stream: labeled, unlabeled rows; labeled scored right
            "gamma": np.empty(0),
            "dense": np.zeros(1, dtype=bool),
        }

    def schema(self) -> Schema:
        """Return what the arrays look like."""
        return {
            "t": Array("i8", (1,), 0, MAX_COUNT),
            "turns": Array("f8", (3,), low=0.0),
            "gamma": Array("f8", (self.slots.n_views,), low=0.0),
            "dense": Array("b1", (1,)),
        }

    def grow(self, moved: np.ndarray, before: ViewLayout) -> None:
        """Add γ of new views."""
        gamma = self.state["gamma"]
        if gamma.size:
            later = np.ones(self.slots.n_views)
            if self.function.has_gamma:
                later = later_gammas(self.learner.gamma, self.slots.names, self.slots.widths)
            self.state["gamma"] = np.concatenate([gamma, later[len(gamma) :]])
