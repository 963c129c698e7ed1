"""Multi-view machines: interactions of every order between views, factorised together.

Reference: Cao, Zhou, Li, Yu, "Multi-View Machines", WSDM 2016.

Symbols: view v of a row x_v, factor f, weights A_v[i, f] of feature i and
bias rows A_v[bias, f] (the constant feature 1 that the paper appends).

    S_v,f = A_v[bias, f] + sum_i x_v,i A_v[i, f]           eq. (6), one view's part
    score = intercept + sum_f prod_v S_v,f                 eq. (6)
    d score / d A_v[i, f] = x_v,i prod_{u != v} S_u,f      eq. (16)

The products of all views but one are a prefix times a suffix; the paper's
division by S_v,f is wrong where S_v,f is 0.  All gradients of a row are taken at
the same point and then applied; only the rows of A that a row touches are
regularised (Algorithm 1, line 6).  A missing view has its bias row only.

Groups of views (section 3.1): a sum of machines, each with parameters of its
own over its views.  A view in a group is called a part.

Several classes: a machine a class; the factors of all classes lie in a row.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import inlined, njit
from crossview.algorithms.losses import slopes
from crossview.algorithms.optimizers import (
    ADAGRAD,
    L2,
    adagrad,
    penalty_slope,
    sgd,
)
from crossview.kernels.rows import (
    FOUR,
    ONE,
    THREE,
    TWO,
    VALUES_A_LINE,
    ZERO,
    prefetch,
    prefetch_row,
    view_end,
)


class Machine(NamedTuple):
    """What a machine has learned, and where its parts are; K classes, k factors.

    ``[:, 0]`` are parameters, ``[:, 1]`` AdaGrad's sums of their squared
    gradients, side by side because a feature is one place in memory; SGD has
    the first only.
    """

    A: np.ndarray  # (n_places, 1 or 2, K k): the features of part after part
    B: np.ndarray  # (n_parts, 1 or 2, K k): the bias rows
    c: np.ndarray  # (1 or 2, K): intercepts
    views: np.ndarray  # uint64 (n_parts,): the view of each part
    shift: np.ndarray  # uint64 (n_parts,): column j of the rows has its place at j + shift
    ends: np.ndarray  # uint64 (n_groups,): one past the last part of each group


# --- scalar equations ---------------------------------------------------------


@inlined
def partial_sum(x, j, lo, hi, skip, shift, A, S):
    """S_f <- S_f + sum_i x_i A[i, f].

    Four features at a time, so that S is loaded less often; where fewer are
    left, the last one stands in for them with the value 0.
    """
    for p in range(lo, hi, FOUR):
        last = hi - ONE
        p1, p2, p3 = min(p + ONE, last), min(p + TWO, last), min(p + THREE, last)
        x0 = x[p]
        x1 = x[p1] if p + ONE < hi else 0.0
        x2 = x[p2] if p + TWO < hi else 0.0
        x3 = x[p3] if p + THREE < hi else 0.0
        i0, i1 = j[p - skip] + shift, j[p1 - skip] + shift
        i2, i3 = j[p2 - skip] + shift, j[p3 - skip] + shift
        for f in range(S.shape[0]):
            S[f] += (x0 * A[i0, 0, f] + x1 * A[i1, 0, f]) + (x2 * A[i2, 0, f] + x3 * A[i3, 0, f])


@inlined
def other_products(S, first, end, D, product):
    """D_p,f <- prod_{q != p} S_q,f over a group's parts; product_f grows by prod_p S_p,f."""
    n = S.shape[1]
    for f in range(n):
        D[first, f] = 1.0
    for p in range(first + ONE, end):
        for f in range(n):
            D[p, f] = D[p - ONE, f] * S[p - ONE, f]
    last = end - ONE
    for f in range(n):
        product[f] += D[last, f] * S[last, f]
    # the suffix takes the place of S, which is not needed again
    for p in range(last, first, -1):
        q = np.uint64(p) - ONE
        for f in range(n):
            D[q, f] *= S[q + ONE, f]
            S[q, f] *= S[q + ONE, f]


@inlined
def move(theta, x, G, optimizer, penalty, alpha, rate):
    """One feature's factors: g = x G + α Ω'(θ), and a step of the optimiser."""
    n = G.shape[0]
    if optimizer == ADAGRAD:
        if penalty == L2:
            for f in range(n):
                g = x * G[f] + alpha * theta[0, f]
                theta[1, f] += g * g
                theta[0, f] = adagrad(theta[0, f], g, theta[1, f], rate)
        else:
            for f in range(n):
                g = x * G[f] + alpha * penalty_slope(penalty, theta[0, f])
                theta[1, f] += g * g
                theta[0, f] = adagrad(theta[0, f], g, theta[1, f], rate)
    else:
        for f in range(n):
            g = x * G[f] + alpha * penalty_slope(penalty, theta[0, f])
            theta[0, f] = sgd(theta[0, f], g, rate)


