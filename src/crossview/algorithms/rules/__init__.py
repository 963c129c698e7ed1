"""Step rules: from the margin m and the squared norm n of a row to its step P and precision rho.

Symbols, one example: label y in {-1, +1}, margin m = y w·x, hinge loss l = max(0, 1 - m),
squared norm n = x'Sx in the geometry of S (the constant feature of the intercept counts), price C
of a loss that remains, quantile phi of the confidence.  Every update is

    w <- w + P y S x,   S^-1 <- S^-1 + rho x x',

and a rule says P and rho.  Without a covariance S is the identity and stays it.

Several classes share S.  m is the score of the true class minus that of the best wrong class r,
and its variance is 2 n: P is found with 2 n, and w_y <- w_y + P S x, w_r <- w_r - P S x.

A row of weight c has C multiplied by c (PA, PAM, SCW), r divided by c (AROW), and counts c times
in the covariance of PAM and SOP.  Of two full AROW or SOP steps on the same row, one with c = 2 is
the exact sum.  The perceptron has no price and multiplies its step.  CW has no price: only c = 0
matters.
"""

from typing import NamedTuple

from crossview._jit import borrowing, inlined_borrowing
from crossview.algorithms.rules import arow, cw, pa, pam, perceptron, scw, sop
from crossview.algorithms.rules.margin import MARGIN_TOL, best_wrong
from crossview.algorithms.rules.pa import HARD, LINEAR, QUADRATIC

__all__ = [
    "AROW",
    "CW_STDEV",
    "CW_VARIANCE",
    "HARD",
    "LINEAR",
    "MARGIN_TOL",
    "PA",
    "PAM",
    "PERCEPTRON",
    "QUADRATIC",
    "SCW",
    "SOP",
    "Rule",
    "best_wrong",
    "can_step",
    "covariance_step",
    "euclidean_step",
    "pair_precision",
]

PERCEPTRON, PA, PAM, AROW, SOP, CW_VARIANCE, CW_STDEV, SCW = range(8)


class Rule(NamedTuple):
    """A step rule and its parameters."""

    kind: int  # one of the numbers above
    slack: int = HARD  # PA, PAM, SCW: what a loss that remains costs
    C: float = 1.0  # its price; 1/r for AROW
    phi: float = 0.0  # CW, SCW: the quantile of the confidence


@inlined_borrowing
def euclidean_step(rule, m, n, weight):
    """P of a rule without covariance, for a row of that weight, where n > 0 and weight > 0."""
    if rule.kind == PERCEPTRON:
        return weight * perceptron.step(m)
    return pa.step(rule.slack, m, n, weight * rule.C)


@borrowing
def covariance_step(rule, m, n, weight):
    """P and rho of a rule with a covariance; SOP says rho, and P from it (`sop.step`)."""
    if rule.kind == AROW:
        return arow.step(m, n, 1.0 / (weight * rule.C))
    if rule.kind == CW_STDEV:
        return cw.stdev_step(m, n, rule.phi)
    if rule.kind == CW_VARIANCE:
        return cw.variance_step(m, n, rule.phi)
    if rule.kind == SCW and rule.slack == LINEAR:
        return scw.linear_step(m, n, rule.phi, weight * rule.C)
    if rule.kind == SCW:
        return scw.quadratic_step(m, n, rule.phi, weight * rule.C)
    if rule.kind == SOP:
        return 0.0, sop.precision(m, weight)
    return pam.step(rule.slack, m, n, rule.C, weight)


@inlined_borrowing
def can_step(rule, m):
    """Whether a row of this margin can cause a step; spares the others their x'Sx."""
    if rule.kind == SOP:
        return m <= 0.0
    if rule.kind in (AROW, PAM):
        return m < MARGIN_TOL
    return True


@inlined_borrowing
def pair_precision(rule):
    """How often S^-1 gains rho x x' from a row of several classes.

    Once; but twice for CW and SCW, whose constraint on the variance 2 n of the margin is only
    then met.
    """
    return 2.0 if rule.kind in (CW_VARIANCE, CW_STDEV, SCW) else 1.0
