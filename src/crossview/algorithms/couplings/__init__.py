"""Couplings: joint update steps of several views.

References: Nguyen, Chang, Hui, "Two-View Online Learning", PAKDD 2012, extended to any number
of views, the squared disagreement, the PA and PA-II slacks, missing views and several classes.

Symbols, one example with views v = 1 .. V: label y, margin m_v = y w_v·x_v, squared norm
n_v = x_v'S_v x_v (with the constant feature of the intercept), weight beta_v of the view in the
joint score (1, or learned: `view_weights`), joint loss l = 1 - mean beta_v m_v, aggressiveness C,
disagreement penalty gamma.  Every update is
w_v <- w_v + P_v y S_v x_v, after which view v has the margin s_v = m_v + P_v n_v.  The step
minimizes, if l > 0,

    sum_v (s_v - m_v)² / (2 n_v) + gamma D(s) + slack(max(0, 1 - mean beta_v s_v))

with the disagreement D of the coupling; slack(e) is C e for PA-I, C e² for PA-II, and a hard
constraint for PA.  tau is the Lagrange multiplier of the margin constraint, at most C for PA-I.
The geometry enters only through n_v.

The disagreement may cost more than the loss, and then moves a view away from its label: P_v < 0.
All P_v add up to tau (times the mean of beta); a step that is *forward* is that of the dual with
P_v >= 0, in which the disagreement only says which views take how much of tau.  A view with P_v = 0
is one that no step moves, so the same solutions give it, with n_v as large as that.

A penalty that is *relative* is g times the step of PA for a loss of 1 on a row with the mean n_v,
which is at most C and at most 1 / n: gamma = g min(C, 1 / n) for PA-I.  So g has no unit, and the
disagreement costs g times what the loss may cost, however long the rows are.

A view that is missing or empty (n_v = 0) is skipped; means are over the other views.  With more
than two classes m_v is the score of the true class minus that of the wrong class with the highest
joint score, and n_v doubles.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.algorithms.couplings import absolute, independent, published, squared
from crossview.algorithms.rules import pa

INDEPENDENT, ABSOLUTE, SQUARED, PUBLISHED = range(4)
# by which n_v is multiplied where P_v is to be 0: a power of two, so that n_v comes back, and not
# so large that the tau of the absolute disagreement cannot be told from its neighbors
UNMOVED, MOST_TO_MULTIPLY = 2.0**42, 1e250


class Coupling(NamedTuple):
    """A coupling and its disagreement penalty gamma."""

    kind: int  # one of the numbers above
    gamma: float = 0.0
    forward: bool = False  # whether no view may move away from its label
    relative: bool = False  # whether gamma is a multiple of the step of PA


class ViewSteps(NamedTuple):
    """The margins and squared norms of the present views of a row, and their steps."""

    m: np.ndarray  # (n_views,)
    n: np.ndarray  # (n_views,)
    beta: np.ndarray  # (n_views,)
    P: np.ndarray  # (n_views,): written by `coupled_step`
    view_order: np.ndarray  # int64 (n_views,): scratch of the absolute disagreement
    cut: np.ndarray  # bool (n_views,): the same
    left_out: np.ndarray  # bool (n_views,): scratch of steps that are forward


@inlined_borrowing
def coupled_step(coupling, slack, C, V, steps):
    """Write P_v of V views; ``C`` includes the sample weight."""
    m, n, beta, P = steps.m, steps.n, steps.beta, steps.P
    if coupling.kind == INDEPENDENT:
        independent.step(slack, C, V, m, n, P)
        return
    total = norms = 0.0
    for v in range(V):
        total += beta[v] * m[v]
        norms += n[v]
    if coupling.relative:
        gamma = coupling.gamma * pa.step(slack, 0.0, norms / V, C)
        coupling = Coupling(coupling.kind, gamma, coupling.forward, False)
    if total >= V:  # no joint loss
        for v in range(V):
            P[v] = 0.0
    elif V == 1:
        P[0] = beta[0] * pa.step(slack, beta[0] * m[0], beta[0] * beta[0] * n[0], C)
    elif coupling.kind == PUBLISHED:
        published.step(coupling.gamma, C, m, n, P)
    elif coupling.forward:
        forward_step(coupling, slack, C, V, steps)
    else:
        exact_step(coupling, slack, C, V, steps)


@borrowing
def exact_step(coupling, slack, C, V, steps):
    """Write P_v of two or more views with a joint loss."""
    if coupling.kind == SQUARED:
        squared.step(slack, coupling.gamma, C, V, steps)
    elif V == 2:
        absolute.two_view_step(slack, coupling.gamma, C, steps)
    else:
        absolute.step(slack, coupling.gamma, C, V, steps)


@borrowing
def forward_step(coupling, slack, C, V, steps):
    """Write P_v >= 0: leave out the view that would move away the furthest, until there is none."""
    n, P, left_out = steps.n, steps.P, steps.left_out
    for v in range(V):
        left_out[v] = False
    for _ in range(V):
        exact_step(coupling, slack, C, V, steps)
        worst = -1
        for v in range(V):
            if P[v] < 0.0 and not left_out[v] and (worst < 0 or P[v] < P[worst]):
                worst = v
        if worst < 0 or n[worst] > MOST_TO_MULTIPLY:
            break
        left_out[worst] = True
        n[worst] *= UNMOVED
    for v in range(V):
        if left_out[v]:
            n[v] /= UNMOVED
            P[v] = 0.0
