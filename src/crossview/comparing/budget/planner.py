"""The plan of a comparison as it runs: costs of the learners, and what is left out."""

from __future__ import annotations

import copy
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping

from crossview.catalog.learner import LEARNS_NOTHING, Learner
from crossview.comparing.budget.plan import LEVELS, Cost, Plan, in_words, make_plan
from crossview.comparing.comparison import ComparisonObserver
from crossview.comparing.folds.failures import Failures
from crossview.comparing.folds.jobs import Call, Jobs
from crossview.comparing.folds.parts import Fold
from crossview.comparing.folds.tuning import Tuning, can_refine
from crossview.comparing.folds.work import Probe, probe_learner
from crossview.comparing.ranking import LeftOut
from crossview.comparing.run import Run

__all__ = ["Planner"]

# of the time of all workers; the rest is for tasks that take longer than expected
EFFICIENCY = 0.75
# of the budget: no learner is estimated later
MOST_TO_PROBE = 0.3
# compiling for less than this counts as any other work
MOST_SECONDS_TO_LOAD = 3.0


class Planner:
    """Planner of what each learner may spend: by a first slice, corrected by what its tasks took.

    Parameters
    ----------
    run : Run
        What is compared.
    n_folds : int
        How many folds there are.
    n_workers : int
        How many tasks run at a time.
    deadline : float
        By ``time.monotonic()`` of this process; infinity: nothing is left out.

    Attributes
    ----------
    plan : Plan
        For the folds to come.
    costs : dict of str to Cost
        Of each learner, by its name; empty where there is no budget.
    values : dict of str to float
        What each reached on the first slice, higher is better.
    took : dict of str to float
        Seconds that the tasks of each took.
    done : float
        Seconds that all tasks took.
    encoding : float
        Seconds that encoding a fold takes, beside the workers.
    """

    def __init__(self, run: Run, n_folds: int, n_workers: int, deadline: float) -> None:
        self.run, self.n_folds, self.n_workers = run, n_folds, n_workers
        self.deadline = deadline
        self.n_settings = {one.name: len(one.candidates(run.grid)) for one in run.learners}
        self.costs: dict[str, Cost] = {}
        self.values: dict[str, float] = {}
        self.took: dict[str, float] = defaultdict(float)
        self.done = self.encoding = 0.0
        self.failed = Failures()
        self._begin()

    def _begin(self) -> None:
        self.plan = Plan(dict.fromkeys((one.name for one in self.run.learners), LEVELS[0]))
        self.saved: dict[str, tuple[str, float]] = {}

    def go_on(self, run: Run) -> Planner:
        """Return the planner of another comparison of the same folds, of learners that it knows."""
        other = copy.copy(self)
        other.run = run
        other._begin()
        return other

    # --- costs ---------------------------------------------------------------------------------

    def probe(self, first: Fold, jobs: Jobs, observer: ComparisonObserver) -> None:
        """Learn what each learner costs by slices of a fold, those of least effort first.

        The deadline is put off by what compiling takes.
        """
        observer.say(
            "estimating the cost of each model on a first slice of the rows; the first time on a "
            "machine, the models are compiled"
        )
        compiled, latest = 0.0, time.monotonic() + MOST_TO_PROBE * self.remaining
        # what learns nothing takes next to no time
        cheap_first = sorted(self.run.learners, key=lambda one: one.effort % LEARNS_NOTHING)
        learners = {one.name: one for one in cheap_first}

        def calls() -> Iterator[Call]:
            for i, (name, learner) in enumerate(learners.items()):
                # what ours are measured by is tried in any case
                must = i == 0 or learner.baseline
                seconds = math.inf if must else latest + compiled - time.monotonic()
                yield Call(("probe", name), probe_learner, (self.run, learner, first, seconds))

        for (_, name), found in self.failed.drop(jobs.run(calls())):
            if found is None:
                self.plan.dropped.add(name)
                words = "not compared, for lack of time to estimate what it takes"
                self.saved[name] = words, 0.0
                continue
            self._add_probe(learners[name], first, found)
            compiled += found.compiled / jobs.n_workers
        if compiled > MOST_SECONDS_TO_LOAD:
            observer.say(f"compiled for this machine, once, in {compiled:.0f} s")
            self.deadline += compiled

    def _add_probe(self, learner: Learner, fold: Fold, probe: Probe) -> None:
        """Store what the slices say of a learner."""
        once = learner.stops_early or not learner.streams
        refined = {
            name: self.run.grid.get(name, values)
            for name, values in learner.refined.items()
            if can_refine(self.run, learner, fold, name)
        }
        # more passes are tried if the first ones gained
        passes = [
            values[0] if name == "epochs" else 1 for name, values in refined.items() if values
        ]
        self.costs[learner.name] = Cost.of_probe(
            probe,
            n_settings=self.n_settings[learner.name],
            n_splits=1 if once else len(fold.inner),
            n_inner=len(fold.inner[0][0]),
            n_train=len(fold.y_train),
            n_refined=sum(passes),
            learns_less=learner.baseline,
        )
        # what ours are measured by is dropped last
        self.values[learner.name] = math.inf if learner.baseline else probe.value

    def add(self, name: str, seconds: float, expected: float, n_rows: float) -> None:
        """Handle a task that is done.

        Parameters
        ----------
        name : str
            The learner.
        seconds, expected : float
            What it took, and should have taken by the slices.
        n_rows : float
            Of its largest fit.
        """
        self.done += seconds
        self.took[name] += seconds
        if name in self.costs and expected > 0.0:
            self.costs[name].add(n_rows, seconds, expected)

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

    def of_slices(self, seconds: float, name: str, kind: str) -> tuple[float, float]:
        """Return what the slices say of a task that takes so long, and rows of its largest fit."""
        if (cost := self.costs.get(name)) is None:
            return seconds, 1.0
        rows = cost.largest_fit(kind, self.tuning(name))
        return seconds / cost.correction(rows), rows

    # --- the plan -------------------------------------------------------------------------------

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
        known = self.plan.dropped.intersection(self.costs)
        for name in sorted(known, key=lambda name: (-self.values[name], name)):
            needed = self.n_folds * self.costs[name].least()
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
        if not self.costs:
            self.plan.seconds = self.done / finished * left if finished else math.nan
            return
        names = [learner.name for learner in self.run.learners if not self.is_dropped(learner.name)]
        costs = {name: self.costs[name] for name in names}
        plan = make_plan(
            costs,
            self.values,
            dict.fromkeys(costs, left),
            self._seconds_left(left - 1),
            begun,
        )
        self._note_what_is_left_out(plan, finished, left)
        plan.dropped |= self.plan.dropped
        self.plan = plan

    def _seconds_left(self, n_folds: int) -> float:
        """Seconds of all workers, if so many folds are still to be encoded."""
        seconds = self.n_workers * self.remaining - self.encoding * n_folds
        return max(0.0, EFFICIENCY * seconds)

    def _note_what_is_left_out(self, plan: Plan, finished: int, left: int) -> None:
        done = max(0, finished - 1)
        for name in plan.dropped:
            what = "not compared" + (f" after {done} fold{'s' * (done > 1)}" if done else "")
            self.saved[name] = what, self.costs[name].fold(LEVELS[0]) * left
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

    @property
    def remaining(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def allows(self, seconds: float, n_folds: int) -> bool:
        """Return whether there is time for something more, and to encode so many folds for it."""
        return seconds + self.encoding * n_folds < self.remaining
