"""Multi-view machines on all rows at once: L-BFGS, and one view after the other.

The first two minimize what the passes of `machines.learn` buffers on,

    sum_n w_n loss(score_n, y_n) + alpha sum_i t_i Ω(θ_i),

where t_i counts the rows that touch parameter i, at each of which a pass
regularizes it (all rows for a bias row, or none).  So alpha means the same
whatever the optimizer.

Alternating least squares (squared loss, L2): with all views but one fixed the
score is linear in the parameters of that view,

    score = rest + sum_f S_v,f D_f,   D_f = d score / d S_v,f,

a ridge regression on the features x_i D_f and D_f, which LSMR solves.

The support tensor machine has one factor and no bias rows, and the objective

    sum_n w_n loss(score_n, y_n) + ½ alpha n prod_v |w_v|²,

so with all views but one fixed it is a linear support vector machine on the
features x_i D / s with the weights s w_v, s = prod_{u != v} |w_u|.

References: Nocedal, "Updating Quasi-Newton Matrices with Limited Storage",
Math. Comp. 35 (1980); Fong, Saunders, "LSMR", SIAM J. Sci. Comput. 33 (2011).
"""

import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, lsmr
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from crossview._jit import njit
from crossview.algorithms.losses import LOGISTIC, losses, slopes
from crossview.algorithms.machines import (
    ALL_PAIRS,
    MULTI_VIEW,
    Machine,
    cut_views,
    room_for_a_row,
    row_score,
)
from crossview.algorithms.optimizers import BEND, L2
from crossview.kernels.rows import ONE, Rows

# accuracy and steps of one ridge regression; the next sweep goes on from it
TOLERANCE, MOST_STEPS = 1e-8, 100


@njit
def gradient(rows, order, y, weight, machine, loss, dA, dB, dc, scores):
    """Add the slopes of all losses to dA, dB and dc; scores[i] <- score of row i."""
    x, j, _, _, ptr, present = rows
    A, B, c, views, column_offset, _, model, _, _, _, _ = machine
    n, K = B.shape[2], c.shape[1]
    k = n // K
    buffers = room_for_a_row(machine, ptr)
    D, cut = buffers.D, buffers.cut
    own, G = np.zeros(n), np.empty(K)
    for s in range(order.shape[0]):
        i = order[s]
        offset = row_score(rows, i, machine, buffers, scores[i])
        slopes(loss, scores[i], y[i], G)
        for a in range(K):
            G[a] *= weight[i]
            dc[a] += G[a]
            if model == ALL_PAIRS:
                own[a * k + 1 : (a + 1) * k] = G[a]
        for p in range(views.shape[0]):
            v = views[p]
            for a in range(K):
                for f in range(a * k, (a + 1) * k):
                    D[p, f] *= G[a]
            if model == MULTI_VIEW:
                dB[p] += D[p]
            if present.shape[0] == 0 or present[i, v]:
                for q in range(cut[v], cut[v + ONE]):
                    place = j[q - offset] + column_offset[p]
                    for f in range(n):
                        dA[place, f] += x[q] * (D[p, f] - own[f] * x[q] * A[place, 0, f])


@njit
def slopes_of_sums(rows, order, machine, scores, D):
    """scores[s] and D[s, p, f] <- score and d score / d S_p,f of row order[s]."""
    _, _, _, _, ptr, _ = rows
    buffers = room_for_a_row(machine, ptr)
    for s in range(order.shape[0]):
        row_score(rows, order[s], machine, buffers, scores[s])
        D[s] = buffers.D


@njit
def touches(rows, order, machine, counts):
    """Add to counts[place] the rows that touch it."""
    x, j, _, _, ptr, present = rows
    views, column_offset = machine.views, machine.column_offset
    cut = np.empty(ptr.shape[0], np.uint64)
    for s in range(order.shape[0]):
        i = order[s]
        offset = cut_views(rows, i, cut)
        for p in range(views.shape[0]):
            v = views[p]
            if present.shape[0] == 0 or present[i, v]:
                for q in range(cut[v], cut[v + ONE]):
                    if x[q] != 0.0:
                        counts[j[q - offset] + column_offset[p]] += 1.0


