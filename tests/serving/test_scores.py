"""Scores over time: sums, their thinning, and turns."""

import json

import numpy as np
import pytest

from crossview import InputError
from crossview.scoring.significance import rankdata
from crossview.serving.scores import MINUTE, MOST_POINTS, Score, Served, turned


def served(losses, first=None):
    found = Served()
    for t, loss in enumerate(losses):
        found.add(t * MINUTE // 7, Score(float(loss), bool(loss < 0.7), 0.5), first)
    return found


def test_the_curve_is_bounded_and_loses_no_label():
    losses = np.random.default_rng(0).exponential(size=20_011)
    found = served(losses, Score(1.0, True, 0.9))
    assert MOST_POINTS // 2 <= len(found.curve) <= MOST_POINTS
    assert sum(one.n for one in found.curve) == found.total.n == len(losses)
    assert sum(one.loss for one in found.curve) == pytest.approx(losses.sum())
    assert found.total.first_n == len(losses)
    # the minutes are those of the last hour and a half, whole
    newest = (len(losses) - 1) * MINUTE // 7
    hour = found.since(newest - 60 * MINUTE)
    start = (newest - 60 * MINUTE) // MINUTE * MINUTE
    some = [loss for t, loss in enumerate(losses) if t * MINUTE // 7 >= start]
    assert (hour.n, hour.loss) == (len(some), pytest.approx(sum(some)))
    # what a model file keeps is all
    assert Served.from_json(json.loads(json.dumps(found.to_json()))) == found
    for wrong in ({"total": [1]}, {"curve": [[0, "a"]]}, {"labels": None}):
        with pytest.raises(InputError):
            Served.from_json(found.to_json() | wrong)


@pytest.mark.parametrize("n", [1000, 4000])
def test_a_turn_is_found_where_it_is_and_not_by_chance(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        losses = rng.pareto(1.5, size=n)  # some are very large
        assert turned(served(losses).curve) is None
        assert turned(served(np.sort(losses)[::-1]).curve) is None  # it learns
        at = 3 * n // 5
        losses[at:] += 3.0
        before, since = turned(served(losses).curve)
        assert abs(before.n - at) <= n // 8
        assert since.loss / since.n > before.loss / before.n


def test_what_hardly_changes_is_no_turn():
    rng = np.random.default_rng(0)
    rare = np.where(rng.random(4000) < 0.02, 4.0, 0.0)
    drifting = np.linspace(0.015, 0.020, 4000)  # the usual loss, a percent of the mean a time
    assert turned(served(rare + drifting).curve) is None
    more = np.where(rng.random(4000) < np.where(np.arange(4000) < 2000, 0.02, 0.1), 4.0, 0.0)
    before, since = turned(served(more + drifting).curve)
    assert since.loss / since.n > 3 * before.loss / before.n


def test_ranks_are_those_of_the_reference():
    from scipy.stats import rankdata as reference

    values = np.random.default_rng(1).integers(9, size=50)
    np.testing.assert_array_equal(rankdata(values), reference(values))
