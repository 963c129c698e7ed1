"""The rows of one fold as views, without columns that are empty in its training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from crossview.catalog.learner import Learner
from crossview.comparing.folds.splits import FoldRows, Split
from crossview.data.labeled_source import encode_parts, unnamed
from crossview.encoding.encode import AUTO_BINS, ViewEncoder, bins_of_stream
from crossview.jobs.jobs import Jobs
from crossview.scoring.models.weights import ColumnNames
from crossview.views import MultiView, ViewLayout


@dataclass
class Data:
    """All rows and labels of a comparison.

    y (n_labeled,): the labels of the labeled rows.
    labeled, unlabeled: positions of the rows with and without label.
    encoder: makes views of the columns.
    with_unlabeled: whether some learner learns from the unlabeled rows.
    weight (n_rows,): how much each row counts in learning.
    groups (n_rows,): which rows are held out together.
    sampled (n_labeled,): rows whose scores are kept for pictures.
    blended (n_labeled,): rows whose predictions are kept for the ensemble; those of ``sampled`` are
      among them.
    splits: the folds; they are encoded when they are asked for.
    jobs: the workers, which share the rows of a fold.
    """

    X: Any
    y: np.ndarray
    labeled: np.ndarray
    unlabeled: np.ndarray
    encoder: Any
    layout: ViewLayout
    with_unlabeled: bool = False
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None
    sampled: np.ndarray | None = None
    blended: np.ndarray | None = None
    splits: Sequence[FoldRows] = ()
    jobs: Jobs = field(default_factory=Jobs)
    _before: Any = None  # the last encoder, which has read texts

    @property
    def n_rows(self) -> int:
        """Number of rows, with and without label."""
        return len(self.labeled) + len(self.unlabeled)

    def encode(self, f: int, bins: bool = False) -> Fold:
        """Return the rows of a fold encoded by its training rows, with bins if they are wanted."""
        rows = self._encode(unnamed(self.encoder), self.splits[f])[0]
        fold = replace(rows, n_bins=self._n_bins())
        fold = self.jobs.share(fold)
        if bins:
            self.add_bins(f, fold)
        return fold

    def add_bins(self, f: int, fold: Fold) -> None:
        """Add the rows with bins of the numbers to a fold, if there are any to bin."""
        if fold.n_bins and fold.binned is None:
            rows = self._encode(unnamed(self.encoder, bins=AUTO_BINS), self.splits[f])[0]
            fold.binned = self.jobs.share(rows)

    def named(self, f: int, setting: Mapping[str, Any]) -> tuple[Fold, ColumnNames]:
        """Return the rows of a fold in the encoding of a setting, and the names of its columns."""
        encoder = self.encoder
        if setting.get("bins") and self._n_bins():
            encoder = clone(encoder).set_params(bins=AUTO_BINS)
        return self._encode(encoder, self.splits[f])

    @property
    def tries_bins(self) -> bool:
        """Whether models may choose bins of numbers."""
        return self._n_bins() > 0

    def _n_bins(self) -> int:
        """Bins of all numbers; 0 if there are too many, or if their bins are given."""
        encoder = self.encoder
        if not isinstance(encoder, ViewEncoder) or encoder.bins != "auto":
            return 0
        return bins_of_stream(len(encoder.count_)) * len(encoder.count_)

    def _encode(self, encoder: Any, rows: FoldRows) -> tuple[Fold, ColumnNames]:
        parts = [self.labeled[rows.train], self.labeled[rows.test]]
        if self.with_unlabeled:  # those with label first, in the order of the fold
            parts.append(np.concatenate([self.labeled[rows.train], self.unlabeled]))
        encoder, encoded = encode_parts(self.X, encoder, parts, self._before)
        if self.groups is not None:
            own = [self.groups[part] for part in parts]
            encoded = [X.with_groups(one) for X, one in zip(encoded, own, strict=True)]
        self._before = encoder
        learned = encoded[2] if self.with_unlabeled else encoded[0]
        (X_train, X_test, *others), kept = drop_empty_columns(encoded, learned)
        names = ColumnNames(encoder, getattr(self.X, "feature_names", None), kept)
        y_more = [self.y[rows.train].astype(object), np.full(len(self.unlabeled), None)]
        fold = Fold(
            X_train,
            self.y[rows.train],
            X_test,
            self.y[rows.test],
            rows.inner,
            others[0] if others else None,
            np.concatenate(y_more) if others else None,
            weights=None
            if self.weight is None
            else self.weight[np.concatenate([parts[0], self.unlabeled])],
            sampled=None if self.sampled is None else np.flatnonzero(self.sampled[rows.test]),
            blended=None if self.blended is None else np.flatnonzero(self.blended[rows.test]),
        )
        return fold, names


@dataclass
class Fold:
    """The rows of one fold, encoded by its training part.

    ``X_more`` and ``y_more`` are the training rows and all unlabeled rows, for learners that learn
    from those.  ``binned`` has the same rows with bins of their numbers, ``n_bins`` more columns;
    None where no learner tries them.  ``weights`` are those of the training rows, then those of the
    unlabeled ones.  ``sampled`` are the test rows whose scores are kept for pictures, ``blended``
    those whose predictions are kept for the ensemble.
    """

    X_train: MultiView
    y_train: np.ndarray
    X_test: MultiView
    y_test: np.ndarray
    inner: list[Split]
    X_more: MultiView | None = None
    y_more: np.ndarray | None = None
    n_bins: int = 0
    binned: Fold | None = None
    weights: np.ndarray | None = None
    sampled: np.ndarray | None = None
    blended: np.ndarray | None = None

    def of_setting(self, setting: Mapping[str, Any]) -> Fold:
        """Return the rows in the encoding of a setting."""
        return self.binned if setting.get("bins") and self.binned is not None else self

    def training_rows(self, learner: Learner) -> tuple[MultiView, np.ndarray, np.ndarray | None]:
        """Return the rows that a learner learns from, with labels and weights."""
        X, y = self.X_train, self.y_train
        if self.X_more is not None and self.y_more is not None and learner.learns_unlabeled:
            X, y = self.X_more, self.y_more
        return learner.select_view(X), y, None if self.weights is None else self.weights[: len(y)]

    def select(self, views: list[str]) -> Fold:
        """Return the same rows with some of the views."""
        more = None if self.X_more is None else self.X_more.select(views)
        return replace(
            self,
            X_train=self.X_train.select(views),
            X_test=self.X_test.select(views),
            X_more=more,
            binned=None if self.binned is None else self.binned.select(views),
        )

    def take(self, rows: np.ndarray, n_learned: int = 2) -> Fold | None:
        """Return the fold with some of its training rows; None if an inner split lacks classes.

        n_learned: classes, or different numbers, of which the rows to learn need a row each.
        """
        position = np.full(len(self.y_train), -1)
        position[rows] = np.arange(len(rows))
        inner = [
            (position[train][position[train] >= 0], position[test][position[test] >= 0])
            for train, test in self.inner
        ]
        y = self.y_train[rows]
        for train, test in inner:
            if len(np.unique(y[train])) < n_learned or len(np.unique(y[test])) < 2:
                return None
        X_more, y_more, weights = self.X_more, self.y_more, self.weights
        n = len(self.y_train)
        if weights is not None:
            weights = weights[np.concatenate([rows, np.arange(n, len(weights))])]
        if X_more is not None and y_more is not None:
            kept = np.concatenate([rows, np.arange(n, len(y_more))])
            X_more, y_more = X_more[kept], y_more[kept]
        return replace(
            self,
            X_train=self.X_train[rows],
            y_train=y,
            inner=inner,
            X_more=X_more,
            y_more=y_more,
            weights=weights,
            binned=None if self.binned is None else self.binned.take(rows),
        )


def drop_empty_columns(
    parts: list[MultiView], learned: MultiView
) -> tuple[list[MultiView], dict[str, np.ndarray] | None]:
    """Return the parts without the columns that have no entry in the rows to learn.

    No weight would be learned for them, and of hashed columns they are the most.  In their place
    each view gets one column, with the norm of what a row has there: so a row keeps its norm, and
    its scores are the same.  Dense rows, and rows in which most columns occur, stay as they are.

    Returns parts; kept: of each view the positions of its columns that are kept, and -1 for the one
      in the place of the others; None where the rows stay as they are.
    """
    layout, occurs = learned.layout, np.ones(learned.layout.n_columns, dtype=bool)
    if sp.issparse(learned.matrix):
        occurs = np.zeros(layout.n_columns, dtype=bool)
        occurs[learned.matrix.indices] = True
    if 2 * occurs.sum() > len(occurs):
        return parts, None
    widths = [int(occurs[layout.block(name)].sum()) + 1 for name in layout.names]
    narrow = ViewLayout(layout.names, widths)
    # the new column of each: the last one of its view, unless it occurs
    last = np.cumsum(widths) - 1
    position = np.repeat(last, layout.widths)
    views = np.repeat(np.arange(layout.n_views), layout.widths)
    position[occurs] = np.arange(occurs.sum()) + views[occurs]
    rows = [_narrow(part, occurs, position.astype(np.int32), last, narrow) for part in parts]
    return rows, {
        name: np.append(np.flatnonzero(occurs[layout.block(name)]), -1) for name in layout.names
    }


def _narrow(
    part: MultiView,
    occurs: np.ndarray,
    position: np.ndarray,
    last: np.ndarray,
    layout: ViewLayout,
) -> MultiView:
    """The rows with their entries in new columns; of what does not occur there is the norm."""
    matrix, known = part.matrix, occurs[part.matrix.indices]
    data = np.where(known, matrix.data, matrix.data**2)
    narrow = sp.csr_array(
        (data, position[matrix.indices], matrix.indptr.copy()), (len(part), layout.n_columns)
    )
    narrow.sum_duplicates()
    of_last = np.isin(narrow.indices, last)
    narrow.data[of_last] = np.sqrt(narrow.data[of_last])
    categories = [position[one[occurs[one]]] for one in part.categories]
    kept: dict[str, Any] = {"present": part.present, "groups": part.groups}
    return MultiView.from_matrix(narrow, layout, categories=categories, **kept)
