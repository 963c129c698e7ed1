"""Algorithm 1: a cut, then the weights of each view, for the others' scores of the last round.

With c views in a row and ``m`` the mean of their scores in the last round, the disagreement
is at most ``c sum_v (f_v - m)²``, with equality at those scores.  So with ``Omega_v = I + C2
X_v'diag(c) X_v`` and ``beta_v = C2 X_v'(c m)`` the weights ``w_v = Omega_v^-1 (beta_v +
sum alpha gamma_v)`` lower the value, for the alpha of the program with ``G = sum_v gamma_v'
Omega_v^-1 gamma_v`` and ``delta - sum_v gamma_v'Omega_v^-1 beta_v``, and go on doing so
until it is the minimum.

``published``: (8) to (13) as printed.  The disagreement of view j is with the views u < j only,
and j has an alpha of its own while the other views' scores are fixed.  The views have xi in
common, so such rounds may stop, or cycle, above the minimum; with all views summed too.
"""

import numpy as np

from crossview.algorithms.performance.cut import Cut, Search
from crossview.algorithms.performance.disagreement import ViewBlocks, scale_rows
from crossview.algorithms.performance.inverse import Inverse
from crossview.algorithms.performance.program import solve_program
from crossview.algorithms.performance.solution import Solution, Stopping, relative_gap
from crossview.algorithms.performance.working_set import WorkingSet

# a tolerance below which rounds go on no further
SMALLEST_TOL = 1e-12


class Rounds:
    """The weights of each view, the cuts so far and their multipliers."""

    def __init__(self, blocks: ViewBlocks, C: float, C2: float, *, published: bool) -> None:
        X, ptr, present, weight = blocks
        V, number = present.shape[1], present.sum(axis=1)
        self.C, self.C2, self.published = C, C2, published
        self.present, self.weight = present, weight
        self.views = [X[:, ptr[v] : ptr[v + 1]] for v in range(V)]
        if published:
            self.number = [present[:, v] * present[:, :v].sum(axis=1) for v in range(V)]
        else:
            self.number = [present[:, v] * np.where(number > 1, number, 0) for v in range(V)]
        self.omega = [
            Inverse(scale_rows(view, np.sqrt(c * weight)), C2)
            for view, c in zip(self.views, self.number, strict=True)
        ]
        self.w = [np.zeros(view.shape[1]) for view in self.views]
        self.f = np.zeros((V, len(present)))
        # of each cut: s, delta, its gamma_v and Omega_v^-1 gamma_v, and its alpha in each view
        self.S, self.delta = np.empty((0, len(present))), np.empty(0)
        self.gamma, self.solved = (
            [np.empty((0, view.shape[1])) for view in self.views] for _ in range(2)
        )
        self.alpha = np.empty((V, 0))

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
        self.alpha = np.pad(self.alpha, ((0, 0), (0, 1)))
        for v, view in enumerate(self.views):
            self.gamma[v] = np.vstack([self.gamma[v], view.T @ cut.s])
            self.solved[v] = np.vstack([self.solved[v], self.omega[v](self.gamma[v][-1])])

    def update(self) -> float:
        """Make one round over the views; return the value over the cuts so far."""
        V, f, weight = len(self.views), self.f, self.weight
        # 1. what the weights of each view would be without cuts: Omega_v^-1 beta_v
        beta = []
        for v in range(V):
            target = f[:v].sum(axis=0) if self.published else f.sum(axis=0)
            pull = self.views[v].T @ (weight * (self.number[v] > 0) * target)
            beta.append(self.omega[v](self.C2 * pull))
        # 2. the program: of all views, or of one after the other
        for group in [[v] for v in range(V)] if self.published else [list(range(V))]:
            self._solve(group, beta)
        # 3. the weights
        for v in range(V):
            self.w[v] = beta[v] + self.alpha[v] @ self.solved[v]
            f[v] = self.views[v] @ self.w[v]
        return self.value(float((self.delta - self.S @ f.sum(axis=0)).max()))

    def _solve(self, group: list[int], beta: list[np.ndarray]) -> None:
        """Set the alpha that the views of the group share, the scores of the others fixed."""
        rest = self.S @ (self.f.sum(axis=0) - self.f[group].sum(axis=0))
        left = self.delta - rest - sum(self.gamma[v] @ beta[v] for v in group)
        start = self.alpha[group[0]] > 0.0
        start[-1] = True
        G = np.sum([self.gamma[v] @ self.solved[v].T for v in group], axis=0)
        self.alpha[group] = solve_program(G, left, self.C, start)


def one_view_at_a_time(
    rounds: Rounds, joint: WorkingSet, search: Search, stop: Stopping
) -> Solution:
    """Minimize problem (7) by rounds over the views.

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
            bound, settle = max(bound, joint.solve_program(rounds.C)[0]), settle / 10.0
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
    bound = max(bound, joint.solve_program(rounds.C)[0])
    history[-1] = bound, value
    return Solution(best, np.array(history), relative_gap(value, bound), len(rounds.delta))
