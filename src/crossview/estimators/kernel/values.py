"""Kernel values of each view."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from crossview.batch import matrix_of, views_of
from crossview.errors import InputError
from crossview.kernels import gram
from crossview.kernels.gram import ViewRows
from crossview.kernels.rows import Rows

KERNELS = {"linear": gram.LINEAR, "rbf": gram.RBF, "poly": gram.POLY}


class KernelFunction(NamedTuple):
    """The kernel of all views, but for γ."""

    kernel: Any  # a key of `KERNELS`, "precomputed" or a function of two matrices
    degree: float
    coef0: float
    constant: float  # added to each kernel value, for the intercept


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
