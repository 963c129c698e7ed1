"""The metric by the number of training rows, and over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from crossview.comparing.result.comparison import Comparison
from crossview.errors import InputError, argument
from crossview.evaluating.evaluation import Evaluation, Window
from crossview.reporting.displays.style import COLORS, WIDTH, Display, plain_log_ticks, short_name
from crossview.reporting.tables import benefit_of_rows
from crossview.scoring.results import in_digits


class LearningCurveDisplay(Display):
    """The metric of the recommended model by the number of training rows.

    Parameters
    ----------
    rows : array-like of shape (n_points,)
        Numbers of training rows.
    values, std : array-like of shape (n_points,)
        The metric: mean and standard deviation over the folds.
    metric : str
        Its name.
    title : str, default=""
        What there is to see.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> from crossview import LearningCurveDisplay
    >>> display = LearningCurveDisplay([50, 100], [0.8, 0.9], [0.02, 0.01], "f1").plot()
    >>> display.ax_.get_ylabel()
    'f1'
    """

    shows = ("curve", "compare")
    size = (WIDTH, 2.9)

    def __init__(self, rows: Any, values: Any, std: Any, metric: str, *, title: str = "") -> None:
        self.rows, self.values, self.std = map(np.asarray, (rows, values, std))
        self.metric, self.title = metric, title
        points = ", ".join(
            f"{n:,} rows {in_digits(v)}" for n, v in zip(self.rows, self.values, strict=True)
        )
        self.alt = f"{metric} by the number of training rows: {points}."

    @classmethod
    def _of_result(cls, comparison: Comparison) -> Self:
        curve = comparison.curve
        if curve is None:
            raise InputError("the comparison has no learning curve; compare with curve=True")
        gain = curve.last_doubling
        low, high = comparison.interval_of(gain)
        words = benefit_of_rows(gain, comparison.rope).capitalize()
        title = (
            f"{words}: the last doubling gains {in_digits(gain.location, 2)} {comparison.metric} "
            f"({in_digits(low, 2)} to {in_digits(high, 2)})"
        )
        points = curve.points
        return cls(
            [one.rows for one in points],
            [one.value for one in points],
            [one.std for one in points],
            comparison.metric,
            title=title,
        )

    def _draw(self, ax: Any) -> None:
        low, high = self.values - self.std, self.values + self.std
        ax.fill_between(self.rows, low, high, color=COLORS[0], alpha=0.15, linewidth=0)
        ax.plot(self.rows, self.values, color=COLORS[0], marker="o", markersize=5)
        ax.set_xscale("log")
        ax.set_xlim(self.rows[0] / 1.15, self.rows[-1] * 1.15)
        plain_log_ticks(ax.xaxis)
        ax.set_xticks(self.rows, [f"{n:,}" for n in self.rows])
        for n, value in zip(self.rows, self.values, strict=True):
            ax.annotate(
                *(in_digits(value), (n, value)),
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
                fontsize=9.5,
            )
        ax.margins(y=0.15)
        ax.grid(axis="y")
        ax.set_xlabel("training rows")
        ax.set_ylabel(self.metric)


class MetricOverTimeDisplay(Display):
    """The metric of an evaluation by windows of time.

    >>> from crossview.evaluating.evaluation import Estimate, Window
    >>> from crossview.reporting.displays.curves import MetricOverTimeDisplay
    >>> windows = [Window("May", 9, 0.1, Estimate(0.9, 0.8, 1.0), [])]
    >>> MetricOverTimeDisplay(windows, "f1").plot().ax_.get_ylabel()
    'f1'
    """

    shows = ("windows", "evaluate")
    size = (WIDTH, 3.0)

    def __init__(self, windows: Sequence[Window], metric: str) -> None:
        self.windows, self.metric = list(windows), metric
        values = [one.metric.value for one in self.windows]
        said = ["–" if math.isnan(value) else in_digits(value) for value in values]
        self.title = f"{metric} is {said[0]} in the first window and {said[-1]} in the last"
        listed = ", ".join(
            f"{one.start} {value}" for one, value in zip(self.windows, said, strict=True)
        )
        self.alt = f"{metric} over time: {listed}."

    @classmethod
    def _of_result(cls, evaluation: Evaluation) -> Self:
        if not evaluation.windows:
            raise InputError(
                f"the evaluation has no windows; give {argument('time')} or {argument('window')}"
            )
        return cls(evaluation.windows, evaluation.metric)

    def _draw(self, ax: Any) -> None:
        x = np.arange(len(self.windows))
        ends = np.array([one.metric for one in self.windows], dtype=np.float64)
        ax.vlines(x, ends[:, 1], ends[:, 2], color=COLORS[0], alpha=0.45, linewidth=1.6)
        ax.plot(x, ends[:, 0], color=COLORS[0], marker="o", markersize=5)
        moved = [i for i, one in enumerate(self.windows) if any(d.moved for d in one.drift)]
        if moved:
            ax.plot(
                *(moved, ends[moved, 0]),
                linestyle="none",
                marker="o",
                markersize=9,
                markerfacecolor="none",
                color=COLORS[1],
            )
            ax.text(
                *(0.0, 1.02, "circled: a view has moved since training"),
                transform=ax.transAxes,
                color=COLORS[1],
                fontsize=9,
            )
        every = max(1, -(-len(x) // 6))
        ax.set_xticks(x[::every], [short_name(one.start, 14) for one in self.windows[::every]])
        ax.grid(axis="y")
        ax.set_xlabel("window from")
        ax.set_ylabel(self.metric)
