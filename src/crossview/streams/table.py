"""Files, queries and data frames as a stream of Arrow record batches.

Four kinds of source, one class each, all with the same few attributes: Parquet
files, text files (CSV and JSON lines), a query that DuckDB runs, and tables in
memory.  Memory is bounded by the batch, never by the file, and rows come in the
order in which they stand in the source.  Nothing here knows of views or models.
"""

from __future__ import annotations

import csv
import difflib
import glob
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from crossview.errors import InputError, closest_names

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["TableBatch", "TableStream", "is_query", "open_table"]

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_QUERY = re.compile(r"\s*(SELECT|WITH|FROM)\b\s*\S", re.IGNORECASE)


class TableBatch(NamedTuple):
    """Consecutive rows of one source.

    Attributes
    ----------
    data : pyarrow.RecordBatch
        The rows.
    file : str or None
        The file they were read from, where there is one.
    first_row : int
        Row number of the first of them in that file (or stream), from 0.
    """

    data: pa.RecordBatch
    file: str | None
    first_row: int


class TableStream:
    """A table that is read in batches, as often as it is iterated over.

    Made by `open_table`.  Each iteration opens the source afresh.

    Parameters
    ----------
    source : Parquet files, text files, a query or a table in memory
        One of the private classes of this module.
    columns : list of str
        The columns to read, in this order.
    batch_rows : int
        The most rows a batch has.

    Attributes
    ----------
    column_names : list of str
        Names of the columns.
    schema : pyarrow.Schema
        Their names and types.
    n_rows : int or None
        Number of rows, where the source tells without being read.
    files : list of str
        The files behind it, in reading order; empty for a query or a table in memory.
    """

    def __init__(self, source: _Source, columns: list[str], batch_rows: int) -> None:
        self._source = source
        self._batch_rows = batch_rows
        self.column_names = columns
        self.schema = _pyarrow().schema([source.schema.field(name) for name in columns])
        self.n_rows = source.n_rows
        self.files = list(source.files)

    def __iter__(self) -> Iterator[TableBatch]:
        return self._source.batches(self.column_names, self._batch_rows)

    def select(self, columns: Sequence[str]) -> TableStream:
        """The same rows with only these columns; the others are not read.

        Parameters
        ----------
        columns : sequence of str
            Names of columns, in the order wanted.

        Returns
        -------
        TableStream
            A stream of those columns.
        """
        for name in columns:
            if name not in self.column_names:
                raise InputError(f"no column {name!r}{closest_names(name, self.column_names)}")
        return TableStream(self._source, list(dict.fromkeys(columns)), self._batch_rows)

    def distinct(self, column: str, *, empty: bool = False) -> list[Any]:
        """The values that a column takes, sorted; only that column is read.

        Parameters
        ----------
        column : str
            Name of the column.
        empty : bool, default=False
            Whether there may be empty (null or NaN) values, which are then one None, the
            last value; an error otherwise.

        Returns
        -------
        list
            Python values.
        """
        import pyarrow.compute as pc

        found: set[Any] = set()
        some_empty = False
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
                some_empty = True
                values = values.filter(pc.invert(missing))
            found.update(pc.unique(values).to_pylist())
        return [*sorted(found), *([None] if some_empty else [])]

    def __repr__(self) -> str:
        rows = "" if self.n_rows is None else f"{self.n_rows} rows, "
        return f"TableStream({rows}columns: {', '.join(self.column_names)})"


def open_table(source: Any, *, batch_rows: int = 65536) -> TableStream:
    """Open files, a query or a data frame for reading in batches.

    Parameters
    ----------
    source : path, glob, list of paths, query or data frame
        Parquet (``.parquet``), CSV with a header line (``.csv``, ``.tsv``) or JSON lines
        (``.jsonl``, ``.ndjson``, ``.json``); the last two also as ``.gz`` and ``.zst``.
        A glob is read in the order of the names; all its files have the same columns.
        Text that begins with SELECT, WITH or FROM is a query for DuckDB, in which files
        stand for tables: ``"SELECT * FROM 'clicks.parquet' ORDER BY ts"``.  A table in
        memory may be of pandas, polars or Arrow.
    batch_rows : int, default=65536
        The most rows a batch has; memory grows with it, and below some
        thousand reading becomes slow.

    Returns
    -------
    TableStream
        Iterate over it, as often as you like.

    Notes
    -----
    Parquet keeps text columns as dictionaries, so that a text is stored once a batch.
    CSV and JSON lines are read twice: once to find the types that fit every row of
    every file, once for the rows.  An empty CSV field is null.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from crossview import open_table
    >>> stream = open_table(pa.table({"age": [30, 41, 25], "city": ["Oslo", "Bonn", "Oslo"]}))
    >>> stream
    TableStream(3 rows, columns: age, city)
    >>> [batch.data.num_rows for batch in stream]
    [3]
    >>> stream.distinct("city")
    ['Bonn', 'Oslo']
    """
    if isinstance(source, TableStream):
        return source
    if batch_rows < 1:
        raise InputError(f"batch_rows={batch_rows}; a batch has at least 1 row")
    opened = _open(source)
    return TableStream(opened, list(opened.schema.names), int(batch_rows))


