"""The pass by several threads."""

import numpy as np
import pytest

from crossview.algorithms import losses
from crossview.algorithms.machines import hogwild, online
from crossview.algorithms.machines.online import Pace
from machine_data import (
    LOSSES,
    OPTIMIZERS,
    examples_of,
    make_machine,
    objective_of,
    rows_of,
    scores_of,
)

WIDTHS, ROWS = [200, 300], 6_000


@pytest.fixture(scope="module")
def data():
    """Rows of few columns out of many, whose labels a machine can learn."""
    rng = np.random.default_rng(0)
    X = np.zeros((ROWS, sum(WIDTHS)))
    for _ in range(4):
        X[np.arange(ROWS), rng.integers(0, WIDTHS[0], ROWS)] = 1.0
        X[np.arange(ROWS), WIDTHS[0] + rng.integers(0, WIDTHS[1], ROWS)] = 1.0
    return X, np.where(X @ rng.normal(size=sum(WIDTHS)) > 0.0, 1.0, -1.0)


def pass_over(data, learn, rows=slice(None)):
    """The machine after a pass, the scores of the rows, and what the pass returns."""
    X, y = data[0][rows], data[1][rows]
    machine, _, _ = make_machine(WIDTHS, 3, layers=2)
    machine.A[:, 0] *= 0.02
    scores = np.full((len(y), 1), np.inf)
    given = machine, objective_of("logistic"), Pace(OPTIMIZERS["adagrad"], 0.1), scores
    found = learn(rows_of(X, WIDTHS), examples_of(y), *given)
    return machine, scores, found


def two_threads(*given):
    return hogwild.learn(2, *given)


def loss_of(scores, y):
    return losses.row_losses(LOSSES["logistic"], scores, y).mean()


def test_threads_share_the_parameters(data):
    X, y = data
    alone, _, _ = pass_over(data, online.learn)
    shared, scores, nonfinite_row = pass_over(data, two_threads)
    assert nonfinite_row == -1
    # each row was scored before it was learned: worse than after it
    assert np.isfinite(scores).all()
    after, in_order = (loss_of(scores_of(X, WIDTHS, machine), y) for machine in (shared, alone))
    assert after < loss_of(scores, y)
    # whichever thread came first, both have learned as much as one
    assert after == pytest.approx(in_order, rel=0.1)
    half, _, _ = pass_over(data, online.learn, slice(ROWS // 2))
    assert after < 0.9 * loss_of(scores_of(X, WIDTHS, half), y)
    # every column that a row had has moved, by steps of about the same size
    assert shared.A[:, 1].any(axis=1).all()
    ratio = shared.A[:, 1].sum() / alone.A[:, 1].sum()
    assert 0.8 < ratio < 1.25


@pytest.mark.parametrize(("n_threads", "rows"), [(1, ROWS), (2, 2 * hogwild.LEAST_ROWS - 1)])
def test_one_thread_and_few_rows_are_the_plain_pass(data, n_threads, rows):
    alone, scores_alone, _ = pass_over(data, online.learn, slice(rows))
    other, scores, _ = pass_over(data, lambda *g: hogwild.learn(n_threads, *g), slice(rows))
    np.testing.assert_array_equal(scores, scores_alone)
    for name in ("A", "B", "c"):
        np.testing.assert_array_equal(getattr(other, name), getattr(alone, name))


@pytest.mark.parametrize("row", [7, ROWS - 7])
def test_a_row_that_is_not_finite_is_found_by_any_thread(data, row):
    X = data[0].copy()
    X[row, 0] = 1e200
    machine, scores, nonfinite_row = pass_over((X, data[1]), two_threads)
    assert nonfinite_row == row
    assert np.flatnonzero(np.isnan(scores[:, 0])).tolist() == [row]
    assert np.isfinite(machine.A).all()
