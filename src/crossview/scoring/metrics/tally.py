"""Metrics of a stream, from counts and sums that can be added up."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from crossview.catalog.metrics import METRICS, check_metric, metric_names, metric_of, parse_metric
from crossview.errors import InputError
from crossview.labels import decide
from crossview.saving.schema import MAX_COUNT, Array, check_state
from crossview.scoring.metrics.measure import (
    confusion_matrix,
    hinge_losses,
    mean_of_defined,
    ordering,
    running_sum,
    value_of_confusion,
    value_of_order,
)
from crossview.scoring.metrics.place import places_of_labels
from crossview.scoring.metrics.probability import CALIBRATION_BINS, count_in_bins

# a longer array is a histogram, of which only what is not 0 is kept
LONG = 1000

COUNT = Array("i8", (1,), 0, MAX_COUNT)


def counts_of_shape(shape: tuple[int, ...]) -> Array:
    """Return what an array of counts looks like when it is kept."""
    size = int(np.prod(shape))
    if size <= LONG:
        return Array("i8", shape, 0, MAX_COUNT)
    return Array("i8", (2, "kept"), low=[[0], [0]], high=[[size - 1], [MAX_COUNT]])


def sum_of(n: int | None = None, *, low: float = 0.0) -> Array:
    """Return what a sum, or some of them, looks like: what it adds up is ``low`` or more."""
    return Array("f8", (1 if n is None else n,), low, np.inf)


class Resumable:
    """Base of counts whose state is some numbers and arrays, which `_state_schema` names.

    A dict of numbers with fixed keys is kept as an array; numbers in ``OPTIONAL`` may be None.
    Counts may be made of others, their `_parts`.
    """

    OPTIONAL: ClassVar[tuple[str, ...]] = ()

    def _state_schema(self) -> dict[str, Array]:
        """Return the attributes to keep, and what each looks like; of mere parts none."""
        return {}

    def _parts(self) -> dict[str, Resumable]:
        """Return the counts that these are made of, by what is before the names of their arrays."""
        return {}

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the counts as arrays."""
        state = {name: _as_array(getattr(self, name)) for name in self._state_schema()}
        for part, counts in self._parts().items():
            state |= {f"{part}.{name}": array for name, array in counts.get_state().items()}
        return state

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from counts that `get_state` of an equal object returned; all else is an error."""
        schema = self._state_schema()
        for part, counts in self._parts().items():
            own = [name for name in state if name.startswith(f"{part}.")]
            counts.set_state({name.removeprefix(f"{part}."): state[name] for name in own})
            state = {name: array for name, array in state.items() if name not in own}
        if not schema:
            return
        unknown = {k for k in self.OPTIONAL if k in state and state[k].shape == (0,)}
        known = {name: array for name, array in state.items() if name not in unknown}
        wanted = {name: array for name, array in schema.items() if name not in unknown}
        check_state(known, wanted, "the counts")
        for name in schema:
            like = getattr(self, name)
            setattr(self, name, None if name in unknown else _like(like, state[name]))


def _is_histogram(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.size > LONG and value.dtype.kind == "i"


def _as_array(value: Any) -> np.ndarray:
    if value is None:
        return np.empty(0)
    if _is_histogram(value):
        places = np.flatnonzero(value)
        return np.stack([places, value.reshape(-1)[places]])
    values = list(value.values()) if isinstance(value, dict) else value
    return np.atleast_1d(np.array(values))


def _like(value: Any, array: np.ndarray) -> Any:
    if _is_histogram(value):
        places, counts = array
        whole = np.zeros(value.size, dtype=value.dtype)
        whole[places] = counts
        return whole.reshape(value.shape)
    if isinstance(value, np.ndarray):
        return array.copy()
    if isinstance(value, dict):
        return dict(zip(value, array.tolist(), strict=True))
    return array.item() if array.size == 1 else array.tolist()


# cells of the scores of a class, and of all classes
MOST_CELLS, MOST_CELLS_IN_ALL = 1 << 14, 1 << 20


def added(one: Any, other: Any, *names: str) -> Any:
    """Return a copy of an object with the sums of some attributes of two."""
    total = copy.copy(one)
    for name in names:
        setattr(total, name, _sum(getattr(one, name), getattr(other, name)))
    return total


def _sum(one: Any, other: Any) -> Any:
    """Return the sum of two counts, key by key of mappings; None where there is one count only."""
    if isinstance(one, dict):
        both = one.keys() & other.keys()
        return one | other | {key: _sum(one[key], other[key]) for key in one if key in both}
    return None if one is None or other is None else one + other


class OrderCounts(Resumable):
    """Rows by score, for each class: those of the others and its own.

    A score has a cell of its own until there are more than ``most_cells``.  Then those whose
    float64 differ in the last bit only become one, then in the last two, and so on: at least half
    the cells remain, where the scores are, however near each other these are.  Which cells there
    are depends on the scores alone, and not on their order, batches or parts.
    """

    def __init__(self, n_classes: int, most_cells: int = MOST_CELLS) -> None:
        self.most_cells = min(most_cells, max(2, MOST_CELLS_IN_ALL // max(1, n_classes)))
        self._shifts = [0] * n_classes  # bits that are left out
        # (3, cells): the bits of the score, rows of the other classes, and of the class
        self._cells = [np.empty((3, 0), dtype=np.int64) for _ in range(n_classes)]
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self._n_waiting = 0

    def update(self, is_own: np.ndarray, scores: np.ndarray) -> None:
        """Count some more rows; both have shape (n_samples, n_classes)."""
        self._waiting.append((is_own, _in_order(scores)))
        self._n_waiting += len(scores)
        if self._n_waiting >= 2 * self.most_cells:
            self._settle()

    def counts(self) -> list[np.ndarray]:
        """Return the rows per cell, (2, cells), of each class, from the lowest score on."""
        self._settle()
        return [cells[1:] for cells in self._cells]

    def _settle(self) -> None:
        if not self._waiting:
            return
        is_own, bits = (np.concatenate(some) for some in zip(*self._waiting, strict=True))
        self._waiting, self._n_waiting = [], 0
        for k in range(len(self._cells)):
            own = is_own[:, k]
            self._add(k, np.stack([bits[:, k] >> self._shifts[k], ~own, own]))

    def _add(self, k: int, cells: np.ndarray) -> None:
        cells = np.concatenate([self._cells[k], cells], axis=1)
        cells = cells[:, cells[0].argsort()]
        # neighbors are one cell once as many bits are left out as the highest that differs
        apart = (cells[0, 1:] ^ cells[0, :-1]).view(np.uint64)
        if np.count_nonzero(apart) >= self.most_cells:
            shift = int(np.partition(apart, -self.most_cells)[-self.most_cells]).bit_length()
            self._shifts[k] += shift
            cells[0] >>= shift
            apart >>= np.uint64(shift)
        first = np.concatenate([[0], 1 + np.flatnonzero(apart)])
        if len(first) < cells.shape[1]:
            rows = np.add.reduceat(cells[1:], first, axis=1)
            cells = np.concatenate([cells[:1, first], rows])
        self._cells[k] = cells

    def __add__(self, other: OrderCounts) -> OrderCounts:
        total = OrderCounts(len(self._cells), self.most_cells)
        for one in (self, other):
            one._settle()
        for k, pair in enumerate(zip(self._shifts, other._shifts, strict=True)):
            total._shifts[k] = max(pair)
            for one, shift in zip((self, other), pair, strict=True):
                cells = one._cells[k].copy()
                cells[0] >>= total._shifts[k] - shift
                total._add(k, cells)
        return total

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the counts as arrays, the cells of the classes one after the other."""
        self._settle()
        return {
            "sizes": np.array([cells.shape[1] for cells in self._cells]),
            "shifts": np.array(self._shifts),
            "cells": np.concatenate(self._cells, axis=1),
        }

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from counts that `get_state` of an equal object returned; all else is an error."""
        n_classes, bits = len(self._cells), np.iinfo(np.int64)
        lows, highs = [[bits.min], [0], [0]], [[bits.max], [MAX_COUNT], [MAX_COUNT]]
        schema = {
            "sizes": Array("i8", (n_classes,), 0, self.most_cells),
            "shifts": Array("i8", (n_classes,), 0, 63),
            "cells": Array("i8", (3, "cells"), lows, highs),
        }
        check_state(state, schema, "the counts")
        ends = state["sizes"].cumsum()
        parts = np.split(state["cells"].copy(), ends, axis=1)
        rising = all((np.diff(cells[0]) > 0).all() for cells in parts)
        if parts.pop().size or ends[-1] != state["cells"].shape[1] or not rising:
            raise InputError("the array 'cells' of the counts is not as its sizes say")
        self._cells, self._shifts = parts, state["shifts"].tolist()
        self._waiting, self._n_waiting = [], 0


def _in_order(scores: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of the scores: their bits, those of a negative one reversed."""
    bits = (scores.astype(np.float64) + 0.0).view(np.int64)  # of both zeros 0
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max)


