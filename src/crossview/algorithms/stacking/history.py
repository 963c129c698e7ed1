"""The weights over time, in bounded memory.

A snapshot is taken every ``spacing`` rows.  When there are 512, every other one is deleted and the
spacing doubles: then there are 256 to 512 snapshots, evenly spaced, however long the stream is.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import inlined_borrowing

MAX_SNAPSHOTS = 512

# of `clock`
N_ROWS, SPACING, N_SNAPSHOTS = range(3)


class History(NamedTuple):
    """Snapshots of the weights; those of dropped experts are 0."""

    clock: np.ndarray  # int64 (3,): rows learned, rows between snapshots, number of snapshots
    rows: np.ndarray  # int64 (512,): after how many rows
    weights: np.ndarray  # float64 (512, 2, K): of the mixture, and of stacking
    stacks: np.ndarray  # bool (512,): whether stacking decided
    column: np.ndarray  # int64 (experts that are left,): column of each in `weights`


def start(n_experts: int) -> History:
    """Return a history without snapshots."""
    return History(
        np.array([0, 1, 0], dtype=np.int64),
        np.zeros(MAX_SNAPSHOTS, dtype=np.int64),
        np.zeros((MAX_SNAPSHOTS, 2, n_experts)),
        np.zeros(MAX_SNAPSHOTS, dtype=bool),
        np.arange(n_experts),
    )


@inlined_borrowing
def record(omega, v, losses, history):
    """Count a row, and take a snapshot if it is time."""
    clock, rows, weights = history.clock, history.rows, history.weights
    clock[N_ROWS] += 1
    if clock[N_ROWS] % clock[SPACING] != 0:
        return
    at = clock[N_SNAPSHOTS]
    rows[at] = clock[N_ROWS]
    history.stacks[at] = losses[1] < losses[0]
    for k in range(weights.shape[2]):
        weights[at, 0, k] = weights[at, 1, k] = 0.0
    for k in range(omega.shape[0]):
        weights[at, 0, history.column[k]] = omega[k]
        weights[at, 1, history.column[k]] = v[k]
    clock[N_SNAPSHOTS] = at + 1
    if at + 1 == rows.shape[0]:  # delete every other one
        half = rows.shape[0] // 2
        for i in range(half):
            rows[i] = rows[2 * i + 1]
            history.stacks[i] = history.stacks[2 * i + 1]
            for k in range(weights.shape[2]):
                weights[i, 0, k] = weights[2 * i + 1, 0, k]
                weights[i, 1, k] = weights[2 * i + 1, 1, k]
        clock[N_SNAPSHOTS] = half
        clock[SPACING] *= 2
