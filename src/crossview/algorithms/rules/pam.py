"""PAM, PAM-I and PAM-II: passive-aggressive learning in the geometry of the data.

Reference: Nguyen, Chang, Hui, "Distribution-Aware Online Classifiers", IJCAI 2011.

The paper's Algorithm 1 takes S before this row in one place and after it in another; here it is
S before.
"""

from crossview._jit import inlined_borrowing
from crossview.algorithms.rules import pa


@inlined_borrowing
def step(slack, m, n, C, weight):
    """P of PA with n = x'Sx (equations 8 to 10); rho = 1, for a row of weight 1."""
    return pa.step(slack, m, n, weight * C), weight
