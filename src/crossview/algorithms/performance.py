"""Learning for a measure of all rows together, by cutting planes.

J. J.-Y. Wang, "Multi-view learning for multivariate performance measures optimization",
problem (7) and Algorithm 1, with its sums corrected; for one view, T. Joachims, "A support
vector method for multivariate performance measures" (ICML 2005).

Symbols: ``f_i = sum_v w_v·x_v,i`` the score of row i; P positive and N negative rows; ``a``
true and ``b`` false positives of a labeling; ``delta`` its loss; C the price of ``xi``.

    min  ½ |w|² + C xi + (C2/2) sum_(u<v) |X_u w_u - X_v w_v|²      = ½ w'H w + C xi
    xi = max(0, max over all labelings of  delta - s·f)

A labeling is a cut ``(delta, s)``: ``s`` has an entry a row, ``y_i / unit`` where the labeling
is wrong on row i and 0 elsewhere, so its difference of features is ``gamma = X's``.  Measures of
an order of the rows have labels for pairs: ``s_i`` counts the wrong pairs of row i, over all
pairs.  ``H = I + C2 M'M``, and over the cuts at hand the dual is a small quadratic program,

    max  delta·alpha - ½ alpha'G alpha,   G_ab = gamma_a'H^-1 gamma_b,  alpha >= 0,
    sum alpha <= C,   w = H^-1 sum_a alpha_a gamma_a.

The print weighs a wrong row by 2; with weights ``w / (2 unit)`` and ``C / (2 unit)²`` in place of
C this is the printed problem, C2 being the same.  `printed_price` converts.

Precision and recall at k are of the labelings with exactly k positive rows (Joachims).
The truth is none of them if P is not k, and then xi bounds nothing: adding a constant to all
scores lowers it, and on a9a, with k a tenth of the rows, the weights come out worthless
(precision 0.69 where training for the error rate has 0.84).  So, as SVM^perf does: for k <= P all
labelings with at least k positive rows count, each with its precision, for k >= P those
with at most k, each with its recall.  The literal form is called ``precision_at_k:exact``.

The dual's value bounds the minimum from below, any w from above.  Where the next cut is looked
for is ours: at a point a small step from the best weights towards the program's (as a line search
would choose it; Franc and Sonnenburg, "Optimized cutting plane algorithm", ICML 2008).  At
the program's weights themselves, as printed, it takes up to eight times as many cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import piqp
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from crossview._jit import inlined, njit

# a labeling as a cut: its loss, and s
Cut = tuple[float, np.ndarray]
Search = Callable[[np.ndarray], Cut]

# --- losses of a contingency table: a of P positive rows are found, b of N others come along ----


def f_loss(a: Any, b: Any, P: int, N: int, beta: float) -> Any:
    """1 - F = 1 - (1 + β²) a / (a + β² P + b); concave in b."""
    return 1.0 - (1.0 + beta**2) * a / (a + beta**2 * P + b)


def g_mean_loss(a: Any, b: Any, P: int, N: int) -> Any:
    """1 - sqrt(a/P · (N - b)/N)."""
    return 1.0 - np.sqrt(a / P) * np.sqrt((N - b) / N)


def precision_loss(a: Any, b: Any, P: int, N: int) -> Any:
    """1 - a / (a + b), 1 of no rows."""
    return 1.0 - a / np.maximum(a + b, 1)


def recall_loss(a: Any, b: Any, P: int, N: int) -> Any:
    """1 - a/P."""
    return 1.0 - a / P + 0.0 * b


# --- the most violated labeling: the one with the largest delta - s·f ---------------------------


class Sides(NamedTuple):
    """The positive and the negative rows, each by falling score, and sums of their scores."""

    positive: np.ndarray  # (P,): places of the rows
    negative: np.ndarray  # (N,)
    cp: np.ndarray  # (P + 1,): sum of the a highest scores
    cq: np.ndarray  # (N + 1,)


def sort_sides(f: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> Sides:
    """Both sides by falling score."""
    p, q = (side[np.argsort(-f[side])] for side in (positive, negative))
    return Sides(p, q, *(np.concatenate([[0.0], np.cumsum(f[side])]) for side in (p, q)))


def cut_of_table(sides: Sides, loss: float, a: int, b: int, unit: float, n: int) -> Cut:
    """The labeling that finds the a highest positive rows and the b highest others."""
    s = np.zeros(n)
    s[sides.positive[a:]] = 1.0 / unit
    s[sides.negative[:b]] = -1.0 / unit
    return loss, s


def best_table(
    delta: Callable[[Any, Any], Any],
    sides: Sides,
    unit: float,
    lo: np.ndarray,
    hi: np.ndarray,
    *,
    concave: bool,
) -> tuple[int, int]:
    """The a and b of largest ``value(a, b) = delta(a, b) - (cp[P] - cp[a]) / unit + cq[b] / unit``.

    b lies in ``lo[a] .. hi[a]``; an a with none is passed over.  For a fixed a the value is
    concave in b where delta is, because the scores fall, and its forward difference says on which
    side of b the maximum lies: log2(N) steps for all a at once.  Otherwise every table is
    looked at.
    """
    cp, cq = sides.cp, sides.cq
    a = np.flatnonzero(lo <= hi)
    lo, hi = lo[a], hi[a]
    if concave:
        while (wide := lo < hi).any():
            b = (lo + hi) // 2
            after = np.minimum(b + 1, len(cq) - 1)
            grows = delta(a, after) - delta(a, b) + (cq[after] - cq[b]) / unit > 0.0
            lo = np.where(wide & grows, after, lo)
            hi = np.where(wide & ~grows, b, hi)
        value = delta(a, lo) - (cp[-1] - cp[a]) / unit + cq[lo] / unit
        best = int(np.argmax(value))
        return int(a[best]), int(lo[best])
    return max(scan_tables(delta, sides, unit, a, lo, hi), key=lambda found: found[0])[1:]


def scan_tables(
    delta: Callable[[Any, Any], Any],
    sides: Sides,
    unit: float,
    a: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
) -> Iterator[tuple[float, int, int]]:
    """Every table, some a at a time; the best value of each time, and its a and b."""
    b = np.arange(len(sides.cq))
    at_once = max(1, 2**20 // len(b))
    for begin in range(0, len(a), at_once):
        part = slice(begin, begin + at_once)
        rows = a[part, None]
        value = delta(rows, b) - (sides.cp[-1] - sides.cp[rows]) / unit + sides.cq / unit
        value = np.where((b >= lo[part, None]) & (b <= hi[part, None]), value, -np.inf)
        i, j = np.unravel_index(np.argmax(value), value.shape)
        yield float(value[i, j]), int(rows[i, 0]), int(j)


def search_rows(f: np.ndarray, y: np.ndarray, loss: np.ndarray, margin: np.ndarray) -> Cut:
    """A loss that is a sum over rows: those whose own ``loss - margin y f`` is positive."""
    wrong = loss > margin * y * f
    return float(loss[wrong].sum()), np.where(wrong, margin * y, 0.0)


def search_pairs(
    f: np.ndarray, positive: np.ndarray, negative: np.ndarray, weight: np.ndarray
) -> Cut:
    """ROC area: the pairs of a positive and a negative row with ``f_i - f_j < 1``, by sorting.

    A pair weighs the product of its rows' weights, over the sum of all.
    """
    p = positive[np.argsort(f[positive])]
    q = negative[np.argsort(f[negative])]
    below, reach = f[p], f[q] + 1.0  # the pair is wrong where f_i < f_j + 1
    wp, wq = (np.concatenate([[0.0], np.cumsum(weight[side])]) for side in (p, q))
    pairs = wp[-1] * wq[-1]
    s = np.zeros(len(f))
    s[p] = weight[p] * (wq[-1] - wq[np.searchsorted(reach, below, side="right")]) / pairs
    s[q] = -weight[q] * wp[np.searchsorted(below, reach, side="left")] / pairs
    return float(s[p].sum()), s


# --- maxima of rows of a matrix that move to the right from row to row ---------------------------

G_MEAN, AVERAGE_PRECISION = range(2)


@inlined
def matrix_value(kind, i, k, row, column, slope):
    """Entry (i, k), up to what is the same in row i.

    G-mean, i true and k false positives: ``-sqrt(i/P) sqrt((N - k)/N) + cq[k] / unit``.  Average
    precision, negative row i + 1 below k positive ones: see `search_rankings`.
    """
    if kind == G_MEAN:
        return column[k] - row[i] * slope[k]
    j = i + 1
    return column[k] - k * row[i] - (slope[k + j - 1] + j / (k + j)) / (column.shape[0] - 1)


@njit
def monotone_argmax(kind, row, column, slope, out):
    """out[i] <- the first column of the largest entry of row i; it never moves back.

    The middle row's says where those above and below can be: a scan of all columns halves
    the rows, so n log n entries are looked at.  Rows wait on a stack.
    """
    n = out.shape[0]
    stack = np.empty((2 * 64, 4), dtype=np.int64)
    stack[0] = 0, n, 0, column.shape[0]
    depth = 1
    while depth > 0:
        depth -= 1
        begin, end, first, last = stack[depth]
        if begin >= end:
            continue
        i = (begin + end) // 2
        best, where = -np.inf, first
        for k in range(first, last):
            value = matrix_value(kind, i, k, row, column, slope)
            if value > best:
                best, where = value, k
        out[i] = where
        stack[depth] = begin, i, first, where + 1
        stack[depth + 1] = i + 1, end, where, last
        depth += 2


def best_g_mean(sides: Sides, unit: float) -> tuple[int, int]:
    """The table of largest value for the G-mean.

    Its loss is a product of a part of a and one of b, so the best b never falls as a grows.
    """
    P, N = len(sides.positive), len(sides.negative)
    row, slope = np.sqrt(np.arange(P + 1) / P), np.sqrt((N - np.arange(N + 1)) / N)
    b = np.empty(P + 1, dtype=np.int64)
    monotone_argmax(G_MEAN, row, sides.cq / unit, slope, b)
    a = int(np.argmax(sides.cp / unit + sides.cq[b] / unit - row * slope[b]))
    return a, int(b[a])


def search_rankings(f: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> Cut:
    """Average precision: the order of the rows with the largest ``delta - s·f``.

    Y. Yue et al., "A support vector method for optimizing average precision" (SIGIR 2007).  In
    each side the rows stay in the order of their scores, p_1 >= p_2 ... and q_1 >= q_2 ..., and
    each negative row j is put below k positive ones by itself:

        sum_(i>k) i / (P (i+j-1) (i+j)) - (p_i - q_j) / (P N)

    is what it adds when it stands above all of the others.  The first sum is
    ``(h[P+j-1] - h[k+j-1] - j/(k+j) + j/(P+j)) / P`` with ``h[m] = 1 + 1/2 + ... + 1/m``.  Every
    term falls with j, so the best k never falls, which is also what makes it an order.
    """
    sides = sort_sides(f, positive, negative)
    P, N = len(positive), len(negative)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, P + N + 1))])
    k = np.empty(N, dtype=np.int64)
    q = f[sides.negative] / (P * N)
    monotone_argmax(AVERAGE_PRECISION, q, sides.cp / (P * N), harmonic, k)
    above = np.searchsorted(k, np.arange(P), side="right")  # negative rows above each positive one
    i = np.arange(1, P + 1)
    s = np.zeros(len(f))
    s[sides.positive] = above / (P * N)
    s[sides.negative] = (k - P) / (P * N)
    return float(1.0 - np.mean(i / (i + above))), s


# --- a measure as a problem ----------------------------------------------------------------------


class Problem(NamedTuple):
    """What a measure makes of some labels."""

    search: Search
    unit: float  # a wrong row or pair weighs one over this
    price: float  # what C1 is multiplied with, so that it means the same for any number of rows
    n_predicted: int | None  # rows to be predicted positive, where the scores do not say it


def make_problem(
    measure: str,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    beta: float = 1.0,
    k: int = 1,
    delta: Callable[[Any, Any, int, int], Any] | None = None,
    concave: bool = False,
) -> Problem:
    """The search for a measure; ``y`` is 1 or -1, ``delta`` a loss of a table in place of a name.

    The unit makes one row more wrong, near the truth, ask for a margin of about 1: a row is
    wrong at 1/n, in F, at the break-even point and in recall at 1/(2P), in precision at k at
    1/(2k), a pair at 1/(PN).  The price makes ``C1 price xi`` the loss in rows.
    """
    positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    P, N, n = len(positive), len(negative), len(y)
    total = float(weight.sum())
    if measure in ("error_rate", "balanced_accuracy"):
        share = weight / total
        loss = share.copy()
        if measure == "balanced_accuracy":
            for side in (positive, negative):
                loss[side] *= 0.5 * total / weight[side].sum()
        return Problem(lambda f: search_rows(f, y, loss, share), total, total, None)
    if measure == "roc_auc":
        return Problem(
            lambda f: search_pairs(f, positive, negative, weight), float(P * N), total, P
        )
    # from here on all rows weigh the same
    one = total / n
    if measure == "average_precision":
        return Problem(lambda f: search_rankings(f, positive, negative), float(P * N), total, P)
    a = np.arange(P + 1)
    lo, hi = np.zeros(P + 1, dtype=np.int64), np.full(P + 1, N)
    unit, n_predicted = float(n), None
    name, _, exact = measure.partition(":")
    if delta is not None:
        loss_of_table: Callable[..., Any] = delta
    elif name == "fbeta":
        unit, concave = 2.0 * P, True
        loss_of_table = partial(f_loss, beta=beta)
    elif name == "g_mean":
        loss_of_table = g_mean_loss
    else:
        # the k highest scores: the truth is among the labelings that are looked at if these
        # have at least k positive rows, or at most k; see the module
        k = P if name == "prbep" else k
        unit, n_predicted, concave = 2.0 * min(k, P), k, True
        if exact or k <= P:
            lo = np.maximum(k - a, 0)
        if exact or k >= P:
            hi = np.minimum(k - a, N)
        by_precision = name == "precision_at_k" if exact else k < P
        loss_of_table = precision_loss if by_precision else recall_loss
    table = partial(loss_of_table, P=P, N=N)

    def search(f: np.ndarray) -> Cut:
        sides = sort_sides(f, positive, negative)
        if measure == "g_mean":
            best = best_g_mean(sides, unit)
        else:
            best = best_table(table, sides, unit, lo, hi, concave=concave)
        return cut_of_table(sides, float(table(*best)), *best, unit, n)

    return Problem(search, unit, unit * one, n_predicted)


def printed_price(C1: float, unit: float) -> float:
    """The C of the problem above that stands for C1 as printed, where wrong rows weigh 2."""
    return C1 * (2.0 * unit) ** 2


# --- H ------------------------------------------------------------------------------------------

# rows and columns of the largest matrix that is factorized; conjugate gradients stop at a
# residual of this share of what is solved for: multipliers of large C magnify it (at 1e-6 the
# gap of 100,000 rows stays above 0.002)
LARGEST_FACTOR = 5000
CG_TOLERANCE = 1e-8
# of columns, multiplied side by side; not as many as there are cores, so that sums are the same
N_BLOCKS = 4


def for_products(X: Any) -> Any:
    """X so that it multiplies fast: what is hit at random is the shorter of the two vectors."""
    wide = sp.issparse(X) and X.shape[1] > X.shape[0]
    return sp.csc_array(X) if wide else X


def disagreement(
    X: Any, ptr: np.ndarray, present: np.ndarray, weight: np.ndarray | None = None
) -> Any:
    """M with ``|M w|² = sum over rows and u < v of (w_u·x_u - w_v·x_v)²``, of the views present.

    With c views in a row this is c times the sum of squares about their mean, and so a
    sum over all views but the first of ``c (k-1)/k (f_k - mean of the k - 1 before)²``:
    V - 1 blocks of rows, where the pairs would be V (V - 1) / 2.
    """
    number = present.sum(axis=1)
    weight = np.ones(len(present)) if weight is None else weight
    stack, join = (sp.vstack, sp.hstack) if sp.issparse(X) else (np.vstack, np.hstack)
    blocks = []
    for v in range(1, len(ptr) - 1):
        k = present[:, : v + 1].sum(axis=1)
        here = np.flatnonzero(present[:, v] & (k > 1))
        k = k[here]
        own = np.sqrt(weight[here] * number[here] * (k - 1) / k)
        x = X[here]
        blocks.append(
            join(
                [
                    scale_rows(x[:, : ptr[v]], -own / (k - 1)),
                    scale_rows(x[:, ptr[v] : ptr[v + 1]], own),
                    0.0 * x[:, ptr[v + 1] :],
                ]
            )
        )
    M = stack(blocks)
    if not sp.issparse(M):
        return M
    M = sp.csr_array(M)
    M.eliminate_zeros()
    return M


def scale_rows(X: Any, factor: np.ndarray) -> Any:
    """Row i times ``factor[i]``."""
    return sp.diags_array(factor) @ X if sp.issparse(X) else X * factor[:, None]


class Inverse:
    """``H^-1 gamma``, for ``H = I + c M'M``.

    By a Cholesky factor of whichever of ``I + c M'M`` and ``I + c M M'`` is smaller; past
    `LARGEST_FACTOR` by conjugate gradients, preconditioned with the diagonal of H (columns
    differ in size more than rows do).  Without M, or for c = 0, H is the identity.
    """

    def __init__(self, M: Any, c: float) -> None:
        self.M, self.c = M, c
        self.iterative = False
        self.factor: Any = None
        if M is None or c == 0.0:
            self.M = None
            return
        n, d = M.shape
        self.by_columns = d <= n
        self.iterative = min(n, d) > LARGEST_FACTOR
        if self.iterative:
            self.inverse = 1.0 / (1.0 + c * np.asarray((M * M).sum(axis=0)).ravel())
            # blocks of columns of as many entries each, which threads multiply side by side
            M = sp.csc_array(M)
            ends = np.searchsorted(M.indptr, np.linspace(0, M.nnz, N_BLOCKS + 1)[1:-1])
            self.M = [M[:, a:b] for a, b in pairwise([0, *ends.tolist(), d])]
            return
        product = M.T @ M if self.by_columns else M @ M.T
        product = product.toarray() if sp.issparse(product) else product
        self.factor = cho_factor(np.eye(min(n, d)) + c * product)

    def __call__(self, gamma: np.ndarray, size: float | None = None) -> np.ndarray:
        """The answer; ``size`` is the norm that a residual is compared with, that of gamma."""
        M, c = self.M, self.c
        if M is None:
            return gamma
        if self.factor is not None and self.by_columns:
            return cho_solve(self.factor, gamma, check_finite=False)
        if self.factor is not None:
            return gamma - c * (M.T @ cho_solve(self.factor, M @ gamma, check_finite=False))
        cuts = np.cumsum([block.shape[1] for block in M])[:-1]
        with ThreadPoolExecutor(len(M)) as pool:

            def times_h(z: np.ndarray) -> np.ndarray:
                u = c * sum(pool.map(lambda block, part: block @ part, M, np.split(z, cuts)))
                product = np.concatenate(list(pool.map(lambda block: block.T @ u, M)))
                product += z
                return product

            shape = len(gamma), len(gamma)
            H = LinearOperator(shape, matvec=times_h, dtype=np.float64)
            near = LinearOperator(shape, matvec=lambda r: r * self.inverse, dtype=np.float64)
            size = float(np.linalg.norm(gamma)) if size is None else size
            return cg(H, gamma, rtol=0.0, atol=CG_TOLERANCE * size, M=near)[0]


# --- the quadratic program over some cuts --------------------------------------------------------


def solve_program(G: np.ndarray, delta: np.ndarray, C: float, start: np.ndarray) -> np.ndarray:
    """The alpha that maximizes ``delta·alpha - ½ alpha'G alpha``; all >= 0, their sum at most C.

    ``start`` says which may be above 0 at first: those of the last solution, and the new cut.  Cuts
    whose slack would be above xi join them, until there are none.
    """
    while True:
        some = np.flatnonzero(start)
        alpha = np.zeros(len(delta))
        alpha[some] = C * interior_point(C * G[np.ix_(some, some)], delta[some])
        slack = delta - G @ alpha
        xi = max(0.0, float(slack[some].max()))
        more = ~start & (slack > xi + 1e-7 * (xi + np.abs(delta).max()))
        if not more.any():
            return alpha
        start = start | more


def interior_point(Q: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The x >= 0 with a sum of at most 1 that maximizes ``c·x - ½ x'Q x``, by PIQP."""
    n = len(c)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs, solver.settings.eps_rel = 1e-10, 1e-10
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
    # whatever it says of its success: what is kept is feasible, so its value is a bound
    x = np.where(solver.result.x > 1e-9, solver.result.x, 0.0)
    return x / max(1.0, x.sum())


