"""The plan of a comparison as it runs: costs of the learners, and what is left out."""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from collections.abc import Mapping

from crossview.catalog.learner import Learner
from crossview.comparing.budget.clock import Clock, Took
from crossview.comparing.budget.plan import (
    BY_SCORED,
    CHEAP,
    LEVELS,
    MOST_OF_ONE,
    Cost,
    Plan,
    guess_seconds,
    in_words,
    is_outdone,
    make_plan,
    numbers_of_row,
    share_of_lighter,
    yardstick_of,
)
from crossview.comparing.candidates import most_gain_first
from crossview.comparing.folds.failures import Failures
from crossview.comparing.folds.parts import Fold
from crossview.comparing.folds.tuning import Tuning, can_refine
from crossview.comparing.result.ranking import NOT_COMPARED, LeftOut
from crossview.comparing.run import Run

# of the time of all workers; the rest is for tasks that take longer than expected
EFFICIENCY = 0.75
# of the budget: when the first fold has taken as much, it begins with no further learner
MOST_OF_FIRST_FOLD = 0.3
# folds that begin before all learners have told what they take
FEWEST_TO_TELL = 2
# learners that were best in the first folds, and the folds that are few enough to keep them
LEADERS, FEWEST_OF_LEADERS = 3, 3
# of the budget: the folds after it take as much if need be
LEAST_OF_LATER = 0.2


def _not_compared(begun: int) -> str:
    """Return that a learner is left out, after all but the last of the folds that have begun."""
    done = max(0, begun - 1)
    return NOT_COMPARED + (f" after {done} fold{'s' * (done > 1)}" if done else "")


