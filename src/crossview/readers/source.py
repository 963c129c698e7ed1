"""Rows of files, queries, data frames and MultiViews, in batches: columns, or views with labels.

The entry of a reader in `crossview.catalog` names its class and its kind.  The class is made from
the list of its files (a query from its text, a table in memory from the table), and finds out all
that can be known before the rows are read.  Both kinds have

``files``
    The files, in reading order; none for a query or a table in memory.
``n_rows``
    The number of rows, or None if it is not known without reading them; `Source` sets it after it
    has read all of them.

A *columnar* reader has ``schema``, a ``pyarrow.Schema``, and
``batches(columns, batch_rows)``, which yields a `Batch` for consecutive rows of one file.  A
`ViewEncoder` makes views of them.

A *sparse* reader has ``layout``, the `ViewLayout` of its rows, and
``batches(batch_rows)``, which yields a `Batch` with labels.

The same reader may be read several times, each time from the start.  `Source` checks after each
batch that its files stay as they were.

A reader may also have

``as_written(columns)``
    The reader for which these columns, unless they are numbers, are text as it is in the file,
    where yes or 2026-01-01 would be read as another type.
``as_kinds(words, numbers)``
    The reader for which some columns are text, and others numbers, whatever they look like.
``blocks`` and ``of_blocks(blocks)``
    Its files or row groups, in the order of the rows, and the reader of only some of them, for
    several machines that read at the same time.
``starts``
    For each file, the rows at which its row groups begin, if they may come in random order.
``reads``
    The names and globs of the files that a query reads.
``in_memory``
    True if the rows are in memory.
``dialect``
    The options of `open_table` with which CSV files are written.
``join``
    The id of several tables that are joined, and messages about them.
``ordered``
    True if an order of the rows was asked for, as by ORDER BY.
``reading``
    The arguments with which other sparse files are read in the same way.
``weighted``
    True if rows of a sparse file have a weight other than 1.
``check_views()``, ``missing_views()``, ``first_pass()`` and ``start_first_pass()``
    What a pass over sparse files finds out before the rows are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.catalog.names import load_object
from crossview.errors import InputError, argument, check_kind, closest_names
from crossview.labels import has_label, whole_labels
from crossview.readers.columnar.csv_format import CsvFormat, check_dialect
from crossview.readers.duck import matching_files, named_files
from crossview.readers.find import find_reader, is_query
from crossview.readers.unchanged import UnchangedFiles
from crossview.tables.arrow import integers, pyarrow
from crossview.tables.dates import DateFormat, find_formats, is_text
from crossview.tables.nested import (
    columns_of_fields,
    expected_vectors,
    fields_as_columns,
    lengths_of_vectors,
    may_be_vectors,
)
from crossview.tables.sparse import find_sparse
from crossview.tables.text import StringColumn, look_at_strings
from crossview.views import MultiView, ViewLayout

if TYPE_CHECKING:
    import pyarrow as pa

# rows of a batch
ROWS_OF_COLUMNS, ROWS_OF_VIEWS = 65536, 10_000
# the first rows, by whose lists it is known whether a column holds vectors
ROWS_OF_LENGTHS = 1000


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive rows of one source.

    file: the file they were read from, where there is one.
    first_row: row number of the first of them in that file (or stream), from 0.
    y (n_samples,): labels that come with views; None or NaN where one is missing.
    weight (n_samples,): weights that come with views.  None: all the same.
    tags: names of the rows in a Vowpal Wabbit file, if they were asked for.
    """

    X: Any
    file: str | None
    first_row: int
    y: Any = None
    weight: np.ndarray | None = None
    tags: list[str | None] | None = None

    def __len__(self) -> int:
        return len(self.X) if isinstance(self.X, MultiView) else int(self.X.num_rows)

    def location(self, row: int) -> tuple[str | None, int]:
        """Return the file of a row, and its row there."""
        return self.file, self.first_row + row

    def check_complete(self, column: str, message: str) -> None:
        """Raise an error for the first row without a value in a column."""
        import pyarrow.compute as pc

        missing = pc.is_null(self.X.column(column), nan_is_null=True)
        if pc.any(missing).as_py():
            file, row = self.location(int(pc.index(missing, True).as_py()))
            raise InputError(message, file=file, row=row, column=column)

    def cut(self, start: int, stop: int) -> Batch:
        """Return consecutive rows."""
        if stop - start == len(self):
            return self
        rows = slice(start, stop)
        X, first_row = take_rows(self.X, rows), self.first_row + start
        y, weight = (None if part is None else part[rows] for part in (self.y, self.weight))
        return replace(self, X=X, first_row=first_row, y=y, weight=weight, tags=None)


