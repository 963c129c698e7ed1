"""Evaluation of a fitted model on labeled rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from crossview.data.joining.views_as_table import label_of_model, open_views
from crossview.evaluating.counting import RowCounter
from crossview.evaluating.evaluation import Evaluation
from crossview.evaluating.make_evaluation import make_evaluation, nothing_to_evaluate
from crossview.evaluating.slices import find_slices
from crossview.evaluating.spec import open_rows_to_evaluate, resolve, window_of_rows
from crossview.evaluating.windows import ByRows, ByTime, find_windows
from crossview.scoring.specification import Scoring


def evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    on: str | Sequence[str] | None = None,
    by: str | Sequence[str] = (),
    time: str | None = None,
    window: str | int | timedelta | None = None,
    scoring: str | Scoring | None = None,
    views: bool = True,
    missing_columns: str = "error",
) -> Evaluation:
    """Evaluate a fitted model on labeled rows, in one pass with one batch in memory.

    All metrics of the task get a 95 % interval: by the jackknife over blocks of consecutive rows,
    as errors of rows near each other are alike.  Rows without a label are skipped, and counted.

    Inputs and scores of each view are compared with those of the last training rows, if the model
    is a file that `train` wrote, by the population stability index.

    Parameters
    ----------
    model : path-like, Pipeline or learner
        A model file, or a fitted model such as ``train(...).fitted``.
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
        of numbers.  One more pass over these columns finds them.
    time : str, default=None
        A column of times or numbers: loss, metric and drift over time.  Numbers between 1e8 and
        1e11 are Unix time in seconds (beyond, in milliseconds).
    window : str, int or timedelta, default=None
        The width of a window of time, such as ``"1d"`` or ``"6h"``.  A bare number is a number of
        rows in the order of the source, with or without ``time``.  None: about ten windows.
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
        A label is not among the classes of the model (the message names file and row), no row has a
        label, or an argument is invalid.

    Examples
    --------
    >>> from crossview import datasets, evaluate, train
    >>> table = datasets.load("breast-cancer")
    >>> trained = train(table[:400], "diagnosis")
    >>> found = evaluate(trained.fitted, table[400:], "diagnosis")
    >>> found.n_rows, found.value > 0.8
    (169, True)
    >>> min(found.views, key=lambda view: view.missing.value).view  # the one that is missed most
    'worst'
    """
    # 1. the model, the task and the rows
    spec = resolve(model, scoring, views)
    by = [by] if isinstance(by, str) else list(by)
    label = label_of_model(model) if y is None else None
    X, y, _ = open_views(
        X,
        y,
        on,
        views={},
        per_row=dict(zip(by, by, strict=True)) | {"time": time},
        label=label,
        model=model,
    )
    rows, spec.label = open_rows_to_evaluate(
        spec.fitted, X, y, by=by, time=time, missing_columns=missing_columns
    )
    # 2. what divides the rows: one pass over these columns
    table: Any = rows.source
    spec.slices = [find_slices(table, column) for column in by]
    spec.windows = _windows(rows, time, window)
    # 3. one pass over all
    counter = RowCounter(spec)
    counter.count_all(rows, y)
    if counter.counts is None:
        raise nothing_to_evaluate(counter.skipped, rows.file)
    # 4. the answer
    return make_evaluation(spec, counter.counts, rows)


def _windows(rows: Any, time: str | None, window: Any) -> ByRows | ByTime | None:
    """Return the windows that divide the rows by time, if they are to be divided."""
    of_rows = window_of_rows(window, time)
    if of_rows is not None:
        of_rows.check_number(rows.n_rows)
        return of_rows
    return None if time is None else find_windows(rows.source, time, window)
