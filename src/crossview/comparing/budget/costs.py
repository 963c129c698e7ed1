"""What the learners of a comparison take."""

from __future__ import annotations

import math
from collections import defaultdict

from crossview.catalog.learner import Learner
from crossview.comparing.budget.plan import Cost
from crossview.comparing.folds.parts import Fold
from crossview.comparing.folds.tuning import can_refine
from crossview.comparing.folds.work import Probe
from crossview.comparing.run import Run

__all__ = ["Costs"]


class Costs:
    """What each learner takes: estimated by a first slice, corrected by what its tasks took.

    Attributes
    ----------
    known : dict of str to Cost
        By the name of the learner; empty where there is no budget.
    values : dict of str to float
        What it reached on the first slice, higher is better.
    took : dict of str to float
        Seconds that the tasks of each took.
    done : float
        Seconds that all tasks took.
    """

    def __init__(self) -> None:
        self.known: dict[str, Cost] = {}
        self.values: dict[str, float] = {}
        self.took: dict[str, float] = defaultdict(float)
        self.done = 0.0

    def fit(self, name: str) -> float:
        """Return the seconds of a fit of all training rows; 0 where there is no budget."""
        cost = self.known.get(name)
        return 0.0 if cost is None else cost.fit(cost.n_train)

    def add_probe(self, run: Run, learner: Learner, fold: Fold, probe: Probe) -> None:
        """Learn from a first slice what a learner costs."""
        once = learner.stops_early or not learner.streams
        refined = {
            name: run.grid.get(name, values)
            for name, values in learner.refined.items()
            if can_refine(run, learner, fold, name)
        }
        # more passes are tried if the first ones gained
        passes = [
            values[0] if name == "epochs" else 1 for name, values in refined.items() if values
        ]
        self.known[learner.name] = Cost.of_probe(
            probe,
            n_settings=len(learner.candidates(run.grid)),
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
        if name in self.known and expected > 0.0:
            self.known[name].add(n_rows, seconds, expected)