def take_rows(X: Any, rows: np.ndarray | slice) -> Any:
    """Return some rows of a MultiView, or of an Arrow table or batch."""
    if isinstance(X, MultiView):
        return X[rows]
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(X.num_rows)
        return X.slice(start, stop - start)
    return X.take(integers(rows))


class _MultiViewReader:
    """Rows of a MultiView, which come at once."""

    in_memory = True

    def __init__(self, X: MultiView) -> None:
        self._X, self.layout, self.n_rows = X, X.layout, len(X)
        self.files: Sequence[str] = []

    def batches(self, batch_rows: int) -> Iterator[Batch]:
        yield Batch(self._X, None, 0)


class _WithNulls:
    """A reader of the columns of another one, and of more that are all null."""

    def __init__(self, reader: Any, columns: list[str]) -> None:
        self._reader, self._columns = reader, columns
        fields = [pyarrow().field(name, pyarrow().null()) for name in columns]
        self.schema = pyarrow().schema([*reader.schema, *fields])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_reader" not in self.__dict__:
            raise AttributeError(name)
        found = getattr(self._reader, name)
        if name not in ("as_written", "as_kinds", "of_blocks"):
            return found
        return lambda *given: _WithNulls(found(*given), self._columns)

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[Batch]:
        """Yield the rows."""
        own = [name for name in columns if name not in self._columns]
        # no reader reads rows without a column
        for batch in self._reader.batches(own or self._reader.schema.names[:1], batch_rows):
            X = batch.X
            for name in columns:
                if name in self._columns:
                    X = X.append_column(name, pyarrow().nulls(len(batch)))
            yield replace(batch, X=X.select(columns))


