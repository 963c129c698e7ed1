"""What learners with a covariance share: its parameters, its state, and room for it."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy.special import ndtri
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import coupling, second_order
from crossview.algorithms.first_order import Weights
from crossview.batch import read_only
from crossview.errors import InputError
from crossview.estimators.base import LinearOnlineClassifier
from crossview.kernels import covariance
from crossview.kernels.covariance import Covariance
from crossview.kernels.rows import Rows

__all__ = ["WithCovariance"]

FORMS = {
    covariance.FULL: "full",
    covariance.DIAGONAL: "diagonal",
    covariance.DIAGONAL_COVARIANCE: "diagonal",
    covariance.LOW_RANK: "low-rank",
}
DIAGONALS = {
    "precision": covariance.DIAGONAL,
    "covariance": covariance.DIAGONAL_COVARIANCE,
}

# what "auto" does: up to so many columns it begins with a full covariance; beyond, it keeps
# rows until they are as many as columns, and makes a triangle if that is not too large; if it
# were, fewer rows are kept, and then comes the diagonal
SMALL = 64
FULL_LIMIT = 256 * 2**20
MOST_ROWS = 1024


class WithCovariance(LinearOnlineClassifier):
    """Base of the learners that keep a covariance of their weights, one a view."""

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
        """The form that the covariance has now: "full", "diagonal" or "low-rank"."""
        check_is_fitted(self, "classes_")
        if not self._has_covariance():
            raise AttributeError("in Euclidean geometry there is no covariance")
        return FORMS[self._covariance.form]

    def covariance_matrix(self, view: str | None = None) -> np.ndarray:
        """The covariance of the weights, written out.

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
                    what = f"a covariance a view; name one of {', '.join(names)}"
                raise InputError(f"view={view!r}: there is {what}")
            v = 0
        elif view not in names:
            raise InputError(f"there is no view {view!r}; there are {', '.join(names)}")
        else:
            v = names.index(view)
        S = covariance.dense(self._covariance, v, ptr, float(self.fit_intercept))
        filled = self._filled(v, ptr)
        order = np.append(1 + filled, 0) if self.fit_intercept else 1 + filled
        return S[np.ix_(order, order)]

    def _filled(self, v: int, ptr: np.ndarray) -> np.ndarray:
        """The places of a view that a column of X has; the others are room to grow."""
        places = self._places
        if places is None:
            return np.arange(int(ptr[v + 1] - ptr[v]))
        own = np.sort(places[(places >= int(ptr[v])) & (places < int(ptr[v + 1]))])
        return own - int(ptr[v])

    # --- state ----------------------------------------------------------------

    def _has_covariance(self) -> bool:
        return True

    @property
    def _covariance(self) -> Covariance:
        state = self._state
        arrays = {name: state[f"S.{name}"] for name in Covariance._fields if name != "form"}
        return Covariance(form=int(state["S.form"][0]), **arrays)

    @_covariance.setter
    def _covariance(self, S: Covariance) -> None:
        self._state |= _as_state(S)

    def _covariance_ptr(self) -> np.ndarray:
        """First column of each view that has a covariance of its own, and the end."""
        ptr: np.ndarray = self._slots.ptr
        return ptr if self._n_biases() == self._slots.n_views else ptr[[0, -1]]

    def _start_state(self) -> None:
        super()._start_state()
        if not self._has_covariance():
            return
        ptr = self._covariance_ptr()
        widths = np.diff(ptr).tolist()
        if self.covariance == "full":
            form = covariance.FULL
            _check_size(widths)
        elif self.covariance == "diagonal":
            form = DIAGONALS[self.diagonal]
        elif self.covariance == "auto" and self._named is None and max(widths) <= SMALL:
            form = covariance.FULL
        else:
            form = covariance.LOW_RANK
        self._covariance = covariance.start(form, ptr, self.initial_variance)

    def _get_state(self) -> dict[str, np.ndarray]:
        state = super()._get_state()
        if self._has_covariance():
            state |= _as_state(covariance.trimmed(self._covariance))
        return state

    def _grow(self, moved: np.ndarray) -> None:
        grows = self._has_covariance() and hasattr(self, "_state")
        if grows:
            S, old = self._covariance, self._covariance_ptr()
        super()._grow(moved)
        if grows:
            ptr = self._covariance_ptr()
            if S.form == covariance.FULL:
                widths = np.diff(ptr).tolist()
                if self.covariance == "full":
                    _check_size(widths)
                elif covariance.full_bytes(widths) > FULL_LIMIT:
                    S = covariance.to_diagonal(S, old, float(self.fit_intercept))
            self._covariance = covariance.rearranged(S, moved, old, ptr, self.initial_variance)

    def _make_room(self, entries: int) -> None:
        """The kept rows are as many as there is room for, or their entries are."""
        S, bias, ptr = self._covariance, float(self.fit_intercept), self._covariance_ptr()
        widths = np.diff(ptr).tolist()
        rank = self.rank if self.covariance == "low-rank" else _rows_first(widths)
        room = S.begin.shape[1]
        if S.used[0] + entries > len(S.values):
            self._covariance = covariance.with_room(S, entries=entries)
        elif room < rank:
            self._covariance = covariance.with_room(S, rows=min(max(2 * room, SMALL), rank))
        elif self.covariance == "low-rank":
            self._covariance = covariance.forget_older_half(S, ptr, bias, rank)
        elif covariance.full_bytes(widths) <= FULL_LIMIT:
            self._covariance = covariance.to_full(S, ptr, bias)
        else:
            self._covariance = covariance.to_diagonal(S, ptr, bias)

    # --- learning -------------------------------------------------------------

    def _learn_with_covariance(
        self,
        rows: Rows,
        order: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        scores: np.ndarray,
        *,
        rule: int,
        C: float = np.inf,
        confidence: float = 0.5,
        kind: int = coupling.INDEPENDENT,
        gamma: float = 0.0,
    ) -> int:
        """One pass with a covariance; a row that is not finite and was passed over, or -1."""
        W, b, U, c, t = (self._state[name] for name in "WbUct")
        ptr = self._covariance_ptr()
        if len(ptr) < len(rows.ptr):  # all views are one
            rows = rows._replace(
                ptr=read_only(ptr.view(np.uint64)), present=read_only(np.empty((0, 1), bool))
            )
        place, nonfinite_row = 0, np.full(1, -1)
        while True:
            place = second_order.learn(
                rows,
                order,
                place,
                read_only(y.astype(np.float64)),
                weight,
                Weights(W, b, U, c, t),
                self._covariance,
                float(self.fit_intercept),
                kind,
                rule,
                gamma,
                C,
                float(ndtri(confidence)),
                scores.reshape(len(scores), -1),
                nonfinite_row,
            )
            if place == len(order):
                return int(nonfinite_row[0])
            row = order[place]
            self._make_room(int(rows.indptr[row + 1] - rows.indptr[row]))


def _as_state(S: Covariance) -> dict[str, np.ndarray]:
    arrays = {f"S.{name}": getattr(S, name) for name in Covariance._fields if name != "form"}
    return arrays | {"S.form": np.full(1, S.form, dtype=np.int64)}


def _rows_first(widths: list[int]) -> int:
    """How many rows "auto" keeps before it makes a triangle or a diagonal."""
    if covariance.full_bytes(widths) > FULL_LIMIT:
        return MOST_ROWS
    return max(*widths, SMALL)


def _check_size(widths: list[int]) -> None:
    """Whether a full covariance fits into half of the machine's memory."""
    size = covariance.full_bytes(widths)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # Linux and macOS say
    if size > there / 2:
        columns = " + ".join(f"{w:,}" for w in widths)
        raise InputError(
            f"covariance='full' of {columns} columns needs {size / 2**30:,.1f} GiB, more than "
            f"half of the {there / 2**30:,.1f} GiB of this machine; set covariance='diagonal', "
            "or 'low-rank', or 'auto', which chooses"
        )
