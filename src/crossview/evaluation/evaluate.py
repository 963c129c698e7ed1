"""How good a model is on labeled rows that it has not learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from crossview.catalog.metrics import check_metric, metric_of
from crossview.catalog.names import TASKS
from crossview.errors import InputError, closest_names
from crossview.evaluation.drift import DriftCounter, scores_of_views
from crossview.evaluation.evaluating.counts import AllMetrics, OneMetric, shown_metrics
from crossview.evaluation.evaluating.keeping import Keeper
from crossview.evaluation.evaluating.labels import ClassLabels, NumberLabels
from crossview.evaluation.evaluating.result import (
    Evaluation,
    Slice,
    SlicedColumn,
    ViewEvaluation,
    Window,
)
from crossview.evaluation.evaluating.slices import ByValue, find_slices
from crossview.evaluation.evaluating.windows import (
    MOST_WINDOWS,
    ByRows,
    ByTime,
    find_windows,
    parse_window,
)
from crossview.evaluation.fitted_model import FittedModel, ModelColumns, ModelRows
from crossview.evaluation.metrics import running_sum
from crossview.evaluation.metrics.probability import log_losses
from crossview.evaluation.read_labels import with_row_location
from crossview.evaluation.sources import hide_views
from crossview.evaluation.tasks import (
    Classification,
    Regression,
    Scored,
    Task,
    check_classes_only,
    gives_probabilities,
)
from crossview.streams.encode import ViewEncoder
from crossview.streams.table import open_table
from crossview.views import MultiView

__all__ = ["evaluate"]


def evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    by: str | Sequence[str] = (),
    time: str | None = None,
    window: str | int | timedelta | None = None,
    metric: str | None = None,
    k: int | float | None = None,
    cost: Mapping[str, float] | None = None,
    positive: Any = None,
    threshold: float | str | None = "trained",
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
    X : MultiView, data frame, path, glob or query
        The rows; best are rows that the model has not learned.
    y : array-like of shape (n_samples,) or str, default=None
        The labels (regression: numbers), or the name of their column.  None: the column that a
        model file was trained for, or the file format has labels.
    by : str or sequence of str, default=()
        Columns of ``X``: the metric for each of their 20 most frequent values, or for ten ranges
        of numbers.  One more pass over these columns finds them.
    time : str, default=None
        A column of times or numbers: loss, metric and drift over time.  Numbers between 1e8 and
        1e11 are Unix time in seconds (beyond, in milliseconds).
    window : str, int or timedelta, default=None
        The width of a window of time, such as ``"1d"`` or ``"6h"``.  A bare number is a number of
        rows in the order of the source, with or without ``time``.  None: about ten windows.
    metric : str, default=None
        Name of the metric that decides, as for `compare`: that of views, slices and windows.  None:
        cost if costs are given, the one that a model file was trained for, f1, or rmse for a
        number.
    k : int or float, default=None
        Of precision_at_k and recall_at_k: how many rows, or a share of them between 0 and 1.
        None: 0.1.
    cost : mapping of str to float, default=None
        Of the metric cost: ``{"fp": 1, "fn": 20}``.
    positive : label, default=None
        With two classes: the one that metric and threshold are about.  None: the one that a model
        file was trained for, or the second of the sorted classes.
    threshold : float, "trained" or None, default="trained"
        With two classes: the probability of the positive class above which it is predicted.
        "trained": as the model was trained.  None: a score above 0 predicts the second class.
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
    fitted = FittedModel(model)
    if threshold != "trained":
        fitted.decide_by(threshold, positive)
    task = _task(fitted, metric, k, cost, positive)
    by = [by] if isinstance(by, str) else list(by)
    rows, label = _open(fitted, X, y, [*by, *([time] if time else [])], time, missing_columns)
    # 2. what divides the rows: one pass over these columns
    slices = [find_slices(rows.table, column) for column in by] if by else []
    windows = _find_windows(rows, time, window)
    # 3. one pass over all
    counts = _Counts(fitted, task, label, views=views)
    for located, X_batch, columns, labels in _labeled(rows, y, label):
        with with_row_location(located):
            known = counts.count(X_batch, labels)
        if len(known):
            for one in slices:
                counts.count_parts(one.column, one.codes(columns[one.column])[known])
            if windows is not None:
                counts.count_windows(windows, columns, known)
    if counts.all is None:
        what = "row has a label" if counts.skipped else "row is there"
        raise InputError(f"no {what}, so there is nothing to evaluate", file=rows.file)
    # 4. the answer
    answer = counts.answer(rows)
    answer.by = [counts.sliced(one) for one in slices]
    if windows is not None:
        answer.windows = counts.windows_of(windows, answer.missing_views)
    return answer


def _task(fitted: FittedModel, metric: str | None, k: Any, cost: Any, positive: Any) -> Task:
    """What is predicted, and the metric that decides."""
    name = "regression" if fitted.classes is None else "classification"
    trained = fitted.info.get("metric")
    default = trained["name"] if trained else TASKS[name][0]
    metric = check_metric(metric, task=name, k=k, cost=cost, default=default)
    check_classes_only(name, positive=positive, cost=cost)
    if fitted.classes is None:
        return Regression(metric)
    positive = fitted.info.get("positive") if positive is None else positive
    task = Classification(np.asarray(fitted.classes), positive, metric=metric, threshold=None)
    if metric_of(metric).kind in ("probability", "calibration"):
        task.for_model(fitted.learner)  # it has no probabilities: an error
    return task


def _open(
    fitted: FittedModel, X: Any, y: Any, columns: list[str], time: str | None, missing_columns: str
) -> tuple[Any, str | None]:
    """The rows, and the column of the labels."""
    typed = [time] if time else []
    if not isinstance(fitted.encoder, ViewEncoder):
        if columns:
            raise InputError(f"no column {columns[0]!r}: the rows are views, and have no columns")
        rows = fitted.open(X, missing_columns=missing_columns)
        if isinstance(rows, ModelRows) and rows.in_memory and (y is None or isinstance(y, str)):
            raise InputError("X is a MultiView, so y is an array of labels and not a column name")
        if isinstance(rows, ModelRows) and not rows.in_memory and y is not None:
            raise InputError("the file has the labels; leave the label out", file=rows.file)
        return rows, None
    label = y if isinstance(y, str) else fitted.info.get("label") if y is None else None
    if y is None and not isinstance(label, str):
        raise InputError(
            "which column is the label? The model does not say it; name it: --label COLUMN, or "
            "y='COLUMN'"
        )
    table = open_table(X)
    file = table.files[0] if table.files else None
    for name in [*([] if label is None else [label]), *columns]:
        if name not in table.column_names:
            of_model = " (the label of the model)" if name == label and y is None else ""
            hint = closest_names(name, table.column_names)
            raise InputError(f"no column {name!r}{of_model}{hint}", file=file)
    keep = [name for name in [label, *columns] if name is not None and name != time]
    return fitted.open(table, keep, typed=typed, missing_columns=missing_columns), label


def _find_windows(rows: Any, time: str | None, window: Any) -> ByRows | ByTime | None:
    """What divides the rows by time, if they are to be divided."""
    if window is not None:
        kind, width = parse_window(window)
        if kind == "rows":
            if rows.n_rows / width > MOST_WINDOWS:
                raise InputError(
                    f"window={int(width)} makes {rows.n_rows / width:,.0f} windows, and "
                    f"{MOST_WINDOWS} is the most; take a wider one"
                )
            return ByRows(int(width), time)
        if time is None:
            raise InputError(
                f"window={str(window)!r} is a time, so it needs time=, the column of the times"
            )
    return None if time is None else find_windows(rows.table, time, window)


def _labeled(
    rows: Any, y: Any, label: str | None
) -> Iterator[tuple[Any, MultiView, dict[str, Any], Any]]:
    """Yield where rows are from, their views, the columns that are kept, and their labels."""
    given = None if y is None or isinstance(y, str) else np.asarray(y)
    done = 0
    for kept, X, located in rows:
        columns = dict(zip(rows.keep, kept, strict=True))
        if given is not None:
            labels = given[done : done + len(X)]
        else:
            labels = located.y if label is None else columns[label]
        done += len(X)
        if len(labels) != len(X):
            break
        yield located, X, columns, labels
    if given is not None and done != len(given):
        raise InputError(f"{len(given)} labels for {done} rows{' or more' * (done > len(given))}")


def _subsets(names: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """What is missing where a view is missing, and where it is alone."""
    if len(names) < 2:
        return {}
    hidden = {(view, "missing"): [view] for view in names}
    if len(names) > 2:
        for view in names:
            hidden[view, "alone"] = [name for name in names if name != view]
    return hidden


def _losses(task: Task, y: np.ndarray, scored: Scored) -> np.ndarray:
    """The log loss of each row; without probabilities its hinge loss, or its squared error."""
    if scored.probabilities is not None:
        return log_losses(task.encode(y), scored.probabilities)
    return task.losses(y, scored)


def _trained_value(info: Mapping[str, Any], task: Task) -> float | None:
    """The same metric in training, where the model file says it."""
    before = info.get("metric")
    same = isinstance(before, dict) and before.get("name") == task.metric
    if not (same and info.get("positive") == task.positive_label):
        return None
    value = before.get("value") if before else None
    return value if isinstance(value, float) else None


class _Part:
    """The counts of some of the rows."""

    def __init__(self, metric: OneMetric, drift: DriftCounter | None) -> None:
        self.metric, self.drift, self.loss = metric, drift, 0.0


class _Counts:
    """All counts of an evaluation.

    Attributes
    ----------
    all : AllMetrics or None
        Of all rows; None before the first one.
    skipped : int
        Rows without a label.
    """

    def __init__(self, fitted: FittedModel, task: Task, label: str | None, *, views: bool) -> None:
        self.fitted, self.task, self.label = fitted, task, label
        self.learner = fitted.learner
        self.names = self.learner.layout_.names
        self.all: AllMetrics | None = None
        self.skipped = self.without_time = 0
        self._labels: Any = (
            NumberLabels(label) if fitted.classes is None else ClassLabels(fitted.classes, label)
        )
        self._probabilities = fitted.classes is not None and gives_probabilities(self.learner)
        self._drift = fitted.drift_counter()
        self._hidden = _subsets(self.names) if views else {}
        self._views: dict[tuple[str, str], OneMetric] = {}
        self._parts: dict[tuple[str | None, int], _Part] = {}
        # of the last batch
        self._y, self._scored, self._places = np.empty(0), Scored(np.empty(0)), np.empty(0)
        self._keeper = Keeper(fitted, task)
        self._n_seen = 0

    def _score(self, X: MultiView) -> Scored:
        return self.task.scores(self.learner, X, probabilities=self._probabilities)

    def count(self, X: MultiView, labels: Any) -> np.ndarray:
        """Count a batch; return its rows that have a label."""
        known, self._y = self._labels.read(labels)
        self.skipped += len(X) - len(known)
        places = self._n_seen + known
        self._n_seen += len(X)
        if not len(known):
            return known
        X = X if len(known) == len(X) else X[known]
        self._scored = self._score(X)
        if self.all is None:
            names = shown_metrics(self.task, probabilities=self._probabilities)
            self.all = AllMetrics(self.task, self._scored, names)
            self._views = {key: self._one_metric() for key in self._hidden}
        self.all.count(self._y, self._scored)
        for key, hidden in self._hidden.items():
            self._views[key].count(self._y, self._score(hide_views(X, hidden)))
        each = None
        if self._drift is not None or len(self.names) > 1:
            scores = None if self.fitted.classes is None else self._scored.scores
            each = scores_of_views(self.learner, X, scores)
        if self._drift is not None and each is not None:
            self._places = self._drift.locate(X, each)
            self._drift.count(self._places)
        self._keeper.add(X, places, self._y, self._scored, each if len(self.names) > 1 else None)
        return known

    def _one_metric(self) -> OneMetric:
        assert self.all is not None
        return OneMetric(self.task, self.all.typical)

    def count_parts(self, column: str | None, codes: np.ndarray) -> None:
        """Count the rows of the last batch by their part, and leave those out that have none."""
        for code in np.unique(codes[codes >= 0]).tolist():
            key = column, code
            if key not in self._parts:
                drift = None if column or self._drift is None else self._drift.empty()
                self._parts[key] = _Part(self._one_metric(), drift)
            part, rows = self._parts[key], np.flatnonzero(codes == code)
            y, scored = self._y[rows], self._scored.take(rows)
            part.metric.count(y, scored)
            if column is None:
                part.loss = float(running_sum(part.loss, _losses(self.task, y, scored)))
                if part.drift is not None:
                    part.drift.count(self._places[rows])

    def count_windows(
        self, windows: ByRows | ByTime, columns: dict[str, Any], known: np.ndarray
    ) -> None:
        """Count the rows of the last batch by their window."""
        if isinstance(windows, ByRows):
            times = None if windows.time is None else columns[windows.time].take(known)
            codes = windows.codes(len(known), times)
        else:
            codes = windows.codes(columns[windows.column])[known]
        self.without_time += int((codes < 0).sum())
        self.count_parts(None, codes)

    def sliced(self, slices: ByValue) -> SlicedColumn:
        """Return the metric by the values of a column."""
        assert self.all is not None
        whole = self.all.deciding.estimate().value
        found = []
        for code, name in enumerate(slices.names):
            if part := self._parts.get((slices.column, code)):
                estimate = part.metric.estimate()
                difference = estimate.value - whole
                found.append(Slice(name, part.metric.n_rows, estimate, difference))
        return SlicedColumn(slices.column, found)

    def windows_of(self, windows: ByRows | ByTime, missing_views: list[str]) -> list[Window]:
        """Return the windows, in their order."""
        parts = sorted((code, part) for (column, code), part in self._parts.items() if not column)
        return [
            Window(
                start=windows.start(code),
                rows=part.metric.n_rows,
                loss=part.loss / part.metric.n_rows,
                metric=part.metric.estimate(),
                drift=[] if part.drift is None else part.drift.drifts(missing_views),
            )
            for code, part in parts
        ]

    def answer(self, rows: ModelColumns | ModelRows) -> Evaluation:
        """Return what is about all rows."""
        assert self.all is not None
        info, task = self.fitted.info, self.task
        threshold = getattr(self.learner, "threshold_", None)
        missing = list(rows.missing_views)
        return Evaluation(
            model=info.get("model"),
            task=task.name,
            label=self.label,
            classes=self.fitted.classes or [],
            positive=task.positive_label,
            threshold=None if threshold is None else task.of_other_side(threshold),
            metric=task.metric,
            n_rows=self.all.tally.n_rows,
            skipped=self.skipped,
            metrics=self.all.estimates(),
            trained=_trained_value(info, task),
            calibration=self.all.calibration() if self._probabilities else [],
            confusion=self.all.confusion(),
            views=[self._view(view) for view in self.names if self._views and view not in missing],
            missing_views=missing,
            null_columns=list(rows.null_columns),
            without_time=self.without_time,
            loss="squared error"
            if self.fitted.classes is None
            else "log loss"
            if self._probabilities
            else "hinge loss",
            drift=[] if self._drift is None else self._drift.drifts(missing),
            diagnostics=self._keeper.diagnostics(info.get("model") or "", self.all.confusion()),
        )

    def _view(self, view: str) -> ViewEvaluation:
        assert self.all is not None
        missing, alone = self._views[view, "missing"], self._views.get((view, "alone"))
        return ViewEvaluation(
            view,
            missing=missing.estimate(),
            difference=missing.minus(self.all.deciding),
            alone=None if alone is None else alone.estimate(),
        )
