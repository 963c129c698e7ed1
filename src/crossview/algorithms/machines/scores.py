"""The scores of a row: eq. (6), (25), (26) and (27), and their slopes by the sums, eq. (16)."""

import numpy as np

from crossview._jit import borrowing, inlined_borrowing, passes
from crossview.algorithms.machines.state import (
    ALL_ORDERS,
    ALL_PAIRS,
    CROSS_ORDERS,
    CROSS_PAIRS,
    Machine,
    find_views,
    has_view,
    row_buffers,
)
from crossview.kernels.lanes import (
    Entries,
    add_entries,
    add_product,
    copy_factors,
    fill,
    multiply,
    sum_of,
)
from crossview.kernels.rows import EIGHT, ONE, ZERO, Rows


@inlined_borrowing
def other_products(S, D, product, first, end):
    """Eq. (16): D_p,f <- prod_{q != p} S_q,f, and product_f <- product_f + prod_p S_p,f.

    p and q run over the parts of one group, ``first`` to ``end``.  D is a prefix times a suffix
    of the products: the paper's division by S_p,f is wrong where S_p,f is 0.  S and D lie in one
    dimension, a part after the other; the suffix overwrites S, which is not needed again.
    """
    width = np.uint64(product.shape[0])
    last = end - ONE
    for f in range(ZERO, width, EIGHT):
        fill(D, first * width + f, 1.0)
        for p in range(first, last):
            this = p * width + f
            multiply(D, this + width, D, this, S, this)
        add_product(product, f, D, last * width + f, S, last * width + f)
        for p in range(last, first, -1):
            before = (np.uint64(p) - ONE) * width + f
            multiply(D, before, D, before, S, before + width)
            multiply(S, before, S, before, S, before + width)


@inlined_borrowing
def linear_terms(S, D, product, first):
    """The first factor of a class: D_p <- 1 and product <- sum_p S_p."""
    product[first] = 0.0
    for p in range(S.shape[0]):
        product[first] += S[p, first]
        D[p, first] = 1.0


@inlined_borrowing
def cross_pairs(S, D, product, k, K):
    """Eq. (27): D_p <- T - S_p and product <- ½ sum_p S_p D_p, with T = sum_p S_p."""
    for a in range(K):  # not range(0, n, k): that divides, in every row of any model
        first = a * k
        linear_terms(S, D, product, first)
        for f in range(first + 1, first + k):
            total = 0.0
            for p in range(S.shape[0]):
                total += S[p, f]
            for p in range(S.shape[0]):
                D[p, f] = total - S[p, f]
                product[f] += 0.5 * S[p, f] * D[p, f]


@inlined_borrowing
def add_squares(x, j, entries, A, Q):
    """Q_f <- Q_f + sum_i x_i² A[i, f]²."""
    for p in range(entries.lo, entries.hi):
        slot = (j[p - entries.offset] + entries.column_offset) * A.stride
        for f in range(A.n):
            Q[f] += (x[p] * A.values[slot + f]) ** 2


@inlined_borrowing
def all_pairs(S, D, product, k, K):
    """Eq. (26): D_p <- T and product <- ½ (T² - Q), where ``product`` holds Q = sum_i x_i² A²."""
    for a in range(K):  # not range(0, n, k): that divides, in every row of any model
        first = a * k
        linear_terms(S, D, product, first)
        for f in range(first + 1, first + k):
            total = 0.0
            for p in range(S.shape[0]):
                total += S[p, f]
            product[f] = 0.5 * (total * total - product[f])
            for p in range(S.shape[0]):
                D[p, f] = total


@borrowing
def add_orders(x, j, entries, A, E):
    """E_r,f <- E_r,f with these entries: E_r <- E_r + x A E_(r-1), the highest order first."""
    for p in range(entries.lo, entries.hi):
        slot = (j[p - entries.offset] + entries.column_offset) * A.stride
        for f in range(A.n):
            z = x[p] * A.values[slot + f]
            for r in range(E.shape[0] - 1, 0, -1):
                E[r, f] += z * E[r - 1, f]


