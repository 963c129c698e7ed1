"""Early stopping by the loss on held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def split_held_out(
    n: int,
    fraction: float,
    labels: np.ndarray | None,
    weight: np.ndarray,
    random_state: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Split n rows into training rows and held-out rows, stratified by ``labels``.

    The held-out part is empty if it would take all rows, or only rows of weight 0.  The split is
    not stratified if a class has too few rows.
    """
    rows = np.arange(n)
    n_held_out = int(np.ceil(fraction * n))
    if labels is not None:
        _, counts = np.unique(labels, return_counts=True)
        smaller = min(n_held_out, n - n_held_out)
        if counts.min() < 2 or smaller < len(counts):
            labels = None
    if n_held_out >= n or not weight.any():
        return rows, rows[:0]
    from sklearn.model_selection import train_test_split  # it takes long to load

    train, held_out = train_test_split(
        rows, test_size=n_held_out, stratify=labels, random_state=random_state
    )
    if not weight[held_out].any():
        return rows, rows[:0]
    return np.sort(train), np.sort(held_out)


class EarlyStopping:
    """Early stopping: evaluates the held-out loss, and keeps the best parameters.

    held_out_loss: returns the held-out loss of the current parameters; None if no rows are held
      out.
    copy_parameters: returns a copy of the current parameters.
    tol: relative decrease of the loss that counts as an improvement.
    n_iter_no_change: number of passes without improvement before stopping.
    """

    def __init__(
        self,
        held_out_loss: Callable[[], float] | None,
        copy_parameters: Callable[[], Any],
        *,
        tol: float,
        n_iter_no_change: int,
    ) -> None:
        self.held_out_loss = held_out_loss
        self.copy_parameters = copy_parameters
        self.tol, self.n_iter_no_change = tol, n_iter_no_change
        self.history: list[float] = []
        self.n_iter = 0
        self.best_loss, self.best_iter = np.inf, 0
        self.best_parameters: Any = None
        # the last loss that was an improvement by ``tol``, and its pass
        self.goal, self.goal_iter = np.inf, 0
        self.initial_loss = np.inf if held_out_loss is None else held_out_loss()

    def after_each(self) -> bool:
        """Record the loss after a pass; return whether to stop."""
        self.n_iter += 1
        if self.held_out_loss is None:
            return False
        loss = self.held_out_loss()
        self.history.append(loss)
        if loss < self.best_loss:
            self.best_loss, self.best_iter = loss, self.n_iter
            self.best_parameters = self.copy_parameters()
        if loss < self.goal * (1.0 - self.tol):
            self.goal, self.goal_iter = loss, self.n_iter
        return self.n_iter - self.goal_iter >= self.n_iter_no_change

    @property
    def diverged(self) -> bool:
        """Return whether even the best loss is far above the initial one."""
        return bool(self.history) and not self.best_loss < 10.0 * max(self.initial_loss, 1.0)
