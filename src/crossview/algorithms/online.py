"""One pass of a linear learner over the rows: scores, margins, step sizes, update.

A learner combines an update rule (`rules`), a coupling of the views (`couplings`) and a geometry,
the norm of the weight change (`geometries`).  The pass is the same for all of them.  For each row
it computes, view by view, the scores w_v·x_v, the margins m_v and the squared norms
n_v = x_v'S_v x_v; rule and coupling give the steps P_v and the precisions rho_v; then

    w_v <- w_v + P_v y S_v x_v,   S_v^-1 <- S_v^-1 + rho_v x_v x_v'.

With a forgetting factor S_v then grows (`geometries.forget`).

Averaging: the mean of the weights over all rows is w - u / t, where u is the sum of s - 1 times the
update of row s, and t is the number of rows.

There are three passes for speed.  A pass in Euclidean geometry is bound by memory, and the branches
of `learn_with_covariance` would slow it down.  `learn_one_view` is `learn` for one view: a row of
10 entries takes 36 ns instead of 47.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing, passes
from crossview.algorithms import geometries
from crossview.algorithms.couplings import INDEPENDENT, Coupling, coupled_step
from crossview.algorithms.couplings.view_weights import learn_weights
from crossview.algorithms.geometries import (
    Covariance,
    Scratch,
    diagonal,
    identity,
    low_rank,
    make_scratch,
)
from crossview.algorithms.geometries.diagonal import Interleaved
from crossview.algorithms.margins import (
    ViewBuffers,
    find_margins,
    find_views,
    keep_view,
    n_scores,
    one_margin,
    read_intercepts,
    read_past,
    read_scores,
    read_views,
    row_of_view,
    sum_scores,
    view_buffers,
    write_refused,
    write_scores,
)
from crossview.algorithms.rules import (
    MARGIN_TOL,
    SOP,
    Rule,
    can_step,
    covariance_step,
    euclidean_step,
    is_bounded,
    pair_precision,
    sop,
)
from crossview.kernels.rows import ONE, TWO, ZERO, Row, Rows, prefetch_row

# contradicting labels make CW shrink x'Sx towards underflow: one update shrinks it at most by this
MOST_SHRINKAGE = 1e15
# outside of these bounds rho or 1 / rho would soon overflow
LEAST_PRECISION, MOST_PRECISION = 1e-290, 1e290


class Weights(NamedTuple):
    """Learned weights of a linear learner; the passes update them."""

    W: np.ndarray  # (n_columns,) for two classes, else (n_columns, n_classes)
    b: np.ndarray  # intercepts: (n_views,), else (n_views, n_classes); or one for all views
    U: np.ndarray  # the sum u of averaging: like W, or empty
    c: np.ndarray  # like b, or empty
    t: np.ndarray  # int64 (1,): rows learned from
    lengths: np.ndarray  # (n_intercepts, 2): rows of the view, and the sum of log x·x
    beta: np.ndarray  # (n_views,): weights of the views in the joint score
    beta_sums: np.ndarray  # (n_views + 1,): what they follow from; empty: they stay


class Examples(NamedTuple):
    """The labeled rows of a pass, and their scores, which the pass writes."""

    rows: Rows
    order: np.ndarray  # int64: the rows to learn from, in order
    y: np.ndarray  # float64 -1 or +1 for two classes, else int64 the class code
    weight: np.ndarray  # float64 (n_rows,)
    scores: np.ndarray  # (n_rows,), else (n_rows, n_classes): just before the row was learned


# --- Euclidean geometry: S is the identity ----------------------------------------


@borrowing
def one_view_pass(examples, model, scaling, rule, scratch):
    """The loop of `learn_one_view`."""
    rows, order, y, weight, scores = examples
    x, j, indptr, shared, _, _ = rows
    W, b, U, c, t, lengths, _, _ = model
    score, past = scratch
    average = U.shape[0] > 0
    nonfinite_row = -1
    for s in range(order.shape[0]):
        prefetch_row(x, j, indptr, shared, order, s + 2)
        i = order[s]
        lo = indptr[i]
        hi, offset = indptr[i + 1], lo if shared else ZERO
        row = Row(x, j, lo, hi, offset, 0, 0.0)
        n = read_scores(row, W, b, score)
        if average and t[0] > 0:
            read_scores(row, U, c, past)
        write_scores(scores, i, score, past, t[0] if average else 0, 1)
        if not n < np.inf:
            nonfinite_row = i
            write_refused(scores, i)
            continue
        if n <= 0.0 or weight[i] <= 0.0:
            continue
        before = lengths[0, 1]
        identity.count_length(scaling, n, 0, lengths)
        m, wrong = one_margin(W, y[i], score)
        if euclidean_step(rule, m, n, weight[i]) != 0.0:
            d = identity.intercept_variance(scaling, 0, lengths)
            n += d
            P = euclidean_step(rule, m, n if W.ndim == 1 else 2.0 * n, weight[i])
            if not is_bounded(P, n):
                identity.forget_length(scaling, before, 0, lengths)
                nonfinite_row = i
                write_refused(scores, i)
                continue
            row = Row(x, j, lo, hi, offset, 0, d)
            identity.move(P, 1, row, W, b, y[i], wrong)
            if average:
                identity.move(P, t[0], row, U, c, y[i], wrong)
        t[0] += 1
    return nonfinite_row


@borrowing
def euclidean_pass(examples, model, scaling, rule, coupling, buffers):
    """The loop of `learn`."""
    rows, order, y, weight, scores = examples
    W, b, U, c, t, lengths, beta, beta_sums = model
    m, n, P = buffers.steps.m, buffers.steps.n, buffers.steps.P
    average, is_coupled = U.shape[0] > 0, coupling.kind != INDEPENDENT
    nonfinite_row = -1
    for s in range(order.shape[0]):
        prefetch_row(rows.data, rows.indices, rows.indptr, rows.shared, order, s + 2)
        i = order[s]
        # 1. the scores
        count, total = read_views(rows, i, W, b, 0.0, buffers)
        n_scored = count if count > 0 else read_intercepts(rows, i, b, buffers)
        sum_scores(n_scored, beta, buffers)
        if average and t[0] > 0:
            read_past(rows, i, U, c, 0.0, n_scored, buffers)
        t_averaged, n_averaged = t[0] if average else 0, n_scored if is_coupled else 1
        write_scores(scores, i, buffers.joint, buffers.past, t_averaged, n_averaged)
        if not total < np.inf:
            nonfinite_row = i
            write_refused(scores, i)
            continue
        if count == 0 or weight[i] <= 0.0:
            continue
        # 2. the margins and squared norms
        find_margins(y[i], coupling, count, buffers)
        for a in range(count):
            sqnorm, v = buffers.sqnorm[a], buffers.v[a]
            buffers.rho[a] = lengths[v, 1]
            identity.count_length(scaling, sqnorm, v, lengths)
            buffers.variance[a] = identity.intercept_variance(scaling, v, lengths)
            n[a] = sqnorm + buffers.variance[a]
            if n_scores(W) > 1:
                n[a] *= 2.0
        # 3. the steps
        if is_coupled:
            coupled_step(coupling, rule.slack, weight[i] * rule.C, count, buffers.steps)
        else:
            for a in range(count):
                P[a] = euclidean_step(rule, m[a], n[a], weight[i])
        bounded = True
        for a in range(count):
            bounded &= is_bounded(P[a], n[a])
        if not bounded:
            for a in range(count):
                identity.forget_length(scaling, buffers.rho[a], buffers.v[a], lengths)
            nonfinite_row = i
            write_refused(scores, i)
            continue
        # 4. the update
        for a in range(count):
            if P[a] != 0.0:
                row, wrong = row_of_view(rows, i, buffers.variance[a], buffers, a), buffers.wrong[a]
                identity.move(P[a], 1, row, W, b, y[i], wrong)
                if average:
                    identity.move(P[a], t[0], row, U, c, y[i], wrong)
        if beta_sums.shape[0] > 0:
            learn_weights(y[i], weight[i], count, buffers, beta, beta_sums)
        t[0] += 1
    return nonfinite_row


@passes(one_view_pass)
def learn_one_view(examples: Examples, model: Weights, scaling: float, rule: Rule) -> tuple:
    """Make one pass of a learner on one view; arguments and result as for `learn`."""
    K = 1 if model.W.ndim == 1 else model.W.shape[1]
    return examples, model, scaling, rule, np.empty((2, K))


@passes(euclidean_pass)
def learn(
    examples: Examples, model: Weights, scaling: float, rule: Rule, coupling: Coupling
) -> tuple:
    """Make one pass of a Perceptron or PA learner on several views; ``model`` is updated in place.

    ``scaling`` is s of the intercept (`geometries.identity`); 0: there is none. Returns the last
    row that was skipped, because x·x or its step would not be finite, or -1; the scores of such
    rows are NaN.
    """
    K = 1 if model.W.ndim == 1 else model.W.shape[1]
    buffers = view_buffers(len(examples.rows.ptr) - 1, K)
    return examples, model, scaling, rule, coupling, buffers


# --- with a covariance per view ---------------------------------------------------


class Work(NamedTuple):
    """Memory of one pass with a covariance."""

    buffers: ViewBuffers
    scratch: Scratch
    pair: Interleaved  # weights and variances of `diagonal.move_and_grow` ...
    fused: bool  # ... which is for a diagonal, one weight vector, no averaging, and not SOP
    step: np.ndarray  # (n_classes,): of each weight vector


@borrowing
def covariance_pass(examples, model, S, bias, rule, coupling, work):
    """The loop of `learn_with_covariance`."""
    rows, order, y, weight, scores = examples
    t, average, is_coupled = model.t, model.U.shape[0] > 0, coupling.kind != INDEPENDENT
    buffers = work.buffers
    steps, rho = buffers.steps, buffers.rho
    nonfinite_row = -1
    for s in range(order.shape[0]):
        prefetch_row(rows.data, rows.indices, rows.indptr, rows.shared, order, s + 2)
        i = order[s]
        # 1. the scores
        count, total = _read_views(rows, i, model, S, bias, work)
        n_scored = count if count > 0 else read_intercepts(rows, i, model.b, buffers)
        sum_scores(n_scored, model.beta, buffers)
        if average and t[0] > 0:
            _read_past(rows, i, model, bias, n_scored, buffers)
        t_averaged, n_averaged = t[0] if average else 0, n_scored if is_coupled else 1
        write_scores(scores, i, buffers.joint, buffers.past, t_averaged, n_averaged)
        if not total < np.inf:
            nonfinite_row = i
            write_refused(scores, i)
            continue
        if count == 0 or weight[i] <= 0.0:
            continue
        # 2. the margins
        total_margin = find_margins(y[i], coupling, count, buffers)
        # 3. the squared norms in the geometry of S, and the steps
        has_joint_loss = is_coupled and total_margin < MARGIN_TOL * count
        has_room = True
        for a in range(count):
            steps.P[a] = rho[a] = 0.0
            if has_joint_loss or (not is_coupled and can_step(rule, steps.m[a])):
                row = row_of_view(rows, i, bias, buffers, a)
                _find_step(row, a, weight[i], rule, is_coupled, S, work)
                if S.form == geometries.LOW_RANK and rho[a] != 0.0:
                    n_entries = np.int64(rows.indptr[i + 1] - rows.indptr[i])
                    has_room &= low_rank.has_room(row, S, n_entries)
        if not has_room:
            return s, nonfinite_row
        if has_joint_loss:
            coupled_step(coupling, rule.slack, weight[i] * rule.C, count, steps)
        if not _are_bounded(count, steps, rho):
            nonfinite_row = i
            write_refused(scores, i)
            continue
        # 4. the update
        for a in range(count):
            if rho[a] != 0.0:
                row = row_of_view(rows, i, bias, buffers, a)
                _update(row, a, y[i], rule, model, S, work)
        if model.beta_sums.shape[0] > 0:
            learn_weights(y[i], weight[i], count, buffers, model.beta, model.beta_sums)
        t[0] += 1
    return order.shape[0], nonfinite_row


@inlined_borrowing
def _read_views(rows, i, model, S, bias, work):
    """`read_views`; with one weight vector and a diagonal it also computes x'Sx."""
    W, b, buffers = model.W, model.b, work.buffers
    if W.shape[1] > 1:
        return read_views(rows, i, W, b, bias, buffers)
    if not geometries.is_diagonal(S):
        return read_views(rows, i, W.reshape(-1), b.reshape(-1), bias, buffers)
    count, total = 0, 0.0
    for a in range(find_views(rows, i, buffers)):
        row = row_of_view(rows, i, bias, buffers, a)
        dot, sqnorm, n = diagonal.dot_and_sqnorms(row, work.pair)
        buffers.score[count, 0] = dot + b[row.v, 0]
        buffers.steps.n[count] = n + bias * S.d[row.v]
        total += sqnorm
        count = keep_view(row, sqnorm, count, buffers)
    return count, total


