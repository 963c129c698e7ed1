"""Row maxima of a matrix in which they never move to the left from row to row."""

import numpy as np

from crossview._jit import inlined, njit

G_MEAN, AVERAGE_PRECISION = range(2)

# rows that wait on the stack: two for each halving of at most 2^63 rows
STACK = 2 * 64


@inlined
def matrix_value(kind, i, k, row, column, slope):
    """Return entry (i, k), up to a term that is the same in all of row i.

    G-mean, i true and k false positives: ``-sqrt(i/P) sqrt((N - k)/N) + cq[k] / unit``.  Average
    precision, negative row i + 1 below k positive ones: see `search_rankings`.
    """
    if kind == G_MEAN:
        return column[k] - row[i] * slope[k]
    j = i + 1
    return column[k] - k * row[i] - (slope[k + j - 1] + j / (k + j)) / (column.shape[0] - 1)


@njit
def monotone_argmax(kind, row, column, slope, out):
    """out[i] <- the first column of the largest entry of row i.

    The maximum of the middle row bounds those above and below it: a scan of all columns halves
    the rows, so n log n entries are looked at.
    """
    n = out.shape[0]
    stack = np.empty((STACK, 4), dtype=np.int64)
    stack[0] = 0, n, 0, column.shape[0]
    depth = 1
    while depth > 0:
        depth -= 1
        begin, end, first, last = stack[depth]
        if begin >= end:
            continue
        i = (begin + end) // 2
        best, where = -np.inf, first
        for k in range(first, last):
            value = matrix_value(kind, i, k, row, column, slope)
            if value > best:
                best, where = value, k
        out[i] = where
        stack[depth] = begin, i, first, where + 1
        stack[depth + 1] = i + 1, end, where, last
        depth += 2
