"""The most violated labeling (14) of a loss of the contingency table.

``a`` of P positive rows are found, with ``b`` of N others.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from crossview.algorithms.performance.monotone import G_MEAN, monotone_argmax


def f_loss(a: Any, b: Any, P: int, N: int, beta: float) -> Any:
    """Return 1 - F = 1 - (1 + β²) a / (a + β² P + b); it is concave in b, and convex in a."""
    return 1.0 - (1.0 + beta**2) * a / (a + beta**2 * P + b)


def g_mean_loss(a: Any, b: Any, P: int, N: int) -> Any:
    """Return 1 - sqrt(a/P · (N - b)/N)."""
    return 1.0 - np.sqrt(a / P) * np.sqrt((N - b) / N)


def precision_loss(a: Any, b: Any, P: int, N: int) -> Any:
    """Return 1 - a / (a + b); 1 if no row is predicted positive."""
    return 1.0 - a / np.maximum(a + b, 1)


def recall_loss(a: Any, b: Any, P: int, N: int) -> Any:
    """Return 1 - a/P."""
    return 1.0 - a / P + 0.0 * b


# tables that a full scan has in memory at once
SCAN_AT_ONCE = 2**20


class Sides(NamedTuple):
    """The scores of the positive and of the negative rows, falling, and their cumulative sums."""

    p: np.ndarray  # (P,)
    q: np.ndarray  # (N,)
    cp: np.ndarray  # (P + 1,): sum of the a highest scores
    cq: np.ndarray  # (N + 1,)


class Top(NamedTuple):
    """The rows of a side with the highest scores: those above a score, and the first ones at it."""

    score: float
    ties: int


class Tables(NamedTuple):
    """The contingency tables that a measure admits, and their loss."""

    delta: Callable[[Any, Any], Any]  # of a and b
    unit: float  # a wrong row weighs one over this
    lo: np.ndarray  # (P + 1,): for each a the least b that is admitted
    hi: np.ndarray  # (P + 1,): ... and the largest; below lo if there is none
    concave: bool  # whether delta is concave in b for each a
    convex: bool = False  # whether delta is convex in a for each b, and all tables are admitted


def sort_sides(f: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> Sides:
    """Sort the scores of both sides."""
    p, q = (np.sort(f[side])[::-1] for side in (positive, negative))
    return Sides(p, q, *(np.concatenate([[0.0], np.cumsum(side)]) for side in (p, q)))


def top_of(falling: np.ndarray, a: int) -> Top:
    """Return the a highest of some falling scores."""
    if a == 0:
        return Top(np.inf, 0)
    score = float(falling[a - 1])
    return Top(score, a - int(np.searchsorted(-falling, -score)))


def is_in_top(f: np.ndarray, top: Top) -> np.ndarray:
    """Return which scores are in the top."""
    found = f > top.score
    found[np.flatnonzero(f == top.score)[: top.ties]] = True
    return found


def label_rows(
    f: np.ndarray, positive: np.ndarray, negative: np.ndarray, found: tuple[Top, Top]
) -> np.ndarray:
    """Return ``unit s`` of the labeling that finds some positive rows and some others."""
    s = np.zeros(len(f))
    s[positive] = ~is_in_top(f[positive], found[0])
    s[negative] = -1.0 * is_in_top(f[negative], found[1])
    return s


def best_table(tables: Tables, cp: Any, cq: Any, a: np.ndarray | None = None) -> tuple[int, int]:
    """Return the a and b of largest ``delta(a, b) + cp[a] / unit + cq[b] / unit``.

    For a fixed a the value is concave in b if delta is, because the scores fall, and its forward
    difference says on which side of b the maximum lies: log2(N) steps for all a at once.
    Otherwise every table is looked at.  ``a`` are the ones to look at, by default all of them.
    """
    delta, unit, lo, hi = tables[:4]
    a = np.flatnonzero(lo <= hi) if a is None else a
    if not tables.concave:
        return max(scan_tables(tables, cp, cq, a), key=lambda found: found[0])[1:]
    lo, hi = lo[a], hi[a]
    while (wide := lo < hi).any():
        b = (lo + hi) // 2
        after = np.minimum(b + 1, hi)
        grows = delta(a, after) - delta(a, b) + (cq[after] - cq[b]) / unit > 0.0
        lo = np.where(wide & grows, after, lo)
        hi = np.where(wide & ~grows, b, hi)
    value = delta(a, lo) + cp[a] / unit + cq[lo] / unit
    best = int(np.argmax(value))
    return int(a[best]), int(lo[best])


def scan_tables(
    tables: Tables, cp: np.ndarray, cq: np.ndarray, a: np.ndarray
) -> Iterator[tuple[float, int, int]]:
    """Look at all tables of each a; yield the best value of some a at a time, with its a and b."""
    delta, unit, lo, hi = tables[:4]
    b = np.arange(len(cq))
    at_once = max(1, SCAN_AT_ONCE // len(b))
    for begin in range(0, len(a), at_once):
        rows = a[begin : begin + at_once, None]
        value = delta(rows, b) + cp[rows] / unit + cq / unit
        value = np.where((b >= lo[rows]) & (b <= hi[rows]), value, -np.inf)
        i, j = np.unravel_index(np.argmax(value), value.shape)
        yield float(value[i, j]), int(rows[i, 0]), int(j)


def best_g_mean(tables: Tables, cp: np.ndarray, cq: np.ndarray) -> tuple[int, int]:
    """Return the same for the G-mean, whose loss is a product of a part of a and one of b.

    So the best b never falls as a grows.
    """
    P, N, unit = len(cp) - 1, len(cq) - 1, tables.unit
    row, slope = np.sqrt(np.arange(P + 1) / P), np.sqrt((N - np.arange(N + 1)) / N)
    b = np.empty(P + 1, dtype=np.int64)
    monotone_argmax(G_MEAN, row, cq / unit, slope, b)
    a = int(np.argmax(cp / unit + cq[b] / unit - row * slope[b]))
    return a, int(b[a])
