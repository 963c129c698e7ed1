"""Passive-aggressive learning: PA, PA-I and PA-II.

Reference: Crammer, Dekel, Keshet, Shalev-Shwartz, Singer, "Online
Passive-Aggressive Algorithms", JMLR 7 (2006), sections 3, 5 and 9.

The step solves min ½|w - w_t|² + slack(l), with the hinge loss l = max(0, 1 - m): the slack is
not allowed (PA), C l (PA-I) or C l² (PA-II).
"""

from crossview._jit import inlined_borrowing

# the slack term: hard constraint, C l, C l²
HARD, LINEAR, QUADRATIC = 0, 1, 2


@inlined_borrowing
def step(slack, m, n, C):
    """P = l / n (PA), min(C, l / n) (PA-I), l / (n + 1/(2C)) (PA-II); 0 where l = 0."""
    loss = 1.0 - m
    if loss <= 0.0:
        return 0.0
    if slack == LINEAR:
        return min(C, loss / n)
    if slack == QUADRATIC:
        return loss / (n + 0.5 / C)
    return loss / n
