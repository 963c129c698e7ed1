"""KeCo: kernel learners, one a view, that label the unlabeled rows for each other.

Reference: van de Wiel, Heskes, Levin, "KeCo: Kernel-based Online Co-agreement
Algorithm", BNAIC 2015; with no unlabeled rows, and with one view, it is Pegasos:
Shalev-Shwartz, Singer, Srebro, Cotter, Math. Program. 127 (2011).

Symbols: step t, row i, view n, counts α_n[j], signs z_n[j], kernel K_n.

    ŷ_n = 1/(λ t) sum_j α_n[j] z_n[j] K_n(x_i, x_j)        eq. (3), Algorithm 1 line 6
    c_n = sign sum_{v != n} ŷ_v                             eq. (5), co-agreement
    z_n[i] = y_i, or c_n where row i has no label           eq. (4)
    α_n[i] <- α_n[i] + 1 where z_n[i] ŷ_n < 1               lines 8 and 9, the hinge loss (6)

What the paper leaves open: z_n[i] of a row without label is set when it is drawn, from
the scores of that step, and kept until it is drawn again.  sign 0 = 0: such a row is
counted, and says nothing before a later draw gives it a sign.  The sum leaves out j = i;
``include_self`` takes it in, as the released code does, with the agreement of the views scored
before, in this step, and of those after it when the row was drawn last.  All views are
scored before the first of them learns.  A missing view is not scored, agrees with
nobody and learns nothing.

On a stream rows cannot be drawn by turns.  As all unlabeled rows of one with few labels
would soon outvote what was said by anybody, of these at most ``ratio`` times as many
are learned as of labeled rows, and the others are passed over; in the paper's schedule it is
a third.

Several classes: each against the rest, with signs of its own; the rows drawn are the
same.  A row's weight takes the place of the 1 that is counted.

Three forms of the same steps:

    learn_from_gram    all kernel values are there; rows may be drawn again
    learn_stream       rows come once; supports are kept, all of them or a budget
    learn_explicit     the kernel is a product of features: W_n = sum_j α_n[j] z_n[j] x_j
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from crossview._jit import inlined, njit, njit_reordering
from crossview.kernels.gram import Kernel
from crossview.kernels.rows import ZERO, view_end

# what is done when there is one support too many
NOTHING, REMOVAL, PROJECTION, MERGING = range(4)

# steps of the golden section that looks where between two supports their merger lies
GOLDEN_STEPS = 15
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class Memory(NamedTuple):
    """What was learned of n rows: V views, K scores a row."""

    alpha: np.ndarray  # (V, K, n): counts
    beta: np.ndarray  # (V, K, n): α z
    last: np.ndarray  # (V, K, n): the scores when the row was drawn last


def nothing_learned(V: int, K: int, n: int) -> Memory:
    """All counts are 0."""
    return Memory(np.zeros((V, K, n)), np.zeros((V, K, n)), np.zeros((V, K, n)))


# --- scalar equations ---------------------------------------------------------


@inlined
def agreement(scores, c, n, here):
    """Eq. (5): the sign of the sum of all other views' scores of class ``c``; 0 has none."""
    total = 0.0
    for v in range(scores.shape[0]):
        if v != n and here[v]:
            total += scores[v, c]
    return np.sign(total)


@inlined
def own_label(label, scores, last, i, c, n, here):
    """The label of row i while view n is scored: views before n have been, in this step."""
    if label != 0.0:
        return label
    total = 0.0
    for v in range(scores.shape[0]):
        if v != n and here[v]:
            total += scores[v, c] if v < n else last[v, c, i]
    return np.sign(total)


@inlined
def learns(z, score):
    """Whether the hinge loss (6) is above 0."""
    return z * score < 1.0


# --- one row ------------------------------------------------------------------


