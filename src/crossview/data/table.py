"""Columns of files, queries and data frames as a stream of Arrow record batches.

Only one batch is in memory, whatever the size of the source, and the order of the rows is that of
the source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from crossview.catalog.names import load_object
from crossview.data.arrow import pyarrow
from crossview.data.encoding.dates import DateFormat, find_formats, is_text
from crossview.data.readers.csv_format import CsvFormat, check_dialect
from crossview.data.readers.duck import matching_files
from crossview.data.source import TableBatch, TableSource, find_reader
from crossview.data.unchanged import UnchangedFiles
from crossview.errors import InputError, closest_names

__all__ = ["TableStream", "open_table"]


class _Blocks:
    """Base class of a stream of files: the blocks that they consist of."""

    _source: Any
    column_names: list[str]
    batch_rows: int
    unchanged: UnchangedFiles

    def __iter__(self) -> Iterator[TableBatch]:
        raise NotImplementedError

    @property
    def n_blocks(self) -> int:
        """Number of files or row groups; 0 for a query or a table in memory."""
        return len(getattr(self._source, "blocks", ()))

    def of_blocks(self, which: slice) -> TableStream:
        """Return the rows of consecutive files or row groups only.

        Parameters
        ----------
        which : slice
            Of the blocks, in the order of the rows.

        Returns
        -------
        TableStream
            A stream of the same columns, which can be pickled.
        """
        source: Any = self._source.of_blocks(self._source.blocks[which])
        unchanged = self.unchanged.only(source.files)
        return TableStream(source, self.column_names, self.batch_rows, unchanged)

    @property
    def starts(self) -> dict[str | None, list[int]]:
        """Of each file the rows at which its row groups begin; None is what is in no file."""
        files = {file: [0] for file in self._source.files}
        return {None: [0], **files, **getattr(self._source, "starts", {})}

    def with_shuffled_blocks(self, rng: np.random.Generator) -> Iterator[TableBatch]:
        """Yield the batches with the blocks of the source in random order, if it has blocks.

        Parameters
        ----------
        rng : numpy.random.Generator
            Draws the order.

        Yields
        ------
        TableBatch
            The rows; those of a block are in their order.
        """
        shuffled = getattr(self._source, "batches_of_shuffled_blocks", None)
        if shuffled is None:
            yield from self
        else:
            yield from self.unchanged.watch(shuffled(self.column_names, self.batch_rows, rng))


class _Dates(_Blocks):
    """Base class of a stream: which of its text is dates."""

    schema: Any

    def find_dates(self, columns: Sequence[str]) -> dict[str, DateFormat]:
        """Return which columns are text that is dates in every row, and how these are written.

        It reads columns that may be dates once, and only the first batch of others.

        Parameters
        ----------
        columns : sequence of str
            Names of columns.

        Returns
        -------
        formats : dict of str to DateFormat
            By column.
        """
        known: dict[str, DateFormat | None] = vars(self._source).setdefault("found_dates", {})
        kinds = {field.name: field.type for field in self.schema}
        names = [name for name in columns if name not in known and is_text(kinds[name])]
        if names:
            for batch in self.select(names):
                first = [dict(zip(batch.data.schema.names, batch.data.columns, strict=True))]
                known |= dict.fromkeys(names)
                names = list(find_formats(first, names, complete=False))
                break
        if names:
            batches = (
                dict(zip(batch.data.schema.names, batch.data.columns, strict=True))
                for batch in self.select(names)
            )
            known |= find_formats(batches, names)
        found = {name: known.get(name) for name in columns if is_text(kinds[name])}
        return {name: one for name, one in found.items() if one is not None}

    def select(self, columns: Sequence[str]) -> TableStream:
        """Return the same rows with only these columns."""
        raise NotImplementedError


class TableStream(_Dates):
    """Iterable over the batches of a table; returned by `open_table`.

    Each iteration reads the source from the start.

    Parameters
    ----------
    source : TableSource
        A columnar reader.
    columns : list of str
        The columns to read, in this order.
    batch_rows : int
        Maximum number of rows per batch.
    unchanged : UnchangedFiles, default=None
        The files as they were when they were opened.  None: nobody asks whether they change.

    Attributes
    ----------
    column_names : list of str
        Names of the columns.
    schema : pyarrow.Schema
        Their names and types.
    files : list of str
        The files, in reading order; empty for a query or a table in memory.
    ordered : bool
        Whether a query asks for an order (ORDER BY).
    in_memory : bool
        Whether the rows are a table in memory.
    dialect : dict of str to value or None
        Of CSV files: the options of `open_table` that are not its defaults, with what was found
        out.  None: of other sources.
    join : Join or None
        The id by which tables were joined, and what is said of it.
    """

    def __init__(
        self,
        source: TableSource,
        columns: list[str],
        batch_rows: int,
        unchanged: UnchangedFiles | None = None,
    ) -> None:
        self._source = source
        self.unchanged = UnchangedFiles() if unchanged is None else unchanged
        self.batch_rows = batch_rows
        self.column_names = columns
        self.schema = source.schema
        if columns != source.schema.names:
            fields = dict(zip(source.schema.names, source.schema, strict=True))
            self.schema = pyarrow().schema([fields[name] for name in columns])
        self.files = list(source.files)
        self.ordered = getattr(source, "ordered", False)
        self.in_memory = getattr(source, "in_memory", False)
        self.dialect: dict[str, Any] | None = getattr(source, "dialect", None)
        self.join = getattr(source, "join", None)

    @property
    def known_rows(self) -> int | None:
        """Number of rows, if nothing has to be read for it."""
        return self._source.n_rows

    @property
    def n_rows(self) -> int:
        """Number of rows; a source that does not know it is read once, for one column."""
        if self._source.n_rows is None:
            for _ in self.select(self.column_names[:1]):
                pass
        assert self._source.n_rows is not None
        return self._source.n_rows

    def __iter__(self) -> Iterator[TableBatch]:
        n_rows = 0
        batches = self._source.batches(self.column_names, self.batch_rows)
        for batch in self.unchanged.watch(batches):
            n_rows += batch.data.num_rows
            yield batch
        self._source.n_rows = n_rows

    def select(self, columns: Sequence[str]) -> TableStream:
        """Return the same rows with only these columns; the others are not read.

        Parameters
        ----------
        columns : sequence of str
            Names of columns, in the order wanted.

        Returns
        -------
        TableStream
            A stream of those columns.
        """
        known = set(self.column_names)
        for name in columns:
            if name not in known:
                raise InputError(f"no column {name!r}{closest_names(name, self.column_names)}")
        return self._with(self._source, list(dict.fromkeys(columns)))

    def _with(self, source: TableSource, columns: list[str]) -> TableStream:
        """The same files, read in another way."""
        return TableStream(source, columns, self.batch_rows, self.unchanged)

    def as_written(self, columns: Sequence[str]) -> TableStream:
        """Return the same rows with these columns as they are written, such as yes and no.

        Parameters
        ----------
        columns : sequence of str
            Names of columns.  Numbers stay numbers.

        Returns
        -------
        TableStream
            A stream of all columns.
        """
        as_written = getattr(self._source, "as_written", None)
        source = self._source if as_written is None else as_written(columns)
        return self._with(source, self.column_names)

    def as_kinds(self, words: Sequence[str], numbers: Sequence[str]) -> TableStream:
        """Return the same rows, where text files are read with these types.

        Parameters
        ----------
        words : sequence of str
            Columns of text, also where it consists of digits.
        numbers : sequence of str
            Columns of numbers; what is none is named by file and row.

        Returns
        -------
        TableStream
            A stream of all columns.
        """
        as_kinds = getattr(self._source, "as_kinds", None)
        source = self._source if as_kinds is None else as_kinds(words, numbers)
        return self._with(source, self.column_names)

    def value_counts(self, column: str, *, empty: bool = False) -> dict[Any, int]:
        """Return the sorted values of a column, and in how many rows each is.

        No other column is read.

        Parameters
        ----------
        column : str
            Name of the column.
        empty : bool, default=False
            Whether there may be empty (null or NaN) values, which are then one None, the
            last value; an error otherwise.

        Returns
        -------
        dict of value to int
            Python values, and their rows.
        """
        import pyarrow.compute as pc

        found: Counter[Any] = Counter()
        for data, file, first_row in self.select([column]):
            values = data.column(0)
            missing = pc.is_null(values, nan_is_null=True)
            if pc.any(missing).as_py():
                if not empty:
                    raise InputError(
                        "is empty; give it a value or leave the row out",
                        file=file,
                        row=first_row + pc.index(missing, True).as_py(),
                        column=column,
                    )
                found[None] += pc.sum(missing).as_py()
                values = values.filter(pc.invert(missing))
            if str(values.type) == "string_view":
                values = values.cast("large_string")
            found.update({n["values"]: n["counts"] for n in pc.value_counts(values).to_pylist()})
        return dict(sorted(found.items(), key=lambda one: (one[0] is None, one[0])))

    def __repr__(self) -> str:
        known = self._source.n_rows
        rows = "" if known is None else f"{known} rows, "
        return f"TableStream({rows}columns: {', '.join(self.column_names)})"


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
) -> TableStream:
    """Open files, a query or a data frame for reading in batches.

    Parameters
    ----------
    source : path, glob, list of paths, query or data frame
        Parquet (``.parquet``), CSV with a header line (``.csv``, ``.tsv``) or JSON lines
        (``.jsonl``, ``.ndjson``, ``.json``); the last two also as ``.gz`` and ``.zst``.
        A glob is read in the order of the names; all its files have the same columns.
        Text that starts with SELECT, WITH or FROM is a query for DuckDB, in which file
        names are tables: ``"SELECT * FROM 'clicks.parquet' ORDER BY ts"``.  DuckDB also
        reads ``https://`` and ``s3://``, if its extension httpfs is installed.  A table in
        memory may be of pandas, polars or Arrow.
    format : {"csv", "json", "parquet"}, default=None
        The format of files; None: the end of their names says it.
    null : sequence of str, default=None
        Of CSV: fields that are missing values, such as NA, besides empty ones.  None: no others.
    decimal : {".", ","}, default=None
        Of CSV: what stands before the decimals of a number.  None: a point.
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
    TableStream
        Iterate over it, as often as needed.

    Warns
    -----
    GuessedEncodingWarning
        A file is not UTF-8, and which encoding it has is a guess.

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
    TableStream(3 rows, columns: age, city)
    >>> [batch.data.num_rows for batch in stream]
    [3]
    >>> stream.value_counts("city")
    {'Bonn': 1, 'Oslo': 2}
    """
    if isinstance(source, TableStream):
        return source
    if isinstance(null, str):
        null = [null]
    if batch_rows < 1:
        raise InputError(f"batch_rows={batch_rows}; a batch has at least 1 row")
    reader, content = find_reader(source, format)
    if reader.kind != "columnar":
        raise InputError(f"is {reader.name}, which holds views and no columns", file=content[0])
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
        names = ", ".join(f"{name}=" for name in CsvFormat._fields)
        raise InputError(
            f"{names} are about CSV files; in a query say read_csv('a.csv', nullstr='NA')"
        )
    if reader.name == "query":
        files = UnchangedFiles(matching_files(opened.reads), opened.reads)
    return TableStream(opened, list(opened.schema.names), int(batch_rows), files)
