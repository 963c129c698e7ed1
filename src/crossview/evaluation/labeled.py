"""A table in which one column is the label and the others are the views."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from crossview.errors import InputError, closest_names
from crossview.evaluation.tasks import check_task, has_label
from crossview.streams.encode import ViewEncoder
from crossview.streams.prefetch import prefetch
from crossview.streams.table import TableBatch, TableStream, open_table
from crossview.views import MultiView

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "LabeledBatch",
    "LabeledTable",
    "columns_by_view",
    "read_classes",
    "read_targets",
    "with_label",
    "with_row_location",
]

# what to do where a label is missing, for learners that need one
HINT = "(keco, as in crossview train --model keco, learns from rows without label)"
# a column with more values than this was meant to be something else
MOST_CLASSES = 1000
# beyond this, squares of squares overflow
MAX_ABS_TARGET = 1e75


class LabeledBatch(NamedTuple):
    """Consecutive rows: the columns of the views, the labels, and where they were read."""

    data: pa.RecordBatch
    y: np.ndarray
    batch: TableBatch


class LabeledTable:
    """A stream of rows, their label column, and an encoder for the others.

    Everything that the names and types of the columns can tell is checked
    here, before a row is read.

    Parameters
    ----------
    source : path, glob, query, data frame or TableStream
        As for `open_table`.
    y : str or array-like of shape (n_samples,)
        The name of the label column, or the labels.
    task : {"classification", "regression"}, default="classification"
        Whether the labels are classes or numbers.
    unlabeled : bool, default=False
        Whether rows may have no class, which is None then; an error otherwise.
    classes : sequence, default=None
        All labels that can come, as labels or as text.  None: one pass over
        the label column finds them.  Numbers have none.
    views : mapping of str to columns, default=None
        As for `ViewEncoder`.  A glob never takes the label in.
    text, categorical, numeric : sequence of str, default=()
        As for `ViewEncoder`.
    hash_bits : int, default=18
        As for `ViewEncoder`.

    Attributes
    ----------
    stream : TableStream
        The rows, with the columns that are used.
    classes : ndarray of shape (n_classes,)
        The labels, sorted; none where they are numbers.
    some_unlabeled : bool
        Whether some rows have none, where ``unlabeled`` and the labels were looked through.
    encoder : ViewEncoder
        Knows the columns, and has not seen a row.
    columns : dict of str to list of str
        The columns of each view.
    """

    def __init__(
        self,
        source: Any,
        y: Any,
        *,
        task: str = "classification",
        unlabeled: bool = False,
        classes: Sequence[Any] | None = None,
        views: Mapping[str, Any] | None = None,
        text: Sequence[str] = (),
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
        hash_bits: int = 18,
    ) -> None:
        self._numbers = check_task(task) == "regression"
        if self._numbers and classes is not None:
            raise InputError("classes are for classification; a number to predict has none")
        self._unlabeled = unlabeled and not self._numbers
        self.some_unlabeled = False
        stream = open_table(source)
        self._label = y if isinstance(y, str) else None
        self._y = None if isinstance(y, str) else np.asarray(y)
        if self._y is not None and self._numbers:
            self._y = read_targets(self._y)
        if self._label is not None:
            if self._label not in stream.column_names:
                hint = closest_names(self._label, stream.column_names)
                file = stream.files[0] if stream.files else None
                raise InputError(f"no label column {self._label!r}{hint}", file=file)
            views = _without_label(views, self._label, stream.column_names)
        others = stream.schema.empty_table()
        if self._label is not None:
            others = others.drop_columns([self._label])
        encoder = ViewEncoder(
            views, text=text, categorical=categorical, numeric=numeric, hash_bits=hash_bits
        ).fit(others)
        self._use(stream, encoder)
        self.classes = np.empty(0) if self._numbers else self._find_classes(classes)

    def _use(self, stream: TableStream, encoder: ViewEncoder) -> None:
        """Read the columns of this encoder, and the label."""
        self.columns = columns_by_view(encoder)
        # names instead of globs, which could match the label
        kinds = {
            kind: [c.name for c in encoder._columns if c.declared and c.kind == kind]
            for kind in ("text", "categorical", "numeric")
        }
        self.encoder = encoder.set_params(views=self.columns, **kinds)
        used = [column for group in self.columns.values() for column in group]
        self.stream = stream.select([*used, *([self._label] if self._label else [])])

    def select_view(self, view: str) -> LabeledTable:
        """The same rows with one view."""
        mine = self.columns[view]
        kinds = {
            kind: [column for column in getattr(self.encoder, kind) if column in mine]
            for kind in ("text", "categorical", "numeric")
        }
        encoder = clone(self.encoder).set_params(views={view: mine}, **kinds)
        narrow = copy.copy(self)
        narrow._use(self.stream, encoder.fit(self.stream.select(mine).schema.empty_table()))
        return narrow

    def _find_classes(self, given: Sequence[Any] | None) -> np.ndarray:
        if self._label is None:
            assert self._y is not None
            classes = read_classes(self._y, unlabeled=self._unlabeled)
            self.some_unlabeled = not has_label(self._y).all()
            return classes
        kind = _value_type(self.stream.schema.field(self._label).type)
        if given is None:
            try:
                found = self.stream.distinct(self._label, empty=self._unlabeled)
            except InputError as error:
                if error.row is None:
                    raise
                raise InputError(
                    f"{error.message} {HINT}", file=error.file, row=error.row, column=error.column
                ) from None
            self.some_unlabeled = None in found
            found = [label for label in found if label is not None]
            return _check_classes(found, self._label, unlabeled=self.some_unlabeled)
        return _check_classes(_as_type(given, kind, self._label), self._label)

    def __iter__(self) -> Iterator[LabeledBatch]:
        done = 0
        for batch in self.stream:
            if self._label is None:
                assert self._y is not None
                labels = self._y[done : done + batch.data.num_rows]
                data = batch.data
            else:
                labels = self._targets(batch) if self._numbers else self._labels(batch)
                data = batch.data.drop_columns([self._label])
            done += batch.data.num_rows
            if len(labels) != batch.data.num_rows:
                break
            if len(labels):
                yield LabeledBatch(data, labels, batch)
        if self._y is not None and done != len(self._y):
            raise InputError(f"{len(self._y)} labels for a table of {done} rows or more")

    def load(self) -> tuple[pa.Table, np.ndarray]:
        """All rows in memory; what an encoder would refuse is named by file and row here."""
        import pyarrow as pa

        check = clone(self.encoder)
        data, labels = [], []
        for piece in self:
            with with_row_location(piece.batch):
                check.partial_fit(piece.data)
            data.append(piece.data)
            labels.append(piece.y)
        if not data:
            raise InputError("there are no rows to learn from")
        return pa.Table.from_batches(data), np.concatenate(labels)

    def encoded(
        self, encoder: ViewEncoder, *, learn: bool, first: int = 0
    ) -> Iterator[tuple[MultiView, np.ndarray]]:
        """The rows as views, with their labels.

        Parameters
        ----------
        encoder : ViewEncoder
            Encodes them; begin with ``clone(table.encoder)``.
        learn : bool
            Let the encoder learn each batch just before it encodes it.
        first : int, default=0
            Give so many rows as one batch first.

        Yields
        ------
        X : MultiView
            The rows of a batch.
        y : ndarray
            Their labels.
        """
        import pyarrow as pa

        held: list[LabeledBatch] = []
        missing = first
        for piece in prefetch(self._cut(first)):
            with with_row_location(piece.batch):
                if learn:
                    encoder.partial_fit(piece.data)
                if missing == 0:
                    X, y = encoder.transform(piece.data), piece.y
            if missing:
                held.append(piece)
                missing -= len(piece.y)
                if missing:
                    continue
                X = encoder.transform(pa.Table.from_batches([piece.data for piece in held]))
                y = np.concatenate([piece.y for piece in held])
            yield X, y

    def _cut(self, n: int) -> Iterator[LabeledBatch]:
        """The same rows, with a cut after the first ``n``."""
        for piece in self:
            head = min(n, len(piece.y))
            n -= head
            data, y, (whole, file, row) = piece
            if 0 < head < len(y):
                yield LabeledBatch(data.slice(0, head), y[:head], TableBatch(whole, file, row))
            if head < len(y):
                yield LabeledBatch(data.slice(head), y[head:], TableBatch(whole, file, row + head))
            else:
                yield piece

    def _labels(self, batch: TableBatch) -> np.ndarray:
        """The labels of a batch, as members of ``classes``."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = batch.data.column(self._label)
        kind = _value_type(column.type)
        if column.type != kind:
            column = column.cast(kind)
        codes = pc.index_in(column, pa.array(self.classes.tolist(), type=kind), skip_nulls=True)
        unknown = codes.is_null()
        if self._unlabeled:
            empty = pc.is_null(column, nan_is_null=True)
            unknown = pc.and_not(unknown, empty)
        if pc.any(unknown).as_py():
            row = int(pc.index(unknown, True).as_py())
            value = column[row].as_py()
            what = (
                f"the label is missing; leave the row out, or label it {HINT}"
                if value is None or value != value
                else f"label {value!r} is not among the classes "
                f"{', '.join(map(str, self.classes.tolist()))}"
            )
            raise InputError(what, file=batch.file, row=batch.first_row + row, column=self._label)
        if codes.null_count:
            labels = self.classes[codes.fill_null(0).to_numpy()].astype(object)
            labels[empty.to_numpy(zero_copy_only=False)] = None
            return labels
        return self.classes[codes.to_numpy()]

    def _targets(self, batch: TableBatch) -> np.ndarray:
        """The numbers of a batch."""
        import pyarrow as pa

        column = batch.data.column(self._label)
        try:
            plain = column.cast(_value_type(column.type))
            numbers = plain.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowException:  # the rows say which one it is
            numbers = np.asarray([_number_or_nan(value) for value in column.to_pylist()])
        row = _first_bad(numbers)
        if row is not None:
            what = _not_a_target(column[row].as_py())
            raise InputError(what, file=batch.file, row=batch.first_row + row, column=self._label)
        return numbers


