"""Multi-view machines: interactions of every order between views, factorized together.

Reference: Cao, Zhou, Li, Yu, "Multi-View Machines", WSDM 2016.

Symbols: view v of a row x_v, factor f, weights A_v[i, f] of feature i and
bias rows A_v[bias, f] (the constant feature 1 that the paper appends).

    S_v,f = A_v[bias, f] + sum_i x_v,i A_v[i, f]           eq. (6), one view's part
    score = intercept + sum_f prod_v S_v,f                 eq. (6)
    d score / d A_v[i, f] = x_v,i prod_{u != v} S_u,f      eq. (16)

The products of all views but one are a prefix times a suffix; the paper's
division by S_v,f is wrong where S_v,f is 0.  All gradients of a row are taken at
the same point and then applied; only the rows of A that a row touches are
regularized (Algorithm 1, line 6).  Bias rows are touched by every row, and so are
regularized as printed (``alpha_bias = alpha``); without, as an intercept is, the
test error on ratings of films is lower.  A missing view has its bias row only.

AdaGrad's step does not know how large x is: at first each of d columns moves by
the rate η, and S_v by η sum_i |x_i|, so that the product of a few wide dense views
leaps out of bounds.  So a view's step is divided by the length of z_v = (x_v, 1),
as it would be were the row scaled to length 1.

Groups of views (section 3.1): a sum of machines, each with parameters of its
own over its views.  A view in a group is called a part.

Several classes: a machine a class; the factors of all classes lie in a row.

The paper's comparison models are the same sums S_v without bias rows.  With
T_f = sum_v S_v,f and a first factor of each class that is linear:

    factorization machine: intercept + linear
        + ½ sum_f (T_f² - sum_i x_i² A[i, f]²)            eq. (26), all pairs
        + ½ sum_f (T_f² - sum_v S_v,f²)                   eq. (27), pairs across views
    support tensor machine: intercept + prod_v S_v         eq. (25), k = 1
"""

import math
from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

import numpy as np

from crossview._jit import inlined, njit
from crossview.algorithms.losses import slope as slope_of
from crossview.algorithms.losses import slopes
from crossview.algorithms.optimizers import (
    ADAGRAD,
    L2,
    adagrad,
    penalty_slope,
    sgd,
)
from crossview.kernels.lanes import adagrad_steps, add_four, add_product, copy, fill, multiply
from crossview.kernels.rows import (
    EIGHT,
    FIVE,
    FOUR,
    ONE,
    SEVEN,
    SIX,
    THREE,
    TWO,
    ZERO,
    prefetch_row,
    view_end,
)

# multi-view machine, pairs across views, all pairs, support tensor machine
MULTI_VIEW, CROSS_PAIRS, ALL_PAIRS, TENSOR = range(4)

HALF = np.uint64(32)

# a squared gradient may be added up a hundred million times
LARGEST, LARGEST_SINGLE = 1e300, 1e30


class Machine(NamedTuple):
    """What a machine has learned, and where its parts are; K classes, k factors.

    ``[:, 0]`` are parameters, ``[:, 1]`` AdaGrad's sums of their squared
    gradients, side by side because a feature is one place in memory; SGD has
    the first only.
    """

    A: np.ndarray  # (n_places, 1 or 2, K k): the features of part after part
    B: np.ndarray  # (n_parts, 1 or 2, K k): the bias rows; 0 in models that have none
    c: np.ndarray  # (1 or 2, K): intercepts
    views: np.ndarray  # uint64 (n_parts,): the view of each part
    column_offset: (
        np.ndarray
    )  # uint64 (n_parts,): column j of the rows has its place at j + column_offset
    ends: np.ndarray  # uint64 (n_groups,): one past the last part of each group
    model: int  # MULTI_VIEW, CROSS_PAIRS, ALL_PAIRS or TENSOR
    seen: np.ndarray  # bool (n_places,): columns that have come; all others are 0
    keys: np.ndarray  # uint64 (n_parts,): from which the weights come with which they begin
    sizes: np.ndarray  # (n_parts,): and the standard deviation of these
    class_ids: np.ndarray  # uint64 (K,): the number of each class, in the order in which they came


