"""The classifier that weighs the scores of several classifiers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted


class LogarithmicPool(ClassifierMixin, BaseEstimator):
    """Logarithmic opinion pool: a weight per classifier, and an intercept per class.

    Minimizes ``sum_i -h_i log softmax(b + sum_v a_v s_iv)[y_i] + |a|²/2`` over ``a >= 0`` and b,
    where s_iv are the scores that classifier v gives row i, one per class, and h is the weight of
    a row.  It is the ``final_estimator`` of a scikit-learn ``StackingClassifier`` whose
    ``stack_method`` is ``"decision_function"``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    weights_ : ndarray of shape (n_classifiers,)
        The weight of each classifier, at least 0.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.

    References
    ----------
    C. Genest, J. V. Zidek, "Combining probability distributions: a critique and an annotated
    bibliography", Statistical Science, 1986.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview.baselines import LogarithmicPool
    >>> y = np.array([0, 1] * 50)
    >>> noise = np.random.default_rng(0).normal(size=(100, 2))
    >>> pool = LogarithmicPool().fit(noise + [2, 0] * (2 * y - 1)[:, None], y)
    >>> bool(pool.weights_[0] > 1.0 > pool.weights_[1] >= 0.0)
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classifiers) or (n_samples, n_classifiers * n_classes)
            The scores; with more than two classes, those of one classifier side by side.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : object
            The pool.
        """
        self.classes_, codes = np.unique(y, return_inverse=True)
        S = self._scores(X)
        n, V, K = S.shape
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, np.float64)
        target = np.eye(K)[codes]
        total = weight.sum()

        def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            a, b = parameters[:V], parameters[V:]
            joint = b + np.einsum("nvk,v->nk", S, a)
            error = weight[:, None] * (softmax(joint, axis=1) - target)
            value = -np.sum(weight[:, None] * target * log_softmax(joint, axis=1)) + a @ a / 2
            slope = np.concatenate([np.einsum("nk,nvk->v", error, S) + a, error.sum(axis=0)])
            return value / total, slope / total

        start = np.concatenate([np.full(V, 1.0 / V), np.zeros(K)])
        bounds = [(0.0, None)] * V + [(None, None)] * K
        found = minimize(
            loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=_PRECISE
        ).x
        b = found[V:]
        self.weights_ = found[:V]
        self.intercept_ = b[1:] - b[:1] if K == 2 else b
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the joint scores.

        Parameters
        ----------
        X : array-like
            As for `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Log odds of the second class, or with more classes log probabilities but for a number
            that all of them share.
        """
        check_is_fitted(self, "weights_")
        joint = np.einsum("nvk,v->nk", self._scores(X), self.weights_)
        if len(self.classes_) == 2:
            return np.asarray(joint[:, 1] - joint[:, 0] + self.intercept_[0])
        return np.asarray(joint + self.intercept_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like
            As for `fit`.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return np.asarray(softmax(scores, axis=1))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like
            As for `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Members of ``classes_``.
        """
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _scores(self, X: Any) -> np.ndarray:
        """Return the scores by classifier and class, (n_samples, n_classifiers, n_classes)."""
        X, K = np.asarray(X, dtype=np.float64), len(self.classes_)
        if K > 2:
            return X.reshape(len(X), -1, K)
        return np.stack([np.zeros_like(X), X], axis=2)


_PRECISE = {"maxiter": 500, "ftol": 1e-14, "gtol": 1e-9}
