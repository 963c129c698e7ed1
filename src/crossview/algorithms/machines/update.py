"""The step of one row: the slope of its loss by every parameter that it touches.

All slopes of a row are taken at the same point and then applied.  Only the columns
that a row touches are regularized (Algorithm 1, line 6).  Every row touches the bias rows, which
the paper regularizes too (``alpha_bias = alpha``); without, as for an intercept, the
test error on movie ratings is lower.

AdaGrad's step does not know how large x is: at first each of d columns moves by
the rate η, and S_v by η sum_i |x_i|, so the product of a few wide dense views
diverges.  So the step of a view is divided by the length of z_v = (x_v, 1),
as it would be if the row were scaled to length 1.
"""

import math
from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.algorithms.machines.init import init_new_columns
from crossview.algorithms.machines.scores import order_slope
from crossview.algorithms.machines.state import (
    ALL_ORDERS,
    ALL_PAIRS,
    MULTI_VIEW,
    Machine,
    RowBuffers,
    has_view,
)
from crossview.algorithms.optimizers import ADAGRAD, L2, Step, move, penalty_slope
from crossview.kernels.lanes import Entries, adagrad_steps, add_product, fill, multiply, sum_of
from crossview.kernels.rows import EIGHT, ONE, ZERO

# a squared slope may be added up a hundred million times
MAX_SQNORM, MAX_SQNORM_SINGLE = 1e300, 1e30


class Slopes(NamedTuple):
    """The slopes of the loss of one row, times the weight of the row."""

    score: np.ndarray  # (K,): d loss / d score_c
    factor: np.ndarray  # (padded K k,): of the class of each factor
    sums: np.ndarray  # (n_parts padded K k,): d loss / d S_p,f, in the precision of A
    pairs: np.ndarray  # (K k,): ``factor``, and 0 for linear factors; for all pairs only
    view_length: np.ndarray  # (n_views,): |z_v|
    one: np.ndarray  # the value 1
    zero: np.ndarray  # ... of column 0: the constant feature


class Steps(NamedTuple):
    """The gradient steps of columns, bias rows and intercepts."""

    columns: Step
    biases: Step
    intercepts: Step


def row_slopes(machine: Machine, buffers: RowBuffers) -> Slopes:
    """Allocate the slopes of a row."""
    return Slopes(
        np.empty(machine.c.shape[1]),
        np.empty(len(buffers.product)),
        np.empty(len(buffers.flat_d), machine.A.dtype),
        np.zeros(machine.B.shape[2]),
        np.empty(len(buffers.entry_ptr) - 1),
        # read-only like the arrays of the rows, so that `scalar_steps` is compiled once
        np.broadcast_to(1.0, 1),
        np.broadcast_to(np.uint32(0), 1),
    )


@inlined_borrowing
def view_lengths(x, entry_ptr, lengths):
    """lengths_v <- |z_v|, z_v = (x_v, 1); return the sum of their squares."""
    total = 0.0
    for v in range(lengths.shape[0]):
        sqnorm = 1.0  # of the constant feature
        for q in range(entry_ptr[v], entry_ptr[v + 1]):
            sqnorm += x[q] * x[q]
        total += sqnorm
        lengths[v] = math.sqrt(sqnorm)
    return total


@inlined_borrowing
def sum_slopes(weight, buffers, slopes):
    """Slopes by S_p,f <- weight d loss / d score_c D_p,f; return the sum of their squares."""
    flat_d, product = buffers.flat_d, buffers.product
    K = slopes.score.shape[0]
    for a in range(K):
        slopes.score[a] *= weight
    n, width = buffers.features.n, np.uint64(product.shape[0])
    for f in range(ZERO, width, EIGHT):
        fill(product, f, 0.0)
        fill(slopes.factor, f, slopes.score[0])
    k = slopes.pairs.shape[0] // K
    if K > 1:
        for a in range(K):
            for f in range(a * k, (a + 1) * k):
                slopes.factor[f] = slopes.score[a]
    for first in range(ZERO, np.uint64(flat_d.shape[0]), width):
        for f in range(ZERO, width, EIGHT):
            multiply(slopes.sums, first + f, flat_d, first + f, slopes.factor, f)
            add_product(product, f, slopes.sums, first + f, slopes.sums, first + f)
    return sum_of(product, ZERO, n)


