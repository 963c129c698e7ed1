"""Losses of a score, and their slopes.

Squared ½ (s - y)²; Huber, the same that continues as |s - y| - ½ where |s - y| > 1;
logistic log(1 + exp(-y s)); hinge max(0, 1 - y s); softmax
log sum_c exp(s_c) - s_true.

Symbols: score s; label y in {-1, +1}, or a number for the squared and the Huber loss.
"""

import math

import numpy as np
from scipy import special

from crossview._jit import inlined

SQUARED, LOGISTIC, HINGE, SOFTMAX, HUBER = range(5)


@inlined
def loss_slope(kind, s, y):
    """Return d loss / d s: s - y, -y / (1 + exp(y s)), or -y where y s < 1 and else 0."""
    if kind == SQUARED:
        return s - y
    if kind == HUBER:
        return min(max(s - y, -1.0), 1.0)
    if kind == LOGISTIC:
        return -y / (1.0 + math.exp(y * s))
    return -y if y * s < 1.0 else 0.0


@inlined
def softmax_slopes(scores, true, out):
    """out_c <- exp(s_c) / sum_d exp(s_d), minus 1 for the true class."""
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
def loss_slopes(kind, scores, y, out):
    """out_c <- d loss / d s_c, for one score or one per class.

    With several scores y is the number of the class: all scores together
    (softmax), or each class against the rest, with a label of -1 or 1 per class.
    """
    if kind == SOFTMAX:
        softmax_slopes(scores, np.uint64(y), out)
    elif scores.shape[0] == 1:
        out[0] = loss_slope(kind, scores[0], y)
    else:
        for c in range(scores.shape[0]):
            out[c] = loss_slope(kind, scores[c], 1.0 if c == y else -1.0)


def init_scores(kind: int, share: np.ndarray) -> np.ndarray:
    """Return the scores of a learner that knows only the frequencies of the classes.

    Log odds (logistic), log share (softmax), the mean label (squared), or 0 (hinge).
    """
    share = np.clip(share, 1e-6, 1.0 - 1e-6)
    if kind == LOGISTIC:
        return np.asarray(special.logit(share))
    if kind == SOFTMAX:
        return np.log(share)
    return 2.0 * share - 1.0 if kind == SQUARED else np.zeros_like(share)


def row_losses(kind: int, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the loss of each row from scores (n_samples, 1 or n_classes); y as `loss_slopes`."""
    if kind == SOFTMAX:
        true = scores[np.arange(len(y)), y.astype(np.intp)]
        return np.asarray(special.logsumexp(scores, axis=1) - true)
    if scores.shape[1] > 1:
        y = np.where(np.arange(scores.shape[1]) == y[:, None], 1.0, -1.0)
    else:
        y = y[:, None]
    if kind == LOGISTIC:
        each = np.logaddexp(0.0, -y * scores)
    elif kind == HINGE:
        each = np.maximum(0.0, 1.0 - y * scores)
    else:
        each = np.abs(scores - y)
        beyond = (each > 1.0) & (kind == HUBER)
        each = np.where(beyond, each - 0.5, 0.5 * each**2)
    return np.asarray(each.sum(axis=1))
