"""When `fit` stops: by the loss on rows that are held out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

__all__ = ["EarlyStopping", "split_held_out"]


def split_held_out(
    n: int,
    fraction: float,
    labels: np.ndarray | None,
    weight: np.ndarray,
    random_state: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Split n rows into those to learn from and those to hold out, stratified by ``labels``.

    None are held out if all rows would be, or if only rows of weight 0 would be.  Rows are
    not stratified where a class has too few of them.
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
    train, held_out = train_test_split(
        rows, test_size=n_held_out, stratify=labels, random_state=random_state
    )
    if not weight[held_out].any():
        return rows, rows[:0]
    return np.sort(train), np.sort(held_out)


class EarlyStopping:
    """Watches the held-out loss after each pass, and keeps a copy of the best parameters.

    Parameters
    ----------
    held_out_loss : callable or None
        Returns the loss of the parameters as they are; None if no rows are held out.
    copy_parameters : callable
        Returns a copy of the parameters as they are.
    tol : float
        Relative decrease of the loss that counts as one.
    n_iter_no_change : int
        Passes without such a decrease before it is time to stop.
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
        # the lowest loss that was lower by ``tol``, and when
        self.goal, self.goal_iter = np.inf, 0
        self.initial_loss = np.inf if held_out_loss is None else held_out_loss()

    def after_each(self) -> bool:
        """Note the loss after a pass; return True if it is time to stop."""
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
        """Whether even the best loss is far above the initial one."""
        return bool(self.history) and not self.best_loss < 10.0 * max(self.initial_loss, 1.0)
