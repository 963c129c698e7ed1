"""Plan of an encoder: columns of a table, and the columns of the views that they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossview.encoding.rows.fill import Blocks
from crossview.errors import InputError, argument, closest_names, some_names
from crossview.tables.arrow import column_names, to_arrow
from crossview.tables.columns import (
    USER,
    Batch,
    Coded,
    Column,
    as_codes,
    as_matrix,
    as_numbers,
    one_array,
    same_strings,
)
from crossview.tables.dates import PARTS, as_times, date_numbers
from crossview.tables.text import SHAPE, shape_numbers
from crossview.views import ViewLayout

if TYPE_CHECKING:
    import pyarrow as pa


class Number(NamedTuple):
    """A number of each row: a column of numbers, a part of a date, or of the shape of a text.

    ``is_whole`` says whether it is the first number of its column, which says where that is
    missing; ``is_sparse``, whether it shares its scale with others of the view.  ``of_date``: it
    says little without the other parts.
    """

    name: str
    view: str
    column: str
    is_whole: bool = True
    is_sparse: bool = False
    of_date: bool = False

    @property
    def explained_as(self) -> str:
        """What its parts are explained together as: the number, or the date that it is of."""
        return self.column if self.of_date else self.name


class Watched(NamedTuple):
    """A column of the table whose values are counted, and what there may be few of in training.

    ``rare`` is "unknown", of a category that was not learned, "midnight", of a time without time
    of day, or nothing; ``at`` is the place of its codes, or of its numbers.
    """

    name: str
    view: str
    rare: str
    at: int


def numbers_of_column(column: Column) -> list[Number]:
    """Return the numbers that a column becomes."""
    if column.is_number:
        sparse = column.kind == "sparse"
        return [Number(column.name, column.view, column.name, is_sparse=sparse)]
    parts = PARTS if column.kind == "date" else SHAPE if column.format == "shape" else ()
    return [
        Number(
            *(f"{column.name} {part}", column.view, column.name, k == 0),
            of_date=column.kind == "date",
        )
        for k, part in enumerate(parts)
    ]


class Plan:
    """The columns that are encoded, and the layout of what they become.

    hashed: the columns of categories and text.
    user: the column of the user, in a view that is made of all others (`PersonalView`).
    unused (n_columns,): columns of the output that no row has: a date or text is missing once, and
      not once for each of its numbers.  None: there are none.
    """

    def __init__(self, columns: list[Column], n_slots: int, n_bins: int) -> None:
        self.columns = columns
        self.n_bins = n_bins
        self.numbers = [number for column in columns for number in numbers_of_column(column)]
        self.hashed = [
            c for c in columns if c.kind in ("categorical", "text") and c.format != "shape"
        ]
        self.user = next((c for c in columns if c.kind == USER), None)
        views = list(dict.fromkeys(c.view for c in columns if c is not self.user))
        hashing = {c.view for c in self.hashed}
        widths = [
            (2 + n_bins) * sum(c.view == view for c in self.numbers)
            + (n_slots if view in hashing else 0)
            for view in views
        ]
        self.layout = ViewLayout(views, widths)
        self.unused = self._unused()
        self._recent: tuple[Any, Batch] | None = None
        self.shapes: dict[str, tuple[pa.Array, np.ndarray]] = {}  # texts of a column, and theirs

    def watched(self) -> list[Watched]:
        """Return the columns of the table, each once, and where their values are."""
        firsts = {(n.view, n.column): i for i, n in reversed([*enumerate(self.numbers)])}
        places = {(c.view, c.name): i for i, c in enumerate(self.hashed)}
        rare = {"categorical": "unknown", "date": "midnight"}
        found: dict[str, Watched] = {}
        for c in self.columns:
            at = (places if c.kind == "categorical" else firsts).get((c.view, c.name), -1)
            if c is not self.user and c.name not in found:
                found[c.name] = Watched(c.name, c.view, rare.get(c.kind, ""), at)
        return list(found.values())

    def _unused(self) -> np.ndarray | None:
        """The columns of the output that no row has."""
        if all(number.is_whole for number in self.numbers):
            return None
        unused = np.zeros(self.layout.n_columns, dtype=bool)
        for view in self.layout.names:
            parts = [not number.is_whole for number in self.numbers if number.view == view]
            start = self.layout.block(view).start + len(parts)
            unused[start : start + len(parts)] = parts
        return unused

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_recent": None, "shapes": {}}  # caches

    def first_slot(self, view: str) -> int:
        """Return the column of the output at which the slots of a view start."""
        return self.layout.block(view).start + (2 + self.n_bins) * self._count(view)[0]

    def plain_names(self, view: str, knots: Sequence[np.ndarray]) -> list[str]:
        """Return the names of a view's columns before its slots; ``knots`` of all numbers."""
        own = [c for c in self.numbers if c.view == view]
        names = [c.name for c in own]
        missing = [f"{c.name} {'is missing' if c.is_whole else '(unused)'}" for c in own]
        bins = [
            f"{number.name} near {own[k]:.4g}"
            if k < len(own)
            else f"{number.name} bin {k} (unused)"
            for number, own in zip(self.numbers, knots, strict=False)
            if number.view == view
            for k in range(self.n_bins)
        ]
        return [*names, *missing, *bins]

    def whole_columns(self, view: str) -> tuple[np.ndarray, list[str]]:
        """Return what each of a view's columns before its slots is a part of, and its name."""
        own = [c for c in self.numbers if c.view == view]
        firsts: dict[str, int] = {}
        number = [firsts.setdefault(c.explained_as, i) for i, c in enumerate(own)]
        alone = range(len(own), 2 * len(own))  # the number is missing, so it has no other part
        wholes = np.array([*number, *alone, *np.repeat(number, self.n_bins)], dtype=np.intp)
        names = [c.explained_as for c in own]
        return wholes, [*names, *(f"{name} is missing" for name in names)]

    def blocks(self) -> Blocks:
        """Return where each view starts."""
        counts = np.array([self._count(name) for name in self.layout.names]).reshape(-1, 2)
        numeric_ptr, slots_ptr = np.vstack([[0, 0], counts.cumsum(axis=0)]).T.copy()
        ptrs = (numeric_ptr, slots_ptr, self.layout.ptr)
        return Blocks(*(ptr.astype(np.uint64) for ptr in ptrs))

    def _count(self, view: str) -> tuple[int, int]:
        """Number of numbers and of categorical columns of a view."""
        n_numbers = sum(number.view == view for number in self.numbers)
        categories = (c for c in self.hashed if c.kind == "categorical")
        return n_numbers, sum(c.view == view for c in categories)

    def table(self, X: Any) -> Any:
        """Return the columns as an Arrow table."""
        names = column_names(X)
        known, own = set(names), {c.name for c in self.columns}
        missing = [*dict.fromkeys(c.name for c in self.columns if c.name not in known)]
        if missing:
            without = argument(missing_columns="null")
            near = closest_names(missing[0], names, taken=own)
            raise InputError(
                f"no column {some_names([*map(repr, missing)], 5)}{near}; crossview.predict "
                f"predicts without: {without}; to learn these rows, add the column with nulls"
            )
        return to_arrow(X, list(dict.fromkeys(c.name for c in self.columns)))

    def decode(self, X: Any) -> Batch:
        """Return the columns as numbers and codes; decode the same Arrow batch only once."""
        recent = self._recent  # read once: another thread may replace it
        if recent is not None and recent[0] is X:
            return recent[1]
        table = self.table(X)
        # a text may be in several views
        strings = {c.name: c for c in self.columns if c.kind in ("categorical", "text", USER)}
        coded = {name: as_codes(c, one_array(table.column(name))) for name, c in strings.items()}
        values = None
        numeric = [c.name for c in self.columns if c.is_number]
        if len(numeric) == len(self.numbers):
            values = as_matrix(table.select(numeric) if len(strings) else table)
        if values is None:
            values = self._values(table, coded)
        users = None if self.user is None else coded[self.user.name]
        batch = Batch(values, [coded[c.name] for c in self.hashed], users)
        if type(X).__module__.startswith("pyarrow"):  # cannot change in place
            self._recent = (X, batch)
        return batch

    def _values(self, table: Any, coded: Mapping[str, Coded]) -> np.ndarray:
        """The numbers of each row, column by column."""
        values = np.empty((table.num_rows, len(self.numbers)))
        at = 0
        for column in self.columns:
            if column.is_number:
                values[:, at] = as_numbers(column, one_array(table.column(column.name)))
                at += 1
            elif column.kind == "date":
                array = one_array(table.column(column.name))
                times = as_times(column.name, array, column.format)
                values[:, at : at + len(PARTS)] = date_numbers(times)
                at += len(PARTS)
            elif column.format == "shape":
                values[:, at : at + len(SHAPE)] = self._shapes_of(column.name, coded[column.name])
                at += len(SHAPE)
        return values

    def _shapes_of(self, name: str, coded: Coded) -> np.ndarray:
        """The numbers of the texts of a column; those of an unchanged dictionary are reused."""
        known = self.shapes.get(name)
        if known is None or not same_strings(known[0], coded.dictionary):
            numbers = np.vstack([shape_numbers(coded.dictionary), np.full(len(SHAPE), np.nan)])
            known = self.shapes[name] = coded.dictionary, numbers
        rows: np.ndarray = known[1][coded.codes]  # the last one, -1, is missing
        return rows
