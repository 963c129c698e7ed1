"""Costs of learners, and a plan of what fits into the budget."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from crossview.catalog.learner import LEARNS_NOTHING, Learner
from crossview.comparing.candidates import quadratic_cost
from crossview.comparing.folds.parts import Fold
from crossview.comparing.folds.tuning import HALVING, Tuning
from crossview.views import ViewLayout

# what a learner may spend on choosing its setting, from all to least
LEVELS = (
    Tuning(),
    Tuning(splits=1),
    Tuning(splits=1, halving=True),
    *(Tuning(splits=1, halving=True, refined=False, share=HALVING**-k) for k in (0, 1, 2, 3)),
)
LIGHTER = Tuning(splits=1, halving=True, refined=False, lighter=True)
# the fewest rows that choose a setting; that of a baseline, what others are measured by: on a few
# hundred texts the strongest and the weakest penalty are the same
FEWEST_ROWS, FEWEST_OF_BASELINE = 100, 500
# before a baseline is left out, it learns from this share of the rows, again and again
FEWER = 1 / 2
# share of the time that one learner may take at most, and the one that brings most
MOST_OF_ONE, MOST_OF_FIRST = 0.5, 0.7


class Yardstick(NamedTuple):
    """What a baseline may take of the time.

    whole: share of it up to which it learns from all rows.
    most: share of it beyond which it is left out, where there is not enough for all.
    fewest: share of the rows that it learns from at least.
    """

    whole: float
    most: float
    fewest: float


# a linear one is what the others are measured by, where columns are many the best of all: the
# cheapest of them is never left out
OF_LINEAR, OF_OTHERS = Yardstick(0.4, MOST_OF_ONE, 0.0), Yardstick(0.15, 0.2, 1 / 4)
# of fewer rows a constant takes no less
OF_CONSTANT = Yardstick(1.0, 1.0, 1.0)
# share of the time up to which a learner is not made lighter
OF_WHOLE = 0.4
# effort of a linear one
LINEAR = 4
# up to this share of the time is next to nothing
CHEAP = 0.03
# seconds of a fit: for each number of a row by the effort, for each row, and of any; models up to
# some effort that need all rows in memory take longer
BY_EFFORT = {0: 5e-9, 1: 5e-9, 2: 1e-8, 3: 2e-8, 4: 1e-7, 5: 5e-7, 6: 5e-7, 7: 2e-5}
IN_MEMORY, MODELS = 4.0, 6
BY_ROW, BY_PRODUCT, OF_A_FIT = 2e-6, 1e-9, 0.005
# seconds of taking and scoring a row that is held out, for each of its numbers
BY_SCORED = 1e-8
# dense columns of a view, at most, and for each number of a row: the most informative ones, and
# components, that are looked at in all rows
MOST_DENSE, DENSE = 300, 8
# of lighter trees; a share of the time that is not worth it
LIGHT_DENSE, WORTH_IT = 80, 0.7
# a row of boosted trees for each of them; of a forest for each doubling of the rows, too, where
# classes look at fewer than numbers; more classes need deeper trees, by this power of their number
BY_SPLIT, BY_LEVEL, BY_DRAWN, BY_DRAWN_OF_CLASSES = 2e-6, 7e-6, 4e-7, 4.5e-8
DEEPER = 1 / 4
# however few the rows are: a boosted tree, of which a class has so many in each bag, and a forest
BY_TREE, ITERATIONS, OF_A_FOREST = 1e-3, 100, 0.3
# a row that networks read, and each of its columns and classes; rows in all passes together, and
# passes
BY_READ, BY_COLUMN, BY_CLASS, READ, PASSES = 2e-6, 6e-9, 8e-8, 1_200_000, 240
# a softmax for each class, in each step of its fit and in so many steps: of a row, of each of its
# numbers where most are there and where few are, and of a weight
BY_SOFTMAX, BY_DENSE, BY_SPARSE, BY_WEIGHT, STEPS = 4e-8, 6e-10, 6e-9, 3e-8, 20
# of late fusion: fits of each view on all rows, in folds too; a class of a row in all steps that
# weigh the views
OF_VIEWS, BY_POOLED = 3, 1.5e-5
# a multiplication of a fit with landmarks; landmarks after which few functions gain by more, and
# rows times their square, at most; rows and landmarks that choose widths, rows that choose the
# penalty, and penalties (`kernel.ridge`)
BY_MULTIPLIED, LANDMARKS, PRODUCTS = 5e-11, 1200, 1e10
OF_WIDTHS, FEW_LANDMARKS, OF_PENALTY, PENALTIES = 1500, 300, 4000, 15
# until tasks have told what a learner takes, a guess may be too low by this factor
CAUTION = 2.0
# and nobody is left out unless it is too high even if divided by this
DOUBT = 3.0
# a learner is outdone by one that is so many times as fast, and better by this share of what lies
# between the best and the worst
MUCH_FASTER, FAR_BEHIND = 3.0, 0.05
# seconds that tell little of what longer tasks take
SHORT = 0.02


def yardstick_of(learner: Learner) -> Yardstick | None:
    """Return what a baseline may take of the time; None for all others."""
    if not learner.baseline:
        return None
    if learner.effort == LEARNS_NOTHING:
        return OF_CONSTANT
    return OF_LINEAR if learner.effort <= LINEAR else OF_OTHERS


def numbers_of_row(learner: Learner, fold: Fold) -> float:
    """Return how many numbers of a row a learner reads, on average."""
    size: int = learner.select_view(fold.X_train).matrix.size
    return size / len(fold.y_train)


def guess_seconds(learner: Learner, fold: Fold, n_classes: int) -> float:
    """Return about how many seconds a row takes in a fit, before anything was fitted.

    n_classes: 0: a number is predicted.
    """
    X = learner.select_view(fold.X_train)
    n_rows, numbers = len(fold.y_train), numbers_of_row(learner, fold)
    dense = min(sum(min(w, MOST_DENSE) for w in X.layout.widths), DENSE * numbers)
    if learner.made_of == "networks":
        by_read = BY_READ + BY_COLUMN * dense + BY_CLASS * n_classes
        return BY_ROW + min(READ / n_rows, PASSES) * by_read
    if learner.made_of == "forest":
        by_column = BY_DRAWN_OF_CLASSES if n_classes else BY_DRAWN
        deeper = max(n_classes / 2, 1.0) ** DEEPER
        by_level = (BY_LEVEL + by_column * dense) * deeper
        return BY_ROW + OF_A_FOREST / n_rows + math.log2(n_rows) * by_level
    if learner.made_of == "boosted trees":  # a tree for each class
        by_trees = 0.0 if learner.baseline else BY_TREE * _boosted_trees(n_classes, n_rows)
        return BY_ROW + by_trees / n_rows + BY_SPLIT * dense * max(n_classes / 2, 1.0)
    if learner.made_of == "landmarks":
        few = len(fold.inner[0][0])  # more rows take hardly longer
        return BY_ROW + BY_MULTIPLIED * _multiplied(few, X.layout.n_views, n_classes) / few
    once = learner.streams or learner.effort > MODELS
    seconds = BY_ROW + BY_EFFORT.get(learner.effort, 0.0) * numbers * (1.0 if once else IN_MEMORY)
    if learner.quadratic:
        seconds += BY_PRODUCT * quadratic_cost(X.layout.n_columns, n_rows, numbers) / n_rows
    if n_classes <= 2:
        return seconds
    if learner.baseline and learner.effort in (LINEAR, MODELS):
        # the softmax has as many weights as classes, and takes no less than two of them
        return max(seconds, BY_ROW + n_classes * _by_softmax(learner, X.layout, n_rows, numbers))
    if learner.stops_early:  # a row of weights for each class
        return seconds * n_classes / 2
    # several classes share passes over the rows, and stop at different ones
    return seconds * math.sqrt(n_classes / 2)


def _boosted_trees(n_classes: int, n_rows: int) -> float:
    """Return about how many trees there are in all bags."""
    # it takes long to load
    from crossview.estimators.trees.boosting import bags_of

    return ITERATIONS * bags_of(n_classes, n_rows) * (n_classes if n_classes > 2 else 1)


def _by_softmax(learner: Learner, layout: ViewLayout, n_rows: int, numbers: float) -> float:
    """Return about how many seconds of a row a class takes, in one linear model or one per view."""
    by_number = BY_DENSE if 2.0 * numbers >= layout.n_columns else BY_SPARSE
    by_step = by_number * numbers + BY_WEIGHT * layout.n_columns / n_rows
    if learner.effort == LINEAR:
        return STEPS * (BY_SOFTMAX + by_step)
    return OF_VIEWS * STEPS * (BY_SOFTMAX * layout.n_views + by_step) + BY_POOLED


def _multiplied(n_rows: int, n_views: int, n_classes: int) -> float:
    """Return about how many multiplications a fit with landmarks takes.

    It chooses a width per view, then solves for all classes at once, with twice as many landmarks
    each time; the errors of rows that are left out are computed for each class and penalty.
    """
    m = min(n_rows, LANDMARKS, max(FEW_LANDMARKS, math.sqrt(PRODUCTS / n_rows)))
    few, tested = min(n_rows, OF_WIDTHS), min(n_rows, OF_PENALTY)
    # products of narrow matrices take twice as long
    outputs = 4.0 * PENALTIES * (n_classes if n_classes > 2 else 1)
    widths = 5 * (1 + n_views) * few * FEW_LANDMARKS * (4.0 * FEW_LANDMARKS + outputs)
    fits = 4 / 3 * m * m * (4.0 * n_rows + 2.0 * tested + 20.0 * m) + outputs * tested * m
    return widths + fits


def share_of_lighter(learner: Learner, fold: Fold, n_classes: int) -> float:
    """Return the share of the time that a learner takes with ``Learner.lighter``; 1: no less."""
    if learner.made_of == "networks":
        return 0.5
    if learner.made_of != "boosted trees" or not learner.lighter:
        return 1.0
    # it takes long to load
    from crossview.estimators.trees.boosting import bags_of

    widths, numbers = learner.select_view(fold.X_train).layout.widths, numbers_of_row(learner, fold)
    less, all_of_them = (
        min(sum(min(width, most) for width in widths), DENSE * numbers)
        for most in (LIGHT_DENSE, MOST_DENSE)
    )
    # some of it is not for each column
    share = (0.4 + 0.6 * less / all_of_them) / bags_of(n_classes, len(fold.y_train))
    return share if share < WORTH_IT else 1.0


@dataclass
class Cost:
    """Seconds that a learner takes for one fold: a guess, corrected by what its tasks took.

    by_row: seconds of a fit for each row, as guessed.
    n_settings: how many settings there are.
    n_splits: how many splits of the training rows it is tuned on, if nothing is left out.
    n_inner, n_train: rows that learn in one of them, and in the whole training part.
    n_refined: passes that are made to try further settings, from the best one on.
    by_scored: seconds of a row that is held out, as guessed: where a row has many numbers and its
      fit is short, these are most of what a task takes.
    lighter: share of the time that it takes with ``Learner.lighter``.
    settled: whether it has them, in all folds alike; None: that is open.
    yardstick: of a baseline, which learns from fewer rows before it is left out.
    kin: costs of learners of the same class and effort: what their tasks took tells what its own
      will.
    took, guessed: seconds that its tasks took so far, and should have taken by the guess; by the
      rows of their largest fit.
    """

    by_row: float
    n_settings: int
    n_splits: int
    n_inner: int
    n_train: int
    n_refined: int = 0
    yardstick: Yardstick | None = None
    by_scored: float = 0.0
    lighter: float = 1.0
    settled: bool | None = None
    kin: Sequence[Cost] = field(default=(), repr=False, compare=False)
    took: dict[int, float] = field(default_factory=dict)
    guessed: dict[int, float] = field(default_factory=dict)

    @cached_property
    def levels(self) -> list[Tuning]:
        """Levels of tuning, from all to least; enough rows choose the setting."""
        if self.settled:
            return [LIGHTER]
        fewest = FEWEST_ROWS
        if self.yardstick is not None:
            fewest = min(FEWEST_OF_BASELINE, max(FEWEST_ROWS, self.n_inner))
        enough = [one for one in LEVELS[1:] if one.share * self.n_inner >= fewest]
        enough.insert(0, LEVELS[0])
        if self.lighter < 1.0 and self.settled is None:
            enough.append(LIGHTER)
        if self.yardstick is not None:
            least, learned = enough[-1], FEWER
            while learned >= max(self.yardstick.fewest, FEWEST_ROWS / self.n_inner):
                enough.append(least._replace(share=min(least.share, learned), learned=learned))
                learned *= FEWER
        return enough

    def settle(self, tuning: Tuning) -> None:
        """Settle whether it is made lighter: what folds measure is one model."""
        self.settled = tuning.lighter
        self.__dict__.pop("levels", None)

    def add(self, n_rows: float, took: float, guessed: float) -> None:
        """Handle what a task took.

        n_rows: of its largest fit.
        took, guessed: its seconds, and those by the guess.
        """
        n = round(n_rows)
        self.took[n] = self.took.get(n, 0.0) + took
        self.guessed[n] = self.guessed.get(n, 0.0) + guessed
        self.__dict__.pop("_corrections", None)

    @cached_property
    def _corrections(self) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of rows, and of the seconds of tasks by the guess."""
        rows = sorted(self.took)
        ratios = [(self.took[n] + SHORT) / (self.guessed[n] + SHORT) for n in rows]
        return np.log(rows), np.log(ratios)

    @property
    def told(self) -> Cost | None:
        """Whose tasks tell what it takes: its own, those of its kin, or none yet."""
        return next((one for one in (self, *self.kin) if one.took), None)

    def correction(self, n: float) -> float:
        """Return the factor by which a fit of n rows takes longer than guessed."""
        if (told := self.told) is None:
            return CAUTION
        return math.exp(np.interp(math.log(n), *told._corrections))

    def fit(self, n: float, tuning: Tuning = LEVELS[0]) -> float:
        """Return the seconds of one fit of n rows, and of the scores of those held out."""
        scores = self.by_scored * (self.n_train - self.n_inner)
        share = self.lighter if tuning.lighter else 1.0
        return share * self.correction(n) * (OF_A_FIT + self.by_row * n + scores)

    def splits(self, tuning: Tuning) -> int:
        """Return the number of splits for tuning."""
        return self.n_splits if tuning.splits is None else min(tuning.splits, self.n_splits)

    def tune(self, tuning: Tuning) -> float:
        """Return the seconds of choosing a setting in one training part."""
        splits = self.splits(tuning)
        n, settings = tuning.share * self.n_inner, self.n_settings
        if not tuning.halving or settings == 1:
            return settings * splits * self.fit(n, tuning)
        passed = math.ceil(settings / HALVING)
        return settings * self.fit(n / HALVING, tuning) + passed * splits * self.fit(n, tuning)

    def finish(self, tuning: Tuning) -> float:
        """Return the seconds of refining and settling a setting, and of the fit that is scored."""
        splits = self.splits(tuning)
        n_refined = self.n_refined if tuning.refined else 0
        refined = n_refined * splits * self.fit(tuning.share * self.n_inner, tuning)
        settles = tuning.share < tuning.learned
        settled = settles * splits * self.fit(tuning.learned * self.n_inner, tuning)
        return refined + settled + self.fit(tuning.learned * self.n_train, tuning)

    def fold(self, tuning: Tuning) -> float:
        """Return the seconds of one fold."""
        return self.tune(tuning) + self.finish(tuning)

    def least(self) -> float:
        """Return the seconds of one fold with the least tuning, of all rows."""
        return min(self.fold(level) for level in self.levels if level.learned == 1.0)

    def last_level(self, seconds: float) -> int:
        """Return the position of the last level that is worth trying: the cheapest one.

        seconds: for a fold, of all learners; of a baseline, and of what can be made lighter, it is
          the first level that takes no more than its share, from the cheapest whole one on.
        """
        costs = [self.fold(level) for level in self.levels]
        if self.yardstick is not None or (self.lighter < 1.0 and self.settled is None):
            whole = [i for i, one in enumerate(self.levels) if one.learned == 1.0 > one.lighter]
            most = OF_WHOLE * seconds  # which is settled by the guess
            if self.yardstick is not None:
                most = self.yardstick.whole * seconds * (DOUBT if self.told is None else 1.0)
            for i in range(min(whole, key=costs.__getitem__), len(costs)):
                if costs[i] <= most:
                    return i
        return min(range(len(costs)), key=costs.__getitem__)


