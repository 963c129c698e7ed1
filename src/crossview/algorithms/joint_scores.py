"""The joint scores of linear learners: the weighted sum, or mean, of those of the views."""

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, passes
from crossview.kernels.rows import ZERO, Row, Rows, dots_and_sqnorm, view_end

MISSING, EMPTY, FILLED = range(3)


class Averaged(NamedTuple):
    """Weights, and what their averages over the rows follow from; all read-only."""

    W: np.ndarray  # (n_columns, K)
    b: np.ndarray  # (1 or n_views, K)
    U: np.ndarray  # like W, or empty: no averaging
    c: np.ndarray  # like b, or empty
    t: np.ndarray  # int64 (1,)
    beta: np.ndarray  # (n_views,): weights of the views


@borrowing
def joint_pass(rows, weights, mean, buffers, scores):
    """The loop of `joint_scores`."""
    x, j, indptr, shared, ptr, present = rows
    W, b, U, c, t, beta = weights
    views, past, kind = buffers
    V, K = views.shape
    average = U.shape[0] > 0 and t[0] > 0
    for i in range(scores.shape[0]):
        lo, end = indptr[i], indptr[i + 1]
        offset = lo if shared else ZERO
        least, count = EMPTY, 0
        for v in range(V):
            hi = view_end(j, lo, end, offset, ptr[v + 1])
            kind[v] = MISSING
            if present.shape[0] == 0 or present[i, v]:
                row = Row(x, j, lo, hi, offset, v, 0.0)
                views[v, :] = 0.0
                sqnorm = dots_and_sqnorm(row, W, views[v])
                if average:
                    past[v, :] = 0.0
                    dots_and_sqnorm(row, U, past[v])
                kind[v] = FILLED if sqnorm > 0.0 else EMPTY
                least = max(least, kind[v])
            lo = hi
        for v in range(V):
            count += 1 if kind[v] >= least else 0
        for k in range(K):
            total = 0.0
            for v in range(V):
                if kind[v] < least:
                    continue
                own = v if b.shape[0] == V else 0
                score, intercept = views[v, k], b[own, k]
                if average:
                    score -= past[v, k] / t[0]
                    intercept -= c[own, k] / t[0]
                total += beta[v] * (score + (intercept if b.shape[0] == V else intercept / count))
            scores[i, k] = total / count if mean and count > 1 else total


@passes(joint_pass)
def joint_scores(rows: Rows, weights: Averaged, mean: bool, scores: np.ndarray) -> tuple:
    """scores (n_samples, K) <- the sums, or means, of beta_v times the scores of the views.

    A missing view takes no part, and an empty one only where all are; a single intercept is
    divided among those that do.
    """
    V, K = len(rows.ptr) - 1, scores.shape[1]
    buffers = np.empty((V, K)), np.empty((V, K)), np.empty(V, dtype=np.int64)
    return rows, weights, mean, buffers, scores
