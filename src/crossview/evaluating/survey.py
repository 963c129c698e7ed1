"""A pass over the labels, and over the columns that divide the rows, before rows are scored.

It says where the rows of each partition are among all rows.  With that, several machines count in
the same blocks, the same sample and the same windows as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from crossview.data.row_columns import with_row_location
from crossview.evaluating.slices import ColumnValues, NumberSample, numbers_in
from crossview.evaluating.spec import EvaluationSpec
from crossview.evaluating.unknown import ClassificationWithUnknown
from crossview.evaluating.windows import TimeRange, time_range
from crossview.scoring.metrics.tally import added
from crossview.scoring.models.fitted_model import ModelRows

# keys of the counts of a partition, beside (column, code) of a slice and (column,) of its numbers;
# (KNOWN, key) has the labeled rows of a key that are of a class of the model
ROWS, LABELED, KNOWN = "rows", "labeled", "known"


class Position(NamedTuple):
    """Position of a partition in its stream: counts before it, and in all.

    before, total: all rows, labeled rows, and the rows of each slice and window.
    """

    before: Counter[Any]
    total: Counter[Any]

    def of(self, key: Any) -> tuple[int, int]:
        """Return the arguments of `BlockTally.begin_at` for what a key is about."""
        return self.before[key], self.total[key]


def positions(counts: Sequence[Counter[Any]]) -> list[Position]:
    """Return the position of each partition, from the counts of each.

    >>> from collections import Counter
    >>> from crossview.evaluating.survey import positions
    >>> [one.of("rows") for one in positions([Counter(rows=3), Counter(rows=2)])]
    [(0, 5), (3, 5)]
    """
    total: Counter[Any] = Counter()
    before = []
    for one in counts:
        before.append(Counter(total))
        total.update(one)
    return [Position(one, total) for one in before]


class Survey:
    """Counts of a pass over labels and dividing columns; those of consecutive parts add up.

    spec: what is evaluated.
    rows: the rows, with the columns to keep.
    by: columns whose values divide the rows.
    time: the column of the times, if they do.
    counts: of each part: its rows, those with a label, and the numbers of columns.
    """

    def __init__(
        self, spec: EvaluationSpec, rows: ModelRows, by: Sequence[str], time: str | None
    ) -> None:
        self.counts: list[Counter[Any]] = [Counter()]
        self.values: dict[str, ColumnValues] = {}
        self.times: TimeRange | None = None
        if rows.source.has_columns:
            kinds = rows.source.schema
            self.values = {
                name: ColumnValues(name, kinds.field(name).type, is_category=spec.is_category(name))
                for name in by
            }
            self.times = None if time is None else time_range(rows.source, time)

    def count(self, spec: EvaluationSpec, rows: ModelRows) -> Survey:
        """Count all rows of a part; return the survey itself."""
        (found,) = self.counts
        for n, columns, known, of_model in _labeled(spec, rows):
            found[ROWS] += n
            found[LABELED] += len(known)
            found[KNOWN, LABELED] += int(of_model.sum())
            for name, values in self.values.items():
                values.add(columns[name])
            if self.times is not None:
                self.times.add(columns[self.times.column])
        for name, values in self.values.items():
            found[name,] = values.sample.n
        return self

    def __add__(self, other: Survey) -> Survey:
        return added(self, other, "counts", "values", "times")


def _labeled(
    spec: EvaluationSpec, rows: ModelRows
) -> Iterator[tuple[int, dict[str, Any], np.ndarray, np.ndarray]]:
    """Yield the number of rows of each batch, its columns, and its rows with a label.

    Then which of these are of a class of the model.
    """
    labels, task = spec.labels(), spec.task
    for columns, batch in rows.kept():
        with with_row_location(batch):
            known, y = labels.read(batch.y if spec.label is None else columns[spec.label])
        of_model = np.ones(len(known), dtype=bool)
        if isinstance(task, ClassificationWithUnknown):
            of_model = task.is_of_model(y)
        yield len(batch), columns, known, of_model


def count_parts(spec: EvaluationSpec, rows: ModelRows, position: Position) -> Counter[Any]:
    """Return how many labeled rows are in each slice and each window."""
    found: Counter[Any] = Counter()
    first = position.before[LABELED]
    for _, columns, known, of_model in _labeled(spec, rows):
        for column, codes in spec.divide(columns, known, first):
            found.update({(column, code): n for code, n in _rows_of(codes)})
            own = _rows_of(codes[of_model])
            found.update({(KNOWN, (column, code)): n for code, n in own})
        first += len(known)
    return found


def _rows_of(codes: np.ndarray) -> Iterator[tuple[int, int]]:
    some, counts = np.unique(codes[codes >= 0], return_counts=True)
    return zip(some.tolist(), counts.tolist(), strict=True)


def sample_numbers(rows: ModelRows, columns: Sequence[str], position: Position) -> list[Any]:
    """Return the numbers of some columns that a sample of the whole stream has."""
    samples = {name: NumberSample(*position.of((name,))) for name in columns}
    for values, _ in rows.kept():
        for name, sample in samples.items():
            sample.add(numbers_in(values[name], name))
    return [sample.values for sample in samples.values()]
