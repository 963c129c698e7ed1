"""CSV and JSON lines, through DuckDB, one file after the other.

Both are read twice: once to find the types that fit every row of every file, once for the rows.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crossview.errors import InputError, argument
from crossview.readers.columnar.csv_format import CsvFormat, hint_about
from crossview.readers.columnar.wide import WIDE, fits_types, read_wide
from crossview.readers.duck import (
    TIMES,
    connection,
    describe,
    identifier,
    literal,
    quoted_path,
    read_batches,
    schema_of,
    sniff_csv,
    sniff_delimiter,
)
from crossview.readers.encodings import (
    UTF_8,
    as_utf8,
    check_utf8,
    find_encoding,
    line_ends,
    said_delimiter,
    warn_of_guess,
)
from crossview.readers.source import Batch
from crossview.tables.arrow import (
    check_same_columns,
    check_unique,
    first_line,
    one_line,
    pyarrow,
)

if TYPE_CHECKING:
    import pyarrow as pa


# of the line that names the columns
MOST_BYTES = 1 << 26


# rows in which a field too many or too few says that no names stand in the first line
NEAR_THE_HEADER = 20
# files that a message names
MOST_FILES = 4

# a date before it has a year of two digits
FIRST_YEAR = 1000

# of a file, by which a column is seen to number them
_NUMBERED_ROWS = 100_000


class _TextSource:
    """Files of one text format; a format says how DuckDB reads it."""

    reader: str
    inference: str
    fixed = ""
    header_lines = 1
    # types that are words in the file
    words: tuple[str, ...] = ("DATE", "TIME")
    # whether yes and no stay words; true and false are lower case
    words_for_booleans = False
    _booleans: frozenset[str] = frozenset()
    _encodings: dict[str, str]
    _mixed: frozenset[str] = frozenset()  # the files whose lines end in several ways
    # what columns are called in DuckDB, of those whose names it takes for others
    _inner: Mapping[str, str] = MappingProxyType({})

    def __init__(self, files: list[str]) -> None:
        self.files: Sequence[str] = files
        self.n_rows: int | None = None
        self._options = self._read_options()
        paths = "[" + ", ".join(quoted_path(self._readable(file)) for file in files) + "]"
        inference = self.inference.format(n_files=len(files))
        where = files[0] if len(files) == 1 else None
        with connection() as duck, self._explaining(where):
            try:
                found = self._find_types(duck, paths, f"{self._options}, {inference}")
            except Exception:
                self._find_bad_row(duck)
                raise
            if self._misread(found):
                self._find_bad_row(duck)
                raise InputError(self._words_of_misread(), file=where)
            # "NULL": no value in any row; float64 would make one of two numbers of 20 digits
            # a time of day without its day is no date: it is a category, as from other sources; and
            # JSON, of strings beside numbers, would have the strings in their quotes
            words = '"NULL"|\\b(HUGEINT|BIGNUM|JSON)\\b|^TIME$'
            kinds = [re.sub(words, "VARCHAR", kind) for _, kind in found]
            self._types = dict(zip(self._names(found), kinds, strict=True))
            self._types |= dict.fromkeys(self._no_dates(duck), "VARCHAR")
            self._types |= dict.fromkeys(self._more_numbers(duck), "DOUBLE")
            if self.words_for_booleans:
                self._booleans = frozenset(
                    name for name, kind in self._types.items() if kind == "BOOLEAN"
                )
                self._types |= dict.fromkeys(self._booleans, "VARCHAR")
            self.schema = schema_of(duck, self._types)

    def _no_dates(self, duck: Any) -> set[str]:
        """The columns of what DuckDB takes for dates: years of two digits, and infinity.

        It may take the day for such a year.  As text they are read by the formats of
        `tables.dates`, or named.
        """
        times = [name for name, kind in self._types.items() if kind in ("DATE", *TIMES)]
        columns = map(identifier, times)
        wrong = [f"bool_or(year({one}) < {FIRST_YEAR} OR isinf({one}))" for one in columns]
        found: set[str] = set()
        for file in self.files if times else ():
            (some,) = self._rows(duck, file, times).aggregate(", ".join(wrong)).fetchall()
            found.update(name for name, is_wrong in zip(times, some, strict=True) if is_wrong)
        return found

    def _more_numbers(self, duck: Any) -> set[str]:
        """The columns of text that are numbers."""
        return set()

    @property
    def blocks(self) -> list[str]:
        """The files."""
        return list(self.files)

    def of_blocks(self, blocks: Sequence[str]) -> Self:
        """Return the rows of some files only."""
        other = copy.copy(self)
        other.files, other.n_rows = list(blocks), None
        return other

    def as_written(self, columns: Sequence[str]) -> Self:
        """Return the same rows, where these columns are text unless they are numbers."""
        words = [name for name in columns if self._types[name].startswith(self.words)]
        written = self._with_types(dict.fromkeys(words, "VARCHAR"))
        written._booleans = self._booleans - set(columns)
        return written

    def as_kinds(self, words: Sequence[str], numbers: Sequence[str]) -> Self:
        """Return the same rows, where some columns are text, and others numbers."""
        nested = ("STRUCT", "MAP", "BOOLEAN")
        types = {
            name: "VARCHAR"
            for name in words
            if not (self._types[name].startswith(nested) or self._types[name].endswith("]"))
        }
        types |= {name: "DOUBLE" for name in numbers if self._types[name] == "VARCHAR"}
        return self._with_types(types)

    def _with_types(self, types: dict[str, str]) -> Self:
        """The same rows, with other types of some columns."""
        pa = pyarrow()
        other = copy.copy(self)
        other._types = self._types | types
        arrow = {"VARCHAR": pa.string(), "DOUBLE": pa.float64()}
        fields = [
            pa.field(one.name, arrow[types[one.name]]) if one.name in types else one
            for one in self.schema
        ]
        other.schema = pa.schema(fields)
        return other

    def _read_options(self) -> str:
        """Return the options with which DuckDB reads the files."""
        raise NotImplementedError

    def _readable(self, file: str) -> str:
        """The name of a file in UTF-8 with the same content."""
        return as_utf8(file, self._encodings[file], same_ends=file in self._mixed)

    @contextmanager
    def _explaining(self, file: str | None) -> Iterator[None]:
        """Errors of one line that name the file, and the option with which it can be read."""
        with one_line(file, self.header_lines):
            yield

    def _find_types(self, duck: Any, paths: str, options: str) -> list[tuple[str, str]]:
        """The names of the columns, and the types that fit all rows."""
        return describe(duck, f"{self.reader}({paths}, {options})")

    def _names(self, columns: list[tuple[str, str]]) -> list[str]:
        """The names of the columns that DuckDB found."""
        return [name for name, _ in columns]

    def _words_of_misread(self) -> str:
        return "its rows do not share the same columns"

    def _misread(self, columns: list[tuple[str, str]]) -> bool:
        """Return whether DuckDB took a bad row for something else than it is."""
        raise NotImplementedError

    def _find_bad_row(self, duck: Any) -> None:
        """Raise the error with file and row of the first row that no types can fit."""
        raise NotImplementedError

    def _rows(self, duck: Any, file: str, columns: list[str]) -> Any:
        """The relation of one file, with these columns or all of them."""
        inner = self._inner
        types = ", ".join(
            f"{literal(inner.get(c, c))}: {literal(t)}" for c, t in self._types.items()
        )
        # DuckDB takes long to look up many names
        whole = 2 * len(columns) > len(self._types) and not inner
        names = (f"{identifier(inner.get(c, c))} AS {identifier(c)}" for c in columns)
        chosen = "*" if whole else ", ".join(names)
        return duck.sql(
            f"SELECT {chosen} FROM "
            f"{self.reader}({quoted_path(self._readable(file))}, "
            f"{self._options}{self.fixed}, columns={{{types}}})"
        )

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[Batch]:
        """Yield the rows with these columns."""
        for file in self.files:
            row = 0
            with self._explaining(file):
                for data in self._read(file, columns, batch_rows):
                    rows = _lower_booleans(data.select(columns), self._booleans)
                    yield Batch(rows, file, row)
                    row += data.num_rows

    def _read(self, file: str, columns: list[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of a file, with these columns at least."""
        with connection() as duck:
            yield from read_batches(duck, self._rows(duck, file, columns), batch_rows)


