"""The SVM for rows in parts, which the solver sees as products and as a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import clone

from crossview.algorithms.performance.bins import BinnedSide, TwoBins, search_binned
from crossview.algorithms.performance.cut import Cut
from crossview.algorithms.performance.inverse import (
    LARGEST_FACTOR,
    Inverse,
    Metric,
)
from crossview.algorithms.performance.problem import Problem
from crossview.algorithms.performance.tables import Tables, Top
from crossview.algorithms.performance.working_set import WorkingSet
from crossview.errors import InputError
from crossview.estimators.svm.classifier import MultiViewSVMPerf
from crossview.estimators.svm.constants import ConstantFeatures
from crossview.estimators.svm.part import Labels, is_coupled


class Parts(Protocol):
    """The parts of the rows, in this process or on workers."""

    def each(self, method: str, values: list[tuple]) -> list[Any]:
        """Return what a method of each `ScoredPart` returns for its arguments."""

    def total(self, method: str, *values: Any) -> np.ndarray:
        """Return the sum of what a method of each `PartOfRows` returns, in their order."""


class _Matrix:
    """X of all parts: its products with vectors."""

    def __init__(self, parts: Parts, sizes: list[int], n_columns: int) -> None:
        self.parts, self.cuts = parts, np.cumsum([0, *sizes])
        self.shape = int(self.cuts[-1]), n_columns

    def __matmul__(self, w: np.ndarray) -> _Scores:
        return _Scores(self, w)

    def each(self, method: str, *values: Any) -> list[Any]:
        """Return what a method of each part returns for the same arguments."""
        return self.parts.each(method, [values] * (len(self.cuts) - 1))

    @property
    def T(self) -> _Transposed:  # noqa: N802 - as of an array
        """The products from the left."""
        return _Transposed(self)


class _Scores(NamedTuple):
    """X w, which stays in the parts until it is made an array."""

    X: _Matrix
    w: np.ndarray

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.concatenate(self.X.each("scores", self.w)).astype(dtype or np.float64)


class _WrongRows(NamedTuple):
    """The vector s of a labeling, by the rows that it finds in each part."""

    w: np.ndarray
    label: Any
    found: list[tuple[Top, Top]]
    unit: float


class _Transposed:
    def __init__(self, X: _Matrix) -> None:
        self._X = X

    def __matmul__(self, s: np.ndarray | _WrongRows) -> np.ndarray:
        parts, unit = self._X.parts, 1.0
        if isinstance(s, _WrongRows):
            unit = s.unit
            sums = parts.each("sum_of_wrong", [(s.w, s.label, found) for found in s.found])
        else:
            pieces = np.split(s, self._X.cuts[1:-1])
            sums = parts.each("sum_of", [(piece,) for piece in pieces])
        return np.add.reduce(sums) / unit


class _Disagreement:
    """D of all parts."""

    def __init__(self, X: _Matrix) -> None:
        self._X, self._total = X, X.parts.total

    def times(self, w: np.ndarray) -> np.ndarray:
        return np.add.reduce(self._X.each("disagreement", w))

    def diagonal(self) -> np.ndarray:
        return self._total("diagonal")

    def matrix(self, columns: np.ndarray | slice = slice(None)) -> np.ndarray:
        return self._total("matrix", columns)


class _TableSearch:
    """The most violated labeling of one class against the rest, for a concave loss of tables."""

    def __init__(self, tables: Tables, label: Any) -> None:
        self._tables, self._label = tables, label

    def __call__(self, scores: _Scores) -> Cut:
        X, w, label = *scores, self._label
        counts = X.each("count_scores", w, label)
        positive, negative = (BinnedSide(list(own)) for own in zip(*counts, strict=True))

        def tell(bins: TwoBins) -> list[Any]:
            return X.each("scores_in", w, label, bins)

        a, b = search_binned(self._tables, (positive, negative), tell)
        found = list(zip(positive.top(a), negative.top(b), strict=True))
        s: Any = _WrongRows(w, label, found, self._tables.unit)
        return Cut(float(self._tables.delta(a, b)), s)


class _Blocks(NamedTuple):
    X: Any
    weight: np.ndarray


class _TrainingRows:
    """The training rows of `MultiViewSVMPerf`, for rows in parts."""

    def __init__(
        self, model: MultiViewSVMPerf, labels: list[Labels], parts: Parts, constants: Any
    ) -> None:
        self.y = np.concatenate([one.y for one in labels])
        weight = np.concatenate([one.weight for one in labels])
        self.classes = model._classes_of(self.y, weight)
        self.constants = constants
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
        D: Any = _Disagreement(X) if self._is_coupled else None
        inverse = Inverse(D, C2, iterative=X.shape[1] > LARGEST_FACTOR)
        self._metric = Metric(X, inverse, None)

    def cuts(self, code: int) -> WorkingSet:
        """Return the cuts of a class: none."""
        return WorkingSet(self._metric)

    def divide(self, problem: Problem, code: int) -> Problem:
        """Return the problem with a search in parts; without tables it searches all scores."""
        if problem.tables is None:
            search = problem.search
            return problem._replace(search=lambda scores: search(np.asarray(scores)))
        in_parts: Any = _TableSearch(problem.tables, self.classes[code])
        return problem._replace(search=in_parts)


def fit_divided(
    model: MultiViewSVMPerf,
    head: Any,
    labels: list[Labels],
    make_parts: Callable[[np.ndarray], Parts],
) -> MultiViewSVMPerf:
    """Return the solution for rows in parts: the one of `fit`, without a calibration.

    ``head`` is a row, which tells the columns; ``labels`` are those of each part; ``make_parts``
    makes the parts from the columns that occur in any of them.
    """
    if model.solver != "joint":
        raise InputError(f"solver={model.solver!r} needs all rows; set solver='joint'")
    learner = clone(model)
    learner.check_params()
    learner._read(head, reset=True)
    constants = ConstantFeatures(learner.layout_, learner.fit_intercept)
    occurring = np.unique(np.concatenate([one.occurring for one in labels]))
    constants.set_columns(occurring)
    learner._learn_from(_TrainingRows(learner, labels, make_parts(occurring), constants))
    return learner
