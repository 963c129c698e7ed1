"""Base class of the classifiers: labels, classes, predictions and probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms.calibration import without_weights
from crossview.errors import InputError
from crossview.estimators.base.calibration import (
    Calibrator,
    out_of_fold_scores,
    portable_calibration,
)
from crossview.estimators.base.learner import ViewLearner
from crossview.estimators.base.road import ClassifierRoad
from crossview.estimators.base.state import State, StatePart
from crossview.estimators.targets import (
    class_codes,
    class_weights,
    classes_from_json,
    classes_to_json,
    read_labels,
    row_weights,
)
from crossview.estimators.validation import available_if
from crossview.labels import Threshold, decide, known_labels, mean_threshold, read_threshold
from crossview.portable.scoring import Calibration
from crossview.views import check_rows


def check_probabilities(learner: Any) -> bool:
    """Return True if scores map to probabilities; raise `AttributeError` if they do not."""
    is_calibrated = "calibration" in getattr(learner, "_state", {})
    if learner.calibration == "none" and not (is_calibrated or learner.scores_are_log_odds):
        raise AttributeError(
            "there are no probabilities with calibration='none'; set calibration='sigmoid', or "
            "call calibrate"
        )
    return True


class ViewClassifier(ClassifierMixin, ViewLearner):
    """Base class of the classifiers: labels, classes, predictions and probabilities.

    Online learners calibrate themselves on the score of each row before it is learned; batch
    learners on the scores of inner folds.
    """

    # a subclass may make it a parameter
    calibration = "sigmoid"
    threshold_: Threshold | None = None
    # ends the error about a label that is of no class
    _advice_on_new_classes = ""

    @property
    def scores_are_log_odds(self) -> bool:
        """True where the loss makes scores log odds; otherwise they have no unit."""
        return False

    # --- predicting ----------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the joint score of all views.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes a score above 0 predicts ``classes_[1]``.  With more than two the
            highest score decides, and the first class in a tie.
        """
        check_is_fitted(self, "classes_")
        scores = self._scores_of(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Members of ``classes_``.
        """
        scores = self.decision_function(X)
        return self.decide(scores)

    def predict_one(self, x: Any) -> Any:
        """Return the predicted class of one row; None before the first row was learned.

        Parameters
        ----------
        x : mapping, array-like of shape (n_features,), or sparse matrix or MultiView of one row
            As for `learn_one`.  Unknown features are ignored.

        Returns
        -------
        y : label or None
            A member of ``classes_``.
        """
        road = ClassifierRoad.find(self, x)
        if road is not None:
            with road.lock:
                if road.take(x):
                    return road.predict()
        if not hasattr(self, "classes_"):
            return None
        scores = self._scores_of_rows(self._read_one(x, learn=False))
        return self.decide(scores[:, 0] if scores.shape[1] == 1 else scores).tolist()[0]

    def score_one(self, x: Any) -> float | dict[Any, float] | None:
        """Return the joint score of all views for one row; None before the first row was learned.

        Parameters
        ----------
        x : mapping, array-like of shape (n_features,), or sparse matrix or MultiView of one row
            As for `learn_one`.  Unknown features are ignored.

        Returns
        -------
        score : float, dict of label to float, or None
            As from `decision_function`: one number for two classes, and one per class for more.
        """
        if not hasattr(self, "classes_"):
            return None
        scores = self._scores_of_rows(self._read_one(x, learn=False))[0].tolist()
        return (
            scores[0]
            if len(scores) == 1
            else dict(zip(self.classes_.tolist(), scores, strict=True))
        )

    def set_threshold(self, threshold: float | Sequence[float] | None) -> Self:
        """Set the probability of ``classes_[1]`` above which it is predicted, or one per class.

        It is part of the learned state: model files keep it, and `fit` from scratch forgets it.

        Parameters
        ----------
        threshold : float, list of float, or None
            With two classes in [0, 1]; a higher value predicts ``classes_[1]`` in fewer rows.  With
            more one per class, above 0 and at most 1: the class is predicted whose probability is
            the highest multiple of its threshold.  None, as after `fit`: the scores decide.

        Returns
        -------
        self : object
            The learner.

        Raises
        ------
        InputError
            It is no probability, or not one per class.
        """
        check_is_fitted(self, "classes_")
        self.threshold_ = read_threshold(threshold, len(self.classes_))
        return self

    @property
    def threshold_in_use(self) -> Threshold | None:
        """The threshold by which `predict` decides now."""
        return self.threshold_

    def decide(self, scores: np.ndarray) -> np.ndarray:
        """Return the predicted class of each row from its scores.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As `decision_function` returns them.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Members of ``classes_``.
        """
        return self.classes_[self._predicted_codes(scores)]

    def _predicted_codes(self, scores: np.ndarray) -> np.ndarray:
        """Return the positions of the predicted classes; scores are as for `decide`."""
        if len(self.classes_) == 1:
            return np.zeros(len(scores), dtype=np.intp)
        p = None if self.threshold_in_use is None else self.probabilities(scores)
        return decide(scores, p, self.threshold_in_use)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions.

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
        score : float
            1 at best.
        """
        check_rows(X, y=y, sample_weight=sample_weight)
        return float(ClassifierMixin.score(self, X, y, sample_weight))

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
        return self.probabilities(self._scores_of(X))

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
        road = ClassifierRoad.find(self, x)
        if road is not None:
            with road.lock:
                if road.take(x):
                    return road.probabilities()
        if not hasattr(self, "classes_"):
            return {}
        p = self.probabilities(self._scores_of_rows(self._read_one(x, learn=False)))
        return dict(zip(self.classes_.tolist(), p[0].tolist(), strict=True))

    @available_if(check_probabilities)
    def answer_one(self, x: Any) -> tuple[Any, dict[Any, float]]:
        """Return `predict_one` and `predict_proba_one` of a row, which is scored once.

        Parameters
        ----------
        x : mapping, array-like of shape (n_features,), or sparse matrix or MultiView of one row
            As for `learn_one`.  Unknown features are ignored.

        Returns
        -------
        y : label or None
        p : dict of label to float
        """
        road = ClassifierRoad.find(self, x)
        if road is not None:
            with road.lock:
                if road.take(x):
                    return road.answer()
        if not hasattr(self, "classes_"):
            return None, {}
        scores = self._scores_of_rows(self._read_one(x, learn=False))
        (decided,) = self.decide(scores[:, 0] if scores.shape[1] == 1 else scores).tolist()
        (p,) = self.probabilities(scores).tolist()
        return decided, dict(zip(self.classes_.tolist(), p, strict=True))

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
        scores = scores[:, None] if scores.ndim == 1 else scores
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return Calibrator(self._state, self).probabilities(scores)

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
        Calibrator(self._state, self).fit(scores, codes, weight)
        return self

    def _calibrate_by_folds(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Calibrate on the scores of inner folds."""
        if self.calibration == "none":
            return
        y = np.asarray(y).reshape(-1)
        weight = row_weights(sample_weight, len(y))
        known = np.flatnonzero(self._is_labeled(y) & (weight > 0.0))
        labels = known_labels(y[known])
        self._calibrate_on(out_of_fold_scores(self, X, y, weight, known), labels, weight[known])

    def _take_out_weights(self, class_weight: np.ndarray | None) -> None:
        """Make probabilities of log odds those of the rows, without their class weights."""
        if class_weight is not None and self.calibration == "none":
            self._state["calibration"] = without_weights(class_weight)

    def _calibrate_on(self, scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        """Calibrate on rows that were not learned; those whose squares overflow are left out."""
        with np.errstate(over="ignore"):
            finite = np.isfinite(scores * scores).all(axis=1)
        self.calibrate(scores[finite], y[finite], weight[finite])

    def _fold_params(self, codes: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
        """Return the parameters of the learners of inner folds of rows that differ from its own."""
        return {"calibration": "none"}

    def _is_labeled(self, y: np.ndarray) -> np.ndarray:
        """Return which rows have a label."""
        return np.ones(len(y), dtype=bool)

    # --- classes and weights -----------------------------------------------------

    def _read_targets(self, y: Any, n_rows: int | None) -> np.ndarray:
        return read_labels(y, n_rows, type(self).__name__)

    def _set_classes(self, classes: np.ndarray) -> None:
        self.classes_ = classes
        self._start_state()

    def _targets(
        self, y: np.ndarray, sample_weight: Any, class_weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the encoded target of each row, for the learning loop, and its weight."""
        codes = class_codes(y, self.classes_, self._advice_on_new_classes)
        weight = row_weights(sample_weight, len(y))
        if class_weight is not None:
            weight *= class_weights(class_weight, self.classes_, codes, weight)[codes]
        if len(self.classes_) > 2:
            return codes.astype(np.int64), weight
        # a single class so far is the positive one
        positive = codes == len(self.classes_) - 1
        return np.where(positive, 1.0, -1.0), weight

    # --- state -----------------------------------------------------------------------

    def _n_scores(self) -> int:
        return 1 if len(self.classes_) <= 2 else len(self.classes_)

    def _portable_answer(self) -> dict[str, Any]:
        K, found = self._n_scores(), None
        if "calibration" in self._state:
            found = portable_calibration(self._state["calibration"], K)
        elif self.calibration != "none" or self.scores_are_log_odds:
            found = Calibration(1.0, np.zeros(K))
        answer: dict[str, Any] = {"classes": self.classes_.tolist(), "calibration": found}
        return answer | {"threshold": self.threshold_}

    def _parts(self, state: State) -> list[StatePart]:
        # `calibrate` adds it to any
        calibrated = self.calibration != "none" or "calibration" in state
        return [*super()._parts(state), *([Calibrator(state, self)] if calibrated else [])]

    def _header(self) -> dict[str, Any]:
        classes = classes_to_json(self.classes_)
        return {"classes": classes, "threshold": self.threshold_, **super()._header()}

    def _take_header(self, header: Mapping[str, Any]) -> None:
        super()._take_header(header)
        self.classes_ = classes_from_json(**header["classes"])
        self.set_threshold(header["threshold"])

    def _header_schema(self) -> dict[str, Any]:
        classes = {"dtype": str, "values": [(str, int, float, bool)]}
        return {**super()._header_schema(), "classes": classes, "threshold": (None, float, [float])}

    def _merged_header(self, models: Sequence[Any], shares: Sequence[float]) -> dict[str, Any]:
        header = super()._merged_header(models, shares)
        thresholds: list[Any] = [model.threshold_ for model in models]
        return {**header, "threshold": mean_threshold(thresholds, shares)}
