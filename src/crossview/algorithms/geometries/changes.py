"""Changes of a covariance between passes: less memory, another form, new columns."""

import numpy as np

from crossview._jit import borrowing
from crossview.algorithms.geometries import full, low_rank
from crossview.algorithms.geometries.covariance import (
    DIAGONAL,
    FULL,
    LOW_RANK,
    Covariance,
    init_covariance,
    make_scratch,
    no_rows,
    with_room,
)
from crossview.kernels.rows import ZERO, Row

# columns whose variances are computed at a time, and what rounding leaves of one at least
BLOCK, TINY = 4096, 1e-30


@borrowing
def grow_low_rank(S, v, bias, kept, scratch):
    """Store rows in a view without stored rows: recompute their Cholesky factor."""
    x, j, indptr, rho = kept
    for p in range(rho.shape[0]):
        row = Row(x, j, indptr[p], indptr[p + 1], ZERO, v, bias)
        n = low_rank.sqnorm(row, S, scratch)
        low_rank.grow(rho[p], n, row, S, scratch.half[v])


@borrowing
def grow_full(S, v, bias, kept, scratch):
    """Update a full covariance with stored rows."""
    x, j, indptr, rho = kept
    for p in range(rho.shape[0]):
        full.sqnorm(Row(x, j, indptr[p], indptr[p + 1], ZERO, v, bias), S, scratch)
        full.grow(rho[p], v, S, scratch)


def kept_rows(S: Covariance, v: int, first: int, last: int) -> tuple[np.ndarray, ...]:
    """Return the stored rows first .. last - 1 of view v, unscaled: x, j, indptr and rho."""
    begin, end = S.begin[v, first:last], S.end[v, first:last]
    indptr = np.concatenate([[0], np.cumsum(end - begin)])
    positions = np.repeat(begin - indptr[:-1], end - begin) + np.arange(indptr[-1])
    columns = S.columns[positions]
    arrays = S.values[positions] / S.D[columns], columns, indptr.astype(np.uint64)
    for array in (*arrays, rho := S.rho[v, first:last].copy()):
        array.flags.writeable = False
    return (*arrays, rho)


def row_numbers(indptr: np.ndarray) -> np.ndarray:
    """Return the row of each entry."""
    return np.repeat(np.arange(len(indptr) - 1), (indptr[1:] - indptr[:-1]).astype(np.int64))


def add_to_diagonal(
    S: Covariance, v: int, rows: int, bias: float, D: np.ndarray, d: np.ndarray
) -> None:
    """1/D <- 1/D + rho x² for the oldest rows of a view."""
    x, j, indptr, rho = kept_rows(S, v, 0, rows)
    D /= 1.0 + D * np.bincount(j, weights=rho[row_numbers(indptr)] * x * x, minlength=len(D))
    d[v] /= 1.0 + d[v] * bias * rho.sum()


