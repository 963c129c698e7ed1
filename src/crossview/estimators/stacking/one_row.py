"""One row of a stack: the loops of all experts, and of their combination, bound to its arrays."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from crossview._jit import bind
from crossview.algorithms import calibration
from crossview.batch import RowBuffers, read_only
from crossview.estimators.base.road import Bound, OneExample
from crossview.estimators.stacking.experts import Expert
from crossview.views import ViewLayout


class _View(NamedTuple):
    """The part of a row that the experts on one view see."""

    v: int
    first: int
    end: int
    row: RowBuffers
    weight: np.ndarray
    experts: list[int]


class StackRow:
    """The experts of a stack on one row, whose arrays stay: a call scores it, or learns it.

    stack: fitted.
    row: the row with all views.
    scores: where the scores of the combination go.
    example: the row with its target, to learn it; None: it is only scored.
    """

    def __init__(
        self, stack: Any, row: RowBuffers, scores: np.ndarray, example: OneExample | None = None
    ) -> None:
        self._stack, self._row, self._example = stack, row, example
        self._weight = np.zeros(1) if example is None else example.weight
        C = scores.shape[1]
        K = len(stack._experts)
        self._found, self._missing = np.zeros((K, C)), np.zeros(K, dtype=bool)
        self._codes = np.zeros(1, dtype=np.int8), np.zeros(1, dtype=np.int64)
        self._views: dict[str, _View] = {}
        self.bound = [self._bind(stack, k, expert) for k, expert in enumerate(stack._experts)]
        self._calibrate: Bound | None = None
        p = self._found.reshape(1, K, C)
        if stack._calibrates:
            memory = calibration.expert_row(stack._state["calibrations"], C)
            codes = read_only(self._codes[0]), read_only(self._codes[1])
            given = read_only(self._found), read_only(self._missing), codes
            weight, learn = read_only(self._weight), example is not None
            self._calibrate = bind(calibration.calibrate_experts, *given, weight, memory, learn)
            p = memory.p.reshape(1, K, C)
        y = np.zeros(1, dtype=np.float64 if C == 1 else np.int64) if example is None else example.y
        self._p, learn = p, example is not None
        of_rows = y, self._weight, stack._delay if learn else np.zeros(1, dtype=np.int64)
        self._combine = stack._bind_combination(p, of_rows, scores, learn)
        self._remember: Bound | None = None
        if learn or stack._follows:
            number = np.zeros(1) if example is None else example.number
            self._remember = stack._bind_memory(row.rows, (number, *of_rows[1:]), scores)

    def _bind(self, stack: Any, k: int, expert: Expert) -> Bound | None:
        """Bind the loop of an expert; None if it has none for a single row."""
        row, weight, found = self._row, self._weight, self._found[k : k + 1]
        if expert.view is not None:
            if expert.view not in self._views:
                slots, name = stack._slots, expert.view
                v, block = slots.index(name), slots.block(name)
                own = RowBuffers(ViewLayout([name], [slots.widths[v]]), self._row.n_entries)
                self._views[name] = _View(v, block.start, block.stop, own, np.zeros(1), [])
            view = self._views[expert.view]
            view.experts.append(k)
            row, weight = view.row, view.weight
        if self._example is None:
            bound: Bound | None = expert.learner._bind_scoring(row, found)
            return bound
        scores = found if found.shape[1] > 1 else found.reshape(-1)
        example = self._example._replace(row=row, weight=read_only(weight), scores=scores)
        bound = expert.learner._bind_learning(example)
        return bound

    def __call__(self) -> int:
        """Score the row, or learn it; return 0 if it cannot be learned, and otherwise -1."""
        row, example = self._row, self._example
        if example is not None and not _squares_are_finite(row.values):
            return 0
        for view in self._views.values():
            there = bool(row.present[view.v])
            lo, hi = bisect_left(row.columns, view.first), bisect_left(row.columns, view.end)
            view.row.cut(row, lo, hi, view.first, there)
            view.weight[0] = self._weight[0] if there else 0.0
            self._missing[view.experts] = not there
        for call in self.bound:
            assert call is not None  # a stack with others is not bound
            call()
        if self._calibrate is not None:
            if example is not None:
                y = int(example.number[0])
                self._codes[0][0], self._codes[1][0] = y > 0, max(y, 0)
            self._calibrate()
        elif self._missing.any():
            self._found[self._missing] = math.nan
        known = self._stack.__dict__  # what is written there does not drop the road
        if example is None:
            self._stack._experts.said = self._p
        elif said := known.pop("_said_then", None):
            self._stack._say_again(self._p[0], said[0], self._stack._delay[0])
        self._combine()
        if self._remember is not None:
            self._remember()
        return -1


def _squares_are_finite(values: Sequence[float]) -> bool:
    """Return whether the squared norm of a row can be added up."""
    peak = float(max(map(abs, values), default=0.0))
    return math.isfinite(peak * peak * len(values))
