"""Kernel values of each view, and its γ: given, or estimated from the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from crossview.batch import flat_view, matrix_of, take_rows, views_of
from crossview.errors import InputError
from crossview.kernels import gram
from crossview.kernels.gram import ViewRows
from crossview.kernels.rows import Rows

# number of rows for the median of the pairwise distances
ROWS_FOR_MEDIAN = 500

KERNELS = {"linear": gram.LINEAR, "rbf": gram.RBF, "poly": gram.POLY}


class KernelFunction(NamedTuple):
    """The kernel of all views, but for γ."""

    kernel: Any  # a key of `KERNELS`, "precomputed" or a function of two matrices
    degree: float
    coef0: float
    constant: float  # added to each kernel value, for the intercept

    @classmethod
    def of(cls, learner: Any) -> Self:
        """Return the kernel of a learner."""
        return cls(learner.kernel, learner.degree, learner.coef0, float(learner.fit_intercept))

    @property
    def has_gamma(self) -> bool:
        """True for a kernel that depends on γ."""
        return not callable(self.kernel) and self.kernel not in ("linear", "precomputed")


@dataclass(frozen=True)
class ViewKernels:
    """The kernel of each view.

    gammas (n_views,): γ of each view.
    ptr (n_views + 1,): the first column of each view.
    dense: whether a callable kernel receives dense arrays; otherwise CSR arrays.
    """

    function: KernelFunction
    gammas: np.ndarray
    ptr: np.ndarray
    dense: bool

    def __getitem__(self, v: int) -> gram.Kernel:
        """Return the kernel of view ``v`` for the learning loops."""
        kernel, degree, coef0, _ = self.function
        return gram.Kernel(KERNELS[kernel], float(self.gammas[v]), float(coef0), float(degree))

    def of_rows(self, a: Rows, b: Rows) -> np.ndarray:
        """Return the kernel values of all views, in the shape (n_views, n_rows_a, n_rows_b)."""
        views = views_of(a)
        values = np.empty((len(views), len(a.indptr) - 1, len(b.indptr) - 1))
        for v, (x, z) in enumerate(zip(views, views if a is b else views_of(b), strict=True)):
            self.between(v, x, z, values[v])
        return values

    def between(
        self, v: int, a: ViewRows, b: ViewRows, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the kernel values of view ``v`` of all pairs of rows of ``a`` and ``b``."""
        if out is None:
            out = np.empty((len(a.begin), len(b.begin)))
        kernel, constant = self.function.kernel, self.function.constant
        if not callable(kernel):
            gram.gram(self[v], a, b, (int(self.ptr[v]), int(self.ptr[v + 1])), out)
            out += constant
            return out
        x, z = self._matrix(v, a), self._matrix(v, b)
        if self.dense:
            x, z = x.toarray(), z.toarray()
        values = np.asarray(kernel(x, z), dtype=np.float64)
        if values.shape != (x.shape[0], z.shape[0]):
            raise InputError(
                f"kernel= returned the shape {values.shape} for {x.shape[0]} and {z.shape[0]} "
                f"rows; it must return {(x.shape[0], z.shape[0])}"
            )
        return np.add(values, constant, out=out)

    def given(self, v: int, a: ViewRows, columns: np.ndarray) -> np.ndarray:
        """Return the values of a precomputed kernel with the rows ``columns`` of `fit`."""
        return (
            np.ascontiguousarray(self._matrix(v, a).toarray()[:, columns]) + self.function.constant
        )

    def _matrix(self, v: int, view: ViewRows) -> Any:
        first, last = (int(p) for p in self.ptr[v : v + 2])
        return matrix_of(view, first, last - first)


def without_overflowing_rows(rows: Rows, weight: np.ndarray) -> np.ndarray:
    """Return the weights, with 0 for rows whose squared norm overflows."""
    columns = pairwise(rows.ptr.tolist())
    norms = [gram.sqnorms_of(*both) for both in zip(views_of(rows), columns, strict=True)]
    return np.where(np.isfinite(norms).all(axis=0), weight, 0.0)


def view_gammas(gamma: Any, rows: Rows, names: Sequence[str]) -> np.ndarray:
    """Return γ of each view; "median" and "scale" estimate it from the rows that have the view."""
    found = []
    for v, view in enumerate(views_of(rows)):
        rule = value_of_view("gamma", gamma, names[v])
        first, end = int(rows.ptr[v]), int(rows.ptr[v + 1])
        if isinstance(rule, str):
            if len(rows.present):
                view = take_rows(view, np.flatnonzero(rows.present[:, v]))
            value = _gamma_of_rows(rule, view, first, end)
        else:
            value = float(rule)
        found.append(value)
    return np.asarray(found)


def later_gammas(gamma: Any, names: Sequence[str], widths: Sequence[int]) -> np.ndarray:
    """Return γ of views that are added later, for which a single row has no median distance."""
    rules = [gamma.get(name, "median") if isinstance(gamma, Mapping) else gamma for name in names]
    return np.asarray(
        [
            1.0 / width if isinstance(rule, str) else float(rule)
            for rule, width in zip(rules, widths, strict=True)
        ]
    )


def value_of_view(parameter: str, given: Any, name: str) -> Any:
    """Return the value of a parameter that is one for all views, or a mapping with one for each."""
    if not isinstance(given, Mapping):
        return given
    if name not in given:
        raise InputError(f"{parameter}= has no value for view {name!r}; give one for each view")
    return given[name]


def _gamma_of_rows(rule: str, view: ViewRows, first: int, end: int) -> float:
    """Return γ by the rule, or 1 / columns if the rows do not determine it."""
    n, width, found = len(view.begin), end - first, 0.0
    if rule == "scale" and n:
        entries, _, _ = flat_view(view)  # without zeros
        mean = float(entries.sum()) / (n * width)
        variance = float(entries @ entries) / (n * width) - mean**2
        found = 1.0 / (width * variance) if variance > 0.0 else 0.0
    elif n:
        some = np.linspace(0, n - 1, min(n, ROWS_FOR_MEDIAN)).astype(int)
        view = take_rows(view, some)
        products = np.empty((len(view.begin), len(view.begin)))
        gram.gram(gram.DOT_PRODUCT, view, view, (first, end), products)
        found = median_gamma(gram.sqnorms_of(view, (first, end)), products)
    return found or 1.0 / width


# squared distances below this share of the largest squared norm are those of equal rows
EQUAL_ROWS = 1e-12


def median_gamma(sqnorms: np.ndarray, products: np.ndarray) -> float:
    """Return 1 / the median squared distance between rows that differ; 0 if none do."""
    squares = sqnorms[:, None] + sqnorms[None, :] - 2.0 * products
    squares = squares[np.triu_indices(len(sqnorms), 1)]
    squares = squares[squares > EQUAL_ROWS * max(float(sqnorms.max(initial=0.0)), 1e-300)]
    return float(1.0 / np.median(squares)) if len(squares) else 0.0
