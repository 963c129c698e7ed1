"""Schema of the arrays of a learned state, checked before any loop reads them.

Loops follow indices without asking whether they are in range, so a state from a file is checked
first.  Each class declares its arrays next to the code that makes them, as a dict of names to
`Array`; the check is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from crossview.errors import InputError
from crossview.saving.touched import Touched, new_array

# what is counted does not overflow soon
MAX_COUNT = 2**62
MAX_FINITE = float(np.finfo(np.float64).max)


class Array(NamedTuple):
    """One array of a state."""

    dtype: str  # as in array.dtype.str, without byte order: "f8"
    # lengths; a name stands for any length, but the same one everywhere, and "n+1" for one more
    shape: tuple[int | str, ...]
    # inclusive; one number, or one per entry.  The default is what is finite
    low: Any = -MAX_FINITE
    high: Any = MAX_FINITE
    cuts: str | None = None  # row pointers: they rise from 0 to the length of this name
    holds: Callable[[np.ndarray], bool] | None = None  # what else must be true


# an array of the schema stands for itself: the state has exactly these values
Schema = Mapping[str, Array | np.ndarray]


def check_state(state: Mapping[str, np.ndarray | Touched], schema: Schema, owner: str) -> None:
    """Raise an error if a state is not as its schema says."""
    if missing := schema.keys() - state.keys():
        raise InputError(f"the state of {owner} lacks the array {min(missing)!r}")
    if unknown := state.keys() - schema.keys():
        raise InputError(f"the state of {owner} has the array {min(unknown)!r}, which it never has")
    lengths: dict[str, int] = {}
    for name, wanted in schema.items():
        if wrong := _wrong(state[name], wanted, lengths):
            raise InputError(f"the array {name!r} of {owner} {wrong}")
    for name, wanted in schema.items():  # once all lengths are known
        if isinstance(wanted, Array) and wanted.cuts is not None:
            array = new_array(state[name])
            if array[[0, -1]].tolist() != [0, lengths[wanted.cuts]] or (np.diff(array) < 0).any():
                raise InputError(
                    f"the array {name!r} of {owner} does not rise from 0 to {lengths[wanted.cuts]}"
                )


def _wrong(
    array: np.ndarray | Touched, wanted: Array | np.ndarray, lengths: dict[str, int]
) -> str | None:
    """Return what is wrong with an array; None if nothing is."""
    if isinstance(wanted, np.ndarray):
        kind, shape = wanted.dtype.str[1:], wanted.shape
    else:
        kind = wanted.dtype
        if array.ndim != len(wanted.shape):
            return f"has {array.ndim} dimensions, and not {len(wanted.shape)}"
        pairs = zip(wanted.shape, array.shape, strict=True)
        shape = tuple(_length(length, found, lengths) for length, found in pairs)
    if array.dtype.str[1:] != kind:
        return f"has the type {array.dtype}, and not {np.dtype(kind)}"
    if array.shape != shape:
        return f"has the shape {array.shape}, and not {shape}"
    if isinstance(array, Touched):
        array = array.distinct() if _looks_at_each(wanted) else array.dense()
    if isinstance(wanted, np.ndarray):
        return None if np.array_equal(array, wanted) else "has other values than its columns say"
    if array.size == 0:
        return None
    if kind == "b1":
        return "has bytes that are no Booleans" if array.view(np.uint8).max() > 1 else None
    if np.ndim(wanted.low) or np.ndim(wanted.high):
        in_range = bool(((array >= wanted.low) & (array <= wanted.high)).all())
    else:  # NaN is in no range
        in_range = wanted.low <= array.min().item() and array.max().item() <= wanted.high
    if not in_range:
        return f"has values that are not {_range(wanted)}"
    if wanted.holds is not None and not wanted.holds(array):
        return "has values that contradict each other"
    return None


def _looks_at_each(wanted: Array | np.ndarray) -> bool:
    """Return whether the check looks at each value alone, independent of its position."""
    if not isinstance(wanted, Array) or wanted.holds is not None:
        return False
    return not np.ndim(wanted.low) and not np.ndim(wanted.high)


def _length(wanted: int | str, found: int, lengths: dict[str, int]) -> int:
    """Return the length that an axis must have; the first axis of a name determines it."""
    if isinstance(wanted, int | np.integer):
        return int(wanted)
    name, _, more = wanted.partition("+")
    return lengths.setdefault(name, max(found - int(more or 0), 0)) + int(more or 0)


def _range(wanted: Array) -> str:
    if np.ndim(wanted.low) or np.ndim(wanted.high):
        return "in their ranges"
    if (wanted.low, wanted.high) == (-MAX_FINITE, MAX_FINITE):
        return "finite"
    return f"from {wanted.low:g} to {wanted.high:g}"


def check_header(header: Any, schema: Mapping[str, Any], owner: str) -> None:
    """Raise an error if the values of a header have not the types that its schema says.

    The schema of an entry is a type, where ``float`` takes an ``int``, too; None; a list of one
    schema, that of its entries; a dict of schemas by key; or a tuple of alternatives.
    """
    if not isinstance(header, Mapping) or header.keys() != schema.keys():
        raise InputError(f"the header of {owner} has not the entries {', '.join(sorted(schema))}")
    for key, wanted in schema.items():
        if not _fits(header[key], wanted):
            raise InputError(f"the entry {key!r} of the header of {owner} has another form")


def _fits(value: Any, schema: Any) -> bool:
    if isinstance(schema, tuple):
        return any(_fits(value, alternative) for alternative in schema)
    if isinstance(schema, dict):
        return (
            isinstance(value, dict)
            and value.keys() == schema.keys()
            and all(_fits(value[key], own) for key, own in schema.items())
        )
    if isinstance(schema, list):
        return isinstance(value, list | tuple) and all(_fits(entry, schema[0]) for entry in value)
    if schema is None:
        return value is None
    return type(value) is schema or (schema is float and type(value) is int)
