"""Two models on simulated logs: how often and how soon the confidence sequence names a winner."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy import optimize, special

from benchmarks.harness import Table, benchmark, size
from crossview.scoring.significance import (
    LARGEST_GUESS,
    ConfidenceSequence,
    boundary,
)

LOGS, FEWER_LOGS, LABELS = size((2000, 400, 100_000), (40, 20, 2_000))
# logs that are simulated at once
AT_ONCE = 20
BOUND = 1.0
# spread of the true log odds, and of the errors of both models
TRUTH = 1.5
NOISE = {"alike": 0.15, "as two learners are": 0.4, "unlike": 1.0}


def losses(rng: np.random.Generator, shape: tuple[int, int], *noise: float) -> list[np.ndarray]:
    """Return the log losses of models whose log odds are the true ones and an error."""
    z = rng.normal(0.0, TRUTH, shape)
    sign = np.where(rng.random(shape) < special.expit(z), -1.0, 1.0)
    return [np.logaddexp(0.0, sign * (z + rng.normal(0.0, own, shape))) for own in noise]


def winners(difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return per log the label after which 0 first leaves the interval, -1: never; and the sign.

    The boundary is looked up at the next lower of many variations, where it is lower, so that a
    winner is named rather too early.
    """
    clipped = np.clip(difference, -BOUND, BOUND)
    n = np.arange(1, clipped.shape[1] + 1)
    total = clipped.cumsum(axis=1)
    most = LARGEST_GUESS * BOUND
    guess = np.zeros_like(clipped)
    guess[:, 1:] = np.clip(total[:, :-1] / n[:-1], -most, most)
    variation = ((clipped - guess) ** 2).cumsum(axis=1)
    sequence = ConfidenceSequence(BOUND)
    at = np.append(0.0, np.geomspace(1e-4, max(1.0, 2.0 * variation.max()), 2000))
    heights = [boundary(v, 0.025, sequence.scale, sequence.rho) for v in at]
    low = np.array(heights)[np.searchsorted(at, variation, side="right") - 1]
    outside = np.abs(total) > low
    first = np.where(outside.any(axis=1), outside.argmax(axis=1), -1)
    return first, np.sign(np.take_along_axis(total, np.maximum(first, 0)[:, None], 1))[:, 0]


def decisions(
    seed: int, first: float, second: float, logs: int, n: int
) -> Iterator[tuple[int, float]]:
    """Yield for each log when a winner is named, and which: 1 is the second model."""
    rng = np.random.default_rng(seed)
    for _ in range(logs // AT_ONCE):
        one, other = losses(rng, (AT_ONCE, n), first, second)
        yield from zip(*(found.tolist() for found in winners(one - other)), strict=True)


def worse_by(share: float, noise: float) -> tuple[float, float, float]:
    """Return a larger noise with which the loss is higher by a share, and mean and deviation of d.

    The same rows and labels are used for each, so that the loss grows smoothly.
    """
    rng = np.random.default_rng(1)
    shape = (1, 2_000_000)
    z = rng.normal(0.0, TRUTH, shape)
    p, e, own = special.expit(z), rng.normal(size=shape), rng.normal(0.0, noise, shape)

    def both(score: np.ndarray) -> list[np.ndarray]:
        return [np.logaddexp(0.0, sign * score) for sign in (-1.0, 1.0)]

    def mean(values: list[np.ndarray]) -> float:
        return float((p * values[0] + (1.0 - p) * values[1]).mean())

    mine = both(z + own)

    def excess(more: float) -> float:
        return mean(both(z + more * e)) - (1.0 + share) * mean(mine)

    worse = float(optimize.brentq(excess, noise, 3.0, xtol=1e-4))
    d = [np.clip(a - b, -BOUND, BOUND) for a, b in zip(both(z + worse * e), mine, strict=True)]
    m = mean(d)
    return worse, m, math.sqrt(mean([x * x for x in d]) - m * m)


@benchmark("docs/reproduction.md")
def sequences() -> list[Table]:
    """How often an equal model is declared better, and when one that is better by 1 % is found."""
    equal = Table(["two equal models", "logs", "labels of each", "a winner is named, %"])
    for name, noise in NOISE.items():
        found = [at >= 0 for at, _ in decisions(0, noise, noise, LOGS, LABELS)]
        equal.add(name, len(found), f"{LABELS:,}", f"{100.0 * np.mean(found):.2f}")
    better = Table(
        [
            "log loss higher by 1 %",
            "fixed size, labels",
            "sequence: half of the logs",
            "four of five",
            "of fixed size",
            "not in 4 x fixed, %",
            "wrong one, %",
        ]
    )
    for name, noise in NOISE.items():
        worse, mean, deviation = worse_by(0.01, noise)
        fixed = (1.959964 + 0.841621) ** 2 * (deviation / mean) ** 2
        some = list(decisions(1, worse, noise, FEWER_LOGS, int(4 * fixed)))
        at = np.array([one + 1 if one >= 0 else np.inf for one, _ in some])
        half, most = np.quantile(at, [0.5, 0.8], method="higher")
        better.add(
            name,
            f"{fixed:,.0f}",
            f"{half:,.0f}",
            f"{most:,.0f}",
            f"{half / fixed:.2f} and {most / fixed:.2f}",
            f"{100.0 * np.mean(np.isinf(at)):.2f}",
            f"{100.0 * np.mean([one >= 0 and sign < 0 for one, sign in some]):.2f}",
        )
    return [equal, better]
