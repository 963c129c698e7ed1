"""Calibration in the pass: probabilities from the scores of rows that are not learned yet.

Symbols: a row's score s before it is learned, or its scores s_c less their mean over the classes;
z = s / (root mean square of the scores so far); slope a; offsets b.  Two classes (Platt 1999):

    p = σ(a z + b),    g = p - y,    h = p (1 - p).

Several classes (temperature scaling, Guo et al. 2017, with an offset per class):

    p = softmax(a z + b),    g_c = p_c - [c is the true class].

θ = (a, b) minimizes the log loss of the rows so far by online Newton steps (Hazan, Agarwal and
Kale 2007).  With φ the derivative of a z + b with respect to θ, a block of rows makes the step

    H <- λ H + Σ h φ φ',    θ <- θ - (I + H)^-1 Σ g φ,

where a stays at 0.001 or more: of the steps that keep it there it is the one that lowers the loss
most.  So a higher score is never less probable, also where scores are worse than chance.

A block is one row at the beginning and 64 rows after the first 4,000, of which three of four are
then left out, because a step per row would take half as long as learning the row.  For several
classes the part of H that belongs to the offsets is diag(p), an upper bound of diag(p) - p p', so
that a row costs O(n_classes).  No step of several
classes is longer than 2: where a rare class becomes frequent within a block, h is next to nothing.

The scores of the first rows come from a model that has learned little.  So the sums forget: for a
row λ = min(n / (n + 2), M / (M + g²)).  After n rows one that is u rows old has the weight
(1 - u/n)², and in a long stream the sums hold a bounded amount of evidence, M = 100 times the
mean squared error of a row.  After a change the errors grow, and so does the rate of forgetting.
"""

import math
from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing, passes

# M: the evidence that a long stream keeps
EVIDENCE = 100.0
# rows of a block, from ROWS_OF_BLOCK² rows on
ROWS_OF_BLOCK = 64
# of a, so that probabilities and scores have the same order
LEAST_SLOPE = 1e-3
# of a block, for several classes: of a class that was rare its curvature is next to nothing
MOST_STEP = 2.0
# log odds beyond which exp overflows
MOST = 700.0

# A calibration of K scores is one array: θ (1 + K), its sums, the sums of the block, Σ g φ of the
# block (1 + K), and in the last five places Σ g² and rows of the block, its scale, all rows that
# were used, and rows to leave out
ERROR, ROWS, SCALE, N, SKIP = -5, -4, -3, -2, -1
# The sums are H, as (a a), (a b_c) and (b_c b_c), and at their end Σ s² and Σ 1.


def start(n_scores: int) -> np.ndarray:
    """Return a calibration that has seen no row: p = σ(z), or softmax(z)."""
    state = np.zeros(6 * n_scores + 13)
    state[0] = 1.0
    return state


def without_weights(class_weight: np.ndarray) -> np.ndarray:
    """Return the calibration of log odds that were learned with class weights w.

    p_k ∝ exp(η_k) / w_k (C. Elkan, "The foundations of cost-sensitive learning", IJCAI 2001,
    theorem 2); a class with the weight 0 stays as it is.
    """
    shift = -np.log(np.where(class_weight > 0.0, class_weight, 1.0))
    if len(shift) == 2:
        shift = shift[1:] - shift[:1]
    K = len(shift)
    state = start(K)
    state[1 : 1 + K] = shift
    state[2 + 3 * K : 4 + 3 * K] = 1.0  # a scale of 1
    return state


# --- rows and blocks --------------------------------------------------------------------------


@inlined_borrowing
def scale_of(squares, count):
    """Return the root mean square of the scores; infinity without any, so that z is 0."""
    if not squares > 0.0:
        return np.inf
    return math.sqrt(squares / count)


@inlined_borrowing
def scale_of_block(squares, weight, state, K):
    """Return the scale of a block, which its first row completes."""
    end = 4 + 3 * K  # of the sums
    return scale_of(state[end - 2] + squares, state[end - 1] + weight)


@inlined_borrowing
def rows_of_block(n):
    """Return the number of rows of the block after n rows."""
    return math.floor(min(n / ROWS_OF_BLOCK, ROWS_OF_BLOCK - 1.0)) + 1.0


