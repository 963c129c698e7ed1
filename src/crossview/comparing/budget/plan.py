"""Costs of learners, and a plan of what fits into the budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from crossview.comparing.folds.tuning import HALVING, Tuning
from crossview.comparing.folds.work import Probe

__all__ = ["LEVELS", "Cost", "Plan", "in_words", "make_plan"]

# what a learner may spend on choosing its setting, from all to least
LEVELS = (
    Tuning(),
    Tuning(splits=1),
    Tuning(splits=1, halving=True),
    *(Tuning(splits=1, halving=True, refined=False, share=HALVING**-k) for k in (0, 1, 2, 3)),
)
# two slices tell how the seconds grow if one has so many times the rows of the other
APART = 3
LEAST_GROWTH, USUAL_GROWTH = 0.5, 0.75
# the fewest rows that choose a setting
FEWEST_ROWS = 100
# a baseline is rather tried in one setting, and rather learns from fewer rows, than left out
ONE_SETTING = Tuning(splits=1, middle=True, refined=False)
FEWER = 1 / 2
# shares of the time: what comes first gives above the one, and is dropped above the other
OF_FIRST, MOST_OF_FIRST = 0.5, 0.75
# seconds that tell little of what longer tasks take
SHORT = 0.3


@dataclass
class Cost:
    """Seconds that a learner takes for one fold, by the number of rows.

    Attributes
    ----------
    rows, seconds : float
        Of the larger slice.
    growth : float
        The seconds grow as the rows to the power of this.
    n_settings : int
        How many settings there are.
    n_splits : int
        How many splits of the training rows it is tuned on, if nothing is left out.
    n_inner, n_train : int
        Rows that learn in one of them, and in the whole training part.
    n_refined : int
        Passes that are made to try further settings, from the best one on.
    learns_less : bool
        Whether it may learn from fewer rows in the end.
    took, expected : dict of int to float
        Seconds that its tasks took so far, and should have taken by the slices; by the rows of
        their largest fit.
    """

    rows: float
    seconds: float
    growth: float
    n_settings: int
    n_splits: int
    n_inner: int
    n_train: int
    n_refined: int = 0
    learns_less: bool = False
    took: dict[int, float] = field(default_factory=dict)
    expected: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of_probe(cls, probe: Probe, **numbers: Any) -> Cost:
        """Return the cost by the largest slice, and by a smaller one, which tells how it grows.

        Parameters
        ----------
        probe : Probe
            The slices.
        **numbers
            The other attributes, from ``n_settings`` on.

        Returns
        -------
        cost : Cost
            What a learner takes.
        """
        rows, seconds = probe.rows, [max(took, 1e-6) for took in probe.seconds]
        growth = USUAL_GROWTH
        if rows[-1] > rows[0]:
            # of slices that are about as large the difference is noise
            i = max((i for i, n in enumerate(rows) if APART * n <= rows[-1]), default=0)
            growth = math.log(seconds[-1] / seconds[i]) / math.log(rows[-1] / rows[i])
        # what takes next to no time is mostly what a fit takes without rows
        growth = min(max(growth, 0.0 if seconds[-1] > 0.05 else LEAST_GROWTH), 3.0)
        return cls(rows[-1], seconds[-1], growth, **numbers)

    @cached_property
    def levels(self) -> list[Tuning]:
        """Levels of tuning, from all to least; enough rows choose the setting."""
        enough = [one for one in LEVELS[1:] if one.share * self.n_inner >= FEWEST_ROWS]
        enough.insert(0, LEVELS[0])
        learned = 1.0
        while self.learns_less and (learned == 1.0 or learned * self.n_inner >= FEWEST_ROWS):
            enough.append(ONE_SETTING._replace(share=learned, learned=learned))
            learned *= FEWER
        return enough

    def add(self, n_rows: float, seconds: float, expected: float) -> None:
        """Handle what a task took, and what it should have taken by the slices.

        Parameters
        ----------
        n_rows : float
            Of its largest fit.
        seconds, expected : float
            What it took, and should have taken by the slices.
        """
        n = round(n_rows)
        self.took[n] = self.took.get(n, 0.0) + seconds
        self.expected[n] = self.expected.get(n, 0.0) + expected
        self.__dict__.pop("_corrections", None)

    @cached_property
    def _corrections(self) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of rows, and of the seconds of tasks by those that the slices say."""
        ratios = {n: (self.took[n] + SHORT) / (self.expected[n] + SHORT) for n in self.took}
        if not ratios or min(ratios) > self.rows:
            ratios[round(self.rows)] = 1.0
        rows = sorted(ratios)
        return np.log(rows), np.log([ratios[n] for n in rows])

    def correction(self, n: float) -> float:
        """Return the factor by which a fit of n rows takes longer than the slices say."""
        return math.exp(np.interp(math.log(n), *self._corrections))

    def fit(self, n: float) -> float:
        """Return the seconds of one fit of n rows."""
        return self.correction(n) * self.seconds * (n / self.rows) ** self.growth

    def splits(self, tuning: Tuning) -> int:
        """Return the number of splits for tuning."""
        return self.n_splits if tuning.splits is None else min(tuning.splits, self.n_splits)

    def tune(self, tuning: Tuning) -> float:
        """Return the seconds of choosing a setting in one training part."""
        splits = self.splits(tuning)
        n, settings = tuning.share * self.n_inner, 1 if tuning.middle else self.n_settings
        if not tuning.halving or settings == 1:
            return settings * splits * self.fit(n)
        passed = math.ceil(settings / HALVING)
        return settings * self.fit(n / HALVING) + passed * splits * self.fit(n)

    def finish(self, tuning: Tuning) -> float:
        """Return the seconds of refining and settling a setting, and of the fit that is scored."""
        splits = self.splits(tuning)
        n_refined = self.n_refined if tuning.refined else 0
        refined = n_refined * splits * self.fit(tuning.share * self.n_inner)
        settles = tuning.share < tuning.learned
        settled = settles * splits * self.fit(tuning.learned * self.n_inner)
        return refined + settled + self.fit(tuning.learned * self.n_train)

    def fold(self, tuning: Tuning) -> float:
        """Return the seconds of one fold."""
        return self.tune(tuning) + self.finish(tuning)

    def least(self) -> float:
        """Return the seconds of one fold with the least tuning."""
        return min(self.fold(level) for level in self.levels if level.learned == 1.0)

    def largest_fit(self, kind: str, tuning: Tuning) -> float:
        """Return the rows of the largest fit of a job, ``"tune"`` or ``"finish"``."""
        return tuning.share * self.n_inner if kind == "tune" else tuning.learned * self.n_train


