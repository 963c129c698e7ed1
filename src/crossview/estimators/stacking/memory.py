"""The memory of a stack: its arrays, which no row outside of the stream needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from crossview.algorithms import label_memory, stream_memory
from crossview.algorithms.label_memory import Memory
from crossview.algorithms.newton import Newton
from crossview.algorithms.stacking.stack import STACKING, choose
from crossview.algorithms.stream_memory import StreamMemory
from crossview.errors import InputError
from crossview.estimators.base import Models, Schema, State, StatePart
from crossview.saving.schema import MAX_COUNT, Array
from crossview.saving.touched import zeros
from crossview.views import ViewLayout

PREFIX = "memory_"
PER_COLUMN = ("input_of", "positive", "negative")


class MemoryState(StatePart):
    """The last labels and rows of a stream, and what they say of the next row.

    Parameters
    ----------
    state : dict of str to ndarray
        The arrays of the stack.
    n_columns, n_scores : int
        Number of columns, and of scores: 1, or the number of classes.
    """

    def __init__(self, state: State, n_columns: int, n_scores: int) -> None:
        super().__init__(state)
        self.n, self.n_scores = n_columns, n_scores

    def start(self) -> None:
        """Add a memory of nothing."""
        own = self._new(self.n_scores)
        self.state |= {PREFIX + name: value for name, value in own.items()}

    def _new(self, n_scores: int) -> State:
        """Return the arrays before the first row; of many classes nothing is remembered."""
        remembered = n_scores if n_scores <= stream_memory.MAX_CLASSES else 0
        V, P = stream_memory.start_weights(remembered)
        labels = label_memory.start(remembered)
        means = np.zeros((len(stream_memory.INPUT_DECAYS), stream_memory.MAX_INPUTS))
        return {
            **dict(zip(Memory._fields, labels, strict=True)),
            "losses": np.zeros(3),
            "means": means,
            "past_rates": np.zeros((stream_memory.PAST, *labels[0].shape)),
            "past_means": np.zeros((stream_memory.PAST, *means.shape)),
            "past_labels": np.full((stream_memory.PAST, 2), label_memory.NO_LABEL),
            "n_inputs": np.array([stream_memory.UNKNOWN]),
            "V": V,
            "b": np.zeros((1, remembered)),
            "P": P,
            "owed": np.zeros(len(P)),
            "t": np.zeros(1, dtype=np.int64),
            **{name: zeros((self.n,), np.uint8) for name in PER_COLUMN},
        }

    def schema(self) -> Schema:
        """Return what the arrays look like."""
        limits: dict[str, dict[str, Any]] = {
            "rates": {"low": 0.0, "high": 1.0},
            "chain": {"low": 0.0},
            "gate": {"holds": self._is_gate},
            "losses": {"low": 0.0},
            "past_rates": {"low": 0.0, "high": 1.0},
            "past_labels": {"holds": self._are_labels},
            "owed": {"low": 0.0, "high": 1.0},
            "n_inputs": {"low": stream_memory.UNKNOWN, "high": stream_memory.MAX_INPUTS},
            "t": {"low": 0, "high": MAX_COUNT},
            "input_of": {"low": 0, "high": stream_memory.MAX_INPUTS},
            "positive": {"low": 0, "high": stream_memory.ROWS_BEFORE_INPUTS},
            "negative": {"low": 0, "high": stream_memory.ROWS_BEFORE_INPUTS},
        }
        kinds = {"f": "f8", "i": "i8", "u": "u1"}
        found: Schema = {}
        for name, value in self._new(self.n_scores).items():
            kind = kinds[value.dtype.kind]
            found[PREFIX + name] = Array(kind, value.shape, **limits.get(name, {}))
        return found

    def _is_gate(self, gate: np.ndarray) -> bool:
        """Return whether the last label of a memory is a class, and its counts are positive."""
        is_label = self._is_label(gate[label_memory.LAST])
        return bool(is_label and gate[label_memory.UNIT] >= 1.0 and gate[label_memory.N] >= 0.0)

    def _are_labels(self, past: np.ndarray) -> bool:
        """Return whether the last labels of the past are classes."""
        return bool(np.all(self._is_label(past[:, 1])))

    def _is_label(self, label: Any) -> Any:
        n_classes = len(self.state[PREFIX + "chain"]) - 1
        return (label == np.floor(label)) & (label >= -1) & (label < max(n_classes, 0))

    def check(self) -> None:
        """Raise `InputError` if the columns with a memory contradict each other."""
        input_of, n = self._of("input_of"), max(int(self._of("n_inputs")[0]), 0)
        if sorted(input_of[input_of > 0].tolist()) != list(range(1, n + 1)):
            raise InputError("the columns that a stack remembers contradict each other")

    def _of(self, name: str) -> np.ndarray:
        return self.state[PREFIX + name]

    def merged(self, models: Models) -> State:
        """Return the memory of the last model: its rows are the last ones."""
        return {name: models.states[-1][name] for name in self.schema()}

    def grow(self, moved: np.ndarray, before: ViewLayout) -> None:
        """Make room for columns that are not remembered."""
        for name in PER_COLUMN:
            wider = zeros((self.n,), np.uint8)
            wider[moved] = self._of(name)
            self.state[PREFIX + name] = wider

    def insert_class(self, n_classes: int, position: int) -> None:
        """Begin anew: the rates are of other classes."""
        own = self._new(n_classes + 1 if n_classes > 1 else 1)
        self.state |= {PREFIX + name: value for name, value in own.items()}

    @property
    def gate(self) -> np.ndarray:
        """The gate of the last labels."""
        return self._of("gate")

    @property
    def remembers(self) -> bool:
        """Whether the memory changes the score of the next row."""
        is_open = bool(self.gate[label_memory.OPEN])
        return bool(is_open and choose(self._of("losses")) == STACKING)

    def for_loops(self) -> StreamMemory:
        """Return the arrays for the loop."""
        labels = Memory(*(self._of(name) for name in Memory._fields))
        own = {name: self._of(name) for name in ("V", "b", "P", "owed", "t")}
        C, none = own["b"].shape[1], np.zeros(0)
        no_place = np.zeros(0, dtype=np.int64)
        model = Newton(
            **own,
            W=np.zeros((0, C)),
            used=np.zeros(1, dtype=np.int64),
            members=no_place,
            place=np.zeros(0, dtype=np.int32),
            **dict.fromkeys(("D", "counts", "squares", "scale", "phase"), none),
            signs=np.zeros(0, dtype=np.uint8),
            **dict.fromkeys(("input_of", "inputs"), no_place),
            n_inputs=no_place,
            omega=np.zeros((0, 0)),
        )
        past = ("past_rates", "past_means", "past_labels")
        names = ("losses", "means", *past, "n_inputs", *PER_COLUMN)
        return StreamMemory(labels, model=model, **{name: self._of(name) for name in names})
