"""A fitted model, from a file or in memory.

It reads the rows of any source, and their labels where it is evaluated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any, Self

import numpy as np

from crossview.data.row_columns import (
    explain_target,
    first_bad_number,
    number_or_nan,
    with_row_location,
)
from crossview.data.row_sketch import Found, RowSketch
from crossview.encoding.encode import ViewEncoder
from crossview.encoding.table_columns import check_missing_columns, columns_of_model
from crossview.encoding.view_reader import ViewReader
from crossview.errors import InputError, argument, in_file, some_names
from crossview.labels import SpelledLabels, has_label
from crossview.readers.prefetch import prefetch
from crossview.readers.source import Batch, Source, open_source, open_table
from crossview.saving.model_files import load_steps
from crossview.saving.pipelines import steps_of
from crossview.saving.training_info import read_training_info
from crossview.scoring.column_drift import ColumnCounter
from crossview.scoring.drift import DriftCounter, read_reference
from crossview.scoring.models.trained import Trained
from crossview.scoring.problems import Classification
from crossview.tables.arrow import codes_of, pyarrow, type_of_values
from crossview.views import MultiView

# what `keep` calls the tags of Vowpal Wabbit
TAG = "tag"
# values in a query that leaves labels out
MOST_LISTED = 10


class FittedModel:
    """A fitted model, and what its file says of its training.

    It is a model file, what `train` returned, or a fitted model such as ``train(...).fitted``.
    ``info``, what training says of the model, is empty for one that does not come from it;
    ``encoder`` makes views of the rows, if it is not None, and ``scalers`` follow it; ``classes``
    are sorted, and None where a number is predicted.
    """

    def __init__(self, model: Any) -> None:
        self.file = os.fspath(model) if isinstance(model, str | os.PathLike) else None
        trained = isinstance(model, Trained)
        if self.file is not None:
            parts = load_steps(self.file)[0]
        else:
            parts = steps_of(model.fitted if trained else model)
        *encoders, self.learner = (step for _, step in parts)
        encoders = [step for step in encoders if step not in (None, "passthrough")]
        self.encoder = encoders[0] if encoders else None
        self.scalers = encoders[1:]
        if not hasattr(self.learner, "view_scores"):
            raise InputError("holds no model that predicts", file=self.file)
        self.info = model.info if trained else {}
        if self.file is not None:
            self.info = read_training_info(self.file, self.learner)
        known = hasattr(self.learner, "classes_")
        self.classes = self.learner.classes_.tolist() if known else None

    def positive_class(self, given: Any) -> dict[str, Any]:
        """Return the positive class for `Classification`: the given one, or that of the model."""
        if given is not None:
            return {"positive": given}
        return {name: self.info.get(name) for name in ("positive", "positive_by")}

    def decide_by(self, threshold: Any, positive: Any) -> None:
        """Predict by another threshold than that of the model, which stays as it is.

        It is the probability of the positive class above which that is predicted; None: a score
        above 0 predicts the second class.  Without a positive class it is the one that the model
        was trained for, or else that of `choose_positive`.
        """
        if self.classes is None:
            raise InputError("a threshold is about classes, and the model predicts numbers")
        if isinstance(threshold, str):
            raise InputError(
                f"{argument(threshold=threshold)}; give a probability between 0 and 1, or none (a "
                "score of 0 decides)"
            )
        task = Classification(
            np.asarray(self.classes), **self.positive_class(positive), threshold=threshold
        )
        self.learner = copy(self.learner).set_threshold(task.fixed_threshold)

    def open(
        self,
        X: Any,
        keep: Sequence[str] = (),
        *,
        typed: Sequence[str] = (),
        missing_columns: str = "error",
    ) -> ModelRows:
        """Return the rows of a source as views, with columns to keep besides, batch by batch.

        Those of ``keep`` are as they are written in text files, such as yes and no; those of
        ``typed``, such as times, have their types.  ``missing_columns`` is as for
        `crossview.predict`.
        """
        check_missing_columns(missing_columns)
        encoder = self.encoder
        if isinstance(encoder, ViewEncoder):
            own = chain.from_iterable(encoder.view_columns().values())
            table = open_table(X, dialect=encoder.dialect).with_vectors(own)
            columns = [*keep, *typed]
            rows = ModelRows.of_columns(table, encoder, columns, typed, missing_columns)
            rows.scalers = self.scalers
            return rows
        tags = list(keep) == [TAG]
        if typed or (keep and not tags):
            raise InputError(
                f"{argument('keep')} copies columns, and these rows have none ({TAG}: the tags of "
                "Vowpal Wabbit)"
            )
        source = open_source(X)
        if source.has_columns:
            reads = "a model without an encoder"
            if isinstance(encoder, ViewReader):
                reads = f"a model of {encoder.format} files"
            raise InputError(
                f"holds {reads}, so it cannot read tables; give it rows with views, or train it on "
                "the table with crossview train",
                file=self.file,
            )
        if isinstance(encoder, ViewReader) and not source.in_memory:
            beyond = "warn" if encoder.is_open else "ignore"
            source = source.read_as(encoder.reading, tags=tags, beyond=beyond)
        if tags and source.format != "vw":
            raise InputError(f"{argument(keep=TAG)}: only rows of Vowpal Wabbit files have tags")
        rows = ModelRows(source, encoder, keep)
        rows.missing_views = source.missing_views()
        rows.scalers = self.scalers
        return rows

    def drift_counter(self) -> DriftCounter | None:
        """Return what compares rows with those of training; None if that is not known."""
        views = self.learner.layout_.names
        with in_file(self.file):
            reference = read_reference(self.info, views)
        return None if reference is None else DriftCounter(views, reference)

    def column_counter(self) -> ColumnCounter | None:
        """Return what compares columns with those of training; None if that is not known."""
        with in_file(self.file):
            return ColumnCounter.of_info(self.info, self.encoder)

    def row_sketch(self) -> RowSketch | None:
        """Return the sketch of the rows that were learned; None if they are not known."""
        try:
            return RowSketch.of_info(self.info)
        except InputError as error:
            what = f"is a damaged model file: {error.message}"
            raise InputError(what, file=self.file) from None

    def learned_share(self, found: Found) -> float | None:
        """Return about which share of rows the model has learned; None if that is not known.

        found: those of them that the sketch has.  It lacks those of a server that logs slots.
        """
        sketch, served = self.row_sketch(), self.info.get("served")
        share = None if sketch is None else sketch.learned_share(found)
        learned = isinstance(served, dict) and served.get("labels") and not self.info.get("frozen")
        return None if share == 0.0 and learned else share


class ModelRows:
    """Rows of a source as the views of a model; iterate over them for batches.

    source: what the rows are read from: the columns of the model and those to keep, or views.
    missing_views: views of which a table has no column, or a file no namespace.
    null_columns: columns of other views that it has not, where that is allowed.
    keep: names of the columns to keep.
    scalers: steps between the encoder and the learner.
    counter: what counts the columns of all rows, where they are encoded.
    """

    counter: ColumnCounter | None = None

    def __init__(self, source: Source, encoder: Any, keep: Sequence[str] = ()) -> None:
        self.source, self.keep = source, list(keep)
        self.missing_views: list[str] = []
        self.null_columns: list[str] = []
        self.scalers: Sequence[Any] = ()
        self._encoder = encoder
        self._absent_columns: list[str] = []

    @classmethod
    def of_columns(
        cls,
        table: Source,
        encoder: ViewEncoder,
        keep: Sequence[str],
        typed: Sequence[str],
        missing_columns: str,
    ) -> Self:
        """Return the rows of a table; columns to keep are as written, unless they are typed."""
        views = encoder.view_columns()
        here, absent, nulls = columns_of_model(table, views, missing_columns)
        known, read = set(table.column_names), set(here)
        copied = [name for name in keep if name not in read.union(typed) and name in known]
        words, numbers = ([c for c in names if c in read] for names in encoder.read_as())
        table = table.select([*here, *keep]).as_written(copied).as_kinds(words, numbers)
        rows = cls(table, encoder, keep)
        rows.missing_views, rows.null_columns = absent, nulls
        # several views may have a column
        absent_columns = [column for view in absent for column in views[view]]
        rows._absent_columns = list(dict.fromkeys([*absent_columns, *nulls]))
        return rows

    @property
    def file(self) -> str | None:
        """The first file, where there is one."""
        return self.source.file

    @property
    def n_rows(self) -> int:
        """Number of rows; counted where it was not known."""
        return self.source.n_rows

    def of_source(self, source: Source) -> Self:
        """Return the rows of another source that is read alike, such as a part of this one."""
        other = copy(self)
        other.source = source
        return other

    def kinds_of_kept(self) -> list[Any]:
        """Return the types of the columns to keep: text, where they are stored as dictionaries."""
        if not self.source.has_columns:
            return [pyarrow().string() for _ in self.keep]  # tags
        return [type_of_values(self.source.schema.field(name).type) for name in self.keep]

    def kept(self) -> Iterator[tuple[dict[str, Any], Batch]]:
        """Yield the columns to keep of each batch; no other is read."""
        source = self.source.select(self.keep) if self.source.has_columns else self.source
        for batch in prefetch(source):
            yield {name: batch.X.column(name) for name in source.column_names}, batch

    def __iter__(self) -> Iterator[tuple[list[Any], MultiView, Batch]]:
        pa = pyarrow()
        for batch in prefetch(self.source):
            if not len(batch):
                continue
            data = batch.X
            for column in self._absent_columns:
                data = data.append_column(column, pa.nulls(len(batch)))
            batch = replace(batch, X=data)
            with with_row_location(batch):
                X = data if self._encoder is None else self._encoder.transform(data)
                for step in self.scalers:
                    X = step.transform(X)
                if self.counter is not None:
                    self.counter.count(data)
            if self.source.has_columns:
                kept = [data.column(name) for name in self.keep]
            else:
                kept = [pa.array(batch.tags) for _ in self.keep]
            yield kept, X, batch


class UnknownLabelsError(InputError):
    """Labels are not among the classes of the model."""


class ClassLabels:
    """Labels as codes of the classes of a model.

    classes: the classes, sorted; labels are written as for `SpelledLabels`.
    """

    def __init__(self, classes: Sequence[Any], column: str | None) -> None:
        self._classes, self._column = list(classes), column
        self._code = SpelledLabels(classes).code

    def read(self, labels: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the rows that have a label, and these labels."""
        values, index, there = _distinct(labels)
        codes = np.array([*map(self._code, values), -1])
        unknown = (codes < 0) & there
        if unknown[index].any():
            raise self._refusal(values, index, unknown)
        known = np.flatnonzero(there[index])
        return known, np.asarray(self._classes)[codes[index[known]]]

    def count_unknown(self, labels: Any) -> tuple[dict[Any, int], int]:
        """Return the rows of each label that is none of the classes, and all rows with a label.

        A label is a number where the classes are numbers and it spells one.
        """
        values, index, there = _distinct(labels)
        rows = np.bincount(index, minlength=len(values) + 1)
        found: dict[Any, int] = {}
        for value, n, known in zip(values, rows[:-1].tolist(), there[:-1], strict=True):
            if known and self._code(value) < 0:
                label = _spelled_like(value, self._classes[0])
                found[label] = found.get(label, 0) + n
        return found, int(rows[there].sum())

    def _refusal(
        self, values: list[Any], index: np.ndarray, unknown: np.ndarray
    ) -> UnknownLabelsError:
        """Return the error for labels that are none of the classes."""
        from crossview.readers.duck import identifier, literal

        row, rows = int(unknown[index].argmax()), int(unknown[index].sum())
        others = list(dict.fromkeys(values[k] for k in index[unknown[index]].tolist()))
        word, listed, query = "NOT IN", others, ""
        if len(others) > len(self._classes):
            word, listed = "IN", self._classes
        if self._column is not None and len(listed) <= MOST_LISTED:
            name = self._column if self._column.isidentifier() else identifier(self._column)
            shown = ", ".join(literal(one) if isinstance(one, str) else str(one) for one in listed)
            query = f" (WHERE {name} {word} ({shown}) in a query)"
        return UnknownLabelsError(
            f"label {others[0]!r} is not among the classes of the model "
            f"({some_names(self._classes)}); {rows:,} of these {len(index):,} rows have such "
            f"labels ({some_names(others, 5)}): leave them out{query}, mend them, or train a model "
            "that has them",
            row=row,
            column=self._column,
        )


