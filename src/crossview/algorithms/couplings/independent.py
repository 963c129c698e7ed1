"""Independent views: each view learns alone, and their scores are summed."""

from crossview._jit import inlined_borrowing
from crossview.algorithms.rules import pa


@inlined_borrowing
def step(slack, C, V, m, n, P):
    """Write P_v of PA from m_v and n_v."""
    for v in range(V):
        P[v] = pa.step(slack, m[v], n[v], C)
