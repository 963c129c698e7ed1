"""Steps over rows that come once, by the kernel values with the support vectors kept so far."""

import math
from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing
from crossview.algorithms.kernel.budget import Budget, count_supports, shrink
from crossview.algorithms.kernel.quota import Stream, within_quota
from crossview.algorithms.kernel.scores import mean_score, sum_supports
from crossview.algorithms.kernel.step import (
    Examples,
    Memory,
    RowBuffers,
    Settings,
    mark_present,
    row_buffers,
    take_step,
)


class Pool(NamedTuple):
    """The support vectors kept so far, ``n_old`` of them in each view, then the rows that come."""

    gram: np.ndarray  # (V, m, n_old + n): K_n of a row that comes (with a budget: any) and any
    beta: np.ndarray  # (V, K, n_old + n): α z; 0 where a row is no support
    n_old: int


class Work(NamedTuple):
    """The stream of one pass, and its scratch space."""

    stream: Stream
    row: RowBuffers


def learn_stream(
    pool: Pool,
    examples: Examples,
    memory: Memory,
    budget: Budget,
    settings: Settings,
    stream: Stream,
    t: int,
) -> int:
    """Make a step with each row that comes, from step ``t`` on; return the last step.

    ``memory`` is that of the rows that come, all of them new.  With a budget
    ``pool.gram[n, k]`` belongs to the k-th row of the pool, without one to the k-th that comes.
    """
    V, K, _ = pool.beta.shape
    work = Work(stream, row_buffers(V, K))
    return int(stream_pass(pool, examples, memory, budget, settings, work, t))


@borrowing
def stream_pass(pool, examples, memory, budget, settings, work, t):
    """The loop of `learn_stream`."""
    gram, beta, n_old = pool
    labels, weight, present = examples
    V, K = beta.shape[0], beta.shape[1]
    stream, row = work
    here, sums, self_kernel, _ = row
    for i in range(labels.shape[0]):
        k = n_old + i
        g = k if budget.size > 0 else i
        mark_present(present, i, here)
        for n in range(V):
            for c in range(K):
                sums[n, c] = sum_supports(beta[n, c], gram[n, g], k) if here[n] else 0.0
            self_kernel[n] = gram[n, g, k]
        mean_score(sums, here, settings.lam, t, stream.scores[i])
        if weight[i] <= 0.0 or not within_quota(labels[i], stream.scores[i], stream):
            continue
        t += 1
        if settings.supervised and math.isnan(labels[i, 0]):
            continue
        take_step(i, t, row, examples, memory, settings)
        for n in range(V):
            if here[n]:
                for c in range(K):
                    beta[n, c, k] = memory.beta[n, c, i]
                if budget.size > 0 and count_supports(beta[n], k + 1) > budget.size:
                    shrink(beta[n], gram[n], k + 1, budget, n)
    return t
