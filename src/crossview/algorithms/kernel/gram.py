"""Steps over rows whose kernel values are all in memory."""

from typing import NamedTuple

import numpy as np

from crossview._jit import njit, njit_reordering
from crossview.algorithms.kernel.step import mark_present, row_buffers, take_step


class Draws(NamedTuple):
    """Step s draws row ``rows[s]``, whose kernel values are row ``gram_rows[s]`` of the matrix."""

    rows: np.ndarray
    gram_rows: np.ndarray


@njit_reordering
def dot(a, b):
    """Return a·b of two contiguous vectors."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@njit
def learn_from_gram(gram, draws, examples, memory, settings, t):
    """Make the steps of ``draws``, from step ``t`` on; return the last step.

    ``gram[n, draws.gram_rows[s], j]`` is K_n of the row of step s and row j.
    """
    rows, gram_rows = draws
    labels, _, present = examples
    beta = memory.beta
    V, K = beta.shape[0], beta.shape[1]
    row = row_buffers(V, K)
    here, sums, self_kernel = row
    for s in range(rows.shape[0]):
        t += 1
        i, g = rows[s], gram_rows[s]
        if settings.supervised and labels[i, 0] == 0.0:
            continue
        mark_present(present, i, here)
        for n in range(V):
            if here[n]:
                self_kernel[n] = gram[n, g, i]
                for c in range(K):
                    sums[n, c] = dot(beta[n, c], gram[n, g])
        take_step(i, t, row, examples, memory, settings)
    return t
