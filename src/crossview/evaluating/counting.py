"""Counts of labeled rows: batch by batch, and added up over partitions.

Metrics have intervals, from counts per block of consecutive rows, or of whole groups of rows.
"""

from __future__ import annotations

import math
from binascii import crc32
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from crossview.catalog.metrics import check_metric, metric_names, metric_of
from crossview.data.labeled_source import hide_views
from crossview.data.row_columns import with_row_location
from crossview.data.row_sketch import Found, hash_rows
from crossview.encoding.encode import ViewEncoder
from crossview.errors import InputError
from crossview.evaluating.evaluation import CalibrationBin, Estimate
from crossview.evaluating.spec import WINDOW, EvaluationSpec, labeled_batches
from crossview.evaluating.survey import KNOWN, LABELED, ROWS, Position
from crossview.evaluating.unknown import ClassificationWithUnknown
from crossview.evaluating.windows import ByRows
from crossview.scoring.collector import DiagnosticsCollector, cells_of_row, strong_columns
from crossview.scoring.column_drift import ColumnCounter
from crossview.scoring.diagnostics import StrongColumn, ViewNumbers, view_numbers
from crossview.scoring.drift import DriftCounter, of_predicted_class
from crossview.scoring.metrics import compares_classes, is_bounded, running_sum, within_bounds
from crossview.scoring.metrics.blocks import MOST_BLOCKS
from crossview.scoring.metrics.probability import (
    CALIBRATION_BINS,
    calibration_curve,
    log_losses,
)
from crossview.scoring.metrics.tally import MOST_CELLS, added
from crossview.scoring.models.fitted_model import FittedModel, ModelRows
from crossview.scoring.models.weights import ColumnNames
from crossview.scoring.problems import Classification, Problem, Scored
from crossview.scoring.significance import ROUNDING, jackknife_posterior, share_within
from crossview.tables.arrow import decoded, nan_as_null, numbers_of, pyarrow
from crossview.views import MultiView

# rows that say where the scores are, for the bins of the metrics of their order
ROWS_FOR_SCALE = 1000
# with more classes, an interval of a metric of the order takes seconds: only that which decides has
# one
MOST_CLASSES_IN_ORDER = 20
# scores that are counted one by one: of all rows, those of all classes; and of a view, a slice or a
# window those of each
CELLS_OF_ALL, CELLS_OF_PART = 1 << 18, 1 << 13


def shown_metrics(task: Problem, *, probabilities: bool, k: Any = None) -> list[str]:
    """Return the metrics that can be measured: that of the task, and those that need no more."""
    names = [task.metric]
    for name in metric_names(task.name):
        entry = metric_of(name)
        if name in ("f_beta", "cost", "top_accuracy") or name == task.metric:
            continue
        if entry.of_rows:
            name = check_metric(name, k=k)
        if name not in names and (
            probabilities or entry.kind not in ("probability", "calibration")
        ):
            names.append(name)
    return names