@dataclass
class Plan:
    """Level of tuning of each learner for the folds that are left.

    tuning: by the name of the learner.
    dropped: learners that take too long.
    seconds: what is left to do takes about this long, on all workers.
    """

    tuning: dict[str, Tuning]
    dropped: set[str] = field(default_factory=set)
    seconds: float = 0.0


def make_plan(
    costs: Mapping[str, Cost],
    n_folds: int,
    seconds: float,
    begun: Mapping[str, float] | None = None,
    most: float = MOST_OF_ONE,
    leaders: Collection[str] = (),
) -> Plan:
    """Return what fits into the time of all workers together.

    Baselines come in first, of fewer rows if need be, then the leaders, what takes next to nothing,
    and the other learners in their order: each that fits with the least tuning, beside those
    before it, and takes no more than ``most`` of the time, or .7 a leader and the one that is worth
    most, baselines no more than their own share.  The cheapest linear baseline stays in any case,
    and so does the cheapest of the others that have begun.  A guess leaves out those alone that
    take far too long.  The time that is left goes to tuning: the learner that takes longest gives
    first, and one that takes next to nothing gives no more.

    costs: of each learner, those that are worth most first.
    n_folds: how many folds are still to do.
    seconds: what all workers have together.
    begun: seconds that a learner takes besides, for what it has begun, unless it is dropped.
    most: share of the time that one learner may take.
    leaders: learners that were best so far.
    Returns plan: the levels, and the learners that are dropped.

    >>> from crossview.comparing.budget.plan import Cost, make_plan
    >>> cheap = Cost(1e-6, 5, 3, 5000, 8000)
    >>> slow = Cost(1e-2, 9, 1, 5000, 8000)
    >>> cheap.add(5000, 0.01, 0.005)
    >>> slow.add(5000, 60.0, 50.0)
    >>> plan = make_plan({"a": cheap, "b": slow}, 5, 60.0)
    >>> plan.dropped, plan.tuning["a"].splits is None
    ({'b'}, True)
    """
    more = begun or {}
    last = {name: cost.last_level(seconds / max(n_folds, 1)) for name, cost in costs.items()}

    def spent(name: str, level: int) -> float:
        return more.get(name, 0.0) + n_folds * costs[name].fold(costs[name].levels[level])

    def total(names: Iterable[str]) -> float:
        return sum(spent(name, level[name]) for name in names)

    def late(name: str) -> tuple[bool, bool, bool]:
        is_yardstick = costs[name].yardstick is not None
        return not is_yardstick, name not in leaders, spent(name, last[name]) > CHEAP * seconds

    first = next((name for name in costs if costs[name].yardstick is None), None)
    linear = [name for name, cost in costs.items() if cost.yardstick == OF_LINEAR]
    measure = min(linear, key=lambda name: spent(name, last[name]), default=None)
    kept, used = [], 0.0
    tight = sum(spent(name, last[name]) for name in costs) > seconds
    for name in sorted(costs, key=late):
        guessed, own = costs[name].told is None, costs[name].yardstick
        least = spent(name, last[name]) / (DOUBT if guessed else 1.0)
        share = max(most, MOST_OF_FIRST) if name == first or name in leaders else most
        share = share if own is None or not tight else min(most, own.most)
        if least <= share * seconds and (guessed or used + least <= seconds):
            kept.append(name)
            used += least
        elif name == measure:  # besides, and not in the place of others
            kept.append(name)
    ours = [name for name in costs if costs[name].took and not costs[name].yardstick]
    if ours and not {*ours} & {*kept}:
        # one that has begun is compared in any case, that which takes least
        kept.append(min(ours, key=lambda name: spent(name, last[name])))
    kept = kept or list(costs)[:1]
    level = dict.fromkeys(kept, 0)
    while total(kept) > seconds:
        reducible = [
            name
            for name in kept
            if level[name] < last[name] and spent(name, level[name]) > CHEAP * seconds
        ]
        if not reducible:
            break
        level[max(reducible, key=lambda name: (spent(name, level[name]), name))] += 1
    tuning = {name: costs[name].levels[level[name]] for name in kept}
    return Plan(tuning, set(costs) - set(kept), total(kept))


