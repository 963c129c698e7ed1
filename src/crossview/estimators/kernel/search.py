"""Grid search over λ and γ with shared kernel values."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from crossview.batch import views_of
from crossview.errors import InputError
from crossview.estimators.base import ViewClassifier
from crossview.estimators.documentation import with_parameters
from crossview.estimators.kernel.classifier import KernelClassifier, read_training_set
from crossview.estimators.kernel.learner import KernelLearner, training_kernels
from crossview.estimators.kernel.supports import SupportVectors
from crossview.estimators.kernel.training import TrainingSet, learn_drawn
from crossview.estimators.kernel.values import KERNELS
from crossview.kernels import gram
from crossview.kernels.rows import Rows
from crossview.views import check_rows


@with_parameters
class KernelSearchCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Grid search with cross-validation for ``lam`` and ``gamma`` of KeCo or Pegasos.

    A faster `GridSearchCV`: inner products of rows are computed once, kernel values once per γ, and
    all folds and all values of ``lam`` share them.

    Parameters
    ----------
    estimator : KeCoClassifier or PegasosClassifier
        The learner to tune, with kernel "rbf", "linear" or "poly", and a schedule that draws rows.
    lams : sequence of float, default=(1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
        Grid of λ.
    gammas : sequence of float, "median" or "scale", default=("median",)
        Grid of γ; a value applies to all views.  Ignored with "linear".
    cv : int or splitter, default=5
        Number of stratified folds, shuffled by ``random_state`` of the estimator.  Unlabeled rows
        are stratified as an additional class; those in the test fold are neither learned nor
        scored.
    scoring : {"roc_auc", "accuracy"}, default="roc_auc"
        Metric on the labeled rows of the test fold; with more than two classes the ROC AUC is the
        mean over the classes, each against the rest.
    refit : bool, default=True
        Whether to fit the best parameters to all rows; of equal ones the first is the best.

    Attributes
    ----------
    best_params_ : dict
        The best ``lam`` and ``gamma``.
    best_score_ : float
        The mean score of ``best_params_`` over the folds.
    best_estimator_ : estimator
        The estimator with ``best_params_``, fitted to all rows.
    cv_results_ : dict of str to ndarray
        "param_lam", "param_gamma", "mean_test_score", "std_test_score", and
        "split_test_score" of shape (n_settings, n_folds).  The score of a test fold with a
        single class is NaN and does not enter the mean.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.

    Raises
    ------
    InputError
        The estimator or its kernel is not supported, or all test folds have a single class.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import KernelSearchCV, PegasosClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = KernelSearchCV(PegasosClassifier(random_state=0), lams=[1e-4, 1e-2], cv=3)
    >>> search.fit(scale(X), y).best_score_ > 0.97
    True
    """

    estimator: Any = field(kw_only=False)
    lams: Sequence[float] = field(default=(1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1), kw_only=False)
    gammas: Sequence[Any] = field(default=("median",), kw_only=False)
    cv: Any = 5
    scoring: str = "roc_auc"
    refit: bool = True

    def fit(self, X: Any, y: Any) -> KernelSearchCV:
        """Cross-validate all parameters, and fit the best to all rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Labels; NaN or None in unlabeled rows.

        Returns
        -------
        self : object
            The search with its results.
        """
        self._check_estimator()
        check_rows(X, y=y)
        learner = clone(self.estimator).set_params(calibration="none")
        data = read_training_set(learner, X, y)
        self.classes_ = learner.classes_
        seed = check_random_state(self.estimator.random_state).randint(2**31 - 1)
        folds = _folds(self.cv, data.labels, seed)
        gammas = ["median"] if self.estimator.kernel == "linear" else list(self.gammas)
        settings, scores = [], []
        for gamma, kernel in grams_of_gammas(learner, data.rows, gammas):
            found = np.full((len(self.lams), len(folds)), np.nan)
            for f, (train, test) in enumerate(folds):
                weight = np.zeros(len(data.weight))
                weight[train] = data.weight[train]
                part = data._replace(weight=weight)
                scored = test[~np.isnan(data.labels[test, 0])]
                for k, lam in enumerate(self.lams):
                    learner.set_params(lam=lam)
                    scores_there = _scores(learner, part, kernel, scored, seed + f)
                    found[k, f] = _score(self.scoring, data.labels[scored], scores_there)
            settings += [(lam, gamma) for lam in self.lams]
            scores.append(found)
        self._store(settings, np.vstack(scores))
        if self.refit:
            self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_).fit(X, y)
        return self

    def _check_estimator(self) -> None:
        if self.scoring not in ("roc_auc", "accuracy"):
            raise InputError(f"scoring={self.scoring!r}; set 'roc_auc' or 'accuracy'")
        if not isinstance(self.estimator, KernelClassifier) or self.estimator.kernel not in KERNELS:
            raise InputError(
                "estimator= is not a KeCoClassifier or PegasosClassifier with the kernel 'rbf', "
                "'linear' or 'poly'"
            )
        if self.estimator.schedule == "stream" or self.estimator.approximation:
            raise InputError(
                "the search needs exact kernels and a schedule that draws rows; leave "
                "approximation= at None and set a schedule other than 'stream'"
            )

    def _store(self, settings: list[tuple[float, Any]], table: np.ndarray) -> None:
        if not np.isfinite(table).any(axis=1).all():
            raise InputError(
                f"{self.scoring} is not defined in any fold; set fewer folds, or label more rows"
            )
        mean = np.nanmean(table, axis=1)
        best = int(mean.argmax())
        self.cv_results_ = {
            "param_lam": np.asarray([lam for lam, _ in settings]),
            "param_gamma": np.asarray([gamma for _, gamma in settings], dtype=object),
            "split_test_score": table,
            "mean_test_score": mean,
            "std_test_score": np.nanstd(table, axis=1),
        }
        self.best_score_ = float(mean[best])
        self.best_params_ = dict(zip(("lam", "gamma"), settings[best], strict=True))

    # --- using best_estimator_ -----------------------------------------------------------

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the joint scores, by ``best_estimator_``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Its scores.
        """
        return self._best().decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row, by ``best_estimator_``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Members of ``classes_``.
        """
        return self._best().predict(X)

    score = ViewClassifier.score

    def view_scores(self, X: Any) -> np.ndarray:
        """Return the scores of the views, by ``best_estimator_``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
            Its scores.
        """
        return self._best().view_scores(X)


