"""One step of Algorithm 1: score every view of one row, then let every view learn."""

import math
from typing import NamedTuple

import numpy as np

from crossview._jit import inlined_borrowing


class Settings(NamedTuple):
    """Constants of a pass."""

    lam: np.ndarray  # (V,): λ of each view
    intercept: float  # the constant in each kernel value; explicit features have it apart
    include_self: bool  # the term j = i counts in a row's score
    supervised: bool  # Pegasos: an unlabeled row takes a step and changes nothing
    squared: bool = False  # regression: the squared loss
    disagreement: float = 0.0  # μ of regression


class Examples(NamedTuple):
    """Labels, weights and present views of n rows; K labels per row, V views; read-only."""

    labels: np.ndarray  # (n, K): -1 and 1, or a number; NaN in an unlabeled row
    weight: np.ndarray  # (n,)
    present: np.ndarray  # bool (n, V), or (0, V) if no view is missing


class Memory(NamedTuple):
    """Dual variables of n rows, in each view."""

    alpha: np.ndarray  # (V, K, n): counts
    beta: np.ndarray  # (V, K, n): α z
    moment: np.ndarray  # (V, K, n): sum of t times the change of β in step t, for the average
    last: np.ndarray  # (V, K, n): ŷ, the scores when the row was drawn last


class RowBuffers(NamedTuple):
    """Scratch space for the row at hand."""

    here: np.ndarray  # bool (V,): which views it has
    sums: np.ndarray  # (V, K): sum_j β_n[j] K_n(x_i, x_j)
    self_kernel: np.ndarray  # (V,): K_n(x_i, x_i)
    agreed: np.ndarray  # (K,): the co-agreement


def init_memory(V: int, K: int, n: int) -> Memory:
    """Return a memory in which all counts are 0."""
    return Memory(*(np.zeros((V, K, n)) for _ in Memory._fields))


def row_buffers(V: int, K: int) -> RowBuffers:
    """Return the scratch space of a loop."""
    return RowBuffers(np.empty(V, np.bool_), np.zeros((V, K)), np.zeros(V), np.zeros(K))


@inlined_borrowing
def mark_present(present, i, here):
    """here[n] <- whether row i has view n."""
    for n in range(here.shape[0]):
        here[n] = present.shape[0] == 0 or present[i, n]


@inlined_borrowing
def co_agreement(last, i, n, here, agreed):
    """agreed <- the co-agreement (5) on row i of the views other than n.

    Two classes: the sign of the sum of their scores.  Several: 1 for the class with the largest
    sum, -1 for the others.  0 if there is no other view, or all sums are equal.
    """
    top, decided = 0, False
    for c in range(agreed.shape[0]):
        agreed[c] = 0.0
        for v in range(last.shape[0]):
            if v != n and here[v]:
                agreed[c] += last[v, c, i]
        decided |= agreed[c] != agreed[0]
        if agreed[c] > agreed[top]:
            top = c
    if agreed.shape[0] == 1:
        agreed[0] = np.sign(agreed[0])
        return
    for c in range(agreed.shape[0]):
        agreed[c] = (1.0 if c == top else -1.0) if decided else 0.0


@inlined_borrowing
def has_loss(z, score):
    """Return whether the hinge loss (6), max(0, 1 - z ŷ), is above 0."""
    return z * score < 1.0


@inlined_borrowing
def take_step(i, t, row, examples, memory, settings):
    """Make step t, on row i; its sums are in the buffers."""
    if settings.squared:
        take_squared_step(i, t, row, examples, memory, settings)
    else:
        take_hinge_step(i, t, row, examples, memory, settings)


@inlined_borrowing
def take_squared_step(i, t, row, examples, memory, settings):
    """The implicit step of regression; see the equations of the package."""
    here, sums, self_kernel, _ = row
    labels, weight, _ = examples
    beta, moment = memory.beta, memory.moment
    lam, mu, y = settings.lam, settings.disagreement, labels[i, 0]
    n_present, total, normalizer = 0, 0.0, 0.0
    if math.isnan(y):
        for n in range(here.shape[0]):
            n_present += here[n]
        for n in range(here.shape[0]):
            if here[n]:
                g = 1.0 / (1.0 + n_present * mu * weight[i] * self_kernel[n] / (lam[n] * t))
                total += g * sums[n, 0] / (lam[n] * t)
                normalizer += g
    for n in range(here.shape[0]):
        if here[n]:
            score, eta = sums[n, 0] / (lam[n] * t), weight[i] * self_kernel[n] / (lam[n] * t)
            if not math.isnan(y):
                step = weight[i] * (y - score) / (1.0 + eta)
            elif normalizer > 0.0:
                pull = n_present * mu
                step = weight[i] * pull * (total / normalizer - score) / (1.0 + pull * eta)
            else:
                step = 0.0
            beta[n, 0, i] += step
            moment[n, 0, i] += t * step


@inlined_borrowing
def take_hinge_step(i, t, row, examples, memory, settings):
    """Lines 6 to 11 of Algorithm 1 for row i at step t."""
    # a tuple is unpacked once per step: in the inner loops each access costs some nanoseconds
    here, sums, self_kernel, agreed = row
    lam = settings.lam
    labels, weight, _ = examples
    alpha, beta, moment, last = memory
    labeled = not math.isnan(labels[i, 0])
    # line 6, eq. (3): all views are scored before any of them learns
    for n in range(here.shape[0]):
        if here[n]:
            if settings.include_self and not labeled:
                # views before n have their score of this step, those after it an older one
                co_agreement(last, i, n, here, agreed)
            for c in range(sums.shape[1]):
                total = sums[n, c]
                if beta[n, c, i] != 0.0 and not (settings.include_self and labeled):
                    total -= beta[n, c, i] * self_kernel[n]
                if settings.include_self and not labeled:
                    total += alpha[n, c, i] * agreed[c] * self_kernel[n]
                last[n, c, i] = total / (lam[n] * t)
    # lines 7 to 11: eq. (4) labels the row, and every view in which it has a loss counts it
    for n in range(here.shape[0]):
        if here[n]:
            if not labeled:
                co_agreement(last, i, n, here, agreed)
            for c in range(sums.shape[1]):
                z = labels[i, c] if labeled else agreed[c]
                if has_loss(z, last[n, c, i]):
                    alpha[n, c, i] += weight[i]
                moment[n, c, i] += (z * alpha[n, c, i] - beta[n, c, i]) * t
                beta[n, c, i] = z * alpha[n, c, i]
