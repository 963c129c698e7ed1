"""Calibration in the pass, one block at a time, as the equations are written."""

import numpy as np


def blocks(weight):
    """First row and end of each block: 1 row at first, 64 after a weight of 64 * 63."""
    start = 0
    while start < len(weight):
        end = start + int(min(weight[:start].sum() // 64, 63)) + 1
        yield start, min(end, len(weight)), end <= len(weight)
        start = end


def newton(theta, H, gradient, least=1e-3):
    """The minimum of gradient @ d + d @ (1 + H) @ d / 2 over the θ + d with θ_0 >= least."""
    A = np.eye(len(theta)) + H
    d = -np.linalg.solve(A, gradient)
    if theta[0] + d[0] < least:
        d[0] = least - theta[0]
        d[1:] = -np.linalg.solve(A[1:, 1:], gradient[1:] + A[1:, 0] * d[0])
    return theta + d


def calibration_of_two(scores, y, weight, M=100.0):
    """θ and scale after the rows, and p of each row before its update; y is 0 or 1."""
    theta, H, squares, count, n, ps = np.array([1.0, 0.0]), np.zeros((2, 2)), 0.0, 0.0, 0.0, []
    for lo, hi, is_full in blocks(weight):
        s, w = scores[lo:hi], weight[lo:hi]
        rms = np.sqrt((squares + w[0] * s[0] ** 2) / (count + w[0]))
        phi = np.column_stack([s / rms if rms > 0 else 0 * s, np.ones(len(s))])
        p = 1 / (1 + np.exp(-phi @ theta))
        ps.extend(p)
        if not is_full:
            break
        g, h = p - y[lo:hi], p * (1 - p)
        n += w.sum()
        lam = min(n / (n + 2 * w.sum()), M / (M + w @ g**2))
        squares, count = lam * squares + w @ s**2, lam * count + w.sum()
        H = lam * H + (phi.T * w * h) @ phi
        theta = newton(theta, H, phi.T @ (w * g))
    return theta, np.sqrt(squares / count), np.array(ps)


def calibration_of_several(scores, y, weight, M=100.0):
    """The same for several classes; y is the number of the class."""
    K = scores.shape[1]
    theta, H, squares, count, n, ps = np.zeros(K + 1), np.zeros((K + 1, K + 1)), 0.0, 0.0, 0.0, []
    theta[0] = 1.0
    scores = scores - scores.mean(axis=1, keepdims=True)
    for lo, hi, is_full in blocks(weight):
        rms = np.sqrt((squares + weight[lo] * np.mean(scores[lo] ** 2)) / (count + weight[lo]))
        gradient, hessian, error = np.zeros(K + 1), np.zeros((K + 1, K + 1)), 0.0
        for i in range(lo, hi):
            # row c: the derivative of a z_c + b_c
            phi = np.hstack([scores[i][:, None] / rms, np.eye(K)])
            p = np.exp(phi @ theta) / np.exp(phi @ theta).sum()
            ps.append(p)
            g = p - np.eye(K)[y[i]]
            h = phi.T @ (np.diag(p) - np.outer(p, p)) @ phi
            h[1:, 1:] = np.diag(p)
            gradient, hessian = gradient + weight[i] * phi.T @ g, hessian + weight[i] * h
            error += weight[i] * g @ g
        if not is_full:
            break
        w = weight[lo:hi]
        n += w.sum()
        lam = min(n / (n + 2 * w.sum()), M / (M + error))
        squares, count = (
            lam * squares + w @ (scores[lo:hi] ** 2).mean(axis=1),
            lam * count + w.sum(),
        )
        H = lam * H + hessian
        theta = newton(theta, H, gradient)
    return theta, np.sqrt(squares / count), np.array(ps)
