"""The cuts of the quadratic program."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.algorithms.performance.cut import Cut
from crossview.algorithms.performance.inverse import Inverse
from crossview.algorithms.performance.program import solve_program

# programs for which a cut may be inactive before a new one takes its place
PATIENCE = 20
# cuts for which there is room at first
ROOM = 16


class WorkingSet:
    """The cuts at hand, each as a pair of vectors, and their products G.

    With fewer columns than rows a cut is ``(gamma, H^-1 gamma)``, otherwise
    ``(s, X H^-1 X's)``: ``G_ab`` is left_a·right_b either way, and what is kept is as long as
    the shorter side of X.  ``keep`` keeps ``s`` in both cases, for `active`.
    """

    def __init__(self, X: Any, solve: Inverse, *, keep: bool) -> None:
        # the shorter of the two vectors of a product is the one that is accessed at random
        wide = sp.issparse(X) and X.shape[1] > X.shape[0]
        self.X, self.solve = sp.csc_array(X) if wide else X, solve
        self.by_columns = X.shape[1] <= X.shape[0]
        self.keep = keep and self.by_columns
        self.size = 0
        self.left, self.right = (np.empty((ROOM, min(X.shape))) for _ in range(2))
        self.s = np.empty((ROOM if self.keep else 0, X.shape[0]))
        self.G = np.zeros((ROOM, ROOM))
        self.delta, self.alpha = np.zeros(ROOM), np.zeros(ROOM)
        self.idle = np.zeros(ROOM, dtype=np.int64)

    def add(self, cut: Cut) -> None:
        """Add a cut, in place of one that has been inactive for long if there is one."""
        delta, s = cut
        worn = np.flatnonzero(self.idle[: self.size] >= PATIENCE)
        slot = int(worn[0]) if len(worn) else self.size
        if slot == len(self.delta):
            self._make_room()
        left, right = self._pair(s)
        self.size = k = max(self.size, slot + 1)
        self.left[slot], self.right[slot] = left, right
        if self.keep:
            self.s[slot] = s
        self.delta[slot], self.alpha[slot], self.idle[slot] = delta, 0.0, -1
        self.G[slot, :k] = self.G[:k, slot] = self.left[:k] @ right

    def _pair(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X, gamma = self.X, self.X.T @ s
        if self.by_columns:
            return gamma, self.solve(gamma)
        some = np.flatnonzero(self.alpha[: self.size])
        if not (self.solve.iterative and len(some)):
            return s, X @ self.solve(gamma)
        # solve only for the part of it that is no combination of the active cuts
        G = self.G[np.ix_(some, some)]
        known = np.linalg.lstsq(G, self.right[some] @ s, rcond=1e-8)[0]
        rest = self.solve(X.T @ (s - known @ self.left[some]), float(np.linalg.norm(gamma)))
        return s, known @ self.right[some] + X @ rest

    def _make_room(self) -> None:
        more = len(self.delta)
        for name in ("left", "right", "s"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.empty_like(old)]))
        self.G = np.pad(self.G, (0, more))
        for name in ("delta", "alpha", "idle"):
            setattr(self, name, np.pad(getattr(self, name), (0, more)))

    def solve_program(self, C: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the dual's value at its solution, and the sums of alpha times left and right."""
        k = self.size
        G, delta = self.G[:k, :k], self.delta[:k]
        start = (self.alpha[:k] > 0.0) | (self.idle[:k] < 0)
        alpha = self.alpha[:k] = solve_program(G, delta, C, start)
        self.idle[:k] = np.where(alpha > 0.0, 0, np.maximum(self.idle[:k], 0) + 1)
        active = np.flatnonzero(alpha)
        left, right = (alpha[active] @ side[active] for side in (self.left, self.right))
        return float(delta @ alpha - 0.5 * left @ right), left, right

    def scores(self, right: np.ndarray) -> np.ndarray:
        """Return the scores f of a sum of right vectors."""
        return self.X @ right if self.by_columns else right

    def weights(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the weights w of a sum of left and right vectors."""
        return right if self.by_columns else self.solve(self.X.T @ left)

    def active(self) -> list[Cut]:
        """Return the cuts that the last program needed; only with ``keep``."""
        s = self.s if self.by_columns else self.left
        return [
            Cut(float(self.delta[i]), s[i].copy()) for i in np.flatnonzero(self.alpha[: self.size])
        ]
