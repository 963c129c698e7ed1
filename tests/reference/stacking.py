"""Combinations of experts, one row at a time, as the equations are written."""

from itertools import combinations

import numpy as np


def centered_logs(p):
    x = np.log(p)
    return x - x.mean(axis=-1, keepdims=True)


def softmax(score):
    p = np.exp(score - score.max())
    return p / p.sum()


def online_newton(loss_terms, n_rows, start, ridge, drift=1e-7):
    """v before each row; ``loss_terms(i, v)`` gives x, curvature h and slope g of row i."""
    v, A_inv = start, np.eye(len(start)) / ridge
    for i in range(n_rows):
        yield v
        x, h, g = loss_terms(i, v)
        A_inv = np.linalg.inv(np.linalg.inv(A_inv) + h * np.outer(x, x))
        v = v - A_inv @ x * g
        A_inv = A_inv + drift * np.diag(np.diag(A_inv) < 1 / ridge)


def fixed_share(likelihoods, share, delay):
    """ω before each row, of which each counts 1 / (delay + 1)."""
    K = likelihoods.shape[1]
    omega = np.full(K, 1 / K)
    for row, late in zip(likelihoods, 1 / (1 + delay), strict=True):
        yield omega
        posterior = omega * row**late / (omega @ row**late)
        omega = (1 - late * share) * posterior + late * share / K


def better_of(mixture, stacking, weight, decay=0.999):
    """Whether stacking has the lower loss on the rows before each row."""
    losses = np.zeros(2)
    for a, b, w in zip(mixture, stacking, weight, strict=True):
        yield losses[1] < losses[0]
        losses = decay * losses + w * np.array([a, b])


def two_classes(p, y, weight, delay, share, ridge):
    """Log odds of the mixture, of stacking, and of the better one; y is 0 or 1."""
    n, K = p.shape
    p = np.clip(p, 1e-6, 1 - 1e-6)
    x = np.column_stack([np.log(p / (1 - p)), np.ones(n)])

    def terms(i, v):
        q = np.clip(1 / (1 + np.exp(-v @ x[i])), 1e-6, 1 - 1e-6)
        return x[i], weight[i] * max(q * (1 - q), 1e-4), weight[i] * (q - y[i])

    likelihoods = np.where(y[:, None] == 1, p, 1 - p) ** weight[:, None]
    omega = fixed_share(likelihoods, share, delay)
    m = np.array([w @ row for w, row in zip(omega, p, strict=True)])
    start = np.append(np.full(K, 1 / K), 0.0)
    v = np.array(list(online_newton(terms, n, start, ridge)))
    mixture = np.log(m / (1 - m))
    stacking = np.clip((v * x).sum(axis=1), -np.log(1e6 - 1), np.log(1e6 - 1))
    losses = [np.log1p(np.exp(np.where(y == 1, -s, s))) for s in (mixture, stacking)]
    return mixture, stacking, np.where(list(better_of(*losses, weight)), stacking, mixture)


def several_classes(p, y, weight, delay, share, ridge):
    """Log probabilities of the mixture, of stacking, and of the better one."""
    n, K, C = p.shape
    p = np.maximum(p, 1e-6)
    p = p / p.sum(axis=2, keepdims=True)
    x, q = centered_logs(p), np.empty((n, C))

    def terms(i, v):
        q[i] = softmax(v[:K] @ x[i] + v[K:])
        q[i] = np.maximum(q[i], 1e-6) / np.maximum(q[i], 1e-6).sum()
        g = q[i] - np.eye(C)[y[i]]
        return np.append(x[i] @ g, g), weight[i], weight[i]

    likelihoods = p[np.arange(n), :, y] ** weight[:, None]
    omega = fixed_share(likelihoods, share, delay)
    m = np.array([w @ row for w, row in zip(omega, p, strict=True)])
    list(online_newton(terms, n, np.append(np.full(K, 1 / K), np.zeros(C)), ridge))
    mixture, stacking = np.log(m), np.log(q)
    losses = [-s[np.arange(n), y] for s in (mixture, stacking)]
    chosen = np.array(list(better_of(*losses, weight)))[:, None]
    return mixture, stacking, np.where(chosen, stacking, mixture)


def numbers(f, y, weight, delay, share, ridge, decay=0.999):
    """Predictions of the mixture, of stacking, and of the better one."""
    n, K = f.shape
    x = np.column_stack([f, np.ones(n)])

    def terms(i, v):
        return x[i], weight[i], weight[i] * (v @ x[i] - y[i])

    start = np.append(np.full(K, 1 / K), 0.0)
    stacking = (np.array(list(online_newton(terms, n, start, ridge))) * x).sum(axis=1)
    omega, error, total, mixture = np.full(K, 1 / K), 0.0, 0.0, np.empty(n)
    for i in range(n):
        mixture[i] = omega @ f[i]
        error = decay * error + weight[i] * (y[i] - mixture[i]) ** 2
        total = decay * total + weight[i]
        late = 1 / (1 + delay[i])
        likelihood = np.exp(-late * weight[i] * (y[i] - f[i]) ** 2 / (2 * error / total))
        posterior = omega * likelihood / (omega @ likelihood)
        omega = (1 - late * share) * posterior + late * share / K
    losses = [(y - s) ** 2 for s in (mixture, stacking)]
    return mixture, stacking, np.where(list(better_of(*losses, weight)), stacking, mixture)


def least_absolute(F, r):
    """Weights of 0 or more of least absolute error, by trying every corner.

    At some best w as many of the equations w_m = 0 and "row i is exact" hold as there are weights.
    """
    K = len(F)
    lines = np.concatenate([np.eye(K), F.T])
    right = np.concatenate([np.zeros(K), r])
    best, least = np.zeros(K), np.abs(r).sum()
    for some in combinations(range(len(lines)), K):
        rows = list(some)
        if np.linalg.matrix_rank(lines[rows]) == K:
            w = np.linalg.solve(lines[rows], right[rows])
            loss = np.abs(r - w @ F).sum()
            if (w >= -1e-12).all() and loss < least:
                best, least = w, loss
    return best, least
