"""How many unlabeled rows a stream learns."""

from typing import NamedTuple

import numpy as np

from crossview._jit import inlined_borrowing


class Stream(NamedTuple):
    """What a pass over a stream reads and writes besides the model."""

    scores: np.ndarray  # (n, K): becomes the mean score of each row before it was learned
    counts: np.ndarray  # (2,): labeled and unlabeled rows learned so far
    ratio: float  # unlabeled rows to learn per labeled row


def unlimited(n: int, K: int) -> Stream:
    """Return a stream of n rows that learns all of them."""
    return Stream(np.zeros((n, K)), np.zeros(2), np.inf)


@inlined_borrowing
def within_quota(labeled, stream):
    """Return whether a row is learned, and count it if so."""
    if labeled:
        stream.counts[0] += 1.0
        return True
    if stream.counts[1] + 1.0 > stream.ratio * stream.counts[0]:
        return False
    stream.counts[1] += 1.0
    return True
