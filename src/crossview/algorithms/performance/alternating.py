"""Algorithm 1 as printed: a cut, then the weights of one view after the other, (8) to (13).

xi is free and the true labeling no cut, so that the sum of alpha is C.  Only the sign of the last
term of (13) is ours.

The disagreement of view j is with the views u < j only, whose scores are those of the last round:
``Omega_j = I + C2 sum_u X_j'X_j``, ``beta_j = C2 sum_u X_j'f_u``, and ``w_j = Omega_j^-1 (beta_j +
sum alpha gamma_j)`` for an alpha of its own.  The views have xi in common, so such rounds may
stop, or cycle, above the minimum; with all views summed too.  The weights are those of the last
round, of whatever value.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from crossview.algorithms.performance.cut import Cut, Search, Solution, Stopping, relative_gap
from crossview.algorithms.performance.disagreement import ViewBlocks, dense, scale_rows
from crossview.algorithms.performance.program import ActiveSet
from crossview.algorithms.performance.working_set import WorkingSet

# scores that change by less, relative to the largest, do not change
UNCHANGED = 1e-12


class Rounds:
    """The weights of each view, the cuts so far and their multipliers."""

    def __init__(self, blocks: ViewBlocks, C: float, C2: float) -> None:
        present, V = blocks.present, blocks.present.shape[1]
        self.C, self.C2, self.present, self.weight = C, C2, present, blocks.weight
        self.views = blocks.views()
        # of each view: in which rows, and with how many views, its scores shall agree
        self.number = [present[:, v] * present[:, :v].sum(axis=1) for v in range(V)]
        self.inverses = [
            inverse_of_omega(view, C2 * number * self.weight)
            for view, number in zip(self.views, self.number, strict=True)
        ]
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
        return 0.5 * (norm + self.C2 * disagreement) + self.C * xi

    def add(self, cut: Cut) -> None:
        """Add a cut."""
        self.S, self.delta = np.vstack([self.S, cut.s]), np.append(self.delta, cut.delta)
        for v, view in enumerate(self.views):
            gamma = view.T @ cut.s
            self.gamma[v] = np.vstack([self.gamma[v], gamma])
            self.solved[v] = np.vstack([self.solved[v], self.inverses[v](gamma)])

    def update(self) -> None:
        """Make one round over the views."""
        f, last = self.f, self.f.copy()
        for v, (view, program) in enumerate(zip(self.views, self.programs, strict=True)):
            # 1. the weights without cuts: Omega_v^-1 beta_v
            pull = view.T @ (self.weight * (self.number[v] > 0) * last[:v].sum(axis=0))
            beta = self.inverses[v](self.C2 * pull)
            # 2. the program, the scores of the others fixed
            rest = self.S @ (last.sum(axis=0) - last[v])
            delta = self.delta - rest - self.gamma[v] @ beta
            alpha = program.solve(self.gamma[v] @ self.solved[v].T, delta, self.C, free=True)
            # 3. the weights
            self.w[v] = beta + alpha @ self.solved[v]
            f[v] = view @ self.w[v]


def inverse_of_omega(X: Any, prices: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return ``b -> (I + X'diag(prices) X)^-1 b``, by a factor of the shorter side of X."""
    if not prices.any():
        return lambda b: b
    X = scale_rows(X, np.sqrt(prices))
    by_rows = X.shape[0] < X.shape[1]
    gram = dense(X @ X.T if by_rows else X.T @ X)
    factor = cho_factor(np.eye(len(gram)) + gram)
    if by_rows:
        return lambda b: b - X.T @ cho_solve(factor, X @ b)
    return lambda b: cho_solve(factor, b)


def one_view_at_a_time(
    rounds: Rounds, joint: WorkingSet, search: Search, stop: Stopping
) -> Solution:
    """Make ``stop.max_iter`` rounds over the views; return the weights of the last one.

    It stops before where they come to the minimum, or where a round changes no score, as all
    later ones would not.  The dual of all views over the cuts, which are ``joint``, is a bound.
    """
    bound, history = -np.inf, []
    cut = search(rounds.f.sum(axis=0), truth=False)
    while True:
        before = rounds.f.copy()
        # 1. a round over the views, with the most violated labeling
        joint.add(cut)
        rounds.add(cut)
        rounds.update()
        # 2. its value
        f = rounds.f.sum(axis=0)
        cut = search(f, truth=False)
        value = rounds.value(cut.delta - float(cut.s @ f))
        bound = max(bound, joint.minimize(rounds.C, free=True)[0])
        history.append((bound, value))
        gap = relative_gap(value, bound)
        stays = np.allclose(rounds.f, before, rtol=0.0, atol=UNCHANGED * np.abs(before).max())
        if gap <= stop.tol or stays or len(history) == stop.max_iter:
            return Solution(np.concatenate(rounds.w), np.array(history), gap, len(rounds.delta))
