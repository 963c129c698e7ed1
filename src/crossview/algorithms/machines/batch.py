"""Sums over all rows, for the batch solvers."""

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, njit
from crossview.algorithms.losses import loss_slopes
from crossview.algorithms.machines.scores import order_slope, row_score
from crossview.algorithms.machines.state import (
    ALL_ORDERS,
    ALL_PAIRS,
    MULTI_VIEW,
    Machine,
    find_views,
    has_view,
    row_buffers,
)
from crossview.algorithms.machines.update import row_slopes
from crossview.kernels.rows import ONE, Examples, Rows


class Gradient(NamedTuple):
    """The slopes by the parameters A, B and c, without AdaGrad's sums."""

    A: np.ndarray
    B: np.ndarray
    c: np.ndarray


def add_gradient(
    rows: Rows,
    examples: Examples,
    machine: Machine,
    loss: int,
    gradient: Gradient,
    scores: np.ndarray,
) -> None:
    """Add the slopes of all losses to ``gradient``; scores[i] <- the scores of row i."""
    buffers = row_buffers(machine, rows.ptr)
    gradient_pass(
        rows, examples, machine, loss, gradient, (buffers, row_slopes(machine, buffers)), scores
    )


@borrowing
def gradient_pass(rows, examples, machine, loss, gradient, work, scores):
    """The loop of `add_gradient`."""
    order, y, weight = examples
    x, j, _, _, _, present = rows
    buffers, slopes = work
    n, K = machine.B.shape[2], machine.c.shape[1]
    k = n // K
    D, entry_ptr, G, pairs = buffers.D, buffers.entry_ptr, slopes.score, slopes.pairs
    for s in range(order.shape[0]):
        i = order[s]
        offset = row_score(rows, i, machine, buffers, scores[i])
        loss_slopes(loss, scores[i], y[i], G)
        for a in range(K):
            G[a] *= weight[i]
            gradient.c[a] += G[a]
            if machine.model == ALL_PAIRS or machine.model == ALL_ORDERS:
                # less the pair of a column with itself
                pairs[a * k + 1 : (a + 1) * k] = G[a]
        for p in range(machine.views.shape[0]):
            v = machine.views[p]
            for a in range(K):
                for f in range(a * k, (a + 1) * k):
                    D[p, f] *= G[a]
            if machine.model == MULTI_VIEW:
                for f in range(n):
                    gradient.B[p, f] += D[p, f]
            if has_view(present, i, v):
                for q in range(entry_ptr[v], entry_ptr[v + ONE]):
                    slot = j[q - offset] + machine.column_offset[p]
                    for f in range(n):
                        z, slope = x[q] * machine.A[slot, 0, f], D[p, f]
                        if machine.model != ALL_ORDERS:
                            slope -= pairs[f] * z
                        elif pairs[f] != 0.0:
                            slope = pairs[f] * order_slope(buffers.E, f, z)
                        gradient.A[slot, f] += x[q] * slope


def sum_slopes(
    rows: Rows, order: np.ndarray, machine: Machine, scores: np.ndarray, D: np.ndarray
) -> None:
    """scores[s] and D[s, p, f] <- score and d score / d S_p,f of row order[s]."""
    slopes_pass(rows, order, machine, row_buffers(machine, rows.ptr), scores, D)


@borrowing
def slopes_pass(rows, order, machine, buffers, scores, D):
    """The loop of `sum_slopes`."""
    for s in range(order.shape[0]):
        row_score(rows, order[s], machine, buffers, scores[s])
        for p in range(D.shape[1]):
            for f in range(D.shape[2]):
                D[s, p, f] = buffers.D[p, f]


@njit
def count_touches(rows, order, machine, counts):
    """Add to counts[slot] the number of rows that touch it."""
    x, j, _, _, ptr, present = rows
    entry_ptr = np.empty(ptr.shape[0], np.uint64)
    for s in range(order.shape[0]):
        i = order[s]
        offset = find_views(rows, i, entry_ptr)
        for p in range(machine.views.shape[0]):
            v = machine.views[p]
            if has_view(present, i, v):
                for q in range(entry_ptr[v], entry_ptr[v + ONE]):
                    if x[q] != 0.0:
                        counts[j[q - offset] + machine.column_offset[p]] += 1.0
