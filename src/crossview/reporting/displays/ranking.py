"""Ranking and calibration curves, by the metrics of scikit-learn."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from crossview.errors import InputError
from crossview.reporting.displays.style import (
    COLORS,
    LINE,
    MUTED,
    WIDTH,
    Display,
    add_key,
    label_ends,
    short_name,
)
from crossview.scoring.diagnostics import ScoredRows
from crossview.scoring.metrics import ordering
from crossview.scoring.metrics.probability import (
    CALIBRATION_BINS,
    calibration_curve,
    count_in_bins,
)
from crossview.scoring.results import in_digits

# points of a curve, of a cloud, and classes whose curves have names
MOST_POINTS, MOST_DOTS, MOST_NAMED = 250, 500, 3
SIZE = (WIDTH, 3.6)


class Ranked(NamedTuple):
    """Rows of several classes, and how they are ordered by each.

    positive: with two classes: the code of the one that curves are about.
    """

    scored: ScoredRows
    classes: list[str]
    positive: int | None

    def of_class(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return whether each row is of class ``k``, and what orders the rows by it."""
        s = self.scored
        if s.scores.ndim == 1:
            return s.y == k, s.scores if k == 1 else -s.scores
        return s.y == k, ordering(s.scores, s.probabilities)[:, k]

    @property
    def curves(self) -> list[int]:
        """The classes that have a curve: those with rows inside and outside."""
        wanted = range(len(self.classes)) if self.positive is None else [self.positive]
        return [k for k in wanted if 0 < int((self.scored.y == k).sum()) < len(self.scored.y)]


def ranked(result: Any) -> Ranked:
    """Return the rows of a result as curves need them."""
    kept = result.diagnostics
    if kept is None or kept.scored is None or result.task == "regression":
        raise InputError("the result kept no rows with classes and scores")
    classes = getattr(result, "classes", None)
    if classes is None:  # of a training
        classes = result.learner.classes_.tolist()
    positive = None
    if len(classes) == 2:
        positive = 1 if result.positive is None else list(classes).index(result.positive)
    return Ranked(kept.scored, [str(label) for label in classes], positive)


