"""Would more rows help? The recommended model on parts of the training rows."""

from __future__ import annotations

import numpy as np

from crossview.comparing.answer import posterior_of
from crossview.comparing.comparison import CurvePoint, LearningCurve
from crossview.comparing.folds.jobs import Call
from crossview.comparing.folds.splits import draw_rows
from crossview.comparing.followup.refit import Again, score_again

__all__ = ["learning_curve"]

# of the training rows; the whole is what the table says
SHARES = (0.125, 0.25, 0.5)
# of fewer rows nothing is learned
FEWEST_ROWS = 20


def learning_curve(again: Again) -> LearningCurve | None:
    """Return the metric by the number of training rows.

    Parameters
    ----------
    again : Again
        The model.

    Returns
    -------
    curve : LearningCurve or None
        None for too few rows: where half of the training rows of some fold are.
    """
    run, row, learner, folds, jobs, test_share = again
    rows: dict[float, int] = {}
    values: dict[float, list[float]] = {share: [] for share in SHARES}
    whole: list[float] = []
    for f, fold in enumerate(folds()):
        calls = []
        for share in list(values):
            some = draw_rows(run.task, fold.y_train, round(share * len(fold.y_train)), run.seed)
            part = fold.take(some)
            if len(some) < FEWEST_ROWS or part is None:
                del values[share]  # a point is the mean over all folds
                continue
            rows[share] = len(some)
            calls.append(Call(share, score_again, (run, learner, part, row.chosen[f])))
        if SHARES[-1] not in values:
            return None
        for share, value in jobs.run(calls):
            values[share].append(value)
        whole.append(row.scores[f])
    points = [_point(rows[share], scores) for share, scores in values.items()]
    points.append(_point(len(fold.y_train), whole))
    return LearningCurve(points, posterior_of(run.metric, whole, values[SHARES[-1]], test_share))


def _point(n: int, scores: list[float]) -> CurvePoint:
    return CurvePoint(n, float(np.mean(scores)), float(np.std(scores, ddof=1)))
