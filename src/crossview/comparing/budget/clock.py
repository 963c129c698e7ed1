"""Clock of a comparison, and seconds that a task takes."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from crossview.compiling import seconds_of_compiling, seconds_of_work

# a busy machine may take so many times the budget
MOST_SLOWNESS = 2.0
# workers disturb each other a little, on a machine that does nothing else
OWN_SLOWNESS = 1.1
# a task that has compiled for longer says nothing of how busy the machine is
SECONDS_TO_LOAD = 0.1


class Took(NamedTuple):
    """Seconds of a task.

    work: of a processor, without compiling.
    passed: by the clock on the wall, without compiling.
    compiled: of compiling.
    """

    work: float
    passed: float
    compiled: float = 0.0


class StopWatch:
    """Watch that starts when it is made, in the thread that works.

    >>> from crossview.comparing.budget.clock import StopWatch
    >>> StopWatch().read().compiled
    0.0
    """

    def __init__(self) -> None:
        self.start = seconds_of_work(), time.perf_counter(), seconds_of_compiling()

    def read(self) -> Took:
        """Return the seconds since the start."""
        work, passed, compiled = self.start
        compiled = seconds_of_compiling() - compiled
        passed = time.perf_counter() - passed - compiled
        return Took(max(0.0, seconds_of_work() - work), max(0.0, passed), compiled)


class Clock:
    """Clock of a comparison, which goes slower where the machine works for others, too.

    A task of a second that lasts two, because somebody else has the processor in between, counts as
    one: a busy machine changes how long a comparison takes, and not what is compared, up to twice
    the budget.  Compiling does not count.

    budget: seconds; infinity: no end.
    start: by ``time.monotonic()``; None: now.
    compiled: seconds by which compiling has put off the end.

    >>> from crossview.comparing.budget.clock import Clock, Took
    >>> clock = Clock(60.0)
    >>> clock.add(Took(1.0, 1.5), 2)
    >>> round(clock.slowness, 2)
    1.36
    """

    def __init__(self, budget: float, start: float | None = None) -> None:
        self.budget = budget
        self.start = time.monotonic() if start is None else start
        self.compiled = self._work = self._passed = 0.0

    def add(self, took: Took, n_workers: int) -> None:
        """Handle a task that is done, one of so many at a time."""
        self.compiled += took.compiled / n_workers
        if took.compiled < SECONDS_TO_LOAD:
            self._work += took.work
            self._passed += took.passed

    @property
    def slowness(self) -> float:
        """How many times longer tasks last than on a machine that does nothing else."""
        if not self._work:
            return 1.0
        return min(max(1.0, self._passed / self._work / OWN_SLOWNESS), MOST_SLOWNESS)

    @property
    def remaining(self) -> float:
        """Seconds that are left, for a machine that does nothing else."""
        if self.budget == math.inf:
            return math.inf
        return self.budget - (time.monotonic() - self.start - self.compiled) / self.slowness
