"""Numbers: ridge regression on the experts' predictions.

    x = (x_1, ..., x_K, 1),    q = v·x,    g = q - y,    h = 1.

An online Newton step on the squared loss is recursive least squares.  The mixture's losses are
squared errors over twice the mean squared error of the mixture on the last rows: the negative log
likelihood of a normal distribution, up to a constant.
"""

import math

import numpy as np

from crossview._jit import borrowing, inlined_borrowing, passes
from crossview.algorithms.stacking import history
from crossview.algorithms.stacking.mixture import fixed_share, of_late
from crossview.algorithms.stacking.stack import (
    MIXTURE,
    STACKING,
    TOTAL,
    Settings,
    Stack,
    choose,
    drop_idle,
    judge,
    newton_step,
)


@borrowing
def learning_pass(predictions, rows, S, settings, past, buffers, out):
    """The loop of `learn`."""
    y, weight, delay = rows
    x, u = buffers[0], buffers[1]
    for i in range(predictions.shape[0]):
        m = predict(predictions[i], S, x)
        q = 0.0
        for k in range(x.shape[0]):
            q += S.v[k] * x[k]
        out[i, 0] = q if choose(S.losses) == STACKING else m
        if weight[i] > 0.0:
            step(y[i], (weight[i], delay[i]), S, settings, (q, m, x, u))
            history.record(S.omega, S.v, S.losses, past)


@passes(learning_pass)
def learn(
    predictions: np.ndarray,
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    stack: Stack,
    settings: Settings,
    past: history.History,
    out: np.ndarray,
) -> tuple:
    """Combine the experts' predictions of some rows, and learn from each row after it.

    ``predictions`` (n_samples, K, 1) are from before the row was learned, and NaN where the expert
    has none. ``rows`` are the targets, the weights, and how many labels came between the
    prediction of each row and its own; a row of weight 0 is not learned. ``out``
    (n_samples, 1) receives the predictions of the combination.
    """
    return predictions, rows, stack, settings, past, np.empty((2, len(stack.v))), out


@inlined_borrowing
def predict(f, S, x):
    """Write the experts' predictions x; return the mixture Σ ω_k x_k.

    An expert without prediction predicts what the mixture of the others predicts.
    """
    K, m, total = f.shape[0], 0.0, 0.0
    for k in range(K):
        if S.alive[k] and math.isfinite(f[k, 0]):
            x[k] = f[k, 0]
            m += S.omega[k] * f[k, 0]
            total += S.omega[k]
    m = m / total if total > 0.0 else 0.0
    for k in range(K):
        if not (S.alive[k] and math.isfinite(f[k, 0])):
            x[k] = m if S.alive[k] else 0.0
    x[K] = 1.0
    return m


@inlined_borrowing
def step(y, row, S, settings, predicted):
    """Learn from a row: judge, mixture, stacking."""
    q, m, x, u = predicted
    weight, late = row[0], of_late(row[1])
    power, share = weight * late, settings.share * late
    judge((y - m) ** 2, (y - q) ** 2, weight, S.losses)
    variance = max(S.losses[MIXTURE] / S.losses[TOTAL], 1e-12)
    least = np.inf
    for k in range(S.omega.shape[0]):
        u[k] = power * (y - x[k]) ** 2 / (2.0 * variance)
        if S.alive[k]:
            least = min(least, u[k])
    for k in range(S.omega.shape[0]):  # a common factor changes no weight
        u[k] = math.exp(least - u[k])
    fixed_share(u, share, S.alive, S.omega)
    newton_step(x, weight, weight * (q - y), S, settings.ridge, u)
    if settings.prune > 0:
        drop_idle(S, settings)