@inlined_borrowing
def _read_past(rows, i, model, bias, count, buffers):
    """`read_past` for one weight vector or many."""
    U, c = model.U, model.c
    if U.shape[1] > 1:
        read_past(rows, i, U, c, bias, count, buffers)
    else:
        read_past(rows, i, U.reshape(-1), c.reshape(-1), bias, count, buffers)


@inlined_borrowing
def _are_bounded(count, steps, rho):
    """Return whether all updates of a row keep weights and covariances finite."""
    bounded = True
    for a in range(count):
        if rho[a] != 0.0:
            bounded &= is_bounded(steps.P[a], steps.n[a])
            bounded &= LEAST_PRECISION < rho[a] < MOST_PRECISION
    return bounded


@inlined_borrowing
def _find_step(row, a, weight, rule, is_coupled, S, work):
    """Write n and rho of view ``a``, and P if the views are independent."""
    buffers = work.buffers
    several = buffers.score.shape[1] > 1
    m, n, P = buffers.steps.m, buffers.steps.n, buffers.steps.P
    if several or not geometries.is_diagonal(S):
        n[a] = geometries.sqnorm(row, S, work.scratch)
    if several:
        n[a] *= 2.0
    rho = weight  # of PAM
    if not is_coupled:
        if n[a] < rule.least_variance * (buffers.sqnorm[a] + row.bias):
            return
        P[a], rho = covariance_step(rule, m[a], n[a], weight)
        rho = min(rho, MOST_SHRINKAGE / n[a])
    buffers.rho[a] = rho * pair_precision(rule) if several else rho


