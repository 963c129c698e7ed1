"""Features that trees split: numbers, components of words, and categories as numbers.

A row comes as one sparse row of numbers, indicators, words and categories.  Trees need few dense
columns.  They are, in this order:

- codes: a column of categories with few values, as the number of the value; NaN: another value, or
  none;
- columns: what is a number, as it is; of a view with many columns the best ones;
- components: the rows of such a view on its first singular vectors;
- statistics: of a column of categories with more values, the target statistics of the value
  (`crossview.algorithms.trees.target_statistics`), and of how many rows they are the mean.  A value
  that training did not have has those of no row.

All of a view that is missing in a row is NaN there.

Which columns of the matrix are the values of one column of categories is what
`MultiView.categories` says.  An encoder tells it in training, and a fitted learner keeps it; so it
scores any matrix with the same columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import f_classif, f_regression
from sklearn.utils.extmath import randomized_svd

from crossview.algorithms.trees.scores import Changes
from crossview.algorithms.trees.target_statistics import (
    best_weight,
    category_statistics,
    ordered_statistics,
)
from crossview.batch import present_entries, read_only, view_of, whole_matrix
from crossview.kernels.rows import Rows
from crossview.portable.scoring import CodedFeature, Components, Statistics, Table
from crossview.saving.schema import Array

MOST_COMPONENTS = 1000
# of a column of the matrix in a feature that is made of it
LEAST_SHARE = 1e-9
# values of a column of categories that are codes; scikit-learn takes no more than bins
MOST_CODES = 63
# with more classes the statistics of a column would be too many
MOST_TARGETS = 10
# numbers of the dense matrix: of more rows, fewer columns of wide views are chosen
MAX_ENTRIES = 50_000_000
# a column that is not 0 in more than this share of the rows is no word, but a number
SHARE_OF_A_NUMBER = 0.5


class Features(NamedTuple):
    """The matrix columns and statistics of which features are made; ``columns`` are ascending."""

    code_views: np.ndarray  # int64 (n_coded,): the view of each column of categories with codes
    code_slots: np.ndarray  # int64 (n,): columns of the matrix that are their values
    code_groups: np.ndarray  # int64 (n,): which column of categories it is of
    codes: np.ndarray  # int64 (n,): its number
    columns: np.ndarray  # int64 (n,): columns of the matrix that are taken as they are
    wide_views: np.ndarray  # int64 (n_wide,): the views with components
    wide_columns: np.ndarray  # int64 (n,): their columns in the matrix
    loadings: np.ndarray  # float64 (n, n_components)
    slot_views: np.ndarray  # int64 (n_groups,): of each column of categories with statistics
    slots: np.ndarray  # int64 (n,)
    slot_groups: np.ndarray  # int64 (n,)
    statistics: np.ndarray  # float64 (n, n_targets)
    slot_rows: np.ndarray  # float64 (n,): the weights of its rows
    prior: np.ndarray  # float64 (n_targets,): the statistics of no row

    @property
    def ends(self) -> list[int]:
        """The position at which codes, columns, components and statistics end."""
        components = len(self.wide_views) * self.loadings.shape[1]
        statistics = len(self.slot_views) * (len(self.prior) + 1)
        sizes = [len(self.code_views), len(self.columns), components, statistics]
        return np.cumsum(sizes).tolist()

    def views(self, ptr: np.ndarray) -> np.ndarray:
        """Return the view of each feature; ``ptr`` says where the views begin."""
        return np.concatenate(
            [
                self.code_views,
                view_of(self.columns, ptr),
                np.repeat(self.wide_views, self.loadings.shape[1]),
                np.repeat(self.slot_views, len(self.prior) + 1),
            ]
        )

    @staticmethod
    def schema(
        state: Mapping[str, np.ndarray], ptr: np.ndarray, n_targets: int
    ) -> dict[str, Array]:
        """Return what the arrays look like for views that begin at ``ptr``."""
        n_components = state["loadings"].shape[1]

        def places(length: str) -> Array:
            return Array("i8", (length,), 0, ptr[-1] - 1, holds=rises)

        def views(length: str) -> Array:
            return Array("i8", (length,), 0, len(ptr) - 2)

        return {
            "code_views": views("coded"),
            "code_slots": places("codes"),
            "code_groups": Array("i8", ("codes",), 0, len(state["code_views"]) - 1),
            "codes": Array("i8", ("codes",), 0, MOST_CODES - 1),
            "columns": places("columns"),
            "wide_views": views("wide views")._replace(holds=rises),
            "wide_columns": places("wide columns"),
            "loadings": Array("f8", ("wide columns", min(n_components, MOST_COMPONENTS))),
            "slot_views": views("groups"),
            "slots": places("slots"),
            "slot_groups": Array("i8", ("slots",), 0, len(state["slot_views"]) - 1),
            "statistics": Array("f8", ("slots", n_targets)),
            "slot_rows": Array("f8", ("slots",), low=0.0),
            "prior": Array("f8", (n_targets,)),
        }


def rises(array: np.ndarray) -> bool:
    """Return whether each number is larger than the one before."""
    return bool((np.diff(array) > 0).all())


# --- the features of rows ---------------------------------------------------------------------


def features_of(rows: Rows, features: Features) -> np.ndarray:
    """Return the features of rows, (n_rows, n_features)."""
    matrix, ptr = whole_matrix(rows), rows.ptr.astype(np.int64)
    X = np.full((matrix.shape[0], features.ends[-1]), np.nan)
    n_codes, n_numbers, n_components, _ = features.ends
    row, at = _look_up(matrix, features.code_slots)
    X[row, features.code_groups[at]] = features.codes[at]
    part = matrix[:, features.columns]
    X[:, n_codes:n_numbers] = part.toarray() if sp.issparse(part) else part
    components = np.split(X[:, n_numbers:n_components], max(len(features.wide_views), 1), axis=1)
    of_view = view_of(features.wide_columns, ptr)
    for view, own in zip(features.wide_views.tolist(), components, strict=False):
        some = of_view == view
        own[:] = matrix[:, features.wide_columns[some]] @ features.loadings[some]
    X[:, n_components:] = np.tile(np.append(features.prior, 0.0), len(features.slot_views))
    row, at = _look_up(matrix, features.slots)
    each = np.column_stack([features.statistics[at], features.slot_rows[at]])
    _set_statistics(X, features, row, features.slot_groups[at], each)
    if len(rows.present):
        X[~rows.present[:, features.views(ptr)]] = np.nan
    return X


def _set_statistics(
    X: np.ndarray, features: Features, row: np.ndarray, group: Any, values: np.ndarray
) -> None:
    """Write the statistics of some rows in some columns of categories."""
    width = len(features.prior) + 1
    columns = features.ends[2] + np.multiply(group, width)
    X[row[:, None], np.reshape(columns, (-1, 1)) + np.arange(width)] = values


def portable_features(features: Features, ptr: np.ndarray) -> dict[str, Any]:
    """Return how features are made: fields of `crossview.portable.scoring.Trees`."""
    coded, statistics = [], []
    for group, v in enumerate(features.code_views.tolist()):
        own = features.code_groups == group
        coded.append(CodedFeature(v, features.code_slots[own] - ptr[v], features.codes[own]))
    for group, v in enumerate(features.slot_views.tolist()):
        own = features.slot_groups == group
        each = np.column_stack([features.statistics[own], features.slot_rows[own]])
        statistics.append(Statistics(v, Table(features.slots[own] - ptr[v], each)))
    views = view_of(features.columns, ptr)
    return {
        "coded": coded,
        "numbers": np.column_stack([views, features.columns - ptr[views]]).astype(np.int64),
        "components": portable_components(features, ptr),
        "statistics": statistics,
        "prior": features.prior,
    }


def portable_components(features: Any, ptr: np.ndarray) -> list[Components]:
    """Return the components of each wide view, which features of trees and of networks have."""
    of_view, components = view_of(features.wide_columns, ptr), []
    for v in features.wide_views.tolist():
        own = of_view == v
        table = Table(features.wide_columns[own] - ptr[v], features.loadings[own])
        components.append(Components(v, features.loadings.shape[1], table))
    return components


def _look_up(matrix: Any, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that have one of the columns, and its position among these."""
    if not len(slots):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    entries = sp.coo_array(matrix)
    found, at = find_entries(slots, entries.col, entries.data != 0.0)
    return entries.row[found], at


