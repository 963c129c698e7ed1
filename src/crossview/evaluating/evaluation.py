"""The answer of `crossview.evaluate`."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from crossview.catalog.metrics import NO_INTERVAL, metric_of, parse_metric
from crossview.errors import argument, first_names, some_names
from crossview.labels import Threshold
from crossview.scoring.diagnostics import Diagnostics
from crossview.scoring.drift import Drift, drift_warnings
from crossview.scoring.metrics import classes_averaged, compares_classes
from crossview.scoring.results import (
    PlotMixin,
    SaysMetric,
    decision_words,
    in_digits,
    positive_note,
)


class Estimate(NamedTuple):
    """A value, and the ends of its 95 % interval; NaN where they are not defined."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class CalibrationBin:
    """Rows with about the same probability.

    low, high: the ends of the bin.
    probability: mean probability of the positive class; of more than two classes, of the most
      probable one, which is not always predicted where classes have thresholds.
    share: share of the rows that are of that class.
    """

    low: float
    high: float
    rows: int
    probability: float
    share: float


@dataclass(frozen=True)
class ViewEvaluation:
    """Worth of a view when predicting.

    missing: the metric if the view is missing in every row.
    difference: the metric then minus the metric of the rows as they are.
    alone: the metric if all other views are missing; None for fewer than three views.
    """

    view: str
    missing: Estimate
    difference: Estimate
    alone: Estimate | None


@dataclass(frozen=True)
class Slice:
    """Rows with the same value of a column.

    value: the value, or a range of numbers.
    rows: number of rows.
    difference: it minus that of all rows.
    one_class: whether all are of one class, of two, and the metric needs both.
    """

    value: str
    rows: int
    metric: Estimate
    difference: float
    one_class: bool = False


@dataclass(frozen=True)
class SlicedColumn:
    """The metric by the values of one column.

    slices: most frequent value first; ranges in their order.
    """

    column: str
    slices: list[Slice]


@dataclass(frozen=True)
class Window:
    """Rows of one time.

    start: when it starts, in words; of a number of rows, the first one, from 1.
    rows: number of rows.
    loss: their mean loss; see ``Evaluation.loss``.
    drift: how far each view has moved since training.
    one_class: whether all are of one class, of two, and the metric needs both.
    """

    start: str
    rows: int
    loss: float
    metric: Estimate
    drift: list[Drift]
    one_class: bool = False


