"""Would more rows help? The recommended model on parts of the training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from crossview.catalog.learner import Learner
from crossview.evaluation.comparing.ablation import score_again
from crossview.evaluation.comparing.answer import posterior_of
from crossview.evaluation.comparing.jobs import Call, Jobs
from crossview.evaluation.comparing.parts import Fold
from crossview.evaluation.comparing.run import Run
from crossview.evaluation.comparing.splits import draw_rows
from crossview.evaluation.result import ComparisonRow, CurvePoint, LearningCurve

__all__ = ["learning_curve"]

# of the training rows; the whole is what the table says
SHARES = (0.125, 0.25, 0.5)
# of fewer rows nothing is learned
FEWEST_ROWS = 20


def learning_curve(
    run: Run,
    row: ComparisonRow,
    learner: Learner,
    folds: Callable[[], Iterator[Fold]],
    jobs: Jobs,
    test_share: float,
) -> LearningCurve | None:
    """Return the metric by the number of training rows.

    Parameters
    ----------
    run : Run
        What was compared.
    row : ComparisonRow
        The model, with its settings and scores fold by fold.
    learner : Learner
        Its entry.
    folds : callable
        Yields the rows of each fold.
    jobs : Jobs
        The workers.
    test_share : float
        Rows of a test fold, by the rows of a fold.

    Returns
    -------
    curve : LearningCurve or None
        None for too few rows.
    """
    calls, rows, n_folds = [], {}, 0
    for f, fold in enumerate(folds()):
        n_folds = f + 1
        for share in SHARES:
            some = draw_rows(run.task, fold.y_train, round(share * len(fold.y_train)), run.seed)
            part = fold.take(some)
            if len(some) < FEWEST_ROWS or part is None:
                continue
            rows[share] = len(some)
            calls.append(Call((share, f), score_again, (run, learner, part, row.chosen[f])))
    values = dict(jobs.run(calls))
    whole = row.scores[:n_folds]
    points = [
        _point(n, [values[share, f] for f in range(n_folds)])
        for share, n in rows.items()
        if all((share, f) in values for f in range(n_folds))
    ]
    if not points:
        return None
    points.append(_point(len(fold.y_train), whole))
    half = [values[SHARES[-1], f] for f in range(n_folds)]
    return LearningCurve(points, posterior_of(run.metric, whole, half, test_share))


def _point(n: int, scores: list[float]) -> CurvePoint:
    return CurvePoint(n, float(np.mean(scores)), float(np.std(scores, ddof=1)))
