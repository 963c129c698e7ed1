"""Base class of the online classifiers."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from crossview.errors import InputError
from crossview.estimators.base.classifier import ViewClassifier
from crossview.estimators.base.online import OnlineLearner
from crossview.estimators.base.probabilities import check_probabilities
from crossview.estimators.base.self_calibrating import SelfCalibratingClassifier
from crossview.estimators.targets import check_label, row_weights
from crossview.estimators.validation import StrOptions
from crossview.kernels.rows import Rows
from crossview.labels import has_label
from crossview.views import check_rows


class OnlineClassifier(SelfCalibratingClassifier):
    """Base class of the online classifiers: `partial_fit`, `learn_one`, `score_then_learn`."""

    _parameter_constraints: ClassVar[dict] = {
        **OnlineLearner._parameter_constraints,
        **ViewClassifier._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def _has_no_label(self, y: Any) -> bool:
        """Return whether a row is unlabeled; raise an error if the learner needs labels."""
        if not has_label([y])[0]:
            raise InputError("the label is missing (NaN or None); leave the row out, or label it")
        return False

    # --- learning ----------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Make one pass over more rows, in their order.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur; required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, at least 0; see the notes of the class for its effect.

        Returns
        -------
        self : object
            The learner.
        """
        self.score_then_learn(X, y, classes, sample_weight)
        return self

    def score_then_learn(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        return_proba: bool = False,
    ) -> Any:
        """Learn as `partial_fit` does, and return the score of each row before it was learned.

        This is progressive validation: each row is scored by the model that has learned from the
        rows before it.

        Parameters
        ----------
        X, y, classes, sample_weight
            As for `partial_fit`.
        return_proba : bool, default=False
            Whether to return the probabilities, too.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        p : ndarray of shape (n_samples, n_classes)
            Only with ``return_proba``: the probabilities of each row before it was learned.
        """
        if return_proba:
            check_probabilities(self)
        self.check_params()
        self.check_streams()
        first = not hasattr(self, "classes_")
        self._check_classes(first, classes)
        check_rows(X, y=y, sample_weight=sample_weight)
        try:
            rows = self._read(X, reset=first)
            y = self._labels(y, rows)
            if first:
                self._set_classes(np.unique(np.asarray(classes)))
            codes, weight = self._targets(y, sample_weight, self.class_weight)
        except ValueError:
            if first:
                self._forget()
            raise
        scores, nonfinite_row = self._pass(rows, np.arange(len(codes)), codes, weight)
        p = self._calibrate_in_pass(scores, codes, sample_weight, return_proba)
        self._check_learned(nonfinite_row)
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
        return (scores, p) if return_proba else scores

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn from one row.

        Parameters
        ----------
        x : mapping, array-like of shape (n_features,), or sparse matrix or MultiView of one row
            A mapping of views to mappings of features to numbers, a mapping of features to numbers
            (one view), or an array.  An absent view is missing; an absent feature is 0.  If the
            first row is a mapping, later rows may have new features and new views.
        y : label
            Its class, which may be new.
        sample_weight : float, default=1.0
            Weight of the row.

        Returns
        -------
        self : object
            The learner.
        """
        # all checks come before a change: a row that cannot be learned leaves no trace
        first = not hasattr(self, "_state")
        if first:
            self.check_params()
        self.check_streams()
        self._check_class_weight()
        row_weights(sample_weight, 1)
        labeled = not self._has_no_label(y)
        if labeled:
            check_label(y, getattr(self, "classes_", None))
        elif first:
            return self  # an unlabeled row has no effect before the first label
        try:
            self._learn_row(self._read_one(x, learn=True), y, sample_weight, labeled)
        except ValueError:
            if first:
                self._forget()
            raise
        return self

    def _learn_row(self, rows: Rows, y: Any, sample_weight: float, labeled: bool) -> None:
        """Learn from one row that was read."""
        if labeled:
            self._add_class(y)
        codes, weight = self._targets(np.asarray([y]), sample_weight, self.class_weight)
        scores, nonfinite_row = self._pass(rows, np.zeros(1, dtype=np.int64), codes, weight)
        self._check_learned(nonfinite_row, alone=True)
        self._calibrate_in_pass(scores, codes, sample_weight)

    # --- classes ------------------------------------------------------------------

    def _first_targets(
        self, y: Any, sample_weight: Any, rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        y = self._labels(y, rows)
        classes = np.unique(y)
        if len(classes) < 2:
            raise InputError(
                f"y has one class, {classes.tolist()[0]!r}; a classifier needs two or more"
            )
        if not hasattr(self, "classes_"):
            self._set_classes(classes)
        return self._targets(y, sample_weight, self.class_weight)
