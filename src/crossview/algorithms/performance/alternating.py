"""Algorithm 1 as printed: a cut, then the weights of one view after the other, (8) to (13).

The disagreement of view j is with the views u < j only, whose scores are those of the last round:
``Omega_j = I + C2 sum_u X_j'X_j``, ``beta_j = C2 sum_u X_j'f_u``, and ``w_j = Omega_j^-1 (beta_j +
sum alpha gamma_j)`` for an alpha of its own.  The views have xi in common, so such rounds may
stop, or cycle, above the minimum; with all views summed too.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from crossview.algorithms.performance.cut import Cut, Search
from crossview.algorithms.performance.disagreement import ViewBlocks, dense, scale_rows
from crossview.algorithms.performance.program import ActiveSet
from crossview.algorithms.performance.solution import Solution, Stopping, relative_gap
from crossview.algorithms.performance.working_set import WorkingSet

# a tolerance below which rounds go on no further
SMALLEST_TOL = 1e-12


class Rounds:
    """The weights of each view, the cuts so far and their multipliers."""

    def __init__(self, blocks: ViewBlocks, C: float, C2: float) -> None:
        present, V = blocks.present, blocks.present.shape[1]
        self.C, self.C2, self.present, self.weight = C, C2, present, blocks.weight
        self.views = blocks.views()
        # of each view: in which rows, and with how many views, its scores shall agree
        self.number = [present[:, v] * present[:, :v].sum(axis=1) for v in range(V)]
        self.omega = []
        for view, number in zip(self.views, self.number, strict=True):
            gram = dense(view.T @ scale_rows(view, number * self.weight))
            self.omega.append(cho_factor(np.eye(len(gram)) + C2 * gram))
        self.w = [np.zeros(view.shape[1]) for view in self.views]
        self.f = np.zeros((V, len(present)))
        # of each cut: s, delta, its gamma_v and Omega_v^-1 gamma_v
        self.S, self.delta = np.empty((0, len(present))), np.empty(0)
        self.gamma, self.solved = (
            [np.empty((0, view.shape[1])) for view in self.views] for _ in range(2)
        )
        self.programs = [ActiveSet() for _ in range(V)]

    def value(self, xi: float) -> float:
        """Return the objective (7) of the weights, with this slack."""
        f, V = self.f, len(self.views)
        disagreement = 0.0
        for v in range(V):
            for u in range(v):
                both = self.present[:, u] & self.present[:, v]
                disagreement += float(self.weight[both] @ (f[u, both] - f[v, both]) ** 2)
        norm = sum(float(part @ part) for part in self.w)
        return 0.5 * (norm + self.C2 * disagreement) + self.C * max(0.0, xi)

    def add(self, cut: Cut) -> None:
        """Add a cut."""
        self.S, self.delta = np.vstack([self.S, cut.s]), np.append(self.delta, cut.delta)
        for v, view in enumerate(self.views):
            gamma = view.T @ cut.s
            self.gamma[v] = np.vstack([self.gamma[v], gamma])
            self.solved[v] = np.vstack([self.solved[v], cho_solve(self.omega[v], gamma)])

    def update(self) -> float:
        """Make one round over the views; return the value over the cuts so far."""
        f, last = self.f, self.f.copy()
        for v, (view, program) in enumerate(zip(self.views, self.programs, strict=True)):
            # 1. the weights without cuts: Omega_v^-1 beta_v
            pull = view.T @ (self.weight * (self.number[v] > 0) * last[:v].sum(axis=0))
            beta = cho_solve(self.omega[v], self.C2 * pull)
            # 2. the program, the scores of the others fixed
            rest = self.S @ (last.sum(axis=0) - last[v])
            delta = self.delta - rest - self.gamma[v] @ beta
            alpha = program.solve(self.gamma[v] @ self.solved[v].T, delta, self.C)
            # 3. the weights
            self.w[v] = beta + alpha @ self.solved[v]
            f[v] = view @ self.w[v]
        return self.value(float((self.delta - self.S @ f.sum(axis=0)).max()))


def one_view_at_a_time(
    rounds: Rounds, joint: WorkingSet, search: Search, stop: Stopping
) -> Solution:
    """Lower the value of problem (7) by rounds over the views.

    If a round changes the value over the cuts at hand by less than a tolerance, the dual of
    all views over these cuts, which are ``joint``, says how far it is to the minimum; if that is
    more than ``stop.tol``, rounds go on with a tenth of the tolerance.
    """
    value, model, change, settle, bound = np.inf, np.inf, np.inf, stop.tol, 0.0
    history: list[tuple[float, float]] = []
    while True:
        # 1. the most violated labeling
        f = rounds.f.sum(axis=0)
        cut = search(f)
        found = rounds.value(cut.delta - float(cut.s @ f))
        if found < value:
            best, value = np.concatenate(rounds.w), found
        # 2. the gap, where rounds have settled
        if change <= settle * value and value - model <= settle * value:
            bound, settle = max(bound, joint.minimize(rounds.C)[0]), settle / 10.0
        history.append((bound, value))
        if relative_gap(value, bound) <= stop.tol or len(history) == stop.max_iter:
            break
        if settle < SMALLEST_TOL:
            break
        # 3. a round over the views, with this cut too
        joint.add(cut)
        rounds.add(cut)
        before, model = model, rounds.update()
        change = abs(before - model)
    bound = max(bound, joint.minimize(rounds.C)[0])
    history[-1] = bound, value
    return Solution(best, np.array(history), relative_gap(value, bound), len(rounds.delta))
