"""Base classes of the linear classifiers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms.joint_scores import Averaged, joint_scores
from crossview.algorithms.online import Examples, learn_one_view
from crossview.algorithms.rules import Rule, takes_weights
from crossview.batch import RowBuffers, entries_of, read_only
from crossview.estimators.base.classifier import ViewClassifier
from crossview.estimators.base.learner import ColumnWeights, Takes
from crossview.estimators.base.online import OnlineClassifier
from crossview.estimators.base.road import Bound, OneExample
from crossview.estimators.base.state import State, StatePart
from crossview.estimators.base.weights import LinearWeights
from crossview.estimators.documentation import with_parameters
from crossview.kernels.rows import Rows
from crossview.portable.scoring import ViewSum, split_by_view


class LinearClassifier(ViewClassifier):
    """Base class of the classifiers with a weight per column."""

    _takes: ClassVar[Takes] = "blocks"
    average = False

    # --- to be implemented by subclasses -----------------------------------------

    def _per_view(self) -> bool:
        """True where each view has an intercept and a covariance; else all share one."""
        return False

    def _is_mean(self) -> bool:
        """True where the joint score is the mean of those of the views; else it is their sum."""
        return False

    def _takes_part(self, norms: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """Return which views count in the score of a row, given x·x and whether it is missing."""
        return ~missing

    # --- predicting ----------------------------------------------------------------

    def _scores_of_views(self, rows: Rows) -> np.ndarray:
        return self._scores(rows)[0]

    @property
    def coef_(self) -> np.ndarray:
        """Weights in the order of the columns, (1, n_features) or (n_classes, n_features)."""
        check_is_fitted(self, "classes_")
        W = self._weights(self._state).predicting("W")
        return self._columns.spread(W.T).copy()

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts: one per class, or one per view and class; see the class."""
        check_is_fitted(self, "classes_")
        b = self._weights(self._state).predicting("b")
        if b.shape[1] == 1:
            return b[:, 0]
        return b[0] if len(b) == 1 else b.T

    # --- weights and scores ------------------------------------------------------

    def _portable_scorer(self) -> ViewSum:
        weights = self._weights(self._state)
        tables = split_by_view(weights.predicting("W"), self._slots.ptr)
        # as `_takes_part` has it, of a full and an empty view
        skips_empty = not self._takes_part(np.eye(1, 2), np.zeros((1, 2), dtype=bool)).all()
        return ViewSum.linear(
            tables, weights.predicting("b"), mean=self._is_mean(), skips_empty=skips_empty
        )

    def _weights(self, state: State) -> LinearWeights:
        """Return the weights, and what they are averaged by."""
        n_biases = self._slots.n_views if self._per_view() else 1
        return LinearWeights(state, self, n_biases, bool(self.average))

    def _combine(self, view_scores: np.ndarray, takes_part: np.ndarray) -> np.ndarray:
        """Return joint scores (n_samples, K) from view scores (n_samples, n_views, K)."""
        total = view_scores.sum(axis=1)
        if not self._is_mean():
            return total
        return total / np.maximum(takes_part.sum(axis=1), 1)[:, None]

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        view_scores, takes_part, _ = self._scores(rows)
        view_scores[~takes_part] = 0.0
        return self._combine(view_scores, takes_part)

    def _column_weights(self) -> ColumnWeights:
        return ColumnWeights(self.coef_)

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        row, column = entries_of(rows)
        scores, takes_part, _ = self._scores(rows)
        unit = np.zeros((*scores.shape[:2], 1))
        unit[:, 0] = 1.0
        share = self._combine(unit, takes_part)[row, 0]  # of a view's score in the joint one
        W = self._weights(self._state).predicting("W")
        return (rows.data * share)[:, None] * W[column]

    def _scores(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the view scores, and masks of the views that are scored and that are missing."""
        n, V, weights = len(rows.indptr) - 1, len(rows.ptr) - 1, self._weights(self._state)
        scores, norms = np.zeros((n, V, self._n_scores())), np.empty((n, V))
        weights.add_scores(rows, scores, norms)
        b = weights.predicting("b")
        missing = ~rows.present if len(rows.present) else np.zeros((n, V), dtype=bool)
        takes_part = self._takes_part(norms, missing)
        if len(b) < V:
            # a single intercept is divided equally among the views that take part
            share = takes_part / np.maximum(takes_part.sum(axis=1, keepdims=True), 1)
            scores += share[:, :, None] * b
        else:
            scores += b
        return scores, takes_part, missing


@with_parameters
class LinearOnlineClassifier(LinearClassifier, OnlineClassifier):
    """Base class of the linear online classifiers."""

    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    n_epochs: int = 1
    shuffle: bool = True
    average: bool = False
    class_weight: Any = None
    calibration: str = "sigmoid"
    random_state: Any = None

    def _rule(self) -> Rule:
        """Return the update rule and its parameters."""
        raise NotImplementedError

    @property
    def weighs_rows(self) -> bool:
        """False where the constraint of the update is hard: it has no price to multiply."""
        return takes_weights(self._rule())

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        learn_pass, given = self._pass(Examples(rows, order, y, weight, scores))
        wrong = int(learn_pass(*given))
        if len(rows.present):  # a single intercept is that of the views that take part: of none
            scores[~rows.present.any(axis=1)] = 0.0
        return wrong

    def _bind_learning(self, row: OneExample) -> Bound | None:
        learn_pass, given = self._pass(row.examples())
        bound: Bound = learn_pass.bind(*given)
        return bound

    def _pass(self, examples: Examples) -> tuple[Any, tuple]:
        """Return the pass, here in Euclidean geometry, and its arguments."""
        weights = self._weights(self._state).for_loops()
        scaling = float(self.intercept_scaling) if self.fit_intercept else 0.0
        return learn_one_view, (examples, weights, scaling, self._rule())

    def _can_restart(self) -> bool:
        return True

    def _takes_part(self, norms: np.ndarray, missing: np.ndarray) -> np.ndarray:
        # the intercepts alone score a row without a nonempty view
        nonempty = ~missing & (norms > 0.0)
        if nonempty.all():
            return nonempty
        return np.where(nonempty.any(axis=1, keepdims=True), nonempty, ~missing)

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        scores = np.empty((len(rows.indptr) - 1, self._n_scores()))
        joint_scores(rows, self._averaged(), self._is_mean(), scores)
        return scores

    def _bind_scoring(self, row: RowBuffers, scores: np.ndarray) -> Bound:
        return joint_scores.bind(row.rows, self._averaged(), self._is_mean(), scores)

    def _averaged(self) -> Averaged:
        """Return the weights for scores."""
        state = {"beta": np.ones(self._slots.n_views)} | self._state
        return Averaged(*(read_only(state[name]) for name in Averaged._fields))

    def _parts(self, state: State) -> list[StatePart]:
        return [self._weights(state), *super()._parts(state)]