@inlined
def learn_row(i, labels, weight, scores, here, alpha, beta, last):
    """Lines 7 to 11 of Algorithm 1, of all views and classes, from the scores of row i."""
    for n in range(scores.shape[0]):
        if here[n]:
            for c in range(scores.shape[1]):
                z = labels[i, c] if labels[i, c] != 0.0 else agreement(scores, c, n, here)
                if learns(z, scores[n, c]):
                    alpha[n, c, i] += weight[i]
                beta[n, c, i] = z * alpha[n, c, i]
                last[n, c, i] = scores[n, c]


@inlined
def within_quota(labeled, turns, ratio):
    """Whether a row of a stream is learned; ``turns`` counts labeled and unlabeled ones."""
    if labeled:
        turns[0] += 1.0
        return True
    if turns[1] + 1.0 > ratio * turns[0]:
        return False
    turns[1] += 1.0
    return True


@inlined
def where_present(present, i, here):
    """Here_n <- whether row i has view n."""
    for n in range(here.shape[0]):
        here[n] = present.shape[0] == 0 or present[i, n]


# --- the loops ----------------------------------------------------------------


@njit_reordering
def dot(a, b):
    """A·b, of what lies in order."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@njit
def learn_from_gram(
    gram, places, draws, labels, weight, present, memory, t, lam, include_self, supervised
):
    """Steps over the rows in ``draws``, from step ``t`` on; returns the last step.

    ``gram[n, places[s], j]`` is K_n of the row of step s and row j.  ``labels[i, c]`` is -1, 1,
    or 0 for a row without label, which ``supervised`` passes over: it takes a step only.
    """
    alpha, beta, last = memory
    V, K = alpha.shape[0], alpha.shape[1]
    scores, here = np.zeros((V, K)), np.empty(V, np.bool_)
    for s in range(draws.shape[0]):
        t += 1
        i, place = draws[s], places[s]
        if supervised and labels[i, 0] == 0.0:
            continue
        where_present(present, i, here)
        for n in range(V):
            if here[n]:
                for c in range(K):
                    total = dot(beta[n, c], gram[n, place])
                    if beta[n, c, i] != 0.0 and not (include_self and labels[i, c] != 0.0):
                        total -= beta[n, c, i] * gram[n, place, i]
                    if include_self and labels[i, c] == 0.0:
                        z = own_label(0.0, scores, last, i, c, n, here)
                        total += alpha[n, c, i] * z * gram[n, place, i]
                    scores[n, c] = total / (lam * t)
        learn_row(i, labels, weight, scores, here, alpha, beta, last)
    return t


@njit
def learn_explicit(
    rows,
    draws,
    places,
    labels,
    weight,
    memory,
    W,
    t,
    lam,
    include_self,
    supervised,
    joint,
    turns,
    ratio,
):
    """As `learn_from_gram`, of the linear kernel on ``rows[draws]``, whose sums are W[column, c].

    ``places[s]`` is the place of the row of step s in the memory, ``labels`` and ``weight``.
    ``joint[s]`` becomes what the mean score of the row was before the step.
    """
    x, j, indptr, shared, ptr, present = rows
    alpha, beta, last = memory
    V, K = alpha.shape[0], alpha.shape[1]
    scores, here = np.zeros((V, K)), np.empty(V, np.bool_)
    norms, before = np.zeros(V), np.empty((V, K))
    cut = np.empty(V + 1, np.uint64)
    for s in range(draws.shape[0]):
        i, m = draws[s], places[s]
        where_present(present, i, here)
        offset = indptr[i] if shared else ZERO
        cut[0] = indptr[i]
        for n in range(V):
            cut[n + 1] = view_end(j, cut[n], indptr[i + 1], offset, ptr[n + 1])
            norms[n] = 0.0
            for c in range(K):
                scores[n, c] = 0.0
            for p in range(cut[n], cut[n + 1]):
                norms[n] += x[p] * x[p]
                for c in range(K):
                    scores[n, c] += x[p] * W[j[p - offset], c]
        mean_score(scores, here, lam * t, joint[s])
        if weight[m] <= 0.0 or not within_quota(labels[m, 0] != 0.0, turns, ratio):
            continue
        t += 1
        if supervised and labels[m, 0] == 0.0:
            continue
        for n in range(V):
            for c in range(K):
                total = scores[n, c]
                if beta[n, c, m] != 0.0 and not (include_self and labels[m, c] != 0.0):
                    total -= beta[n, c, m] * norms[n]
                if include_self and labels[m, c] == 0.0:
                    z = own_label(0.0, scores, last, m, c, n, here)
                    total += alpha[n, c, m] * z * norms[n]
                scores[n, c] = total / (lam * t)
                before[n, c] = beta[n, c, m]
        learn_row(m, labels, weight, scores, here, alpha, beta, last)
        for n in range(V):
            for c in range(K):
                change = beta[n, c, m] - before[n, c]
                if change != 0.0:
                    for p in range(cut[n], cut[n + 1]):
                        W[j[p - offset], c] += change * x[p]
    return t


@inlined
def mean_score(sums, here, scale, out):
    """Out_c <- the mean over the views that are there of sums / scale; 0 before the first step."""
    there = 0
    for n in range(sums.shape[0]):
        there += here[n]
    for c in range(out.shape[0]):
        total = 0.0
        for n in range(sums.shape[0]):
            if here[n]:
                total += sums[n, c]
        out[c] = total / (scale * there) if scale > 0.0 and there > 0 else 0.0


@njit
def learn_stream(
    gram,
    first,
    labels,
    weight,
    present,
    beta,
    t,
    lam,
    supervised,
    joint,
    budget,
    keep,
    vectors,
    gammas,
    merged,
    turns,
    ratio,
):  # fmt: offset
    """Steps over rows that come once; returns the last step.

    The pool of each view holds the supports there are, ``first`` of them, then the rows that
    come; ``beta[n, c, k]`` of its k-th is α z, and 0 where it is no support.
    ``gram[n, i, k]`` is K_n of the i-th and k-th of the pool, or, without a ``budget`` (0),
    of the i-th row that comes and the k-th of the pool.  ``vectors`` are those of the pool, which
    merging changes, as it does ``gram``; ``merged[n, k]`` says which.
    """
    V, K = beta.shape[0], beta.shape[1]
    alpha, last = np.zeros((V, K, 1)), np.zeros((V, K, 1))
    own = np.zeros((V, K, 1))
    label, one = np.zeros((1, K)), np.zeros(1)
    scores, here = np.zeros((V, K)), np.empty(V, np.bool_)
    for i in range(labels.shape[0]):
        place = first + i
        line = place if budget > 0 else i
        where_present(present, i, here)
        for n in range(V):
            for c in range(K):
                total = 0.0
                if here[n]:
                    for k in range(place):
                        if beta[n, c, k] != 0.0:
                            total += beta[n, c, k] * gram[n, line, k]
                scores[n, c] = total
        mean_score(scores, here, lam * t, joint[i])
        if weight[i] <= 0.0 or not within_quota(labels[i, 0] != 0.0, turns, ratio):
            continue
        t += 1
        if supervised and labels[i, 0] == 0.0:
            continue
        one[0] = weight[i]
        for c in range(K):
            label[0, c] = labels[i, c]
            for n in range(V):
                scores[n, c] /= lam * t
                alpha[n, c, 0] = 0.0
        learn_row(0, label, one, scores, here, alpha, own, last)
        for n in range(V):
            if here[n]:
                for c in range(K):
                    beta[n, c, place] = own[n, c, 0]
                if budget > 0 and count(beta[n], place + 1) > budget:
                    if keep == REMOVAL:
                        remove(beta[n], smallest(beta[n], gram[n], place + 1))
                    elif keep == PROJECTION:
                        project(beta[n], gram[n], place + 1)
                    else:
                        merge(beta[n], gram[n], place + 1, vectors[n], gammas[n], merged[n])
    return t


@njit
def support_sums(gram, beta, out):
    """out[i, c] <- sum_k beta[c, k] gram[i, k]."""
    for i in range(out.shape[0]):
        for c in range(out.shape[1]):
            total = 0.0
            for k in range(gram.shape[1]):
                if beta[c, k] != 0.0:
                    total += beta[c, k] * gram[i, k]
            out[i, c] = total


@njit
def mean_scores(sums, present, scale, out):
    """Each row's mean over its views of sums / scale."""
    here = np.empty(sums.shape[1], np.bool_)
    for i in range(out.shape[0]):
        where_present(present, i, here)
        mean_score(sums[i], here, scale, out[i])