@inlined_borrowing
def order_slope(E, f, z):
    """Return d sum_(r >= 2) E_r / d z: the sum of E_r without z, over r = 1 to the order - 1.

    E_r = E_r' + z E_(r-1)', where E' is without z; so E_r' = E_r - z E_(r-1)', from E_0' = 1 on.
    """
    total, without = 0.0, 1.0
    for r in range(1, E.shape[0] - 1):
        without = E[r, f] - z * without
        total += without
    return total


@borrowing
def higher_orders(S, D, product, E, across, k, K):
    """Interactions of up to m columns: product <- sum_(r >= 2) E_r, and D its slope by a sum.

    ``across``: E is that of the sums S_p; otherwise that of the columns, and D is the slope by one
    that is 0.
    """
    for a in range(K):
        first = a * k
        linear_terms(S, D, product, first)
        for f in range(first + 1, first + k):
            if across:
                for p in range(S.shape[0]):
                    for r in range(E.shape[0] - 1, 0, -1):
                        E[r, f] += S[p, f] * E[r - 1, f]
            product[f] = 0.0
            for r in range(2, E.shape[0]):
                product[f] += E[r, f]
            for p in range(S.shape[0]):
                D[p, f] = order_slope(E, f, S[p, f] if across else 0.0)


@inlined_borrowing
def row_score(rows, i, machine, buffers, score):
    """score_c <- the scores of row i, and D <- d score / d S; return the offset of its columns.

    Eq. (6): S_p,f = B_p,f + sum_i x_i A[i, f]; a missing view has its bias row only.
    """
    x, j = rows.data, rows.indices
    features, biases, _, S, D, flat_s, flat_d, product, _, entry_ptr, E = buffers
    K, width = score.shape[0], np.uint64(product.shape[0])
    k = machine.B.shape[2] // K
    offset = find_views(rows, i, entry_ptr)
    for f in range(ZERO, width, EIGHT):
        fill(product, f, 0.0)
    for r in range(E.shape[0]):
        E[r, :] = 1.0 if r == 0 else 0.0
    for p in range(ZERO, np.uint64(machine.views.shape[0])):
        v = machine.views[p]
        copy_factors(flat_s, p * width, biases, p)
        if has_view(rows.present, i, v):
            entries = Entries(entry_ptr[v], entry_ptr[v + ONE], offset, machine.column_offset[p])
            add_entries(x, j, entries, features, flat_s, p * width)
            if machine.model == ALL_PAIRS:
                add_squares(x, j, entries, features, product)
            elif machine.model == ALL_ORDERS:
                add_orders(x, j, entries, features, E)
    if machine.model == CROSS_PAIRS:
        cross_pairs(S, D, product, k, K)
    elif machine.model == ALL_PAIRS:
        all_pairs(S, D, product, k, K)
    elif machine.model == CROSS_ORDERS or machine.model == ALL_ORDERS:
        higher_orders(S, D, product, E, machine.model == CROSS_ORDERS, k, K)
    else:  # eq. (25) is eq. (6) without bias rows
        first = ZERO
        for group in range(machine.ends.shape[0]):
            other_products(flat_s, flat_d, product, first, machine.ends[group])
            first = machine.ends[group]
    for a in range(K):
        score[a] = machine.c[0, a] + sum_of(product, np.uint64(a * k), np.uint64(k))
    return offset


@borrowing
def scoring_pass(rows, order, machine, buffers, scores):
    """The loop of `score_rows`."""
    for s in range(order.shape[0]):
        i = order[s]
        row_score(rows, i, machine, buffers, scores[i])


@passes(scoring_pass)
def score_rows(rows: Rows, order: np.ndarray, machine: Machine, scores: np.ndarray) -> tuple:
    """scores[i] <- the scores of the rows in ``order``."""
    return rows, order, machine, row_buffers(machine, rows.ptr), scores
