"""Base class of the classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from crossview.errors import InputError
from crossview.estimators.base.probabilities import CalibratedLearner
from crossview.estimators.base.scoring import IndexedScore
from crossview.estimators.targets import (
    class_codes,
    class_weights,
    classes_from_json,
    classes_to_json,
    read_labels,
    row_weights,
)
from crossview.kernels.rows import Rows


class ViewClassifier(IndexedScore, ClassifierMixin, CalibratedLearner):
    """Base class of the classifiers: labels, classes and predictions."""

    threshold_: float | None = None

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
        scores = self._joint_scores(self._read(X, reset=False))
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
        if not hasattr(self, "classes_"):
            return None
        scores = self._joint_scores(self._read_one(x, learn=False))
        return self.decide(scores[:, 0] if scores.shape[1] == 1 else scores).tolist()[0]

    def set_threshold(self, threshold: float | None) -> Self:
        """Set the probability of ``classes_[1]`` above which it is predicted.

        It is part of the learned state: model files keep it, and `fit` from scratch forgets it.

        Parameters
        ----------
        threshold : float or None
            In [0, 1]; a higher value predicts ``classes_[1]`` in fewer rows.  None, as after
            `fit`: a score above 0 predicts it.

        Returns
        -------
        self : object
            The learner.

        Raises
        ------
        InputError
            The threshold is no probability, or there are not two classes.
        """
        check_is_fitted(self, "classes_")
        if threshold is not None:
            if not 0.0 <= threshold <= 1.0:
                raise InputError(f"threshold={threshold!r}; give a probability between 0 and 1")
            if len(self.classes_) != 2:
                raise InputError(
                    f"a threshold is for two classes, and there are {len(self.classes_)}"
                )
        self.threshold_ = None if threshold is None else float(threshold)
        return self

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
        if scores.ndim > 1:
            return self.classes_[scores.argmax(axis=1)]
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(scores))
        if self.threshold_ is not None:
            above = self.probabilities(scores)[:, 1] > self.threshold_
            return self.classes_[above.astype(np.intp)]
        return self.classes_[(scores > 0.0).astype(np.intp)]

    # --- classes and weights -----------------------------------------------------

    def _labels(self, y: Any, rows: Rows) -> np.ndarray:
        """Return the labels as an array, one per row, none missing."""
        return read_labels(y, len(rows.indptr) - 1, type(self).__name__)

    def _set_classes(self, classes: np.ndarray) -> None:
        self.classes_ = classes
        self._restart()

    def _targets(
        self, y: np.ndarray, sample_weight: Any, class_weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the encoded target of each row, for the learning loop, and its weight."""
        codes = class_codes(y, self.classes_)
        weight = row_weights(sample_weight, len(y))
        if class_weight is not None:
            weight *= class_weights(class_weight, self.classes_, y)[codes]
        if len(self.classes_) > 2:
            return codes.astype(np.int64), weight
        # a single class so far is the positive one
        positive = codes == len(self.classes_) - 1
        return np.where(positive, 1.0, -1.0), weight

    def get_header(self) -> dict[str, Any]:
        """Return the part of the state that is not arrays."""
        classes = classes_to_json(self.classes_)
        return {"classes": classes, "threshold": self.threshold_, **super().get_header()}

    def set_header(self, header: Mapping[str, Any]) -> None:
        """Restore the header that `get_header` returned."""
        super().set_header(header)
        self.classes_ = classes_from_json(**header["classes"])
        self.set_threshold(header["threshold"])

    def _header_schema(self) -> dict[str, Any]:
        classes = {"dtype": str, "values": [(str, int, float, bool)]}
        return {**super()._header_schema(), "classes": classes, "threshold": (None, float)}
