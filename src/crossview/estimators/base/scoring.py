"""The score methods of scikit-learn, for labels that have the index of their rows."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from crossview.views import check_rows


class ScoredClassifier(ClassifierMixin):
    """Base class of what has an accuracy."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels; of pandas with the index of ``X``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        accuracy : float
            The share of the rows that are predicted right.
        """
        check_rows(X, y=y, sample_weight=sample_weight)
        return float(super().score(X, y, sample_weight))


class ScoredRegressor(RegressorMixin):
    """Base class of what has a coefficient of determination."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, R².

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets; of pandas with the index of ``X``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        r2 : float
            1 at best.
        """
        check_rows(X, y=y, sample_weight=sample_weight)
        return float(super().score(X, y, sample_weight))
