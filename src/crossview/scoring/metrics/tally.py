"""Metrics of a stream, from counts and sums that can be added up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from crossview.catalog.metrics import METRICS, check_metric, metric_names, metric_of
from crossview.errors import InputError
from crossview.labels import decide
from crossview.saving.schema import MAX_COUNT, Array, check_state
from crossview.scoring.metrics.measure import (
    confusion_matrix,
    hinge_losses,
    mean_of_defined,
    running_sum,
    value_of_confusion,
    value_of_order,
)
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


# of the histograms of the scores
BINS = 1 << 14


class Tally(Resumable):
    """Counts of a stream of predictions, from which its metrics follow.

    Memory does not grow with the stream.  Two tallies of the same classes add up to that of both
    streams, whichever worker counted them.  ``loss`` is the sum of the hinge losses; ``confusion``
    has rows per true and predicted class; ``histogram``, of shape (1 or n_classes, 2, 16384), rows
    per bin of the scores of a class, those of the others and its own; ``sums`` the losses of each
    metric of probabilities; and ``bins`` is as for `count_in_bins`.

    Metrics of the order of the scores come from the histogram: scores are mapped to (-1, 1)
    by ``s / (1 + |s|)`` and counted in equal bins, about 0.0001 wide where the score is near 0;
    two scores in the same bin count as equal.  All other metrics are exact.  Sums run row by row,
    so that they do not depend on how the stream is cut into batches.

    >>> import numpy as np
    >>> tally = Tally(n_classes=2)
    >>> tally.update(np.array([0, 1, 1]), np.array([-1.0, 2.0, -0.5]))
    >>> round(tally.value("accuracy"), 3), tally.value("roc_auc")
    (0.667, 1.0)
    """

    def __init__(self, n_classes: int, *, positive: int = 1) -> None:
        self.n_classes = n_classes
        self.positive = positive
        self.n_rows = 0
        self.loss = 0.0
        self.confusion = np.zeros((n_classes, n_classes), dtype=np.int64)
        self.histogram = np.zeros((1 if n_classes == 2 else n_classes, 2, BINS), dtype=np.int64)
        of_rows = [name for name, metric in METRICS.items() if metric.kind == "probability"]
        self.sums = dict.fromkeys(of_rows, 0.0)
        self.bins = np.zeros((3, CALIBRATION_BINS))

    def _state_schema(self) -> dict[str, Array]:
        return {
            "n_rows": COUNT,
            "loss": sum_of(),
            "confusion": counts_of_shape(self.confusion.shape),
            "histogram": counts_of_shape(self.histogram.shape),
            "sums": sum_of(len(self.sums), low=-np.inf),
            "bins": Array("f8", self.bins.shape, 0.0),
        }

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
        columns = scores.reshape(len(codes), -1)
        squashed = columns / (1.0 + np.abs(columns))
        bins = np.minimum(((squashed + 1.0) * (BINS / 2)).astype(np.intp), BINS - 1)
        for k, histogram in enumerate(self.histogram):
            mine = codes == (1 if self.n_classes == 2 else k)
            histogram += np.bincount(bins[:, k] + BINS * mine, minlength=2 * BINS).reshape(2, BINS)
        if probabilities is not None:
            for name, total in self.sums.items():
                losses = METRICS[name].function()(codes, probabilities)
                self.sums[name] = float(running_sum(total, losses))
            count_in_bins(self.bins, codes, probabilities)

    def __add__(self, other: Tally) -> Tally:
        if (self.n_classes, self.positive) != (other.n_classes, other.positive):
            raise InputError("two tallies of different classes do not add up")
        total = Tally(self.n_classes, positive=self.positive)
        total.n_rows = self.n_rows + other.n_rows
        total.loss = self.loss + other.loss
        total.confusion = self.confusion + other.confusion
        total.histogram = self.histogram + other.histogram
        total.sums = {name: self.sums[name] + other.sums[name] for name in self.sums}
        total.bins = self.bins + other.bins
        return total

    def value(self, name: str, *, k: Any = None) -> float:
        """Return one metric as `measure` of all rows so far; NaN where it is not defined."""
        name = check_metric(name, k=k)
        metric = metric_of(name)
        if metric.kind == "decision":
            return value_of_confusion(name, self.confusion, self.positive)
        if metric.kind in ("probability", "calibration"):
            rows = self.bins[0].sum()
            if not rows:
                return math.nan
            of_rows = metric.kind == "probability"
            return self.sums[name] / rows if of_rows else float(metric.function()(*self.bins))
        return mean_of_defined(self._order(name, h) for h in self.histogram)

    def _order(self, name: str, histogram: np.ndarray) -> float:
        side, bins = np.nonzero(histogram)
        is_positive, scores = side == 1, bins.astype(np.float64)
        if self.n_classes == 2 and self.positive == 0:
            is_positive, scores = ~is_positive, -scores
        return value_of_order(name, is_positive, scores, histogram[side, bins])


class ErrorTally(Resumable):
    """Sums over a stream of predicted numbers, from which its metrics follow.

    Memory does not grow with the stream.  Two tallies add up to that of both streams.  ``loss`` is
    the sum of the squared errors, and ``sums`` those of each metric, of errors or their squares.

    >>> import numpy as np
    >>> tally = ErrorTally()
    >>> tally.update(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    >>> round(tally.value("rmse"), 3), tally.value("mae")
    (1.414, 1.0)
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self.loss = 0.0
        self.sums = dict.fromkeys(metric_names("regression"), 0.0)

    def _state_schema(self) -> dict[str, Array]:
        return {"n_rows": COUNT, "loss": sum_of(), "sums": sum_of(len(self.sums))}

    def update(self, y: np.ndarray, predictions: np.ndarray) -> None:
        """Count some more numbers and their predictions."""
        residuals = predictions - y
        self.n_rows += len(y)
        self.loss = float(running_sum(self.loss, residuals**2))
        for name in self.sums:
            errors = METRICS[name].function()(y, predictions)
            square = METRICS[name].root_mean_square
            values = errors**2 if square else errors
            self.sums[name] = float(running_sum(self.sums[name], values))

    def __add__(self, other: ErrorTally) -> ErrorTally:
        total = ErrorTally()
        total.n_rows = self.n_rows + other.n_rows
        total.loss = self.loss + other.loss
        total.sums = {name: self.sums[name] + other.sums[name] for name in self.sums}
        return total

    def value(self, name: str) -> float:
        """Return one metric as `measure` of all rows so far; NaN where there are none."""
        check_metric(name, task="regression")
        if not self.n_rows:
            return math.nan
        mean = self.sums[name] / self.n_rows
        return math.sqrt(mean) if METRICS[name].root_mean_square else mean
