"""Platt scaling: probabilities from scores, calibrated on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.utils.metaestimators import available_if

from crossview.algorithms.kernel.held_out import platt_targets
from crossview.errors import InputError
from crossview.estimators.kernel.state import KernelState

__all__ = ["CalibratedKernelState"]


def _has_probabilities(learner: Any) -> bool:
    if not learner.probability:
        raise AttributeError("predict_proba needs probability=True")
    return True


class CalibratedKernelState(KernelState):
    """Base class of KeCo and Pegasos: `predict_proba` for ``probability=True``."""

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, by the calibration of `fit`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``: a logistic function of the score; with more than two
            classes one per score, normalized to sum 1.
        """
        scores = self.decision_function(X).reshape(-1, self._n_scores())
        if "calibration" not in self._state:
            raise InputError(
                "the probabilities are not calibrated; only fit calibrates, not partial_fit"
            )
        slope, shift = self._state["calibration"].T
        p = expit(slope * scores + shift)
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - p[:, 0], p[:, 0]])
        return p / p.sum(axis=1, keepdims=True)

    def _hold_out(
        self, labels: np.ndarray, weight: np.ndarray, random_state: np.random.RandomState
    ) -> np.ndarray:
        """Return the labeled rows that `fit` holds out for the calibration."""
        if not self.probability:
            return np.empty(0, dtype=np.intp)
        rows = np.flatnonzero((labels[:, 0] != 0.0) & (weight > 0.0))
        classes = labels[rows].argmax(axis=1) if labels.shape[1] > 1 else labels[rows, 0]
        kinds, counts = np.unique(classes, return_counts=True)
        n = int(np.ceil(self.calibration_fraction * len(rows)))
        if counts.min() < 2 or n < len(kinds) or len(rows) - n < len(kinds):
            raise InputError(
                f"{len(rows)} labeled rows of {len(kinds)} classes are too few to hold out "
                f"{self.calibration_fraction:g} of them for calibration; label more rows, or set "
                "probability=False"
            )
        return np.sort(
            train_test_split(rows, test_size=n, stratify=classes, random_state=random_state)[1]
        )

    def _calibrate(self, scores: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> None:
        found = []
        for c in range(scores.shape[1]):
            target = platt_targets(labels[:, c] > 0.0)
            # a target p is a row of label 1 with weight p and a row of label 0 with weight 1 - p
            model = LogisticRegression(C=np.inf).fit(
                np.tile(scores[:, [c]], (2, 1)),
                np.repeat([1, 0], len(scores)),
                sample_weight=np.concatenate([target, 1.0 - target]) * np.tile(weight, 2),
            )
            found.append([model.coef_[0, 0], model.intercept_[0]])
        self._state["calibration"] = np.asarray(found)