def is_query(source: str) -> bool:
    """Whether it is a query for DuckDB, and no file of that name."""
    return bool(_QUERY.match(source)) and not os.path.exists(source)


def _open(source: Any) -> _Source:
    if isinstance(source, str) and is_query(source):
        return _Query(source)
    if isinstance(source, str | os.PathLike):
        files = _expand(os.fspath(source))
    elif isinstance(source, list | tuple):
        files = [file for path in source for file in _expand(os.fspath(path))]
        if not files:
            raise InputError("an empty list of files; name at least one")
    else:
        return _Memory(source)
    formats = [_format_of(file) for file in files]
    for file, kind in zip(files, formats, strict=True):
        if kind != formats[0]:
            raise InputError(f"is not {formats[0]} as {files[0]}; read them apart", file=file)
        if os.path.getsize(file) == 0:
            raise InputError("is empty (0 bytes)", file=file)
    return _Parquet(files) if formats[0] == "parquet" else _Text(files, formats[0])


def _expand(path: str) -> list[str]:
    """The files that a path or glob names, sorted by name."""
    if os.path.isdir(path):
        raise InputError(f"is a folder; name its files, for example {path}/*.parquet", file=path)
    if os.path.exists(path):
        return [path]
    if not any(mark in path for mark in "*?["):
        folder, name = os.path.split(path)
        there = sorted(os.listdir(folder or ".")) if os.path.isdir(folder or ".") else []
        close = difflib.get_close_matches(name, there, n=1)
        hint = f"; did you mean {os.path.join(folder, close[0])!r}?" if close else ""
        raise InputError(f"no such file{hint}", file=path)
    files = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
    if not files:
        raise InputError("no file matches this pattern", file=path)
    return files


def _format_of(file: str) -> str:
    """Parquet, csv or json, by the end of the name."""
    stem, suffix = os.path.splitext(file.lower())
    packed = suffix in _COMPRESSIONS
    kind = _FORMATS.get(os.path.splitext(stem)[1] if packed else suffix)
    if kind is None or (packed and kind == "parquet"):
        raise InputError(
            "cannot tell the format from the name; use .parquet, .csv, .tsv or .jsonl "
            "(the text formats also with .gz or .zst)",
            file=file,
        )
    return kind


class _Source(Protocol):
    """What `TableStream` asks of a source."""

    schema: pa.Schema
    n_rows: int | None
    files: Sequence[str]

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[TableBatch]: ...


