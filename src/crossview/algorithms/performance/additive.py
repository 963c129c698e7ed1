"""The most violated labeling of a loss that is a sum over rows or over pairs of rows."""

import numpy as np

from crossview.algorithms.performance.cut import Cut


def search_rows(f: np.ndarray, y: np.ndarray, loss: np.ndarray, margin: np.ndarray) -> Cut:
    """Label those rows wrong whose own ``loss - margin y f`` is positive."""
    wrong = loss > margin * y * f
    return Cut(float(loss[wrong].sum()), np.where(wrong, margin * y, 0.0))


def search_pairs(
    f: np.ndarray, positive: np.ndarray, negative: np.ndarray, weight: np.ndarray
) -> Cut:
    """ROC area: order those pairs of a positive and a negative row wrong with ``f_i - f_j < 1``.

    Found by sorting.  A pair weighs the product of its rows' weights, over the sum of all.
    """
    p = positive[np.argsort(f[positive])]
    q = negative[np.argsort(f[negative])]
    below, reach = f[p], f[q] + 1.0  # the pair is wrong if f_i < f_j + 1
    wp, wq = (np.concatenate([[0.0], np.cumsum(weight[side])]) for side in (p, q))
    pairs = wp[-1] * wq[-1]
    s = np.zeros(len(f))
    s[p] = weight[p] * (wq[-1] - wq[np.searchsorted(reach, below, side="right")]) / pairs
    s[q] = -weight[q] * wp[np.searchsorted(below, reach, side="left")] / pairs
    return Cut(float(s[p].sum()), s)
