"""Steps over rows that come once, by the kernel values with the support vectors kept so far."""

from typing import NamedTuple

import numpy as np

from crossview._jit import inlined, njit
from crossview.algorithms.kernel.budget import count_supports, shrink
from crossview.algorithms.kernel.quota import within_quota
from crossview.algorithms.kernel.scores import mean_score
from crossview.algorithms.kernel.step import mark_present, row_buffers, take_step


class Pool(NamedTuple):
    """The support vectors kept so far, ``n_old`` of them in each view, then the rows that come."""

    gram: np.ndarray  # (V, m, n_old + n): K_n of a row that comes (with a budget: any) and any
    beta: np.ndarray  # (V, K, n_old + n): α z; 0 where a row is no support
    n_old: int


@inlined
def sum_supports(gram, beta, size):
    """Return sum_k beta[k] gram[k] over the support vectors among the first ``size``."""
    total = 0.0
    for k in range(size):
        if beta[k] != 0.0:
            total += beta[k] * gram[k]
    return total


@njit
def learn_stream(pool, examples, memory, budget, settings, stream, t):
    """Make a step with each row that comes, from step ``t`` on; return the last step.

    ``memory`` is that of the rows that come, all of them new.  With a budget
    ``pool.gram[n, k]`` belongs to the k-th row of the pool, without one to the k-th that comes.
    """
    V, K = pool.beta.shape[0], pool.beta.shape[1]
    row = row_buffers(V, K)
    for i in range(examples.labels.shape[0]):
        k = pool.n_old + i
        g = k if budget.size > 0 else i
        mark_present(examples.present, i, row.here)
        for n in range(V):
            if row.here[n]:
                for c in range(K):
                    row.sums[n, c] = sum_supports(pool.gram[n, g], pool.beta[n, c], k)
        mean_score(row.sums, row.here, settings.lam * t, stream.scores[i])
        labeled = examples.labels[i, 0] != 0.0
        if examples.weight[i] <= 0.0 or not within_quota(labeled, stream):
            continue
        t += 1
        if settings.supervised and not labeled:
            continue
        take_step(i, t, row, examples, memory, settings)
        for n in range(V):
            if row.here[n]:
                for c in range(K):
                    pool.beta[n, c, k] = memory.beta[n, c, i]
                if budget.size > 0 and count_supports(pool.beta[n], k + 1) > budget.size:
                    shrink(pool.beta[n], pool.gram[n], k + 1, budget, n)
    return t