class _Parquet:
    """Parquet files; text columns come as dictionaries, as they are stored."""

    def __init__(self, files: list[str]) -> None:
        self.files: Sequence[str] = files
        self.n_rows: int | None = 0
        for file in files:
            with _one_line(file), self._file(file) as parquet:
                schema = parquet.schema_arrow
                self.n_rows += parquet.metadata.num_rows
            _check_unique(schema.names, file)
            if file == files[0]:
                self.schema = schema.remove_metadata()
            else:
                self._widen(file, schema)

    def _file(self, file: str) -> Any:
        from pyarrow import parquet, types

        metadata = parquet.read_metadata(file)
        kinds = metadata.schema.to_arrow_schema()
        texts = [f.name for f in kinds if types.is_string(f.type) or types.is_large_string(f.type)]
        # small buffers and no pre-buffering: memory follows the batch, not the row group
        return parquet.ParquetFile(
            file, metadata=metadata, read_dictionary=texts, pre_buffer=False, buffer_size=1 << 20
        )

    def _widen(self, file: str, schema: pa.Schema) -> None:
        """Make room in the common schema for what this file holds."""
        pa = _pyarrow()
        _check_same_columns(schema.names, self.schema.names, file, self.files[0])
        for i, ours in enumerate(self.schema):
            theirs = schema.field(ours.name)
            if ours.type == theirs.type:
                continue
            try:
                wide = pa.unify_schemas(
                    [pa.schema([ours]), pa.schema([theirs])], promote_options="permissive"
                )
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                raise InputError(
                    f"holds {theirs.type}, but {self.files[0]} holds {ours.type}",
                    file=file,
                    column=ours.name,
                ) from None
            self.schema = self.schema.set(i, wide.field(0))

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[TableBatch]:
        pa = _pyarrow()
        schema = pa.schema([self.schema.field(name) for name in columns])
        for file in self.files:
            row = 0
            with _one_line(file), self._file(file) as parquet:
                for data in parquet.iter_batches(batch_rows, columns=columns):
                    data = data.select(columns)
                    if data.schema != schema:  # another file has a wider type
                        data = data.cast(schema)
                    yield TableBatch(data, file, row)
                    row += data.num_rows


class _Text:
    """CSV and JSON lines, through DuckDB, one file after the other."""

    def __init__(self, files: list[str], kind: str) -> None:
        self.files: Sequence[str] = files
        self.n_rows: int | None = None
        self._kind = kind
        if kind == "csv":
            self._read, self._options = "read_csv", _csv_options(files)
            inference = "sample_size=-1, files_to_sniff=-1"
        else:
            array = all(file.lower().endswith(".json") for file in files)
            layout = "auto" if array else "newline_delimited"
            self._read, self._options = "read_json", f"format='{layout}', dateformat='%Y-%m-%d'"
            inference = f"sample_size=-1, maximum_sample_files={len(files)}"
        paths = "[" + ", ".join(_path(file) for file in files) + "]"
        where = files[0] if len(files) == 1 else None
        with _connection() as duck, _one_line(where):
            try:
                found = duck.sql(
                    f"DESCRIBE FROM {self._read}({paths}, {self._options}, {inference})"
                ).fetchall()
            except Exception:
                self._find_bad_row(duck)
                raise
            if kind == "csv":  # a row that is too long can make DuckDB see another column
                odd = [row[0] for row in found] != _header(files[0])[0]
            else:  # its way to say that not all rows are objects
                odd = [row[:2] for row in found] == [("json", "JSON")]
            if odd:
                self._find_bad_row(duck)
                raise InputError("its rows do not share the same columns", file=where)
            # "NULL": no value in any row
            self._types = {row[0]: row[1].replace('"NULL"', "VARCHAR") for row in found}
            self.schema = self._rows(duck, files[0], list(self._types), 0).schema

    def _rows(self, duck: Any, file: str, columns: list[str], batch_rows: int) -> Any:
        """One file as a reader of record batches; of no rows, for its schema, when 0."""
        types = ", ".join(f"{_literal(c)}: {_literal(t)}" for c, t in self._types.items())
        fixed = ", auto_detect=false" if self._kind == "csv" else ""
        chosen = ", ".join(_identifier(c) for c in columns)
        relation = duck.sql(
            f"SELECT {chosen} FROM "
            f"{self._read}({_path(file)}, {self._options}{fixed}, columns={{{types}}})"
        )
        return relation.to_arrow_reader(batch_rows) if batch_rows else _empty(relation)

    def _find_bad_row(self, duck: Any) -> None:
        """Raise the error with file and row of the first row that no types can fit."""
        for file in self.files:
            if self._kind == "json":
                _check_json_lines(file)
                continue
            types = dict.fromkeys(_header(file)[0], "VARCHAR")
            columns = ", ".join(f"{_literal(c)}: {_literal(t)}" for c, t in types.items())
            with _one_line(file):
                duck.sql(
                    f"SELECT count(*) FROM read_csv({_path(file)}, {self._options}, "
                    f"auto_detect=false, columns={{{columns}}})"
                ).fetchall()

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[TableBatch]:
        with _connection() as duck:
            for file in self.files:
                row = 0
                with _one_line(file):
                    for data in self._rows(duck, file, columns, batch_rows):
                        yield TableBatch(data, file, row)
                        row += data.num_rows


