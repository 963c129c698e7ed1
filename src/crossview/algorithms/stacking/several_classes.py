"""Several classes: softmax regression on the experts' calibrated log probabilities.

With x_kc the log probability of class c by expert k, less its mean over the classes,

    q = softmax_c(Σ_k v_k x_kc + b_c),    g_k = Σ_c (q_c - y_c) x_kc,    g_c = q_c - y_c.

The weights v are shared by the classes.  The curvature of a row is the outer product of its
gradient, as in the online Newton step of Hazan et al. (2007), so that a row costs
O((K + n_classes)²).
"""

import math

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.algorithms.calibration import center, scale_of, softmax, step_of_several
from crossview.algorithms.stacking import history
from crossview.algorithms.stacking.mixture import fixed_share
from crossview.algorithms.stacking.stack import (
    STACKING,
    Settings,
    Stack,
    choose,
    drop_idle,
    judge,
    newton_step,
)

__all__ = ["learn"]

MIN_PROBABILITY = 1e-6


def learn(scores, rows, stack: Stack, settings: Settings, past: history.History, out) -> None:
    """Combine the experts' scores of some rows, and learn from each row after it.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, K, n_classes)
        Of each row before it was learned; NaN where the expert has no score.
    rows : (order, y, weight)
        The order of the rows, their classes (positions), and their weights.
    stack, settings, past
        The state, updated in place, and the parameters.
    out : ndarray of shape (n_samples, n_classes)
        Receives the log probabilities of the combination.
    """
    _, K, C = scores.shape
    buffers = np.empty((K, C)), np.empty((K, C)), np.empty((4, C)), np.empty((2, K + C))
    learning_pass(scores, rows, stack, settings, past, buffers, out)


@borrowing
def learning_pass(scores, rows, S, settings, past, buffers, out):
    """The loop of `learn`."""
    order, y, weight = rows
    x, p, classes, columns = buffers
    q, m = classes[0], classes[1]
    for i in order:
        predict(scores[i], S, x, p, m)
        stacked(S.v, x, q)
        chosen = q if choose(S.losses) == STACKING else m
        for c in range(q.shape[0]):
            out[i, c] = math.log(chosen[c])
        if weight[i] > 0.0:
            step(scores[i], y[i], weight[i], S, settings, (x, p, classes, columns))
            history.record(S.omega, S.v, S.losses, past)


@inlined_borrowing
def floor(p):
    """p <- max(p, 10^-6), normalized."""
    total = 0.0
    for c in range(p.shape[0]):
        p[c] = max(p[c], MIN_PROBABILITY)
        total += p[c]
    for c in range(p.shape[0]):
        p[c] /= total


@inlined_borrowing
def centered_logs(p, x):
    """x <- log p - mean(log p)."""
    mean = 0.0
    for c in range(p.shape[0]):
        x[c] = math.log(p[c])
        mean += x[c] / p.shape[0]
    for c in range(p.shape[0]):
        x[c] -= mean


@inlined_borrowing
def has_score(s, k, S):
    """Whether expert k takes part in a row."""
    total = 0.0
    for c in range(s.shape[1]):
        total += s[k, c]
    return S.alive[k] and math.isfinite(total)


@inlined_borrowing
def predict(s, S, x, p, m):
    """Write the experts' x and p, and the mixture m.

    An expert without score predicts what the mixture of the others predicts.
    """
    K, C = s.shape
    total = 0.0
    for c in range(C):
        m[c] = 0.0
    for k in range(K):
        if has_score(s, k, S):
            state = S.calibration[k]
            center(s[k], x[k])
            if S.scaled[k]:
                scale = scale_of(state[2 + 3 * C], state[3 + 3 * C])
                for c in range(C):
                    x[k, c] /= scale
            softmax(state, x[k], p[k])
            floor(p[k])
            centered_logs(p[k], x[k])
            total += S.omega[k]
            for c in range(C):
                m[c] += S.omega[k] * p[k, c]
    for c in range(C):
        m[c] = m[c] / total if total > 0.0 else 1.0 / C
    for k in range(K):
        if not has_score(s, k, S):
            for c in range(C):
                p[k, c] = m[c]
            centered_logs(m, x[k])
            for c in range(C):
                x[k, c] *= S.alive[k]


@inlined_borrowing
def stacked(v, x, q):
    """q <- softmax(Σ_k v_k x_k + b), at least 10^-6."""
    K, C = x.shape
    top, total = -np.inf, 0.0
    for c in range(C):
        q[c] = v[K + c]
        for k in range(K):
            q[c] += v[k] * x[k, c]
        top = max(top, q[c])
    for c in range(C):
        q[c] = math.exp(q[c] - top)
        total += q[c]
    for c in range(C):
        q[c] /= total
    floor(q)


@inlined_borrowing
def step(s, true, weight, S, settings, predicted):
    """Learn from a row: judge, mixture, stacking, calibration."""
    x, p, classes, columns = predicted
    q, m, gradient, u = classes[0], classes[1], columns[0], columns[1]
    K, C = x.shape
    judge(-math.log(m[true]), -math.log(q[true]), weight, S.losses)
    for c in range(C):
        gradient[K + c] = q[c] - (1.0 if c == true else 0.0)
    for k in range(K):
        gradient[k] = 0.0
        for c in range(C):
            gradient[k] += gradient[K + c] * x[k, c]
        u[k] = p[k, true] if weight == 1.0 else p[k, true] ** weight
        if has_score(s, k, S):
            step_of_several(
                s[k], true, weight, S.scaled[k], S.calibration[k], classes[2], classes[3]
            )
    fixed_share(u, settings.share, S.alive, S.omega)
    newton_step(gradient, weight, weight, S, settings.ridge, u)
    if settings.prune > 0:
        drop_idle(S, settings.prune)