@inlined_borrowing
def step_of_several(s, true, weight, state, z, p):
    """Update the calibration of several classes by a row; write its p before.

    ``z`` is a buffer; both have one entry per class.
    """
    K = s.shape[0]
    squares = weight * _center(s, z)
    scale = state[SCALE]
    if state[ROWS] == 0.0:
        scale = scale_of_block(squares, weight, state, K)
        if weight > 0.0:
            state[SCALE] = scale
    mean = _softmax(state, scale, z, p)
    if not weight > 0.0:
        return
    aa, ab, bb, G = 4 + 3 * K, 5 + 3 * K, 5 + 4 * K, 7 + 5 * K
    for c in range(K):
        g, d = p[c] - (1.0 if c == true else 0.0), z[c] - mean
        state[aa] += weight * p[c] * d * d
        state[ab + c] += weight * p[c] * d
        state[bb + c] += weight * p[c]
        state[G] += weight * g * z[c]
        state[G + 1 + c] += weight * g
        state[ERROR] += weight * g * g
    state[G - 2] += squares
    state[G - 1] += weight
    state[ROWS] += 1.0
    if state[ROWS] >= rows_of_block(state[N]):
        end_block(state, K)


@inlined_borrowing
def _center(s, z):
    """z <- s - mean(s); return the mean square of z."""
    K, mean, squares = s.shape[0], 0.0, 0.0
    for c in range(K):
        mean += s[c] / K
    for c in range(K):
        z[c] = s[c] - mean
        squares += z[c] * z[c] / K
    return squares


@inlined_borrowing
def _softmax(state, scale, z, p):
    """z <- z / scale, p <- softmax(a z + b); return the mean of z by p."""
    top, total, mean = -np.inf, 0.0, 0.0
    for c in range(z.shape[0]):
        z[c] /= scale
        p[c] = state[0] * z[c] + state[1 + c]
        top = max(top, p[c])
    for c in range(z.shape[0]):
        p[c] = math.exp(p[c] - top)
        total += p[c]
    for c in range(z.shape[0]):
        p[c] /= total
        mean += p[c] * z[c]
    return mean


@borrowing
def end_block(state, K):
    """H <- λ H + Σ h φ φ' and θ <- θ - (I + H)^-1 Σ g φ, a >= 0.001; the next block begins."""
    sums, block, G = 1 + K, 4 + 3 * K, 7 + 5 * K
    weight, error = state[G - 1], state[ERROR]
    state[N] += weight
    lam = min(state[N] / (state[N] + 2.0 * weight), EVIDENCE / (EVIDENCE + error))
    for i in range(3 + 2 * K):
        state[sums + i] = lam * state[sums + i] + state[block + i]
        state[block + i] = 0.0
    # eliminate the offsets
    ab, bb = sums + 1, sums + 1 + K
    top, bottom = state[G], 1.0 + state[sums]
    for c in range(K):
        ratio = state[ab + c] / (1.0 + state[bb + c])
        top -= ratio * state[G + 1 + c]
        bottom -= ratio * state[ab + c]
    most = MOST_STEP if K > 1 else np.inf
    step = min(max(top / bottom, -most), state[0] - LEAST_SLOPE)
    state[0] -= step
    for c in range(K):
        move = (state[G + 1 + c] - state[ab + c] * step) / (1.0 + state[bb + c])
        state[1 + c] -= min(max(move, -most), most)
        state[G + 1 + c] = 0.0
    if state[ROWS] >= ROWS_OF_BLOCK:
        state[SKIP] = 3.0 * ROWS_OF_BLOCK
    state[G] = state[ERROR] = state[ROWS] = 0.0


# --- rows -----------------------------------------------------------------------------


def calibrate(
    scores: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    state: np.ndarray,
    *,
    return_proba: bool = True,
) -> np.ndarray:
    """Update a calibration by rows in their order; return p of each row before the update by it.

    Scores and p have the shape (n_samples, n_scores), one for two classes, where p is that of the
    second. A row with code -1 has no label and changes nothing; its p is computed only with
    ``return_proba``.
    """
    p = np.empty(scores.shape)
    K = scores.shape[1]
    given = scores.reshape(-1) if K == 1 else scores
    codes = np.ascontiguousarray(codes, dtype=np.int8 if K == 1 else np.int64)
    rows = [np.ascontiguousarray(value).view() for value in (given, codes, weight)]
    for value in rows:  # compiled for read-only arrays
        value.flags.writeable = False
    if K == 1:
        calibrate_two(*rows, state, p.reshape(-1), return_proba)
    else:
        calibrate_several(*rows, state, np.empty(K), p, return_proba)
    return p


