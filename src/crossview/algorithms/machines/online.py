"""One pass over the rows, each scored and then learned (Algorithm 1)."""

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, passes
from crossview.algorithms.losses import loss_slopes
from crossview.algorithms.machines.scores import row_score
from crossview.algorithms.machines.state import Machine, Objective, row_buffers
from crossview.algorithms.machines.update import (
    MAX_SQNORM,
    MAX_SQNORM_SINGLE,
    Steps,
    move_row,
    row_slopes,
    sum_slopes,
    view_lengths,
)
from crossview.algorithms.optimizers import FORGETTING_FLOOR, Step
from crossview.kernels.rows import Examples, Rows, prefetch_row


class Pace(NamedTuple):
    """How far a step goes."""

    optimizer: int  # SGD or ADAGRAD
    rate: float  # η
    forgetting: float = 1.0  # ρ of AdaGrad's sums of squares, in (0, 1]; 1 keeps them


@borrowing
def learning_pass(rows, examples, machine, loss, steps, work, scores):
    """The loop of `learn`."""
    order, y, weight = examples
    x, j, indptr, shared, _, _ = rows
    buffers, slopes = work
    score = buffers.score
    limit = MAX_SQNORM if machine.A.itemsize == 8 else MAX_SQNORM_SINGLE
    nonfinite_row = -1
    for s in range(order.shape[0]):
        prefetch_row(x, j, indptr, shared, order, s + 2)
        i = order[s]
        # 1. the scores, and their slopes by the sums of the parts
        offset = row_score(rows, i, machine, buffers, score)
        # 2. the slopes of the loss
        loss_slopes(loss, score, y[i], slopes.score)
        sqnorm = sum_slopes(weight[i], buffers, slopes)
        for a in range(score.shape[0]):
            scores[i, a] = score[a]
            sqnorm += score[a] * score[a]
        length = view_lengths(x, buffers.entry_ptr, slopes.view_length)
        # 3. a step of every parameter that the row touches
        if not max(sqnorm, 1.0) * length < limit:
            nonfinite_row = i
            scores[i, :] = np.nan
        elif weight[i] > 0.0:
            move_row(rows, i, offset, machine, buffers, slopes, steps)
    return nonfinite_row


@passes(learning_pass)
def learn(
    rows: Rows,
    examples: Examples,
    machine: Machine,
    objective: Objective,
    pace: Pace,
    scores: np.ndarray,
) -> tuple:
    """Make one pass over the rows of ``examples``; return the last row that is not finite, or -1.

    ``scores[i]`` (one per class) is what row i had just before it was learned.  A row whose
    score or squared slope is not finite is skipped, and its scores are NaN.
    A column that comes for the first time is scored, and has its slope, at 0, and
    moves from its initial weights.
    """
    buffers = row_buffers(machine, rows.ptr)
    slopes = row_slopes(machine, buffers)
    optimizer, rate, forgetting = pace
    sums = forgetting, FORGETTING_FLOOR if forgetting < 1.0 else 0.0
    steps = Steps(
        Step(optimizer, objective.penalty, objective.alpha, rate, *sums),
        Step(optimizer, objective.penalty, objective.alpha_bias, rate, *sums),
        Step(optimizer, objective.penalty, 0.0, rate if objective.fit_intercept else 0.0, *sums),
    )
    return rows, examples, machine, objective.loss, steps, (buffers, slopes), scores
