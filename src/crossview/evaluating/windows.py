"""Windows of time: of a duration, or of a number of rows."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from crossview.data.row_columns import format_of_times
from crossview.errors import InputError, argument
from crossview.readers.source import Source
from crossview.tables.arrow import is_number, numbers_of
from crossview.tables.dates import is_date, is_text, seconds_of, utc_of

MOST_WINDOWS = 500
# windows where no width is given: about
N_WINDOWS = 10
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
_UNITS = {"s": 1.0, "min": MINUTE, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
_WIDTHS = [
    *(1.0, 2.0, 5.0, 10.0, 30.0, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE),
    *(HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY),
    *(91 * DAY, 182 * DAY, 364 * DAY),
]
# numbers in this range are Unix time in seconds: 1973 to 5138
_SECONDS = (1e8, 1e11)
# 1970 began on a Thursday, and weeks on Mondays
_MONDAY = 4 * DAY


def parse_window(window: Any) -> tuple[str, float]:
    """Return ("rows", their number) or ("seconds", their number) of a width such as 10000 or 1d.

    >>> parse_window("10000"), parse_window("2h")
    (('rows', 10000.0), ('seconds', 7200.0))
    """
    if isinstance(window, timedelta):
        kind, width = "seconds", window.total_seconds()
    else:
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d|w)?\s*", str(window))
        width = 0.0 if found is None else float(found[1]) * _UNITS.get(found[2], 1.0)
        kind = "seconds" if found is not None and found[2] else "rows"
    if not width > 0.0 or (kind == "rows" and width != int(width)):
        raise InputError(
            f"{argument(window=str(window))}; give a time, such as 1d, 6h or 30min, or a number "
            "of rows, such as 10000"
        )
    return kind, width


class ByRows:
    """Windows of a number of rows, in the order of the source.

    width: rows of a window.
    time: a column that says in words when a window starts.
    """

    def __init__(self, width: int, time: str | None = None) -> None:
        self.width, self.time = width, time

    def codes(self, first_row: int, n_rows: int) -> np.ndarray:
        """Return the windows of rows from a position on."""
        return (first_row + np.arange(n_rows)) // self.width

    def start(self, code: int) -> str:
        """Return where a window starts, in words."""
        return f"row {code * self.width:,}"

    def check_number(self, n_rows: int) -> None:
        """Raise an error where so many rows make too many windows."""
        if n_rows / self.width > MOST_WINDOWS:
            raise InputError(
                f"{argument(window=self.width)} makes {n_rows / self.width:,.0f} windows, and "
                f"{MOST_WINDOWS} is the most; take a wider one"
            )


class ByTime:
    """Windows of a column of times or numbers.

    first, width: where the first window starts, and how wide they are, in seconds or as the
      numbers.
    dates: number of units per second; 0: the numbers are no times.
    format: how text writes times.
    zone: the end of their names: " UTC" where the times have a zone.
    """

    def __init__(
        self,
        column: str,
        first: float,
        width: float,
        dates: float,
        format: str = "",
        zone: str = "",
    ) -> None:
        self.column, self.first, self.width, self.dates = column, first, width, dates
        self.format, self.zone = format, zone

    def codes(self, values: Any) -> np.ndarray:
        """Return the windows of the next rows; -1 where there is no time."""
        times = _times(values, self.column, self.format) / (self.dates or 1.0)
        there = np.isfinite(times)
        codes = np.full(len(times), -1)
        codes[there] = np.floor((times[there] - self.first) / self.width)
        return codes

    def start(self, code: int) -> str:
        """Return where a window starts, in words."""
        start = self.first + code * self.width
        if not self.dates:
            return f"{start:.10g}"
        form = "%Y-%m-%d" if self.width % DAY == 0 else "%Y-%m-%d %H:%M"
        form += ":%S" * bool(self.width % MINUTE)
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=start)
        return when.strftime(form) + self.zone


class TimeRange:
    """When the rows are, from which the windows of a column follow; two parts add up.

    column: the column: timestamps, dates, numbers, or text that is dates.
    format: how text writes times.
    """

    def __init__(self, column: str, kind: Any, format: str = "") -> None:
        self.column, self._kind, self._format = column, kind, format
        self._low, self._high = np.inf, -np.inf

    def add(self, values: Any) -> None:
        """Take the times of some more rows."""
        times = _times(values, self.column, self._format)
        times = times[np.isfinite(times)]
        self._low = min(self._low, float(times.min(initial=np.inf)))
        self._high = max(self._high, float(times.max(initial=-np.inf)))

    def __add__(self, other: TimeRange) -> TimeRange:
        if self._format != other._format:
            words = f"dates as in {self._format}, and as in {other._format}"
            raise InputError(f"has {words}; convert it in a query", column=self.column)
        total = TimeRange(self.column, self._kind, self._format)
        total._low, total._high = min(self._low, other._low), max(self._high, other._high)
        return total

    def windows(self, window: Any) -> ByTime:
        """Return windows of a width; None: about ten."""
        low, high = self._low, self._high
        if low > high:
            raise InputError("has no time in any row", column=self.column)
        dates = _units_per_second(self._kind, low, high)
        if dates:
            low, high = low / dates, high / dates
        width = _width(low, high, dates, self.column) if window is None else parse_window(window)[1]
        if window is not None and not dates:
            raise InputError(
                f"holds numbers that are no Unix time, and {argument(window=str(window))} is a "
                "time; give a number of rows, or leave the window out",
                column=self.column,
            )
        step, offset = width, 0.0
        if dates and width % DAY == 0:  # of many days: from the first day, or its Monday
            step, offset = (7 * DAY, _MONDAY) if width % (7 * DAY) == 0 else (DAY, 0.0)
        first = np.floor((low - offset) / step) * step + offset
        if (high - first) / width > MOST_WINDOWS:
            raise InputError(
                f"{argument(window=str(window))} makes {(high - first) / width + 1:,.0f} windows, "
                f"and {MOST_WINDOWS} is the most; take a wider one",
                column=self.column,
            )
        zone = utc_of(self._kind)
        return ByTime(self.column, float(first), width, dates, self._format, zone)


def find_windows(table: Source, column: str, window: Any) -> ByTime | None:
    """Return the windows of a column of times, by one pass over it; without a width about ten.

    None: there is no row.
    """
    times, n_rows = time_range(table, column), 0
    for batch in table.select([column]):
        times.add(batch.X.column(0))
        n_rows += len(batch)
    return times.windows(window) if n_rows else None


def time_range(table: Source, column: str) -> TimeRange:
    """Return what finds out when the rows of a table are; it has seen none."""
    kind = table.schema.field(column).type
    return TimeRange(
        column, kind, format_of_times(table, column, given=False) if is_text(kind) else ""
    )


def _width(low: float, high: float, dates: float, column: str) -> float:
    """A round width for about ten windows."""
    least = (high - low) / N_WINDOWS
    if not dates:
        if not least > 0.0:
            return 1.0
        power = 10.0 ** np.floor(np.log10(least))
        return float(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= least * 0.999))
    return next((width for width in _WIDTHS if width >= 0.8 * least), 3640 * DAY)


def _units_per_second(kind: Any, low: float, high: float) -> float:
    """1 for times and numbers of seconds since 1970, 1000 for milliseconds, 0 for other numbers."""
    from pyarrow import types

    if types.is_temporal(kind) or is_text(kind):
        return 1.0
    for units in (1.0, 1000.0):
        if low >= _SECONDS[0] * units and high <= _SECONDS[1] * units:
            return units
    return 0.0


def _times(values: Any, column: str, format: str) -> np.ndarray:
    """Times as seconds since 1970, numbers as they are; NaN where there is none."""
    import pyarrow as pa

    if format or is_date(values.type):
        return seconds_of(column, values, format)
    if not is_number(values.type):
        raise InputError(
            f"holds {values.type}, and times are timestamps, dates or numbers; convert it in a "
            "query, for example with CAST(... AS TIMESTAMP)",
            column=column,
        )
    return numbers_of(values.cast(pa.float64(), safe=False))