@inlined_borrowing
def move_columns(x, j, entries, A, G, g, step):
    """Take the steps of the factors of these entries, with the slopes x G + α Ω'(θ).

    A 0 of a dense row touches nothing, as in a sparse one.
    """
    if step.optimizer == ADAGRAD and step.penalty == L2:
        adagrad_steps(x, j, entries, A, G, g, step)
        if A.n % EIGHT != ZERO:
            scalar_steps(x, j, entries, A, G, g, step)
    else:
        scalar_steps(x, j, entries, A, G, g, step)


@borrowing
def scalar_steps(x, j, entries, A, G, g, step):
    """Take the steps of `move_columns` that `adagrad_steps` does not take.

    A function of its own, compiled once: in the middle of a long loop registers run out.
    """
    values, n, stride = A
    first = n - n % EIGHT if step.optimizer == ADAGRAD and step.penalty == L2 else ZERO
    for q in range(entries.lo, entries.hi):
        if x[q] != 0.0:
            a = (j[q - entries.offset] + entries.column_offset) * stride
            for f in range(first, n):
                slope = x[q] * G[g + f] + step.alpha * penalty_slope(step.penalty, values[a + f])
                move(values, a + f, n, slope, step)


@inlined_borrowing
def move_columns_with_pairs(x, j, entries, A, G, pairs, step):
    """As `move_columns`, less the pair of a feature with itself: x (G - pairs x θ) + α Ω'(θ)."""
    values, n, stride = A
    for q in range(entries.lo, entries.hi):
        if x[q] != 0.0:
            a = (j[q - entries.offset] + entries.column_offset) * stride
            for f in range(n):
                theta = values[a + f]
                G_f = G[f] - pairs[f] * x[q] * theta
                slope = x[q] * G_f + step.alpha * penalty_slope(step.penalty, theta)
                move(values, a + f, n, slope, step)


@borrowing
def move_columns_with_orders(x, j, entries, first, buffers, slopes, step):
    """As `move_columns_with_pairs`, of interactions of more columns."""
    (values, n, stride), E, pairs = buffers.features, buffers.E, slopes.pairs
    for q in range(entries.lo, entries.hi):
        if x[q] != 0.0:
            a = (j[q - entries.offset] + entries.column_offset) * stride
            for f in range(n):
                theta, G_f = values[a + f], np.float64(slopes.sums[first + f])
                if pairs[f] != 0.0:
                    G_f = pairs[f] * order_slope(E, f, x[q] * theta)
                slope = x[q] * G_f + step.alpha * penalty_slope(step.penalty, theta)
                move(values, a + f, n, slope, step)


@inlined_borrowing
def scaled(step, length):
    """Return the step with AdaGrad's rate divided by the length of the view's row."""
    rate = step.rate / length if step.optimizer == ADAGRAD else step.rate
    return Step(step.optimizer, step.penalty, step.alpha, rate, step.forgetting, step.floor)


@inlined_borrowing
def move_row(rows, i, offset, machine, buffers, slopes, steps):
    """Take one step of every parameter that row i touches; initialize new columns before.

    One function and not two: each level of inlined functions adds a fifth to the compile time.
    """
    x, j, entry_ptr = rows.data, rows.indices, buffers.entry_ptr
    width, K = np.uint64(buffers.product.shape[0]), slopes.score.shape[0]
    if machine.model == ALL_PAIRS or machine.model == ALL_ORDERS:
        k = slopes.pairs.shape[0] // K
        for a in range(K):
            for f in range(a * k + 1, (a + 1) * k):
                slopes.pairs[f] = slopes.score[a]
    for p in range(ZERO, np.uint64(machine.views.shape[0])):
        v, first = machine.views[p], p * width
        if machine.model == MULTI_VIEW:
            bias = Entries(ZERO, ONE, ZERO, p)
            step = scaled(steps.biases, slopes.view_length[v])
            move_columns(slopes.one, slopes.zero, bias, buffers.biases, slopes.sums, first, step)
        if has_view(rows.present, i, v):
            entries = Entries(entry_ptr[v], entry_ptr[v + ONE], offset, machine.column_offset[p])
            step = scaled(steps.columns, slopes.view_length[v])
            init_new_columns(x, j, entries, machine, p, rows.ptr[v])
            if machine.model == ALL_PAIRS:
                G = slopes.sums[first : first + buffers.features.n]
                move_columns_with_pairs(x, j, entries, buffers.features, G, slopes.pairs, step)
            elif machine.model == ALL_ORDERS:
                move_columns_with_orders(x, j, entries, first, buffers, slopes, step)
            else:
                move_columns(x, j, entries, buffers.features, slopes.sums, first, step)
    for a in range(K):
        move(buffers.intercepts.values, a, K, slopes.score[a], steps.intercepts)
