"""The most violated labeling of a loss that is a sum over rows or over pairs of rows."""

import numpy as np

from crossview.algorithms.performance.cut import Cut


def search_rows(
    f: np.ndarray, y: np.ndarray, loss: np.ndarray, margin: np.ndarray, *, truth: bool = True
) -> Cut:
    """Label those rows wrong whose own ``loss - margin y f`` is positive.

    Without the truth, if there is none, the one where it is largest.
    """
    wrong = loss > margin * y * f
    if not (truth or wrong.any()):
        wrong[np.argmax(loss - margin * y * f)] = True
    return Cut(float(loss[wrong].sum()), np.where(wrong, margin * y, 0.0))


def search_pairs(
    f: np.ndarray,
    positive: np.ndarray,
    negative: np.ndarray,
    weight: np.ndarray,
    *,
    truth: bool = True,
) -> Cut:
    """ROC area: order those pairs of a positive and a negative row wrong with ``f_i - f_j < 1``.

    Found by sorting.  A pair weighs the product of its rows' weights, over the sum of all.
    Without the truth, if no pair is wrong, the one that would cost the least is.
    """
    p = positive[np.argsort(f[positive])]
    q = negative[np.argsort(f[negative])]
    below, reach = f[p], f[q] + 1.0  # the pair is wrong if f_i < f_j + 1
    wp, wq = (np.concatenate([[0.0], np.cumsum(weight[side])]) for side in (p, q))
    pairs = wp[-1] * wq[-1]
    s = np.zeros(len(f))
    s[p] = weight[p] * (wq[-1] - wq[np.searchsorted(reach, below, side="right")]) / pairs
    s[q] = -weight[q] * wp[np.searchsorted(below, reach, side="left")] / pairs
    if not (truth or s.any()):
        costs = (weight[i] * weight[q] * (f[i] - reach) for i in p)
        _, i, j = min((cost.min(), i, q[cost.argmin()]) for i, cost in zip(p, costs, strict=True))
        s[i] = weight[i] * weight[j] / pairs
        s[j] = -s[i]
    return Cut(float(s[p].sum()), s)