# --- a budget of supports: Wang, Crammer, Vucetic, JMLR 13 (2012), section 3 -----


@inlined
def is_support(beta, k):
    """Whether the k-th of the pool says anything."""
    size = 0.0
    for c in range(beta.shape[0]):
        size += abs(beta[c, k])
    return size > 0.0


@njit
def count(beta, many):
    """How many of the first ``many`` of the pool are supports."""
    total = 0
    for k in range(many):
        total += is_support(beta, k)
    return total


@njit
def smallest(beta, gram, many):
    """The support with the least |β|² K(k, k), the first of equals."""
    best, least = -1, np.inf
    for k in range(many):
        size = 0.0
        for c in range(beta.shape[0]):
            size += beta[c, k] * beta[c, k] * gram[k, k]
        if is_support(beta, k) and size < least:
            best, least = k, size
    return best


@njit
def remove(beta, k):
    """It is no support any more."""
    for c in range(beta.shape[0]):
        beta[c, k] = 0.0


@njit
def project(beta, gram, many):
    """Put what the smallest support says on all others: β += β_r G⁻¹ g_r, and remove it.

    As rows that are the same leave G without an inverse, a little (1e-6 of its
    trace) is added to its diagonal.
    """
    r = smallest(beta, gram, many)
    others = np.array([k for k in range(many) if k != r and is_support(beta, k)], dtype=np.int64)
    m = len(others)
    G, g = np.empty((m, m)), np.empty(m)
    ridge = 0.0
    for a in range(m):
        g[a] = gram[others[a], r]
        ridge += 1e-6 * gram[others[a], others[a]] / m
        for b in range(m):
            G[a, b] = gram[others[a], others[b]]
    for a in range(m):
        G[a, a] += max(ridge, 1e-300)
    share = np.linalg.solve(G, g)
    for c in range(beta.shape[0]):
        for a in range(m):
            beta[c, others[a]] += beta[c, r] * share[a]
    remove(beta, r)


