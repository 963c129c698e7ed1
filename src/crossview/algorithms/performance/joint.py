"""Cutting planes for all views at once.

The dual's value bounds the minimum from below, any w from above.  The next cut is ours: at the
weights of a program that also keeps them near the best so far, w_0 (a proximal bundle method),

    min  ½ w'H w + C xi + (mu/2) (w - w_0)'H (w - w_0).

Its dual has the same G, with ``(1 + mu) delta - mu gamma·w_0`` in place of delta, and its weights
are ``(H^-1 sum alpha gamma + mu w_0) / (1 + mu)``.  At the weights of the program without mu, as
published, it takes up to eight times as many cuts.
"""

import numpy as np

from crossview.algorithms.performance.cut import Search, Solution, Stopping, relative_gap
from crossview.algorithms.performance.working_set import WorkingSet

# mu at first, its range, and its factor after a worse value, and its divisor after a better one
FIRST_MU, SMALLEST_MU, LARGEST_MU, FACTOR = 10.0, 1.0, 1000.0, 1.5


def cutting_planes(cuts: WorkingSet, search: Search, C: float, stop: Stopping) -> Solution:
    """Minimize problem (7), ``½ w'H w + C xi``, starting from the cuts at hand."""
    bound, here = cuts.minimize(C)
    best, value, mu = here, np.inf, FIRST_MU
    history: list[tuple[float, float]] = []
    while True:
        # 1. the most violated labeling
        cut = search(cuts.scores(here))
        gamma = cuts.add(cut)
        found = 0.5 * here.sqnorm + C * max(0.0, cut.delta - float(gamma.left @ here.right))
        mu = max(SMALLEST_MU, mu / FACTOR) if found < value else min(LARGEST_MU, mu * FACTOR)
        if found < value:
            value, best = found, here
        # 2. the bound with this cut
        bound = max(bound, cuts.minimize(C)[0])
        history.append((bound, value))
        if relative_gap(value, bound) <= stop.tol or len(history) == stop.max_iter:
            break
        # 3. the weights near the best so far
        here = cuts.minimize_near(C, mu, best)
    gap = relative_gap(value, bound)
    return Solution(cuts.weights(best), np.array(history), gap, cuts.size)
