"""Columns of a table as numbers, or as distinct values and codes."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossview.errors import InputError, argument, closest_names
from crossview.labels import WORDS_OF_TRUTH
from crossview.tables.arrow import codes_of, decoded, is_number, numbers_of, type_of_values
from crossview.tables.dates import is_date, is_text
from crossview.views import matching

if TYPE_CHECKING:
    import pyarrow as pa

# the kind of the column of the personal view
USER = "user"
# what is written of a category that is true or false, and how tables have it
BOOLEAN = "boolean"
TRUTH = {"true": "true", "1": "true", "1.0": "true"} | dict.fromkeys(("false", "0", "0.0"), "false")
TRUTH |= WORDS_OF_TRUTH
# beyond this, squares and differences overflow
LARGEST = 1e100
NOT_MISSING = (
    "NaN is not a missing value: write null (fill_nan(None) in polars; describe says how), or an "
    "empty field"
)
# values of a column whose slots, or dates whose numbers, single rows keep
MOST_KEPT = 1 << 16


class Column(NamedTuple):
    """A column to encode: its name, view and kind, and whether the kind was declared.

    ``format`` says how strings write dates ("": as ISO 8601), what the view has of a text
    (`FORMS`), and whether a category is true or false (`BOOLEAN`).
    """

    name: str
    view: str
    kind: str
    declared: bool
    format: str = ""

    @property
    def is_number(self) -> bool:
        """True if a value of the column is a number."""
        return self.kind in ("numeric", "sparse")


class Coded(NamedTuple):
    """A column as its distinct values, as strings, and a code per row, -1 for null."""

    dictionary: pa.Array
    codes: np.ndarray


class Batch(NamedTuple):
    """Decoded rows: numbers, one row each (NaN where missing), and the codes of each column.

    ``users`` are those of the personal view, where there is one.
    """

    values: np.ndarray
    coded: list[Coded]
    users: Coded | None = None


def listed(names: str | Sequence[str] | None) -> list[str]:
    """Return names, of which one alone may be given as it is, as a list; of None none."""
    return [names] if isinstance(names, str) else list(() if names is None else names)


def match_names(
    patterns: Sequence[str], names: Sequence[str], option: str | None = None
) -> list[str]:
    """Return the column names that match an option such as ``text=``; without one, any of them."""
    found: dict[str, None] = {}
    known = set(names)
    for pattern in listed(patterns):
        own = matching(pattern, names, known)
        if not own:
            what = f"no column {pattern!r}"
            if option:
                what = f"{argument(option)} names {pattern!r}, which is in no view"
            raise InputError(f"{what}{closest_names(pattern, names)}")
        found |= dict.fromkeys(own)
    return list(found)


def kind_of(kind: pa.DataType) -> str | None:
    """Return the kind of a column by its Arrow type; None if it has no use."""
    if is_number(kind):
        return "numeric"
    if _is_category(kind):
        return "categorical"
    if is_date(kind):
        return "date"
    return None


def about_unusable(kind: pa.DataType) -> str:
    """Return why a column of an Arrow type has no kind, and what makes one of it."""
    from pyarrow import types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if is_list and is_number(kind.value_type):
        return (
            f"holds {kind} of different lengths, which is no vector; in SQL, array_length(...) is "
            "a number, and array_to_string(..., ' ') text"
        )
    if is_list:
        fix = "array_to_string(..., ' ') makes text of it, array_length(...) a number"
    elif types.is_dictionary(kind):
        return f"holds categories of {kind.value_type}; make text of them, .astype(str) in pandas"
    elif getattr(kind, "extension_name", "") == "pandas.interval":
        return (
            "holds intervals, which are neither number, category, text nor date; .astype(str) in "
            "pandas makes categories of them, .array.mid numbers"
        )
    else:
        fix = "convert it, for example with epoch(...) or CAST(... AS VARCHAR)"
    return f"holds {kind}, which is neither number, category, text nor date; in SQL, {fix}"


def refuse_unusable(types: Mapping[str, pa.DataType]) -> None:
    """Raise an error for columns of no kind, all of them at once; ``types`` are theirs."""
    reasons: dict[str, list[str]] = {}
    for column, kind in types.items():
        reason = (
            f"has no value in any row, so its kind is unknown; name it in {argument('numeric')}, "
            f"{argument('categorical')}, {argument('text')} or {argument('date')}"
            if str(kind) == "null"
            else about_unusable(kind)
        )
        reasons.setdefault(reason, []).append(column)
    parts = [
        f"{'' if len(types) == 1 else ', '.join(columns) + ': '}{reason}, or leave it out: "
        + " ".join(argument(ignore=column) for column in columns)
        for reason, columns in reasons.items()
    ]
    if parts:
        raise InputError("; ".join(parts), column=next(iter(types)) if len(types) == 1 else None)


def format_of(kind: pa.DataType) -> str:
    """Return what is known of categories by their Arrow type."""
    from pyarrow import types

    return BOOLEAN if types.is_boolean(type_of_values(kind)) else ""


@functools.lru_cache(maxsize=64)
def _is_category(kind: pa.DataType) -> bool:
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(kind):  # of intervals of pandas there is no text
        inside = kind.value_type
        return not (types.is_nested(inside) or isinstance(inside, pa.BaseExtensionType))
    return is_text(kind) or bool(types.is_boolean(kind))


def one_array(column: Any) -> pa.Array:
    """Return a chunked column as one array."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    if not column.num_chunks:  # `combine_chunks` would import pandas
        return pa.nulls(0, column.type)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def as_matrix(table: pa.Table | pa.RecordBatch) -> np.ndarray | None:
    """Return columns that are all sound numbers as float64, all at once; None if any is not."""
    import pyarrow as pa

    kinds = set(table.schema.types)
    if pa.float64() not in kinds or not kinds <= plain_kinds():
        return None
    batches = table.to_batches() if isinstance(table, pa.Table) else [table]
    parts = [batch.to_tensor(null_to_nan=True).to_numpy() for batch in batches]
    if not parts:
        return np.empty((0, table.num_columns))
    n_sound = sum(np.count_nonzero(np.abs(part) <= LARGEST) for part in parts)
    if n_rest := table.num_rows * table.num_columns - n_sound:
        n_null = sum(column.null_count for batch in batches for column in batch.columns)
        if n_rest != n_null:
            return None
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@functools.cache
def plain_kinds() -> frozenset[pa.DataType]:
    """Numbers that Arrow converts without looking at them."""
    import pyarrow as pa

    signed = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
    return frozenset((pa.float64(), pa.float32(), *signed))


