"""Learners that keep a covariance: PAM, AROW, CW, SCW and the second-order perceptron.

References: Nguyen, Chang, Hui, "Distribution-Aware Online Classifiers" (2011):
PAM; Crammer, Kulesza, Dredze, "Adaptive Regularization of Weight Vectors"
(2009): AROW; Dredze, Crammer, Pereira, "Confidence-Weighted Linear
Classification" (2008) and Crammer, Dredze, Pereira, "Exact Convex
Confidence-Weighted Learning" (2008): CW; Wang, Zhao, Hoi, "Exact Soft
Confidence-Weighted Learning" (2012): SCW; Cesa-Bianchi, Conconi, Gentile, "A
Second-Order Perceptron Algorithm" (2005): SOP.

Symbols, one example: label y in {-1, +1}, margin m = y w·x, covariance S before
this example, n = x'Sx (the constant feature of the intercept counts), loss
l = max(0, 1 - m), phi the confidence as a quantile of the normal distribution.
Every step is

    w <- w + P y S x,   S^-1 <- S^-1 + rho x x',

and a rule says P and rho.  PAM is PA in the geometry of S: the step of PA, with
n = x'Sx for x·x, and rho = 1.  Views that share a step do so as in Euclidean
space, with n_v = x_v'S_v x_v; see `coupling`.

SOP keeps v, the sum of y x over its mistakes, and predicts the sign of
v'(S^-1 + x x')^-1 x, which is that of v'S x.  With w = S v its step on a mistake
is w <- w + (y - w·x) S x / (1 + n), rho = 1; where S is diagonal, w is S v again
after the step.

Several classes share S.  m is the score of the true class minus that of the best
wrong class r, and its variance is 2 n: P is found with 2 n, and w_y <- w_y + P S x,
w_r <- w_r - P S x.  S counts a row once (rho as it is), but for CW and SCW, whose
constraint on the margin's variance is met where S^-1 gains 2 rho x x'.  SOP adds x
to v_y and takes it from v_r, and all w_k = S v_k.

A row of weight c has C multiplied by c (PAM-I, PAM-II, SCW), r divided by c (AROW),
and counts c times in the covariance of PAM and SOP.  Of two full AROW or SOP steps
on the same row, one with c = 2 is the exact sum.  CW has no price: only c = 0 matters.

Printed otherwise: PAM's Algorithm 1 takes S before the example in one place and
after it in another; here it is S before.  CW's x'x in the covariance is x x'.
"""

import numpy as np

from crossview._jit import inlined, njit
from crossview.algorithms.coupling import INDEPENDENT, coupled_step
from crossview.algorithms.first_order import PA, PA_I, PA_II, best_wrong, pa_step
from crossview.kernels.covariance import (
    FULL,
    LOW_RANK,
    add_column,
    deinterleave,
    diagonal_add,
    diagonal_add_and_step,
    diagonal_sqnorm,
    diagonal_step,
    dot_and_sqnorms,
    full_sqnorm,
    full_step,
    interleave,
    low_rank_add,
    low_rank_sqnorm,
    low_rank_step,
    shrinkage,
)
from crossview.kernels.rows import (
    ONE,
    TWO,
    ZERO,
    dot_and_sqnorm,
    dots_and_sqnorm,
    prefetch_row,
    view_end,
)

AROW, SOP, CW_STDEV, CW_VARIANCE, SCW_I, SCW_II = 4, 5, 6, 7, 8, 9

# after a step the row's constraint holds with equality, but for rounding; where the same
# row comes again, this part of it is no reason to count the row in S once more
MARGIN_TOL = 1.0 - 1e-12

# CW on labels that contradict each other halves the digits of x'Sx at each of them, without
# end: one step makes it smaller by no more than this, and what is left of it, by x·x, is left
MOST_SHRINKAGE, EXHAUSTED = 1e15, 1e-150

# --- scalar equations: P and rho from m and n > 0 ---------------------------------------


@inlined
def arow_step(m, n, r):
    """P = l / (n + r), rho = 1 / r (AROW, figure 1)."""
    loss = 1.0 - m
    if loss <= 0.0:
        return 0.0, 0.0
    return loss / (n + r), 1.0 / r


@inlined
def cw_variance_step(m, n, phi):
    """Variance form (Dredze et al. 2008, equations 14 and 16): afterwards m' = phi n'.

    P solves 2 phi n P² + (1 + 2 phi m) P + (m - phi n) / n = 0; rho = 2 P phi.
    """
    if m >= MARGIN_TOL * phi * n:
        return 0.0, 0.0
    b = 1.0 + 2.0 * phi * m
    root = np.sqrt(b * b + 8.0 * phi * (phi * n - m))
    # of two ways to write it the one in which nothing cancels; so also below
    P = 2.0 * (phi - m / n) / (root + b) if b > 0.0 else (root - b) / (4.0 * phi * n)
    return P, 2.0 * P * phi


