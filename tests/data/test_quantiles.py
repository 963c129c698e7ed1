"""Quantiles: knots at the quantiles of the first values, and where numbers lie between them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.encoding.statistics import FIRST_PLACED, LAST_PLACED, Quantiles


def knots_of(values, n):
    """Distinct quantiles in the middle of n equal parts, by NumPy."""
    return np.unique(np.quantile(values, [(k + 0.5) / n for k in range(n)]))


def column(n, seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    values = np.round(rng.gamma(2, 10, n), 1)
    values[rng.random(n) < missing] = np.nan
    return values


def by_rows(values, n_knots):
    """The positions, one row at a time: a reference."""
    seen, knots, places = [], np.empty(0), []
    steps = {2**k for k in range(20) if FIRST_PLACED <= 2**k <= LAST_PLACED}
    for x in values:
        if not np.isnan(x):
            seen.append(x)
            if len(seen) in steps:
                knots = knots_of(seen, n_knots)
        ok = len(knots) > 1 and not np.isnan(x)
        places.append(np.interp(x, knots, range(len(knots))) if ok else np.nan)
    return np.array(places), knots


def test_positions_on_a_stream_are_those_of_one_row_at_a_time():
    values = np.column_stack([column(6000, 0), column(6000, 1, missing=0.9), np.zeros(6000)])
    quantiles = Quantiles(3, 10)
    found = quantiles.positions(values, learn=True)
    for c in range(3):
        expected, knots = by_rows(values[:, c], 10)
        np.testing.assert_array_equal(found[:, c], expected)
        if c < 2:
            np.testing.assert_array_equal(quantiles.knots[c], knots)
    assert np.isnan(found[:, 2]).all()  # a constant has no bins
    # the knots stay
    before = [knots.copy() for knots in quantiles.knots]
    quantiles.positions(values[:, [1, 0, 2]] + 100, learn=True)
    np.testing.assert_array_equal(quantiles.knots[0], before[0])


@given(cuts=st.lists(st.integers(1, 299), max_size=4))
def test_batches_and_resuming_change_nothing(cuts):
    values = np.column_stack([column(300, 2), column(300, 3, missing=0.7)])
    whole, cut = Quantiles(2, 5), Quantiles(2, 5)
    expected = whole.positions(values, learn=True)
    ends = sorted({0, *cuts, 300})
    found = []
    for a, b in itertools.pairwise(ends):
        found.append(cut.positions(values[a:b], learn=True))
        state, cut = cut.state(), Quantiles(2, 5)
        cut.set_state(state)
    np.testing.assert_array_equal(np.vstack(found), expected)
    np.testing.assert_array_equal(cut.positions(values), whole.positions(values))


def test_fitted_knots_are_the_quantiles_of_all_rows():
    values = column(10_000, 4)[:, None]
    quantiles = Quantiles(1, 10)
    quantiles.fit(values)
    np.testing.assert_array_equal(quantiles.knots[0], knots_of(values[~np.isnan(values)], 10))
    assert quantiles.state()["first_values"].size == 0  # nothing to wait for


@pytest.mark.parametrize("stream", [True, False])
def test_a_column_of_two_values_has_no_bins_and_one_of_three_has(stream):
    values = np.arange(600)[:, None] % np.array([2, 3])
    quantiles = Quantiles(2, 10)
    if stream:
        quantiles.positions(values.astype(float), learn=True)
    else:
        quantiles.fit(values.astype(float))
    assert [len(knots) for knots in quantiles.knots] == [0, 3]
