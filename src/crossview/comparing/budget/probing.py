"""What each learner costs, by first slices of the first training part."""

from __future__ import annotations

import time

from crossview.catalog.learner import LEARNS_NOTHING
from crossview.comparing.budget.planner import Planner
from crossview.comparing.folds.jobs import Call, Jobs
from crossview.comparing.folds.parts import Fold
from crossview.comparing.folds.work import probe_learner
from crossview.comparing.observer import ComparisonObserver
from crossview.comparing.run import Run

__all__ = ["probe"]

# of the budget: no learner is estimated later
MOST_TO_PROBE = 0.3
# compiling for less than this counts as any other work
MOST_SECONDS_TO_LOAD = 3.0


def probe(
    run: Run, first: Fold, planner: Planner, jobs: Jobs, observer: ComparisonObserver
) -> None:
    """Tell the planner what each learner costs, those of least effort first.

    Parameters
    ----------
    run : Run
        What is compared.
    first : Fold
        The rows.
    planner : Planner
        Its deadline is put off by what compiling takes.
    jobs : Jobs
        The workers.
    observer : ComparisonObserver
        Is told of it.
    """
    observer.say(
        "estimating the cost of each model on a first slice of the rows; the first time on a "
        "machine, the models are compiled"
    )
    compiled, now = 0.0, time.time()
    latest = now + MOST_TO_PROBE * (planner.deadline - now)
    # what learns nothing takes next to no time
    cheap_first = sorted(run.learners, key=lambda one: one.effort % LEARNS_NOTHING)
    learners = {one.name: one for one in cheap_first}
    calls = []
    for i, (name, learner) in enumerate(learners.items()):
        # what ours are measured by is tried in any case
        given = (run, learner, first, latest, i == 0 or learner.baseline)
        calls.append(Call(("probe", name), probe_learner, given))
    for (_, name), found in planner.failed.drop(jobs.run(calls)):
        if found is None:
            planner.give_up(name)
            continue
        planner.costs.add_probe(run, learners[name], first, found)
        compiled += found.compiled / jobs.n_workers
    if compiled > MOST_SECONDS_TO_LOAD:
        observer.say(f"compiled for this machine, once, in {compiled:.0f} s")
        planner.deadline += compiled
