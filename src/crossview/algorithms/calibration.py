"""Calibration in the pass: probabilities from the scores of rows that are not learned yet.

Symbols: a row's score s before it is learned, or its scores s_c less their mean over the classes;
z = s / (root mean square of the scores so far); slope a; offsets b.  Two classes (Platt 1999):

    p = σ(a z + b),    g = p - y,    h = p (1 - p).

Several classes (temperature scaling, Guo et al. 2017, with an offset per class):

    p = softmax(a z + b),    g_c = p_c - [c is the true class].

a and b minimize the log loss of the rows so far by online Newton steps (Hazan, Agarwal and Kale
2007): with φ the derivative of a z + b with respect to θ = (a, b), and H = Σ h φ φ',

    H <- λ H + h φ φ',    θ <- θ - (I + H)^-1 g φ.

For several classes the block of H that belongs to the offsets is diag(p), an upper bound of
diag(p) - p p', so that the step costs O(n_classes).

The scores of the first rows come from a model that has learned little.  So the sums forget, with
λ = min(n / (n + 2), M / (M + g²)): after n rows a row that is u rows old has the weight
(1 - u/n)², and in a long stream the sums hold a bounded amount of evidence, M = 200 times the
mean squared error of a row.  After a change the errors grow, and so does the rate of forgetting.
"""

import math

import numpy as np
from scipy.optimize import minimize

from crossview._jit import borrowing, inlined_borrowing

__all__ = [
    "calibrate",
    "fit",
    "insert_class",
    "probabilities",
    "start",
    "step_of_several",
    "step_of_two",
]

# M: the evidence that a long stream keeps
EVIDENCE = 200.0
# log odds beyond which exp overflows
MOST = 700.0

# the calibration of two classes: a and b, then H, then Σ s², Σ 1 and n
A, B, H_AA, H_AB, H_BB, SQUARES, COUNT, N_ROWS = range(8)


def start(n_scores: int) -> np.ndarray:
    """Return a calibration that has seen no row.

    Several classes: a, b_1 ... b_K, h_aa, h_ab (K), h_bb (K), then Σ s², Σ 1 and n.
    """
    state = np.zeros(8 if n_scores == 1 else 3 * n_scores + 5)
    state[0] = 1.0
    return state


# --- one row --------------------------------------------------------------------------


@inlined_borrowing
def scale_of(squares, count):
    """Return the root mean square of the scores; infinity without any, so that z is 0."""
    if not squares > 0.0:
        return np.inf
    return math.sqrt(squares / count)


@inlined_borrowing
def forgetting(n, weight, error):
    """Return λ of a row; n is the total weight of the rows, with this one."""
    return min(n / (n + 2.0 * weight), EVIDENCE / (EVIDENCE + weight * error))


@inlined_borrowing
def step_of_two(s, y, weight, scaled, state):
    """Update the calibration of two classes by a row, y = 0 or 1; return its p before."""
    squares = weight * s * s
    z = s
    if scaled:
        z = s / scale_of(state[SQUARES] + squares, state[COUNT] + weight)
    p = 1.0 / (1.0 + math.exp(-min(max(state[A] * z + state[B], -MOST), MOST)))
    if not weight > 0.0:
        return p
    g, h = p - y, weight * p * (1.0 - p)
    state[N_ROWS] += weight
    lam = forgetting(state[N_ROWS], weight, g * g)
    state[SQUARES] = lam * state[SQUARES] + squares
    state[COUNT] = lam * state[COUNT] + weight
    state[H_AA] = lam * state[H_AA] + h * z * z
    state[H_AB] = lam * state[H_AB] + h * z
    state[H_BB] = lam * state[H_BB] + h
    h_aa, h_ab, h_bb = 1.0 + state[H_AA], state[H_AB], 1.0 + state[H_BB]
    step = weight * g / (h_aa * h_bb - h_ab * h_ab)
    state[A] -= step * (h_bb * z - h_ab)
    state[B] -= step * (h_aa - h_ab * z)
    return p


