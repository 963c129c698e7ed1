"""The rows of a comparison, the best first, and those that are shown to be equal to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median_low
from typing import Any

import numpy as np

from crossview.catalog.learner import Learner
from crossview.catalog.learners import find_learner
from crossview.catalog.metrics import metric_of
from crossview.errors import InputError
from crossview.scoring.metrics import error_of_shares, is_bounded, signed_score, within_bounds
from crossview.scoring.results import SaysMetric
from crossview.scoring.significance import Posterior, correlated_t_posterior

# how a row uses the column of users, in its name, and what that adds to its effort: more than any
# learner takes
USES = {"without": "(no user)", "category": "(user as category)", "per": "(per user)"}
EFFORT = {"category": 10, "per": 20}
# what `LeftOut.what` of a model that is not in the table begins with
NOT_COMPARED = "not compared"
# what a row has fold by fold
BY_FOLD = ("scores", "inner", "chosen", "thresholds", "untuned_scores", "passes", "shares")


@dataclass(frozen=True)
class Member:
    """A model in an ensemble.

    model: its name for ``crossview train --model``.
    weight: its weight in the blend.
    setting: its parameters; ``bins`` is that of the encoder.
    epochs: passes over the training rows; 1: one, or as many as it needs.
    """

    model: str
    weight: float
    setting: dict[str, Any]
    epochs: int = 1


@dataclass
class ComparisonRow:
    """Scores and chosen parameters of one model.

    Attributes
    ----------
    model : str
        Its name for ``crossview train --model``.
    title : str
        What it is.
    value, std : float
        The metric: mean and standard deviation over the folds.  Progressive:
        of the stream, and NaN.
    accuracy, roc_auc, rmse, mae : float
        Likewise, the means; NaN for those of the other task.
    rows_per_second : float
        Rows learned per second, without reading, encoding and compiling; steps of learners
        that draw rows.
    predicted_per_second : float
        Rows scored per second, many at once.  Progressive: NaN, because each is scored and learned.
    threshold : float
        With two classes: the probability of the positive class above which it is predicted, the
        median over the folds.  Progressive: the one after the last row.  NaN where a score above 0
        decides.
    class_thresholds : list of float
        Of the ensemble with more than two classes: the threshold of each.
    untuned : float
        The metric where a score above 0 decides, if ``threshold`` was tuned; otherwise NaN.
    setting : dict
        The parameters that were chosen, most often over the folds.
    epochs : int
        Passes over the training rows; with early stopping, the lower median over the folds.
    effort : int
        What it takes to train and keep, from the catalog: of models that are shown to be equal,
        the one with the least is recommended.
    baseline : bool
        Whether it is a model of another library, to measure the others by.
    learned : float
        Share of the training rows that it learned from: below 1 for a baseline that would take too
        long for the budget.
    difference : Posterior or None
        Of the metric, to the best row: below 0 is worse, also where lower values are better.  None
        for the best row itself.
    p, p_adjusted : float or None
        Of the test against the best row, and adjusted by Holm for the number of tests: by folds
        those against the best row, on a stream those of all pairs.
    equal : bool
        Whether it is shown to be equal to the best row: with a probability of 0.9 or more it is
        not worse by more than the rope.
    scores : list of float
        The metric fold by fold.
    inner : list of float
        What chooses settings, of the chosen one, on rows held out of each training part: the
        metric, or the log loss if two classes are compared without a metric; higher is better.
    others : dict of str to list of float
        The other metrics fold by fold.
    chosen : list of dict
        The parameters fold by fold.
    thresholds, untuned_scores : list of float
        ``threshold`` and ``untuned`` fold by fold.
    passes : list of int
        ``epochs`` fold by fold.
    shares : list of float
        ``learned`` fold by fold.
    confusion : list of list of int or None
        Over all folds, or of the stream: rows of each class (in a line) that were predicted as each
        class.  None where a number is predicted, and for a row of an earlier comparison that
        had more folds.
    members : list of Member
        Of an ensemble, the largest weight first.
    user : {"", "without", "category", "per"}
        Where users are compared, how the model uses their column: not at all, as a category, or as
        that of a `personal` view.
    """

    model: str
    title: str
    value: float = math.nan
    std: float = math.nan
    accuracy: float = math.nan
    roc_auc: float = math.nan
    rmse: float = math.nan
    mae: float = math.nan
    rows_per_second: float = math.nan
    predicted_per_second: float = math.nan
    threshold: float = math.nan
    class_thresholds: list[float] = field(default_factory=list)
    untuned: float = math.nan
    setting: dict[str, Any] = field(default_factory=dict)
    epochs: int = 1
    effort: int = 0
    baseline: bool = False
    learned: float = 1.0
    difference: Posterior | None = None
    p: float | None = None
    p_adjusted: float | None = None
    equal: bool = False
    scores: list[float] = field(default_factory=list)
    inner: list[float] = field(default_factory=list)
    others: dict[str, list[float]] = field(default_factory=dict)
    chosen: list[dict[str, Any]] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    untuned_scores: list[float] = field(default_factory=list)
    passes: list[int] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    confusion: list[list[int]] | None = None
    members: list[Member] = field(default_factory=list)
    user: str = ""

    @property
    def learner(self) -> str:
        """The name of its entry in the catalog."""
        return self.model.removesuffix(name_of_use("", self.user))

    def by_folds(self, n: int, *, in_order: bool = False) -> ComparisonRow:
        """Return the row with its means, medians and lists over its first ``n`` folds.

        in_order: whether the last of them is nearest to rows to come; its setting is then shown.
        """
        row = replace(self, **{name: getattr(self, name)[:n] for name in BY_FOLD})
        row.others = {name: values[:n] for name, values in self.others.items()}
        for name, values in row.others.items():
            setattr(row, name, float(np.mean(values)))
        row.value, row.learned = float(np.mean(row.scores)), float(np.mean(row.shares))
        row.std = float(np.std(row.scores, ddof=1)) if len(row.scores) > 1 else math.nan
        row.threshold = float(np.median(row.thresholds)) if row.thresholds else math.nan
        row.untuned = float(np.mean(row.untuned_scores)) if row.untuned_scores else math.nan
        row.epochs = median_low(row.passes)  # one that was tried
        # the setting that was chosen most often, the first of equals
        often = dict(Counter(tuple(one.items()) for one in row.chosen).most_common(1)[0][0])
        row.setting = dict(row.chosen[-1]) if in_order else often
        if n < len(self.scores):
            row.confusion = None  # it was added up over more folds
        return row


def behind_in(row: ComparisonRow, other: ComparisonRow, metric: str) -> list[str]:
    """Return in which other metrics a row is behind another one.

    Where errors have costs accuracy, which counts all alike, is none of them.
    """
    costs = metric_of(metric).name == "cost"
    return [
        name
        for name in row.others
        if not (costs and name == "accuracy")
        and signed_score(name, getattr(row, name)) < signed_score(name, getattr(other, name))
    ]


def name_of_use(model: str, user: str) -> str:
    """Return the name of a model that uses the column of users in some way."""
    return f"{model} {USES[user]}" if user else model


@dataclass(frozen=True)
class PersonalGain:
    """What deviations of each user gain over the user as a category, with one learner.

    without, category, per: the metric where it does not know the user, has him as a category, and
      has his deviations.
    difference: of the last to the one before; above 0 is better.
    """

    learner: str
    without: float
    category: float
    per: float
    difference: Posterior

    @property
    def is_shown(self) -> bool:
        """Whether the interval of the gain is above 0."""
        return self.difference.interval()[0] > 0.0


@dataclass(frozen=True)
class LeftOut:
    """A part that a comparison left out to keep within its budget, or that failed.

    seconds: how much longer one core would have taken, about.
    failed: whether it is a baseline that raised an error, which is ``what``.
    """

    model: str
    what: str
    seconds: float
    failed: bool = False


@dataclass(frozen=True)
class Ablation:
    """Loss of the recommended model without a view.

    without: the metric where the model learns without it.
    without_difference: to the model with all views; below 0 is worse.
    missing: the metric where the model learns with it, and it is missing in the rows to predict.
    missing_difference: likewise.
    """

    view: str
    without: float
    without_difference: Posterior
    missing: float
    missing_difference: Posterior


@dataclass(frozen=True)
class CurvePoint:
    """The recommended model on some of the training rows.

    rows: number of training rows.
    value, std: the metric: mean and standard deviation over the folds.
    """

    rows: int
    value: float
    std: float


@dataclass(frozen=True)
class LearningCurve:
    """The recommended model by the number of training rows.

    points: the last one is the row of the table.
    last_doubling: how much better it is on all rows than on half of them.
    """

    points: list[CurvePoint]
    last_doubling: Posterior


def least_scale(metric: str, class_rows: Sequence[int] | None, scored: float) -> float:
    """Return the least scale of a value or difference of a metric: what one row changes, about.

    1 / (K n), with n the rows of the rarest of K classes: what one of them changes in a mean over
    the classes.

    scored: share of the rows that were scored, by which n is multiplied.
    """
    if not class_rows or not is_bounded(metric):
        return 0.0
    return 1.0 / (len(class_rows) * min(class_rows) * min(1.0, scored))


class Ranking(SaysMetric):
    """Base class of `Comparison`: its rows, of which the first is the best."""

    metric: str
    task: str
    positive: Any
    classes: list[Any]
    views: dict[str, int]
    rows: list[ComparisonRow]
    rope: float
    folds: int
    planned_folds: int
    left_out: list[LeftOut]
    test_share: float
    unlabeled: int
    unlabeled_benefit_p: float | None
    gains: list[PersonalGain]
    in_order: bool

    @property
    def predicted_rows(self) -> list[int] | None:
        """Number of rows that the recommended model predicts as each class."""
        confusion = self.recommended.confusion
        return None if confusion is None else list(np.sum(confusion, axis=0).tolist())

    @property
    def best(self) -> ComparisonRow:
        """The first row: the ensemble, or the row with the best value."""
        return self.rows[0]

    @property
    def equals(self) -> list[ComparisonRow]:
        """The best row, and those that are shown to be equal to it."""
        return [row for row in self.rows if row.equal]

    @property
    def cheapest(self) -> ComparisonRow:
        """The row of the least effort of those that are shown to be equal to the best.

        Where that has deviations of users whose gain is not shown, it is the same learner with the
        user as a category.
        """
        found = min(self.equals, key=lambda row: row.effort)
        gains = [one for one in self.gains if one.learner == found.learner]
        if found.user == "per" and gains and not gains[0].is_shown:
            return self.row(name_of_use(found.learner, "category"))
        return found

    @property
    def recommended(self) -> ComparisonRow:
        """The ensemble; without one the cheapest row that is shown to be equal to the best."""
        return self.best if self.best.members else self.cheapest

    @property
    def best_trained(self) -> ComparisonRow | None:
        """The recommended row, or if `train` does not know it the best one that it does."""
        rows = (self.recommended, *self.rows)
        return next((row for row in rows if self.entry(row) is not None), None)

    @property
    def explained(self) -> ComparisonRow:
        """The recommended row; of an ensemble the best single model that `train` knows."""
        if not self.recommended.members:
            return self.recommended
        singles = (row for row in self.rows if not row.members and not row.baseline)
        return next(singles, self.recommended)

    def interval(self, row: ComparisonRow) -> tuple[float, float] | None:
        """Return the interval in which the mean of a row lies with a probability of 0.95.

        It counts that other rows have the classes in other shares, which folds do not show.

        Returns interval: None for fewer than two folds, and of a metric that chance makes larger.
        """
        if len(row.scores) < 2 or not metric_of(self.metric).has_interval:
            return None
        least = least_scale(self.metric, self.class_rows, self.folds * self.test_share)
        found = correlated_t_posterior(row.scores, self.test_share, least)
        if row.confusion and not self.in_order and metric_of(self.metric).kind == "decision":
            positive = self.classes.index(self.positive) if self.positive in self.classes else 1
            shares = error_of_shares(self.metric, np.array(row.confusion), positive)
            found = replace(found, scale=math.hypot(found.scale, shares))
        return within_bounds(self.metric, *found.interval())

    def difference_interval(self, row: ComparisonRow) -> tuple[float, float]:
        """Return the interval of what a row is above the best one, in the metric.

        Neither end makes of the value of the best row one that the metric cannot have, as those of
        two folds would.  NaN where it is not known.
        """
        if row.difference is None:
            return math.nan, math.nan
        best = self.best.value
        ends = (signed_score(self.metric, end) for end in row.difference.interval())
        low, high = within_bounds(self.metric, *sorted(best + end for end in ends))
        return low - best, high - best

    def interval_of(self, difference: Posterior) -> tuple[float, float]:
        """Return the interval of another difference of two values of the metric."""
        low, high = difference.interval()
        return (max(low, -1.0), min(high, 1.0)) if is_bounded(self.metric) else (low, high)

    def row(self, model: str) -> ComparisonRow:
        """Return the row of a model."""
        for row in self.rows:
            if row.model == model:
                return row
        raise InputError(f"no row for {model!r}; there are {', '.join(r.model for r in self.rows)}")

    @property
    def unlabeled_pair(self) -> tuple[ComparisonRow, ComparisonRow] | None:
        """A row that learns from unlabeled rows, and the same without them."""
        by_model = {row.model: row for row in self.rows}
        for row in self.rows:
            entry = self.entry(row)
            if entry and self._learns_unlabeled(entry) and entry.measured_against in by_model:
                return row, by_model[entry.measured_against]
        return None

    @property
    def learns_unlabeled(self) -> list[str]:
        """Names of the models that learn from unlabeled rows."""
        entries = [self.entry(row) for row in self.rows]
        return [entry.name for entry in entries if entry and self._learns_unlabeled(entry)]

    def _learns_unlabeled(self, entry: Learner) -> bool:
        """Return whether unlabeled rows have an effect: views agree on them, if there are two."""
        return entry.learns_unlabeled and entry.min_views <= len(self.views)

    def entry(self, row: ComparisonRow) -> Learner | None:
        """Return the entry of a row; None for a baseline that `train` does not know."""
        if not row.baseline:
            return find_learner(row.learner, self.task, list(self.views))
        # it takes long to load
        from crossview.baselines import baselines, is_trainable

        known = [one for one in baselines(self.task) if is_trainable(one)]
        return next((one for one in known if one.name == row.model), None)
