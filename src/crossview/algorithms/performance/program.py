"""The quadratic program over some cuts."""

import numpy as np
import piqp

# tolerance of the interior-point solver; multipliers below MULTIPLIER_TOL count as 0
INTERIOR_POINT_TOL = 1e-10
MULTIPLIER_TOL = 1e-9
# excess of a slack over xi, relative to their size, at which a cut joins the program
SLACK_TOL = 1e-7


def solve_program(G: np.ndarray, delta: np.ndarray, C: float, start: np.ndarray) -> np.ndarray:
    """Return the alpha >= 0 with a sum of at most C of largest ``delta·alpha - ½ alpha'G alpha``.

    ``start`` says which may be above 0 at first: those of the last solution, and the new cut.
    Cuts whose slack would be above xi join them, until there are none.
    """
    while True:
        some = np.flatnonzero(start)
        alpha = np.zeros(len(delta))
        alpha[some] = C * interior_point(C * G[np.ix_(some, some)], delta[some])
        slack = delta - G @ alpha
        xi = max(0.0, float(slack[some].max()))
        more = ~start & (slack > xi + SLACK_TOL * (xi + np.abs(delta).max()))
        if not more.any():
            return alpha
        start = start | more


def interior_point(Q: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return the x >= 0 with a sum of at most 1 that maximizes ``c·x - ½ x'Q x``, by PIQP."""
    n = len(c)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = INTERIOR_POINT_TOL
    solver.setup(
        np.asfortranarray(Q),
        -c,
        G=np.ones((1, n), order="F"),
        h_l=np.array([-np.inf]),
        h_u=np.ones(1),
        x_l=np.zeros(n),
        x_u=np.full(n, np.inf),
    )
    solver.solve()
    # its status does not matter: a feasible point gives a valid bound
    x = np.where(solver.result.x > MULTIPLIER_TOL, solver.result.x, 0.0)
    return x / max(1.0, x.sum())
