"""Kernel values between rows, one view at a time.

A view of some rows is a `ViewRows`, whether they are dense or sparse: where the
entries of each row begin and end.  Every value is the same sum in the same order
whatever other rows are asked for with it.
"""

import math
from typing import NamedTuple

import numpy as np

from crossview._jit import inlined, njit
from crossview.kernels.rows import ZERO, view_end

LINEAR, RBF, POLY = range(3)


class ViewRows(NamedTuple):
    """One view of some rows; entry p of row i stands in column ``indices[p - offset[i]]``."""

    data: np.ndarray  # float64
    indices: np.ndarray  # uint32 or uint64
    begin: np.ndarray  # uint64 (n_rows,)
    end: np.ndarray  # uint64 (n_rows,)
    offset: np.ndarray  # uint64 (n_rows,)


@njit
def cut_rows(j, indptr, shared, ptr, cuts):
    """cuts[i, v] <- the first entry of view v of row i, and last the row's end."""
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


@njit
def squared_norms(a, norms):
    """norms[i] <- a_i·a_i."""
    x, _, begin, end, _ = a
    for i in range(norms.shape[0]):
        total = 0.0
        for p in range(begin[i], end[i]):
            total += x[p] * x[p]
        norms[i] = total


@njit
def products(a, b, width, out):
    """out[i, k] <- a_i·b_k; columns are below ``width``."""
    x, j, begin, end, offset = a
    u, w, begins, ends, skips = b
    full = np.zeros(width)  # row i without gaps
    for i in range(out.shape[0]):
        for p in range(begin[i], end[i]):
            full[j[p - offset[i]]] = x[p]
        for k in range(out.shape[1]):
            total = 0.0
            for p in range(begins[k], ends[k]):
                total += full[w[p - skips[k]]] * u[p]
            out[i, k] = total
        for p in range(begin[i], end[i]):
            full[j[p - offset[i]]] = 0.0


@inlined
def kernel_value(kernel, product, norm_a, norm_b):
    """k(a, b) from a·b, a·a and b·b."""
    if kernel.kind == LINEAR:
        return product
    if kernel.kind == RBF:
        return math.exp(-kernel.gamma * max(norm_a + norm_b - 2.0 * product, 0.0))
    return (kernel.gamma * product + kernel.coef0) ** kernel.degree


@njit
def kernel_values(kernel, norms_a, norms_b, out):
    """out[i, k] <- k(a_i, b_k), where it was a_i·b_k."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = kernel_value(kernel, out[i, k], norms_a[i], norms_b[k])


def norms_of(view: ViewRows) -> np.ndarray:
    """The squared norm of each row."""
    norms = np.empty(len(view.begin))
    squared_norms(view, norms)
    return norms


def gram(kernel: Kernel, a: ViewRows, b: ViewRows, width: int) -> np.ndarray:
    """k(a_i, b_k) of all pairs."""
    out = np.empty((len(a.begin), len(b.begin)))
    products(a, b, width, out)
    if kernel.kind != LINEAR:
        kernel_values(kernel, norms_of(a), norms_of(b), out)
    return out
