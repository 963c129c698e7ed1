"""Squared disagreement: D(s) = ½ sum_{u<v} (s_u - s_v)².

"Two-View Online Learning" (2012) considers it hard to solve (section 3.2); this closed form is new.
"""

from crossview._jit import inlined_borrowing
from crossview.algorithms.rules.pa import LINEAR, QUADRATIC


@inlined_borrowing
def step(slack, gamma, C, V, m, n, P):
    """Solve any number of views in closed form, O(V).

    b_v = 1 / (1/n_v + gamma V), a_v = b_v m_v / n_v, A = sum a, B = sum b;
    tau = V (V (1 - gamma B) - A) / B, clipped to [0, C] (for PA-II the
    denominator grows instead); T = (A + tau B / V) / (1 - gamma B);
    s_v = a_v + (tau / V + gamma T) b_v; P_v = (s_v - m_v) / n_v.

    1 - gamma B is the mean of 1 / (1 + gamma V n_v), which avoids
    cancellation if gamma B is close to 1.
    """
    A = B = all_but = 0.0  # all_but: V (1 - gamma B)
    for v in range(V):
        P[v] = 1.0 / (1.0 + gamma * V * n[v])
        A += P[v] * m[v]
        B += P[v] * n[v]
        all_but += P[v]
    if slack == QUADRATIC:
        tau = max(0.0, (all_but - A) / (B / V + all_but / (2.0 * C)))
    else:
        tau = max(0.0, V * (all_but - A) / B)
        if slack == LINEAR:
            tau = min(tau, C)
    share = tau / V
    T = V * (A + share * B) / all_but
    for v in range(V):
        # (s_v - m_v) / n_v, without cancellation
        P[v] *= share + gamma * (T - V * m[v])
