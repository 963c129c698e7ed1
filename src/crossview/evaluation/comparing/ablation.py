"""What a view is worth: the recommended model without it, and with it missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from crossview.catalog.learner import Learner
from crossview.catalog.learners import find_learner
from crossview.evaluation.comparing.answer import posterior_of
from crossview.evaluation.comparing.jobs import Call, Jobs
from crossview.evaluation.comparing.parts import Fold
from crossview.evaluation.comparing.run import Run
from crossview.evaluation.comparing.tuning import Tuner
from crossview.evaluation.comparing.work import fit_model, score_model
from crossview.evaluation.result import Ablation, ComparisonRow
from crossview.views import MultiView

__all__ = ["ablate"]


def ablate(
    run: Run,
    row: ComparisonRow,
    learner: Learner,
    folds: Callable[[], Iterator[Fold]],
    jobs: Jobs,
    test_share: float,
) -> list[Ablation]:
    """Return what the model loses without each view.

    It learns without the view, in the settings that were chosen with it; and it learns with the
    view, which is then missing in the rows that it scores.

    Parameters
    ----------
    run : Run
        What was compared.
    row : ComparisonRow
        The model, with its settings fold by fold.
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
    lost : list of Ablation
        One per view; none for a model of a single view.
    """
    calls: list[Call] = []
    names: Sequence[str] = ()
    for f, fold in enumerate(folds()):
        names = fold.X_train.layout.names
        if learner.view is not None or len(names) < 2:
            return []
        calls.append(Call((f, None), score_missing, (run, learner, fold, row.chosen[f])))
        for view in names:
            others = [name for name in names if name != view]
            given = (run, _without(run, learner, others), fold.select(others), row.chosen[f])
            calls.append(Call((f, view), score_again, given))
    values = dict(jobs.run(calls))
    F = sum(view is None for _, view in values)
    lost = []
    for view in names:
        whole = [values[f, None][None] for f in range(F)]
        without = [values[f, view] for f in range(F)]
        missing = [values[f, None][view] for f in range(F)]
        lost.append(
            Ablation(
                view,
                *(float(np.mean(without)), posterior_of(run.metric, without, whole, test_share)),
                *(float(np.mean(missing)), posterior_of(run.metric, missing, whole, test_share)),
            )
        )
    return lost


def _without(run: Run, learner: Learner, views: list[str]) -> Learner:
    """The learner on the other views: its entry may name them."""
    if learner.yardstick:
        return learner
    entry = find_learner(learner.name, run.task.name, views)
    return entry.for_metric(run.metric, run.task.positive_label)


def score_again(run: Run, learner: Learner, fold: Fold, setting: dict[str, Any]) -> float:
    """Return the metric of a setting on a fold."""
    with threadpool_limits(1):
        fold = fold.of_setting(setting)
        chosen = Tuner(run, learner, fold).choose([(0, setting)])
        model, _ = fit_model(run, learner, fold, chosen)
        return score_model(run, learner, model, fold, chosen).value


def score_missing(
    run: Run, learner: Learner, fold: Fold, setting: dict[str, Any]
) -> dict[str | None, float]:
    """Return the metric on a fold as it is (None), and where a view is missing in its rows."""
    with threadpool_limits(1):
        fold = fold.of_setting(setting)
        chosen = Tuner(run, learner, fold).choose([(0, setting)])
        model, _ = fit_model(run, learner, fold, chosen)
        values: dict[str | None, float] = {}
        for view in (None, *fold.X_test.layout.names):
            test = fold if view is None else fold.with_test(_hide(fold.X_test, view))
            values[view] = score_model(run, learner, model, test, chosen).value
        return values


def _hide(X: MultiView, view: str) -> MultiView:
    """The same rows with a view missing."""
    present = np.ones((len(X), X.layout.n_views), dtype=bool)
    if X.present is not None:
        present = X.present.copy()
    present[:, X.layout.index(view)] = False
    return MultiView.from_matrix(X.matrix, X.layout, present=present)
