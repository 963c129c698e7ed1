"""Low-rank covariance: S^-1 = diag(1/D) + sum_p rho_p b_p b_p' over the rows of the last updates.

So S = D - D B' (L L')^-1 B D with L L' = diag(1/rho) + B D B'.  The matrix is never formed, and
the rows stay sparse.  It is exact until the store of rows is full; then the older half of the rows
is reduced to its diagonal (`changes.forget_older_half`).
"""

import numpy as np

from crossview._jit import borrowing
from crossview.algorithms.geometries import diagonal
from crossview.kernels.dense import add_column, add_to, dot

# x'Sx below this fraction of x'Dx suffers from cancellation, and is recomputed
CANCELLED = 1e-6


@borrowing
def sqnorm(row, S, scratch):
    """half <- L^-1 B D x, solution <- L'^-1 half; return x'Sx = x'Dx - half·half."""
    x, j, lo, hi, offset, v, bias = row
    z, half, solution = scratch.z, scratch.half[v], scratch.solution[v]
    base, width, k = S.ptr[v], S.ptr[v + 1] - S.ptr[v], S.kept[v]
    whole = bias * S.d[v]
    for p in range(lo, hi):
        q = j[p - offset]
        z[q] = x[p]
        whole += S.D[q] * x[p] * x[p]
    for p in range(k):
        b, e = S.begin[v, p], S.end[v, p]
        half[p] = bias * S.d[v] + kept_dot(S.values[b:e], S.columns[b:e], z, base, width)
    solve(S.L[v], k, half)
    n = whole - dot(half[:k], half[:k])
    for p in range(k):
        solution[p] = half[p]
    solve_transposed(S.L[v], k, solution)
    if n < CANCELLED * whole:
        n = max(recomputed_sqnorm(row, S, scratch), 1e-30 * whole)
    for p in range(lo, hi):
        z[j[p - offset]] = 0.0
    return n


@borrowing
def recomputed_sqnorm(row, S, scratch):
    """Return x'Sx as 2 x·g - g'S^-1 g for g = S x: an error in g counts only squared."""
    x, j, lo, hi, offset, v, bias = row
    z, c = scratch.z, scratch.solution[v]
    k = S.kept[v]
    for p in range(lo, hi):
        q = j[p - offset]
        z[q] = S.D[q] * x[p]
    constant = bias * S.d[v]
    for p in range(k):
        constant -= c[p] * bias * S.d[v]
        for e in range(S.begin[v, p], S.end[v, p]):
            z[S.columns[e]] -= c[p] * S.values[e]
    n = 2.0 * bias * constant
    if bias > 0.0:
        n -= constant * constant / S.d[v]
    for p in range(lo, hi):
        n += 2.0 * x[p] * z[j[p - offset]]
    for p in range(k):
        along = bias * constant
        for e in range(S.begin[v, p], S.end[v, p]):
            q = S.columns[e]
            along += S.values[e] / S.D[q] * z[q]
        n -= S.rho[v, p] * along * along
    for q in range(S.ptr[v], S.ptr[v + 1]):
        n -= z[q] * z[q] / S.D[q]
        z[q] = 0.0
    return n


@borrowing
def move(step, row, S, solution, W, k):
    """W_k <- W_k + step S x, without the constant feature: S x = D x - D B' (L L')^-1 B D x."""
    v = row.v
    base, end = S.ptr[v], S.ptr[v + 1]
    diagonal.move(step, row, S.D, W, k)
    for p in range(S.kept[v]):
        b, e = S.begin[v, p], S.end[v, p]
        if e - b == end - base:
            add_column(-step * solution[p], S.values[b:e], W[base:end], k)
        else:
            for i in range(b, e):
                W[S.columns[i], k] -= step * solution[p] * S.values[i]


@borrowing
def grow(rho, n, row, S, half):
    """Update S: store the row."""
    x, j, lo, hi, offset, v, _ = row
    k, used = S.kept[v], S.used[0]
    at = k * (k + 1) // 2
    for p in range(k):
        S.L[v, at + p] = half[p]
    S.L[v, at + k] = np.sqrt(1.0 / rho + n)
    S.rho[v, k] = rho
    S.begin[v, k] = used
    for p in range(lo, hi):
        q = j[p - offset]
        S.columns[used] = q
        S.values[used] = S.D[q] * x[p]
        used += 1
    S.end[v, k] = used
    S.used[0] = used
    S.kept[v] = k + 1


@borrowing
def has_room(row, S, n_entries):
    """Return whether there is space to store the row, with this number of entries."""
    return S.kept[row.v] < S.begin.shape[1] and S.used[0] + n_entries <= S.values.shape[0]


@borrowing
def kept_dot(values, columns, z, base, width):
    """Return the dot product of a stored row and ``z``; a dense row is contiguous."""
    if values.shape[0] == width:
        return dot(values, z[base : base + width])
    total = 0.0
    for e in range(values.shape[0]):
        total += values[e] * z[columns[e]]
    return total


@borrowing
def solve(L, k, half):
    """half <- L^-1 half for the first k rows of the triangle."""
    for p in range(k):
        at = p * (p + 1) // 2
        half[p] = (half[p] - dot(L[at : at + p], half[:p])) / L[at + p]


@borrowing
def solve_transposed(L, k, half):
    """half <- L'^-1 half."""
    for p in range(k - 1, -1, -1):
        at = p * (p + 1) // 2
        half[p] /= L[at + p]
        add_to(-half[p], L[at : at + p], half[:p])
