"""Categories and words to slots, and the names of the slots.

Only the distinct values of a column are hashed, and the hashes of an unchanged dictionary are
reused.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from crossview.batch import read_only
from crossview.errors import InputError
from crossview.kernels.text.names import hash_names
from crossview.kernels.text.words import PADDING
from crossview.labels import WORDS_OF_TRUTH
from crossview.saving.schema import Array
from crossview.tables.arrow import integers, labels_as, not_utf8
from crossview.tables.columns import Coded, Column, same_strings
from crossview.tables.text import split_terms

if TYPE_CHECKING:
    import pyarrow as pa

# between a column and what is hashed of it
SEPARATORS = {"categorical": "=", "text": ":", "chars": "~"}


class _Words(NamedTuple):
    """Names that are hashed: value i has those of ``codes[indptr[i]:indptr[i + 1]]``."""

    prefix: str
    values: pa.Array  # a name is the prefix and one of these
    slots: np.ndarray
    prints: np.ndarray  # of each name
    codes: np.ndarray
    indptr: np.ndarray

    def names(self, at: np.ndarray) -> list[str]:
        """Return the names at these positions."""
        values = self.values.take(integers(at)).to_pylist()
        return [f"{self.prefix}{value}" for value in values]


class _Unnamed(NamedTuple):
    """Names of rows whose slots had none before these rows, in order of appearance."""

    words: _Words
    found: np.ndarray  # positions of the names
    rows: np.ndarray  # the first row that has it


@dataclass
class _Table:
    """A dictionary, what its values become, and which of them rows had that were learned.

    Of categories it has the fingerprints of their names, too.
    """

    dictionary: pa.Array
    content: Any
    learned: np.ndarray
    prints: np.ndarray | None

    def unlearned(self) -> _Table:
        """Return the same, as if no row had been learned."""
        return _Table(self.dictionary, self.content, _none_of(self.dictionary), self.prints)


def _none_of(dictionary: pa.Array) -> np.ndarray:
    """Return that no row had one of its values; the last one stands for null."""
    return np.append(np.zeros(len(dictionary), dtype=bool), True)


class SlotTables:
    """Hashes of the values of categorical and text columns, and names of the slots.

    Per view, ``names`` has the name of each slot, the first one that a row had, for at most
    ``remember_names`` slots; and ``collisions`` the slots with a name that rows had by another
    name, too.  With ``normalized`` the counts of each text have norm 1.
    """

    def __init__(
        self,
        n_slots: int,
        ngram_range: tuple[int, int],
        remember_names: int,
        views: Sequence[str],
        normalized: bool = True,
    ) -> None:
        self.normalized = normalized
        self.n_slots = n_slots
        self.ngram_range = ngram_range
        self.remember_names = remember_names
        self.names: dict[str, dict[int, str]] = {view: {} for view in views}
        self.collisions: dict[str, set[int]] = {view: set() for view in views}
        # the fingerprint of each name, 0 where there is none: names are compared by it
        self._prints = {view: np.zeros(n_slots, dtype=np.uint64) for view in views}
        self._tables: dict[Column, _Table] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tables": {}, "_prints": None}  # a cache, and what follows

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._prints = {view: np.zeros(self.n_slots, dtype=np.uint64) for view in self.names}
        for view, names in self.names.items():
            self._prints[view][list(names)] = hash_texts("", names.values())[1]

    # --- hashes ----------------------------------------------------------------------------

    def reuse(self, other: SlotTables) -> None:
        """Take the hashes of another encoder of the same columns, none of them learned."""
        hashed = self.n_slots, self.ngram_range, self.normalized
        if hashed == (other.n_slots, other.ngram_range, other.normalized):
            self._tables = {column: one.unlearned() for column, one in other._tables.items()}

    def look_up(
        self, columns: Sequence[Column], coded: Sequence[Coded], *, learn: bool = False
    ) -> list[Any]:
        """Return the slot of each category, or the sparse row of word counts of each text.

        The last one stands for null: the slot -1, or an empty row.  ``learn``: remember the names
        of what these rows have.
        """
        contents = []
        unnamed: dict[str, list[_Unnamed]] = defaultdict(list)
        for column, one in zip(columns, coded, strict=True):
            table, words = self._tables.get(column), None
            if table is None or not same_strings(table.dictionary, one.dictionary):
                self._check_truths(column, one.dictionary)
                words = self._hash(column, one.dictionary)
                table = self._table_of(column, one.dictionary, words)
            contents.append(table.content)
            if learn and self.remember_names and not table.learned.all():
                without_name = self._compare(column, one.codes, table, words)
                if without_name is not None:
                    unnamed[column.view].append(without_name)
        for view, found in unnamed.items():
            self._name(view, found)
        return contents

    def _table_of(self, column: Column, dictionary: pa.Array, words: _Words) -> _Table:
        """Keep what the values of a dictionary become, in place of those before."""
        prints = words.prints if column.kind == "categorical" else None
        content = self._content(column, words)
        table = _Table(dictionary, content, _none_of(dictionary), prints)
        self._tables[column] = table
        return table

    def learned(self, column: Column, coded: Coded) -> np.ndarray:
        """Return which categories are the name of their slot; the last one stands for null."""
        table = self._tables.get(column)
        if table is None or not same_strings(table.dictionary, coded.dictionary):
            words = self._hash(column, coded.dictionary)
            table = self._table_of(column, coded.dictionary, words)
        return np.append(self._prints[column.view][table.content[:-1]] == table.prints, True)

    def n_named(self, column: Column) -> int:
        """Return how many slots have the name of a category of a column."""
        prefix = prefix_of(column)
        return sum(name.startswith(prefix) for name in self.names[column.view].values())

    def _check_truths(self, column: Column, dictionary: pa.Array) -> None:
        """Raise for true and false in a column that had yes and no, or such, when learned."""
        first = set(dictionary[:3].to_pylist())
        if column.kind != "categorical" or not first or not first <= {"true", "false"}:
            return
        prefix = prefix_of(column)
        names = [name for name in self.names[column.view].values() if name.startswith(prefix)]
        learned = [name.removeprefix(prefix) for name in names]
        if learned and {word.lower() for word in learned} <= WORDS_OF_TRUTH.keys():
            some = " and ".join(sorted(learned))
            types = f"types={{{column.name!r}: 'VARCHAR'}}"
            raise InputError(
                f"holds true and false, and {some} were learned: give these words (a query has "
                f"them of read_csv('...', {types}))",
                column=column.name,
            )

    def _hash(self, column: Column, dictionary: pa.Array) -> _Words:
        import pyarrow as pa

        prefix = prefix_of(column)
        if column.kind == "categorical":
            codes, indptr = np.arange(len(dictionary)), np.arange(len(dictionary) + 1)
        else:
            ngrams = (self.ngram_range[0], self.ngram_range[1])
            terms, codes, indptr = split_terms(dictionary.to_pylist(), column.format, ngrams)
            dictionary = labels_as(terms, pa.large_string())
        hashes, prints = hash_strings(prefix, *bytes_of(dictionary))
        slots = (hashes % np.uint64(self.n_slots)).astype(np.int32)
        return _Words(prefix, dictionary, slots, prints, codes, indptr)

    def _content(self, column: Column, words: _Words) -> Any:
        if column.kind == "categorical":
            return np.append(words.slots, np.int32(-1))
        indptr = np.append(words.indptr, words.indptr[-1]).astype(np.int32)
        counts = np.ones(len(words.codes)), words.slots[words.codes], indptr
        rows = sp.csr_array(counts, shape=(len(indptr) - 1, self.n_slots))
        rows.sum_duplicates()
        if self.normalized:
            row = np.repeat(np.arange(len(indptr) - 1), np.diff(rows.indptr))
            rows.data /= np.sqrt(np.bincount(row, rows.data**2))[row]
        return rows

    # --- single values ---------------------------------------------------------------------

    def hash_one(self, column: Column, term: str) -> tuple[int, int]:
        """Return the slot and the fingerprint of a category or a word."""
        hashes, prints = hash_texts(prefix_of(column), [term], column.name)
        return int(hashes[0]) % self.n_slots, int(prints[0])

    def name_one(self, column: Column, term: str) -> None:
        """Remember the name of a slot that a row has, or that it collides with another one."""
        slot, print_ = self.hash_one(column, term)
        known, stored = self.names[column.view], self._prints[column.view]
        if not stored[slot]:
            if len(known) < self.remember_names:
                known[slot] = prefix_of(column) + term
                stored[slot] = print_
        elif stored[slot] != print_:
            self.collisions[column.view].add(slot)

    # --- names -----------------------------------------------------------------------------

    def _compare(
        self, column: Column, codes: np.ndarray, table: _Table, words: _Words | None
    ) -> _Unnamed | None:
        """Find collisions of what these rows have with known names; return what has no name."""
        known, n = self.names[column.view], len(table.dictionary)
        unseen = np.flatnonzero(~table.learned[codes])
        if not len(unseen):
            return None
        new, first = _first_rows(codes[unseen], n)
        first = unseen[first]
        table.learned[new] = True
        if words is None or len(new) < n:
            words = self._hash(column, table.dictionary.take(integers(new)))
        stored = self._prints[column.view][words.slots]
        is_named = stored != 0
        differs = is_named & (stored != words.prints)
        self.collisions[column.view].update(words.slots[differs].tolist())
        if len(known) >= self.remember_names or is_named.all():
            return None
        order = np.argsort(first)
        rows = first[order]
        if column.kind == "categorical":
            keep = ~is_named[order]
            found, rows = order[keep], rows[keep]
        else:  # the words of each text, text after text in the order of the rows
            lengths = np.diff(words.indptr)[order]
            begin = np.cumsum(lengths) - lengths
            entries = np.repeat(words.indptr[:-1][order] - begin, lengths)
            entries = words.codes[entries + np.arange(lengths.sum())]
            distinct, at = np.unique(entries, return_index=True)
            at = np.sort(at[~is_named[distinct]])
            found, rows = entries[at], np.repeat(rows, lengths)[at]
        return _Unnamed(words, found, rows)

    def _name(self, view: str, found: list[_Unnamed]) -> None:
        """Name the slots in the order of rows, then columns, so that batches change nothing."""
        known, stored = self.names[view], self._prints[view]
        order = np.argsort(np.concatenate([one.rows for one in found]), kind="stable")
        slots = np.concatenate([one.words.slots[one.found] for one in found])[order]
        prints = np.concatenate([one.words.prints[one.found] for one in found])[order]
        _, first = np.unique(slots, return_index=True)
        first = np.sort(first)[: self.remember_names - len(known)]
        stored[slots[first]] = prints[first]
        differs = (stored[slots] != 0) & (stored[slots] != prints)
        self.collisions[view].update(slots[differs].tolist())
        names: dict[int, str] = {}
        place = 0
        for words, positions, _ in found:
            own = (order[first] >= place) & (order[first] < place + len(positions))
            own_names = words.names(positions[order[first][own] - place])
            names |= zip(slots[first][own].tolist(), own_names, strict=True)
            place += len(positions)
        known.update((slot, names[slot]) for slot in slots[first].tolist())

    # --- state -----------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Return the names as arrays, flat; their text as JSON in bytes."""
        state = {}
        for v, (view, names) in enumerate(self.names.items()):
            collisions = self.collisions[view]
            state[f"slots.{v}"] = np.fromiter(names, dtype=np.int64, count=len(names))
            state[f"slot_collides.{v}"] = np.array([slot in collisions for slot in names], bool)
            text = json.dumps(list(names.values())).encode()
            state[f"slot_names.{v}"] = np.frombuffer(text, dtype=np.uint8)
        return state

    def schema(self) -> dict[str, Array]:
        """Return what the arrays of `state` look like."""
        schema = {}
        for v in range(len(self.names)):
            length = f"names of view {v}"
            schema[f"slots.{v}"] = Array("i8", (length,), 0, self.n_slots - 1)
            schema[f"slot_collides.{v}"] = Array("b1", (length,))
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
            self.collisions[view] = set(slots[state[f"slot_collides.{v}"]].tolist())
            self._prints[view][slots] = hash_texts("", names)[1]


