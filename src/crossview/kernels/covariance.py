"""The covariance S of a linear learner's weights: x'Sx, S x, and the rank-one step.

The step is the same for every learner and every form,

    S <- S - rho S x x' S / (1 + rho x'Sx),   that is   S^-1 <- S^-1 + rho x x',

with a precision rho >= 0 that the learner chooses.  One covariance a view; its
coordinates are the constant feature of the intercept, then the view's columns.

full: S = T diag(D) T' with T upper triangular and 1 on its diagonal, the columns
of one triangle one after the other.  The step changes T and D in place
(Bierman, "Factorization Methods for Discrete Sequential Estimation", 1977): D
is multiplied with quotients of positive numbers, so S is symmetric and positive
definite whatever the rounding, where subtracting a product from S is not.

diagonal: S = diag(D), of which the step keeps one of two diagonals: that of
S^-1, so D <- D / (1 + rho D x²), or that of S.

low-rank: S^-1 = diag(1/D) + sum_p rho_p b_p b_p' over the rows b_p of the last
updates, so S = D - D B' (L L')^-1 B D with L L' = diag(1/rho) + B D B'.  That
is D - U U', never formed: rows stay as sparse as they came.  It is exact for as
many updates as there is room; then the older half of the rows goes into the
diagonal, where the rule that keeps the diagonal of S^-1 adds them to 1/D.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from crossview._jit import inlined, njit, njit_reordering
from crossview.kernels.rows import FOUR, ONE, THREE, TWO, ZERO

FULL, DIAGONAL, DIAGONAL_COVARIANCE, LOW_RANK = 0, 1, 2, 3

# a row with fewer than one entry in so many columns is summed entry by entry
SPARSE = 16
# x'Sx below this part of x'Dx has lost its digits to cancellation, and is found anew
CANCELLED = 1e-6


class Covariance(NamedTuple):
    """One covariance a view, in one of the forms; the loops write into it."""

    form: int  # FULL, DIAGONAL, DIAGONAL_COVARIANCE or LOW_RANK
    D: np.ndarray  # (n_columns,): the diagonal D of the form
    d: np.ndarray  # (n_views,): its entries for the constant features
    # full
    T: np.ndarray  # the triangles, view after view, column after column, without diagonal
    triangle_ptr: np.ndarray  # int64 (n_views + 1,): where each view's triangle begins
    # low-rank
    kept: np.ndarray  # int64 (n_views,): rows kept
    begin: np.ndarray  # int64 (n_views, room): where a kept row's entries begin ...
    end: np.ndarray  # ... and end
    rho: np.ndarray  # (n_views, room): its precision
    L: np.ndarray  # (n_views, room (room + 1) / 2): the Cholesky factors, row after row
    values: np.ndarray  # the entries of the kept rows times D ...
    columns: np.ndarray  # ... and their columns
    used: np.ndarray  # int64 (1,): how many there are


# --- sums over memory in a row ------------------------------------------------


@njit_reordering
def dot(a, b):
    """a·b."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@njit
def add_to(step, a, b):
    """B <- b + step a."""
    for i in range(a.shape[0]):
        b[i] += step * a[i]


# --- diagonal -----------------------------------------------------------------


@inlined
def diagonal_sqnorm(x, j, lo, hi, offset, D):
    """The squared norm x'Dx."""
    n0 = n1 = n2 = n3 = 0.0
    whole = hi - (hi - lo) % FOUR
    for p in range(lo, whole, FOUR):
        q = p - offset
        n0 += x[p] * x[p] * D[j[q]]
        n1 += x[p + ONE] * x[p + ONE] * D[j[q + ONE]]
        n2 += x[p + TWO] * x[p + TWO] * D[j[q + TWO]]
        n3 += x[p + THREE] * x[p + THREE] * D[j[q + THREE]]
    for p in range(whole, hi):
        n0 += x[p] * x[p] * D[j[p - offset]]
    return (n0 + n1) + (n2 + n3)


