"""A fitted model, from a file or in memory, and the rows of any source as it reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np

from crossview.data.arrow import pyarrow
from crossview.data.encoding.encode import ViewEncoder
from crossview.data.prefetch import prefetch
from crossview.data.read_labels import Located, with_row_location
from crossview.data.rows import RowStream, open_rows
from crossview.data.source import RowBatch, find_reader
from crossview.data.table import TableStream, open_table
from crossview.data.table_columns import check_missing_columns, columns_of_model
from crossview.data.view_reader import ViewReader
from crossview.errors import InputError
from crossview.saving.model_files import load_steps
from crossview.saving.pipelines import steps_of
from crossview.saving.training_info import read_training_info
from crossview.scoring.drift import DriftCounter, read_reference
from crossview.scoring.problems import Classification
from crossview.scoring.trained import Trained
from crossview.views import MultiView

__all__ = ["FittedModel", "ModelColumns", "ModelRows"]

# what `keep` calls the tags of Vowpal Wabbit
TAG = "tag"


class FittedModel:
    """A fitted model, and what its file says of its training.

    Parameters
    ----------
    model : path-like, Trained, Pipeline or learner
        A model file, what `train` returned, or a fitted model such as ``train(...).fitted``.

    Attributes
    ----------
    file : str or None
        The file.
    info : dict
        What training says of the model; empty for one that does not come from it.
    encoder : ViewEncoder, ViewScaler or None
        What makes views of the rows.
    learner : learner
        What predicts.
    classes : list or None
        The classes, sorted; None where a number is predicted.
    """

    def __init__(self, model: Any) -> None:
        self.file = os.fspath(model) if isinstance(model, str | os.PathLike) else None
        trained = isinstance(model, Trained)
        if self.file is not None:
            parts = load_steps(self.file)[0]
        else:
            parts = steps_of(model.fitted if trained else model)
        self.encoder, self.learner = parts[0][1] if len(parts) > 1 else None, parts[-1][1]
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

        Parameters
        ----------
        threshold : float or None
            The probability of the positive class above which it is predicted; None: a score above
            0 predicts the second class.
        positive : label or None
            That class.  None: the one that the model was trained for; of a model that does not
            know it, that of `choose_positive`.
        """
        if self.classes is None:
            raise InputError("a threshold is about classes, and the model predicts numbers")
        if isinstance(threshold, str):
            raise InputError(
                f"threshold={threshold!r}; give a probability between 0 and 1, or none (a score "
                "of 0 decides)"
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
    ) -> ModelColumns | ModelRows:
        """Return the rows of a source as views, batch by batch.

        Parameters
        ----------
        X : MultiView, data frame, path, glob or query
            The rows.
        keep : sequence of str, default=()
            Columns to yield besides: in text files as they are written, such as yes and no.
        typed : sequence of str, default=()
            More columns to yield, with their types, such as times.
        missing_columns : {"error", "null"}, default="error"
            As for `crossview.predict`.

        Returns
        -------
        ModelColumns or ModelRows
            Iterate over it.
        """
        check_missing_columns(missing_columns)
        if isinstance(self.encoder, ViewEncoder):
            return ModelColumns(X, self.encoder, [*keep, *typed], typed, missing_columns)
        tags = list(keep) == [TAG]
        if typed or (keep and not tags):
            raise InputError(
                f"keep= copies columns, and these rows have none ({TAG}: the tags of Vowpal Wabbit)"
            )
        return ModelRows(X, self.encoder, self.file, tags=tags)

    def drift_counter(self) -> DriftCounter | None:
        """Return what compares rows with those of training; None if that is not known."""
        views = self.learner.layout_.names
        try:
            reference = read_reference(self.info, views)
        except InputError as error:
            raise InputError(error.message, file=self.file) from None
        return None if reference is None else DriftCounter(views, reference)