@inlined_borrowing
def _update(row, a, y, rule, model, S, work):
    """Update the weights of view ``a``, and S^-1 <- S^-1 + rho x x'."""
    W, b, U, c, t = model.W, model.b, model.U, model.c, model.t
    buffers, scratch, step = work.buffers, work.scratch, work.step
    P, rho, n = buffers.steps.P[a], buffers.rho[a], buffers.steps.n[a]
    if step.shape[0] > 1:
        n *= 0.5
        step[:] = 0.0
        step[np.int64(y)], step[buffers.wrong[a]] = 1.0, -1.0
    else:
        step[0] = y
    geometries.find_direction(rho, row, S, scratch)
    if rule.kind == SOP and geometries.is_diagonal(S):
        diagonal.grow_with_sums(step, rho, n, row, S, model)
        return
    for k in range(step.shape[0]):
        if rule.kind == SOP:
            step[k] = sop.step(step[k], buffers.score[a, k], rho, n)
        elif step[k] != 0.0:
            step[k] *= P
    if work.fused:
        diagonal.move_and_grow(step[0], rho, n, row, S, work.pair, b.reshape(-1))
        if rule.forgetting < 1.0:
            diagonal.forget(rule, row, S, work.pair)
        return
    geometries.move(step, row, S, scratch, W, b)
    if U.shape[0] > 0:
        for k in range(step.shape[0]):
            step[k] *= t[0]
        geometries.move(step, row, S, scratch, U, c)
    geometries.grow(rho, n, row, S, scratch)
    if rule.forgetting < 1.0:
        geometries.forget(rule, row, S, work.pair)