class RowBuffers(NamedTuple):
    """Room for one row; ``flat_`` is the same memory without its shape."""

    flat_a: np.ndarray
    flat_b: np.ndarray
    S: np.ndarray  # (n_parts, K k): the sums of the parts
    D: np.ndarray  # (n_parts, K k): what the score changes by with each
    flat_s: np.ndarray
    flat_d: np.ndarray
    product: np.ndarray  # (K k,): the terms of the scores
    cut: np.ndarray  # uint64 (n_views + 1,): where the views of the row begin


@inlined
def room_for_a_row(machine, ptr):
    """Arrays of the right shapes."""
    n_parts, n = machine.B.shape[0], machine.B.shape[2]
    S, D = np.empty((n_parts, n)), np.empty((n_parts, n))
    return RowBuffers(
        machine.A.reshape(-1),
        machine.B.reshape(-1),
        S,
        D,
        S.reshape(-1),
        D.reshape(-1),
        np.empty(n),
        np.empty(ptr.shape[0], np.uint64),
    )


# --- scalar equations ---------------------------------------------------------


@inlined
def partial_sum(x, j, lo, hi, offset, column_offset, flat, wide, S, s, n):
    """S_f <- S_f + sum_i x_i A[i, f].

    Four features at a time, so that S is loaded less often; where fewer are
    left, the last one stands in for them with the value 0.
    """
    whole = n - n % EIGHT
    for p in range(lo, hi, FOUR):
        last = hi - ONE
        p1, p2, p3 = min(p + ONE, last), min(p + TWO, last), min(p + THREE, last)
        x0 = x[p]
        x1 = x[p1] if p + ONE < hi else 0.0
        x2 = x[p2] if p + TWO < hi else 0.0
        x3 = x[p3] if p + THREE < hi else 0.0
        a0, a1 = (j[p - offset] + column_offset) * wide, (j[p1 - offset] + column_offset) * wide
        a2, a3 = (j[p2 - offset] + column_offset) * wide, (j[p3 - offset] + column_offset) * wide
        for f in range(ZERO, whole, EIGHT):
            add_four(S, s + f, flat, a0 + f, a1 + f, a2 + f, a3 + f, x0, x1, x2, x3)
        for f in range(whole, n):
            S[s + f] += (x0 * flat[a0 + f] + x1 * flat[a1 + f]) + (
                x2 * flat[a2 + f] + x3 * flat[a3 + f]
            )


@inlined
def other_products(S, first, end, n, D, product):
    """D_p,f <- prod_{q != p} S_q,f over a group's parts; product_f grows by prod_p S_p,f."""
    lanes = n - n % EIGHT
    last = end - ONE
    # the suffix takes the place of S, which is not needed again
    for f in range(ZERO, lanes, EIGHT):
        fill(D, first * n + f, 1.0)
        for p in range(first, last):
            q = p * n + f
            multiply(D, q + n, D, q, S, q)
        add_product(product, f, D, last * n + f, S, last * n + f)
        for p in range(last, first, -1):
            q = (np.uint64(p) - ONE) * n + f
            multiply(D, q, D, q, S, q + n)
            multiply(S, q, S, q, S, q + n)
    for f in range(lanes, n):
        D[first * n + f] = 1.0
        for p in range(first, last):
            q = p * n + f
            D[q + n] = D[q] * S[q]
        product[f] += D[last * n + f] * S[last * n + f]
        for p in range(last, first, -1):
            q = (np.uint64(p) - ONE) * n + f
            D[q] *= S[q + n]
            S[q] *= S[q + n]


@inlined
def linear_terms(S, first, D, product):
    """The first factor of a class: D_p <- 1 and product <- sum_p S_p."""
    product[first] = 0.0
    for p in range(S.shape[0]):
        product[first] += S[p, first]
        D[p, first] = 1.0


