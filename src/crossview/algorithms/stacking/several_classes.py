"""Several classes: softmax regression on the experts' calibrated log probabilities.

With x_kc the log probability of class c by expert k, less its mean over the classes,

    q = softmax_c(Σ_k v_k x_kc + b_c),    g_k = Σ_c (q_c - y_c) x_kc,    g_c = q_c - y_c.

The weights v are shared by the classes.  The curvature of a row is the outer product of its
gradient, as in the online Newton step of Hazan et al. (2007), so that a row costs
O((K + n_classes)²).
"""

import math

import numpy as np

from crossview._jit import borrowing, inlined_borrowing, passes
from crossview.algorithms.stacking import history
from crossview.algorithms.stacking.mixture import fixed_share, of_late
from crossview.algorithms.stacking.stack import (
    STACKING,
    Settings,
    Stack,
    choose,
    drop_idle,
    judge,
    newton_step,
)

MIN_PROBABILITY = 1e-6


@borrowing
def learning_pass(p, rows, S, settings, past, buffers, out):
    """The loop of `learn`."""
    y, weight, delay = rows
    x, q, combined, columns = buffers
    m, stacking = combined[0], combined[1]
    for i in range(p.shape[0]):
        predict(p[i], S, x, q, m)
        stack(S.v, x, stacking)
        chosen = stacking if choose(S.losses) == STACKING else m
        for c in range(chosen.shape[0]):
            out[i, c] = math.log(chosen[c])
        if weight[i] > 0.0:
            step(y[i], (weight[i], delay[i]), S, settings, (x, q, combined, columns))
            history.record(S.omega, S.v, S.losses, past)


@passes(learning_pass)
def learn(
    p: np.ndarray,
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    stack: Stack,
    settings: Settings,
    past: history.History,
    out: np.ndarray,
) -> tuple:
    """Combine the experts' probabilities of some rows, and learn from each row after it.

    p (n_samples, K, n_classes) is from before the row was learned, and NaN where the expert has
    none. ``rows`` are the positions of the classes, the weights, and how many labels came between
    the prediction of each row and its own; a row of weight 0 is not learned. ``out`` (n_samples,
    n_classes) receives the log probabilities of the combination.
    """
    _, K, C = p.shape
    buffers = np.empty((K, C)), np.empty((K, C)), np.empty((2, C)), np.empty((2, K + C))
    return p, rows, stack, settings, past, buffers, out


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
def centered_logs(p, factor, x):
    """x <- factor (log p - mean(log p))."""
    mean = 0.0
    for c in range(p.shape[0]):
        x[c] = math.log(p[c])
        mean += x[c] / p.shape[0]
    for c in range(p.shape[0]):
        x[c] = factor * (x[c] - mean)


@inlined_borrowing
def predict(p, S, x, q, m):
    """Write x and the probabilities q of the experts, and the mixture m = Σ ω_k q_k.

    An expert without probabilities predicts what the mixture of the others predicts.
    """
    K, C = p.shape
    total = 0.0
    for c in range(C):
        m[c] = 0.0
    for k in range(K):
        if S.alive[k] and math.isfinite(p[k, 0]):
            for c in range(C):
                q[k, c] = p[k, c]
            floor(q[k])
            centered_logs(q[k], 1.0, x[k])
            total += S.omega[k]
            for c in range(C):
                m[c] += S.omega[k] * q[k, c]
    for c in range(C):
        m[c] = m[c] / total if total > 0.0 else 1.0 / C
    for k in range(K):
        if not (S.alive[k] and math.isfinite(p[k, 0])):
            for c in range(C):
                q[k, c] = m[c]
            centered_logs(m, 1.0 if S.alive[k] else 0.0, x[k])


@inlined_borrowing
def stack(v, x, q):
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
def step(true, row, S, settings, predicted):
    """Learn from a row: judge, mixture, stacking."""
    x, q, combined, columns = predicted
    weight, late = row[0], of_late(row[1])
    power, share = weight * late, settings.share * late
    m, stacking, gradient, u = combined[0], combined[1], columns[0], columns[1]
    K, C = x.shape
    judge(-math.log(m[true]), -math.log(stacking[true]), weight, S.losses)
    for c in range(C):
        gradient[K + c] = stacking[c] - (1.0 if c == true else 0.0)
    for k in range(K):
        gradient[k] = 0.0
        for c in range(C):
            gradient[k] += gradient[K + c] * x[k, c]
        u[k] = q[k, true] if power == 1.0 else q[k, true] ** power
    fixed_share(u, share, S.alive, S.omega)
    newton_step(gradient, weight, weight, S, settings.ridge, u)
    if settings.prune > 0:
        drop_idle(S, settings)
