"""The second-order perceptron (SOP).

Reference: Cesa-Bianchi, Conconi, Gentile, "A Second-Order Perceptron Algorithm", SIAM Journal
on Computing 34 (2005).

SOP keeps v, the sum of y x over its mistakes, and predicts the sign of v'(S^-1 + x x')^-1 x,
which is that of v'S x.  This implementation stores w = S v, so a mistake changes w in two
ways: through v <- v + y x and through S.
"""

from crossview._jit import inlined_borrowing


@inlined_borrowing
def precision(m, weight):
    """rho = 1 on a mistake (m <= 0), else 0, for a row of weight 1."""
    return weight if m <= 0.0 else 0.0


@inlined_borrowing
def step(y, score, rho, n):
    """Return the step of w <- w + rho (y - w·x) S x / (1 + rho n), which is the new S v."""
    return rho * (y - score) / (1.0 + rho * n)


@inlined_borrowing
def rescaled(w, added, shrinkage):
    """Return one weight for a diagonal S: w_i <- (w_i + rho y S_i x_i) S'_i / S_i."""
    return (w + added) * shrinkage