class Cuts:
    """The working set: each cut as a pair of vectors, and their products.

    With fewer columns than rows a cut is ``(gamma, H^-1 gamma)``, otherwise
    ``(s, X H^-1 X's)``: ``G_ab`` is left_a·right_b either way, and what is kept is as long as
    the shorter side of X.  A cut that was inactive for `PATIENCE` programs gives its place to a
    new one.
    """

    PATIENCE = 20

    def __init__(self, X: Any, solve: Inverse, *, keep: bool) -> None:
        self.X, self.solve = for_products(X), solve
        self.by_columns = X.shape[1] <= X.shape[0]
        self.keep = keep and self.by_columns
        self.size = 0
        self.left, self.right = (np.empty((16, min(X.shape))) for _ in range(2))
        self.s = np.empty((16 if self.keep else 0, X.shape[0]))
        self.G = np.zeros((16, 16))
        self.delta, self.alpha = np.zeros(16), np.zeros(16)
        self.idle = np.zeros(16, dtype=np.int64)

    def add(self, delta: float, s: np.ndarray) -> None:
        """Take in a cut."""
        worn = np.flatnonzero(self.idle[: self.size] >= self.PATIENCE)
        place = int(worn[0]) if len(worn) else self.size
        if place == len(self.delta):
            self._make_room()
        left, right = self._pair(s)
        self.size = k = max(self.size, place + 1)
        self.left[place], self.right[place] = left, right
        if self.keep:
            self.s[place] = s
        self.delta[place], self.alpha[place], self.idle[place] = delta, 0.0, -1
        self.G[place, :k] = self.G[:k, place] = self.left[:k] @ right

    def _pair(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X, gamma = self.X, self.X.T @ s
        if self.by_columns:
            return gamma, self.solve(gamma)
        some = np.flatnonzero(self.alpha[: self.size])
        if not (self.solve.iterative and len(some)):
            return s, X @ self.solve(gamma)
        # what the other cuts say of it need not be solved for: the closest sum of them
        G = self.G[np.ix_(some, some)]
        known = np.linalg.lstsq(G, self.right[some] @ s, rcond=1e-8)[0]
        rest = self.solve(X.T @ (s - known @ self.left[some]), float(np.linalg.norm(gamma)))
        return s, known @ self.right[some] + X @ rest

    def _make_room(self) -> None:
        more = len(self.delta)
        for name in ("left", "right", "s"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.empty_like(old)]))
        self.G = np.pad(self.G, (0, more))
        for name in ("delta", "alpha", "idle"):
            setattr(self, name, np.pad(getattr(self, name), (0, more)))

    def solve_program(self, C: float) -> tuple[float, np.ndarray, np.ndarray]:
        """The dual's value at its solution, and the sums of alpha times left and right."""
        k = self.size
        G, delta = self.G[:k, :k], self.delta[:k]
        start = (self.alpha[:k] > 0.0) | (self.idle[:k] < 0)
        alpha = self.alpha[:k] = solve_program(G, delta, C, start)
        self.idle[:k] = np.where(alpha > 0.0, 0, np.maximum(self.idle[:k], 0) + 1)
        active = np.flatnonzero(alpha)
        left, right = (alpha[active] @ side[active] for side in (self.left, self.right))
        return float(delta @ alpha - 0.5 * left @ right), left, right

    def scores(self, right: np.ndarray) -> np.ndarray:
        """The f of such a sum."""
        return self.X @ right if self.by_columns else right

    def weights(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The w of such a sum."""
        return right if self.by_columns else self.solve(self.X.T @ left)

    def active(self) -> list[Cut]:
        """The cuts that the last program needed."""
        s = self.s if self.by_columns else self.left
        return [
            (float(self.delta[i]), s[i].copy()) for i in np.flatnonzero(self.alpha[: self.size])
        ]


# --- the loops -----------------------------------------------------------------------------------

# of the way from the best weights to the program's: at first, at least, and what comes after a
# better and after a worse value; where even short steps lead to worse ones, a cut at the program's
# weights is taken besides
FIRST_STEP, SHORTEST_STEP, LONGER, SHORTER = 0.1, 0.02, 1.5, 0.5
SHORT_STEP = 0.05


class Solution(NamedTuple):
    """What was found."""

    w: np.ndarray
    history: np.ndarray  # (n_iter, 2): the bound and the best value so far, after each program
    gap: float  # between the two at the end, relative to the value
    size: int  # cuts in the last program
    cuts: list[Cut]  # those that it needed, where they are kept


def relative_gap(value: float, bound: float) -> float:
    """(value - bound) / value; 0 where the value is 0."""
    return max(0.0, value - bound) / value if value > 0.0 else 0.0


def cutting_planes(
    X: Any,
    search: Search,
    solve: Inverse,
    C: float,
    *,
    tol: float,
    max_iter: int,
    known: Sequence[Cut] = (),
    keep: bool = False,
) -> Solution:
    """All views at once: ``min ½ w'H w + C xi`` to a gap of ``tol``, from the ``known`` cuts on."""
    cuts = Cuts(X, solve, keep=keep)
    # 1. the weights that are best for the known cuts
    for delta, s in known:
        cuts.add(delta, s)
    nothing = np.zeros(min(X.shape))
    bound, left, right = cuts.solve_program(C) if known else (0.0, nothing, nothing)
    best = left, right
    value, step = np.inf, FIRST_STEP
    history: list[tuple[float, float]] = []
    while len(history) < max_iter:
        # 2. a cut between the best weights so far and the program's
        before = value
        for t in (step, 1.0) if step < SHORT_STEP else (step,):
            here = best[0] + t * (left - best[0]), best[1] + t * (right - best[1])
            f = cuts.scores(here[1])
            delta, s = search(f)
            found = 0.5 * float(here[0] @ here[1]) + C * max(0.0, delta - float(s @ f))
            if found < value:
                value, best = found, here
            cuts.add(delta, s)
        step = min(1.0, LONGER * step) if value < before else max(SHORTEST_STEP, SHORTER * step)
        # 3. the program with these too
        below, left, right = cuts.solve_program(C)
        bound = max(bound, below)
        history.append((bound, value))
        if relative_gap(value, bound) <= tol:
            break
    return Solution(
        cuts.weights(*best),
        np.array(history),
        relative_gap(value, bound),
        cuts.size,
        cuts.active() if keep else [],
    )


def one_view_at_a_time(
    X: Any,
    ptr: np.ndarray,
    present: np.ndarray,
    search: Search,
    solve: Inverse,
    C: float,
    C2: float,
    *,
    tol: float,
    max_iter: int,
    weight: np.ndarray | None = None,
    printed: bool = False,
) -> Solution:
    """Algorithm 1: a cut, then the weights of each view, for the others' scores of the last round.

    With c views in a row and ``m`` the mean of their scores in the last round, the disagreement
    is at most ``c sum_v (f_v - m)²``, and no more at those scores.  So with ``Omega_v = I + C2
    X_v'diag(c) X_v`` and ``beta_v = C2 X_v'(c m)`` the weights ``w_v = Omega_v^-1 (beta_v +
    sum alpha gamma_v)`` lower the value, for the alpha of the program with ``G = sum_v gamma_v'
    Omega_v^-1 gamma_v`` and ``delta - sum_v gamma_v'Omega_v^-1 beta_v``, and go on doing so
    until it is the minimum.

    ``printed``: (8) to (13) as they stand.  View j is held to the views u < j only, and has an
    alpha of its own while the other views' scores are fixed.  The views have xi in common, so
    such rounds may stop, or go round, above the minimum; with all views summed too.

    When a round changes the value of the cuts at hand by less than a tolerance, the dual of
    all views over these cuts says how far it is to the minimum; where that is more than ``tol``
    rounds go on with a tenth of the tolerance.
    """
    V, number = present.shape[1], present.sum(axis=1)
    weight = np.ones(len(present)) if weight is None else weight
    views = [X[:, ptr[v] : ptr[v + 1]] for v in range(V)]
    if printed:
        together = [present[:, v] * present[:, :v].sum(axis=1) for v in range(V)]
    else:
        together = [present[:, v] * np.where(number > 1, number, 0) for v in range(V)]
    omega = [Inverse(scale_rows(views[v], np.sqrt(together[v] * weight)), C2) for v in range(V)]
    w, f = [np.zeros(view.shape[1]) for view in views], np.zeros((V, len(present)))
    gamma, solved = ([np.empty((0, view.shape[1])) for view in views] for _ in range(2))
    S, delta = np.empty((0, len(present))), np.empty(0)
    alpha = np.empty((V, 0))
    joint = Cuts(X, solve, keep=False)
    value, model, change, settle, bound = np.inf, np.inf, np.inf, tol, 0.0
    history: list[tuple[float, float]] = []

    def quadratic() -> float:
        apart = [(u, v, present[:, u] & present[:, v]) for v in range(V) for u in range(v)]
        disagreement = sum(float(weight[b] @ (f[u, b] - f[v, b]) ** 2) for u, v, b in apart)
        return 0.5 * (sum(float(part @ part) for part in w) + C2 * disagreement)

    while True:
        # 1. the most violated labeling
        loss, s = search(f.sum(axis=0))
        found = quadratic() + C * max(0.0, loss - float(s @ f.sum(axis=0)))
        if found < value:
            best, value = np.concatenate(w), found
        if change <= settle * value and value - model <= settle * value:
            bound, settle = max(bound, joint.solve_program(C)[0]), settle / 10.0
        history.append((bound, value))
        if relative_gap(value, bound) <= tol or len(history) == max_iter or settle < 1e-12:
            break
        joint.add(loss, s)
        S, delta = np.vstack([S, s]), np.append(delta, loss)
        alpha = np.pad(alpha, ((0, 0), (0, 1)))
        # 2. what each view would be without cuts, and what the cuts can do
        target = [f[:v].sum(axis=0) for v in range(V)] if printed else [f.sum(axis=0)] * V
        beta = [
            omega[v](C2 * (views[v].T @ (weight * (together[v] > 0) * target[v]))) for v in range(V)
        ]
        for v in range(V):
            gamma[v] = np.vstack([gamma[v], views[v].T @ s])
            solved[v] = np.vstack([solved[v], omega[v](gamma[v][-1])])
        # 3. the program, and the weights
        groups = [[v] for v in range(V)] if printed else [list(range(V))]
        fixed = f.copy()
        for group in groups:
            rest = S @ (fixed.sum(axis=0) - fixed[group].sum(axis=0))
            left = delta - rest - sum(gamma[v] @ beta[v] for v in group)
            start = alpha[group[0]] > 0.0
            start[-1] = True
            G = np.sum([gamma[v] @ solved[v].T for v in group], axis=0)
            alpha[group] = solve_program(G, left, C, start)
        for v in range(V):
            w[v] = beta[v] + alpha[v] @ solved[v]
            f[v] = views[v] @ w[v]
        before = model
        model = quadratic() + C * max(0.0, float((delta - S @ f.sum(axis=0)).max()))
        change = abs(before - model)
    bound = max(bound, joint.solve_program(C)[0])
    history[-1] = bound, value
    return Solution(best, np.array(history), relative_gap(value, bound), len(delta), [])
