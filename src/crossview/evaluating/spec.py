"""Specification of an evaluation: the model, the metric, and what divides the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from crossview.catalog.metrics import metric_of, parse_metric
from crossview.catalog.names import SYMMETRIC
from crossview.data.row_columns import check_group_column
from crossview.encoding.encode import ViewEncoder
from crossview.errors import InputError, argument, closest_names
from crossview.evaluating.slices import ByValue
from crossview.evaluating.windows import ByRows, ByTime, parse_window
from crossview.labels import as_labels
from crossview.readers.source import Source, open_table
from crossview.scoring.models.fitted_model import ClassLabels, FittedModel, ModelRows, NumberLabels
from crossview.scoring.problems import (
    Classification,
    Problem,
    Scored,
    gives_probabilities,
    make_problem,
)
from crossview.scoring.specification import Scoring
from crossview.tables.dates import is_date
from crossview.views import MultiView, as_groups, check_rows

# in place of a column, where windows divide the rows
WINDOW = None


@dataclass
class EvaluationSpec:
    """An evaluation of a model; it can be pickled, and counting rows does not change it.

    task: what it predicts, and the metric that decides.
    views: whether to predict again with each view missing.
    slices: columns whose values divide the rows.
    windows: what divides them by time.
    threshold_for: the metric for which training has placed the threshold; None: another one counts.
    groups: the column of the rows that count together for intervals, or the group of each row.
    k: of precision_at_k and recall_at_k, whichever metric decides, unless it is that of
      top_accuracy; None: 0.1.
    """

    fitted: FittedModel
    task: Problem
    views: bool = True
    label: str | None = None
    slices: list[ByValue] = field(default_factory=list)
    windows: ByRows | ByTime | None = None
    threshold_for: str | None = None
    groups: str | np.ndarray | None = None
    k: int | float | None = None

    @property
    def with_probabilities(self) -> bool:
        """True where the model gives probabilities."""
        return self.fitted.classes is not None and gives_probabilities(self.fitted.learner)

    @property
    def view_names(self) -> tuple[str, ...]:
        """Names of the views."""
        return tuple(self.fitted.learner.layout_.names)

    def is_category(self, column: str) -> bool:
        """Whether the model takes the values of a column as categories, or as users."""
        encoder = self.fitted.encoder
        known = isinstance(encoder, ViewEncoder) and (
            column == encoder.per or encoder.kinds().get(column) == "categorical"
        )
        return known or (isinstance(self.groups, str) and column == self.groups)

    def score(self, X: Any) -> Scored:
        """Return what the model says of some rows."""
        learner = self.fitted.learner
        return self.task.scores(learner, X, probabilities=self.with_probabilities)

    def labels(self) -> ClassLabels | NumberLabels:
        """Return what reads the labels as the model knows them."""
        if self.fitted.classes is None:
            return NumberLabels(self.label)
        return ClassLabels(self.task.classes.tolist(), self.label)

    def divide(
        self, columns: Mapping[str, Any], known: np.ndarray, first: int
    ) -> Iterator[tuple[str | None, np.ndarray]]:
        """Yield the part of each labeled row: per column its slice, then its window.

        ``known`` are the positions of the labeled rows, ``first`` is the number of those before.
        """
        for one in self.slices:
            yield one.column, one.codes(columns[one.column])[known]
        if isinstance(self.windows, ByTime):
            yield WINDOW, self.windows.codes(columns[self.windows.column])[known]
        elif self.windows is not None:
            yield WINDOW, self.windows.codes(first, len(known))


def resolve(model: Any, scoring: Any = None, views: bool = True) -> EvaluationSpec:
    """Return the model and what is measured of it; what divides the rows is not set yet."""
    fitted, scoring = FittedModel(model), Scoring.of(scoring)
    if scoring.threshold != "auto":
        fitted.decide_by(scoring.threshold, scoring.positive)
    task = _task(fitted, scoring)
    k = None if metric_of(task.metric).kind == "place" else scoring.k
    spec = EvaluationSpec(fitted, task, views, k=k)
    if scoring.threshold == "auto" and fitted.info.get("positive") == spec.task.positive_label:
        spec.threshold_for = fitted.info.get("threshold_for")
    return spec


def _task(fitted: FittedModel, scoring: Scoring) -> Problem:
    """The kind of prediction, and the metric that decides."""
    name = "regression" if fitted.classes is None else "classification"
    k, scoring = scoring.k, replace(scoring, threshold=None)
    if name == "classification":  # beside another metric it is of those that are shown
        scoring = replace(scoring, k=None)
    scoring.check_task(name)
    trained = fitted.info.get("metric")
    # a class that is named takes the place of a guess
    named = scoring.positive is not None and fitted.info.get("positive_by") == "guess"
    if scoring.metric is None and scoring.cost is None and trained:
        metric = None if named and trained["name"] == SYMMETRIC else trained["name"]
        scoring = replace(scoring, metric=metric)
    if k is not None and scoring.metric is not None and metric_of(scoring.metric).takes_k:
        scoring = replace(scoring, metric=parse_metric(scoring.metric)[0], k=k)
    about = {} if fitted.classes is None else fitted.positive_class(scoring.positive)
    scoring = replace(scoring, positive=about.pop("positive", None))
    task = make_problem(name, np.asarray(fitted.classes), scoring, **about)
    if isinstance(task, Classification) and metric_of(task.metric).kind in (
        "probability",
        "calibration",
    ):
        task.for_model(fitted.learner)  # it has no probabilities: an error
    return task


def open_rows_to_evaluate(
    spec: EvaluationSpec,
    X: Any,
    y: Any,
    *,
    by: Sequence[str] = (),
    time: str | None = None,
    groups: Any = None,
    missing_columns: str = "error",
) -> ModelRows:
    """Return the rows as the model reads them; the specification learns label and groups.

    The label is the column; None where the source has labels, or they are an array.
    """
    check_rows(X, y=y, groups=groups)
    fitted = spec.fitted
    named = groups if isinstance(groups, str) else None
    spec.groups = named if groups is None or named else as_groups(groups)
    columns = [*by, *([time] if time else []), *([named] if named else [])]
    if not isinstance(fitted.encoder, ViewEncoder):
        if columns:
            raise InputError(f"no column {columns[0]!r}: the rows are views, and have no columns")
        rows = fitted.open(X, missing_columns=missing_columns)
        in_memory = rows.source.in_memory
        if in_memory and (y is None or isinstance(y, str)):
            raise InputError("X is a MultiView, so y is an array of labels and not a column name")
        if not in_memory and y is not None:
            raise InputError("the file has the labels; leave the label out", file=rows.file)
        own = getattr(X, "groups", None)
        if own is not None and groups is not None:
            raise InputError(f"X has groups; leave {argument('groups')} out")
        spec.groups = spec.groups if own is None else own
        return rows
    label = y if isinstance(y, str) else fitted.info.get("label") if y is None else None
    if y is None and not isinstance(label, str):
        knows = " (or give the file of train, or what it returned, which know it)"
        raise InputError(
            "which column is the label? The model does not say it; name it: "
            f"{argument(y='COLUMN')}{'' if fitted.info or fitted.file else knows}"
        )
    table = open_table(X, dialect=fitted.encoder.dialect)
    _check_columns(table, label, columns, of_model=y is None)
    if named is not None and named == label:
        raise InputError(
            f"is the label, so it is not the column of {argument('groups')}", column=label
        )
    trained = fitted.info.get("groups")
    if spec.groups is None and trained in table.column_names and trained != label:
        spec.groups = named = trained
        columns.append(trained)
    if named is not None:
        check_group_column(table, named)
    spec.label = label
    keep = dict.fromkeys(name for name in [label, *columns] if name is not None and name != time)
    typed = [time] if time else []
    for name in dict.fromkeys(by):
        if name in keep and name != label and is_date(table.schema.field(name).type):
            del keep[name]
            typed.append(name)
    return fitted.open(table, list(keep), typed=typed, missing_columns=missing_columns)


def _check_columns(table: Source, label: str | None, columns: list[str], *, of_model: bool) -> None:
    for name in [*([] if label is None else [label]), *columns]:
        if name not in table.column_names:
            where = " (the label of the model)" if name == label and of_model else ""
            hint = closest_names(name, table.column_names)
            raise InputError(f"no column {name!r}{where}{hint}", file=table.file)


def labeled_batches(
    rows: ModelRows, y: Any, label: str | None
) -> Iterator[tuple[Any, MultiView, dict[str, Any], Any]]:
    """Yield where rows are from, their views, the columns that are kept, and their labels."""
    given = None if isinstance(y, str) else as_labels(y)
    done = 0
    batches: Iterable[tuple[list[Any], MultiView, Any]] = rows
    for kept, X, located in batches:
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


def window_of_rows(window: Any, time: str | None) -> ByRows | None:
    """Return windows of a number of rows; None where the window is a time, or there is none."""
    if window is None:
        return None
    kind, width = parse_window(window)
    if kind == "rows":
        return ByRows(int(width), time)
    if time is None:
        raise InputError(
            f"{argument(window=str(window))} is a time, so it needs {argument('time')}, the "
            "column of the times"
        )
    return None
