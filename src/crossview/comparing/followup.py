"""Refits of a recommended model on other rows or views, after a comparison by folds.

`ablate` says what each view is worth, `learning_curve` whether more rows would help, and `explain`
which columns contribute most.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from crossview.baselines import is_trainable
from crossview.catalog.learner import Learner
from crossview.catalog.learners import find_learner
from crossview.comparing.folds.parts import Fold
from crossview.comparing.folds.splits import draw_rows
from crossview.comparing.folds.tuning import Chosen, Tuner, make_model
from crossview.comparing.folds.work import fit_model, score_model
from crossview.comparing.result.answer import posterior_of
from crossview.comparing.result.ranking import Ablation, ComparisonRow, CurvePoint, LearningCurve
from crossview.comparing.run import Run
from crossview.data.labeled_source import hide_views
from crossview.jobs.jobs import Call, Jobs
from crossview.scoring.collector import strong_columns, strong_interactions
from crossview.scoring.diagnostics import StrongColumn, StrongInteraction
from crossview.scoring.models.weights import ColumnNames
from crossview.scoring.problems import Classification

# of the training rows; the whole is what the table says
SHARES = (0.125, 0.25, 0.5)
# of fewer rows nothing is learned
FEWEST_ROWS = 20


class Refit(NamedTuple):
    """A model that was compared, and what it takes to fit it again in its settings.

    row: the model, with its settings and scores fold by fold.
    folds: yields the rows of each fold, one fold after the other: only one is in memory at a time.
    test_share: rows of a test fold, by the rows of a fold.
    """

    run: Run
    row: ComparisonRow
    learner: Learner
    folds: Callable[[], Iterator[Fold]]
    jobs: Jobs
    test_share: float


def ablate(refit: Refit) -> list[Ablation]:
    """Return what the model loses without each view.

    It learns without the view, in the settings that were chosen with it; and it learns with the
    view, which is then missing in the rows that it scores.

    Returns lost: one per view; none for a model of a single view.
    """
    run, row, learner, folds, jobs, test_share = refit
    names: Sequence[str] = ()
    whole: list[float] = []
    without: dict[str, list[float]] = {}
    missing: dict[str, list[float]] = {}
    for f, fold in enumerate(folds()):
        names = fold.X_train.layout.names
        if learner.view is not None or len(names) < 2:
            return []
        calls = [Call(None, _score_missing, (run, learner, fold, row.chosen[f]))]
        for view in names:
            others = [name for name in names if name != view]
            given = (run, _without(run, learner, others), fold.select(others), row.chosen[f])
            calls.append(Call(view, _score, given))
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
            parts.append(posterior_of(run.metric, scores, whole, test_share))
        lost.append(Ablation(view, *parts))
    return lost


def learning_curve(refit: Refit) -> LearningCurve | None:
    """Return the metric by the number of training rows; None if half of a fold's are too few."""
    run, row, learner, folds, jobs, test_share = refit
    rows: dict[float, int] = {}
    values: dict[float, list[float]] = {share: [] for share in SHARES}
    whole: list[float] = []
    for f, fold in enumerate(folds()):
        calls, classes = [], isinstance(run.problem, Classification)
        n_learned = len(np.unique(fold.y_train)) if classes else 2
        fewest = len(fold.y_train)
        for share in reversed(list(values)):
            some = draw_rows(run.problem, fold.y_train, round(share * len(fold.y_train)), run.seed)
            part = fold.take(some, n_learned)
            if not FEWEST_ROWS <= len(some) < fewest or part is None:
                del values[share]  # a point is the mean over all folds
                continue
            rows[share] = fewest = len(some)
            calls.append(Call(share, _score, (run, learner, part, row.chosen[f])))
        if SHARES[-1] not in values:
            return None
        for share, value in jobs.run(calls):
            values[share].append(value)
        whole.append(row.scores[f])
    points = [
        CurvePoint(n, float(np.mean(scores)), float(np.std(scores, ddof=1)))
        for n, scores in (
            *((rows[share], scores) for share, scores in values.items()),
            (len(fold.y_train), whole),
        )
    ]
    return LearningCurve(points, posterior_of(run.metric, whole, values[SHARES[-1]], test_share))


def has_weights(learner: Learner, setting: Mapping[str, Any]) -> bool:
    """Return whether a learner in a setting has weights of columns, as rows of a kernel have not.

    >>> from crossview.catalog.learners import find_learner
    >>> from crossview.comparing.followup import has_weights
    >>> has_weights(find_learner("keco", "classification", ["a", "b"]), {"kernel": "rbf"})
    False
    """
    of_rows = learner.explained_by == "support rows" and setting.get("kernel") != "linear"
    return is_trainable(learner) and not of_rows


def explain(
    refit: Refit, fold: Fold, names: ColumnNames
) -> tuple[list[StrongColumn], list[StrongInteraction]]:
    """Return what contributes most to the scores of rows held out of the first fold.

    refit: the model; it is fitted once more, without choosing anything.
    fold: the rows of the first fold, in the encoding of its setting there.
    """
    run, row, learner, _, jobs, _ = refit
    call = Call(None, _explain, (run, learner, jobs.share(fold), names, row.chosen[0]))
    found: tuple[list[StrongColumn], list[StrongInteraction]]
    ((_, found),) = jobs.run([call])
    return found


def _without(run: Run, learner: Learner, views: list[str]) -> Learner:
    """The learner on the other views: its entry may name them."""
    if learner.baseline:
        return learner
    entry = find_learner(learner.name, run.problem.name, views)
    return entry.for_metric(run.metric, run.problem.positive_label)


# --- what workers run --------------------------------------------------------------------------


def _fit(
    run: Run, learner: Learner, fold: Fold, setting: dict[str, Any]
) -> tuple[Any, Fold, Chosen]:
    """Return the model of a setting, the fold in its encoding, and what the held-out rows say."""
    fold = fold.of_setting(setting)
    tuner = Tuner(run, learner, fold)
    chosen = tuner.settle(tuner.choose([(0, setting)]))
    model, _ = fit_model(run, learner, fold, chosen)
    return model, fold, chosen


def _score(run: Run, learner: Learner, fold: Fold, setting: dict[str, Any]) -> float:
    """Return the metric of a setting on a fold."""
    model, fold, chosen = _fit(run, learner, fold, setting)
    return score_model(run, learner, model, fold, chosen).value


def _score_missing(
    run: Run, learner: Learner, fold: Fold, setting: dict[str, Any]
) -> dict[str | None, float]:
    """Return the metric on a fold as it is (None), and where a view is missing in its rows."""
    model, fold, chosen = _fit(run, learner, fold, setting)
    values: dict[str | None, float] = {}
    for view in (None, *fold.X_test.layout.names):
        X = fold.X_test if view is None else hide_views(fold.X_test, [view])
        values[view] = score_model(run, learner, model, replace(fold, X_test=X), chosen).value
    return values


def _explain(
    run: Run, learner: Learner, fold: Fold, names: ColumnNames, setting: dict[str, Any]
) -> tuple[list[StrongColumn], list[StrongInteraction]]:
    """Fit a setting on the training rows, and explain some of those held out."""
    model = make_model(run, learner, setting)
    with warnings.catch_warnings():  # the fit that was scored has warned
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*fold.training_rows(learner))
    columns = strong_columns(model, names, learner.select_view(fold.X_test))
    return columns, strong_interactions(model, names)