class OneMetric:
    """The metric that decides, of some rows, with its interval.

    task: what is predicted, and the metric.
    typical: rows that say where the scores are.
    only_interval: the metric itself is counted elsewhere.
    """

    def __init__(
        self,
        task: Problem,
        typical: Scored,
        metric: str | None = None,
        *,
        only_interval: bool = False,
    ) -> None:
        self.task, self.metric = task, metric or task.metric
        self.blocks = task.block_tally(typical, self.metric)
        in_order = metric_of(self.metric).kind == "order" and not only_interval
        # blocks have few bins of scores
        self._tally: Any = task.tally(CELLS_OF_PART) if in_order else None

    @property
    def n_rows(self) -> int:
        """Rows counted."""
        return self.blocks.n_rows

    def begin_at(self, position: Position, key: Any) -> None:
        """Begin within a stream, where the rows of a key begin that this metric counts."""
        counts_all = self.blocks.n_classes == len(self.task.classes)
        self.blocks.begin_at(*position.of(key if counts_all else (KNOWN, key)))

    def count(self, y: np.ndarray, scored: Scored, blocks: np.ndarray | None = None) -> None:
        """Count some rows, in these blocks if they are said."""
        self.task.count(self.blocks, y, scored, blocks=blocks)
        if self._tally is not None:
            self.task.count(self._tally, y, scored)

    def __add__(self, other: OneMetric) -> OneMetric:
        return added(self, other, "blocks", "_tally")

    def value(self) -> float:
        """Return the metric."""
        return self.blocks.value() if self._tally is None else self._tally.value(self.metric)

    def has_one_class(self) -> bool:
        """Return whether a metric that needs rows of both classes, of two, has those of one."""
        kind = metric_of(self.metric).kind
        if self.task.name != "classification" or len(self.task.classes) != 2:
            return False
        needs_both = {"decision": "g_mean", "order": "roc_auc"}.get(kind)
        if needs_both is None or not compares_classes(self.metric):
            return False
        return math.isnan(self.blocks.value(needs_both))

    def estimate(self, value: float | None = None, metric: str | None = None) -> Estimate:
        """Return the metric, or another that follows from the same counts, with its interval.

        ``value`` is the metric where it was counted elsewhere.
        """
        metric = metric or self.metric
        whole, without, rows = self.blocks.values(metric)
        value = self.value() if value is None else value
        low, high = jackknife_posterior(value, whole, without, rows).interval()
        if math.isnan(value) or not metric_of(metric).has_interval:
            return Estimate(value, math.nan, math.nan)
        if metric_of(metric).kind in ("decision", "order", "place") and is_bounded(metric):
            # blocks that are all the same say nothing of how far off they may be
            nearest = share_within(self.blocks.rows_of_share(metric))
            if value > 1.0 - ROUNDING:
                low = min(low, 1.0 - nearest)
            elif value < ROUNDING:
                high = max(high, nearest)
        return Estimate(value, *within_bounds(metric, low, high))

    def minus(self, other: OneMetric, value: float) -> Estimate:
        """Return the difference to the metric of the same rows by another prediction, a value."""
        whole, without, rows = self.blocks.values()
        other_whole, other_without, _ = other.blocks.values()
        difference = self.value() - value
        posterior = jackknife_posterior(
            difference, whole - other_whole, without - other_without, rows
        )
        return Estimate(difference, *posterior.interval())