def is_outdone(name: str, costs: Mapping[str, Cost], inner: Mapping[str, float]) -> bool:
    """Return whether a learner is far behind one that takes a part of its time.

    Such ones are the first that are left out: what learners bring is known of tables in general,
    and this is the one that is compared.

    costs: of the learners.
    inner: values on the held-out rows of a fold, of those that are through with it; higher is
      better.

    >>> from crossview.comparing.budget.plan import Cost, is_outdone
    >>> costs = {"fast": Cost(1e-6, 5, 3, 5000, 8000), "slow": Cost(1e-4, 5, 3, 5000, 8000)}
    >>> [is_outdone(name, costs, {"fast": -0.2, "slow": -0.3, "none": -0.7}) for name in costs]
    [False, True]
    """
    if name not in inner:
        return False
    behind = inner[name] + FAR_BEHIND * (max(inner.values()) - min(inner.values()))
    others = (other for other, value in inner.items() if other in costs and value > behind)
    own = min(costs[name].fold(level) for level in costs[name].levels)
    return any(MUCH_FASTER * min(map(costs[o].fold, costs[o].levels)) < own for o in others)


def in_words(tuning: Tuning, cost: Cost) -> str:
    """Return what a level leaves out."""
    words = []
    if tuning.learned < 1.0:
        words.append("learned from fewer rows")  # the share is another one in other folds
    if tuning.lighter:
        words.append("lighter parameters, without which it is slower and often more accurate")
    if tuning.splits is not None and cost.n_splits > tuning.splits:
        words.append(f"{tuning.splits} of {cost.n_splits} inner folds")
    if tuning.halving and cost.n_settings > 1:
        passed = math.ceil(cost.n_settings / HALVING)
        words.append(f"{passed} of {cost.n_settings} settings on all tuning rows")
    if cost.n_refined and not tuning.refined:
        words.append("nothing refined")
    if tuning.share < 1.0 and cost.n_settings > 1:
        words.append(f"{round(tuning.share * cost.n_inner):,} rows choose the setting")
    return ", ".join(words)
