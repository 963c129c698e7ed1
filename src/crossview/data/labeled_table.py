"""A table in which one column is the label and the others are the views."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from crossview.catalog.names import check_task
from crossview.data.arrow import codes_of, labels_as, numbers_of, release_unused
from crossview.data.encoding.columns import plain_kinds
from crossview.data.encoding.dates import split_format
from crossview.data.encoding.encode import ViewEncoder
from crossview.data.labeled_batch import LabeledBatch, LabeledSource
from crossview.data.read_labels import (
    Classes,
    check_classes,
    explain_target,
    first_bad_number,
    missing_label,
    number_or_nan,
    read_classes,
    read_targets,
    share_long,
    with_row_location,
)
from crossview.data.row_columns import (
    check_weight_column,
    check_weights,
    read_order,
    weights_of,
)
from crossview.data.shuffle import take_in_order
from crossview.data.source import TableBatch
from crossview.data.table import TableStream, open_table
from crossview.data.table_columns import predictors, split_time, with_dates
from crossview.errors import InputError, some_names
from crossview.labels import has_label, rows_per_class
from crossview.views import MultiView, ViewLayout

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LabeledTable"]


class LabeledTable(LabeledSource):
    """A stream of rows, their label column, and an encoder for the others.

    Everything that follows from the names and types of the columns is checked
    here, before a row is read.

    Parameters
    ----------
    source : path, glob, query, data frame or TableStream
        As for `open_table`.
    y : str or array-like of shape (n_samples,)
        The name of the label column, or the labels.  In CSV files labels that are not numbers are
        text as written: yes and no, True and False.
    task : {"classification", "regression"}, default="classification"
        Whether the labels are classes or numbers.
    unlabeled : bool, default=False
        Whether rows may have no label; theirs is then None.  Otherwise it is an error.
    classes : sequence, default=None
        All labels that may occur, as labels or as text.  None: one pass over
        the label column finds them.  Numbers have none.
    views : mapping of str to columns, default=None
        As for `ViewEncoder`.  A glob never matches the label.
    ignored : sequence of str, default=()
        Columns that are in no view, whatever the globs say.
    time : str, default=None
        A column in whose order the rows are read; it is in no view.  None: as they are.
    weight : str or array-like of shape (n_samples,), default=None
        How much each row counts in learning: numbers, or the name of their column, which is in no
        view.
    date : sequence of str, default=()
        As for `ViewEncoder`; the column of ``time`` may be among them.
    recognize : bool, default=True
        Whether columns of text that are dates in every row are read as such.
    **encoding
        Other parameters of `ViewEncoder`.

    Attributes
    ----------
    stream, table : TableStream
        The rows, with the columns that are used, and with all of them.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; empty where they are numbers.
    some_unlabeled : bool
        Whether some rows have no label, where ``unlabeled`` allows it and the labels were read.
    encoder : ViewEncoder
        Knows the columns, and has learned from no row.
    columns : dict of str to list of str
        The columns of each view.
    """

    batch_rows = 65536

    def __init__(
        self,
        source: Any,
        y: Any,
        *,
        task: str = "classification",
        unlabeled: bool = False,
        classes: Sequence[Any] | None = None,
        views: Mapping[str, Any] | None = None,
        ignored: Sequence[str] = (),
        time: str | None = None,
        weight: Any = None,
        date: Sequence[str] = (),
        recognize: bool = True,
        **encoding: Any,
    ) -> None:
        self._numbers = check_task(task) == "regression"
        if self._numbers and classes is not None:
            raise InputError("classes are for classification; a number to predict has none")
        self._unlabeled = unlabeled and not self._numbers
        stream = open_table(source)
        self.ordered, self.in_memory = stream.ordered, stream.in_memory
        self._label = y if isinstance(y, str) else None
        self._y = None if isinstance(y, str) else share_long(np.asarray(y))
        if self._y is not None and self._numbers:
            self._y = read_targets(self._y)
        self._weight = weight if isinstance(weight, str) else None
        self._weights = None if weight is None or self._weight else check_weights(weight)
        in_no_view = [*ignored, *(name for name in (time, self._weight) if name is not None)]
        others = predictors(stream, self._label, views, in_no_view)
        if self._weight is not None:
            check_weight_column(stream, self._weight)
        encoding["date"], format = split_time(date, time)
        self._order = None if time is None else read_order(stream, time, format)
        self.table = stream = stream.as_written([] if self._label is None else [self._label])
        if recognize:
            encoding["date"] = with_dates(stream, others.column_names, views, encoding)
        self._use(stream, ViewEncoder(views, **_with_dialect(encoding, stream)).fit(others))
        if not self._numbers:
            self.classes, self.class_rows = self._find_classes(classes)

    def _use(self, stream: TableStream, encoder: ViewEncoder) -> None:
        """Read the columns of this encoder, and the label column."""
        self.columns = encoder.view_columns()
        # names instead of globs, which could match the label
        self.encoder = encoder.set_params(views=self.columns, **encoder.declared_columns())
        used = [column for group in self.columns.values() for column in group]
        others = [name for name in (self._label, self._weight) if name is not None]
        self.stream = stream.select([*used, *others])

    @property
    def layout(self) -> ViewLayout:
        """Names and widths of the views."""
        return self.encoder.layout_

    @property
    def n_rows(self) -> int:
        """Number of rows; counted where it was not known."""
        return self.stream.n_rows

    @property
    def file(self) -> str | None:
        """The first file, where there is one."""
        return self.stream.files[0] if self.stream.files else None

    def select_view(self, view: str) -> LabeledTable:
        """Return the same rows with one view."""
        mine = self.columns[view]
        declared = _declared_of(self.encoder, mine)
        encoder = clone(self.encoder).set_params(views={view: mine}, **declared)
        narrow = copy.copy(self)
        narrow._use(self.stream, encoder.fit(_no_rows(self.stream.select(mine))))
        return narrow

    def _find_classes(self, given: Sequence[Any] | None) -> Classes:
        if self._label is None:
            assert self._y is not None
            self.some_unlabeled = not has_label(self._y).all()
            return read_classes(self._y, unlabeled=self._unlabeled)
        _check_label_type(_value_type(self.stream.schema.field(self._label).type), self._label)
        if given is not None:
            kind = _value_type(self.stream.schema.field(self._label).type)
            return check_classes(_as_type(given, kind, self._label), self._label), None
        counts = _label_counts(self.stream, self._label, self._unlabeled)
        self.some_unlabeled = counts.pop(None, 0) > 0
        found = check_classes(counts, self._label, unlabeled=self.some_unlabeled)
        return found, rows_per_class(found, counts)

    def read(self, rng: np.random.Generator | None = None) -> Iterator[LabeledBatch]:
        """Return the rows in their order; with random numbers, blocks of them in random order."""
        if self._order is None:
            return self._read(rng)
        return take_in_order(self._read(None), self._order, self.in_memory, self.batch_rows)

    def _read(self, rng: np.random.Generator | None) -> Iterator[LabeledBatch]:
        """Yield the rows in the order of the source, or blocks of them in random order."""
        done = 0
        # labels in memory have an order
        for batch in self.batches(None if self._label is None else rng):
            if self._label is None:
                assert self._y is not None
                labels = self._y[done : done + batch.data.num_rows]
                data = batch.data
            else:
                labels = (
                    _targets_of(batch, self._label)
                    if self._numbers
                    else _labels_of(batch, self._label, self.classes, self._unlabeled)
                )
                data = batch.data.drop_columns([self._label])
            weight = None if self._weights is None else self._weights[done : done + len(labels)]
            if self._weight is not None:
                weight = weights_of(batch, self._weight)
                data = data.drop_columns([self._weight])
            done += batch.data.num_rows
            if len(labels) != batch.data.num_rows:
                break
            if len(labels):
                table = (
                    _table(data) if self._shuffled is None else _compact(data, self.encoder.text)
                )
                yield LabeledBatch.read(table, labels, batch.file, batch.first_row, weight)
        for what, given in (("labels", self._y), ("weights", self._weights)):
            if given is not None and done != len(given):
                raise InputError(f"{len(given)} {what} for a table of {done} rows or more")

    def load(self) -> LabeledBatch:
        """Return all rows with their labels; what an encoder refuses is named by file and row."""
        check = clone(self.encoder).set_params(scale_views=False, bins=None, tf_idf=False)
        pieces = []
        for piece in self.read():
            with with_row_location(piece):
                check.partial_fit(piece.X)
            pieces.append(piece)
        if not pieces:
            raise InputError("there are no rows to learn from")
        rows = LabeledBatch.join(pieces)
        release_unused()
        return rows

    def encode(self, batch: LabeledBatch, encoder: ViewEncoder, learn: bool) -> MultiView:
        """Return the rows as views; ``learn`` lets the encoder learn each row before."""
        with with_row_location(batch):
            return (encoder.partial_fit_transform if learn else encoder.transform)(batch.X)


def _with_dialect(encoding: Mapping[str, Any], stream: TableStream) -> dict[str, Any]:
    """The parameters of an encoder, with how the files of the rows are written."""
    return {"dialect": stream.dialect or None, **encoding}


def _declared_of(encoder: ViewEncoder, columns: Sequence[str]) -> dict[str, list[str]]:
    """The columns whose kind is declared, of some of them."""
    return {
        kind: [one for one in names if one in columns or split_format(one)[0] in columns]
        for kind, names in encoder.declared_columns().items()
    }


def _no_rows(stream: TableStream) -> pa.Table:
    """The columns of a stream, without rows; `empty_table` would import pandas."""
    import pyarrow as pa

    return pa.Table.from_batches([], schema=stream.schema)


def _table(data: pa.RecordBatch) -> pa.Table:
    """The rows as a table, without a copy."""
    import pyarrow as pa

    return pa.Table.from_batches([data])


def _compact(data: pa.RecordBatch, text: Sequence[str]) -> pa.Table:
    """The rows with their categories as dictionaries of what occurs, and text as it is."""
    import pyarrow as pa

    if plain_kinds().issuperset(data.schema.types):
        return _table(data)
    columns = {}
    for name, column in zip(data.schema.names, data.columns, strict=True):
        if pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())
        coded = isinstance(column, pa.DictionaryArray)
        if coded and (name in text or len(column.dictionary) > len(column)):
            column, coded = column.dictionary_decode(), False
        kinds = (pa.string(), pa.large_string())
        columns[name] = (
            column
            if coded or name in text or column.type not in kinds
            else column.dictionary_encode()
        )
    return pa.table(columns)


def _check_label_type(kind: Any, label: str) -> None:
    """Raise an error for a column that cannot hold classes, whatever its values are."""
    import pyarrow as pa
    from pyarrow import types

    extension = isinstance(kind, pa.BaseExtensionType)  # such as UUID
    if extension or types.is_nested(kind) or types.is_float16(kind) or types.is_binary(kind):
        raise InputError(f"holds {kind}; labels are text, whole numbers or booleans", column=label)


def _label_counts(stream: TableStream, label: str, unlabeled: bool) -> dict[Any, int]:
    """The rows of each label, and of None where one may be missing and is."""
    try:
        return stream.value_counts(label, empty=unlabeled)
    except InputError as error:
        if error.row is None:
            raise
        raise InputError(
            f"the label is missing; {missing_label()}",
            file=error.file,
            row=error.row,
            column=error.column,
        ) from None


def _labels_of(batch: TableBatch, label: str, classes: np.ndarray, unlabeled: bool) -> np.ndarray:
    """The labels of a batch, as members of ``classes``, or None where that is allowed."""
    import pyarrow.compute as pc

    column = batch.data.column(label)
    kind = _value_type(column.type)
    if column.type != kind:
        column = column.cast(kind)
    codes = pc.index_in(column, labels_as(classes.tolist(), kind), skip_nulls=True)
    unknown = codes.is_null()
    if unlabeled:
        empty = pc.is_null(column, nan_is_null=True)
        unknown = pc.and_not(unknown, empty)
    if pc.any(unknown).as_py():
        row = int(pc.index(unknown, True).as_py())
        value = column[row].as_py()
        what = (
            f"the label is missing; {missing_label()}"
            if value is None or value != value
            else f"label {value!r} is not among the classes {some_names(classes.tolist())}"
        )
        raise InputError(what, file=batch.file, row=batch.first_row + row, column=label)
    if codes.null_count:
        labels = classes[codes_of(codes, 0)].astype(object)
        labels[numbers_of(empty)] = None
        return labels
    return np.asarray(classes[numbers_of(codes)])


def _targets_of(batch: TableBatch, label: str) -> np.ndarray:
    """The numbers of a batch."""
    import pyarrow as pa

    column = batch.data.column(label)
    try:
        plain = column.cast(_value_type(column.type))
        numbers = numbers_of(plain.cast(pa.float64()))
    except pa.ArrowException:  # the rows say which one it is
        numbers = np.asarray([number_or_nan(value) for value in column.to_pylist()])
    row = first_bad_number(numbers)
    if row is not None:
        what = explain_target(column[row].as_py())
        raise InputError(what, file=batch.file, row=batch.first_row + row, column=label)
    return np.asarray(numbers)


def _as_type(given: Sequence[Any], kind: Any, label: str) -> list[Any]:
    """Classes that may be text, as on a command line, as the type of the label column."""
    import pyarrow as pa

    try:
        texts = pa.array([str(value).strip() for value in given])
        values = texts.cast(kind).to_pylist()
    except pa.ArrowException:
        raise InputError(
            f"holds {kind}, and the classes {', '.join(map(str, given))} are not that",
            column=label,
        ) from None
    return list(values)


def _value_type(kind: Any) -> Any:
    """What a column holds, whether or not it is stored as a dictionary or as views of a text."""
    import pyarrow as pa

    if pa.types.is_string_view(kind):
        return pa.large_string()
    return kind.value_type if pa.types.is_dictionary(kind) else kind