# Weights and variances that lie side by side come from memory together: of a row whose columns
# are all over a large array, half as many cache lines.  ``w`` and ``D`` are then one array, with
# the weight of column q at 2 q and its variance at 2 q + 1; else stride is 1 and other is 0.


@njit
def interleave(w, D):
    """w_0, D_0, w_1, D_1, ..."""
    both = np.empty(2 * w.shape[0])
    for q in range(w.shape[0]):
        both[2 * q] = w[q]
        both[2 * q + 1] = D[q]
    return both


@njit
def deinterleave(both, w, D):
    """Undo `interleave`."""
    for q in range(w.shape[0]):
        w[q] = both[2 * q]
        D[q] = both[2 * q + 1]


@inlined
def dot_and_sqnorms(x, j, lo, hi, offset, w, D, stride, other):
    """w·x, x·x and x'Dx."""
    d = n = s = 0.0
    for p in range(lo, hi):
        q = stride * j[p - offset]
        d += x[p] * w[q]
        n += x[p] * x[p]
        s += x[p] * x[p] * D[q + other]
    return d, n, s


@inlined
def diagonal_add_and_step(step, form, rho, n, x, j, lo, hi, offset, w, D, stride, other):
    """`diagonal_add` and `diagonal_step` in one go."""
    for p in range(lo, hi):
        q = stride * j[p - offset]
        s = D[q + other] * x[p]
        w[q] += step * s
        D[q + other] *= shrinkage(form, rho, n, s * x[p])


@inlined
def diagonal_add(step, x, j, lo, hi, offset, D, W, k):
    """W_k <- W_k + step D x."""
    for p in range(lo, hi):
        q = j[p - offset]
        W[q, k] += step * D[q] * x[p]


@inlined
def shrinkage(form, rho, n, part):
    """What a diagonal entry is multiplied with, where ``part`` is its D x² of n = x'Dx.

    Keeping the diagonal of S^-1: 1 / (1 + rho part).  Keeping that of S:
    1 - rho part / (1 + rho n).
    """
    if form == DIAGONAL:
        return 1.0 / (1.0 + rho * part)
    return (1.0 + rho * max(n - part, 0.0)) / (1.0 + rho * n)


@inlined
def diagonal_step(form, rho, n, x, j, lo, hi, offset, bias, v, D, d):
    """The step, for view v."""
    for p in range(lo, hi):
        q = j[p - offset]
        D[q] *= shrinkage(form, rho, n, D[q] * x[p] * x[p])
    d[v] *= shrinkage(form, rho, n, bias * d[v])


# --- full ---------------------------------------------------------------------


@njit
def full_sqnorm(x, j, lo, hi, offset, bias, v, base, width, D, d, T, triangle_ptr, z, f):
    """F <- T'x and x'Sx = sum D f², a sum without cancellation.

    ``z`` is scratch that holds 0 and holds it again; ``base`` is the view's first column.
    """
    z[0] = bias
    for p in range(lo, hi):
        z[np.int64(j[p - offset]) - base + 1] = x[p]
    first = 0
    if bias == 0.0:
        first = np.int64(j[lo - offset]) - base + 1 if hi > lo else width + 1
    dense = np.int64(hi - lo) * SPARSE >= width
    f[:first] = 0.0
    n = 0.0
    for c in range(first, width + 1):
        at = triangle_ptr[v] + c * (c - 1) // 2
        total = z[c]
        if dense:
            total += dot(T[at + first : at + c], z[first:c])
        elif c > 0:
            total += bias * T[at]
            for p in range(lo, hi):
                q = np.int64(j[p - offset]) - base + 1
                if q >= c:
                    break
                total += x[p] * T[at + q]
        f[c] = total
        n += total * total * (D[base + c - 1] if c > 0 else d[v])
    z[0] = 0.0
    for p in range(lo, hi):
        z[np.int64(j[p - offset]) - base + 1] = 0.0
    return n


@njit
def _bierman_column(slope, factor, column, g):
    """Column <- column - slope g and g <- g + factor column, with the column as it was."""
    for i in range(column.shape[0]):
        old = column[i]
        column[i] = old - slope * g[i]
        g[i] += factor * old


