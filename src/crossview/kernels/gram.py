"""Kernel values between rows, one view at a time.

`ViewRows` is one view of some rows, dense or sparse: where the entries of each row begin and
end.  A kernel value is the same sum in the same order whatever else is computed in the call.
"""

import math
from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, borrowing_reordering, inlined, njit
from crossview.kernels.rows import ONE, ZERO, view_end

LINEAR, RBF, POLY = range(3)
# a row has all columns of its view where at least one in so many is not 0; it costs as much then
LEAST_FILLED = np.uint64(6)
# 256 KB of values, which the second cache of a processor holds
ENTRIES_A_TILE = 1 << 15
SQUARE = 8


class ViewRows(NamedTuple):
    """One view of some rows; entry p of row i has the column ``indices[p - offset[i]]``."""

    data: np.ndarray  # float64
    indices: np.ndarray  # uint32 or uint64
    begin: np.ndarray  # uint64 (n_rows,)
    end: np.ndarray  # uint64 (n_rows,)
    offset: np.ndarray  # uint64 (n_rows,)


@njit
def cut_rows(j, indptr, shared, ptr, cuts):
    """cuts[i, v] <- the first entry of view v in row i; the last column: the end of the row."""
    for i in range(cuts.shape[0]):
        end = indptr[i + 1]
        offset = indptr[i] if shared else ZERO
        cuts[i, 0] = indptr[i]
        for v in range(cuts.shape[1] - 1):
            cuts[i, v + 1] = view_end(j, cuts[i, v], end, offset, ptr[v + 1])


class Kernel(NamedTuple):
    """k(a, b) = a·b, exp(-γ |a - b|²) or (γ a·b + c)^d."""

    kind: int
    gamma: float
    coef0: float
    degree: float


DOT_PRODUCT = Kernel(LINEAR, 1.0, 0.0, 1.0)


@borrowing_reordering
def dot(x, p, z, q, n):
    """Return x[p:p+n]·z[q:q+n]."""
    total = 0.0
    for i in range(n):
        total += x[p + i] * z[q + i]
    return total


@borrowing
def squared_norms(a, width, sqnorms):
    """sqnorms[i] <- a_i·a_i, the same sum as in `products`."""
    x, _, begin, end, _ = a
    for i in range(sqnorms.shape[0]):
        total = 0.0
        if end[i] - begin[i] == width:
            total = dot(x, begin[i], x, begin[i], width)
        else:
            for p in range(begin[i], end[i]):
                total += x[p] * x[p]
        sqnorms[i] = total


@borrowing
def products(a, b, first, dense, tile, symmetric, out):
    """out[i, k] <- a_i·b_k, where ``symmetric`` only for k <= i.

    Two rows that have all columns of the view are multiplied in order; otherwise the entries of b_k
    are looked up among those of a_i.  ``dense`` has a 0 per column of the view, from ``first`` on,
    and has it afterwards.  Rows of b are taken ``tile`` at a time, which stay in the cache.
    """
    x, j, begin, end, offset = a
    x_b, j_b, begin_b, end_b, offset_b = b
    width = np.uint64(dense.shape[0])
    for low in range(0, out.shape[1], tile):
        for i in range(low if symmetric else 0, out.shape[0]):
            whole, scattered = end[i] - begin[i] == width, False
            for k in range(low, min(low + tile, i + 1 if symmetric else out.shape[1])):
                if whole and end_b[k] - begin_b[k] == width:
                    out[i, k] = dot(x, begin[i], x_b, begin_b[k], width)
                    continue
                if not scattered:
                    for p in range(begin[i], end[i]):
                        dense[j[p - offset[i]] - first] = x[p]
                    scattered = True
                total = 0.0
                for p in range(begin_b[k], end_b[k]):
                    total += dense[j_b[p - offset_b[k]] - first] * x_b[p]
                out[i, k] = total
            if scattered:
                for p in range(begin[i], end[i]):
                    dense[j[p - offset[i]] - first] = 0.0


@borrowing
def has_all_columns(x, width):
    """Return whether a row with these values has all columns after `canonical_rows`."""
    n = ZERO
    for p in range(width):
        n += np.uint64(x[p] != 0.0)
    return n * LEAST_FILLED >= width


@borrowing
def product(x, z, width):
    """Return x·z of two rows with all columns, the same sum as in `products`."""
    if has_all_columns(x, width) and has_all_columns(z, width):
        return dot(x, ZERO, z, ZERO, width)
    total = 0.0
    for p in range(width):
        total += x[p] * z[p]
    return total


