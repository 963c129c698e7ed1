"""Learned state of a combination as a flat dict of arrays: new and dropped experts, new classes.

The keys are the fields of `Stack` and `History`, and ``calibrations``, one row per expert.  The
first K entries of ``v`` belong to the experts, the others are offsets.
"""

from __future__ import annotations

import numpy as np

from crossview.algorithms import calibration, merging
from crossview.algorithms.stacking import history
from crossview.algorithms.stacking.history import MAX_SNAPSHOTS, History
from crossview.algorithms.stacking.stack import Stack
from crossview.estimators.base import Parts
from crossview.estimators.base.probabilities import calibration_schema
from crossview.saving.schema import MAX_COUNT, Array

__all__ = [
    "as_history",
    "as_stack",
    "insert_class",
    "keep_experts",
    "make_state",
    "merged_state",
    "state_schema",
    "with_expert",
]

State = dict[str, np.ndarray]

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


def state_schema(
    K: int, n_offsets: int, n_ever: int, n_scores: int | None
) -> dict[str, Array | np.ndarray]:
    """Return what the state of K experts looks like, of ``n_ever`` that there have been."""
    D, n = K + n_offsets, MAX_SNAPSHOTS
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
        "weights": Array("f8", (n, 2, n_ever)),
        "stacks": Array("b1", (n,)),
    }


def as_stack(state: State, alive: np.ndarray) -> Stack:
    """Return the state for the learning loops."""
    names = ("v", "A_inv", "omega", "losses", "idle")
    return Stack(alive=alive, **{name: state[name] for name in names})


def as_history(state: State, column: np.ndarray) -> History:
    """Return the history for the learning loops."""
    return History(column=column, **{name: state[name] for name in _HISTORY})


def merged_state(parts: Parts, n_scores: int | None) -> State:
    """Return one state for those of stacks with the same experts, and the history of the first.

    Losses and A forget, so what a part has learned since the start may be less than it has
    forgotten: they do not add up as counts do.
    """
    merged = {name: parts.states[0][name] for name in _HISTORY}
    merged |= {name: parts.mean(name) for name in ("v", "omega", "losses", "A_inv")}
    merged["idle"] = np.minimum.reduce(parts.of("idle"))
    of_experts = zip(*parts.of("calibrations"), strict=True)
    start = parts.start["calibrations"]
    merged["calibrations"] = np.stack(
        [
            own[0] if n_scores is None else merging.calibrations(own, parts.shares, first)
            for own, first in zip(of_experts, start, strict=True)
        ]
    )
    return merged


def keep_experts(state: State, kept: np.ndarray) -> None:
    """Delete the experts at all other positions; their weights are 0."""
    K = len(state["omega"])
    rows = np.append(kept, np.arange(K, len(state["v"])))
    state["v"], state["A_inv"] = state["v"][rows], state["A_inv"][np.ix_(rows, rows)]
    for name in ("calibrations", "omega", "idle"):
        state[name] = state[name][kept]


def with_expert(state: State, ridge: float, n_scores: int | None) -> None:
    """Add an expert that has learned nothing, with weight 0 in stacking."""
    K = len(state["omega"])
    new = make_state(1, 0, ridge, n_scores)
    state["v"] = np.insert(state["v"], K, 0.0)
    state["A_inv"] = _insert(state["A_inv"], K, ridge)
    state["omega"] = np.append(state["omega"] * K, 1.0) / (K + 1)
    for name in ("calibrations", "idle"):
        state[name] = np.concatenate([state[name], new[name]])
    empty = np.zeros((*state["weights"].shape[:2], 1))
    state["weights"] = np.concatenate([state["weights"], empty], axis=2)


def insert_class(state: State, ridge: float, n_classes: int, position: int) -> None:
    """Add a class to the ``n_classes`` ones, at ``position``; weights of experts stay."""
    K = len(state["omega"])
    state["calibrations"] = np.stack(
        [calibration.insert_class(own, n_classes, position) for own in state["calibrations"]]
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
        A_inv = _insert(A_inv[:K, :K], K, ridge)
        A_inv = _insert(A_inv, K, ridge)
    state["v"] = np.insert(v, K + position, 0.0)
    state["A_inv"] = _insert(A_inv, K + position, ridge)


def _insert(A_inv: np.ndarray, position: int, ridge: float) -> np.ndarray:
    """Insert a weight that no row has touched."""
    wider = np.insert(np.insert(A_inv, position, 0.0, axis=0), position, 0.0, axis=1)
    wider[position, position] = 1.0 / ridge
    return np.ascontiguousarray(wider)
