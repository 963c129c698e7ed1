"""The last labels and rows of a stream, beside what a model says of the next row.

The model's score s of a row (log odds, or log probabilities) is one feature of an online Newton
step (`newton`), with weight 1 at first, beside the decayed rates m of the last labels
(`label_memory`) and the difference of each number z_j from its decayed mean over the rows before,

    f = (1, s, m, d),    d_ij = z_j - e_ij,    e_ij <- λ_i e_ij + (1 - λ_i) z_j,

so that the model itself never knows of the memory, and says what it says where no label has come.
Nothing of it is learned, or changes a score, while the labels do not predict the next one; then it
does where its log loss on the last rows is below that of the model.

m and e are those of the moment at which the row was predicted.  A label that comes late, after the
labels of n other rows, is learned with what they were n labels ago.  They are kept for `PAST`
labels, from the first late one on; a row that waited longer teaches the gate to close.  The first
late label also begins the weights, the gate and the judgement anew, as they were learned of labels
that came at once, and a late row counts 1 / (n + 1), as in a mixture (`stacking.mixture`).

The numbers are the columns that are not 0 in half of the first rows, with values of both signs; if
they are more than `MAX_INPUTS`, none is.
"""

import math
from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing, passes
from crossview.algorithms import newton
from crossview.algorithms.losses import LOGISTIC, SOFTMAX, loss_slopes
from crossview.algorithms.newton import Newton
from crossview.algorithms.stacking import label_memory
from crossview.algorithms.stacking.label_memory import DECAYS, Memory
from crossview.algorithms.stacking.mixture import of_late
from crossview.algorithms.stacking.several_classes import floor
from crossview.algorithms.stacking.stack import STACKING, choose, judge
from crossview.algorithms.stacking.two_classes import MAX_LOG_ODDS
from crossview.kernels.rows import ZERO, Rows

INPUT_DECAYS = (0.5, 0.9, 0.98)
# labels for which rates and means are kept
PAST = 256
# columns with a memory at most, the rows that find them, and their number before that
MAX_INPUTS, ROWS_BEFORE_INPUTS, UNKNOWN = 32, 64, -1
# a covariance of some features per class costs the square of their number
MAX_CLASSES = 20
LARGEST = 6.0  # of a number
# of the Newton step: variances of a weight, and of that of the model's score, at the start
FORGETTING, VARIANCE, VARIANCE_OF_SCORE = 0.999, 1.0, 0.01


class StreamMemory(NamedTuple):
    """What is known of the last rows, and the weights; updated by `combine`."""

    labels: Memory
    losses: np.ndarray  # (3,): of model and memory, decayed, and their total weight; see `judge`
    means: np.ndarray  # (3, MAX_INPUTS): e
    past_rates: np.ndarray  # (PAST, *rates.shape): before label number k, at k modulo PAST
    past_means: np.ndarray  # (PAST, *means.shape)
    past_labels: np.ndarray  # (PAST, 2): k, or -1; and the last label before it
    n_inputs: np.ndarray  # int64 (1,): columns with a memory, or UNKNOWN
    input_of: np.ndarray  # uint8 (n_columns,): 1 + the position of a column in `means`; 0: none
    positive: np.ndarray  # uint8 (n_columns,): rows among the first ones in which it is above 0
    negative: np.ndarray  # uint8 (n_columns,)
    model: Newton  # without columns: all features are at the places of φ


def n_features(n_scores: int) -> int:
    """Return the number of features beside the constant, with as many inputs as there may be."""
    return n_scores + len(DECAYS) * n_scores + len(INPUT_DECAYS) * MAX_INPUTS


def start_weights(n_scores: int) -> tuple[np.ndarray, np.ndarray]:
    """Return V and P before the first row: the score of the model alone."""
    n = n_features(n_scores)
    V = np.zeros((n, n_scores))
    np.fill_diagonal(V[:n_scores], 1.0)
    variance = np.full(1 + n, VARIANCE)
    variance[1 : 1 + n_scores] = VARIANCE_OF_SCORE
    return V, np.diag(variance)