def with_label(batches: Iterable[tuple[Any, np.ndarray]]) -> Iterator[tuple[Any, np.ndarray]]:
    """The rows of a stream that have a label."""
    for X, y in batches:
        known = has_label(y)
        if known.all():
            yield X, y
        elif known.any():
            yield X[known], y[known]


def columns_by_view(encoder: ViewEncoder) -> dict[str, list[str]]:
    """The columns of the table that a fitted encoder reads, view by view."""
    columns: dict[str, list[str]] = {view: [] for view in encoder.layout_.names}
    for column in encoder._columns:
        columns[column.view].append(column.name)
    return columns


@contextmanager
def with_row_location(batch: TableBatch) -> Iterator[None]:
    """Errors that name a row of this batch name the row of its file instead."""
    try:
        yield
    except InputError as error:
        if error.row is None or error.file is not None:
            raise
        raise InputError(
            error.message, file=batch.file, row=batch.first_row + error.row, column=error.column
        ) from None


def read_classes(y: Any, *, unlabeled: bool = False) -> np.ndarray:
    """The sorted classes of labels in memory; `InputError` for a missing one, if not allowed."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise InputError(f"y has {y.ndim} dimensions; give one label a row")
    known = has_label(y)
    if not (unlabeled or known.all()):
        raise InputError(
            f"the label is missing; leave the row out, or label it {HINT}", row=int(known.argmin())
        )
    try:
        return _check_classes(np.unique(y[known]).tolist(), None, unlabeled=not known.all())
    except TypeError:
        raise InputError("y mixes labels that cannot be sorted, such as text and numbers") from None


def read_targets(y: Any) -> np.ndarray:
    """Numbers that are in memory, as float64; `InputError` for what is missing or none."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise InputError(f"y has {y.ndim} dimensions; give one number a row")
    values = y.tolist()
    numbers = (
        y.astype(np.float64)
        if y.dtype.kind in "iufb"
        else np.asarray([_number_or_nan(value) for value in values], dtype=np.float64)
    )
    row = _first_bad(numbers)
    if row is not None:
        raise InputError(_not_a_target(values[row]), row=row)
    return numbers


