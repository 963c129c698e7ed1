"""Mean and standard deviation of numbers that stream in, and of rows in parts.

West, "Updating Mean and Variance Estimates", CACM 22 (1979).  Of rows in parts, state k has seen
those of a common start, and its own.  Sums are taken in the order of the states, so the same states
give the same bits.
"""

import math
from collections.abc import Sequence

import numpy as np

from crossview._jit import njit


@njit
def units_of(total, mean, squares):
    """Mean and standard deviation (1 where it is 0), from weight, mean and squared deviations."""
    variance = squares / total if total > 0.0 else 0.0
    return mean, math.sqrt(variance) if variance > 0.0 else 1.0


@njit
def running_units(moments, y, weight, means, scales):
    """Means[i], scales[i] <- those before row i, and after the last; ``moments`` goes along."""
    total, mean, squares = moments
    means[0], scales[0] = units_of(total, mean, squares)
    for i in range(y.shape[0]):
        if weight[i] > 0.0:
            total += weight[i]
            away = y[i] - mean
            mean += away * weight[i] / total
            squares += weight[i] * away * (y[i] - mean)
        means[i + 1], scales[i + 1] = units_of(total, mean, squares)
    moments[0], moments[1], moments[2] = total, mean, squares


def total(values: Sequence[np.ndarray], start: np.ndarray) -> np.ndarray:
    """Return h_0 + sum_k (h_k - h_0): what adds up over rows, with those of the start once."""
    found = values[0].copy()
    for value in values[1:]:
        found += value - start
    return found


def merged_moments(states: Sequence[np.ndarray], start: np.ndarray) -> np.ndarray:
    """Return count n, mean m and sum of squared deviations q of all numbers.

    Each state is (n, m, q), of one number or of several.  Chan, Golub and LeVeque, "Algorithms for
    Computing the Sample Variance" (1983), equations 2.1a and 2.1b: n = n_a + n_b,

        m = m_a + (m_b - m_a) n_b / n,    q = q_a + q_b + (m_b - m_a)^2 n_a n_b / n.
    """
    found = np.array(states[0])
    for state in states[1:]:
        n_new, m_new, q_new = _moments_since(state, start)
        n = found[0] + n_new
        share = np.divide(n_new, n, out=np.zeros_like(n), where=n > 0.0)
        away = m_new - found[1]
        q = found[2] + q_new + away**2 * found[0] * share
        found = np.stack([n, found[1] + away * share, q])
    return found


def _moments_since(state: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the moments of the numbers that came after the start: the same, solved for part b."""
    n = state[0] - start[0]
    some = n > 0.0
    m = start[1] + (state[1] - start[1]) * state[0] / np.where(some, n, 1.0)
    among = start[0] * n / np.where(some, state[0], 1.0)
    q = state[2] - start[2] - (m - start[1]) ** 2 * among
    return np.where(some, np.stack([n, m, np.maximum(q, 0.0)]), 0.0)
