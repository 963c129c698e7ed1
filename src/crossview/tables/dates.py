"""Dates and times: how text writes them, and the numbers that a model learns from."""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crossview.errors import InputError, argument, has_argument
from crossview.tables.arrow import codes_of, decoded, integers, numbers_of, type_of_values

if TYPE_CHECKING:
    import pyarrow as pa

ISO = "%Y-%m-%d"
# of the year 9999, since 1970
LAST_SECOND = 253_402_300_799
# tried on text, in this order; of two that fit, the first one is taken
FORMATS = (ISO, "%d.%m.%Y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y")
# those with two digits of the year: the same values may be versions or scores
SHORT_FORMATS = (
    *("%d.%m.%y", "%m.%d.%y", "%m/%d/%y", "%d/%m/%y", "%y/%m/%d"),
    *("%m-%d-%y", "%d-%m-%y", "%y-%m-%d"),
)
# formats with names of months, which no model reads; a query makes dates of them
MONTH_FORMATS = (
    *("%b %d %Y", "%b %d, %Y", "%B %d %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y"),
    *("%d-%b-%Y", "%d-%b-%y", "%d/%b/%Y", "%d%b%Y", "%Y-%b-%d"),
)
_MONTH = re.compile(r"(?i)(^|[^a-z])(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)")
_DIRECTIVES = {
    "%Y": r"(?P<Y>\d{4})",
    "%y": r"(?P<y>\d{2})",
    "%m": r"(?P<m>\d{1,2})",
    "%d": r"(?P<d>\d{1,2})",
    "%H": r"(?P<H>\d{1,2})",
    "%M": r"(?P<M>\d{2})",
    "%S": r"(?P<S>\d{2}(?:[.,]\d{1,9})?)",
    "%z": r"(?P<z>Z|[+-]\d{2}(?::?\d{2})?)",
}
# a time after the date, and its zone, where a format has none
_TIME = r"(?:[T ]\s*(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2}(?:[.,]\d{1,9})?))?"
_ZONE = r"(?:\s?(?P<z>Z|[+-]\d{2}(?::?\d{2})?))?)?"
# two digits of a year are of 1969 to 2068, as in POSIX
_CENTURY = 69

# the numbers of a date; only the first one is counted as missing where there is none
PARTS = (
    "days",
    "year",
    *("month sin", "month cos", "weekday sin", "weekday cos", "hour sin", "hour cos"),
)
MICROSECOND, SECOND, DAY = 1, 1_000_000, 86_400_000_000
SECONDS_OF_DAY = 86_400


class DateFormat(NamedTuple):
    """Format of the dates in a column of text, as for `strptime`.

    ``other`` is another format that fits all values as well: the values do not say which one is
    right.  ``times``: some values have a time after the date.
    """

    format: str
    other: str | None = None
    times: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether text is read so unasked: with two digits of the year, if some day is above 12."""
        if "%y" not in self.format:
            return True
        known = not self.format.startswith("%y")
        return known and (self.other is None or self.other.startswith("%y"))

    @property
    def words(self) -> str:
        """The format, whether there are times, and what two digits of a year mean."""
        last = _CENTURY + 1999
        years = f", of {last - 99} to {last}" if "%y" in self.format else ""
        return f"{self.format}{' with a time' if self.times else ''}{years}"


def is_date(kind: pa.DataType) -> bool:
    """Return whether values of an Arrow type are dates or timestamps."""
    from pyarrow import types

    return bool(types.is_date(kind) or types.is_timestamp(kind))


def utc_of(kind: pa.DataType) -> str:
    """Return " UTC", the end of what names times of an Arrow type with a zone; "" of others."""
    return " UTC" if getattr(kind, "tz", None) else ""


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of an Arrow type are text, stored as it is or as dictionaries."""
    from pyarrow import types

    kind = type_of_values(kind)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def split_format(declared: str) -> tuple[str, str]:
    """Return column and format of ``COLUMN=%d/%m/%Y``; "" where there is no format."""
    name, equals, format = declared.rpartition("=")
    return (name, format) if equals and "%" in format else (declared, "")


