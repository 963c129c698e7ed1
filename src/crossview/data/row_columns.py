"""Columns that say something of the rows and are in no view: groups, times and weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.data.arrow import numbers_of
from crossview.data.encoding.dates import as_times, check_format, is_text
from crossview.data.read_labels import with_row_location
from crossview.data.source import Batch, Source
from crossview.errors import InputError
from crossview.labels import MAX_WEIGHT

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "RowColumns",
    "about_weights",
    "check_weight_column",
    "check_weights",
    "format_of_times",
    "read_groups",
    "read_order",
    "weights_of",
]

# a mean weight that changes no learner much
USUAL_WEIGHTS = (0.1, 10.0)


def read_groups(table: Source, name: str) -> np.ndarray:
    """Return a column that has a value in each row as numbers, the same for the same value."""
    return np.asarray(_column(table, name, "group").combine_chunks().dictionary_encode().indices)


def read_order(table: Source, name: str, format: str = "") -> np.ndarray:
    """Return the positions of the rows in the order of a column; equal times keep their order.

    The column holds timestamps, dates, numbers, or text that is dates, and a value in each row.
    Without a format, the values of text say how it writes dates.
    """
    import pyarrow.compute as pc

    format = _check_time_column(table, name, format)
    if format:
        times = [_times_of(batch, name, format) for batch in table.select([name])]
        return np.argsort(np.concatenate(times), kind="stable") if times else np.empty(0, np.intp)
    return np.asarray(pc.sort_indices(_column(table, name, "time")), dtype=np.intp)  # stable


def _times_of(batch: Batch, name: str, format: str) -> np.ndarray:
    """The times of a column of text; a bad one is named by file and row."""
    with with_row_location(batch):
        times = as_times(name, batch.X.column(name), format)
        if np.isnat(times).any():
            raise InputError("the time is missing", row=int(np.isnat(times).argmax()), column=name)
    return times


def _check_time_column(table: Source, name: str, format: str = "") -> str:
    """Raise an error if there is no such column, or if it holds no times; return its format."""
    from pyarrow import types

    kind = _type_of(table, name)
    if is_text(kind):
        if format:
            check_format(format)
            return format
        return format_of_times(table, name)
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (numbers or types.is_temporal(kind)):
        raise InputError(
            f"holds {kind}, and times are timestamps, dates or numbers; convert it in a query, for "
            "example with CAST(... AS TIMESTAMP)",
            column=name,
        )
    return ""


def format_of_times(table: Source, name: str, *, given: bool = True) -> str:
    """Return the format of times in a column of text; an error if its values leave it open.

    ``given`` says whether ``date=`` could give it, for the message.
    """
    found = table.find_dates([name]).get(name)
    how = f"convert it in a query, for example with strptime({name}, '%d/%m/%Y')"
    if given:
        how = f"give the format, as in date='{name}=%d/%m/%Y', or {how}"
    if found is None:
        raise InputError(f"holds text that is not a date in every row; {how}", column=name)
    if found.other is not None:
        words = f"its dates may be {found.format} or {found.other}"
        raise InputError(f"{words}, which its values leave open; {how}", column=name)
    return found.format


def check_weights(weight: Any) -> np.ndarray:
    """Return weights that are in memory as float64, if all are numbers from 0 to 1e12."""
    try:
        numbers = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("weight= holds something that is no number") from None
    if numbers.ndim != 1:
        raise InputError(f"weight= has {numbers.ndim} dimensions; give one number per row")
    row = _first_bad_weight(numbers)
    if row is not None:
        raise InputError(_explain_weight(numbers[row]), row=row)
    return numbers


def check_weight_column(table: Source, name: str) -> None:
    """Raise an error if there is no such column, or if it holds no numbers."""
    from pyarrow import types

    kind = _type_of(table, name)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        raise InputError(f"holds {kind}, and weights are numbers", column=name)


def weights_of(batch: Batch, name: str) -> np.ndarray:
    """Return the weights of a batch from their column; a bad one is named by file and row."""
    import pyarrow as pa

    column = batch.X.column(name)
    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    numbers = numbers_of(plain.cast(pa.float64(), safe=False))
    row = _first_bad_weight(numbers)
    if row is not None:
        what = _explain_weight(column[row].as_py())
        raise InputError(what, file=batch.file, row=batch.first_row + row, column=name)
    return numbers


def about_weights(name: str, mean: float) -> list[str]:
    """Return a warning if the mean weight is far from 1."""
    least, most = USUAL_WEIGHTS
    if not mean > 0.0 or least <= mean <= most:
        return []
    return [
        f"{name}: the weights have a mean of {mean:.3g}, which multiplies C and every step of "
        "learning; divide them by it"
    ]


class RowColumns:
    """Checks of the columns of times and weights, as learning makes them, in one pass."""

    def __init__(
        self, table: Source, time: str | None, weight: str | None, format: str = ""
    ) -> None:
        self.time, self.weight, self._format = time, weight, ""
        self._total, self._n_rows = 0.0, 0
        if time is not None:
            self._format = _check_time_column(table, time, format)
        if weight is not None:
            check_weight_column(table, weight)

    def watch(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches; a bad time or weight is named by file and row."""
        for batch in batches:
            if self.time is not None:
                batch.check_complete(self.time, "the time is missing")
                if self._format:
                    _times_of(batch, self.time, self._format)
            if self.weight is not None:
                self._total += float(weights_of(batch, self.weight).sum())
            self._n_rows += len(batch)
            yield batch

    def warnings(self) -> list[str]:
        """Return what may be wrong with the rows so far."""
        if self.weight is None or not self._n_rows:
            return []
        return about_weights(self.weight, self._total / self._n_rows)


def _first_bad_weight(numbers: np.ndarray) -> int | None:
    bad = ~((numbers >= 0.0) & (numbers <= MAX_WEIGHT))
    return int(bad.argmax()) if bad.any() else None


def _explain_weight(value: Any) -> str:
    if value is None or value != value:
        return "the weight is missing; give a number, 0 to leave the row out"
    return f"{value} is no weight; give a number from 0 to {MAX_WEIGHT:g}"


def _column(table: Source, name: str, what: str) -> pa.ChunkedArray:
    """A column without dictionaries; a missing value is named by file and row."""
    import pyarrow as pa

    kind = _type_of(table, name)
    pieces = []
    for batch in table.select([name]):
        batch.check_complete(name, f"the {what} is missing")
        pieces.append(batch.X.column(0).cast(kind))
    return pa.chunked_array(pieces, type=kind)


def _type_of(table: Source, name: str) -> pa.DataType:
    """Return the type of the values of a column, also where it is stored as a dictionary."""
    kind = table.select([name]).schema.field(name).type
    return getattr(kind, "value_type", kind)
