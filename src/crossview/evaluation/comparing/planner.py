"""The plan of a comparison as it runs: what learners take, and what is left out."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from crossview.catalog.learner import Learner
from crossview.evaluation.comparing.failures import Failures
from crossview.evaluation.comparing.jobs import Call
from crossview.evaluation.comparing.parts import Fold
from crossview.evaluation.comparing.plan import LEVELS, Cost, Plan, in_words, make_plan
from crossview.evaluation.comparing.run import Run
from crossview.evaluation.comparing.tuning import Tuning, can_refine
from crossview.evaluation.comparing.work import Probe
from crossview.evaluation.result import LeftOut

__all__ = ["Planner"]

# of the time of all workers, the rest waits for the last task of a round
EFFICIENCY = 0.85
# seconds that tell little of what longer tasks take
SHORT = 0.3


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
    done : float
        Seconds that all tasks took.
    encoding : float
        Seconds that encoding a fold takes, in which the workers wait.
    """

    def __init__(self, run: Run, n_folds: int, n_workers: int, deadline: float) -> None:
        self.run, self.n_folds, self.n_workers = run, n_folds, n_workers
        self.deadline = deadline
        names = [learner.name for learner in run.learners]
        self.n_settings = {one.name: len(one.candidates(run.grid)) for one in run.learners}
        self.plan = Plan(dict.fromkeys(names, LEVELS[0]))
        self.costs: dict[str, Cost] = {}
        self.values: dict[str, float] = {}
        self.took, self.expected = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
        self.saved: dict[str, tuple[str, float]] = {}
        self.failed = Failures()
        self.done = self.encoding = 0.0

    def add_probe(self, learner: Learner, fold: Fold, probe: Probe) -> None:
        """Learn from a first slice what a learner costs."""
        once = learner.stops_early or not learner.streams
        refined = {
            name: self.run.grid.get(name, values)
            for name, values in learner.refined.items()
            if can_refine(self.run, fold, name)
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
        )
        # what ours are measured by is dropped last
        self.values[learner.name] = math.inf if learner.yardstick else probe.value

    def go_on(self, run: Run) -> Planner:
        """Return the planner of another comparison of the same folds, of learners that it knows."""
        other = Planner(run, self.n_folds, self.n_workers, self.deadline)
        names = [learner.name for learner in run.learners]
        other.costs = {name: self.costs[name] for name in names}
        other.values = {name: self.values[name] for name in names}
        other.done, other.encoding, other.failed = self.done, self.encoding, self.failed
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
        left = self.deadline - time.time() - self.encoding * self.n_folds
        seconds, found = EFFICIENCY * self.n_workers * left - reserved, []
        for name in sorted(self.plan.dropped, key=lambda name: (-self.values[name], name)):
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

    def expect(self, name: str, kind: str) -> float:
        """Return the seconds of a task; without a budget, the settings tell which take longest."""
        cost = self.costs.get(name)
        if cost is None:
            return float(self.n_settings[name])
        tuning = self.tuning(name)
        return cost.tune(tuning) if kind == "tune" else cost.finish(tuning)

    def start(self, calls: Sequence[tuple[float, Call]]) -> None:
        """Handle the tasks of a round, each with the seconds that it is expected to take."""
        for expected, call in calls:
            name = call.key[1]
            if name in self.costs:
                self.expected[name] += expected / self.costs[name].correction

    def add(self, name: str, seconds: float) -> None:
        """Handle a task that is done."""
        self.done += seconds
        self.took[name] += seconds

    def correct(self) -> None:
        """Correct what the learners cost by what they took."""
        for name, cost in self.costs.items():
            if self.expected[name] > 0.0:
                took, expected = self.took[name], self.expected[name]
                cost.correction = (took + SHORT) / (expected + SHORT)

    def replan(self, finished: int, begun: Sequence[str]) -> None:
        """Plan the folds that are left, by what those before took.

        Parameters
        ----------
        finished : int
            Folds of which the settings are chosen.
        begun : sequence of str
            Learners that are still to be trained for the last one of them.
        """
        left = self.n_folds - finished
        if not self.costs:
            self.plan.seconds = self.done / finished * left if finished else math.nan
            return
        before = self.plan.dropped
        costs = {name: cost for name, cost in self.costs.items() if not self.is_dropped(name)}
        seconds = self.deadline - time.time() - self.encoding * (left - 1)
        self.plan = make_plan(
            costs,
            self.values,
            dict.fromkeys(costs, left),
            max(0.0, EFFICIENCY * self.n_workers * seconds),
            {name: self.expect(name, "finish") for name in begun if name in costs},
        )
        self._note_what_is_left_out(finished, left)
        self.plan.dropped |= before

    def _note_what_is_left_out(self, finished: int, left: int) -> None:
        done = max(0, finished - 1)
        for name in self.plan.dropped:
            what = "not compared" + (f" after {done} fold{'s' * (done > 1)}" if done else "")
            self.saved[name] = what, self.costs[name].fold(LEVELS[0]) * left
        for name, tuning in self.plan.tuning.items():
            cost = self.costs[name]
            if words := in_words(tuning, cost):
                more = cost.tune(LEVELS[0]) - cost.tune(tuning)
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
        if name not in self.costs:
            return 0.0
        cost = self.costs[name]
        return self.n_folds * (cost.n_splits + 1) * cost.fit(cost.n_train)

    def allows_curve(self, name: str) -> bool:
        """Return whether there is time for the learning curve of a learner."""
        return time.time() + self.curve(name) / self.n_workers < self.deadline