def find_entries(
    slots: np.ndarray, column: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which entries that count have one of the ascending columns, and its position."""
    if not len(slots):
        return np.empty(0, np.intp), np.empty(0, np.intp)
    at = np.minimum(np.searchsorted(slots, column), len(slots) - 1)
    found = np.flatnonzero((slots[at] == column) & counts)
    return found, at[found]


def changes_without(rows: Rows, features: Features) -> Changes:
    """Return how the features of a row change without each of its entries."""
    row, column, counts = present_entries(rows)
    ptr = rows.ptr.astype(np.int64)
    n_codes, n_numbers, n_components, _ = features.ends
    coded, at = find_entries(features.code_slots, column, counts)
    found = [(coded, features.code_groups[at], np.nan)]
    number, at = find_entries(features.columns, column, counts)
    found.append((number, n_codes + at, 0.0))
    slot, at = find_entries(features.slots, column, counts)
    first = n_components + features.slot_groups[at] * (len(features.prior) + 1)
    for i, value in enumerate([*features.prior, 0.0]):
        found.append((slot, first + i, value))
    entry = np.concatenate([own for own, _, _ in found])
    order = np.argsort(entry, kind="stable")
    feature = np.concatenate([one for _, one, _ in found])[order]
    value = np.concatenate([np.full(len(own), one) for own, _, one in found])[order]
    wide, at = find_entries(features.wide_columns, column, counts)
    view = np.searchsorted(features.wide_views, view_of(column[wide], ptr))
    of_loadings = [rows.data[wide], at, n_numbers + view * features.loadings.shape[1]]
    data, loading, first = np.zeros((3, len(row)))
    for array, some in zip([data, loading, first], of_loadings, strict=True):
        array[wide] = some
    ends = np.append(0, np.cumsum(np.bincount(entry, minlength=len(row))))
    return Changes(
        ptr=rows.indptr - rows.indptr[0],
        ends=read_only(ends.astype(np.uint64)),
        feature=read_only(feature.astype(np.uint32)),
        value=read_only(value),
        data=read_only(data),
        loading=read_only(loading.astype(np.uint32)),
        first=read_only(first.astype(np.uint32)),
        loadings=read_only(features.loadings),
    )


def column_shares(rows: Rows, features: Features, targets: Targets) -> sp.csr_array:
    """Return which part of each feature each column of the matrix is, (n_features, n_columns).

    Those of a component are its squared loadings.  Those of a column of categories are the parts
    that its values have in the variance of the target between them.
    """
    matrix, ptr = whole_matrix(rows), rows.ptr.astype(np.int64)
    n_codes, n_numbers, n_components, n_features = features.ends
    k, width = features.loadings.shape[1], len(features.prior) + 1
    row, at = _look_up(matrix, features.code_slots)
    of_codes = _variances(at, len(features.codes), row, targets, features.prior)
    of_slots = features.slot_rows * ((features.statistics - features.prior) ** 2).sum(axis=1)
    wide = np.searchsorted(features.wide_views, view_of(features.wide_columns, ptr))
    first = n_components + features.slot_groups * width
    parts = [
        (features.code_groups, features.code_slots, of_codes),
        (n_codes + np.arange(len(features.columns)), features.columns, None),
        *(
            (n_numbers + wide * k + j, features.wide_columns, features.loadings[:, j] ** 2)
            for j in range(k)
        ),
        *((first + j, features.slots, of_slots) for j in range(width)),
    ]
    feature, column, value = (
        np.concatenate([np.ones(len(p[0])) if p[i] is None else p[i] for p in parts])
        for i in range(3)
    )
    shape = (n_features, matrix.shape[1])
    for least in (0.0, LEAST_SHARE):  # where all values of a column are alike they share equally
        value = value + least
        sums = np.bincount(feature, value, minlength=n_features)
        value /= np.where(sums > 0.0, sums, 1.0)[feature]
    return sp.csr_array((value, (feature, column)), shape=shape)


def _variances(
    at: np.ndarray, n: int, row: np.ndarray, targets: Targets, prior: np.ndarray
) -> np.ndarray:
    """Return the part of each value in the variance of the target."""
    weight, numbers = targets.weight[row], targets.as_numbers()[row]
    rows = np.bincount(at, weight, minlength=n)
    sums = np.stack([np.bincount(at, weight * one, minlength=n) for one in numbers.T], axis=1)
    return ((sums - rows[:, None] * prior) ** 2).sum(axis=1) / np.maximum(rows, 1e-300)


# --- what they are made of --------------------------------------------------------------------


class Wanted(NamedTuple):
    """The parameters of the learner that are about features."""

    max_columns: int
    n_components: int
    max_codes: int


class Targets(NamedTuple):
    """Classes or numbers to predict, with the weights of their rows.

    y (n_rows,): codes of classes, or numbers.
    n_classes: 0: numbers.
    weight (n_rows,): weights of the rows.
    groups (n_rows,): which rows are held out together; None: each row alone.
    """

    y: np.ndarray
    n_classes: int
    weight: np.ndarray
    groups: np.ndarray | None = None

    def draw_order(self, random_state: np.random.RandomState) -> np.ndarray:
        """Return a random position of each row, the same for rows of one group."""
        if self.groups is None:
            return random_state.permutation(len(self.y))
        return random_state.permutation(int(self.groups.max()) + 1)[self.groups]

    def as_numbers(self) -> np.ndarray:
        """Return numbers, the second of two classes, or each class, (n_rows, n_targets)."""
        if self.n_classes > 2:
            return np.eye(self.n_classes)[self.y]
        return self.y[:, None].astype(np.float64)


class LearnedFeatures:
    """Features of the training rows, and how to make them of other rows.

    categories: of each column of categories, the columns of the matrix that are its values.
    targets: what is to be predicted.
    random_state: for the order of the rows, and the components.
    features: for new rows.
    """

    def __init__(
        self,
        rows: Rows,
        categories: Sequence[np.ndarray],
        targets: Targets,
        wanted: Wanted,
        random_state: np.random.RandomState,
    ) -> None:
        matrix, ptr = whole_matrix(rows), rows.ptr.astype(np.int64)
        self._targets, self._numbers = targets, targets.as_numbers()
        counts = rows_with_each(matrix)
        coded, others, free = _divide(categories, counts, self._numbers.shape[1], wanted.max_codes)
        columns, wide = choose_columns(matrix, ptr, free, counts, targets, wanted.max_columns)
        if not (len(columns) or coded or others):
            columns = np.zeros(1, dtype=np.int64)  # scikit-learn wants one
        wide_columns, loadings = components_of(matrix, wide, wanted.n_components, random_state)
        code_slots, code_groups, codes = _numbered(coded)
        slots, slot_groups, positions = _numbered(others)
        order = targets.draw_order(random_state)
        row, at = _look_up(matrix, slots)
        statistics = np.zeros((len(slots), self._numbers.shape[1] + 1))
        # of columns of categories: the value of each row, -1: none, and the weight of the prior
        self._columns = []
        for group, own in enumerate(others):
            some = slot_groups[at] == group
            values = np.full(matrix.shape[0], -1)
            values[row[some]] = positions[at[some]]
            a = best_weight(values, self._numbers, targets.weight, order)
            self._columns.append((values, a))
            each = category_statistics(values, len(own), self._numbers, targets.weight, a)
            statistics[slot_groups == group] = each
        self.features = Features(
            code_views=view_of(np.array([own[0] for own in coded], dtype=np.int64), ptr),
            code_slots=code_slots,
            code_groups=code_groups,
            codes=codes,
            columns=columns,
            wide_views=np.array(list(wide), dtype=np.int64),
            wide_columns=wide_columns,
            loadings=loadings,
            slot_views=view_of(np.array([own[0] for own in others], dtype=np.int64), ptr),
            slots=slots,
            slot_groups=slot_groups,
            statistics=statistics[:, :-1].copy(),
            slot_rows=statistics[:, -1].copy(),
            prior=targets.weight @ self._numbers / targets.weight.sum(),
        )
        self._X = features_of(rows, self.features)

    @property
    def vary(self) -> bool:
        """Return whether the features depend on the order of the rows."""
        return bool(self._columns)

    def draw(self, random_state: np.random.RandomState) -> np.ndarray:
        """Return the features of the rows, with target statistics in a random order."""
        order = self._targets.draw_order(random_state)
        for group, (codes, a) in enumerate(self._columns):
            has = np.flatnonzero(codes >= 0)
            each = ordered_statistics(codes, self._numbers, self._targets.weight, order, a)[has]
            _set_statistics(self._X, self.features, has, group, each)
        return self._X


def _divide(
    categories: Sequence[np.ndarray], counts: np.ndarray, n_targets: int, max_codes: int
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Return the values of the columns with codes, of those with statistics, and what is free."""
    few = MOST_CODES if n_targets > MOST_TARGETS else max_codes
    coded: list[np.ndarray] = []
    others: list[np.ndarray] = []
    free = counts > 0
    for group in categories:
        own = np.unique(group)
        own = own[free[own]]  # a value that several have is of the first
        free[own] = False
        if len(own) > few and n_targets > MOST_TARGETS:
            own = np.sort(own[np.argsort(-counts[own], kind="stable")[:few]])
        if len(own):
            (coded if len(own) <= few else others).append(own)
    return coded, others, free


def rows_with_each(matrix: Any) -> np.ndarray:
    """Return the number of rows that have each column, which is not 0 there."""
    if not sp.issparse(matrix):
        return np.count_nonzero(matrix, axis=0)
    return np.bincount(matrix.indices[matrix.data != 0.0], minlength=matrix.shape[1])


def _numbered(groups: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns of all groups, ascending, the group of each, and its number in it."""
    columns = np.concatenate([np.empty(0, dtype=np.int64), *groups])
    group = np.repeat(np.arange(len(groups)), [len(own) for own in groups])
    number = np.concatenate([np.empty(0, dtype=np.int64), *(np.arange(len(g)) for g in groups)])
    order = np.argsort(columns)
    return columns[order], group[order].astype(np.int64), number[order]


def choose_columns(
    matrix: Any,
    ptr: np.ndarray,
    free: np.ndarray,
    counts: np.ndarray,
    targets: Targets,
    max_columns: int,
) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Return the columns to take as they are, and all columns of each view with too many.

    Of such a view they are those with the highest F statistic of a regression or an analysis of
    variance, and those that most rows have, unless these are too many as well.
    """
    found, wide = [np.empty(0, dtype=np.int64)], {}
    most = min(max_columns, max(10, MAX_ENTRIES // matrix.shape[0] // (len(ptr) - 1)))
    for view in range(len(ptr) - 1):
        columns = np.arange(ptr[view], ptr[view + 1])[free[ptr[view] : ptr[view + 1]]]
        if len(columns) > most:
            wide[view] = columns
            score = f_classif if targets.n_classes else f_regression
            with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of constant columns
                scores = np.nan_to_num(score(matrix[:, columns], targets.y)[0], posinf=np.inf)
            best = np.argsort(-scores, kind="stable")[:most]
            often = np.flatnonzero(counts[columns] > SHARE_OF_A_NUMBER * matrix.shape[0])
            columns = columns[np.union1d(best, often if len(often) <= most else best)]
        found.append(columns)
    return np.concatenate(found), wide


def components_of(
    matrix: Any, wide: Mapping[int, np.ndarray], k: int, random_state: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of wide views, and their loadings on the first singular vectors."""
    columns, loadings = [np.empty(0, dtype=np.int64)], [np.empty((0, k))]
    for own in wide.values() if k else ():
        part = matrix[:, own]
        n = min(k, *part.shape)
        rows = randomized_svd(part, n_components=n, random_state=random_state)[2]
        columns.append(own)
        loadings.append(np.pad(rows.T, ((0, 0), (0, k - n))))
    return np.concatenate(columns), np.concatenate(loadings)
