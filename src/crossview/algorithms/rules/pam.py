"""PAM, PAM-I and PAM-II: passive-aggressive learning in Mahalanobis geometry.

Reference: Nguyen, Chang, Hui, "Distribution-Aware Online Classifiers", IJCAI 2011.

The paper's Algorithm 1 mixes S before and after the row; here all terms use S before the row.
"""

from crossview._jit import inlined_borrowing
from crossview.algorithms.rules import pa


@inlined_borrowing
def step(slack, m, n, C, weight):
    """P of PA with n = x'Sx (equations 8 to 10); rho = 1, for a row of weight 1."""
    return pa.step(slack, m, n, weight * C), weight
