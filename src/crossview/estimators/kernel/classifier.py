"""Base class of the kernel classifiers: labels, and what they are where one is missing."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from crossview.algorithms.kernel.schedule import SCHEDULES
from crossview.algorithms.kernel.step import Settings
from crossview.batch import read_only
from crossview.errors import InputError
from crossview.estimators.base import OnlineClassifier
from crossview.estimators.documentation import with_parameters
from crossview.estimators.kernel.learner import KernelLearner
from crossview.estimators.kernel.training import TrainingSet
from crossview.estimators.targets import (
    check_classes,
    check_types,
    one_per_row,
    row_weights,
    several_classes,
)
from crossview.estimators.validation import StrOptions
from crossview.kernels.rows import Rows
from crossview.labels import has_label


@with_parameters
class KernelClassifier(KernelLearner, OnlineClassifier):
    """Base class of the kernel classifiers: hinge loss, and labels for the unlabeled rows."""

    _parameter_constraints: ClassVar[dict] = {
        "schedule": [StrOptions(set(SCHEDULES))],
        "include_self": ["boolean"],
        "unlabeled": [str, Real, None],
    }

    include_self: bool = True
    unlabeled: Any = None
    class_weight: Any = None
    calibration: str = "sigmoid"

    def _settings(self, *, drawn: bool) -> Settings:
        lam, supervised = read_only(self._lams()), not self.learns_unlabeled
        include_self = drawn and self.include_self
        return Settings(lam, float(self.fit_intercept), include_self, supervised)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_budget()
        rows = self._read(X, reset=True)
        labels, weight = self._first_targets(y, sample_weight, rows)
        scores = self._learn_all(rows, labels, weight)
        if scores is None:
            self._calibrate_by_folds(X, y, sample_weight)
        else:
            self._calibrate_in_pass(scores, labels, sample_weight)

    def _fold_params(self, codes: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
        return super()._fold_params(codes, weight) | {"n_iterations": max(1, self.n_steps_)}

    # --- labels --------------------------------------------------------------------------

    def _has_no_label(self, y: Any) -> bool:
        return bool(self._unlabeled(np.asarray([y], dtype=object))[0])

    def _unlabeled(self, y: np.ndarray) -> np.ndarray:
        """Return which rows have no label: NaN, None or the value of ``unlabeled``."""
        missing = ~has_label(y)
        if self.unlabeled is not None:
            missing |= np.asarray(y == self.unlabeled, dtype=bool)
        return missing

    def _is_labeled(self, y: np.ndarray) -> np.ndarray:
        return ~self._unlabeled(y)

    def _read_targets(self, y: Any, n_rows: int | None) -> np.ndarray:
        y = one_per_row(y, n_rows, type(self).__name__)
        known = y[~self._unlabeled(y)]
        check_types(known)
        known = _plain(known)
        if known.dtype.kind in "fc" and not np.isfinite(known).all():
            raise InputError("a label is infinite; leave the row out, or label it")
        check_classes(known)
        return y

    def _first_targets(
        self, y: Any, sample_weight: Any, rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        y = self._read_targets(y, len(rows.indptr) - 1)
        labels = _plain(y[~self._unlabeled(y)])
        self._set_classes(several_classes(labels, self.class_weight))
        return self._targets(y, sample_weight, self.class_weight)

    def _targets_of_codes(self, codes: np.ndarray) -> np.ndarray:
        """Return labels (n, K), -1 and 1, from the targets of a classifier of labeled rows."""
        K = self._n_scores()
        return codes[:, None] if K == 1 else np.where(np.arange(K) == codes[:, None], 1.0, -1.0)

    def _targets(
        self, y: np.ndarray, sample_weight: Any, class_weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return labels (n, K): -1 and 1, 0 in unlabeled rows; and the weights of the rows."""
        known = np.flatnonzero(~self._unlabeled(y))
        labels_known = _plain(y[known])
        K = self._n_scores()
        labels = np.full((len(y), K), np.nan)
        weight = row_weights(sample_weight, len(y))
        unknown = ~np.isin(labels_known, self.classes_)
        if unknown.any():
            row = int(np.argmax(unknown))
            raise InputError(
                f"label {labels_known.tolist()[row]!r} is not among the classes "
                f"{self.classes_.tolist()!r}{self._advice_on_new_classes}",
                row=int(known[row]),
            )
        if len(known):
            codes, weight[known] = super()._targets(labels_known, weight[known], class_weight)
            labels[known] = self._targets_of_codes(codes)
        return labels, weight

    def _calibration_targets(
        self, target: np.ndarray, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        missing = np.isnan(target[:, 0])
        codes = target.argmax(axis=1) if target.shape[1] > 1 else target[:, 0] > 0.0
        return np.where(missing, -1, codes), row_weights(sample_weight, len(target))


def read_training_set(learner: KernelClassifier, X: Any, y: Any) -> TrainingSet:
    """Return the training set of ``learner.fit(X, y)`` without fitting."""
    learner.check_params()
    rows = learner._read(X, reset=True)
    return TrainingSet(rows, *learner._first_targets(y, None, rows))


def _plain(labels: np.ndarray) -> np.ndarray:
    """Return an object array of labels with the dtype of its values."""
    return np.asarray(labels.tolist()) if labels.dtype.kind == "O" and len(labels) else labels
