"""The fast road of single rows: loops that are bound to the arrays of a learner and of one row.

A row of a few entries is scored and learned in less than a microsecond; to make arrays of it, and
to find the loops for their types, takes a hundred times as long.  So a learner binds its loops to
arrays that stay (`crossview._jit.bind`), and a row is written into them.  Where an array of the
state is replaced, or a parameter is set, the loops are bound anew, once the state has stayed the
same from one row to the next; a row that the road cannot take goes the way of tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import accumulate, chain
from operator import is_
from threading import Lock
from typing import Any, NamedTuple, Self

import numpy as np

from crossview._jit import bind
from crossview.algorithms.calibration import calibrate_several, calibrate_two, write_probabilities
from crossview.algorithms.online import Examples
from crossview.batch import RowBuffers, read_only
from crossview.estimators.base.names import features_by_view
from crossview.estimators.base.state import LearnedState
from crossview.estimators.targets import class_weights
from crossview.kernels.moments import running_units, units_of
from crossview.labels import MAX_WEIGHT
from crossview.views import OneRow

Bound = Callable[[], Any]

# lists of features whose columns are kept
MOST_KEPT = 256
# entries of a row that there is room for
FEWEST, MOST = 64, 1 << 16


class OneExample(NamedTuple):
    """One row and its target, in arrays that stay."""

    row: RowBuffers
    order: np.ndarray  # the row
    y: np.ndarray  # its target in the type of the loops: float64, or int64 of several classes
    number: np.ndarray  # the same as float64
    weight: np.ndarray
    scores: np.ndarray  # (1,) or (1, n_scores)

    def examples(self) -> Examples:
        """Return the row for the loops of linear learners."""
        return Examples(self.row.rows, self.order, self.y, self.weight, self.scores)


class _Named(NamedTuple):
    """Places in the state of the features of a row with these names."""

    columns: list[int]
    order: list[int] | None  # of the values; None: as they are
    present: list[bool]


class Road:
    """One row of a learner, and the loops that are bound to it.

    learner: fitted.
    n_entries: number of entries of a row.
    scores (1, n_scores): the scores of the row before it was learned, or those that predict.
    """

    def __init__(self, learner: Any, n_entries: int) -> None:
        self._learner, K = learner, learner._n_scores()
        self._latest: object = None  # of the changes that are known to be of others
        self.lock = Lock()
        self._states = learner._states()
        self._arrays = _arrays(self._states)
        self.row = RowBuffers(learner._slots, min(max(FEWEST, 2 * n_entries), MOST))
        self.number, self.weight = np.zeros(1), np.zeros(1)
        self.y = self.number if K == 1 else np.zeros(1, dtype=np.int64)
        self.scores = np.zeros((1, K))
        given = self.scores if K > 1 else self.scores.reshape(-1)
        order = read_only(np.zeros(1, dtype=np.int64))
        y, number, weight = (read_only(value) for value in (self.y, self.number, self.weight))
        self.example = OneExample(self.row, order, y, number, weight, given)
        self.learn: Bound | None = learner._bind_learning(self.example)
        self.score: Bound | None = learner._bind_scoring(self.row, self.scores)
        # binding may have given the state another form
        self._arrays = _arrays(self._states)
        # a row that lacks a view goes the way of tables, which add what stands in for it, and so
        # does one that lacks all
        self._needs_all = any("stand_in" in state for state in self._states)
        self._keys: dict[Any, _Named] = {}
        self._every = list(range(min(learner._slots.n_columns, MOST)))

    @classmethod
    def find(cls, learner: Any, x: Any) -> Self | None:
        """Return the road of a learner for a row, or None where it has none (yet)."""
        kept = learner.__dict__.get("_road")
        if kept is None or not kept.holds(learner):
            if not learner._leaves_road:  # the state may change again with the next row
                learner.__dict__["_road"] = _Waiting(learner)
            return None
        if isinstance(kept, _Waiting):
            n_entries = len(x.columns) if isinstance(x, OneRow) else learner._slots.n_columns
            kept = learner.__dict__["_road"] = cls(learner, n_entries)
            learner._share_road(kept)
        return kept if kept.score is not None else None

    def holds(self, learner: Any) -> bool:
        """Return whether the loops are bound to the state that the learner has now."""
        if learner is not self._learner:
            return False
        latest = LearnedState.latest
        if latest is not self._latest:  # it may be another learner that has changed
            if not (learner._has_road(self) and _same(self._states, self._arrays)):
                return False
            self._latest = latest
        return True

    # --- rows ------------------------------------------------------------------------------

    def take(self, x: Any) -> bool:
        """Write a row into the arrays; False if it is one for the way of tables."""
        if type(x) is OneRow:
            if not self._learner._columns.takes(x.layout):
                return False
            return self._fill(x.columns, x.values, x.present)
        if type(x) is np.ndarray:
            return self._take_array(x)
        if not isinstance(x, Mapping):
            return False
        try:
            values, named = self._named(x)
            if named is None or not math.isfinite(sum(values)):
                return False
            if named.order is not None:
                values = [values[i] for i in named.order]
            return self._fill(named.columns, values, named.present)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return False

    def _take_array(self, x: np.ndarray) -> bool:
        """Write a plain array of all columns, none of them missing."""
        columns = self._learner._columns
        plain = x.ndim == 1 and x.dtype == np.float64 and columns.positions is None
        if not (plain and len(x) == columns.layout.n_columns == len(self._every)):
            return False
        if not math.isfinite(x.sum()):
            return False
        return self._fill(self._every, x, [True] * columns.layout.n_views)

    def _fill(self, columns: list[int], values: Any, present: list[bool]) -> bool:
        if not (all(present) if self._needs_all else any(present)):
            return False
        if self.row.fill(columns, values, present):
            return True
        if len(columns) <= MOST // 2:  # the next road is for longer rows
            self._learner.__dict__.pop("_road", None)
        return False

    def _named(self, x: Mapping[Any, Any]) -> tuple[list[Any], _Named | None]:
        """Return the values of a row, and where its features are; None for new features."""
        key: Any = tuple(x)
        values = list(x.values())
        if values and not isinstance(values[0], float | int):
            key = key, *[tuple(own) if own is not None else None for own in values]
            values = [value for own in values if own is not None for value in own.values()]
        named = self._keys.get(key)
        if named is None:
            named = self._find(x)
            if named is not None and len(self._keys) < MOST_KEPT:
                self._keys[key] = named
        return values, named

    def _find(self, x: Mapping[Any, Any]) -> _Named | None:
        named = self._learner._columns.named
        if named is None:
            return None
        known = named.views
        first = dict(zip(known, accumulate(named.room, initial=0), strict=False))
        by_view = features_by_view(x, list(known))
        try:
            columns = [
                first[view] + known[view][name] for view, own in by_view.items() for name in own
            ]
        except KeyError:
            return None
        order = sorted(range(len(columns)), key=columns.__getitem__)
        ordered = order == list(range(len(columns)))
        present = [view in by_view for view in known]
        return _Named([columns[i] for i in order], None if ordered else order, present)


class ClassifierRoad(Road):
    """The road of a classifier: also its probabilities, and its calibration."""

    def __init__(self, learner: Any, n_entries: int) -> None:
        super().__init__(learner, n_entries)
        K, state = learner._n_scores(), learner._state.get("calibration")
        self.labels, self._threshold = learner.classes_.tolist(), learner.threshold_in_use
        self._p = np.ones((1, max(2, K)))
        kept = np.empty(0) if state is None else state
        self._probabilities = write_probabilities.bind(self.scores, kept, self._p)
        self._targets = self._encode(learner)
        self._code = np.zeros(1, dtype=np.int8 if K == 1 else np.int64)
        self._own_weight = np.zeros(1)
        self._calibrate: Bound | None = None
        if learner.calibration != "none" and state is not None:
            given = self.scores.reshape(-1) if K == 1 else self.scores
            rows = [read_only(value) for value in (given, self._code, self._own_weight)]
            if K == 1:
                self._calibrate = bind(calibrate_two, *rows, state, np.empty(1), False)
            else:
                z, p = np.empty(K), np.empty((1, K))
                self._calibrate = bind(calibrate_several, *rows, state, z, p, False)

    @staticmethod
    def _encode(learner: Any) -> dict[Any, tuple[Any, int, float]]:
        """Return of each label its target, its code for the calibration, and its weight."""
        classes, given = learner.classes_, getattr(learner, "class_weight", None)
        if isinstance(given, str):
            return {}  # a stream has none
        factors = [1.0] * len(classes)
        if given is not None:
            factors = class_weights(given, classes, np.empty(0, np.intp), np.empty(0)).tolist()
        if len(classes) > 2:
            return {y: (k, k, factors[k]) for k, y in enumerate(classes.tolist())}
        last = len(classes) - 1  # a single class so far is the positive one
        return {
            y: (1.0 if k == last else -1.0, int(k == last), factors[k])
            for k, y in enumerate(classes.tolist())
        }

    def knows(self, y: Any, sample_weight: Any) -> bool:
        """Return whether it learns rows with this label and weight."""
        try:
            return self.learn is not None and y in self._targets and usable_weight(sample_weight)
        except TypeError:
            return False

    def probabilities(self) -> dict[Any, float]:
        """Return the probabilities of the row that was taken."""
        assert self.score is not None
        self.score()
        if len(self.labels) == 1:
            return {self.labels[0]: 1.0}
        self._probabilities()
        return dict(zip(self.labels, self._p[0].tolist(), strict=True))

    def predict(self) -> Any:
        """Return the class of the row that was taken."""
        if self._threshold is not None:
            return self.answer()[0]
        assert self.score is not None
        self.score()
        return self._decide()

    def answer(self) -> tuple[Any, dict[Any, float]]:
        """Return the class and the probabilities of the row that was taken."""
        p = self.probabilities()
        if self._threshold is None:
            return self._decide(), p
        if isinstance(self._threshold, float):
            return self.labels[int(p[self.labels[1]] > self._threshold)], p
        parts = [own / t for own, t in zip(p.values(), self._threshold, strict=True)]
        return self.labels[parts.index(max(parts))], p

    def _decide(self) -> Any:
        """Return the class of the row that was scored."""
        if len(self.labels) > 2:
            return self.labels[int(self.scores.argmax())]
        return self.labels[int(len(self.labels) == 2 and self.scores[0, 0] > 0.0)]

    def learn_row(self, x: Any, y: Any, sample_weight: float) -> int | None:
        """Learn a row; return -1, 0 for one that was left out, None for one of another way."""
        if not (self.knows(y, sample_weight) and self.take(x)):
            return None
        target, code, factor = self._targets[y]
        self.number[0] = target
        if self.y is not self.number:
            self.y[0] = target
        self.weight[0] = sample_weight * factor
        assert self.learn is not None
        wrong = int(self.learn())
        if wrong < 0 and self._calibrate is not None:
            self._code[0], self._own_weight[0] = code, sample_weight
            if not np.isfinite(self.scores).all():
                self.scores[:], self._own_weight[0] = 0.0, 0.0
            self._calibrate()
        return wrong


class NumberRoad(Road):
    """The road of a regressor, which standardizes its targets."""

    def __init__(self, learner: Any, n_entries: int) -> None:
        super().__init__(learner, n_entries)
        self._units, self._linear = learner._state["units"], learner.target_scale == "linear"
        self._after, self._target, self._own_weight = np.zeros(3), np.zeros(1), np.zeros(1)
        self._mean, self._scale = np.zeros(2), np.zeros(2)
        rows = read_only(self._target), read_only(self._own_weight)
        self._standardize = bind(running_units, self._after, *rows, self._mean, self._scale)

    def knows(self, y: Any, sample_weight: Any) -> bool:
        """Return whether it learns rows with this target and weight."""
        plain = type(y) in (float, int) and math.isfinite(y) and (self._linear or y > 0.0)
        return self.learn is not None and plain and usable_weight(sample_weight)

    def predict(self) -> float:
        """Return the target of the row that was taken."""
        assert self.score is not None
        self.score()
        mean, scale = units_of(*self._units.tolist())
        value = mean + scale * float(self.scores[0, 0])
        return value if self._linear else float(self._learner._as_targets(np.array([value]))[0])

    def learn_row(self, x: Any, y: Any, sample_weight: float) -> int | None:
        """Learn a row; return -1, 0 for one that was left out, None for one of another way."""
        if not (self.knows(y, sample_weight) and self.take(x)):
            return None
        if not self._linear:
            y = self._learner._read_targets([y], 1)[0]
        before = self._units.copy()
        self._after[:] = before
        self._target[0], self._own_weight[0] = y, sample_weight
        self._standardize()
        mean, scale = float(self._mean[1]), float(self._scale[1])
        if not math.isfinite(mean + scale):
            return None
        self._units[:] = self._after  # in place: a stack shares them with its experts
        self.number[0], self.weight[0] = (float(y) - mean) / scale, sample_weight
        assert self.learn is not None
        wrong = int(self.learn())
        if wrong >= 0:
            self._units[:] = before
        elif sample_weight > 0.0:
            self._learner._see_targets(np.array([y]))
        return wrong


class _Waiting:
    """The arrays of a state, kept to see whether they stay."""

    def __init__(self, learner: Any) -> None:
        self._states = learner._states()
        self._arrays = _arrays(self._states)

    def holds(self, learner: Any) -> bool:
        """Return whether the state has stayed."""
        if learner._leaves_road:
            return False
        return learner._states()[0] is self._states[0] and _same(self._states, self._arrays)


def _arrays(states: list[dict[str, np.ndarray]]) -> list[np.ndarray]:
    return [*chain.from_iterable(map(dict.values, states))]


def _same(states: list[dict[str, np.ndarray]], arrays: list[np.ndarray]) -> bool:
    """Return whether the states have the same arrays."""
    found = [*chain.from_iterable(map(dict.values, states))]
    return len(found) == len(arrays) and all(map(is_, found, arrays))


def usable_weight(sample_weight: Any) -> bool:
    """Return whether a weight is a plain number that can be taken as it is."""
    return type(sample_weight) in (float, int) and 0.0 <= sample_weight <= MAX_WEIGHT