def lbfgs(
    rows: Rows,
    order: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    machine: Machine,
    loss: int,
    penalty: int,
    alpha: float,
    alpha_bias: float,
    n_iter: int,
    after_each: Callable[[], bool],
) -> None:
    """Minimize over the rows in ``order``; ends where ``after_each`` iteration returns True."""
    A, B, c = machine.A[:, 0], machine.B[:, 0], machine.c[0]
    scores = np.zeros((len(rows.indptr) - 1, len(c)))
    counts = np.zeros(len(A))
    touches(rows, order, machine, counts)
    seen = np.flatnonzero(counts)  # all other places stay as they are
    counts = counts[seen]
    shape = (len(seen), A.shape[1])
    cuts = np.cumsum([len(seen) * A.shape[1], B.size])
    dA = np.zeros(A.shape)
    of_bias = alpha_bias * len(order) if machine.model == MULTI_VIEW else 0.0
    price = np.concatenate([np.repeat(alpha * counts, A.shape[1]), np.full(B.size, of_bias)])

    def put(theta: np.ndarray) -> None:
        a, b, intercept = np.split(theta, cuts)
        A[seen], B[:], c[:] = a.reshape(shape), b.reshape(B.shape), intercept

    def value(theta: np.ndarray) -> tuple[float, np.ndarray]:
        put(theta)
        dA[seen] = 0.0
        dB, dc = np.zeros(B.shape), np.zeros(c.shape)
        gradient(rows, order, y, weight, machine, loss, dA, dB, dc, scores)
        slope = np.concatenate([dA[seen].ravel(), dB.ravel(), dc])
        regular = theta[: cuts[1]]
        size = 0.5 * regular**2 if penalty == L2 else np.sqrt(regular**2 + BEND)
        total = float(losses(loss, scores[order], y[order]) @ weight[order])
        total += float(price @ size)
        slope[: cuts[1]] += price * (regular if penalty == L2 else regular / size)
        return total / len(order), slope / len(order)

    def callback(intermediate_result):  # scipy goes by this name
        put(intermediate_result.x)
        if after_each():
            raise StopIteration

    minimize(
        value,
        np.concatenate([A[seen].ravel(), B.ravel(), c]),
        jac=True,
        method="L-BFGS-B",
        callback=callback,
        options={"maxiter": n_iter, "ftol": 1e-12, "gtol": 1e-8},
    )


def alternating_least_squares(
    rows: Rows,
    order: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    machine: Machine,
    alpha: float,
    alpha_bias: float,
    n_iter: int,
    after_each: Callable[[], bool],
) -> None:
    """Sweeps over all parts; ends where ``after_each`` sweep returns True.

    ``y`` has one number a row, or the number of the class, whose scores are then
    fitted to 1 for the row's class and -1 for the others.
    """
    A, B, c = machine.A[:, 0], machine.B[:, 0], machine.c[0]
    n, K = len(order), len(c)
    k = B.shape[1] // K
    targets = y[order][:, None]
    if K > 1:
        targets = np.where(np.arange(K) == targets, 1.0, -1.0)
    root = np.sqrt(weight[order])
    counts = np.zeros(len(A))
    touches(rows, order, machine, counts)
    X = _matrix(rows)[order]
    scores, D = np.zeros((n, K)), np.zeros((n, *B.shape))
    for _ in range(n_iter):
        for p, v in enumerate(machine.views.tolist()):
            slopes_of_sums(rows, order, machine, scores, D)
            columns = np.arange(rows.ptr[v], rows.ptr[v + 1], dtype=np.uint64)
            places = (columns + machine.column_offset[p]).astype(np.intp)
            seen = counts[places] > 0.0
            places, block = places[seen], X[:, columns[seen].astype(np.intp)]
            ridge = np.sqrt(alpha * counts[places])
            if machine.model == MULTI_VIEW:  # the bias row, as one more feature of value 1
                here = np.ones((n, 1))
                block = sp.csr_array(sp.hstack([block, here], format="csr"))
                ridge = np.append(ridge, np.sqrt(alpha_bias * n))
            for a in range(K):
                own = slice(a * k, (a + 1) * k)
                theta = A[places, own]
                if machine.model == MULTI_VIEW:
                    theta = np.vstack([theta, B[p, own]])
                residual = targets[:, a] - scores[:, a]
                theta = _ridge(block, D[:, p, own], root, ridge, theta, residual)
                A[places, own] = theta[: len(places)]
                if machine.model == MULTI_VIEW:
                    B[p, own] = theta[-1]
        slopes_of_sums(rows, order, machine, scores, D)
        c += np.average(targets - scores, axis=0, weights=root**2)
        if after_each():
            return


