"""The arrays of a machine, of one row, and of what a pass minimizes."""

from typing import NamedTuple

import numpy as np

from crossview._jit import inlined_borrowing
from crossview.kernels.lanes import WIDTH, Table
from crossview.kernels.rows import ZERO, view_end

# multi-view machine, pairs across views, all pairs, support tensor machine, and interactions of
# more columns than two, of different views or all
MULTI_VIEW, CROSS_PAIRS, ALL_PAIRS, TENSOR, CROSS_ORDERS, ALL_ORDERS = range(6)
# the models that have a linear weight before the factors
FACTORIZED = (CROSS_PAIRS, ALL_PAIRS, CROSS_ORDERS, ALL_ORDERS)


class Machine(NamedTuple):
    """Parameters of a machine, and where its parts are; K classes, k factors.

    ``[:, 0]`` are parameters, ``[:, 1]`` AdaGrad's sums of their squared
    gradients, next to each other so that a feature is one place in memory; SGD has
    the first only.
    """

    A: np.ndarray  # (n_slots, 1 or 2, K k): the features of one part after the other
    B: np.ndarray  # (n_parts, 1 or 2, K k): the bias rows; 0 in models that have none
    c: np.ndarray  # (1 or 2, K): intercepts
    views: np.ndarray  # uint64 (n_parts,): the view of each part
    column_offset: np.ndarray  # uint64 (n_parts,): column j is in slot j + column_offset of A
    ends: np.ndarray  # uint64 (n_groups,): one past the last part of each group
    model: int  # MULTI_VIEW, ..., ALL_ORDERS
    seen: np.ndarray  # bool (n_slots,): columns that a row had; all others are 0
    keys: np.ndarray  # uint64 (n_parts,): seeds of the initial weights
    sizes: np.ndarray  # (n_parts,): standard deviation of the initial weights
    class_ids: np.ndarray  # uint64 (K,): the number of each class, in order of appearance
    order: int = 2  # of CROSS_ORDERS and ALL_ORDERS: the most columns that interact


class Objective(NamedTuple):
    """The objective of a step: loss of the row, and penalty on the parameters that it touches."""

    loss: int
    penalty: int
    alpha: float
    alpha_bias: float  # of bias rows, which every row touches
    fit_intercept: bool = True  # whether c moves


class RowBuffers(NamedTuple):
    """The sums of one row; S, D and ``product`` have a multiple of eight factors."""

    features: Table  # the parameters A
    biases: Table  # the bias rows B
    intercepts: Table  # c, in one slot
    S: np.ndarray  # (n_parts, padded K k): the sums of the parts
    D: np.ndarray  # (n_parts, padded K k): d score / d S
    flat_s: np.ndarray  # the same memory in one dimension
    flat_d: np.ndarray
    product: np.ndarray  # (padded K k,): the terms of the scores
    score: np.ndarray  # (K,)
    entry_ptr: np.ndarray  # uint64 (n_views + 1,): the entries of each view of the row
    E: np.ndarray  # (order + 1, K k): sums over products of so many columns; (0, K k): not needed


def row_buffers(machine: Machine, ptr: np.ndarray) -> RowBuffers:
    """Allocate the buffers of a row."""
    A, B, c = machine.A, machine.B, machine.c
    n, stride = np.uint64(B.shape[2]), np.uint64(B.shape[1] * B.shape[2])
    width = -(-B.shape[2] // WIDTH) * WIDTH
    n_orders = machine.order + 1 if machine.model in (CROSS_ORDERS, ALL_ORDERS) else 0
    S, D = np.zeros((len(B), width)), np.zeros((len(B), width))
    return RowBuffers(
        Table(A.reshape(-1), n, stride),
        Table(B.reshape(-1), n, stride),
        Table(c.reshape(-1), np.uint64(c.shape[1]), np.uint64(c.size)),
        S,
        D,
        S.reshape(-1),
        D.reshape(-1),
        np.zeros(width),
        np.empty(c.shape[1]),
        np.empty(len(ptr), np.uint64),
        np.zeros((n_orders, B.shape[2])),
    )


@inlined_borrowing
def find_views(rows, i, entry_ptr):
    """entry_ptr[v] <- the first entry of view v of row i; return the offset of its columns."""
    j, indptr, ptr = rows.indices, rows.indptr, rows.ptr
    lo, end = indptr[i], indptr[i + 1]
    offset = lo if rows.shared else ZERO
    entry_ptr[0] = lo
    for v in range(entry_ptr.shape[0] - 1):
        entry_ptr[v + 1] = view_end(j, entry_ptr[v], end, offset, ptr[v + 1])
    return offset


@inlined_borrowing
def has_view(present, i, v):
    """Return whether row i has view v."""
    return present.shape[0] == 0 or present[i, v]
