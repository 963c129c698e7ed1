"""KeCo as the paper prints it, one kernel value at a time; also as its released code has it.

Rows are lists of V views, labels are -1, 1 or 0 (no label), a kernel is a function of
two vectors.  ``alpha[n]`` and ``z[n]`` are dicts of row -> integer and of row -> sign.
"""

import numpy as np


def learn(X, y, draws, lam, kernel, *, include_self=False, supervised=False, present=None):
    """Algorithm 1 over the rows in ``draws``; what is in no view is passed over.

    ``include_self``: the row's own support counts in its score, as in the released code, where its
    label is the agreement of the views scored before, in this step, and of those after it when
    the row was drawn last.  ``supervised``: unlabeled rows take a step and teach nothing.  ``lam``
    is a number, or one per view.
    """
    V = len(X[0])
    lam = np.broadcast_to(lam, V)
    alpha, z, last = ([{} for _ in range(V)] for _ in range(3))
    present = np.ones((len(X), V), dtype=bool) if present is None else present

    def agreement(i, n):
        others = [last[v].get(i, 0.0) for v in range(V) if v != n and present[i, v]]
        return int(np.sign(sum(others)))

    for t, i in enumerate(draws, start=1):
        if supervised and y[i] == 0:
            continue
        here = [n for n in range(V) if present[i, n]]
        for n in here:
            total = 0.0
            for j, count in alpha[n].items():
                if j != i:
                    total += count * z[n][j] * kernel(X[i][n], X[j][n])
                elif include_self:
                    label = y[i] or agreement(i, n)
                    total += count * label * kernel(X[i][n], X[i][n])
            last[n][i] = total / (lam[n] * t)
        for n in here:
            z[n][i] = y[i] or agreement(i, n)
            if z[n][i] * last[n][i] < 1.0:
                alpha[n][i] = alpha[n].get(i, 0) + 1
    return alpha, z


def learn_squared(X, y, draws, lam, mu, kernel, *, weight=None, present=None):
    """Implicit steps of regression; NaN in y: no label.  Return beta[n], dicts of row -> number.

    Step t on row i minimizes sum_n λ_n t |w_n - (1 - 1/t) w_n,t-1|² / 2 + the loss of the row: of
    the scores s alone, sum_n λ_n t (s_n - ŷ_n)² / (2 K_ii) + loss(s).
    """
    V = len(X[0])
    lam, beta = np.broadcast_to(lam, V), [{} for _ in range(V)]
    present = np.ones((len(X), V), dtype=bool) if present is None else present
    for t, i in enumerate(draws, start=1):
        here = [n for n in range(V) if present[i, n]]
        c = 1.0 if weight is None else weight[i]
        before = np.array(
            [
                sum(b * kernel(X[i][n], X[j][n]) for j, b in beta[n].items()) / (lam[n] * t)
                for n in here
            ]
        )
        own = np.array([kernel(X[i][n], X[i][n]) / (lam[n] * t) for n in here])
        m = len(here)
        if np.isnan(y[i]):  # the gradient of mu sum_{u<v} (s_u - s_v)² / 2 is mu L s
            L = m * np.eye(m) - np.ones((m, m))
            after = np.linalg.solve(np.eye(m) + c * mu * own[:, None] * L, before)
            gradient = mu * L @ after
        else:
            after = np.linalg.solve(np.eye(m) + c * np.diag(own), before + c * own * y[i])
            gradient = after - y[i]
        for n, g in zip(here, gradient, strict=True):
            beta[n][i] = beta[n].get(i, 0.0) - c * g
    return beta


def squared_objective(coefficients, grams, y, lam, mu):
    """The objective of regression: w_n = sum_j c_n[j] φ(x_j), all views present."""
    known = ~np.isnan(y)
    scores = np.array([K @ c for K, c in zip(grams, coefficients, strict=True)])
    value = (
        sum(own * c @ K @ c / 2 for own, K, c in zip(lam, grams, coefficients, strict=True))
        + np.mean(np.sum((y[known] - scores[:, known]) ** 2, axis=0)) / 2
    )
    apart = sum((scores[u] - scores[v])[~known] ** 2 for v in range(len(grams)) for u in range(v))
    return value + (mu * np.mean(apart) / 2 if not known.all() else 0.0)


def squared_minimum(grams, y, lam, mu):
    """The coefficients of the minimum: Brefeld et al. 2006, one linear system."""
    n, V, known = len(y), len(grams), ~np.isnan(y)
    A, b = np.zeros((V, n, V, n)), np.zeros((V, n))
    for v in range(V):
        A[v, :, v, :] += lam[v] * np.eye(n)
        A[v, known, v, :] += grams[v][known] / known.sum()
        b[v, known] = y[known] / known.sum()
        for u in range(V):
            if u != v and not known.all():
                A[v, ~known, v, :] += mu * grams[v][~known] / (~known).sum()
                A[v, ~known, u, :] -= mu * grams[u][~known] / (~known).sum()
    return np.linalg.solve(A.reshape(V * n, V * n), b.reshape(-1)).reshape(V, n)


def top_class(scores, n):
    """The co-agreement (5) of several classes on a row: scores[v][c]; -1, 1 or 0 per class."""
    K = len(scores[0])
    sums = [sum(own[c] for v, own in enumerate(scores) if v != n) for c in range(K)]
    top = max(range(K), key=lambda c: sums[c])
    return [0 if len(set(sums)) == 1 else 1 if c == top else -1 for c in range(K)]


def averaged(x, y, draws, lam, intercept):
    """Weights of the linear Pegasos, w_t at every step, and their mean with weights t.

    A constant feature of value sqrt(intercept) comes first.
    """
    x = np.hstack([np.full((len(x), 1), np.sqrt(intercept)), x])
    w, total = np.zeros(x.shape[1]), 0.0
    for t, i in enumerate(draws, start=1):
        miss = y[i] * (w @ x[i]) * (t - 1) / t < 1.0
        w = (1.0 - 1.0 / t) * w + miss * y[i] * x[i] / (lam * t)
        total = total + t * w
    return w, total / (len(draws) * (len(draws) + 1) / 2)


def score(x, X, alpha, z, lam, T, kernel, present=None):
    """The mean of the views' scores, factor 1 / (lam T)."""
    lam = np.broadcast_to(lam, len(x))
    views = [n for n in range(len(x)) if present is None or present[n]]
    own = [
        sum(count * z[n][j] * kernel(x[n], X[j][n]) for j, count in alpha[n].items()) / (lam[n] * T)
        for n in views
    ]
    return float(np.mean(own)) if own else 0.0
