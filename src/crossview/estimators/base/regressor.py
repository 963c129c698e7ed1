"""Base class of the regressors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from crossview.estimators.base.learner import ViewLearner
from crossview.estimators.base.scoring import IndexedScore


class ViewRegressor(IndexedScore, RegressorMixin, ViewLearner):
    """Base class of the regressors: predictions in the units of the targets."""

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted target of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            In the units of the training targets.
        """
        check_is_fitted(self, "_state")
        return self._in_units(self._joint_scores(self._read(X, reset=False))[:, 0])

    def predict_one(self, x: Any) -> float | None:
        """Return the predicted target of one row; None before the first row was learned.

        Parameters
        ----------
        x : mapping, array-like of shape (n_features,), or sparse matrix or MultiView of one row
            As for `learn_one`.  Unknown features are ignored.

        Returns
        -------
        y : float or None
            In the units of the training targets.
        """
        if not hasattr(self, "_state"):
            return None
        return float(self._in_units(self._joint_scores(self._read_one(x, learn=False))[0, 0]))

    def _in_units(self, score: np.ndarray) -> np.ndarray:
        """Return a score in the units of the targets."""
        return score
