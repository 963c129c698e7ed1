"""The most violated labeling of rows in parts, of whose scores few travel.

Each part counts and adds up its scores in bins.  The sum ``c[a]`` of a side's a highest scores is
then known between two bins.  Within a bin it rises by at most the bin's upper end for each
score from the left, and by at least its lower end towards the right, so

    c[a] <= min(c[first] + (a - first) upper, c[last] - (last - a) lower),

two lines, whose corner is one more point of a concave bound.  The best table of these bounds is the
best one of all if its a and b are where the bounds are exact; otherwise the parts tell the
scores in the bins of that a and b, and the search begins again.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from crossview.algorithms.performance.tables import Tables, Top, best_table, top_of

# a wrong row asks for a margin of about 1: bins of this width, a power of 2 so that no score is
# rounded, for scores from -4 to 4; the first and the last bin have all beyond
WIDTH, N_BINS = 2.0**-6, 512
# bins above and below one whose scores are asked for that are told, too
NEIGHBORS = 1

# bins of the positive rows, and of the others
TwoBins = tuple[np.ndarray, np.ndarray]
# from bins to the scores in them, of each part
Tell = Callable[[TwoBins], list[tuple[np.ndarray, np.ndarray]]]


class Bins(NamedTuple):
    """Some scores in bins, the highest first."""

    counts: np.ndarray  # (N_BINS,)
    totals: np.ndarray  # (N_BINS,): their sum
    least: float
    largest: float


def bins_of(f: np.ndarray) -> np.ndarray:
    """Return the bin of each score: the next one begins below, so bin 0 has the highest."""
    return np.clip(np.floor(f * (-1.0 / WIDTH)) + N_BINS // 2, 0, N_BINS - 1).astype(np.int16)


def count_scores(f: np.ndarray, bins: np.ndarray) -> Bins:
    """Return how many scores are in each bin, and their sums."""
    count, total = (np.bincount(bins, w, N_BINS) for w in (None, f))
    return Bins(count, total, f.min(initial=np.inf), f.max(initial=-np.inf))


class CumulativeSums:
    """Sums of the highest scores, linear between some ranks."""

    def __init__(self, ranks: np.ndarray, sums: np.ndarray) -> None:
        self.ranks, self.sums = ranks, sums

    def __getitem__(self, a: np.ndarray) -> np.ndarray:
        """Return the sums of the a highest scores."""
        return np.interp(a, self.ranks, self.sums)


class BinnedSide:
    """The scores of one side in all parts, as far as they are known."""

    def __init__(self, parts: list[Bins]) -> None:
        self.counts = np.array([part.counts for part in parts])
        self.count = self.counts.sum(axis=0)
        self.total = np.add.reduce([part.totals for part in parts])
        # of bin k, ranks[k] scores are above, with the sum sums[k]
        self.ranks, self.sums = (
            np.concatenate([[0], np.cumsum(each)]) for each in (self.count, self.total)
        )
        ends = -WIDTH * (np.arange(N_BINS + 1) - N_BINS // 2)
        ends[0], ends[-1] = np.inf, -np.inf
        self.upper = np.minimum(ends[:-1], max(part.largest for part in parts))
        self.lower = np.maximum(ends[1:], min(part.least for part in parts))
        self.ends = ends
        self.known: dict[int, list[np.ndarray]] = {}  # the scores of each part

    def learn(self, bins: np.ndarray, parts: list[np.ndarray]) -> None:
        """Keep the scores of each part in some bins."""
        of_scores = [bins_of(f) for f in parts]
        for k in bins.tolist():
            self.known[k] = [f[own == k] for f, own in zip(parts, of_scores, strict=True)]

    def bound(self) -> CumulativeSums:
        """Return upper bounds of the sums of the highest scores."""
        k = np.flatnonzero(self.count)
        k = k[~np.isin(k, list(self.known))]
        m, first, last = self.count[k], self.ranks[k], self.ranks[k + 1]
        width = self.upper[k] - self.lower[k]
        corner = (self.total[k] - m * self.lower[k]) / np.where(width > 0.0, width, 1.0)
        ranks, sums = [self.ranks], [self.sums]
        for near in (np.floor(corner), np.ceil(corner)):
            a = first + np.clip(near, 0, m).astype(np.int64)
            left = self.sums[k] + (a - first) * self.upper[k]
            right = self.sums[k + 1] - (last - a) * self.lower[k]
            ranks.append(a)
            sums.append(np.minimum(left, right))
        for j, parts in self.known.items():
            f = np.sort(np.concatenate(parts))[::-1]
            ranks.append(self.ranks[j] + np.arange(1, len(f)))
            sums.append(self.sums[j] + np.cumsum(f[:-1]))
        different, places = np.unique(np.concatenate(ranks), return_index=True)
        return CumulativeSums(different, np.concatenate(sums)[places])

    def unknown_bins(self, a: int) -> np.ndarray:
        """Return the bins to be told before the a highest scores are known: mostly none."""
        k = self._bin_before(a)
        if a in (0, self.ranks[k + 1]) or k in self.known or self.upper[k] == self.lower[k]:
            return np.zeros(0, dtype=np.int64)
        near = np.arange(max(0, k - NEIGHBORS), min(N_BINS, k + NEIGHBORS + 1))
        return near[~np.isin(near, list(self.known))]

    def _bin_before(self, a: int) -> int:
        """Return the bin of the score of rank a."""
        return max(0, int(np.searchsorted(self.ranks, a)) - 1)

    def top(self, a: int) -> list[Top]:
        """Return the a highest scores in each part; of equal ones those of the first parts."""
        k = self._bin_before(a)
        n_parts = len(self.counts)
        if a == 0:
            return [Top(np.inf, 0)] * n_parts
        if a == self.ranks[k + 1]:
            return [Top(float(self.ends[k + 1]), 0)] * n_parts
        if k in self.known:
            parts = self.known[k]
            score, n_ties = top_of(np.sort(np.concatenate(parts))[::-1], a - self.ranks[k])
            ties = np.array([np.count_nonzero(f == score) for f in parts])
        else:  # all are equal
            score, n_ties, ties = float(self.upper[k]), a - self.ranks[k], self.counts[:, k]
        before = np.cumsum(ties) - ties
        return [Top(score, int(n)) for n in np.clip(n_ties - before, 0, ties)]


def search_binned(
    tables: Tables, sides: tuple[BinnedSide, BinnedSide], tell: Tell
) -> tuple[int, int]:
    """Return the a and b of the best table, like `best_table`."""
    positive, negative = sides
    while True:
        cp, cq = positive.bound(), negative.bound()
        if tables.convex:  # so is its maximum over b, and with cp it is highest at a corner
            a, b = best_table(tables, cp, cq, cp.ranks)
        else:
            P, N = positive.ranks[-1], negative.ranks[-1]
            a, b = best_table(tables, cp[np.arange(P + 1)], cq[np.arange(N + 1)])
        bins = positive.unknown_bins(a), negative.unknown_bins(b)
        if not (len(bins[0]) or len(bins[1])):
            return a, b
        told = tell(bins)
        for side, own, f in zip(sides, bins, zip(*told, strict=True), strict=True):
            side.learn(own, list(f))
