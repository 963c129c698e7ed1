"""Squared disagreement: D(s) = ½ sum_{u<v} (s_u - s_v)².

"Two-View Online Learning" (2012) considers it hard to solve (section 3.2); this closed form is new.
"""

from crossview._jit import inlined_borrowing
from crossview.algorithms.rules.pa import LINEAR, QUADRATIC


@inlined_borrowing
def step(slack, gamma, C, V, steps):
    """Solve any number of views in closed form, O(V).

    p_v = 1 / (1 + gamma V n_v), E = sum p, A = sum p m, B = sum p beta n, D = sum p beta² n,
    F = sum p beta m, and h = tau / V.  For given tau and T = sum s,

        P_v = (s_v - m_v) / n_v = p_v (h beta_v + gamma (T - V m_v)).

    Summed, this gives T = V (A + h B) / E, because gamma V p_v n_v = 1 - p_v; weighted by beta,
    it gives sum beta s = F + h D + gamma T B.  That is V for h = (E (V - F) - gamma V A B) / (E D +
    gamma V B²), to which PA-II adds E V² / (2C) below; tau is clipped to [0, C].
    """
    m, n, beta, P = steps.m, steps.n, steps.beta, steps.P
    A = B = D = E = F = 0.0
    for v in range(V):
        P[v] = 1.0 / (1.0 + gamma * V * n[v])
        force = P[v] * beta[v]
        A += P[v] * m[v]
        B += force * n[v]
        D += force * beta[v] * n[v]
        E += P[v]
        F += force * m[v]
    curvature = E * D + gamma * V * B * B
    if slack == QUADRATIC:
        curvature += E * V * V / (2.0 * C)
    h = max(0.0, (E * (V - F) - gamma * V * A * B) / curvature)
    if slack == LINEAR:
        h = min(h, C / V)
    T = V * (A + h * B) / E
    for v in range(V):
        P[v] *= h * beta[v] + gamma * (T - V * m[v])
