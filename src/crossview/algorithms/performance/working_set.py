"""The cuts of the quadratic program."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from crossview.algorithms.performance.cut import Cut
from crossview.algorithms.performance.inverse import Metric
from crossview.algorithms.performance.program import ActiveSet

# programs for which a cut may be inactive before a new one takes its place
PATIENCE = 20
# cuts for which there is room at first
ROOM = 16


class Pair(NamedTuple):
    """Weights w, or a cut ``H^-1 gamma``, as two vectors; ``w'H u`` is left·right."""

    left: np.ndarray
    right: np.ndarray

    @property
    def sqnorm(self) -> float:
        """Return ``w'H w``."""
        return float(self.left @ self.right)


class WorkingSet:
    """The cuts at hand, as pairs of vectors, and their program.

    With fewer columns than rows ``H^-1 gamma`` is ``(gamma, H^-1 gamma)``, otherwise
    ``(s, X H^-1 X's)``: left_a·right_b is ``G_ab`` either way, and what is kept is as long as
    the shorter side of X.
    """

    def __init__(self, metric: Metric) -> None:
        X = metric.X
        # the shorter of the two vectors of a product is the one that is accessed at random
        self.X = sp.csc_array(X) if sp.issparse(X) and X.shape[1] > X.shape[0] else X
        self.by_columns = X.shape[1] <= X.shape[0]
        self.metric, self.size = metric, 0
        self.left, self.right = (np.empty((ROOM, min(X.shape))) for _ in range(2))
        self.G, self.delta = np.zeros((ROOM, ROOM)), np.zeros(ROOM)
        self.idle = np.zeros(ROOM, dtype=np.int64)
        self.program, self.near = ActiveSet(), ActiveSet()

    def add(self, cut: Cut) -> Pair:
        """Add a cut, in place of one that has been inactive for long if there is one; return it."""
        delta, s = cut
        worn = np.flatnonzero(self.idle[: self.size] >= PATIENCE)
        slot = int(worn[0]) if len(worn) else self.size
        if slot == len(self.idle):
            self._make_room()
        pair = self._pair(s)
        self.left[slot], self.right[slot] = pair
        self.size = k = max(self.size, slot + 1)
        self.delta[slot], self.idle[slot] = delta, 0
        self.G[slot, :k] = self.G[:k, slot] = self.left[:k] @ pair.right
        return pair

    def _pair(self, s: np.ndarray) -> Pair:
        X, inverse, gram = self.X, self.metric.inverse, self.metric.gram
        if gram is not None:
            wrong = np.flatnonzero(s)
            return Pair(s, gram @ s if 4 * len(wrong) > len(s) else s[wrong] @ gram[wrong])
        gamma = X.T @ s
        if self.by_columns:
            return Pair(gamma, inverse(gamma))
        some = self.program.members[: self.program.n_members]
        if not (inverse.iterative and len(some)):
            return Pair(s, X @ inverse(gamma))
        # solve only for the part of it that is no combination of the active cuts
        known = self.program.closest(self.right[some] @ s)
        rest = inverse(X.T @ (s - known @ self.left[some]), float(np.linalg.norm(gamma)))
        return Pair(s, known @ self.right[some] + X @ rest)

    def _make_room(self) -> None:
        more = len(self.idle)
        self.G = np.pad(self.G, (0, more))
        for name in ("delta", "idle"):
            setattr(self, name, np.pad(getattr(self, name), (0, more)))
        for name in ("left", "right"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.empty_like(old)]))

    def minimize(self, C: float, *, free: bool = False) -> tuple[float, Pair]:
        """Return the least ``½ w'H w + C xi`` over these cuts, and its weights.

        ``free`` says whether xi may be negative.
        """
        k = self.size
        alpha = self.program.solve(self.G, self.delta[:k], C, free=free)
        self.idle[:k] += 1
        pair = self._combine(alpha)
        return float(self.delta[:k] @ alpha) - 0.5 * pair.sqnorm, pair

    def minimize_near(self, C: float, mu: float, center: Pair) -> Pair:
        """Return the weights of least ``½ w'H w + C xi + (mu/2) (w - w_0)'H (w - w_0)``."""
        k = self.size
        delta = (1.0 + mu) * self.delta[:k] - mu * (self.left[:k] @ center.right)
        pair = self._combine(self.near.solve(self.G, delta, C))
        moved = ((own + mu * old) / (1.0 + mu) for own, old in zip(pair, center, strict=True))
        return Pair(*moved)

    def _combine(self, alpha: np.ndarray) -> Pair:
        active = np.flatnonzero(alpha)
        self.idle[active] = 0
        return Pair(*(alpha[active] @ side[active] for side in (self.left, self.right)))

    def scores(self, w: Pair) -> np.ndarray:
        """Return the scores f of weights."""
        return self.X @ w.right if self.by_columns else w.right

    def weights(self, w: Pair) -> np.ndarray:
        """Return weights as a vector."""
        return w.right if self.by_columns else self.metric.inverse(self.X.T @ w.left)
