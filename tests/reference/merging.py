"""Products of Gaussians as matrices: what models learned from the same start, as one."""

import numpy as np


def posterior(S_0, w_0, rows, targets, rho):
    """S and w after rows of Gaussian evidence: S^-1 = S_0^-1 + sum rho x x'."""
    P = np.linalg.inv(S_0) + (rows * rho[:, None]).T @ rows
    S = np.linalg.inv(P)
    return S, S @ (np.linalg.inv(S_0) @ w_0 + rows.T @ (rho * targets))


def product(start, models):
    """S and w of the product of the densities, each divided by that of the start."""
    S_0, w_0 = start
    P_0 = np.linalg.inv(S_0)
    P = P_0 + sum(np.linalg.inv(S) - P_0 for S, _ in models)
    S = np.linalg.inv(P)
    return S, S @ (P_0 @ w_0 + sum(np.linalg.inv(S_k) @ w_k - P_0 @ w_0 for S_k, w_k in models))