@inlined
def prefetch_features(rows, order, s, machine, A):
    """Ask for the features of the row at place ``s`` of the order, where there is one."""
    _, j, indptr, shared, _, _ = rows
    if s < order.shape[0] and not shared and machine.ends.shape[0] == 1:
        wide = np.uint64(machine.A.shape[1] * machine.A.shape[2])
        for p in range(indptr[order[s]], indptr[order[s] + 1]):
            begin = np.uint64(j[p]) * wide
            for q in range(begin, begin + wide, VALUES_A_LINE):
                prefetch(A, q)


# --- one row ------------------------------------------------------------------


@inlined
def cut_views(rows, i, cut):
    """Cut_v <- the first entry of view v of row i, and the end of the row."""
    _, j, indptr, shared, ptr, _ = rows
    lo, end = indptr[i], indptr[i + 1]
    skip = lo if shared else ZERO
    cut[0] = lo
    for v in range(cut.shape[0] - 1):
        cut[v + 1] = view_end(j, cut[v], end, skip, ptr[v + 1])
    return skip


@inlined
def row_score(rows, i, machine, cut, S, D, product, score):
    """Score_c of row i, by way of S and the products of the others; returns the shift of its j."""
    x, j, _, _, _, present = rows
    A, B, c, views, shift, ends = machine
    skip = cut_views(rows, i, cut)
    first = ZERO
    for f in range(product.shape[0]):
        product[f] = 0.0
    for group in range(ends.shape[0]):
        for p in range(first, ends[group]):
            v = views[p]
            S[p] = B[p, 0]
            if present.shape[0] == 0 or present[i, v]:
                partial_sum(x, j, cut[v], cut[v + ONE], skip, shift[p], A, S[p])
        other_products(S, first, ends[group], D, product)
        first = ends[group]
    k = product.shape[0] // score.shape[0]
    for a in range(score.shape[0]):
        total = c[0, a]
        for f in range(a * k, (a + 1) * k):
            total += product[f]
        score[a] = total
    return skip


# --- the loops ----------------------------------------------------------------


@njit
def learn(rows, order, y, weight, machine, loss, optimizer, penalty, alpha, rate, scores):
    """One pass over the rows in ``order``.

    ``y`` is -1 or +1, a number, or the number of the class; ``scores[i]`` (one a
    class) becomes what row i had just before it was learned.  A row whose score or
    squared gradient is not finite is passed over; returns the last such row, or -1.
    """
    strange = -1
    x, j, indptr, shared, ptr, present = rows
    A, B, c, views, shift, _ = machine
    n, K = B.shape[2], c.shape[1]
    k = n // K
    S, D = np.empty((B.shape[0], n)), np.empty((B.shape[0], n))
    product, G = np.empty(n), np.empty(K)
    cut = np.empty(ptr.shape[0], np.uint64)
    score = np.empty(K)
    flat = A.reshape(-1)
    for s in range(order.shape[0]):
        prefetch_row(x, j, indptr, shared, order, s + 2)
        prefetch_features(rows, order, s + 1, machine, flat)
        i = order[s]
        skip = row_score(rows, i, machine, cut, S, D, product, score)
        scores[i] = score
        slopes(loss, score, y[i], G)
        norm = 1.0
        for q in range(cut[ZERO], cut[cut.shape[0] - 1]):
            norm += x[q] * x[q]
        product[:] = 0.0
        for p in range(views.shape[0]):
            for a in range(K):
                g = weight[i] * G[a]
                for f in range(a * k, (a + 1) * k):
                    D[p, f] *= g
                    product[f] += D[p, f] * D[p, f]
        total = 0.0
        for f in range(n):
            total += product[f]
        for a in range(K):
            total += score[a] * score[a]
        if not total * norm < np.inf:
            strange = i
            continue
        if weight[i] <= 0.0:
            continue
        for p in range(views.shape[0]):
            v = views[p]
            move(B[p], 1.0, D[p], optimizer, penalty, alpha, rate)
            if present.shape[0] == 0 or present[i, v]:
                for q in range(cut[v], cut[v + ONE]):
                    if x[q] != 0.0:  # a 0 of a dense row touches nothing, as in a sparse one
                        place = j[q - skip] + shift[p]
                        move(A[place], x[q], D[p], optimizer, penalty, alpha, rate)
        for a in range(K):
            g = weight[i] * G[a]
            if optimizer == ADAGRAD:
                c[1, a] += g * g
                c[0, a] = adagrad(c[0, a], g, c[1, a], rate)
            else:
                c[0, a] = sgd(c[0, a], g, rate)
    return strange


@njit
def score(rows, order, machine, scores):
    """Scores[i] of the rows in ``order``."""
    _, _, _, _, ptr, _ = rows
    B = machine.B
    S, D = np.empty((B.shape[0], B.shape[2])), np.empty((B.shape[0], B.shape[2]))
    product = np.empty(B.shape[2])
    cut = np.empty(ptr.shape[0], np.uint64)
    for s in range(order.shape[0]):
        i = order[s]
        row_score(rows, i, machine, cut, S, D, product, scores[i])
