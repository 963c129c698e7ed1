"""Views on one scale: each divided by the mean norm of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from threading import Lock
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from crossview._jit import bind, borrowing, inlined_borrowing
from crossview.batch import RowBuffers, make_rows
from crossview.encoding.view_transformer import ViewTransformer
from crossview.errors import InputError, type_of
from crossview.kernels.rows import ZERO, Rows, view_end
from crossview.saving.schema import Array, check_header, check_state
from crossview.views import MultiView, OneRow, ViewLayout, canonical_csr

# rows that are measured at a time, so that little memory is needed
ROWS_AT_ONCE = 10_000
# how small and how large a column may be beside its view, as the root of the mean of squares is
# beside a geometric mean: 1 where all are the same, 1.9 where they are normally distributed
LEAST, MOST = 2 / 3, 2.0


@dataclass(eq=False, repr=False, match_args=False)
class ViewScaler(ViewTransformer):
    """Scaler of views: each view is divided by the mean Euclidean norm of its rows.

    Learners measure a step by the norms of the views.  If one view has rows of norm 1 and
    another of norm 15, the second takes nearly all of each step, and one C cannot suit both.  Row
    t of view v becomes

        x_tv <- x_tv / m_v,    m_v = mean of ||x_iv|| over the rows i in which v is not empty.

    It is one factor per view: rows keep their norms relative to each other, and columns of the
    same view too.  `ViewEncoder`, `compare` and `train` scale views by default.

    An income in a view with an age leaves nothing of it.  With ``scale_columns``, as `train` and
    `compare` scale views of numbers, column j is brought to between 2/3 and twice the size of its
    view first:

        x_tj <- x_tj min(max(r_j, 2 / 3), 2) / r_j,
        r_j = sqrt(mean of x_ij^2) / exp(mean of log |x_ik| over the columns k of the view),

    over the entries so far that are not 0.  Columns of 0 and 1 and most weights of words stay as
    they are.

    Parameters
    ----------
    scale_columns : bool, default=False
        Whether columns of very different sizes are scaled, too.

    Attributes
    ----------
    layout_ : ViewLayout
        Names and widths of the views.
    mean_norm_ : ndarray of shape (n_views,)
        Mean norm of each view over the rows so far; 1 for a view that was always empty.
    total_norm_, count_ : ndarray of shape (n_views,)
        Sum of the norms of each view, and number of rows so far in which it is not empty.
    column_sums_ : ndarray of shape (n_columns, 2)
        Sum of the squares of each column, and number of its entries; no rows if columns are not
        scaled.
    view_sums_ : ndarray of shape (n_views, 2)
        Sum of the logarithms of the entries of each view, without their signs, and their number.

    Notes
    -----
    A view is empty in a row if it is missing or all its columns are 0.

    `partial_fit_transform` scales each row by the rows up to and including itself, so a stream
    gives the same rows however it is cut into batches.  `transform` scales by all rows so far.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview import MultiView, ViewScaler
    >>> X = MultiView({"page": [[3.0, 4.0], [0.0, 11.0]], "link": [[0.25], [0.75]]})
    >>> scaler = ViewScaler().fit(X)
    >>> scaler.mean_norm_.tolist()
    [8.0, 0.5]
    >>> scaler.transform(X)["page"].tolist()
    [[0.375, 0.5], [0.0, 1.375]]
    """

    _: KW_ONLY
    scale_columns: bool = False

    def fit(self, X: MultiView, y: Any = None) -> Self:
        """Learn the mean norm of each view.

        Parameters
        ----------
        X : MultiView
            The rows.
        y : None
            Ignored.

        Returns
        -------
        ViewScaler
            Itself.
        """
        self.__dict__.pop("layout_", None)
        return self.partial_fit(X)

    def partial_fit(self, X: MultiView, y: Any = None) -> Self:
        """Update the mean norms with more rows.

        Parameters
        ----------
        X : MultiView
            The rows; the first call determines the views.
        y : None
            Ignored.

        Returns
        -------
        ViewScaler
            Itself.
        """
        for start in range(0, max(1, len(_checked(X))), ROWS_AT_ONCE):
            self.partial_fit_transform(X[start : start + ROWS_AT_ONCE])
        return self

    def partial_fit_transform(self, X: MultiView, copy: bool = True) -> MultiView:
        """Learn and scale rows, one after the other.

        Parameters
        ----------
        X : MultiView
            The rows; the first call determines the views.
        copy : bool, default=True
            As for `transform`.

        Returns
        -------
        MultiView
            The rows, each scaled by the mean norms up to and including itself.
        """
        if not hasattr(self, "layout_"):
            self._use_layout(_checked(X).layout)
        return self._scale(X, learn=True, copy=copy)

    def transform(self, X: MultiView, copy: bool = True) -> MultiView:
        """Scale rows by the mean norms so far, without updating them.

        Parameters
        ----------
        X : MultiView
            Rows of the same views.
        copy : bool, default=True
            False: sparse rows are scaled in their own memory, which saves as much.

        Returns
        -------
        MultiView
            The scaled rows.
        """
        check_is_fitted(self, "layout_")
        return self._scale(X, learn=False, copy=copy)

    def transform_one(self, x: Any) -> OneRow:
        """Scale one row by the mean norms so far, without updating them.

        Parameters
        ----------
        x : OneRow or mapping
            The row: of views to their columns, numbers by position or a sequence of numbers.  An
            absent view, or None, is missing; an absent column is 0.

        Returns
        -------
        OneRow
            The scaled row.
        """
        if not hasattr(self, "layout_"):  # its error takes longer than the row
            check_is_fitted(self, "layout_")
        return self._scale_one(x, learn=False)

    def partial_fit_transform_one(self, x: Any) -> OneRow:
        """Learn and scale one row.

        Parameters
        ----------
        x : OneRow or mapping
            As for `transform_one`, of the views that were fitted.

        Returns
        -------
        OneRow
            The row, scaled by the mean norms up to and including itself.
        """
        if not hasattr(self, "layout_"):
            if not isinstance(x, OneRow):
                raise InputError(
                    "the widths of the views are not known yet; call partial_fit first"
                )
            self._use_layout(x.layout)
        return self._scale_one(x, learn=True)

    def _use_layout(self, layout: ViewLayout) -> None:
        """Forget all rows, and expect these views."""
        self.layout_ = layout
        self.total_norm_, self.count_ = np.zeros(layout.n_views), np.zeros(layout.n_views)
        self.column_sums_ = np.zeros((layout.n_columns if self.scale_columns else 0, 2))
        self.view_sums_ = np.zeros((layout.n_views, 2))

    @property
    def sums(self) -> Sums:
        """What was learned, for `scale_rows`."""
        return self.total_norm_, self.count_, self.column_sums_, self.view_sums_

    @property
    def mean_norm_(self) -> np.ndarray:
        """Mean norm of each view so far; 1 for one that was always empty."""
        check_is_fitted(self, "layout_")
        seen = self.count_ > 0
        return np.where(seen, self.total_norm_, 1.0) / np.where(seen, self.count_, 1.0)

    def factors(self) -> np.ndarray:
        """Return what each view is multiplied by, to the last bit.

        Returns
        -------
        factors : ndarray of shape (n_views,)
            1 for a view that was always empty.
        """
        check_is_fitted(self, "layout_")
        seen = self.count_ > 0
        return np.asarray(np.where(seen, self.count_, 1.0) / np.where(seen, self.total_norm_, 1.0))

    def column_factors(self) -> list[dict[int, float]]:
        """Return what columns are multiplied by before their view is, to the last bit.

        Returns
        -------
        factors : list of dict of int to float
            Of each view, the columns whose factor is not 1.
        """
        check_is_fitted(self, "layout_")
        ptr, found = self.layout_.ptr, list[dict[int, float]]()
        for v in range(self.layout_.n_views):
            own = range(ptr[v], ptr[v + 1]) if self.scale_columns else ()
            square = view_square(self.view_sums_, v)
            factors = {j - ptr[v]: column_factor(self.column_sums_, j, square) for j in own}
            found.append({int(j): float(one) for j, one in factors.items() if one != 1.0})
        return found

    def get_header(self) -> dict[str, Any]:
        """Return the part of the learned state that is not arrays: the views.

        Returns
        -------
        header : dict
            Ready for JSON.
        """
        check_is_fitted(self, "layout_")
        return {"names": list(self.layout_.names), "widths": list(self.layout_.widths)}

    def set_header(self, header: Mapping[str, Any]) -> None:
        """Restore the header that `get_header` returned.

        Parameters
        ----------
        header : mapping
            As from JSON.
        """
        check_header(header, {"names": [str], "widths": [int]}, "ViewScaler")
        self._use_layout(ViewLayout(header["names"], header["widths"]))

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the learned state as arrays.

        Returns
        -------
        state : dict of str to ndarray
            The arrays by name; header and state together restore the scaler.
        """
        check_is_fitted(self, "layout_")
        state: dict[str, np.ndarray] = {"total": self.total_norm_, "count": self.count_}
        if self.scale_columns:
            state |= {"column_sums": self.column_sums_, "view_sums": self.view_sums_}
        return state

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `get_state` returned.

        Parameters
        ----------
        state : mapping of str to ndarray
            The arrays by name.
        """
        per_view = Array("f8", (self.layout_.n_views,), low=0.0)
        schema = {"total": per_view, "count": per_view}
        if self.scale_columns:
            schema["column_sums"] = Array("f8", self.column_sums_.shape, low=0.0)
            schema["view_sums"] = Array("f8", self.view_sums_.shape)
        check_state(state, schema, "ViewScaler")
        self.total_norm_, self.count_ = np.array(state["total"]), np.array(state["count"])
        if self.scale_columns:
            self.column_sums_ = np.array(state["column_sums"])
            self.view_sums_ = np.array(state["view_sums"])

    def _scale(self, X: MultiView, *, learn: bool, copy: bool = True) -> MultiView:
        if _checked(X).layout != self.layout_:
            raise InputError(f"X has the views {X.layout}, but the model has {self.layout_}")
        matrix = canonical_csr(X.matrix) if sp.issparse(X.matrix) else X.matrix
        # NaN and infinity stay, for the learner to refuse
        rows = make_rows(matrix, X.layout, X.present, checked=False, canonical=True)
        in_place = not copy and sp.issparse(matrix) and matrix.dtype == np.float64
        scaled = matrix.data if in_place else np.empty_like(rows.data)
        scale_rows(rows, learn, self.sums, scaled)
        return _with_values(X, matrix, scaled)

    def _scale_one(self, x: Any, *, learn: bool) -> OneRow:
        row = OneRow.of(x, self.layout_)
        kept = self.__dict__.get("_single")
        if kept is None or not kept.holds(self.total_norm_, row):
            kept = self.__dict__["_single"] = _SingleRows(self.sums, row)
        return kept.scale(row, learn=learn)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_single"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for name in ("total_norm_", "count_", "column_sums_", "view_sums_"):
            if name in state:  # joblib maps arrays into memory, where a loop cannot write
                setattr(self, name, np.array(state[name]))


# of views: total norms and counts; of columns, if they are scaled; and of the entries of views
Sums = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class _SingleRows:
    """The loop for one row at a time, bound to the sums of a scaler and the arrays of a row."""

    def __init__(self, sums: Sums, row: OneRow) -> None:
        self._total, self._lock = sums[0], Lock()
        self._row = RowBuffers(row.layout, max(64, 2 * len(row.columns)))
        self._scaled = np.empty(self._row.n_entries)
        self._loops = [
            bind(scale_rows, self._row.rows, learn, sums, self._scaled) for learn in (False, True)
        ]

    def holds(self, total: np.ndarray, row: OneRow) -> bool:
        """Return whether it is bound to these sums, and has room for the row."""
        return total is self._total and len(row.columns) <= self._row.n_entries

    def scale(self, row: OneRow, *, learn: bool) -> OneRow:
        """Return the scaled row."""
        with self._lock:
            self._row.fill(row.columns, row.values, row.present)
            self._loops[learn]()
            values = self._scaled[: len(row.columns)].tolist()
        return OneRow(row.layout, row.columns, values, row.present)


def _checked(X: Any) -> MultiView:
    if not isinstance(X, MultiView):
        raise InputError(f"X is {type_of(X)}; a ViewScaler takes a MultiView")
    return X


def _with_values(X: MultiView, matrix: Any, values: np.ndarray) -> MultiView:
    """The same rows with other values in their matrix, which share its columns."""
    if sp.issparse(matrix):
        other = sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
        other.has_canonical_format = True
    else:
        other = values.reshape(matrix.shape)
    return MultiView.from_matrix(
        *(other, X.layout),
        present=X.present,
        feature_names=X.feature_names,
        index=X.index,
        categories=X.categories,
        groups=X.groups,
    )


@inlined_borrowing
def view_square(views: np.ndarray, v: int) -> float:
    """The square of the size of a view: of the geometric mean of its entries."""
    return np.exp(2.0 * views[v, 0] / views[v, 1]) if views[v, 0] != 0.0 else 1.0


@inlined_borrowing
def column_factor(columns: np.ndarray, j: int, square: float) -> float:
    """What brings the size of column j to between `LEAST` and `MOST` of that of its view.

    ``square`` is that of the view; the size of a column is the root of the mean of its squares.
    """
    own, of_view = columns[j, 0], square * columns[j, 1]
    if own > MOST * MOST * of_view:
        return np.sqrt(MOST * MOST * of_view / own)
    if 0.0 < own < LEAST * LEAST * of_view:
        return np.sqrt(LEAST * LEAST * of_view / own)
    return 1.0


@inlined_borrowing
def learn_entry(x: float, columns: np.ndarray, j: int, views: np.ndarray, v: int) -> None:
    """Add an entry to the sums of its column and view, unless these could not hold many."""
    square = x * x
    if 1e-200 < square < 1e200:
        columns[j, 0] += square
        columns[j, 1] += 1.0
        views[v, 0] += 0.5 * np.log(square) if square != 1.0 else 0.0
        views[v, 1] += 1.0


@borrowing
def scale_rows(rows: Rows, learn: bool, sums: Sums, scaled: np.ndarray) -> None:
    """Scale rows, one after the other: x_v <- x_v / m_v.

    ``m_v = total[v] / count[v]`` is the mean of ||x_v|| over the rows so far in which view v is
    not empty.  With ``learn`` a row is added to it before it is scaled.  ``scaled`` takes the
    values.  Where columns have sums, they are scaled first.
    """
    x, j, indptr, shared, ptr, _ = rows
    total, count, columns, views = sums
    for i in range(len(indptr) - 1):
        lo, end = indptr[i], indptr[i + 1]
        offset = lo if shared else ZERO
        for v in range(len(total)):
            hi = view_end(j, lo, end, offset, ptr[v + 1])
            if len(columns) and learn:
                for p in range(lo, hi):
                    learn_entry(x[p], columns, j[p - offset], views, v)
            sqnorm, square = 0.0, view_square(views, v)
            for p in range(lo, hi):
                scaled[p] = x[p]
                if len(columns):
                    scaled[p] *= column_factor(columns, j[p - offset], square)
                sqnorm += scaled[p] * scaled[p]
            if learn and 0.0 < sqnorm < np.inf:  # neither empty, nor what a learner refuses
                total[v] += np.sqrt(sqnorm)
                count[v] += 1.0
            factor = count[v] / total[v] if count[v] > 0.0 else 1.0
            for p in range(lo, hi):
                scaled[p] *= factor
            lo = hi
