"""What learners with a covariance share: its parameters, its state, and room for it."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import couplings, online
from crossview.algorithms.couplings import Coupling
from crossview.algorithms.geometries import changes
from crossview.algorithms.geometries import covariance as forms
from crossview.algorithms.rules import Rule
from crossview.batch import read_only
from crossview.errors import InputError
from crossview.estimators.covariance_state import DIAGONALS, CovarianceState
from crossview.estimators.documentation import ParameterDoc
from crossview.estimators.parameters import ATTRIBUTES
from crossview.estimators.validation import Interval, StrOptions
from crossview.kernels.rows import Rows

__all__ = ["COVARIANCE", "COVARIANCE_ATTRIBUTES", "CovarianceClassifier", "normal_quantile"]

COVARIANCE: dict[str, ParameterDoc] = {
    "covariance": (
        '{"auto", "full", "diagonal", "low-rank"}',
        """
        Form of the covariance.  "full": all pairs of columns; a step costs as much as half of that
        matrix has entries.  "diagonal": one variance per column, for many columns and long
        streams.  "low-rank": exact for the first ``rank`` updates, whose rows it keeps; then the
        older half of them goes into the diagonal, again and again.  "auto": exact as long as that
        is affordable.  With up to 64 columns it is full from the start; where half of the matrix
        takes at most 256 MiB (some 8,000 columns), low-rank for as many updates as there are
        columns, then full; beyond, low-rank for 1024 updates, then diagonal.
        ``covariance_form_`` says which it is.
        """,
    ),
    "rank": (
        "int",
        """
        Rows that "low-rank" keeps.  A higher value is closer to "full" and slower: a step costs
        rank² and the entries of the kept rows.
        """,
    ),
    "diagonal": (
        '{"precision", "covariance"}',
        """
        Which diagonal "diagonal" keeps at each step: that of the inverse covariance (as in SOL; the
        variance of a column then depends on its own values only), or that of the covariance.
        """,
    ),
    "initial_variance": (
        "float",
        """
        Variance of every weight at the start, in (0, inf).  A higher value lets the first rows
        move the weights further.  It matters where columns have another unit than 1.
        """,
    ),
}

COVARIANCE_ATTRIBUTES: dict[str, ParameterDoc] = ATTRIBUTES | {
    "covariance_form_": (
        "str",
        'Form that the covariance has now: "full", "diagonal" or "low-rank".',
    ),
}

FORMS = {
    forms.FULL: "full",
    forms.DIAGONAL: "diagonal",
    forms.DIAGONAL_COVARIANCE: "diagonal",
    forms.LOW_RANK: "low-rank",
}


class CovarianceClassifier(CovarianceState):
    """Base of the learners that keep a covariance of their weights, one per view."""

    _parameter_constraints: ClassVar[dict] = {
        **CovarianceState._parameter_constraints,
        "covariance": [StrOptions({"auto", "full", "diagonal", "low-rank"})],
        "rank": [Interval(Integral, 1, None, closed="left")],
        "diagonal": [StrOptions(set(DIAGONALS))],
        "initial_variance": [Interval(Real, 0, None, closed="neither")],
    }

    # --- what users see -------------------------------------------------------

    @property
    def covariance_form_(self) -> str:
        """Form that the covariance has now: "full", "diagonal" or "low-rank"."""
        check_is_fitted(self, "classes_")
        if not self._has_covariance():
            raise AttributeError("in Euclidean geometry there is no covariance")
        return FORMS[self._covariance.form]

    def covariance_matrix(self, view: str | None = None) -> np.ndarray:
        """Return the covariance of the weights as a matrix.

        Parameters
        ----------
        view : str, default=None
            Name of the view; None where there is one covariance for all columns.

        Returns
        -------
        S : ndarray of shape (n, n)
            Rows and columns are the view's columns in the order of
            `view_columns`, or all columns view after view; with
            ``fit_intercept`` the last is the constant feature.

        Raises
        ------
        InputError
            There is no such view, or no view is named and there are several.
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
        """Positions in view v that a column of X has; the others are room to grow."""
        column_map = self._column_map
        if column_map is None:
            return np.arange(int(ptr[v + 1] - ptr[v]))
        in_view = (column_map >= int(ptr[v])) & (column_map < int(ptr[v + 1]))
        return np.sort(column_map[in_view]) - int(ptr[v])

    # --- learning -------------------------------------------------------------

    def _rule(self) -> Rule:
        """The step rule and its parameters."""
        raise NotImplementedError

    def _coupling(self) -> Coupling:
        """How the views share a step."""
        return Coupling(couplings.INDEPENDENT)

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        model = online.Weights(*(self._state[name] for name in "WbUct"))
        ptr = self._covariance_ptr()
        if len(ptr) < len(rows.ptr):  # all views are one
            everywhere = read_only(np.empty((0, 1), dtype=bool))
            rows = rows._replace(ptr=read_only(ptr.view(np.uint64)), present=everywhere)
        y, scores = read_only(y.astype(np.float64)), scores.reshape(len(scores), -1)
        nonfinite_row = -1
        while True:
            learned, nonfinite = online.learn_with_covariance(
                online.Examples(rows, order, y, weight, scores),
                model,
                self._covariance,
                self._bias(),
                self._rule(),
                self._coupling(),
            )
            nonfinite_row = max(nonfinite_row, nonfinite)
            order = order[learned:]
            if len(order) == 0:
                return int(nonfinite_row)
            row = order[0]
            self._make_room(int(rows.indptr[row + 1] - rows.indptr[row]))


def normal_quantile(confidence: float) -> float:
    """Return phi: a normal variable is below it with that probability."""
    return float(ndtri(confidence))
