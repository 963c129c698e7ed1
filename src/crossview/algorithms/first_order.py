"""Perceptron and passive-aggressive learning (PA, PA-I, PA-II), one view.

References: Rosenblatt (1958); Crammer, Dekel, Keshet, Shalev-Shwartz, Singer,
"Online Passive-Aggressive Algorithms", JMLR 7 (2006), sections 3, 5 and 9.

Symbols, one example: label y in {-1, +1}, margin m = y w·x, hinge loss
l = max(0, 1 - m), n = x·x (the constant feature 1 of the intercept counts),
C the aggressiveness.  Every update is w <- w + P y x.

Several classes: m is the score of the true class minus that of the best wrong
class r, which doubles n; w_y <- w_y + P x and w_r <- w_r - P x.

A row's weight c multiplies the price of its loss, so C becomes c C; the
perceptron has no price and multiplies its step instead.

Averaging: the mean of the weights after each row is w - u / t, where u gathers
s - 1 times the update of row s, and t is the number of rows.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import inlined, njit
from crossview.kernels.rows import (
    ZERO,
    add,
    add_pair,
    dot_and_sqnorm,
    dots_and_sqnorm,
    prefetch_row,
)

PERCEPTRON, PA, PA_I, PA_II = 0, 1, 2, 3


class Weights(NamedTuple):
    """What a linear learner has learned; the loops write into it."""

    W: np.ndarray  # (n_columns,) for two classes, else (n_columns, n_classes)
    b: (
        np.ndarray
    )  # intercepts: (n_views,), else (n_views, n_classes); one where views are not told apart
    U: np.ndarray  # the sum u of averaging: like W, or empty
    c: np.ndarray  # like b, or empty
    t: np.ndarray  # int64 (1,): rows learned from


# --- scalar equations ---------------------------------------------------------


@inlined
def perceptron_step(m):
    """P = 1 on a mistake (m <= 0), else 0."""
    return 1.0 if m <= 0.0 else 0.0


@inlined
def pa_step(rule, m, n, C):
    """P = l / n (PA), min(C, l / n) (PA-I), l / (n + 1/(2C)) (PA-II); 0 where l = 0."""
    loss = 1.0 - m
    if loss <= 0.0:
        return 0.0
    if rule == PA_I:
        return min(C, loss / n)
    if rule == PA_II:
        return loss / (n + 0.5 / C)
    return loss / n


@inlined
def step(rule, m, n, C, weight):
    """P of any rule for a row of that weight, where n > 0 and weight > 0."""
    if rule == PERCEPTRON:
        return weight * perceptron_step(m)
    return pa_step(rule, m, n, weight * C)


@inlined
def best_wrong(scores, true):
    """The class with the highest score other than the true one; the first of equals."""
    best = 1 if true == 0 else 0
    for k in range(best + 1, scores.shape[0]):
        if k != true and scores[k] > scores[best]:
            best = k
    return best


# --- the loops ----------------------------------------------------------------


@njit
def learn_binary(rows, order, y, weight, model, bias, rule, C, scores):
    """One pass over the rows in ``order``.

    ``y`` is -1 or +1 a row, ``bias`` 1 or 0 with or without intercept;
    ``scores[i]`` becomes the score that row i had just before it was learned.
    A row whose x·x is not finite is passed over; returns the last such row, or -1.
    """
    nonfinite_row = -1
    x, j, indptr, shared, _, _ = rows
    W, b, U, c, t = model
    average = U.shape[0] > 0
    for s in range(order.shape[0]):
        prefetch_row(x, j, indptr, shared, order, s + 2)
        i = order[s]
        lo, hi = indptr[i], indptr[i + 1]
        offset = lo if shared else ZERO
        score, n = dot_and_sqnorm(x, j, lo, hi, offset, W)
        score += bias * b[0]
        n += bias
        scores[i] = score
        if average and t[0] > 0:
            past, _ = dot_and_sqnorm(x, j, lo, hi, offset, U)
            scores[i] -= (past + bias * c[0]) / t[0]
        if not n < np.inf:
            nonfinite_row = i
            continue
        if n <= 0.0 or weight[i] <= 0.0:
            continue
        P = y[i] * step(rule, y[i] * score, n, C, weight[i])
        if P != 0.0:
            add(P, x, j, lo, hi, offset, W)
            b[0] += bias * P
            if average:
                add(t[0] * P, x, j, lo, hi, offset, U)
                c[0] += t[0] * bias * P
        t[0] += 1
    return nonfinite_row


@njit
def learn_multiclass(rows, order, y, weight, model, bias, rule, C, scores):
    """The same for several classes; ``y`` is the class's number, ``scores`` (n_rows, n_classes)."""
    nonfinite_row = -1
    x, j, indptr, shared, _, _ = rows
    W, b, U, c, t = model
    average = U.shape[0] > 0
    score = np.empty(W.shape[1])
    past = np.empty(W.shape[1])
    for s in range(order.shape[0]):
        prefetch_row(x, j, indptr, shared, order, s + 2)
        i = order[s]
        lo, hi = indptr[i], indptr[i + 1]
        offset = lo if shared else ZERO
        score[:] = bias * b[0]
        n = bias + dots_and_sqnorm(x, j, lo, hi, offset, W, score)
        scores[i] = score
        if average and t[0] > 0:
            past[:] = bias * c[0]
            dots_and_sqnorm(x, j, lo, hi, offset, U, past)
            scores[i] -= past / t[0]
        if not n < np.inf:
            nonfinite_row = i
            continue
        if n <= 0.0 or weight[i] <= 0.0:
            continue
        true = y[i]
        wrong = best_wrong(score, true)
        P = step(rule, score[true] - score[wrong], 2.0 * n, C, weight[i])
        if P != 0.0:
            add_pair(P, x, j, lo, hi, offset, W, true, wrong)
            b[0, true] += bias * P
            b[0, wrong] -= bias * P
            if average:
                add_pair(t[0] * P, x, j, lo, hi, offset, U, true, wrong)
                c[0, true] += t[0] * bias * P
                c[0, wrong] -= t[0] * bias * P
        t[0] += 1
    return nonfinite_row