def as_numbers(column: Column, array: pa.Array) -> np.ndarray:
    """Return float64 with NaN for null; refuse NaN, infinity and another kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if array.null_count == len(array):
        return np.full(len(array), np.nan)
    if not is_number(array.type):
        if not (column.declared and _is_category(array.type)):
            raise _changed(column, array)
        array = decoded(array)
        try:
            array = pc.cast(array, pa.float64())
        except pa.ArrowInvalid:
            try:  # true and false, as CSV has them
                array = pc.cast(pc.cast(array, pa.bool_()), pa.float64())
            except pa.ArrowInvalid:
                raise _not_a_number(column, array) from None
    elif not pa.types.is_integer(array.type):
        array = pc.cast(array, pa.float64())
    numbers = np.asarray(numbers_of(array), dtype=np.float64)
    sound = np.abs(numbers) <= LARGEST
    if len(sound) - np.count_nonzero(sound) != array.null_count:
        row = int(np.flatnonzero(~sound & ~numbers_of(array.is_null()))[0])
        what = (
            NOT_MISSING
            if np.isnan(numbers[row])
            else f"{numbers[row]} is too large: write null, or a number up to {LARGEST:g}"
        )
        raise InputError(what, row=row, column=column.name)
    return numbers


def as_codes(column: Column, array: pa.Array) -> Coded:
    """Return the distinct values of a column as strings, and a code per row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = array.null_count == len(array)
    is_truth = column.format == BOOLEAN
    is_bit = is_truth and is_number(array.type)
    if not empty and not (is_bit or _fits(column, array.type)):
        raise _changed(column, array)
    if empty:
        return Coded(pa.nulls(0, pa.string()), np.full(len(array), -1, dtype=np.int32))
    if not isinstance(array, pa.DictionaryArray):
        if pa.types.is_string_view(array.type):
            array = array.cast(pa.large_string())
        array = pc.dictionary_encode(array)
    elif array.dictionary.null_count:
        array = array.dictionary_decode().dictionary_encode()
    codes = array.indices
    if codes.type != pa.int32():
        codes = codes.cast(pa.int32())
    dictionary = array.dictionary
    places = codes_of(codes, -1, np.int32)
    # the loops follow them without looking
    if not -1 <= places.min() <= places.max() < len(dictionary):
        raise InputError("holds codes that are not in its dictionary", column=column.name)
    if pa.types.is_floating(dictionary.type):
        dictionary = _whole_as_integers(column, array)
    if not is_text(dictionary.type):
        try:
            dictionary = dictionary.cast(pa.string())
        except pa.ArrowInvalid:
            what = "holds bytes that are not UTF-8; convert it, or leave the column out"
            raise InputError(what, column=column.name) from None
    coded = Coded(dictionary, places)
    return _as_truth(column, coded, only=is_bit) if is_truth else coded