class AllMetrics:
    """All metrics of some rows, with their intervals.

    task, typical: as for `OneMetric`.
    typical: rows that say where the scores are.
    """

    def __init__(self, task: Problem, typical: Scored, names: list[str]) -> None:
        self.task, self.names = task, names
        self.typical = typical.take(slice(ROWS_FOR_SCALE))
        n_classes = max(1, len(task.classes))
        self.tally: Any = task.tally(max(MOST_CELLS, CELLS_OF_ALL // n_classes))
        # metrics of the predicted classes follow from the same counts, those of the order too
        self._blocks: dict[str, OneMetric] = {}
        for name in names:
            if _shares(name) not in self._blocks and self._is_in_blocks(name):
                self._blocks[_shares(name)] = OneMetric(
                    task, self.typical, name, only_interval=True
                )

    @property
    def n_rows(self) -> int:
        """Rows counted, also those that only some metrics count."""
        return max(self.tally.n_rows, *(one.n_rows for one in self._blocks.values()))

    @property
    def value(self) -> float:
        """The metric that decides."""
        return self._value(self.task.metric)

    def difference(self, other: OneMetric) -> Estimate:
        """Return how much higher it is by another prediction of the same rows."""
        return other.minus(self._blocks[_shares(self.task.metric)], self.value)

    def count(self, y: np.ndarray, scored: Scored, blocks: np.ndarray | None = None) -> None:
        """Count some rows, in these blocks if they are said."""
        self.task.count(self.tally, y, scored)
        for one in self._blocks.values():
            one.count(y, scored, blocks)

    def begin_at(self, position: Position) -> None:
        """Begin within a stream."""
        for one in self._blocks.values():
            one.begin_at(position, LABELED)

    def __add__(self, other: AllMetrics) -> AllMetrics:
        return added(self, other, "tally", "_blocks")

    def estimates(self) -> dict[str, Estimate]:
        """Return all metrics."""
        return {name: self._estimate(name, self._value(name)) for name in self.names}

    def _value(self, name: str) -> float:
        if metric_of(name).kind in ("decision", "place"):
            return self._blocks[_shares(name)].blocks.value(name)
        return float(self.tally.value(name))

    def _estimate(self, name: str, value: float) -> Estimate:
        if not self._is_in_blocks(name):
            return Estimate(value, math.nan, math.nan)
        return self._blocks[_shares(name)].estimate(value, name)

    def _is_in_blocks(self, name: str) -> bool:
        if name == self.task.metric:  # of which there are differences, too
            return True
        few = len(self.task.classes) <= MOST_CLASSES_IN_ORDER
        return metric_of(name).has_interval and (few or metric_of(name).kind != "order")

    def confusion(self) -> list[list[int]] | None:
        """Return the rows per true class and predicted class."""
        if not isinstance(self.task, Classification):
            return None
        return self._blocks["decision"].blocks.confusion.tolist()

    def calibration(self) -> list[CalibrationBin]:
        """Return the bins of the probability of the positive class, or of the most probable."""
        if not isinstance(self.task, Classification):
            return []
        curve = calibration_curve(self.tally.bins, self.task.positive)
        return [
            CalibrationBin(b / CALIBRATION_BINS, (b + 1) / CALIBRATION_BINS, int(rows), p, share)
            for b, rows, p, share in curve.T.tolist()
        ]


def _shares(name: str) -> str:
    """Return the key of the counts of a metric: its kind, or itself."""
    kind = metric_of(name).kind
    return kind if kind in ("decision", "order") else name


class Start(NamedTuple):
    """Facts from the first batch with a label, before any row is counted.

    typical: its first rows, which say where the scores are.
    numbers: its views in numbers.
    strong: the columns that contribute most to its scores.
    """

    typical: Scored
    numbers: list[ViewNumbers]
    strong: list[StrongColumn]


def start_of(fitted: FittedModel, X: MultiView, scored: Scored) -> Start:
    """Return what the first batch of rows with a label says."""
    columns = kinds = None
    if isinstance(fitted.encoder, ViewEncoder):
        columns = {view: len(names) for view, names in fitted.encoder.view_columns().items()}
        kinds = fitted.encoder.column_kinds()
    strong = strong_columns(fitted.learner, ColumnNames.of_model(fitted.learner, fitted.encoder), X)
    typical = scored.take(slice(ROWS_FOR_SCALE))
    return Start(typical, view_numbers(X, columns, kinds), strong)


@dataclass
class PartCounts:
    """The counts of a slice, or of a window; those of consecutive rows add up.

    drift: of a window: how its rows are distributed.
    loss: of a window: the sum of the losses of so many rows: those of classes of the model.
    starts_at: of a window of rows: the time of its first row, in words.
    """

    metric: OneMetric
    drift: DriftCounter | None = None
    loss: float = 0.0
    loss_rows: int = 0
    starts_at: str = ""

    def __add__(self, other: PartCounts) -> PartCounts:
        return added(self, other, "metric", "drift", "loss", "loss_rows")


@dataclass
class Counts:
    """Counts of some rows; those of consecutive rows add up.

    start: what the first batch of the stream said.
    all: of all rows with a label.
    kept: what pictures need.
    drift: how they are distributed; None where the model does not know how they were.
    columns: the same of their columns.
    views: of each view and "missing" or "alone".
    parts: of each slice, by column and code, and of each window.
    skipped, without_time: rows without a label, and labeled rows in no window.
    learned: how many labeled rows the model has learned, of those that it would know.
    """

    start: Start
    all: AllMetrics
    kept: DiagnosticsCollector
    drift: DriftCounter | None = None
    columns: ColumnCounter | None = None
    views: dict[tuple[str, str], OneMetric] = field(default_factory=dict)
    parts: dict[tuple[str | None, int], PartCounts] = field(default_factory=dict)
    skipped: int = 0
    without_time: int = 0
    learned: Found = field(default_factory=Found)

    def __add__(self, other: Counts) -> Counts:
        counts = ("all", "kept", "drift", "columns", "views", "parts", "skipped", "without_time")
        return added(self, other, *counts, "learned")


class RowCounter:
    """Counts rows, batch by batch.

    spec: what is asked of which model.
    position: where these rows are in their stream, whose other rows are counted elsewhere.
    start: what the first batch of the stream says; None: it is the first one that is counted.
    """

    def __init__(
        self, spec: EvaluationSpec, position: Position | None = None, start: Start | None = None
    ) -> None:
        self.spec = spec
        self._position = position
        self._labels = spec.labels()
        self._hidden = _subsets(spec.view_names) if spec.views else {}
        self._drift, self._columns = spec.fitted.drift_counter(), spec.fitted.column_counter()
        self._sketch = spec.fitted.row_sketch()
        before: Mapping[Any, int] = {ROWS: 0, LABELED: 0} if position is None else position.before
        self._n_seen, self._n_labeled = before[ROWS], before[LABELED]
        self._skipped = 0
        self._kept = DiagnosticsCollector(
            spec.task, spec.fitted.learner.layout_.names, first_row=self._n_labeled
        )
        self._names = ColumnNames.of_model(spec.fitted.learner, spec.fitted.encoder)
        self._counts = None if start is None else self._begin(start)

    @property
    def n_seen(self) -> int:
        """Rows, with a label or without."""
        return self._n_seen

    @property
    def skipped(self) -> int:
        """Rows without a label."""
        return self._skipped

    @property
    def counts(self) -> Counts | None:
        """The counts; None before the first row with a label."""
        if self._counts is not None:
            self._counts.skipped = self._skipped
        return self._counts

    def _begin(self, start: Start) -> Counts:
        task = self.spec.task
        names = shown_metrics(task, probabilities=self.spec.with_probabilities, k=self.spec.k)
        whole = AllMetrics(task, start.typical, names)
        if self._position is not None:
            whole.begin_at(self._position)
        views = {key: self._one_metric(start, LABELED) for key in self._hidden}
        return Counts(start, whole, self._kept, self._drift, self._columns, views)

    def _one_metric(self, start: Start, key: Any) -> OneMetric:
        """Return a tally of what a key of the position is about."""
        metric = OneMetric(self.spec.task, start.typical)
        if self._position is not None:
            metric.begin_at(self._position, key)
        return metric

    def count_all(self, rows: ModelRows, y: Any = None) -> None:
        """Count all rows of a source; the arguments are those of `labeled_batches`."""
        for located, X, columns, labels in labeled_batches(rows, y, self.spec.label):
            with with_row_location(located):
                self.count(X, labels, columns, located)

    def count(self, X: MultiView, labels: Any, columns: Mapping[str, Any], read: Any) -> None:
        """Count a batch: rows, labels, the columns that divide them, and the rows as read."""
        known, y = self._labels.read(labels)
        self._skipped += len(X) - len(known)
        places = self._n_seen + known
        self._n_seen += len(X)
        if not len(known):
            return
        X = X if len(known) == len(X) else X[known]
        scored = self.spec.score(X)
        if self._counts is None:
            self._counts = self._begin(start_of(self.spec.fitted, X, scored))
        counts, names = self._counts, self.spec.view_names
        if self._sketch is not None:
            hashes = hash_rows(read.X, self.spec.fitted.encoder)
            counts.learned += self._sketch.find(hashes[known])
        if counts.columns is not None:
            counts.columns.count(read.X, known if len(known) < len(read.X) else None)
        blocks = self._blocks(columns, places)
        counts.all.count(y, scored, blocks)
        for key, hidden in self._hidden.items():
            counts.views[key].count(y, self.spec.score(hide_views(X, hidden)), blocks)
        each = of_classes = None
        if counts.drift is not None or len(names) > 1:
            task = self.spec.task
            of_model = (
                task.of_model(scored) if isinstance(task, ClassificationWithUnknown) else scored
            )
            scores = None if self.spec.fitted.classes is None else of_model.scores
            of_classes = np.asarray(self.spec.fitted.learner.view_scores(X))
            each = of_predicted_class(self.spec.fitted.learner, X, of_classes, scores)
        drifted = None
        if counts.drift is not None and each is not None:
            drifted = counts.drift.locate(X, each)
            counts.drift.count(drifted)
        source = read.X

        def describe(i: int) -> tuple[int, Any, Any, dict[str, str | None]]:
            values = cells_of_row(source, int(known[i]), self._names, X[[i]])
            said = scored.scores[i]
            if scored.predicted is not None:
                said = self.spec.task.classes[scored.predicted[i]]
            return int(places[i]), y[i], said, values

        each, of_classes = (each, of_classes) if len(names) > 1 else (None, None)
        self._kept.add_to_sample(y, scored, view_scores=each, of_classes=of_classes)
        self._kept.add_differing(each, describe)
        for column, codes in self.spec.divide(columns, known, self._n_labeled):
            self._count_parts(column, codes, y, scored, drifted, blocks)
        self._say_when_windows_start(columns, known)
        self._n_labeled += len(known)

    def _blocks(self, columns: Mapping[str, Any], places: np.ndarray) -> np.ndarray | None:
        """Return the block of each row at these places of the source, where groups make them."""
        groups = self.spec.groups
        if groups is None:
            return None
        if isinstance(groups, str):
            first = self._n_seen - len(columns[groups])
            return _blocks_of(columns[groups], first)[places - first]
        if len(groups) < self._n_seen:
            raise InputError(f"{len(groups)} groups for {self._n_seen} rows or more")
        return _blocks_of(pyarrow().array(groups[places]), 0)

    def _count_parts(
        self,
        column: str | None,
        codes: np.ndarray,
        y: np.ndarray,
        scored: Scored,
        drifted: Any,
        blocks: np.ndarray | None,
    ) -> None:
        """Count labeled rows by their part, and leave those out that have none."""
        counts, task = self._counts, self.spec.task
        assert counts is not None
        for code in np.unique(codes[codes >= 0]).tolist():
            key = column, code
            if key not in counts.parts:
                drift = self._drift.empty() if column is WINDOW and self._drift else None
                counts.parts[key] = PartCounts(self._one_metric(counts.start, key), drift)
            part, rows = counts.parts[key], np.flatnonzero(codes == code)
            own = None if blocks is None else blocks[rows]
            part.metric.count(y[rows], scored.take(rows), own)
            if column is WINDOW:
                losses = _losses(task, y[rows], scored.take(rows))
                part.loss = float(running_sum(part.loss, losses))
                part.loss_rows += len(losses)
                if part.drift is not None:
                    part.drift.count(drifted[rows])
        if column is WINDOW:
            counts.without_time += int((codes < 0).sum())

    def _say_when_windows_start(self, columns: Mapping[str, Any], known: np.ndarray) -> None:
        """Keep the times of the first rows of windows of a number of rows."""
        windows, counts = self.spec.windows, self._counts
        if not isinstance(windows, ByRows) or windows.time is None or counts is None:
            return
        times = columns[windows.time].take(known)
        codes = windows.codes(self._n_labeled, len(known))
        for code, row in zip(*np.unique(codes, return_index=True), strict=True):
            part = counts.parts[WINDOW, int(code)]
            part.starts_at = part.starts_at or f", {times[int(row)].as_py()}"


def _blocks_of(groups: Any, first: int) -> np.ndarray:
    """Return the block of each row, the same for all rows of a group, whatever else is read.

    A row without a group stands alone; ``first`` is the place of the first row.
    """
    coded = nan_as_null(decoded(groups)).dictionary_encode()
    blocks = [crc32(str(one).encode()) % MOST_BLOCKS for one in coded.dictionary.to_pylist()]
    codes = numbers_of(coded.indices.fill_null(len(blocks)))
    alone = np.arange(first, first + len(codes)) % MOST_BLOCKS
    return np.where(codes < len(blocks), np.array([*blocks, 0], dtype=np.intp)[codes], alone)


def _subsets(names: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """Return the views to leave out, so that one is missing, or is alone."""
    if len(names) < 2:
        return {}
    hidden = {(view, "missing"): [view] for view in names}
    if len(names) > 2:
        for view in names:
            hidden[view, "alone"] = [name for name in names if name != view]
    return hidden


def _losses(task: Problem, y: np.ndarray, scored: Scored) -> np.ndarray:
    """The log loss of each row; without probabilities its hinge loss, or its squared error.

    Not of rows of a class that the model has not.
    """
    if isinstance(task, ClassificationWithUnknown):
        rows = task.is_of_model(y)
        y, scored = y[rows], scored.take(rows)
    if scored.probabilities is not None:
        return log_losses(task.encode(y), scored.probabilities)
    return task.losses(y, scored)