@inlined
def cw_stdev_step(m, n, phi):
    """Standard-deviation form (Crammer et al. 2008): afterwards m' = phi sqrt(n').

    P = (sqrt(m² phi⁴ / 4 + n phi² zeta) - m psi) / (n zeta) with psi = 1 + phi² / 2
    and zeta = 1 + phi²; rho as in `stdev_precision`.
    """
    if m >= MARGIN_TOL * phi * np.sqrt(n):
        return 0.0, 0.0
    psi, zeta = 1.0 + 0.5 * phi * phi, 1.0 + phi * phi
    root = np.hypot(0.5 * m * phi * phi, phi * np.sqrt(n * zeta))
    P = (phi * phi - m * (m / n)) / (root + m * psi) if m > 0.0 else (root - m * psi) / (n * zeta)
    return P, stdev_precision(P, n, phi)


@inlined
def stdev_precision(P, n, phi):
    """Rho = P phi / sqrt(u), where sqrt(u) = (sqrt(P² n² phi² + 4 n) - P n phi) / 2."""
    along = P * n * phi
    return P * phi * (np.hypot(along, 2.0 * np.sqrt(n)) + along) / (2.0 * n)


@inlined
def scw_one_step(m, n, phi, C):
    """SCW-I (Wang et al. 2012, proposition 1): P of CW, at most C."""
    P, rho = cw_stdev_step(m, n, phi)
    if P > C:
        P, rho = C, stdev_precision(C, n, phi)
    return P, rho


@inlined
def scw_two_step(m, n, phi, C):
    """SCW-II (Wang et al. 2012, proposition 2), with k = n + 1/(2C).

    P = (g - m (2k + phi² n)) / (2 (k² + k n phi²)), where
    g = phi sqrt(phi² m² n² + 4 k n (k + n phi²)).
    """
    if m >= MARGIN_TOL * phi * np.sqrt(n):
        return 0.0, 0.0
    k = n + 0.5 / C
    wide = k + n * phi * phi
    g = phi * np.hypot(phi * m * n, 2.0 * np.sqrt(k) * np.sqrt(n * wide))
    b = m * (k + wide)
    P = 2.0 * (phi * phi * n - m * m) / (g + b) if m > 0.0 else 0.5 * (g - b) / (k * wide)
    return P, stdev_precision(P, n, phi)


@njit
def step(rule, m, n, C, phi, weight):
    """P and rho of any rule for a row of that weight; C is 1/r for AROW."""
    if rule == AROW:
        return arow_step(m, n, 1.0 / (weight * C))
    if rule == CW_STDEV:
        return cw_stdev_step(m, n, phi)
    if rule == CW_VARIANCE:
        return cw_variance_step(m, n, phi)
    if rule == SCW_I:
        return scw_one_step(m, n, phi, weight * C)
    if rule == SCW_II:
        return scw_two_step(m, n, phi, weight * C)
    if rule == SOP:
        return (0.0, weight) if m <= 0.0 else (0.0, 0.0)
    P = pa_step(rule, m, n, weight * C)
    return P, weight


@inlined
def may_move(rule, m):
    """Whether a row of this margin can cause a step; spares the others their x'Sx."""
    if rule == SOP:
        return m <= 0.0
    if rule in (AROW, PA, PA_I, PA_II):
        return m < MARGIN_TOL
    return True


# --- the update of one example ----------------------------------------------------------


@njit
def add_direction(step, x, j, lo, hi, offset, bias, v, base, width, S, g, twice, W, b, k):
    """W_k <- W_k + step S x, and the same for the intercept of view v.

    ``g`` is S x of a full S, ``twice`` what `low_rank_sqnorm` left behind.
    """
    constant = bias * S.d[v]
    if S.form == FULL:
        add_column(step, g[1 : width + 1], W[base : base + width], k)
        constant = g[0]
    elif S.form == LOW_RANK:
        low_rank_add(step, x, j, lo, hi, offset, v, base, width, S, twice[v], W, k)
        for p in range(S.kept[v]):
            constant -= bias * S.d[v] * twice[v, p]
    else:
        diagonal_add(step, x, j, lo, hi, offset, S.D, W, k)
    b[v, k] += step * constant