def _lower_booleans(data: pa.RecordBatch, columns: frozenset[str]) -> pa.RecordBatch:
    """The rows with true and false of these columns in lower case."""
    import pyarrow.compute as pc

    for name in columns.intersection(data.schema.names):
        column = data.column(name)
        lower = pc.utf8_lower(column)
        column = pc.if_else(pc.is_in(lower, pyarrow().array(["true", "false"])), lower, column)
        data = data.set_column(data.schema.get_field_index(name), name, column)
    return data


class CsvSource(_TextSource):
    """CSV files, by default with a header line."""

    reader = "read_csv"
    words_for_booleans = True
    inference = "sample_size=-1"
    fixed = ", auto_detect=false"

    def __init__(
        self,
        files: list[str],
        format: CsvFormat,
        dialect: Mapping[str, Any] | None,
    ) -> None:
        format.check()
        self._format, self._expected = format, dialect or {}
        self.header_lines, self._encodings = int(format.header), {}
        try:
            self._open(files)
        except InputError:  # DuckDB reads no file whose lines end in several ways
            ends = {file: line_ends(file, self._encodings.get(file, UTF_8)) for file in files}
            self._mixed = frozenset(file for file, found in ends.items() if len(found) > 1)
            if not self._mixed:
                raise
            self._format = format
            self._open(files)
            for file in self._mixed:
                warn_of_guess(
                    f"{file}: its lines end in several ways ({', '.join(ends[file])}); each is "
                    "read as the end of a line"
                )

    def _open(self, files: list[str]) -> None:
        """Find the columns, and name those without a name or leave them out."""
        super().__init__(files)
        names = list(self._unnamed)
        if names and names[0] == self._header[0] and self._numbers_rows(names[0]):
            self.schema = self.schema.remove(0)
            del names[0]
            warn_of_guess(
                f"{self.files[0]}: its first column has no name and numbers the rows: it is left "
                "out (with a name, it is kept)"
            )
        if names:
            called = "column without a name is" if len(names) == 1 else "columns without names are"
            warn_of_guess(f"{self.files[0]}: the {called} called {', '.join(map(repr, names))}")

    def _numbers_rows(self, column: str) -> bool:
        """Return whether whole numbers from 0 differ in most rows, by the first of them.

        Frames that were put together number some rows twice.
        """
        if self._types[column] != "BIGINT":
            return False
        name = identifier(column)
        test = f"2 * count(DISTINCT {name}) > count(*) AND min({name}) >= 0"
        with connection() as duck:
            for file in self.files:
                with self._explaining(file):
                    rows = self._rows(duck, file, [column]).limit(_NUMBERED_ROWS)
                    if rows.aggregate(test).fetchall() != [(True,)]:
                        return False
        return True

    @property
    def dialect(self) -> dict[str, Any]:
        """Dialect of the files, as options of `open_table`."""
        return self._format.options()

    @contextmanager
    def _explaining(self, file: str | None) -> Iterator[None]:
        try:
            with super()._explaining(file):
                yield
        except InputError as error:
            hint = hint_about(error, self._format)
            if "fields instead of" in error.message and error.file is not None:
                ends = line_ends(error.file, self._encodings.get(error.file, UTF_8))
                if "CR" in ends and len(ends) > 1:
                    hint = (
                        "; carriage returns (CR) without quotes end lines in this file: a text "
                        "with one needs quotes (in pandas to_csv(quoting=1)), or a space in its "
                        "place"
                    )
                elif self._format.header and (error.row or 0) < NEAR_THE_HEADER:
                    hint = (
                        f"; the first line, {', '.join(self._header)!r:.60}, is taken for the "
                        "names of the columns; if these are further down, remove the lines above "
                        "them"
                    )
            column = {inner: name for name, inner in self._inner.items()}.get(error.column or "")
            raise InputError(
                error.message + hint,
                file=error.file,
                row=error.row,
                column=column or error.column,
            ) from None

    def _read_options(self) -> str:
        given, expected = self._format.encoding, self._expected.get("encoding")
        self._encodings = {file: find_encoding(file, given, expected) for file in self.files}
        others = [one for one in self._encodings.values() if one != UTF_8]
        encoding = others[0] if others else UTF_8
        if others and given is None and expected is not None:
            encoding = expected if expected in others else encoding
        first = self.files[0]
        likely = said_delimiter(first, self._encodings[first]) or self._expected.get("delimiter")
        header = self._header_of(first, likely)
        names, self._unnamed, delimiter, decimal, self._thousands, _ = header
        self._infinite = set(header.infinite)
        if decimal == "," and self._format.decimal is None:
            right = argument(decimal=".")
            warn_of_guess(f"{first}: read with a decimal comma; if that looks wrong, give {right}")
        self._format = self._format._replace(
            delimiter=delimiter, encoding=encoding, decimal=decimal
        )
        self._header = names
        known: set[str] = set()
        self._inner = {name: name for name in self._unnamed}  # DuckDB calls them otherwise
        for name in names:  # A is a, for DuckDB
            if name.lower() in known:
                self._inner[name] = f"{name} ({len(known)})"
            known.add(self._inner.get(name, name).lower())
        for file in self.files[1:]:
            header = self._header_of(file)
            theirs = header.names
            self._infinite.update(header.infinite)
            self._check_delimiter(file, theirs)
            check_same_columns(theirs, names, file, self.files[0])
            if theirs != names:
                some = [literal(one) for one in self.files[:MOST_FILES]]
                some += ["..."] if len(self.files) > MOST_FILES else []
                raise InputError(
                    f"has its columns in another order than {self.files[0]}; a query reads them "
                    f'by name: "FROM read_csv([{", ".join(some)}], union_by_name=true)"',
                    file=file,
                )
        quote, null = literal(self._format.quote), ", ".join(map(literal, ["", *self._format.null]))
        return (
            f"header={str(self._format.header).lower()}, delim={literal(delimiter)}, "
            f"quote={quote}, escape={quote}, comment='', nullstr=[{null}], "
            f"decimal_separator={literal(decimal)}, dateformat='%Y-%m-%d'"
        )

    def _more_numbers(self, duck: Any) -> set[str]:
        """Those that begin with infinity, which DuckDB takes for a date."""
        begin = (self._header[column] for column in self._infinite)
        names = [name for name in begin if self._types[name] == "VARCHAR"]
        marks = ".," if self._format.decimal == "," else ",."
        written = (f"translate({identifier(name)}, ',.', '{marks}')" for name in names)
        tests = [f"bool_and({x} IS NULL OR TRY_CAST({x} AS DOUBLE) IS NOT NULL)" for x in written]
        found = set(names)
        for file in self.files if names else ():
            (are,) = self._rows(duck, file, names).aggregate(", ".join(tests)).fetchall()
            found -= {name for name, is_one in zip(names, are, strict=True) if is_one is False}
        return found

    def _find_types(self, duck: Any, paths: str, options: str) -> list[tuple[str, str]]:
        found = self._find_all_types(duck, paths, options)
        for column, value in self._thousands.items():
            if column < len(found) and found[column][1] == "DOUBLE":
                few = float(value.replace(",", "."))
                warn_of_guess(
                    f"{self.files[0]}: {self._header[column]}: {value} is read as {few:g}; if its "
                    "mark separates thousands, write the numbers without it"
                )
        return found

    def _find_all_types(self, duck: Any, paths: str, options: str) -> list[tuple[str, str]]:
        if len(self.files) == 1:  # which takes less time per column
            wide, path = len(self._header) > WIDE, quoted_path(self._readable(self.files[0]))
            return sniff_csv(duck, path, options, wide=wide)
        found = super()._find_types(duck, paths, f"{options}, files_to_sniff=-1")
        if any(kind in TIMES for _, kind in found):
            path = quoted_path(self._readable(self.files[0]))
            first = sniff_csv(duck, path, options, wide=False)
            words = {name for name, kind in first if kind == "VARCHAR"}
            found = [(name, "VARCHAR" if name in words else kind) for name, kind in found]
        return found

    def _read(self, file: str, columns: list[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        types = {name: self._types[name] for name in columns}
        done = 0
        if (
            len(self._types) > WIDE
            and fits_types(types.values())
            and len(self._format.delimiter or "") == 1
        ):
            names = list(self._types)
            try:
                path = self._readable(file)
                for data in read_wide(path, names, types, self._format, batch_rows):
                    yield data
                    done += data.num_rows
                return
            except pyarrow().ArrowInvalid:  # DuckDB takes it, or says what is wrong
                pass
        for data in super()._read(file, columns, batch_rows):
            new = data.slice(min(done, data.num_rows))
            done -= data.num_rows - new.num_rows
            if new.num_rows:
                yield new

    def _names(self, columns: list[tuple[str, str]]) -> list[str]:
        if self._format.header and not self._inner:
            return [name.strip() for name in super()._names(columns)]
        return self._header

    def _words_of_misread(self) -> str:
        words = super()._words_of_misread()
        return f"{words}; if its first line names none, say {argument(header=False)}"

    def _misread(self, columns: list[tuple[str, str]]) -> bool:
        # a row that is too long can make DuckDB see another column
        return len(columns) != len(self._header) or self._names(columns) != self._header

    def _check_delimiter(self, file: str, names: list[str]) -> None:
        """Raise an error for a file with the columns of the first one, and another delimiter."""
        if set(names) == set(self._header):
            return
        own = _header(file, self._readable(file), self._format._replace(delimiter=None))
        if set(own.names) == set(self._header):
            raise InputError(
                f"has {own.delimiter!r} between its columns, and {self.files[0]} "
                f"{self._format.delimiter!r}; write them alike, or read them apart",
                file=file,
            )

    def _find_bad_row(self, duck: Any) -> None:
        for file in self.files:
            names = (self._inner.get(name, name) for name in self._header_of(file).names)
            columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
            with one_line(file, self.header_lines):
                duck.sql(
                    f"SELECT count(*) FROM read_csv({quoted_path(self._readable(file))}, "
                    f"{self._options}, auto_detect=false, columns={{{columns}}})"
                ).fetchall()

    def _header_of(self, file: str, likely: str | None = None) -> _Header:
        """What `_header` finds in a file."""
        return _header(file, self._readable(file), self._format, likely)


class JsonSource(_TextSource):
    """JSON lines, and ``.json`` files that hold an array of rows."""

    reader = "read_json"
    inference = "sample_size=-1, maximum_sample_files={n_files}"

    def _read_options(self) -> str:
        self._encodings = {file: check_utf8(file, "JSON") for file in self.files}
        array = all(file.lower().endswith(".json") for file in self.files)
        layout = "auto" if array else "newline_delimited"
        # other times stay text: DuckDB finds their format, and does not read by it
        times = "timestampformat='%Y-%m-%d %H:%M:%S'"
        return f"format='{layout}', dateformat='%Y-%m-%d', {times}"

    def _misread(self, columns: list[tuple[str, str]]) -> bool:
        # DuckDB's way to say that not all rows are objects
        return columns == [("json", "JSON")]

    def _find_bad_row(self, duck: Any) -> None:
        for file in self.files:
            _check_json_lines(file)


class _Header(NamedTuple):
    """What the first lines of a CSV file say.

    unnamed: those of the names that the file does not give.
    thousands: numbers of columns whose decimal points may separate thousands, and a value of each.
    infinite: numbers of columns whose first value is infinity.
    """

    names: list[str]
    unnamed: list[str]
    delimiter: str
    decimal: str
    thousands: dict[int, str]
    infinite: list[int]


def _header(file: str, path: str, format: CsvFormat, likely: str | None = None) -> _Header:
    """The header of a CSV file, of which ``path`` is the same in UTF-8."""
    with one_line(file), pyarrow().input_stream(path) as stream:
        start = bytes(stream.read(1 << 20))
        while b"\n" not in start and len(start) < MOST_BYTES and (more := stream.read(1 << 20)):
            start += bytes(more)
    text = start.decode("utf-8-sig", errors="replace")
    lines = re.split(r"\r\n|\r|\n", text)  # and not at what else Unicode calls a line's end
    if not lines or not lines[0].strip():
        raise InputError("is empty; its first line must name the columns", file=file)
    if likely is not None and format.delimiter is None and _is_delimiter(likely, lines[0], format):
        format = format._replace(delimiter=likely)
    delimiter = format.delimiter or _find_delimiter(file, path, lines[0], format)
    try:
        fields = format.split(lines, delimiter)
    except csv.Error as error:
        raise InputError(f"its first line names no columns ({error})", file=file) from None
    decimal = format.decimal or format.likely_decimal(lines[:_LINES], delimiter)
    format = format._replace(decimal=decimal)
    first_rows = lines[:_LINES] if format.header else [lines[0], *lines[:_LINES]]
    thousands = dict(format.like_thousands(first_rows, delimiter))
    infinite = format.first_infinite(first_rows, delimiter)
    names = [f"x{i}" for i in range(len(fields))]
    names, unnamed = _names_of(fields, file) if format.header else (names, [])
    return _Header(names, unnamed, delimiter, decimal, thousands, infinite)


def _names_of(fields: list[str], file: str) -> tuple[list[str], list[str]]:
    """The names of all columns, and those of them that the first line does not give."""
    names = [name.strip() for name in fields]
    if not any(names):
        raise InputError("is empty in its first line, which must name the columns", file=file)
    check_unique([name for name in names if name], file)
    taken, unnamed = set(names), []
    for i, name in enumerate(names):
        if not name:
            free = f"Unnamed: {i}"  # as in pandas
            while free in taken:
                free += ".1"
            names[i] = free
            unnamed.append(free)
    return names, unnamed


def _is_delimiter(likely: str, first: str, format: CsvFormat) -> bool:
    """Return whether no other character divides the first line as often as the likely one."""
    n = first.count(likely)
    return likely not in (format.quote, format.decimal) and n >= max(
        1, *map(first.count, _DELIMITERS)
    )


# that say what the decimal point is
_LINES = 1000
_DELIMITERS = (",", "\t", ";", "|")


def _find_delimiter(file: str, path: str, first: str, format: CsvFormat) -> str:
    """Return the delimiter that DuckDB sees in the first rows, or else one of the first line.

    DuckDB sees one column where a row is too long or too short, or has an odd quote.
    """
    if os.path.splitext(file.lower().removesuffix(".gz").removesuffix(".zst"))[1] == ".tsv":
        return "\t"
    delimiters = list(_DELIMITERS)
    *_, second, most = sorted(map(first.count, delimiters))
    if most > max(WIDE, 2 * second):  # no other one comes near
        return max(delimiters, key=first.count)
    if sniffed := sniff_delimiter(path, format.quote):
        return sniffed
    delimiters.sort(key=lambda delimiter: delimiter == format.decimal)
    return next((delimiter for delimiter in delimiters if delimiter in first), ",")


def _check_json_lines(file: str) -> None:
    """Raise with the row of the first line that is not a JSON object."""
    with one_line(file), pyarrow().input_stream(file) as stream:
        # which has no lines of its own when compressed
        for row, line in enumerate(io.BufferedReader(stream)):
            try:
                value = json.loads(line.removesuffix(b"\n")) if line.strip() else {}
            except (ValueError, RecursionError) as error:
                raise InputError(
                    f"not valid JSON (line {row + 1}): {first_line(error)}", file=file, row=row
                ) from None
            if not isinstance(value, dict):
                raise InputError(
                    f'not a JSON object such as {{"age": 30}} (line {row + 1})', file=file, row=row
                )
