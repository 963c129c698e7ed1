"""A network by its equations: one row and one unit after the other, and slopes by differences."""

import itertools
import math


def silu(h):
    """φ(h) = h / (1 + exp(-h))."""
    return h / (1.0 + math.exp(-h))


def layer(a, W, b):
    """W'a + b."""
    return [b[k] + sum(float(a[i]) * float(W[i][k]) for i in range(len(a))) for k in range(len(b))]


def scores(x, net, masks=None):
    """The scores of one row; masks multiply the units of both hidden layers."""
    a = x
    for i, (W, b) in enumerate([(net.W1, net.b1), (net.W2, net.b2)]):
        a = [silu(h) for h in layer(a, W, b)]
        if masks is not None:
            a = [one * m for one, m in zip(a, masks[i], strict=True)]
    return layer(a, net.W3, net.b3)


def loss(s, y, n_classes):
    """The log loss of one row, or half of its squared error."""
    if n_classes == 0:
        return 0.5 * (s[0] - y) ** 2
    z = [0.0, s[0]] if n_classes == 2 else s
    return math.log(sum(math.exp(one) for one in z)) - z[y]


def ramps(x, k):
    """min(max((x - k_i) / (k_(i+1) - k_i), 0), 1)."""
    return [min(max((x - a) / (b - a), 0.0), 1.0) for a, b in itertools.pairwise(k)]


def adam(theta, slopes, rates):
    """The values of one parameter after steps with these slopes and sizes."""
    m = v = 0.0
    found = []
    for t, (g, rate) in enumerate(zip(slopes, rates, strict=True), start=1):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        theta -= rate * (m / (1.0 - 0.9**t)) / (math.sqrt(v / (1.0 - 0.999**t)) + 1e-8)
        found.append(theta)
    return found