def check_format(format: str) -> None:
    """Raise an error for a format that says no day, or that has unknown parts."""
    parts = re.findall(r"%.?", format)
    for part in parts:
        if part not in _DIRECTIVES:
            known = ", ".join(_DIRECTIVES)
            raise InputError(f"the format {format!r} of dates has {part!r}; it may have {known}")
    twice = sorted({part for part in parts if parts.count(part) > 1})
    if twice or not ({"%m", "%d"} <= set(parts) and ("%Y" in parts) != ("%y" in parts)):
        raise InputError(
            f"the format {format!r} of dates needs day, month and year once, such as '%d.%m.%Y'"
        )


@functools.lru_cache(maxsize=64)
def _pattern(format: str) -> str:
    """A regular expression with a named group for each part of a date."""
    pieces = re.split(r"(%.)", format)
    pattern = "".join(_DIRECTIVES.get(piece, re.escape(piece)) for piece in pieces)
    return rf"^\s*{pattern}{'' if '%H' in format else _TIME + _ZONE}\s*$"


def portable_pattern(format: str) -> str:
    """Return `_pattern` for other programs, without the anchors: white space and digits are ASCII.

    Named groups are as in Python; the text matches it as a whole.
    """
    return _pattern(format)[1:-1].replace(r"\s", r"[\t\n\f\r ]").replace(r"\d", "[0-9]")