def alternating_machines(
    rows: Rows,
    order: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    machine: Machine,
    loss: int,
    alpha: float,
    n_iter: int,
    after_each: Callable[[], bool],
) -> None:
    """A support tensor machine: each view in turn, by liblinear; one class against the rest."""
    A, c = machine.A[:, 0], machine.c[0]
    n, K = len(order), len(c)
    labels = y[order][:, None]
    if K > 1:
        labels = np.where(np.arange(K) == labels, 1.0, -1.0)
    ptr = rows.ptr.astype(np.intp)
    X = _matrix(rows)[order]
    if len(rows.present):  # without one view there is no product
        X = sp.diags_array(rows.present[order].all(axis=1).astype(float)) @ X
    views = [sp.csr_array(X[:, lo:hi]) for lo, hi in pairwise(ptr)]
    # begin where each view's part of the product is about 1, whatever its width
    for X_v, (lo, hi) in zip(views, pairwise(ptr), strict=True):
        size = np.sqrt(np.mean((X_v @ A[lo:hi]) ** 2, axis=0))
        A[lo:hi] /= np.where(size > 0.0, size, 1.0)
    counts = weight[order] > 0.0
    C = 1.0 / (alpha * n)
    for _ in range(n_iter):
        for a in range(K):
            w = [A[lo:hi, a] for lo, hi in pairwise(ptr)]
            for v, Z in enumerate(views):
                others = [u for u in range(len(views)) if u != v]
                scale = float(np.prod([np.linalg.norm(w[u]) for u in others]))
                if scale == 0.0:
                    continue  # no product left: nothing to find
                D = np.prod([views[u] @ w[u] for u in others], axis=0) / scale * np.ones(n)
                kind = (
                    LogisticRegression(C=C, max_iter=1000)
                    if loss == LOGISTIC
                    else LinearSVC(C=C, loss="hinge", random_state=0, max_iter=10_000)
                )
                with warnings.catch_warnings():
                    # one that stops early is gone on with in the next turn
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    kind.fit(
                        (sp.diags_array(D) @ Z)[counts],
                        labels[counts, a],
                        sample_weight=weight[order][counts],
                    )
                w[v][:] = kind.coef_[0] / scale
                c[a] = kind.intercept_[0]
        if after_each():
            return


def _ridge(
    X: sp.csr_array,
    D: np.ndarray,
    root: np.ndarray,
    ridge: np.ndarray,
    theta: np.ndarray,
    residual: np.ndarray,
) -> np.ndarray:
    """The Θ that minimizes |root (residual - sum_f D_f X (Θ - θ)_f)|² + |ridge Θ|²."""
    shape = theta.shape
    n = X.shape[0]
    Xt = X.T.tocsr()
    RD = root[:, None] * D

    def forward(step: np.ndarray) -> np.ndarray:
        step = step.reshape(shape)
        return np.concatenate([(RD * (X @ step)).sum(axis=1), (ridge[:, None] * step).ravel()])

    def backward(r: np.ndarray) -> np.ndarray:
        first = Xt @ (RD * r[:n, None])
        return np.asarray(first + ridge[:, None] * r[n:].reshape(shape)).ravel()

    system = LinearOperator(
        (n + theta.size, theta.size), matvec=forward, rmatvec=backward, dtype=np.float64
    )
    goal = np.concatenate([root * residual, -(ridge[:, None] * theta).ravel()])
    step = lsmr(system, goal, atol=TOLERANCE, btol=TOLERANCE, maxiter=MOST_STEPS)[0]
    return np.asarray(theta + step.reshape(shape))


def _matrix(rows: Rows) -> sp.csr_array:
    """The rows as a sparse matrix."""
    n = len(rows.indptr) - 1
    columns = np.tile(rows.indices, n) if rows.shared else rows.indices
    # liblinear takes 32 bits
    few = max(len(rows.data), int(rows.ptr[-1])) <= np.iinfo(np.int32).max
    index = np.int32 if few else np.int64
    return sp.csr_array(
        (rows.data, columns.astype(index), rows.indptr.astype(index)),
        shape=(n, int(rows.ptr[-1])),
    )
