"""What a view is worth: the recommended model without it, and with it missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from crossview.catalog.learner import Learner
from crossview.catalog.learners import find_learner
from crossview.comparing.answer import posterior_of
from crossview.comparing.comparison import Ablation
from crossview.comparing.folds.jobs import Call
from crossview.comparing.folds.parts import Fold
from crossview.comparing.folds.work import score_model
from crossview.comparing.followup.refit import Again, fit_again, score_again
from crossview.comparing.run import Run
from crossview.data.labeled_source import hide_views

__all__ = ["ablate"]


def ablate(again: Again) -> list[Ablation]:
    """Return what the model loses without each view.

    It learns without the view, in the settings that were chosen with it; and it learns with the
    view, which is then missing in the rows that it scores.

    Parameters
    ----------
    again : Again
        The model.

    Returns
    -------
    lost : list of Ablation
        One per view; none for a model of a single view.
    """
    run, row, learner, folds, jobs, _ = again
    names: Sequence[str] = ()
    whole: list[float] = []
    without: dict[str, list[float]] = {}
    missing: dict[str, list[float]] = {}
    for f, fold in enumerate(folds()):
        names = fold.X_train.layout.names
        if learner.view is not None or len(names) < 2:
            return []
        calls = [Call(None, score_missing, (run, learner, fold, row.chosen[f]))]
        for view in names:
            others = [name for name in names if name != view]
            given = (run, _without(run, learner, others), fold.select(others), row.chosen[f])
            calls.append(Call(view, score_again, given))
        values = dict(jobs.run(calls))
        hidden = values.pop(None)
        whole.append(hidden.pop(None))
        for view in names:
            without.setdefault(view, []).append(values[view])
            missing.setdefault(view, []).append(hidden[view])
    lost = []
    for view in names:
        parts: list[Any] = []
        for scores in (without[view], missing[view]):
            parts.append(float(np.mean(scores)))
            parts.append(posterior_of(run.metric, scores, whole, again.test_share))
        lost.append(Ablation(view, *parts))
    return lost


def _without(run: Run, learner: Learner, views: list[str]) -> Learner:
    """The learner on the other views: its entry may name them."""
    if learner.baseline:
        return learner
    entry = find_learner(learner.name, run.task.name, views)
    return entry.for_metric(run.metric, run.task.positive_label)


def score_missing(
    run: Run, learner: Learner, fold: Fold, setting: dict[str, Any]
) -> dict[str | None, float]:
    """Return the metric on a fold as it is (None), and where a view is missing in its rows."""
    with threadpool_limits(1):
        model, fold, chosen = fit_again(run, learner, fold, setting)
        values: dict[str | None, float] = {}
        for view in (None, *fold.X_test.layout.names):
            test = fold if view is None else fold.with_test(hide_views(fold.X_test, [view]))
            values[view] = score_model(run, learner, model, test, chosen).value
        return values
