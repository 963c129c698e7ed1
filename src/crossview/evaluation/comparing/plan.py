"""What fits into the budget: costs from a first slice, and what is left out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from crossview.evaluation.comparing.tuning import HALVING, Tuning
from crossview.evaluation.comparing.work import Probe

__all__ = ["LEVELS", "Cost", "Plan", "in_words", "make_plan"]

# what a learner may spend on choosing its setting, from all to least
LEVELS = (
    Tuning(),
    Tuning(splits=1),
    Tuning(splits=1, halving=True),
    *(Tuning(splits=1, halving=True, share=HALVING**-k) for k in (1, 2, 3)),
)
# the fewest rows that choose a setting
FEWEST_ROWS = 100


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
        Further settings that are tried from the best one on.
    correction : float
        How much longer it took than that, so far.
    """

    rows: float
    seconds: float
    growth: float
    n_settings: int
    n_splits: int
    n_inner: int
    n_train: int
    n_refined: int = 0
    correction: float = 1.0

    @classmethod
    def of_probe(cls, probe: Probe, **numbers: int) -> Cost:
        """Return the cost by a first slice, or by the last two, which tell how it grows.

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
        growth = 1.0
        if len(probe.rows) > 1 and probe.rows[-1] > probe.rows[-2]:
            more = math.log(probe.rows[-1] / probe.rows[-2])
            growth = math.log(max(probe.seconds[-1], 1e-6) / max(probe.seconds[-2], 1e-6)) / more
        # what takes next to no time tells nothing of its growth
        growth = min(max(growth, 0.0 if probe.seconds[-1] > 0.05 else 1.0), 3.0)
        return cls(probe.rows[-1], max(probe.seconds[-1], 1e-6), growth, **numbers)

    def fit(self, n: float) -> float:
        """Seconds of one fit of n rows."""
        return self.correction * self.seconds * (n / self.rows) ** self.growth

    def splits(self, tuning: Tuning) -> int:
        """How many splits it is tuned on."""
        return self.n_splits if tuning.splits is None else min(tuning.splits, self.n_splits)

    def tune(self, tuning: Tuning) -> float:
        """Seconds of choosing a setting in one training part."""
        splits = self.splits(tuning)
        n, settings = tuning.share * self.n_inner, self.n_settings
        if not tuning.halving or settings == 1:
            return settings * splits * self.fit(n)
        passed = math.ceil(settings / HALVING)
        return settings * self.fit(n / HALVING) + passed * splits * self.fit(n)

    def finish(self, tuning: Tuning) -> float:
        """Seconds of refining the setting, and of the fit that is scored."""
        refined = self.n_refined * self.splits(tuning) * self.fit(tuning.share * self.n_inner)
        return refined + self.fit(self.n_train)

    def fold(self, tuning: Tuning) -> float:
        """Seconds of one fold."""
        return self.tune(tuning) + self.finish(tuning)


@dataclass
class Plan:
    """What each learner may spend on the folds that are left.

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
    that takes longest.  If that is not enough, learners are dropped by successive halving: of those
    that take more than their part, the half that did worse on the first slice.

    Parameters
    ----------
    costs : dict of str to Cost
        Of each learner.
    values : dict of str to float
        What it reached on the first slice, higher is better.
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
    >>> from crossview.evaluation.comparing.plan import Cost, make_plan
    >>> cheap = Cost(1000, 0.01, 1.0, 5, 3, 5000, 8000)
    >>> slow = Cost(1000, 1.0, 2.0, 9, 1, 5000, 8000)
    >>> plan = make_plan({"a": cheap, "b": slow}, {"a": 0.8, "b": 0.7}, {"a": 5, "b": 5}, 60.0)
    >>> plan.dropped, plan.tuning["a"].splits is None
    ({'b'}, True)
    """
    level = dict.fromkeys(costs, 0)
    kept, more = set(costs), begun or {}

    def spent(name: str) -> float:
        return more.get(name, 0.0) + folds[name] * costs[name].fold(LEVELS[level[name]])

    while (total := sum(spent(name) for name in kept)) > seconds:
        above = [name for name in kept if spent(name) > seconds / len(kept)]
        reducible = [name for name in above if _can_reduce(costs[name], level[name])]
        if reducible:
            level[max(reducible, key=lambda name: (spent(name), name))] += 1
            continue
        if len(kept) == 1 or not above:
            break
        above.sort(key=lambda name: (values[name], name))
        kept -= set(above[: math.ceil(len(above) / 2)])
        level = dict.fromkeys(level, 0)  # what is freed is for the others
    return Plan({name: LEVELS[level[name]] for name in kept}, set(costs) - kept, total)


def _can_reduce(cost: Cost, level: int) -> bool:
    """Whether the next level is cheaper, and leaves rows enough to choose by."""
    if level + 1 == len(LEVELS):
        return False
    rows = LEVELS[level + 1].share * cost.n_inner
    return rows >= FEWEST_ROWS and any(
        cost.tune(LEVELS[more]) < cost.tune(LEVELS[level]) for more in range(level + 1, len(LEVELS))
    )


def in_words(tuning: Tuning, cost: Cost) -> str:
    """Return what a level leaves out."""
    words = []
    if tuning.splits is not None and cost.n_splits > tuning.splits:
        words.append(f"{tuning.splits} of {cost.n_splits} inner folds")
    if tuning.halving and cost.n_settings > 1:
        passed = math.ceil(cost.n_settings / HALVING)
        words.append(f"{passed} of {cost.n_settings} settings on all tuning rows")
    if tuning.share < 1.0:
        words.append(f"{round(tuning.share * cost.n_inner):,} rows choose the setting")
    return ", ".join(words)
