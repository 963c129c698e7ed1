"""One step of Algorithm 1: score every view of one row, then let every view learn."""

from typing import NamedTuple

import numpy as np

from crossview._jit import inlined_borrowing


class Settings(NamedTuple):
    """What stays the same during a pass."""

    lam: float  # λ
    include_self: bool  # the term j = i counts in a row's score
    supervised: bool  # Pegasos: an unlabeled row takes a step and changes nothing


class Examples(NamedTuple):
    """What is given with n rows: K labels per row, V views; read-only."""

    labels: np.ndarray  # (n, K): -1 and 1; 0 in an unlabeled row
    weight: np.ndarray  # (n,)
    present: np.ndarray  # bool (n, V), or (0, V) if no view is missing


class Memory(NamedTuple):
    """What was learned of n rows."""

    alpha: np.ndarray  # (V, K, n): counts
    beta: np.ndarray  # (V, K, n): α z
    last: np.ndarray  # (V, K, n): ŷ, the scores when the row was drawn last


class RowBuffers(NamedTuple):
    """Scratch space for the row at hand."""

    here: np.ndarray  # bool (V,): which views it has
    sums: np.ndarray  # (V, K): sum_j β_n[j] K_n(x_i, x_j)
    self_kernel: np.ndarray  # (V,): K_n(x_i, x_i)


def init_memory(V: int, K: int, n: int) -> Memory:
    """Return a memory in which all counts are 0."""
    return Memory(np.zeros((V, K, n)), np.zeros((V, K, n)), np.zeros((V, K, n)))


def row_buffers(V: int, K: int) -> RowBuffers:
    """Return the scratch space of a loop."""
    return RowBuffers(np.empty(V, np.bool_), np.zeros((V, K)), np.zeros(V))


@inlined_borrowing
def mark_present(present, i, here):
    """here[n] <- whether row i has view n."""
    for n in range(here.shape[0]):
        here[n] = present.shape[0] == 0 or present[i, n]


@inlined_borrowing
def co_label(last, i, n, c, here):
    """Return the co-agreement (5): the sign of the sum of the other views' scores."""
    total = 0.0
    for v in range(last.shape[0]):
        if v != n and here[v]:
            total += last[v, c, i]
    return np.sign(total)


@inlined_borrowing
def has_loss(z, score):
    """Return whether the hinge loss (6), max(0, 1 - z ŷ), is above 0."""
    return z * score < 1.0


@inlined_borrowing
def take_step(i, t, row, examples, memory, settings):
    """Lines 6 to 11 of Algorithm 1 for row i at step t; its sums are in the buffers."""
    # a tuple is unpacked once per step: in the inner loops each access costs some nanoseconds
    here, sums, self_kernel = row
    labels, weight, _ = examples
    alpha, beta, last = memory
    # line 6, eq. (3): all views are scored before any of them learns
    for n in range(here.shape[0]):
        if here[n]:
            for c in range(sums.shape[1]):
                total = sums[n, c]
                labeled = labels[i, c] != 0.0
                if beta[n, c, i] != 0.0 and not (settings.include_self and labeled):
                    total -= beta[n, c, i] * self_kernel[n]
                if settings.include_self and not labeled:
                    # views before n have their score of this step, those after it an older one
                    total += alpha[n, c, i] * co_label(last, i, n, c, here) * self_kernel[n]
                last[n, c, i] = total / (settings.lam * t)
    # lines 7 to 11: eq. (4) labels the row, and every view in which it has a loss counts it
    for n in range(here.shape[0]):
        if here[n]:
            for c in range(sums.shape[1]):
                z = labels[i, c] if labels[i, c] != 0.0 else co_label(last, i, n, c, here)
                if has_loss(z, last[n, c, i]):
                    alpha[n, c, i] += weight[i]
                beta[n, c, i] = z * alpha[n, c, i]