def _folds(cv: Any, labels: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the folds, stratified by class, where the unlabeled rows are an additional class."""
    labeled = ~np.isnan(labels[:, 0])
    kinds = np.where(labeled, labels[:, 0], 0.0)
    if labels.shape[1] > 1:
        kinds = np.where(labeled, labels.argmax(axis=1), -1)
    if isinstance(cv, Integral):
        from sklearn.model_selection import StratifiedKFold  # it takes long to load

        cv = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
        fewest = int(np.unique(kinds[labeled], return_counts=True)[1].min())
        if fewest < cv.get_n_splits():
            with warnings.catch_warnings():  # folds with a single class are not scored
                warnings.simplefilter("ignore", UserWarning)
                return list(cv.split(np.zeros(len(kinds)), kinds))
    return list(cv.split(np.zeros(len(kinds)), kinds))


def _score(scoring: str, labels: np.ndarray, scores: np.ndarray) -> float:
    """Return the metric of the test rows; NaN if it is not defined."""
    if scoring == "accuracy":
        if labels.shape[1] > 1:
            return float(np.mean(labels.argmax(axis=1) == scores.argmax(axis=1)))
        return float(np.mean((labels[:, 0] > 0.0) == (scores[:, 0] > 0.0)))
    each = [
        area_under_curve(own > 0.0, score)
        for own, score in zip(labels.T, scores.T, strict=True)
        if (own > 0.0).any() and (own < 0.0).any()
    ]
    return float(np.mean(each)) if each else np.nan


def grams_of_gammas(
    learner: KernelLearner, rows: Rows, gammas: Sequence[Any]
) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield each γ and the kernel values (V, n, n) of all rows, from shared inner products."""
    views, columns = views_of(rows), list(pairwise(rows.ptr.tolist()))
    products = np.empty((len(views), len(rows.indptr) - 1, len(rows.indptr) - 1))
    for view, own, out in zip(views, columns, products, strict=True):
        gram.gram(gram.DOT_PRODUCT, view, view, own, out)
    sqnorms = [gram.sqnorms_of(*both) for both in zip(views, columns, strict=True)]
    for gamma in gammas:
        values = products.copy()
        kernels = training_kernels(learner, gamma, rows)
        for v, lengths in enumerate(sqnorms):
            if kernels.function.kernel != "linear":
                gram.kernel_values(kernels[v], lengths, lengths, False, values[v])
        yield gamma, values + kernels.function.constant


def _scores(
    learner: KernelLearner, data: TrainingSet, gram: np.ndarray, scored: np.ndarray, seed: int
) -> np.ndarray:
    """Return the scores of the rows ``scored`` after learning the rows with a weight."""
    state = {"gamma": np.ones(learner.layout_.n_views), "dense": learner._state["dense"]}
    model = SupportVectors(state, learner)
    model.hold(data.rows, np.arange(len(data.weight)), gram)
    random_state = np.random.RandomState(seed % 2**32)
    done = learn_drawn(model, data, learner, random_state, lambda n: None)
    return done.score(scored)


def area_under_curve(positive: np.ndarray, scores: np.ndarray) -> float:
    """Return the ROC area: the share of positive/negative pairs in order; a tie counts half."""
    n = int(positive.sum())
    ranks = rankdata(scores)[positive].sum() - n * (n + 1) / 2
    return float(ranks / (n * (len(scores) - n)))
