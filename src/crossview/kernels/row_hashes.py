"""Hashes of rows: 64 bits of all that a row has, the same in any batch."""

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.kernels.rows import ONE, ZERO
from crossview.kernels.text.names import FACTOR, GOLDEN, SHIFT

# the hash of a missing string, and the bits that stand for a missing number
MISSING = np.uint64(0xD6E8FEB86659FD93)
# twice the bits of an infinity: without their sign, those of any NaN are more
_INFINITE = np.uint64(0xFFE0000000000000)


@inlined_borrowing
def _mix(h, word):
    h = (h ^ word) * FACTOR
    return h ^ (h >> SHIFT)


@inlined_borrowing
def _finish(h):
    h = h * GOLDEN
    return h ^ (h >> SHIFT)


@borrowing
def hash_cells(numbers, strings, hashes):
    """hashes[i] <- of the numbers of row i, and of its strings.

    ``numbers`` are bits of float64, (n_rows, n_numbers); ``strings`` are hashes, (n_strings,
    n_rows).
    """
    for i in range(hashes.shape[0]):
        h = GOLDEN
        for k in range(numbers.shape[1]):
            word = numbers[i, k]
            unsigned = word << ONE
            if unsigned == ZERO:  # 0 and -0
                word = ZERO
            elif unsigned > _INFINITE:
                word = MISSING
            h = _mix(h, word)
        for k in range(strings.shape[0]):
            h = _mix(h, strings[k, i])
        hashes[i] = _finish(h)


@borrowing
def hash_entries(values, columns, indptr, shared, hashes):
    """hashes[i] <- of the entries of row i, laid out as in `Rows`, but for 0 and NaN.

    ``values`` are bits of float64.
    """
    for i in range(hashes.shape[0]):
        h, lo = GOLDEN, indptr[i]
        offset = lo if shared else ZERO
        for p in range(lo, indptr[i + 1]):
            word = values[p]
            if (word << ONE) - ONE < _INFINITE:
                h = _mix(h, word ^ ((columns[p - offset] + ONE) * GOLDEN))
        hashes[i] = _finish(h)