class ModelColumns:
    """The columns of a table as the views of an encoder.

    Attributes
    ----------
    missing_views : list of str
        Views of which the table has no column.
    null_columns : list of str
        Columns of other views that it has not, where that is allowed.
    table : TableStream
        The columns that are read, as the encoder reads them, and those to keep.
    keep : list of str
        Names of the columns to keep.
    """

    def __init__(
        self,
        X: Any,
        encoder: ViewEncoder,
        keep: Sequence[str],
        typed: Sequence[str],
        missing_columns: str,
    ) -> None:
        views = encoder.view_columns()
        table = open_table(X, dialect=encoder.dialect)
        known = set(table.column_names)
        here, absent, nulls = columns_of_model(table, views, missing_columns)
        self.missing_views, self.null_columns = absent, nulls
        of_views = [column for view in absent for column in views[view]]
        self._absent_columns = [*of_views, *self.null_columns]
        self.keep = list(keep)
        self._encoder = encoder
        read = set(here)
        copied = [name for name in keep if name not in read.union(typed) and name in known]
        words, numbers = ([c for c in names if c in read] for names in encoder.read_as())
        table = table.select([*here, *keep]).as_written(copied).as_kinds(words, numbers)
        self.table: TableStream = table

    @property
    def n_rows(self) -> int:
        """Number of rows; counted where it was not known."""
        return self.table.n_rows

    @property
    def file(self) -> str | None:
        """The first file, where there is one."""
        return self.table.files[0] if self.table.files else None

    def kinds_of_kept(self) -> list[Any]:
        """Types of the columns to copy: text, where they are dictionaries or views of one."""
        pa = pyarrow()
        kinds = [self.table.schema.field(name).type for name in self.keep]
        kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
        return [pa.large_string() if pa.types.is_string_view(kind) else kind for kind in kinds]

    @property
    def source(self) -> TableStream:
        """What the rows are read from."""
        return self.table

    def of_source(self, source: TableStream) -> ModelColumns:
        """Return rows of the same columns from another source, such as a part of this one."""
        other = copy(self)
        other.table = source
        return other

    def kept(self) -> Iterator[tuple[int, dict[str, Any], Any]]:
        """Yield the number of rows of each batch, and their columns to keep; no other is read."""
        for batch in prefetch(self.table.select(self.keep)):
            data = batch.data
            yield data.num_rows, {name: data.column(name) for name in self.keep}, batch

    def __iter__(self) -> Iterator[tuple[list[Any], MultiView, Located]]:
        pa = pyarrow()
        for batch in prefetch(self.table):
            if not batch.data.num_rows:
                continue
            data = batch.data
            for column in self._absent_columns:
                data = data.append_column(column, pa.nulls(data.num_rows))
            with with_row_location(batch):
                X = self._encoder.transform(data)
            yield [data.column(name) for name in self.keep], X, batch


class ModelRows:
    """Rows that are views already, and are only scaled."""

    missing_views: Sequence[str] = ()
    null_columns: Sequence[str] = ()
    keep: Sequence[str] = ()

    def __init__(self, X: Any, scaler: Any, model: str | None, *, tags: bool = False) -> None:
        self._scaler, self._tags = scaler, tags
        self._rows: MultiView | RowStream
        sparse = not isinstance(X, MultiView | RowStream | TableStream)
        if isinstance(X, TableStream) or (sparse and find_reader(X)[0].kind != "sparse"):
            raise InputError(
                "holds a model without an encoder, so it cannot read tables; give it rows with "
                "views, or train it on the table with crossview train",
                file=model,
            )
        self._rows = X if isinstance(X, MultiView) else open_rows(X)
        if isinstance(scaler, ViewReader) and isinstance(self._rows, RowStream):
            self._rows = self._rows.read_as(scaler.reading, tags=tags)
        if tags and (isinstance(self._rows, MultiView) or self._rows.reader.name != "vw"):
            raise InputError(f"keep={TAG!r}: only rows of Vowpal Wabbit files have tags")

    @property
    def n_rows(self) -> int:
        """Number of rows; counted where it was not known."""
        return len(self._rows) if isinstance(self._rows, MultiView) else self._rows.n_rows

    @property
    def in_memory(self) -> bool:
        """Whether the rows are a MultiView, which has no labels."""
        return isinstance(self._rows, MultiView)

    @property
    def file(self) -> str | None:
        """The first file, where there is one."""
        return None if isinstance(self._rows, MultiView) else self._rows.files[0]

    @property
    def source(self) -> MultiView | RowStream:
        """What the rows are read from."""
        return self._rows

    def of_source(self, source: RowStream) -> ModelRows:
        """Return the rows of another source with the same views, such as a part of this one."""
        other = copy(self)
        other._rows = source
        return other

    def kept(self) -> Iterator[tuple[int, dict[str, Any], Any]]:
        """Yield the number of rows of each batch, no columns, and the batch with its labels."""
        assert isinstance(self._rows, RowStream)
        for batch in prefetch(self._rows):
            yield len(batch.X), {}, batch

    def kinds_of_kept(self) -> list[Any]:
        """No column is copied but the tags."""
        return [pyarrow().string()] if self._tags else []

    def __iter__(self) -> Iterator[tuple[list[Any], MultiView, Located]]:
        if isinstance(self._rows, MultiView):
            batches = iter([RowBatch(self._rows, np.empty(0), None, 0)])
        else:
            batches = (batch for batch in prefetch(self._rows) if len(batch.X))
        for batch in batches:
            with with_row_location(batch):
                X = batch.X if self._scaler is None else self._scaler.transform(batch.X)
            yield [pyarrow().array(batch.tags)] if self._tags else [], X, batch
