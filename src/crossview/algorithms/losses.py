"""Slopes of the losses of a score.

Squared ½ (s - y)², logistic log(1 + exp(-y s)), hinge max(0, 1 - y s), and
softmax log sum_c exp(s_c) - s_true.

Symbols: score s; label y in {-1, +1}, or a number for the squared loss.  A loss
is chosen by a small number, which the loops test outside of what they repeat.
"""

import math

import numpy as np

from crossview._jit import inlined

SQUARED, LOGISTIC, HINGE, SOFTMAX = 0, 1, 2, 3


@inlined
def slope(kind, s, y):
    """The derivative by s: s - y, -y / (1 + exp(y s)), or -y where y s < 1 and else 0."""
    if kind == SQUARED:
        return s - y
    if kind == LOGISTIC:
        return -y / (1.0 + math.exp(y * s))
    return -y if y * s < 1.0 else 0.0


@inlined
def softmax_slopes(scores, true, out):
    """Out_c <- exp(s_c) / sum_d exp(s_d), less 1 for the true class."""
    top = scores[0]
    for c in range(1, scores.shape[0]):
        top = max(top, scores[c])
    total = 0.0
    for c in range(scores.shape[0]):
        out[c] = math.exp(scores[c] - top)
        total += out[c]
    for c in range(scores.shape[0]):
        out[c] /= total
    out[true] -= 1.0


@inlined
def slopes(kind, scores, y, out):
    """Out_c <- the derivative by s_c, for one score or one a class.

    With several scores y is the number of the class: all scores together
    (softmax), or each class against the rest with a label of its own.
    """
    if kind == SOFTMAX:
        softmax_slopes(scores, np.uint64(y), out)
    elif scores.shape[0] == 1:
        out[0] = slope(kind, scores[0], y)
    else:
        for c in range(scores.shape[0]):
            out[c] = slope(kind, scores[c], 1.0 if c == y else -1.0)
