"""The multi-view SVM for multivariate measures as printed, sums corrected, by enumeration.

Labels are -1 and 1, a row has a list of V views, weights are a list of V vectors.  Every
labeling of the rows is a constraint; nothing here sorts.
"""

from itertools import permutations, product

import numpy as np
from scipy.optimize import minimize


def table(y, labels):
    """True positives, false positives, false negatives, true negatives."""
    pairs = list(zip(y, labels, strict=True))
    return tuple(pairs.count(pair) for pair in [(1, 1), (-1, 1), (1, -1), (-1, -1)])


def loss(measure, y, labels, *, beta=1.0, k=None):
    """Delta of a labeling; None where the measure does not admit it."""
    a, b, c, d = table(y, labels)
    return loss_of_table(measure, a, b, a + c, b + d, beta=beta, k=k)


def loss_of_table(measure, a, b, P, N, *, beta=1.0, k=None):
    """Delta of a true and b false positives; None where the measure does not admit them.

    Precision and recall at k: at least k rows and their precision for k < P, at most k and their
    recall from there on; ``:exact``: exactly k.
    """
    c, d = P - a, N - b
    if measure == "fbeta":
        return 1.0 - (1.0 + beta**2) * a / ((1.0 + beta**2) * a + beta**2 * c + b)
    if measure == "error_rate":
        return (b + c) / (P + N)
    if measure == "balanced_accuracy":
        return 1.0 - (a / P + d / N) / 2.0
    if measure == "g_mean":
        return 1.0 - (a / P * d / N) ** 0.5
    if measure == "prbep":
        return 1.0 - a / P if a + b == P else None
    if measure == "precision_at_k:exact":
        return 1.0 - a / k if a + b == k else None
    if measure == "recall_at_k:exact":
        return 1.0 - a / P if a + b == k else None
    assert measure in ("precision_at_k", "recall_at_k")
    if k < P:
        return 1.0 - a / (a + b) if a + b >= k else None
    return 1.0 - a / P if (a + b <= k if k > P else a + b == k) else None


def most_violated(y, f, delta, *, truth=True):
    """The largest ``delta(labels) - sum_i (y_i - labels_i) f_i`` over all labelings."""
    values = []
    for labels in product([-1, 1], repeat=len(y)):
        d = delta(labels)
        if d is not None and (truth or labels != tuple(y)):
            values.append(d - sum((y[i] - labels[i]) * f[i] for i in range(len(y))))
    return max(values)


def most_violated_pairs(y, f, *, truth=True):
    """The same over all labels of pairs: a positive row above a negative one, or below."""
    pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if y[i] > y[j]]
    values = []
    for labels in product([-1, 1], repeat=len(pairs)):
        wrong = [pair for pair, label in zip(pairs, labels, strict=True) if label < 0]
        if wrong or truth:
            values.append(len(wrong) / len(pairs) - sum(2.0 * (f[i] - f[j]) for i, j in wrong))
    return max(values)


def most_violated_ranking(y, f, *, truth=True):
    """The largest 1 - average precision minus ``2 (f_i - f_j)`` a wrong pair, over all orders."""
    best = -np.inf
    for order in set(permutations(range(len(y)))):
        found, precision, wrong = 0, [], 0.0
        for place, i in enumerate(order, start=1):
            if y[i] > 0:
                found += 1
                precision.append(found / place)
                wrong += sum(2.0 * (f[i] - f[j]) for j in order[: place - 1] if y[j] < 0)
        if truth or np.mean(precision) < 1.0:
            best = max(best, 1.0 - np.mean(precision) - wrong)
    return best


def objective(w, views, y, delta, C1, C2, present=None):
    """Problem (7), xi being the largest violation (0 where there is none)."""
    V, n = len(views), len(y)
    f = np.array([views[v] @ w[v] for v in range(V)])
    if present is not None:
        f = np.where(np.transpose(present), f, 0.0)
    value = sum(part @ part for part in w) / 2.0
    for v in range(V):
        for u in range(v):
            for i in range(n):
                if present is None or (present[i][u] and present[i][v]):
                    value += C2 / 2.0 * (f[u, i] - f[v, i]) ** 2
    return value + C1 * max(0.0, most_violated(y, f.sum(axis=0), delta))


def minimum(views, y, delta, C1, C2):
    """The least value of problem (7), by a general solver with a constraint a labeling."""
    widths = [view.shape[1] for view in views]
    cuts = np.cumsum(widths)[:-1]
    rows, ds = [], []
    for labels in product([-1, 1], repeat=len(y)):
        d = delta(labels)
        if d is not None:
            wrong = np.asarray(y) - np.asarray(labels)
            rows.append(np.concatenate([view.T @ wrong for view in views]))
            ds.append(d)
    H = np.eye(sum(widths))
    for v in range(len(views)):
        for u in range(v):
            M = np.zeros((len(y), sum(widths)))
            M[:, sum(widths[:u]) : sum(widths[: u + 1])] = views[u]
            M[:, sum(widths[:v]) : sum(widths[: v + 1])] = -views[v]
            H += C2 * M.T @ M
    answer = quadratic_program(H, np.zeros(len(H)), np.array(rows), np.array(ds), C1, least=0.0)
    return answer.fun, np.split(answer.x[:-1], cuts)


def quadratic_program(H, beta, A, delta, C1, *, least=None):
    """The w and xi of least ½ w'H w - beta·w + C1 xi with A w >= delta - xi and xi >= least."""
    return minimize(
        lambda z: z[:-1] @ H @ z[:-1] / 2.0 - beta @ z[:-1] + C1 * z[-1],
        np.append(np.zeros(len(H)), delta.max()),
        jac=lambda z: np.append(H @ z[:-1] - beta, C1),
        bounds=[(None, None)] * len(H) + [(least, None)],
        constraints={
            "type": "ineq",
            "fun": lambda z: A @ z[:-1] + z[-1] - delta,
            "jac": lambda z: np.hstack([A, np.ones((len(A), 1))]),
        },
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )


def published_rounds(views, y, delta, C1, C2, T):
    """The weights of the last of T rounds of Algorithm 1, with the sign of (13) corrected.

    The true labeling is no constraint, and xi is free.
    """
    y, V = np.asarray(y), len(views)
    labelings = [
        labels
        for labels in product([-1, 1], repeat=len(y))
        if delta(labels) is not None and labels != tuple(y)
    ]
    w = [np.zeros(view.shape[1]) for view in views]
    wrong, losses = [], []
    for _ in range(T):
        f = sum(views[v] @ w[v] for v in range(V))
        worst = max(labelings, key=lambda labels: delta(labels) - (y - np.array(labels)) @ f)
        wrong.append(y - np.array(worst))
        losses.append(delta(worst))
        last, w = w, []
        for j in range(V):
            Omega, beta = np.eye(views[j].shape[1]), np.zeros(views[j].shape[1])
            for u in range(j):
                Omega += C2 * views[j].T @ views[j]
                beta += C2 * views[j].T @ views[u] @ last[u]
            rest = sum(views[u] @ last[u] for u in range(V) if u != j) + np.zeros(len(y))
            d = np.array(losses) - np.array(wrong) @ rest
            w.append(quadratic_program(Omega, beta, np.array(wrong) @ views[j], d, C1).x[:-1])
    return w