@inlined
def merged_sqnorm(h, beta, a, b, kab):
    """What is left of |β_a φ(a) + β_b φ(b)|² at z = h a + (1 - h) b: sum_c (φ(z)·that)²."""
    ka, kb = kab ** ((1.0 - h) * (1.0 - h)), kab ** (h * h)
    total = 0.0
    for c in range(beta.shape[0]):
        s = beta[c, a] * ka + beta[c, b] * kb
        total += s * s
    return total


@njit
def merge(beta, gram, many, vectors, gamma, merged):
    """Put the smallest support and its best partner on one point between them (RBF only)."""
    a = smallest(beta, gram, many)
    partner, best_h, least = -1, 0.5, np.inf
    for b in range(many):
        if b == a or not is_support(beta, b):
            continue
        kab = gram[a, b]
        lo, hi = 0.0, 1.0
        h1, h2 = hi - GOLDEN * (hi - lo), lo + GOLDEN * (hi - lo)
        g1, g2 = merged_sqnorm(h1, beta, a, b, kab), merged_sqnorm(h2, beta, a, b, kab)
        for _ in range(GOLDEN_STEPS):
            if g1 >= g2:
                hi, h2, g2 = h2, h1, g1
                h1 = hi - GOLDEN * (hi - lo)
                g1 = merged_sqnorm(h1, beta, a, b, kab)
            else:
                lo, h1, g1 = h1, h2, g2
                h2 = lo + GOLDEN * (hi - lo)
                g2 = merged_sqnorm(h2, beta, a, b, kab)
        h = h1 if g1 >= g2 else h2
        lost = -merged_sqnorm(h, beta, a, b, kab)
        for c in range(beta.shape[0]):
            lost += beta[c, a] ** 2 + beta[c, b] ** 2 + 2.0 * beta[c, a] * beta[c, b] * kab
        if lost < least:
            partner, best_h, least = b, h, lost
    b, h, kab = partner, best_h, gram[a, partner]
    ka, kb = kab ** ((1.0 - h) * (1.0 - h)), kab ** (h * h)
    for c in range(beta.shape[0]):
        beta[c, b] = beta[c, a] * ka + beta[c, b] * kb
    remove(beta, a)
    merged[b] = True
    norm = 0.0
    for f in range(vectors.shape[1]):
        vectors[b, f] = h * vectors[a, f] + (1.0 - h) * vectors[b, f]
        norm += vectors[b, f] * vectors[b, f]
    for k in range(vectors.shape[0]):
        product, own = 0.0, 0.0
        for f in range(vectors.shape[1]):
            product += vectors[b, f] * vectors[k, f]
            own += vectors[k, f] * vectors[k, f]
        value = 1.0 if k == b else math.exp(-gamma * max(norm + own - 2.0 * product, 0.0))
        gram[b, k] = value
        gram[k, b] = value


