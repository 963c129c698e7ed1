"""How views share one step: independent, absolute or squared disagreement.

References: Nguyen, Chang, Hui, "Two-View Online Learning" (2012), and beyond
it any number of views, the squared disagreement that the paper calls hard, the
PA and PA-II slacks, missing views and several classes.

Symbols, one example with views v = 1 .. V: label y, margin m_v = y w_v·x_v, n_v
= x_v·x_v (the constant feature 1 of the intercept counts), joint loss
l = 1 - mean m_v, C the aggressiveness, gamma the price of disagreement.  Every
update is w_v <- w_v + P_v y x_v, after which view v has the margin
s_v = m_v + P_v n_v.  The step minimizes, where l > 0,

    sum_v (s_v - m_v)^2 / (2 n_v) + gamma D(s) + slack(max(0, 1 - mean s_v))

with D(s) = sum_{u<v} |s_u - s_v| (the paper's) or half the sum of their
squares; slack(e) is C e for PA-I, C e^2 for PA-II, and for PA there is none
allowed.  tau is the multiplier of the margin constraint: at most C for PA-I.

The paper's Algorithm 1 does not minimize its own objective: tau lacks the
factor 2 of its equation (11), alpha - beta is divided by n_A + n_B once too
often, and clipping one after the other is not the joint optimum.  It is kept
as `published_step`.

A view that is missing or empty (n_v = 0) takes no part; means run over the
others.  Several classes: m_v is the score of the true class minus that of the
class that is best among the wrong ones in the joint score, and n_v doubles.
"""

import numpy as np

from crossview._jit import inlined, njit
from crossview.algorithms.first_order import PA_I, PA_II, best_wrong, pa_step
from crossview.kernels.rows import (
    ZERO,
    add,
    add_pair,
    dot_and_sqnorm,
    dots_and_sqnorm,
    prefetch_row,
    view_end,
)

INDEPENDENT, ABSOLUTE, SQUARED, PUBLISHED = 0, 1, 2, 3

# Newton's method on tau: a handful of steps is enough, the bound is a guard
NEWTON_STEPS = 100

# --- scalar equations: steps P_v from margins m_v and norms n_v > 0 of V views ------------


@inlined
def squared_step(rule, gamma, C, V, m, n, P):
    """Squared disagreement, any number of views: closed form, O(V).

    b_v = 1 / (1/n_v + gamma V), a_v = b_v m_v / n_v, A = sum a, B = sum b;
    tau = V (V (1 - gamma B) - A) / B, clipped to [0, C] (for PA-II the
    denominator grows instead); T = (A + tau B / V) / (1 - gamma B);
    s_v = a_v + (tau / V + gamma T) b_v; P_v = (s_v - m_v) / n_v.

    1 - gamma B is the mean of 1 / (1 + gamma V n_v), which keeps its digits
    where gamma B is close to 1.
    """
    A = B = all_but = 0.0  # all_but: V (1 - gamma B)
    for v in range(V):
        P[v] = 1.0 / (1.0 + gamma * V * n[v])
        A += P[v] * m[v]
        B += P[v] * n[v]
        all_but += P[v]
    if rule == PA_II:
        tau = max(0.0, (all_but - A) / (B / V + all_but / (2.0 * C)))
    else:
        tau = max(0.0, V * (all_but - A) / B)
        if rule == PA_I:
            tau = min(tau, C)
    share = tau / V
    T = V * (A + share * B) / all_but
    for v in range(V):
        # (s_v - m_v) / n_v, written so that nothing cancels
        P[v] *= share + gamma * (T - V * m[v])


