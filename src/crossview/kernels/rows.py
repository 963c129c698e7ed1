"""A sparse row: its dot products, squared norm and additions, and the views in it.

`Rows` holds a batch, view after view.  The entries of a row are those from
``lo`` to ``hi``: entry p has the value ``x[p]`` and the column ``j[p - offset]``.
For CSR ``offset`` is 0.  A dense matrix is the same thing with shared indices:
every row has the columns 0, 1, ..., which are stored once, and ``offset`` is
where the row begins.

Offsets and columns are unsigned, because Numba then need not ask of each
whether it counts from the end; with signed ones a pass takes half as long again.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from crossview._jit import borrowing, inlined_borrowing

# unsigned with signed gives a float in Numba, so the small numbers are unsigned too
ZERO, ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN, EIGHT = (np.uint64(k) for k in range(9))
VALUES_A_LINE, COLUMNS_A_LINE = np.uint64(8), np.uint64(16)


class Rows(NamedTuple):
    """The arrays of a batch, as the loops take them; all read-only."""

    data: np.ndarray  # float64 (n_entries,): the values; see `batch.typed_rows`
    indices: np.ndarray  # uint32, or uint64 past 2^31 columns: their columns, ascending in a row
    indptr: np.ndarray  # uint64 (n_rows + 1,): row i has the entries indptr[i] .. indptr[i + 1] - 1
    shared: bool  # dense: one set of indices for all rows
    ptr: np.ndarray  # uint64 (n_views + 1,): view v has the columns ptr[v] .. ptr[v + 1] - 1
    present: np.ndarray  # bool (n_rows, n_views), or (0, n_views) where no view is missing


class Examples(NamedTuple):
    """Which rows a pass learns; y and weight are those of every row."""

    order: np.ndarray  # int64: the rows to learn from, in this order
    y: np.ndarray  # -1 or +1, a number, or the number of the class
    weight: np.ndarray


class Row(NamedTuple):
    """One row, or one view of it: the entries from ``lo`` to ``hi``, and the constant feature."""

    x: np.ndarray  # the values of the batch: entry p has the value x[p] ...
    j: np.ndarray  # ... and the column j[p - offset]
    lo: int
    hi: int
    offset: int
    v: int  # the view: the position of its intercept
    bias: float  # the constant feature: 1, or 0 without intercept; see `geometries.identity.move`


@inlined_borrowing
def view_end(j, lo, hi, offset, end):
    """The first entry in lo .. hi whose column is at least ``end`` (bisection without a branch)."""
    size = hi - lo
    while size > ZERO:
        half = size >> ONE
        below = j[lo + half - offset] < end
        size = size - half - ONE if below else half
        lo = lo + half + ONE if below else lo
    return lo


@inlined_borrowing
def dot_and_sqnorm(row, w):
    """Return w·x and x·x; four sums side by side, so that no addition waits for the one before."""
    x, j, lo, hi, offset = row.x, row.j, row.lo, row.hi, row.offset
    d0 = d1 = d2 = d3 = 0.0
    n0 = n1 = n2 = n3 = 0.0
    whole = hi - (hi - lo) % FOUR
    for p in range(lo, whole, FOUR):
        q = p - offset
        x0, x1, x2, x3 = x[p], x[p + ONE], x[p + TWO], x[p + THREE]
        d0 += x0 * w[j[q]]
        d1 += x1 * w[j[q + ONE]]
        d2 += x2 * w[j[q + TWO]]
        d3 += x3 * w[j[q + THREE]]
        n0 += x0 * x0
        n1 += x1 * x1
        n2 += x2 * x2
        n3 += x3 * x3
    for p in range(whole, hi):
        d0 += x[p] * w[j[p - offset]]
        n0 += x[p] * x[p]
    return (d0 + d1) + (d2 + d3), (n0 + n1) + (n2 + n3)


@inlined_borrowing
def add(step, row, w):
    """w <- w + step x."""
    x, j, offset = row.x, row.j, row.offset
    for p in range(row.lo, row.hi):
        w[j[p - offset]] += step * x[p]


@inlined_borrowing
def add_pair(step, row, W, plus, minus):
    """W_plus <- W_plus + step x and W_minus <- W_minus - step x, two columns of W."""
    x, j, offset = row.x, row.j, row.offset
    for p in range(row.lo, row.hi):
        W[j[p - offset], plus] += step * x[p]
        W[j[p - offset], minus] -= step * x[p]


@inlined_borrowing
def dots_and_sqnorm(row, W, out):
    """out <- out + W'x, one score per class; return x·x."""
    x, j, offset = row.x, row.j, row.offset
    norm = 0.0
    for p in range(row.lo, row.hi):
        norm += x[p] * x[p]
        for k in range(out.shape[0]):
            out[k] += x[p] * W[j[p - offset], k]
    return norm


@borrowing
def score_views(rows, W, scores, norms):
    """scores[i, v, k] <- W_k·x and norms[i, v] <- x·x over view v of row i; scores start at 0."""
    x, j, indptr, shared, ptr, _ = rows
    for i in range(scores.shape[0]):
        lo, end = indptr[i], indptr[i + 1]
        offset = lo if shared else ZERO
        for v in range(scores.shape[1]):
            hi = view_end(j, lo, end, offset, ptr[v + 1])
            norms[i, v] = dots_and_sqnorm(Row(x, j, lo, hi, offset, v, 0.0), W, scores[i, v])
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

    return types.void(array, types.uintp), codegen


@overload(prefetch, inline="always")
def _overload_prefetch(array, p):
    return lambda array, p: _prefetch(array, p)


@inlined_borrowing
def prefetch_row(x, j, indptr, shared, order, s):
    """Ask for the row at place ``s`` of the order, where there is one.

    Rows in random order come from memory one cache line of 64 bytes after the
    other; asking two rows ahead took a third off a shuffled pass.
    """
    # the last row stands in for one past it: a branch around the arrays would
    # have their references counted, at 50 ns a row
    i = order[min(s, order.shape[0] - 1)]
    lo, hi = indptr[i], indptr[i + 1]
    for p in range(lo, hi, VALUES_A_LINE):
        prefetch(x, p)
    for p in range(lo, lo if shared else hi, COLUMNS_A_LINE):
        prefetch(j, p)


@borrowing
def gather_rows(x, j, indptr, order, x_out, j_out):
    """Copy values and columns of sparse rows, one row of the order after the other."""
    at = ZERO
    for s in range(order.shape[0]):
        prefetch_row(x, j, indptr, False, order, s + 8)
        for p in range(indptr[order[s]], indptr[order[s] + 1]):
            x_out[at], j_out[at] = x[p], j[p]
            at += ONE
