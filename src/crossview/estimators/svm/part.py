"""Some of the training rows, where they are: their scores, and sums over them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from crossview.algorithms.performance.bins import Bins, TwoBins, bins_of, count_scores
from crossview.algorithms.performance.disagreement import Disagreement, ViewBlocks
from crossview.algorithms.performance.tables import Top, label_rows
from crossview.batch import whole_matrix
from crossview.estimators.svm.classifier import MultiViewSVMPerf
from crossview.estimators.svm.constants import ConstantFeatures, occurring_columns


class Labels(NamedTuple):
    """The labels of a part, its weights, and the columns that occur in it."""

    y: np.ndarray
    weight: np.ndarray
    occurring: np.ndarray  # the columns with an entry that is not 0


def labels_of(model: MultiViewSVMPerf, X: Any, y: Any, sample_weight: Any) -> Labels:
    """Return the labels of rows of positive weight."""
    rows, labels, weight = clone(model)._rows_to_fit(X, y, sample_weight)
    return Labels(labels, weight, occurring_columns(whole_matrix(rows)))


class PartOfRows(NamedTuple):
    """The rows of a part."""

    blocks: ViewBlocks
    y: np.ndarray
    D: Disagreement | None  # where views are coupled

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of D of these rows."""
        assert self.D is not None
        return self.D.diagonal()

    def matrix(self, columns: np.ndarray | slice) -> np.ndarray:
        """Return D of these rows between some columns."""
        assert self.D is not None
        return self.D.matrix(columns)


def part_of(
    model: MultiViewSVMPerf, X: Any, y: Any, sample_weight: Any, occurring: np.ndarray
) -> PartOfRows:
    """Return the rows of positive weight, with the columns that occur in any part."""
    learner = clone(model)
    rows, labels, weight = learner._rows_to_fit(X, y, sample_weight)
    constants = ConstantFeatures(learner.layout_, learner.fit_intercept)
    blocks = constants.blocks(rows, weight, occurring)
    coupled = is_coupled(learner, constants.n_views)
    return PartOfRows(blocks, labels, Disagreement(blocks) if coupled else None)


def is_coupled(model: MultiViewSVMPerf, n_views: int) -> bool:
    """Return whether views that disagree have a price."""
    return bool(model.C2 > 0.0 and n_views > 1)


class Side(NamedTuple):
    """The positive rows of a part, or the others."""

    rows: np.ndarray
    f: np.ndarray
    bins: np.ndarray


class ScoredPart:
    """A part that keeps the scores by the last weights.

    Whoever asks about scores says by which weights, so a part that has lost them, because its
    worker died, computes them again.
    """

    def __init__(self, rows: PartOfRows) -> None:
        self._rows, self._X = rows, rows.blocks.X
        self._w: np.ndarray | None = None
        self._label: Any = None

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return X w."""
        if self._w is None or not np.array_equal(self._w, w):
            self._w, self._f, self._label = w, np.asarray(self._X @ w), None
        return self._f

    def sum_of(self, s: np.ndarray) -> np.ndarray:
        """Return X's."""
        return np.asarray(self._X.T @ s)

    def disagreement(self, w: np.ndarray) -> np.ndarray:
        """Return D w of these rows."""
        assert self._rows.D is not None
        return self._rows.D.times(w)

    def count_scores(self, w: np.ndarray, label: Any) -> list[Bins]:
        """Return the scores in bins: of the rows of a class, and of the others."""
        return [count_scores(side.f, side.bins) for side in self._sides(w, label)]

    def scores_in(self, w: np.ndarray, label: Any, bins: TwoBins) -> list[np.ndarray]:
        """Return the scores in some bins."""
        sides = self._sides(w, label)
        return [side.f[np.isin(side.bins, k)] for side, k in zip(sides, bins, strict=True)]

    def sum_of_wrong(self, w: np.ndarray, label: Any, found: tuple[Top, Top]) -> np.ndarray:
        """Return ``X's unit`` for the labeling that finds these rows."""
        positive, negative = (side.rows for side in self._sides(w, label))
        return self.sum_of(label_rows(self._f, positive, negative, found))

    def _sides(self, w: np.ndarray, label: Any) -> list[Side]:
        f = self.scores(w)
        if self._label is None or self._label != label:
            self._label, of_class = label, self._rows.y == label
            rows = [np.flatnonzero(of_class), np.flatnonzero(~of_class)]
            self._both = [Side(own, f[own], bins_of(f[own])) for own in rows]
        return self._both