@borrowing
def count_nonzero(view, counts):
    """counts[i] <- the number of entries of row i that are not 0."""
    x, _, begin, end, _ = view
    for i in range(counts.shape[0]):
        n = ZERO
        for p in range(begin[i], end[i]):
            n += np.uint64(x[p] != 0.0)
        counts[i] = n


@borrowing
def copy_rows(view, whole, first, indptr, data, indices):
    """Write each row from ``indptr[i]`` on, with all columns from ``first`` on or without zeros."""
    x, j, begin, end, offset = view
    for i in range(whole.shape[0]):
        at = indptr[i]
        if whole[i]:
            for p in range(at, indptr[i + 1]):
                data[p], indices[p] = 0.0, first + p - at
        for p in range(begin[i], end[i]):
            if x[p] != 0.0:
                column = j[p - offset[i]]
                place = indptr[i] + column - first if whole[i] else at
                data[place], indices[place] = x[p], column
                at += ONE


def canonical_rows(view: ViewRows, first: int, end: int) -> ViewRows:
    """Return the rows with all columns from ``first`` to ``end``, or with those that are not 0.

    All where at least one in LEAST_FILLED is not 0.  So a kernel value depends on the rows only,
    and not on how they were kept; a row of words in a dense matrix is as fast as in a sparse one.
    """
    lengths, counts = view.end - view.begin, np.empty(len(view.begin), dtype=np.uint64)
    count_nonzero(view, counts)
    whole = counts * LEAST_FILLED >= np.uint64(end - first)
    wanted = np.where(whole, np.uint64(end - first), counts)
    if np.array_equal(wanted, lengths):
        return view
    indptr = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(wanted)])
    data, indices = np.empty(indptr[-1]), np.empty(indptr[-1], dtype=view.indices.dtype)
    copy_rows(view, whole, np.uint64(first), indptr, data, indices)
    offset = np.zeros(len(wanted), dtype=np.uint64)
    for array in (data, indices, indptr, offset):
        array.flags.writeable = False
    return ViewRows(data, indices, indptr[:-1], indptr[1:], offset)


@inlined
def kernel_value(kernel, product, sqnorm_a, sqnorm_b):
    """Return k(a, b) from a·b, a·a and b·b."""
    if kernel.kind == LINEAR:
        return product
    if kernel.kind == RBF:
        return math.exp(-kernel.gamma * max(sqnorm_a + sqnorm_b - 2.0 * product, 0.0))
    return (kernel.gamma * product + kernel.coef0) ** kernel.degree


@njit
def kernel_values(kernel, sqnorms_a, sqnorms_b, symmetric, out):
    """out[i, k] <- k(a_i, b_k), in place of a_i·b_k; where ``symmetric`` only for k <= i."""
    for i in range(out.shape[0]):
        for k in range(i + 1 if symmetric else out.shape[1]):
            out[i, k] = kernel_value(kernel, out[i, k], sqnorms_a[i], sqnorms_b[k])


@borrowing
def mirror(out):
    """out[k, i] <- out[i, k] for k < i, by squares that stay in the cache."""
    n = out.shape[0]
    for first in range(0, n, SQUARE):
        for i in range(first, n):
            for k in range(first, min(first + SQUARE, i)):
                out[k, i] = out[i, k]


def sqnorms_of(view: ViewRows, columns: tuple[int, int]) -> np.ndarray:
    """Return the squared norm of each row with ``columns``, first and end."""
    (first, end), sqnorms = columns, np.empty(len(view.begin))
    squared_norms(canonical_rows(view, first, end), np.uint64(end - first), sqnorms)
    return sqnorms


def gram(
    kernel: Kernel, a: ViewRows, b: ViewRows, columns: tuple[int, int], out: np.ndarray
) -> np.ndarray:
    """Return ``out``, with k(a_i, b_k) of all pairs of rows with ``columns``, first and end."""
    symmetric, (first, end) = a is b, columns
    a = canonical_rows(a, first, end)
    b = a if symmetric else canonical_rows(b, first, end)
    n_entries = int((b.end - b.begin).sum())
    tile = max(SQUARE, ENTRIES_A_TILE * len(b.begin) // max(n_entries, 1))
    products(a, b, np.uint64(first), np.zeros(end - first), tile, symmetric, out)
    if kernel.kind != LINEAR:
        sqnorms = [np.empty(len(rows.begin)) for rows in (a, b)]
        for rows, of_rows in zip((a, b), sqnorms, strict=True):
            squared_norms(rows, np.uint64(end - first), of_rows)
        kernel_values(kernel, *sqnorms, symmetric, out)
    if symmetric:
        mirror(out)
    return out