@dataclass
class Evaluation(SaysMetric, PlotMixin):
    """Metrics of a model on labeled rows; the result of `crossview.evaluate`.

    Attributes
    ----------
    model : str or None
        The model's name for ``--model``, where its file says it.
    task : {"classification", "regression"}
        What it predicts.
    label : str or None
        The column of the labels.
    classes : list
        The classes, sorted, also the ``unknown`` ones; empty where a number is predicted.
    unknown : dict of label to int
        Rows of each class that the model has not: errors of what it predicts.  Metrics of scores
        and probabilities leave them out.
    positive : label or None
        With two classes: the one that the metric is about.
    positive_by : {"given", "name", "majority", "rarer", "guess"} or None
        What chose it, here or in training.
    threshold : float, list of float, or None
        The probability of the positive class above which it is predicted; of more than two classes
        one per class, see `Scoring`.  None: the scores decide.
    threshold_for : str or None
        The metric for which training has placed it; None: it is given here, or not known.
    metric : str
        The metric that decides: the one of views, slices and windows.
    n_rows : int
        Number of rows that were evaluated.
    skipped : int
        Number of rows without a label.
    metrics : dict of str to Estimate
        All metrics of the task.  With more than 20 classes, ranking metrics have no interval,
        unless it is the one that decides.  The calibration error has none, as chance makes it
        larger.
    trained : float or None
        The metric in the first pass of training, of each row before it was learned, where the model
        file says it: lower than that of the trained model, so the summary does not compare them.
    calibration : list of CalibrationBin
        Bins of the probability that have rows.
    confusion : list of list of int or None
        Rows per true class (in a line) and predicted class.
    views : list of ViewEvaluation
        What each view is worth; empty if that was not asked for, or there is one view.
    missing_views, null_columns : list of str
        Views that the rows have not, and single columns.
    by : list of SlicedColumn
        The metric by the values of columns.
    windows : list of Window
        The metric over time.
    without_time : int
        Rows in no window, because they have no time.
    loss : {"log loss", "hinge loss", "squared error"}
        What the loss of a window is the mean of.
    drift : list of Drift
        How far each view and column has moved since training; empty if the model does not know.
    learned : float or None
        About which share of the rows is equal to rows that the model has learned; 0 where that is
        chance.  None if the model does not know, as after rows that a server has taught it, or
        there are too few rows.
    groups : str or None
        The column by which rows are counted for intervals, as the model was trained with it: rows
        with the same value are left out together.
    diagnostics : Diagnostics or None
        What pictures need; it is not in `to_dict`.
    """

    PICTURE: ClassVar[str] = "views"

    model: str | None
    task: str
    label: str | None
    classes: list[Any]
    positive: Any
    threshold: Threshold | None
    metric: str
    n_rows: int
    skipped: int
    metrics: dict[str, Estimate]
    unknown: dict[Any, int] = field(default_factory=dict)
    positive_by: str | None = None
    threshold_for: str | None = None
    trained: float | None = None
    calibration: list[CalibrationBin] = field(default_factory=list)
    confusion: list[list[int]] | None = None
    views: list[ViewEvaluation] = field(default_factory=list)
    missing_views: list[str] = field(default_factory=list)
    null_columns: list[str] = field(default_factory=list)
    by: list[SlicedColumn] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    without_time: int = 0
    loss: str = ""
    drift: list[Drift] = field(default_factory=list)
    learned: float | None = None
    groups: str | None = None
    diagnostics: Diagnostics | None = field(default=None, compare=False, repr=False)

    @property
    def model_classes(self) -> list[Any]:
        """The classes that the model knows."""
        return [one for one in self.classes if one not in self.unknown]

    @property
    def value(self) -> float:
        """The metric that decides, on all rows."""
        return self.metrics[self.metric].value

    @property
    def class_rows(self) -> list[int] | None:
        """Number of rows of each class; None where a number is predicted."""
        return None if self.confusion is None else [sum(line) for line in self.confusion]

    @property
    def predicted_rows(self) -> list[int] | None:
        """Rows that are predicted as each class; None where a number is predicted."""
        return None if self.confusion is None else np.sum(self.confusion, axis=0).tolist()

    @property
    def notes(self) -> list[str]:
        """Lines about unknown labels, the positive class, if nobody named it, and thresholds."""
        # some of the metrics are about one class, whichever decides
        lines = self._about_unknown()
        lines += positive_note("f1", self.classes, self.positive, self.positive_by)
        if self.threshold is not None:
            about = self.positive, self.threshold, None, self.model_classes
            lines.append(decision_words(*about))
        return lines + self._about_costs()

    def _about_unknown(self) -> list[str]:
        """A line if the rows have labels that the model does not know."""
        if not self.unknown:
            return []
        n, names = sum(self.unknown.values()), some_names([*self.unknown], 5)
        rows, labels = ("rows have", "labels") if n > 1 else ("row has", "a label")
        return [
            f"{n:,} of {self.n_rows:,} {rows} {labels} that the model does not know ({names}): "
            "errors of what it predicts; left out of metrics of scores and probabilities"
        ]

    def _about_costs(self) -> list[str]:
        """A line if the threshold is the best for something else than the costs."""
        best = _threshold_of_costs(self.metric)
        if best is None or self.threshold_for is None:
            return []
        if best == _threshold_of_costs(self.threshold_for):
            return []
        return [
            f"this threshold is the best for {self.threshold_for}, not for these costs; if the "
            f"probabilities are right, that is {argument(threshold=float(f'{best:.3g}'))}"
        ]

    @property
    def averaged(self) -> int | None:
        """Over how many of more than two classes the metric is the mean: those that occur."""
        if self.confusion is None:
            return None
        confusion = np.array(self.confusion)
        if metric_of(self.metric).kind == "order":
            known = [one not in self.unknown for one in self.classes]
            confusion = confusion[known][:, known]
        return classes_averaged(self.metric, confusion)

    @property
    def learned_rows(self) -> list[str]:
        """A line if the model has learned many of the rows."""
        if not self.learned:
            return []
        return [
            f"{self.learned:.0%} of the rows are equal to rows that the model has learned; if they "
            "are the same, its metrics are too good: evaluate it on other rows, or let crossview "
            "compare hold rows out"
        ]

    @property
    def of_one_class(self) -> list[str]:
        """A line if all rows are of one class, of two, or those of some slices and windows are."""
        says_nothing = f"{self.metric} cannot say how well the model tells the classes apart"
        rows = self.class_rows or []
        if len(rows) == 2 and 0 in rows and compares_classes(self.metric):
            only = self.classes[int(np.argmax(rows))]
            return [f"all {self.n_rows:,} rows are of class {only!r}, so that {says_nothing}"]
        parts = [f"{of.column} {one.value}" for of in self.by for one in of.slices if one.one_class]
        parts += [f"from {one.start}" for one in self.windows if one.one_class]
        if not parts:
            return []
        return [f"all rows are of one class, so that {says_nothing}, in: {first_names(parts)}"]

    @property
    def warnings(self) -> list[str]:
        """Lines about rows that were learned, one class for all rows, and what has moved."""
        doubts = [*self.learned_rows, *self.of_one_class, *self.one_class]
        return [*doubts, *drift_warnings(self.drift)]

    @property
    def summary(self) -> str:
        """The main metric and its interval, in a sentence."""
        value, low, high = self.metrics[self.metric]
        if not metric_of(self.metric).has_interval:
            interval = NO_INTERVAL
        elif math.isnan(low):
            interval = "too little for an interval"
        else:
            interval = f"95 % interval {self.short(low)} to {self.short(high)}{self.by_groups}"
        value_words = f"{self.metric_words} {self.short(value)} ({interval})"
        return f"{self.n_rows:,} rows with a label: {value_words}"

    @property
    def by_groups(self) -> str:
        """By what rows are counted for intervals, in words, if not one by one."""
        return "" if self.groups is None else f", by {self.groups}"

    def short(self, value: float) -> str:
        """Return four decimals, or four digits of an error, which has the unit of the target."""
        if math.isnan(value):
            return "–"
        return in_digits(value) if self.task == "regression" else f"{value:.4f}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; what is not defined is None."""
        content = asdict(replace(self, diagnostics=None)) | {
            "kind": "evaluation",
            "summary": self.summary,
            "warnings": self.warnings,
        }
        del content["diagnostics"]
        return _json(content)

    def __str__(self) -> str:
        return "\n".join([self.summary, *self.warnings])

    __repr__ = __str__


def _threshold_of_costs(metric: str) -> float | None:
    """The probability above which the positive class costs less; None for another metric."""
    family, costs = parse_metric(metric)
    return costs["fp"] / (costs["fp"] + costs["fn"]) if family == "cost" else None


def _json(value: Any) -> Any:
    """The same without NaN and infinity, and estimates as mappings."""
    if isinstance(value, Estimate):
        return _json(value._asdict())
    if isinstance(value, dict):
        return {key: _json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
