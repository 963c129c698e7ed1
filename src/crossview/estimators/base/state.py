"""The learned state of a learner: the parts that it consists of, and models to merge."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from crossview.algorithms import merging
from crossview.kernels.moments import total
from crossview.saving.schema import Array
from crossview.views import ViewLayout

State = dict[str, np.ndarray]
Schema = dict[str, Array | np.ndarray]


class LearnedState(State):
    """The state of a learner, which tells when an array is replaced.

    ``latest`` is another object after each such change of any state, and of any attribute of a
    learner: while it is the same, loops that are bound to arrays are bound to those in use.
    """

    latest: ClassVar[object] = object()

    @classmethod
    def tell(cls) -> None:
        """Say that something has changed."""
        cls.latest = object()


def _telling(change: Callable) -> Callable:
    @functools.wraps(change)
    def tells(self: LearnedState, *args: Any, **options: Any) -> Any:
        try:
            return change(self, *args, **options)
        finally:
            self.tell()

    return tells


for _name in ("__setitem__", "__delitem__", "__ior__", "update", "setdefault", "pop", "clear"):
    setattr(LearnedState, _name, _telling(getattr(dict, _name)))


class Models(NamedTuple):
    """The states of models that learned different rows from the same start.

    states: of each model, as from ``get_state``.
    shares: of the rows; their sum is 1.
    start: what the models started from.
    product: whether weights with a covariance are those of the product of Gaussians; else their
      mean.
    """

    states: Sequence[Mapping[str, np.ndarray]]
    shares: Sequence[float]
    start: Mapping[str, np.ndarray]
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

    def select(self, prefix: str) -> Models:
        """Return the arrays whose names begin with ``prefix``, without it."""
        n = len(prefix)
        states = [
            {name[n:]: value for name, value in state.items() if name.startswith(prefix)}
            for state in [*self.states, self.start]
        ]
        return self._replace(states=states[:-1], start=states[-1])


class StatePart:
    """Base class of the parts of a learned state, each with arrays of its own.

    A learner makes its parts from its parameters and columns whenever it needs them; all that is
    learned is in ``state``, the arrays of the learner by name, which the parts share.
    """

    def __init__(self, state: State, learner: Any) -> None:
        self.state, self.learner = state, learner
        self.slots, self.n_scores = learner._slots, learner._n_scores()

    def start(self) -> None:
        """Add the arrays as they are before the first row; nothing where `fit` makes them all."""

    def schema(self) -> Schema:
        """Return what the arrays in ``state`` must look like."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise `InputError` if the arrays fit the schema, and contradict each other."""

    def saved(self) -> State:
        """Return the arrays that are saved in another form than they have in memory."""
        return {}

    def merged(self, models: Models) -> State:
        """Return the merged arrays; a part that leaves out one of them has no merge."""
        return {}

    def grow(self, moved: np.ndarray, before: ViewLayout) -> None:
        """Make room for new columns: column ``i`` of the state moves to ``moved[i]``.

        ``before`` are the columns so far.
        """

    def restart(self, columns: np.ndarray) -> None:
        """Let the weights of some columns begin anew, in the arrays that there are.

        Only a learner of which ``_can_restart`` calls it.
        """

    def insert_class(self, n_classes: int, position: int, n_rows: int) -> None:
        """Add a class to the ``n_classes`` ones, at this position; the others keep their arrays.

        None of the ``n_rows`` rows so far was of this class.
        """
