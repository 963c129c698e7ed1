"""Weights of the experts of a stack over time."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

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
from crossview.scoring.diagnostics import ExpertWeights, expert_weights

MOST_NAMED = 5


class ExpertWeightsDisplay(Display):
    """The weights of the experts of a stack over the rows that it learned.

    Of a comparison by folds: those of the first fold.

    Parameters
    ----------
    weights : ExpertWeights
        ``experts``, ``rows`` and ``weights`` of shape (n_snapshots, n_experts).
    title : str or None, default=None
        What there is to see.  None: made from the weights.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> from crossview import ExpertWeightsDisplay, OnlineStackingClassifier
    >>> model = OnlineStackingClassifier([1, 1]).fit([[1, 0], [0, 1], [1, 1]], [1, 0, 1])
    >>> display = ExpertWeightsDisplay.from_estimator(model)
    >>> display.ax_.get_ylabel()
    'weight'
    """

    size = (WIDTH, 3.1)

    def __init__(self, weights: ExpertWeights, *, title: str | None = None) -> None:
        self.weights = weights
        last, mean = weights.weights[-1], weights.weights.mean(axis=0)
        # those that matter at the end, then those that mattered before
        order = np.argsort(-(last + mean), kind="stable")
        self.order = order.tolist()
        self.title = self._finding() if title is None else title
        ends = ", ".join(f"{weights.experts[k]} {last[k]:.0%}" for k in self.order[:MOST_NAMED])
        self.alt = f"Weights of {len(last)} experts against rows. At the end: {ends}."

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> ExpertWeightsDisplay:
        """Draw the weights of a fitted stack.

        Parameters
        ----------
        estimator : OnlineStackingClassifier or OnlineStackingRegressor
            A fitted one.
        ax : matplotlib Axes, default=None
            Where to draw.  None: on a new figure.

        Returns
        -------
        display : ExpertWeightsDisplay
            One line per expert.
        """
        found = expert_weights(estimator)
        if found is None:
            raise InputError(f"{type(estimator).__name__} has no experts, or has learned no row")
        return cls(found).plot(ax)

    @classmethod
    def _of_result(cls, result: Any) -> Self:
        if result.diagnostics is None or result.diagnostics.experts is None:
            raise InputError(
                f"the result is of a model without experts; take {argument(model='stacking')}"
            )
        return cls(result.diagnostics.experts)

    def _finding(self) -> str:
        w = self.weights
        end = int(np.argmax(w.weights[-1]))
        early = int(np.argmax(w.weights[np.argmin(np.abs(w.rows - w.rows[-1] / 16))]))
        share = f"{w.experts[end]} is trusted most in the end ({w.weights[-1][end]:.0%})"
        return share if early == end else f"{share}, {w.experts[early]} in the first rows"

    def _draw(self, ax: Any) -> None:
        w, named = self.weights, self.order[:MOST_NAMED]
        for k in self.order[::-1]:
            color = COLORS[named.index(k)] if k in named else LINE
            ax.plot(w.rows, w.weights[:, k], color=color, linewidth=1.8 if k in named else 1.0)
        ax.set_xscale("log")
        ax.set_xlim(max(1, int(w.rows[0])), max(int(w.rows[-1]), 2))
        ax.set_ylim(0.0, 1.05 * float(w.weights.max()))
        plain_log_ticks(ax.xaxis)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        ax.grid(axis="y")
        ax.set_xlabel("rows")
        ax.set_ylabel("weight")
        names = [w.experts[k] for k in named]
        ends = [float(w.weights[-1, k]) for k in named]
        label_ends(ax, names, [float(w.rows[-1])] * len(named), ends, COLORS[: len(named)])
        if len(self.order) > len(named):
            add_key(ax, f"gray: {len(self.order) - len(named)} more")
