"""Kernel values of each view."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from crossview.batch import matrix_of, views_of
from crossview.errors import InputError
from crossview.kernels import gram
from crossview.kernels.gram import ViewRows
from crossview.kernels.rows import Rows

__all__ = ["KERNELS", "ViewKernels", "without_overflowing_rows"]

KERNELS = {"linear": gram.LINEAR, "rbf": gram.RBF, "poly": gram.POLY}


@dataclass(frozen=True)
class ViewKernels:
    """The kernel of each view.

    Parameters
    ----------
    kernel : str or callable
        A key of `KERNELS`, "precomputed" or a function of two matrices.
    gammas : ndarray of shape (n_views,)
        γ of each view.
    coef0, degree : float
        Parameters of the polynomial kernel.
    ptr : ndarray of shape (n_views + 1,)
        The first column of each view.
    constant : float
        Added to each kernel value, for the intercept.
    dense : bool
        Whether a callable kernel receives dense arrays; otherwise CSR arrays.
    """

    kernel: Any
    gammas: np.ndarray
    coef0: float
    degree: float
    ptr: np.ndarray
    constant: float
    dense: bool

    def __getitem__(self, v: int) -> gram.Kernel:
        """Return the kernel of view ``v`` for the learning loops."""
        kind = KERNELS[self.kernel]
        return gram.Kernel(kind, float(self.gammas[v]), float(self.coef0), float(self.degree))

    def of_rows(self, a: Rows, b: Rows) -> np.ndarray:
        """Return the kernel values of all views.

        Parameters
        ----------
        a, b : Rows
            Rows; of the same ones half of the values are computed.

        Returns
        -------
        values : ndarray of shape (n_views, n_rows_a, n_rows_b)
            Contiguous.
        """
        views = views_of(a)
        values = np.empty((len(views), len(a.indptr) - 1, len(b.indptr) - 1))
        for v, (x, z) in enumerate(zip(views, views if a is b else views_of(b), strict=True)):
            self.between(v, x, z, values[v])
        return values

    def between(
        self, v: int, a: ViewRows, b: ViewRows, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the kernel values of view ``v`` of all pairs of rows of ``a`` and ``b``.

        Parameters
        ----------
        v : int
            The view.
        a, b : ViewRows
            This view of some rows.
        out : ndarray of shape (n_rows_a, n_rows_b), default=None
            Where the values are written.

        Returns
        -------
        values : ndarray of shape (n_rows_a, n_rows_b)
            Contiguous.
        """
        if out is None:
            out = np.empty((len(a.begin), len(b.begin)))
        if not callable(self.kernel):
            gram.gram(self[v], a, b, (int(self.ptr[v]), int(self.ptr[v + 1])), out)
            out += self.constant
            return out
        x, z = self._matrix(v, a), self._matrix(v, b)
        if self.dense:
            x, z = x.toarray(), z.toarray()
        values = np.asarray(self.kernel(x, z), dtype=np.float64)
        if values.shape != (x.shape[0], z.shape[0]):
            raise InputError(
                f"kernel= returned the shape {values.shape} for {x.shape[0]} and {z.shape[0]} "
                f"rows; it must return {(x.shape[0], z.shape[0])}"
            )
        return np.add(values, self.constant, out=out)

    def given(self, v: int, a: ViewRows, columns: np.ndarray) -> np.ndarray:
        """Return the values of a precomputed kernel with the rows ``columns`` of `fit`.

        Parameters
        ----------
        v : int
            The view.
        a : ViewRows
            Rows whose columns are kernel values.
        columns : ndarray of int
            The columns to take.

        Returns
        -------
        values : ndarray of shape (n_rows, n_columns)
            Contiguous.
        """
        return np.ascontiguousarray(self._matrix(v, a).toarray()[:, columns]) + self.constant

    def _matrix(self, v: int, view: ViewRows) -> Any:
        first, last = (int(p) for p in self.ptr[v : v + 2])
        return matrix_of(view, first, last - first)


def without_overflowing_rows(rows: Rows, weight: np.ndarray) -> np.ndarray:
    """Return the weights, with 0 for rows whose squared norm overflows."""
    columns = pairwise(rows.ptr.tolist())
    norms = [gram.sqnorms_of(*both) for both in zip(views_of(rows), columns, strict=True)]
    return np.where(np.isfinite(norms).all(axis=0), weight, 0.0)
