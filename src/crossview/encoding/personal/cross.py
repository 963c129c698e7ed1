"""The features of a row crossed with its user, hashed into slots of a view of their own.

K. Weinberger, A. Dasgupta, J. Langford, A. Smola, J. Attenberg, "Feature Hashing for Large Scale
Multitask Learning", ICML 2009.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.kernels.rows import ONE, ZERO, Rows
from crossview.kernels.text.names import FACTOR, GOLDEN, SHIFT

# the feature of the user himself: column c of a row is feature c + 1
CONSTANT = ZERO
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
THREE = np.uint64(3)
# keys that are sorted by counting
FEW = np.uint64(48)


class SlotNames(NamedTuple):
    """What the first slots of a view stand for, in the order in which rows had them."""

    table: np.ndarray  # uint64: slot << 32 | 1 + name, by a hash of the slot; 0 where there is none
    prints: np.ndarray  # uint64 [name]: of the pair of user and feature
    features: np.ndarray  # uint64 [name]: the feature
    rows: np.ndarray  # int64 [name]: the row of the batch that had it first
    collides: np.ndarray  # bool [name]: whether rows had another pair there
    n_names: np.ndarray  # uint64 [1]: the number of names


@inlined_borrowing
def mix(user, feature):
    """Return 64 bits of a pair; the first ones are its slot."""
    h = (user ^ ((feature + ONE) * GOLDEN)) * FACTOR
    h = (h ^ (h >> SHIFT)) * GOLDEN
    return h ^ (h >> HALF)


@inlined_borrowing
def sort_keys(keys, n):
    """Sort ``keys[0, :n]``, which all differ; the result is in ``keys[1]``.

    A few by counting those below each, which is quadratic and has no branch; many as Shell (1959),
    with the gaps of Knuth (1973).
    """
    if n <= FEW:
        for a in range(n):
            rank = ZERO
            for b in range(n):
                rank += np.uint64(keys[0, b] < keys[0, a])
            keys[1, rank] = keys[0, a]
        return
    for a in range(n):
        keys[1, a] = keys[0, a]
    gap = ONE
    while gap * THREE < n:
        gap = gap * THREE + ONE
    while gap > ZERO:
        for k in range(gap, n):
            key, at = keys[1, k], k
            while at >= gap and keys[1, at - gap] > key:
                keys[1, at] = keys[1, at - gap]
                at -= gap
            keys[1, at] = key
        gap //= THREE


@inlined_borrowing
def find_place(table, slot):
    """Return where a slot is in the table of names, or the empty place where it would be."""
    last = np.uint64(table.shape[0]) - ONE
    place = (slot * GOLDEN >> HALF) & last
    while table[place] != ZERO and table[place] >> HALF != slot:
        place = (place + ONE) & last
    return place


@borrowing
def place_names(names: SlotNames, shift: np.uint64) -> None:
    """Write the table of names whose fingerprints are known; two of a slot are one."""
    names.table[:] = ZERO
    for at in range(names.n_names[0]):
        slot = names.prints[at] >> shift
        names.table[find_place(names.table, slot)] = (slot << HALF) | (at + ONE)


@inlined_borrowing
def note_name(names, slot, pair, feature, i):
    """Remember what a slot stands for, or that it stands for several pairs."""
    place = find_place(names.table, slot)
    known, at = names.table[place] & LOW, names.n_names[0]
    if known != ZERO:
        if names.prints[known - ONE] != pair:
            names.collides[known - ONE] = True
    elif at < np.uint64(names.prints.shape[0]):
        names.prints[at], names.features[at], names.rows[at] = pair, feature, i
        names.n_names[0] = at + ONE
        names.table[place] = (slot << HALF) | (at + ONE)


@borrowing
def cross_rows(
    rows: Rows,
    users: np.ndarray,
    deviation: float,
    shift: np.uint64,
    learn: bool,
    names: SlotNames,
    keys: np.ndarray,
    matrix: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Write each row as CSR, and after it what it becomes for its user.

    Feature c of user u is 1 for the user himself, and else ``deviation`` x_c; its slot is the first
    bits of the pair (u, c), ``shift`` fewer than 64.  Two in a slot are added.  ``users`` are
    fingerprints, 0 where the user is missing.  ``learn`` names the slots.  ``keys`` has two
    lines with room for the features of the longest row.
    """
    x, j, indptr, _, ptr, _ = rows
    data, indices, ends = matrix
    first, q = ptr[-1], ZERO
    for i in range(np.uint64(users.shape[0])):
        lo, hi, user = indptr[i], indptr[i + ONE], users[i]
        for p in range(lo, hi):
            data[q], indices[q] = x[p], j[p]
            q += ONE
        if user != ZERO:
            n = hi - lo + ONE
            for k in range(n):
                feature = CONSTANT if k == ZERO else np.uint64(j[lo + k - ONE]) + ONE
                pair = mix(user, feature)
                slot = pair >> shift
                keys[0, k] = np.int64((slot << HALF) | k)  # signed ones are compared many at once
                if learn:
                    note_name(names, slot, pair, feature, i)
            sort_keys(keys, n)
            before = LOW  # no slot
            for at in range(n):
                key = np.uint64(keys[1, at])
                slot, own = key >> HALF, key & LOW
                value = 1.0 if own == ZERO else deviation * x[lo + own - ONE]
                if slot == before:
                    data[q - ONE] += value
                else:
                    data[q], indices[q] = value, first + slot
                    q += ONE
                before = slot
        ends[i + ONE] = q
