"""Euclidean geometry: S is the identity and stays it.

x'Sx = x·x, which comes along with the scores (`kernels.rows.dot_and_sqnorm`).
"""

from crossview._jit import inlined_borrowing
from crossview.kernels.rows import add, add_pair


@inlined_borrowing
def move(P, row, W, b, y, wrong):
    """w <- w + P y x, or for several classes w_y <- w_y + P x and w_wrong <- w_wrong - P x."""
    if W.ndim == 1:
        add(y * P, row, W)
        b[row.v] += row.bias * (y * P)
    else:
        add_pair(P, row, W, y, wrong)
        b[row.v, y] += row.bias * P
        b[row.v, wrong] -= row.bias * P
