"""Kernel values between rows, one view at a time.

`ViewRows` is one view of some rows, dense or sparse: where the entries of each row begin and
end.  A kernel value is the same sum in the same order whatever else is computed in the call.
"""

import math
from typing import NamedTuple

import numpy as np

from crossview._jit import inlined, njit
from crossview.kernels.rows import ZERO, view_end

LINEAR, RBF, POLY = range(3)


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


@njit
def squared_norms(a, sqnorms):
    """sqnorms[i] <- a_i·a_i."""
    x, _, begin, end, _ = a
    for i in range(sqnorms.shape[0]):
        total = 0.0
        for p in range(begin[i], end[i]):
            total += x[p] * x[p]
        sqnorms[i] = total


@njit
def products(a, b, width, out):
    """out[i, k] <- a_i·b_k; all columns are below ``width``."""
    x, j, begin, end, offset = a
    x_b, j_b, begin_b, end_b, offset_b = b
    dense = np.zeros(width)  # row i
    for i in range(out.shape[0]):
        for p in range(begin[i], end[i]):
            dense[j[p - offset[i]]] = x[p]
        for k in range(out.shape[1]):
            total = 0.0
            for p in range(begin_b[k], end_b[k]):
                total += dense[j_b[p - offset_b[k]]] * x_b[p]
            out[i, k] = total
        for p in range(begin[i], end[i]):
            dense[j[p - offset[i]]] = 0.0


@inlined
def kernel_value(kernel, product, sqnorm_a, sqnorm_b):
    """Return k(a, b) from a·b, a·a and b·b."""
    if kernel.kind == LINEAR:
        return product
    if kernel.kind == RBF:
        return math.exp(-kernel.gamma * max(sqnorm_a + sqnorm_b - 2.0 * product, 0.0))
    return (kernel.gamma * product + kernel.coef0) ** kernel.degree


@njit
def kernel_values(kernel, sqnorms_a, sqnorms_b, out):
    """out[i, k] <- k(a_i, b_k), in place of a_i·b_k."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = kernel_value(kernel, out[i, k], sqnorms_a[i], sqnorms_b[k])


def sqnorms_of(view: ViewRows) -> np.ndarray:
    """Return the squared norm of each row."""
    sqnorms = np.empty(len(view.begin))
    squared_norms(view, sqnorms)
    return sqnorms


def gram(kernel: Kernel, a: ViewRows, b: ViewRows, width: int) -> np.ndarray:
    """Return k(a_i, b_k) of all pairs."""
    out = np.empty((len(a.begin), len(b.begin)))
    products(a, b, width, out)
    if kernel.kind != LINEAR:
        kernel_values(kernel, sqnorms_of(a), sqnorms_of(b), out)
    return out