def forget_older_half(S: Covariance, bias: float, rank: int) -> Covariance:
    """Reduce the older half of the rows to the diagonal, in views with ``rank`` or more of them."""
    views = range(len(S.d))
    n_leaving = [(int(k) + 1) // 2 if k >= rank else 0 for k in S.kept]
    staying = [kept_rows(S, v, n_leaving[v], int(S.kept[v])) for v in views]
    D, d = S.D.copy(), S.d.copy()
    for v in views:
        add_to_diagonal(S, v, n_leaving[v], bias, D, d)
    new = S._replace(D=D, d=d, **no_rows(len(d), S.begin.shape[1], len(D)))
    new = with_room(new, entries=len(S.values))
    for v in views:
        grow_low_rank(new, v, bias, staying[v], make_scratch(new))
    return new


def to_full(S: Covariance, bias: float) -> Covariance:
    """Convert a low-rank covariance to a full one, exactly."""
    new = init_covariance(FULL, S.ptr, 1.0)._replace(D=S.D.copy(), d=S.d.copy())
    for v in range(len(S.d)):
        grow_full(new, v, bias, kept_rows(S, v, 0, int(S.kept[v])), make_scratch(new))
    return new


def to_diagonal(S: Covariance, bias: float) -> Covariance:
    """Convert a full or low-rank covariance to a diagonal one."""
    D, d = S.D.copy(), S.d.copy()
    for v in range(len(d)):
        block = slice(int(S.ptr[v]), int(S.ptr[v + 1]))
        if S.form == FULL:
            diagonal = full_variances(S, v)
            d[v], D[block] = diagonal[0], diagonal[1:]
        else:
            add_to_diagonal(S, v, int(S.kept[v]), bias, D, d)
    return init_covariance(DIAGONAL, S.ptr, 1.0)._replace(D=D, d=d)


def full_variances(S: Covariance, v: int) -> np.ndarray:
    """Return S_ii = sum_c T_ic² D_c of view v: of the constant feature, then of the columns."""
    D = np.concatenate([S.d[v : v + 1], S.D[int(S.ptr[v]) : int(S.ptr[v + 1])]])
    diagonal = D.copy()
    for c in range(1, len(D)):
        at = int(S.triangle_ptr[v]) + c * (c - 1) // 2
        diagonal[:c] += S.T[at : at + c] ** 2 * D[c]
    return diagonal


def variances(S: Covariance, v: int) -> np.ndarray:
    """Return the variances of the weights of view v: the diagonal of S, without the intercept."""
    if S.form == FULL:
        return full_variances(S, v)[1:]
    base, end, k = int(S.ptr[v]), int(S.ptr[v + 1]), int(S.kept[v])
    found = S.D[base:end].copy()
    if S.form != LOW_RANK or k == 0:
        return found
    # S = D - Z'Z with L Z = B D: S_ii = D_i - sum_p Z_pi², in blocks of the columns that rows have
    begin, stop = S.begin[v, :k], S.end[v, :k]
    indptr = np.concatenate([[0], np.cumsum(stop - begin)])
    entries = np.repeat(begin - indptr[:-1], stop - begin) + np.arange(indptr[-1])
    columns, order = S.columns[entries].astype(np.int64) - base, row_numbers(indptr)
    L = np.zeros((k, k))
    L[np.tril_indices(k)] = S.L[v, : k * (k + 1) // 2]
    used, at = np.unique(columns, return_inverse=True)
    for lo in range(0, len(used), BLOCK):
        here = used[lo : lo + BLOCK]
        inside = (at >= lo) & (at < lo + BLOCK)
        BD = np.zeros((k, len(here)))
        BD[order[inside], at[inside] - lo] = S.values[entries[inside]]
        Z = np.linalg.solve(L, BD)
        found[here] = np.maximum(found[here] - (Z * Z).sum(axis=0), TINY * found[here])
    return found


def rearranged(
    S: Covariance, new_columns: np.ndarray, ptr: np.ndarray, scale: float, scaling: float
) -> Covariance:
    """Return S where column i is now new_columns[i]; other columns and views are new."""
    room = S.begin.shape[1]
    new = with_room(init_covariance(S.form, ptr, scale, room, scaling), entries=len(S.values))
    new.D[new_columns] = S.D
    views = len(S.d)
    new.d[:views] = S.d
    for name in ("kept", "begin", "end", "rho", "L"):
        getattr(new, name)[:views] = getattr(S, name)
    new.used[:] = S.used
    used = int(S.used[0])
    new.values[:used] = S.values[:used]
    new.columns[:used] = new_columns[S.columns[:used]]
    if S.form == FULL:
        for v in range(views):
            old = new_columns[int(S.ptr[v]) : int(S.ptr[v + 1])]
            position = np.concatenate([[0], old - int(ptr[v]) + 1])
            for c in range(1, len(position)):
                at, to = (
                    int(S.triangle_ptr[v]) + c * (c - 1) // 2,
                    position[c] * (position[c] - 1) // 2,
                )
                new.T[int(new.triangle_ptr[v]) + to + position[:c]] = S.T[at : at + c]
    return new


def dense(S: Covariance, v: int, bias: float) -> np.ndarray:
    """Return the covariance of view v as a matrix: the constant feature, then the columns."""
    base, width = int(S.ptr[v]), int(S.ptr[v + 1] - S.ptr[v])
    D = np.concatenate([S.d[v : v + 1], S.D[base : base + width]])
    if S.form == FULL:
        T = np.eye(width + 1)
        for c in range(1, width + 1):
            at = int(S.triangle_ptr[v]) + c * (c - 1) // 2
            T[:c, c] = S.T[at : at + c]
        return (T * D) @ T.T
    if S.form == LOW_RANK and S.kept[v]:
        # S^-1 = A'A with A = [D^-1/2; rho^1/2 B], so S = R^-1 R'^-1 with A = QR: no cancellation
        k = int(S.kept[v])
        x, j, indptr, rho = kept_rows(S, v, 0, k)
        A = np.zeros((width + 1 + k, width + 1))
        np.fill_diagonal(A, D**-0.5)
        A[width + 1 + row_numbers(indptr), 1 + j.astype(np.int64) - base] = x
        A[width + 1 :, 0] = bias
        A[width + 1 :] *= np.sqrt(rho)[:, None]
        inverse = np.linalg.inv(np.linalg.qr(A, mode="r"))
        return inverse @ inverse.T
    return np.diag(D)