# --- which rows ----------------------------------------------------------------

SCHEDULES = ("half-labeled", "released", "uniform", "stream")


def schedule(
    name: str,
    labeled: np.ndarray,
    unlabeled: np.ndarray,
    steps: int,
    random_state: np.random.RandomState,
) -> np.ndarray:  # fmt: offset
    """The rows that are drawn, uniformly and with replacement, in ``steps`` steps.

    "half-labeled": the first half from the labeled rows, then labeled and unlabeled by
    turns, as the paper says.  "released": likewise, but as the released code counts, by which
    step t (from 0) is unlabeled where t > T/2 and even.  "uniform": Algorithm 1, from all
    rows.  Where there are no unlabeled rows, all steps are labeled.
    """
    if name == "uniform":
        rows = np.concatenate([labeled, unlabeled])
        rows.sort()
        return rows[random_state.randint(len(rows), size=steps)]
    draws = labeled[random_state.randint(len(labeled), size=steps)]
    if len(unlabeled):
        t = np.arange(steps)
        if name == "released":
            turn = (t > steps / 2) & (t % 2 == 0)
        else:
            half = steps // 2
            turn = (t >= half) & ((t - half) % 2 == 1)
        draws[turn] = unlabeled[random_state.randint(len(unlabeled), size=int(turn.sum()))]
    return draws


def median_gamma(norms: np.ndarray, products: np.ndarray) -> float:
    """1 / the median squared distance of the pairs that are not equal; 0 if all are."""
    squares = norms[:, None] + norms[None, :] - 2.0 * products
    squares = squares[np.triu_indices(len(norms), 1)]
    squares = squares[squares > 1e-12 * max(float(norms.max(initial=0.0)), 1e-300)]
    return float(1.0 / np.median(squares)) if len(squares) else 0.0


def area_under_curve(positive: np.ndarray, scores: np.ndarray) -> float:
    """The share of pairs of a positive and another row that are in order; of ties, half."""
    n = int(positive.sum())
    ranks = rankdata(scores)[positive].sum() - n * (n + 1) / 2
    return float(ranks / (n * (len(scores) - n)))


def platt_targets(positive: np.ndarray) -> np.ndarray:
    """What the probabilities of held-out rows are fitted to (Platt 1999): not quite 0 and 1."""
    n, m = int(positive.sum()), int((~positive).sum())
    return np.where(positive, (n + 1.0) / (n + 2.0), 1.0 / (m + 2.0))


def scale_gamma(entries: np.ndarray, rows: int, width: int) -> float:
    """1 / (columns * variance of all values, the zeros included); 0 if they are all the same."""
    n = rows * width
    variance = float(entries @ entries) / n - (float(entries.sum()) / n) ** 2
    return 1.0 / (width * variance) if variance > 0.0 else 0.0


def kernels_of(kind: int, gammas: np.ndarray, coef0: float, degree: float) -> list[Kernel]:
    """One a view."""
    return [Kernel(kind, float(gamma), float(coef0), float(degree)) for gamma in gammas]
