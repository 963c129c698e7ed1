"""Division of each view by the mean norm of its rows so far."""

from __future__ import annotations

import numpy as np

from crossview._jit import borrowing
from crossview.kernels.rows import ZERO, Rows, view_end


@borrowing
def scale_rows(
    rows: Rows, learn: bool, total: np.ndarray, count: np.ndarray, scaled: np.ndarray
) -> None:
    """Scale rows, one after the other: x_v <- x_v / m_v.

    ``m_v = total[v] / count[v]`` is the mean of ||x_v|| over the rows so far in which view v is
    not empty.  With ``learn`` a row is added to it before it is scaled.  ``scaled`` takes the
    values.
    """
    x, j, indptr, shared, ptr, _ = rows
    for i in range(len(indptr) - 1):
        lo, end = indptr[i], indptr[i + 1]
        offset = lo if shared else ZERO
        for v in range(len(total)):
            hi = view_end(j, lo, end, offset, ptr[v + 1])
            if learn:
                sqnorm = 0.0
                for p in range(lo, hi):
                    sqnorm += x[p] * x[p]
                if 0.0 < sqnorm < np.inf:  # neither empty, nor what a learner refuses
                    total[v] += np.sqrt(sqnorm)
                    count[v] += 1.0
            factor = count[v] / total[v] if count[v] > 0.0 else 1.0
            for p in range(lo, hi):
                scaled[p] = factor * x[p]
            lo = hi
