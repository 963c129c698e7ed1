"""Feed-forward networks on rows of features: their scores, gradients, and how they learn.

A row x of F features has the scores s of two hidden layers of H units:

    h_1 = W_1'x + b_1,    h_2 = W_2'φ(h_1) + b_2,    s = W_3'φ(h_2) + b_3,    φ(h) = h σ(h)

(S. Elfwing, E. Uchibe, K. Doya, Neural Networks 107 (2018): SiLU).  Learning minimizes the mean
over the rows of weight h_i of the log loss of σ(s) or softmax(s), or of ½ (s - y)², by Adam
(D. Kingma, J. Ba, ICLR 2015), whose step size falls as half a cosine (I. Loshchilov, F. Hutter,
ICLR 2017).  In each step every hidden unit is 0 with probability p, and divided by 1 - p otherwise:
dropout (N. Srivastava et al., JMLR 15 (2014)).  Weights are those of the pass over the rows after
which the loss of held-out rows was lowest.

A number x enters as its ramps (Y. Gorishniy, I. Rubachev, A. Babenko, "On embeddings for numerical
features in tabular deep learning", NeurIPS 2022, equation 1: piecewise linear encoding),

    r_i = min(max((x - k_i) / (k_(i+1) - k_i), 0), 1),

of the quantiles ``k_0 < ... < k_T`` of the training rows: a linear map of them is any function that
is linear between the quantiles, and constant beyond them.

Several networks differ by how they begin, and by the rows that are held out; the mean of their
scores is that of one network, whose units are all of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_softmax, ndtri, softmax

from crossview._jit import borrowing, inlined_borrowing
from crossview.kernels.rows import ONE

# Adam: decay of the mean of slopes and of their squares, and what is added to the root
DECAY, DECAY_OF_SQUARES, FLOOR = 0.9, 0.999, 1e-8
# of the first weights of the last layer, so that all scores begin near 0
LAST = 0.1
# passes without a lower loss of the rows held out, after which learning ends
PATIENCE = 12
# beyond it differences of numbers overflow, and quantiles that are closer, by the range, are one
LARGEST, CLOSEST = 1e300, 1e-12


class Network(NamedTuple):
    """Weights and offsets of the layers, in single precision while it learns."""

    W1: np.ndarray  # (F, H)
    b1: np.ndarray  # (H,)
    W2: np.ndarray  # (H, H)
    b2: np.ndarray  # (H,)
    W3: np.ndarray  # (H, K)
    b3: np.ndarray  # (K,)


class Data(NamedTuple):
    """Rows to learn from."""

    X: np.ndarray  # float32 (n, F)
    y: np.ndarray  # (n,): codes of classes, or numbers
    h: np.ndarray  # (n,): weights
    n_classes: int  # 0: numbers

    def take(self, at: np.ndarray) -> Data:
        """Return some of the rows."""
        return self._replace(X=self.X[at], y=self.y[at], h=self.h[at])

    @property
    def n_scores(self) -> int:
        """Number of scores: one of two classes, and of numbers."""
        return self.n_classes if self.n_classes > 2 else 1


class Learning(NamedTuple):
    """How a network learns."""

    n_hidden: int  # H
    dropout: float  # p
    rate: float  # of the first steps
    n_rows: int  # of a step
    n_epochs: int  # at most


# --- numbers as ramps -------------------------------------------------------------------------


def ramps(x: np.ndarray, low: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """r_i = min(max((x - k_i) / (k_(i+1) - k_i), 0), 1).

    x (n, c), low (c, T): k_i, factor (c, T): 1 / (k_(i+1) - k_i).
    Returns r (n, c, T).
    """
    return np.clip((bounded(x)[:, :, None] - low) * factor, 0.0, 1.0)


def bounded(x: np.ndarray) -> np.ndarray:
    """Return numbers whose differences do not overflow."""
    return np.clip(x, -LARGEST, LARGEST)


def quantile_knots(x: np.ndarray, n_ramps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the different quantiles of a number, and what a standard normal has of each.

    x (n,): the number, in rows of the same weight.  It has more than one value.
    Returns k, z (at most T + 1,): z are the normal quantiles of the mean rank of k.
    """
    x = np.sort(bounded(x))
    k = np.unique(np.quantile(x, np.linspace(0.0, 1.0, n_ramps + 1)))
    k = k[np.append(True, np.diff(k) > CLOSEST * (k[-1] - k[0]))]
    rank = 0.5 * (np.searchsorted(x, k, "left") + np.searchsorted(x, k, "right")) / len(x)
    return k, ndtri(np.clip(rank, 0.5 / len(x), 1.0 - 0.5 / len(x)))


# --- scores and slopes of a batch -------------------------------------------------------------