class Tally(Resumable):
    """Counts of a stream of predictions, from which its metrics follow.

    Memory does not grow with the stream.  Two tallies of the same classes add up to that of both
    streams, whichever worker counted them.  ``loss`` is the sum of the hinge losses; ``confusion``
    has rows per true and predicted class; ``order`` the rows per cell of a class of what orders
    them; ``places`` the rows per place of the label among the classes; ``sums`` the losses of each
    metric of probabilities; and ``bins`` is as for `count_in_bins`.

    Metrics of the order of the scores are exact up to ``most_cells`` different scores of a class.
    Beyond, those in one cell of `OrderCounts` count as equal: the metric is the mean over all
    orders of the rows in each, and the area under the ROC curve is off by at most half the share of
    the pairs, of a row of the class and one of the others, that are in one cell.  All other metrics
    are exact.  Sums run row by row, so that they do not depend on how the stream is cut into
    batches.

    >>> import numpy as np
    >>> tally = Tally(n_classes=2)
    >>> tally.update(np.array([0, 1, 1]), np.array([-1.0, 2.0, -0.5]))
    >>> round(tally.value("accuracy"), 3), tally.value("roc_auc")
    (0.667, 1.0)
    """

    def __init__(self, n_classes: int, *, positive: int = 1, most_cells: int = MOST_CELLS) -> None:
        self.n_classes = n_classes
        self.positive = positive
        self.n_rows = 0
        self.loss = 0.0
        self.confusion = np.zeros((n_classes, n_classes), dtype=np.int64)
        self.order = OrderCounts(1 if n_classes == 2 else n_classes, most_cells)
        of_rows = [name for name, metric in METRICS.items() if metric.kind == "probability"]
        self.sums = dict.fromkeys(of_rows, 0.0)
        self.bins = np.zeros((3, CALIBRATION_BINS))
        self.places = np.zeros(n_classes, dtype=np.int64)

    def _state_schema(self) -> dict[str, Array]:
        return {
            "n_rows": COUNT,
            "loss": sum_of(),
            "confusion": counts_of_shape(self.confusion.shape),
            "sums": sum_of(len(self.sums), low=-np.inf),
            "bins": Array("f8", self.bins.shape, 0.0),
            "places": counts_of_shape(self.places.shape),
        }

    def _parts(self) -> dict[str, Resumable]:
        return {"order": self.order}

    def update(
        self,
        codes: np.ndarray,
        scores: np.ndarray,
        probabilities: np.ndarray | None = None,
        predicted: np.ndarray | None = None,
    ) -> None:
        """Count some more rows, as `measure` takes them; all rows have probabilities or none."""
        self.n_rows += len(codes)
        self.loss = float(running_sum(self.loss, hinge_losses(codes, scores)))
        predicted = decide(scores) if predicted is None else predicted
        self.confusion += confusion_matrix(codes, predicted, self.n_classes)
        own = [1] if self.n_classes == 2 else range(self.n_classes)
        ordered = ordering(scores, probabilities)
        self.order.update(np.equal.outer(codes, own), ordered.reshape(len(codes), -1))
        self.places += np.bincount(places_of_labels(codes, ordered), minlength=self.n_classes)
        if probabilities is not None:
            for name, total in self.sums.items():
                losses = METRICS[name].function()(codes, probabilities)
                self.sums[name] = float(running_sum(total, losses))
            count_in_bins(self.bins, codes, probabilities)

    def __add__(self, other: Tally) -> Tally:
        if (self.n_classes, self.positive) != (other.n_classes, other.positive):
            raise InputError("two tallies of different classes do not add up")
        counts = ("n_rows", "loss", "confusion", "order", "sums", "bins", "places")
        return added(self, other, *counts)

    def value(self, name: str, *, k: Any = None) -> float:
        """Return one metric as `measure` of all rows so far; NaN where it is not defined."""
        name = check_metric(name, k=k)
        metric = metric_of(name)
        if metric.kind == "decision":
            return value_of_confusion(name, self.confusion, self.positive)
        if metric.kind == "place":
            counts = metric.function()(np.arange(self.n_classes), **parse_metric(name)[1])
            return float(self.places[counts].sum() / self.n_rows) if self.n_rows else math.nan
        if metric.kind in ("probability", "calibration"):
            rows = self.bins[0].sum()
            if not rows:
                return math.nan
            of_rows = metric.kind == "probability"
            return self.sums[name] / rows if of_rows else float(metric.function()(*self.bins))
        return mean_of_defined(self._of_order(name, counts) for counts in self.order.counts())

    def _of_order(self, name: str, counts: np.ndarray) -> float:
        side, places = np.nonzero(counts)
        is_positive, scores = side == 1, places.astype(np.float64)
        if self.n_classes == 2 and self.positive == 0:
            is_positive, scores = ~is_positive, -scores
        return value_of_order(name, is_positive, scores, counts[side, places])