@borrowing
def combining_pass(rows, scores, labels, M, settings, work):
    """The loop of `combine`."""
    y, weight, delay = labels
    gate = M.labels.gate
    for i in range(scores.shape[0]):
        read_numbers(rows, i, M, work)
        learned, opened = weight[i] > 0.0, label_memory.is_open(M.labels)
        rates, means, last = M.labels.rates, M.means, gate[label_memory.LAST]
        if delay[i] > 0:
            k = np.int64(gate[label_memory.N]) - delay[i]
            at = k % PAST
            if k >= 0 and M.past_labels[at, 0] == k:
                rates, means, last = M.past_rates[at], M.past_means[at], M.past_labels[at, 1]
            else:
                opened, last = False, label_memory.NO_LABEL
            if learned and gate[label_memory.LATE] == 0.0:
                M.losses[:] = 0.0
                start_anew(M.model)
                label_memory.start_anew(M.labels)
                gate[label_memory.LATE], opened = 1.0, False
        if opened:
            predict(scores[i], rates, means, M, work)
        remembers = opened and choose(M.losses) == STACKING
        if opened and learned:
            step(scores[i], y[i], weight[i] * of_late(delay[i]), M, settings, work)
        if remembers:
            write_scores(work.score, scores[i])
        if learned and M.labels.rates.shape[0] > 0:
            if gate[label_memory.LATE] > 0.0:
                keep(M)
            count_row(rows, i, M, work)
            label_memory.add(M.labels, y[i], last, delay[i])


@passes(combining_pass)
def combine(
    rows: Rows,
    scores: np.ndarray,
    labels: tuple[np.ndarray, np.ndarray, np.ndarray],
    memory: StreamMemory,
) -> tuple:
    """Change the model's scores of rows by the memory, and learn each row after it.

    ``scores`` (n_samples, 1 or n_classes) are what the model says of each row before it is learned.
    ``labels`` are y, weight and delay: -1 and 1, or positions of classes; 0 for a row that is not
    learned; and int64, how many labels came after the row was predicted and before its own.
    """
    n_scores = scores.shape[1]
    loss = LOGISTIC if n_scores == 1 else SOFTMAX
    settings = newton.Settings(loss, FORGETTING, VARIANCE, 1.0, False)
    work = newton.buffers(1 + n_features(n_scores), n_features(n_scores), n_scores, 0)
    return rows, scores, labels, memory, settings, work


@borrowing
def start_anew(model):
    """Write the weights before the first row."""
    V, P, b = model.V, model.P, model.b
    V[:, :] = 0.0
    P[:, :] = 0.0
    b[:, :] = 0.0
    model.owed[:] = 0.0
    model.t[0] = 0
    n_scores = V.shape[1]
    for r in range(P.shape[0]):
        P[r, r] = VARIANCE_OF_SCORE if 1 <= r <= n_scores else VARIANCE
    for c in range(n_scores):
        V[c, c] = 1.0


@inlined_borrowing
def read_numbers(rows, i, M, work):
    """Write the numbers of a row."""
    x, j, indptr, shared, _, _ = rows
    if not M.n_inputs[0] > 0:
        return
    lo, hi = indptr[i], indptr[i + 1]
    offset = lo if shared else ZERO
    work.numbers[:] = 0.0
    for p in range(lo, hi):
        at = M.input_of[j[p - offset]]
        if at > 0:
            work.numbers[at - 1] = min(max(x[p], -LARGEST), LARGEST)


