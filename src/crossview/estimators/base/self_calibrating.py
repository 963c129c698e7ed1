"""Base class of the classifiers that calibrate themselves as they learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from crossview.algorithms import calibration
from crossview.errors import InputError
from crossview.estimators.base.classifier import ViewClassifier
from crossview.estimators.base.online import OnlineLearner
from crossview.estimators.targets import row_weights

__all__ = ["SelfCalibratingClassifier"]


class SelfCalibratingClassifier(ViewClassifier, OnlineLearner):
    """Base class of the online classifiers: calibration in the pass, and classes that come later.

    The calibration learns from the score of each row before the row is learned.
    """

    def _calibrate_in_pass(
        self, scores: np.ndarray, target: np.ndarray, sample_weight: Any, return_proba: bool = False
    ) -> np.ndarray:
        """Update the calibration by rows scored before they were learned; return p before it.

        Without ``return_proba`` what is returned means nothing.
        """
        if self.calibration == "none":
            return self.probabilities(scores) if return_proba else scores
        codes, weight = self._calibration_targets(target, sample_weight)
        learned = np.isfinite(scores).all(axis=1)
        if not learned.all():  # rows that the pass has left out
            scores, weight = np.where(learned[:, None], scores, 0.0), np.where(learned, weight, 0.0)
        state = self._state["calibration"]
        p = calibration.calibrate(scores, codes, weight, state, return_proba=return_proba)
        if len(self.classes_) == 1:
            return np.ones((len(p), 1))
        return np.hstack([1.0 - p, p]) if return_proba and p.shape[1] == 1 else p

    def _finish_fit(
        self, X: Any, y: Any, sample_weight: Any, scores: np.ndarray, order: np.ndarray
    ) -> None:
        if self.n_epochs > 1:  # the scores of a later pass are of rows that were learned
            self._calibrate_by_folds(X, y, sample_weight)
            return
        target, _ = self._targets(np.asarray(y).reshape(-1), None, None)
        if sample_weight is not None:
            sample_weight = row_weights(sample_weight, len(target))[order]
        self._calibrate_in_pass(scores, target[order], sample_weight)

    def _calibration_targets(
        self, target: np.ndarray, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return codes, -1 where the label is missing, and weights, without those of classes."""
        weight = row_weights(sample_weight, len(target))
        if target.ndim > 1:  # -1 and 1 per score, all 0 without label
            missing = ~target.any(axis=1)
            codes = target.argmax(axis=1) if target.shape[1] > 1 else target[:, 0] > 0.0
            return np.where(missing, -1, codes), weight
        return target if len(self.classes_) > 2 else (target > 0.0).view(np.int8), weight

    # --- classes -----------------------------------------------------------------

    def _check_classes(self, first: bool, classes: Any) -> None:
        """Raise an error if ``classes`` is missing in the first call or differs in a later one."""
        self._check_class_weight()
        if first and classes is None:
            raise InputError(
                "classes= is required in the first call; give all labels that may occur"
            )
        if not (first or classes is None or np.array_equal(np.unique(classes), self.classes_)):
            raise InputError(
                f"classes={classes!r} is not the same as in the first call, "
                f"{self.classes_.tolist()!r}"
            )

    def _check_class_weight(self) -> None:
        if isinstance(self.class_weight, str):
            raise InputError(
                "class_weight='balanced' needs the labels of all rows; for a stream give "
                "class_weight={label: weight, ...}"
            )

    def _insert_class(self, old: np.ndarray, position: int) -> None:
        """Add the state of the class at this position of ``classes_``; the others keep theirs."""
        raise NotImplementedError

    def _add_class(self, label: Any) -> None:
        """Add a class if it is new."""
        if not hasattr(self, "classes_"):
            self._set_classes(np.asarray([label]))
            return
        if label in self.classes_:
            return
        old = self.classes_
        if len(old) == 2:
            self.threshold_ = None  # which is for two classes
        self.classes_ = np.sort(np.append(old, label))
        position = int(np.searchsorted(self.classes_, label))
        self._insert_class(old, position)
        if "calibration" in self._state:
            self._state["calibration"] = calibration.insert_class(
                self._state["calibration"], len(old), position
            )
