"""Kernel ridge regression by its definition: the dual solution, and a fit without each row."""

import math

import numpy as np


def kernel(x, z, gammas, views):
    """exp(-sum_v gamma_v |x_v - z_v|²)."""
    away = 0.0
    for gamma, view in zip(gammas, views, strict=True):
        away += gamma * sum((float(x[c]) - float(z[c])) ** 2 for c in view)
    return math.exp(-away)


def gram(a, b, gammas, views):
    """The kernel of all pairs of rows."""
    return np.array([[kernel(x, z, gammas, views) for z in b] for x in a])


def solve(K, y, h, penalty):
    """The dual variables: (K + λ H^-1) α = y, where H are the weights of the rows."""
    return np.linalg.solve(K + penalty * np.diag(1.0 / np.asarray(h)), y)


def left_out_errors(K, y, h, penalty):
    """The error of each row of a fit to all others."""
    found = []
    for i in range(len(y)):
        others = [j for j in range(len(y)) if j != i]
        alpha = solve(K[np.ix_(others, others)], y[others], h[others], penalty)
        found.append(y[i] - K[i, others] @ alpha)
    return np.array(found)
