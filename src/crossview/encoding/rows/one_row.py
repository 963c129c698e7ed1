"""Single rows, as mappings from JSON, to views: the road of a stream, without a table.

What a row becomes is what `RowEncoder` makes of a table of this row, bit for bit.  Cells of plain
types are read here, and all others as a column of one row.
"""

from __future__ import annotations

import datetime
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.encoding.plan import numbers_of_column
from crossview.encoding.rows.row_fill import RowFill
from crossview.encoding.statistics import weigh_rows
from crossview.errors import (
    InputError,
    argument,
    type_of,
)
from crossview.tables.arrow import plain_array
from crossview.tables.columns import (
    BOOLEAN,
    LARGEST,
    MOST_KEPT,
    TRUTH,
    Column,
    as_codes,
    as_numbers,
)
from crossview.tables.dates import ISO, as_times, date_numbers
from crossview.tables.text import characters_of, shape_of, word_analyzer
from crossview.views import OneRow

if TYPE_CHECKING:
    from crossview.encoding.rows.row_encoder import RowEncoder
    from crossview.encoding.view_scaler import ViewScaler

# lists of names of columns whose places are kept
MOST_KEYS = 256
# a date, as messages show it
EXAMPLE = datetime.datetime(2025, 4, 12, 10, 30)
# types of cells that are taken as they are, and of those that are read all at once
PLAIN = {float, int, str, bool, type(None), np.float64, np.int64}
LISTS = (list, tuple, np.ndarray)
PLAIN_NUMBERS, PLAIN_DATES = {float, int, type(None)}, {str, type(None)}


def first_row(x: Any, declared: Iterable[str]) -> dict[str, Any]:
    """Return the first row of a stream, with columns ``view__column`` in place of mappings.

    Columns whose kind is ``declared`` may be absent from it; no other may be.
    """
    named = [name for name in declared if not set(name) & set("*?[")]
    flat: dict[str, Any] = {}
    x = {key: _with_numbers(value) for key, value in _items(x)}
    nested = any(isinstance(value, Mapping) for value in x.values())
    for key, value in x.items():
        if value is None and nested and key not in named:
            if not any(name.startswith(f"{key}__") for name in named):
                raise InputError(
                    f"view {key!r} is missing in the first row, which determines the columns; "
                    f"declare them, such as {argument(numeric=[f'{key}__...'])}, or learn a table "
                    "first (partial_fit)"
                )
            continue
        if isinstance(value, Mapping):
            for own, cell in _fields(value):
                flat[own if own.startswith(f"{key}__") else f"{key}__{own}"] = cell
        else:
            flat[str(key)] = value
    return flat | dict.fromkeys(name for name in named if name not in flat)


def _with_numbers(value: Any) -> Any:
    """Return a value of a row with its vectors, of two numbers and more, as mappings to numbers."""
    if isinstance(value, Mapping):
        return {name: _with_numbers(cell) for name, cell in value.items()}
    if not isinstance(value, LISTS):
        return value
    numbers = _listed(value)
    kinds = {*map(type, numbers)} - {type(None)}
    if len(numbers) < 2 or bool in kinds or not all(issubclass(kind, Real) for kind in kinds):
        return value
    return {str(i): number for i, number in enumerate(numbers)} if kinds else None


def _listed(values: Any) -> list[Any]:
    return list(values.tolist() if isinstance(values, np.ndarray) else values)


