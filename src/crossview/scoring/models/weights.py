"""The weights of a fitted model as a table, and the names of its columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from crossview.encoding.encode import Meaning
from crossview.errors import InputError, argument, check_kind
from crossview.estimators.base import ColumnWeights
from crossview.saving.model_files import load
from crossview.saving.pipelines import steps
from crossview.tables.arrow import pyarrow
from crossview.tables.writer import check_table, writing
from crossview.views import ViewLayout

if TYPE_CHECKING:
    import pyarrow as pa

# the column that stands for all that are empty in the rows that are learned
OTHERS = Meaning("other columns", None, None)


def weights(
    model: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    names: str | os.PathLike[str] | None = None,
) -> pa.Table | int:
    """Return or write the weights of a model: one row per view, column, value and class.

    Only columns whose weight is not 0 are there.  A slot that rows had by several values has one
    weight for all of them: it has the name of the first one, and ``collides``.  Names of slots are
    bounded (``remember_names`` of `ViewEncoder`); a slot without one has ``slot`` only.

    Parameters
    ----------
    model : path-like, Trained, Pipeline or learner
        A model file, what `train` returned, or a fitted model such as ``train(...).fitted``.
    output : path-like, default=None
        The file to write: ``.csv``, ``.parquet`` or ``.jsonl``.  None: the table is returned.
    names : path-like, default=None
        Rows of Vowpal Wabbit, such as those that were learned, in which the names of features are
        looked up: a model has their slots only.

    Returns
    -------
    pyarrow.Table or int
        The table, or the number of rows written.  Its columns:

        - ``expert``: of a stack, the expert that has the weight;
        - ``view``, ``column`` (of the table) and ``value``: a category, a word, ``near 35`` (a
          bin) or ``is missing``; null for a number;
        - ``class``: with more than two, the class whose score has the weight;
        - ``weight``: coefficient of the column in the score, of a regressor in standard deviations
          of the target; with interactions, of the column alone, null if there are products only;
        - ``variance`` of the weight, where the model has a covariance;
        - ``factor_norm``: Euclidean norm of the factors, where columns interact;
        - ``importance``: of trees, which have no weights, the share of the column in what their
          splits gained;
        - ``slot`` of what is hashed, and whether it ``collides``.

    Raises
    ------
    InputError
        The model has no weights of columns, because its kernel is not linear, or the file cannot
        be written.

    Examples
    --------
    >>> from crossview import datasets, train, weights
    >>> table = datasets.load("breast-cancer")
    >>> trained = train(table, "diagnosis", model="arow")
    >>> answer = weights(trained.fitted)
    >>> answer.num_rows
    30
    >>> answer.select(["view", "column", "value", "slot"]).slice(0, 1).to_pylist()
    [{'view': 'mean', 'column': 'mean__radius', 'value': None, 'slot': None}]
    """
    check_kind("a path or None", output=output)
    if output is not None:
        file = [os.fspath(model)] if isinstance(model, str | os.PathLike) else []
        check_table(output, file)
    table = WeightTable(model, names)
    if output is None:
        return pyarrow().Table.from_batches(list(table), table.schema)
    with writing(output, table.schema) as write:
        for batch in table:
            write(batch)
    return table.n_rows


class ColumnNames:
    """The names of columns, view by view.

    The encoder names them, but for a scaler, which knows none; then those ``given`` of some views
    count, and others are numbered.  Where columns were dropped, ``kept`` has the positions of those
    that are left in each view, -1 for one that stands for all others.  ``columns`` are those of a
    table that the encoder reads for each view; empty where rows are views.

    >>> from crossview.scoring.models.weights import ColumnNames
    >>> ColumnNames(given={"page": ["course", "exam"]}).texts("page", [1])
    ['page: exam']
    """

    def __init__(
        self,
        encoder: Any = None,
        given: Mapping[str, Sequence[str]] | None = None,
        kept: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self._encoder = encoder if hasattr(encoder, "explain_columns") else None
        self._has_parts = hasattr(encoder, "whole_columns")
        self._parts: dict[str, tuple[np.ndarray, list[str]]] = {}  # by view, once they are needed
        self._given, self._kept = given or {}, kept
        self.columns: Mapping[str, Sequence[str]] = {}
        if hasattr(encoder, "view_columns"):
            views = encoder.view_columns() if hasattr(encoder, "layout_") else encoder.views
            self.columns = views if isinstance(views, Mapping) else {}

    @classmethod
    def of_model(cls, learner: Any, encoder: Any = None) -> ColumnNames:
        """Return the names of a fitted model's columns: by its encoder, or of the data frame."""
        names = getattr(learner, "feature_names_in_", None)
        if names is None:
            return cls(encoder)
        return cls(encoder, {view: names[some] for view, some in learner.view_columns().items()})

    def meanings(self, view: str, columns: Sequence[int]) -> list[Meaning]:
        """Return what columns of a view mean, by their positions in it."""
        if self._kept is not None:
            columns = self._kept[view][list(columns)].tolist()
        known = iter(self._of_source(view, [i for i in columns if i >= 0]))
        return [next(known) if i >= 0 else OTHERS for i in columns]

    def _of_source(self, view: str, columns: Sequence[int]) -> list[Meaning]:
        """Return the meanings of columns, by their positions in the view as it was encoded."""
        if self._encoder is not None:
            return list(self._encoder.explain_columns(view, columns))
        given = self._given.get(view)
        named = [f"column {i}" if given is None else str(given[i]) for i in columns]
        return [Meaning(name, name, None) for name in named]

    def texts(self, view: str, columns: Sequence[int]) -> list[str]:
        """Return the names of columns for readers."""
        texts = []
        for meaning in self.meanings(view, columns):
            text = meaning.name if self._encoder is not None else with_view(view, meaning.name)
            texts.append(f"{text} (+ others)" if meaning.collides else text)
        return texts

    def add_parts(self, contributions: sp.csr_array, layout: ViewLayout) -> sp.csr_array:
        """Return contributions, of numbers and dates those of all parts in the first column.

        `texts_of_wholes` has their names.
        """
        if not self._has_parts:
            return contributions
        columns = contributions.indices.copy()
        wholes = [self._parts_of(view)[0] for view in layout.names]
        sizes, firsts = np.array(list(map(len, wholes))), layout.ptr[:-1]
        of_all = np.concatenate([first + own for first, own in zip(firsts, wholes, strict=True)])
        view = np.searchsorted(layout.ptr, columns, side="right") - 1
        place = columns - firsts[view]
        own = place < sizes[view]
        columns[own] = of_all[(np.cumsum(sizes) - sizes)[view[own]] + place[own]]
        added = sp.csr_array(
            (contributions.data, columns, contributions.indptr), contributions.shape, copy=True
        )
        added.sum_duplicates()
        return added

    def _parts_of(self, view: str) -> tuple[np.ndarray, list[str]]:
        if view not in self._parts:
            assert self._encoder is not None
            self._parts[view] = self._encoder.whole_columns(view)
        return self._parts[view]

    def texts_of_wholes(self, view: str, columns: Sequence[int]) -> list[str]:
        """Return names as `texts`, of numbers and dates as a whole."""
        texts = self.texts(view, columns)
        if not self._has_parts:
            return texts
        names = self._parts_of(view)[1]
        return [
            names[i] if i < len(names) else text for i, text in zip(columns, texts, strict=True)
        ]


