"""Linear models of scikit-learn: fitted, they are a weight per column, so model files hold them.

The matrix that they learn is scaled, and has a column for each missing view.  Both are undone in
the weights: a row scores ``sum_v (W'x_v + b_v)`` over the views it has, plus ``absent_v`` for each
view it lacks.
"""

from __future__ import annotations

from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from crossview.baselines.adapter import (
    PipelineClassifier,
    PipelineLearner,
    PipelineRegressor,
    Shape,
)
from crossview.baselines.matrix import ViewMatrix
from crossview.batch import entries_of, whole_matrix
from crossview.estimators.base import ColumnWeights, Schema, State, StatePart
from crossview.estimators.validation import Interval
from crossview.saving.schema import Array
from crossview.views import ViewLayout

__all__ = ["MOST_ITERATIONS", "LogisticClassifier", "RidgeRegressor"]

MOST_ITERATIONS = 1000


class LinearState(StatePart):
    """The weights of the columns, an intercept of each view, and its score where it is missing."""

    def __init__(self, state: State, layout: ViewLayout, n_scores: int) -> None:
        super().__init__(state)
        self.layout, self.n_scores = layout, n_scores

    def start(self) -> None:
        """Add nothing: the pipeline has the weights."""

    def schema(self) -> Schema:
        """Return what the arrays look like."""
        views = (self.layout.n_views, self.n_scores)
        return {
            "W": Array("f8", (self.layout.n_columns, self.n_scores)),
            "b": Array("f8", views),
            "absent": Array("f8", views),
        }


class LinearPipeline(PipelineLearner):
    """Base class of the linear baselines: their pipeline as weights of columns."""

    # --- learning ----------------------------------------------------------------

    def _fit_pipeline(
        self, model: Pipeline, rows: Any, y: np.ndarray, weight: np.ndarray | None
    ) -> None:
        super()._fit_pipeline(model, rows, y, weight)
        self._store(*(step for _, step in self.pipeline_.steps))
        del self.pipeline_

    def _store(self, matrix: ViewMatrix, model: Any) -> None:
        coef = np.atleast_2d(model.coef_)
        n, V = len(matrix.columns_), self._slots.n_views
        weights = (coef[:, :n] / matrix.scale_).T
        W = np.zeros((self._slots.n_columns, len(coef)))
        W[matrix.columns_] = weights
        b = np.tile(np.atleast_1d(model.intercept_) / V, (V, 1))
        absent = b.copy()
        absent[matrix.missing_views_] += coef[:, n:].T
        if hasattr(matrix, "mean_"):
            np.subtract.at(b, matrix.view_of_column_, weights * matrix.mean_[:, None])
        self._state |= {"W": W, "b": b, "absent": absent}

    def _parts(self, state: State) -> list[StatePart]:
        own = LinearState(state, self._slots, self._n_scores())
        return [*super()._parts(state), own]

    # --- predicting ----------------------------------------------------------------

    def _scores(self, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the score of each view, (n_samples, n_views, n_scores), and which are there."""
        matrix, W, ptr = whole_matrix(rows), self._state["W"], self._slots.ptr.tolist()
        each = [np.asarray(matrix[:, lo:hi] @ W[lo:hi]) for lo, hi in pairwise(ptr)]
        scores = np.stack(each, axis=1) + self._state["b"]
        return scores, rows.present if len(rows.present) else np.ones(scores.shape[:2], dtype=bool)

    def _joint_scores(self, rows: Any) -> np.ndarray:
        scores, there = self._scores(rows)
        return np.where(there[:, :, None], scores, self._state["absent"]).sum(axis=1)

    def view_scores(self, X: Any) -> np.ndarray:
        """Return the score of each view; NaN where the view is missing.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
            Where no view is missing, their sum is the score.
        """
        check_is_fitted(self, "_state")
        scores, there = self._scores(self._read(X, reset=False))
        scores[~there] = np.nan
        return scores[:, :, 0] if scores.shape[2] == 1 else scores

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the columns as they are given, (1, n_features) or (n_classes, n_features)."""
        check_is_fitted(self, "_state")
        return self._columns.spread(self._state["W"].T).copy()

    def _column_weights(self) -> ColumnWeights:
        return ColumnWeights(self.coef_)

    def _entry_contributions(self, rows: Any) -> np.ndarray:
        row, column = entries_of(rows)
        values = rows.data
        if len(rows.present):  # a mask may exclude a view that has values
            view = np.searchsorted(self._slots.ptr, column, side="right") - 1
            values = values * rows.present[row, view]
        return values[:, None] * self._state["W"][column]


class LogisticClassifier(LinearPipeline, PipelineClassifier):
    """Logistic regression on the scaled columns of all views.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty.  Typical values: 0.01 to 100.
    calibration : {"none", "sigmoid"}, default="none"
        Probabilities by the scores, which are log odds, or calibrated on inner folds.
    """

    _parameter_constraints: ClassVar[dict] = {
        **PipelineClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, C: float = 1.0, *, calibration: str = "none") -> None:
        self.C = C
        self.calibration = calibration

    def pipeline(self, data: Shape) -> Pipeline:
        """Return the scikit-learn pipeline, not fitted."""
        model = LogisticRegression(C=self.C, max_iter=MOST_ITERATIONS)
        return make_pipeline(ViewMatrix(scale=True), model)


class RidgeRegressor(LinearPipeline, PipelineRegressor):
    """Ridge regression on the scaled columns of all views.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.  Typical values: 0.1 to 1000.
    """

    _parameter_constraints: ClassVar[dict] = {
        **PipelineRegressor._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def pipeline(self, data: Shape) -> Pipeline:
        """Return the scikit-learn pipeline, not fitted."""
        return make_pipeline(ViewMatrix(scale=True), Ridge(alpha=self.alpha))

    def view_scores(self, X: Any) -> np.ndarray:
        """Return the prediction from each view alone, as of all regressors.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_views)
            As if all other views were missing; NaN where the view is.
        """
        absent = self._state["absent"][:, 0]
        return super().view_scores(X) + (absent.sum() - absent)
