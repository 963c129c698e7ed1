"""Rows of any source with their labels and weights, in any order, and the encoder for them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from crossview.batch import make_rows
from crossview.data.guessed_task import task_of
from crossview.data.row_columns import (
    Classes,
    as_type,
    check_classes,
    check_group_column,
    check_label_type,
    check_labels,
    check_time_column,
    check_weight_column,
    check_weights,
    groups_of,
    labels_of,
    missing_label,
    order_of,
    read_classes,
    read_targets,
    share_long,
    targets_of,
    weights_of,
    with_row_location,
)
from crossview.data.rows_read import RowsRead, hash_of
from crossview.data.shuffle import Shuffled, check_sortable, regroup, take_in_order
from crossview.encoding.encode import ViewEncoder, bins_of_stream
from crossview.encoding.table_columns import RECOGNIZED, predictors, recognized, split_time
from crossview.encoding.view_columns import split_form, without_ignored
from crossview.encoding.view_reader import ViewReader
from crossview.encoding.view_scaler import ViewScaler
from crossview.errors import NAMES_AGAIN, InputError, NoRowsError, argument
from crossview.labels import as_labels, has_label, rows_per_class
from crossview.readers.prefetch import prefetch
from crossview.readers.source import ROWS_OF_COLUMNS, ROWS_OF_VIEWS, Batch, Source, take_rows
from crossview.tables.arrow import numbers_of, pyarrow, release_unused
from crossview.tables.columns import plain_kinds
from crossview.tables.dates import is_text, split_format
from crossview.views import MultiView, ViewLayout, as_groups

# the file of a row, and its row there
BYTES_OF_PLACE = 16


@dataclass(frozen=True)
class LabeledBatch:
    """Rows, a table or a MultiView, with their labels, weights, groups, and where each was read.

    Missing labels are None; weights are None where all rows count the same, and groups, which are
    whole numbers, where each row stands alone.
    """

    X: Any
    y: np.ndarray
    file: np.ndarray  # the file of each row, or None
    row: np.ndarray  # its row there, from 0
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def nbytes(self) -> int:
        """Their size in memory."""
        arrays = (self.y, self.file, self.row, self.weight, self.groups)
        return _size(self.X) + sum(array.nbytes for array in arrays if array is not None)

    def location(self, row: int) -> tuple[str | None, int]:
        """Return the file of a row, and its row there."""
        return self.file[row], int(self.row[row])

    def take(self, rows: np.ndarray | slice) -> Self:
        """Return some of the rows, in this order."""
        some = (None if array is None else array[rows] for array in (self.weight, self.groups))
        X = take_rows(self.X, rows)
        return type(self)(X, self.y[rows], self.file[rows], self.row[rows], *some)

    def packed(self) -> Self:
        """Return the same rows, with one dictionary for each column that has dictionaries.

        An encoder hashes it once, and not again for each part of the rows.
        """
        if isinstance(self.X, MultiView) or _is_plain(self.X):
            return self
        X = self.X
        for i, field in enumerate(X.schema):
            if hasattr(field.type, "value_type"):
                X = X.set_column(i, field, X.column(i).unify_dictionaries().combine_chunks())
        return replace(self, X=X)

    @classmethod
    def join(cls, parts: list[Self]) -> Self:
        """Return the rows of all parts."""
        if len(parts) == 1:
            return parts[0]
        names = ("y", "file", "row", "weight", "groups")
        arrays = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in names
            if getattr(parts[0], name) is not None
        }
        return cls(stack_rows([part.X for part in parts]), **arrays)


class LabeledSource:
    """Rows of a source with their labels, and an encoder that makes views of them.

    All that follows from the names and types of columns is checked here, before a row is read.

    Labels, as weights, are an array, a column that is then in no view, or None: files of views have
    their own.  So are ``groups``, which say what rows belong together.  In CSV files labels that
    are not numbers are text as written: yes and no, True and False.  ``unlabeled`` rows, whose
    label is None, are an error unless they are allowed (of numbers, not in files of views).  The
    ``classes`` may be given as labels or as text; else one pass over the labels finds them.  Those
    ``of_model`` stay as they are, and labels are written as for `SpelledLabels`.
    Views that are there are scaled if ``encoder.scale_views`` says so.  For columns alone there are
    ``ignored``, columns that are in no view, whatever the globs say; ``time``, a column in whose
    order the rows are read; and ``recognize``, kinds that the values of strings may say, as for
    `recognized`.

    The source with all columns is ``table``, and with those that are used ``stream``.  The classes
    are sorted, and none of numbers; ``class_rows`` is None where they were given.  ``encoder``,
    None if there is nothing to encode, has learned from no row; ``columns`` are those of each view,
    if there are columns.  ``check`` is given each batch before it is encoded or passed over, and
    ``rows_read`` keeps a record of the rows that are read, after `note_rows`.
    """

    check: Callable[[LabeledBatch], None] | None = None
    rows_read: RowsRead | None = None
    some_unlabeled = False
    _shuffled: Shuffled[LabeledBatch] | None = None
    _time: str | None = None
    _format = ""  # of times that are text
    _view: str | None = None

    def __init__(
        self,
        source: Source,
        y: Any,
        encoder: ViewEncoder,
        *,
        task: str | None = None,
        unlabeled: bool = False,
        classes: Sequence[Any] | None = None,
        weight: Any = None,
        groups: Any = None,
        of_model: bool = False,
        **of_columns: Any,
    ) -> None:
        self.table = self.stream = source
        self._of_model = of_model
        self.has_columns, self.in_memory = source.has_columns, source.in_memory
        self.ordered, self.weighted = source.ordered, source.weighted
        y = as_labels(y)
        self.task = task_of(task, source, y)
        self._numbers = self.task == "regression"
        if self._numbers and classes is not None:
            raise InputError("classes are for classification; a number to predict has none")
        self._unlabeled = unlabeled and not (self._numbers and y is None)
        self._check_sources_of_values(y, weight)
        self._label = y if isinstance(y, str) else None
        self._y = None if isinstance(y, str) else self._in_memory(y, classes)
        self._weight = weight if isinstance(weight, str) else None
        self._weights = None if weight is None or self._weight else check_weights(weight)
        self._group = groups if isinstance(groups, str) else None
        self._groups = None if groups is None or self._group else as_groups(groups)
        self.columns: dict[str, list[str]] = {}
        self.encoder: Any = None
        if self.has_columns:
            self._plan_columns(encoder, **of_columns)
        else:
            self._layout = source.layout
            if source.reading is not None:
                how, scaled = {**source.reading, "is_open": source.is_open}, encoder.scale_views
                self.encoder = ViewReader(**how, scale_views=scaled, scale_columns=scaled)
            elif encoder.scale_views:
                self.encoder = ViewScaler(scale_columns=True)
        self.classes, self.class_rows = np.empty(0), None
        if not self._numbers:
            self.classes, self.class_rows = self._find_classes(classes)
        elif self._unlabeled:
            with suppress(InputError):  # reading the rows says where it is
                self.some_unlabeled = any(np.isnan(y).any() for y in self._targets())

    def _check_sources_of_values(self, y: Any, weight: Any) -> None:
        """Raise an error for labels or weights that rows of views cannot have."""
        if self.has_columns:
            return
        if isinstance(weight, str):
            what = "X is a MultiView" if self.in_memory else "the file holds views"
            raise InputError(
                f"{what} and has no column {weight!r}; give {argument('weight')} as an array"
            )
        if self.in_memory and (isinstance(y, str) or y is None):
            raise InputError("X is a MultiView, so y is an array of labels and not a column name")
        if not self.in_memory and y is not None:
            raise InputError("the file has the labels; leave the label out", file=self.file)

    def _in_memory(self, y: Any, classes: Sequence[Any] | None) -> np.ndarray | None:
        """Labels that are an array; a model that knows its classes may get rows of one."""
        if y is None:
            return None
        numbers = self._numbers
        labels = read_targets(y, self._unlabeled) if numbers else share_long(y)
        if not self.has_columns:
            if not self._numbers and classes is None:
                read_classes(labels, unlabeled=self._unlabeled)
            if len(labels) != self.n_rows:
                raise InputError(f"{len(labels)} labels for {self.n_rows} rows")
        return labels

    def _plan_columns(
        self,
        encoder: ViewEncoder,
        *,
        ignored: Sequence[str] = (),
        time: str | None = None,
        recognize: Collection[str] = RECOGNIZED,
    ) -> None:
        """Find the columns of the views, their kinds, and the order of the rows."""
        table, views, per = self.table, encoder.views, encoder.per
        given = {"time": time, "weight": self._weight, "groups": self._group}
        named = {option: name for option, name in given.items() if name is not None}
        for option, name in named.items():
            if name == self._label:
                what = "is the label, so it is not the column of"
                raise InputError(f"{what} {argument(option)}", column=name)
        in_no_view = [*ignored, *named.values()]
        used = predictors(table, self._label, views, in_no_view, per)
        if self._weight is not None:
            check_weight_column(table, self._weight)
        if self._group is not None:
            check_group_column(table, self._group)
        date, format = split_time(encoder.date, time)
        if time is not None:
            self._time, self._format = time, check_time_column(table, time, format)
        if self._label is not None and not self._numbers:
            check_label_type(table.schema.field(self._label).type, self._label)  # as text it is any
        self.table = table = table.as_written([] if self._label is None else [self._label])
        names = [name for name in used.column_names if name != per]
        shared = views if per is None else without_ignored(views, [per], used.column_names)
        declared = {**encoder.get_params(), "date": date}
        found = recognized(table, names, shared, declared, recognize)
        found.warn()
        self._use(table, encoder.set_params(**found.added_to(declared)).fit(used))
        if time is not None and not self.in_memory and self.known_rows is not None:
            check_sortable(self.known_rows * self._least_bytes(), self.file)

    def _least_bytes(self) -> float:
        """Return how many bytes a row takes in memory at least, by the types of its columns."""
        from pyarrow.types import is_primitive

        types = [field.type for field in self.stream.schema if field.name != self._label]
        return BYTES_OF_PLACE + sum(kind.bit_width for kind in types if is_primitive(kind)) / 8

    def _use(self, table: Source, encoder: ViewEncoder) -> None:
        """Read the columns of this encoder, and those of labels and the like."""
        self.columns = encoder.view_columns()
        # names instead of globs, which could match the label
        declared = encoder.declared_columns()
        self.encoder = encoder.set_params(views=encoder.specified_views(), **declared)
        used = [column for group in self.columns.values() for column in group]
        self.stream = table.select([*used, *self.other_columns])

    @property
    def time(self) -> str | None:
        """The column in whose order the rows are read."""
        return self._time

    @property
    def dates(self) -> list[str]:
        """The columns of dates and times in the views."""
        kinds = self.encoder.kinds() if isinstance(self.encoder, ViewEncoder) else {}
        return [name for name, kind in kinds.items() if kind == "date"]

    def settle_bins(self, *, streamed: bool) -> None:
        """Decide what ``bins="auto"`` is: the bins of a stream, or none."""
        encoder = self.encoder
        if isinstance(encoder, ViewEncoder) and encoder.bins == "auto":
            header = encoder.get_header()
            header["n_bins"] = bins_of_stream(len(encoder.count_)) if streamed else 0
            self.encoder = clone(encoder).set_params(bins=header["n_bins"] or None)
            self.encoder.set_header(header)

    @property
    def other_columns(self) -> list[str]:
        """The columns of labels, weights, groups and times, where they are columns."""
        names = (self._label, self._weight, self._group, self._time)
        return [name for name in names if name is not None]

    def _find_classes(self, given: Sequence[Any] | None) -> Classes:
        """The classes, and the rows of each, unless they are given."""
        kind = None
        if self._label is not None:
            kind = check_label_type(self.stream.schema.field(self._label).type, self._label)
        if given is not None:
            if kind is not None and self._of_model:
                return np.asarray(given), None
            if kind is not None:
                return check_classes(as_type(given, kind, self._label), self._label), None
            # the first labels determine their type
            first = (
                next((batch.y for batch in self.batches()), None) if self._y is None else self._y
            )
            labels = [] if first is None else first[has_label(first)].tolist()
            kinds = {type(label) for label in labels} or {str}
            return check_classes([kind(value) for kind in kinds for value in given], None), None
        if self._y is not None:
            self.some_unlabeled = not has_label(self._y).all()
            return read_classes(self._y, unlabeled=self._unlabeled)
        if self._label is not None:
            message = f"the label is missing; {missing_label()}"
            counts = self.stream.value_counts(self._label, empty=self._unlabeled, message=message)
            self.some_unlabeled = counts.pop(None, 0) > 0
        else:
            counts, unlabeled = self.stream.label_counts()
            if unlabeled is not None and not self._unlabeled:
                file, row = unlabeled
                raise InputError(f"the label is missing; {missing_label()}", file=file, row=row)
            self.some_unlabeled = unlabeled is not None
        n_rows = sum(counts.values())
        if self._label in counts:
            self._refuse_header()
        found = check_classes(
            counts, self._label, unlabeled=self.some_unlabeled, n_rows=n_rows, file=self.file
        )
        return found, rows_per_class(found, counts)

    def _refuse_header(self) -> None:
        """Raise an error for a row that is the names of the columns, as where files are joined."""
        import pyarrow.compute as pc

        kinds = zip(self.table.schema.names, self.table.schema.types, strict=True)
        if self._y is not None or not all(is_text(kind) for _, kind in kinds):
            return
        for batch in self.table:
            same = np.ones(len(batch), dtype=bool)
            for name in self.table.column_names:
                same &= numbers_of(pc.fill_null(pc.equal(batch.X.column(name), name), False))
            if same.any():
                with with_row_location(batch):
                    raise InputError(NAMES_AGAIN, row=int(same.argmax()))

    def _targets(self) -> Iterator[Any]:
        """Return the numbers to predict, by a pass over the labels; NaN where one is missing."""
        if self._y is not None:
            return iter([self._y])
        if self._label is None:
            return (batch.y for batch in self.stream)
        label, only = self._label, self.stream.select([self._label])
        return (targets_of(batch.X.column(0), label, True) for batch in only)

    def lowest_target(self) -> float:
        """Return the smallest number to predict, by a pass over the labels; -inf if one is none."""
        least = (float(np.min(y, initial=np.inf, where=~np.isnan(y))) for y in self._targets())
        try:
            return min(least)
        except InputError:  # reading the rows says where it is
            return -np.inf

    # --- what is known before the rows are read --------------------------------------------

    @property
    def batch_rows(self) -> int:
        """Number of rows that are encoded together."""
        return ROWS_OF_COLUMNS if self.has_columns else ROWS_OF_VIEWS

    @property
    def layout(self) -> ViewLayout:
        """Names and widths of the views."""
        if self.has_columns:
            layout: ViewLayout = self.encoder.layout_
            return layout
        whole = self._layout
        if self._view is None:
            return whole
        return ViewLayout([self._view], [whole.widths[whole.index(self._view)]])

    @property
    def n_rows(self) -> int:
        """Number of rows; counted where it was not known."""
        return self.stream.n_rows

    @property
    def known_rows(self) -> int | None:
        """Number of rows, if nothing has to be read for it."""
        return self.table.known_rows

    @property
    def file(self) -> str | None:
        """The first file, where there is one."""
        return self.stream.file

    @property
    def n_blocks(self) -> int:
        """Number of files or row groups that can be read alone; 0 of what is not in files."""
        return self.table.n_blocks

    def hashes(self) -> dict[str, str]:
        """Return a hash of each array in memory: labels, weights and groups."""
        arrays: dict[str, np.ndarray | None] = {
            "labels": self._y,
            "weights": self._weights,
            "groups": self._groups,
        }
        return {name: hash_of(array) for name, array in arrays.items() if array is not None}

    # --- parts -----------------------------------------------------------------------------

    def select_view(self, view: str) -> Self:
        """Return the same rows with one view."""
        narrow = copy.copy(self)
        if not self.has_columns:
            narrow._view = view
            if isinstance(self.encoder, ViewReader):
                only = {view: self.encoder.views[view]}
                narrow.encoder = clone(self.encoder).set_params(views=only)
                if self.encoder.format == "vw" and len(self.encoder.views) > 1:
                    narrow.encoder.is_open = False  # other namespaces are left out on purpose
            return narrow
        whole = self.encoder.specified_views()
        if view not in whole:
            raise InputError(f"view {view!r} is made of the others, and not learned alone")
        return narrow._narrow({view: whole[view]})

    def without_column(self, column: str) -> Self | None:
        """Return the same rows with a column in no view; None if no view is left."""
        if not any(column in own for own in self.columns.values()):
            return self
        whole = self.encoder.specified_views()
        kept = {
            v: [c for c in own if split_form(c, [column])[0] != column] for v, own in whole.items()
        }
        kept = {view: own for view, own in kept.items() if own}
        return copy.copy(self)._narrow(kept) if kept else None

    def _narrow(self, views: dict[str, list[str]]) -> Self:
        """Read only the columns of these views, which it has."""
        known = [column for group in self.columns.values() for column in group]
        mine = list(dict.fromkeys(split_form(c, known)[0] for own in views.values() for c in own))
        declared = {
            kind: [one for one in names if one in mine or split_format(one)[0] in mine]
            for kind, names in self.encoder.declared_columns().items()
        }
        encoder = clone(self.encoder).set_params(views=views, per=None, max_users=None, **declared)
        self._use(self.stream, encoder.fit(self.stream.select(mine).without_rows()))
        return self

    def grouped_by(self, column: str) -> Self:
        """Return the same rows in groups by a column, which is then in no view."""
        narrow = self.without_column(column)
        assert narrow is not None
        grouped = copy.copy(narrow)
        grouped._group = column
        others = [name for name in narrow.stream.column_names if name != column]
        grouped.stream = self.table.select([*others, column])
        return grouped

    def with_columns(self, names: Sequence[str]) -> Self:
        """Return the same rows with these columns besides, which the encoder passes over."""
        more = copy.copy(self)
        if names:
            more.stream = self.table.select([*self.stream.column_names, *names])
        return more

    def with_sources(self, change: Callable[[Source], Source]) -> Self:
        """Return the rows of a source that is made of this one, such as a part of it."""
        part = copy.copy(self)
        part.table = change(self.table)
        part.stream = part.table if self.stream is self.table else change(self.stream)
        return part

    def of_blocks(self, which: slice) -> Self:
        """Return the rows of consecutive files or row groups only, which can be pickled."""
        return self.with_sources(lambda source: source.of_blocks(which))

    # --- rows ------------------------------------------------------------------------------

    def note_rows(self) -> RowsRead:
        """Keep a record of all rows that are read from now on."""
        self.rows_read = RowsRead(self.stream.starts)
        return self.rows_read

    def batches(self, rng: np.random.Generator | None = None) -> Iterator[Batch]:
        """Yield the rows as the source has them; with random numbers, blocks in random order."""
        batches = iter(self.stream) if rng is None else self.stream.with_shuffled_blocks(rng)
        if self.rows_read is None:
            return batches
        return self.rows_read.watch(batches, shuffled=rng is not None)

    def read(self, rng: np.random.Generator | None = None) -> Iterator[LabeledBatch]:
        """Return the rows in their order; with random numbers, blocks of them in random order."""
        if self._time is None:
            return self._read(rng)
        return take_in_order(self._read(None), self._by_time, self.in_memory, self.batch_rows)

    def _by_time(self, rows: LabeledBatch) -> tuple[LabeledBatch, np.ndarray]:
        """Return rows without their times, and their positions in the order of time."""
        assert self._time is not None
        order = order_of(rows, self._time, self._format)
        return replace(rows, X=rows.X.drop_columns([self._time])), order

    def _read(self, rng: np.random.Generator | None) -> Iterator[LabeledBatch]:
        """Yield the rows in the order of the source, or blocks of them in random order."""
        arrays = {"labels": self._y, "weights": self._weights, "groups": self._groups}
        lengths = {what: len(array) for what, array in arrays.items() if array is not None}
        done, numbers = 0, dict[Any, int]()
        for batch in self.batches(None if lengths else rng):  # arrays have an order
            start, done = done, done + len(batch)
            if any(n < done for n in lengths.values()):
                break
            if len(batch):
                yield self._with_labels(batch, slice(start, done), numbers)
        for what, n in lengths.items():
            if n != done:
                of_what = "a table of " if self.has_columns else ""
                raise InputError(f"{n} {what} for {of_what}{done} rows or more")

    def _with_labels(self, batch: Batch, rows: slice, numbers: dict[Any, int]) -> LabeledBatch:
        """A batch with its labels and the like; a bad value is named by file and row.

        ``numbers`` are those of the groups of the batches before.
        """
        X, weight = batch.X, batch.weight if self.weighted else None
        groups = None if self._groups is None else self._groups[rows]
        if self._group is not None:
            groups = groups_of(batch, self._group, numbers)
        if self._time is not None:
            batch.check_complete(self._time, "the time is missing")
        with with_row_location(batch):
            if not self.has_columns:  # before rows move, name the row of a NaN
                make_rows(X.matrix, X.layout, X.present)
            y = self._labels(batch, rows)
            if self._weights is not None:
                weight = self._weights[rows]
            elif self._weight is not None:
                weight = weights_of(batch, self._weight)
            elif weight is not None:
                check_weights(weight)
        if not self.has_columns:
            X = X if self._view is None else X.select([self._view])
        else:
            X = X.drop_columns([name for name in self.other_columns if name != self._time])
            pack = self._shuffled is not None
            X = _compact(X, self.encoder.text) if pack else pyarrow().Table.from_batches([X])
        places = np.arange(batch.first_row, batch.first_row + len(batch))
        file = np.broadcast_to(np.array(batch.file, dtype=object), len(batch))
        return LabeledBatch(X, y, file, places, weight, groups)

    def _labels(self, batch: Batch, rows: slice) -> np.ndarray:
        if self._label is not None:
            column = batch.X.column(self._label)
            if self._numbers:
                return targets_of(column, self._label, self._unlabeled)
            return labels_of(column, self._label, self.classes, self._unlabeled)
        y = batch.y if self._y is None else self._y[rows]
        assert y is not None
        if self._y is not None and (self._numbers or self.class_rows is not None):
            return y  # they were checked together
        return read_targets(y) if self._numbers else check_labels(y, self.classes, self._unlabeled)

    def load(self) -> LabeledBatch:
        """Return all rows with their labels; what cannot be encoded is named by file and row."""
        check = clone(self.encoder) if self.has_columns else None
        parts = []
        for part in self.read():
            if check is not None:
                with with_row_location(part):
                    check.check_rows(part.X)
            parts.append(part)
        if not parts:
            raise NoRowsError("no row is there to learn from", file=self.file)
        rows = LabeledBatch.join(parts)
        if self.has_columns:
            release_unused()
        return rows

    def shuffle(
        self, seed: int, see: Callable[[LabeledBatch], None] | None = None
    ) -> Shuffled[LabeledBatch]:
        """Let `encoded` yield the rows in random order, each time in another one.

        ``see`` gets the rows before, in the order of the source: those that fit in memory.
        """

        def read(rng: np.random.Generator | None) -> Iterator[LabeledBatch]:
            for batch in self.read(rng):
                if see is not None and rng is None:
                    see(batch)
                yield batch

        self._shuffled = Shuffled(
            read, seed=seed, batch_rows=self.batch_rows, in_memory=self.in_memory
        )
        return self._shuffled

    def encode(self, batch: LabeledBatch, encoder: Any, learn: bool) -> MultiView:
        """Return the rows as views; ``learn`` lets the encoder learn each row before."""
        X: MultiView = batch.X
        if encoder is not None:
            with with_row_location(batch):
                X = (encoder.partial_fit_transform if learn else encoder.transform)(batch.X)
        return X

    def encoded(
        self,
        encoder: Any,
        *,
        learn: bool,
        first: int = 0,
        done: int = 0,
        see: Callable[[LabeledBatch], None] | None = None,
        see_done: Callable[[LabeledBatch], None] | None = None,
    ) -> Iterator[tuple[MultiView, np.ndarray, np.ndarray | None]]:
        """Yield the rows as views, with their labels and weights.

        The encoder may be fitted, or begin as ``clone(source.encoder)`` and ``learn`` each row just
        before it encodes it.  In order, the first batch has ``first`` rows (0: as the others);
        ``done`` batches, encoded before, are only checked, and ``see_done`` is given each of them;
        ``see`` is given each of the others.
        """
        batches = prefetch(self._shuffled or regroup(self.read(), self.batch_rows, first))
        for number, batch in enumerate(batches):
            # first, as it names the row of a bad value
            X = self.encode(batch, encoder, learn) if number >= done else None
            for look in (self.check, see if X is not None else see_done):
                if look is not None:
                    look(batch)
            if X is not None:
                yield X, batch.y, batch.weight


def _compact(data: Any, text: Sequence[str]) -> Any:
    """The rows with their categories as dictionaries of what occurs, and text as it is."""
    import pyarrow as pa

    if plain_kinds().issuperset(data.schema.types):
        return pa.Table.from_batches([data])
    columns = {}
    for name, column in zip(data.schema.names, data.columns, strict=True):
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


def stack_rows(parts: list[Any]) -> Any:
    """Return the rows of all parts, Arrow tables or MultiViews, as one."""
    if not isinstance(parts[0], MultiView):
        import pyarrow as pa

        return pa.concat_tables(parts)
    if len(parts) == 1:
        return parts[0]
    sparse = any(sp.issparse(X.matrix) for X in parts)
    matrices = [X.matrix for X in parts]
    matrix = sp.csr_array(sp.vstack(matrices)) if sparse else np.vstack(matrices)
    present = None
    if any(X.present is not None for X in parts):
        present = np.vstack(
            [
                np.ones((len(X), X.layout.n_views), dtype=bool) if X.present is None else X.present
                for X in parts
            ]
        )
    restarts = None
    if any(X.restarts is not None for X in parts):
        starts = np.cumsum([0, *map(len, parts)]).tolist()
        restarts = [
            (start + row, columns)
            for start, X in zip(starts, parts, strict=False)
            for row, columns in X.restarts or ()
        ]
    groups = None
    if parts[0].groups is not None:
        groups = np.concatenate([X.groups for X in parts if X.groups is not None])
    given: dict[str, Any] = {"present": present, "restarts": restarts, "groups": groups}
    return MultiView.from_matrix(matrix, parts[0].layout, **given)


def _is_plain(X: Any) -> bool:
    """Return whether all columns of an Arrow table are numbers."""
    return plain_kinds().issuperset(X.schema.types)


def _size(X: Any) -> int:
    if not isinstance(X, MultiView):
        if _is_plain(X):  # Arrow takes long to look at the buffers of many columns
            return len(X) * sum(kind.bit_width for kind in X.schema.types) // 8
        return int(X.nbytes)
    parts = (
        (X.matrix.data, X.matrix.indices, X.matrix.indptr) if sp.issparse(X.matrix) else (X.matrix,)
    )
    present = 0 if X.present is None else X.present.nbytes
    return sum(part.nbytes for part in parts) + present
