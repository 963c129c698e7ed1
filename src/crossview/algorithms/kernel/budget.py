"""A budget of support vectors: what makes room when there is one too many.

Reference: Wang, Crammer, Vucetic, "Breaking the Curse of Kernelization", JMLR 13 (2012), section 3.

``beta[c, k]`` and ``gram[k, l]`` are of one view; only the first ``size`` rows are looked at.
"""

import math
from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing, njit
from crossview.kernels.gram import product

REMOVAL, PROJECTION, MERGING = range(3)

# added to the diagonal of a Gram matrix, relative to its mean: equal rows leave it singular
RIDGE = 1e-6

# iterations of the golden-section search for the point to which two support vectors are merged
GOLDEN_STEPS = 15
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class Budget(NamedTuple):
    """At most ``size`` support vectors per view; 0: no bound."""

    size: int
    maintenance: int
    intercept: float  # the constant in each kernel value
    gammas: np.ndarray  # (V,): γ of the RBF kernel, for merging
    widths: np.ndarray  # uint64 (V,): the number of columns
    vectors: np.ndarray  # (V, n_rows, n_columns): the rows, for merging, which changes them
    merged: np.ndarray  # bool (V, n_rows): which rows merging has changed


@inlined_borrowing
def shrink(beta, gram, size, budget, n):
    """Get rid of one support vector of view n."""
    if budget.maintenance == REMOVAL:
        remove(beta, smallest_support(beta, gram, size))
    elif budget.maintenance == PROJECTION:
        project(beta, gram, size)
    else:
        b = merge(beta, gram, size, budget.vectors[n], budget.intercept)
        budget.merged[n, b] = True
        kernel = (budget.gammas[n], budget.intercept)
        update_gram(gram, b, budget.vectors[n], budget.widths[n], kernel)


@inlined_borrowing
def is_support(beta, k):
    """Return whether row k has a coefficient other than 0."""
    total = 0.0
    for c in range(beta.shape[0]):
        total += abs(beta[c, k])
    return total > 0.0


@borrowing
def count_supports(beta, size):
    """Return the number of support vectors."""
    total = 0
    for k in range(size):
        total += is_support(beta, k)
    return total


@borrowing
def smallest_support(beta, gram, size):
    """Return the support vector with the least |β|² K(k, k), the first of equals."""
    best, least = -1, np.inf
    for k in range(size):
        sqnorm = 0.0
        for c in range(beta.shape[0]):
            sqnorm += beta[c, k] * beta[c, k] * gram[k, k]
        if is_support(beta, k) and sqnorm < least:
            best, least = k, sqnorm
    return best


@borrowing
def remove(beta, k):
    """Make row k no support vector."""
    for c in range(beta.shape[0]):
        beta[c, k] = 0.0


@njit
def project(beta, gram, size):
    """Project the smallest support vector r onto the others: β <- β + β_r G⁻¹ g_r, β_r <- 0."""
    r = smallest_support(beta, gram, size)
    others = np.array([k for k in range(size) if k != r and is_support(beta, k)], dtype=np.int64)
    m = len(others)
    G, g = np.empty((m, m)), np.empty(m)
    ridge = 0.0
    for a in range(m):
        g[a] = gram[others[a], r]
        ridge += RIDGE * gram[others[a], others[a]] / m
        for b in range(m):
            G[a, b] = gram[others[a], others[b]]
    for a in range(m):
        G[a, a] += max(ridge, 1e-300)
    share = np.linalg.solve(G, g)
    for c in range(beta.shape[0]):
        for a in range(m):
            beta[c, others[a]] += beta[c, r] * share[a]
    remove(beta, r)


@inlined_borrowing
def merged_kernels(h, kab):
    """Return K(a, z) and K(b, z) at z = h a + (1 - h) b, of the RBF kernel."""
    return kab ** ((1.0 - h) * (1.0 - h)), kab ** (h * h)


@inlined_borrowing
def merged_sqnorm(h, beta, a, b, kab):
    """Return the squared norm of β_a φ(a) + β_b φ(b) that is left when it is merged at h."""
    ka, kb = merged_kernels(h, kab)
    total = 0.0
    for c in range(beta.shape[0]):
        s = beta[c, a] * ka + beta[c, b] * kb
        total += s * s
    return total


@inlined_borrowing
def lost_sqnorm(h, beta, a, b, kab):
    """Return the squared norm of β_a φ(a) + β_b φ(b) that is lost."""
    total = -merged_sqnorm(h, beta, a, b, kab)
    for c in range(beta.shape[0]):
        total += beta[c, a] ** 2 + beta[c, b] ** 2 + 2.0 * beta[c, a] * beta[c, b] * kab
    return total


@borrowing
def best_merger(beta, a, b, kab):
    """Return the h in [0, 1] with the largest `merged_sqnorm`, by golden-section search."""
    lo, hi = 0.0, 1.0
    h1, h2 = hi - GOLDEN * (hi - lo), lo + GOLDEN * (hi - lo)
    g1, g2 = merged_sqnorm(h1, beta, a, b, kab), merged_sqnorm(h2, beta, a, b, kab)
    for _ in range(GOLDEN_STEPS):
        if g1 >= g2:
            hi, h2, g2 = h2, h1, g1
            h1 = hi - GOLDEN * (hi - lo)
            g1 = merged_sqnorm(h1, beta, a, b, kab)
        else:
            lo, h1, g1 = h1, h2, g2
            h2 = lo + GOLDEN * (hi - lo)
            g2 = merged_sqnorm(h2, beta, a, b, kab)
    return h1 if g1 >= g2 else h2


@borrowing
def merge(beta, gram, size, vectors, intercept):
    """Merge the smallest support vector and the partner with the least loss; return its place."""
    a = smallest_support(beta, gram, size)
    partner, best_h, least = -1, 0.5, np.inf
    for b in range(size):
        if b == a or not is_support(beta, b):
            continue
        kab = gram[a, b] - intercept
        h = best_merger(beta, a, b, kab)
        lost = lost_sqnorm(h, beta, a, b, kab)
        if lost < least:
            partner, best_h, least = b, h, lost
    b, h = partner, best_h
    ka, kb = merged_kernels(h, gram[a, b] - intercept)
    for c in range(beta.shape[0]):
        beta[c, b] = beta[c, a] * ka + beta[c, b] * kb
    remove(beta, a)
    for f in range(vectors.shape[1]):
        vectors[b, f] = h * vectors[a, f] + (1.0 - h) * vectors[b, f]
    return b


@borrowing
def update_gram(gram, b, vectors, width, kernel):
    """Compute row and column b of the RBF Gram matrix, of γ and a constant, again."""
    gamma, intercept = kernel
    sqnorm = product(vectors[b], vectors[b], width)
    for k in range(vectors.shape[0]):
        distance = sqnorm + product(vectors[k], vectors[k], width)
        distance -= 2.0 * product(vectors[b], vectors[k], width)
        value = 1.0 if k == b else math.exp(-gamma * max(distance, 0.0))
        gram[b, k] = value + intercept
        gram[k, b] = value + intercept