def with_view(view: str, name: str) -> str:
    """Return the name of a column with its view in front, unless it says it already."""
    return name if name.startswith(view) else f"{view}: {name}"


def find_names(encoder: Any, file: str | os.PathLike[str]) -> None:
    """Let an encoder find the names of its slots in rows of Vowpal Wabbit."""
    if not hasattr(encoder, "find_names"):
        raise InputError(
            f"{argument('names')} is for models of Vowpal Wabbit files; this one knows its columns"
        )
    encoder.find_names(file)


class WeightTable:
    """The table of `weights`, batch by batch; ``n_rows`` counts the rows so far."""

    def __init__(self, model: Any, names: str | os.PathLike[str] | None = None) -> None:
        fitted = load(model) if isinstance(model, str | os.PathLike) else model
        encoder, learner = steps(getattr(fitted, "fitted", fitted))
        if names is not None:
            find_names(encoder, names)
        if not hasattr(learner, "column_weights"):
            raise InputError(f"{type(learner).__name__} has no weights; give a fitted model")
        self._learners = [(None, learner)]
        nested = getattr(learner, "experts_", None) or getattr(learner, "members_", None)
        if nested is not None:
            self._learners = [(name, one) for name, one, _ in nested]
        for name, one in self._learners:
            try:
                one.check_weights()
            except InputError as error:
                raise InputError(error.message if name is None else f"{name}: {error}") from None
        self._names = ColumnNames.of_model(learner, encoder)
        classes = learner.classes_.tolist() if hasattr(learner, "classes_") else []
        self._classes = classes if len(classes) > 2 else []
        self.n_rows = 0
        pa = pyarrow()
        kinds = {
            "expert": pa.string(),
            "view": pa.string(),
            "column": pa.string(),
            "value": pa.string(),
            "class": pa.array(self._classes or [""]).type,
            "weight": pa.float64(),
            "variance": pa.float64(),
            "factor_norm": pa.float64(),
            "importance": pa.float64(),
            "slot": pa.int64(),
            "collides": pa.bool_(),
        }
        self.schema = pa.schema(list(kinds.items()))

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for expert, learner in self._learners:
            found = learner.column_weights()
            for view, columns in learner.view_columns().items():
                of_view = ColumnWeights(
                    *(None if one is None else np.atleast_2d(one)[:, columns] for one in found)
                )
                yield self._batch(expert, view, of_view)

    def _batch(self, expert: str | None, view: str, found: ColumnWeights) -> pa.RecordBatch:
        pa = pyarrow()
        weight, variance, norm, importance = found
        first, *others = [array for array in (weight, norm, importance) if array is not None]
        is_there = first != 0.0
        for array in others:
            is_there |= array != 0.0
        column, k = np.nonzero(is_there.T)
        distinct, at = np.unique(column, return_inverse=True)
        meanings = self._names.meanings(view, distinct.tolist())
        named = [meanings[i] for i in at.tolist()]
        n = len(column)
        self.n_rows += n

        def numbers(array: np.ndarray | None, row: Any) -> Any:
            return pa.nulls(n, pa.float64()) if array is None else pa.array(array[row, column])

        of_classes = bool(self._classes) and len(first) > 1
        label = [self._classes[i] for i in k.tolist()] if of_classes else [None] * n
        arrays = [
            pa.array([expert] * n, pa.string()),
            pa.array([view] * n, pa.string()),
            pa.array([one.column for one in named], pa.string()),
            pa.array([one.value for one in named], pa.string()),
            pa.array(label, self.schema.field("class").type),
            numbers(weight, k),
            numbers(variance, 0),
            numbers(norm, k),
            numbers(importance, k),
            pa.array([one.slot for one in named], pa.int64()),
            pa.array([one.collides for one in named], pa.bool_()),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
