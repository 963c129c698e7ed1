"""One view after the other, over all rows; with the others fixed the score is linear.

Alternating least squares (squared loss, L2) minimizes the objective of `lbfgs`.  In the
parameters of one part p

    score = rest + sum_f S_p,f D_p,f,   D_p,f = d score / d S_p,f,

a ridge regression on the features x_i D_f and D_f, which LSMR solves.

The support tensor machine has one factor and no bias rows, and the objective

    sum_n w_n loss(score_n, y_n) + ½ alpha n prod_v |w_v|²,

so in one view it is a linear support vector machine on the
features x_i D / s with the weights s w_v, s = prod_{u != v} |w_u|.

Reference: Fong, Saunders, "LSMR", SIAM J. Sci. Comput. 33 (2011).
"""

import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsmr
from sklearn.exceptions import ConvergenceWarning

from crossview.algorithms.losses import LOGISTIC, SOFTMAX
from crossview.algorithms.machines.batch import count_touches, sum_slopes
from crossview.algorithms.machines.state import MULTI_VIEW, Machine, Objective
from crossview.kernels.rows import Examples, Rows

# accuracy and steps of one ridge regression; the next sweep continues from it
TOLERANCE, MAX_STEPS = 1e-8, 100


def least_squares(
    rows: Rows,
    examples: Examples,
    machine: Machine,
    objective: Objective,
    n_iter: int,
    after_each: Callable[[], bool],
) -> None:
    """Fit one part after the other; stop when ``after_each`` sweep over all returns True.

    ``y`` has one number per row, or the number of the class, whose scores are then
    fitted to 1 for the row's class and -1 for the others.
    """
    order, y, weight = examples
    A, B, c = machine.A[:, 0], machine.B[:, 0], machine.c[0]
    n, K = len(order), len(c)
    k = B.shape[1] // K
    targets = y[order][:, None]
    if K > 1:
        targets = np.where(np.arange(K) == targets, 1.0, -1.0)
    root = np.sqrt(weight[order])
    counts = np.zeros(len(A))
    count_touches(rows, order, machine, counts)
    X = _matrix(rows)[order]
    has_bias = machine.model == MULTI_VIEW
    scores, D = np.zeros((n, K)), np.zeros((n, *B.shape))
    for _ in range(n_iter):
        for p, v in enumerate(machine.views.tolist()):
            sum_slopes(rows, order, machine, scores, D)
            columns = np.arange(rows.ptr[v], rows.ptr[v + 1], dtype=np.uint64)
            slots = (columns + machine.column_offset[p]).astype(np.intp)
            seen = counts[slots] > 0.0
            slots, block = slots[seen], X[:, columns[seen].astype(np.intp)]
            ridge = np.sqrt(objective.alpha * counts[slots])
            if has_bias:  # the bias row, as one more feature of value 1
                block = sp.csr_array(sp.hstack([block, np.ones((n, 1))], format="csr"))
                ridge = np.append(ridge, np.sqrt(objective.alpha_bias * n))
            for a in range(K):
                own = slice(a * k, (a + 1) * k)
                theta = np.vstack([A[slots, own], B[p : p + has_bias, own]])
                residual = targets[:, a] - scores[:, a]
                theta = _ridge(block, D[:, p, own], root, ridge, theta, residual)
                A[slots, own] = theta[: len(slots)]
                B[p : p + has_bias, own] = theta[len(slots) :]
        if objective.fit_intercept:
            sum_slopes(rows, order, machine, scores, D)
            c += np.average(targets - scores, axis=0, weights=root**2)
        if after_each():
            return


def support_machines(
    rows: Rows,
    examples: Examples,
    machine: Machine,
    objective: Objective,
    n_iter: int,
    after_each: Callable[[], bool],
) -> None:
    """Fit a support tensor machine, each view in turn by liblinear; one class against the rest."""
    order, y, weight = examples
    A, c = machine.A[:, 0], machine.c[0]
    n, K = len(order), len(c)
    labels = y[order][:, None]
    if K > 1:
        labels = np.where(np.arange(K) == labels, 1.0, -1.0)
    ptr = rows.ptr.astype(np.intp)
    X = _matrix(rows)[order]
    if len(rows.present):  # a row without one of the views has no product
        X = sp.diags_array(rows.present[order].all(axis=1).astype(float)) @ X
    views = [sp.csr_array(X[:, lo:hi]) for lo, hi in pairwise(ptr)]
    # initially each view's part of the product is about 1, whatever its width
    for X_v, (lo, hi) in zip(views, pairwise(ptr), strict=True):
        size = np.sqrt(np.mean((X_v @ A[lo:hi]) ** 2, axis=0))
        A[lo:hi] /= np.where(size > 0.0, size, 1.0)
    from sklearn.linear_model import LogisticRegression  # they take long to load
    from sklearn.svm import LinearSVC

    counts = weight[order] > 0.0
    C = 1.0 / (objective.alpha * n)
    for _ in range(n_iter):
        for a in range(K):
            w = [A[lo:hi, a] for lo, hi in pairwise(ptr)]
            for v, Z in enumerate(views):
                others = [u for u in range(len(views)) if u != v]
                scale = float(np.prod([np.linalg.norm(w[u]) for u in others]))
                if scale == 0.0:
                    continue  # the product is 0 in every row: nothing to fit
                D = np.prod([views[u] @ w[u] for u in others], axis=0) / scale * np.ones(n)
                kind = (
                    LogisticRegression(C=C, max_iter=1000)
                    if objective.loss in (LOGISTIC, SOFTMAX)
                    else LinearSVC(C=C, loss="hinge", random_state=0, max_iter=10_000)
                )
                with warnings.catch_warnings():
                    # a fit that stops early continues in the next turn
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
    """Return the Θ that minimizes |root (residual - sum_f D_f X (Θ - θ)_f)|² + |ridge Θ|²."""
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
    step = lsmr(system, goal, atol=TOLERANCE, btol=TOLERANCE, maxiter=MAX_STEPS)[0]
    return np.asarray(theta + step.reshape(shape))


def _matrix(rows: Rows) -> sp.csr_array:
    """Return the rows as a sparse matrix."""
    n = len(rows.indptr) - 1
    columns = np.tile(rows.indices, n) if rows.shared else rows.indices
    # liblinear takes 32 bits
    few = max(len(rows.data), int(rows.ptr[-1])) <= np.iinfo(np.int32).max
    index = np.int32 if few else np.int64
    return sp.csr_array(
        (rows.data, columns.astype(index), rows.indptr.astype(index)),
        shape=(n, int(rows.ptr[-1])),
    )