def _first_rows(codes: np.ndarray, n_codes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes that occur, and the first row of each; no sort as in `numpy.unique`."""
    first = np.full(n_codes, -1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # the last one written stays
    found = np.flatnonzero(first >= 0)
    return found, first[found]


def hash_strings(
    prefix: str, text: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return |MurmurHash3| and fingerprint of names: the prefix, and UTF-8 between two offsets.

    The first is that of scikit-learn's `FeatureHasher`.
    """
    start, n = prefix.encode(), len(offsets) - 1
    longest = int(np.diff(offsets).max(initial=0))
    buffer = np.zeros(len(start) + longest + PADDING, dtype=np.uint8)
    buffer[: len(start)] = np.frombuffer(start, dtype=np.uint8)
    hashes, prints = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)
    bounds = read_only(offsets.astype(np.uint64))
    with np.errstate(over="ignore"):  # where the loops are not compiled
        hash_names(read_only(text), bounds, np.uint64(len(start)), buffer, hashes, prints)
    return hashes, prints


def bytes_of(strings: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the text of Arrow strings without null, and where each begins."""
    import pyarrow as pa

    if not pa.types.is_large_string(strings.type):
        strings = strings.cast(pa.large_string())
    _, offsets, data = strings.buffers()
    if not len(strings):
        return np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    bounds = np.frombuffer(offsets, dtype=np.int64)
    text = np.frombuffer(data or b"", dtype=np.uint8)
    return text, bounds[strings.offset : strings.offset + len(strings) + 1]


def hash_texts(
    prefix: str, texts: Iterable[str], column: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return what `hash_strings` does of some texts, of a column if they are input."""
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise InputError(not_utf8(error), column=column) from None
    joined = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return hash_strings(prefix, joined, np.cumsum([0, *map(len, encoded)]))


def prefix_of(column: Column) -> str:
    """Return the prefix of a column's categories or words in the names that are hashed."""
    return column.name + SEPARATORS["chars" if column.format == "chars" else column.kind]


def split_name(name: str, columns: Iterable[Column]) -> tuple[str, str | None]:
    """Return the column of the table and the value that a slot is named after."""
    for column in sorted(columns, key=lambda column: -len(column.name)):
        start = prefix_of(column)
        if name.startswith(start):
            return column.name, name[len(start) :]
    return name, None
