"""Base class of the online learners."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from crossview.batch import read_only
from crossview.errors import InputError
from crossview.estimators.base.learner import ViewLearner
from crossview.estimators.validation import Interval
from crossview.kernels.rows import Rows


class OnlineLearner(ViewLearner):
    """Base class of the online learners: passes over the rows."""

    _parameter_constraints: ClassVar[dict] = {
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    # --- to be implemented by subclasses --------------------------------------

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        """Make one pass over the rows; return the last nonfinite row that was skipped, or -1.

        The state is as without such rows, and their scores are NaN.
        """
        raise NotImplementedError

    def _first_targets(
        self, y: Any, sample_weight: Any, rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        """Initialize from the labels of `fit`; return the encoded targets and the weights."""
        raise NotImplementedError

    def _finish_fit(
        self, X: Any, y: Any, sample_weight: Any, scores: np.ndarray, order: np.ndarray
    ) -> None:
        """Do what follows the passes of `fit`; ``scores`` and ``order`` are of the last one."""

    def check_streams(self) -> None:
        """Raise an error if these parameters do not allow `partial_fit`.

        Raises
        ------
        InputError
            The message names the parameter that needs all rows in memory.
        """

    # --- learning ----------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        # the values are not checked in advance: the first pass reports a nonfinite row
        rows = self._read(X, reset=True, checked=False)
        target, weight = self._first_targets(y, sample_weight, rows)
        random_state = check_random_state(self.random_state)
        n = len(rows.indptr) - 1
        for epoch in range(self.n_epochs):
            order = random_state.permutation(n) if self.shuffle else np.arange(n)
            scores, nonfinite_row = self._pass(rows, order, target, weight)
            if epoch == 0 and nonfinite_row >= 0:
                # the row has a missing view, and the pass is repeated; or reading raises an error
                rows = self._read(X, reset=False)
                self._restart()
                scores, nonfinite_row = self._pass(rows, order, target, weight)
            self._check_learned(nonfinite_row)
        self._finish_fit(X, y, sample_weight, scores[order], order)

    def _check_learned(self, nonfinite_row: int, *, alone: bool = False) -> None:
        """Raise an error if a pass has left out a row; all others were learned."""
        if nonfinite_row >= 0:
            raise InputError(
                "is too large or too small to be learned: its squared norm, or the step that it "
                "takes, is not finite"
                + ("" if alone else "; all other rows were learned")
                + ". Scale the columns, or leave the row out",
                row=None if alone else int(nonfinite_row),
            )

    def _pass(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Make one pass; return the scores before each update, and a nonfinite row or -1."""
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