def _number_or_nan(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def _first_bad(numbers: np.ndarray) -> int | None:
    """The first row without a number of a size that can be squared."""
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(numbers) <= MAX_ABS_TARGET)
    return int(bad.argmax()) if bad.any() else None


def _not_a_target(value: Any) -> str:
    if value is None or value != value:
        return "the number to predict is missing; leave the row out, or fill it in"
    return (
        f"{value!r} is not a number to predict (up to {MAX_ABS_TARGET:g}); leave the row out, "
        "correct "
        "it, or predict classes (task='classification')"
    )


def _check_classes(
    classes: Iterable[Any], label: str | None, *, unlabeled: bool = False
) -> np.ndarray:
    """Two or more labels that are text, whole numbers or booleans."""
    found = sorted(set(classes))
    for value in found:
        if not isinstance(value, str | bool | int) and not (
            isinstance(value, float) and value.is_integer()
        ):
            raise InputError(
                f"{value!r} is not a class; labels are text, whole numbers or booleans "
                "(a number to predict: task='regression')",
                column=label,
            )
    if len(found) < 2:
        what = f"has one class, {found[0]!r}" if found else "has no rows"
        if unlabeled:
            what = f"{what}, and rows without label" if found else "is empty in every row"
        raise InputError(f"the label {what}; a classifier needs two or more", column=label)
    if len(found) > MOST_CLASSES:
        raise InputError(
            f"the label takes {len(found)} values; a class needs to come up often "
            f"(at most {MOST_CLASSES} classes; a number to predict: task='regression')",
            column=label,
        )
    return np.asarray(found)


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
    """What a column holds, whether or not it is stored as a dictionary."""
    return getattr(kind, "value_type", kind)


def _without_label(
    views: Mapping[str, Any] | None, label: str, names: Sequence[str]
) -> Mapping[str, Any] | None:
    """The views, if none of them names the label itself; globs pass it over."""
    for view, spec in (views or {}).items():
        if label in ([spec] if isinstance(spec, str) else list(spec)):
            raise InputError(
                f"view {view!r} names the label column; leave it out of the views", column=label
            )
    return views