class _Query:
    """Rows of a query that DuckDB runs."""

    def __init__(self, query: str) -> None:
        self.files: Sequence[str] = []
        self.n_rows: int | None = None
        self._query = query.strip().rstrip(";")
        with _connection() as duck, _one_line(None):
            relation = duck.sql(self._query)
            _check_unique(relation.columns, None)
            self.schema = _empty(relation).schema

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[TableBatch]:
        chosen = ", ".join(_identifier(c) for c in columns)
        row = 0
        with _connection() as duck, _one_line(None):
            for data in duck.sql(self._query).project(chosen).to_arrow_reader(batch_rows):
                yield TableBatch(data, None, row)
                row += data.num_rows


class _Memory:
    """A data frame, through Arrow."""

    def __init__(self, frame: Any) -> None:
        pa = _pyarrow()
        arrow = to_arrow(frame)
        self._table = arrow if isinstance(arrow, pa.Table) else pa.Table.from_batches([arrow])
        self.files: Sequence[str] = []
        self.schema = self._table.schema.remove_metadata()
        self.n_rows: int | None = self._table.num_rows

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[TableBatch]:
        row = 0
        for data in self._table.select(columns).to_batches(max_chunksize=batch_rows):
            yield TableBatch(data, None, row)
            row += data.num_rows


def column_names(frame: Any) -> list[str]:
    """The names of a data frame's columns; ``x0``, ``x1``, ... for an ndarray."""
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2:
            raise InputError(f"an array of {frame.ndim} dimensions; a table has 2")
        return [f"x{c}" for c in range(frame.shape[1])]
    pa = _pyarrow()
    if isinstance(frame, pa.Table | pa.RecordBatch):
        names = list(frame.schema.names)
        _check_unique(names, None)
        return names
    return [str(name) for name in _eager(frame).columns]


def to_arrow(frame: Any, columns: Sequence[str] | None = None) -> Any:
    """A data frame of any library as an Arrow table, or a record batch if it is one.

    Of pandas without its index; there and in an ndarray NaN becomes null.
    ``columns`` says which columns, and then the others may hold anything.
    """
    pa = _pyarrow()
    names = column_names(frame)
    columns = names if columns is None else list(columns)
    if isinstance(frame, pa.Table | pa.RecordBatch):
        return frame.select(columns)
    try:
        if isinstance(frame, np.ndarray):
            arrays = [pa.array(frame[:, names.index(c)], from_pandas=True) for c in columns]
            return pa.table(dict(zip(columns, arrays, strict=True)))
        table = _eager(frame)
        table = table.select([name for name in table.columns if str(name) in columns])
        if table.implementation.is_pandas():
            arrow = pa.Table.from_pandas(table.to_native(), preserve_index=False)
        else:
            arrow = table.to_arrow()
        return arrow.select(columns)
    except pa.ArrowException as error:
        raise InputError(f"cannot read the data frame: {_first_line(error)}") from None