@inlined
def cross_pairs(S, k, K, D, product):
    """Eq. (27): D_p <- T - S_p and product <- ½ sum_p S_p D_p."""
    for a in range(K):  # not range(0, n, k): that divides, and in every row of any model
        first = a * k
        linear_terms(S, first, D, product)
        for f in range(first + 1, first + k):
            total = 0.0
            for p in range(S.shape[0]):
                total += S[p, f]
            for p in range(S.shape[0]):
                D[p, f] = total - S[p, f]
                product[f] += 0.5 * S[p, f] * D[p, f]


@inlined
def all_pairs(S, k, K, D, product):
    """Eq. (26): D <- T and product <- ½ (T² - product), which holds the sum of x² A²."""
    for a in range(K):  # not range(0, n, k): that divides, and in every row of any model
        first = a * k
        linear_terms(S, first, D, product)
        for f in range(first + 1, first + k):
            total = 0.0
            for p in range(S.shape[0]):
                total += S[p, f]
            product[f] = 0.5 * (total * total - product[f])
            for p in range(S.shape[0]):
                D[p, f] = total


@inlined
def squares(x, j, lo, hi, offset, column_offset, A, Q):
    """Q_f <- Q_f + sum_i x_i² A[i, f]²."""
    for p in range(lo, hi):
        i = j[p - offset] + column_offset
        for f in range(Q.shape[0]):
            Q[f] += (x[p] * A[i, 0, f]) ** 2


@inlined
def move_columns(x, j, lo, hi, offset, column_offset, A, G, g, n, optimizer, penalty, alpha, rate):
    """The factors of the columns j[lo - offset : hi - offset]: g = x G + α Ω'(θ), and a step.

    A 0 of a dense row touches nothing, as in a sparse one.
    """
    first = ZERO
    if optimizer == ADAGRAD and penalty == L2:
        first = n - n % EIGHT
        adagrad_steps(A, G, g, n, x, j, lo, hi, offset, column_offset, alpha, rate)
    if first == n:
        return
    for q in range(lo, hi):
        if x[q] != 0.0:
            a = (j[q - offset] + column_offset) * n * (TWO if optimizer == ADAGRAD else ONE)
            for f in range(first, n):
                slope = x[q] * G[g + f] + alpha * penalty_slope(penalty, A[a + f])
                if optimizer == ADAGRAD:
                    A[a + n + f] += slope * slope
                    A[a + f] = adagrad(A[a + f], slope, A[a + n + f], rate)
                else:
                    A[a + f] = sgd(A[a + f], slope, rate)


@inlined
def move_with_pairs(theta, x, G, own, optimizer, penalty, alpha, rate):
    """As `move`, less the pair of the feature with itself: g = x (G - own x θ) + α Ω'(θ)."""
    for f in range(G.shape[0]):
        g = x * (G[f] - own[f] * x * theta[0, f]) + alpha * penalty_slope(penalty, theta[0, f])
        if optimizer == ADAGRAD:
            theta[1, f] += g * g
            theta[0, f] = adagrad(theta[0, f], g, theta[1, f], rate)
        else:
            theta[0, f] = sgd(theta[0, f], g, rate)


