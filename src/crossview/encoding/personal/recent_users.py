"""The users that have weights of their own, if these are bounded: those that were seen last."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.encoding.statistics import OwnsArrays
from crossview.errors import InputError
from crossview.kernels.rows import ONE, ZERO
from crossview.kernels.text.names import GOLDEN, SHIFT
from crossview.saving.schema import MAX_COUNT, Array
from crossview.saving.touched import zeros

# of the users that have a place, one in so many loses it when all are taken: the slots are read
# once for all of them
DROPPED = 8


class RecentUsers(OwnsArrays):
    """Places of users, of which the least recently seen ones are dropped, and who has which slot.

    most: users with a place.
    n_slots: slots of the personal view.
    """

    def __init__(self, most: int, n_slots: int) -> None:
        self.most = most
        self.n_rows = self.n_users = 0
        # by place; a user is seen with a row that is learned
        self._prints, self._seen = np.zeros(most, dtype=np.uint64), np.zeros(most, dtype=np.int64)
        # 1 + the place of the user who has had the slot last; 0: nobody
        self._owner = zeros((n_slots,), np.uint32)
        self._table = zeros((1 << (2 * most).bit_length(),), np.uint32)  # 1 + place, by a hash

    def note(self, prints: np.ndarray, places: np.ndarray, begin: int) -> int:
        """Write 1 + the place of each user, 0 without one; return the first row without room.

        ``prints`` are fingerprints of the users of rows, 0 where the user is missing.
        """
        given = self._prints, self._seen, self._table
        with np.errstate(over="ignore"):  # where the loops are not compiled
            end, self.n_users = note_users(prints, places, begin, *given, self.n_users, self.n_rows)
        self.n_rows += end - begin
        return int(end)

    def own(self, indptr: np.ndarray, indices: np.ndarray, first: int, places: np.ndarray) -> None:
        """Give the slots of rows, their columns from ``first`` on, to their users."""
        own_slots(indptr, indices, first, places, self._owner)

    def has(self, prints: np.ndarray) -> np.ndarray:
        """Return which of these users have a place."""
        return np.isin(prints, self._prints[: self.n_users])

    def drop(self) -> np.ndarray:
        """Drop the least recently seen users; return their slots."""
        n = self.n_users
        kept = np.sort(np.argsort(self._seen[:n])[max(1, self.most // DROPPED) :])
        place = np.zeros(n + 1, dtype=np.uint32)
        place[1 + kept] = 1 + np.arange(len(kept))
        slots = np.empty(count_dropped(self._owner, place), dtype=np.int64)
        move_owners(self._owner, place, slots)
        for array in (self._prints, self._seen):
            array[: len(kept)], array[len(kept) :] = array[kept], 0
        self.n_users = len(kept)
        self._fill_table()
        return slots

    def _fill_table(self) -> None:
        with np.errstate(over="ignore"):
            fill_table(self._prints[: self.n_users], self._table)

    # --- state -----------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Return all of it as arrays."""
        return {
            "recent.rows": np.array([self.n_rows]),
            "recent.prints": self._prints[: self.n_users].copy(),
            "recent.seen": self._seen[: self.n_users].copy(),
            "recent.owner": self._owner.copy(),
        }

    def schema(self) -> dict[str, Array]:
        """Return what the arrays of `state` look like."""
        n = ("recent users",)
        return {
            "recent.rows": Array("i8", (1,), 0, MAX_COUNT),
            "recent.prints": Array("u8", n, 1),
            "recent.seen": Array("i8", n, 0, MAX_COUNT),
            "recent.owner": Array("u4", (len(self._owner),), 0, self.most),
        }

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Take what `state` gave."""
        prints, seen, owner = (state[f"recent.{name}"] for name in ("prints", "seen", "owner"))
        self.n_rows, self.n_users = int(state["recent.rows"][0]), len(prints)
        n = self.n_users
        alike = n <= self.most and len(np.unique(prints)) == n == len(np.unique(seen))
        if not alike or (n and seen.max() >= self.n_rows) or owner.max(initial=0) > n:
            raise InputError("the users that were seen last contradict each other")
        self._prints[:n], self._seen[:n], self._owner = prints, seen, np.array(owner)
        self._fill_table()


@inlined_borrowing
def find_user(user: np.uint64, prints: np.ndarray, table: np.ndarray) -> np.uint64:
    """Return where a user is in the table, or the empty place where he would be."""
    last = np.uint64(table.shape[0]) - ONE
    at = (user * GOLDEN >> SHIFT) & last
    while table[at] != 0 and prints[table[at] - ONE] != user:
        at = (at + ONE) & last
    return at


@borrowing
def fill_table(prints: np.ndarray, table: np.ndarray) -> None:
    """Write where each user is."""
    table[:] = 0
    for place in range(np.uint64(prints.shape[0])):
        table[find_user(prints[place], prints, table)] = place + ONE


@borrowing
def note_users(
    users: np.ndarray,
    places: np.ndarray,
    begin: int,
    prints: np.ndarray,
    seen: np.ndarray,
    table: np.ndarray,
    n_users: int,
    n_rows: int,
) -> tuple[int, int]:
    """Note when each user was seen; return the first row without room, and the number of users."""
    for i in range(begin, users.shape[0]):
        places[i] = 0
        if users[i] != ZERO:
            at = find_user(users[i], prints, table)
            if table[at] == 0:
                if n_users == prints.shape[0]:
                    return i, n_users
                prints[n_users] = users[i]
                n_users += 1
                table[at] = n_users
            places[i] = table[at]
            seen[table[at] - ONE] = n_rows + i - begin
    return users.shape[0], n_users


@borrowing
def own_slots(
    indptr: np.ndarray, indices: np.ndarray, first: int, places: np.ndarray, owner: np.ndarray
) -> None:
    """The slots of a row, which are its last columns, are those of its user."""
    for i in range(places.shape[0]):
        if places[i] != 0:
            for p in range(indptr[i + 1] - 1, indptr[i] - 1, -1):
                if indices[p] < first:
                    break
                owner[indices[p] - first] = places[i]


@borrowing
def count_dropped(owner: np.ndarray, place: np.ndarray) -> int:
    """Return how many slots users have whose new place is 0."""
    n = 0
    for slot in range(owner.shape[0]):
        n += owner[slot] != 0 and place[owner[slot]] == 0
    return n


@borrowing
def move_owners(owner: np.ndarray, place: np.ndarray, dropped: np.ndarray) -> None:
    """Write the new places of users, and the slots of those that have none any more."""
    n = 0
    for slot in range(owner.shape[0]):
        if owner[slot] != 0:  # others are pages that cost no memory
            owner[slot] = place[owner[slot]]
            if owner[slot] == 0:
                dropped[n] = slot
                n += 1
