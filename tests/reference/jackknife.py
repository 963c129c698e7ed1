"""The jackknife over blocks, and DeLong's test, as the equations are written."""

import math

import numpy as np

from crossview.scoring.significance import Posterior


def block_jackknife(n, difference):
    """The posterior of `difference(rows)`, where rows is a Boolean array: those that are left."""
    size = 1
    while n > 64 * size:
        size *= 2
    everything = np.ones(n, dtype=bool)
    d = difference(everything)
    pseudo, m = [], []
    for start in range(0, n, size):
        left = everything.copy()
        left[start : start + size] = False
        m.append(n - left.sum())
        pseudo.append(n / m[-1] * d - (n / m[-1] - 1) * difference(left))
    pseudo, m = np.array(pseudo), np.array(m)
    mean = (m * pseudo).sum() / n
    variance = np.mean((pseudo - mean) ** 2 / (n / m - 1))
    return Posterior(d, math.sqrt(variance), len(m) - 1)


def delong(is_positive, first, second):
    """The variance of the difference from all pairs of a positive and a negative row."""

    def wins(scores):
        a, b = scores[is_positive][:, None], scores[~is_positive][None, :]
        return (a > b) + 0.5 * (a == b)

    d = wins(first) - wins(second)
    variance = d.mean(axis=1).var(ddof=1) / len(d) + d.mean(axis=0).var(ddof=1) / d.shape[1]
    return Posterior(d.mean(), math.sqrt(variance), math.inf)
