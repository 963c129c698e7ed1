"""Update rules: step size P and precision rho from the margin m and the squared norm n of a row.

Symbols, one example: label y in {-1, +1}, margin m = y w·x, hinge loss l = max(0, 1 - m),
squared norm n = x'Sx in the geometry of S (with the constant feature of the intercept), weight C
of the slack, normal quantile phi of the confidence.  Every update is

    w <- w + P y S x,   S^-1 <- S^-1 + rho x x',

and a rule computes P and rho.  Without a covariance S is always the identity.

With more than two classes all classes share S.  m is the score of the true class y minus the
highest score of a wrong class r, and its variance is 2 n: P is computed with 2 n in place of n,
and w_y <- w_y + P S x, w_r <- w_r - P S x.

The sample weight c of a row multiplies C (PA, PAM, SCW), divides r (AROW), multiplies rho (PAM,
SOP) or multiplies P (perceptron).  With a full covariance, one AROW or SOP update with c = 2 equals
two updates with c = 1.  CW ignores sample weights other than 0.
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
    "is_bounded",
    "pair_precision",
    "takes_weights",
]

# weights that move by 1e100 are finite after 1e200 steps
MAX_SQUARED_STEP = 1e200

PERCEPTRON, PA, PAM, AROW, SOP, CW_VARIANCE, CW_STDEV, SCW = range(8)


class Rule(NamedTuple):
    """An update rule and its parameters."""

    kind: int  # one of the numbers above
    slack: int = HARD  # PA, PAM, SCW: the slack term
    C: float = 1.0  # the weight of the slack; 1/r for AROW
    phi: float = 0.0  # CW, SCW: the quantile of the confidence
    # with a covariance: rows along which the variance is less change nothing
    least_variance: float = 0.0
    # after an update S <- S / forgetting, up to this variance of the columns, and of the intercept
    forgetting: float = 1.0
    most_variance: float = 0.0
    most_intercept: float = 0.0


def takes_weights(rule: Rule) -> bool:
    """Return whether a sample weight above 0 changes P or rho."""
    return rule.kind not in (CW_VARIANCE, CW_STDEV) and (rule.kind, rule.slack) != (PA, HARD)


@inlined_borrowing
def is_bounded(P, n):
    """Return whether w <- w + P S x is finite, and stays so when it is taken many times.

    Its length is at most the root of P² n times that of the initial variance.
    """
    return P * P * n < MAX_SQUARED_STEP


@inlined_borrowing
def euclidean_step(rule, m, n, weight):
    """Return P of a rule without covariance, for n > 0 and a sample weight above 0."""
    if rule.kind == PERCEPTRON:
        return weight * perceptron.step(m)
    return pa.step(rule.slack, m, n, weight * rule.C)


@borrowing
def covariance_step(rule, m, n, weight):
    """Return P and rho of a rule with a covariance; for SOP only rho (P: see `sop.step`)."""
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
    """Return whether a row with this margin can cause an update; else x'Sx is not computed."""
    if rule.kind == SOP:
        return m <= 0.0
    if rule.kind in (AROW, PAM):
        return m < MARGIN_TOL
    return True


@inlined_borrowing
def pair_precision(rule):
    """Return the factor of rho x x' in the update of S^-1 with more than two classes.

    It is 1, but 2 for CW and SCW, whose constraint is on the variance 2 n of the margin.
    """
    return 2.0 if rule.kind in (CW_VARIANCE, CW_STDEV, SCW) else 1.0
