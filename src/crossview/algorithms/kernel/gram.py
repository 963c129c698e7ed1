"""Steps over rows whose kernel values are all in memory."""

import math
from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing
from crossview.algorithms.kernel.step import (
    Examples,
    Memory,
    Settings,
    mark_present,
    row_buffers,
    take_step,
)
from crossview.kernels.dense import dot


class Draws(NamedTuple):
    """Step s draws row ``rows[s]``, whose kernel values are row ``gram_rows[s]`` of the matrix."""

    rows: np.ndarray
    gram_rows: np.ndarray


def learn_from_gram(
    gram: np.ndarray, draws: Draws, examples: Examples, memory: Memory, settings: Settings, t: int
) -> int:
    """Make the steps of ``draws``, from step ``t`` on; return the last step.

    ``gram[n, draws.gram_rows[s], j]`` is K_n of the row of step s and row j.
    """
    V, K, _ = memory.beta.shape
    row = row_buffers(V, K)
    return int(gram_pass(gram, draws, examples, memory, settings, row, t))


@borrowing
def gram_pass(gram, draws, examples, memory, settings, row, t):
    """The loop of `learn_from_gram`."""
    rows, gram_rows = draws
    labels, _, present = examples
    beta = memory.beta
    V, K = beta.shape[0], beta.shape[1]
    here, sums, self_kernel, _ = row
    for s in range(rows.shape[0]):
        t += 1
        i, g = rows[s], gram_rows[s]
        if settings.supervised and math.isnan(labels[i, 0]):
            continue
        mark_present(present, i, here)
        for n in range(V):
            if here[n]:
                self_kernel[n] = gram[n, g, i]
                for c in range(K):
                    sums[n, c] = dot(beta[n, c], gram[n, g])
        take_step(i, t, row, examples, memory, settings)
    return t
