"""A sparse row: its dot products, squared norm and additions, and the views in it.

A row is two short arrays: the values ``x`` and their columns ``j``.  `Rows`
holds a batch of them, view after view.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from crossview._jit import njit


class Rows(NamedTuple):
    """The arrays of a batch, as the loops take them; all read-only.

    A dense matrix is the same thing with shared indices: every row has the
    columns 0, 1, ..., which are stored once.  Columns are unsigned because
    Numba then need not ask whether an index counts from the end.
    """

    data: np.ndarray  # float64 (n_entries,): the values
    indices: np.ndarray  # uint32, or uint64 past 2^31 columns: their columns, ascending in a row
    indptr: np.ndarray  # int64 (n_rows + 1,): row i has the entries indptr[i] .. indptr[i + 1] - 1
    shared: bool  # dense: one set of indices for all rows
    ptr: np.ndarray  # int64 (n_views + 1,): view v has the columns ptr[v] .. ptr[v + 1] - 1
    present: np.ndarray  # bool (n_rows, n_views), or (0, n_views) where no view is missing


@njit
def row(rows, i):
    """Values and columns of row i."""
    lo, hi = rows.indptr[i], rows.indptr[i + 1]
    first = 0 if rows.shared else lo
    return rows.data[lo:hi], rows.indices[first : first + hi - lo]


@njit
def view_end(j, start, end):
    """The first entry from ``start`` on whose column is at least ``end`` (bisection)."""
    lo, hi = start, j.shape[0]
    while lo < hi:
        mid = (lo + hi) >> 1
        if np.int64(j[mid]) < end:
            lo = mid + 1
        else:
            hi = mid
    return lo


@njit
def dot_and_norm(x, j, w):
    """w·x and x·x; four sums side by side, so that no addition waits for the one before."""
    d0 = d1 = d2 = d3 = 0.0
    n0 = n1 = n2 = n3 = 0.0
    whole = x.shape[0] - x.shape[0] % 4
    for p in range(0, whole, 4):
        x0, x1, x2, x3 = x[p], x[p + 1], x[p + 2], x[p + 3]
        d0 += x0 * w[j[p]]
        d1 += x1 * w[j[p + 1]]
        d2 += x2 * w[j[p + 2]]
        d3 += x3 * w[j[p + 3]]
        n0 += x0 * x0
        n1 += x1 * x1
        n2 += x2 * x2
        n3 += x3 * x3
    for p in range(whole, x.shape[0]):
        d0 += x[p] * w[j[p]]
        n0 += x[p] * x[p]
    return (d0 + d1) + (d2 + d3), (n0 + n1) + (n2 + n3)


@njit
def add(step, x, j, w):
    """W <- w + step x."""
    for p in range(x.shape[0]):
        w[j[p]] += step * x[p]


@njit
def add_pair(step, x, j, W, plus, minus):
    """W_plus <- W_plus + step x and W_minus <- W_minus - step x, two columns of W."""
    for p in range(x.shape[0]):
        W[j[p], plus] += step * x[p]
        W[j[p], minus] -= step * x[p]


@njit
def dots_and_norm(x, j, W, out):
    """Out <- out + W'x, one score a class; returns x·x."""
    norm = 0.0
    for p in range(x.shape[0]):
        norm += x[p] * x[p]
        for k in range(out.shape[0]):
            out[k] += x[p] * W[j[p], k]
    return norm


@njit
def score_views(rows, W, scores, norms):
    """scores[i, v, k] <- W_k·x and norms[i, v] <- x·x over view v of row i; scores start at 0."""
    for i in range(rows.indptr.shape[0] - 1):
        x, j = row(rows, i)
        lo = 0
        for v in range(rows.ptr.shape[0] - 1):
            hi = view_end(j, lo, rows.ptr[v + 1])
            norms[i, v] = dots_and_norm(x[lo:hi], j[lo:hi], W, scores[i, v])
            lo = hi


# --- asking for a row before it is needed -------------------------------------


def prefetch(array, p):
    """Ask the memory for ``array[p]``; in plain Python, nothing."""


@intrinsic
def _prefetch(typing_context, array, p):  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        name = "llvm.prefetch.p0"
        function = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), name
        )
        address = builder.bitcast(builder.gep(data, [args[1]]), byte)
        builder.call(function, [address, word(0), word(3), word(1)])  # read, keep, data cache
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


@overload(prefetch, inline="always")
def _overload_prefetch(array, p):
    return lambda array, p: _prefetch(array, p)


@njit
def prefetch_row(rows, order, s):
    """Ask for the row at place ``s`` of the order, where there is one.

    Rows in random order come from memory one cache line of 64 bytes after the
    other; asking two rows ahead took a third off a shuffled pass.
    """
    if s < order.shape[0]:
        lo, hi = rows.indptr[order[s]], rows.indptr[order[s] + 1]
        for p in range(lo, hi, 8):
            prefetch(rows.data, p)
        if not rows.shared:
            for p in range(lo, hi, 16):
                prefetch(rows.indices, p)