class _Ranking(Display):
    """Precision against recall, or true against false positives, one curve per class."""

    size = SIZE
    is_roc = False

    @classmethod
    def _of_result(cls, result: Any) -> Self:
        return cls(ranked(result))

    def __init__(self, rows: Ranked) -> None:
        from sklearn import metrics

        if not rows.curves:
            raise InputError("the rows are all of one class, so there is no curve")
        self.rows = rows
        area = metrics.roc_auc_score if self.is_roc else metrics.average_precision_score
        self.areas = {k: float(area(*rows.of_class(k))) for k in rows.curves}
        what = "ROC AUC" if self.is_roc else "Average precision"
        if rows.positive is not None:
            name = short_name(rows.classes[rows.positive])
            (value,) = self.areas.values()
            chance = 0.5 if self.is_roc else float((rows.scored.y == rows.positive).mean())
            self.title = f"{what} of {name}: {value:.3f}; by chance {chance:.3f}"
        else:
            worst, best = self._order[0], self._order[-1]
            self.title = (
                f"{what}: {np.mean(list(self.areas.values())):.3f} on average, lowest for "
                f"{short_name(rows.classes[worst])} ({self.areas[worst]:.3f}), highest for "
                f"{short_name(rows.classes[best])} ({self.areas[best]:.3f})"
            )
        axes = "true against false positives" if self.is_roc else "precision against recall"
        self.alt = f"{axes.capitalize()}. {self.title}."

    @property
    def _order(self) -> list[int]:
        return sorted(self.areas, key=lambda k: self.areas[k])

    def _draw(self, ax: Any) -> None:
        from sklearn import metrics

        named = [*self._order[:2], self._order[-1]][: max(1, len(self._order))]
        named = list(dict.fromkeys(named))[:MOST_NAMED]
        roc = self.is_roc
        ends: dict[int, float] = {}  # heights at the right
        for k in sorted(self.areas, key=lambda k: k in named):
            of_class, scores = self.rows.of_class(k)
            color = COLORS[named.index(k)] if k in named else LINE
            if roc:
                x, y, _ = metrics.roc_curve(of_class, scores)
            else:
                y, x, _ = metrics.precision_recall_curve(of_class, scores)
            ends[k] = float(y[np.argmax(x)])
            ax.plot(
                *_thin(x, y),
                drawstyle="default" if roc else "steps-post",
                color=color,
                linewidth=1.8 if k in named else 1.0,
            )
        if roc:
            ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
        elif self.rows.positive is not None:
            chance = float((self.rows.scored.y == self.rows.positive).mean())
            ax.axhline(chance, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
        _show_unit_square(ax)
        ax.set_xlabel("false positives, share" if roc else "recall")
        ax.set_ylabel("true positives, share" if roc else "precision")
        if self.rows.positive is None:
            names = [f"{short_name(self.rows.classes[k])} {self.areas[k]:.3f}" for k in named]
            label_ends(
                ax, names, [1.0] * len(named), [ends[k] for k in named], COLORS[: len(named)]
            )
        else:
            add_key(ax, "dashed: by chance")


class PrecisionRecall(_Ranking):
    """Precision against recall, one curve per class."""


class Roc(_Ranking):
    """True against false positives, one curve per class.

    >>> import numpy as np
    >>> from crossview.scoring.diagnostics import ScoredRows
    >>> from crossview.reporting.displays.ranking import Ranked, Roc
    >>> scored = ScoredRows(np.arange(4), np.array([0, 0, 1, 1]), np.array([-2.0, 1.0, 0.5, 3.0]))
    >>> Roc(Ranked(scored, ["no", "yes"], 1)).areas
    {1: 0.75}
    """

    is_roc = True


class ReliabilityDisplay(Display):
    """Share of positive rows per predicted probability.

    probability, share, rows (n_bins,): mean probability of each bin, the share of its rows that are
      of the class, and how many; the title has the expected calibration error of these bins.
    what: the class, in words.

    >>> from crossview.reporting.displays.ranking import ReliabilityDisplay
    >>> ReliabilityDisplay([0.2, 0.8], [0.25, 0.75], [40, 60], "yes").error.round(3)
    np.float64(0.05)
    """

    size = SIZE

    def __init__(self, probability: Any, share: Any, rows: Any, what: str) -> None:
        self.probability, self.share, self.rows = map(np.asarray, (probability, share, rows))
        self.what = what
        away = self.probability - self.share
        self.error = np.average(np.abs(away), weights=self.rows)
        mean = np.average(away, weights=self.rows)
        size = f"{self.error:.1%} off on average"
        if self.error < 0.02:
            self.title = f"The probabilities of {what} are right: {size}"
        elif abs(mean) > 0.7 * self.error:
            how = "high" if mean > 0 else "low"
            self.title = f"The probabilities of {what} are too {how}: {size}"
        else:
            self.title = f"The probabilities of {what} are {size}"
        listed = ", ".join(
            f"{p:.2f}: {s:.2f}" for p, s in zip(self.probability, self.share, strict=True)
        )
        self.alt = f"Share of rows of {what} by mean probability: {listed}."

    @classmethod
    def _of_result(cls, result: Any) -> Self:
        rows, what = ranked(result), "the most probable class"
        if rows.positive is not None:
            what = short_name(rows.classes[rows.positive])
        s = rows.scored
        if s.probabilities is None:
            raise InputError("the model was not calibrated; compare by a metric such as log_loss")
        if found := getattr(result, "calibration", None):  # of all rows of an evaluation
            curve = np.array([(one.rows, one.probability, one.share) for one in found]).T
        else:
            sums = np.zeros((3, CALIBRATION_BINS))
            count_in_bins(sums, s.y, s.probabilities.astype(np.float64))
            curve = calibration_curve(sums, 1 if rows.positive is None else rows.positive)[1:]
        n, p, share = curve
        return cls(p, share, n, what)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.probability, self.share, marker="s", color=COLORS[0])
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
        half = 1.96 * np.sqrt(np.maximum(self.share * (1 - self.share), 1e-9) / self.rows)
        ax.vlines(
            *(self.probability, np.maximum(self.share - half, 0), np.minimum(self.share + half, 1)),
            color=COLORS[0],
            alpha=0.4,
            linewidth=1.4,
        )
        _show_unit_square(ax)
        ax.set_xlabel(f"mean probability of {self.what}")
        ax.set_ylabel(f"share of {self.what}")
        add_key(ax, "dashed: right")


