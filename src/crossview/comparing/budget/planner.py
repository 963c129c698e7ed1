"""The plan of a comparison as it runs: what learners take, and what is left out."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from crossview.comparing.budget.costs import Costs
from crossview.comparing.budget.plan import LEVELS, Plan, in_words, make_plan
from crossview.comparing.comparison import LeftOut
from crossview.comparing.folds.failures import Failures
from crossview.comparing.folds.tuning import Tuning
from crossview.comparing.run import Run

__all__ = ["Planner"]

# of the time of all workers; the rest is for tasks that take longer than expected
EFFICIENCY = 0.75


class Planner:
    """What each learner may spend: planned by a first slice, corrected by what it took.

    Parameters
    ----------
    run : Run
        What is compared.
    n_folds : int
        How many folds there are.
    n_workers : int
        How many tasks run at a time.
    deadline : float
        By the clock; infinity: nothing is left out.

    Attributes
    ----------
    plan : Plan
        For the folds to come.
    costs : Costs
        What the learners take, and what all tasks took.
    encoding : float
        Seconds that encoding a fold takes, beside the workers.
    """

    def __init__(self, run: Run, n_folds: int, n_workers: int, deadline: float) -> None:
        self.run, self.n_folds, self.n_workers = run, n_folds, n_workers
        self.deadline = deadline
        names = [learner.name for learner in run.learners]
        self.n_settings = {one.name: len(one.candidates(run.grid)) for one in run.learners}
        self.plan = Plan(dict.fromkeys(names, LEVELS[0]))
        self.costs = Costs()
        self.saved: dict[str, tuple[str, float]] = {}
        self.failed = Failures()
        self.encoding = 0.0

    def give_up(self, name: str) -> None:
        """Leave out a learner of which it is not known what it takes."""
        self.plan.dropped.add(name)
        self.saved[name] = "not compared, for lack of time to estimate what it takes", 0.0

    def go_on(self, run: Run) -> Planner:
        """Return the planner of another comparison of the same folds, of learners that it knows."""
        other = Planner(run, self.n_folds, self.n_workers, self.deadline)
        other.costs, other.encoding, other.failed = self.costs, self.encoding, self.failed
        return other

    def that_fit(self, reserved: float) -> list[str]:
        """Return the dropped learners for which there is time after all, the best ones first.

        Parameters
        ----------
        reserved : float
            Seconds of all workers for something else.

        Returns
        -------
        names : list of str
            Each fits, with what fits before it, if it spends the least on its setting.
        """
        seconds, found = self._seconds_left(self.n_folds) - reserved, []
        known = self.plan.dropped.intersection(self.costs.known)
        for name in sorted(known, key=lambda name: (-self.costs.values[name], name)):
            needed = self.n_folds * self.costs.known[name].least()
            if needed <= seconds:
                found.append(name)
                seconds -= needed
        return found

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

    def expect(self, name: str, kind: str) -> float:
        """Return the seconds of a task.

        Without a budget it is a number that tells which ones take longest: what the learner took so
        far, and at first how many settings it has.
        """
        cost = self.costs.known.get(name)
        if cost is None:
            return self.costs.took[name] or float(self.n_settings[name])
        tuning = self.tuning(name)
        return cost.tune(tuning) if kind == "tune" else cost.finish(tuning)

    def of_slices(self, seconds: float, name: str, kind: str) -> tuple[float, float]:
        """Return what the slices say of a task that takes so long, and rows of its largest fit."""
        if (cost := self.costs.known.get(name)) is None:
            return seconds, 1.0
        rows = cost.largest_fit(kind, self.tuning(name))
        return seconds / cost.correction(rows), rows

    def tries(self, name: str) -> bool:
        """Return whether some learner may try the values of a parameter of ``Learner.refined``."""
        return any(
            self.run.grid.get(name, one.refined.get(name)) and self.tuning(one.name).refined
            for one in self.run.learners
            if name in one.refined and not self.is_dropped(one.name)
        )

    def replan(self, finished: int, begun: Mapping[str, float]) -> None:
        """Plan the folds that are left, by what those before took.

        Parameters
        ----------
        finished : int
            Folds that have begun.
        begun : mapping of str to float
            Seconds that the learners have still to take for them.
        """
        left = self.n_folds - finished
        if not self.costs.known:
            self.plan.seconds = self.costs.done / finished * left if finished else math.nan
            return
        names = [learner.name for learner in self.run.learners if not self.is_dropped(learner.name)]
        costs = {name: self.costs.known[name] for name in names}
        plan = make_plan(
            costs,
            self.costs.values,
            dict.fromkeys(costs, left),
            self._seconds_left(left - 1),
            begun,
        )
        self._note_what_is_left_out(plan, finished, left)
        plan.dropped |= self.plan.dropped
        self.plan = plan

    def _seconds_left(self, n_folds: int) -> float:
        """Seconds of all workers, if so many folds are still to be encoded."""
        seconds = self.n_workers * (self.deadline - time.time()) - self.encoding * n_folds
        return max(0.0, EFFICIENCY * seconds)

    def _note_what_is_left_out(self, plan: Plan, finished: int, left: int) -> None:
        done = max(0, finished - 1)
        for name in plan.dropped:
            what = "not compared" + (f" after {done} fold{'s' * (done > 1)}" if done else "")
            self.saved[name] = what, self.costs.known[name].fold(LEVELS[0]) * left
        for name, tuning in plan.tuning.items():
            cost = self.costs.known[name]
            if words := in_words(tuning, cost):
                more = cost.fold(LEVELS[0]) - cost.fold(tuning)
                self.saved[name] = words, self.saved.get(name, ("", 0.0))[1] + more

    @property
    def left_out(self) -> list[LeftOut]:
        """What failed, and what the budget did not allow, in the order of the learners."""
        names = [one.name for one in self.run.learners if one.name not in self.failed]
        return self.failed.left_out() + [
            LeftOut(name, *self.saved[name]) for name in names if name in self.saved
        ]

    def curve(self, name: str) -> float:
        """Return the seconds of the learning curve of a learner."""
        if name not in self.costs.known:
            return 0.0
        cost = self.costs.known[name]
        return self.n_folds * (cost.n_splits + 1) * cost.fit(cost.n_train)

    def allows(self, seconds: float, n_folds: int) -> bool:
        """Return whether there is time for something more, and to encode so many folds for it."""
        return time.time() + seconds + self.encoding * n_folds < self.deadline
