"""What learners with a covariance share: its parameters, its state, and room for it."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import couplings, online
from crossview.algorithms.couplings import Coupling
from crossview.algorithms.geometries import changes
from crossview.algorithms.geometries import covariance as forms
from crossview.algorithms.geometries.covariance import Covariance
from crossview.algorithms.rules import Rule
from crossview.batch import read_only
from crossview.errors import InputError
from crossview.estimators.base import LinearOnlineClassifier
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
DIAGONALS = {"precision": forms.DIAGONAL, "covariance": forms.DIAGONAL_COVARIANCE}

# "auto": with up to so many columns it is full from the start ...
MAX_COLUMNS_FULL_AT_ONCE = 64
# ... beyond, it keeps rows until they are as many as columns, then it is full if that takes at
# most so many bytes; if it takes more, it keeps fewer rows, and then it is diagonal
MAX_FULL_BYTES = 256 * 2**20
MAX_ROWS_BEFORE_DIAGONAL = 1024


class CovarianceClassifier(LinearOnlineClassifier):
    """Base of the learners that keep a covariance of their weights, one per view."""

    _parameter_constraints: ClassVar[dict] = {
        **LinearOnlineClassifier._parameter_constraints,
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
        column_map = self._places
        if column_map is None:
            return np.arange(int(ptr[v + 1] - ptr[v]))
        in_view = (column_map >= int(ptr[v])) & (column_map < int(ptr[v + 1]))
        return np.sort(column_map[in_view]) - int(ptr[v])

    # --- state ----------------------------------------------------------------

    def _has_covariance(self) -> bool:
        return True

    @property
    def _covariance(self) -> Covariance:
        state = self._state
        arrays = {name: state[f"S.{name}"] for name in Covariance._fields if name in STORED}
        return Covariance(form=int(state["S.form"][0]), ptr=self._covariance_ptr(), **arrays)

    @_covariance.setter
    def _covariance(self, S: Covariance) -> None:
        self._state |= _as_state(S)

    def _bias(self) -> float:
        return float(self.fit_intercept)

    def _covariance_ptr(self) -> np.ndarray:
        """First column of each view that has its own covariance, and the end."""
        ptr: np.ndarray = self._slots.ptr
        return np.array(ptr if self._n_biases() == self._slots.n_views else ptr[[0, -1]])

    def _start_state(self) -> None:
        super()._start_state()
        if not self._has_covariance():
            return
        ptr = self._covariance_ptr()
        widths = np.diff(ptr).tolist()
        is_small = self._named is None and max(widths) <= MAX_COLUMNS_FULL_AT_ONCE
        if self.covariance == "full":
            form = forms.FULL
            _check_memory(widths)
        elif self.covariance == "diagonal":
            form = DIAGONALS[self.diagonal]
        elif self.covariance == "auto" and is_small:
            form = forms.FULL
        else:
            form = forms.LOW_RANK
        self._covariance = forms.init_covariance(form, ptr, self.initial_variance)

    def _get_state(self) -> dict[str, np.ndarray]:
        state = super()._get_state()
        if self._has_covariance():
            state |= _as_state(forms.trimmed(self._covariance))
        return state

    def _grow(self, moved: np.ndarray) -> None:
        grows = self._has_covariance() and hasattr(self, "_state")
        if grows:
            S = self._covariance
        super()._grow(moved)
        if grows:
            ptr = self._covariance_ptr()
            if S.form == forms.FULL:
                widths = np.diff(ptr).tolist()
                if self.covariance == "full":
                    _check_memory(widths)
                elif forms.full_bytes(widths) > MAX_FULL_BYTES:
                    S = changes.to_diagonal(S, self._bias())
            self._covariance = changes.rearranged(S, moved, ptr, self.initial_variance)

    def _make_room(self, entries: int) -> None:
        """Make room for one more row, with so many entries, in a low-rank covariance."""
        S, bias = self._covariance, self._bias()
        widths = np.diff(S.ptr).tolist()
        rank = self.rank if self.covariance == "low-rank" else _rows_before_change(widths)
        room = S.begin.shape[1]
        if S.used[0] + entries > len(S.values):
            S = forms.with_room(S, entries=entries)
        elif room < rank:
            S = forms.with_room(S, rows=min(max(2 * room, MAX_COLUMNS_FULL_AT_ONCE), rank))
        elif self.covariance == "low-rank":
            S = changes.forget_older_half(S, bias, rank)
        elif forms.full_bytes(widths) <= MAX_FULL_BYTES:
            S = changes.to_full(S, bias)
        else:
            S = changes.to_diagonal(S, bias)
        self._covariance = S

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


STORED = set(Covariance._fields) - {"form", "ptr"}


def _as_state(S: Covariance) -> dict[str, np.ndarray]:
    arrays = {f"S.{name}": getattr(S, name) for name in Covariance._fields if name in STORED}
    return arrays | {"S.form": np.full(1, S.form, dtype=np.int64)}


def _rows_before_change(widths: list[int]) -> int:
    """How many rows "auto" keeps before the covariance becomes full or diagonal."""
    if forms.full_bytes(widths) > MAX_FULL_BYTES:
        return MAX_ROWS_BEFORE_DIAGONAL
    return max(*widths, MAX_COLUMNS_FULL_AT_ONCE)


def _check_memory(widths: list[int]) -> None:
    """Raise `InputError` if a full covariance takes more than half of the machine's memory."""
    size = forms.full_bytes(widths)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # Linux and macOS say
    if size > memory / 2:
        columns = " + ".join(f"{w:,}" for w in widths)
        raise InputError(
            f"covariance='full' of {columns} columns needs {size / 2**30:,.1f} GiB, more than "
            f"half of the {memory / 2**30:,.1f} GiB of this machine; set covariance='diagonal', "
            "or 'low-rank', or 'auto', which chooses"
        )