def _eager(frame: Any) -> Any:
    """Any data frame in memory, as narwhals sees it."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError:
        _check_unique([str(name) for name in frame.columns], None)
        raise
    except TypeError:
        raise InputError(
            f"cannot read a table from {type(frame).__name__}; give a file name, a query, or a "
            "pandas, polars or Arrow table (collect a lazy one first)"
        ) from None


# --- names and files -----------------------------------------------------------------------


def _check_unique(names: Sequence[str], file: str | None) -> None:
    for name in names:
        if list(names).count(name) > 1:
            raise InputError(f"two columns are called {name!r}; rename one", file=file)


def _check_same_columns(
    names: Sequence[str], expected: Sequence[str], file: str, first: str
) -> None:
    missing = [name for name in expected if name not in names]
    extra = [name for name in names if name not in expected]
    if missing:
        raise InputError(f"has no column {missing[0]!r}, which {first} has", file=file)
    if extra:
        raise InputError(f"has a column {extra[0]!r}, which {first} has not", file=file)


def _header(file: str) -> tuple[list[str], str]:
    """The column names of a CSV file and the character between them."""
    with _one_line(file), _pyarrow().input_stream(file) as stream:
        start = bytes(stream.read(1 << 20)).decode("utf-8-sig", errors="replace")
    lines = start.splitlines()
    if not lines or not lines[0].strip():
        raise InputError("is empty; its first line must name the columns", file=file)
    # a comma, but for .tsv and for a header without commas
    delimiter = next((d for d in (",", "\t", ";", "|") if d in lines[0]), ",")
    if os.path.splitext(file.lower().removesuffix(".gz").removesuffix(".zst"))[1] == ".tsv":
        delimiter = "\t"
    names = next(csv.reader(lines, delimiter=delimiter))
    for name in names:
        if not name.strip():
            raise InputError("has a column without a name in its first line", file=file)
    _check_unique([name.lower() for name in names], file)  # DuckDB takes A for a
    return names, delimiter


def _csv_options(files: list[str]) -> str:
    """How DuckDB is to read these files; raise if their headers differ."""
    names, delimiter = _header(files[0])
    for file in files[1:]:
        theirs, their_delimiter = _header(file)
        _check_same_columns(theirs, names, file, files[0])
        if theirs != names or their_delimiter != delimiter:
            raise InputError(f"has its columns in another order than {files[0]}", file=file)
    return (
        f"header=true, delim={_literal(delimiter)}, quote='\"', escape='\"', comment='', "
        "nullstr='', dateformat='%Y-%m-%d'"
    )


def _check_json_lines(file: str) -> None:
    """Raise with the row of the first line that is not a JSON object."""
    with _one_line(file), _pyarrow().input_stream(file) as stream:
        for row, line in enumerate(_lines(stream)):
            try:
                value = json.loads(line) if line.strip() else {}
            except ValueError as error:
                raise InputError(
                    f"not valid JSON (line {row + 1}): {_first_line(error)}", file=file, row=row
                ) from None
            if not isinstance(value, dict):
                raise InputError(
                    f'not a JSON object such as {{"age": 30}} (line {row + 1})', file=file, row=row
                )


def _lines(stream: Any) -> Iterator[bytes]:
    """Lines of an Arrow input stream, which has no readline of its own when compressed."""
    rest = b""
    while block := stream.read(1 << 20):
        *whole, rest = (rest + bytes(block)).split(b"\n")
        yield from whole
    if rest:
        yield rest


# --- DuckDB --------------------------------------------------------------------------------


@contextmanager
def _connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory that loads nothing from a network and sees no Python variable."""
    try:
        import duckdb
    except ImportError:
        raise InputError(
            "reading CSV, JSON lines and SQL needs duckdb: pip install 'crossview[cli]'"
        ) from None
    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
        "preserve_insertion_order": "true",
    }
    with duckdb.connect(":memory:", config=config) as connection:
        yield connection


def _empty(relation: Any) -> Any:
    """The columns of a relation without its rows."""
    return relation.limit(0).to_arrow_table()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _path(file: str) -> str:
    return _literal(glob.escape(file))


# --- errors --------------------------------------------------------------------------------


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise InputError("reading tables needs pyarrow: pip install 'crossview[cli]'") from None
    return pyarrow


@contextmanager
def _one_line(file: str | None) -> Iterator[None]:
    """Turn what Arrow and DuckDB raise into an `InputError` of one line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        kinds = [OSError, _pyarrow().ArrowException]
        if "duckdb" in sys.modules:  # else it cannot have raised this
            kinds.append(sys.modules["duckdb"].Error)
        if not isinstance(error, tuple(kinds)):
            raise
        raise _explain(error, file) from None


_RAGGED = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
_BAD_VALUE = re.compile(r'Error when converting column "(.*?)"\. (.*)')
_OTHER = re.compile(r"^(?!.*CSV Error)(.*\b(?:found|detected|[Mm]aximum)\b.*)$", re.MULTILINE)


def _explain(error: Exception, file: str | None) -> InputError:
    """The error of one line that stands for this one."""
    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    if line is None:
        return InputError(_first_line(error), file=file)
    row = int(line[1]) - 2  # DuckDB counts records, from 1 for the header
    column = None
    if ragged := _RAGGED.search(text):
        message = f"{ragged[2]} fields instead of the {ragged[1]} that the header names"
    elif value := _BAD_VALUE.search(text):
        message, column = value[2], value[1]
    else:
        other = _OTHER.search(text)
        message = other[1].rstrip(".") if other else "cannot be read as CSV"
    return InputError(f"{message} (line {line[1]})", file=file, row=row, column=column)


def _first_line(error: Exception) -> str:
    """The first line that says something, without DuckDB's class of error before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    return re.sub(r"^(\w+ )+Error: ", "", first)
