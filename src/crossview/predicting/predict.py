"""Predictions of a fitted model for rows of any source."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from crossview.data.joining.views_as_table import open_views
from crossview.data.row_columns import with_row_location
from crossview.errors import InputError, argument, check_kind
from crossview.estimators.base.stand_ins import stands_in
from crossview.labels import Threshold, written_label
from crossview.readers.prefetch import prefetch
from crossview.readers.source import Source, input_files
from crossview.scoring.drift import drift_warnings, scores_of_views
from crossview.scoring.models.fitted_model import FittedModel
from crossview.scoring.models.weights import ColumnNames
from crossview.scoring.problems import gives_probabilities
from crossview.scoring.specification import check_threshold
from crossview.tables.arrow import floats, integers, kind_of_labels, labels_as, pyarrow
from crossview.tables.writer import check_table, writing
from crossview.views import MultiView

if TYPE_CHECKING:
    import pyarrow as pa

# columns of an explanation, per row
MOST_EXPLAINED = 100


@overload
def predict(
    model: Any,
    X: Any,
    output: None = None,
    *,
    keep: Sequence[str] = (),
    threshold: Threshold | str | None = "trained",
    positive: Any = None,
    missing_columns: str = "error",
    explain: int | None = None,
    top: int | None = None,
) -> pa.Table: ...
@overload
def predict(
    model: Any,
    X: Any,
    output: str | os.PathLike[str],
    *,
    keep: Sequence[str] = (),
    threshold: Threshold | str | None = "trained",
    positive: Any = None,
    missing_columns: str = "error",
    explain: int | None = None,
    top: int | None = None,
) -> int: ...
def predict(
    model: Any,
    X: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    on: str | Sequence[str] | None = None,
    keep: Sequence[str] = (),
    threshold: Threshold | str | None = "trained",
    positive: Any = None,
    missing_columns: str = "error",
    explain: int | None = None,
    top: int | None = None,
) -> pa.Table | int:
    """Return or write the prediction, score, probabilities and one score per view for each row.

    With two classes the second of the sorted classes is predicted by the threshold of the model, or
    by a score above 0 if it has none.  With more there is one score per class; the class is
    predicted whose probability is the highest multiple of its threshold, or without thresholds the
    one with the highest score, and the score of a view is that for the predicted class.  There is
    one column ``probability_<label>`` per class, unless the model has no probabilities.  A
    regressor has no joint score, and the score of a view is the prediction from that view alone.
    A view that is missing in a row has no score.

    Parameters
    ----------
    model : path-like, Trained, Pipeline or learner
        A model file, what `train` returned, or a fitted model such as ``train(...).fitted``.
    X : MultiView, data frame, path, glob, query, or mapping of str to these
        The rows.  A view without any of its columns is missing, with a warning.  A mapping as for
        `train`: all ids are rows, and the predictions have them.
    output : path-like, default=None
        The file to write: ``.csv``, ``.parquet`` or ``.jsonl``.  Only one batch is then in
        memory.  None: the predictions are returned.
    on : str or sequence of str, default=None
        Where ``X`` is a mapping of views to sources: the column, such as an id, by which their rows
        belong together.  None: frames have the same rows, in one order or by their pandas index.
    keep : sequence of str, default=()
        Columns of ``X`` to copy, such as an id.
    threshold : float, list of float, "trained" or None, default="trained"
        With two classes: the probability of the positive class above which it is predicted; with
        more one per class, sorted.  "trained": as the model was trained.  None: the scores decide.
    positive : label, default=None
        The class that ``threshold`` is about.  None: the one that the model was trained for; of a
        model that does not know it, the one that is called yes or the like, or else the second.
    missing_columns : {"error", "null"}, default="error"
        What a column of the model is that ``X`` has not, in a view of which it has others: an
        error, or null in every row, with a warning.
    explain : int, default=None
        Also name, per row, this many columns (such as 3) that contribute most to the score, with
        their contributions: ``explain_1_column``, ``explain_1_contribution``, ``explain_2_column``,
        and so on, by absolute contribution; null where a row has fewer.  `contributions` of the
        learners defines them: where the score is a sum over columns, the weight times the
        value.  Those of a number and its bins are added up, and those of all parts of a date.
        With two classes they are parts of ``score``, with more of the score of the predicted
        class, and of a regressor of the prediction.  A slot of several values has the name of the
        first, with ``(+ others)``.  None: no explanation.
    top : int, default=None
        Also name, per row, this many classes (such as 5) that are most probable, with their
        probabilities: ``top_1_class``, ``top_1_probability``, ``top_2_class``, and so on.  They
        stand in place of the columns per class: ``probability_<label>``, and with more than two
        classes ``score_<label>``.  With thresholds the first one need not be the predicted one.
        None: the columns per class.

    Returns
    -------
    pyarrow.Table or int
        The predictions in the order of the rows, or the number of rows written.

    Warns
    -----
    UserWarning
        A view or a column is missing, or not as in training: its distribution, or how often it is
        null or has new values (of a model that `train` returned or wrote); see
        `crossview.evaluate`.

    Examples
    --------
    >>> from crossview import datasets, predict, train
    >>> table = datasets.load("breast-cancer")
    >>> trained = train(table, "diagnosis", model="pa:squared")
    >>> answer = predict(trained.fitted, table, keep=["diagnosis"])
    >>> answer.column_names[:3], answer.num_rows
    (['diagnosis', 'prediction', 'score'], 569)
    >>> answer.column_names[3:5]
    ['probability_benign', 'probability_malignant']
    >>> explained = predict(trained.fitted, table, explain=1)
    >>> explained.column_names[-2:], explained["explain_1_column"][0].as_py()
    (['explain_1_column', 'explain_1_contribution'], 'worst__symmetry')
    """
    check_kind("a path or None", output=output)
    check_kind("a list of names", keep=keep)
    if not isinstance(threshold, str):
        check_threshold(threshold)
    check_kind("a whole number or None", explain=explain, top=top)
    X, _, _ = open_views(X, None, on, views={}, model=model)
    keep = with_id(X, keep)
    if output is not None:
        check_table(output, predict_inputs(model, X))
    own = {"threshold": threshold, "positive": positive, "missing_columns": missing_columns}
    predictions = Predictions(model, X, keep=keep, explain=explain, top=top, **own)
    for line in predictions.missing_lines():
        warnings.warn(line, UserWarning, stacklevel=2)
    for column in predictions.null_columns:
        warnings.warn(f"column {column!r} is missing: null", UserWarning, stacklevel=2)
    answer: Any = None
    if output is None:
        answer = pyarrow().Table.from_batches(list(predictions), predictions.schema)
    else:
        with writing(output, predictions.schema) as write:
            for batch in predictions:
                write(batch)
    for line in predictions.warnings:
        warnings.warn(line, UserWarning, stacklevel=2)
    return predictions.n_rows if answer is None else answer


def with_id(X: Any, keep: Sequence[str]) -> list[str]:
    """Return the columns to copy, with the id of a join."""
    join = X.join if isinstance(X, Source) else None
    return list(keep) if join is None else list(dict.fromkeys([*join.on, *keep]))


def predict_inputs(model: Any, X: Any) -> list[str]:
    """Return the files that predictions are made from: the model and the rows."""
    file = [os.fspath(model)] if isinstance(model, str | os.PathLike) else []
    return [*file, *input_files(X)]


class Predictions:
    """The predictions for some rows, batch by batch.

    Parameters
    ----------
    model, X, keep, threshold, positive, missing_columns, explain, top
        As for `predict`; the model may be a `FittedModel`.

    Attributes
    ----------
    schema : pyarrow.Schema
        Of the batches.
    missing_views : list of str
        Views of which ``X`` has no column.
    null_columns : list of str
        Columns of other views that ``X`` has not, where that is allowed.
    n_rows : int
        Rows predicted so far.
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        *,
        keep: Sequence[str] = (),
        threshold: Threshold | str | None = "trained",
        positive: Any = None,
        missing_columns: str = "error",
        explain: int | None = None,
        top: int | None = None,
    ) -> None:
        fitted = model if isinstance(model, FittedModel) else FittedModel(model)
        if threshold != "trained":
            fitted.decide_by(threshold, positive)
        self._learner, self._classes = fitted.learner, fitted.classes
        self._n_explained = _checked(MOST_EXPLAINED, explain=explain)
        if top is not None:
            self._check_has_top(top)
        self._n_top = _checked(len(self._classes or ()), top=top)
        self._keep = list(keep)
        self._source = fitted.open(X, keep, missing_columns=missing_columns)
        self.n_rows = self._n_empty = 0
        self.missing_views = list(self._source.missing_views)
        self.null_columns = list(self._source.null_columns)
        self._names = ColumnNames.of_model(self._learner, fitted.encoder)
        self._drift = fitted.drift_counter()
        self._source.counter = self._columns = fitted.column_counter()
        self.schema = self._make_schema()

    def missing_lines(self, where: str = "") -> list[str]:
        """Return a line per view that all rows lack, which says how they are scored."""
        constant = "scored by the others, and a constant in its place"
        return [
            f"view {view!r} is missing{where}; "
            + (constant if stands_in(self._learner, view) else "scored without it")
            for view in self.missing_views
        ]

    @property
    def warnings(self) -> list[str]:
        """Lines about the rows so far: rows without any value, and views that have moved."""
        drift = [] if self._drift is None else self._drift.drifts(self.missing_views)
        if self._columns is not None:
            drift += self._columns.drifts(self.missing_views, self.null_columns)
        empty = (
            f"{self._n_empty:,} of {self.n_rows:,} rows have no value in any view: what is "
            "predicted there rests on no column"
        )
        return [empty] * bool(self._n_empty) + drift_warnings(drift)

    def _check_has_top(self, top: int) -> None:
        """Refuse the most probable classes of a model that has no probabilities of classes."""
        if self._classes is None:
            raise InputError(
                f"{argument(top=top)} is about classes, and the model predicts numbers"
            )
        if not gives_probabilities(self._learner):
            raise InputError(
                f"{argument(top=top)} needs probabilities, and the model has none; leave "
                "calibration='none' out"
            )

    def _make_schema(self) -> pa.Schema:
        pa = pyarrow()
        learner = self._learner
        joint: list[str] = []
        if self._classes is not None:
            each = [] if self._n_top else list(map(written_label, self._classes))
            joint = ["score"] if len(self._classes) == 2 else [f"score_{label}" for label in each]
            if gives_probabilities(learner):
                joint += [f"probability_{label}" for label in each]
        own = [f"view_{view}" for view in learner.layout_.names]
        kind = pa.float64() if self._classes is None else kind_of_labels(self._classes)
        top = _ranked("top", self._n_top, {"class": kind, "probability": pa.float64()})
        reasons = {"column": pa.string(), "contribution": pa.float64()}
        explained = _ranked("explain", self._n_explained, reasons)
        names = [*self._keep, "prediction", *joint, *top, *own, *explained]
        for name in names:
            if names.count(name) > 1:
                raise InputError(
                    f"{argument('keep')} names {name!r}, which the predictions have already"
                )
        kinds = [*self._source.kinds_of_kept(), kind, *[pa.float64()] * len(joint), *top.values()]
        kinds += [*[pa.float64()] * len(own), *explained.values()]
        return pa.schema(list(zip(names, kinds, strict=True)))

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        pa = pyarrow()
        for kept, X, batch in prefetch(self._source):
            self.n_rows += len(X)
            with with_row_location(batch):
                predicted = self._predict(X)
                explained = self._explain(X) if self._n_explained else []
            yield pa.RecordBatch.from_arrays(
                [
                    *(column.cast(self.schema.field(i).type) for i, column in enumerate(kept)),
                    *predicted,
                    *explained,
                ],
                schema=self.schema,
            )

    def _predict(self, X: MultiView) -> list[pa.Array]:
        """Return the predictions of some rows, and the columns beside them."""
        scores = None if self._classes is None else self._learner.decision_function(X)
        each = scores_of_views(self._learner, X, scores)
        if self._drift is not None:
            self._drift.count(self._drift.locate(X, each))
        if X.present is not None:
            self._n_empty += int((~X.present.any(axis=1)).sum())
        of_views = list(map(floats, each.T))  # a missing view has no score
        if scores is None:
            return [floats(self._learner.predict(X)), *of_views]
        found = [labels_as(self._learner.decide(scores).tolist(), self._kind_of_classes)]
        if scores.ndim == 1 or not self._n_top:
            found += map(floats, scores.reshape(len(scores), -1).T)
        if gives_probabilities(self._learner):
            p = self._learner.probabilities(scores)
            found += self._top(p) if self._n_top else map(floats, p.T)
        return [*found, *of_views]

    @property
    def _kind_of_classes(self) -> pa.DataType:
        return self.schema.field("prediction").type

    def _top(self, p: np.ndarray) -> list[pa.Array]:
        """Return the most probable classes and their probabilities, rank by rank."""
        best = np.argsort(-p, axis=1, kind="stable")[:, : self._n_top]
        highest = np.take_along_axis(p, best, axis=1)
        names = labels_as(self._classes or [], self._kind_of_classes)
        return [
            array
            for r in range(self._n_top)
            for array in (names.take(integers(best[:, r])), floats(highest[:, r]))
        ]

    def _explain(self, X: MultiView) -> list[pa.Array]:
        """The names and the contributions of the columns that contribute most, rank by rank."""
        pa = pyarrow()
        found = self._names.add_parts(self._learner.contributions(X), X.layout)
        lengths = np.diff(found.indptr)
        row = np.repeat(np.arange(len(lengths)), lengths)
        order = np.lexsort((-np.abs(found.data), row))  # equal ones in the order of the columns
        rank = np.arange(len(order)) - np.repeat(found.indptr[:-1], lengths)
        best = order[rank < self._n_explained]
        distinct, at = np.unique(found.indices[best], return_inverse=True)
        ptr, texts = X.layout.ptr, np.empty(len(distinct), dtype=object)
        for v, view in enumerate(X.layout.names):
            lo, hi = np.searchsorted(distinct, ptr[v : v + 2])
            texts[lo:hi] = self._names.texts_of_wholes(view, (distinct[lo:hi] - ptr[v]).tolist())
        names = np.full((len(lengths), self._n_explained), len(distinct))
        values = np.full(names.shape, np.nan)
        names[row[best], rank[rank < self._n_explained]] = at
        values[row[best], rank[rank < self._n_explained]] = found.data[best]
        known = labels_as(texts.tolist(), pa.string())
        named = pa.concat_arrays([known, pa.nulls(1, pa.string())])
        return [
            array
            for r in range(self._n_explained)
            for array in (
                named.take(integers(names[:, r])),
                floats(values[:, r]),
            )
        ]


def _checked(most: int, **number: int | None) -> int:
    """Return a number of columns or classes, 0 for None; beyond the most it is an error."""
    ((name, value),) = number.items()
    if value is not None and not (isinstance(value, int) and 1 <= value <= most):
        raise InputError(f"{argument(**{name: value})}; give a number from 1 to {most}")
    return value or 0


def _ranked(what: str, n: int, kinds: dict[str, Any]) -> dict[str, Any]:
    """Return the names of columns by rank, such as ``top_1_class``, and their types."""
    return {
        f"{what}_{rank}_{name}": kind for rank in range(1, n + 1) for name, kind in kinds.items()
    }
