"""The scores of all four models, against full enumeration."""

import numpy as np
import pytest
import scipy.sparse as sp

from machine_data import MODELS, expected_scores, make_machine, problem, scores_of


@pytest.mark.parametrize("k", [1, 3, 8, 17])
@pytest.mark.parametrize("widths", [[6], [3, 2], [2, 3, 1], [2, 2, 1, 2, 3]], ids=len)
def test_the_score_is_the_full_enumeration(widths, k):
    X, _ = problem(widths, rows=8)
    machine, tables, _ = make_machine(widths, k)
    expected = expected_scores(X, widths, machine, tables)
    np.testing.assert_allclose(scores_of(X, widths, machine), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("classes", "container"), [(1, np.asarray), (3, sp.csr_array)], ids=["dense", "csr-multiclass"]
)
@pytest.mark.parametrize("model", MODELS)
def test_every_score_is_the_full_enumeration(model, classes, container):
    widths = [3, 2, 4]
    X, _ = problem(widths, rows=12)
    machine, tables, _ = make_machine(widths, 4, classes=classes, model=MODELS[model])
    expected = expected_scores(X, widths, machine, tables)
    found = scores_of(container(X), widths, machine)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_score_is_multilinear():
    """Linear in the parameters of each view, the others fixed."""
    widths = [2, 3, 1, 2]
    X, _ = problem(widths)
    for v in range(4):
        machine, _, _ = make_machine(widths, 3)
        machine.c[:] = 0.0
        one = scores_of(X, widths, machine)
        columns = slice(sum(widths[:v]), sum(widths[: v + 1]))
        rng = np.random.default_rng(v)
        other_a, other_b = rng.normal(size=machine.A[columns].shape), rng.normal(size=(1, 3))
        mixed = [machine.A[columns].copy(), machine.B[v].copy()]
        machine.A[columns], machine.B[v] = other_a, other_b
        two = scores_of(X, widths, machine)
        machine.A[columns] = 2.0 * mixed[0] - 3.0 * other_a
        machine.B[v] = 2.0 * mixed[1] - 3.0 * other_b
        np.testing.assert_allclose(
            scores_of(X, widths, machine), 2.0 * one - 3.0 * two, atol=1e-12, rtol=1e-12
        )
