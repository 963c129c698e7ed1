"""The last labels of a stream as features, while they predict the next one.

The rates of each class over the last labels are e <- λ e + (1 - λ) y for three λ, and the features
m = 2 e - 1.  They count while a Markov chain of the labels predicts the next one better than the
frequencies of the classes do: by more than `LEAST_GAIN` nats a row, and more than three standard
errors.  The mean gain and the counts of the chain forget, so that it is closed again where the
labels no longer depend on each other.  Of a label that comes late, the last one is that which was
known when its row was predicted; where that is not known, the chain gains nothing.  After n others
it is alike with them, so that the standard error is that of 1 / (n + 1) of the labels.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing

DECAYS = (0.0, 0.9, 0.99)
# of the counts and of the mean gain; and labels before the memory may open
FORGETTING, ROWS_BEFORE, LEAST_WEIGHT = 0.999, 2000, 50.0
LEAST_GAIN, STANDARD_ERRORS = 0.01, 3.0
# added to each count of the chain
PRIOR = 0.5
# before counts in units that grow are as large as that, they are divided
MOST_UNIT = 1e100

# the entries of `gate`
N, LAST, UNIT, WEIGHT, SQUARED_WEIGHT, GAIN, SQUARED_GAIN, OPEN, LATE = range(9)
GATE = 9
NO_LABEL = -1.0


class Memory(NamedTuple):
    """What is known of the last labels; updated by `add`."""

    rates: np.ndarray  # (3, 1) of the second of two classes, or (3, n_classes); (0, 0): no memory
    # (n_classes + 1, n_classes + 1): pairs of labels in a row, in units of the last one; the last
    # row and column are sums
    chain: np.ndarray
    gate: np.ndarray  # (GATE,)


def start(n_scores: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays before the first label; ``n_scores`` is 0 for no memory."""
    K = 2 if n_scores == 1 else n_scores
    gate = np.zeros(GATE)
    gate[LAST], gate[UNIT] = NO_LABEL, 1.0
    rates = np.full((len(DECAYS) if n_scores else 0, n_scores), 0.5)
    return rates, np.zeros((K + 1, K + 1)), gate


def gain(gate: np.ndarray) -> tuple[float, float]:
    """Return the mean gain of the chain in nats a row, and its standard error; NaN at first."""
    mean, error = mean_gain(gate)
    return float(mean), float(error)


@borrowing
def mean_gain(gate):
    """Return the mean gain and its standard error."""
    mean = gate[GAIN] / gate[WEIGHT]
    variance = max(gate[SQUARED_GAIN] / gate[WEIGHT] - mean * mean, 0.0)
    return mean, np.sqrt(variance * gate[SQUARED_WEIGHT]) / gate[WEIGHT]


@inlined_borrowing
def is_open(memory):
    """Return whether the labels so far are features."""
    return memory.rates.shape[0] > 0 and memory.gate[OPEN] > 0.0


@borrowing
def read(rates, m):
    """m <- 2 e - 1."""
    n = rates.shape[1]
    for i in range(rates.shape[0]):
        for c in range(n):
            m[i * n + c] = 2.0 * rates[i, c] - 1.0


@borrowing
def start_anew(memory):
    """Forget how well the last label predicts the next one."""
    memory.chain[:, :] = 0.0
    for i in (WEIGHT, SQUARED_WEIGHT, GAIN, SQUARED_GAIN, OPEN):
        memory.gate[i] = 0.0
    memory.gate[UNIT] = 1.0


@borrowing
def add(memory, y, last, delay):
    """Take the label of a row that was predicted: a class, or for two classes -1 or 1.

    ``last`` is the label that had come last when the row was predicted, if it is known.
    """
    rates, chain, gate = memory
    if rates.shape[0] == 0:
        return
    label = np.int64(y)
    if rates.shape[1] == 1:
        label = 1 if y > 0.0 else 0
    if last >= 0.0:
        count_pair(chain, gate, np.int64(last), label, delay)
    elif gate[N] > 0.0:
        count_gain(gate, 0.0, delay)
    gate[LAST] = label
    gate[N] += 1.0
    for i in range(rates.shape[0]):
        decay = DECAYS[i]
        for c in range(rates.shape[1]):
            is_label = label == 1 if rates.shape[1] == 1 else label == c
            rates[i, c] = decay * rates[i, c] + (1.0 - decay) * (1.0 if is_label else 0.0)
    gate[OPEN] = 0.0
    if gate[N] >= ROWS_BEFORE and gate[WEIGHT] >= LEAST_WEIGHT:
        mean, error = mean_gain(gate)
        if mean > LEAST_GAIN and mean > STANDARD_ERRORS * error:
            gate[OPEN] = 1.0


@borrowing
def count_pair(chain, gate, last, label, delay):
    """Add the gain of the chain in a label, and count the pair."""
    K = chain.shape[0] - 1
    prior = PRIOR * gate[UNIT]
    p = (chain[last, label] + prior) / (chain[last, K] + K * prior)
    p_alone = (chain[K, label] + prior) / (chain[K, K] + K * prior)
    count_gain(gate, np.log(p / p_alone), delay)
    gate[UNIT] /= FORGETTING
    for a in (last, K):
        for c in (label, K):
            chain[a, c] += gate[UNIT]
    if gate[UNIT] > MOST_UNIT:
        for a in range(K + 1):
            for c in range(K + 1):
                chain[a, c] /= gate[UNIT]
        gate[UNIT] = 1.0


@inlined_borrowing
def count_gain(gate, better, delay):
    """Add a gain to the decayed sums."""
    gate[WEIGHT] = FORGETTING * gate[WEIGHT] + 1.0
    gate[SQUARED_WEIGHT] = FORGETTING * FORGETTING * gate[SQUARED_WEIGHT] + 1.0 + delay
    gate[GAIN] = FORGETTING * gate[GAIN] + better
    gate[SQUARED_GAIN] = FORGETTING * gate[SQUARED_GAIN] + better * better
