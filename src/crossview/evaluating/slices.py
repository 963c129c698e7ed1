"""Slices of rows by the value of a column: found in one pass over it, then looked up."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from crossview.errors import InputError
from crossview.evaluating.windows import DAY
from crossview.readers.source import Source
from crossview.tables.arrow import codes_of, decoded, is_number, nan_as_null, numbers_of
from crossview.tables.dates import is_date, seconds_of, utc_of

# values of a column that get a slice of their own
MOST_SLICES = 20
N_RANGES = 10
# values that are counted before the rare ones are forgotten
MOST_COUNTED = 100_000
MOST_SAMPLED = 1 << 16
MISSING, OTHERS = "(missing)", "(others)"


class NumberSample:
    """Some numbers of a stream, spread evenly over it, and its least and greatest one.

    Samples of consecutive parts of a stream add up to that of the stream while all its numbers fit
    in one.  Beyond that, what is left is their count and their range; a second pass takes the same
    numbers as one machine, with ``first`` and ``total``.

    first: position in the stream of the first number that is added.
    total: numbers of the whole stream, where they are known.
    values: every k-th number so far, at most 65,536.
    low, high: the ends of their range.
    n: numbers so far.
    """

    def __init__(self, first: int = 0, total: int = 0) -> None:
        self.values = np.empty(0)
        self.low, self.high = np.inf, -np.inf
        self.n = 0
        self._stride = 1
        while total > MOST_SAMPLED * self._stride:
            self._stride *= 2
        self._next = -first % self._stride

    @property
    def complete(self) -> bool:
        """True where there are as many values as the numbers make."""
        return self.n <= MOST_SAMPLED or len(self.values) > 0

    def add(self, numbers: np.ndarray) -> None:
        """Take more numbers, none of which is NaN."""
        if len(numbers):
            self.low = min(self.low, float(numbers.min()))
            self.high = max(self.high, float(numbers.max()))
        self.n += len(numbers)
        taken = numbers[self._next :: self._stride]
        self._next += len(taken) * self._stride - len(numbers)
        self.values = np.concatenate([self.values, taken])
        while len(self.values) > MOST_SAMPLED:
            # the next one is a multiple of the new stride, too
            self._next += self._stride * (len(self.values) % 2)
            self.values, self._stride = self.values[::2], 2 * self._stride

    def __add__(self, other: NumberSample) -> NumberSample:
        total = NumberSample()
        total.n = self.n + other.n
        total.low, total.high = min(self.low, other.low), max(self.high, other.high)
        if total.n <= MOST_SAMPLED:
            total.values = np.concatenate([self.values, other.values])
        return total


class ByValue:
    """The slices of one column.

    values: the slice of each value; all others are one slice, and so are missing ones.
    edges: of ranges: the upper end of each but the last, of dates in seconds since 1970.
    """

    def __init__(
        self, column: str, names: list[str], values: dict[Any, int], edges: Any = None
    ) -> None:
        self.column, self.names = column, [*names, OTHERS, MISSING]
        self._values, self._edges = values, edges

    def codes(self, values: Any) -> np.ndarray:
        """Return the slice of each row, by its position in ``names``."""
        n = len(self.names)
        if self._edges is not None:
            numbers = _numbers(values, self.column)
            codes = np.searchsorted(self._edges, numbers)
            return np.where(np.isnan(numbers), n - 1, codes)
        coded = _encoded(values, self.column)
        of_values = [self._values.get(value, n - 2) for value in coded.dictionary.to_pylist()]
        index = codes_of(coded.indices, len(of_values))
        return np.array([*of_values, n - 1])[index]

    def ordered(self, rows: Mapping[int, int]) -> list[int]:
        """Return the slices that have rows, the largest first, ranges in their order."""
        n = len(self._values)  # others and missing ones come last
        return sorted(rows, key=lambda code: (-rows[code] if code < n else 1, code))


class ColumnValues:
    """The values of a column, from which its slices follow; those of two parts add up.

    is_category: whether its numbers are names, as those of users, and make no ranges.
    sample: of a column of numbers or dates.
    """

    def __init__(self, column: str, kind: Any, *, is_category: bool = False) -> None:
        self.column, self.is_date = column, is_date(kind)
        self.is_number = (is_number(kind) and not is_category) or self.is_date
        self._zone = utc_of(kind)
        self.sample = NumberSample()
        self._counts: Counter[Any] = Counter()

    @property
    def in_ranges(self) -> bool:
        """True where the column is divided into ranges of numbers or dates."""
        return self.is_number and len(self._counts) > MOST_SLICES

    def add(self, values: Any) -> None:
        """Count some more rows."""
        if self.is_number:
            self.sample.add(numbers_in(values, self.column))
        if not self.in_ranges:
            found = _encoded(values, self.column).value_counts()
            plain = decoded(found.field("values"))
            counts = dict(zip(plain.to_pylist(), found.field("counts").to_pylist(), strict=True))
            counts.pop(None, None)
            self._update(counts)

    def _update(self, counts: Mapping[Any, int]) -> None:
        self._counts.update(counts)
        if len(self._counts) > MOST_COUNTED:
            self._counts = Counter(dict(self._counts.most_common(MOST_COUNTED // 2)))

    def __add__(self, other: ColumnValues) -> ColumnValues:
        total = copy.copy(self)
        total.sample = self.sample + other.sample
        total._counts = Counter(self._counts)
        total._update(other._counts)
        return total

    def slices(self) -> ByValue:
        """Return the slices: the 20 most frequent values, or ten ranges of numbers or dates."""
        if self.in_ranges:
            sample = self.sample
            inner = np.quantile(
                sample.values,
                np.arange(1, N_RANGES) / N_RANGES,
                method="lower" if self.is_date else "linear",  # dates that are in the column
            )
            step = 0.0
            if self.is_date:
                step = 1.0 if np.any(sample.values % DAY) else DAY
                inner = np.floor(inner / step) * step
            edges = np.unique(inner[inner < sample.high])
            ends = [_end(end, step) for end in (sample.low, *edges, sample.high)]
            first = f"{ends[0]} to {ends[1]}" if ends[0] != ends[1] else ends[0]
            names = [
                first,
                *(f"above {a} to {b}" for a, b in pairwise(ends[1:])),
            ]
            return ByValue(self.column, [name + self._zone for name in names], {}, edges)
        # of equally frequent ones the first by name, whatever the batches
        ordered = sorted(self._counts, key=lambda value: (-self._counts[value], _name(value)))
        frequent = ordered[:MOST_SLICES]
        names = [_name(value) for value in frequent]
        return ByValue(self.column, names, {value: code for code, value in enumerate(frequent)})


def find_slices(table: Source, column: str, *, is_category: bool = False) -> ByValue:
    """Return the slices of a column, by one pass over it.

    The 20 most frequent values are slices; numbers and dates with more values are divided into ten
    ranges of about as many rows each, unless they are categories.
    """
    if column not in table.column_names:  # such as one without a name
        raise InputError(f"no column {column!r}")
    kind = table.schema.field(column).type
    found = ColumnValues(column, kind, is_category=is_category)
    for batch in table.select([column]):
        found.add(batch.X.column(0))
    return found.slices()


def _end(value: float, step: float) -> str:
    """The end of a range of numbers, or of dates with a step of so many seconds."""
    if not step:
        return _number(value)
    when = np.datetime64(int(np.floor(value)), "s")
    return str(when.astype("M8[D]") if step == DAY else when).replace("T", " ")


def _name(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return _number(value) if isinstance(value, float) else str(value)


def _number(value: float) -> str:
    """Six digits; all before the point, as of an id or of 20250412."""
    return f"{value:.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:.6g}"


def numbers_in(values: Any, column: str) -> np.ndarray:
    """Return the numbers among the values of a column, those of dates as `_numbers` gives them."""
    numbers = _numbers(values, column)
    return numbers[~np.isnan(numbers)]


def _numbers(values: Any, column: str) -> np.ndarray:
    """Float64, of dates seconds since 1970; NaN where the value is missing."""
    import pyarrow as pa

    if is_date(values.type):
        return seconds_of(column, values)
    values = values.cast(pa.float64(), safe=False)  # rounds whole numbers beyond 2^53
    return np.asarray(numbers_of(values), dtype=np.float64)


def _encoded(values: Any, column: str) -> Any:
    """The values with a dictionary; NaN is missing."""
    import pyarrow as pa

    if isinstance(values, pa.DictionaryArray):
        return values
    if pa.types.is_nested(values.type) or isinstance(values.type, pa.BaseExtensionType):
        raise InputError(
            f"holds {values.type}, which makes no slices; take text, numbers or dates",
            column=column,
        )
    return nan_as_null(values).dictionary_encode()
