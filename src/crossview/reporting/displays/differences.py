"""Disagreement of the views of each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from crossview.errors import InputError
from crossview.reporting.displays.style import (
    COLORS,
    MUTED,
    WIDTH,
    Display,
    label_ends,
    plain_log_ticks,
)
from crossview.scoring.diagnostics import Curve, mean_difference
from crossview.scoring.drift import scores_of_views
from crossview.scoring.results import in_digits

# points in a picture; of more, every second or third one and so on is drawn
MOST_POINTS = 600


class ViewDifferenceDisplay(Display):
    """The view difference of each row, and its running mean: figures 1 to 3 of Nguyen et al. 2012.

    The difference is ``|s_1 - s_2|``, of more than two views the mean over their pairs.

    Of a result: along a stream, of `crossview.compare` with ``progressive=True`` or of
    `crossview.train` with ``log=TrainingObserver(history=True)``; otherwise those of rows held out.

    Parameters
    ----------
    curves : sequence of Curve
        One per model: ``rows``, their positions from 1, and their differences as ``values``.
    is_stream : bool, default=False
        Whether each row was scored before it was learned, so that the axis is logarithmic.
    title : str or None, default=None
        What there is to see.  None: made from the curves.

    Attributes
    ----------
    means : list of ndarray
        The running mean of each curve; where rows are left out, each one counts for those since
        the one before.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    References
    ----------
    T. T. Nguyen, K. Chang, S. C. Hui, "Two-view online learning", PAKDD 2012.

    Examples
    --------
    >>> from crossview import ViewDifferenceDisplay
    >>> display = ViewDifferenceDisplay.from_predictions([[1.0, 2.0], [0.5, -0.5], [2.0, -2.0]])
    >>> display.means[0].tolist()
    [1.0, 1.0, 2.0]
    """

    size = (WIDTH, 3.1)

    def __init__(
        self, curves: Sequence[Curve], *, is_stream: bool = False, title: str | None = None
    ) -> None:
        self.curves = [one for one in curves if len(one.rows)]
        if not self.curves:
            raise InputError("no row has two views to compare")
        self.is_stream = is_stream
        self.means = [_running_mean(one) for one in self.curves]
        self.title = self._finding() if title is None else title
        ends = ", ".join(
            f"{one.model or 'the model'} {in_digits(mean[-1], 3)}"
            for one, mean in zip(self.curves, self.means, strict=True)
        )
        self.alt = f"View difference against rows. Running mean at the end: {ends}."

    @classmethod
    def _of_result(cls, result: Any) -> Self:
        kept = result.diagnostics
        if kept is not None and kept.differences:
            return cls(kept.differences, is_stream=True)
        if kept is None or kept.by_view is None or kept.by_view.view_scores is None:
            raise InputError(
                "the result kept no scores of views: the model has one view or no such scores, or "
                "train was called without TrainingObserver(history=True)"
            )
        return cls([_of_rows(kept.by_view.view_scores, kept.view_model, kept.by_view.rows)])

    @classmethod
    def from_predictions(
        cls, view_scores: Any, *, name: str = "", ax: Any = None
    ) -> ViewDifferenceDisplay:
        """Draw the differences of scores of views.

        Parameters
        ----------
        view_scores : array-like of shape (n_samples, n_views)
            One score per view; NaN where the view is missing.
        name : str, default=""
            Of the model.
        ax : matplotlib Axes, default=None
            Where to draw.  None: on a new figure.

        Returns
        -------
        display : ViewDifferenceDisplay
            With one curve.
        """
        return cls([_of_rows(np.asarray(view_scores, dtype=np.float64), name)]).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> ViewDifferenceDisplay:
        """Draw the differences of a fitted learner for some rows.

        Parameters
        ----------
        estimator : learner
            A fitted one with `view_scores`; of several classes, the scores of the predicted one
            are compared.
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows; best are rows that it has not learned.
        ax : matplotlib Axes, default=None
            Where to draw.  None: on a new figure.

        Returns
        -------
        display : ViewDifferenceDisplay
            With one curve.
        """
        each = scores_of_views(estimator, X)
        return cls.from_predictions(each, name=type(estimator).__name__, ax=ax)

    def _draw(self, ax: Any) -> None:
        order = np.argsort([-mean[-1] for mean in self.means], kind="stable")[: len(COLORS)]
        shown = [(self.curves[k], self.means[k], COLORS[i]) for i, k in enumerate(order.tolist())]
        for one, mean, color in shown:
            step = max(1, len(one.rows) // MOST_POINTS)
            if len(shown) == 1:
                ax.plot(
                    *(one.rows[::step], one.values[::step]),
                    linestyle="none",
                    marker="o",
                    markersize=2.2,
                    markeredgewidth=0,
                    color=MUTED,
                    alpha=0.55,
                )
            ax.plot(one.rows[::step], mean[::step], color=color)
        tops = [np.quantile(one.values, 0.98) for one, _, _ in shown] if len(shown) == 1 else []
        start = [mean[min(len(mean) - 1, 4) :].max() for _, mean, _ in shown]
        ax.set_ylim(0.0, 1.08 * max([*tops, *start, 1e-9]))
        last = max(int(one.rows[-1]) for one, _, _ in shown)
        if self.is_stream:
            ax.set_xscale("log")
            ax.set_xlim(max(1, min(int(one.rows[0]) for one, _, _ in shown)), max(last, 2))
            plain_log_ticks(ax.xaxis)
        else:
            ax.set_xlim(0, last)
            ax.locator_params(axis="x", nbins=4)
            ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.grid(axis="y")
        ax.set_xlabel("rows")
        ax.set_ylabel("view difference")
        names = [one.model if len(shown) > 1 else "running mean" for one, _, _ in shown]
        label_ends(
            ax,
            names,
            [float(one.rows[-1]) for one, _, _ in shown],
            [float(mean[-1]) for _, mean, _ in shown],
            [color for _, _, color in shown],
        )

    def _finding(self) -> str:
        if len(self.curves) > 1:
            k = int(np.argmin([mean[-1] for mean in self.means]))
            least = in_digits(self.means[k][-1], 3)
            return f"The views differ least in {self.curves[k].model}: by {least} on average"
        one, mean = self.curves[0], float(self.means[0][-1])
        differ = f"The views differ by {in_digits(mean, 3)} on average"
        if self.is_stream:
            half = int(np.searchsorted(one.rows, one.rows[-1] / 2))
            late = float(np.mean(one.values[half:]))
            trend = "less" if late < 0.9 * mean else "more" if late > 1.1 * mean else "as much"
            return f"{differ}, and {trend} in the second half"
        middle, most = float(np.median(one.values)), float(np.max(one.values))
        return (
            f"{differ}; half of the rows by less than {in_digits(middle, 3)}, "
            f"one by {in_digits(most, 3)}"
        )


def _of_rows(view_scores: np.ndarray, name: str, rows: np.ndarray | None = None) -> Curve:
    """The differences of rows that have two views."""
    difference = mean_difference(view_scores)
    there = ~np.isnan(difference)
    places = (np.arange(len(difference)) if rows is None else rows) + 1
    return Curve(name, places[there], difference[there].astype(np.float64))


def _running_mean(one: Curve) -> np.ndarray:
    """The mean so far; each row counts for those since the one before."""
    weight = np.diff(one.rows, prepend=0).astype(np.float64)
    return np.asarray(np.cumsum(weight * one.values) / np.cumsum(weight))
