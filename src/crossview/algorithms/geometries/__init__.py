"""Geometries: the covariance S of the weights, whose inverse is the norm of a weight change.

S is the identity, or a learned covariance per view.  All learners and all forms update it by

    S <- S - rho S x x' S / (1 + rho x'Sx),   that is   S^-1 <- S^-1 + rho x x',

with a precision rho >= 0 from the update rule.  Each form has a file with x'Sx (`sqnorm`),
W <- W + P S x (`move`) and the update of S (`grow`).  The order of calls for a row is `sqnorm`,
`find_direction`, `move` at least once, `grow`; `Scratch` holds intermediate results.
"""

from crossview._jit import borrowing, inlined_borrowing
from crossview.algorithms.geometries import diagonal, full, low_rank
from crossview.algorithms.geometries.covariance import (
    DIAGONAL,
    DIAGONAL_COVARIANCE,
    FULL,
    LOW_RANK,
    Covariance,
    Scratch,
    make_scratch,
)
from crossview.kernels.dense import add_column

__all__ = [
    "DIAGONAL",
    "DIAGONAL_COVARIANCE",
    "FULL",
    "LOW_RANK",
    "Covariance",
    "Scratch",
    "find_direction",
    "forget",
    "grow",
    "is_diagonal",
    "make_scratch",
    "move",
    "sqnorm",
]


@inlined_borrowing
def is_diagonal(S):
    """Return whether S is diagonal."""
    return S.form not in (FULL, LOW_RANK)


@inlined_borrowing
def sqnorm(row, S, scratch):
    """x'Sx, with the constant feature."""
    if S.form == FULL:
        return full.sqnorm(row, S, scratch)
    if S.form == LOW_RANK:
        return low_rank.sqnorm(row, S, scratch)
    return diagonal.sqnorm(row, S)


@inlined_borrowing
def find_direction(rho, row, S, scratch):
    """Compute S x of a full S; the same loop also updates S."""
    if S.form == FULL:
        full.grow(rho, row.v, S, scratch)


@borrowing
def move(steps, row, S, scratch, W, b):
    """W_k <- W_k + steps_k S x for each k, and the same for the intercepts of the view."""
    v, bias = row.v, row.bias
    base, end = S.ptr[v], S.ptr[v + 1]
    for k in range(steps.shape[0]):
        if steps[k] == 0.0:
            continue
        constant = bias * S.d[v]
        if S.form == FULL:
            g = scratch.g
            add_column(steps[k], g[1 : end - base + 1], W[base:end], k)
            constant = g[0]
        elif S.form == LOW_RANK:
            solution = scratch.solution[v]
            low_rank.move(steps[k], row, S, solution, W, k)
            for p in range(S.kept[v]):
                constant -= bias * S.d[v] * solution[p]
        else:
            diagonal.move(steps[k], row, S.D, W, k)
        b[v, k] += steps[k] * constant


@inlined_borrowing
def grow(rho, n, row, S, scratch):
    """S^-1 <- S^-1 + rho x x'."""
    if S.form == LOW_RANK:
        low_rank.grow(rho, n, row, S, scratch.half[row.v])
    elif is_diagonal(S):
        diagonal.grow(rho, n, row, S)


@inlined_borrowing
def forget(rule, row, S, pair):
    """S <- S / forgetting, up to the initial variance; ``pair`` has the diagonal of the pass."""
    if S.form == FULL:
        full.forget(rule, row.v, S)
    elif is_diagonal(S):
        diagonal.forget(rule, row, S, pair)
