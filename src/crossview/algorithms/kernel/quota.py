"""Quota of unlabeled rows, which grows with the accuracy on the labeled ones."""

import math
from typing import NamedTuple

import numpy as np

from crossview._jit import inlined_borrowing

PRIOR_ROWS = 2.0


class Stream(NamedTuple):
    """State of a pass over a stream, besides the model."""

    scores: np.ndarray  # (n, K): becomes the mean score of each row before it was learned
    counts: np.ndarray  # (3,): labeled rows, unlabeled rows, and labeled rows scored right before
    ratio: float  # unlabeled rows to learn per labeled row
    by_trust: bool  # whether that is times the trust


def unlimited(n: int, K: int) -> Stream:
    """Return a stream of n rows that learns all of them."""
    return Stream(np.zeros((n, K)), np.zeros(3), np.inf, False)


@inlined_borrowing
def trust(right, n, n_classes):
    """Return the trust in labels that were right on ``right`` of ``n`` rows, in [0, 1).

    It is the accuracy p above that of chance, (p - 1/C) / (1 - 1/C) for C classes, at least 0.  It
    begins at 0 and grows with the evidence: besides the n rows, PRIOR_ROWS are right as often as
    by chance.
    """
    chance = 1.0 / n_classes
    p = (right + PRIOR_ROWS * chance) / (n + PRIOR_ROWS)
    return max(0.0, (p - chance) / (1.0 - chance))


@inlined_borrowing
def is_right(label, score):
    """Return whether the joint score puts a labeled row into its class."""
    if label.shape[0] == 1:
        return label[0] * score[0] > 0.0
    return label[np.argmax(score)] > 0.0


@inlined_borrowing
def within_quota(label, score, stream):
    """Return whether a row is learned, and count it if so.

    ``score`` is that of the row before it is learned.
    """
    counts = stream.counts
    if not math.isnan(label[0]):
        counts[0] += 1.0
        counts[2] += is_right(label, score)
        return True
    allowed = stream.ratio
    if stream.ratio < np.inf:
        allowed *= counts[0]
        if stream.by_trust:
            allowed *= trust(counts[2], counts[0], max(2, label.shape[0]))
    if counts[1] + 1.0 > allowed:
        return False
    counts[1] += 1.0
    return True