@borrowing
def calibrate_two(scores, codes, weight, state, p, return_proba):
    """The loop of `calibrate` for two classes."""
    n, lo = scores.shape[0], 0
    while lo < n:
        # the rest of a block, or of the rows to leave out
        is_used, scale = state[SKIP] == 0.0, state[SCALE]
        left = rows_of_block(state[N]) - state[ROWS] if is_used else state[SKIP]
        hi = min(n, lo + np.int64(left))
        if not is_used:
            state[SKIP] -= hi - lo
            scale = scale_of_block(0.0, 0.0, state, 1)
            if not return_proba:
                lo = hi
                continue
        elif state[ROWS] == 0.0:
            w = weight[lo] if codes[lo] >= 0 else 0.0
            square = w * scores[lo] * scores[lo]
            if not (w > 0.0 and square < np.inf):  # the next row begins the block
                w, square, hi = 0.0, 0.0, lo + 1
            scale = state[SCALE] = scale_of_block(square, w, state, 1)
        a, b = state[0] / scale, state[1]
        for i in range(lo, hi):
            p[i] = 1.0 / (1.0 + math.exp(-min(max(a * scores[i] + b, -MOST), MOST)))
        if is_used:
            _add_rows(lo, hi, scores, codes, weight, p, state)
            if state[ROWS] >= rows_of_block(state[N]):
                end_block(state, 1)
        lo = hi


@inlined_borrowing
def _add_rows(lo, hi, scores, codes, weight, p, state):
    """Add rows of a block to its sums, which stay in registers."""
    aa, ab, bb, squares, count = state[7], state[8], state[9], state[10], state[11]
    G_a, G_b, error, rows, scale = state[12], state[13], state[ERROR], state[ROWS], state[SCALE]
    for i in range(lo, hi):
        w = weight[i] if codes[i] >= 0 else 0.0
        square = w * scores[i] * scores[i]
        if w > 0.0 and square < np.inf:
            z, g, h = scores[i] / scale, p[i] - codes[i], w * p[i] * (1.0 - p[i])
            aa, ab, bb = aa + h * z * z, ab + h * z, bb + h
            squares, count = squares + square, count + w
            G_a, G_b, error = G_a + w * g * z, G_b + w * g, error + w * g * g
            rows += 1.0
    state[7], state[8], state[9], state[10], state[11] = aa, ab, bb, squares, count
    state[12], state[13], state[ERROR], state[ROWS] = G_a, G_b, error, rows


@borrowing
def calibrate_several(scores, codes, weight, state, z, p, return_proba):
    """The loop of `calibrate` for several classes."""
    K = scores.shape[1]
    for i in range(scores.shape[0]):
        is_used = state[SKIP] == 0.0
        if not is_used:
            state[SKIP] -= 1.0
            if not return_proba:
                continue
        total = 0.0
        for c in range(K):
            total += scores[i, c] * scores[i, c]
        if math.isfinite(total):
            w = weight[i] if codes[i] >= 0 and is_used else 0.0
            step_of_several(scores[i], codes[i], w, state, z, p[i])
        else:
            p[i, :] = 1.0 / K


