"""The tasks of a comparison: functions that any process can run, of arguments that travel."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crossview.catalog.learner import Learner
from crossview.comparing.budget.clock import StopWatch, Took
from crossview.comparing.folds.failures import or_failure
from crossview.comparing.folds.parts import Fold
from crossview.comparing.folds.splits import draw_rows
from crossview.comparing.folds.tuning import (
    Chosen,
    Numbered,
    Tuner,
    Tuning,
    calibrates_in_pass,
    make_model,
)
from crossview.comparing.run import Run
from crossview.errors import InputError
from crossview.labels import Threshold
from crossview.scoring.diagnostics import (
    ExpertWeights,
    ScoredRows,
    expert_weights,
    make_scored,
)
from crossview.scoring.drift import of_predicted_class
from crossview.scoring.problems import Classification, Scored, gives_probabilities


@dataclass
class FoldScore:
    """Scores of one learner on one fold.

    value: the metric on the test rows.
    inner: the metric that chooses settings, of the chosen one, on the held-out rows of the inner
      validation; higher is better.
    untuned: the metric where a score above 0 decides, if it depends on a threshold that was tuned;
      otherwise NaN.
    threshold: of the positive one of two classes, or one of each of several.
    confusion: rows of each class predicted as each class.
    passes: passes over the training rows.
    learned: share of the training rows that the model learned from.
    rows_per_second, predicted_per_second: of the fit on the training part, and of the scores of the
      test rows.
    kept: the scores of a sample of the test rows, by their positions among these.
    experts: of a stack.
    blended: positions of test rows whose predictions are kept for the ensemble.
    predictions: of these rows: the probabilities of the classes, scores, or numbers.
    has_probabilities: whether the predictions are probabilities.
    """

    value: float
    inner: float
    setting: dict[str, Any]
    untuned: float = math.nan
    others: dict[str, float] = field(default_factory=dict)
    threshold: Threshold | None = None
    confusion: np.ndarray | None = None
    passes: int = 1
    learned: float = 1.0
    rows_per_second: float = math.nan
    predicted_per_second: float = math.nan
    kept: ScoredRows | None = None
    experts: ExpertWeights | None = None
    blended: np.ndarray | None = None
    predictions: np.ndarray | None = None
    has_probabilities: bool = False


@or_failure
def tune_settings(
    run: Run,
    learner: Learner,
    fold: Fold,
    settings: Sequence[Numbered],
    tuning: Tuning,
    seconds_left: float,
) -> tuple[Chosen, Took]:
    """Return the best of some settings on the inner validation, and the seconds it took."""
    watch = StopWatch()
    return Tuner(run, learner, fold, tuning, seconds_left).choose(settings), watch.read()


@or_failure
def finish_fold(
    run: Run, learner: Learner, fold: Fold, chosen: Chosen, tuning: Tuning, seconds_left: float
) -> tuple[FoldScore, Took]:
    """Try what refines the setting, train with it, and score the rows held out."""
    watch = StopWatch()
    tuner = Tuner(run, learner, fold, tuning, seconds_left)
    chosen = tuner.settle(tuner.refine(chosen))
    del tuner  # with its rows
    fold = fold.of_setting(chosen.setting)
    model, seconds = fit_model(run, learner, fold, chosen, tuning.learned)
    score = score_model(run, learner, model, fold, chosen, keep=True)
    score.learned = tuning.learned
    made = getattr(model, "n_iter_", getattr(model, "n_epochs", 1))
    score.passes = made if learner.streams else 1
    learned = tuning.learned * len(fold.y_train)
    steps = model.n_steps_ if learner.draws_rows else learned * score.passes
    score.rows_per_second = steps / seconds
    return score, watch.read()


def fit_model(
    run: Run, learner: Learner, fold: Fold, chosen: Chosen, learned: float = 1.0
) -> tuple[Any, float]:
    """Return a model in the chosen setting, with its threshold, and the seconds of its fit.

    It learns from all training rows, or from a share of them.
    """
    X, y, weight = fold.training_rows(learner)
    if learned < 1.0:
        rows = draw_rows(run.problem, y, round(learned * len(y)), run.seed)
        X, y, weight = X[rows], y[rows], None if weight is None else weight[rows]
    model = make_model(run, learner, chosen.setting)
    start = time.perf_counter()
    model.fit(X, y, weight)
    seconds = time.perf_counter() - start
    _set_threshold(run, learner, model, chosen)
    return model, seconds


def score_model(
    run: Run, learner: Learner, model: Any, fold: Fold, chosen: Chosen, *, keep: bool = False
) -> FoldScore:
    """Return the metrics of a fitted model on the test rows, and keep what pictures need."""
    problem, y = run.problem, fold.y_test
    X_test, needed = learner.select_view(fold.X_test), problem.needs_probabilities
    start = time.perf_counter()
    scored = problem.scores(model, X_test, probabilities=needed)
    seconds = time.perf_counter() - start
    score = FoldScore(
        value=problem.measure(run.metric, y, scored),
        inner=chosen.value,
        setting=chosen.setting,
        others={name: problem.measure(name, y, scored) for name in problem.shown},
        confusion=problem.confusion(y, scored),
        predicted_per_second=len(y) / seconds,
    )
    if problem.judged_by_threshold:
        score.untuned = problem.measure(run.metric, y, scored._replace(predicted=None))
    if isinstance(problem, Classification):
        score.threshold = problem.of_other_side(model.threshold_)
    if keep and fold.sampled is not None:
        score.kept = _keep(run, learner, model, fold, chosen, scored)
        score.experts = expert_weights(model)
    if keep and fold.blended is not None:  # probabilities where there are any
        own = _with_probabilities(run, learner, model, chosen, scored.take(fold.blended))
        score.blended, score.has_probabilities = fold.blended, own.probabilities is not None
        score.predictions = own.scores if own.probabilities is None else own.probabilities
    return score


def _keep(
    run: Run, learner: Learner, model: Any, fold: Fold, chosen: Chosen, scored: Scored
) -> ScoredRows:
    """The scores of a sample of the test rows, by view where the model has such scores."""
    assert fold.sampled is not None
    rows, problem = fold.sampled, run.problem
    each = of_classes = None
    scored = _with_probabilities(run, learner, model, chosen, scored.take(rows))
    if learner.view is None and hasattr(model, "view_scores") and len(rows):
        X = fold.X_test[rows]
        of_classes = np.asarray(model.view_scores(X))
        each = of_predicted_class(model, X, of_classes)
    y = problem.encode(fold.y_test[rows])
    said = (scored.scores, scored.predicted, scored.probabilities)
    return make_scored(rows, y, *said, each, of_classes)


def _with_probabilities(
    run: Run, learner: Learner, model: Any, chosen: Chosen, scored: Scored
) -> Scored:
    """Return rows with probabilities of all classes, if the model has them."""
    if (
        scored.probabilities is None
        and isinstance(run.problem, Classification)
        and calibrates_in_pass(run, learner, chosen.setting)
        and gives_probabilities(model)
        and len(model.classes_) == len(run.problem.classes)
    ):
        return scored._replace(probabilities=model.probabilities(scored.scores))
    return scored


def _set_threshold(run: Run, learner: Learner, model: Any, chosen: Chosen) -> None:
    """Calibrate the model unless its pass did, and set its threshold."""
    if not (isinstance(run.problem, Classification) and run.problem.needs_probabilities):
        return
    if not calibrates_in_pass(run, learner, chosen.setting):
        if chosen.held_out is None:
            raise InputError(f"model {learner.name!r} has no held-out rows to be calibrated by")
        model.calibrate(chosen.held_out.scores, chosen.y, chosen.weight)
    problem, threshold = run.problem, run.problem.fixed_threshold
    if problem.tunes and chosen.held_out is not None and chosen.y is not None:
        threshold = problem.tune(chosen.y, chosen.held_out)[0]
    if threshold is not None:
        model.set_threshold(threshold)