@njit
def full_step(rho, v, base, width, D, d, T, triangle_ptr, f, g):
    """The step for f = T'x; g <- S x with S as it was."""
    total = 1.0
    for c in range(width + 1):
        if f[c] == 0.0:
            g[c] = 0.0
            continue
        variance = D[base + c - 1] if c > 0 else d[v]
        factor = variance * f[c]
        before = total
        total += rho * f[c] * factor
        if c > 0:
            at = triangle_ptr[v] + c * (c - 1) // 2
            _bierman_column(rho * f[c] / before, factor, T[at : at + c], g[:c])
            D[base + c - 1] *= before / total
        else:
            d[v] *= before / total
        g[c] = factor


# --- low-rank -----------------------------------------------------------------


@njit
def _kept_dot(values, columns, width, z, base):
    """A kept row's entries times ``z``; a row without gaps lies in order."""
    if values.shape[0] == width:
        return dot(values, z[base : base + width])
    total = 0.0
    for e in range(values.shape[0]):
        total += values[e] * z[columns[e]]
    return total


@njit
def _solve(L, k, half):
    """Half <- L^-1 half for the first k rows of the triangle."""
    for p in range(k):
        at = p * (p + 1) // 2
        half[p] = (half[p] - dot(L[at : at + p], half[:p])) / L[at + p]


@njit
def _solve_transposed(L, k, half):
    """Half <- L'^-1 half."""
    for p in range(k - 1, -1, -1):
        at = p * (p + 1) // 2
        half[p] /= L[at + p]
        add_to(-half[p], L[at : at + p], half[:p])


@njit
def low_rank_sqnorm(x, j, lo, hi, offset, bias, v, base, width, S, z, half, c):
    """Half <- L^-1 B D x, c <- L'^-1 half, and x'Sx = x'Dx - half·half.

    ``z`` is scratch over all columns that holds 0 and holds it again.
    """
    k = S.kept[v]
    whole = bias * S.d[v]
    for p in range(lo, hi):
        q = j[p - offset]
        z[q] = x[p]
        whole += S.D[q] * x[p] * x[p]
    for p in range(k):
        b, e = S.begin[v, p], S.end[v, p]
        half[p] = bias * S.d[v] + _kept_dot(S.values[b:e], S.columns[b:e], width, z, base)
    _solve(S.L[v], k, half)
    n = whole - dot(half[:k], half[:k])
    c[:k] = half[:k]
    _solve_transposed(S.L[v], k, c)
    if n < CANCELLED * whole:
        n = max(
            _recomputed_sqnorm(x, j, lo, hi, offset, bias, v, base, width, S, z, c), 1e-30 * whole
        )
    for p in range(lo, hi):
        z[j[p - offset]] = 0.0
    return n


@njit
def _recomputed_sqnorm(x, j, lo, hi, offset, bias, v, base, width, S, z, c):
    """Find x'Sx as 2 x·g - g'S^-1 g for g = S x: an error in g counts only squared."""
    k = S.kept[v]
    for p in range(lo, hi):
        q = j[p - offset]
        z[q] = S.D[q] * x[p]
    constant = bias * S.d[v]
    for p in range(k):
        constant -= c[p] * bias * S.d[v]
        for e in range(S.begin[v, p], S.end[v, p]):
            z[S.columns[e]] -= c[p] * S.values[e]
    n = 2.0 * bias * constant
    if bias > 0.0:
        n -= constant * constant / S.d[v]
    for p in range(lo, hi):
        n += 2.0 * x[p] * z[j[p - offset]]
    for p in range(k):
        along = bias * constant
        for e in range(S.begin[v, p], S.end[v, p]):
            q = S.columns[e]
            along += S.values[e] / S.D[q] * z[q]
        n -= S.rho[v, p] * along * along
    for q in range(base, base + width):
        n -= z[q] * z[q] / S.D[q]
        z[q] = 0.0
    return n


