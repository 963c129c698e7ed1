"""Numbers and slots of many rows as one CSR matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crossview._jit import njit

__all__ = ["Blocks", "Cells", "fill_rows"]


class Blocks(NamedTuple):
    """Where each view begins: among the numbers, the categories, and the columns of the output."""

    numeric_ptr: np.ndarray
    slots_ptr: np.ndarray
    ptr: np.ndarray


class Cells(NamedTuple):
    """What the table holds in row i: numbers, where they lie between knots, and categories."""

    values: np.ndarray  # [i, c]: number c, NaN where missing
    positions: np.ndarray  # [i, c]: k + f between knots k and k + 1, or NaN; no column without bins
    slots: np.ndarray  # [i]: the slots, sorted within each view, -1 where missing


@njit
def fill_rows(
    cells: Cells,
    n_bins: int,
    present: np.ndarray,
    blocks: Blocks,
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
) -> None:
    """Write the numbers and categories of all rows as CSR.

    ``present[i, v]`` is already True where the view has a text.
    """
    values, positions, slots = cells
    numeric_ptr, slots_ptr, ptr = blocks
    p = 0
    for i in range(present.shape[0]):
        for v in range(present.shape[1]):
            numbers = range(numeric_ptr[v], numeric_ptr[v + 1])
            categories = range(slots_ptr[v], slots_ptr[v + 1])
            for c in numbers:
                present[i, v] |= not np.isnan(values[i, c])
            for c in categories:
                present[i, v] |= slots[i, c] >= 0
            if not present[i, v]:
                continue
            column = ptr[v] - numeric_ptr[v]
            for c in numbers:
                x = values[i, c]
                if x != 0.0 and not np.isnan(x):
                    indices[p], data[p] = column + c, x
                    p += 1
            column += len(numbers)
            for c in numbers:
                if np.isnan(values[i, c]):
                    indices[p], data[p] = column + c, 1.0
                    p += 1
            column = ptr[v] + 2 * len(numbers)
            if n_bins:
                for c in numbers:
                    position = positions[i, c]
                    if not np.isnan(position):
                        k = int(position)
                        f = position - k
                        indices[p], data[p] = column + k, 1.0 - f
                        p += 1
                        if f > 0.0:
                            indices[p], data[p] = column + k + 1, f
                            p += 1
                    column += n_bins
            before = -1
            for c in categories:
                slot = slots[i, c]
                if slot == before and slot >= 0:  # two share a slot
                    data[p - 1] += 1.0
                elif slot >= 0:
                    indices[p], data[p] = column + slot, 1.0
                    p += 1
                before = slot
        indptr[i + 1] = p
