"""Learned state of a combination: new and dropped experts, new classes, and its memory.

The arrays are the fields of `Stack` and `History`, and ``calibrations``, one row per expert.  The
first K entries of ``v`` belong to the experts, the others are offsets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crossview.algorithms import calibration
from crossview.algorithms.merging import calibrations
from crossview.algorithms.newton import Newton
from crossview.algorithms.stacking import history, label_memory, stream_memory
from crossview.algorithms.stacking.history import MAX_SNAPSHOTS, History
from crossview.algorithms.stacking.label_memory import Memory
from crossview.algorithms.stacking.stack import STACKING, Stack, choose
from crossview.algorithms.stacking.stream_memory import StreamMemory
from crossview.errors import InputError
from crossview.estimators.base import Models, Schema, State, StatePart
from crossview.estimators.base.calibration import calibration_schema
from crossview.saving.schema import MAX_COUNT, Array
from crossview.saving.touched import zeros
from crossview.views import ViewLayout

_HISTORY = ("clock", "rows", "weights", "stacks")


def make_state(K: int, n_offsets: int, ridge: float, n_scores: int | None) -> State:
    """Return the state before the first row: equal weights.

    ``n_scores`` is None for predictions, which need no calibration.
    """
    past = history.start(K)
    own = np.empty(0) if n_scores is None else calibration.start(n_scores)
    return {
        "calibrations": np.tile(own, (K, 1)),
        "v": np.append(np.full(K, 1.0 / K), np.zeros(n_offsets)),
        "A_inv": np.eye(K + n_offsets) / ridge,
        "omega": np.full(K, 1.0 / K),
        "losses": np.zeros(3),
        "idle": np.zeros(K, dtype=np.int64),
        **{name: getattr(past, name) for name in _HISTORY},
    }


class StackState(StatePart):
    """The weights of the experts, their calibrations, and the weights over time."""

    def __init__(self, state: State, stack: Any) -> None:
        super().__init__(state, stack)
        self.experts, self.ridge = stack._experts, float(stack.ridge)
        # scores to calibrate
        self.n_calibrated = self.n_scores if stack._calibrates else None

    def start(self) -> None:
        """Add equal weights."""
        K, n_offsets = len(self.experts), self.n_calibrated or 1
        self.state |= make_state(K, n_offsets, self.ridge, self.n_calibrated)

    def schema(self) -> Schema:
        """Return what the arrays look like."""
        K, n, n_scores = len(self.experts), MAX_SNAPSHOTS, self.n_calibrated
        D = K + (n_scores or 1)
        # rows learned, rows between snapshots, number of snapshots
        clock = np.array([0, 1, 0]), np.array([MAX_COUNT, MAX_COUNT, n - 1])
        own = Array("f8", (K, 0))
        return {
            "calibrations": own if n_scores is None else calibration_schema(n_scores, each=(K,)),
            "v": Array("f8", (D,)),
            "A_inv": Array("f8", (D, D)),
            "omega": Array("f8", (K,), low=0.0),
            "losses": Array("f8", (3,), low=0.0),
            "idle": Array("i8", (K,), 0, MAX_COUNT),
            "clock": Array("i8", (3,), *clock),
            "rows": Array("i8", (n,), low=0),
            "weights": Array("f8", (n, 2, len(self.experts.ever))),
            "stacks": Array("b1", (n,)),
        }

    def merged(self, models: Models) -> State:
        """Return the mean weights of stacks with the same experts, and the history of the first.

        Losses and A forget, so what a part has learned since the start may be less than it has
        forgotten: they do not add up as counts do.
        """
        merged = {name: models.states[0][name] for name in _HISTORY}
        merged |= {name: models.mean(name) for name in ("v", "omega", "losses", "A_inv")}
        merged["idle"] = np.minimum.reduce(models.of("idle"))
        of_experts = zip(*models.of("calibrations"), strict=True)
        start = models.start["calibrations"]
        merged["calibrations"] = np.stack(
            [
                own[0] if self.n_calibrated is None else calibrations(own, models.shares, first)
                for own, first in zip(of_experts, start, strict=True)
            ]
        )
        return merged | self.experts.merged(models)

    def add_expert(self) -> None:
        """Add an expert that has learned nothing, with weight 0 in stacking."""
        state, K = self.state, len(self.state["omega"])
        new = make_state(1, 0, self.ridge, self.n_calibrated)
        state["v"] = np.insert(state["v"], K, 0.0)
        state["A_inv"] = _insert(state["A_inv"], K, self.ridge)
        state["omega"] = np.append(state["omega"] * K, 1.0) / (K + 1)
        for name in ("calibrations", "idle"):
            state[name] = np.concatenate([state[name], new[name]])
        empty = np.zeros((*state["weights"].shape[:2], 1))
        state["weights"] = np.concatenate([state["weights"], empty], axis=2)

    def insert_class(self, n_classes: int, position: int, n_rows: int) -> None:
        """Add a class to those of the combination and of the experts; their weights stay."""
        self.experts.insert_class(self.learner.classes_, n_classes, position, n_rows)
        state, K = self.state, len(self.state["omega"])
        scores = [expert.learner._score_of_new_class(n_rows) for expert in self.experts]
        state["calibrations"] = np.stack(
            [
                calibration.insert_class(own, n_classes, position, n_rows, score)
                for own, score in zip(state["calibrations"], scores, strict=True)
            ]
        )
        v, A_inv = state["v"], state["A_inv"]
        if n_classes == 1:
            if position == 1:  # the only class so far is no longer the positive one
                v[K:] *= -1.0
                A_inv[:K, K:] *= -1.0
                A_inv[K:, :K] *= -1.0
            return
        if n_classes == 2:  # log odds b of the second class: half for it, half against the first
            v = np.append(v[:K], [-v[K] / 2, v[K] / 2])
            A_inv = _insert(A_inv[:K, :K], K, self.ridge)
            A_inv = _insert(A_inv, K, self.ridge)
        # where the experts say 1 / n, so does the combination
        rare = np.logaddexp.reduce(v[K:]) + (v[:K].sum() - 1.0) * np.log(max(n_rows, n_classes))
        state["v"] = np.insert(v, K + position, rare)
        state["A_inv"] = _insert(A_inv, K + position, self.ridge)


def as_stack(state: State, alive: np.ndarray) -> Stack:
    """Return the state for the learning loops."""
    names = ("v", "A_inv", "omega", "losses", "idle")
    return Stack(alive=alive, **{name: state[name] for name in names})


def as_history(state: State, column: np.ndarray) -> History:
    """Return the history for the learning loops."""
    return History(column=column, **{name: state[name] for name in _HISTORY})


def _insert(A_inv: np.ndarray, position: int, ridge: float) -> np.ndarray:
    """Insert a weight that no row has touched."""
    wider = np.insert(np.insert(A_inv, position, 0.0, axis=0), position, 0.0, axis=1)
    wider[position, position] = 1.0 / ridge
    return np.ascontiguousarray(wider)


PREFIX = "memory_"
PER_COLUMN = ("input_of", "positive", "negative")


class MemoryState(StatePart):
    """The last labels and rows of a stream, and what they say of the next row."""

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
            **{name: zeros((self.slots.n_columns,), np.uint8) for name in PER_COLUMN},
        }

    def schema(self) -> Schema:
        """Return what the arrays look like."""
        limits: dict[str, dict[str, Any]] = {
            "rates": {"low": 0.0, "high": 1.0},
            "chain": {"low": 0.0},
            "gate": {"holds": self._is_gate},
            "losses": {"low": 0.0},
            "past_rates": {"low": 0.0, "high": 1.0},
            "past_labels": {"holds": lambda past: bool(np.all(self._is_label(past[:, 1])))},
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
            wider = zeros((self.slots.n_columns,), np.uint8)
            wider[moved] = self._of(name)
            self.state[PREFIX + name] = wider

    def insert_class(self, n_classes: int, position: int, n_rows: int) -> None:
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