@inlined_borrowing
def step_of_several(s, true, weight, scaled, state, z, p):
    """Update the calibration of several classes by a row; write its p before.

    ``z`` is a buffer; both have one entry per class.
    """
    K = s.shape[0]
    squares = weight * center(s, z)
    sums = 2 + 3 * K  # where Σ s², Σ 1 and n are
    if scaled:
        scale = scale_of(state[sums] + squares, state[sums + 1] + weight)
        for c in range(K):
            z[c] /= scale
    softmax(state, z, p)
    if not weight > 0.0:
        return
    mean, error = 0.0, 0.0
    for c in range(K):
        mean += p[c] * z[c]
        g = p[c] - (1.0 if c == true else 0.0)
        error += g * g
    state[sums + 2] += weight
    lam = forgetting(state[sums + 2], weight, error)
    state[sums] = lam * state[sums] + squares
    state[sums + 1] = lam * state[sums + 1] + weight
    _newton_step(state, z, p, true, weight, lam, mean)


@inlined_borrowing
def center(s, z):
    """z <- s - mean(s); return the mean square of z."""
    K, mean, squares = s.shape[0], 0.0, 0.0
    for c in range(K):
        mean += s[c] / K
    for c in range(K):
        z[c] = s[c] - mean
        squares += z[c] * z[c] / K
    return squares


@inlined_borrowing
def softmax(state, z, p):
    """p <- softmax(a z + b)."""
    top, total = -np.inf, 0.0
    for c in range(z.shape[0]):
        p[c] = state[0] * z[c] + state[1 + c]
        top = max(top, p[c])
    for c in range(z.shape[0]):
        p[c] = math.exp(p[c] - top)
        total += p[c]
    for c in range(z.shape[0]):
        p[c] /= total


@inlined_borrowing
def _newton_step(state, z, p, true, weight, lam, mean):
    """H <- λ H + h φ φ', and the step; H has entries for a alone, for a and b, and for b alone."""
    K = z.shape[0]
    aa, ab, bb = 1 + K, 2 + K, 2 + 2 * K
    variance, slope = 0.0, 0.0
    for c in range(K):
        g = p[c] - (1.0 if c == true else 0.0)
        d = z[c] - mean
        variance += p[c] * d * d
        slope += g * z[c]
        state[ab + c] = lam * state[ab + c] + weight * p[c] * d
        state[bb + c] = lam * state[bb + c] + weight * p[c]
    state[aa] = lam * state[aa] + weight * variance
    # eliminate the offsets
    top, bottom = weight * slope, 1.0 + state[aa]
    for c in range(K):
        g = weight * (p[c] - (1.0 if c == true else 0.0))
        ratio = state[ab + c] / (1.0 + state[bb + c])
        top -= ratio * g
        bottom -= ratio * state[ab + c]
    step = top / bottom
    state[0] -= step
    for c in range(K):
        g = weight * (p[c] - (1.0 if c == true else 0.0))
        state[1 + c] -= (g - state[ab + c] * step) / (1.0 + state[bb + c])


# --- rows -----------------------------------------------------------------------------


def calibrate(
    scores: np.ndarray, codes: np.ndarray, weight: np.ndarray, scaled: bool, state: np.ndarray
) -> np.ndarray:
    """Update a calibration by rows, in their order.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_scores)
        The scores of each row before it was learned; one for two classes.
    codes : int64 ndarray of shape (n_samples,)
        The classes; -1 for a row without label, which changes nothing.
    weight : ndarray of shape (n_samples,)
        Weights of the rows.
    scaled : bool
        Whether scores are divided by their root mean square; not if they are log odds.
    state : ndarray
        As `start` returns it; updated in place.

    Returns
    -------
    p : ndarray of shape (n_samples, n_scores)
        Of each row before the update by it: the probability of the second of two classes, or one
        per class.
    """
    p = np.empty(scores.shape)
    if scores.shape[1] == 1:
        calibrate_two(scores[:, 0], codes, weight, scaled, state, p[:, 0])
    else:
        calibrate_several(scores, codes, weight, scaled, state, np.empty(scores.shape[1]), p)
    return p


@borrowing
def calibrate_two(scores, codes, weight, scaled, state, p):
    """The loop of `calibrate` for two classes."""
    for i in range(scores.shape[0]):
        s, w = scores[i], weight[i] if codes[i] >= 0 else 0.0
        if math.isfinite(s * s):
            p[i] = step_of_two(s, float(codes[i]), w, scaled, state)
        else:
            p[i] = 0.5


