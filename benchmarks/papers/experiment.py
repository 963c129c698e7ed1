"""An experiment of a paper: its methods, what it prints, and what it claims; and how it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.harness import Picture, say
from crossview.scoring.significance import Posterior, correlated_t_posterior

# how a method is run; a baseline is always tuned
FORMS = ("as printed", "corrected", "tuned")

# measures that are not between 0 and 1: neither scaled nor cut off
NOT_SHARES = ("RMSE", "view difference")

# values by method, form and measure: one per repetition, paired between methods
Results = dict[str, dict[str, dict[str, list[float]]]]


class Claim(NamedTuple):
    """A sentence of a paper: one method is better than another one, on the same data.

    With ``sets``, the method is better on the first set than on the second one.
    """

    better: str
    than: str
    measure: str
    sets: tuple[str, str] | None = None


class Printed(NamedTuple):
    """What a paper prints of a method on a data set."""

    mean: float
    sd: float | None = None


@dataclass(frozen=True)
class Experiment:
    """A table of a paper, run again.

    ``run(data)`` returns `Results`; ``higher`` says of each measure whether more is better;
    ``absent`` says of each set that nobody can run why.
    ``test_share`` is the share of the rows in a test part, where training parts overlap; 0 where
    repetitions are independent, as random orders of a stream are.
    """

    name: str
    title: str
    source: str
    protocol: str
    sets: dict[str, Callable[[], Any]]
    run: Callable[[Any], Results]
    higher: dict[str, bool]
    claims: tuple[Claim, ...] = ()
    printed: dict[tuple[str, str, str], Printed] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    test_share: float = 0.0
    scale: float = 1.0
    digits: int = 1
    pictures: Callable[[str, Any, Results], Iterator[Picture]] | None = None

    def posterior(self, values: list[float], measure: str) -> Posterior:
        """Return what the values say of their mean."""
        scale = 1.0 if measure in NOT_SHARES else self.scale
        return correlated_t_posterior(np.asarray(values) * scale, self.test_share)

    def difference(
        self, found: dict[str, Results], claim: Claim, sets: tuple[str, str], form: str
    ) -> Posterior | None:
        """Return by how much the first is better; None if one was not run in this form.

        Repetitions on two sets are not paired: any pairing gives the variance of the difference.
        """
        one, two = (
            found.get(name, {}).get(method, {}).get(form, {}).get(claim.measure)
            for name, method in zip(sets, (claim.better, claim.than), strict=True)
        )
        if one is None or two is None:
            return None
        sign = 1.0 if self.higher[claim.measure] else -1.0
        return self.posterior((sign * np.subtract(one, two)).tolist(), claim.measure)


def in_parallel(function: Callable[..., Any], jobs: list[tuple]) -> list[Any]:
    """Call a function with each tuple of arguments, on all cores; say how long it took."""
    start = time.perf_counter()
    found = Parallel(n_jobs=-1)(delayed(function)(*job) for job in jobs)
    say(f"  {len(jobs)} tasks, {time.perf_counter() - start:.0f} s")
    return found


def run_ways(
    ways: dict[str, dict[str, Any]], function: Callable[..., dict[str, float]], given: list[tuple]
) -> Results:
    """Return what a function measures of each way, by method and form, once per repetition."""
    names = [(name, form) for name, forms in ways.items() for form in forms]
    found = iter(in_parallel(function, [(*way, *one) for way in names for one in given]))
    results: Results = {name: {} for name in ways}
    for name, form in names:
        parts = [next(found) for _ in given]
        results[name][form] = {words: [float(p[words]) for p in parts] for words in parts[0]}
    return results