@inlined
def absolute_two_step(rule, gamma, C, m, n, P):
    """Absolute disagreement, two views: closed form.

    Maximizes the concave dual D(tau, delta) = tau l + delta (m_A - m_B)
    - n_A (tau/2 - delta)^2 / 2 - n_B (tau/2 + delta)^2 / 2 [- tau^2 / (4C) for PA-II]
    over 0 <= tau <= C and |delta| <= gamma: the stationary point if it lies in
    the box, else the best of the edges.  P_A = tau/2 - delta, P_B = tau/2 + delta.
    """
    mA, mB, nA, nB = m[0], m[1], n[0], n[1]
    loss = 1.0 - 0.5 * (mA + mB)
    most = C if rule == PA_I else np.inf
    soft = 0.5 / C if rule == PA_II else 0.0

    # the stationary point: a 2 x 2 system, solved so that nothing cancels
    a = 0.25 * (nA + nB) + soft
    half = 0.5 * (nA - nB)
    det = nA * nB + soft * (nA + nB)
    tau = (nA * (1.0 - mB) + nB * (1.0 - mA)) / det
    delta = (0.5 * (nA * (1.0 - mB) - nB * (1.0 - mA)) + soft * (mA - mB)) / det
    if not (0.0 <= tau <= most and abs(delta) <= gamma):
        best = -np.inf
        for edge in range(4):
            if edge < 2:  # delta at an end, the best tau
                d = gamma if edge == 0 else -gamma
                t = min(max((loss + half * d) / a, 0.0), most)
            else:  # tau at an end, the best delta
                t = 0.0 if edge == 2 else most
                if t == np.inf:
                    continue
                d = min(max((mA - mB + half * t) / (nA + nB), -gamma), gamma)
            PA_, PB_ = 0.5 * t - d, 0.5 * t + d
            value = t * loss + d * (mA - mB)
            value -= 0.5 * (nA * PA_ * PA_ + nB * PB_ * PB_ + soft * t * t)
            if value > best:
                best, tau, delta = value, t, d
    P[0] = 0.5 * tau - delta
    P[1] = 0.5 * tau + delta


@njit
def absolute_margins(gamma, tau, V, m, n, s, order, cut):
    """Margins s for a given tau: the absolute disagreement without the loss.

    Minimizes sum_v (s_v - t_v)^2 / (2 n_v) + gamma sum_{u<v} |s_u - s_v| with
    t_v = m_v + tau n_v / V.  Views with equal s form a group; a group with
    ``above`` views over it and ``below`` views under it has

        s = (sum m_v / n_v + size (tau / V + gamma (above - below))) / sum 1 / n_v.

    It stays together as long as no k of its views, those that pull up hardest,
    pull together harder than the gamma k (size - k) that binds them to the
    rest; else it parts there.  (The penalty is the Lovasz extension of
    gamma k (V - k), and this is the decomposition algorithm of Groenevelt 1991
    for it: exact, at most V - 1 partings.)  Returns mean s and its slope in tau.
    """
    for v in range(V):
        order[v] = v
        cut[v] = False  # cut[p]: a group begins at place p of the order, highest first
    mean = slope = 0.0
    low = 0
    while low < V:
        high = low + 1
        while high < V and not cut[high]:
            high += 1
        size = high - low
        a = b = 0.0
        for p in range(low, high):
            a += m[order[p]] / n[order[p]]
            b += 1.0 / n[order[p]]
        drift = tau / V + gamma * (low - (V - high))
        level = (a + size * drift) / b
        # the pull of each view, strongest first
        for p in range(low, high):
            s[order[p]] = (m[order[p]] - level) / n[order[p]] + drift
        for p in range(low + 1, high):
            v = order[p]
            q = p
            while q > low and s[order[q - 1]] < s[v]:
                order[q] = order[q - 1]
                q -= 1
            order[q] = v
        pull = most = 0.0
        part = 0
        for k in range(1, size):
            pull += s[order[low + k - 1]]
            excess = pull - gamma * k * (size - k)
            if excess > most + 1e-15 * abs(pull):
                most, part = excess, k
        if part > 0:
            cut[low + part] = True
            continue
        for p in range(low, high):
            s[order[p]] = level
        mean += size * level / V
        slope += (size / V) * (size / V) / b
        low = high
    return mean, slope