class Source:
    """Rows of one source, in batches; returned by `open_table` and `open_rows`.

    Each iteration reads the source from the start, and yields a `Batch` at a time, so memory does
    not grow with the source.  The order of the rows is that of the source.

    Parameters
    ----------
    reader : reader
        What reads the rows, as the module describes it.
    columns : list of str, default=None
        The columns to read, in this order.  None: all of them.
    batch_rows : int, default=65536
        Maximum number of rows per batch.
    unchanged : UnchangedFiles, default=None
        The files as they were when they were opened.  None: changes are not looked for.
    format : str, default=""
        Name of the format.
    lengths : mapping of str to int, default=None
        Columns that hold vectors, and how many numbers each has.  None: the first rows say it.

    Attributes
    ----------
    has_columns : bool
        Whether the rows are columns, for a `ViewEncoder`, and not views.
    column_names : list of str
        Names of the columns; none of views.
    schema : pyarrow.Schema
        Names and types of the columns.
    files : list of str
        The files, in reading order; none for a query or what is in memory.
    file : str or None
        The first of them.
    ordered : bool
        Whether a query asks for an order (ORDER BY).
    in_memory : bool
        Whether the rows are in memory.
    dialect : dict of str to value or None
        The options of `open_table` that differ from its defaults, with those that were found out.
        None: the source is no CSV.
    join : Join or None
        The id by which tables were joined, and messages about it.
    """

    def __init__(
        self,
        reader: Any,
        columns: list[str] | None = None,
        batch_rows: int = ROWS_OF_COLUMNS,
        unchanged: UnchangedFiles | None = None,
        format: str = "",
        lengths: Mapping[str, int] | None = None,
    ) -> None:
        self._reader = reader
        self.unchanged = UnchangedFiles() if unchanged is None else unchanged
        self.batch_rows, self.format = batch_rows, format
        self.has_columns = hasattr(reader, "schema")
        self.column_names: list[str] = []
        self._from: dict[str, str] | None = None  # of columns of fields, those of the reader
        if self.has_columns:
            self.schema = reader.schema
            self._lengths = self._lengths_of_vectors() if lengths is None else lengths
            file = next(iter(reader.files), None)
            self._from = columns_of_fields(reader.schema, self._lengths, file)
            if self._from is not None:
                none = pyarrow().RecordBatch.from_pylist([], reader.schema)
                self.schema = fields_as_columns(none, self._lengths).schema
            names = list(self.schema.names)
            self.column_names = names if columns is None else columns
            if self.column_names != names:
                fields = {field.name: field for field in (*reader.schema, *self.schema)}
                self.schema = pyarrow().schema([fields[name] for name in self.column_names])
        self.files = list(reader.files)
        self.file = self.files[0] if self.files else None
        self.ordered = getattr(reader, "ordered", False)
        self.in_memory = getattr(reader, "in_memory", False)
        self.dialect: dict[str, Any] | None = getattr(reader, "dialect", None)
        self.join = getattr(reader, "join", None)

    def _with(self, reader: Any, columns: list[str], files: Any = None) -> Source:
        """The same, of another reader or with other columns."""
        unchanged = self.unchanged if files is None else self.unchanged.only(files)
        if not self.has_columns:
            return Source(reader, None, self.batch_rows, unchanged, self.format)
        return Source(reader, columns, self.batch_rows, unchanged, self.format, self._lengths)

    def _lengths_of_vectors(self) -> dict[str, int]:
        columns = may_be_vectors(self._reader.schema)
        rows = self._reader.batches(columns, ROWS_OF_LENGTHS) if columns else iter(())
        first = next(self.unchanged.watch(rows), None)
        return {} if first is None else lengths_of_vectors(first.X)

    def __repr__(self) -> str:
        rows = "" if self.known_rows is None else f"{self.known_rows} rows, "
        what = f"columns: {', '.join(self.column_names)}" if self.has_columns else "views"
        return f"Source({rows}{what})"

    # --- rows ------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Batch]:
        n_rows = 0
        columns = [self._columns_to_read] if self.has_columns else []
        for batch in self.unchanged.watch(self._reader.batches(*columns, self.batch_rows)):
            n_rows += len(batch)
            yield self._read(batch)
        self._reader.n_rows = n_rows

    @property
    def _columns_to_read(self) -> list[str]:
        """The columns of the reader that have those of this source."""
        if self._from is None:
            return self.column_names
        return list(dict.fromkeys(self._from.get(name, name) for name in self.column_names))

    def _read(self, batch: Batch) -> Batch:
        """Rows of the reader with the columns of this source."""
        if self._from is None:
            return batch
        try:
            X = fields_as_columns(batch.X, self._lengths)
        except InputError as error:
            file, row = batch.location(error.row or 0)
            raise InputError(error.message, file=file, row=row, column=error.column) from None
        for name in self.column_names:
            if name not in self._from:
                X = X.append_column(name, batch.X.column(name))
        return replace(batch, X=X.select(self.column_names))

    def with_shuffled_blocks(self, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield the batches, those of columns in files with the blocks in random order."""
        reader = self._reader

        def shuffled() -> Iterator[Batch]:
            for i in rng.permutation(self.n_blocks):
                block = reader.of_blocks([reader.blocks[i]])
                yield from block.batches(self._columns_to_read, self.batch_rows)

        if self.has_columns and self.files and self.n_blocks:
            yield from map(self._read, self.unchanged.watch(shuffled()))
        else:
            yield from self

    @property
    def known_rows(self) -> int | None:
        """Number of rows, if nothing has to be read for it."""
        n_rows: int | None = self._reader.n_rows
        return n_rows

    @property
    def n_rows(self) -> int:
        """Number of rows; a source that does not know it is read once, for one column."""
        if self._reader.n_rows is None:
            if hasattr(self._reader, "first_pass"):
                with self.unchanged.reading():
                    self._reader.first_pass()
            else:
                for _ in self.select(self.column_names[:1]):
                    pass
        return int(self._reader.n_rows)

    @property
    def n_blocks(self) -> int:
        """Number of files or row groups; 0 for a query or what is in memory."""
        return len(getattr(self._reader, "blocks", ()))

    def of_blocks(self, which: slice) -> Source:
        """Return the rows of consecutive files or row groups only, which can be pickled."""
        reader = self._reader.of_blocks(self._reader.blocks[which])
        return self._with(reader, self.column_names, reader.files)

    @property
    def starts(self) -> dict[str | None, list[int]]:
        """For each file, the rows at which its row groups begin; None stands for no file."""
        files = {file: [0] for file in self.files}
        return {None: [0], **files, **getattr(self._reader, "starts", {})}

    # --- columns ---------------------------------------------------------------------------

    def select(self, columns: Sequence[str]) -> Source:
        """Return the same rows with only these columns, in this order; no other is read.

        Vectors and objects, whose parts are columns, may also be named as they are.
        """
        known = {*self.column_names, *self._columns_to_read}
        for name in columns:
            if name not in known:
                raise InputError(f"no column {name!r}{closest_names(name, self.column_names)}")
        return self._with(self._reader, list(dict.fromkeys(columns)))

    def with_vectors(self, columns: Iterable[str]) -> Source:
        """Return the same rows with the vectors whose numbers these columns are, as in a model.

        Lists of other lengths, or in no row, do not say that they are vectors.
        """
        lengths = expected_vectors(columns, self.column_names)
        if not lengths:
            return self
        lengths = {**self._lengths, **lengths}
        source = Source(self._reader, None, self.batch_rows, self.unchanged, self.format, lengths)
        for name in source.column_names:
            if name in lengths:
                raise InputError(
                    f"holds {source.schema.field(name).type}, and the model has a vector of "
                    f"{lengths[name]} numbers",
                    file=self.file,
                    column=name,
                )
        return source

    def with_nulls(self, columns: Sequence[str]) -> Source:
        """Return the same rows with more columns, all of null."""
        reader = _WithNulls(self._reader, list(columns))
        return self._with(reader, [*self.column_names, *columns])

    def without_rows(self) -> pa.Table:
        """Return the columns without rows; ``empty_table`` would import pandas."""
        return pyarrow().Table.from_batches([], schema=self.schema)

    def as_written(self, columns: Sequence[str]) -> Source:
        """Return the same rows with these columns as they are written, such as yes and no.

        Numbers stay numbers.
        """
        if hasattr(self._reader, "as_written"):
            return self._with(self._reader.as_written(self._plain(columns)), self.column_names)
        return self

    def as_kinds(self, words: Sequence[str], numbers: Sequence[str]) -> Source:
        """Return the same rows, with text files read with some columns as text, others as numbers.

        A value that is no number is then an error with its file and row.
        """
        if hasattr(self._reader, "as_kinds"):
            reader = self._reader.as_kinds(self._plain(words), self._plain(numbers))
            return self._with(reader, self.column_names)
        return self

    def _plain(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns that are no fields: of fields, JSON says the types."""
        return [name for name in columns if self._from is None or self._from[name] == name]

    def find_dates(self, columns: Sequence[str]) -> dict[str, DateFormat]:
        """Return which columns are text that is dates in every row, and their formats.

        Columns that may be dates by the first batch are read to the end.
        """
        known: dict[str, DateFormat | None] = vars(self._reader).setdefault("found_dates", {})
        kinds = {field.name: field.type for field in self.schema}
        names = [name for name in columns if name not in known and is_text(kinds[name])]
        if names and (first := next(iter(self.select(names)), None)) is not None:
            known |= dict.fromkeys(names)
            if len(first) != self.known_rows:
                names = list(find_formats([_columns_of(first)], names, complete=False))
        if names:
            known |= find_formats(map(_columns_of, self.select(names)), names)
        found = {name: known.get(name) for name in columns if is_text(kinds[name])}
        return {name: one for name, one in found.items() if one is not None}

    def find_texts(self, columns: Sequence[str]) -> list[str]:
        """Return which columns of strings are text by their first values, which are read once."""
        return [name for name, one in self._look_at_strings(columns).items() if one.is_text]

    def find_numbers(self, columns: Sequence[str]) -> dict[str, str]:
        """Return which columns of strings are numbers by their first values, and such a value."""
        found = self._look_at_strings(columns).items()
        return {name: one.number for name, one in found if one.number is not None}

    def _look_at_strings(self, columns: Sequence[str]) -> dict[str, StringColumn]:
        kinds = {field.name: field.type for field in self.schema}
        return self._find(look_at_strings, [name for name in columns if is_text(kinds[name])])

    def find_sparse(self, columns: Sequence[str]) -> list[str]:
        """Return which columns of numbers are mostly 0 by their first values, read once."""
        return [name for name, found in self._find(find_sparse, columns).items() if found]

    def _find(self, look: Callable[..., dict[str, Any]], columns: Sequence[str]) -> dict[str, Any]:
        """What a function finds in the values of columns, which are read for it once."""
        known: dict[str, Any] = vars(self._reader).setdefault(look.__name__, {})
        if unknown := [name for name in columns if name not in known]:
            known |= look(map(_columns_of, self.select(unknown)), unknown)
        return {name: known[name] for name in columns}

    def value_counts(
        self,
        column: str,
        *,
        empty: bool = False,
        message: str = "is empty; give it a value or leave the row out",
    ) -> dict[Any, int]:
        """Return the sorted values of a column, and the number of rows of each; no other is read.

        Empty (null or NaN) values are an error with this message, unless ``empty`` allows them:
        they are then one None, the last value.
        """
        import pyarrow.compute as pc

        found: Counter[Any] = Counter()
        for batch in self.select([column]):
            values = batch.X.column(0)
            if not empty:
                batch.check_complete(column, message)
            missing = pc.is_null(values, nan_is_null=True)
            if pc.any(missing).as_py():
                found[None] += pc.sum(missing).as_py()
                values = values.filter(pc.invert(missing))
            if str(values.type).startswith("decimal"):
                values = values.cast("float64")
            found.update({n["values"]: n["counts"] for n in pc.value_counts(values).to_pylist()})
        return dict(sorted(found.items(), key=lambda one: (one[0] is None, one[0])))

    # --- views -----------------------------------------------------------------------------

    @property
    def layout(self) -> ViewLayout:
        """Names and widths of the views; where they are not given, a pass finds them."""
        with self.unchanged.reading():
            layout: ViewLayout = self._reader.layout
        return layout

    @property
    def reading(self) -> dict[str, Any] | None:
        """The arguments that read other files in the same way; None: the files say it."""
        return getattr(self._reader, "reading", None)

    @property
    def weighted(self) -> bool:
        """True if rows of views have a weight other than 1."""
        return getattr(self._reader, "weighted", False)

    @property
    def is_open(self) -> bool:
        """True if views reach as far as the columns of the files, so that later ones add some."""
        return getattr(self._reader, "is_open", False)

    def start(self) -> None:
        """Begin in a thread what has to be read before the rows, labels and columns."""
        if hasattr(self._reader, "start_first_pass"):
            self._reader.start_first_pass()

    def check_views(self) -> None:
        """Raise an error for a view that is empty in every row, where a first pass tells."""
        if hasattr(self._reader, "check_views"):
            self._reader.check_views()

    def missing_views(self) -> list[str]:
        """Return the views of a model that no row has, where names in the files tell."""
        if not hasattr(self._reader, "missing_views"):
            return []
        with self.unchanged.reading():
            found: list[str] = self._reader.missing_views()
        return found

    def label_counts(self) -> tuple[dict[Any, int], tuple[str | None, int] | None]:
        """Return the rows of each label, and the place of the first row without one."""
        if hasattr(self._reader, "first_pass"):
            with self.unchanged.reading():
                found = self._reader.first_pass()
            names = whole_labels(np.array(list(found.labels), dtype=np.float64)).tolist()
            return dict(zip(names, found.labels.values(), strict=True)), found.unlabeled
        labels: Counter[Any] = Counter()
        unlabeled: tuple[str | None, int] | None = None
        for batch in self:
            assert batch.y is not None
            known = has_label(batch.y)
            if unlabeled is None and not known.all():
                unlabeled = batch.location(int(known.argmin()))
            values, counts = np.unique(batch.y[known], return_counts=True)
            labels.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        return labels, unlabeled

    def read_as(
        self, reading: Mapping[str, Any], *, tags: bool = False, beyond: str = "ignore"
    ) -> Source:
        """Return the rows of the same files with the views of others.

        ``reading`` is the attribute of the other source; ``tags`` as for `open_rows`; columns
        ``beyond`` those views are passed over, with a warning for "warn", or added for "add".
        """
        how = {**reading, "tags": tags, "beyond": beyond}
        if self.format != how.pop("format"):
            raise InputError(
                f"is {self.format}, and the model reads {reading['format']}; convert it with "
                "crossview convert, or name its format",
                file=self.file,
            )
        with self.unchanged.reading():
            reader = type(self._reader)(self.files, **how)
        return self._with(reader, [])


def _columns_of(batch: Batch) -> dict[str, Any]:
    return dict(zip(batch.X.schema.names, batch.X.columns, strict=True))


def open_source(
    X: Any,
    *,
    views: Any = None,
    hash_bits: int = 18,
    dialect: Mapping[str, Any] | None = None,
) -> Source:
    """Open columns or views, whichever a source holds.

    ``views`` and ``hash_bits`` are for files of views, as in `open_rows`; ``dialect`` is for CSV,
    as in `open_table`.
    """
    if isinstance(X, Source):
        return X
    if isinstance(X, MultiView):
        return Source(_MultiViewReader(X))
    if find_reader(X)[0].kind == "sparse":
        return open_rows(X, views=views, hash_bits=hash_bits)
    return open_table(X, dialect=dialect)


def _check_kind(has: bool, wanted: bool, what: str, file: str | None) -> None:
    """Raise an error for columns where views are wanted, or for views instead of columns."""
    if has != wanted:
        kinds = "has columns and no views" if has else "holds views and no columns"
        raise InputError(f"is {what}, which {kinds}", file=file)


def _find_reader(source: Any, format: str | None, batch_rows: int, *, columns: bool) -> Any:
    """The entry of the reader, and the files or the query that it reads."""
    check_kind("a name or None", format=format)
    check_kind("a whole number", batch_rows=batch_rows)
    if batch_rows < 1:
        raise InputError(f"batch_rows={batch_rows}; a batch has at least 1 row")
    reader, content = find_reader(source, format)
    file = content[0] if isinstance(content, list) else None
    _check_kind(reader.kind == "columnar", columns, reader.name, file)
    return reader, content


def input_files(source: Any) -> list[str]:
    """Return the files that a source is read from, also those that a query names."""
    if isinstance(source, Source):
        return list(source.files)
    if isinstance(source, str) and is_query(source):
        return named_files(source)
    files = [] if isinstance(source, MultiView) else find_reader(source)[1]
    return files if isinstance(files, list) else []


def open_table(
    source: Any,
    *,
    format: str | None = None,
    null: Sequence[str] | None = None,
    decimal: str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    dialect: Mapping[str, Any] | None = None,
    batch_rows: int = 65536,
) -> Source:
    """Open files, a query or a data frame for reading in batches.

    Parameters
    ----------
    source : path, glob, list of paths, query or data frame
        Parquet (``.parquet``), CSV with a header line (``.csv``, ``.tsv``) or JSON lines
        (``.jsonl``, ``.ndjson``, ``.json``); the last two also as ``.gz`` and ``.zst``.
        A glob is read in the order of the names, with numbers in them as numbers: day_2 before
        day_10; all its files have the same columns.
        Text that starts with SELECT, WITH or FROM is a query for DuckDB, in which file
        names are tables: ``"SELECT * FROM 'clicks.parquet' ORDER BY ts"``.  DuckDB also
        reads ``https://`` and ``s3://``, if its extension httpfs is installed.  A table in
        memory may be of pandas, polars or Arrow.  Where a column holds objects, as JSON does, each
        of their fields is a column: the field city of user is ``user__city``.  So is each number of
        vectors, which are lists of as many numbers in each row: ``image__0``, ``image__1``, ...
    format : {"csv", "json", "parquet"}, default=None
        The format of files; None: the end of their names says it.
    null : sequence of str, default=None
        Of CSV: fields that are missing values, such as NA, besides empty ones.  None: no others.
    decimal : {".", ","}, default=None
        Of CSV: what stands before the decimals of a number.  None: a point, or with a warning a
        comma, where another character divides the fields and the numbers of the first rows have it.
    delimiter : str, default=None
        Of CSV: what divides two fields.  None: what DuckDB sees between those of the first rows;
        where these differ in length or have odd quotes, a comma, or what the first line has
        of tab, semicolon and bar if it has no comma.
    quote : str, default=None
        Of CSV: what encloses a field that contains the delimiter; twice, it is itself.  Empty:
        no character has this meaning.  None: ``"``.
    header : bool, default=None
        Of CSV: whether the first line names the columns.  False: they are called ``x0``, ``x1``,
        ...  None: it does.
    encoding : str, default=None
        Of CSV: what the text is written in, such as utf-8, cp1252 (Windows, western Europe) or
        utf-16.  None: UTF-8 if the bytes are that, UTF-16 if the file begins so, and otherwise
        what charset-normalizer finds, with a warning.
    dialect : mapping of str to value, default=None
        Of CSV: these options of other files like it, such as ``trained.encoder.dialect``, for the
        options that are None here.  Its delimiter and encoding hold where the file does not show
        others.
    batch_rows : int, default=65536
        Maximum number of rows per batch; memory grows with it, and reading is slow
        below some thousand.

    Returns
    -------
    Source
        Iterate over it, as often as needed.

    Warns
    -----
    GuessWarning
        A file is not UTF-8, and which encoding it has is a guess, a comma is the decimal point,
        the decimal points of a column may separate thousands, or a column has no name: a first
        one that numbers the rows is left out, and others are called ``Unnamed: 0``, ...

    Notes
    -----
    Parquet keeps text columns as dictionaries, so that each text is stored once per batch.
    CSV and JSON lines are read twice: once to find the types that fit every row of
    every file, once for the rows.  An empty CSV field is null.  Of a CSV file that is not UTF-8 a
    copy that is goes to the temporary folder (the variable TMPDIR), and stays there as long as the
    process.  A file that changes after it was opened is an error, before a row is yielded that was
    read after the change.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from crossview import open_table
    >>> stream = open_table(pa.table({"age": [30, 41, 25], "city": ["Oslo", "Bonn", "Oslo"]}))
    >>> stream
    Source(3 rows, columns: age, city)
    >>> [len(batch) for batch in stream]
    [3]
    >>> stream.value_counts("city")
    {'Bonn': 1, 'Oslo': 2}
    """
    if isinstance(source, Source):
        _check_kind(source.has_columns, True, source.format or "a MultiView", source.file)
        return source
    check_kind("a name or a list of names or None", null=null)
    null = [null] if isinstance(null, str) else null
    for one in () if null is None else null:
        check_kind("a name", null=one)
    check_kind("a name or None", decimal=decimal, delimiter=delimiter, quote=quote)
    check_kind("True or False or None", header=header)
    check_kind("a mapping of names or None", dialect=dialect)
    reader, content = _find_reader(source, format, batch_rows, columns=True)
    given = {
        "null": None if null is None else tuple(null),
        "decimal": decimal,
        "delimiter": delimiter,
        "quote": quote,
        "header": header,
        "encoding": encoding,
    }
    given = {name: value for name, value in given.items() if value is not None}
    files = UnchangedFiles(content if isinstance(content, list) else ())
    if reader.name == "csv":
        check_dialect(dialect)
        csv = CsvFormat.with_dialect(given, dialect or {})
        with files.reading():
            opened = load_object(reader.path)(content, csv, dialect)
    elif not given:
        with files.reading():
            opened = load_object(reader.path)(content)
    else:
        names = ", ".join(map(argument, CsvFormat._fields))
        raise InputError(
            f"{names} are about CSV files; in a query say read_csv('a.csv', nullstr='NA')"
        )
    if reader.name == "query":
        files = UnchangedFiles(matching_files(opened.reads), opened.reads)
    return Source(opened, None, int(batch_rows), files, reader.name)


def open_rows(
    source: Any,
    *,
    format: str | None = None,
    views: Mapping[str, Any] | None = None,
    hash_bits: int = 18,
    tags: bool = False,
    batch_rows: int = 10_000,
) -> Source:
    r"""Open files of sparse rows for reading in batches, in constant memory.

    Batches have ``X``, a `MultiView`, ``y``, the labels, ``weight`` and ``tags``, and say where
    they were read: ``file`` and ``first_row``.

    Parameters
    ----------
    source : path, glob or list of paths
        Files of svmlight or LIBSVM (``.svm``, ``.svmlight``, ``.libsvm``), libffm (``.ffm``) or
        Vowpal Wabbit (``.vw``), also compressed as ``.gz`` or ``.zst``.
    format : {"svmlight", "libffm", "vw"}, default=None
        Their format.  None: the end of their names says it.
    views : mapping of str to str or list, default=None
        What each view holds; the rest is passed over.  Of svmlight ranges of columns, both ends
        included, by their numbers in the file: ``{"page": "1:1840", "link": "1841:"}``; of libffm
        fields: ``{"user": "0,3"}``; of Vowpal Wabbit namespaces: ``{"user": ["u", "v"]}``.  None:
        of svmlight one view, "all", with all columns; otherwise one view for each field or
        namespace.
    hash_bits : int, default=18
        Of Vowpal Wabbit, each view has 2 to the power of this many slots: a name that is a whole
        number is a slot, modulo their number, and another one is hashed.  Of libffm, a field whose
        indices range over more columns is folded into as many.  More bits mean fewer entries that
        meet in a slot, which are added up, and more memory.
    tags : bool, default=False
        Whether batches have the tags of Vowpal Wabbit.
    batch_rows : int, default=10000
        Maximum number of rows per batch.

    Returns
    -------
    Source
        Iterate over it, as often as needed.

    Raises
    ------
    InputError
        A file does not exist, or is not of this format.  Bytes that are wrong are an error, with
        line and column, when they are read.  So is a file that changes after it was opened, before
        a row is yielded that was read after the change, such as the start of a line that was cut.

    Notes
    -----
    Where views, or the ends of ranges, are not given, a first pass over the files finds them.
    A view without an entry in a row is 0 there, and not missing.  Entries may be in any order.

    Examples
    --------
    >>> import os, tempfile
    >>> from crossview import open_rows
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.svm")
    >>> with open(path, "w") as file:
    ...     print("+1 1:0.5 3:2", "-1 2:1", sep="\n", file=file)
    >>> for batch in open_rows(path, views={"page": "1:2", "link": "3:"}):
    ...     print(batch.X, batch.y, batch.X["page"].toarray().tolist())
    MultiView(2 rows, page: 2, link: 1) [ 1 -1] [[0.5, 0.0], [0.0, 1.0]]
    """
    if isinstance(source, Source):
        _check_kind(source.has_columns, False, source.format or "a table", source.file)
        return source
    check_kind("a mapping of names or None", views=views)
    check_kind("a whole number", hash_bits=hash_bits)
    check_kind("True or False", tags=tags)
    reader, content = _find_reader(source, format, batch_rows, columns=False)
    how: dict[str, Any] = {}
    if reader.takes_views:
        how = {"views": views, "hash_bits": hash_bits, "tags": tags}
    elif views is not None:
        raise InputError(
            f"the file names its views; leave {argument('views')} at None", file=content[0]
        )
    files = UnchangedFiles(content)
    with files.reading():
        opened = load_object(reader.path)(content, **how)
    return Source(opened, None, int(batch_rows), files, reader.name)
