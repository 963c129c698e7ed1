"""Vectors whose numbers lie in order: dot products and additions."""

from crossview._jit import borrowing, borrowing_reordering


@borrowing_reordering
def dot(a, b):
    """Return a·b."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@borrowing
def add_to(step, a, b):
    """b <- b + step a."""
    for i in range(a.shape[0]):
        b[i] += step * a[i]


@borrowing
def add_column(step, a, W, k):
    """W_k <- W_k + step a."""
    if W.shape[1] == 1:
        add_to(step, a, W.reshape(-1))
    else:
        for i in range(a.shape[0]):
            W[i, k] += step * a[i]
