"""Euclidean geometry: S is the identity.

x'Sx = x·x is computed with the scores (`kernels.rows.dot_and_sqnorm`).
"""

from crossview._jit import inlined_borrowing
from crossview.kernels.rows import add, add_pair


@inlined_borrowing
def move(P, times, row, W, b, y, wrong):
    """w <- w + times P y x; of several classes w_y <- w_y + times P x, w_wrong the opposite."""
    if W.ndim == 1:
        add(times * (y * P), row, W)
        b[row.v] += times * row.bias * (y * P)
    else:
        add_pair(times * P, row, W, y, wrong)
        b[row.v, y] += times * row.bias * P
        b[row.v, wrong] -= times * row.bias * P
