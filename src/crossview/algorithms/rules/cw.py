"""Confidence-weighted learning (CW), in two forms.

References: Dredze, Crammer, Pereira, "Confidence-Weighted Linear Classification", ICML 2008
(variance); Crammer, Dredze, Pereira, "Exact Convex Confidence-Weighted Learning", NIPS 2008
(standard deviation).  Equation 17 of the first has a misprint: x'x in place of x x'.

After the step the margin is m' = phi n' (variance) or m' = phi sqrt(n') (standard deviation),
with the quantile phi of the confidence and the margin's variance n'.  Of two equivalent
formulas for P the code uses the one without cancellation.
"""

import numpy as np

from crossview._jit import inlined_borrowing
from crossview.algorithms.rules.margin import MARGIN_TOL


@inlined_borrowing
def variance_step(m, n, phi):
    """P and rho of the variance form (Dredze et al. 2008, equations 14 and 16).

    P solves 2 phi n P² + (1 + 2 phi m) P + (m - phi n) / n = 0; rho = 2 P phi.
    """
    if m >= MARGIN_TOL * phi * n:
        return 0.0, 0.0
    b = 1.0 + 2.0 * phi * m
    root = np.sqrt(b * b + 8.0 * phi * (phi * n - m))
    P = 2.0 * (phi - m / n) / (root + b) if b > 0.0 else (root - b) / (4.0 * phi * n)
    return P, 2.0 * P * phi


@inlined_borrowing
def stdev_step(m, n, phi):
    """P and rho of the standard-deviation form (Crammer et al. 2008).

    P = (sqrt(m² phi⁴ / 4 + n phi² zeta) - m psi) / (n zeta) with psi = 1 + phi² / 2
    and zeta = 1 + phi²; rho as in `stdev_precision`.
    """
    if m >= MARGIN_TOL * phi * np.sqrt(n):
        return 0.0, 0.0
    psi, zeta = 1.0 + 0.5 * phi * phi, 1.0 + phi * phi
    root = np.hypot(0.5 * m * phi * phi, phi * np.sqrt(n * zeta))
    P = (phi * phi - m * (m / n)) / (root + m * psi) if m > 0.0 else (root - m * psi) / (n * zeta)
    return P, stdev_precision(P, n, phi)


@inlined_borrowing
def stdev_precision(P, n, phi):
    """rho = P phi / sqrt(u), where sqrt(u) = (sqrt(P² n² phi² + 4 n) - P n phi) / 2."""
    along = P * n * phi
    return P * phi * (np.hypot(along, 2.0 * np.sqrt(n)) + along) / (2.0 * n)
