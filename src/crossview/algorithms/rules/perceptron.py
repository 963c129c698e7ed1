"""The perceptron.

Reference: Rosenblatt, "The perceptron" (1958).
"""

from crossview._jit import inlined_borrowing


@inlined_borrowing
def step(m):
    """P = 1 on a mistake (m <= 0), else 0."""
    return 1.0 if m <= 0.0 else 0.0
