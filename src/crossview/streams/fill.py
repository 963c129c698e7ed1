"""Numbers and slots of many rows as one CSR matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.kernels.rows import ONE, TWO, ZERO

__all__ = ["Blocks", "Buffers", "Cells", "fill_rows", "row_buffers"]

# categories of a view whose slots are sorted by counting
FEW = 32


class Blocks(NamedTuple):
    """Where each view begins: among the numbers, the categories, and the columns of the output."""

    numeric_ptr: np.ndarray
    slots_ptr: np.ndarray
    ptr: np.ndarray


class Cells(NamedTuple):
    """What the table holds in row i: numbers, where they lie between knots, and categories."""

    values: np.ndarray  # [i, c]: number c, NaN where missing
    positions: np.ndarray  # [i, c]: k + f between knots k and k + 1, or NaN; no column without bins
    codes: np.ndarray  # [c, i]: the position of category c in its table, -1 where missing
    table: np.ndarray  # the slots of all categories, one table after the other
    starts: np.ndarray  # [c]: where the table of category c begins


class Buffers(NamedTuple):
    """What a row needs for a moment."""

    slots: np.ndarray  # [c]: of each category
    ranks: np.ndarray  # [c]: among those of its view
    ordered: np.ndarray  # [c]: the slots of each view, ascending


def row_buffers(n_categories: int) -> Buffers:
    """Allocate the buffers of a row."""
    return Buffers(*np.empty((3, n_categories), dtype=np.int32))


@inlined_borrowing
def find_slots(cells, i, begin, end, buffers):
    """``ordered`` <- the slots of these categories of row i, ascending, -1 where missing.

    Few are ranked by counting, without a branch that the processor would have to guess.
    """
    slots, ranks, ordered = buffers
    for c in range(begin, end):
        code = cells.codes[c, i]
        slots[c] = cells.table[np.uint64(cells.starts[c] + code)] if code >= 0 else -1
    if end - begin > FEW:
        sort_many(slots, begin, end, ordered)
        return
    for c in range(begin, end):
        slot, rank = slots[c], np.int32(0)
        for before in range(begin, c):
            is_above = np.int32(slots[before] > slot)
            ranks[before] += is_above
            rank += np.int32(1) - is_above
        ranks[c] = rank
    for c in range(begin, end):
        ordered[begin + np.uint64(ranks[c])] = slots[c]


@inlined_borrowing
def sort_many(slots, begin, end, ordered):
    """The same of many (Shell 1959)."""
    for c in range(begin, end):
        ordered[c] = slots[c]
    gap = (end - begin) >> ONE
    while gap > ZERO:
        for c in range(begin + gap, end):
            slot, p = ordered[c], c
            while p >= begin + gap and ordered[p - gap] > slot:
                ordered[p] = ordered[p - gap]
                p -= gap
            ordered[p] = slot
        gap >>= ONE


@borrowing
def fill_rows(
    cells: Cells,
    n_bins: int,
    present: np.ndarray,
    blocks: Blocks,
    buffers: Buffers,
    matrix: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Write the numbers and categories of all rows as CSR: values, columns and where rows begin.

    ``present[i, v]`` is already True where the view has a text.
    """
    values, positions = cells.values, cells.positions
    numeric_ptr, slots_ptr, ptr = blocks
    data, indices, indptr = matrix
    p = ZERO
    for i in range(np.uint64(present.shape[0])):
        for v in range(np.uint64(present.shape[1])):
            first, last = numeric_ptr[v], numeric_ptr[v + ONE]
            begin, end = slots_ptr[v], slots_ptr[v + ONE]
            for c in range(first, last):
                present[i, v] |= not np.isnan(values[i, c])
            if end > begin:
                find_slots(cells, i, begin, end, buffers)
                present[i, v] |= buffers.ordered[end - ONE] >= 0
            if not present[i, v]:
                continue
            p = fill_numbers(values[i], first, last, ptr[v], matrix, p)
            column = ptr[v] + TWO * (last - first)
            if n_bins:
                p = fill_bins(positions[i], first, last, n_bins, column, matrix, p)
                column += (last - first) * np.uint64(n_bins)
            before = np.int32(-1)
            for c in range(begin, end):
                slot = buffers.ordered[c]
                if slot == before and slot >= 0:  # two share a slot
                    data[p - ONE] += 1.0
                elif slot >= 0:
                    indices[p], data[p] = column + np.uint64(slot), 1.0
                    p += ONE
                before = slot
        indptr[i + ONE] = p


@inlined_borrowing
def fill_numbers(values, first, last, column, matrix, p):
    """Write the numbers of a view, and 1 for those that are missing; return the next entry."""
    data, indices, _ = matrix
    for c in range(first, last):
        x = values[c]
        if x != 0.0 and not np.isnan(x):
            indices[p], data[p] = column + (c - first), x
            p += ONE
    column += last - first
    for c in range(first, last):
        if np.isnan(values[c]):
            indices[p], data[p] = column + (c - first), 1.0
            p += ONE
    return p


@inlined_borrowing
def fill_bins(positions, first, last, n_bins, column, matrix, p):
    """Write the shares of the two knots around each number; return the next entry."""
    data, indices, _ = matrix
    for c in range(first, last):
        position = positions[c]
        if not np.isnan(position):
            k = np.uint64(position)
            f = position - k
            indices[p], data[p] = column + k, 1.0 - f
            p += ONE
            if f > 0.0:
                indices[p], data[p] = column + k + ONE, f
                p += ONE
        column += np.uint64(n_bins)
    return p
