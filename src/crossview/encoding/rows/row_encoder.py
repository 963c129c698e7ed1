"""Rows of columns to views that are not scaled: plan, statistics and slots of an encoder."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from crossview.batch import MAX_INT32
from crossview.encoding.hashing import SlotTables
from crossview.encoding.plan import Plan
from crossview.encoding.rows.fill import Cells, fill_rows, slot_buffer
from crossview.encoding.rows.row_hashes import TableHashes
from crossview.encoding.statistics import DocumentFrequencies, Moments, Quantiles
from crossview.errors import (
    InputError,
    UnusedColumnsWarning,
    argument,
    closest_names,
    some_names,
)
from crossview.saving.schema import Array, check_state
from crossview.tables.arrow import numbers_of
from crossview.tables.columns import Batch, Column
from crossview.views import MultiView

# names of columns that are not used, and are told of
MOST_TOLD = 20


class _Text(NamedTuple):
    """The words of one column, row by row, and whether each row has a text."""

    column: Column
    rows: sp.csr_array
    present: np.ndarray


class _Values(NamedTuple):
    """Rows as numbers, their positions between knots, slots of categories, and words of texts."""

    numbers: np.ndarray
    positions: np.ndarray
    categories: list[tuple[np.ndarray, np.ndarray]]  # codes of the rows, and slots of the codes
    texts: list[_Text]


class RowEncoder:
    """Encoder of the rows of some columns, and its statistics.

    The parameters are those of `ViewEncoder`, with the number of slots of each view that has
    categories or text, and the number of bins of each number (0: none).
    """

    def __init__(
        self,
        columns: list[Column],
        *,
        n_slots: int,
        ngram_range: tuple[int, int],
        n_bins: int,
        tf_idf: bool,
        standardize: bool,
        remember_names: int,
    ) -> None:
        self.plan = Plan(columns, n_slots, n_bins)
        n_columns = self.plan.layout.n_columns
        if n_columns > MAX_INT32:
            raise InputError(
                f"{argument(hash_bits=n_slots.bit_length() - 1)} gives {n_columns:,} columns in "
                f"all views together, and {MAX_INT32:,} is the limit; give fewer bits"
            )
        n_numbers, views = len(self.plan.numbers), self.plan.layout.names
        sparse = [number.is_sparse for number in self.plan.numbers]
        self.moments = Moments([number.view for number in self.plan.numbers], sparse)
        self.quantiles = Quantiles(n_numbers if n_bins else 0, n_bins, sparse)
        n_texts = sum(column.kind == "text" for column in self.plan.hashed) if tf_idf else 0
        self.frequencies = DocumentFrequencies(n_texts, n_slots)
        self.slots = SlotTables(n_slots, ngram_range, remember_names, views, normalized=not tf_idf)
        self.tf_idf = tf_idf
        self._hashes = TableHashes()
        self.standardizes = standardize
        self.told: set[str] = set()  # columns of rows that are not used, and were told of
        self.absent: set[str] = set()  # the same of views of which tables had no column
        self.n_unknown = 0  # single rows that had any

    def tell(self, unknown: Iterable[str]) -> None:
        """Warn once of columns that the encoder does not have."""
        told, known = self.told, [column.name for column in self.plan.columns]
        if new := [name for name in unknown if name not in told][: MOST_TOLD - len(told)]:
            told.update(new)
            closest = closest_names(new[0], known) if len(new) == 1 else ""
            warnings.warn(
                f"not used, as the encoder has no such columns: {some_names(new)}{closest}",
                UnusedColumnsWarning,
                stacklevel=6,
            )

    def tell_absent(self, views: Iterable[str]) -> None:
        """Warn once of views of which rows to learn have no column."""
        for view in views:
            if view not in self.absent:
                self.absent.add(view)
                words = f"view {view!r} is missing; the rows are learned without it"
                warnings.warn(words, UserWarning, stacklevel=4)

    def reuse(self, other: RowEncoder) -> None:
        """Take from another encoder what follows from its strings alone: hashes, and shapes."""
        self.slots.reuse(other.slots)
        self.plan.shapes = dict(other.plan.shapes)

    def fit(self, X: Any) -> MultiView:
        """Learn the statistics of all rows, then encode them."""
        batch = self.plan.decode(X)
        tables = self.slots.look_up(self.plan.hashed, batch.coded, learn=True)
        self.moments.standardize(batch.values, learn=True)
        if self.plan.n_bins:
            self.quantiles.fit(batch.values)
        self._texts(batch, tables, learn=True)
        return self._views(self._values(batch))

    def encode(self, X: Any, *, learn: bool = False) -> MultiView:
        """Encode rows; ``learn``: each by the statistics up to and including itself."""
        return self._views(self._values(self.plan.decode(X), learn=learn))

    def learn(self, X: Any) -> None:
        """Learn rows, without encoding them."""
        self._values(self.plan.decode(X), learn=True)

    def hash_rows(self, X: Any) -> np.ndarray:
        """Return a hash of each row as it is read, whatever was learned."""
        return self._hashes.of(self.plan.decode(X))

    def count_columns(self, X: Any, rows: np.ndarray | None = None) -> np.ndarray:
        """Return in how many rows each watched column is missing, and has a rare value.

        ``rows``: those to count; None: all.  Shape (n_watched, 2).
        """
        batch, table = self.plan.decode(X), self.plan.table(X)
        watched = self.plan.watched()
        counts = np.zeros((len(watched), 2), dtype=np.int64)
        some = slice(None) if rows is None else rows
        for own, column in zip(counts, watched, strict=True):
            if column.rare == "unknown":
                codes = batch.coded[column.at].codes[some]
                learned = self.slots.learned(self.plan.hashed[column.at], batch.coded[column.at])
                own[:] = (codes < 0).sum(), 0 if learned.all() else (~learned)[codes].sum()
                continue
            array = table.column(column.name)
            own[0] = array.null_count
            if own[0] and rows is not None:
                own[0] = numbers_of(array.is_null())[rows].sum()
            if column.rare == "midnight":
                days = batch.values[some, column.at]
                own[1] = (days == np.floor(days)).sum()
        return counts

    def _values(self, batch: Batch, *, learn: bool = False) -> _Values:
        tables = self.slots.look_up(self.plan.hashed, batch.coded, learn=learn)
        numbers, positions = batch.values, np.empty((len(batch.values), 0))
        if self.standardizes or learn:
            standardized = self.moments.standardize(numbers, learn=learn)
        if self.plan.n_bins:
            positions = self.quantiles.positions(numbers, learn=learn)
        categories = [
            (coded.codes, table)
            for column, coded, table in zip(self.plan.hashed, batch.coded, tables, strict=True)
            if column.kind == "categorical"
        ]
        numbers = standardized if self.standardizes else numbers
        return _Values(numbers, positions, categories, self._texts(batch, tables, learn=learn))

    def _texts(self, batch: Batch, tables: list[Any], *, learn: bool = False) -> list[_Text]:
        """The rows of each text column."""
        texts: list[_Text] = []
        for column, coded, table in zip(self.plan.hashed, batch.coded, tables, strict=True):
            if column.kind == "text":
                rows, present = table[coded.codes], coded.codes >= 0  # the last row, -1, is empty
                if self.tf_idf:
                    rows = self.frequencies.weigh(len(texts), rows, present, learn=learn)
                texts.append(_Text(column, rows, present))
        return texts

    def _views(self, values: _Values) -> MultiView:
        plan, layout = self.plan, self.plan.layout
        matrix, present = _encode_rows(plan, *values)
        names = {
            view: self.plain_names(view)
            for view in layout.names
            if plan.first_slot(view) == layout.block(view).stop
        }
        categorical = (column for column in plan.hashed if column.kind == "categorical")
        slots = [
            table[:-1] + np.int64(plan.first_slot(column.view))
            for column, (_, table) in zip(categorical, values.categories, strict=True)
        ]
        return MultiView.from_matrix(
            *(matrix, layout),
            present=None if present.all() else present,
            feature_names=names,
            categories=slots,
        )

    def plain_names(self, view: str) -> list[str]:
        """Return the names of a view's columns before its slots."""
        return self.plan.plain_names(view, self.quantiles.knots)

    def state(self) -> dict[str, np.ndarray]:
        """Return the learned state as arrays."""
        moments = {name: getattr(self.moments, name) for name in ("count", "mean", "m2")}
        return moments | self.quantiles.state() | self.slots.state() | self.frequencies.state()

    def set_state(self, state: Mapping[str, np.ndarray], others: Mapping[str, Array]) -> None:
        """Take what `state` gave; ``others`` are more arrays that the state has."""
        n = len(self.plan.numbers)
        schema = {
            "count": Array("f8", (n,), low=0.0),
            "mean": Array("f8", (n,)),
            "m2": Array("f8", (n,), low=0.0, high=np.inf),
            **others,
            **self.quantiles.schema(state),
            **self.slots.schema(),
            **self.frequencies.schema(),
        }
        check_state(state, schema, "ViewEncoder")
        for key in ("count", "mean", "m2"):
            getattr(self.moments, key)[:] = state[key]
        self.quantiles.set_state(state)
        self.slots.set_state(state)
        self.frequencies.set_state(state)


