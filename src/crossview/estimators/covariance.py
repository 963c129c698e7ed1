"""Base class and parameters of the learners that keep a covariance of their weights."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import couplings, online
from crossview.algorithms.couplings import Coupling
from crossview.algorithms.geometries import changes
from crossview.algorithms.geometries import covariance as forms
from crossview.algorithms.rules import Rule
from crossview.batch import read_only
from crossview.errors import InputError
from crossview.estimators.base import ColumnWeights
from crossview.estimators.covariance_merged import MergeableCovariance
from crossview.estimators.covariance_state import DIAGONALS
from crossview.estimators.documentation import ParameterDoc
from crossview.estimators.parameters import ATTRIBUTES
from crossview.estimators.validation import Interval, StrOptions
from crossview.kernels.rows import Rows

__all__ = ["COVARIANCE", "COVARIANCE_ATTRIBUTES", "CovarianceClassifier", "normal_quantile"]

COVARIANCE: dict[str, ParameterDoc] = {
    "covariance": (
        '{"auto", "full", "diagonal", "low-rank"}',
        """
        Form of the covariance matrix.  "full": all pairs of columns; for d columns an update
        costs O(d²).  "diagonal": one variance per column, for many columns and long streams.
        "low-rank": exact for the first ``rank`` updates, whose rows it stores; whenever the store
        is full, the older half of the rows is reduced to its diagonal.  "auto": exact as long as
        time and memory allow.  Up to 64 columns it is full from the start.  If the triangle of
        the matrix takes at most 256 MiB (about 8,000 columns), it is low-rank for the first d
        updates, then full.  Otherwise it is low-rank for 1024 updates, then diagonal.
        ``covariance_form_`` is the current form.
        """,
    ),
    "rank": (
        "int",
        """
        Number of rows that "low-rank" stores.  A higher value is closer to "full" and slower: an
        update costs O(rank²) plus the nonzero entries of the stored rows.  Typical values: 64 to
        1024.
        """,
    ),
    "diagonal": (
        '{"precision", "covariance"}',
        """
        Which matrix "diagonal" reduces to its diagonal after each update: "precision", the inverse
        covariance (as in the SOL library; the variance of a column then depends only on its own
        values), or "covariance", the covariance.
        """,
    ),
    "initial_variance": (
        "float",
        """
        Initial variance of each weight, in (0, 1e100].  A higher value takes larger steps on the
        first rows.  It matters most for columns that are not standardized.  Typical values: 0.01
        to 1.
        """,
    ),
}

COVARIANCE_ATTRIBUTES: dict[str, ParameterDoc] = ATTRIBUTES | {
    "covariance_form_": (
        "str",
        'Current form of the covariance: "full", "diagonal" or "low-rank".',
    ),
    "variance_": (
        "ndarray of shape (n_features,)",
        "Variance of the weight of each column, the diagonal of the covariance.",
    ),
}

# relative to the initial variance; rows along which it is less change nothing.  CW would let it
# fall to 1e-163 on 10^8 rows with noisy labels; 10^12 rows of length 10^6 lead to 1e-24
LEAST_VARIANCE = 1e-30

FORMS = {
    forms.FULL: "full",
    forms.DIAGONAL: "diagonal",
    forms.DIAGONAL_COVARIANCE: "diagonal",
    forms.LOW_RANK: "low-rank",
}


class CovarianceClassifier(MergeableCovariance):
    """Base class of the learners that keep a covariance of their weights, one per view."""

    _parameter_constraints: ClassVar[dict] = {
        **MergeableCovariance._parameter_constraints,
        "covariance": [StrOptions({"auto", "full", "diagonal", "low-rank"})],
        "rank": [Interval(Integral, 1, None, closed="left")],
        "diagonal": [StrOptions(set(DIAGONALS))],
        "initial_variance": [Interval(Real, 0, 1e100, closed="right")],
    }

    # --- attributes -----------------------------------------------------------

    @property
    def covariance_form_(self) -> str:
        """Current form of the covariance: "full", "diagonal" or "low-rank"."""
        check_is_fitted(self, "classes_")
        if not self._has_covariance():
            raise AttributeError("in Euclidean geometry there is no covariance")
        return FORMS[self._covariance.form]

    def covariance_matrix(self, view: str | None = None) -> np.ndarray:
        """Return the covariance of the weights as a matrix.

        Parameters
        ----------
        view : str, default=None
            Name of the view; None if there is one covariance for all columns.

        Returns
        -------
        S : ndarray of shape (n, n)
            Its rows and columns are the columns of the view, in the order of `view_columns`, or
            all columns, view by view; with ``fit_intercept`` the constant feature is the last.

        Raises
        ------
        InputError
            No view has this name, or ``view`` is None and there are several covariances.
        """
        check_is_fitted(self, "classes_")
        if not self._has_covariance():
            raise InputError("in Euclidean geometry there is no covariance")
        ptr = self._covariance_ptr()
        names = self.layout_.names
        if len(ptr) - 1 < len(names) or view is None:
            if view is not None or len(ptr) > 2:
                what = "one covariance for all columns; leave view= at None"
                if len(ptr) > 2:
                    what = f"one covariance per view; name one of {', '.join(names)}"
                raise InputError(f"view={view!r}: there is {what}")
            v = 0
        elif view not in names:
            raise InputError(f"there is no view {view!r}; there are {', '.join(names)}")
        else:
            v = names.index(view)
        S = changes.dense(self._covariance, v, self._bias())
        columns = self._columns_of(v, ptr)
        order = np.append(1 + columns, 0) if self.fit_intercept else 1 + columns
        return S[np.ix_(order, order)]

    def _columns_of(self, v: int, ptr: np.ndarray) -> np.ndarray:
        """Return the positions in view v that a column of X fills; the others are spare."""
        column_map = self._column_map
        if column_map is None:
            return np.arange(int(ptr[v + 1] - ptr[v]))
        in_view = (column_map >= int(ptr[v])) & (column_map < int(ptr[v + 1]))
        return np.sort(column_map[in_view]) - int(ptr[v])

    @property
    def variance_(self) -> np.ndarray:
        """Variance of the weight of each column, (n_features,): the diagonal of the covariance."""
        check_is_fitted(self, "classes_")
        if not self._has_covariance():
            raise AttributeError("in Euclidean geometry there is no covariance")
        S = self._covariance
        slots = np.concatenate([changes.variances(S, v) for v in range(len(S.d))])
        if self._column_map is None:
            return slots
        found = np.full(self.n_features_in_, float(self.initial_variance))
        used = self._column_map >= 0
        found[used] = slots[self._column_map[used]]
        return found

    def _column_weights(self) -> ColumnWeights:
        return ColumnWeights(self.coef_, self.variance_ if self._has_covariance() else None)

    # --- learning -------------------------------------------------------------

    def _rule(self) -> Rule:
        """Return the update rule and its parameters."""
        raise NotImplementedError

    def _coupling(self) -> Coupling:
        """Return how the views are coupled."""
        return Coupling(couplings.INDEPENDENT)

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        model = online.Weights(*(self._state[name] for name in online.Weights._fields))
        ptr = self._covariance_ptr()
        if len(ptr) < len(rows.ptr):  # one covariance for all views
            everywhere = read_only(np.empty((0, 1), dtype=bool))
            rows = rows._replace(ptr=read_only(ptr.view(np.uint64)), present=everywhere)
        y, scores = read_only(y.astype(np.float64)), scores.reshape(len(scores), -1)
        rule = self._rule()._replace(least_variance=LEAST_VARIANCE * float(self.initial_variance))
        nonfinite_row = -1
        while True:
            learned, nonfinite = online.learn_with_covariance(
                online.Examples(rows, order, y, weight, scores),
                model,
                self._covariance,
                self._bias(),
                rule,
                self._coupling(),
            )
            nonfinite_row = max(nonfinite_row, nonfinite)
            order = order[learned:]
            if len(order) == 0:
                return int(nonfinite_row)
            row = order[0]
            self._make_room(int(rows.indptr[row + 1] - rows.indptr[row]))


def normal_quantile(confidence: float) -> float:
    """Return the quantile phi of the standard normal distribution at this probability."""
    return float(special.ndtri(confidence))
