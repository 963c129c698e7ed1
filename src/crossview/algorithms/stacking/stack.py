"""E. Hazan, A. Agarwal, S. Kale, "Logarithmic Regret Algorithms for Online Convex Optimization",
Machine Learning 69 (2007): online Newton steps, here on the weights v of the experts.

D. Benkeser, C. Ju, S. Lendle, M. van der Laan, "Online Cross-Validation-Based Ensemble Learning",
Statistics in Medicine 37 (2018): the experts' predictions for a row that they have not learned are
out of sample, so that their combination can be learned in the same pass.

With the gradient g x of the loss of a row and its curvature h x x',

    A <- A + h x x',    v <- v - A^-1 g x,

where A starts at ridge I and v at 1/K for each expert.  A^-1 follows by Sherman and Morrison.
Between rows v may drift: A^-1 <- A^-1 + DRIFT I, up to its start, so that a long stream can move
the weights.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import inlined_borrowing

# of `losses`
MIXTURE, STACKING, TOTAL = range(3)

# both combinations are judged by their losses of the last rows, with weights that decay by this
DECAY = 0.999
# variance that the drift of a weight adds per row
DRIFT = 1e-7
# an expert has no weight below this in the mixture, if it also adds less to stacking
NO_SHARE, NO_LOSS = 0.05, 1.0


class Stack(NamedTuple):
    """The state of a combination; K experts, D = K + 1, or K + n_classes for several classes."""

    v: np.ndarray  # float64 (D,): weights of the experts, then one offset, or one per class
    A_inv: np.ndarray  # float64 (D, D): A^-1
    omega: np.ndarray  # float64 (K,): weights of the mixture
    losses: np.ndarray  # float64 (3,): of mixture and stacking, decayed, and their total weight
    idle: np.ndarray  # int64 (K,): for how many rows the expert had no weight
    alive: np.ndarray  # bool (K,): False once the expert is dropped


class Settings(NamedTuple):
    """The parameters of a combination."""

    share: float  # α of the mixture
    ridge: float  # A at the start
    prune: int  # rows after which an expert without weight is dropped; 0: never


@inlined_borrowing
def newton_step(x, h, g, S, ridge, u):
    """A <- A + h x x' and v <- v - A^-1 g x; u is a buffer."""
    v, A_inv, D, xu = S.v, S.A_inv, S.v.shape[0], 0.0
    for r in range(D):
        u[r] = 0.0
    for c in range(D):
        for r in range(D):
            u[r] += A_inv[c, r] * x[c]
    for r in range(D):
        xu += x[r] * u[r]
    shrink, step = h / (1.0 + h * xu), g / (1.0 + h * xu)
    for r in range(D):
        v[r] -= step * u[r]
        scaled = shrink * u[r]
        for c in range(D):
            A_inv[r, c] -= scaled * u[c]
        if A_inv[r, r] * ridge < 1.0 and A_inv[r, r] > 0.0:
            A_inv[r, r] += DRIFT


@inlined_borrowing
def choose(losses):
    """Return the combination that decides: the one with the lower loss of the last rows."""
    return STACKING if losses[STACKING] < losses[MIXTURE] else MIXTURE


@inlined_borrowing
def judge(mixture, stacking, weight, losses):
    """Add the losses of a row to the decayed ones."""
    losses[MIXTURE] = DECAY * losses[MIXTURE] + weight * mixture
    losses[STACKING] = DECAY * losses[STACKING] + weight * stacking
    losses[TOTAL] = DECAY * losses[TOTAL] + weight


@inlined_borrowing
def drop_idle(S, settings):
    """Count the rows without weight of each expert, and drop it after ``prune`` of them.

    Dropping an expert raises the loss of stacking on all rows so far by
    ½ v_k² (1 / A^-1_kk - ridge): with v_k = 0, the other weights are those that minimize the same
    quadratic, and A^-1 is its inverse curvature (B. Hassibi, D. G. Stork, "Optimal Brain
    Surgeon", NIPS 1992).
    """
    v, A_inv, omega, D = S.v, S.A_inv, S.omega, S.v.shape[0]
    for k in range(omega.shape[0]):
        if not S.alive[k]:
            continue
        adds = 0.5 * v[k] ** 2 * (1.0 / A_inv[k, k] - settings.ridge)
        S.idle[k] = S.idle[k] + 1 if omega[k] < NO_SHARE and adds < NO_LOSS else 0
        if S.idle[k] < settings.prune:
            continue
        S.alive[k] = False
        omega[k] = 0.0
        pivot = A_inv[k, k]
        for r in range(D):
            if r != k:
                ratio = A_inv[r, k] / pivot
                v[r] -= ratio * v[k]
                for c in range(D):
                    if c != k:
                        A_inv[r, c] -= ratio * A_inv[k, c]
        v[k] = 0.0
        for r in range(D):
            A_inv[r, k] = A_inv[k, r] = 0.0