@njit
def low_rank_add(step, x, j, lo, hi, offset, v, base, width, S, c, W, k):
    """W_k <- W_k + step S x, without the constant feature: S x = D x - D B' c."""
    diagonal_add(step, x, j, lo, hi, offset, S.D, W, k)
    for p in range(S.kept[v]):
        b, e = S.begin[v, p], S.end[v, p]
        if e - b == width:
            add_column(-step * c[p], S.values[b:e], W[base : base + width], k)
        else:
            for i in range(b, e):
                W[S.columns[i], k] -= step * c[p] * S.values[i]


@njit
def add_column(step, a, W, k):
    """W_k <- W_k + step a."""
    if W.shape[1] == 1:
        add_to(step, a, W.reshape(-1))
    else:
        for i in range(a.shape[0]):
            W[i, k] += step * a[i]


@njit
def low_rank_step(rho, n, x, j, lo, hi, offset, v, S, half):
    """The step: the row is kept."""
    k, used = S.kept[v], S.used[0]
    at = k * (k + 1) // 2
    S.L[v, at : at + k] = half[:k]
    S.L[v, at + k] = np.sqrt(1.0 / rho + n)
    S.rho[v, k] = rho
    S.begin[v, k] = used
    for p in range(lo, hi):
        q = j[p - offset]
        S.columns[used] = q
        S.values[used] = S.D[q] * x[p]
        used += 1
    S.end[v, k] = used
    S.used[0] = used
    S.kept[v] = k + 1


@njit
def _keep_again(S, v, base, width, bias, x, j, indptr, rho):
    """Rows of a view that are to be kept, where it keeps none: their Cholesky factor anew."""
    z, half, c = np.zeros(S.D.shape[0]), np.empty(rho.shape[0]), np.empty(rho.shape[0])
    for p in range(rho.shape[0]):
        lo, hi = indptr[p], indptr[p + 1]
        n = low_rank_sqnorm(x, j, lo, hi, ZERO, bias, v, base, width, S, z, half, c)
        low_rank_step(rho[p], n, x, j, lo, hi, ZERO, v, S, half)


@njit
def _step_again(S, v, base, width, bias, x, j, indptr, rho):
    """The steps of kept rows on a full covariance."""
    z, f, g = np.zeros(width + 1), np.empty(width + 1), np.empty(width + 1)
    for p in range(rho.shape[0]):
        lo, hi = indptr[p], indptr[p + 1]
        full_sqnorm(x, j, lo, hi, ZERO, bias, v, base, width, S.D, S.d, S.T, S.triangle_ptr, z, f)
        full_step(rho[p], v, base, width, S.D, S.d, S.T, S.triangle_ptr, f, g)


# --- making, changing and reading a covariance: NumPy, between passes ---------


