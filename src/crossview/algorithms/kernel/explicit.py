"""Steps with a weight per feature: the linear kernel, and features that approximate others."""

import math
from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing
from crossview.algorithms.kernel.quota import Stream, within_quota
from crossview.algorithms.kernel.scores import mean_score
from crossview.algorithms.kernel.step import (
    Examples,
    Memory,
    RowBuffers,
    Settings,
    mark_present,
    row_buffers,
    take_step,
)
from crossview.kernels.rows import ZERO, Row, Rows, dots_and_sqnorm, view_end


class Features(NamedTuple):
    """The features of some rows, and a weight per feature and class."""

    rows: Rows
    W: np.ndarray  # (n_features, K): sum_j β_n[j] x_j in the features of view n
    bias: np.ndarray  # (V, K): sum_j β_n[j], the weight of the constant feature
    moments: tuple[np.ndarray, np.ndarray]  # of W and bias, for the average; or empty


class Work(NamedTuple):
    """The stream of one pass, and its scratch space."""

    stream: Stream
    row: RowBuffers
    begin: np.ndarray  # uint64 (V + 1,): where the entries of each view begin; the end of the row
    before: np.ndarray  # (V, K): the β of the row before the step


def learn_explicit(
    features: Features,
    draws: np.ndarray,
    examples: Examples,
    memory: Memory,
    settings: Settings,
    stream: Stream,
    t: int,
) -> int:
    """Make a step with each row of ``draws``, from step ``t`` on; return the last step."""
    V, K, _ = memory.beta.shape
    work = Work(stream, row_buffers(V, K), np.empty(V + 1, np.uint64), np.empty((V, K)))
    return int(explicit_pass(features, draws, examples, memory, settings, work, t))


@borrowing
def explicit_pass(features, draws, examples, memory, settings, work, t):
    """The loop of `learn_explicit`."""
    (x, j, indptr, shared, ptr, _), W, bias, (W_moment, bias_moment) = features
    averages = bias_moment.shape[0] > 0
    labels, weight, present = examples
    beta = memory.beta
    V, K = beta.shape[0], beta.shape[1]
    stream, row, begin, before = work
    here, sums, self_kernel, _ = row
    for s in range(draws.shape[0]):
        i = draws[s]
        mark_present(present, i, here)
        # 1. the sums: W_n'x of every view
        offset = indptr[i] if shared else ZERO
        begin[0] = indptr[i]
        for n in range(V):
            for c in range(K):
                sums[n, c] = settings.intercept * bias[n, c]
            lo = begin[n]
            hi = begin[n + 1] = view_end(j, lo, indptr[i + 1], offset, ptr[n + 1])
            sqnorm = dots_and_sqnorm(Row(x, j, lo, hi, offset, n, 0.0), W, sums[n])
            self_kernel[n] = sqnorm + settings.intercept
        mean_score(sums, here, settings.lam, t, stream.scores[s])
        if weight[i] <= 0.0 or not within_quota(labels[i], stream.scores[s], stream):
            continue
        t += 1
        if settings.supervised and math.isnan(labels[i, 0]):
            continue
        # 2. the step
        for n in range(V):
            for c in range(K):
                before[n, c] = beta[n, c, i]
        take_step(i, t, row, examples, memory, settings)
        # 3. W_n <- W_n + (change of β_n) x, and the same of the constant feature
        for n in range(V):
            for c in range(K):
                step = beta[n, c, i] - before[n, c]
                if step == 0.0:
                    continue
                bias[n, c] += step
                for p in range(begin[n], begin[n + 1]):
                    W[j[p - offset], c] += step * x[p]
                if averages:
                    bias_moment[n, c] += t * step
                    for p in range(begin[n], begin[n + 1]):
                        W_moment[j[p - offset], c] += t * step * x[p]
    return t
