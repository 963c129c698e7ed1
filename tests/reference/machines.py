"""Multi-view machines by full enumeration of the interactions, one dense row at a time.

A model is a list of groups; a group is a dict of view -> array (width + 1, K, k),
whose last row belongs to the constant feature 1.
"""

import itertools

import numpy as np

EPSILON = 1e-3


def with_constant(x):
    """The row with the constant feature; all 0 but for it where the view is missing."""
    return np.append(np.nan_to_num(x), 1.0)


def score(x, groups, intercept):
    """Cao et al., equation (3) with the weights of (5): every combination of one feature a view."""
    total = np.array(intercept, dtype=float)
    for group in groups:
        z = [with_constant(x[v]) for v in group]
        tables = list(group.values())
        for places in itertools.product(*(range(len(part)) for part in z)):
            value = np.prod([part[i] for part, i in zip(z, places, strict=True)])
            weight = np.prod([A[i] for A, i in zip(tables, places, strict=True)], axis=0)
            total += value * weight.sum(axis=-1)
    return total


def slopes(x, groups):
    """Equation (16): the derivative of each class's score by each of its parameters."""
    result = []
    for group in groups:
        own = {}
        for v in group:
            others = np.ones(group[v].shape[1:])
            for u in group:
                if u != v:
                    others = others * np.einsum("i,ick->ck", with_constant(x[u]), group[u])
            own[v] = np.einsum("i,ck->ick", with_constant(x[v]), others)
        result.append(own)
    return result


def loss(kind, s, y):
    """Equations (11) to (13), the squared one halved; y is a number, a sign or a class."""
    if kind == "softmax":
        return np.log(np.exp(s - s.max()).sum()) + s.max() - s[int(y)]
    if kind == "squared":
        return 0.5 * np.sum((s - y) ** 2)
    if kind == "logistic":
        return np.sum(np.log1p(np.exp(-y * s)))
    return np.sum(np.maximum(0.0, 1 - y * s))


def loss_slope(kind, s, y):
    """The derivative of the loss by each score."""
    if kind == "softmax":
        p = np.exp(s - s.max())
        return p / p.sum() - (np.arange(len(s)) == y)
    if kind == "squared":
        return s - y
    if kind == "logistic":
        return -y * np.exp(-y * s) / (1 + np.exp(-y * s))
    return np.where(y * s < 1, -y, 0.0)


def penalty(kind, theta):
    """Equations (14) and (15), L2 halved."""
    return 0.5 * theta**2 if kind == "l2" else np.sqrt(theta**2 + EPSILON**2)


def penalty_slope(kind, theta):
    """Equations (20) and (21)."""
    return theta if kind == "l2" else theta / np.sqrt(theta**2 + EPSILON**2)


def objective(x, y, groups, intercept, kind, penal, alpha):
    """The loss of a row and the price of the parameters that it touches."""
    value = loss(kind, score(x, groups, intercept), y)
    for group in groups:
        for v, A in group.items():
            value += alpha * penalty(penal, A[with_constant(x[v]) != 0]).sum()
    return value


def gradient(x, y, groups, intercept, kind, penal, alpha, weight=1.0):
    """Its gradient, by the formulas; the intercept's first."""
    g = weight * loss_slope(kind, score(x, groups, intercept), y)
    result = []
    for group, own in zip(groups, slopes(x, groups), strict=True):
        parts = {}
        for v, A in group.items():
            touched = (with_constant(x[v]) != 0)[:, None, None]
            parts[v] = own[v] * g[:, None] + touched * alpha * penalty_slope(penal, A)
        result.append(parts)
    return g, result


def learn(
    rows,
    y,
    groups,
    intercept,
    kind,
    penal="l2",
    alpha=0.0,
    optimizer="adagrad",
    rate=0.05,
    weights=None,
    fit_intercept=True,
    forgetting=1.0,
):
    """One pass; rows are lists of one array a view.  The model is changed, the scores returned."""
    scores, sums = [], {}
    weights = np.ones(len(y)) if weights is None else weights

    def step(name, theta, g, length, touched=True):
        if optimizer == "sgd":
            theta -= rate * g
            return
        before = sums.get(name, np.zeros_like(theta))
        if forgetting < 1.0:  # of the parameters that the row touches
            before = np.where(touched, np.maximum(forgetting * before, 1e-4), before)
        sums[name] = before + g**2
        theta -= rate / length * g / np.sqrt(np.where(sums[name] > 0, sums[name], 1.0))

    for x, label, weight in zip(rows, y, weights, strict=True):
        scores.append(score(x, groups, intercept))
        if weight == 0:
            continue
        g, parts = gradient(x, label, groups, intercept, kind, penal, alpha, weight)
        for n, (group, own) in enumerate(zip(groups, parts, strict=True)):
            for v in group:
                z = with_constant(x[v])
                step((n, v), group[v], own[v], np.linalg.norm(z), (z != 0)[:, None, None])
        if fit_intercept:
            step("intercept", intercept, g, 1.0)
    return np.array(scores)


def pairs_score(x, A, intercept, cross_only, order=2):
    """Equations (26) and (27) by enumeration; x and A are lists, one array a view.

    ``order``: products of up to so many columns (Blondel et al. 2016, with shared factors).

    A[v] is (width, K, 1 + k): the linear weight, and the factors.
    """
    total = np.array(intercept, dtype=float)
    columns = [(v, i) for v in range(len(x)) for i in range(len(x[v]))]
    for v, i in columns:
        total += A[v][i, :, 0] * x[v][i]
    for r in range(2, order + 1):
        for chosen in itertools.combinations(columns, r):
            if not cross_only or len({v for v, _ in chosen}) == r:
                weight = np.prod([A[v][i, :, 1:] for v, i in chosen], axis=0).sum(axis=-1)
                total += weight * np.prod([x[v][i] for v, i in chosen])
    return total


def tensor_score(x, A, intercept):
    """Equation (25) by enumeration; A[v] is (width, K, 1)."""
    total = np.array(intercept, dtype=float)
    for places in itertools.product(*(range(len(part)) for part in x)):
        weight = np.prod([A[v][i, :, 0] for v, i in enumerate(places)], axis=0)
        total += weight * np.prod([x[v][i] for v, i in enumerate(places)])
    return total
