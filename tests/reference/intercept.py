"""The intercept without a covariance: the weight of a constant feature, whose variance falls."""

import numpy as np


class Variance:
    """d = s² (geometric mean of x·x) / sqrt(t) over the t rows so far."""

    def __init__(self, scaling):
        self.scaling, self.lengths = scaling, []

    def direction(self, x):
        """S x for S = diag(1, ..., 1, d), where the last entry of x is the constant feature."""
        if not self.scaling:
            return x
        self.lengths.append(np.sqrt(x[:-1] @ x[:-1]))
        t = len(self.lengths)
        typical = np.exp(np.mean(np.log(self.lengths)))
        return np.append(x[:-1], (self.scaling * typical) ** 2 / np.sqrt(t))
