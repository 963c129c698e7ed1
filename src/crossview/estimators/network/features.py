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

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from crossview.algorithms import network
from crossview.algorithms.network import Changes, Network
from crossview.batch import (
    blocks_of_width,
    present_entries,
    read_only,
    rows_at,
    view_of,
    whole_matrix,
)
from crossview.estimators.trees.features import (
    MOST_COMPONENTS,
    Targets,
    choose_columns,
    components_of,
    find_entries,
    rises,
    rows_with_each,
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
# a value that is far beyond the others overflows in single precision
LARGEST = 1e6
# what rounding alone makes of the spread of a constant
SMALLEST = 1e-7


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
    row, column, counts = present_entries(rows)
    ptr = rows.ptr.astype(np.int64)
    ends, T, k = features.ends(len(ptr) - 1), features.low.shape[1], features.loadings.shape[1]
    number, at = find_entries(features.numbers, column, counts)
    low, factor = features.low[at], features.factor[at]
    whole = np.clip((network.bounded(rows.data[number, None]) - low) * factor, 0.0, 1.0)
    more = np.clip(-low * factor, 0.0, 1.0) - whole
    entries = [np.repeat(number, T)]
    found = [(at[:, None] * T + np.arange(T)).ravel()]
    changes = [more.ravel()]
    other, at = find_entries(features.columns, column, counts)
    entries.append(other)
    found.append(ends[0] + at)
    changes.append(-rows.data[other])
    wide, at = find_entries(features.wide_columns, column, counts)
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
        there = rows.present if len(rows.present) else None
        of_view, n = view_of(columns, ptr), matrix.shape[0]
        least = np.where(np.isin(of_view, list(wide)), OF_MANY, SHARE_OF_A_NUMBER)
        often = np.flatnonzero(counts[columns] > least * n)
        values, by_column = {}, sp.csc_array(matrix) if sp.issparse(matrix) else matrix
        for c in often.tolist():
            own = _dense(by_column, columns[[c]])[:, 0]
            own = own if there is None else own[there[:, of_view[c]]]
            others = own[own != own[0]]
            if len(others) and (others != others[0]).any():
                values[c] = own
        n_ramps = RAMPS if len(values) <= MANY_NUMBERS else FEW_RAMPS
        low, factor, steps = np.zeros((3, len(values), n_ramps))
        for i, own in enumerate(values.values()):
            k, z = network.quantile_knots(own, n_ramps)
            m = len(k) - 1
            low[i, :m], factor[i, :m], steps[i, :m] = k[:-1], 1.0 / np.diff(k), np.diff(z)
        numbers = np.array(list(values), dtype=np.intp)
        self.features = Features(
            numbers=columns[numbers],
            low=low,
            factor=factor,
            columns=np.delete(columns, numbers),
            wide_views=np.array(list(wide), dtype=np.int64),
            wide_columns=wide_columns,
            loadings=loadings,
        )
        self._steps, self._views = steps, self.features.views(ptr)
        # of z of each number, and then of each ramp, which is not learned from if there are many
        self._of_view = np.concatenate(
            [view_of(self.features.numbers, ptr), self._views[: steps.size]]
        )
        self._learned = np.ones(len(self._views) + len(steps) - len(ptr) + 1, dtype=np.bool_)
        if len(steps) > MANY_NUMBERS:
            self._learned[len(steps) : len(self._of_view)] = False
        blocks = list(blocks_of_width(n, len(self._learned)))
        parts = (features_of(rows_at(rows, at), self.features) for at in blocks)
        self._measure(parts, [targets.weight[at] for at in blocks], len(ptr) - 1)
        self.inputs = np.empty((n, np.count_nonzero(self._learned)), dtype=np.float32)
        for at in blocks:
            self.inputs[at] = self._map(features_of(rows_at(rows, at), self.features))

    def _measure(
        self, parts: Iterable[np.ndarray], weights: Sequence[np.ndarray], n_views: int
    ) -> None:
        """Find the centers and sizes of what the first layer learns from."""
        end, own = self._steps.size, self._of_view
        total, sums, squares = np.zeros(n_views), np.zeros(len(own)), np.zeros(len(own))
        of_others, nonzero = np.zeros((2, len(self._learned) - len(own)))
        for X, weight in zip(parts, weights, strict=True):
            Z, others = self._numbers_of(X), X[:, end:-n_views]
            total += weight @ X[:, -n_views:]
            sums += weight @ Z  # 0 where the view is missing
            squares += weight @ Z**2
            of_others += (others**2).sum(axis=0)
            nonzero += np.count_nonzero(others, axis=0)
        total = np.maximum(total, np.finfo(float).tiny)[own]
        self._center, n = sums / total, len(self._steps)
        size = np.sqrt(np.maximum(squares / total - self._center**2, 0.0))
        size[size < SMALLEST] = 0.0
        size[n:] /= SIZE_OF_A_RAMP
        self._size = np.concatenate([size, np.sqrt(of_others / np.maximum(nonzero, 1))])
        self._size[self._size == 0.0] = 1.0

    def _numbers_of(self, X: np.ndarray) -> np.ndarray:
        """Return z of each number, and its ramps."""
        n, T = self._steps.shape
        ramps = X[:, : n * T]
        z = np.einsum("njt,jt->nj", ramps.reshape(len(X), n, T), self._steps)
        return np.hstack([z, ramps])

    def _map(self, X: np.ndarray) -> np.ndarray:
        """Return what the first layer learns from."""
        n_features, end = len(self._views), self._steps.size
        n_views = int(self._views[-1]) + 1
        there = X[:, n_features - n_views :]
        numbers = self._numbers_of(X) - self._center * there[:, self._of_view]
        found = np.hstack([numbers, X[:, end : n_features - n_views]]) / self._size
        return np.clip(found[:, self._learned], -LARGEST, LARGEST)

    def weights_of_features(self, net: Network) -> Network:
        """Return the same network for features instead of what the first layer learned from."""
        n, end = len(self._steps), len(self._of_view)
        W = np.zeros((len(self._size), len(net.b1)))
        W[self._learned] = net.W1
        W /= self._size[:, None]
        offsets = np.zeros((int(self._views[-1]) + 1, W.shape[1]))
        np.subtract.at(offsets, self._of_view, self._center[:, None] * W[:end])
        of_z = (self._steps[:, :, None] * W[:n, None]).reshape(end - n, W.shape[1])
        W1 = np.vstack([W[n:end] + of_z, W[end:], offsets])
        return net._replace(W1=W1.astype(np.float32))
