"""Metrics with intervals, from counts per block of consecutive rows."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from crossview.catalog.metrics import metric_names, metric_of
from crossview.evaluating.evaluation import CalibrationBin, Estimate
from crossview.scoring.metrics import is_bounded
from crossview.scoring.metrics.probability import CALIBRATION_BINS
from crossview.scoring.problems import Classification, Problem, Scored
from crossview.scoring.significance import jackknife_posterior

# rows that say where the scores are, for the bins of the metrics of their order
ROWS_FOR_SCALE = 1000
# with more classes, an interval of a metric of the order takes seconds: only that which decides has
# one
MOST_CLASSES_IN_ORDER = 20


def shown_metrics(task: Problem, *, probabilities: bool) -> list[str]:
    """Return the metrics that can be measured: that of the task, and those without parameters."""
    names = [task.metric]
    for name in metric_names(task.name):
        entry = metric_of(name)
        if name in ("f_beta", "cost") or name == task.metric:
            continue
        if entry.takes_k:
            name = f"{name[:-1]}10%"
        if name not in names and (
            probabilities or entry.kind not in ("probability", "calibration")
        ):
            names.append(name)
    return names


class OneMetric:
    """The metric that decides, of some rows, with its interval.

    task: what is predicted, and the metric.
    typical: rows that say where the scores are.
    """

    def __init__(self, task: Problem, typical: Scored, metric: str | None = None) -> None:
        self.task, self.metric = task, metric or task.metric
        self.blocks = task.block_tally(typical, self.metric)

    @property
    def n_rows(self) -> int:
        """Rows counted."""
        return self.blocks.n_rows

    def begin_at(self, first_row: int, n_rows: int) -> None:
        """Begin within a stream, as `BlockTally.begin_at` does."""
        self.blocks.begin_at(first_row, n_rows)

    def count(self, y: np.ndarray, scored: Scored) -> None:
        """Count some rows."""
        self.task.count(self.blocks, y, scored)

    def __add__(self, other: OneMetric) -> OneMetric:
        total = copy.copy(self)
        total.blocks = self.blocks + other.blocks
        return total

    def estimate(self, value: float | None = None, metric: str | None = None) -> Estimate:
        """Return the metric, or another that follows from the same counts, with its interval.

        ``value`` is the metric where it is known more exactly than by the blocks.
        """
        metric = metric or self.metric
        whole, without, rows = self.blocks.values(metric)
        value = whole if value is None else value
        low, high = jackknife_posterior(value, whole, without, rows).interval()
        if math.isnan(value):
            return Estimate(value, math.nan, math.nan)
        return Estimate(value, max(low, 0.0), min(high, 1.0) if is_bounded(metric) else high)

    def minus(self, other: OneMetric) -> Estimate:
        """Return the difference to the metric of the same rows by another prediction."""
        whole, without, rows = self.blocks.values()
        other_whole, other_without, _ = other.blocks.values()
        difference = whole - other_whole
        posterior = jackknife_posterior(difference, difference, without - other_without, rows)
        return Estimate(difference, *posterior.interval())


class AllMetrics:
    """All metrics of some rows, with their intervals.

    task, typical: as for `OneMetric`.
    typical: rows that say where the scores are.
    """

    def __init__(self, task: Problem, typical: Scored, names: list[str]) -> None:
        self.task, self.names = task, names
        self.typical = typical.take(slice(ROWS_FOR_SCALE))
        self.tally: Any = task.tally()
        # metrics of the predicted classes follow from the same counts, those of the order too
        self._blocks: dict[str, OneMetric] = {}
        for name in names:
            if _shares(name) not in self._blocks and self._has_interval(name):
                self._blocks[_shares(name)] = OneMetric(task, self.typical, name)

    @property
    def deciding(self) -> OneMetric:
        """The metric that decides."""
        return self._blocks[_shares(self.task.metric)]

    def count(self, y: np.ndarray, scored: Scored) -> None:
        """Count some rows."""
        self.task.count(self.tally, y, scored)
        for blocks in self._blocks.values():
            blocks.count(y, scored)

    def begin_at(self, first_row: int, n_rows: int) -> None:
        """Begin within a stream, as `BlockTally.begin_at` does."""
        for blocks in self._blocks.values():
            blocks.begin_at(first_row, n_rows)

    def __add__(self, other: AllMetrics) -> AllMetrics:
        total = copy.copy(self)
        total.tally = self.tally + other.tally
        total._blocks = {name: one + other._blocks[name] for name, one in self._blocks.items()}
        return total

    def estimates(self) -> dict[str, Estimate]:
        """Return all metrics."""
        return {name: self._estimate(name, self.tally.value(name)) for name in self.names}

    def _estimate(self, name: str, value: float) -> Estimate:
        if not self._has_interval(name):
            return Estimate(value, math.nan, math.nan)
        return self._blocks[_shares(name)].estimate(value, name)

    def _has_interval(self, name: str) -> bool:
        few = len(self.task.classes) <= MOST_CLASSES_IN_ORDER
        return few or name == self.task.metric or metric_of(name).kind != "order"

    def confusion(self) -> list[list[int]] | None:
        """Return the rows per true class and predicted class."""
        if not isinstance(self.task, Classification):
            return None
        return self.tally.confusion.tolist()

    def calibration(self) -> list[CalibrationBin]:
        """Return the bins of the probability of the positive class, or of the predicted one."""
        if not isinstance(self.task, Classification):
            return []
        rows, p, right = self.tally.bins
        if len(self.task.classes) == 2 and self.task.positive == 0:
            rows, p, right = rows[::-1], (rows - p)[::-1], (rows - right)[::-1]
        return [
            CalibrationBin(
                low=b / CALIBRATION_BINS,
                high=(b + 1) / CALIBRATION_BINS,
                rows=int(rows[b]),
                probability=float(p[b] / rows[b]),
                share=float(right[b] / rows[b]),
            )
            for b in range(CALIBRATION_BINS)
            if rows[b]
        ]


def _shares(name: str) -> str:
    """Return the key of the counts of a metric: its kind, or itself."""
    kind = metric_of(name).kind
    return kind if kind in ("decision", "order") else name
