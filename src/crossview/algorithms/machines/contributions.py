"""Contribution of each column to the score of a machine."""

import numpy as np

from crossview._jit import borrowing
from crossview.algorithms.machines.scores import order_slope, row_score
from crossview.algorithms.machines.state import (
    ALL_ORDERS,
    ALL_PAIRS,
    Machine,
    has_view,
    row_buffers,
)
from crossview.kernels.rows import Rows


def contributions(rows: Rows, machine: Machine) -> np.ndarray:
    """Return what each entry contributes to each score, (n_entries, K).

    The score without column i is that with x_i = 0.  It is linear in the sums S_p, so the
    difference is sum_p D_p·A_p[i] x_i with the slopes of eq. (16); only the squares of eq. (26),
    and the products of more columns, have a curvature.
    """
    found = np.zeros((int(rows.indptr[-1]), machine.c.shape[1]))
    contribution_pass(rows, machine, row_buffers(machine, rows.ptr), found)
    return found


@borrowing
def contribution_pass(rows, machine, buffers, found):
    """The loop of `contributions`."""
    x, j, D, entry_ptr = rows.data, rows.indices, buffers.D, buffers.entry_ptr
    K = found.shape[1]
    k = machine.B.shape[2] // K
    pairs = machine.model == ALL_PAIRS
    for i in range(rows.indptr.shape[0] - 1):
        offset = row_score(rows, i, machine, buffers, buffers.score)
        for p in range(machine.views.shape[0]):
            v = machine.views[p]
            if not has_view(rows.present, i, v):
                continue
            for e in range(entry_ptr[v], entry_ptr[v + 1]):
                slot = j[e - offset] + machine.column_offset[p]
                for a in range(K):
                    for f in range(a * k, a * k + k):
                        s = x[e] * machine.A[slot, 0, f]
                        if machine.model == ALL_ORDERS and f > a * k:
                            found[e, a] += order_slope(buffers.E, f, s) * s
                            continue
                        found[e, a] += D[p, f] * s
                        if pairs and f > a * k:  # T² - Q loses 2 T s - s², and s² of it is in Q
                            found[e, a] -= s * s
