"""The disagreement of the views (5), as a quadratic form of the weights."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

# dense rows that are scaled at a time: a copy of all of them would not stay in the caches
ROWS_AT_ONCE = 4096


class ViewBlocks(NamedTuple):
    """All views side by side."""

    X: Any  # (n, d), dense or sparse
    ptr: np.ndarray  # (V + 1,): view v has the columns ptr[v] .. ptr[v + 1] - 1
    present: np.ndarray  # bool (n, V)
    weight: np.ndarray  # (n,)

    @property
    def number(self) -> np.ndarray:
        """The number of views that a row has, but at least 1: without views it is 0 throughout."""
        return np.maximum(self.present.sum(axis=1), 1)

    def views(self) -> list[Any]:
        """Return the columns of each view."""
        return [self.X[:, a:b] for a, b in zip(self.ptr[:-1], self.ptr[1:], strict=True)]


class Disagreement:
    """``D = M'M``, with ``w'D w = sum over rows and u < v of (f_u - f_v)²``, both present.

    With c views in a row, of scores f_v, this is ``c sum_v f_v² - (sum_v f_v)²``.  So D is
    ``X_v'diag(c) X_v`` in the block of each view, less ``X'X`` everywhere.
    """

    def __init__(self, blocks: ViewBlocks) -> None:
        self.blocks, self.number = blocks, blocks.number
        views = blocks.views()
        self.views = [sp.block_diag(views, format="csr")] if sp.issparse(blocks.X) else views

    def times(self, w: np.ndarray) -> np.ndarray:
        """Return D w."""
        ends = np.cumsum([view.shape[1] for view in self.views])[:-1]
        parts = zip(self.views, np.split(w, ends), strict=True)
        f = np.concatenate([view @ part for view, part in parts]).reshape(-1, len(self.number))
        slopes = self.blocks.weight * (self.number * f - f.sum(axis=0))
        own = slopes.reshape(len(self.views), -1)
        return np.concatenate([view.T @ g for view, g in zip(self.views, own, strict=True)])

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of D."""
        X, _, _, weight = self.blocks
        return np.asarray((X * X).T @ (weight * (self.number - 1.0))).ravel()

    def matrix(self, columns: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return D between some columns."""
        X, ptr, _, weight = self.blocks
        view = np.searchsorted(ptr, np.arange(X.shape[1])[columns], side="right")
        X = X[:, columns]
        joint = weighted_gram(X, weight)
        same = len(self.number) and (self.number == self.number[0]).all()
        own = self.number[0] * joint if same else weighted_gram(X, weight * self.number)
        return np.where(view[:, None] == view, own - joint, -joint)


def weighted_gram(X: Any, factor: np.ndarray) -> np.ndarray:
    """Return ``X'diag(factor) X``."""
    if sp.issparse(X):
        return dense(X.T @ scale_rows(X, factor))
    gram, at_once = np.zeros((X.shape[1], X.shape[1])), max(ROWS_AT_ONCE, X.shape[1])
    for i in range(0, len(X), at_once):
        x = X[i : i + at_once]
        gram += x.T @ scale_rows(x, factor[i : i + at_once])
    return gram


def scale_rows(X: Any, factor: np.ndarray) -> Any:
    """Return X with row i times ``factor[i]``."""
    return sp.diags_array(factor) @ X if sp.issparse(X) else X * factor[:, None]


def dense(X: Any) -> np.ndarray:
    """Return a matrix as an array."""
    return X.toarray() if sp.issparse(X) else X
