"""The most violated labeling (14) of a loss of the contingency table."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from crossview.algorithms.performance.cut import Cut
from crossview.algorithms.performance.monotone import G_MEAN, monotone_argmax

# tables that a full scan has in memory at once
SCAN_AT_ONCE = 2**20


class Sides(NamedTuple):
    """The positive and the negative rows by falling score, and cumulative sums of the scores."""

    positive: np.ndarray  # (P,): rows
    negative: np.ndarray  # (N,)
    cp: np.ndarray  # (P + 1,): sum of the a highest scores
    cq: np.ndarray  # (N + 1,)


class Tables(NamedTuple):
    """The contingency tables that a measure admits, and their loss."""

    delta: Callable[[Any, Any], Any]  # of a and b
    unit: float  # a wrong row weighs one over this
    lo: np.ndarray  # (P + 1,): for each a the least b that is admitted
    hi: np.ndarray  # (P + 1,): ... and the largest; below lo if there is none
    concave: bool  # whether delta is concave in b for each a


def sort_sides(f: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> Sides:
    """Sort the rows of both sides by falling score."""
    p, q = (side[np.argsort(-f[side])] for side in (positive, negative))
    return Sides(p, q, *(np.concatenate([[0.0], np.cumsum(f[side])]) for side in (p, q)))


def cut_of_table(sides: Sides, tables: Tables, a: int, b: int) -> Cut:
    """Return the labeling that finds the a highest positive rows and the b highest others."""
    s = np.zeros(len(sides.positive) + len(sides.negative))
    s[sides.positive[a:]] = 1.0 / tables.unit
    s[sides.negative[:b]] = -1.0 / tables.unit
    return Cut(float(tables.delta(a, b)), s)


def best_table(tables: Tables, sides: Sides) -> tuple[int, int]:
    """Return the a and b of largest ``delta(a, b) - (cp[P] - cp[a]) / unit + cq[b] / unit``.

    For a fixed a the value is concave in b if delta is, because the scores fall, and its forward
    difference says on which side of b the maximum lies: log2(N) steps for all a at once.
    Otherwise every table is looked at.
    """
    delta, unit, lo, hi, concave = tables
    cp, cq = sides.cp, sides.cq
    a = np.flatnonzero(lo <= hi)
    if not concave:
        return max(scan_tables(tables, sides, a), key=lambda found: found[0])[1:]
    lo, hi = lo[a], hi[a]
    while (wide := lo < hi).any():
        b = (lo + hi) // 2
        after = np.minimum(b + 1, len(cq) - 1)
        grows = delta(a, after) - delta(a, b) + (cq[after] - cq[b]) / unit > 0.0
        lo = np.where(wide & grows, after, lo)
        hi = np.where(wide & ~grows, b, hi)
    value = delta(a, lo) - (cp[-1] - cp[a]) / unit + cq[lo] / unit
    best = int(np.argmax(value))
    return int(a[best]), int(lo[best])


def scan_tables(tables: Tables, sides: Sides, a: np.ndarray) -> Iterator[tuple[float, int, int]]:
    """Look at all tables of each a; yield the best value of some a at a time, with its a and b."""
    delta, unit, lo, hi, _ = tables
    b = np.arange(len(sides.cq))
    at_once = max(1, SCAN_AT_ONCE // len(b))
    for begin in range(0, len(a), at_once):
        rows = a[begin : begin + at_once, None]
        value = delta(rows, b) - (sides.cp[-1] - sides.cp[rows]) / unit + sides.cq / unit
        value = np.where((b >= lo[rows]) & (b <= hi[rows]), value, -np.inf)
        i, j = np.unravel_index(np.argmax(value), value.shape)
        yield float(value[i, j]), int(rows[i, 0]), int(j)


def best_g_mean(tables: Tables, sides: Sides) -> tuple[int, int]:
    """Return the same for the G-mean, whose loss is a product of a part of a and one of b.

    So the best b never falls as a grows.
    """
    P, N, unit = len(sides.positive), len(sides.negative), tables.unit
    row, slope = np.sqrt(np.arange(P + 1) / P), np.sqrt((N - np.arange(N + 1)) / N)
    b = np.empty(P + 1, dtype=np.int64)
    monotone_argmax(G_MEAN, row, sides.cq / unit, slope, b)
    a = int(np.argmax(sides.cp / unit + sides.cq[b] / unit - row * slope[b]))
    return a, int(b[a])
