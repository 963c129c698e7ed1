"""The quadratic program over some cuts."""

import numpy as np
import pytest

from crossview.algorithms.performance.program import ActiveSet


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("rank", [2, 5, 40])
def test_the_active_set_comes_to_the_optimality_conditions(rank, free):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        F = rng.integers(-2, 3, size=(30, rank)) + 0.5
        F[7], delta, C = F[3], rng.integers(1, 8, size=30) / 8, 10 ** rng.uniform(-2, 1)
        delta -= free * rng.integers(2)
        G, program = F @ F.T, ActiveSet()
        for k in range(1, 31):
            alpha = program.solve(G, delta[:k], C, free=free)
            slack = delta[:k] - G[:k, :k] @ alpha
            xi = slack.max() if free else max(0.0, slack.max())
            assert alpha.min() >= 0.0
            assert alpha.sum() == pytest.approx(C) if free else alpha.sum() <= C * (1 + 1e-12)
            # the value of the dual is that of the primal
            primal = alpha @ G[:k, :k] @ alpha / 2 + C * xi
            assert delta[:k] @ alpha - alpha @ G[:k, :k] @ alpha / 2 == pytest.approx(
                primal, rel=1e-6, abs=1e-12 * free
            )


def test_the_coefficients_of_the_members_reproduce_one_of_them():
    rng = np.random.default_rng(1)
    F = rng.normal(size=(8, 20))
    program = ActiveSet()
    program.solve(F @ F.T, np.ones(8), 0.1)
    members = program.members[: program.n_members]
    x = program.closest(F[members] @ F[members[0]])
    np.testing.assert_allclose(x, np.eye(len(x))[0], atol=1e-10)
