"""What stacks of classifiers and of regressors share: learning and scoring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms.stacking import history
from crossview.algorithms.stacking.history import History
from crossview.algorithms.stacking.stack import Settings, Stack
from crossview.batch import entries_of, make_rows, read_only, rows_at, whole_matrix
from crossview.errors import InputError
from crossview.estimators.base import ColumnWeights, OnlineLearner
from crossview.estimators.kernel.values import without_overflowing_rows
from crossview.estimators.stacking import state as states
from crossview.estimators.stacking.learned import LearnedStack
from crossview.estimators.validation import Interval
from crossview.kernels.rows import Rows

__all__ = ["Stacking"]

# rows that each expert learns before the next one does: they stay in the cache, and the
# memory for what the experts predict is bounded
ROWS_AT_ONCE = 4096

# for rows that are not learned
NO_HISTORY = history.start(0)._replace(column=read_only(np.empty(0, dtype=np.int64)))


class Stacking(LearnedStack):
    """Base class of the stacks: experts, and the combination of their scores."""

    # one pass: a row that an expert has learned says nothing about its weight
    n_epochs, learns_combination = 1, True  # False in further passes, which teach the experts

    _parameter_constraints: ClassVar[dict] = {
        **{k: v for k, v in OnlineLearner._parameter_constraints.items() if k != "n_epochs"},
        "views": [Mapping, "array-like", None],
        "experts": [list, tuple, None],
        "share": [Interval(Real, 0, 1, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "prune": [Interval(Integral, 1, None, closed="left"), None],
    }

    # --- to be implemented by subclasses ------------------------------------------------

    def _loop(self) -> Callable[..., None]:
        """Return the loop that combines the scores."""
        raise NotImplementedError

    # --- learning and scoring -------------------------------------------------------------

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        nonfinite_row = -1
        if not _squares_are_finite(rows.data):
            skipped = np.flatnonzero(without_overflowing_rows(rows, weight) != weight)
            nonfinite_row, order = int(skipped.max(initial=-1)), order[~np.isin(order, skipped)]
        for lo in range(0, len(order), ROWS_AT_ONCE):
            here = order[lo : lo + ROWS_AT_ONCE]
            out = self._learn_block(rows_at(rows, here), y[here], weight[here])
            scores[here] = out.reshape(len(here), *scores.shape[1:])
        if nonfinite_row >= 0:
            scores[skipped] = np.nan
        return nonfinite_row

    def _learn_block(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Learn some rows, in their order; return the scores before."""
        found = self._experts.learn(rows, y, weight, self._n_inner_scores())
        if not self.learns_combination:
            return self._combined(found)
        found = self._calibrate(found, y, weight)
        alive = np.ones(len(self._experts), dtype=bool)
        column = np.array([expert.column for expert in self._experts])
        past = states.as_history(self._state, read_only(column))
        out = np.empty((len(y), found.shape[2]))
        self._combine(found, (y, weight), states.as_stack(self._state, alive), past, out)
        if not alive.all():
            kept = np.flatnonzero(alive)
            states.keep_experts(self._state, kept)
            self._experts[:] = [self._experts[k] for k in kept]
        return out

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        n = len(rows.indptr) - 1
        positions = np.arange(n)
        out = np.empty((n, self._n_inner_scores()))
        for lo in range(0, n, ROWS_AT_ONCE):
            here = positions[lo : lo + ROWS_AT_ONCE]
            out[here] = self._scores_of_block(rows_at(rows, here))
        return out

    def _scores_of_block(self, rows: Rows) -> np.ndarray:
        return self._combined(self._experts.scores(rows, self._n_inner_scores()))

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        C = self._n_inner_scores()
        row, _ = entries_of(rows)
        scores = self._experts.scores(rows, C)
        without = scores[row] - self._experts.contributions(rows, C)
        return self._combined(scores)[row] - self._combined(without)

    def check_weights(self) -> None:
        """Raise `InputError` if an expert has no weights of columns."""
        for expert in self._experts:
            expert.learner.check_weights()

    def _column_weights(self) -> ColumnWeights:
        raise InputError("the weights of columns are those of the experts, in experts_")

    def _combined(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores of rows from those of the experts, (n, K, n_scores)."""
        found = self._calibrated(scores)
        n, K, C = found.shape
        # rows of weight 0 are combined and not learned
        nothing = np.zeros(n, dtype=np.int64 if C > 1 else np.float64), np.zeros(n)
        copy = {name: value.copy() for name, value in self._state.items() if name != "weights"}
        out = np.empty((n, C))
        stack = states.as_stack(copy, np.ones(K, dtype=bool))
        self._combine(found, nothing, stack, NO_HISTORY, out)
        return out

    def _combine(
        self,
        found: np.ndarray,
        rows: tuple[np.ndarray, np.ndarray],
        stack: Stack,
        past: History,
        out: np.ndarray,
    ) -> None:
        """Run the loop over what the experts predict."""
        y, weight = rows
        settings = Settings(float(self.share), float(self.ridge), int(self.prune or 0))
        rows = read_only(y), read_only(weight)
        self._loop()(read_only(found), rows, stack, settings, past, out)

    def _calibrate(self, found: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return what the experts predict for rows, from their scores, and learn from it."""
        return found

    def _calibrated(self, found: np.ndarray) -> np.ndarray:
        """Return what the experts predict for rows, from their scores."""
        return found

    def _n_inner_scores(self) -> int:
        return 1

    def _n_scores(self) -> int:
        return self._n_inner_scores()

    def view_scores(self, X: Any) -> np.ndarray:
        """Return the score of each view alone, as if all other views were missing.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
            One score per view (and class, for more than two), in the units of the target for a
            regressor; NaN where the view is missing.
        """
        check_is_fitted(self, "_state")
        rows = self._read(X, reset=False)
        n, V = len(rows.indptr) - 1, len(rows.ptr) - 1
        present = rows.present if len(rows.present) else np.ones((n, V), dtype=np.bool_)
        found = np.full((n, V, self._n_scores()), np.nan)
        for v in range(V):
            alone = np.zeros((n, V), dtype=np.bool_)
            alone[:, v] = present[:, v]
            joint = self._joint_scores(make_rows(whole_matrix(rows), self._slots, alone))
            found[present[:, v], v] = self._in_units(joint)[present[:, v]]
        return found[:, :, 0] if found.shape[2] == 1 else found

    def _in_units(self, score: np.ndarray) -> np.ndarray:
        """Return scores in the units of the target."""
        return score


def _squares_are_finite(values: np.ndarray) -> bool:
    """Whether no squared norm of a row can overflow."""
    if not len(values):
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        peak = max(float(values.max()), -float(values.min()))
        return bool(np.isfinite(peak * peak * len(values)))
