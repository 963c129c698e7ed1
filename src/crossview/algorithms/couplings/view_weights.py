"""Weights of the views in the joint score, by exponentiated gradient.

"Two-View Online Learning" (2012) asks for them in section 5: "at each round we could adjust the
weight of each view so that the better view dominates".

The joint score is the mean (of independent views the sum) of beta_v s_v, and beta has the mean 1.
The joint loss max(0, 1 - mean beta_v m_v) is convex in beta; where a row has a loss, its gradient
is -m_v / V.  Kivinen and Warmuth (1997) follow it on the simplex,

    beta_v = LEAST + (1 - LEAST) V exp(-eta G_v) / sum_u exp(-eta G_u),   G_v = sum of g_v,

with g_v = mean of m, weighted by beta, - m_v: the same for all views changes nothing, and with it a
view that is missing has g_v = 0 (Freund et al. 1997, "specialists").  eta = sqrt(log V / (1 + A)),
A the sum of max g_v² (Auer, Cesa-Bianchi and Gentile 2002), so there is no rate to choose.  LEAST
keeps a view from being left out for ever; a row that has only this view could not be learned.
"""

import numpy as np

from crossview._jit import borrowing
from crossview.algorithms.rules import best_wrong

LEAST = 0.1
MOST_GRADIENT = 1e100


@borrowing
def learn_weights(y, weight, count, buffers, beta, sums):
    """Update beta by a row of ``count`` views; ``sums`` are G, and A at its end."""
    score, V = buffers.score, beta.shape[0]
    true = np.int64(y) if score.shape[1] > 1 else 0
    wrong = best_wrong(buffers.joint, true) if score.shape[1] > 1 else 0
    total = weights = 0.0
    for a in range(count):
        m = score[a, true] - score[a, wrong] if score.shape[1] > 1 else y * score[a, 0]
        buffers.steps.m[a] = m
        total += beta[buffers.v[a]] * m
        weights += beta[buffers.v[a]]
    if not -MOST_GRADIENT < total < count:  # there is no loss, or it is not finite
        return
    largest = 0.0
    for a in range(count):
        g = weight * (total / weights - buffers.steps.m[a])
        g = min(max(g, -MOST_GRADIENT), MOST_GRADIENT)
        sums[buffers.v[a]] += g
        largest = max(largest, abs(g))
    sums[V] += largest * largest
    weigh(beta, sums)


@borrowing
def weigh(beta, sums):
    """Write beta of these sums."""
    V = beta.shape[0]
    eta = np.sqrt(np.log(V) / (1.0 + sums[V]))
    least, total = np.inf, 0.0
    for v in range(V):
        least = min(least, sums[v])
    for v in range(V):
        beta[v] = np.exp(eta * (least - sums[v]))
        total += beta[v]
    for v in range(V):
        beta[v] = LEAST + (1.0 - LEAST) * V * beta[v] / total
