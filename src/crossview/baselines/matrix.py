"""Views to one matrix, for models that know no views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_selection import f_classif
from sklearn.utils.validation import check_is_fitted

from crossview.batch import make_rows, whole_matrix
from crossview.views import MultiView

# entries of a dense matrix: 160 MB
MAX_ENTRIES = 20_000_000
# columns whose root mean squares differ by this factor from those of most keep their own
UNLIKE = 10.0


@dataclass(eq=False, repr=False, match_args=False)
class ViewMatrix(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]  # scikit-learn is untyped
    """Transformer of a `MultiView` to one matrix, the first step of a scikit-learn pipeline.

    Columns without an entry in the fitted rows are left out, as are those of hashed views.

    Parameters
    ----------
    view : str, default=None
        The only view to use.  None: all views.
    scale : bool, default=False
        Whether to scale the columns, those of an array as those of a sparse matrix.  A column that
        is nonzero in at least half of the rows that have its view gets mean 0 and variance 1.
        Others stay sparse, and are divided by the median of the root mean squares of their nonzero
        values; by their own, if it differs by a factor of ten.
    dense : bool, default=False
        Whether to return an array.  A missing view is ``missing`` in it.  Otherwise a missing view
        is 0 (after scaling), and one more column per view is 1 where it is missing.
    missing : float, default=nan
        What a missing view is in an array.
    whole : bool, default=False
        Whether to keep all columns, for a model that learns more rows later.
    apart : bool, default=False
        Whether to return a list of arrays, one per view, with all columns.
    max_columns : int, default=None
        The most columns to keep.  If there are more, those with the highest ``score_func`` stay.
        With ``dense``, also at most 20 million divided by the number of rows, but at least 20.
    score_func : callable, default=f_classif
        Score of each column, as for scikit-learn's ``SelectKBest``.

    Attributes
    ----------
    columns_ : ndarray of int
        The columns that stay.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview import MultiView
    >>> from crossview.baselines import ViewMatrix
    >>> present = np.array([[True, True], [True, False]])
    >>> X = MultiView({"page": [[1.0, 0.0], [3.0, 2.0]], "link": [[5.0], [0.0]]}, present=present)
    >>> ViewMatrix().fit_transform(X)
    array([[1., 0., 5., 0.],
           [3., 2., 0., 1.]])
    >>> ViewMatrix(dense=True).fit_transform(X)
    array([[ 1.,  0.,  5.],
           [ 3.,  2., nan]])
    """

    view: str | None = None
    _: KW_ONLY
    scale: bool = False
    dense: bool = False
    missing: float = np.nan
    whole: bool = False
    apart: bool = False
    max_columns: int | None = None
    score_func: Callable[..., Any] = f_classif

    def fit(self, X: MultiView, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the columns, and measure them for scaling.

        Parameters
        ----------
        X : MultiView
            The rows.
        y : array-like of shape (n_samples,), default=None
            Labels or numbers, for ``score_func``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, above 0, in what the columns are scaled by.  None: all are 1.

        Returns
        -------
        ViewMatrix
            Itself.
        """
        X, matrix, missing = self._read(X)
        keeps_all = self.whole or self.apart
        self.missing_views_ = np.flatnonzero(missing.any(axis=0) | keeps_all)
        self.ptr_ = X.layout.ptr
        if keeps_all:
            columns = np.arange(matrix.shape[1])
        elif sp.issparse(matrix):
            counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
            columns = np.flatnonzero(counts)
        else:
            columns = np.arange(matrix.shape[1])
        if len(columns) and not keeps_all:
            columns = self._informative(matrix, columns, y)
        self.columns_ = columns if len(columns) else np.zeros(1, int)
        self.view_of_column_ = np.searchsorted(X.layout.ptr, self.columns_, side="right") - 1
        if self.scale:
            weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
            self._measure(matrix[:, self.columns_], missing, weight)
        return self

    def transform(self, X: MultiView) -> Any:
        """Return the matrix.

        Parameters
        ----------
        X : MultiView
            The rows.

        Returns
        -------
        matrix : ndarray or csr_array of shape (n_samples, n_columns), or list of ndarray
            An array with ``dense``, and where the views are one; a list with ``apart``.
        """
        check_is_fitted(self, "columns_")
        _, matrix, missing = self._read(X)
        part = matrix[:, self.columns_]
        if self.dense or self.apart:
            part = part.toarray() if sp.issparse(part) else part
            if len(missing):
                part = np.where(missing[:, self.view_of_column_], self.missing, part)
            return [part[:, lo:hi] for lo, hi in pairwise(self.ptr_)] if self.apart else part
        if self.scale:
            part = self._scaled(part, missing)
        indicators = missing[:, self.missing_views_].astype(np.float64)
        if sp.issparse(part):
            if not indicators.size:
                return part
            return sp.csr_array(sp.hstack([part, sp.csr_array(indicators)], format="csr"))
        part = np.where(missing[:, self.view_of_column_], 0.0, part)
        return np.hstack([part, indicators])

    def _read(self, X: MultiView) -> tuple[MultiView, Any, np.ndarray]:
        """Return the views, their matrix, and which views are missing."""
        if self.view is not None:
            X = X.select([self.view])
        rows = make_rows(X.matrix, X.layout, X.present)
        there = rows.present if len(rows.present) else np.ones((len(X), X.layout.n_views), bool)
        matrix = whole_matrix(rows)
        if sp.issparse(matrix) and max(matrix.nnz, matrix.shape[1]) <= np.iinfo(np.int32).max:
            # trees take no other type
            columns, ptr = (a.astype(np.int32) for a in (matrix.indices, matrix.indptr))
            matrix = sp.csr_array((matrix.data, columns, ptr), shape=matrix.shape)
        return X, matrix, ~there

    def _informative(self, matrix: Any, columns: np.ndarray, y: Any) -> np.ndarray:
        """Return the columns with the highest score, in their order."""
        most = self.max_columns or len(columns)
        if self.dense:
            most = min(most, max(20, MAX_ENTRIES // matrix.shape[0]))
        if len(columns) <= most:
            return columns
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = self.score_func(matrix[:, columns], y)[0]
        scores = np.where(np.isnan(scores), -1.0, scores)  # a constant column
        return np.sort(columns[np.argsort(-scores, kind="stable")[:most]])

    def _measure(self, part: Any, missing: np.ndarray, weight: np.ndarray | None) -> None:
        """Store what the columns are scaled by."""
        x, column = (part.data, part.indices) if sp.issparse(part) else (part, slice(None))
        of_entry = weight
        if sp.issparse(part) and weight is not None:
            of_entry = np.repeat(weight, np.diff(part.indptr))

        def total(values: np.ndarray) -> np.ndarray:
            if values.ndim == 1:
                values = values if of_entry is None else of_entry * values
                return np.bincount(part.indices, values, minlength=part.shape[1])
            return np.asarray(values.sum(axis=0) if of_entry is None else of_entry @ values)

        there = (~missing).sum(axis=0) if weight is None else weight @ ~missing
        n_rows = _not_0(there[self.view_of_column_])
        nonzero = x != 0.0
        n_nonzero = total(nonzero)
        is_dense = 2 * n_nonzero >= n_rows
        mean = np.where(is_dense, total(x) / n_rows, 0.0)
        squares = total(nonzero * (x - mean[column]) ** 2) + (n_rows - n_nonzero) * mean**2
        scale = np.sqrt(squares / np.where(is_dense, n_rows, _not_0(n_nonzero)))
        sparse = np.flatnonzero(~is_dense & (n_nonzero > 0))
        if len(sparse):
            shared = np.median(scale[sparse])
            alike = (scale[sparse] < UNLIKE * shared) & (scale[sparse] * UNLIKE > shared)
            scale[sparse[alike]] = shared
        # what rounding alone makes of a constant
        scale[scale <= part.shape[0] * np.finfo(float).eps * np.abs(mean)] = 0.0
        self.mean_, self.scale_ = mean, np.where(scale > 0.0, scale, 1.0)

    def _scaled(self, part: Any, missing: np.ndarray) -> Any:
        """Return the columns that stay, scaled."""
        if not sp.issparse(part):
            return (part - self.mean_) / self.scale_
        part.data = part.data / self.scale_[part.indices]
        centered = np.flatnonzero(self.mean_)
        if not len(centered):
            return part
        block = part[:, centered].toarray() - (self.mean_ / self.scale_)[centered]
        block[missing[:, self.view_of_column_[centered]]] = 0.0
        others = np.flatnonzero(self.mean_ == 0.0)
        both = sp.hstack([part[:, others], sp.csr_array(block)], format="csr")
        return both[:, np.argsort(np.concatenate([others, centered]))]


def _not_0(sums: np.ndarray) -> np.ndarray:
    """Return sums of weights, with 1 for those of no row."""
    return np.where(sums > 0.0, sums, 1.0)
