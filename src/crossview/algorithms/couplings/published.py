"""The two-view step as published, with its errors.

Reference: Nguyen, Chang, Hui, "Two-View Online Learning" (2012), Algorithm 1.

It does not minimize the paper's objective: tau lacks the factor 2 of equation (11), alpha - beta
is divided by n_A + n_B once too often, and sequential clipping does not give the joint optimum.
"""

from crossview._jit import inlined_borrowing


@inlined_borrowing
def step(gamma, C, m, n, P):
    """Algorithm 1: two views, absolute disagreement, PA-I."""
    mA, mB, nA, nB = m[0], m[1], n[0], n[1]
    loss = 1.0 - 0.5 * (mA + mB)
    difference = ((1.0 - mB) / nB - (1.0 - mA) / nA) / (nA + nB)
    alpha = max(0.0, min(gamma, 0.5 * (gamma + difference)))
    beta = max(0.0, min(gamma, 0.5 * (gamma - difference)))
    tau = min(C, ((alpha - beta) * (nA - nB) + 2.0 * loss) / (nA + nB))
    P[0] = 0.5 * tau - (alpha - beta)
    P[1] = 0.5 * tau - (beta - alpha)