@dataclass
class Plan:
    """Level of tuning of each learner for the folds that are left.

    Attributes
    ----------
    tuning : dict of str to Tuning
        By the name of the learner.
    dropped : set of str
        Learners that take too long.
    seconds : float
        What is left to do takes about this long, on all workers.
    """

    tuning: dict[str, Tuning]
    dropped: set[str] = field(default_factory=set)
    seconds: float = 0.0


def make_plan(
    costs: dict[str, Cost],
    values: dict[str, float],
    folds: dict[str, int],
    seconds: float,
    begun: Mapping[str, float] | None = None,
) -> Plan:
    """Return what fits into the time of all workers together.

    Each learner has an equal part of the time, and what others do not need.  Those that take more
    than their part give: first settings, then rows that choose between settings, always the learner
    that takes longest.  If that is not enough, learners are dropped: of those that take at least
    half as long as the slowest one, the one that did worst on the first slice.  Those of infinite
    value come first, as long as they leave half of the time to the others; those that take more
    than that are tried in one setting, then learn from fewer rows, if they may, and are dropped
    only if they take more than three quarters of it even then, or more than half beside a single
    other one.

    Parameters
    ----------
    costs : dict of str to Cost
        Of each learner.
    values : dict of str to float
        What it reached on the first slice, higher is better; infinity: it comes first.
    folds : dict of str to int
        How many folds it has still to do.
    seconds : float
        What all workers have together.
    begun : mapping of str to float, default=None
        Seconds that a learner takes besides, for what it has begun, unless it is dropped.

    Returns
    -------
    plan : Plan
        The levels, and the learners that are dropped.

    Examples
    --------
    >>> from crossview.comparing.budget.plan import Cost, make_plan
    >>> cheap = Cost(1000, 0.01, 1.0, 5, 3, 5000, 8000)
    >>> slow = Cost(1000, 1.0, 2.0, 9, 1, 5000, 8000)
    >>> plan = make_plan({"a": cheap, "b": slow}, {"a": 0.8, "b": 0.7}, {"a": 5, "b": 5}, 60.0)
    >>> plan.dropped, plan.tuning["a"].splits is None
    ({'b'}, True)
    """
    level = dict.fromkeys(costs, 0)
    kept, more = set(costs), begun or {}

    def spent(name: str) -> float:
        return more.get(name, 0.0) + folds[name] * costs[name].fold(costs[name].levels[level[name]])

    while (total := sum(spent(name) for name in kept)) > seconds and kept:
        above = _above_their_part(kept, values, spent, seconds, OF_FIRST)
        equal = {name for name in kept if spent(name) > seconds / len(kept)}
        reducible = [name for name in equal.union(above) if _can_reduce(costs[name], level[name])]
        if not reducible:
            reducible = [name for name in above if _can_reduce(costs[name], level[name], more=True)]
        if reducible:
            level[max(reducible, key=lambda name: (spent(name), name))] += 1
            continue
        if len(kept) == 1:
            break
        # the last one is not dropped for the first ones
        if sum(values[name] < math.inf for name in kept) > 1:
            above = _above_their_part(kept, values, spent, seconds, MOST_OF_FIRST)
        most = max(map(spent, above))
        slow = [name for name in above if 2 * spent(name) >= most]
        kept.remove(min(slow, key=lambda name: (values[name], -spent(name), name)))
        level = dict.fromkeys(level, 0)  # what is freed is for the others
    tuning = {name: costs[name].levels[level[name]] for name in kept}
    return Plan(tuning, set(costs) - kept, total)