@inlined
def mix(z):
    """SplitMix64's output function (Steele, Lea, Flood 2014)."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def uniform(key, row, column):
    """A number in (0, 1), by its place alone."""
    bits = mix(mix(key + row) + column)
    return (float(bits >> np.uint64(11)) + 0.5) * 2.0**-53


@inlined
def normal(key, row, column):
    """A number from N(0, 1), by its place alone (Box and Muller 1958)."""
    angle = 2.0 * math.pi * uniform(key + FOUR, row, column)
    return math.sqrt(-2.0 * math.log(uniform(key, row, column))) * math.cos(angle)


@njit
def begin(machine, p, place, position):
    """The weights with which a column begins: N(0, size_p²), and 0 for what is linear.

    Each comes from its own place (part, position in the view, number of the class,
    factor), so columns that come later are as if they had been there.
    """
    k = machine.B.shape[2] // machine.class_ids.shape[0]
    pairs = machine.model == CROSS_PAIRS or machine.model == ALL_PAIRS
    for f in range(machine.B.shape[2]):
        own = (machine.class_ids[f // k] << HALF) + np.uint64(f % k)
        if machine.sizes[p] > 0.0 and not (pairs and f % k == 0):
            z = normal(machine.keys[p], np.uint64(position) + ONE, own)
            machine.A[place, 0, f] = machine.sizes[p] * z
    machine.seen[place] = True


@inlined
def sum_of(A, first, n):
    """The sum of A[first : first + n], eight at a time in pairs."""
    total = 0.0
    lanes = n - n % EIGHT
    for f in range(first, first + lanes, EIGHT):
        total += ((A[f] + A[f + ONE]) + (A[f + TWO] + A[f + THREE])) + (
            (A[f + FOUR] + A[f + FIVE]) + (A[f + SIX] + A[f + SEVEN])
        )
    for f in range(first + lanes, first + n):
        total += A[f]
    return total


# --- one row ------------------------------------------------------------------


@inlined
def cut_views(rows, i, cut):
    """Cut_v <- the first entry of view v of row i, and the end of the row."""
    _, j, indptr, shared, ptr, _ = rows
    lo, end = indptr[i], indptr[i + 1]
    offset = lo if shared else ZERO
    cut[0] = lo
    for v in range(cut.shape[0] - 1):
        cut[v + 1] = view_end(j, cut[v], end, offset, ptr[v + 1])
    return offset


@inlined
def row_score(rows, i, machine, buffers, score):
    """Score_c of row i, by way of S and the products of the others; returns the offset of its j.

    D_p,f is what the score changes by with S_p,f.
    """
    x, j, _, _, _, present = rows
    A, _, c, views, column_offset, ends, model, _, _, _, _ = machine
    flat_A, flat_B, S, D, flat_S, flat_D, product, cut = buffers
    k = product.shape[0] // score.shape[0]
    n = np.uint64(product.shape[0])
    wide = np.uint64(A.shape[1]) * n
    offset = cut_views(rows, i, cut)
    first = ZERO
    lanes = n - n % EIGHT
    for f in range(ZERO, lanes, EIGHT):
        fill(product, f, 0.0)
    for f in range(lanes, n):
        product[f] = 0.0
    for group in range(ends.shape[0]):
        for p in range(first, ends[group]):
            v = views[p]
            for f in range(ZERO, lanes, EIGHT):
                copy(flat_S, p * n + f, flat_B, p * wide + f)
            for f in range(lanes, n):
                flat_S[p * n + f] = flat_B[p * wide + f]
            if present.shape[0] == 0 or present[i, v]:
                partial_sum(
                    x,
                    j,
                    cut[v],
                    cut[v + ONE],
                    offset,
                    column_offset[p],
                    flat_A,
                    wide,
                    flat_S,
                    p * n,
                    n,
                )
                if model == ALL_PAIRS:
                    squares(x, j, cut[v], cut[v + ONE], offset, column_offset[p], A, product)
        if model == CROSS_PAIRS:
            cross_pairs(S, k, score.shape[0], D, product)
        elif model == ALL_PAIRS:
            all_pairs(S, k, score.shape[0], D, product)
        else:
            other_products(flat_S, first, ends[group], n, flat_D, product)
        first = ends[group]
    for a in range(score.shape[0]):
        score[a] = c[0, a] + sum_of(product, np.uint64(a * k), np.uint64(k))
    return offset


# --- the loops ----------------------------------------------------------------


@njit
def learn(
    rows, order, y, weight, machine, loss, optimizer, penalty, alpha, alpha_bias, rate, scores
):
    """One pass over the rows in ``order``.

    ``y`` is -1 or +1, a number, or the number of the class; ``scores[i]`` (one a
    class) becomes what row i had just before it was learned.  A row whose score or
    squared gradient is not finite is passed over; returns the last such row, or -1.
    A column that comes for the first time is scored, and has its gradient, at 0, and
    takes its first step from the weights with which it begins.
    """
    nonfinite_row = -1
    x, j, indptr, shared, ptr, present = rows
    A, B, c, views, column_offset, _, model, seen, _, _, _ = machine
    n, K = np.uint64(B.shape[2]), c.shape[1]
    k = B.shape[2] // K
    buffers = room_for_a_row(machine, ptr)
    flat_A, flat_B, _, _, _, flat_D, product, cut = buffers
    own, slope, G = np.zeros(n), np.empty(n), np.empty(K)
    steps = np.empty(views.shape[0] * B.shape[2], A.dtype)
    largest = LARGEST if A.itemsize == 8 else LARGEST_SINGLE
    lengths = np.empty(ptr.shape[0] - 1)
    lanes = n - n % EIGHT
    score = np.empty(K)
    one, none = np.ones(1), np.zeros(1, np.uint32)
    for s in range(order.shape[0]):
        prefetch_row(x, j, indptr, shared, order, s + 2)
        i = order[s]
        offset = row_score(rows, i, machine, buffers, score)
        for a in range(K):
            scores[i, a] = score[a]
        if K > 1:
            slopes(loss, score, y[i], G)
        else:
            G[0] = slope_of(loss, score[0], y[i])
        norm = 0.0
        for v in range(lengths.shape[0]):
            square = 1.0  # of the constant feature
            for q in range(cut[v], cut[v + 1]):
                square += x[q] * x[q]
            norm += square
            lengths[v] = math.sqrt(square)
        # one class: in eight lanes what is the same in all
        for f in range(ZERO, lanes, EIGHT):
            fill(product, f, 0.0)
            fill(slope, f, weight[i] * G[0])
        if K > 1 or lanes < n:
            for a in range(K):
                for f in range(a * k, (a + 1) * k):
                    slope[f] = weight[i] * G[a]
            for f in range(lanes, n):
                product[f] = 0.0
        for p in range(views.shape[0]):
            d = np.uint64(p) * n
            for f in range(ZERO, lanes, EIGHT):
                multiply(steps, d + f, flat_D, d + f, slope, f)
                add_product(product, f, steps, d + f, steps, d + f)
            for f in range(lanes, n):
                steps[d + f] = flat_D[d + f] * slope[f]
                product[f] += float(steps[d + f]) * float(steps[d + f])
        total = sum_of(product, ZERO, n)
        for a in range(K):
            total += score[a] * score[a]
        if not max(total, 1.0) * norm < largest:
            nonfinite_row = i
            continue
        if weight[i] <= 0.0:
            continue
        if model == ALL_PAIRS:
            for a in range(K):  # the linear ones have no pair
                for f in range(a * k + 1, (a + 1) * k):
                    own[f] = slope[f]
        for p in range(ZERO, np.uint64(views.shape[0])):
            v = views[p]
            step = rate / lengths[v] if optimizer == ADAGRAD else rate
            if model == MULTI_VIEW:  # a bias row is that of a column p with the value 1
                move_columns(
                    one,
                    none,
                    ZERO,
                    ONE,
                    ZERO,
                    p,
                    flat_B,
                    steps,
                    p * n,
                    n,
                    optimizer,
                    penalty,
                    alpha_bias,
                    step,
                )  # fmt: offset
            if present.shape[0] == 0 or present[i, v]:
                lo, hi = cut[v], cut[v + ONE]
                old = True
                for q in range(lo, hi):
                    old &= seen[j[q - offset] + column_offset[p]]
                if not old:
                    for q in range(lo, hi):
                        place = j[q - offset] + column_offset[p]
                        if x[q] != 0.0 and not seen[place]:
                            begin(machine, p, place, j[q - offset] - ptr[v])
                if model == ALL_PAIRS:
                    for q in range(lo, hi):
                        if x[q] != 0.0:
                            move_with_pairs(
                                A[j[q - offset] + column_offset[p]],
                                x[q],
                                steps[p * n : (p + ONE) * n],
                                own,
                                optimizer,
                                penalty,
                                alpha,
                                step,
                            )
                else:
                    move_columns(
                        x,
                        j,
                        lo,
                        hi,
                        offset,
                        column_offset[p],
                        flat_A,
                        steps,
                        p * n,
                        n,
                        optimizer,
                        penalty,
                        alpha,
                        step,
                    )  # fmt: offset
        for a in range(K):
            g = weight[i] * G[a]
            if optimizer == ADAGRAD:
                c[1, a] += g * g
                c[0, a] = adagrad(c[0, a], g, c[1, a], rate)
            else:
                c[0, a] = sgd(c[0, a], g, rate)
    return nonfinite_row


@njit
def score(rows, order, machine, scores):
    """Scores[i] of the rows in ``order``."""
    _, _, _, _, ptr, _ = rows
    buffers = room_for_a_row(machine, ptr)
    for s in range(order.shape[0]):
        i = order[s]
        row_score(rows, i, machine, buffers, scores[i])


# --- the start ----------------------------------------------------------------


def keys_of(seed: int, n_parts: int) -> np.ndarray:
    """A number a part, from which those of its columns come."""
    with np.errstate(over="ignore"):
        seeds = mix(np.asarray([seed], dtype=np.uint64)) + np.arange(n_parts, dtype=np.uint64)
        return np.asarray(mix(seeds))


@njit
def begin_touched(rows, order, machine):
    """Begin all columns that the rows in ``order`` touch."""
    x, j, _, _, ptr, present = rows
    views, column_offset = machine.views, machine.column_offset
    cut = np.empty(ptr.shape[0], np.uint64)
    for s in range(order.shape[0]):
        i = order[s]
        offset = cut_views(rows, i, cut)
        for p in range(views.shape[0]):
            v = views[p]
            if present.shape[0] == 0 or present[i, v]:
                for q in range(cut[v], cut[v + ONE]):
                    place = j[q - offset] + column_offset[p]
                    if x[q] != 0.0 and not machine.seen[place]:
                        begin(machine, p, place, j[q - offset] - ptr[v])


@njit
def begin_seen(machine, ptr):
    """Begin all columns that are marked as seen."""
    for p in range(machine.views.shape[0]):
        v = machine.views[p]
        for column in range(ptr[v], ptr[v + ONE]):
            place = column + machine.column_offset[p]
            if machine.seen[place]:
                begin(machine, p, place, column - ptr[v])


@njit
def begin_biases(machine, size):
    """Bias rows of random signs and the size (1/k)^(1/m), m parts in a group.

    So the product of a group's bias rows is 1/k, and no gradient vanishes however
    many views there are.  With the paper's N(0, size²), where ``size`` is above 0,
    gradients are about size^(m-1).  A group of one part is linear in it and begins at 0.
    """
    k = machine.B.shape[2] // machine.class_ids.shape[0]
    first = ZERO
    for group in range(machine.ends.shape[0]):
        m = machine.ends[group] - first
        for p in range(first, machine.ends[group]):
            for f in range(machine.B.shape[2]):
                own = (machine.class_ids[f // k] << HALF) + np.uint64(f % k)
                if m > ONE and machine.model == MULTI_VIEW:
                    if size > 0.0:
                        machine.B[p, 0, f] = size * normal(machine.keys[p], ZERO, own)
                    else:
                        sign = 1.0 if uniform(machine.keys[p], ZERO, own) > 0.5 else -1.0
                        machine.B[p, 0, f] = sign * float(k) ** (-1.0 / float(m))
        first = machine.ends[group]


# --- what was learned ---------------------------------------------------------

# features of a view, and combinations, that the search for the strongest goes on with
KEPT = 1000


def terms(
    model: int, tables: list[np.ndarray], B: np.ndarray, groups: list[np.ndarray], views: np.ndarray
) -> Iterator[tuple[list[int], list[np.ndarray], np.ndarray]]:
    """The interactions of one class: of each combination of views, parts, A of each, constant.

    The weight of columns i_1, i_2, ... of these views is sum_f constant_f prod_v A_v[i_v, f].
    """
    if model in (CROSS_PAIRS, ALL_PAIRS):
        for p, A in enumerate(tables):
            yield [p], [A[:, :1]], np.ones(1)
        pairs = combinations_with_replacement if model == ALL_PAIRS else combinations
        for p, q in pairs(range(len(tables)), 2):
            yield [p, q], [tables[p][:, 1:], tables[q][:, 1:]], np.ones(B.shape[1] - 1)
        return
    if model == TENSOR:
        yield list(range(len(tables))), tables, np.ones(B.shape[1])
        return
    # a combination may be in several groups: their factors side by side
    found: dict[tuple[int, ...], list[tuple[list[int], np.ndarray]]] = {}
    for group in groups:
        for order in range(1, len(group) + 1):
            for parts in combinations(group.tolist(), order):
                parts = tuple(sorted(parts, key=lambda p: int(views[p])))
                others = [p for p in group if p not in parts]
                key = tuple(int(views[p]) for p in parts)
                found.setdefault(key, []).append((list(parts), np.prod(B[others], axis=0)))
    for where in found.values():
        factors = [
            np.hstack([tables[p] for p in same])
            for same in zip(*(w[0] for w in where), strict=True)
        ]
        yield where[0][0], factors, np.concatenate([constant for _, constant in where])


def strongest(
    parts: list[np.ndarray], constant: np.ndarray, top: int, same: bool
) -> list[tuple[tuple[int, ...], float]]:
    """The combinations of one row of each part with the largest |sum_f c_f prod_p A_p[i_p, f]|.

    ``same``: two parts are the same, and a pair of different rows counts once.
    Exact for one part, and for two of at most `KEPT` rows.  Else a beam search: only
    the `KEPT` rows, and then combinations, with the largest bound are gone on with;
    the bound is the sum of the absolute products, with the largest row for parts to come.
    """
    largest = [np.abs(A).max(axis=0, initial=0.0) for A in parts]
    beam, products = np.zeros((1, 0), dtype=np.intp), constant[None, :]
    for p, A in enumerate(parts):
        before = np.abs(constant) * np.prod(largest[:p], axis=0)
        after = np.prod(largest[p + 1 :], axis=0)
        rows = np.arange(len(A))
        if len(parts) > 1:
            rows = rows[_largest(np.abs(A) @ (before * after), KEPT)]
        if p < len(parts) - 1:
            values = np.abs(products) @ (np.abs(A[rows]) * after).T
            keep = _largest(values.ravel(), KEPT)
        else:
            values = products @ A[rows].T
            if same:
                values[beam[:, -1:] >= rows] = 0.0
            keep = _largest(np.abs(values).ravel(), top)
            keep = keep[values.ravel()[keep] != 0.0]
        old, new = np.unravel_index(keep, values.shape)
        beam = np.column_stack([beam[old], rows[new]])
        products = products[old] * A[rows[new]]
    return [
        (tuple(places), weight)
        for places, weight in zip(beam.tolist(), products.sum(axis=1).tolist(), strict=True)
    ]


def _largest(values: np.ndarray, n: int) -> np.ndarray:
    """Positions of the n largest, the largest first and of equals the first."""
    if len(values) > n:
        candidates = np.flatnonzero(values >= np.partition(values, -n)[-n])
    else:
        candidates = np.arange(len(values))
    return candidates[np.argsort(-values[candidates], kind="stable")[:n]]