def _as_truth(column: Column, coded: Coded, *, only: bool) -> Coded:
    """Codes of true and false for what means them; ``only``: anything else is an error."""
    import pyarrow as pa

    words = coded.dictionary.to_pylist()
    found = [TRUTH.get(word.lower(), word) for word in words]
    if only and (others := [i for i, word in enumerate(found) if word not in TRUTH]):
        row = int(np.flatnonzero(coded.codes == others[0])[0])
        what = f"{words[others[0]]:.60} is neither true nor false, 1 nor 0"
        raise InputError(what, row=row, column=column.name)
    if found == words:
        return coded
    distinct = {word: code for code, word in enumerate(dict.fromkeys(found))}
    codes = np.array([*(distinct[word] for word in found), -1], dtype=np.int32)
    return Coded(pa.array([*distinct], pa.string()), codes[coded.codes])


def same_strings(a: pa.Array, b: pa.Array) -> bool:
    """Return whether two dictionaries are equal; the same memory is not read."""
    if len(a) == len(b) and a.offset == b.offset and a.type == b.type:
        places = [[buffer and buffer.address for buffer in x.buffers()] for x in (a, b)]
        if places[0] == places[1]:
            return True
    return bool(a.equals(b))


def _fits(column: Column, kind: pa.DataType) -> bool:
    import pyarrow as pa
    from pyarrow import types

    inside = type_of_values(kind)
    if column.kind == "text":
        return is_text(inside)
    if isinstance(inside, pa.BaseExtensionType):  # such as UUID
        return False
    return _is_category(kind) or (column.declared and not types.is_nested(kind))


def _whole_as_integers(column: Column, array: Any) -> pa.Array:
    """Float values as strings, 3.0 as "3": an id is the same with and without gaps."""
    import pyarrow as pa

    values = numbers_of(array.dictionary)
    if np.isnan(values).any():
        row = array.indices.index(int(np.flatnonzero(np.isnan(values))[0])).as_py()
        raise InputError(
            NOT_MISSING,
            row=row,
            column=column.name,
        )
    return pa.array([str(int(v)) if v.is_integer() else str(v) for v in values.tolist()])


def _changed(column: Column, array: pa.Array) -> InputError:
    value = array[array.is_valid().index(True).as_py()].as_py()
    holds = f"holds {type_of_values(array.type)} here ({value!r:.60})"
    if column.kind == "text":
        what = (
            f"is text, and {holds}; give strings in all tables (by CAST in a query), or make "
            f"categories of it ({argument('categorical')})"
        )
    else:
        what = (
            f"was {column.kind} in the first rows, and {holds}; give it the same type in all "
            "tables (by CAST in a query), or name its kind from the start "
            f"({argument(column.kind)})"
        )
    return InputError(what, column=column.name)


def _not_a_number(column: Column, array: pa.Array) -> InputError:
    """The error that names the first row whose string is no number."""
    import pyarrow as pa

    for row, value in enumerate(array):
        try:
            value.cast(pa.float64())
        except pa.ArrowInvalid:
            return InputError(f"{value.as_py()!r} is not a number", row=row, column=column.name)
    return InputError(f"holds {array.type}, which is not numbers", column=column.name)
