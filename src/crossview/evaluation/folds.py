"""Comparing by folds: parameters are chosen inside each training part."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from crossview.catalog.learner import Learner
from crossview.errors import InputError
from crossview.evaluation.candidates import MAX_TUNING_COST, quadratic_cost
from crossview.evaluation.metrics import least_rows
from crossview.evaluation.result import Comparison, ComparisonRow
from crossview.evaluation.run import Run
from crossview.evaluation.significance import corrected_t_test
from crossview.evaluation.sources import encode_parts
from crossview.evaluation.tasks import Classification, Scored, join
from crossview.views import MultiView, ViewLayout

__all__ = ["compare_folds", "draw_rows"]

# an inner validation with three folds up to this many rows, one split beyond
MOST_ROWS_FOR_INNER_FOLDS = 50_000
# rows that choose the parameters of a learner that needs all rows in memory
MOST_ROWS_AT_ONCE = 20_000

Split = tuple[np.ndarray, np.ndarray]


@dataclass
class _Fold:
    """The rows of one fold, encoded by its training part."""

    X_train: MultiView
    y_train: np.ndarray
    X_test: MultiView
    y_test: np.ndarray
    inner: list[Split]
    # the training rows and all unlabeled rows, for learners that learn from those
    X_more: MultiView | None
    y_more: np.ndarray


@dataclass
class _Chosen:
    """What the inner validation says: a setting, and the held-out rows that it was chosen on."""

    setting: dict[str, Any]
    value: float = -np.inf
    threshold: float | None = None
    held_out: Scored | None = None
    y: np.ndarray | None = None


@dataclass
class _Column:
    """What one learner did, fold by fold."""

    row: ComparisonRow
    passes: list[int] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)


def compare_folds(
    run: Run, X: Any, y: np.ndarray, encoder: Any, layout: ViewLayout, cv: int
) -> Comparison:
    """Compare by folds that are shuffled and the same for every learner.

    Parameters
    ----------
    run : Run
        What is compared, and how.
    X : MultiView or pyarrow.Table
        The rows.
    y : ndarray of shape (n_samples,)
        Their labels, some of which may be missing.
    encoder : ViewEncoder or None
        Makes views of the columns; None where the rows are views.
    layout : ViewLayout
        The views.
    cv : int
        Number of folds.

    Returns
    -------
    Comparison
        The answer.
    """
    if cv < 2:
        raise InputError(f"cv={cv}; give 2 folds or more")
    known, unlabeled = run.by_label(y)
    n_rows = len(y)
    if len(unlabeled):
        y = np.asarray(y[known].tolist())
    run.task.check_folds(y, cv, len(unlabeled))
    splits = [
        (train, test, _inner_splits(run, y[train]))
        for train, test in run.task.folds(cv, run.seed).split(np.zeros(len(y)), y)
    ]
    run.check_rows(
        min(len(part) for _, test, inner in splits for part in (test, *(t for _, t in inner))),
        "a test fold, or a part of the training rows that chooses parameters,",
    )
    costly = quadratic_cost(layout, len(y)) > MAX_TUNING_COST
    columns = [_Column(ComparisonRow(one.title, one.name)) for one in run.learners]
    some_learn = len(unlabeled) > 0 and any(one.learns_unlabeled for one in run.learners)
    for f, (train, test, inner) in enumerate(splits):
        parts = [known[train], known[test]]
        if some_learn:  # those with label first, in the order of the folds
            parts.append(np.concatenate([known[train], unlabeled]))
        _, encoded = encode_parts(X, encoder, parts)
        y_more = np.concatenate([y[train].astype(object), np.full(len(unlabeled), None)])
        more = encoded[2] if some_learn else None
        fold = _Fold(encoded[0], y[train], encoded[1], y[test], inner, more, y_more)
        for column, learner in zip(columns, run.learners, strict=True):
            run.say(f"fold {f + 1} of {cv}: {learner.title}")
            _run_fold(run, column, learner, fold, one_split=costly and learner.quadratic)
    answer = run.answer(
        layout,
        [_summary(column) for column in columns],
        n_rows=n_rows,
        n_scored=len(y),
        unlabeled=len(unlabeled),
        mode="cross-validation",
        test="t-test over the folds, corrected for their overlap",
        folds=cv,
    )
    _test_folds(answer, 1.0 / (cv - 1))
    return answer


def _run_fold(run: Run, column: _Column, learner: Learner, fold: _Fold, one_split: bool) -> None:
    """Choose parameters for a learner, train it, and score it on the rows held out."""
    X, y = fold.X_train, fold.y_train
    if fold.X_more is not None and learner.learns_unlabeled:
        X, y = fold.X_more, fold.y_more
    X = learner.select_view(X)
    chosen = _choose_in_fold(run, learner, X, y, fold.inner, one_split)
    model = _make(run, learner, chosen.setting)
    start = time.perf_counter()
    model.fit(X, y)  # choosing has compiled its loop
    seconds = time.perf_counter() - start
    made = getattr(model, "n_iter_", getattr(model, "n_epochs", 1))
    column.passes.append(made if learner.streams else 1)
    steps = model.n_steps_ if learner.draws_rows else len(fold.y_train) * column.passes[-1]
    column.speeds.append(steps / seconds)
    row = column.row
    _set_threshold(run, learner, model, chosen)
    X_test, needed = learner.select_view(fold.X_test), run.task.needs_probabilities
    scored = run.task.scores(model, X_test, probabilities=needed)
    if run.task.tunes:
        untuned = scored._replace(predicted=None)
        row.untuned_scores.append(run.task.measure(run.metric, fold.y_test, untuned))
    row.scores.append(run.task.measure(run.metric, fold.y_test, scored))
    for name in run.task.shown:
        value = run.task.measure(name, fold.y_test, scored)
        row.others.setdefault(name, []).append(value)
    row.chosen.append(chosen.setting)
    if isinstance(run.task, Classification) and model.threshold_ is not None:
        row.thresholds.append(run.task.of_other_side(model.threshold_))


def _make(run: Run, learner: Learner, setting: dict[str, Any]) -> Any:
    """A new estimator, which fits no other models for its probabilities.

    Unless one pass calibrates it, the rows held out by the inner validation do.
    """
    if run.task.name == "classification" and not _calibrates_in_pass(run, learner):
        setting = {**setting, "calibration": "none"}
    return run.make(learner, setting)


def _calibrates_in_pass(run: Run, learner: Learner) -> bool:
    """Whether the learner is calibrated by the one pass that it makes."""
    return not (learner.in_memory or learner.stops_early) and (run.epochs or 1) == 1


def _set_threshold(run: Run, learner: Learner, model: Any, chosen: _Chosen) -> None:
    """Calibrate the model unless its pass did, and set its threshold."""
    if not run.task.needs_probabilities:
        return
    if not _calibrates_in_pass(run, learner):
        assert chosen.held_out is not None
        model.calibrate(chosen.held_out.scores, chosen.y)
    threshold = chosen.threshold if run.task.tunes else run.task.fixed_threshold
    if threshold is not None:
        model.set_threshold(threshold)


def _choose_in_fold(
    run: Run, learner: Learner, X: MultiView, y: np.ndarray, inner: list[Split], one_split: bool
) -> _Chosen:
    """The setting that does best inside a training part."""
    some = inner[:1] if one_split or learner.stops_early or not learner.streams else inner
    # a tenth of the rows is still as many as the metric asks for
    most = max(MOST_ROWS_AT_ONCE, 10 * least_rows(run.metric))
    if learner.streams or len(y) <= most:
        return _choose(run, learner, X, y, some)
    drawn = draw_rows(y, most, run.seed)
    return _choose(run, learner, X[drawn], y[drawn], _inner_splits(run, y[drawn])[:1])


def _choose(run: Run, learner: Learner, X: MultiView, y: np.ndarray, inner: list[Split]) -> _Chosen:
    """The setting that does best in the inner validation; the first of equals.

    A setting that gets a threshold is judged at its best one, over the rows of all inner folds
    together.  So is one that is calibrated by them.
    """
    calibrates = run.task.needs_probabilities and not _calibrates_in_pass(run, learner)
    together = calibrates or run.task.tunes
    probabilities = run.task.needs_probabilities and not calibrates
    candidates = learner.candidates(run.grid)
    total = np.zeros(len(candidates))
    held_out: list[list[Scored]] = [[] for _ in candidates]
    _, unlabeled = run.by_label(y)
    for train, test in inner:
        if len(unlabeled):
            train = np.concatenate([train, unlabeled])
        X_train, X_test = X[train], X[test]
        for i, candidate in enumerate(candidates):
            model = _make(run, learner, {**candidate, **learner.tuning_params})
            with warnings.catch_warnings():  # a setting that takes too long is judged as it is
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X_train, y[train])
            if not together and run.task.fixed_threshold is not None:
                model.set_threshold(run.task.fixed_threshold)
            scored = run.task.scores(model, X_test, probabilities=probabilities)
            if together:
                held_out[i].append(scored)
            else:
                total[i] += run.score(y[test], scored)
    if not together:
        return _Chosen(candidates[int(total.argmax())])
    assert isinstance(run.task, Classification)
    y = np.asarray(y[np.concatenate([test for _, test in inner])].tolist())
    best: _Chosen | None = None
    for i, candidate in enumerate(candidates):
        scored = join(held_out[i])
        if calibrates:  # the map depends on the scores alone, and any of the models can hold it
            model.set_threshold(None).calibrate(scored.scores, y)
            p = model.probabilities(scored.scores)
            scored = run.task.decide(scored.scores, p)
        held_out[i] = []
        if run.task.tunes:
            threshold, value = run.task.tune(y, scored)
        else:
            threshold, value = None, run.score(y, scored)
        if best is None or value > best.value:
            best = _Chosen(candidate, value, threshold, scored, y)
    assert best is not None
    return best


def _inner_splits(run: Run, y: np.ndarray) -> list[Split]:
    splitter = (
        run.task.one_split(run.seed)
        if len(y) > MOST_ROWS_FOR_INNER_FOLDS
        else run.task.inner_folds(y, run.seed)
    )
    return list(splitter.split(np.zeros(len(y)), y))


def _summary(column: _Column) -> ComparisonRow:
    """The row, with its means over the folds."""
    row = column.row
    row.value, row.std = float(np.mean(row.scores)), float(np.std(row.scores, ddof=1))
    for name, values in row.others.items():
        setattr(row, name, float(np.mean(values)))
    if row.thresholds:
        row.threshold = float(np.median(row.thresholds))
    if row.untuned_scores:
        row.untuned = float(np.mean(row.untuned_scores))
    row.epochs = round(float(np.median(column.passes)))
    row.rows_per_second = float(np.median(column.speeds))
    row.setting = _most_frequent(row.chosen)
    return row


def _test_folds(answer: Comparison, test_to_train: float) -> None:
    """Add the p of each row against the best one, and of unlabeled rows."""
    rows = answer.rows
    for i, row in enumerate(rows):
        if i != answer.best:
            d = np.asarray(rows[answer.best].scores) - np.asarray(row.scores)
            row.p = corrected_t_test(d, test_to_train)
    pair = answer.unlabeled_pair
    if pair and answer.unlabeled:
        d = np.subtract(rows[pair[0]].scores, rows[pair[1]].scores)
        answer.unlabeled_benefit_p = corrected_t_test(d, test_to_train)


def _most_frequent(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """The setting that was chosen most often; the first of equals."""
    return dict(Counter(tuple(c.items()) for c in choices).most_common(1)[0][0])


def draw_rows(y: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Draw about n rows: each class in proportion, but at least three of it, if it has them.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        The classes.
    n : int
        How many, up to rounding and rare classes.
    seed : int
        Seed of the draw.

    Returns
    -------
    rows : ndarray of int
        Their positions, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview.evaluation.folds import draw_rows
    >>> y = np.array(["a"] * 20 + ["b"] * 80 + ["c"] * 2)
    >>> [str(label) for label in y[draw_rows(y, 20, seed=0)]].count("b"), len(draw_rows(y, 20, 0))
    (16, 22)
    """
    rng = np.random.default_rng(seed)
    parts = []
    for label in np.unique(y):
        here = np.flatnonzero(y == label)
        size = min(len(here), max(3, round(n * len(here) / len(y))))
        parts.append(rng.choice(here, size, replace=False))
    return np.sort(np.concatenate(parts))