@borrowing
def calibrate_several(scores, codes, weight, scaled, state, z, p):
    """The loop of `calibrate` for several classes."""
    K = scores.shape[1]
    for i in range(scores.shape[0]):
        total = 0.0
        for c in range(K):
            total += scores[i, c] * scores[i, c]
        if math.isfinite(total):
            w = weight[i] if codes[i] >= 0 else 0.0
            step_of_several(scores[i], codes[i], w, scaled, state, z, p[i])
        else:
            p[i, :] = 1.0 / K


def fit(scores: np.ndarray, codes: np.ndarray, weight: np.ndarray, scaled: bool) -> np.ndarray:
    """Return the calibration that minimizes the log loss of rows plus ½ |θ - (1, 0)|².

    ``scores`` are of rows that were not learned; the parameters are those of `calibrate`.
    """
    K = scores.shape[1]
    state = start(K)
    state[-1] = weight.sum()
    if scaled:
        z = scores - scores.mean(axis=1, keepdims=True) if K > 1 else scores
        state[-3:-1] = weight @ (z * z).mean(axis=1), state[-1]
    n = 2 if K == 1 else K + 1
    first = state[:n].copy()

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        state[:n] = theta
        p = probabilities(scores, scaled, state)
        g = p.copy()
        g[np.arange(len(codes)), codes] -= 1.0
        z = _inputs(scores, scaled, state)
        g = weight[:, None] * (g[:, 1:] if K == 1 else g)
        loss = -weight @ np.log(np.maximum(p[np.arange(len(codes)), codes], 1e-300))
        slope = np.concatenate([[(g * z).sum()], g.sum(axis=0)])
        return loss + 0.5 * ((theta - first) ** 2).sum(), slope + theta - first

    state[:n] = minimize(objective, first, jac=True, method="L-BFGS-B").x
    p, z = probabilities(scores, scaled, state), _inputs(scores, scaled, state)
    if K == 1:
        h = weight * p[:, 0] * p[:, 1]
        state[H_AA : H_BB + 1] = h @ z[:, 0] ** 2, h @ z[:, 0], h.sum()
    else:
        d = z - (p * z).sum(axis=1, keepdims=True)
        state[n] = weight @ (p * d * d).sum(axis=1)
        state[n + 1 : -3] = np.concatenate([weight @ (p * d), weight @ p])
    return state


def insert_class(state: np.ndarray, n_old: int, position: int) -> np.ndarray:
    """Return the calibration with one more class; that of a third class begins anew."""
    if n_old == 1:  # the only class so far was the positive one
        signs = np.ones(8)
        signs[[B, H_AB]] = -1.0 if position == 1 else 1.0
        return np.asarray(state * signs)
    if n_old == 2:
        return start(3)
    theta, h_aa, sums = state[: 1 + n_old], state[1 + n_old], state[-3:]
    h_ab, h_bb = state[2 + n_old : -3].reshape(2, n_old)
    rare = -np.log1p(sums[2])  # one row among those so far
    return np.concatenate(
        [
            np.insert(theta, 1 + position, rare),
            [h_aa],
            np.insert(h_ab, position, 0.0),
            np.insert(h_bb, position, 0.0),
            sums,
        ]
    )


def _inputs(scores: np.ndarray, scaled: bool, state: np.ndarray) -> np.ndarray:
    """Return z of rows, (n_samples, n_scores)."""
    z = scores if scores.shape[1] == 1 else scores - scores.mean(axis=1, keepdims=True)
    return z / scale_of(state[-3], state[-2]) if scaled else z


def probabilities(scores: np.ndarray, scaled: bool, state: np.ndarray) -> np.ndarray:
    """Return the probability of each class, (n_samples, 2 or n_scores)."""
    K = scores.shape[1]
    eta = state[0] * _inputs(scores, scaled, state) + state[1 : 1 + K]
    if K == 1:
        eta = np.hstack([-eta, eta])
        with np.errstate(over="ignore"):
            return np.asarray(1.0 / (1.0 + np.exp(-eta)))
    p = np.exp(eta - eta.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))