def silu(h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """φ(h) = h σ(h), and its derivative σ(h) (1 + h (1 - σ(h)))."""
    s = expit(h)
    a = h * s
    return a, s + a * (1.0 - s)


def scores(X: np.ndarray, net: Network) -> np.ndarray:
    """s of each row, (n, K)."""
    a = silu(X @ net.W1 + net.b1)[0]
    return silu(a @ net.W2 + net.b2)[0] @ net.W3 + net.b3


def losses(s: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    """Log loss of σ(s) or softmax(s), or ½ (s - y)², of each row."""
    if n_classes == 0:
        return np.asarray(0.5 * (s[:, 0] - y) ** 2)
    if n_classes == 2:
        return np.asarray(np.logaddexp(0.0, s[:, 0]) - y * s[:, 0])
    return np.asarray(-log_softmax(s, axis=1)[np.arange(len(y)), y])


def loss_slopes(s: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    """The derivatives of the loss by the scores, (n, K)."""
    if n_classes == 0:
        return s - y[:, None]
    if n_classes == 2:
        return np.asarray(expit(s) - y[:, None].astype(s.dtype))
    slopes = softmax(s, axis=1)
    slopes[np.arange(len(y)), y] -= 1.0
    return np.asarray(slopes)


def gradients(data: Data, net: Network, masks: Sequence[np.ndarray]) -> Network:
    """The derivatives of the mean loss of the rows by all weights.

    masks: what each unit of both hidden layers is multiplied by in each row, (n, H).
    """
    a1, d1 = silu(data.X @ net.W1 + net.b1)
    a1 *= masks[0]
    a2, d2 = silu(a1 @ net.W2 + net.b2)
    a2 *= masks[1]
    g3 = loss_slopes(a2 @ net.W3 + net.b3, data.y, data.n_classes)
    g3 *= (data.h / len(data.y))[:, None]
    g2 = (g3 @ net.W3.T) * (d2 * masks[1])
    g1 = (g2 @ net.W2.T) * (d1 * masks[0])
    return Network(data.X.T @ g1, g1.sum(0), a1.T @ g2, g2.sum(0), a2.T @ g3, g3.sum(0))


# --- learning ---------------------------------------------------------------------------------


class Adam:
    """Adam: θ <- θ - η m̂ / (sqrt(v̂) + ε), with the decayed means m of slopes and v of squares.

    ``m̂ = m / (1 - β_1^t)`` and ``v̂ = v / (1 - β_2^t)`` after t steps.
    """

    def __init__(self, net: Network) -> None:
        self.t = 0
        self.m = [np.zeros_like(one) for one in net]
        self.v = [np.zeros_like(one) for one in net]

    def step(self, net: Network, slopes: Network, rate: float) -> None:
        """Change the weights by one step of this size."""
        self.t += 1
        size = rate / (1.0 - DECAY**self.t)
        root = math.sqrt(1.0 - DECAY_OF_SQUARES**self.t)
        for theta, g, m, v in zip(net, slopes, self.m, self.v, strict=True):
            adam_step(*(one.reshape(-1) for one in (theta, g, m, v)), size, root)


@borrowing
def adam_step(theta, g, m, v, size, root):
    """θ <- θ - η m̂ / (sqrt(v̂) + ε) of all weights, after m and v have taken the slopes g.

    size: η / (1 - β_1^t), root: sqrt(1 - β_2^t).
    """
    decay, more = theta.dtype.type(DECAY), theta.dtype.type(1.0 - DECAY)
    decay2, more2 = theta.dtype.type(DECAY_OF_SQUARES), theta.dtype.type(1.0 - DECAY_OF_SQUARES)
    size, root = theta.dtype.type(size), theta.dtype.type(1.0 / root)
    floor = theta.dtype.type(FLOOR)
    for i in range(np.uint64(len(theta))):
        m[i] = decay * m[i] + more * g[i]
        v[i] = decay2 * v[i] + more2 * g[i] * g[i]
        theta[i] -= size * m[i] / (math.sqrt(v[i]) * root + floor)


def start(n_features: int, H: int, K: int, rng: np.random.RandomState) -> Network:
    """Return weights before the first step, normal with the variance 2 over the inputs of a unit.

    (K. He, X. Zhang, S. Ren, J. Sun, ICCV 2015.)
    """

    def layer(n: int, k: int, size: float) -> tuple[np.ndarray, np.ndarray]:
        W = rng.standard_normal((n, k)) * (size / math.sqrt(max(n, 1)))
        return W.astype(np.float32), np.zeros(k, dtype=np.float32)

    root = math.sqrt(2.0)
    return Network(*layer(n_features, H, root), *layer(H, H, root), *layer(H, K, LAST))


def learn(
    data: Data, rest: np.ndarray, held_out: np.ndarray, how: Learning, rng: np.random.RandomState
) -> Network:
    """Learn a network from rows, until others that are held out have no lower loss.

    rest, held_out: positions of the rows that learn, and of the others.  With none held out it is
      what it is after all passes.
    """
    n, others = len(rest), data.take(held_out)
    net = start(data.X.shape[1], how.n_hidden, data.n_scores, rng)
    adam, kept, lowest, waited = Adam(net), net, math.inf, 0
    cuts = np.arange(0, n, how.n_rows)[1:]
    if n % how.n_rows and len(cuts):  # the last step has no fewer rows than others
        cuts = cuts[:-1]
    n_steps, size = how.n_epochs * (len(cuts) + 1), np.float32(1.0 - how.dropout)
    for _ in range(how.n_epochs):
        for at in np.split(rng.permutation(n), cuts):
            masks = [
                (rng.random_sample((len(at), how.n_hidden)) < size).astype(np.float32) / size
                for _ in range(2)
            ]
            rate = 0.5 * how.rate * (1.0 + math.cos(math.pi * adam.t / n_steps))
            adam.step(net, gradients(data.take(rest[at]), net, masks), rate)
        if not len(held_out):
            continue
        each = losses(scores(others.X, net), others.y, data.n_classes)
        loss, waited = float(np.average(each, weights=others.h)), waited + 1
        if loss < lowest:
            kept, lowest, waited = Network(*(one.copy() for one in net)), loss, 0
        elif waited > PATIENCE:
            break
    return kept if math.isfinite(lowest) else net


# --- scores, one row like the other -----------------------------------------------------------


class Units(NamedTuple):
    """Networks side by side: k of them with H units each, and the mean of their scores."""

    W1: np.ndarray  # (F, k H)
    b1: np.ndarray  # (k H,)
    W2: np.ndarray  # (k, H, H)
    b2: np.ndarray  # (k, H)
    W3: np.ndarray  # (k, H, K): 1 / k of theirs
    b3: np.ndarray  # (K,): the mean

    @classmethod
    def of(cls, nets: Sequence[Network]) -> Units:
        """Return networks as one."""
        return cls(
            np.concatenate([net.W1 for net in nets], axis=1),
            np.concatenate([net.b1 for net in nets]),
            np.stack([net.W2 for net in nets]),
            np.stack([net.b2 for net in nets]),
            np.stack([net.W3 for net in nets]) / np.float32(len(nets)),
            np.mean([net.b3 for net in nets], axis=0),
        )


@inlined_borrowing
def _silu(h):
    """φ(h)."""
    return h / (1.0 + math.exp(-h))


@inlined_borrowing
def _add_deep(h1, units, buffers, s):
    """s <- s + b_3 + sum of W_3'φ(W_2'φ(h_1) + b_2) over the networks.

    buffers (2, H).
    """
    H, K = np.uint64(units.W2.shape[1]), np.uint64(len(s))
    for k in range(K):
        s[k] += units.b3[k]
    for j in range(np.uint64(len(units.W2))):
        for a in range(H):
            buffers[0, a] = _silu(h1[j * H + a])
            buffers[1, a] = units.b2[j, a]
        for a in range(H):
            for b in range(H):
                buffers[1, b] += buffers[0, a] * units.W2[j, a, b]
        for a in range(H):
            value = _silu(buffers[1, a])
            for k in range(K):
                s[k] += value * units.W3[j, a, k]


@inlined_borrowing
def _first_layer(x, units, h1):
    """h_1 <- W_1'x + b_1, of the features that are not 0."""
    for a in range(np.uint64(len(h1))):
        h1[a] = units.b1[a]
    for f in range(np.uint64(len(x))):
        if x[f] != 0.0:
            for a in range(np.uint64(len(h1))):
                h1[a] += x[f] * units.W1[f, a]


@borrowing
def score_rows(X, units, h1, buffers, s):
    """s_i <- s_i + the scores of row i, one row like the other.

    X (n, F), h1 (k H,) and buffers (2, H): memory to work in, s (n, K).
    """
    for i in range(np.uint64(len(X))):
        _first_layer(X[i], units, h1)
        _add_deep(h1, units, buffers, s[i])


class Changes(NamedTuple):
    """Features of a row that change together: change e of row i from ptr[i] to ptr[i + 1] - 1."""

    ptr: np.ndarray  # uint64 (n + 1,): the changes of each row
    ends: np.ndarray  # uint64 (n_changes + 1,): the features of each change
    feature: np.ndarray  # uint64
    more: np.ndarray  # float64: what is added to it


@borrowing
def score_changed(X, units, changes, memory, s):
    """s_e <- s_e + the scores of the row of change e, as if its features had changed.

    memory (2 + 2, k H): to work in.
    """
    H = np.uint64(units.W2.shape[1])
    h1, own, buffers = memory[0], memory[1], memory[2:, :H]
    for i in range(np.uint64(len(X))):
        _first_layer(X[i], units, h1)
        for e in range(changes.ptr[i], changes.ptr[i + ONE]):
            for a in range(np.uint64(len(h1))):
                own[a] = h1[a]
            for at in range(changes.ends[e], changes.ends[e + ONE]):
                f = changes.feature[at]
                for a in range(np.uint64(len(h1))):
                    own[a] += changes.more[at] * units.W1[f, a]
            _add_deep(own, units, buffers, s[e])
