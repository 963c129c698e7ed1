"""Online Newton steps with a forgetting factor, on a linear model and on random Fourier features.

The features of a row are f = (1, φ, z): the constant of the intercept, random Fourier features φ of
the columns of numbers, and each nonzero value in the unit of its column, z_j = x_j / r_j.  With
scores W'f, g the slopes of the loss by the scores and h its curvature,

    u = P f,   k = 1 / (1/c + h f·u),   W <- W - k u g',   P <- P - h k u u',

where c is the sample weight.  For the squared loss (h = 1) this is recursive least squares; for the
softmax h = max(½ Σ p (1 - p), 0.01).  Then P forgets the features r that are not 0 in the row:

    P^-1 <- G P^-1 G,   G_rr = γ^½,   P^-1 <- P^-1 + (1 - γ) / P_0 on the diagonal,

so that the rows fade and the variances of the start do not (Gunnarsson 1996).  The last term is
owed for some rows, and added for all features at once.  Without it P grows for ever along what the
rows say nothing about, as the difference of two equal columns.  With a limit of each P_rr in its
place both columns stay at the limit, and nothing is forgotten of their sum.

P is updated by v v' with v = (h k)^½ u, and by the products of two factors: both sides of its
diagonal are equal to the last bit, without which rounding errors grow.

The unit r_j is the root mean square s_j of the column so far, and stays until r² and s² differ by
half of the smaller one.  As r grows to s, the weights w of z and P become those of rows that had
the unit s from the start,

    P^-1 <- R P^-1 R + (1 - ρ²) / P_0 at j,j,   R_jj = ρ = r / s,   w <- P R P_before^-1 w,

as in ridge regression with the columns divided by s.  Otherwise a first value near 0 would give a
weight that later rows multiply by much larger ones, while P says that it is known.  As r falls to
s, P and the weights of the columns as they are stay: what an outlier has told fades.

A column has a place in P when it first occurs, or for the third time if it is far from the
beginning of its view, where an encoder has its categories and words.  When all places are taken,
other columns have one variance each, and r_j = s_j.

After `ROWS_BEFORE_FOURIER` rows the columns of numbers are known, of which the Fourier features are
made; a pass may then leave out all other columns.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing, passes
from crossview.algorithms.losses import LOGISTIC, SQUARED, loss_slopes
from crossview.kernels.dense import add_to
from crossview.kernels.rows import ZERO, Examples, Rows, prefetch_row

# the columns of numbers that Fourier features are made of at most, and the rows that find them
MAX_INPUTS, ROWS_BEFORE_FOURIER = 50, 64
# their number, before they are known and where they are more
UNKNOWN, TOO_MANY = -1, -2
# columns this close to the beginning of their view have a place when they first occur
FIRST_COLUMNS = np.uint64(128)
OCCURRENCES = 3.0
LEAST_CURVATURE = 0.01
# of a row: its squares add up to a finite number for 10^12 rows
MAX_SQNORM = 1e280
# what may be forgotten before the variances of the start are recalled
RECALLED = 0.25
# the most of r² / s² and of s² / r²
MOST_OF_UNIT = 1.5
# of the initial variance: below it a variance is rounding errors
LEAST_SHARE = 1e-200
POSITIVE, NEGATIVE = np.uint8(1), np.uint8(2)


class Newton(NamedTuple):
    """A model, which the pass updates; the places of P are the intercept, φ, and columns."""

    W: np.ndarray  # (n_columns, n_scores): weights of the columns as they are, not of z
    b: np.ndarray  # (1, n_scores)
    V: np.ndarray  # (n_fourier, n_scores): weights of φ
    t: np.ndarray  # int64 (1,): rows learned
    P: np.ndarray  # (n_places, n_places)
    owed: np.ndarray  # (n_places,): what P has forgotten of 1 / P_0 since it was recalled
    used: np.ndarray  # int64 (1,): places in use
    members: np.ndarray  # int64 (n_places,): the column of each place
    place: np.ndarray  # int32 (n_columns,): the place of each column; 0: it has none
    D: np.ndarray  # (n_columns,): the variances of columns without a place
    counts: np.ndarray  # (n_columns,): rows in which the column is not 0
    squares: np.ndarray  # (n_columns,): the sum of its squares
    signs: np.ndarray  # uint8 (n_columns,): POSITIVE and NEGATIVE, as they occurred
    scale: np.ndarray  # (n_places,): r of the members
    input_of: np.ndarray  # int64 (n_places,): 1 + the position of a place in `inputs`; 0: none
    inputs: np.ndarray  # int64 (MAX_INPUTS,): the columns of which there are Fourier features
    n_inputs: np.ndarray  # int64 (1,): their number, UNKNOWN, or TOO_MANY
    omega: np.ndarray  # (n_fourier, MAX_INPUTS): frequencies, of variance 1
    phase: np.ndarray  # (n_fourier,)


# what `follow` writes to
CHANGED_BY_UNITS = ("W", "b", "V", "P", "owed", "D", "scale")


class Settings(NamedTuple):
    """The parameters of a pass."""

    loss: int  # SQUARED, LOGISTIC or SOFTMAX
    forgetting: float
    variance: float
    bias: float  # 1, or 0 without an intercept
    numbers: bool  # whether columns of numbers alone are learned, once they are known


class Work(NamedTuple):
    """Intermediate results of one row."""

    score: np.ndarray  # (n_scores,)
    slope: np.ndarray  # (n_scores,)
    at: np.ndarray  # int64 (n_places,): the features of the row that have a place ...
    f: np.ndarray  # (n_places,): ... and their values
    n: np.ndarray  # int64 (2,): the number of these features, and of those without a place
    alone: np.ndarray  # int64 (n,): columns without a place ...
    z: np.ndarray  # ... and their values
    u: np.ndarray  # (n_places,)
    grow: np.ndarray  # (n_places,): what P forgets by
    numbers: np.ndarray  # (MAX_INPUTS,): z of the inputs in the row
    phi: np.ndarray  # (n_fourier,): φ


@borrowing
def scoring_pass(rows, model, work, scores):
    """The loop of `score_rows`."""
    for i in range(scores.shape[0]):
        row_score(rows, i, model, work, True)
        for k in range(work.score.shape[0]):
            scores[i, k] = work.score[k]


@borrowing
def learning_pass(rows, examples, model, settings, work, scores):
    """The loop of `learn`."""
    order, y, weight = examples
    nonfinite_row = -1
    for s in range(order.shape[0]):
        prefetch_row(rows.data, rows.indices, rows.indptr, rows.shared, order, s + 2)
        i = order[s]
        # 1. the scores
        sqnorm = row_score(rows, i, model, work, True)
        total = sqnorm
        for k in range(work.score.shape[0]):
            scores[i, k] = work.score[k]
            total += work.score[k] * work.score[k]
        if not total < MAX_SQNORM:
            nonfinite_row = i
            scores[i, :] = np.nan
        elif weight[i] > 0.0:
            # 2. the features
            model.t[0] += 1
            read_features(rows, i, model, settings, work)
            # 3. slopes and curvature of the loss, and a step
            loss_slopes(settings.loss, work.score, y[i], work.slope)
            h = curvature(settings.loss, work.slope, y[i])
            take_step(h, weight[i], model, settings, work)
            if model.n_inputs[0] == UNKNOWN and model.t[0] == ROWS_BEFORE_FOURIER:
                choose_inputs(model, settings)
    return nonfinite_row


@borrowing
def following_pass(model, scale, variance, v):
    """The loop of `follow`."""
    for q in range(scale.shape[0]):
        r = model.place[q]
        if model.counts[q] > 0.0 and r == 0:
            change_unit_alone(q, root_mean_square(q, model) / scale[q], model, variance)
        elif r > 0 and is_far(scale[q], model.scale[r]):
            model.scale[r] = scale[q]
    for r in range(1 + model.V.shape[0], model.used[0]):
        if is_far(model.scale[r], scale[model.members[r]]):
            grow_unit(r, scale[model.members[r]], model, variance, v)


@passes(learning_pass)
def learn(
    rows: Rows, examples: Examples, model: Newton, settings: Settings, scores: np.ndarray
) -> tuple:
    """Make one pass; return the last row that is not finite, or -1.

    ``scores[i]`` (one per class) is what row i had just before it was learned.  A row that is not
    finite is skipped, and its scores are NaN.
    """
    return rows, examples, model, settings, _work(rows, model), scores


@passes(following_pass)
def follow(model: Newton, scale: np.ndarray, variance: float) -> tuple:
    """Let the units follow root mean squares of more rows than the model has learned."""
    return model, scale, variance, np.empty(len(model.P))


@passes(scoring_pass)
def score_rows(rows: Rows, model: Newton, scores: np.ndarray) -> tuple:
    """Write the scores of the rows."""
    return rows, model, _work(rows, model), scores


def _work(rows: Rows, model: Newton) -> Work:
    widest = int(np.diff(rows.indptr.astype(np.int64)).max(initial=0))
    if len(rows.indptr) == 2:  # memory of a single row may hold longer ones later
        widest = len(rows.data)
    n_phi, n_scores = model.V.shape
    return buffers(len(model.P), n_phi, n_scores, widest)


def buffers(places: int, n_phi: int, n_scores: int, widest: int) -> Work:
    """Return memory for a row; ``widest`` is the most columns without a place."""
    return Work(
        score=np.zeros(n_scores),
        slope=np.zeros(n_scores),
        at=np.zeros(places, np.int64),
        f=np.zeros(places),
        n=np.zeros(2, np.int64),
        alone=np.zeros(widest, np.int64),
        z=np.zeros(widest),
        u=np.zeros(places),
        grow=np.ones(places),
        numbers=np.zeros(MAX_INPUTS),
        phi=np.zeros(n_phi),
    )


@borrowing
def row_score(rows, i, model, work, is_new):
    """score <- W'x + V'φ + b; return x·x.  φ is that of the last row unless the row is new."""
    x, j, indptr, shared, _, _ = rows
    W, b, place, score = model.W, model.b, model.place, work.score
    lo, hi = indptr[i], indptr[i + 1]
    offset = lo if shared else ZERO
    n_fourier = model.phase.shape[0]
    fourier = n_fourier > 0 and model.n_inputs[0] > 0
    if fourier and is_new:
        work.numbers[:] = 0.0
    for k in range(score.shape[0]):
        score[k] = b[0, k]
    sqnorm = 0.0
    for p in range(lo, hi):
        q = j[p - offset]
        sqnorm += x[p] * x[p]
        for k in range(score.shape[0]):
            score[k] += x[p] * W[q, k]
        if fourier and is_new and model.input_of[place[q]] > 0:
            work.numbers[model.input_of[place[q]] - 1] = x[p] / root_mean_square(q, model)
    if fourier:
        if is_new:
            find_phi(model, work)
        for r in range(n_fourier):
            for k in range(score.shape[0]):
                score[k] += work.phi[r] * model.V[r, k]
    return sqnorm


@borrowing
def find_phi(model, work):
    """phi_r <- 2^½ cos(omega_r·z / d^½ + phase_r) for the d inputs, z = x / s."""
    d = model.n_inputs[0]
    for r in range(model.phase.shape[0]):
        total = 0.0
        for q in range(d):
            total += model.omega[r, q] * work.numbers[q]
        work.phi[r] = np.sqrt(2.0) * np.cos(total / np.sqrt(d) + model.phase[r])


@inlined_borrowing
def curvature(loss, slope, y):
    """Return h from the slopes, which are p - 1 for the true class and p for the others."""
    if loss == SQUARED:
        return 1.0
    if loss == LOGISTIC:
        p = abs(slope[0])
        return max(p * (1.0 - p), LEAST_CURVATURE)
    h = 0.0
    for k in range(slope.shape[0]):
        p = slope[k] + 1.0 if k == y else slope[k]
        h += 0.5 * p * (1.0 - p)
    return max(h, LEAST_CURVATURE)


@inlined_borrowing
def root_mean_square(q, model):
    """Return s of a column that has occurred."""
    return np.sqrt(model.squares[q] / model.counts[q])


@borrowing
def read_features(rows, i, model, settings, work):
    """Count the values of the row, follow with the units, and write its features.

    The score becomes that of the weights in the new units.
    """
    x, j, indptr, shared, ptr, _ = rows
    place, used, D = model.place, model.used, model.D
    lo, hi = indptr[i], indptr[i + 1]
    offset = lo if shared else ZERO
    n, n_alone, v, has_grown, is_changed = 0, 0, 0, False, False
    numbers = settings.numbers and model.n_inputs[0] >= 0
    if settings.bias != 0.0:
        work.at[0], work.f[0] = 0, 1.0
        n = 1
    if model.n_inputs[0] > 0:
        for r in range(model.phase.shape[0]):
            work.at[n], work.f[n] = 1 + r, work.phi[r]
            n += 1
    first = n
    for p in range(lo, hi):
        if x[p] * x[p] == 0.0:
            continue
        q = j[p - offset]
        if numbers and place[q] == 0:
            continue
        while q >= ptr[v + 1]:
            v += 1
        was_alone = place[q] == 0 and model.counts[q] > 0.0
        before = root_mean_square(q, model) if was_alone else 0.0
        model.counts[q] += 1.0
        model.squares[q] += x[p] * x[p]
        model.signs[q] |= POSITIVE if x[p] > 0.0 else NEGATIVE
        scale = root_mean_square(q, model)
        if model.counts[q] == 1.0:
            D[q] = settings.variance
        elif was_alone and scale != before:
            change_unit_alone(q, before / scale, model, settings.variance)
            is_changed = True
        occurs = model.counts[q] >= OCCURRENCES or q - ptr[v] < FIRST_COLUMNS
        if place[q] == 0 and occurs and used[0] < place_limit(model):
            place[q] = used[0]
            model.members[used[0]] = q
            model.P[used[0], used[0]], model.scale[used[0]] = D[q], scale
            used[0] += 1
        r = place[q]
        if r > 0:
            if is_far(scale, model.scale[r]):
                model.scale[r] = scale
            has_grown |= is_far(model.scale[r], scale)
            work.at[n], work.f[n] = r, x[p] / model.scale[r]
            n += 1
        else:
            work.alone[n_alone], work.z[n_alone] = q, x[p] / scale
            n_alone += 1
    work.n[0], work.n[1] = n, n_alone
    # after all units that have fallen, so that the order of columns changes nothing
    for a in range(first, n if has_grown else first):
        r = work.at[a]
        scale = root_mean_square(model.members[r], model)
        if is_far(model.scale[r], scale):
            work.f[a] *= model.scale[r] / scale
            grow_unit(r, scale, model, settings.variance, work.u)
    if has_grown or is_changed:
        row_score(rows, i, model, work, False)


@inlined_borrowing
def is_far(low, high):
    """Return whether of a unit and a root mean square the second is too high for the first."""
    return low * low * MOST_OF_UNIT <= high * high


@borrowing
def grow_unit(r, scale, model, variance, v):
    """r_j <- s_j, which is higher, for the column at a place, with w and P; ``v`` is memory."""
    W, P, used, j = model.W, model.P, model.used[0], model.members[r]
    n_phi = model.V.shape[0]
    ratio = model.scale[r] / scale
    square = ratio * ratio
    # the precision that is added is a row of this feature alone, with the target 0
    share = max(P[r, r] / variance, LEAST_SHARE)
    kept = 1.0 / (square + (1.0 - square) * share)
    root = np.sqrt((1.0 - square) * kept / variance)
    for c in range(used):
        v[c] = root * P[r, c]
    v[r] = 0.0
    for k in range(W.shape[1]):
        move = root * W[j, k] * model.scale[r]
        model.b[0, k] -= move * v[0]
        for c in range(n_phi):
            model.V[c, k] -= move * v[1 + c]
        for c in range(1 + n_phi, used):
            W[model.members[c], k] -= move * v[c] / model.scale[c]
        W[j, k] *= square * kept
    for c in range(used):
        if v[c] != 0.0:
            add_to(-v[c], v[:used], P[c, :used])
        P[c, r] *= kept if c == r else ratio * kept
        P[r, c] = P[c, r]
    model.owed[r] *= square
    model.scale[r] = scale


@inlined_borrowing
def change_unit_alone(q, ratio, model, variance):
    """Change the weights and the variance of a column without a place; ``ratio`` is r / s."""
    square = ratio * ratio
    share = min(max(model.D[q] / variance, LEAST_SHARE), 1.0)
    kept = 1.0 / (square + (1.0 - square) * share)
    model.D[q] *= kept
    for k in range(model.W.shape[1]):
        model.W[q, k] *= square * kept


@inlined_borrowing
def place_limit(model):
    """Return the number of places of P."""
    return model.P.shape[0]


@borrowing
def take_step(h, weight, model, settings, work):
    """W <- W - k u g' and P <- P - h k u u'; then P forgets."""
    at, f, alone, z, slope = work.at, work.f, work.alone, work.z, work.slope
    W, P, D, used = model.W, model.P, model.D, model.used[0]
    u = work.u[:used]
    u[:] = 0.0
    for a in range(work.n[0]):
        add_to(f[a], P[at[a], :used], u)
    n = 0.0
    for a in range(work.n[0]):
        n += f[a] * u[at[a]]
    for a in range(work.n[1]):
        n += z[a] * z[a] * D[alone[a]]
    if not n > 0.0:
        return
    step = 1.0 / (1.0 / weight + h * n)
    n_phi = model.V.shape[0]
    for k in range(slope.shape[0]):
        move = step * slope[k]
        model.b[0, k] -= move * u[0]
        for r in range(min(n_phi, used - 1)):
            model.V[r, k] -= move * u[1 + r]
        for r in range(1 + n_phi, used):
            W[model.members[r], k] -= move * u[r] / model.scale[r]
        for a in range(work.n[1]):
            q = alone[a]
            W[q, k] -= move * D[q] * z[a] / root_mean_square(q, model)
    # by products of two equal factors: both sides of the diagonal stay equal
    root, gamma = np.sqrt(h * step), settings.forgetting
    grow = 1.0 / np.sqrt(gamma)
    for r in range(used):
        u[r] *= root
    if gamma < 1.0:
        for a in range(work.n[0]):
            work.grow[at[a]] = grow
    for r in range(used):
        if u[r] != 0.0 or gamma < 1.0:
            update_row(u[r], u, work.grow[r], work.grow[:used], P[r, :used])
    if gamma < 1.0:
        for a in range(work.n[0]):
            work.grow[at[a]] = 1.0
            model.owed[at[a]] = gamma * model.owed[at[a]] + 1.0 - gamma
        if model.t[0] % rows_between(gamma) == 0:
            recall_start(model, settings, work)
    for a in range(work.n[1]):
        q = alone[a]
        D[q] *= 1.0 - h * step * D[q] * z[a] * z[a]
        D[q] = 1.0 / (gamma / D[q] + (1.0 - gamma) / settings.variance)


@inlined_borrowing
def rows_between(gamma):
    """Return after how many rows the start is recalled: while a quarter is forgotten."""
    return max(np.int64(RECALLED / (1.0 - gamma)), 1)


@borrowing
def update_row(step, v, factor, factors, row):
    """row <- (row - step v) times both factors."""
    for i in range(row.shape[0]):
        row[i] = (row[i] - step * v[i]) * (factor * factors[i])


@borrowing
def recall_start(model, settings, work):
    """P^-1 <- P^-1 + owed / P_0 on the diagonal."""
    P, used = model.P, model.used[0]
    v = work.u[:used]
    for r in range(used):
        weight = model.owed[r] / settings.variance
        if weight > 0.0:
            root = np.sqrt(weight / (1.0 + weight * P[r, r]))
            for c in range(used):
                v[c] = root * P[r, c]
            for c in range(used):
                if v[c] != 0.0:
                    add_to(-v[c], v, P[c, :used])
        model.owed[r] = 0.0


@borrowing
def choose_inputs(model, settings):
    """Find the columns of numbers: not 0 in half of the rows, and with values of both signs."""
    n = 0
    for r in range(1 + model.V.shape[0], model.used[0]):
        q = model.members[r]
        if 2.0 * model.counts[q] >= model.t[0] and model.signs[q] == POSITIVE | NEGATIVE:
            if n < MAX_INPUTS:
                model.inputs[n] = q
                model.input_of[r] = n + 1
            n += 1
    if n > MAX_INPUTS:
        model.input_of[:] = 0
        model.inputs[:] = 0
        n = TOO_MANY
    model.n_inputs[0] = n
    if settings.numbers and n >= 0:
        leave_out_others(model, settings)


@borrowing
def leave_out_others(model, settings):
    """Leave all columns that are no inputs without weight and place."""
    first = 1 + model.V.shape[0]
    to = first
    for r in range(first, model.used[0]):
        q = model.members[r]
        model.members[r] = 0
        if model.input_of[r] == 0:
            continue
        model.members[to] = q
        model.input_of[to], model.scale[to] = model.input_of[r], root_mean_square(q, model)
        to += 1
    model.used[0] = to
    # without the others these weights are as uncertain as at the start
    model.P[:, :] = 0.0
    model.owed[:] = 0.0
    for r in range(to):
        model.P[r, r] = settings.variance
    model.input_of[to:] = 0
    for q in range(model.place.shape[0]):
        if model.counts[q] > 0.0:
            model.place[q] = 0
            model.D[q] = 0.0
    for r in range(first, to):
        model.place[model.members[r]] = r
    for q in range(model.place.shape[0]):
        if model.counts[q] > 0.0 and model.place[q] == 0:
            model.W[q, :] = 0.0
