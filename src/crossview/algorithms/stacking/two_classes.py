"""Two classes: logistic regression on the experts' calibrated log odds.

    x = (x_1, ..., x_K, 1),    q = σ(v·x),    g = q - y,    h = max(q (1 - q), 10^-4).
"""

import math

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.algorithms.calibration import COUNT, SQUARES, A, B, scale_of, step_of_two
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

# probabilities lie in [10^-6, 1 - 10^-6]
MAX_LOG_ODDS = math.log(1e6 - 1.0)
MIN_CURVATURE = 1e-4


def learn(scores, rows, stack: Stack, settings: Settings, past: history.History, out) -> None:
    """Combine the experts' scores of some rows, and learn from each row after it.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, K)
        Of each row before it was learned; NaN where the expert has no score.
    rows : (order, y, weight)
        The order of the rows, their classes (-1 and 1), and their weights.
    stack, settings, past
        The state, updated in place, and the parameters.
    out : ndarray of shape (n_samples,)
        Receives the log odds of the combination.
    """
    D = len(stack.v)
    learning_pass(scores, rows, stack, settings, past, np.empty((3, D)), out)


@borrowing
def learning_pass(scores, rows, S, settings, past, buffers, out):
    """The loop of `learn`."""
    order, y, weight = rows
    x, p, u = buffers[0], buffers[1], buffers[2]
    for i in order:
        m = predict(scores[i], S, x, p)
        score = 0.0
        for k in range(x.shape[0]):
            score += S.v[k] * x[k]
        score = clip(score)
        out[i] = score if choose(S.losses) == STACKING else clip(math.log(m / (1.0 - m)))
        if weight[i] > 0.0:
            step(scores[i], 1.0 if y[i] > 0 else 0.0, weight[i], S, settings, (score, m, x, p, u))
            history.record(S.omega, S.v, S.losses, past)


@inlined_borrowing
def clip(log_odds):
    """Return the log odds within their limits."""
    return min(max(log_odds, -MAX_LOG_ODDS), MAX_LOG_ODDS)


@inlined_borrowing
def predict(s, S, x, p):
    """Write the log odds x and the probabilities p of the experts; return the mixture Σ ω_k p_k.

    An expert without score predicts what the mixture of the others predicts.
    """
    K, m, total = s.shape[0], 0.0, 0.0
    for k in range(K):
        if S.alive[k] and math.isfinite(s[k]):
            state, z = S.calibration[k], s[k]
            if S.scaled[k]:
                z /= scale_of(state[SQUARES], state[COUNT])
            x[k] = clip(state[A] * z + state[B])
            p[k] = 1.0 / (1.0 + math.exp(-x[k]))
            m += S.omega[k] * p[k]
            total += S.omega[k]
    m = m / total if total > 0.0 else 0.5
    for k in range(K):
        if not (S.alive[k] and math.isfinite(s[k])):
            x[k] = math.log(m / (1.0 - m)) if S.alive[k] else 0.0
            p[k] = m
    x[K] = 1.0
    return m


@inlined_borrowing
def step(s, y, weight, S, settings, predicted):
    """Learn from a row: judge, mixture, stacking, calibration; y = 0 or 1."""
    score, m, x, p, u = predicted
    K, q = s.shape[0], 1.0 / (1.0 + math.exp(-score))
    losses = -math.log(m if y > 0.0 else 1.0 - m), -math.log(q if y > 0.0 else 1.0 - q)
    judge(losses[0], losses[1], weight, S.losses)
    for k in range(K):
        likelihood = p[k] if y > 0.0 else 1.0 - p[k]
        u[k] = likelihood if weight == 1.0 else likelihood**weight
        if S.alive[k] and math.isfinite(s[k]):
            step_of_two(s[k], y, weight, S.scaled[k], S.calibration[k])
    fixed_share(u, settings.share, S.alive, S.omega)
    h = weight * max(q * (1.0 - q), MIN_CURVATURE)
    newton_step(x, h, weight * (q - y), S, settings.ridge, u)
    if settings.prune > 0:
        drop_idle(S, settings.prune)
