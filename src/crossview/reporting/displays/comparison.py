"""The models of a comparison, the best first."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from crossview.catalog.metrics import metric_of
from crossview.comparing.result.comparison import Comparison
from crossview.comparing.result.ranking import ComparisonRow
from crossview.comparing.result.verdict import (
    CONSTANT,
    best_baseline,
    is_clear,
    name_of,
    short_value,
)
from crossview.errors import InputError
from crossview.reporting.displays.style import (
    COLORS,
    INK,
    LINE,
    MUTED,
    WIDTH,
    Display,
    draw_bars,
    name_rows,
    short_name,
)
from crossview.scoring.results import in_digits, metric_words

# a row that is further away than so many times the middle one is drawn at the edge
FAR = 2.5


class ComparisonDisplay(Display):
    """The metric of each model, with the interval of its difference to the best one.

    Parameters
    ----------
    models : sequence of str
        Their names, the best first.
    values : array-like of shape (n_models,)
        The metric.
    intervals : array-like of shape (n_models, 2)
        The ends of the interval of each value; NaN where there is none.
    metric : str
        Its name.
    rope : float, default=0.0
        Differences to the best up to this are none.
    recommended : str or None, default=None
        The model to mark.
    baselines : sequence of str, default=()
        Models of other libraries, which are drawn hollow.
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
    >>> from crossview import ComparisonDisplay
    >>> limits = [[0.95, 0.97], [0.90, 0.94]]
    >>> display = ComparisonDisplay(["pam", "pa"], [0.96, 0.92], limits, "f1", rope=0.01).plot()
    >>> display.ax_.get_xlabel()
    'f1'
    """

    shows = ("rope", "compare")

    def __init__(
        self,
        models: Sequence[str],
        values: Any,
        intervals: Any,
        metric: str,
        *,
        rope: float = 0.0,
        recommended: str | None = None,
        baselines: Sequence[str] = (),
        title: str = "",
    ) -> None:
        self.models, self.metric, self.rope = list(models), metric, rope
        self.values, self.intervals = np.asarray(values), np.asarray(intervals)
        self.recommended, self.baselines, self.title = recommended, set(baselines), title
        self.size = (WIDTH, 0.9 + 0.25 * max(len(self.models), 2))
        listed = ", ".join(f"{m} {v:.4g}" for m, v in zip(self.models, self.values, strict=True))
        self.alt = f"{metric} of {len(self.models)} models, the best first: {listed}."

    @classmethod
    def _of_result(cls, comparison: Comparison) -> Self:
        c = comparison
        intervals = [[c.best.value + end for end in c.difference_interval(row)] for row in c.rows]
        return cls(
            [row.model for row in c.rows],
            [row.value for row in c.rows],
            intervals,
            c.metric,
            rope=c.rope if len(c.rows) > 1 else 0.0,
            recommended=c.recommended.model,
            baselines=[row.model for row in c.rows if row.baseline],
            title=_finding(c),
        )

    def _draw(self, ax: Any) -> None:
        best = self.values[0]
        low, high = self._limits()
        sign = 1.0 if metric_of(self.metric).higher_is_better else -1.0
        ax.set_xlim(low, high)
        name_rows(ax, [short_name(model) for model in self.models])
        if self.rope:
            ends = sorted([best, best - sign * self.rope])
            ax.axvspan(*ends, color=LINE, alpha=0.55, linewidth=0)
        for i, model in enumerate(self.models):
            color = COLORS[0] if model == self.recommended else MUTED
            value = self.values[i]
            if not low <= value <= high:
                self._mark_far(ax, i, value, low if value < low else high)
                continue
            if not np.isnan(self.intervals[i]).any():
                ends = np.clip(self.intervals[i], low, high)
                ax.plot(ends, [i, i], color=color, linewidth=1.6, zorder=2)
                for end, marker in zip(ends, "<>", strict=True):
                    if end not in self.intervals[i]:  # it goes on beyond the frame
                        ax.plot([end], [i], marker=marker, markersize=4, color=color, clip_on=False)
            hollow = model in self.baselines
            ax.plot(
                *([value], [i]),
                marker="o",
                markersize=6,
                color=color,
                markerfacecolor="none" if hollow else color,
                zorder=3,
            )
        for i, text in enumerate(ax.get_yticklabels()):
            marked = self.models[i] == self.recommended
            text.set_color(COLORS[0] if marked else INK)
            text.set_fontweight("bold" if marked else "normal")
        ax.set_xlabel(self.metric)

    def _limits(self) -> tuple[float, float]:
        """The ends of the axis, such that the best half of the models is well apart."""
        best, away = self.values[0], np.abs(self.values - self.values[0])
        far = max(FAR * np.nanmedian(away), 4.0 * self.rope, 1e-3 * abs(best))
        near = away <= far
        values, ends = self.values[near], self.intervals[near]
        span = max(np.ptp(values), 2.0 * self.rope, 1e-6)
        low, high = values.min() - 0.1 * span, values.max() + 0.1 * span
        if np.isfinite(ends).any():  # as far as they do not push the values together
            low = min(low, max(np.nanmin(ends), values.min() - span))
            high = max(high, min(np.nanmax(ends), values.max() + span))
        return low - 0.04 * (high - low), high + 0.04 * (high - low)

    def _mark_far(self, ax: Any, i: int, value: float, edge: float) -> None:
        """Write the value of a row that is beyond the axis at its edge."""
        left = bool(value < edge)
        ax.annotate(
            f"◂ {in_digits(value, 3)}"
            if left
            else f"{in_digits(value, 3)} ▸"
            if value == value
            else "not defined",
            (edge, i),
            xytext=(3 if left else -3, 0),
            textcoords="offset points",
            va="center",
            ha="left" if left else "right",
            color=MUTED,
            fontsize=9,
        )


class AnswerDisplay(Display):
    """The recommended model beside the best baseline and a constant answer, or beside others.

    comparison: from `crossview.compare`.
    """

    def __init__(self, comparison: Comparison) -> None:
        c = self.comparison = comparison
        self.rows = _told_rows(c)
        if len(self.rows) < 2:
            raise InputError("there is one model, and nothing to compare it with")
        self.names = [name_of(row) for row in self.rows]
        self.size = (WIDTH * 0.9, 0.9 + 0.5 * len(self.rows))
        better = "higher" if metric_of(c.metric).higher_is_better else "lower"
        self.title = f"{metric_of_class(c)}: {better} is better"
        listed = ", ".join(
            f"{name} {short_value(c, row.value)}"
            for name, row in zip(self.names, self.rows, strict=True)
        )
        self.alt = f"{c.metric}: {listed}."

    @classmethod
    def _of_result(cls, result: Comparison) -> Self:
        return cls(result)

    def _draw(self, ax: Any) -> None:
        c = self.comparison
        draw_bars(
            ax,
            [textwrap.fill(short_name(name, 44), 23) for name in self.names],
            [row.value for row in self.rows],
            ["–" if np.isnan(row.value) else brief_value(c, row.value) for row in self.rows],
            [self._interval(row) for row in self.rows],
            [COLORS[0] if row is c.recommended else MUTED for row in self.rows],
        )
        for text, row in zip(ax.get_yticklabels(), self.rows, strict=True):
            text.set_fontweight("bold" if row is c.recommended else "normal")
        ax.set_xlabel(c.metric)

    def _interval(self, row: ComparisonRow) -> tuple[float, float]:
        """The interval of a row on new rows; on a stream that of its difference to the best."""
        c, interval = self.comparison, self.comparison.interval(row)
        if interval is not None or row.difference is None:
            return interval or (np.nan, np.nan)
        low, high = c.difference_interval(row)
        return c.best.value + low, c.best.value + high


def coded_name(row: ComparisonRow) -> str:
    """Return what a row is in words, with the name that commands take where that tells more."""
    named = name_of(row)
    told = row.members or row.model in CONSTANT or row.model.startswith("view:") or row.baseline
    if told or named == row.model:
        return named
    code = row.learner
    return f"{named[:-1]}; {code})" if named.endswith(")") else f"{named} ({code})"


def metric_of_class(c: Comparison) -> str:
    """Return the metric with the classes that it is about, each in quotes."""
    return metric_words(c.metric, [str(one) for one in c.classes], str(c.positive))


def brief_value(c: Comparison, value: float) -> str:
    """Return three decimals, or four digits of an error, which has the unit of the label."""
    return in_digits(value) if c.task == "regression" else f"{value:.3f}"


def _told_rows(c: Comparison) -> list[ComparisonRow]:
    """Return the rows that readers compare the answer with, the best first.

    Without a baseline, as on a stream, these are the next model and the best view alone.
    """
    ours = next((row for row in c.rows if not row.baseline), None)
    constant = next((row for row in c.rows if row.model in CONSTANT), None)
    told = [c.recommended, *([ours] if c.recommended.baseline else []), best_baseline(c), constant]
    if not any(told[1:]):
        others = [row for row in c.rows if row is not c.recommended]
        views = [row for row in others if row.model.startswith("view:")]
        told += others[:1] + views[:1]
    models = {row.model for row in told if row is not None}
    return [row for row in c.rows if row.model in models]


def _finding(c: Comparison) -> str:
    chosen, best = c.recommended, c.best
    value = f"{c.metric} {short_value(c, chosen.value)}"
    if len(c.rows) == 1:
        return f"{coded_name(chosen)}: {value}"
    if chosen is not best:
        n = len(c.equals)
        return (
            f"{coded_name(chosen)}, {value}, is the cheapest of {n} models that are shown to be "
            "equal to the best"
        )
    named, second = "The ensemble" if best.members else coded_name(best), c.rows[1]
    away = short_value(c, abs(best.value - second.value))
    if is_clear(c, second):
        return f"{named} is best ({value}), ahead of {coded_name(second)} by {away}"
    if second.difference is not None and second.difference.location > 0.0:
        return f"{named} is the answer ({value}); {coded_name(second)} is {away} ahead, not clearly"
    return f"{named} is best ({value}), but not clearly: {coded_name(second)} is {away} behind"