@njit
def sop_diagonal(form, rho, n, turn, x, j, lo, hi, offset, bias, v, D, d, model):
    """The second-order perceptron where S is diagonal: w_k = S v_k before and after."""
    W, b, U, c, t = model
    for p in range(lo, hi):
        q = j[p - offset]
        shrink = shrinkage(form, rho, n, D[q] * x[p] * x[p])
        for k in range(turn.shape[0]):
            new = (W[q, k] + turn[k] * D[q] * x[p]) * shrink
            if U.shape[0] > 0:
                U[q, k] += t[0] * (new - W[q, k])
            W[q, k] = new
        D[q] *= shrink
    shrink = shrinkage(form, rho, n, bias * d[v])
    for k in range(turn.shape[0]):
        new = (b[v, k] + turn[k] * d[v] * bias) * shrink
        if U.shape[0] > 0:
            c[v, k] += t[0] * (new - b[v, k])
        b[v, k] = new
    d[v] *= shrink


# --- the loop -----------------------------------------------------------------


@njit
def learn(
    rows,
    order,
    first,
    y,
    weight,
    model,
    S,
    bias,
    coupling,
    rule,
    gamma,
    C,
    phi,
    scores,
    nonfinite_row,
):
    """One pass over the rows in ``order`` from place ``first`` on.

    ``W``, ``U`` and ``scores`` have a class axis, of length 1 for two classes;
    ``y`` is then -1 or +1 a row, and otherwise the class's number.  ``scores[i]``
    becomes what row i scored just before it was learned.  A row whose x·x is
    not finite is passed over and its number put into ``nonfinite_row[0]``.  Returns the
    place of the first row that was not learned because a low-rank covariance
    has no room for it; the length of the order if there is none.
    """
    x, j, indptr, shared, ptr, present = rows
    W, b, U, c, t = model
    form, D, d = S.form, S.D, S.d
    average = U.shape[0] > 0
    V, K = ptr.shape[0] - 1, W.shape[1]
    several, diagonal = K > 1, form not in (FULL, LOW_RANK)
    w, u = W.reshape(-1), U.reshape(-1)
    # one vector of weights and a diagonal are changed in one go, and for a pass that is
    # long enough to pay for it they lie side by side
    at_once = diagonal and not several and not average and rule != SOP
    paired = at_once and np.int64(indptr[-1]) > D.shape[0]
    wq, Dq, stride, other = w, D, ONE, ZERO
    if paired:
        wq = interleave(w, D)
        Dq, stride, other = wq, TWO, ONE
    view = np.empty(V, np.int64)  # the present views, in order ...
    start = np.empty(V, np.uint64)  # ... and where each begins and ends in the row
    stop = np.empty(V, np.uint64)
    m, n, P, rho = np.empty(V), np.empty(V), np.empty(V), np.empty(V)
    euclidean = np.empty(V)  # x·x
    places, cut = np.empty(V, np.int64), np.empty(V, np.bool_)  # for the absolute disagreement
    own = np.empty((V, K))
    rival = np.zeros(V, np.int64)  # the wrong class that each view is held against
    joint, past, turn = np.empty(K), np.empty(K), np.empty(K)
    # scratch of the forms: rows spread out; T'x and S x, or the two solutions of the low rank
    z = np.zeros(D.shape[0] + 1 if form in (FULL, LOW_RANK) else 0)
    f = np.empty(D.shape[0] + V if form == FULL else 0)
    g = np.empty(D.shape[0] + V if form == FULL else 0)
    room = S.begin.shape[1]
    solved, solved_twice = np.empty((V, room)), np.empty((V, room))
    for s in range(first, order.shape[0]):
        prefetch_row(x, j, indptr, shared, order, s + 2)
        i = order[s]
        lo, end = indptr[i], indptr[i + 1]
        offset = lo if shared else ZERO
        # 1. the scores
        here = 0
        size = 0.0
        joint[:] = 0.0
        past[:] = 0.0
        for v in range(V):
            hi = end if v == V - 1 else view_end(j, lo, end, offset, ptr[v + 1])
            if present.shape[0] == 0 or present[i, v]:
                own[here] = bias * b[v]
                if several:
                    norm = dots_and_sqnorm(x, j, lo, hi, offset, W, own[here])
                elif diagonal:
                    score, norm, n[here] = dot_and_sqnorms(
                        x, j, lo, hi, offset, wq, Dq, stride, other
                    )
                    own[here, 0] += score
                    n[here] += bias * d[v]
                else:
                    score, norm = dot_and_sqnorm(x, j, lo, hi, offset, w)
                    own[here, 0] += score
                size += norm
                if norm + bias > 0.0:
                    joint += own[here]
                    view[here], start[here], stop[here] = v, lo, hi
                    euclidean[here] = norm + bias
                    here += 1
                    if average:
                        past += bias * c[v]
                        if several:
                            dots_and_sqnorm(x, j, lo, hi, offset, U, past)
                        else:
                            past[0] += dot_and_sqnorm(x, j, lo, hi, offset, u)[0]
            lo = hi
        scores[i] = joint
        if average and t[0] > 0:
            scores[i] -= past / t[0]
        if coupling != INDEPENDENT and here > 0:
            scores[i] /= here
        if not size < np.inf:
            nonfinite_row[0] = i
            continue
        if here == 0 or weight[i] <= 0.0:
            continue
        # 2. the margins, and which views are to move
        true = np.int64(y[i]) if several else 0
        wrong = best_wrong(joint, true) if several else 0
        total = 0.0
        for a in range(here):
            if several:
                rival[a] = best_wrong(own[a], true) if coupling == INDEPENDENT else wrong
                m[a] = own[a, true] - own[a, rival[a]]
            else:
                m[a] = y[i] * own[a, 0]
            total += m[a]
        # 3. the squared norms in the geometry of S, and the steps
        full_up = False
        for a in range(here):
            P[a] = rho[a] = 0.0
            if may_move(rule, m[a]) if coupling == INDEPENDENT else total < MARGIN_TOL * here:
                v, lo, hi = view[a], start[a], stop[a]
                base, width = np.int64(ptr[v]), np.int64(ptr[v + 1] - ptr[v])
                if form == FULL:
                    n[a] = full_sqnorm(
                        x, j, lo, hi, offset, bias, v, base, width, D, d, S.T, S.triangle_ptr, z,
                        f[base + v :],
                    )  # fmt: skip
                elif form == LOW_RANK:
                    n[a] = low_rank_sqnorm(
                        x, j, lo, hi, offset, bias, v, base, width, S, z, solved[v], solved_twice[v]
                    )
                elif several:
                    n[a] = diagonal_sqnorm(x, j, lo, hi, offset, D) + bias * d[v]
                if several:
                    n[a] *= 2.0
                if coupling == INDEPENDENT:
                    if n[a] < EXHAUSTED * euclidean[a]:
                        continue
                    P[a], rho[a] = step(rule, m[a], n[a], C, phi, weight[i])
                    rho[a] = min(rho[a], MOST_SHRINKAGE / n[a])
                else:
                    rho[a] = weight[i]
                if several and rule >= CW_STDEV:
                    rho[a] *= 2.0
                if form == LOW_RANK and rho[a] > 0.0:
                    full_up |= S.kept[v] == room
                    full_up |= S.used[0] + np.int64(end - indptr[i]) > S.values.shape[0]
        if full_up:
            return s
        if coupling != INDEPENDENT and total < MARGIN_TOL * here:
            coupled_step(coupling, rule, gamma, weight[i] * C, here, m, n, P, places, cut)
        # 4. the update
        for a in range(here):
            if rho[a] == 0.0:
                continue
            v, lo, hi = view[a], start[a], stop[a]
            base, width = np.int64(ptr[v]), np.int64(ptr[v + 1] - ptr[v])
            if several:
                n[a] *= 0.5
                turn[:] = 0.0
                turn[true], turn[rival[a]] = P[a], -P[a]
            else:
                turn[0] = y[i] * P[a]
            if form == FULL:
                full_step(rho[a], v, base, width, D, d, S.T, S.triangle_ptr, f[base + v :], g)
            if rule == SOP:
                for k in range(K):
                    sign = y[i]
                    if several:
                        sign = 1.0 if k == true else -1.0 if k == rival[a] else 0.0
                    turn[k] = rho[a] * sign
                    if form in (FULL, LOW_RANK):
                        turn[k] = rho[a] * (sign - own[a, k]) / (1.0 + rho[a] * n[a])
            if rule == SOP and diagonal:
                sop_diagonal(form, rho[a], n[a], turn, x, j, lo, hi, offset, bias, v, D, d, model)
                continue
            if at_once:
                diagonal_add_and_step(
                    turn[0], form, rho[a], n[a], x, j, lo, hi, offset, wq, Dq, stride, other
                )
                b[v, 0] += turn[0] * bias * d[v]
                d[v] *= shrinkage(form, rho[a], n[a], bias * d[v])
                continue
            for k in range(K):
                if turn[k] != 0.0:
                    add_direction(
                        turn[k],
                        x,
                        j,
                        lo,
                        hi,
                        offset,
                        bias,
                        v,
                        base,
                        width,
                        S,
                        g,
                        solved_twice,
                        W,
                        b,
                        k,
                    )
                    if average:
                        add_direction(
                            t[0] * turn[k], x, j, lo, hi, offset, bias, v, base, width, S, g,
                            solved_twice, U, c, k,
                        )  # fmt: skip
            if form == LOW_RANK:
                low_rank_step(rho[a], n[a], x, j, lo, hi, offset, v, S, solved[v])
            elif diagonal:
                diagonal_step(form, rho[a], n[a], x, j, lo, hi, offset, bias, v, D, d)
        t[0] += 1
    if paired:
        deinterleave(wq, w, D)
    return order.shape[0]
