"""Passes over the rows."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from crossview.batch import read_only
from crossview.estimators.base.learner import ViewLearner
from crossview.estimators.validation import Interval
from crossview.kernels.rows import Rows


class OnlineLearner(ViewLearner):
    """Base of all online learners: passes over the rows."""

    _parameter_constraints: ClassVar[dict] = {
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    # --- what a learner adds --------------------------------------------------

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        """Make one pass of the learner's loop; return the last nonfinite row it skipped, or -1."""
        raise NotImplementedError

    def _first_targets(
        self, y: Any, sample_weight: Any, rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        """Start from the labels of `fit`; return each row's target for the loop, and its weight."""
        raise NotImplementedError

    def check_streams(self) -> None:
        """Raise an error if the learner, with these parameters, cannot learn row after row.

        Raises
        ------
        InputError
            The message names the parameter that needs all rows at once.
        """

    # --- learning ----------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        # nobody checks the values first: the first pass reports a row that is not finite
        rows = self._read(X, reset=True, checked=False)
        target, weight = self._first_targets(y, sample_weight, rows)
        random_state = check_random_state(self.random_state)
        n = len(rows.indptr) - 1
        for epoch in range(self.n_epochs):
            order = random_state.permutation(n) if self.shuffle else np.arange(n)
            _, nonfinite_row = self._pass(rows, order, target, weight)
            if epoch == 0 and nonfinite_row >= 0:
                # a missing view, and then the pass starts again, or an error
                rows = self._read(X, reset=False)
                self._start_state()
                self._pass(rows, order, target, weight)

    def _pass(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Make one pass; return each row's scores just before it was learned, and `_learn`'s."""
        K = self._n_scores()
        scores = np.zeros((len(rows.indptr) - 1, K))
        nonfinite_row = self._learn(
            rows,
            read_only(np.ascontiguousarray(order, dtype=np.int64)),
            read_only(y),
            read_only(weight),
            scores if K > 1 else scores.reshape(-1),
        )
        return scores, nonfinite_row
