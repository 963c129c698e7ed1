"""Gradient steps of a parameter: SGD and AdaGrad, with an L1 or L2 penalty.

References: Duchi, Hazan, Singer, "Adaptive Subgradient Methods for Online
Learning and Stochastic Optimization", JMLR 12 (2011), section 1.1.  A forgetting factor ρ
below 1 makes the sum of squares an exponentially decayed one, as in RMSProp (Tieleman, Hinton,
COURSERA, "Neural Networks for Machine Learning", lecture 6.5, 2012); here it is a sum and not a
mean, it decays when its parameter is touched, and it has a floor.
"""

import math
from typing import NamedTuple

from crossview._jit import inlined

SGD, ADAGRAD = 0, 1
L2, L1 = 0, 1

# ε² of the smooth L1 penalty
SMOOTHING = 1e-6

# what a decayed sum of squares does not fall below: after many small slopes one large slope would
# take a step of the learning rate times its size over the root of almost 0
FORGETTING_FLOOR = 1e-4


class Step(NamedTuple):
    """Optimizer, penalty and learning rate of the parameters of one part of a row."""

    optimizer: int  # SGD or ADAGRAD
    penalty: int  # L2 or L1
    alpha: float  # the strength of the penalty
    rate: float  # η
    forgetting: float = 1.0  # ρ of AdaGrad's sums, in (0, 1]
    floor: float = 0.0  # of these sums before a slope is added; 0 with ρ = 1


@inlined
def penalty_slope(kind, theta):
    """Return the derivative of ½ θ² (L2) or of sqrt(θ² + ε²) (L1), ε = 0.001."""
    return theta if kind == L2 else theta / math.sqrt(theta * theta + SMOOTHING)


@inlined
def sgd(theta, g, rate):
    """θ <- θ - η g."""
    return theta - rate * g


@inlined
def adagrad(theta, g, h, rate):
    """θ <- θ - η g / sqrt(h), where h is the sum of the squared gradients up to this one.

    While all of them are 0, the parameter stays.
    """
    return theta - rate * g / math.sqrt(h) if h > 0.0 else theta


@inlined
def move(A, a, n, g, step):
    """Take one step of the parameter A[a], whose sum of squared gradients is A[a + n]."""
    if step.optimizer == ADAGRAD:
        A[a + n] = max(step.forgetting * A[a + n], step.floor) + g * g
        A[a] = adagrad(A[a], g, A[a + n], step.rate)
    else:
        A[a] = sgd(A[a], g, step.rate)
