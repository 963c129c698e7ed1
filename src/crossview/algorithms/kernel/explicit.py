"""Steps with a weight per feature: the linear kernel, and features that approximate others."""

from typing import NamedTuple

import numpy as np

from crossview._jit import inlined, njit
from crossview.algorithms.kernel.quota import within_quota
from crossview.algorithms.kernel.scores import mean_score
from crossview.algorithms.kernel.step import mark_present, row_buffers, take_step
from crossview.kernels.rows import ZERO, Rows, view_end


class Features(NamedTuple):
    """The features of some rows, and a weight per feature and class."""

    rows: Rows
    W: np.ndarray  # (n_features, K): sum_j β_n[j] x_j in the features of view n


@inlined
def sum_features(i, features, entries, row):
    """sums[n] <- W_n'x_i, self_kernel[n] <- x_i·x_i, and where the entries of each view begin."""
    x, j, indptr, shared, ptr, _ = features.rows
    W, sums, sqnorm = features.W, row.sums, row.self_kernel
    offset = indptr[i] if shared else ZERO
    entries[0] = indptr[i]
    for n in range(sums.shape[0]):
        entries[n + 1] = view_end(j, entries[n], indptr[i + 1], offset, ptr[n + 1])
        sqnorm[n] = 0.0
        for c in range(sums.shape[1]):
            sums[n, c] = 0.0
        for p in range(entries[n], entries[n + 1]):
            sqnorm[n] += x[p] * x[p]
            for c in range(sums.shape[1]):
                sums[n, c] += x[p] * W[j[p - offset], c]


@inlined
def add_features(i, features, entries, change):
    """W_n <- W_n + change_n x_i for all views and classes."""
    x, j, indptr, shared, _, _ = features.rows
    offset = indptr[i] if shared else ZERO
    for n in range(change.shape[0]):
        for c in range(change.shape[1]):
            step = change[n, c]
            if step != 0.0:
                for p in range(entries[n], entries[n + 1]):
                    features.W[j[p - offset], c] += step * x[p]


@njit
def learn_explicit(features, draws, examples, memory, settings, stream, t):
    """Make a step with each row of ``draws``, from step ``t`` on; return the last step."""
    beta = memory.beta
    V, K = beta.shape[0], beta.shape[1]
    row, change = row_buffers(V, K), np.empty((V, K))
    entries = np.empty(V + 1, np.uint64)
    for s in range(draws.shape[0]):
        i = draws[s]
        mark_present(examples.present, i, row.here)
        sum_features(i, features, entries, row)
        mean_score(row.sums, row.here, settings.lam * t, stream.scores[s])
        labeled = examples.labels[i, 0] != 0.0
        if examples.weight[i] <= 0.0 or not within_quota(labeled, stream):
            continue
        t += 1
        if settings.supervised and not labeled:
            continue
        for n in range(V):
            for c in range(K):
                change[n, c] = -beta[n, c, i]
        take_step(i, t, row, examples, memory, settings)
        for n in range(V):
            for c in range(K):
                change[n, c] += beta[n, c, i]
        add_features(i, features, entries, change)
    return t
