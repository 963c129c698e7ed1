"""Dialect of CSV files, which a model keeps to read other files alike."""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from crossview.errors import NAMES_AGAIN, InputError, argument
from crossview.readers.encodings import UTF_8, codec_name
from crossview.tables.text import WITHOUT_SIGNS, is_amount

# what a value looks like that is a number with the other decimal point
# DuckDB's words
_NO_NUMBER = re.compile(r"Could not convert string \"(.*)\" to '(?:DOUBLE|BIGINT|HUGEINT)'")
_BY_COMMA, _BY_POINT = re.compile(r"[-+]?\d+(,\d+)?"), re.compile(r"[-+]?\d+(\.\d+)?")
# and like one of which the mark may separate thousands: 448.600, and with it 950 or 0
_THOUSANDS = {mark: re.compile(rf"[-+]?[1-9]\d{{0,2}}\{mark}\d{{3}}") for mark in ".,"}
_BELOW_THOUSAND, MANY_THOUSANDS = re.compile(r"[-+]?\d{1,3}"), 20
_INFINITE = re.compile(r"[-+]?inf(inity)?", re.IGNORECASE)
_COMMA, _POINT = re.compile(r"\s*[-+]?[\d.]*,\d+\s*"), re.compile(r"\s*[-+]?[\d,]*\.\d+\s*")


class CsvFormat(NamedTuple):
    """Dialect of CSV files; `open_table` documents it."""

    null: Sequence[str] = ()
    decimal: str | None = None
    delimiter: str | None = None
    quote: str = '"'
    header: bool = True
    encoding: str | None = None

    def check(self) -> None:
        """Raise an error for what no file can be written with."""
        if self.decimal not in (None, ".", ","):
            raise InputError(f"{argument(decimal=self.decimal)}; give . or ,")
        for name, value, lengths in (
            ("delimiter", self.delimiter or ",", (1, 2, 3, 4)),
            ("quote", self.quote, (0, 1)),
        ):
            if len(value) not in lengths or set(value) & {"\n", "\r"}:
                raise InputError(f"{argument(**{name: value})}; give one character")
        if self.delimiter in (self.quote, self.decimal or "."):
            raise InputError(
                f"{argument(delimiter=self.delimiter)} is also the quote or the decimal point"
            )

    @classmethod
    def with_dialect(cls, given: Mapping[str, Any], dialect: Mapping[str, Any]) -> CsvFormat:
        """Return the format that options describe, and for what they leave open other files.

        The delimiter and the encoding of those are not taken for granted: the file shows its own.
        """
        open_ones = ("delimiter", "encoding")
        all_of_it = {k: v for k, v in dialect.items() if k not in open_ones} | dict(given)
        return cls(**all_of_it | {"null": tuple(all_of_it.get("null", ()))})

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> CsvFormat:
        """Return the format that some of the options of `open_table` describe."""
        return cls(**{name: value for name, value in options.items() if name in cls._fields})

    def options(self) -> dict[str, Any]:
        """Return the options of `open_table` that are not the usual ones."""
        usual = CsvFormat(decimal=".", delimiter=",", encoding=UTF_8)
        found = {k: v for k, v in self._asdict().items() if v != getattr(usual, k)}
        return found | ({"null": list(self.null)} if self.null else {})

    def likely_decimal(self, lines: list[str], delimiter: str) -> str:
        """Return the decimal point that the numbers in these lines have."""
        if delimiter == ",":
            return "."
        with contextlib.suppress(csv.Error):
            columns = list(self._columns(lines, delimiter))
            by_comma, by_point = (
                any(
                    all(number.fullmatch(one) for one in column)
                    and any(mark in one for one in column)
                    for column in columns
                )
                for number, mark in ((_BY_COMMA, ","), (_BY_POINT, "."))
            )
            return "," if by_comma and not by_point else "."
        return "."

    def like_thousands(self, lines: list[str], delimiter: str) -> Iterator[tuple[int, str]]:
        """Yield columns of numbers whose decimal points may separate thousands, and a value.

        All of their decimals are three, and as of no measured number: some have no point, or more
        than half end in 0.
        """
        with contextlib.suppress(csv.Error):
            for column, values in enumerate(self._columns(lines, delimiter)):
                pointed = [one for one in values if _THOUSANDS[self.decimal or "."].fullmatch(one)]
                others = [one for one in values if _BELOW_THOUSAND.fullmatch(one)]
                if len(pointed) < MANY_THOUSANDS or len(pointed) + len(others) < len(values):
                    continue
                if others or 2 * sum(one.endswith("0") for one in pointed) > len(pointed):
                    yield column, pointed[0]

    def first_infinite(self, lines: list[str], delimiter: str) -> list[int]:
        """Return the columns whose first value in these lines is infinity."""
        with contextlib.suppress(csv.Error):
            columns = enumerate(self._columns(lines, delimiter))
            return [i for i, values in columns if values and _INFINITE.fullmatch(values[0])]
        return []

    def _columns(self, lines: list[str], delimiter: str) -> Iterator[list[str]]:
        """Yield the values in these lines of each column, without its name."""
        first, *others = self._rows(lines, delimiter)
        rows = [row for row in others if len(row) == len(first)]
        for column in zip(*rows, strict=False):
            fields = [one.strip() for one in column]
            yield [one for one in fields if one not in ("", *self.null)]

    def split(self, lines: list[str], delimiter: str) -> list[str]:
        """Return the fields of the first row of these lines."""
        return next(self._rows(lines, delimiter))

    def _rows(self, lines: list[str], delimiter: str) -> Iterator[list[str]]:
        if len(delimiter) > 1:
            return (line.split(delimiter) for line in lines)
        if not self.quote:
            return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        return csv.reader(lines, delimiter=delimiter, quotechar=self.quote)


def check_dialect(dialect: Any) -> None:
    """Raise an error if this is not a mapping of some options of `open_table`, or None."""
    if dialect is None:
        return
    kinds = {"null": list, "header": bool}
    if not (
        isinstance(dialect, Mapping)
        and all(name in CsvFormat._fields for name in dialect)
        and all(isinstance(value, kinds.get(name, str)) for name, value in dialect.items())
        and all(isinstance(word, str) for word in dialect.get("null", []))
    ):
        raise InputError(
            f"dialect={dialect!r}; give options of open_table about CSV, such as {{'decimal': ','}}"
        )
    CsvFormat.of(dialect).check()
    codec_name(dialect.get("encoding", UTF_8))


def hint_about(error: InputError, format: CsvFormat) -> str:
    """Return the option that may read a value that is no number, as the end of the message."""
    found = _NO_NUMBER.search(error.message)
    if found is None:
        return ""
    if error.row == 0 and not format.header:
        return f"; if this line names the columns, say {argument(header=True)}"
    if found[1] == error.column:
        return f"; {NAMES_AGAIN}"
    if is_amount(found[1]):
        return f"; {WITHOUT_SIGNS}"
    if _COMMA.fullmatch(found[1]) and format.decimal == ".":
        return f"; is the decimal point a comma? {argument(decimal=',')}"
    if _POINT.fullmatch(found[1]) and format.decimal == ",":
        return f"; is the decimal point no comma? {argument(decimal='.')}"
    return f"; if it stands for a missing value, say {argument(null=found[1])}"