def _read(values: pa.Array, format: str) -> np.ndarray:
    """Text as times in microseconds; NaT where it is no date."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.extract_regex(values, pattern=_pattern(format))
    names = {field.name for field in found.type}
    good = numbers_of(found.is_valid())

    def part(name: str, usual: float = 0.0) -> np.ndarray:
        """The numbers of a group; of what is not there the usual one."""
        if name not in names:
            return np.full(len(values), usual)
        texts = pc.replace_substring(pc.struct_field(found, name), ",", ".")
        texts = pc.replace_substring_regex(texts, "^$", str(usual))  # a scalar would import pandas
        return np.nan_to_num(numbers_of(pc.cast(texts, pa.float64())), nan=usual)

    years = part("Y") if "Y" in names else part("y")
    if "Y" not in names:
        years += np.where(years < _CENTURY, 2000, 1900)
    months, days = part("m", 1.0), part("d", 1.0)
    first = (years.astype(np.int64) - 1970).astype("M8[Y]").astype("M8[M]")
    month = first + (months.astype(np.int64) - 1)
    day = month.astype("M8[D]") + (days.astype(np.int64) - 1)
    hours, minutes, seconds = part("H"), part("M"), part("S")
    # the 31st of April is in May
    good &= (months >= 1) & (months <= 12) & (day.astype("M8[M]") == month)
    good &= (hours < 24) & (minutes < 60) & (seconds < 60)
    times = day.astype("M8[us]") + np.rint(
        (3600.0 * hours + 60.0 * minutes) * SECOND + seconds * SECOND
    ).astype("m8[us]")
    if "z" in names:
        times -= _offsets(pc.struct_field(found, "z"))
    return np.where(good, times, np.datetime64("NaT"))


def _offsets(zones: pa.Array) -> np.ndarray:
    """Return the offsets of zones such as +02:00 from UTC."""
    coded = zones.dictionary_encode()
    minutes = [0]
    for zone in coded.dictionary.to_pylist():
        digits = (zone or "").lstrip("+-Z").replace(":", "")
        value = int(digits[:2] or 0) * 60 + int(digits[2:] or 0)
        minutes.append(-value if (zone or "").startswith("-") else value)
    return np.array(minutes, dtype="m8[m]")[codes_of(coded.indices, -1) + 1]


def as_times(name: str, array: pa.Array, format: str = "") -> np.ndarray:
    """Return dates, timestamps or text as times in microseconds, in UTC; NaT where there is none.

    ``format`` says how text, or whole numbers, write them; "": text as ISO 8601, such as
    2025-04-12 10:30.  Anything else is an `InputError`.
    """
    import pyarrow as pa

    if array.null_count == len(array):
        return np.full(len(array), "NaT", dtype="M8[us]")
    if format and pa.types.is_integer(array.type):  # such as 20250412
        array = array.cast(pa.string())
    if is_text(array.type):
        return _times_of_text(name, array, format or ISO)
    array = decoded(array)
    if not is_date(array.type):
        raise InputError(
            f"holds {array.type}, and dates are dates, timestamps or text; of whole numbers such "
            f"as 20250412 give the format: {argument(date=f'{name}=%Y%m%d')}",
            column=name,
        )
    zone = getattr(array.type, "tz", None)
    seconds = codes_of(array.cast(pa.timestamp("s", zone), safe=False).cast(pa.int64()), 0)
    if (far := np.abs(seconds) > LAST_SECOND).any():  # infinity is the last day of its type
        words = "has a date after the year 9999, such as infinity; write null in its place"
        raise InputError(words, row=int(far.argmax()), column=name)
    stamps = array.cast(pa.timestamp("us", zone), safe=False)
    times = codes_of(stamps.cast(pa.int64()), 0).astype("M8[us]")
    return np.where(numbers_of(array.is_null()), np.datetime64("NaT"), times)


def seconds_of(name: str, array: pa.Array, format: str = "") -> np.ndarray:
    """Return the times that `as_times` reads in seconds since 1970; NaN where there is none."""
    times = as_times(name, array, format)
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / SECOND)


def _times_of_text(name: str, array: pa.Array, format: str) -> np.ndarray:
    """Dates of text; what is none is named by its row."""
    values, codes = _distinct(array)
    found = np.append(_read(values, format), np.datetime64("NaT"))
    empty = np.append(_is_empty(values), True)
    bad = (np.isnat(found) & ~empty)[codes]
    if bad.any():
        row = int(bad.argmax())
        value = values.slice(int(codes[row]), 1)
        its = next(iter(covering_formats(value)), None)
        words = f"{value[0].as_py()!r} is no date as in {format}"
        words += "" if its is None else f", but as in {its}"
        words += "; write it so, or null"
        if has_argument("date"):
            example = argument(date=f"{name}={its or '%d/%m/%Y'}")
            words += (
                f", or train with its format, as in {example}, or with the column in "
                f"{argument('categorical')} or {argument('text')}"
            )
        raise InputError(words, row=row, column=name)
    return np.asarray(found[codes])


def _distinct(array: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """The different values of text, and the place of each row among them; -1 where it is null."""
    import pyarrow as pa

    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    if isinstance(array, pa.DictionaryArray):
        if array.dictionary.null_count or pa.types.is_string_view(array.dictionary.type):
            array = array.dictionary_decode().cast(pa.large_string()).dictionary_encode()
    else:
        array = array.dictionary_encode()
    return array.dictionary, codes_of(array.indices, -1)


def _is_empty(values: pa.Array) -> np.ndarray:
    import pyarrow.compute as pc

    # a comparison with "" would import pandas
    return numbers_of(pc.utf8_length(pc.utf8_trim_whitespace(values))) == 0


class _Guess:
    """The formats that fit all values of a column so far."""

    def __init__(self) -> None:
        self.formats = [*FORMATS, *SHORT_FORMATS]
        self.some, self.times = False, False

    def look_at(self, array: pa.Array) -> bool:
        """Take more values; return whether any format still fits."""
        import pyarrow.compute as pc

        if array.null_count == len(array):
            return True
        values = _distinct(array)[0]
        values = values.take(integers(np.flatnonzero(~_is_empty(values))))
        values = pc.drop_null(values)
        first = values.slice(0, 20).to_pylist()  # which few formats fit
        self.formats = [
            one
            for one in self.formats
            if all(re.match(_pattern(one), text, re.ASCII) for text in first)
            and not np.isnat(_read(values, one)).any()
        ]
        self.some |= len(values) > 0
        self.times = self.times or bool(pc.any(pc.match_substring(values, ":")).as_py())
        return bool(self.formats)

    @property
    def found(self) -> DateFormat | None:
        """The answer."""
        if not (self.some and self.formats):
            return None
        other = self.formats[1] if len(self.formats) > 1 else None
        return DateFormat(self.formats[0], other, self.times)


def find_formats(
    batches: Iterable[Mapping[str, pa.Array]], names: Sequence[str], *, complete: bool = True
) -> dict[str, DateFormat]:
    """Return the columns of text that are dates in every row, and their formats.

    With dots the day is first; otherwise a value above 12 decides between day and month, and
    without one the month is first (with two digits of the year it is not `DateFormat.is_sure`).  If
    these are not all rows, a column without values may be dates.
    """
    guesses = {name: _Guess() for name in names}
    for batch in batches:
        guesses = {name: one for name, one in guesses.items() if one.look_at(batch[name])}
        if not guesses:
            break
    if not complete:
        return {name: DateFormat(one.formats[0]) for name, one in guesses.items()}
    found = {name: guess.found for name, guess in guesses.items()}
    return {name: one for name, one in found.items() if one is not None}


def covering_formats(values: pa.Array) -> dict[str, np.ndarray]:
    """Return the formats that read most of the different values of text, and which each adds.

    The one that reads most is first.  Formats that read none of 100 values are not tried.
    """
    if not len(values):
        return {}
    some = values.take(integers(np.linspace(0, len(values) - 1, 100).astype(np.int64)))
    every = [*FORMATS, *SHORT_FORMATS]
    tried = [one for one in every if not np.isnat(_read(some, one)).all()]
    reads = {one: ~np.isnat(_read(values, one)) for one in tried}
    open_values, found = np.ones(len(values), dtype=bool), {}
    while reads:
        best = max(reads, key=lambda one: int((reads[one] & open_values).sum()))
        adds = reads.pop(best) & open_values
        if not adds.any():
            break
        found[best] = adds
        open_values &= ~adds
    return found


def month_format(values: pa.Array) -> str | None:
    """Return the first format with names of months that reads 100 of the different values."""
    some = values.take(integers(np.linspace(0, len(values) - 1, 100).astype(np.int64))).to_pylist()
    if not all(map(_MONTH.search, some)):
        return None
    return next((one for one in MONTH_FORMATS if all(_reads(text, one) for text in some)), None)


def _reads(text: str, format: str) -> bool:
    try:
        return bool(datetime.datetime.strptime(text.strip(), format))
    except ValueError:
        return False


@functools.cache
def _cycle(n: int) -> np.ndarray:
    """Sine and cosine of n steps around a circle.

    They are rounded, so that two months with one sine have the same number, which trees do not
    split, and that other programs have it too, whatever their last bits are.
    """
    angles = np.arange(n) * (2.0 * np.pi / n)
    return np.stack([np.sin(angles), np.cos(angles)], axis=1).round(12)


def date_numbers(times: np.ndarray) -> np.ndarray:
    """Return the numbers of dates that a model learns from (`PARTS`); NaN where one is missing.

    They are the days since 1970 with their fraction, the year, and month, weekday and time of day
    as points on circles, which are looked up: no row depends on the others.
    """
    missing = np.isnat(times)
    times = np.where(missing, np.datetime64(0, "us"), times)
    microseconds = times.astype(np.int64)
    numbers = np.empty((len(times), len(PARTS)))
    numbers[:, 0] = microseconds / DAY
    numbers[:, 1] = times.astype("M8[Y]").astype(np.int64) + 1970
    numbers[:, 2:4] = _cycle(12)[times.astype("M8[M]").astype(np.int64) % 12]
    numbers[:, 4:6] = _cycle(7)[(microseconds // DAY + 3) % 7]  # from Monday
    numbers[:, 6:8] = _cycle(SECONDS_OF_DAY)[microseconds // SECOND % SECONDS_OF_DAY]
    numbers[missing] = np.nan
    return numbers
