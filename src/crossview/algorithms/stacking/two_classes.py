"""Two classes: logistic regression on the experts' calibrated log odds.

x = (x_1, ..., x_K, 1),    q = σ(v·x),    g = q - y,    h = max(q (1 - q), 10^-4).
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

# probabilities lie in [10^-6, 1 - 10^-6]
MIN_PROBABILITY = 1e-6
MAX_LOG_ODDS = math.log(1e6 - 1.0)
MIN_CURVATURE = 1e-4


@borrowing
def learning_pass(p, rows, S, settings, past, buffers, out):
    """The loop of `learn`."""
    y, weight, delay = rows
    x, q, u = buffers[0], buffers[1], buffers[2]
    for i in range(p.shape[0]):
        m = predict(p[i], S, x, q)
        score = 0.0
        for k in range(x.shape[0]):
            score += S.v[k] * x[k]
        score = min(max(score, -MAX_LOG_ODDS), MAX_LOG_ODDS)
        out[i, 0] = score if choose(S.losses) == STACKING else math.log(m / (1.0 - m))
        if weight[i] > 0.0:
            step(y[i] > 0, (weight[i], delay[i]), S, settings, (score, m, x, q, u))
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

    p (n_samples, K, 1), of the second class, is from before the row was learned, and NaN where the
    expert has none. ``rows`` are the classes, -1 and 1, the weights, and how many labels came
    between the prediction of each row and its own; a row of weight 0 is not learned. ``out``
    (n_samples, 1) receives the log odds of the combination.
    """
    buffers = np.empty((3, len(stack.v)))
    return p, rows, stack, settings, past, buffers, out


@inlined_borrowing
def predict(p, S, x, q):
    """Write log odds x and probabilities q of the experts; return the mixture Σ ω_k q_k.

    An expert without probability predicts what the mixture of the others predicts.
    """
    K, m, total = p.shape[0], 0.0, 0.0
    for k in range(K):
        q[k] = min(max(p[k, 0], MIN_PROBABILITY), 1.0 - MIN_PROBABILITY)
        if S.alive[k] and math.isfinite(p[k, 0]):
            x[k] = math.log(q[k] / (1.0 - q[k]))
            m += S.omega[k] * q[k]
            total += S.omega[k]
    m = m / total if total > 0.0 else 0.5
    for k in range(K):
        if not (S.alive[k] and math.isfinite(p[k, 0])):
            x[k] = math.log(m / (1.0 - m)) if S.alive[k] else 0.0
            q[k] = m
    x[K] = 1.0
    return m


@inlined_borrowing
def step(positive, row, S, settings, predicted):
    """Learn from a row: judge, mixture, stacking."""
    score, m, x, q, u = predicted
    weight, late = row[0], of_late(row[1])
    power, share = weight * late, settings.share * late
    stacked = 1.0 / (1.0 + math.exp(-score))
    losses = (
        -math.log(m if positive else 1.0 - m),
        -math.log(stacked if positive else 1.0 - stacked),
    )
    judge(losses[0], losses[1], weight, S.losses)
    for k in range(S.omega.shape[0]):
        likelihood = q[k] if positive else 1.0 - q[k]
        u[k] = likelihood if power == 1.0 else likelihood**power
    fixed_share(u, share, S.alive, S.omega)
    h = weight * max(stacked * (1.0 - stacked), MIN_CURVATURE)
    g = weight * (stacked - 1.0 if positive else stacked)
    newton_step(x, h, g, S, settings.ridge, u)
    if settings.prune > 0:
        drop_idle(S, settings)
