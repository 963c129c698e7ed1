"""Adaptive regularization of weight vectors (AROW).

Reference: Crammer, Kulesza, Dredze, "Adaptive Regularization of Weight Vectors", NIPS 2009.
"""

from crossview._jit import inlined_borrowing


@inlined_borrowing
def step(m, n, r):
    """P = l / (n + r), rho = 1 / r (figure 1)."""
    loss = 1.0 - m
    if loss <= 0.0:
        return 0.0, 0.0
    return loss / (n + r), 1.0 / r
