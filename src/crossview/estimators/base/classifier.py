"""Base class of the classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from crossview.estimators.base.probabilities import CalibratedLearner
from crossview.estimators.targets import class_codes, class_weights, read_labels, row_weights
from crossview.kernels.rows import Rows


class ViewClassifier(ClassifierMixin, CalibratedLearner):
    """Base class of the classifiers: labels, classes and predictions."""

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
        x : mapping or array-like of shape (n_features,)
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
        classes = {"dtype": self.classes_.dtype.str, "values": self.classes_.tolist()}
        return {"classes": classes, **super().get_header()}

    def set_header(self, header: Mapping[str, Any]) -> None:
        """Restore the header that `get_header` returned."""
        classes = header["classes"]
        kind = np.dtype(classes["dtype"])
        self.classes_ = np.asarray(classes["values"], dtype=kind)
        super().set_header(header)
