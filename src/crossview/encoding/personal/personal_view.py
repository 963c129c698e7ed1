"""The personal view: the features of each row, crossed with its user."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from crossview._jit import bind
from crossview.batch import MAX_INT32, RowBuffers, make_rows
from crossview.encoding.hashing import bytes_of, hash_strings, hash_texts
from crossview.encoding.personal.cross import (
    CONSTANT,
    LOW,
    SlotNames,
    cross_rows,
    find_place,
    mix,
    place_names,
)
from crossview.encoding.personal.recent_users import RecentUsers
from crossview.encoding.statistics import OwnsArrays
from crossview.errors import InputError, argument
from crossview.saving.schema import Array
from crossview.tables.arrow import integers
from crossview.tables.columns import MOST_KEPT, Coded, Column, same_strings
from crossview.views import MultiView, OneRow, ViewLayout

PERSONAL = "personal"
# users have more features than all of them share: 16 times the slots of another view
MORE_BITS, MOST_BITS = 4, 28
NO_COLUMNS = np.empty(0, dtype=np.int64)


class _Hashes(NamedTuple):
    """A dictionary of users, and the fingerprint of each; 0 follows, for one that is missing."""

    dictionary: Any
    prints: np.ndarray


class PersonalView(OwnsArrays):
    """The last view of a layout: slots for pairs of a user and a feature of the other views.

    shared: the other views.
    n_slots: slots of the view, a power of two.
    variance: prior variance of what a user has of his own, by that of what all share.
    remember_names: names to store.
    max_users: users who may have slots; None: all.
    """

    def __init__(
        self,
        column: Column,
        shared: ViewLayout,
        n_slots: int,
        variance: float,
        remember_names: int,
        max_users: int | None = None,
    ) -> None:
        self.column, self.shared = column, shared
        self.layout = ViewLayout([*shared.names, PERSONAL], [*shared.widths, n_slots])
        if self.layout.n_columns > MAX_INT32:
            raise InputError(
                f"{argument('per')} gives {self.layout.n_columns:,} columns in all views "
                f"together, and {MAX_INT32:,} is the limit; give fewer hash_bits"
            )
        self._deviation = math.sqrt(variance)
        self._shift = np.uint64(64 - (n_slots.bit_length() - 1))
        self._prefix = f"{column.name}="
        places = 1 << (2 * remember_names).bit_length()  # less than half of them are taken
        self._names = SlotNames(
            np.zeros(places, dtype=np.uint64),
            np.zeros(remember_names, dtype=np.uint64),
            np.zeros(remember_names, dtype=np.uint64),
            np.zeros(remember_names, dtype=np.int64),
            np.zeros(remember_names, dtype=np.bool_),
            np.zeros(1, dtype=np.uint64),
        )
        self._users: list[str] = []  # of each name
        self._seen = None if max_users is None else RecentUsers(max_users, n_slots)
        self._recent: _Hashes | None = None
        self._kept: dict[str, int] = {}
        self._single: _SingleRow | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_recent": None, "_kept": {}, "_single": None}  # they follow

    @property
    def n_names(self) -> int:
        """Number of names that are stored."""
        return len(self._users)

    # --- rows ------------------------------------------------------------------------------

    def cross(self, X: MultiView, users: Coded, *, learn: bool = False) -> MultiView:
        """Return the rows with their personal view; ``learn``: name its slots, and note users."""
        if not learn or self._seen is None:
            return self._cross(X, users, learn=learn)
        prints = self._prints(users.dictionary)[users.codes]
        places = np.zeros(len(X), dtype=np.uint32)
        parts, restarts, begin = [], [(0, NO_COLUMNS)], 0
        while True:
            end = self._seen.note(prints, places, begin)
            own = slice(begin, end)
            part = self._cross(X[own], users._replace(codes=users.codes[own]), learn=True)
            parts.append(part)
            self._own(part.matrix.indptr, part.matrix.indices, places[own])
            if end == len(X):
                break
            restarts.append((end, self._drop_users()))
            begin = end
        whole = parts[0]
        if len(parts) > 1:
            matrix = sp.csr_array(sp.vstack([part.matrix for part in parts]))
            whole = self._with_matrix(X, users, matrix)
        whole.restarts = restarts
        return whole

    def _own(self, indptr: np.ndarray, indices: np.ndarray, places: np.ndarray) -> None:
        """Note whose slots the rows have."""
        assert self._seen is not None
        self._seen.own(indptr, indices, self.shared.n_columns, places)

    def _drop_users(self) -> np.ndarray:
        """Drop the users that were not seen for longest, with their names; return their columns."""
        assert self._seen is not None
        slots, names, n = self._seen.drop(), self._names, self.n_names
        stays = ~np.isin(self.named_slots(), slots)
        # of a slot that several users had, the first one has the name, and the last one the slot
        shared = np.flatnonzero(stays & names.collides[:n])
        prints = hash_texts(self._prefix, [self._users[k] for k in shared.tolist()])[1]
        stays[shared] = self._seen.has(prints)
        kept = np.flatnonzero(stays)
        for array in (names.prints, names.features, names.collides):
            array[: len(kept)] = array[kept]
        names.collides[len(kept) : n], names.n_names[0] = False, len(kept)
        with np.errstate(over="ignore"):
            place_names(names, self._shift)
        self._users = [self._users[k] for k in kept.tolist()]
        return slots + self.shared.n_columns

    def _with_matrix(self, X: MultiView, users: Coded, matrix: sp.csr_array) -> MultiView:
        """The rows with the matrix of all views, where that of a user may be missing."""
        present = np.ones((len(X), self.layout.n_views), dtype=bool)
        if X.present is not None:
            present[:, :-1] = X.present
        present[:, -1] = users.codes >= 0
        return MultiView.from_matrix(
            *(matrix, self.layout),
            present=None if present.all() else present,
            feature_names=X.feature_names,
            index=X.index,
            categories=X.categories,
        )

    def _cross(self, X: MultiView, users: Coded, *, learn: bool) -> MultiView:
        """Return the rows with their personal view; all users have a place."""
        rows = make_rows(X.matrix, X.layout, X.present, checked=False, canonical=True)
        n_rows, n_entries = len(X), X.matrix.nnz
        most = 2 * n_entries + n_rows
        if most > MAX_INT32:
            raise InputError(f"{n_rows} rows are too many for one call; transform them in batches")
        prints = self._prints(users.dictionary)[users.codes]
        data, indices = np.empty(most), np.empty(most, dtype=np.int32)
        indptr = np.zeros(n_rows + 1, dtype=np.int32)
        longest = int(np.diff(X.matrix.indptr).max(initial=0))
        keys = np.empty((2, longest + 1), dtype=np.int64)
        given = prints, self._deviation, self._shift, learn, self._names, keys
        with np.errstate(over="ignore"):  # where the loops are not compiled
            cross_rows(rows, *given, (data, indices, indptr))
        new = self._names.rows[self.n_names : int(self._names.n_names[0])]
        if len(new):
            self._users += users.dictionary.take(integers(users.codes[new])).to_pylist()
        end = indptr[-1]
        matrix = sp.csr_array(
            (data[:end], indices[:end], indptr), shape=(n_rows, self.layout.n_columns)
        )
        matrix.has_canonical_format = True
        return self._with_matrix(X, users, matrix)

    def cross_one(self, row: OneRow, user: str | None, *, learn: bool = False) -> OneRow:
        """Return one row with its personal view, as `cross` does."""
        restarts = NO_COLUMNS if learn and self._seen is not None else None
        if user is None:
            if restarts is not None:
                self._seen_one(None)
            return OneRow(self.layout, row.columns, row.values, [*row.present, False], restarts)
        single = self._single
        if single is None or len(row.columns) > single.n_entries:
            given = self._deviation, self._shift, self._names
            single = self._single = _SingleRow(self.shared, 2 * len(row.columns), *given)
        with single.lock:
            if restarts is not None:
                place, restarts = self._seen_one(user)
            columns, values = single.cross(row, self._print_of(user), learn=learn)
            if learn and self._names.n_names[0] > self.n_names:
                self._users += [user] * (int(self._names.n_names[0]) - self.n_names)
            if restarts is not None:
                self._own(np.array([0, len(columns)]), np.array(columns, dtype=np.int32), place)
        return OneRow(self.layout, columns, values, [*row.present, True], restarts)

    def _seen_one(self, user: str | None) -> tuple[np.ndarray, np.ndarray]:
        """Note one user; return 1 + his place, and the columns of those who had to be dropped."""
        assert self._seen is not None
        prints = np.array([CONSTANT if user is None else self._print_of(user)], dtype=np.uint64)
        place, dropped = np.zeros(1, dtype=np.uint32), NO_COLUMNS
        if not self._seen.note(prints, place, 0):
            dropped = self._drop_users()
            self._seen.note(prints, place, 0)
        return place, dropped

    def _prints(self, dictionary: Any) -> np.ndarray:
        """The fingerprint of each user, and 0; those of an unchanged dictionary are reused."""
        recent = self._recent  # read once: another thread may replace it
        if recent is None or not same_strings(recent.dictionary, dictionary):
            prints = hash_strings(self._prefix, *bytes_of(dictionary))[1]
            recent = self._recent = _Hashes(dictionary, np.append(prints, CONSTANT))
        return recent.prints

    def _print_of(self, user: str) -> int:
        """The fingerprint of a user; those of the last ones are kept."""
        found = self._kept.get(user)
        if found is None:
            found = int(hash_texts(self._prefix, [user], self.column.name)[1][0])
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[user] = found
        return found

    # --- names -----------------------------------------------------------------------------

    def name(self, slot: int) -> tuple[str, int | None, bool] | None:
        """Return the user of a slot, the column that is his own, and whether it collides.

        The column is None for the user himself; there is no name of a slot that was not stored.
        """
        with np.errstate(over="ignore"):
            place = find_place(self._names.table, np.uint64(slot))
        at = int(self._names.table[place] & LOW) - 1
        if at < 0:
            return None
        feature = int(self._names.features[at])
        column = feature - 1 if feature else None
        return self._users[at], column, bool(self._names.collides[at])

    def named_slots(self) -> np.ndarray:
        """Return the slots with a name, in the order of their names."""
        return (self._names.prints[: self.n_names] >> self._shift).astype(np.int64)

    # --- state -----------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Return the names as arrays; users as JSON in bytes, each once."""
        n = self.n_names
        slots, features = self.named_slots(), self._names.features[:n].astype(np.int64)
        names = _as_state(slots, self._users, features, self._names.collides[:n].copy())
        return names if self._seen is None else names | self._seen.state()

    def schema(self) -> dict[str, Array]:
        """Return what the arrays of `state` look like."""
        n = ("personal names",)
        return {
            "personal.users": Array("u1", ("bytes of users",)),
            "personal.slot": Array("i8", n, 0, self.layout.widths[-1] - 1),
            "personal.user": Array("i8", n, 0, len(self._names.prints)),
            "personal.feature": Array("i8", n, 0, self.shared.n_columns),
            "personal.collides": Array("b1", n),
            **({} if self._seen is None else self._seen.schema()),
        }

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Take the names from what `state` gave."""
        users = json.loads(bytes(np.asarray(state["personal.users"])))
        at, n = np.asarray(state["personal.user"]), len(state["personal.user"])
        wrong = "the names of the personal view contradict each other"
        if not all(isinstance(user, str) for user in users) or n > len(self._names.prints):
            raise InputError(wrong)
        if n and at.max() >= len(users):
            raise InputError(wrong)
        prints = hash_texts(self._prefix, users)[1]
        features = np.asarray(state["personal.feature"]).astype(np.uint64)
        with np.errstate(over="ignore"):
            pairs = getattr(mix, "py_func", mix)(prints[at], features)  # as NumPy takes arrays
        names = self._names
        slots = (pairs >> self._shift).astype(np.int64)
        if len(set(slots.tolist())) != n or not np.array_equal(slots, state["personal.slot"]):
            raise InputError(wrong)
        names.prints[:n], names.features[:n], names.n_names[0] = pairs, features, n
        names.collides[:n] = state["personal.collides"]
        with np.errstate(over="ignore"):
            place_names(names, self._shift)
        self._users = [users[k] for k in at.tolist()]
        if self._seen is not None:
            self._seen.set_state(state)


def merged_names(states: Sequence[Mapping[str, np.ndarray]], most: int) -> dict[str, np.ndarray]:
    """Return the names of several states of `PersonalView.state` as one: of each slot the first.

    most: names to keep.
    Returns state: as from `PersonalView.state`.
    """
    found: dict[int, tuple[str, int]] = {}
    collisions: set[int] = set()
    for state in states:
        users = json.loads(bytes(np.asarray(state["personal.users"])))
        columns = [state[f"personal.{name}"].tolist() for name in ("slot", "user", "feature")]
        for slot, user, feature in zip(*columns, strict=True):
            own = users[user], feature
            if found.setdefault(slot, own) != own:
                collisions.add(slot)
        collisions.update(state["personal.slot"][state["personal.collides"]].tolist())
    kept = dict(list(found.items())[:most])
    return _as_state(
        np.fromiter(kept, dtype=np.int64, count=len(kept)),
        [user for user, _ in kept.values()],
        np.array([feature for _, feature in kept.values()], dtype=np.int64),
        np.array([slot in collisions for slot in kept], dtype=bool),
    )


def _as_state(
    slots: np.ndarray, users: Sequence[str], features: np.ndarray, collides: np.ndarray
) -> dict[str, np.ndarray]:
    """The names of slots as arrays."""
    place = {user: k for k, user in enumerate(dict.fromkeys(users))}
    return {
        "personal.users": np.frombuffer(json.dumps(list(place)).encode(), dtype=np.uint8),
        "personal.slot": slots,
        "personal.user": np.array([place[user] for user in users], dtype=np.int64),
        "personal.feature": features,
        "personal.collides": collides,
    }


class _SingleRow:
    """The loop for one row at a time, bound to the arrays of a row and to the names."""

    def __init__(
        self, shared: ViewLayout, n_entries: int, deviation: float, shift: Any, names: SlotNames
    ) -> None:
        self.lock = Lock()
        self._row = RowBuffers(shared, max(64, n_entries))
        most = self.n_entries + 1
        self._user = np.zeros(1, dtype=np.uint64)
        self._data, self._indices = np.empty(2 * most), np.empty(2 * most, dtype=np.int32)
        self._ends = np.zeros(2, dtype=np.int32)
        keys = np.empty((2, most), dtype=np.int64)
        matrix = self._data, self._indices, self._ends
        self._loops = [
            bind(
                cross_rows, self._row.rows, self._user, deviation, shift, learn, names, keys, matrix
            )
            for learn in (False, True)
        ]

    @property
    def n_entries(self) -> int:
        """The most entries that a row may have."""
        return self._row.n_entries

    def cross(self, row: OneRow, user: int, *, learn: bool) -> tuple[list[int], list[float]]:
        """Return columns and values of the row and of its personal view."""
        self._row.fill(row.columns, row.values, row.present)
        self._user[0] = user
        with np.errstate(over="ignore"):
            self._loops[learn]()
        end = self._ends[1]
        return self._indices[:end].tolist(), self._data[:end].tolist()