@njit
def absolute_step(rule, gamma, C, V, m, n, P, order, cut):
    """Absolute disagreement, any number of views: exact.

    1 - mean s falls piecewise linearly with tau, so Newton's method between
    bounds ends after a few steps at the tau where it is 0 (tau / (2C) for
    PA-II), or at C.
    """
    low, high = 0.0, C if rule == PA_I else np.inf
    soft = 0.5 / C if rule == PA_II else 0.0
    tau = 0.0
    for _ in range(NEWTON_STEPS):
        mean, slope = absolute_margins(gamma, tau, V, m, n, P, order, cut)
        left = 1.0 - mean - soft * tau
        if left > 0.0:
            low = tau
        else:
            high = tau
        new = tau + left / (slope + soft)
        if new <= low < tau:  # too far down: halve
            new = 0.5 * (low + tau)
        elif new >= high > tau:  # too far up: try C, or halve
            new = C if high == C else 0.5 * (tau + high)
        new = min(max(new, low), high)
        if abs(new - tau) <= 1e-15 * tau or new == tau:
            break
        tau = new
    for v in range(V):
        P[v] = (P[v] - m[v]) / n[v]


@inlined
def published_step(gamma, C, m, n, P):
    """Two-view PA-I as printed (Algorithm 1), faults included."""
    mA, mB, nA, nB = m[0], m[1], n[0], n[1]
    loss = 1.0 - 0.5 * (mA + mB)
    difference = ((1.0 - mB) / nB - (1.0 - mA) / nA) / (nA + nB)
    alpha = max(0.0, min(gamma, 0.5 * (gamma + difference)))
    beta = max(0.0, min(gamma, 0.5 * (gamma - difference)))
    tau = min(C, ((alpha - beta) * (nA - nB) + 2.0 * loss) / (nA + nB))
    P[0] = 0.5 * tau - (alpha - beta)
    P[1] = 0.5 * tau - (beta - alpha)


@inlined
def coupled_step(coupling, rule, gamma, C, V, m, n, P, order, cut):
    """The steps of the V present views; ``C`` already carries the row's weight."""
    if coupling == INDEPENDENT:
        for v in range(V):
            P[v] = pa_step(rule, m[v], n[v], C)
        return
    total = 0.0
    for v in range(V):
        total += m[v]
    if total >= V:  # no joint loss
        for v in range(V):
            P[v] = 0.0
    elif V == 1:
        P[0] = pa_step(rule, m[0], n[0], C)
    elif coupling == SQUARED:
        squared_step(rule, gamma, C, V, m, n, P)
    elif coupling == PUBLISHED:
        published_step(gamma, C, m, n, P)
    elif V == 2:
        absolute_two_step(rule, gamma, C, m, n, P)
    else:
        absolute_step(rule, gamma, C, V, m, n, P, order, cut)


# --- the loops ----------------------------------------------------------------


@njit
def learn_binary(rows, order, y, weight, model, bias, coupling, rule, gamma, C, scores):
    """One pass over the rows in ``order``; arguments as in `first_order.learn_binary`.

    The joint score is the mean of the views' scores, or their sum where they
    learn independently.
    """
    nonfinite_row = -1
    x, j, indptr, shared, ptr, present = rows
    W, b, U, c, t = model
    average = U.shape[0] > 0
    V = ptr.shape[0] - 1
    view = np.empty(V, np.int64)  # the present views, in order ...
    start = np.empty(V, np.uint64)  # ... and where each begins and ends in the row
    stop = np.empty(V, np.uint64)
    m, n, P = np.empty(V), np.empty(V), np.empty(V)
    places, cut = np.empty(V, np.int64), np.empty(V, np.bool_)  # for the absolute disagreement
    for s in range(order.shape[0]):
        prefetch_row(x, j, indptr, shared, order, s + 2)
        i = order[s]
        lo, end = indptr[i], indptr[i + 1]
        offset = lo if shared else ZERO
        here = 0
        size = 0.0
        score = past = 0.0
        for v in range(V):
            hi = end if v == V - 1 else view_end(j, lo, end, offset, ptr[v + 1])
            if present.shape[0] == 0 or present[i, v]:
                own, norm = dot_and_sqnorm(x, j, lo, hi, offset, W)
                size += norm
                if norm + bias > 0.0:
                    own += bias * b[v]
                    score += own
                    view[here], start[here], stop[here] = v, lo, hi
                    m[here], n[here] = y[i] * own, norm + bias
                    here += 1
                    if average:
                        old, _ = dot_and_sqnorm(x, j, lo, hi, offset, U)
                        past += old + bias * c[v]
            lo = hi
        if average and t[0] > 0:
            score -= past / t[0]
        scores[i] = score if coupling == INDEPENDENT or here == 0 else score / here
        if not size < np.inf:
            nonfinite_row = i
            continue
        if here == 0 or weight[i] <= 0.0:
            continue
        coupled_step(coupling, rule, gamma, weight[i] * C, here, m, n, P, places, cut)
        for a in range(here):
            move = y[i] * P[a]
            if move != 0.0:
                lo, hi = start[a], stop[a]
                add(move, x, j, lo, hi, offset, W)
                b[view[a]] += bias * move
                if average:
                    add(t[0] * move, x, j, lo, hi, offset, U)
                    c[view[a]] += t[0] * bias * move
        t[0] += 1
    return nonfinite_row


