"""Euclidean geometry: S is the identity, but for the intercept, whose variance falls.

The intercept of a view is the weight of a constant feature of value 1 with the variance

    d = s² exp(mean of log x·x) / sqrt(t),

where s is `intercept_scaling` and the mean is over the t rows of the view so far, this one
included.  It takes the share d / (x·x + d) of a step: half of the first one for s = 1, a tenth of
the step after 81 rows, a hundredth after 9,801.  A share of a half throughout would make the
intercept follow each row, and with many classes its noise would decide; 1 / sqrt(t) is the rate
of online gradient descent (Zinkevich, "Online Convex Programming and Generalized Infinitesimal
Gradient Ascent", 2003).  The mean of the logarithms gives d the unit of x·x, and a few rows that
are not yet scaled do not decide it, as they would a mean of x·x.

x·x is computed with the scores (`kernels.rows.dot_and_sqnorm`).
"""

import numpy as np

from crossview._jit import inlined_borrowing
from crossview.kernels.rows import add, add_pair


@inlined_borrowing
def count_length(scaling, sqnorm, v, lengths):
    """Count a row in ``lengths`` of view v."""
    if scaling != 0.0:
        lengths[v, 0] += 1.0
        lengths[v, 1] += np.log(sqnorm)


@inlined_borrowing
def forget_length(scaling, before, v, lengths):
    """Undo `count_length`, where ``before`` was the sum of the logarithms."""
    if scaling != 0.0:
        lengths[v, 0] -= 1.0
        lengths[v, 1] = before


@inlined_borrowing
def intercept_variance(scaling, v, lengths):
    """Return d of view v; 0 without an intercept."""
    if scaling == 0.0:
        return 0.0
    t = lengths[v, 0]
    return scaling * scaling * np.exp(lengths[v, 1] / t) / np.sqrt(t)


@inlined_borrowing
def move(P, times, row, W, b, y, wrong):
    """w <- w + times P y x; of several classes w_y <- w_y + times P x, w_wrong the opposite.

    The constant of the row is d.
    """
    if W.ndim == 1:
        add(times * (y * P), row, W)
        b[row.v] += times * row.bias * (y * P)
    else:
        add_pair(times * P, row, W, y, wrong)
        b[row.v, y] += times * row.bias * P
        b[row.v, wrong] -= times * row.bias * P