@passes(covariance_pass)
def learn_plainly(
    examples: Examples, model: Weights, S: Covariance, bias: float, rule: Rule, coupling: Coupling
) -> tuple:
    """Make the pass of `learn_with_covariance` on weights and variances as they are."""
    K = model.W.shape[1]
    is_diagonal = S.form in (geometries.DIAGONAL, geometries.DIAGONAL_COVARIANCE)
    fused = is_diagonal and K == 1 and len(model.U) == 0 and rule.kind != SOP
    pair = Interleaved(model.W.reshape(-1), S.D, ONE, ZERO)
    work = Work(view_buffers(len(S.d), K), make_scratch(S), pair, fused, np.empty(K))
    return examples, model, S, bias, rule, coupling, work


def learn_with_covariance(
    examples: Examples, model: Weights, S: Covariance, bias: float, rule: Rule, coupling: Coupling
) -> tuple[int, int]:
    """Make one pass of a learner with a covariance per view; ``model`` and S are updated in place.

    The rule is PAM, AROW, CW, SCW or SOP, and PAM if the views are coupled. Scores, W and U have a
    class axis, of length 1 for two classes, and y is float64. ``bias`` is 1 or 0: with or without
    intercept. Returns the number of rows of the order that were learned, not all if a low-rank
    covariance is full; and the last row that was skipped, as `learn`.
    """
    *given, work = learn_plainly.prepare(examples, model, S, bias, rule, coupling)
    # a long pass is faster with interleaved weights and variances
    w = model.W.reshape(-1)
    interleaved = work.fused and int(examples.rows.indptr[-1]) > len(w)
    if interleaved:
        both = np.stack([w, S.D], axis=1).reshape(-1)
        work = work._replace(pair=Interleaved(both, both, TWO, ONE))
    done: tuple[int, int] = covariance_pass(*given, work)
    if interleaved:
        w[:], S.D[:] = both[::2], both[1::2]
    return done