def _encode_rows(
    plan: Plan,
    numbers: np.ndarray,
    positions: np.ndarray,
    categories: list[tuple[np.ndarray, np.ndarray]],
    texts: list[_Text],
) -> tuple[sp.csr_array, np.ndarray]:
    """The rows as one CSR matrix, and whether each view is there; see `_Values`."""
    n_rows = len(numbers)
    present = np.zeros((n_rows, plan.layout.n_views), dtype=bool)
    codes = np.empty((len(categories), n_rows), dtype=np.int32)
    for k, (of_column, _) in enumerate(categories):
        codes[k] = of_column
    tables = [np.empty(0, dtype=np.int32), *(table for _, table in categories)]
    starts = np.cumsum([len(table) for table in tables[:-1]], dtype=np.uint64)
    for text in texts:
        present[:, plan.layout.index(text.column.view)] |= text.present
    # 1. numbers and categories, row by row
    blocks = plan.blocks()
    most = n_rows * ((3 if plan.n_bins else 1) * len(plan.numbers) + len(categories))
    if most > MAX_INT32:
        raise InputError(f"{n_rows} rows are too many for one call; transform them in batches")
    indptr = np.zeros(n_rows + 1, dtype=np.int32)
    indices = np.empty(most, dtype=np.int32)
    data = np.empty(most)
    cells = Cells(numbers, positions, codes, np.concatenate(tables), starts)
    csr = (data, indices, indptr)
    fill_rows(cells, plan.n_bins, present, blocks, slot_buffer(len(codes)), csr)
    if plan.unused is not None:
        data, indices, indptr = _without(plan.unused, data, indices, indptr)
    matrix = _csr(data, indices, indptr, plan.layout.n_columns)
    # 2. texts, as one matrix per column
    for column, rows, _ in texts:
        shifted = rows.indices + np.int32(plan.first_slot(column.view))
        matrix = matrix + _csr(rows.data, shifted, rows.indptr, plan.layout.n_columns)
    return matrix, present


def _without(
    unused: np.ndarray, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same rows without the entries of some columns."""
    kept = ~unused[indices[: indptr[-1]]]
    ends = np.append(0, np.cumsum(kept, dtype=np.int32))
    return data[: len(kept)][kept], indices[: len(kept)][kept], ends[indptr]


def _csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, width: int) -> sp.csr_array:
    """A matrix whose columns are sorted, each once."""
    end = indptr[-1]
    matrix = sp.csr_array((data[:end], indices[:end], indptr), shape=(len(indptr) - 1, width))
    matrix.has_canonical_format = True
    return matrix
