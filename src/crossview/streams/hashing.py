"""Categories and words to slots, and the names of the slots.

Only the distinct values of a column are hashed, and the hashes of an unchanged dictionary are
reused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from crossview.errors import InputError
from crossview.schema import Array
from crossview.streams.columns import Column

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SlotTables"]


class _Table(NamedTuple):
    """A dictionary and the hashes of its values."""

    dictionary: pa.Array
    content: Any
    remembered: bool


class SlotTables:
    """Hashes of the values of categorical and text columns, and names of the slots.

    Parameters
    ----------
    n_slots : int
        Slots of each view.
    ngram_range : (int, int)
        Shortest and longest n-gram of words to count.
    remember_names : int
        Maximum number of slot names to store per view.
    views : sequence of str
        Names of all views.
    """

    def __init__(
        self, n_slots: int, ngram_range: tuple[int, int], remember_names: int, views: Sequence[str]
    ) -> None:
        self.n_slots = n_slots
        self.ngram_range = ngram_range
        self.remember_names = remember_names
        self.names: dict[str, dict[int, str]] = {view: {} for view in views}
        self._named = {view: np.zeros(n_slots, dtype=bool) for view in views}
        self._tables: dict[str, _Table] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tables": {}}  # a cache

    def look_up(self, column: Column, dictionary: pa.Array, remember: bool = False) -> Any:
        """Return the slot of each category, or the sparse row of word counts of each text.

        The last one stands for null: the slot -1, or an empty row.
        """
        known = self._tables.get(column.name)
        if known is None or not _same(known.dictionary, dictionary):
            known = _Table(dictionary, self._hash(column, dictionary, remember), remember)
        elif remember and not known.remembered:
            self._hash(column, dictionary, remember)
            known = known._replace(remembered=True)
        self._tables[column.name] = known
        return known.content

    def _hash(self, column: Column, dictionary: pa.Array, remember: bool) -> Any:
        hasher = FeatureHasher(self.n_slots, input_type="pair", alternate_sign=False)
        values = dictionary.to_pylist()
        if column.kind == "categorical":
            names = [f"{column.name}={value}" for value in values]
            slots = slots_of(hasher, names)
            if remember:
                self._remember(column.view, names, slots)
            return np.append(slots, np.int32(-1))
        analyze = HashingVectorizer(ngram_range=tuple(self.ngram_range)).build_analyzer()
        words = [[f"{column.name}:{word}" for word in analyze(value)] for value in values]
        if remember and len(self.names[column.view]) < self.remember_names:
            names = list(dict.fromkeys(chain.from_iterable(words)))
            self._remember(column.view, names, slots_of(hasher, names))
        rows = hasher.transform(zip(entry, repeat(1)) for entry in [*words, []])
        return normalize(sp.csr_array(rows), copy=False)

    def _remember(self, view: str, names: list[str], slots: np.ndarray) -> None:
        known, named = self.names[view], self._named[view]
        for i in np.flatnonzero(~named[slots]).tolist():
            if len(known) >= self.remember_names:
                break
            known.setdefault(int(slots[i]), names[i])
            named[slots[i]] = True

    def state(self) -> dict[str, np.ndarray]:
        """Return the names as arrays, flat; their text as JSON in bytes."""
        state = {}
        for v, names in enumerate(self.names.values()):
            state[f"slots.{v}"] = np.fromiter(names, dtype=np.int64, count=len(names))
            text = json.dumps(list(names.values())).encode()
            state[f"slot_names.{v}"] = np.frombuffer(text, dtype=np.uint8)
        return state

    def schema(self) -> dict[str, Array]:
        """Return what the arrays of `state` look like."""
        schema = {}
        for v in range(len(self.names)):
            schema[f"slots.{v}"] = Array("i8", (f"names of view {v}",), 0, self.n_slots - 1)
            schema[f"slot_names.{v}"] = Array("u1", (f"bytes of view {v}",))
        return schema

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Take the names from what `state` gave."""
        for v, view in enumerate(self.names):
            slots = np.asarray(state[f"slots.{v}"])
            names = json.loads(bytes(np.asarray(state[f"slot_names.{v}"])))
            if not all(isinstance(name, str) for name in names) or len(set(slots)) != len(names):
                raise InputError(f"the names of the slots of view {view!r} contradict each other")
            self.names[view] = dict(zip(slots.tolist(), names, strict=True))
            self._named[view][slots] = True


def _same(a: pa.Array, b: pa.Array) -> bool:
    """Whether two dictionaries are equal; the same memory is not read."""
    if len(a) == len(b) and a.offset == b.offset and a.type == b.type:
        places = [[buffer and buffer.address for buffer in x.buffers()] for x in (a, b)]
        if places[0] == places[1]:
            return True
    return bool(a.equals(b))


def slots_of(hasher: FeatureHasher, names: Iterable[str]) -> np.ndarray:
    """Return the slot of each name."""
    names = list(names)
    if not names:
        return np.empty(0, dtype=np.int32)
    return np.asarray(hasher.transform(zip(zip(names, repeat(1)))).indices, dtype=np.int32)
