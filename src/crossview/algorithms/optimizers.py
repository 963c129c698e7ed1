"""How a gradient moves a parameter.

References: Duchi, Hazan, Singer, "Adaptive Subgradient Methods for Online
Learning and Stochastic Optimization", JMLR 12 (2011), section 1.1.
"""

import math

from crossview._jit import inlined

SGD, ADAGRAD = 0, 1
L2, L1 = 0, 1

# smooth L1: where it bends, squared
BEND = 1e-6


@inlined
def penalty_slope(kind, theta):
    """The derivative of ½ θ² (L2) or sqrt(θ² + ε²) (L1), ε = 0.001."""
    return theta if kind == L2 else theta / math.sqrt(theta * theta + BEND)


@inlined
def sgd(theta, g, rate):
    """Θ <- θ - η g."""
    return theta - rate * g


@inlined
def adagrad(theta, g, h, rate):
    """Θ <- θ - η g / sqrt(h), where h is the sum of the squared gradients with this one.

    As long as they are all 0, nothing moves.
    """
    return theta - rate * g / math.sqrt(h) if h > 0.0 else theta
