"""Training rows in parts, each of which computes sums over its own rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import clone

from crossview.algorithms.performance.disagreement import Disagreement, ViewBlocks
from crossview.algorithms.performance.inverse import (
    LARGEST_FACTOR,
    Inverse,
    Metric,
)
from crossview.algorithms.performance.working_set import WorkingSet
from crossview.batch import whole_matrix
from crossview.errors import InputError
from crossview.estimators.svm.classifier import MultiViewSVMPerf
from crossview.estimators.svm.constants import ConstantFeatures, occurring_columns

__all__ = ["Labels", "PartOfRows", "Parts", "fit_divided", "labels_of", "part_of"]


class Labels(NamedTuple):
    """What a part tells of its rows before they are learned."""

    y: np.ndarray
    weight: np.ndarray
    occurring: np.ndarray  # the columns with an entry that is not 0


def labels_of(model: MultiViewSVMPerf, X: Any, y: Any, sample_weight: Any) -> Labels:
    """Return the labels of rows of positive weight."""
    rows, labels, weight = clone(model)._rows_with_weight(X, y, sample_weight)
    return Labels(labels, weight, occurring_columns(whole_matrix(rows)))


class PartOfRows(NamedTuple):
    """The rows of a part."""

    blocks: ViewBlocks
    D: Disagreement | None  # where views are coupled

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return X w."""
        return np.asarray(self.blocks.X @ w)

    def sum_of(self, s: np.ndarray) -> np.ndarray:
        """Return X's."""
        return np.asarray(self.blocks.X.T @ s)

    def disagreement(self, w: np.ndarray) -> np.ndarray:
        """Return D w of these rows."""
        assert self.D is not None
        return self.D.times(w)

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
    rows, _, weight = learner._rows_with_weight(X, y, sample_weight)
    constants = ConstantFeatures(learner.layout_, learner.fit_intercept)
    blocks = constants.blocks(rows, weight, occurring)
    coupled = is_coupled(learner, constants.n_views)
    return PartOfRows(blocks, Disagreement(blocks) if coupled else None)


def is_coupled(model: MultiViewSVMPerf, n_views: int) -> bool:
    """Return whether views that disagree have a price."""
    return bool(model.C2 > 0.0 and n_views > 1)


class Parts(Protocol):
    """Where the parts are."""

    def each(self, method: str, values: list[tuple]) -> list[Any]:
        """Return what a method of each part returns for its arguments."""

    def total(self, method: str, *values: Any) -> np.ndarray:
        """Return the sum of what a method of the parts returns, in their order."""


class _Matrix:
    """X of all parts: its products with vectors."""

    def __init__(self, parts: Parts, sizes: list[int], n_columns: int) -> None:
        self.parts, self.cuts = parts, np.cumsum([0, *sizes])
        self.shape = int(self.cuts[-1]), n_columns

    def __matmul__(self, w: np.ndarray) -> np.ndarray:
        return np.concatenate(self.parts.each("scores", [(w,)] * (len(self.cuts) - 1)))

    @property
    def T(self) -> _Transposed:  # noqa: N802 - as of an array
        """The products from the left."""
        return _Transposed(self)


class _Transposed:
    def __init__(self, X: _Matrix) -> None:
        self._X = X

    def __matmul__(self, s: np.ndarray) -> np.ndarray:
        pieces = np.split(s, self._X.cuts[1:-1])
        sums = self._X.parts.each("sum_of", [(piece,) for piece in pieces])
        return np.add.reduce(sums)


class _Disagreement:
    """D of all parts."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def times(self, w: np.ndarray) -> np.ndarray:
        return self._parts.total("disagreement", w)

    def diagonal(self) -> np.ndarray:
        return self._parts.total("diagonal")

    def matrix(self, columns: np.ndarray | slice = slice(None)) -> np.ndarray:
        return self._parts.total("matrix", columns)


class _Blocks(NamedTuple):
    X: Any
    weight: np.ndarray


class _TrainingRows:
    """What `MultiViewSVMPerf` asks of its training rows."""

    def __init__(
        self, model: MultiViewSVMPerf, labels: list[Labels], parts: Parts, constants: Any
    ) -> None:
        self.y = np.concatenate([one.y for one in labels])
        weight = np.concatenate([one.weight for one in labels])
        self.classes = model._classes_of(self.y, weight)
        self.constants, self._parts = constants, parts
        self._is_coupled = is_coupled(model, constants.n_views)
        n_columns = len(constants.occurring) + (constants.n_views if constants.fit_intercept else 0)
        sizes = [len(one.y) for one in labels]
        self.blocks = _Blocks(_Matrix(parts, sizes, n_columns), weight)
        if n_columns > len(self.y):
            raise InputError(
                f"{len(self.y)} rows of {n_columns} columns are few enough for one machine; use fit"
            )

    def prepare(self, C2: float) -> None:
        """Factorize."""
        X = self.blocks.X
        D: Any = _Disagreement(self._parts) if self._is_coupled else None
        inverse = Inverse(D, C2, iterative=X.shape[1] > LARGEST_FACTOR)
        self._metric = Metric(X, inverse, None)

    def cuts(self, code: int) -> WorkingSet:
        """Return the cuts of a class: none."""
        return WorkingSet(self._metric)


def fit_divided(
    model: MultiViewSVMPerf,
    head: Any,
    labels: list[Labels],
    make_parts: Callable[[np.ndarray], Parts],
) -> MultiViewSVMPerf:
    """Return the solution for rows in parts: the one of `fit`, without a calibration.

    Parameters
    ----------
    model : MultiViewSVMPerf
        The parameters; it stays as it is.
    head : array-like, sparse matrix, data frame or MultiView
        A row, which tells the columns.
    labels : list of Labels
        Of each part.
    make_parts : callable
        From the columns that occur in any part to the parts.

    Returns
    -------
    MultiViewSVMPerf
        Fitted.
    """
    if model.solver != "joint":
        raise InputError(f"solver={model.solver!r} needs all rows; set solver='joint'")
    learner = clone(model)
    learner.check_params()
    learner._read(head, reset=True)
    constants = ConstantFeatures(learner.layout_, learner.fit_intercept)
    occurring = np.unique(np.concatenate([one.occurring for one in labels]))
    _set_columns(constants, occurring)
    learner._learn_from(_TrainingRows(learner, labels, make_parts(occurring), constants))
    return learner


def _set_columns(constants: ConstantFeatures, occurring: np.ndarray) -> None:
    """Tell where the constant columns are, as for rows with these columns."""
    constants.occurring = occurring
    if constants.fit_intercept:
        ptr = np.searchsorted(occurring, constants.ptr)
        constants.constants = ptr[1:] + np.arange(constants.n_views)
