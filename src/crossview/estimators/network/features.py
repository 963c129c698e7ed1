"""Features that a network reads: ramps of numbers, other columns, components of words, views.

A row comes as one sparse row of numbers, indicators, words and categories.  The features are, in
this order:

- ramps of each number, between the quantiles that it has in training;
- other columns, as they are: categories, indicators, and words; of a view with many columns the
  best ones;
- components: the rows of such a view on its first singular vectors;
- views: 1 where the view is there, so that what is missing is as the mean of the rows.

All of a view that is missing in a row is 0 there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from crossview.algorithms import network
from crossview.algorithms.network import Changes, Network
from crossview.batch import entries_of, read_only, whole_matrix
from crossview.estimators.trees.features import (
    MOST_COMPONENTS,
    Targets,
    choose_columns,
    components_of,
    rises,
    rows_with_each,
    view_of,
)
from crossview.kernels.rows import Rows
from crossview.saving.schema import Array

# ramps of a number; where there are more numbers, fewer of them, of which z alone is learned from
RAMPS, FEW_RAMPS, MANY_NUMBERS = 16, 8, 128
# a column that is not 0 in fewer rows is not learned
FEWEST_ROWS = 3
# a column with more than two values is a number if it is not 0 in more than this share of the rows;
# in a view with so many columns that there are components, in more than that one
SHARE_OF_A_NUMBER, OF_MANY = 0.02, 0.5
# of the spread of a ramp in the first layer, by that of the number
SIZE_OF_A_RAMP = 0.25
# most columns of a view, and its components
MOST_COLUMNS, COMPONENTS = 500, 50
# a number that is far beyond the others overflows in single precision
LARGEST = 1e6


class Features(NamedTuple):
    """Of what features are made; columns are ascending."""

    numbers: np.ndarray  # int64 (n,): columns of the matrix that have ramps
    low: np.ndarray  # float64 (n, T): where each ramp begins
    factor: np.ndarray  # float64 (n, T): one over its length; 0: there is none
    columns: np.ndarray  # int64 (n,): columns of the matrix that are taken as they are
    wide_views: np.ndarray  # int64 (n_wide,): the views with components
    wide_columns: np.ndarray  # int64 (n,): their columns in the matrix
    loadings: np.ndarray  # float64 (n, n_components)

    def ends(self, n_views: int) -> list[int]:
        """Return the ends of ramps, other columns, components and views."""
        sizes = [
            self.low.size,
            len(self.columns),
            len(self.wide_views) * self.loadings.shape[1],
            n_views,
        ]
        return np.cumsum(sizes).tolist()

    def views(self, ptr: np.ndarray) -> np.ndarray:
        """Return the view of each feature."""
        return np.concatenate(
            [
                np.repeat(view_of(self.numbers, ptr), self.low.shape[1]),
                view_of(self.columns, ptr),
                np.repeat(self.wide_views, self.loadings.shape[1]),
                np.arange(len(ptr) - 1),
            ]
        )

    @staticmethod
    def schema(state: Mapping[str, np.ndarray], ptr: np.ndarray) -> dict[str, Array]:
        """Return what the arrays look like for views that begin at ``ptr``."""
        n_components = state["loadings"].shape[1]

        def places(length: str) -> Array:
            return Array("i8", (length,), 0, ptr[-1] - 1, holds=rises)

        return {
            "numbers": places("numbers"),
            "low": Array("f8", ("numbers", "ramps")),
            "factor": Array("f8", ("numbers", "ramps"), low=0.0),
            "columns": places("columns"),
            "wide_views": Array("i8", ("wide views",), 0, len(ptr) - 2, holds=rises),
            "wide_columns": places("wide columns"),
            "loadings": Array("f8", ("wide columns", min(n_components, MOST_COMPONENTS))),
        }


def features_of(rows: Rows, features: Features) -> np.ndarray:
    """Return the features of rows, (n_rows, n_features)."""
    matrix, ptr = whole_matrix(rows), rows.ptr.astype(np.int64)
    n, ends = matrix.shape[0], features.ends(len(ptr) - 1)
    X = np.zeros((n, ends[-1]))
    numbers = _dense(matrix, features.numbers)
    X[:, : ends[0]] = network.ramps(numbers, features.low, features.factor).reshape(n, ends[0])
    X[:, ends[0] : ends[1]] = _dense(matrix, features.columns)
    k, of_view = features.loadings.shape[1], view_of(features.wide_columns, ptr)
    for at, view in enumerate(features.wide_views.tolist()):
        some, begin = of_view == view, ends[1] + at * k
        # the same sums for dense rows, however many there are
        part = sp.csr_array(matrix[:, features.wide_columns[some]])
        X[:, begin : begin + k] = part @ features.loadings[some]
    X[:, ends[2] :] = 1.0
    if len(rows.present):
        X *= rows.present[:, features.views(ptr)]
    return X


def _dense(matrix: Any, columns: np.ndarray) -> np.ndarray:
    part = matrix[:, columns]
    return np.asarray(part.toarray() if sp.issparse(part) else part, dtype=np.float64)


def changes_without(rows: Rows, features: Features) -> Changes:
    """Return how the features of a row change without each of its entries."""
    row, column = entries_of(rows)
    ptr = rows.ptr.astype(np.int64)
    ends, T, k = features.ends(len(ptr) - 1), features.low.shape[1], features.loadings.shape[1]
    counts = rows.data != 0.0
    if len(rows.present):
        counts &= rows.present[row, view_of(column, ptr)]

    def find(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = np.minimum(np.searchsorted(columns, column), max(len(columns) - 1, 0))
        if not len(columns):
            return np.empty(0, np.intp), np.empty(0, np.intp)
        found = np.flatnonzero((columns[at] == column) & counts)
        return found, at[found]

    number, at = find(features.numbers)
    low, factor = features.low[at], features.factor[at]
    whole = np.clip((rows.data[number, None] - low) * factor, 0.0, 1.0)
    more = np.clip(-low * factor, 0.0, 1.0) - whole
    entries = [np.repeat(number, T)]
    found = [(at[:, None] * T + np.arange(T)).ravel()]
    changes = [more.ravel()]
    other, at = find(features.columns)
    entries.append(other)
    found.append(ends[0] + at)
    changes.append(-rows.data[other])
    wide, at = find(features.wide_columns)
    view = np.searchsorted(features.wide_views, view_of(column[wide], ptr))
    entries.append(np.repeat(wide, k))
    found.append((ends[1] + view[:, None] * k + np.arange(k)).ravel())
    changes.append((-rows.data[wide, None] * features.loadings[at]).ravel())
    entry, value = np.concatenate(entries), np.concatenate(changes)
    order = np.flatnonzero(value)
    order = order[np.argsort(entry[order], kind="stable")]
    counted = np.bincount(entry[order], minlength=len(row))
    return Changes(
        ptr=read_only((rows.indptr - rows.indptr[0]).astype(np.uint64)),
        ends=read_only(np.append(0, np.cumsum(counted)).astype(np.uint64)),
        feature=read_only(np.concatenate(found)[order].astype(np.uint64)),
        more=read_only(value[order]),
    )


# --- what they are made of --------------------------------------------------------------------


class LearnedFeatures:
    """Features of the training rows, and what a first layer reads of them.

    The first layer learns from numbers that are about normal, centered and of the same size: z of
    a number, its ramps, and the others.  They are a linear map of the features, so that they are
    weights of the features once it has learned.

    features: for new rows.
    inputs (n, n_inputs): float32, of the training rows.
    """

    def __init__(
        self, rows: Rows, targets: Targets, n_columns: int, random_state: np.random.RandomState
    ) -> None:
        matrix, ptr = whole_matrix(rows), rows.ptr.astype(np.int64)
        counts = rows_with_each(matrix)
        free = counts >= min(FEWEST_ROWS, len(targets.y))
        columns, wide = choose_columns(matrix, ptr, free, counts, targets, n_columns)
        wide_columns, loadings = components_of(matrix, wide, COMPONENTS, random_state)
        dense = _dense(matrix, columns)
        there = rows.present if len(rows.present) else np.ones((len(dense), len(ptr) - 1), bool)
        of_view = view_of(columns, ptr)
        share = counts[columns] / len(dense)
        least = np.where(np.isin(of_view, list(wide)), OF_MANY, SHARE_OF_A_NUMBER)
        is_number = np.zeros(len(columns), dtype=np.bool_)
        for c in np.flatnonzero(share > least).tolist():
            own = dense[there[:, of_view[c]], c]
            is_number[c] = ((own != own[0]) & (own != own[np.argmax(own != own[0])])).any()
        numbers = np.flatnonzero(is_number)
        n_ramps = RAMPS if len(numbers) <= MANY_NUMBERS else FEW_RAMPS
        low, factor, steps = np.zeros((3, len(numbers), n_ramps))
        for i, c in enumerate(numbers.tolist()):
            k, z = network.quantile_knots(dense[there[:, of_view[c]], c], n_ramps)
            n = len(k) - 1
            low[i, :n], factor[i, :n], steps[i, :n] = k[:-1], 1.0 / np.diff(k), np.diff(z)
        self.features = Features(
            numbers=columns[numbers],
            low=low,
            factor=np.minimum(factor, np.finfo(float).max),
            columns=columns[~is_number],
            wide_views=np.array(list(wide), dtype=np.int64),
            wide_columns=wide_columns,
            loadings=loadings,
        )
        self._steps = steps
        X = features_of(rows, self.features)
        self._measure(X, targets.weight, ptr)
        self.inputs = self._map(X).astype(np.float32)

    def _measure(self, X: np.ndarray, weight: np.ndarray, ptr: np.ndarray) -> None:
        """Find the centers and sizes of what the first layer learns from."""
        views, V = self.features.views(ptr), len(ptr) - 1
        n, T = self._steps.shape
        there = X[:, -V:]
        h = weight[:, None] * there
        h /= np.maximum(h.sum(axis=0), np.finfo(float).tiny)
        Z = self._numbers_of(X)
        own = np.concatenate([views[: n * T : T], views[: n * T]])
        self._center = np.einsum("nf,nf->f", h[:, own], Z)
        away = (Z - self._center) ** 2
        size = np.sqrt(np.einsum("nf,nf->f", h[:, own], away))
        size[n:] /= SIZE_OF_A_RAMP
        others = X[:, n * T : -V]
        squares = (others**2).sum(axis=0) / np.maximum(np.count_nonzero(others, axis=0), 1)
        self._size = np.concatenate([size, np.sqrt(squares)])
        self._size[self._size == 0.0] = 1.0
        self._view_of_centers, self._n_views = own, V
        self._learned = np.ones(len(self._size), dtype=np.bool_)
        if n > MANY_NUMBERS:
            self._learned[n : n + n * T] = False

    def _numbers_of(self, X: np.ndarray) -> np.ndarray:
        """Return z of each number, and its ramps."""
        n, T = self._steps.shape
        ramps = X[:, : n * T]
        z = np.einsum("njt,jt->nj", ramps.reshape(len(X), n, T), self._steps)
        return np.hstack([z, ramps])

    def _map(self, X: np.ndarray) -> np.ndarray:
        """Return what the first layer learns from."""
        V, end = self._n_views, self._steps.size
        numbers = self._numbers_of(X) - self._center * X[:, -V:][:, self._view_of_centers]
        found = np.hstack([numbers, X[:, end:-V]]) / self._size
        return np.clip(found[:, self._learned], -LARGEST, LARGEST)

    def weights_of_features(self, net: Network) -> Network:
        """Return the same network for features instead of what the first layer learned from."""
        n, T = self._steps.shape
        W = np.zeros((len(self._size), len(net.b1)))
        W[self._learned] = net.W1
        W /= self._size[:, None]
        offsets = np.zeros((self._n_views, W.shape[1]))
        n_centers = len(self._center)
        centers = self._center[:, None] * W[:n_centers]
        np.subtract.at(offsets, self._view_of_centers, centers)
        of_z = (self._steps[:, :, None] * W[:n, None]).reshape(n * T, W.shape[1])
        W1 = np.vstack([W[n:n_centers] + of_z, W[n_centers:], offsets])
        return net._replace(W1=W1.astype(np.float32))
