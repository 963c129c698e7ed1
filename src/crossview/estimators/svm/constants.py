"""Intercepts of the views, as weights of constant features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.algorithms.performance.disagreement import ViewBlocks
from crossview.batch import whole_matrix
from crossview.kernels.rows import Rows
from crossview.views import ViewLayout


class ConstantFeatures:
    """A constant column at the end of each view; it is 0 in rows that lack the view.

    Columns that are empty in all rows are left out: their weight is 0.

    fit_intercept: whether to add the columns.
    value: value of the columns: ``1 / sqrt(n_views)``, so that their squared norm is 1.
    """

    def __init__(self, layout: ViewLayout, fit_intercept: bool) -> None:
        self.ptr, self.n_views = layout.ptr, layout.n_views
        self.fit_intercept = fit_intercept
        self.value = self.n_views**-0.5 if fit_intercept else 0.0

    def set_columns(self, occurring: np.ndarray) -> np.ndarray:
        """Take the columns that are not empty; return where those of each view begin."""
        self.occurring, ptr = occurring, np.searchsorted(occurring, self.ptr)
        self.constants = ptr[1:] + np.arange(self.n_views)
        return ptr

    def blocks(
        self, rows: Rows, weight: np.ndarray, occurring: np.ndarray | None = None
    ) -> ViewBlocks:
        """Return the rows without empty columns, and with the constant columns.

        ``occurring`` are the columns that are not empty; None: those of these rows.
        """
        matrix, V = whole_matrix(rows), self.n_views
        present = rows.present if len(rows.present) else np.ones((len(weight), V), dtype=bool)
        ptr = self.set_columns(occurring_columns(matrix) if occurring is None else occurring)
        if len(self.occurring) < matrix.shape[1]:
            matrix = matrix[:, self.occurring]
        if not self.fit_intercept:
            return ViewBlocks(matrix, ptr, present, weight)
        constants = self.value * present.astype(np.float64)
        parts: list[Any] = []
        for v in range(V):
            parts += [matrix[:, ptr[v] : ptr[v + 1]], constants[:, v : v + 1]]
        sparse = sp.issparse(matrix)
        X = sp.csr_array(sp.hstack(parts, format="csr")) if sparse else np.hstack(parts)
        return ViewBlocks(X, ptr + np.arange(V + 1), present, weight)

    def split(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of the columns and the intercept of each view, from the weights of
        `blocks`.
        """
        weights, intercepts = np.zeros(int(self.ptr[-1])), np.zeros(self.n_views)
        if self.fit_intercept:
            w, intercepts = np.delete(w, self.constants), w[self.constants] * self.value
        weights[self.occurring] = w
        return weights, intercepts


def occurring_columns(matrix: Any) -> np.ndarray:
    """Return the columns with an entry that is not 0."""
    if not sp.issparse(matrix):
        return np.flatnonzero(matrix.any(axis=0))
    occurs = np.zeros(matrix.shape[1], dtype=bool)
    occurs[matrix.indices[matrix.data != 0.0]] = True
    return np.flatnonzero(occurs)
