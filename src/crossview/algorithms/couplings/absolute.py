"""Absolute disagreement: D(s) = sum_{u<v} |s_u - s_v|.

Reference: Nguyen, Chang, Hui, "Two-View Online Learning" (2012), section 3.3, solved exactly
and extended to more than two views.
"""

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.algorithms.rules.pa import LINEAR, QUADRATIC

# Newton's method on tau converges in a few steps; the limit is a safeguard
NEWTON_STEPS = 100


@inlined_borrowing
def two_view_step(slack, gamma, C, steps):
    """Solve two views in closed form.

    Maximizes the concave dual D(tau, delta) = tau l + delta (m_A - m_B)
    - n_A P_A^2 / 2 - n_B P_B^2 / 2 [- tau^2 / (4C) for PA-II] over 0 <= tau <= C and
    |delta| <= gamma: the stationary point if it lies in the box, else the best of the
    edges.  P_A = beta_A tau/2 - delta, P_B = beta_B tau/2 + delta.
    """
    mA, mB, nA, nB = steps.m[0], steps.m[1], steps.n[0], steps.n[1]
    bA, bB = steps.beta[0], steps.beta[1]
    loss = 1.0 - 0.5 * (bA * mA + bB * mB)
    most = C if slack == LINEAR else np.inf
    soft = 0.5 / C if slack == QUADRATIC else 0.0

    # the stationary point: a 2 x 2 system, solved without cancellation
    a = 0.25 * (bA * bA * nA + bB * bB * nB) + soft
    half = 0.5 * (bA * nA - bB * nB)
    mean = 0.5 * (bA + bB)
    lA, lB = 1.0 - mean * mA, 1.0 - mean * mB
    det = mean * mean * nA * nB + soft * (nA + nB)
    tau = (nA * lB + nB * lA) / det
    delta = (0.5 * (bA * nA * lB - bB * nB * lA) + soft * (mA - mB)) / det
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
            PA_, PB_ = 0.5 * bA * t - d, 0.5 * bB * t + d
            value = t * loss + d * (mA - mB)
            value -= 0.5 * (nA * PA_ * PA_ + nB * PB_ * PB_ + soft * t * t)
            if value > best:
                best, tau, delta = value, t, d
    steps.P[0] = 0.5 * bA * tau - delta
    steps.P[1] = 0.5 * bB * tau + delta


@borrowing
def margins(gamma, tau, V, steps):
    """Return mean beta s and its slope in tau, where the margins s solve the step for a given tau.

    They minimize sum_v (s_v - t_v)^2 / (2 n_v) + gamma sum_{u<v} |s_u - s_v| with
    t_v = m_v + tau beta_v n_v / V.  Views with equal s form a group; a group with
    ``above`` views over it and ``below`` views under it has

        s = (sum m_v / n_v + tau sum beta_v / V + gamma size (above - below)) / sum 1 / n_v.

    A group is split if the sum of the k largest forces of its views exceeds
    gamma k (size - k), the largest force of the penalty between the two parts.
    (The penalty is the Lovasz extension of
    gamma k (V - k), and this is the decomposition algorithm of Groenevelt 1991
    for it: exact, at most V - 1 splits.)  The margins
    are left in ``steps.P``.
    """
    m, n, beta, s, order, cut, _ = steps
    for v in range(V):
        order[v] = v
        cut[v] = False  # cut[p]: a group begins at position p of the order, highest first
    mean = slope = 0.0
    low = 0
    while low < V:
        high = low + 1
        while high < V and not cut[high]:
            high += 1
        size = high - low
        a = b = share = 0.0
        for p in range(low, high):
            a += m[order[p]] / n[order[p]]
            b += 1.0 / n[order[p]]
            share += beta[order[p]] / V
        drift = gamma * (low - (V - high))
        level = (a + tau * share + size * drift) / b
        # the force on each view, largest first
        for p in range(low, high):
            v = order[p]
            s[v] = (m[v] - level) / n[v] + tau * beta[v] / V + drift
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
        mean += share * level
        slope += share * share / b
        low = high
    return mean, slope


@borrowing
def step(slack, gamma, C, V, steps):
    """Solve any number of views exactly.

    1 - mean beta s falls piecewise linearly with tau, so Newton's method between
    bounds ends after a few steps at the tau where it is 0 (tau / (2C) for
    PA-II), or at C.
    """
    m, n, P = steps.m, steps.n, steps.P
    low, high = 0.0, C if slack == LINEAR else np.inf
    soft = 0.5 / C if slack == QUADRATIC else 0.0
    tau = 0.0
    for _ in range(NEWTON_STEPS):
        mean, slope = margins(gamma, tau, V, steps)
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
