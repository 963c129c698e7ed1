"""H^-1, by a Cholesky factor or by conjugate gradients, and X H^-1 X' in the space of the rows."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.sparse.linalg import LinearOperator, cg

from crossview.algorithms.performance.disagreement import Disagreement, ViewBlocks, dense

# rows and columns of the largest matrix that is factorized
LARGEST_FACTOR = 4000
# what a training needs, roughly, to choose the cheapest way: cuts, and iterations of conjugate
# gradients for each; nanoseconds of an entry of a sparse or dense matrix in a product with a
# vector, of a floating-point operation in a factorization, and of an iteration besides
CUTS, ITERATIONS, ENTRY, OPERATION, OVERHEAD = 300, 10, 1.0, 0.03, 5e5
# columns of the preconditioner's factor: those with the largest entries on the diagonal of H
HEAVY_COLUMNS = 500
# residual at which conjugate gradients stop, relative to the right-hand side: multipliers of
# large C magnify it (at 1e-6 the gap of 100,000 rows stays above 0.002)
CG_TOLERANCE = 1e-8
# below this, relative to I, the disagreement would be lost in rounding
SMALLEST_DISAGREEMENT = 1e-6


class Metric(NamedTuple):
    """The metric X H^-1 X', of which the products of two cuts are made."""

    X: Any
    inverse: "Inverse"
    gram: np.ndarray | None  # X H^-1 X', where that is cheaper than its factors


def make_metric(blocks: ViewBlocks, C2: float) -> Metric:
    """Return the products in the cheapest form."""
    by_rows = rows_pay(blocks, C2)
    coupled = C2 > 0.0 and blocks.present.shape[1] > 1
    D = Disagreement(blocks) if coupled else None
    inverse = Inverse(D, C2, iterative=by_rows or not columns_pay(blocks.X))
    return Metric(blocks.X, inverse, row_gram(blocks, C2) if by_rows else None)


class Inverse:
    """``H^-1 gamma``, for ``H = I + C2 M'M``.

    By a Cholesky factor where that is cheaper, otherwise by conjugate gradients.  Their
    preconditioner is the diagonal of H, but H itself between its heaviest columns: few columns are
    in many rows, and what the others have in common is small beside I.  Without D (one view, or
    C2 = 0) H is the identity.
    """

    def __init__(self, D: Disagreement | None, C2: float, *, iterative: bool) -> None:
        self.C2, self.trivial = C2, D is None
        self.iterative = iterative and not self.trivial
        if D is None:
            return
        self.D = D
        if iterative:
            self.diagonal = 1.0 + C2 * D.diagonal()
            self.heavy = np.argsort(-self.diagonal, kind="stable")[:HEAVY_COLUMNS]
        among = D.matrix(self.heavy) if iterative else D.matrix()
        self.factor = cho_factor(np.eye(len(among)) + C2 * among)

    def __call__(self, gamma: np.ndarray, norm: float | None = None) -> np.ndarray:
        """Return ``H^-1 gamma``; ``norm`` is what a residual is relative to, by default |gamma|."""
        if self.trivial:
            return gamma
        if not self.iterative:
            return cho_solve(self.factor, gamma, check_finite=False)

        def times_h(z: np.ndarray) -> np.ndarray:
            return z + self.C2 * self.D.times(z)

        def precondition(r: np.ndarray) -> np.ndarray:
            z = r / self.diagonal
            z[self.heavy] = cho_solve(self.factor, r[self.heavy], check_finite=False)
            return z

        shape = len(gamma), len(gamma)
        H, near = (
            LinearOperator(shape, matvec=product, dtype=np.float64)
            for product in (times_h, precondition)
        )
        norm = float(np.linalg.norm(gamma)) if norm is None else norm
        return cg(H, gamma, rtol=0.0, atol=CG_TOLERANCE * norm, M=near)[0]


def row_gram(blocks: ViewBlocks, C2: float) -> np.ndarray:
    """Return ``A = X H^-1 X'``, from the Gram matrices ``K_v = X_v X_v'`` of the views.

    With c views in a row, ``N = diag(c)`` and ``E = (C2 N)^½``, a sum over the views of each row
    ``R = sum_v (I + E K_v E)^-1`` gives ``E A E = N R^-1 N - N``.  For C2 = 0 it is ``sum_v K_v``.
    """
    if C2 == 0.0 or blocks.present.shape[1] == 1:
        return dense(blocks.X @ blocks.X.T)
    number = blocks.number.astype(np.float64)
    e = np.sqrt(C2 * number * blocks.weight)
    R = np.diag((~blocks.present.any(axis=1)).astype(np.float64))
    for v, view in enumerate(blocks.views()):
        here = np.flatnonzero(blocks.present[:, v])
        x = view[here]
        T = inverse_of(e[here, None] * dense(x @ x.T) * e[here] + np.eye(len(here)))
        if len(here) == len(e):
            R += T
        else:
            R[np.ix_(here, here)] += T
    A = inverse_of(R)
    A *= (number / e)[:, None] * (number / e)
    A[np.diag_indices_from(A)] -= number / e**2
    return A


def inverse_of(A: np.ndarray) -> np.ndarray:
    """Return the inverse of a positive definite matrix, which it overwrites."""
    factor, _ = cho_factor(A, overwrite_a=True, check_finite=False)
    upper = np.triu(dpotri(factor, overwrite_c=True)[0])
    return upper + np.triu(upper, 1).T


def columns_pay(X: Any) -> bool:
    """Return whether a factor of H is cheaper than conjugate gradients."""
    d = X.shape[1]
    return d <= LARGEST_FACTOR and (2 * CUTS * ENTRY * d**2 + OPERATION / 3 * d**3 < _iterating(X))


def rows_pay(blocks: ViewBlocks, C2: float) -> bool:
    """Return whether ``X H^-1 X'`` is cheaper than a product with X and H^-1 for each cut."""
    X, (n, V) = blocks.X, blocks.present.shape
    if n >= X.shape[1] or n > LARGEST_FACTOR:
        return False
    gram = 0.0 if sp.issparse(X) else OPERATION * n * X.size
    products = CUTS * ENTRY * n**2 / 4  # most rows are not wrong
    if C2 == 0.0 or V == 1:
        return gram + products < 2 * CUTS * ENTRY * X.size
    size = C2 * float(np.mean((X * X).sum(axis=1)))
    factors = (V + 1) * OPERATION * n**3
    return size > SMALLEST_DISAGREEMENT and gram + products + factors < _iterating(X)


def _iterating(X: Any) -> float:
    """Return the nanoseconds of conjugate gradients."""
    return CUTS * ITERATIONS * (2 * ENTRY * X.size + OVERHEAD)
