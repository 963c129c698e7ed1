"""Couplings: joint update steps of several views.

References: Nguyen, Chang, Hui, "Two-View Online Learning", PAKDD 2012, extended to any number
of views, the squared disagreement, the PA and PA-II slacks, missing views and several classes.

Symbols, one example with views v = 1 .. V: label y, margin m_v = y w_v·x_v, squared norm
n_v = x_v'S_v x_v (with the constant feature of the intercept), joint loss l = 1 - mean m_v,
aggressiveness C, disagreement penalty gamma.  Every update is
w_v <- w_v + P_v y S_v x_v, after which view v has the margin s_v = m_v + P_v n_v.  The step
minimizes, if l > 0,

    sum_v (s_v - m_v)² / (2 n_v) + gamma D(s) + slack(max(0, 1 - mean s_v))

with the disagreement D of the coupling; slack(e) is C e for PA-I, C e² for PA-II, and a hard
constraint for PA.  tau is the Lagrange multiplier of the margin constraint, at most C for PA-I.
The geometry enters only through n_v.

A view that is missing or empty (n_v = 0) is skipped; means are over the other views.  With more
than two classes m_v is the score of the true class minus that of the wrong class with the highest
joint score, and n_v doubles.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import inlined_borrowing
from crossview.algorithms.couplings import absolute, independent, published, squared
from crossview.algorithms.rules import pa

__all__ = [
    "ABSOLUTE",
    "INDEPENDENT",
    "PUBLISHED",
    "SQUARED",
    "Coupling",
    "ViewSteps",
    "coupled_step",
]

INDEPENDENT, ABSOLUTE, SQUARED, PUBLISHED = range(4)


class Coupling(NamedTuple):
    """A coupling and its disagreement penalty gamma."""

    kind: int  # one of the numbers above
    gamma: float = 0.0


class ViewSteps(NamedTuple):
    """The margins and squared norms of the present views of a row, and their steps."""

    m: np.ndarray  # (n_views,)
    n: np.ndarray  # (n_views,)
    P: np.ndarray  # (n_views,): written by `coupled_step`
    view_order: np.ndarray  # int64 (n_views,): scratch of the absolute disagreement
    cut: np.ndarray  # bool (n_views,): the same


@inlined_borrowing
def coupled_step(coupling, slack, C, V, steps):
    """Write P_v of V views; ``C`` includes the sample weight."""
    m, n, P, _, _ = steps
    if coupling.kind == INDEPENDENT:
        independent.step(slack, C, V, m, n, P)
        return
    total = 0.0
    for v in range(V):
        total += m[v]
    if total >= V:  # no joint loss
        for v in range(V):
            P[v] = 0.0
    elif V == 1:
        P[0] = pa.step(slack, m[0], n[0], C)
    elif coupling.kind == SQUARED:
        squared.step(slack, coupling.gamma, C, V, m, n, P)
    elif coupling.kind == PUBLISHED:
        published.step(coupling.gamma, C, m, n, P)
    elif V == 2:
        absolute.two_view_step(slack, coupling.gamma, C, m, n, P)
    else:
        absolute.step(slack, coupling.gamma, C, V, steps)
