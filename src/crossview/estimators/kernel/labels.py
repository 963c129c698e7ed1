"""Base class of the semi-supervised classifiers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from crossview.errors import InputError
from crossview.estimators.base import OnlineClassifier
from crossview.estimators.targets import one_per_row, row_weights
from crossview.kernels.rows import Rows
from crossview.labels import has_label

__all__ = ["SemiSupervisedClassifier"]


class SemiSupervisedClassifier(OnlineClassifier):
    """Base class of the classifiers that accept unlabeled rows.

    ``learns_unlabeled``: whether the model learns from them; otherwise they only count as steps.
    """

    learns_unlabeled: ClassVar[bool]

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

    def _labels(self, y: Any, rows: Rows) -> np.ndarray:
        y = one_per_row(y, len(rows.indptr) - 1, type(self).__name__)
        known = _plain(y[~self._unlabeled(y)])
        if known.dtype.kind in "fc" and not np.isfinite(known).all():
            raise InputError("a label is infinite; leave the row out, or label it")
        if known.dtype.kind not in "iubUS":
            check_classification_targets(known)
        return y

    def _first_targets(
        self, y: Any, sample_weight: Any, rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        y = self._labels(y, rows)
        classes = np.unique(_plain(y[~self._unlabeled(y)]))
        if len(classes) < 2:
            seen = f"one class, {classes.tolist()[0]!r}" if len(classes) else "no label"
            raise InputError(f"y has {seen}; a classifier needs two or more classes")
        self._set_classes(classes)
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
        labels = np.zeros((len(y), K))
        weight = row_weights(sample_weight, len(y))
        unknown = ~np.isin(labels_known, self.classes_)
        if unknown.any():
            row = int(np.argmax(unknown))
            raise InputError(
                f"label {labels_known.tolist()[row]!r} is not among the classes "
                f"{self.classes_.tolist()!r}",
                row=int(known[row]),
            )
        if len(known):
            codes, factor = super()._targets(labels_known, 1.0, class_weight)
            weight[known] *= factor
            labels[known] = self._targets_of_codes(codes)
        return labels, weight


def _plain(labels: np.ndarray) -> np.ndarray:
    """Return an object array of labels with the dtype of its values."""
    return np.asarray(labels.tolist()) if labels.dtype.kind == "O" and len(labels) else labels