class NumberLabels:
    """Labels as numbers; reads as `ClassLabels` does."""

    def __init__(self, column: str | None) -> None:
        self._column = column

    def read(self, labels: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return which rows have a number, and these numbers."""
        values, index, there = _distinct(labels)
        numbers = np.array([*map(number_or_nan, values), np.nan])
        known = np.flatnonzero(there[index])
        y = numbers[index[known]]
        row = first_bad_number(y)
        if row is not None:
            what = explain_target(values[index[known[row]]], self._column)
            raise InputError(what, row=int(known[row]), column=self._column)
        return known, y


def _spelled_like(label: Any, other: Any) -> Any:
    """Return a label as the type of another one, if it spells one of this type."""
    if isinstance(other, str):
        return str(label)
    for kind in (int, float):
        with suppress(ValueError):
            return kind(label) if isinstance(label, str) else label
    return label


def _distinct(labels: Any) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """The different labels, for each row which of them it has, and which of them are labels.

    One past them, which is no label, stands for none.
    """
    import pyarrow as pa

    if isinstance(labels, np.ndarray):
        places: dict[Any, int] = {}
        index = [places.setdefault(value, len(places)) for value in labels.tolist()]
        values, codes = list(places), np.array(index, dtype=np.intp)
        return values, codes, has_label(np.array([*values, None], dtype=object))
    if pa.types.is_nested(labels.type) or isinstance(labels.type, pa.BaseExtensionType):
        raise InputError(f"the label holds {labels.type}; labels are text, numbers or booleans")
    if str(labels.type) == "string_view":
        labels = labels.cast(pa.large_string())
    if not isinstance(labels, pa.DictionaryArray):
        labels = labels.dictionary_encode()
    values = labels.dictionary.to_pylist()
    codes = codes_of(labels.indices, len(values))
    return values, codes, has_label(np.array([*values, None], dtype=object))