def full_bytes(widths: list[int]) -> int:
    """Memory of the triangles of a full covariance, a view of each width."""
    return sum(8 * w * (w + 1) // 2 for w in widths)


def start(form: int, ptr: np.ndarray, scale: float, room: int = 0) -> Covariance:
    """S = scale I for views of the columns ptr[v] .. ptr[v + 1] - 1."""
    widths = [int(b - a) for a, b in pairwise(ptr)]
    views, columns = len(widths), int(ptr[-1])
    triangle_ptr = np.zeros(views + 1, dtype=np.int64)
    if form == FULL:
        np.cumsum([w * (w + 1) // 2 for w in widths], out=triangle_ptr[1:])
    return Covariance(
        form=form,
        D=np.full(columns, float(scale)),
        d=np.full(views, float(scale)),
        T=np.zeros(triangle_ptr[-1]),
        triangle_ptr=triangle_ptr,
        **_no_rows(views, room, columns),
    )


def _no_rows(views: int, room: int, columns: int) -> dict[str, Any]:
    wide = columns > np.iinfo(np.int32).max
    return {
        "kept": np.zeros(views, dtype=np.int64),
        "begin": np.zeros((views, room), dtype=np.int64),
        "end": np.zeros((views, room), dtype=np.int64),
        "rho": np.zeros((views, room)),
        "L": np.zeros((views, room * (room + 1) // 2)),
        "values": np.zeros(0),
        "columns": np.zeros(0, dtype=np.uint64 if wide else np.uint32),
        "used": np.zeros(1, dtype=np.int64),
    }


def with_room(S: Covariance, rows: int = 0, entries: int = 0) -> Covariance:
    """The same with room for that many rows a view, and for so many more entries."""
    columns = len(S.D)
    old = S.begin.shape[1]
    if rows > old:
        new = _no_rows(len(S.d), rows, columns)
        for name in ("begin", "end", "rho"):
            new[name][:, :old] = getattr(S, name)
        new["L"][:, : S.L.shape[1]] = S.L
        kept = ("kept", "values", "columns", "used")
        S = S._replace(**(new | {name: getattr(S, name) for name in kept}))
    used = int(S.used[0])
    if used + entries > len(S.values):
        size = max(2 * len(S.values), used + entries)
        values, places = np.zeros(size), np.zeros(size, dtype=S.columns.dtype)
        values[:used], places[:used] = S.values[:used], S.columns[:used]
        S = S._replace(values=values, columns=places)
    return S


def trimmed(S: Covariance) -> Covariance:
    """The same without room: what has a meaning, and 0 elsewhere; what a model file holds."""
    rows, used = int(S.kept.max(initial=0)), int(S.used[0])
    here = np.arange(rows) < S.kept[:, None]
    factor = np.repeat(here, np.arange(1, rows + 1), axis=1)
    return S._replace(
        begin=np.where(here, S.begin[:, :rows], 0),
        end=np.where(here, S.end[:, :rows], 0),
        rho=np.where(here, S.rho[:, :rows], 0.0),
        L=np.where(factor, S.L[:, : factor.shape[1]], 0.0),
        values=S.values[:used].copy(),
        columns=S.columns[:used].copy(),
    )


def _kept_rows(S: Covariance, v: int, first: int, last: int) -> tuple[np.ndarray, ...]:
    """Rows first .. last - 1 that view v keeps, as they came: values, columns, indptr, rho."""
    begin, end = S.begin[v, first:last], S.end[v, first:last]
    indptr = np.concatenate([[0], np.cumsum(end - begin)])
    places = np.repeat(begin - indptr[:-1], end - begin) + np.arange(indptr[-1])
    columns = S.columns[places]
    arrays = S.values[places] / S.D[columns], columns, indptr.astype(np.uint64)
    for array in (*arrays, rho := S.rho[v, first:last].copy()):
        array.flags.writeable = False
    return (*arrays, rho)


def _row_numbers(indptr: np.ndarray) -> np.ndarray:
    """The row of each entry."""
    return np.repeat(np.arange(len(indptr) - 1), (indptr[1:] - indptr[:-1]).astype(np.int64))


def _into_diagonal(
    S: Covariance, v: int, rows: int, bias: float, D: np.ndarray, d: np.ndarray
) -> None:
    """1/D gains rho x² of the oldest rows of a view."""
    x, j, indptr, rho = _kept_rows(S, v, 0, rows)
    D /= 1.0 + D * np.bincount(j, weights=rho[_row_numbers(indptr)] * x * x, minlength=len(D))
    d[v] /= 1.0 + d[v] * bias * rho.sum()


def forget_older_half(S: Covariance, ptr: np.ndarray, bias: float, rank: int) -> Covariance:
    """Views that keep ``rank`` rows put the older half of them into the diagonal."""
    views = range(len(S.d))
    leave = [(int(k) + 1) // 2 if k == rank else 0 for k in S.kept]
    younger = [_kept_rows(S, v, leave[v], int(S.kept[v])) for v in views]
    D, d = S.D.copy(), S.d.copy()
    for v in views:
        _into_diagonal(S, v, leave[v], bias, D, d)
    new = S._replace(D=D, d=d, **_no_rows(len(d), S.begin.shape[1], len(D)))
    new = with_room(new, entries=len(S.values))
    for v in views:
        base, width = int(ptr[v]), int(ptr[v + 1] - ptr[v])
        _keep_again(new, v, base, width, bias, *younger[v])
    return new


def to_full(S: Covariance, ptr: np.ndarray, bias: float) -> Covariance:
    """A low-rank covariance in full; exact."""
    new = start(FULL, ptr, 1.0)._replace(D=S.D.copy(), d=S.d.copy())
    for v in range(len(S.d)):
        base, width = int(ptr[v]), int(ptr[v + 1] - ptr[v])
        _step_again(new, v, base, width, bias, *_kept_rows(S, v, 0, int(S.kept[v])))
    return new


def to_diagonal(S: Covariance, ptr: np.ndarray, bias: float) -> Covariance:
    """A full or low-rank covariance without what is off its diagonal."""
    D, d = S.D.copy(), S.d.copy()
    for v in range(len(d)):
        block = slice(int(ptr[v]), int(ptr[v + 1]))
        if S.form == FULL:
            # S_ii = sum over c of T_ic² D_c
            variances = np.concatenate([d[v : v + 1], D[block]])
            diagonal = variances.copy()
            for c in range(1, len(variances)):
                at = int(S.triangle_ptr[v]) + c * (c - 1) // 2
                diagonal[:c] += S.T[at : at + c] ** 2 * variances[c]
            d[v], D[block] = diagonal[0], diagonal[1:]
        else:
            _into_diagonal(S, v, int(S.kept[v]), bias, D, d)
    return start(DIAGONAL, ptr, 1.0)._replace(D=D, d=d)


def rearranged(
    S: Covariance, moved: np.ndarray, old_ptr: np.ndarray, ptr: np.ndarray, scale: float
) -> Covariance:
    """The same where column i is now column moved[i], and other columns and views are new."""
    room = S.begin.shape[1]
    new = with_room(start(S.form, ptr, scale, room), entries=len(S.values))
    new.D[moved] = S.D
    views = len(S.d)
    new.d[:views] = S.d
    for name in ("kept", "begin", "end", "rho", "L"):
        getattr(new, name)[:views] = getattr(S, name)
    new.used[:] = S.used
    used = int(S.used[0])
    new.values[:used] = S.values[:used]
    new.columns[:used] = moved[S.columns[:used]]
    if S.form == FULL:
        for v in range(views):
            old = moved[int(old_ptr[v]) : int(old_ptr[v + 1])]
            place = np.concatenate([[0], old - int(ptr[v]) + 1])
            for c in range(1, len(place)):
                at, to = int(S.triangle_ptr[v]) + c * (c - 1) // 2, place[c] * (place[c] - 1) // 2
                new.T[int(new.triangle_ptr[v]) + to + place[:c]] = S.T[at : at + c]
    return new


def dense(S: Covariance, v: int, ptr: np.ndarray, bias: float) -> np.ndarray:
    """The covariance of view v as a matrix: the constant feature, then the columns."""
    base, width = int(ptr[v]), int(ptr[v + 1] - ptr[v])
    D = np.concatenate([S.d[v : v + 1], S.D[base : base + width]])
    if S.form == FULL:
        T = np.eye(width + 1)
        for c in range(1, width + 1):
            at = int(S.triangle_ptr[v]) + c * (c - 1) // 2
            T[:c, c] = S.T[at : at + c]
        return (T * D) @ T.T
    if S.form == LOW_RANK and S.kept[v]:
        # S^-1 = A'A with A = [D^-1/2; rho^1/2 B], so S = R^-1 R'^-1 of A = QR: no difference
        k = int(S.kept[v])
        x, j, indptr, rho = _kept_rows(S, v, 0, k)
        A = np.zeros((width + 1 + k, width + 1))
        np.fill_diagonal(A, D**-0.5)
        A[width + 1 + _row_numbers(indptr), 1 + j.astype(np.int64) - base] = x
        A[width + 1 :, 0] = bias
        A[width + 1 :] *= np.sqrt(rho)[:, None]
        inverse = np.linalg.inv(np.linalg.qr(A, mode="r"))
        return inverse @ inverse.T
    return np.diag(D)
