"""Probabilities of classes, from calibrated scores."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import calibration
from crossview.batch import rows_at
from crossview.errors import InputError
from crossview.estimators.base.learner import ViewLearner
from crossview.estimators.targets import class_codes, read_labels, row_weights
from crossview.estimators.validation import StrOptions, available_if
from crossview.labels import known_labels
from crossview.saving.schema import MAX_FINITE, Array

__all__ = ["CalibratedLearner", "calibration_schema", "check_probabilities"]

# inner folds whose scores calibrate a batch learner
FOLDS = 3


def calibration_schema(n_scores: int, *, each: tuple[int, ...] = ()) -> Array:
    """Return what a calibration looks like, or one of each; its scale is infinite without a row."""
    K, size = n_scores, len(calibration.start(n_scores))
    low, high = np.full(size, -MAX_FINITE), np.full(size, MAX_FINITE)
    low[calibration.ERROR :] = low[1 + K] = low[2 + 2 * K : 4 + 3 * K] = 0.0
    low[4 + 3 * K] = low[5 + 4 * K : 7 + 5 * K] = 0.0  # the same sums of the block
    high[calibration.SCALE], high[calibration.SKIP] = np.inf, 3 * calibration.ROWS_OF_BLOCK
    return Array("f8", (*each, size), low, high, holds=_can_continue)


def _can_continue(states: np.ndarray) -> bool:
    """Whether the rows of the block, and those to leave out, are such as a pass can count on."""
    N, rows, skip = (states[..., at] for at in (calibration.N, calibration.ROWS, calibration.SKIP))
    counts = np.stack([rows, skip])
    most = np.vectorize(calibration.rows_of_block, otypes=[float])(N)
    return bool((counts == np.floor(counts)).all() and (rows < most).all())


def check_probabilities(learner: Any) -> bool:
    """Return True if scores map to probabilities; raise `AttributeError` if they do not."""
    is_calibrated = "calibration" in getattr(learner, "_state", {})
    if learner.calibration == "none" and not (is_calibrated or learner.scores_are_log_odds):
        raise AttributeError(
            "there are no probabilities with calibration='none'; set calibration='sigmoid', or "
            "call calibrate"
        )
    return True


class CalibratedLearner(ViewLearner):
    """Base class of the classifiers: probabilities from scores.

    Online learners calibrate themselves on the score of each row before it is learned; batch
    learners on the scores of inner folds.
    """

    # a subclass may make it a parameter
    calibration = "sigmoid"

    _parameter_constraints: ClassVar[dict] = {"calibration": [StrOptions({"sigmoid", "none"})]}

    @property
    def scores_are_log_odds(self) -> bool:
        """Whether the loss makes scores log odds; otherwise they have no unit."""
        return False

    # --- predicting ----------------------------------------------------------------

    @available_if(check_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.  The most probable class may differ from `predict`,
            which decides by the scores.
        """
        check_is_fitted(self, "classes_")
        return self.probabilities(self._joint_scores(self._read(X, reset=False)))

    @available_if(check_probabilities)
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each class for one row; empty before the first row.

        Parameters
        ----------
        x : mapping, array-like of shape (n_features,), or sparse matrix or MultiView of one row
            As for `learn_one`.  Unknown features are ignored.

        Returns
        -------
        p : dict of label to float
            The sum is 1.
        """
        if not hasattr(self, "classes_"):
            return {}
        p = self.probabilities(self._joint_scores(self._read_one(x, learn=False)))
        return dict(zip(self.classes_.tolist(), p[0].tolist(), strict=True))

    @available_if(check_probabilities)
    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability of each class for rows with these scores.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As `decision_function` returns them.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        scores = scores.reshape(len(scores), -1)
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        if "calibration" in self._state:
            return calibration.probabilities(scores, self._state["calibration"])
        return calibration.of_log_odds(scores)

    # --- calibrating ---------------------------------------------------------------

    def calibrate(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the probabilities to the scores of rows that were not learned.

        Minimizes the log loss of a logistic function of the scores (Platt 1999); with more than
        two classes of the softmax of the scores times one slope, plus an offset per class.

        Parameters
        ----------
        scores : array-like of shape (n_samples,) or (n_samples, n_classes)
            As `decision_function` returns them, for rows that were not learned.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, at least 0.

        Returns
        -------
        self : object
            The learner.
        """
        check_is_fitted(self, "classes_")
        scores = np.asarray(scores, dtype=np.float64)
        if not np.isfinite(scores).all():
            raise InputError("a score is NaN or infinite; calibrate on finite scores")
        codes = class_codes(read_labels(y, len(scores), type(self).__name__), self.classes_)
        weight = row_weights(sample_weight, len(codes))
        self._state["calibration"] = calibration.fit(
            scores.reshape(len(codes), self._n_scores()),
            codes,
            weight,
            log_odds=self.scores_are_log_odds,
        )
        return self

    def _calibrate_by_folds(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Calibrate on the scores of inner folds."""
        if self.calibration == "none":
            return
        y = np.asarray(y).reshape(-1)
        weight = row_weights(sample_weight, len(y))
        known = np.flatnonzero(self._is_labeled(y) & (weight > 0.0))
        labels = known_labels(y[known])
        self._calibrate_on(_out_of_fold_scores(self, X, y, weight, known), labels, weight[known])

    def _calibrate_on(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        """Calibrate on rows that were not learned; those whose squares overflow are left out."""
        with np.errstate(over="ignore"):
            finite = np.isfinite(scores * scores).all(axis=1)
        self.calibrate(scores[finite], y[finite], weight[finite])

    def _fold_params(self) -> dict[str, Any]:
        """Return the parameters of the learners of inner folds that differ from its own."""
        return {"calibration": "none"}

    def _is_labeled(self, y: np.ndarray) -> np.ndarray:
        """Return which rows have a label."""
        return np.ones(len(y), dtype=bool)

    def _n_scores(self) -> int:
        return 1 if len(self.classes_) <= 2 else len(self.classes_)

    def _state_schema(self, state: Mapping[str, np.ndarray]) -> dict[str, Array | np.ndarray]:
        schema = super()._state_schema(state)
        if self.calibration != "none" or "calibration" in state:  # `calibrate` adds it to any
            schema["calibration"] = calibration_schema(self._n_scores())
        return schema

    def _restart(self) -> None:
        """Initialize the learned state and the calibration."""
        self._start_state()
        if self.calibration != "none":
            self._state["calibration"] = calibration.start(self._n_scores())


def _out_of_fold_scores(
    learner: CalibratedLearner, X: Any, y: np.ndarray, weight: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Return the scores of the rows ``known``, each by a learner of the other folds.

    If a class has one row, there are no folds, and they are the scores of ``learner`` itself.
    """
    codes = class_codes(known_labels(y[known]), learner.classes_)
    n_folds = min(FOLDS, int(np.bincount(codes, minlength=len(learner.classes_)).min()))
    if n_folds < 2:
        return learner._joint_scores(rows_at(learner._read(X, reset=False), known))
    scores = np.empty((len(known), learner._n_scores()))
    from sklearn.model_selection import StratifiedKFold  # it takes long to load

    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    for _, test in folds.split(codes, codes):
        others = weight.copy()
        others[known[test]] = 0.0  # all rows stay, for kernels that are given as a matrix
        model = clone(learner)
        for name, value in learner._fold_params().items():
            setattr(model, name, value)
        with warnings.catch_warnings():  # `fit` itself has warned
            warnings.simplefilter("ignore")
            model.fit(X, y, sample_weight=others)
        rows = rows_at(model._read(X, reset=False), known[test])
        scores[test] = model._joint_scores(rows)
    return scores
