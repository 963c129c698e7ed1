"""The method `score` of scikit-learn, for labels that have the index of their rows."""

from __future__ import annotations

from typing import Any

from crossview.views import check_rows

__all__ = ["IndexedScore"]


class IndexedScore:
    """Base class that comes before scikit-learn's ``ClassifierMixin`` or ``RegressorMixin``."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, or the R² of a regressor.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels or targets; of pandas with the index of ``X``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        score : float
            1 at best.
        """
        check_rows(X, y=y, sample_weight=sample_weight)
        return float(super().score(X, y, sample_weight))  # type: ignore[misc]
