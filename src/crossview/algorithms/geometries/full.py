"""Full covariance: S = T diag(D) T', T upper triangular with 1 on its diagonal.

The update changes T and D in place (Bierman, "Factorization Methods for Discrete Sequential
Estimation", 1977).  It multiplies D by ratios of positive numbers, so that S stays symmetric and
positive definite under rounding, unlike S - rho S x x' S / (1 + rho n).  The triangle of a view is
stored by columns.
"""

import numpy as np

from crossview._jit import borrowing
from crossview.kernels.dense import dot

# a row with fewer than one nonzero entry per this number of columns uses the sparse loop
SPARSE = 16


@borrowing
def sqnorm(row, S, scratch):
    """f <- T'x; return x'Sx = sum D f², a sum without cancellation."""
    x, j, lo, hi, offset, v, bias = row
    T, z = S.T, scratch.z
    base, width, start = S.ptr[v], S.ptr[v + 1] - S.ptr[v], S.triangle_ptr[v]
    f = scratch.f[base + v :]
    z[0] = bias
    for p in range(lo, hi):
        z[np.int64(j[p - offset]) - base + 1] = x[p]
    first = 0
    if bias == 0.0:
        first = np.int64(j[lo - offset]) - base + 1 if hi > lo else width + 1
    dense = np.int64(hi - lo) * SPARSE >= width
    f[:first] = 0.0
    n = 0.0
    for c in range(first, width + 1):
        at = start + c * (c - 1) // 2
        total = z[c]
        if dense:
            total += dot(T[at + first : at + c], z[first:c])
        elif c > 0:
            total += bias * T[at]
            for p in range(lo, hi):
                q = np.int64(j[p - offset]) - base + 1
                if q >= c:
                    break
                total += x[p] * T[at + q]
        f[c] = total
        n += total * total * (S.D[base + c - 1] if c > 0 else S.d[v])
    z[0] = 0.0
    for p in range(lo, hi):
        z[np.int64(j[p - offset]) - base + 1] = 0.0
    return n


@borrowing
def bierman_column(slope, factor, column, g):
    """column <- column - slope g and g <- g + factor column, with the old column."""
    for i in range(column.shape[0]):
        old = column[i]
        column[i] = old - slope * g[i]
        g[i] += factor * old


@borrowing
def grow(rho, v, S, scratch):
    """Update S for f = T'x; g <- S x with the old S."""
    D, d, T = S.D, S.d, S.T
    base, width, start = S.ptr[v], S.ptr[v + 1] - S.ptr[v], S.triangle_ptr[v]
    f, g = scratch.f[base + v :], scratch.g
    total = 1.0
    for c in range(width + 1):
        if f[c] == 0.0:
            g[c] = 0.0
            continue
        variance = D[base + c - 1] if c > 0 else d[v]
        factor = variance * f[c]
        before = total
        total += rho * f[c] * factor
        if c > 0:
            at = start + c * (c - 1) // 2
            bierman_column(rho * f[c] / before, factor, T[at : at + c], g[:c])
            D[base + c - 1] *= before / total
        else:
            d[v] *= before / total
        g[c] = factor


@borrowing
def forget(rule, v, S):
    """D <- min(D / forgetting, most): T, and with it how the columns are correlated, stays.

    D are the variances of the columns, each given those after it; a limit on them stops none of
    two columns that are always equal, as a limit on the diagonal of S would.
    """
    for q in range(S.ptr[v], S.ptr[v + 1]):
        S.D[q] = min(S.D[q] / rule.forgetting, max(S.D[q], rule.most_variance))
    S.d[v] = min(S.d[v] / rule.forgetting, max(S.d[v], rule.most_intercept))
