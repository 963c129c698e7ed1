"""Content of the columns of a table, and their relation to a label, from one pass in batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from crossview.data.row_columns import with_row_location
from crossview.data.summaries.columns import MissingSummary, NumberSummary, Target, ValueSummary
from crossview.readers.source import Batch
from crossview.tables.arrow import floats, is_number
from crossview.tables.columns import kind_of
from crossview.tables.dates import DAY, as_times

# cells that are in memory together
MOST_CELLS = 4_000_000


class TableSummary:
    """Summaries of the columns of a table, each by its kind.

    ``declared`` are the kinds that the user declares, and ``formats`` how text writes dates, by
    column.  Without ``values_of_text`` columns of text are summarized only by where they are
    missing.

    ``kinds`` are what the columns are encoded as, None where their type is nothing that can be.
    ``numbers`` are the places in ``moments`` of those that are summarized as numbers; dates are
    days since 1970.  ``values`` are the other columns, and ``missing`` is about all of them, in
    their order.
    """

    def __init__(
        self,
        schema: Any,
        declared: Mapping[str, str],
        target: Target,
        *,
        formats: Mapping[str, str] | None = None,
        values_of_text: bool = True,
    ) -> None:
        self.formats = formats or {}
        self.declared, self.target, self.names = declared, target, list(schema.names)
        self.types = dict(zip(schema.names, schema.types, strict=True))
        # None where a type cannot be encoded
        self.kinds = {n: self.declared.get(n) or kind_of(self.types[n]) for n in self.names}
        numbers = [
            name
            for name, kind in self.kinds.items()
            if kind == "date" or (kind in ("numeric", "sparse") and is_number(self.types[name]))
        ]
        self.numbers = {name: c for c, name in enumerate(numbers)}
        self.values = {
            name: ValueSummary(name)
            for name in self.names
            if self.kinds[name] is not None
            and name not in self.numbers
            and (values_of_text or self.kinds[name] != "text")
        }
        self.moments = NumberSummary(len(self.numbers))
        self.missing = MissingSummary(len(self.names))
        self.n_rows = 0

    def add(self, data: Any, labels: Any) -> None:
        """Take the next rows, a record batch, and their labels, an Arrow array or None."""
        step = max(256, MOST_CELLS // max(1, len(self.names)))
        for start in range(0, data.num_rows, step):
            if labels is not None:
                self.target.read(labels.slice(start, step))
            part = Batch(data.slice(start, step), None, start)
            with with_row_location(part):
                self._add(part.X)
        self.n_rows += data.num_rows

    def _add(self, data: Any) -> None:
        columns = dict(zip(data.schema.names, data.columns, strict=True))
        for name in self.numbers:
            if self.kinds[name] == "date":
                columns[name] = _as_days(name, columns[name], self.formats.get(name, ""))
        self.missing.add([columns[name] for name in self.names], self.target)
        self.moments.add([columns[name] for name in self.numbers], self.target)
        for name, summary in self.values.items():
            summary.add(columns[name], self.target)

    def show(self, name: str, number: float) -> str:
        """Return a number of a column in words: a date as a date."""
        if self.kinds[name] != "date":
            return f"{number:.10g}"
        microseconds = np.datetime64(round(number * DAY), "us")
        return str(microseconds).removesuffix(".000000").removesuffix("T00:00:00").replace("T", " ")


def _as_days(name: str, array: Any, format: str) -> Any:
    """Dates as numbers of days since 1970, null where there is none."""
    times = as_times(name, array, format)
    return floats(np.where(np.isnat(times), np.nan, times.astype(np.int64) / DAY))
