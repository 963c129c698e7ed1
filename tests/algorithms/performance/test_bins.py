"""The search in bins of rows in parts: the labeling of one machine, though few scores are told."""

import numpy as np
import pytest

from crossview import Measure
from crossview.algorithms.performance.bins import (
    WIDTH,
    BinnedSide,
    bins_of,
    count_scores,
    search_binned,
)
from crossview.algorithms.performance.problem import make_problem
from crossview.algorithms.performance.tables import is_in_top, label_rows, top_of

JACCARD = Measure(lambda tp, fp, fn, tn: tp / (tp + fp + fn), concave=True)
MEASURES = ("fbeta", "prbep", "precision_at_k", "recall_at_k", "precision_at_k:exact", "")


def binned(parts):
    return BinnedSide([count_scores(f, bins_of(f)) for f in parts])


def scores_in(parts, bins):
    return [f[np.isin(bins_of(f), bins)] for f in parts]


def split(rng, *arrays):
    """The same pieces of each array, some of them empty."""
    cuts = np.sort(rng.integers(0, len(arrays[0]) + 1, 3))
    return [np.split(each, cuts) for each in arrays]


def kinds_of_scores(rng, n):
    """Within a margin, far beyond it, in one bin, at the ends of bins, and in ties."""
    f = rng.normal(size=n)
    yield from (f, 20.0 * f, 0.001 * f, np.round(f / WIDTH) * WIDTH, rng.integers(-2, 3, n) / 3)
    yield np.zeros(n)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_labeling_is_as_violated_as_that_of_one_machine(measure):
    rng = np.random.default_rng(0)
    for n in (6, 60, 300):
        for f in kinds_of_scores(rng, n):
            y = np.where(f + rng.normal(size=n) > 0.5, 1, -1)
            y[:2] = 1, -1
            loss = {} if measure else {"delta": JACCARD.loss, "concave": True}
            problem = make_problem(measure, y, np.ones(n), k=1 + n // 5, beta=0.7, **loss)
            parts, signs = split(rng, f, y)
            p, q = ([f[s == sign] for f, s in zip(parts, signs, strict=True)] for sign in (1, -1))
            sides = binned(p), binned(q)

            def tell(bins, p=p, q=q):
                return list(zip(scores_in(p, bins[0]), scores_in(q, bins[1]), strict=True))

            a, b = search_binned(problem.tables, sides, tell)
            tops = zip(sides[0].top(a), sides[1].top(b), strict=True)
            s = [
                label_rows(f, np.flatnonzero(s > 0), np.flatnonzero(s < 0), found)
                for f, s, found in zip(parts, signs, tops, strict=True)
            ]
            s = np.concatenate(s) / problem.tables.unit
            assert (a, b) == (np.sum(s[y > 0] == 0.0), np.sum(s[y < 0] != 0.0))
            here = problem.search(f)
            ours, theirs = problem.tables.delta(a, b) - s @ f, here.delta - here.s @ f
            assert ours == pytest.approx(theirs, abs=1e-12)


def test_equal_scores_are_taken_in_the_order_of_the_rows():
    rng = np.random.default_rng(1)
    for f in kinds_of_scores(rng, 40):
        falling = np.sort(f)[::-1]
        by_row = np.argsort(-f, kind="stable")
        (parts,) = split(rng, f)
        for a in range(41):
            side = binned(parts)
            side.learn(bins := side.unknown_bins(a), scores_in(parts, bins))
            tops = side.top(a)
            there = [is_in_top(f, top) for f, top in zip(parts, tops, strict=True)]
            np.testing.assert_array_equal(np.concatenate(there), is_in_top(f, top_of(falling, a)))
            assert set(np.flatnonzero(np.concatenate(there))) == set(by_row[:a])


def test_sums_of_the_highest_scores_are_bounded_and_exact_where_scores_are_told():
    rng = np.random.default_rng(2)
    for f in kinds_of_scores(rng, 200):
        (parts,) = split(rng, f)
        side, sums = binned(parts), np.concatenate([[0.0], np.cumsum(np.sort(f)[::-1])])
        a = np.arange(201)
        assert (side.bound()[a] >= sums - 1e-9).all()
        for k in (0, 50, 199):
            side.learn(bins := side.unknown_bins(k), scores_in(parts, bins))
        bound = side.bound()[a]
        assert (bound >= sums - 1e-9).all()
        exact = [len(side.unknown_bins(k)) == 0 for k in a]
        assert sum(exact) > 6
        np.testing.assert_allclose(bound[exact], sums[exact], atol=1e-9)


def test_few_scores_are_told():
    rng = np.random.default_rng(3)
    n, told = 100_000, []
    y = np.where(rng.random(n) < 0.3, 1, -1)
    f = 0.5 * y + rng.normal(size=n)
    p, q = f[y > 0], f[y < 0]

    def tell(bins):
        told.append([scores_in([p], bins[0])[0], scores_in([q], bins[1])[0]])
        return told[-1:]

    search_binned(make_problem("fbeta", y, np.ones(n)).tables, (binned([p]), binned([q])), tell)
    assert len(told) <= 2
    assert sum(len(one) for both in told for one in both) < 0.05 * n
