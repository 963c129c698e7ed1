"""Mean and standard deviation of numbers that stream in.

Reference: West, "Updating Mean and Variance Estimates", CACM 22 (1979).
"""

import math

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
