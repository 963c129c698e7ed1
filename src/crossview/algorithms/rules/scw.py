"""Soft confidence-weighted learning (SCW-I, SCW-II).

Reference: Wang, Zhao, Hoi, "Exact Soft Confidence-Weighted Learning", ICML 2012.
"""

import numpy as np

from crossview._jit import inlined_borrowing
from crossview.algorithms.rules.cw import stdev_precision, stdev_step
from crossview.algorithms.rules.margin import MARGIN_TOL


@inlined_borrowing
def linear_step(m, n, phi, C):
    """SCW-I (proposition 1): P of CW, at most C; rho as in CW."""
    P, rho = stdev_step(m, n, phi)
    if P > C:
        P, rho = C, stdev_precision(C, n, phi)
    return P, rho


@inlined_borrowing
def quadratic_step(m, n, phi, C):
    """SCW-II (proposition 2), with k = n + 1/(2C); rho as in CW.

    P = (g - m (2k + phi² n)) / (2 (k² + k n phi²)), where
    g = phi sqrt(phi² m² n² + 4 k n (k + n phi²)).
    """
    if m >= MARGIN_TOL * phi * np.sqrt(n):
        return 0.0, 0.0
    k = n + 0.5 / C
    wide = k + n * phi * phi
    g = phi * np.hypot(phi * m * n, 2.0 * np.sqrt(k) * np.sqrt(n * wide))
    b = m * (k + wide)
    # the formula without cancellation, by the sign of m
    P = 2.0 * (phi * phi * n - m * m) / (g + b) if m > 0.0 else 0.5 * (g - b) / (k * wide)
    return P, stdev_precision(P, n, phi)