class ThresholdDisplay(Display):
    """Precision, recall and f1 by the threshold, and the threshold that was chosen.

    rows: rows of two classes, with probabilities.
    threshold: the chosen one, as a probability of the positive class.  None: a score above 0
      decides.
    confusion (2, 2): all rows per true and predicted class, so that the title says the same as
      their metrics. None: those of ``rows`` that were predicted.

    >>> import numpy as np
    >>> from crossview.scoring.diagnostics import ScoredRows
    >>> from crossview.reporting.displays.ranking import Ranked, ThresholdDisplay
    >>> p = np.array([0.1, 0.6, 0.4, 0.9])
    >>> scored = ScoredRows(
    ...     np.arange(4), np.array([0, 0, 1, 1]), p, probabilities=np.stack([1 - p, p], axis=1)
    ... )
    >>> ThresholdDisplay(Ranked(scored, ["no", "yes"], 1), 0.5).at(0.5)
    (0.5, 0.5, 0.5)
    """

    size = SIZE

    @classmethod
    def _of_result(cls, result: Any) -> Self:
        chosen = getattr(result, "recommended", result)
        return cls(ranked(result), chosen.threshold, getattr(chosen, "confusion", None))

    def __init__(self, rows: Ranked, threshold: float | None, confusion: Any = None) -> None:
        if rows.positive is None or rows.scored.probabilities is None:
            raise InputError("a threshold needs two classes and probabilities")
        self.p = rows.scored.probabilities[:, rows.positive].astype(np.float64)
        self.true = rows.scored.y == rows.positive
        self.threshold, self.name = threshold, short_name(rows.classes[rows.positive])
        if confusion is not None:
            counts, k = np.asarray(confusion), rows.positive
            decided = self._measures(counts[k, k], counts[:, k].sum(), counts[k].sum())
        elif rows.scored.predicted is not None:
            decided = self._of(rows.scored.predicted == rows.positive)
        else:
            is_chosen = threshold is not None and threshold == threshold
            decided = self.at(threshold if is_chosen and threshold is not None else 0.5)
        precision, recall, f1 = decided
        self.title = (
            f"No row is predicted as {self.name}"
            if math.isnan(precision)
            else f"{self.name} is predicted with precision {precision:.2f} and recall {recall:.2f}"
        )
        self.alt = f"Precision, recall and f1 by the threshold. {self.title}; f1 {f1:.2f}."

    def at(self, threshold: float) -> tuple[float, float, float]:
        """Return precision, recall and f1 at a threshold; precision is NaN without a prediction."""
        return self._of(self.p > threshold)

    def _of(self, said: np.ndarray) -> tuple[float, float, float]:
        """The measures of rows that are predicted as the class."""
        return self._measures((said & self.true).sum(), said.sum(), self.true.sum())

    @staticmethod
    def _measures(right: int, said: int, true: int) -> tuple[float, float, float]:
        """Precision, recall and f1 of numbers of rows."""
        precision = float(right / said) if said else math.nan
        return precision, float(right / max(true, 1)), float(2 * right / max(said + true, 1))

    def _draw(self, ax: Any) -> None:
        at = np.linspace(0.01, 0.99, 99)  # at 1 nothing is predicted, and all lines meet
        lines = np.array([self.at(t) for t in at])
        for k in range(3):
            ax.plot(at, lines[:, k], color=COLORS[k])
        if self.threshold is not None and self.threshold == self.threshold:
            ax.axvline(self.threshold, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)))
            right = self.threshold > 0.6
            ax.annotate(
                *(f"chosen {self.threshold:.2f}", (self.threshold, 1.1)),  # above all lines
                xytext=(-4 if right else 4, 0),
                textcoords="offset points",
                ha="right" if right else "left",
                va="top",
                color=MUTED,
                fontsize=9,
            )
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1.1)
        ax.grid(axis="both")
        ax.set_xlabel(f"threshold, a probability of {self.name}")
        names = ["precision", "recall", "f1"]
        shown = [np.flatnonzero(~np.isnan(lines[:, k])) for k in range(3)]
        ends = [int(some[-1]) if len(some) else 0 for some in shown]
        y = [float(np.nan_to_num(lines[end, k])) for k, end in enumerate(ends)]
        label_ends(ax, names, at[ends].tolist(), y, COLORS[:3])


class TargetDisplay(Display):
    """Predicted against true numbers.

    >>> import numpy as np
    >>> from crossview.scoring.diagnostics import ScoredRows
    >>> from crossview.reporting.displays.ranking import TargetDisplay
    >>> scored = ScoredRows(np.arange(2), np.array([1.0, 2.0]), np.array([1.5, 1.5]))
    >>> TargetDisplay(scored).title
    'Half of the predictions are within 0.5 of the true value'
    """

    size = SIZE

    @classmethod
    def _of_result(cls, result: Any) -> Self:
        kept = result.diagnostics
        if kept is None or kept.scored is None or result.task != "regression":
            raise InputError("the result kept no rows with predicted numbers")
        return cls(kept.scored)

    def __init__(self, scored: ScoredRows) -> None:
        self.scored = scored
        away = np.abs(scored.scores.astype(np.float64) - scored.y)
        self.title = (
            f"Half of the predictions are within {in_digits(np.median(away), 3)} of the true value"
        )
        self.alt = f"Predicted against true values. {self.title}."

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        step = max(1, len(self.scored.y) // MOST_DOTS)
        true, said = self.scored.y[::step], self.scored.scores[::step].astype(np.float64)
        if len(np.unique(true)) <= 20:  # such as ratings: apart, to be seen
            true = true + np.random.default_rng(0).uniform(-0.15, 0.15, len(true))
        ax.scatter(said, true, s=9, alpha=0.45, color=COLORS[0], linewidths=0)
        ends = [min(true.min(), said.min()), max(true.max(), said.max())]
        ax.plot(ends, ends, color=MUTED, linewidth=0.8, linestyle="--")
        ax.grid(axis="both")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(5))
        ax.set_xlabel("predicted")
        ax.set_ylabel("true")


def _show_unit_square(ax: Any) -> None:
    """Let both axes go from 0 to 1, and a little beyond."""
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.grid(axis="both")


def _thin(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A curve with fewer points, evenly spaced along it."""
    if len(x) <= MOST_POINTS:
        return x, y
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    at = np.searchsorted(along, np.linspace(0.0, along[-1], MOST_POINTS))
    at = np.unique(np.clip(at, 0, len(x) - 1))
    return x[at], y[at]
