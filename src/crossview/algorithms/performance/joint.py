"""Cutting planes for all views at once.

The dual's value bounds the minimum from below, any w from above.  The next cut is ours: at a
point a small step from the best weights towards the program's (as a line search would choose
it; Franc and Sonnenburg, "Optimized cutting plane algorithm", ICML 2008).  At the program's
weights themselves, as published, it takes up to eight times as many cuts.
"""

import numpy as np

from crossview.algorithms.performance.cut import Search
from crossview.algorithms.performance.solution import Solution, Stopping, relative_gap
from crossview.algorithms.performance.working_set import WorkingSet

# the part of the way from the best weights to the program's: at first and at least, and its
# factor after a better and after a worse value
FIRST_STEP, SHORTEST_STEP, LONGER, SHORTER = 0.1, 0.02, 1.5, 0.5
# if even steps below this lead to worse values, a cut at the program's weights is added
SHORT_STEP = 0.05


def cutting_planes(cuts: WorkingSet, search: Search, C: float, stop: Stopping) -> Solution:
    """Minimize problem (7), ``½ w'H w + C xi``, starting from the cuts at hand."""
    # 1. the weights that are best for these cuts
    nothing = np.zeros(min(cuts.X.shape))
    bound, left, right = cuts.solve_program(C) if cuts.size else (0.0, nothing, nothing)
    best = left, right
    value, step = np.inf, FIRST_STEP
    history: list[tuple[float, float]] = []
    while len(history) < stop.max_iter:
        # 2. a cut between the best weights so far and the program's
        before = value
        for t in (step, 1.0) if step < SHORT_STEP else (step,):
            here = best[0] + t * (left - best[0]), best[1] + t * (right - best[1])
            f = cuts.scores(here[1])
            cut = search(f)
            found = 0.5 * float(here[0] @ here[1]) + C * max(0.0, cut.delta - float(cut.s @ f))
            if found < value:
                value, best = found, here
            cuts.add(cut)
        step = min(1.0, LONGER * step) if value < before else max(SHORTEST_STEP, SHORTER * step)
        # 3. the program with these too
        below, left, right = cuts.solve_program(C)
        bound = max(bound, below)
        history.append((bound, value))
        if relative_gap(value, bound) <= stop.tol:
            break
    gap = relative_gap(value, bound)
    return Solution(cuts.weights(*best), np.array(history), gap, cuts.size)
