"""Contributions of views: the loss without each, and its share of the score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crossview.catalog.metrics import metric_of
from crossview.comparing.result.comparison import Comparison
from crossview.errors import InputError, argument
from crossview.evaluating.evaluation import Estimate, Evaluation
from crossview.reporting.displays.style import MUTED, WIDTH, Display, draw_bars, short_name
from crossview.scoring.diagnostics import sizes_of_views
from crossview.scoring.results import in_digits

# shares that differ by less are about equal: more than two rounded ones can
LEAST_DIFFERENCE = 0.02


class ViewContributionDisplay(Display):
    """One bar per view: what is lost without it, or its share of the score.

    Of a result: what the metric loses without each view, if that was measured (``ablate=True`` of
    `crossview.compare`, ``views=True`` of `crossview.evaluate`); otherwise its share in the score.

    Parameters
    ----------
    views : sequence of str
        Names of the views.
    values : array-like of shape (n_views,)
        What each is worth.
    intervals : array-like of shape (n_views, 2), default=None
        The ends of the interval of each value.
    label : str, default="share of the score"
        What the values are.
    rope : float, default=0.0
        Losses up to this are none: if all intervals lie within it, the title says that no view is
        missed.
    title : str or None, default=None
        What there is to see.  None: made from the values.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> from crossview import ViewContributionDisplay
    >>> display = ViewContributionDisplay.from_predictions(["a", "b"], [[1.0, 3.0], [-1.0, 3.0]])
    >>> display.values.tolist()
    [0.25, 0.75]
    """

    def __init__(
        self,
        views: Sequence[str],
        values: Any,
        intervals: Any = None,
        *,
        label: str = "share of the score",
        rope: float = 0.0,
        title: str | None = None,
    ) -> None:
        self.views, self.label, self.rope = list(views), label, rope
        self.values = np.asarray(values, dtype=np.float64)
        self.intervals = None if intervals is None else np.asarray(intervals, dtype=np.float64)
        self.is_share = label.startswith("share")
        self.size = (WIDTH, 0.8 + 0.34 * max(len(self.views), 2))
        self.title = _finding(self) if title is None else title
        listed = ", ".join(
            f"{view} {self._words(value)}"
            for view, value in zip(self.views, self.values, strict=True)
        )
        self.alt = f"{label}, by view: {listed}."

    def _words(self, value: float) -> str:
        if value != value:
            return "–"
        sign = "" if value < 0.0 else "+"
        return f"{value:.0%}" if self.is_share else f"{sign}{in_digits(value + 0.0, 3)}"

    @classmethod
    def _of_result(cls, result: Any) -> Any:
        if isinstance(result, Comparison) and result.ablation:
            return cls._lost(
                [one.view for one in result.ablation],
                [-one.without_difference.location for one in result.ablation],
                [
                    sorted(-end for end in result.interval_of(one.without_difference))
                    for one in result.ablation
                ],
                f"loss of {result.metric} without the view",
                result.rope,
            )
        if isinstance(result, Evaluation) and result.views:
            sign = -1.0 if metric_of(result.metric).higher_is_better else 1.0
            return cls._lost(
                [one.view for one in result.views],
                [sign * one.difference.value for one in result.views],
                [sorted(sign * end for end in one.difference[1:]) for one in result.views],
                f"loss of {result.metric} where the view is missing",
            )
        shares = shares_of_scores(result)
        if shares is None:
            raise InputError(
                "the result does not say what its views are worth; compare with "
                f"{argument(ablate=True)}, or evaluate with {argument(views=True)}"
            )
        return display_of_shares(shares)

    @classmethod
    def _lost(
        cls,
        views: list[str],
        values: list[float],
        intervals: list[Any],
        label: str,
        rope: float = 0.0,
    ) -> ViewContributionDisplay:
        order = np.argsort([-value for value in values], kind="stable")
        return cls(
            [views[i] for i in order],
            [values[i] for i in order],
            [intervals[i] for i in order],
            label=label,
            rope=rope,
        )

    @classmethod
    def from_predictions(
        cls, views: Sequence[str], view_scores: Any, *, ax: Any = None
    ) -> ViewContributionDisplay:
        """Draw the share of each view in scores.

        Parameters
        ----------
        views : sequence of str
            Names of the views.
        view_scores : array-like of shape (n_samples, n_views)
            One score per view; NaN, where it is missing, counts as 0.
        ax : matplotlib Axes, default=None
            Where to draw.  None: on a new figure.

        Returns
        -------
        display : ViewContributionDisplay
            The mean absolute score of each view, by the sum over views.
        """
        each = _shares(np.asarray(view_scores, dtype=np.float64))
        return display_of_shares(dict(zip(views, each, strict=True))).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> ViewContributionDisplay:
        """Draw the share of each view in the scores of a fitted learner.

        Parameters
        ----------
        estimator : learner
            A fitted one with `view_scores`.
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        ax : matplotlib Axes, default=None
            Where to draw.  None: on a new figure.

        Returns
        -------
        display : ViewContributionDisplay
            One bar per view.
        """
        each = sizes_of_views(estimator.view_scores(X))
        return cls.from_predictions(estimator.layout_.names, each, ax=ax)

    def _draw(self, ax: Any) -> None:
        names, words = map(short_name, self.views), map(self._words, self.values)
        draw_bars(ax, list(names), self.values, list(words), self.intervals)
        ax.axvline(0.0, color=MUTED, linewidth=0.8)
        if self.is_share:
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        ax.set_xlabel(self.label)


def _finding(shown: ViewContributionDisplay) -> str:
    values = shown.values
    if shown.is_share:
        return _finding_of_shares(shown)
    metric, where = shown.label.removeprefix("loss of ").split(" ", 1)
    if shown.intervals is not None:  # what may be chance is not missed
        values = np.where(shown.intervals[:, 0] > 0.0, values, -np.inf)
    k = int(np.argmax(values))
    if np.isneginf(values[k]):
        return _finding_of_none(shown, metric, where)
    lost = in_digits(values[k], 3)
    return f"{shown.views[k]} is clearly missed: {metric} is worse by {lost} {where}"


def _finding_of_none(shown: ViewContributionDisplay, metric: str, where: str) -> str:
    """Say of views of which none is clearly missed whether that is shown, or left open."""
    assert shown.intervals is not None
    low, high = shown.intervals.T
    if (high <= shown.rope).all():
        about = "stays about the same" if (low >= -shown.rope).all() else "is not worse"
        return f"No single view is missed: {metric} {about} {where}"
    unknown = "These rows do not tell whether a view is missed"
    if np.isnan(high).any():
        return unknown
    k = int(high.argmax())
    without = where.replace("the view", short_name(shown.views[k]))
    return f"{unknown}: {metric} may be worse by up to {in_digits(high[k], 2)} {without}"


def _finding_of_shares(shown: ViewContributionDisplay) -> str:
    """The largest share, if it is larger than the next one by more than its uncertainty."""
    values, words = shown.values, [f"{value:.0%}" for value in shown.values]
    if len(values) == 1:
        return f"The score is that of {shown.views[0]}"
    first, second = np.argsort(-values, kind="stable")[:2].tolist()
    apart = values[first] - values[second] >= LEAST_DIFFERENCE
    if shown.intervals is not None:
        apart = apart and shown.intervals[first][0] > shown.intervals[second][1]
    if apart:
        return f"{shown.views[first]} has the largest share of the score, {words[first]}"
    if values.max() - values.min() < 2 * LEAST_DIFFERENCE:
        ends = dict.fromkeys(f"{value:.0%}" for value in (values.min(), values.max()))
        return f"The shares of the score are about equal: {' to '.join(ends)}"
    return (
        f"No view has clearly the largest share of the score: {shown.views[first]} {words[first]}, "
        f"{shown.views[second]} {words[second]}"
    )


def shares_of_scores(result: Any) -> dict[str, Estimate] | None:
    """Return the share of each view in the score; None where that is not known."""
    if getattr(result, "view_shares", None):
        return {v: Estimate(x, math.nan, math.nan) for v, x in result.view_shares.items()}
    kept = result.diagnostics
    if kept is None or kept.by_view is None or kept.by_view.view_sizes is None:
        return None
    values = _shares(kept.by_view.view_sizes)
    names = [one.view for one in kept.views]
    if len(names) != len(values) or not np.isfinite([one.value for one in values]).all():
        return None
    return dict(zip(names, values, strict=True))


def display_of_shares(shares: Mapping[str, Estimate]) -> ViewContributionDisplay:
    """Return the display of shares of the score, which is not drawn yet."""
    known = [one[1:] for one in shares.values()]
    intervals = None if np.isnan(known).any() else known
    return ViewContributionDisplay(list(shares), [one.value for one in shares.values()], intervals)


def _shares(view_scores: np.ndarray) -> list[Estimate]:
    """The share of each view, with the interval of a ratio of means (the delta method)."""
    size = np.abs(np.nan_to_num(view_scores)).astype(np.float64)
    n, total = len(size), size.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = size.mean(axis=0) / total.mean()
        away = (size - share * total[:, None]) / total.mean()
        half = 1.96 * np.sqrt((away**2).sum(axis=0) / max(n - 1, 1) / n)
    return [
        Estimate(float(x), float(x - h), float(x + h)) for x, h in zip(share, half, strict=True)
    ]