def fit(
    scores: np.ndarray, codes: np.ndarray, weight: np.ndarray, *, log_odds: bool = False
) -> np.ndarray:
    """Return the calibration that minimizes the log loss of rows plus ½ |θ - θ_0|², a >= 0.001.

    ``scores`` are of rows that were not learned; the parameters are those of `calibrate`.
    θ_0 = (1, 0); if scores are log odds, θ_0 leaves them as they are.
    """
    from scipy.optimize import minimize  # a stream calibrates without it

    K, rows = scores.shape[1], np.arange(len(codes))
    state = start(K)
    theta, sums = state[: 1 + K], state[1 + K : 4 + 3 * K]
    centered = scores - scores.mean(axis=1, keepdims=True) if K > 1 else scores
    state[N] = weight.sum()
    sums[-2:] = weight @ (centered * centered).mean(axis=1), state[N]
    if log_odds and sums[-2] > 0.0:
        theta[0] = scale_of(sums[-2], sums[-1])
    z, first = _inputs(scores, state), theta.copy()

    def objective(new: np.ndarray) -> tuple[float, np.ndarray]:
        theta[:] = new
        p = probabilities(scores, state)
        loss = -weight @ np.log(np.maximum(p[rows, codes], np.finfo(float).tiny))
        p[rows, codes] -= 1.0
        g = weight[:, None] * p[:, -K:]
        slope = np.append((g * z).sum(), g.sum(axis=0))
        return loss + 0.5 * ((new - first) ** 2).sum(), slope + new - first

    bounds = [(LEAST_SLOPE, None), *[(None, None)] * K]
    theta[:] = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds).x
    p = probabilities(scores, state)
    h = (p[:, :1] * p[:, 1:] if K == 1 else p) * weight[:, None]
    d = z if K == 1 else z - (p * z).sum(axis=1, keepdims=True)
    sums[:-2] = np.concatenate([[(h * d * d).sum()], (h * d).sum(axis=0), h.sum(axis=0)])
    return state


def insert_class(
    state: np.ndarray, n_old: int, position: int, n_rows: int, score: float
) -> np.ndarray:
    """Return the calibration with one more class, that has ``score`` in all rows so far.

    The odds of the other classes stay, and where their scores are 0 that of the new one is 1 / n
    after n rows.  Scores s of two classes become -s/2 and s/2.  A block that has begun is
    left out.
    """
    K = 1 if n_old == 1 else n_old
    if n_old == 1:  # the only class so far was the positive one
        parts = np.split(state.copy(), np.cumsum([2, 5, 5, 2]))
        sign = -1.0 if position == 1 else 1.0
        for part in parts[:-1]:
            part[1] *= sign
        return np.concatenate(parts)
    own = 1 if n_old == 2 else K
    a, b, aa, ab, bb = np.split(state[: 2 + 3 * own], np.cumsum([1, own, 1, own]))
    squares, count = state[2 + 3 * own : 4 + 3 * own]
    if n_old == 2:
        pair = np.array([-1.0, 1.0])
        a, b, aa, ab, bb = a / 2.0, pair * b / 2.0, 4.0 * aa, 2.0 * pair * ab, np.tile(2.0 * bb, 2)
        squares /= 4.0
    unit = a / scale_of(squares, count)
    wider = (K * squares + count * score**2 * K / (K + 1)) / (K + 1)
    stretch = np.sqrt(wider / squares) if squares > 0.0 else 1.0
    rare = np.log(np.exp(b - b.max()).sum()) + b.max() - np.log(max(n_rows, K)) - unit * score
    new = start(K + 1)
    theta, sums = new[: 2 + K], new[2 + K : 7 + 3 * K]
    theta[:] = np.concatenate([a * stretch, np.insert(b, position, rare)])
    scale = scale_of(wider, count)
    # the sum of p = 1 / n over n rows is 1
    ab, bb = np.insert(ab / stretch, position, score / scale), np.insert(bb, position, 1.0)
    aa = aa / stretch**2 + (score / scale) ** 2
    sums[:] = np.concatenate([aa, ab, bb, [wider, count]])
    new[SCALE:] = [scale, *state[N:]]
    return new


