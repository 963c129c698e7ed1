"""Numbers and slots of many rows as one CSR matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.kernels.rows import ONE, TWO, ZERO
from crossview.kernels.sorting import sort_lanes

# rows whose slots are sorted together
LANES = 32


class Blocks(NamedTuple):
    """First number, first category and first output column of each view."""

    numeric_ptr: np.ndarray
    slots_ptr: np.ndarray
    ptr: np.ndarray


class Cells(NamedTuple):
    """Cells of a table, by row i: numbers, their positions between knots, and categories."""

    values: np.ndarray  # [i, c]: number c, NaN where missing
    positions: np.ndarray  # [i, c]: k + f between knots k and k + 1, or NaN; no column without bins
    codes: np.ndarray  # [c, i]: the position of category c in its table, -1 where missing
    table: np.ndarray  # the slots of all categories, one table after the other
    starts: np.ndarray  # [c]: where the table of category c begins


def slot_buffer(n_categories: int) -> np.ndarray:
    """Allocate what `fill_rows` needs for `LANES` rows: the slot of each category."""
    return np.empty((n_categories, LANES), dtype=np.int32)


@inlined_borrowing
def find_slots(cells, first, n_rows, slots_ptr, slots):
    """``slots[c, lane]`` <- those of row first + lane, ascending in each view, -1 where missing.

    Lanes beyond the rows are sorted as they are.
    """
    for c in range(np.uint64(slots.shape[0])):
        for lane in range(n_rows):
            code = cells.codes[c, first + lane]
            slots[c, lane] = cells.table[np.uint64(cells.starts[c] + code)] if code >= 0 else -1
    for v in range(np.uint64(len(slots_ptr)) - ONE):
        sort_lanes(slots, slots_ptr[v], slots_ptr[v + ONE] - slots_ptr[v])


@borrowing
def fill_rows(
    cells: Cells,
    n_bins: int,
    present: np.ndarray,
    blocks: Blocks,
    slots: np.ndarray,
    matrix: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Write the numbers and categories of all rows as CSR: values, columns and where rows begin.

    ``present[i, v]`` is already True where the view has a text.
    """
    values, positions = cells.values, cells.positions
    numeric_ptr, slots_ptr, ptr = blocks
    data, indices, indptr = matrix
    p, n_rows, lane = ZERO, np.uint64(present.shape[0]), np.uint64(LANES)
    for i in range(n_rows):
        lane += ONE
        if lane >= np.uint64(LANES):
            lane = ZERO
            find_slots(cells, i, min(np.uint64(LANES), n_rows - i), slots_ptr, slots)
        for v in range(np.uint64(present.shape[1])):
            first, last = numeric_ptr[v], numeric_ptr[v + ONE]
            begin, end = slots_ptr[v], slots_ptr[v + ONE]
            for c in range(first, last):
                present[i, v] |= not np.isnan(values[i, c])
            if end > begin:
                present[i, v] |= slots[end - ONE, lane] >= 0
            if not present[i, v]:
                continue
            p = fill_numbers(values[i], first, last, ptr[v], matrix, p)
            column = ptr[v] + TWO * (last - first)
            if n_bins:
                p = fill_bins(positions[i], first, last, n_bins, column, matrix, p)
                column += (last - first) * np.uint64(n_bins)
            before = np.int32(-1)
            for c in range(begin, end):
                slot = slots[c, lane]
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
