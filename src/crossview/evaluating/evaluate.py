"""Evaluation of a fitted model on labeled rows: from the rows to counts, and to the answer."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from crossview.data.joining.views_as_table import label_of_model, open_views
from crossview.errors import InputError, LearnedRowsWarning, NoRowsError, check_kind
from crossview.evaluating.counting import Counts, RowCounter
from crossview.evaluating.evaluation import (
    Evaluation,
    Slice,
    SlicedColumn,
    ViewEvaluation,
    Window,
)
from crossview.evaluating.slices import ByValue, find_slices
from crossview.evaluating.spec import (
    WINDOW,
    EvaluationSpec,
    open_rows_to_evaluate,
    resolve,
    window_of_rows,
)
from crossview.evaluating.unknown import count_unknown, take_as_errors
from crossview.evaluating.windows import ByRows, ByTime, find_windows
from crossview.scoring.diagnostics import Diagnostics, expert_weights
from crossview.scoring.drift import Drift
from crossview.scoring.models.fitted_model import ModelRows, UnknownLabelsError
from crossview.scoring.problems import Problem
from crossview.scoring.specification import Scoring
from crossview.views import column_called


def evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    on: str | Sequence[str] | None = None,
    by: str | Sequence[str] = (),
    time: str | None = None,
    window: str | int | timedelta | None = None,
    groups: Any = None,
    scoring: str | Scoring | None = None,
    views: bool = True,
    missing_columns: str = "error",
) -> Evaluation:
    """Evaluate a fitted model on labeled rows, in one pass with one batch in memory.

    All metrics of the task get a 95 % interval: by the jackknife over blocks of consecutive rows,
    as errors of rows near each other are alike; a value of 0 or 1 has that of a share of so many
    rows (Clopper and Pearson 1934).  With ``groups`` the blocks are of whole groups, in any
    order of the rows.  Rows without a label are skipped, and counted.  Where a model has more than
    two classes, a row of another one is an error of what is predicted, as in scikit-learn, and
    metrics of scores and probabilities leave it out.

    Inputs and scores of each view are compared with those of the last training rows, or of a sample
    of rows that were fitted at once without an order, if the model is a file that `train` wrote, by
    the population stability index.  Such a file also has hashes of 512 training rows, by which rows
    are known that were learned.

    Parameters
    ----------
    model : path-like, Trained, Pipeline or learner
        A model file, what `train` returned, or a fitted model, which says nothing of its training.
    X : MultiView, data frame, path, glob, query, or mapping of str to these
        The rows; best are rows that the model has not learned.  A mapping as for `train`; a view of
        the model that it has not is missing.
    y : array-like of shape (n_samples,) or str, default=None
        The labels (regression: numbers), or the name of their column.  None: the column that a
        model file was trained for, or the file format has labels.
    on : str or sequence of str, default=None
        Where ``X`` is a mapping of views to sources: the column, such as an id, by which their rows
        belong together.  None: frames have the same rows, in one order or by their pandas index.
    by : str or sequence of str, default=()
        Columns of ``X``: the metric for each of their 20 most frequent values, or for ten ranges
        of numbers, unless the model takes them as categories, or of dates.  One more pass over
        these columns finds them.
    time : str, default=None
        A column of times or numbers: loss, metric and drift over time.  Numbers between 1e8 and
        1e11 are Unix time in seconds (beyond, in milliseconds).
    window : str, int or timedelta, default=None
        The width of a window of time, such as ``"1d"`` or ``"6h"``.  A bare number is a number of
        rows in the order of the source, with or without ``time``.  None: about ten windows.
    groups : array-like of shape (n_samples,) or str, default=None
        What rows belong together, such as those of a user, or the name of their column: the errors
        of a group are alike, so intervals count groups instead of rows, and are wider.  A row
        without a group stands alone.  None: the column of ``groups`` with which the model was
        trained, if the rows have it.
    scoring : str or Scoring, default=None
        The metric that decides, that of views, slices and windows; or a `Scoring` with its
        parameters, the positive class and the threshold.  What it leaves open is as the model was
        trained; of a model that does not know it, the metric is f1 (macro_f1 if the positive class
        is a guess) or rmse.
    views : bool, default=True
        Whether to predict again with each view missing (with three views or more, also with each
        view alone), to see what it is worth.
    missing_columns : {"error", "null"}, default="error"
        As for `predict`.

    Returns
    -------
    Evaluation
        All metrics; its ``summary`` is a sentence.

    Raises
    ------
    InputError
        More than half of the labels, or of two classes one, are not among the classes of the model
        (the message names file and row), no row has a label, or an argument is invalid.

    Warns
    -----
    LearnedRowsWarning
        Many of the rows are equal to rows that the model has learned, and not by chance.

    Examples
    --------
    >>> from crossview import datasets, evaluate, train
    >>> table = datasets.load("breast-cancer")
    >>> trained = train(table[:400], "diagnosis")
    >>> found = evaluate(trained, table[400:])
    >>> found.n_rows, found.value > 0.8
    (169, True)
    >>> min(found.views, key=lambda view: view.missing.value).view  # the one that is missed most
    'worst'
    """
    # 1. the model, the task and the rows
    by, time, groups = (column_called(X, one) for one in (by, time, groups))
    check_kind("a name or one value per row or None", y=y, groups=groups)
    check_kind("a name or a list of names", by=by)
    check_kind("a name or None", time=time)
    check_kind("True or False", views=views)
    spec = resolve(model, scoring, views)
    by = [by] if isinstance(by, str) else [column_called(X, one) for one in by]
    label = label_of_model(model) if y is None else None
    X, y, _ = open_views(
        X,
        y,
        on,
        views={},
        per_row=dict(zip(by, by, strict=True)) | {"time": time, "groups": groups},
        label=label,
        model=model,
    )
    rows = open_rows_to_evaluate(
        spec, X, y, by=by, time=time, groups=groups, missing_columns=missing_columns
    )
    # 2. what divides the rows: one pass over these columns
    table: Any = rows.source
    spec.slices = [
        find_slices(table, column, is_category=spec.is_category(column)) for column in by
    ]
    spec.windows = _dividing_windows(rows, time, window)
    # 3. one pass over all
    counter = RowCounter(spec)
    try:
        counter.count_all(rows, y)
    except UnknownLabelsError:
        if not take_as_errors(spec, lambda: count_unknown(spec, rows, y)):
            raise
        counter = RowCounter(spec)
        counter.count_all(rows, y)
    if isinstance(spec.groups, np.ndarray) and len(spec.groups) != counter.n_seen:
        raise InputError(f"{len(spec.groups)} groups for {counter.n_seen} rows")
    if counter.counts is None:
        raise nothing_to_evaluate(counter.skipped, rows.file)
    # 4. the answer
    return make_evaluation(spec, counter.counts, rows)


def _dividing_windows(rows: Any, time: str | None, window: Any) -> ByRows | ByTime | None:
    """Return the windows that divide the rows by time, if they are to be divided."""
    of_rows = window_of_rows(window, time)
    if of_rows is not None:
        of_rows.check_number(rows.n_rows)
        return of_rows
    return None if time is None else find_windows(rows.source, time, window)


def nothing_to_evaluate(skipped: int, file: str | None) -> InputError:
    """Return the error for rows none of which has a label; ``skipped`` says how many there are."""
    what, kind = ("row has a label", InputError) if skipped else ("row is there", NoRowsError)
    return kind(f"no {what}, so there is nothing to evaluate", file=file)


def make_evaluation(spec: EvaluationSpec, counts: Counts, rows: ModelRows) -> Evaluation:
    """Return the evaluation that the counts of all rows give."""
    fitted, task = spec.fitted, spec.task
    threshold = getattr(fitted.learner, "threshold_", None)
    missing = list(rows.missing_views)
    shown = [view for view in spec.view_names if counts.views and view not in missing]
    answer = Evaluation(
        model=fitted.info.get("model"),
        task=task.name,
        label=spec.label,
        classes=task.classes.tolist(),
        unknown=getattr(task, "unknown", {}),
        positive=task.positive_label,
        positive_by=task.positive_by,
        threshold=None if threshold is None else task.of_other_side(threshold),
        threshold_for=spec.threshold_for,
        metric=task.metric,
        n_rows=counts.all.n_rows,
        skipped=counts.skipped,
        metrics=counts.all.estimates(),
        trained=_trained_value(fitted.info, task),
        calibration=counts.all.calibration() if spec.with_probabilities else [],
        confusion=counts.all.confusion(),
        views=[_view(counts, view) for view in shown],
        missing_views=missing,
        null_columns=list(rows.null_columns),
        by=[_sliced(counts, one) for one in spec.slices],
        windows=_windows(spec, counts, missing),
        without_time=counts.without_time,
        loss="squared error"
        if fitted.classes is None
        else "log loss"
        if spec.with_probabilities
        else "hinge loss",
        drift=_drifts(counts, missing, rows.null_columns),
        learned=fitted.learned_share(counts.learned),
        groups="groups" if isinstance(spec.groups, np.ndarray) else spec.groups,
        diagnostics=_diagnostics(spec, counts),
    )
    for line in answer.learned_rows:
        warnings.warn(line, LearnedRowsWarning, stacklevel=3)
    return answer


def _drifts(counts: Counts, views: list[str], columns: list[str]) -> list[Drift]:
    """The drift of views and columns, but of those that the rows have not."""
    found = [] if counts.drift is None else counts.drift.drifts(views)
    return found + ([] if counts.columns is None else counts.columns.drifts(views, columns))


def _trained_value(info: Mapping[str, Any], task: Problem) -> float | None:
    """The same metric in training, where the model file says it."""
    before = info.get("metric")
    same = isinstance(before, dict) and before.get("name") == task.metric
    if not (same and info.get("positive") == task.positive_label):
        return None
    value = before.get("value") if before else None
    return value if isinstance(value, float) else None


def _view(counts: Counts, view: str) -> ViewEvaluation:
    missing, alone = counts.views[view, "missing"], counts.views.get((view, "alone"))
    return ViewEvaluation(
        view,
        missing=missing.estimate(),
        difference=counts.all.difference(missing),
        alone=None if alone is None else alone.estimate(),
    )


def _sliced(counts: Counts, slices: ByValue) -> SlicedColumn:
    """The metric by the values of a column."""
    whole = counts.all.value
    rows = {
        code: part.metric.n_rows
        for (column, code), part in counts.parts.items()
        if column == slices.column
    }
    found = []
    for code in slices.ordered(rows):
        metric = counts.parts[slices.column, code].metric
        estimate = metric.estimate()
        away = estimate.value - whole
        found.append(Slice(slices.names[code], rows[code], estimate, away, metric.has_one_class()))
    return SlicedColumn(slices.column, found)


def _windows(spec: EvaluationSpec, counts: Counts, missing_views: list[str]) -> list[Window]:
    """The windows, in their order."""
    windows = spec.windows
    if windows is None:
        return []
    codes = sorted(code for column, code in counts.parts if column is WINDOW)
    parts = [(code, counts.parts[WINDOW, code]) for code in codes]
    return [
        Window(
            start=windows.start(code) + part.starts_at,
            rows=part.metric.n_rows,
            loss=part.loss / part.loss_rows if part.loss_rows else math.nan,
            metric=part.metric.estimate(),
            drift=[] if part.drift is None else part.drift.drifts(missing_views),
            one_class=part.metric.has_one_class(),
        )
        for code, part in parts
    ]


def _diagnostics(spec: EvaluationSpec, counts: Counts) -> Diagnostics:
    """Return what pictures need; the confusion matrix counts the rows of each class."""
    model, scored = spec.fitted.info.get("model") or "", counts.kept.sample.scored()
    return Diagnostics(
        model=model,
        views=counts.start.numbers,
        views_of="the first batch",
        class_rows=[sum(line) for line in counts.all.confusion() or []],
        scored=scored,
        view_model=model,
        by_view=None if scored is None or scored.view_scores is None else scored,
        differing=counts.kept.differing,
        columns=counts.start.strong,
        columns_of="the rows of the first batch",
        experts=expert_weights(spec.fitted.learner),
    )