def _above_their_part(
    kept: set[str],
    values: Mapping[str, float],
    spent: Callable[[str], float],
    seconds: float,
    share: float,
) -> list[str]:
    """Return those that take more than an equal part of the time.

    The first ones have a share of it, and the others what these leave.
    """
    first = [name for name in kept if values[name] == math.inf]
    others = [name for name in kept if values[name] < math.inf]
    of_first = sum(map(spent, first))
    most = share * seconds if others else seconds
    group, part = (first, most) if of_first > most else (others, seconds - of_first)
    return [name for name in group if spent(name) >= part / len(group)]


def _can_reduce(cost: Cost, level: int, more: bool = False) -> bool:
    """Return whether a further level is cheaper; with ``more`` also one that chooses nothing."""
    now, *further = cost.levels[level:]
    return any(cost.fold(one) < cost.fold(now) for one in further if more or not one.middle)


def in_words(tuning: Tuning, cost: Cost) -> str:
    """Return what a level leaves out."""
    words = []
    if tuning.learned < 1.0:
        words.append(
            f"learned from {round(tuning.learned * cost.n_train):,} of {cost.n_train:,} rows"
        )
    if tuning.splits is not None and cost.n_splits > tuning.splits:
        words.append(f"{tuning.splits} of {cost.n_splits} inner folds")
    if tuning.middle and cost.n_settings > 1:
        words.append(f"1 of {cost.n_settings} settings")
    if tuning.halving and cost.n_settings > 1:
        passed = math.ceil(cost.n_settings / HALVING)
        words.append(f"{passed} of {cost.n_settings} settings on all tuning rows")
    if cost.n_refined and not tuning.refined:
        words.append("nothing refined")
    if tuning.share < 1.0 and not tuning.middle:
        words.append(f"{round(tuning.share * cost.n_inner):,} rows choose the setting")
    return ", ".join(words)