@borrowing
def keep(M):
    """Keep rates and means before the next label."""
    k = np.int64(M.labels.gate[label_memory.N])
    at = k % PAST
    for i in range(M.labels.rates.shape[0]):
        for c in range(M.labels.rates.shape[1]):
            M.past_rates[at, i, c] = M.labels.rates[i, c]
    for i in range(M.means.shape[0]):
        for q in range(M.n_inputs[0]):
            M.past_means[at, i, q] = M.means[i, q]
    M.past_labels[at, 0] = k
    M.past_labels[at, 1] = M.labels.gate[label_memory.LAST]


@borrowing
def predict(s, rates, means, M, work):
    """Write the features, and the score by them."""
    n, C = 1, s.shape[0]
    work.f[0] = 1.0
    for c in range(C):
        work.f[n] = s[c]
        n += 1
    label_memory.read(rates, work.f[n:])
    n += rates.shape[0] * C
    for k in range(means.shape[0]):
        for q in range(M.n_inputs[0]):
            work.f[n] = work.numbers[q] - means[k, q]
            n += 1
    for r in range(n):
        work.at[r] = r
    work.n[0], work.n[1] = n, 0
    M.model.used[0] = n
    for c in range(C):
        total = M.model.b[0, c]
        for r in range(1, n):
            total += work.f[r] * M.model.V[r - 1, c]
        work.score[c] = total


@borrowing
def step(s, y, weight, M, settings, work):
    """Judge model and memory by a row, and take a Newton step."""
    judge(log_loss(s, y), log_loss(work.score, y), weight, M.losses)
    loss_slopes(settings.loss, work.score, y, work.slope)
    M.model.t[0] += 1
    h = newton.curvature(settings.loss, work.slope, y)
    newton.take_step(h, weight, M.model, settings, work)


@borrowing
def log_loss(s, y):
    """Return the log loss of a score y, or of one per class."""
    if s.shape[0] == 1:
        m = s[0] if y > 0 else -s[0]
        return max(-m, 0.0) + math.log1p(math.exp(-abs(m)))
    top, total = s[0], 0.0
    for c in range(1, s.shape[0]):
        top = max(top, s[c])
    for c in range(s.shape[0]):
        total += math.exp(s[c] - top)
    return math.log(total) + top - s[np.int64(y)]


@borrowing
def write_scores(score, out):
    """Write log odds, or log probabilities, within the bounds of those of a stack."""
    if score.shape[0] == 1:
        out[0] = min(max(score[0], -MAX_LOG_ODDS), MAX_LOG_ODDS)
        return
    top = score[0]
    for c in range(1, score.shape[0]):
        top = max(top, score[c])
    total = 0.0
    for c in range(score.shape[0]):
        out[c] = math.exp(score[c] - top)
        total += out[c]
    for c in range(score.shape[0]):
        out[c] /= total
    floor(out)
    for c in range(score.shape[0]):
        out[c] = math.log(out[c])


@borrowing
def count_row(rows, i, M, work):
    """Update the means, or find the columns that have some."""
    if M.n_inputs[0] != UNKNOWN:
        for k in range(M.means.shape[0]):
            decay = INPUT_DECAYS[k]
            for q in range(M.n_inputs[0]):
                M.means[k, q] = decay * M.means[k, q] + (1.0 - decay) * work.numbers[q]
        return
    x, j, indptr, shared, _, _ = rows
    lo, hi = indptr[i], indptr[i + 1]
    offset = lo if shared else ZERO
    for p in range(lo, hi):
        M.positive[j[p - offset]] += x[p] > 0.0
        M.negative[j[p - offset]] += x[p] < 0.0
    if M.labels.gate[label_memory.N] + 1 < ROWS_BEFORE_INPUTS:
        return
    n = 0
    for q in range(M.input_of.shape[0]):
        above, below = np.int64(M.positive[q]), np.int64(M.negative[q])
        if above > 0 and below > 0 and 2 * (above + below) >= ROWS_BEFORE_INPUTS:
            n += 1
            if n <= MAX_INPUTS:
                M.input_of[q] = n
    if n > MAX_INPUTS:
        M.input_of[:] = 0
        n = 0
    M.n_inputs[0] = n