@njit
def learn_multiclass(rows, order, y, weight, model, bias, coupling, rule, gamma, C, scores):
    """The same for several classes; ``y`` is the class's number, ``scores`` (n_rows, n_classes).

    Independent views each take the best wrong class of their own.
    """
    nonfinite_row = -1
    x, j, indptr, shared, ptr, present = rows
    W, b, U, c, t = model
    average = U.shape[0] > 0
    V, K = ptr.shape[0] - 1, W.shape[1]
    view = np.empty(V, np.int64)
    start = np.empty(V, np.uint64)
    stop = np.empty(V, np.uint64)
    m, n, P = np.empty(V), np.empty(V), np.empty(V)
    places, cut = np.empty(V, np.int64), np.empty(V, np.bool_)  # for the absolute disagreement
    own = np.empty((V, K))
    rival = np.empty(V, np.int64)  # the wrong class that each view is held against
    joint, past = np.empty(K), np.empty(K)
    for s in range(order.shape[0]):
        prefetch_row(x, j, indptr, shared, order, s + 2)
        i = order[s]
        lo, end = indptr[i], indptr[i + 1]
        offset = lo if shared else ZERO
        here = 0
        size = 0.0
        joint[:] = 0.0
        past[:] = 0.0
        for v in range(V):
            hi = end if v == V - 1 else view_end(j, lo, end, offset, ptr[v + 1])
            if present.shape[0] == 0 or present[i, v]:
                own[here] = bias * b[v]
                norm = dots_and_sqnorm(x, j, lo, hi, offset, W, own[here])
                size += norm
                if norm + bias > 0.0:
                    joint += own[here]
                    view[here], start[here], stop[here] = v, lo, hi
                    n[here] = 2.0 * (norm + bias)
                    here += 1
                    if average:
                        past += bias * c[v]
                        dots_and_sqnorm(x, j, lo, hi, offset, U, past)
            lo = hi
        scores[i] = joint
        if average and t[0] > 0:
            scores[i] -= past / t[0]
        if coupling != INDEPENDENT and here > 0:
            scores[i] /= here
        if not size < np.inf:
            nonfinite_row = i
            continue
        if here == 0 or weight[i] <= 0.0:
            continue
        true = y[i]
        wrong = best_wrong(joint, true)
        for a in range(here):
            rival[a] = best_wrong(own[a], true) if coupling == INDEPENDENT else wrong
            m[a] = own[a, true] - own[a, rival[a]]
        coupled_step(coupling, rule, gamma, weight[i] * C, here, m, n, P, places, cut)
        for a in range(here):
            if P[a] != 0.0:
                lo, hi = start[a], stop[a]
                add_pair(P[a], x, j, lo, hi, offset, W, true, rival[a])
                b[view[a], true] += bias * P[a]
                b[view[a], rival[a]] -= bias * P[a]
                if average:
                    add_pair(t[0] * P[a], x, j, lo, hi, offset, U, true, rival[a])
                    c[view[a], true] += t[0] * bias * P[a]
                    c[view[a], rival[a]] -= t[0] * bias * P[a]
        t[0] += 1
    return nonfinite_row
