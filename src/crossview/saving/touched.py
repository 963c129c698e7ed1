"""Arrays of which most rows were never touched: memory and files hold the others.

A hashed space has many more columns than a table has values, so that nearly all rows of the arrays
of a learner still have the value with which they began.
"""

from __future__ import annotations

import math
import mmap
from contextlib import suppress
from typing import Any

import numpy as np

# smaller arrays are kept whole
MIN_BYTES = 4096
# larger ones have pages of their own
MIN_PAGED_BYTES = 2**20
# a sample that finds the most common value; a prime, which no period of the array divides
SAMPLE = 997


class Touched:
    """An array that has one value in all rows but some.

    Values are compared by their bits: -0.0 is not 0.0, and NaN is itself.

    rows (n_touched,): positions of these rows, ascending.
    values (n_touched, ...): their values.
    fill: the value of the others.
    """

    def __init__(self, rows: np.ndarray, values: np.ndarray, n: int, fill: bytes) -> None:
        self.rows, self.values, self.fill = rows, values, fill
        self.shape = (n, *values.shape[1:])
        self.dtype, self.ndim = values.dtype, values.ndim
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    @classmethod
    def of(cls, array: np.ndarray) -> Touched | None:
        """Return the rows of a contiguous array that differ; None if that saves less than half."""
        if array.nbytes < MIN_BYTES:
            return None
        bits = _bits(array)
        sample = np.sort(bits.reshape(-1)[np.arange(SAMPLE) * bits.size // SAMPLE])
        fill = sample[SAMPLE // 2]  # what more than half of the values are
        if np.count_nonzero(sample == fill) < SAMPLE // 2:
            return None
        differs = bits != fill
        rows = np.flatnonzero(differs if bits.ndim == 1 else differs.any(axis=1))
        rows = rows.astype(np.uint64 if len(array) > np.iinfo(np.uint32).max else np.uint32)
        if 2 * (rows.nbytes + array[:1].nbytes * len(rows)) > array.nbytes:
            return None
        return cls(rows, array[rows], len(array), fill.tobytes())

    def is_possible(self) -> bool:
        """Return whether such an array can exist: a file may claim anything."""
        n, rows = self.shape[0], self.rows
        if type(n) is not int or n < len(rows) or self.nbytes < MIN_BYTES:
            return False
        if rows.ndim != 1 or rows.dtype.kind != "u" or len(rows) != len(self.values):
            return False
        rises = bool((rows[1:] > rows[:-1]).all()) and (not len(rows) or int(rows[-1]) < n)
        return rises and len(self.fill) == self.dtype.itemsize

    def dense(self) -> np.ndarray:
        """Return the array, new."""
        array = zeros(self.shape, self.dtype)
        if any(self.fill):
            _bits(array)[...] = self._fill()[0]
        array[self.rows] = self.values
        return array

    def distinct(self) -> np.ndarray:
        """Return the values of all touched rows, flat, and once that of the others."""
        values = _bits(self.values).reshape(-1)
        if len(self.rows) < len(self):
            values = np.concatenate([values, self._fill()])
        return values.view(self.dtype)

    def _fill(self) -> np.ndarray:
        return np.frombuffer(self.fill, dtype=f"u{self.dtype.itemsize}")


def zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """Return zeros, of which a page costs memory once something in it is written.

    `numpy.zeros` asks the system for huge pages, and one value that is written costs 2 MB.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < MIN_PAGED_BYTES or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.zeros(shape, dtype)
    try:
        # private: a copy of the process has its own
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"{size / 2**30:,.1f} GiB of memory") from error
    with suppress(OSError):  # a kernel that has no huge pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)


def new_array(array: np.ndarray | Touched) -> np.ndarray:
    """Return a copy that is an array."""
    return array.dense() if isinstance(array, Touched) else np.array(array)


def _bits(array: np.ndarray) -> np.ndarray:
    """Return the values as whole numbers, one row each."""
    bits = array.view(f"u{array.dtype.itemsize}")
    return bits.reshape(len(array), math.prod(array.shape[1:])) if array.ndim > 1 else bits