class ErrorTally(Resumable):
    """Sums over a stream of predicted numbers, from which its metrics follow.

    Memory does not grow with the stream.  Two tallies add up to that of both streams.  ``loss`` is
    the sum of the squared errors, and ``sums`` those of each metric, of errors or their squares.
    ``spread`` has the first number, and the sums of the differences of all from it, and of their
    squares.

    >>> import numpy as np
    >>> tally = ErrorTally()
    >>> tally.update(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    >>> round(tally.value("rmse"), 3), tally.value("mae")
    (1.414, 1.0)
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self.loss = 0.0
        of_rows = [name for name in metric_names("regression") if METRICS[name].kind == "error"]
        self.sums = dict.fromkeys(of_rows, 0.0)
        self.spread = np.zeros(3)

    def _state_schema(self) -> dict[str, Array]:
        return {
            "n_rows": COUNT,
            "loss": sum_of(),
            "sums": sum_of(len(self.sums)),
            "spread": sum_of(3, low=-np.inf),
        }

    def update(self, y: np.ndarray, predictions: np.ndarray) -> None:
        """Count some more numbers and their predictions."""
        residuals = predictions - y
        if not self.n_rows and len(y):
            self.spread[0] = y[0]
        away = y - self.spread[0]
        self.spread[1:] = running_sum(self.spread[1:], np.stack([away, away**2]))
        self.n_rows += len(y)
        self.loss = float(running_sum(self.loss, residuals**2))
        for name in self.sums:
            errors = METRICS[name].function()(y, predictions)
            square = METRICS[name].root_mean_square
            values = errors**2 if square else errors
            self.sums[name] = float(running_sum(self.sums[name], values))

    def __add__(self, other: ErrorTally) -> ErrorTally:
        total = added(self, other, "n_rows", "loss", "sums")
        one, two = (self, other) if self.n_rows else (other, self)
        first, a, b = two.spread
        apart = (
            first - one.spread[0]
        )  # the same sums of the differences from the other first number
        moved = [0.0, a + two.n_rows * apart, b + 2.0 * apart * a + two.n_rows * apart**2]
        total.spread = one.spread + np.array(moved)
        return total

    def value(self, name: str) -> float:
        """Return one metric as `measure` of all rows so far; NaN where there are none."""
        check_metric(name, task="regression")
        if not self.n_rows:
            return math.nan
        if METRICS[name].kind == "explained":
            _, away, squares = self.spread
            return float(METRICS[name].function()(self.loss, squares - away**2 / self.n_rows))
        mean = self.sums[name] / self.n_rows
        return math.sqrt(mean) if METRICS[name].root_mean_square else mean
