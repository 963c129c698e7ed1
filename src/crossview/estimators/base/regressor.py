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

    def _in_units(self, score: np.ndarray) -> np.ndarray:
        """Return a score in the units of the targets."""
        return score
