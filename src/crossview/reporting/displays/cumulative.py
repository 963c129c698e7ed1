"""The error along a stream, each row predicted before it was learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_regressor

from crossview.errors import InputError, argument
from crossview.reporting.displays.style import (
    COLORS,
    LINE,
    WIDTH,
    Display,
    add_key,
    label_ends,
    plain_log_ticks,
)
from crossview.scoring.diagnostics import Curve, ErrorCurve

# curves with a name and a color; more are drawn gray
MOST_NAMED = 5


class CumulativeErrorDisplay(Display):
    """The mean error of all rows so far against their number, on logarithmic axes.

    As in the figures of online learning: each row is predicted before it is learned.

    Parameters
    ----------
    curves : sequence of Curve
        One per model: ``model``, ``rows`` and ``values``.
    error : str, default="share of rows predicted wrong"
        What the values are.
    highlighted : sequence of str, default=()
        Models to draw in color and name; none: the five with the smallest last value.
    title : str or None, default=None
        What there is to see.  None: made from the curves.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> from crossview import CumulativeErrorDisplay
    >>> display = CumulativeErrorDisplay.from_predictions([0, 1, 1, 0], [1, 1, 1, 0])
    >>> display.curves[0].values.round(2).tolist()
    [1.0, 0.5, 0.33, 0.25]
    """

    size = (WIDTH, 3.3)

    def __init__(
        self,
        curves: Sequence[Curve],
        *,
        error: str = "share of rows predicted wrong",
        highlighted: Sequence[str] = (),
        title: str | None = None,
    ) -> None:
        self.curves = [one for one in curves if len(one.rows)]
        if not self.curves:
            raise InputError("there is no row to draw an error of")
        self.error = error
        order = sorted(self.curves, key=lambda one: float(one.values[-1]))
        wanted = [*dict.fromkeys(highlighted), *(one.model for one in order)]
        known = [one.model for one in self.curves]
        self.highlighted = [name for name in dict.fromkeys(wanted) if name in known][:MOST_NAMED]
        self.title = _finding(order, self.is_share) if title is None else title
        ends = ", ".join(f"{one.model} {self._words(one.values[-1])}" for one in order[:10])
        self.alt = f"{error} against the number of rows, on logarithmic axes. At the end: {ends}."

    @property
    def is_share(self) -> bool:
        """Return whether the error is a share of the rows."""
        return self.error.startswith("share")

    def _words(self, value: float) -> str:
        return f"{value:.2%}" if self.is_share else f"{value:.4g}"

    @classmethod
    def _of_result(cls, result: Any) -> Self:
        kept = result.diagnostics
        if kept is None or not kept.errors:
            raise InputError(
                "the result kept no errors along a stream; compare with "
                f"{argument(progressive=True)}, or train with TrainingObserver(history=True)"
            )
        numbers = result.task == "regression"
        error = "root of the mean squared error" if numbers else "share of rows predicted wrong"
        return cls(kept.errors, error=error, highlighted=[kept.model])

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        regression: bool = False,
        name: str = "model",
        ax: Any = None,
    ) -> CumulativeErrorDisplay:
        """Draw the error of predictions, each made before its row was learned.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
            True and predicted labels, in the order of the stream.
        regression : bool, default=False
            Whether they are numbers.
        name : str, default="model"
            Of the model.
        ax : matplotlib Axes, default=None
            Where to draw.  None: on a new figure.

        Returns
        -------
        display : CumulativeErrorDisplay
            With one curve.
        """
        true, predicted = np.asarray(y_true), np.asarray(y_pred)
        curve = ErrorCurve()
        curve.update((true - predicted) ** 2 if regression else (true != predicted).astype(float))
        error = "root of the mean squared error" if regression else "share of rows predicted wrong"
        return cls([curve.curve(name, root=regression)], error=error).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None
    ) -> CumulativeErrorDisplay:
        """Let a copy of an online learner learn rows in their order, and draw its error.

        Parameters
        ----------
        estimator : online classifier or regressor
            One with `score_then_learn`; it stays as it is.
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        ax : matplotlib Axes, default=None
            Where to draw.  None: on a new figure.

        Returns
        -------
        display : CumulativeErrorDisplay
            With one curve.
        """
        y, model = np.asarray(y), clone(estimator)
        name = type(model).__name__
        if is_regressor(model):
            predicted = model.score_then_learn(X, y)
            return cls.from_predictions(y, predicted, regression=True, name=name, ax=ax)
        scores = np.asarray(model.score_then_learn(X, y, np.unique(y)))
        codes = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return cls.from_predictions(y, model.classes_[codes], name=name, ax=ax)

    def _draw(self, ax: Any) -> None:
        named = {name: COLORS[i] for i, name in enumerate(self.highlighted)}
        ax.set_xscale("log")
        positive = np.concatenate([one.values[one.values > 0.0] for one in self.curves])
        if len(positive):
            ax.set_yscale("log")
        for one in sorted(self.curves, key=lambda one: one.model in named):
            color = named.get(one.model, LINE)
            there = one.values > 0.0
            width = 1.8 if one.model in named else 1.0
            ax.plot(one.rows[there], one.values[there], color=color, linewidth=width)
        if len(positive):
            _limit(ax, self.curves, positive)
            plain_log_ticks(ax.yaxis, self.is_share)
        last = max(int(one.rows[-1]) for one in self.curves)
        ax.set_xlim(1, max(last, 2))
        plain_log_ticks(ax.xaxis)
        ax.grid(axis="both")
        ax.set_xlabel("rows")
        ax.set_ylabel(self.error)
        ends = {one.model: one for one in self.curves if one.values[-1] > 0.0}
        shown = [name for name in self.highlighted if name in ends]
        x = [float(ends[name].rows[-1]) for name in shown]
        y = [float(ends[name].values[-1]) for name in shown]
        label_ends(ax, shown, x, y, [named[name] for name in shown])
        if others := len(self.curves) - len(named):
            add_key(ax, f"gray: {others} more")


def _finding(order: Sequence[Curve], share: bool) -> str:
    best = order[0]
    end = f"{best.values[-1]:.1%}" if share else f"{best.values[-1]:.4g}"
    if len(order) > 1:
        what = "the fewest predicted wrong" if share else "the smallest error"
        return f"After {best.rows[-1]:,} rows {best.model} has {what}: {end}"
    n = int(best.rows[-1])
    half = int(np.argmin(np.abs(best.rows - n / 2)))
    power = 1 if share else 2
    before, rows = best.values[half] ** power * best.rows[half], best.rows[half]
    if n == rows:
        return f"After {n:,} rows the error is {end}"
    late = ((best.values[-1] ** power * n - before) / (n - rows)) ** (1 / power)
    late_words = f"{late:.1%}" if share else f"{late:.4g}"
    return f"The error is {end} over all {n:,} rows, and {late_words} over the second half"


def _limit(ax: Any, curves: Sequence[Curve], positive: np.ndarray) -> None:
    """Let the first rows, which say little, not take most of the height."""
    late = np.concatenate([one.values[one.rows >= 8] for one in curves])
    late = late[late > 0.0]
    late = late if len(late) else positive
    ax.set_ylim(late.min() / 1.25, min(late.max() * 1.25, positive.max() * 1.1))