def _fields(own: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """The fields of a view; those of an object in it are ``object__field``."""
    for name, cell in own.items():
        if isinstance(cell, Mapping):
            yield from ((f"{name}__{field}", value) for field, value in _fields(cell))
        else:
            yield str(name), cell


def _items(x: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(x, Mapping):
        raise InputError(f"a row is a mapping of names to values, and not {type_of(x)}")
    return x.items()


def check_cell(column: Column, value: Any) -> None:
    """Raise an error if a cell is none of its column; None is missing."""
    if column.is_number:
        if type(value) not in (int, float) or not abs(value) <= LARGEST:  # which is quick
            numbers_of_cells(column, [value])
    elif column.kind != "date":
        _string(column, value)
    elif not _is_missing(value):
        _numbers_of_date(column, value)


class _Hashed:
    """A column that is hashed: the slots of its terms, of which the last ones are kept.

    place: of its cells.
    learn: remembers the name of the slot of a term.
    """

    def __init__(self, column: Column, place: int, encoder: RowEncoder) -> None:
        self.column, self.place, slots, plan = column, place, encoder.slots, encoder.plan
        self.view, self.first_slot = plan.layout.index(column.view), plan.first_slot(column.view)
        self.terms: Callable[[str], list[str]] | None = None
        if column.kind == "text":
            n_grams = encoder.slots.ngram_range
            is_words = column.format != "chars"
            self.terms = word_analyzer(*n_grams) if is_words else characters_of
        self.slot = lru_cache(MOST_KEPT)(lambda term: slots.hash_one(column, term)[0])
        self.learn = lru_cache(MOST_KEPT)(partial(slots.name_one, column))


class SingleRows:
    """Encoder of single rows, which shares the statistics of an encoder of tables.

    others: columns of the tables that are in no view.
    scaler: by which views are scaled.
    """

    def __init__(
        self, encoder: RowEncoder, others: Iterable[str], scaler: ViewScaler | None
    ) -> None:
        self._encoder, plan, self._scaler = encoder, encoder.plan, scaler
        self._user = plan.user
        self._names = list(dict.fromkeys(column.name for column in plan.columns))
        self._places = {name: place for place, name in enumerate(self._names)}
        self._groups: dict[str, dict[Any, int]] = {view: {} for view in plan.layout.names}
        for column in plan.columns:
            own = self._groups.setdefault(column.view, {})
            place = self._places[column.name]
            own[column.name.removeprefix(f"{column.view}__")] = own[column.name] = place
            prefix, mark, rest = column.name.partition("__")
            if mark:  # views may be declared by globs across prefixes
                self._groups.setdefault(prefix, {})[rest] = place
        self._unused = {*others} - self._places.keys()
        # how many numbers the vectors have whose columns are vector__0, vector__1, ...
        names = self._places.keys() | self._unused
        parts = [name.rpartition("__") for name in names]
        counts = Counter(name for name, _, number in parts if number.isdecimal())
        self._lengths = {one: n for one, n in counts.items() if f"{one}__{n - 1}" in names}
        self._hashed = [_Hashed(one, self._places[one.name], encoder) for one in plan.hashed]
        # numbers: those of a column of numbers, or all parts of a date or of the shape of a text
        self._whole: list[tuple[Column, int, int]] = []
        self._parts: list[tuple[Column, int, int]] = []
        at = 0
        for column in plan.columns:
            size = len(numbers_of_column(column))
            if size:
                kind = self._whole if column.is_number else self._parts
                kind.append((column, self._places[column.name], at))
            at += size
        self._n_numbers = at
        self._date = lru_cache(MOST_KEPT)(_numbers_of_date)
        # names that are of a column, and of no group; and lists of names whose places are known
        self._flat = {name: at for name, at in self._places.items() if name not in self._groups}
        self._known: dict[Any, list[Any]] = {}
        # what is bound to the arrays of one row has no room for texts
        self._has_texts = any(one.terms is not None for one in self._hashed)
        statistics = encoder.moments, encoder.quantiles, encoder.standardizes
        self._fill = RowFill(plan, *statistics, None if self._has_texts else scaler)

    def encode(self, x: Mapping[str, Any], *, learn: bool = False) -> tuple[OneRow, str | None]:
        """Return a row of views, and its user, if the encoder knows any.

        ``learn``: by the statistics up to and including itself.
        """
        encoder = self._encoder
        # 1. all cells are read before anything changes
        cells = self._cells(x)
        try:
            numbers = self._numbers(cells)
            hashed = [(one, self._terms(one, cells[one.place])) for one in self._hashed]
            user = None
            if self._user is not None:
                user = _string(self._user, cells[self._places[self._user.name]])
        except InputError as error:  # there is only one row, so its number says nothing
            raise InputError(error.message, column=error.column) from None
        if learn and encoder.slots.remember_names:
            for one, own in hashed:
                for term in own or ():
                    one.learn(term)
        # 2. numbers and categories, then texts
        slots = [
            -1 if own is None else one.slot(own[0]) for one, own in hashed if one.terms is None
        ]
        if not self._has_texts:
            return self._fill.row(numbers, slots, learn=learn), user
        texts = [(one, own) for one, own in hashed if one.terms is not None]
        there = [one.view for one, own in texts if own is not None]
        row = self._fill.row(numbers, slots, learn=learn, with_text=there)
        row = self._with_texts(row, texts, learn=learn)
        if self._scaler is None:
            return row, user
        scale = self._scaler.partial_fit_transform_one if learn else self._scaler.transform_one
        return scale(row), user

    def table(self, rows: Sequence[Any]) -> Any:
        """Return rows as an Arrow table, whose rows are encoded as each row is alone.

        Cells become numbers or strings here, as those of a single row do, so that a column may hold
        several types.  `InputError` if a row cannot be read, or dates are of several types.
        """
        import pyarrow as pa

        cells = [self._cells(x) for x in rows]
        columns = {column.name: column for column in self._encoder.plan.columns}
        found: dict[str, Any] = {}
        for place, name in enumerate(self._names):
            column, values = columns[name], [row[place] for row in cells]
            if column.is_number:
                found[name] = pa.array(numbers_of_cells(column, values), from_pandas=True)
                continue
            if column.kind == "date":
                strings = [None if _is_missing(value) else value for value in values]
                if not {*map(type, strings)} <= PLAIN_DATES:
                    raise InputError("holds dates of several types", column=name)
            else:
                strings = [_string(column, value) for value in values]
            found[name] = pa.array(strings, pa.string())
        return pa.table(found)

    # --- cells -----------------------------------------------------------------------------

    def _cells(self, x: Any) -> list[Any]:
        """Return the cells of a row in the order of the names of the columns; None: missing."""
        if type(x) is not dict:
            return self._read_and_tell(x)
        key: Any = tuple(x)
        values = list(x.values())
        nested = bool(values) and type(values[0]) is dict
        if nested:
            for own in values:
                if type(own) is not dict:
                    return self._read_and_tell(x)
            key = key, *map(tuple, values)
            values = [cell for own in values for cell in own.values()]
        known = self._known.get(key)
        if known is not None and not {*map(type, values)} <= PLAIN:
            return self._read_and_tell(x)  # a cell may be a mapping
        if known is None:
            cells = self._read_and_tell(x)
            known = [self._flat.get(name) for name in key]
            if nested:
                groups = self._groups
                known = [groups.get(view, {}).get(name) for view, own in x.items() for name in own]
            if None not in known and len(known) == len({*known}) and len(self._known) < MOST_KEYS:
                self._known[key] = known
            return cells
        cells = [None] * len(self._names)
        for place, value in zip(known, values, strict=True):
            cells[place] = value
        return cells

    def unknown_names(self, x: Any) -> list[str]:
        """Return the names of a row that are of no column."""
        return self._read_cells(x)[1]

    def _read_and_tell(self, x: Any) -> list[Any]:
        """Return the cells of a row of any form; count and tell of names that are of no column."""
        cells, unknown = self._read_cells(x)
        if unknown:
            self._encoder.n_unknown += 1
            self._encoder.tell(unknown)
        return cells

    def _read_cells(self, x: Any) -> tuple[list[Any], list[str]]:
        """Return the cells of a row of any form, and its names that are of no column."""
        cells: list[Any] = [None] * len(self._names)
        places, unknown, given = self._places, list[str](), set[int]()

        def put(place: int, value: Any) -> None:
            if place in given:
                raise InputError(
                    "is there twice: by its name, and in a view", column=self._names[place]
                )
            given.add(place)
            cells[place] = value

        def put_vector(name: str, value: Any) -> bool:
            n = self._lengths.get(name)
            if n is None or not isinstance(value, LISTS):
                return False
            if len(value) != n:
                raise InputError(
                    f"is a vector of {n} numbers, and not of {len(value)}", column=name
                )
            for i, number in enumerate(_listed(value)):
                if (place := places.get(f"{name}__{i}")) is not None:
                    put(place, number)
            return True

        for key, value in _items(x):
            if put_vector(key, value):
                continue
            place = places.get(key)
            if place is not None and not isinstance(value, Mapping):
                put(place, value)
            elif key in self._groups:
                own = self._groups[key]
                if value is None:
                    continue
                if not isinstance(value, Mapping):
                    form = f"{{{json.dumps(next(iter(own)))}: ...}}"
                    raise InputError(
                        f"is a view, and {value!r:.60} has no columns: give them with their "
                        f"values, as {'[...]' if key in self._lengths else form}, or null",
                        column=str(key),
                    )
                for name, cell in value.items():
                    if isinstance(cell, Mapping) and name in own:
                        raise _not_a_cell(cell, self._names[own[name]])
                for name, cell in _fields(value):
                    place = own.get(name)
                    if put_vector(f"{key}__{name}", cell) or put_vector(name, cell):
                        continue
                    if place is None:
                        if cell is None and any(field.startswith(f"{name}__") for field in own):
                            continue  # an object that is missing
                        unknown.append(f"{key}__{name}" if name not in self._unused else str(name))
                    else:
                        put(place, cell)
            elif place is not None:
                raise _not_a_cell(value, str(key))
            elif isinstance(value, Mapping):
                unknown += [f"{key}__{name}" for name, _ in _fields(value)]
            else:
                unknown.append(str(key))
        return cells, [name for name in unknown if name not in self._unused]

    def _numbers(self, cells: list[Any]) -> list[float]:
        """Return the numbers of a row, NaN where they are missing."""
        numbers = [math.nan] * self._n_numbers
        for column, place, at in self._whole:
            value = cells[place]
            if value is None:
                continue
            kind = type(value)
            number = value if kind is float or kind is int else _number(column, value)
            if abs(number) <= LARGEST:
                numbers[at] = float(number)
            elif number == number:
                what = f"{number!r:.60} is too large: write null, or a number up to {LARGEST:g}"
                raise InputError(what, column=column.name)
        for column, place, at in self._parts:
            if not _is_missing(cells[place]):
                own = self._part_numbers(column, cells[place])
                numbers[at : at + len(own)] = own
        return numbers

    def _part_numbers(self, column: Column, value: Any) -> list[float]:
        """Return the numbers of a date, or of the shape of a text."""
        if column.kind != "date":
            text = _string(column, value) or ""
            if not text.isascii():
                array_of_cell(column.name, text)  # or its error
            return shape_of(text)
        return (self._date if isinstance(value, str) else _numbers_of_date)(column, value)

    def _terms(self, one: _Hashed, value: Any) -> list[str] | None:
        """Return the terms of a cell that are hashed; None where it is missing."""
        text = _string(one.column, value)
        if text is None:
            return None
        return [text] if one.terms is None else one.terms(text)

    # --- what they become ------------------------------------------------------------------

    def _with_texts(
        self, row: OneRow, texts: list[tuple[_Hashed, list[str] | None]], *, learn: bool
    ) -> OneRow:
        """Return a row with the words of its texts; what is in the same slot is added."""
        cells = dict(zip(row.columns, row.values, strict=True))
        for c, (one, terms) in enumerate(texts):
            if terms is not None:
                counted = sorted(Counter([one.slot(term) for term in terms]).items())
                for slot, value in self._weighed(c, counted, learn=learn):
                    column = one.first_slot + slot
                    cells[column] = cells.get(column, 0.0) + value
        columns = sorted(cells)
        return row._replace(columns=columns, values=[cells[column] for column in columns])

    def _weighed(
        self, c: int, counted: list[tuple[int, int]], *, learn: bool
    ) -> list[tuple[int, float]]:
        """Return the counts of words of a text with norm 1, and as tf-idf."""
        encoder, n = self._encoder, len(counted)
        slots = [slot for slot, _ in counted]
        if not encoder.tf_idf:
            norm = math.sqrt(sum(count * count for _, count in counted))
            return [(slot, count / norm) for slot, count in counted]
        data = np.array([count for _, count in counted], dtype=np.float64)
        rows = data, np.array(slots, dtype=np.int32), np.array([0, n], dtype=np.int32)
        weighed = np.empty(n)
        frequencies = encoder.frequencies
        counts = frequencies.n[c : c + 1], frequencies.df[c]
        weigh_rows(rows, np.ones(1, dtype=bool), learn, counts, weighed)
        return list(zip(slots, weighed.tolist(), strict=True))


def _string(column: Column, value: Any) -> str | None:
    """Return a cell as the string that a table has of it; None where it is missing."""
    is_truth = column.format == BOOLEAN
    if type(value) is str:
        return TRUTH.get(value.lower(), value) if is_truth else value
    if _is_missing(value):
        return None
    if is_truth:
        found = TRUTH.get(str(value).lower())
        if found is None:
            words = f"{value!r:.60} is neither true nor false: give one without quotes, or null"
            raise InputError(words, column=column.name)
        return found
    is_category = column.declared and column.kind != "text"
    if type(value) is int and is_category:
        return str(value)
    if type(value) in (int, float) and not is_category:
        words = f"{value!r:.60} is a number, and the column holds text: give it in quotes"
        raise InputError(words, column=column.name)
    try:
        coded = as_codes(column, array_of_cell(column.name, value))
    except InputError:
        words = f"{value!r:.60} is no text: give text in quotes, or null"
        raise InputError(words, column=column.name) from None
    text: str = coded.dictionary[int(coded.codes[0])].as_py()
    return text


def _not_a_cell(value: Mapping[Any, Any], column: str) -> InputError:
    words = f"{value!r:.60} is a mapping; give a number, text, a date or null"
    return InputError(words, column=column)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def array_of_cell(name: str, value: Any) -> Any:
    """Return a cell of a column as an Arrow array, as of a table of one row."""
    import pyarrow as pa

    is_whole = type(value) is int
    try:
        kind = pa.uint64() if is_whole and value >= 1 << 63 else None
        return plain_array(pa.array([value], kind, from_pandas=True))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        what = f"{value!r:.60} is no value of a table: give a number, text, a date or null"
        if is_whole:
            what = f"{value!r:.60} is larger than the whole numbers of a table: give text in quotes"
        raise InputError(what, column=name) from None


def numbers_of_cells(column: Column, values: Sequence[Any]) -> np.ndarray:
    """Return cells of a column as numbers, NaN where they are missing."""
    if not {*map(type, values)} <= PLAIN_NUMBERS:
        values = [None if _is_missing(value) else _number(column, value) for value in values]
    try:
        numbers = np.array(values, dtype=np.float64)  # NaN in place of None
    except OverflowError:
        numbers = np.array([np.inf])
    if (np.abs(numbers) > LARGEST).any():
        raise InputError(f"is too large: write a number up to {LARGEST:g}", column=column.name)
    return numbers


def _number(column: Column, value: Any) -> float:
    """Return a cell of another type than Python's numbers as one."""
    if isinstance(value, float | np.floating):
        return float(value)
    try:
        return float(as_numbers(column, array_of_cell(column.name, value))[0])
    except InputError:
        words = f"{value!r:.60} is not a number: give one without quotes, such as 31.5, or null"
        raise InputError(words, column=column.name) from None


def _numbers_of_date(column: Column, value: Any) -> list[float]:
    try:
        times = as_times(column.name, array_of_cell(column.name, value), column.format)
        return date_numbers(times)[0].tolist()
    except InputError:
        format = column.format or ISO
        words = (
            f"{value!r:.60} is no date as in {format}: give one, such as "
            f'"{EXAMPLE.strftime(format)}", or null'
        )
        raise InputError(words, column=column.name) from None
