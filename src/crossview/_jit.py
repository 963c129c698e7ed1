"""The one place that says how Crossview compiles.

Compiled code is cached on disk, runs without the GIL, and may fuse a multiply
with an add.  It may not reorder sums: that would let the compiler vectorise the
sum over a sparse row with gather instructions, which made the dot product of
100 entries in a million columns three times slower than the plain loop.
"""

import numba

njit = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
