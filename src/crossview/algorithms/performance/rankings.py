"""The most violated order of the rows, for average precision."""

import numpy as np

from crossview.algorithms.performance.cut import Cut
from crossview.algorithms.performance.monotone import AVERAGE_PRECISION, monotone_argmax


def search_rankings(
    f: np.ndarray, positive: np.ndarray, negative: np.ndarray, *, truth: bool = True
) -> Cut:
    """Return the order of the rows with the largest ``delta - s·f``.

    Y. Yue et al., "A support vector method for optimizing average precision" (SIGIR 2007).  On
    each side the rows stay in the order of their scores, p_1 >= p_2 ... and q_1 >= q_2 ..., and
    each negative row j chooses by itself the k positive ones above it:

        sum_(i>k) i / (P (i+j-1) (i+j)) - (p_i - q_j) / (P N)

    is what it adds if it stands above all of the others.  The first sum is
    ``(h[P+j-1] - h[k+j-1] - j/(k+j) + j/(P+j)) / P`` with ``h[m] = 1 + 1/2 + ... + 1/m``.  Every
    term falls with j, so the best k never falls, which is also what makes it an order.  Without
    the truth, if it is the best, the negative row at the top chooses among the other k.
    """
    positive, negative = (side[np.argsort(-f[side])] for side in (positive, negative))
    P, N = len(positive), len(negative)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, P + N + 1))])
    k = np.empty(N, dtype=np.int64)
    cp = np.concatenate([[0.0], np.cumsum(f[positive])])
    monotone_argmax(AVERAGE_PRECISION, f[negative] / (P * N), cp / (P * N), harmonic, k)
    if not truth and k[0] == P:
        margins = cp[:P] - np.arange(P) * f[negative[0]]
        k[0] = np.argmax(margins / (P * N) - (harmonic[:P] + 1.0 / np.arange(1, P + 1)) / P)
    above = np.searchsorted(k, np.arange(P), side="right")  # negative rows above each positive one
    i = np.arange(1, P + 1)
    s = np.zeros(len(f))
    s[positive] = above / (P * N)
    s[negative] = (k - P) / (P * N)
    return Cut(float(1.0 - np.mean(i / (i + above))), s)
