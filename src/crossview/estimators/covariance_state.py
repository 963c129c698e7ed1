"""State of the covariance: changes of form, new columns, and memory for low-rank rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from crossview.algorithms.geometries import changes
from crossview.algorithms.geometries import covariance as forms
from crossview.algorithms.geometries.covariance import Covariance
from crossview.errors import InputError
from crossview.estimators.base import LinearOnlineClassifier
from crossview.saving.schema import Array
from crossview.views import ViewLayout

__all__ = [
    "DIAGONALS",
    "MAX_FULL_BYTES",
    "CovarianceState",
    "as_state",
    "rows_before_change",
]

DIAGONALS = {"precision": forms.DIAGONAL, "covariance": forms.DIAGONAL_COVARIANCE}

# "auto" is full from the start up to this number of columns ...
MAX_COLUMNS_FULL_AT_ONCE = 64
# ... and low-rank beyond.  If the full form takes at most this memory, it becomes full after as
# many rows as there are columns, ...
MAX_FULL_BYTES = 256 * 2**20
# ... otherwise diagonal after this number of rows
MAX_ROWS_BEFORE_DIAGONAL = 1024

STORED = [name for name in Covariance._fields if name not in ("form", "ptr")]


class CovarianceState(LinearOnlineClassifier):
    """Base class of the learners with a covariance, whose form may change while they learn."""

    # parameters of the subclasses
    covariance: str
    rank: int
    diagonal: str
    initial_variance: float
    fit_intercept: Any

    def _has_covariance(self) -> bool:
        return True

    @property
    def _covariance(self) -> Covariance:
        state = self._state
        if "S.form" not in state:  # what a property raises where there is nothing, for `hasattr`
            raise AttributeError("in Euclidean geometry there is no covariance")
        return self._covariance_of(state)

    @_covariance.setter
    def _covariance(self, S: Covariance) -> None:
        self._state |= as_state(S)

    def _covariance_of(self, state: Mapping[str, np.ndarray]) -> Covariance:
        arrays = {name: state[f"S.{name}"] for name in STORED}
        return Covariance(form=int(state["S.form"][0]), ptr=self._covariance_ptr(), **arrays)

    def _bias(self) -> float:
        return float(self.fit_intercept)

    def _covariance_ptr(self) -> np.ndarray:
        """Return the first column of each view that has its own covariance, and the end."""
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
        self._covariance = forms.init_covariance(
            form, ptr, self.initial_variance, scaling=self.intercept_scaling
        )

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the learned state as arrays."""
        state = super().get_state()
        if self._has_covariance():
            state |= as_state(forms.trimmed(self._covariance))
        return state

    def _state_schema(self, state: Mapping[str, np.ndarray]) -> dict[str, Array | np.ndarray]:
        schema = super()._state_schema(state)
        if not self._has_covariance():
            return schema
        ptr = self._covariance_ptr()
        form = int(state["S.form"][0])
        sizes = [
            forms.full_bytes([w]) // 8 if form == forms.FULL else 0 for w in np.diff(ptr).tolist()
        ]
        V, n = len(ptr) - 1, int(ptr[-1])
        room = state["S.begin"].shape[1] if form == forms.LOW_RANK else 0
        entries = state["S.values"].shape[0] if form == forms.LOW_RANK else 0
        index = forms.no_rows(0, 0, n)["columns"].dtype.str[1:]
        return schema | {
            "S.form": Array("i8", (1,), 0, forms.LOW_RANK),
            "S.D": Array("f8", (n,), low=0.0),
            "S.d": Array("f8", (V,), low=0.0),
            "S.T": Array("f8", (sum(sizes),)),
            "S.triangle_ptr": np.cumsum([0, *sizes]),
            "S.kept": Array("i8", (V,), 0, room),
            "S.begin": Array("i8", (V, room), 0, entries),
            "S.end": Array("i8", (V, room), 0, entries),
            "S.rho": Array("f8", (V, room), low=0.0),
            "S.L": Array("f8", (V, room * (room + 1) // 2)),
            "S.values": Array("f8", (entries,)),
            "S.columns": Array(index, (entries,), 0, max(n - 1, 0)),
            "S.used": np.array([entries]),
        }

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `get_state` returned."""
        super().set_state(state)
        if self._has_covariance() and not _rows_are_in_range(self._covariance):
            del self._state
            raise InputError("a row that the low-rank covariance keeps has columns of another view")

    def _check_growth(self, slots: ViewLayout) -> None:
        if hasattr(self, "_state") and self._has_covariance() and self.covariance == "full":
            _check_memory([slots.n_columns] if self._n_biases() == 1 else list(slots.widths))

    def _grow(self, moved: np.ndarray) -> None:
        grows = self._has_covariance() and hasattr(self, "_state")
        if grows:
            S = self._covariance
        super()._grow(moved)
        if grows:
            ptr = self._covariance_ptr()
            is_auto = S.form == forms.FULL and self.covariance != "full"
            if is_auto and forms.full_bytes(np.diff(ptr).tolist()) > MAX_FULL_BYTES:
                S = changes.to_diagonal(S, self._bias())
            self._covariance = changes.rearranged(
                S, moved, ptr, self.initial_variance, self.intercept_scaling
            )

    def _make_room(self, entries: int) -> None:
        """Make room for one more row with this number of entries in a low-rank covariance."""
        S, bias = self._covariance, self._bias()
        widths = np.diff(S.ptr).tolist()
        rank = self.rank if self.covariance == "low-rank" else rows_before_change(widths)
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


def _rows_are_in_range(S: Covariance) -> bool:
    """Whether the rows that a low-rank covariance keeps have entries of their own view only."""
    total = 0
    for v, kept in enumerate(S.kept.tolist()):
        begin, end = S.begin[v, :kept], S.end[v, :kept]
        total += int((end - begin).sum())
        if (begin > end).any() or total > S.used[0]:  # an entry belongs to one row
            return False
        rows = [S.columns[b:e] for b, e in zip(begin.tolist(), end.tolist(), strict=True)]
        columns = np.concatenate([S.columns[:0], *rows])
        if len(columns) and not S.ptr[v] <= columns.min() <= columns.max() < S.ptr[v + 1]:
            return False
    return True


def as_state(S: Covariance) -> dict[str, np.ndarray]:
    """Return a covariance as arrays of the state."""
    arrays = {f"S.{name}": getattr(S, name) for name in STORED}
    return arrays | {"S.form": np.full(1, S.form, dtype=np.int64)}


def rows_before_change(widths: list[int]) -> int:
    """Return the number of rows that "auto" stores before it becomes full or diagonal."""
    if forms.full_bytes(widths) > MAX_FULL_BYTES:
        return MAX_ROWS_BEFORE_DIAGONAL
    return max(*widths, MAX_COLUMNS_FULL_AT_ONCE)


def _check_memory(widths: list[int]) -> None:
    """Raise `InputError` if a full covariance takes more than half of the machine's memory."""
    size = forms.full_bytes(widths)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # Linux and macOS
    if size > memory / 2:
        columns = " + ".join(f"{w:,}" for w in widths)
        raise InputError(
            f"covariance='full' of {columns} columns needs {size / 2**30:,.1f} GiB, more than "
            f"half of the {memory / 2**30:,.1f} GiB of this machine; set covariance='diagonal', "
            "'low-rank' or 'auto'"
        )