def _inputs(scores: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return z of rows, (n_samples, n_scores)."""
    K = scores.shape[1]
    z = scores if K == 1 else scores - scores.mean(axis=1, keepdims=True)
    return z / scale_of(state[2 + 3 * K], state[3 + 3 * K])


def slope(state: np.ndarray, K: int) -> float:
    """Return what the log odds of K scores grow by where a score grows by 1."""
    return float(state[0] / scale_of(state[2 + 3 * K], state[3 + 3 * K]))


@borrowing
def probability_pass(scores, state, p):
    """The loop of `probabilities`; without a state the scores are log odds."""
    K, a, scale, calibrated = scores.shape[1], 1.0, 1.0, state.shape[0] > 0
    if calibrated:
        a, scale = state[0], scale_of(state[2 + 3 * K], state[3 + 3 * K])
    for i in range(scores.shape[0]):
        if K == 1:
            eta = scores[i, 0]
            if calibrated:
                eta = a * (eta / scale) + state[1]
            odds = math.exp(-abs(eta))
            likely = 1.0 / (1.0 + odds)
            p[i, 1], p[i, 0] = likely, odds * likely
            if eta < 0.0:
                p[i, 1], p[i, 0] = odds * likely, likely
        else:
            _probabilities_of_several(scores[i], state, (a, scale), p[i])


@inlined_borrowing
def _probabilities_of_several(s, state, calibration, p):
    """p <- softmax(a z + b)."""
    a, scale = calibration
    mean, top, total = 0.0, -np.inf, 0.0
    if state.shape[0] > 0:
        for c in range(p.shape[0]):
            mean += s[c] / p.shape[0]
    for c in range(p.shape[0]):
        p[c] = s[c]
        if state.shape[0] > 0:
            p[c] = a * ((s[c] - mean) / scale) + state[1 + c]
        top = max(top, p[c])
    for c in range(p.shape[0]):
        p[c] = math.exp(p[c] - top)
        total += p[c]
    for c in range(p.shape[0]):
        p[c] /= total


@passes(probability_pass)
def write_probabilities(scores: np.ndarray, state: np.ndarray, p: np.ndarray) -> tuple:
    """P (n_samples, 2 or n_scores) <- the probability of each class; `state` may be empty."""
    rows = [np.ascontiguousarray(value, dtype=np.float64).view() for value in (scores, state)]
    for value in rows:
        value.flags.writeable = False
    return *rows, p


def probabilities(scores: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return the probability of each class, (n_samples, 2 or n_scores)."""
    p = np.empty((len(scores), max(2, scores.shape[1])))
    write_probabilities(scores, state, p)
    return p


# --- one row, scored by several experts -------------------------------------------------------


class ExpertRow(NamedTuple):
    """Memory for one row and K experts with C scores; ``given`` is the same, and read-only."""

    scores: np.ndarray  # (K, 1, C), 0 where there are none
    scores_given: np.ndarray
    weight: np.ndarray  # (K, 1)
    weight_given: np.ndarray
    states: np.ndarray  # (K, any): a calibration of each
    states_given: np.ndarray
    z: np.ndarray  # (C,)
    both: np.ndarray  # (K, 1, 2 or C): probabilities of all classes
    p: np.ndarray  # (K, 1, C): NaN where there are no scores


def expert_row(states: np.ndarray, C: int) -> ExpertRow:
    """Allocate the memory for a row, of experts with these calibrations."""
    K = len(states)
    scores, weight, states_given = np.zeros((K, 1, C)), np.zeros((K, 1)), states.view()
    scores_given, weight_given = scores.view(), weight.view()
    for value in (scores_given, weight_given, states_given):
        value.flags.writeable = False
    arrays = scores, scores_given, weight, weight_given, states, states_given
    return ExpertRow(*arrays, np.empty(C), np.empty((K, 1, max(2, C))), np.empty((K, 1, C)))


@borrowing
def calibrate_experts(found, missing, codes, weight, row, learn):
    """p <- those of one row by each expert; ``learn`` updates their calibrations after it.

    ``found`` (K, C) are the scores, ``missing`` (K,) says which experts do not see the row, and
    ``codes`` are its class in the types of `calibrate_two` and `calibrate_several`.
    """
    K, C = found.shape
    for k in range(K):
        there = not missing[k]
        for c in range(C):
            there = there and math.isfinite(found[k, c])
        row.weight[k, 0] = weight[0] if there else 0.0
        for c in range(C):
            row.scores[k, 0, c] = found[k, c] if there else 0.0
        if learn:
            scores, own = row.scores_given[k], row.weight_given[k]
            if C == 1:
                calibrate_two(scores[0], codes[0], own, row.states[k], row.p[k, 0], learn)
            else:
                calibrate_several(scores, codes[1], own, row.states[k], row.z, row.p[k], learn)
        else:
            probability_pass(row.scores_given[k], row.states_given[k], row.both[k])
            for c in range(C):
                row.p[k, 0, c] = row.both[k, 0, c if C > 1 else 1]
        if not there:
            for c in range(C):
                row.p[k, 0, c] = np.nan
