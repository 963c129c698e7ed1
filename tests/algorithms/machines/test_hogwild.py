"""The pass by several threads."""

import numpy as np
import pytest

from crossview.algorithms import losses
from crossview.algorithms.machines import hogwild, online
from machine_data import (
    LOSSES,
    OPTIMIZERS,
    examples_of,
    make_machine,
    objective_of,
    rows_of,
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
    given = machine, objective_of("logistic"), OPTIMIZERS["adagrad"], 0.1, scores
    found = learn(rows_of(X, WIDTHS), examples_of(y), *given)
    return machine, scores, found


def two_threads(*given):
    return hogwild.learn(2, *given)


def test_threads_share_the_parameters(data):
    alone, scores_alone, _ = pass_over(data, online.learn)
    shared, scores, nonfinite_row = pass_over(data, two_threads)
    assert nonfinite_row == -1
    # each row was scored before it was learned, and the rows of the other half did help
    middle = ROWS // 2
    last = slice(ROWS - 1_000, ROWS), slice(middle - 1_000, middle)
    for rows in last:
        loss, expected = (
            losses.row_losses(LOSSES["logistic"], s[rows], data[1][rows]).mean()
            for s in (scores, scores_alone)
        )
        assert loss < 1.1 * expected
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
