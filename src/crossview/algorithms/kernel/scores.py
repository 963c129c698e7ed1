"""Scores from the sums over support vectors."""

import numpy as np

from crossview._jit import inlined_borrowing, njit
from crossview.algorithms.kernel.step import mark_present


def averaged(last: np.ndarray, moment: np.ndarray, T: int) -> np.ndarray:
    """Return the mean of T steps, weighted by their number t, at the scale of the last.

    The weights of step t are w_t = β_t / (λ t).  So sum_t t w_t / sum_t t, the average of
    Lacoste-Julien, Schmidt and Bach (2012), is 2 sum_t β_t / (λ T (T + 1)).  A change of β in
    step s counts in T + 1 - s of these terms: with its moment, sum_s s (change of β in step s),
    sum_t β_t = (T + 1) β_T - moment.
    """
    return 2.0 * (last - moment / (T + 1))


@inlined_borrowing
def mean_score(sums, here, lam, t, out):
    """out[c] <- mean over the views present of sums[n, c] / (lam[n] t); 0 before the first step."""
    n_present = 0
    for n in range(sums.shape[0]):
        n_present += here[n]
    for c in range(out.shape[0]):
        total = 0.0
        for n in range(sums.shape[0]):
            if here[n]:
                total += sums[n, c] / lam[n]
        out[c] = total / (t * n_present) if t > 0 and n_present > 0 else 0.0


@njit
def mean_scores(sums, present, lam, t, out):
    """out[i] <- `mean_score` of row i."""
    here = np.empty(sums.shape[1], np.bool_)
    for i in range(out.shape[0]):
        mark_present(present, i, here)
        mean_score(sums[i], here, lam, t, out[i])


@inlined_borrowing
def sum_supports(beta, gram, size):
    """Return sum_k beta[k] gram[k] over the support vectors among the first ``size`` rows."""
    total = 0.0
    for k in range(size):
        if beta[k] != 0.0:
            total += beta[k] * gram[k]
    return total


@njit
def support_sums(gram, beta, out):
    """out[i, c] <- sum_k beta[c, k] gram[i, k]."""
    for i in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[i, c] = sum_supports(beta[c], gram[i], gram.shape[1])