class Planner:
    """Planner of what each learner may spend: by a guess, corrected by what its tasks took.

    n_folds: how many folds there are.
    fewest: folds that are enough to keep the best learners.
    n_workers: how many tasks run at a time.
    clock: what is left of the budget.
    plan: for the folds to come.
    costs: of each learner, by its name, those that bring most first; empty where there is no
      budget.
    inner: what the held-out rows of the inner validation say of those that are through a fold;
      higher is better.
    took: seconds that the tasks of each took.
    done: seconds that all tasks took.
    encoding: seconds that encoding a fold takes, beside the workers.
    """

    def __init__(self, run: Run, n_folds: int, n_workers: int, clock: Clock) -> None:
        self.run, self.n_folds, self.n_workers = run, n_folds, n_workers
        self.clock = clock
        self.n_settings = {one.name: len(one.candidates(run.grid)) for one in run.learners}
        self.costs: dict[str, Cost] = {}
        self.inner: dict[str, float] = {}
        self.took: dict[str, float] = defaultdict(float)
        self.done = self.encoding = 0.0
        self.failed = Failures()
        # the last folds of those in order tell most
        self.fewest = n_folds if run.in_order else min(n_folds, FEWEST_OF_LEADERS)
        # what tasks have taken by then, in the first fold, ends it
        self.most_of_first = MOST_OF_FIRST_FOLD * n_workers * clock.budget
        # however long the first fold took, the answer is not that of a single model
        self.least = LEAST_OF_LATER * EFFICIENCY * n_workers * clock.budget
        self._begin()

    def _begin(self) -> None:
        self.plan = Plan(dict.fromkeys((one.name for one in self.run.learners), LEVELS[0]))
        self.saved: dict[str, tuple[str, float]] = {}

    def go_on(self, run: Run) -> Planner:
        """Return the planner of another comparison of the same folds, of learners that it knows."""
        other = copy.copy(self)
        other.run, other.most_of_first, other.least = run, math.inf, 0.0
        other.costs = {name: self.costs[name] for name in run.names}
        other._begin()
        return other

    # --- costs ---------------------------------------------------------------------------------

    def guess(self, fold: Fold) -> None:
        """Guess what each learner takes, by the rows of a fold."""
        kin: dict[tuple[str, int], list[Cost]] = defaultdict(list)
        for learner in most_gain_first(self.run.learners):
            cost = self.costs[learner.name] = self._cost(learner, fold)
            cost.kin = kin[learner.path, learner.effort]
            cost.kin.append(cost)

    def _cost(self, learner: Learner, fold: Fold) -> Cost:
        once = learner.stops_early or not learner.streams
        # more passes are tried if the first ones gained
        passes = [
            side[0] if name == "epochs" else 1
            for name in learner.refined
            if can_refine(self.run, learner, fold, name)
            for side in learner.sides(name, self.run.grid)
        ]
        return Cost(
            guess_seconds(learner, fold, len(self.run.problem.classes)),
            n_settings=self.n_settings[learner.name],
            n_splits=1 if once else len(fold.inner),
            n_inner=len(fold.inner[0][0]),
            n_train=len(fold.y_train),
            n_refined=sum(passes),
            yardstick=yardstick_of(learner),
            by_scored=BY_SCORED * numbers_of_row(learner, fold),
            lighter=share_of_lighter(learner, fold, len(self.run.problem.classes)),
        )

    def add(self, name: str, took: Took, guessed: float, n_rows: float) -> None:
        """Handle a task that is done.

        guessed: what it should have taken by the guess.
        n_rows: of its largest fit.
        """
        self.clock.add(took, self.n_workers)
        self.done += took.work
        self.took[name] += took.work
        if name in self.costs and guessed > 0.0:
            self.costs[name].add(n_rows, took.work, guessed)

    def fit(self, name: str) -> float:
        """Return the seconds of a fit of all training rows; 0 where there is no budget."""
        cost = self.costs.get(name)
        return 0.0 if cost is None else cost.fit(cost.n_train)

    def curve(self, name: str) -> float:
        """Return the seconds of the learning curve of a learner."""
        splits = self.costs[name].n_splits if name in self.costs else 0
        return self.n_folds * (splits + 1) * self.fit(name)

    def expect(self, name: str, kind: str) -> float:
        """Return the seconds of a task.

        Without a budget it is a number that tells which ones take longest: what the learner took so
        far, and at first how many settings it has.
        """
        cost = self.costs.get(name)
        if cost is None:
            return self.took[name] or float(self.n_settings[name])
        tuning = self.tuning(name)
        return cost.tune(tuning) if kind == "tune" else cost.finish(tuning)

    def of_guess(self, seconds: float, name: str, kind: str) -> tuple[float, float]:
        """Return the guess of a task that takes so long, and the rows of its largest fit."""
        if (cost := self.costs.get(name)) is None:
            return seconds, 1.0
        tuning = self.tuning(name)
        rows = tuning.share * cost.n_inner if kind == "tune" else tuning.learned * cost.n_train
        return seconds / cost.correction(rows), rows

    def by_what_is_known(self, guess: float, name: str, rows: float) -> float:
        """Return the seconds of a task by its guess and what other tasks took since."""
        cost = self.costs.get(name)
        return guess if cost is None else guess * cost.correction(rows)

    # --- the plan -------------------------------------------------------------------------------

    def that_fit(self, reserved: float) -> list[str]:
        """Return the dropped learners for which there is time after all, in their order.

        reserved: seconds of all workers for something else.
        Returns names: each fits, with what fits before it, if it spends the least on its setting.
        """
        seconds, found = self._seconds_left(self.n_folds) - reserved, []
        for name, cost in self.costs.items():
            needed = self.n_folds * cost.least()
            if name in self.plan.dropped and needed <= seconds:
                found.append(name)
                seconds -= needed
        return found

    def gives_up(self, name: str, f: int, begins: bool) -> bool:
        """Leave a learner out if there is no time for it.

        f: the fold.
        begins: whether it begins there, and has not chosen its setting.
        Returns: whether it is left out.  Baselines are not, nor is the first one of the others.
        """
        cost = self.costs.get(name)
        others = {one for one in self.took if one != name and not self.is_dropped(one)}
        ours = {one for one in others & self.costs.keys() if self.costs[one].yardstick is None}
        if cost is None or cost.yardstick is not None or not ours:
            return False
        costly = cost.least() > CHEAP * self.most_of_first
        late = begins and f == 0 and costly and self.done > self.most_of_first
        late = late and name not in self.took
        if not late and f < FEWEST_TO_TELL and cost.told is not None:
            # by work alone: what compiles meanwhile is not known yet
            seconds = EFFICIENCY * self.n_workers * self.clock.budget
            needed = (self.fewest - f) * cost.least() - (0.0 if f else self.took[name])
            late = needed > max(seconds - self.done, f * CHEAP * seconds)
        if late:
            self.plan.dropped.add(name)
            self.saved[name] = _not_compared(f), cost.fold(LEVELS[0]) * (self.n_folds - f)
        return late

    def give_up_rows(self, name: str) -> None:
        """Let a baseline learn from fewer rows, now that it has told what it takes."""
        cost = self.costs.get(name)
        if cost is None or cost.yardstick is None:
            return
        level = cost.levels[cost.last_level(self._seconds_left(self.n_folds) / self.n_folds)]
        if level.learned < self.tuning(name).learned:
            self.plan.tuning[name] = level

    def take_back(self, name: str, other: Planner) -> None:
        """Handle a dropped learner that was compared after all, as another planner planned it."""
        self.plan.dropped.discard(name)
        del self.saved[name]
        if name in other.saved:
            self.saved[name] = other.saved[name]

    def is_dropped(self, name: str) -> bool:
        """Return whether a learner takes too long, or failed."""
        return name in self.plan.dropped or name in self.failed

    def tuning(self, name: str) -> Tuning:
        """Return what a learner may spend on choosing its setting."""
        return self.plan.tuning[name]

    def tries(self, name: str) -> bool:
        """Return whether some learner may try the values of a parameter of ``Learner.refined``."""
        return any(
            self.run.grid.get(name, one.refined.get(name)) and self.tuning(one.name).refined
            for one in self.run.learners
            if name in one.refined and not self.is_dropped(one.name)
        )

    def replan(self, finished: int, begun: Mapping[str, float]) -> bool:
        """Plan the folds that are left, by what those before took.

        There are fewer of them where the best learners so far would have to be left out.

        finished: folds that have begun.
        begun: seconds that the learners have still to take for them.
        Returns: whether there is time for another fold.
        """
        if not self.costs:
            left = self.n_folds - finished
            self.plan.seconds = self.done / finished * left if finished else math.nan
            return True
        costs = {name: cost for name, cost in self.costs.items() if not self.is_dropped(name)}
        costs = dict(sorted(costs.items(), key=lambda one: is_outdone(one[0], costs, self.inner)))
        # what was kept after the first fold is not given up because the rest of the time is less
        most = MOST_OF_ONE if finished < 2 else 1.0
        by_value = sorted(costs, key=lambda name: -self.inner.get(name, -math.inf))
        leaders = by_value[:LEADERS] if finished else []
        left = self.n_folds - finished
        while True:
            seconds = max(self.least, self._seconds_left(left - 1))
            plan = make_plan(costs, left, seconds, begun, most, leaders)
            fits = plan.dropped.isdisjoint(leaders)
            if fits or finished + left <= self.fewest or left == 1:
                break
            left -= 1
        if not fits and finished >= self.fewest:
            return False
        for name, tuning in plan.tuning.items():
            costs[name].settle(tuning)
        self._note_what_is_left_out(plan, finished, left)
        plan.dropped |= self.plan.dropped
        self.plan = plan
        return True

    def _seconds_left(self, n_folds: int) -> float:
        """Seconds of all workers, if so many folds are still to be encoded."""
        seconds = self.n_workers * self.clock.remaining - self.encoding * n_folds
        return max(0.0, EFFICIENCY * seconds)

    def _note_what_is_left_out(self, plan: Plan, finished: int, left: int) -> None:
        for name in plan.dropped:
            saved = self.costs[name].fold(LEVELS[0]) * left
            self.saved[name] = _not_compared(finished), saved
        for name, tuning in plan.tuning.items():
            cost = self.costs[name]
            if words := in_words(tuning, cost):
                more = cost.fold(LEVELS[0]) - cost.fold(tuning)
                self.saved[name] = words, self.saved.get(name, ("", 0.0))[1] + more

    @property
    def left_out(self) -> list[LeftOut]:
        """Failures and parts that the budget did not allow, in the order of the learners."""
        names = [one.name for one in self.run.learners if one.name not in self.failed]
        return self.failed.left_out() + [
            LeftOut(name, *self.saved[name]) for name in names if name in self.saved
        ]

    def allows(self, seconds: float, n_folds: int) -> bool:
        """Return whether there is time for something more, and to encode so many folds for it."""
        return seconds + self.encoding * n_folds < self.clock.remaining
