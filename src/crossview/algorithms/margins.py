"""The views of a row: their entries, scores and margins.

Functions of W are compiled for two classes, with one weight vector (W of one dimension), or for
several (W of two dimensions); the compiler removes the branch on ``W.ndim``.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import inlined_borrowing
from crossview.algorithms.couplings import INDEPENDENT, ViewSteps
from crossview.algorithms.rules import best_wrong
from crossview.kernels.rows import ZERO, Row, dot_and_sqnorm, dots_and_sqnorm, view_end


class ViewBuffers(NamedTuple):
    """Buffers for the views that are present and nonempty in a row; overwritten by each row."""

    v: np.ndarray  # int64 (n_views,): index of the view ...
    lo: np.ndarray  # uint64 (n_views,): ... where its entries begin ...
    hi: np.ndarray  # ... and end
    score: np.ndarray  # (n_views, n_classes), or (n_views, 1) for two classes
    sqnorm: np.ndarray  # (n_views,): x·x
    variance: np.ndarray  # (n_views,): of the intercept (`geometries.identity`)
    wrong: np.ndarray  # int64 (n_views,): the wrong class of the margin
    rho: np.ndarray  # (n_views,): the precision of its update
    joint: np.ndarray  # (n_classes,): the sum of the scores, weighted ...
    past: np.ndarray  # ... and of the averaging sums ...
    own: np.ndarray  # ... of one view
    steps: ViewSteps


def view_buffers(V: int, K: int) -> ViewBuffers:
    """Return buffers for V views and K scores."""
    return ViewBuffers(
        np.empty(V, np.int64),
        np.empty(V, np.uint64),
        np.empty(V, np.uint64),
        np.empty((V, K)),
        np.empty(V),
        np.empty(V),
        np.zeros(V, np.int64),
        np.empty(V),
        np.empty(K),
        np.empty(K),
        np.empty(K),
        ViewSteps(
            *(np.empty(V), np.empty(V), np.empty(V), np.empty(V), np.empty(V, np.int64)),
            *(np.empty(V, np.bool_), np.empty(V, np.bool_)),
        ),
    )


# --- scores -------------------------------------------------------------------


@inlined_borrowing
def n_scores(W):
    """Return the number of scores per row: one per weight vector."""
    if W.ndim == 1:
        return 1
    return W.shape[1]


@inlined_borrowing
def read_scores(row, W, b, score):
    """score <- W'x + b; return x·x."""
    if W.ndim == 1:
        dot, sqnorm = dot_and_sqnorm(row, W)
        score[0] = dot + b[row.v]
        return sqnorm
    for k in range(score.shape[0]):
        score[k] = b[row.v, k]
    return dots_and_sqnorm(row, W, score)


@inlined_borrowing
def write_scores(scores, i, score, past, t, count):
    """scores_i <- (score - past / t) / count: averaging where t > 0, the mean of count views."""
    if scores.ndim == 1:
        joint = score[0]
        if t > 0:
            joint -= past[0] / t
        scores[i] = joint / count if count > 1 else joint
    else:
        for k in range(scores.shape[1]):
            scores[i, k] = score[k]
            if t > 0:
                scores[i, k] -= past[k] / t
            if count > 1:
                scores[i, k] /= count


@inlined_borrowing
def write_refused(scores, i):
    """scores_i <- NaN: the row was not learned."""
    if scores.ndim == 1:
        scores[i] = np.nan
    else:
        scores[i, :] = np.nan


# --- the present views ----------------------------------------------------------


@inlined_borrowing
def row_of_view(rows, i, bias, buffers, a):
    """Return view number ``a`` of the present views of row i."""
    offset = rows.indptr[i] if rows.shared else ZERO
    return Row(rows.data, rows.indices, buffers.lo[a], buffers.hi[a], offset, buffers.v[a], bias)


@inlined_borrowing
def find_views(rows, i, buffers):
    """Write the views that are present in row i, and their entries; return their number."""
    j, ptr, present = rows.indices, rows.ptr, rows.present
    V = ptr.shape[0] - 1
    lo, end = rows.indptr[i], rows.indptr[i + 1]
    offset = lo if rows.shared else ZERO
    count = 0
    for v in range(V):
        hi = end if v == V - 1 else view_end(j, lo, end, offset, ptr[v + 1])
        if present.shape[0] == 0 or present[i, v]:
            buffers.v[count], buffers.lo[count], buffers.hi[count] = v, lo, hi
            count += 1
        lo = hi
    return count


@inlined_borrowing
def keep_view(row, sqnorm, count, buffers):
    """Store the view as number ``count`` unless it is empty; return the new count."""
    if sqnorm > 0.0:
        buffers.v[count], buffers.lo[count], buffers.hi[count] = row.v, row.lo, row.hi
        buffers.sqnorm[count] = sqnorm
        count += 1
    return count


@inlined_borrowing
def read_views(rows, i, W, b, bias, buffers):
    """Write the nonempty views of row i and their scores; return their number, and x·x."""
    count, total = 0, 0.0
    for a in range(find_views(rows, i, buffers)):
        row = row_of_view(rows, i, bias, buffers, a)
        sqnorm = read_scores(row, W, b, buffers.score[count])
        total += sqnorm
        count = keep_view(row, sqnorm, count, buffers)
    return count, total


@inlined_borrowing
def read_intercepts(rows, i, b, buffers):
    """Write the scores of the present views of an empty row; return their number."""
    count = find_views(rows, i, buffers)
    for a in range(count):
        for k in range(buffers.score.shape[1]):
            buffers.score[a, k] = b[buffers.v[a]] if b.ndim == 1 else b[buffers.v[a], k]
    return count


@inlined_borrowing
def sum_scores(count, beta, buffers):
    """joint <- the sum of beta_v times the scores of the views."""
    for a in range(count):
        buffers.steps.beta[a] = beta[buffers.v[a]]
    for k in range(buffers.joint.shape[0]):
        total = 0.0
        for a in range(count):
            total += buffers.steps.beta[a] * buffers.score[a, k]
        buffers.joint[k] = total


@inlined_borrowing
def read_past(rows, i, U, c, bias, count, buffers):
    """past <- the sum of beta_v (U'x + c) over the present views."""
    past, own = buffers.past, buffers.own
    past[:] = 0.0
    for a in range(count):
        read_scores(row_of_view(rows, i, bias, buffers, a), U, c, own)
        for k in range(past.shape[0]):
            past[k] += buffers.steps.beta[a] * own[k]


# --- margins --------------------------------------------------------------------


@inlined_borrowing
def one_margin(W, y, score):
    """Return the margin y w·x, or that against the best wrong class, and that class."""
    if W.ndim == 1:
        return y * score[0], 0
    wrong = best_wrong(score, y)
    return score[y] - score[wrong], wrong


@inlined_borrowing
def find_margins(y, coupling, count, buffers):
    """Write the margins m_v and their wrong classes; return the sum of beta_v m_v.

    The margin is the score of the true class minus that of the wrong class with the highest joint
    score or, for independent views, with the highest score of the view.
    """
    m, score, wrong = buffers.steps.m, buffers.score, buffers.wrong
    several = score.shape[1] > 1
    true = np.int64(y) if several else 0
    joint_wrong = best_wrong(buffers.joint, true) if several else 0
    total = 0.0
    for a in range(count):
        if several:
            is_alone = coupling.kind == INDEPENDENT
            wrong[a] = best_wrong(score[a], true) if is_alone else joint_wrong
            m[a] = score[a, true] - score[a, wrong[a]]
        else:
            m[a] = y * score[a, 0]
        total += buffers.steps.beta[a] * m[a]
    return total
