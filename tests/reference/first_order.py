"""Perceptron, PA, PA-I and PA-II one row at a time, on dense rows and with dicts of classes."""

import numpy as np

from reference.intercept import Variance


def step(rule, m, n, C):
    """Crammer et al. 2006, equations (PA), (PA-I), (PA-II); Rosenblatt 1958."""
    if rule == "perceptron":
        return 1.0 if m <= 0 else 0.0
    loss = max(0.0, 1.0 - m)
    if loss == 0.0:
        return 0.0
    return {"PA": loss / n, "PA-I": min(C, loss / n), "PA-II": loss / (n + 1 / (2 * C))}[rule]


def learn(X, y, rule, C=1.0, scaling=1.0, weights=None, average=False):
    """Weights, intercepts and the scores before each row, for labels 0 .. K - 1.

    Two classes have one weight vector, several have one each; with ``average``
    the plain mean of the weights after every row.  ``scaling`` 0: no intercept.
    """
    X = np.asarray(X, dtype=float)
    if scaling:
        X = np.hstack([X, np.ones((len(X), 1))])
    classes = int(np.max(y)) + 1
    W = np.zeros((1 if classes == 2 else classes, X.shape[1]))
    weights = np.ones(len(X)) if weights is None else weights
    variance = Variance(scaling)
    history, scores = [], []
    for x, label, weight in zip(X, y, weights, strict=True):
        now = np.mean(history, axis=0) if average and history else W
        scores.append(now @ x)
        if weight == 0 or not (x[:-1] if scaling else x).any():
            continue
        step_direction = variance.direction(x)
        n = x @ step_direction
        price = C if rule == "perceptron" else C * weight
        if classes == 2:
            sign = 1.0 if label == 1 else -1.0
            P = step(rule, sign * (W[0] @ x), n, price)
            if rule == "perceptron":
                P *= weight
            W = W + P * sign * step_direction
        else:
            s = W @ x
            wrong = max((k for k in range(classes) if k != label), key=lambda k: (s[k], -k))
            P = step(rule, s[label] - s[wrong], 2 * n, price)
            if rule == "perceptron":
                P *= weight
            W = W.copy()
            W[label] += P * step_direction
            W[wrong] -= P * step_direction
        history.append(W)
    if average:
        W = np.mean(history, axis=0)
    scores = np.array(scores)
    if classes == 2:
        scores = scores[:, 0]
    if scaling:
        return W[:, :-1], W[:, -1], scores
    return W, np.zeros(len(W)), scores
