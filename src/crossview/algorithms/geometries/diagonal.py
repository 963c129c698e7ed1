"""Diagonal covariance: S = diag(D).

The update S^-1 <- S^-1 + rho x x' is not diagonal, so one of two diagonals is kept: that of S^-1,
D <- D / (1 + rho D x²), or that of S.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.algorithms.geometries.covariance import DIAGONAL
from crossview.algorithms.rules import sop
from crossview.kernels.rows import FOUR, ONE, THREE, TWO


@inlined_borrowing
def sqnorm(row, S):
    """x'Dx, with the constant feature."""
    x, j, lo, hi, offset = row.x, row.j, row.lo, row.hi, row.offset
    D = S.D
    n0 = n1 = n2 = n3 = 0.0
    whole = hi - (hi - lo) % FOUR
    for p in range(lo, whole, FOUR):
        q = p - offset
        n0 += x[p] * x[p] * D[j[q]]
        n1 += x[p + ONE] * x[p + ONE] * D[j[q + ONE]]
        n2 += x[p + TWO] * x[p + TWO] * D[j[q + TWO]]
        n3 += x[p + THREE] * x[p + THREE] * D[j[q + THREE]]
    for p in range(whole, hi):
        n0 += x[p] * x[p] * D[j[p - offset]]
    return (n0 + n1) + (n2 + n3) + row.bias * S.d[row.v]


@inlined_borrowing
def move(step, row, D, W, k):
    """W_k <- W_k + step D x, without the constant feature."""
    x, j = row.x, row.j
    for p in range(row.lo, row.hi):
        q = j[p - row.offset]
        W[q, k] += step * D[q] * x[p]


@inlined_borrowing
def shrinkage(form, rho, n, part):
    """The factor of a diagonal entry, where ``part`` is its D x² of n = x'Dx.

    Keeping the diagonal of S^-1: 1 / (1 + rho part).  Keeping that of S:
    1 - rho part / (1 + rho n).
    """
    if form == DIAGONAL:
        return 1.0 / (1.0 + rho * part)
    return (1.0 + rho * max(n - part, 0.0)) / (1.0 + rho * n)


@inlined_borrowing
def grow(rho, n, row, S):
    """Update S."""
    x, j, D, d = row.x, row.j, S.D, S.d
    for p in range(row.lo, row.hi):
        q = j[p - row.offset]
        D[q] *= shrinkage(S.form, rho, n, D[q] * x[p] * x[p])
    d[row.v] *= shrinkage(S.form, rho, n, row.bias * d[row.v])


@borrowing
def grow_with_sums(signs, rho, n, row, S, model):
    """Update S, and all w_k = S v_k with v_k <- v_k + rho signs_k x (`rules.sop`)."""
    W, b, U, c, t = model.W, model.b, model.U, model.c, model.t
    x, j, D, d, v = row.x, row.j, S.D, S.d, row.v
    for p in range(row.lo, row.hi):
        q = j[p - row.offset]
        factor = shrinkage(S.form, rho, n, D[q] * x[p] * x[p])
        for k in range(signs.shape[0]):
            new = sop.rescaled(W[q, k], rho * signs[k] * D[q] * x[p], factor)
            if U.shape[0] > 0:
                U[q, k] += t[0] * (new - W[q, k])
            W[q, k] = new
        D[q] *= factor
    factor = shrinkage(S.form, rho, n, row.bias * d[v])
    for k in range(signs.shape[0]):
        new = sop.rescaled(b[v, k], rho * signs[k] * d[v] * row.bias, factor)
        if U.shape[0] > 0:
            c[v, k] += t[0] * (new - b[v, k])
        b[v, k] = new
    d[v] *= factor


# --- one weight vector: weights and variances are read and updated in one loop ---


class Interleaved(NamedTuple):
    """Weights and variances, interleaved in one array or in separate arrays.

    Interleaved, a sparse row of a large array touches half as many cache lines.  ``w`` and
    ``D`` are one array, with the weight of column q at 2 q and its variance at 2 q + 1;
    otherwise stride is 1 and other is 0.
    """

    w: np.ndarray
    D: np.ndarray
    stride: np.uint64
    other: np.uint64


@inlined_borrowing
def dot_and_sqnorms(row, pair):
    """Return w·x, x·x and x'Dx."""
    x, j = row.x, row.j
    d = n = s = 0.0
    for p in range(row.lo, row.hi):
        q = pair.stride * j[p - row.offset]
        d += x[p] * pair.w[q]
        n += x[p] * x[p]
        s += x[p] * x[p] * pair.D[q + pair.other]
    return d, n, s


@inlined_borrowing
def move_and_grow(step, rho, n, row, S, pair, b):
    """Do `move` and `grow` in one loop, with the constant feature."""
    x, j, d, v = row.x, row.j, S.d, row.v
    for p in range(row.lo, row.hi):
        q = pair.stride * j[p - row.offset]
        s = pair.D[q + pair.other] * x[p]
        pair.w[q] += step * s
        pair.D[q + pair.other] *= shrinkage(S.form, rho, n, s * x[p])
    b[v] += step * row.bias * d[v]
    d[v] *= shrinkage(S.form, rho, n, row.bias * d[v])


@inlined_borrowing
def forget(rule, row, S, pair):
    """D <- min(D / forgetting, most) for the columns of the row."""
    x, j, d, v = row.x, row.j, S.d, row.v
    for p in range(row.lo, row.hi):
        if x[p] != 0.0:
            q = pair.stride * j[p - row.offset] + pair.other
            pair.D[q] = min(pair.D[q] / rule.forgetting, max(pair.D[q], rule.most_variance))
    if row.bias > 0.0:
        d[v] = min(d[v] / rule.forgetting, max(d[v], rule.most_intercept))
