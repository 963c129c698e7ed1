"""The result of `compare`."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from crossview.catalog.learner import Learner
from crossview.catalog.learners import find_learner
from crossview.catalog.metrics import metric_of
from crossview.catalog.names import TASKS
from crossview.evaluation.significance import SIGNIFICANT, p_in_words

__all__ = ["Comparison", "ComparisonRow"]


@dataclass
class ComparisonRow:
    """Scores and chosen parameters of one model.

    Attributes
    ----------
    title : str
        What it is.
    model : str
        Its name for ``crossview train --model``.
    value, std : float
        The metric: mean and standard deviation over the folds.  Progressive:
        of the stream, and NaN.
    accuracy, roc_auc, rmse, mae : float
        Likewise, the means; NaN for those of the other task.
    rows_per_second : float
        Rows learned per second, without reading, encoding and compiling; steps of learners
        that draw rows.
    threshold : float
        With two classes: the probability of the positive class above which it is predicted, the
        median over the folds.  Progressive: the one after the last row.  NaN where a score above 0
        decides.
    untuned : float
        The metric where a score above 0 decides, if ``threshold`` was tuned; otherwise NaN.
    setting : dict
        The parameters that were chosen, most often over the folds.
    p : float or None
        Of the test against the best row; None for the best row itself.
    epochs : int
        Passes over the training rows; with early stopping, the median over the folds.
    scores : list of float
        The metric fold by fold.
    others : dict of str to list of float
        The other metrics fold by fold.
    chosen : list of dict
        The parameters fold by fold.
    thresholds, untuned_scores : list of float
        ``threshold`` and ``untuned`` fold by fold.
    """

    title: str
    model: str
    value: float = math.nan
    std: float = math.nan
    accuracy: float = math.nan
    roc_auc: float = math.nan
    rows_per_second: float = math.nan
    setting: dict[str, Any] = field(default_factory=dict)
    p: float | None = None
    rmse: float = math.nan
    mae: float = math.nan
    epochs: int = 1
    threshold: float = math.nan
    untuned: float = math.nan
    scores: list[float] = field(default_factory=list)
    others: dict[str, list[float]] = field(default_factory=dict)
    chosen: list[dict[str, Any]] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    untuned_scores: list[float] = field(default_factory=list)


@dataclass
class Comparison:
    """The result of `compare`: one row per model, and tests.

    Attributes
    ----------
    metric : str
        The metric that ranks the models; with its parameters, such as ``precision_at_10%``.
    positive : label or None
        The class that the metric is about; None with more than two classes, and for numbers.
    classes : list
        All labels; empty where a number is predicted.
    views : dict of str to int
        Names and widths of the views.
    n_rows : int
        Rows in the data.
    n_scored : int
        Rows that were predicted and scored; each has a label.
    mode : {"cross-validation", "progressive"}
        How they were scored.
    test : str
        Which test the p values come from.
    folds : int
        Number of folds; 0 in progressive mode.
    seed : int
        Seed of folds and shuffling.
    epochs : int or None
        Passes over the training rows that were asked for.
    rows : list of ComparisonRow
        Each view alone, then the ways of using all of them.
    best, runner_up : int
        Positions in ``rows`` of the best value and the next one.
    task : {"classification", "regression"}
        What is predicted.
    unlabeled : int
        Number of unlabeled rows.
    threshold : float, "tuned" or None
        What was asked for.
    tuned : bool
        Whether each model got its own threshold; not if the metric does not depend on it.
    unlabeled_benefit_p : float or None
        p of the test of a learner that uses unlabeled rows against the same without them.
    """

    metric: str
    positive: Any
    classes: list[Any]
    views: dict[str, int]
    n_rows: int
    n_scored: int
    mode: str
    test: str
    folds: int
    seed: int
    epochs: int | None
    rows: list[ComparisonRow]
    best: int
    runner_up: int
    task: str = "classification"
    threshold: float | str | None = "tuned"
    tuned: bool = False
    unlabeled: int = 0
    unlabeled_benefit_p: float | None = None

    @property
    def unlabeled_benefit(self) -> str | None:
        """How much unlabeled rows help, in plain words; None where that is not known."""
        pair = self.unlabeled_pair
        if not (self.unlabeled and pair and self.unlabeled_benefit_p is not None):
            return None
        learner, without = (self.rows[i] for i in pair)
        more = learner.value - without.value
        about = "" if self.unlabeled_benefit_p < SIGNIFICANT else "not significant, "
        name, other = (self._entry(row).short_title for row in (learner, without))
        what = "lower" if more < 0.0 else "raise"
        return (
            f"the {self.unlabeled:,} unlabeled rows {what} {self.metric} by {abs(more):.4f}: "
            f"{name} against {other} ({about}{p_in_words(self.unlabeled_benefit_p)})"
        )

    @property
    def unlabeled_pair(self) -> tuple[int, int] | None:
        """Positions of a row that learns from unlabeled rows, and of the same without them."""
        models = [row.model for row in self.rows]
        for i, row in enumerate(self.rows):
            entry = self._entry(row)
            if entry.learns_unlabeled and entry.measured_against in models:
                return i, models.index(entry.measured_against)
        return None

    @property
    def learns_unlabeled(self) -> list[str]:
        """Titles of the models that learn from unlabeled rows."""
        entries = [self._entry(row) for row in self.rows]
        return [entry.short_title for entry in entries if entry.learns_unlabeled]

    @property
    def tie(self) -> bool:
        """Whether the best row is not significantly better than the next one."""
        best, other = self.rows[self.best], self.rows[self.runner_up]
        if self._counts_mistakes and other.accuracy > best.accuracy:
            return True  # the test is about mistakes, and the other one makes fewer
        return other.p is None or not other.p < SIGNIFICANT

    @property
    def _counts_mistakes(self) -> bool:
        """Whether the test is about mistakes, whatever the metric is."""
        return self.mode == "progressive" and not metric_of(self.metric).mean_over_rows

    @property
    def verdict(self) -> str:
        """The answer in plain words."""
        best, other = self.rows[self.best], self.rows[self.runner_up]
        assert other.p is not None
        ahead = self._short(abs(best.value - other.value))
        lead = f"{best.title} leads {other.title} by {ahead} {self.metric}"
        p = p_in_words(other.p)
        if not self.tie:
            return f"best: {lead} ({p})"
        if other.p < SIGNIFICANT:
            return f"tie: {lead}, but makes more mistakes ({p})"
        if self._counts_mistakes:
            return f"tie: {lead}, but not with significantly fewer mistakes ({p})"
        return f"tie: {lead}, which is not significant at {SIGNIFICANT} ({p})"

    @property
    def train_options(self) -> list[str]:
        """The options of ``crossview train`` that train the best row on all data."""
        best = self.rows[self.best]
        options = ["--task", self.task] if self.task == "regression" else []
        options += ["--model", best.model]
        for name, value in best.setting.items():
            word = value if isinstance(value, bool | str) else f"{value:g}"
            options += ["--set", f"{name}={word}"]
        entry = self._entry(best)
        if self.mode == "progressive":
            options.append("--in-order")
            for name, value in entry.stream_params.items():
                options += ["--set", f"{name}={value}"]
        two, fixed = len(self.classes) == 2, isinstance(self.threshold, float)
        # train places the threshold for its metric, too
        if entry.trained_for_metric or (two and self.metric != TASKS[self.task][0]):
            options += ["--metric", self.metric]
        about_positive = entry.trained_for_metric or self.tuned or fixed
        if two and about_positive and self.positive != self.classes[1]:
            options += ["--positive", str(self.positive)]
        if two and self.threshold != "tuned":
            options += ["--threshold", f"{self.threshold:g}" if fixed else "none"]
        return [*options, *(["--epochs", str(best.epochs)] if best.epochs > 1 else [])]

    def _entry(self, row: ComparisonRow) -> Learner:
        """The catalog's entry of a row."""
        return find_learner(row.model, self.task, list(self.views))

    def _short(self, value: float) -> str:
        """Four decimals, or four digits of an error, which has the unit of what is predicted."""
        return f"{value:.4g}" if self.task == "regression" else f"{value:.4f}"

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; what is not defined is None."""
        content = asdict(self) | {
            "tie": self.tie,
            "verdict": self.verdict,
            "unlabeled_benefit": self.unlabeled_benefit,
            "train_options": self.train_options,
        }
        return _json(content)

    def __str__(self) -> str:
        width = max(len(row.title) for row in self.rows)
        lines = [
            f"{row.title:<{width}}  {self._short(row.value)}"
            + (f" ± {self._short(row.std)}" if self.folds else "")
            for row in self.rows
        ]
        return "\n".join(
            [*lines, self.verdict, *([self.unlabeled_benefit] if self.unlabeled_benefit else [])]
        )


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
