"""The one place that says how Crossview compiles.

Compiled code is cached on disk, runs without the GIL, and may fuse a multiply
with an add.  It may not reorder sums: that would let the compiler vectorize the
sum over a sparse row with gather instructions, which made the dot product of
100 entries in a million columns three times slower than the plain loop.

``njit`` is for loops, ``inlined`` for the small pieces that they are made of:
a call costs as much as ten entries of a row.
"""

from typing import Any

import numba

_options: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
}

njit = numba.njit(**_options)
inlined = numba.njit(forceinline=True, **_options)

# functions that only use arrays which others own: they allocate none and return none (but
# other such functions may return views and named tuples to each other), so references to arrays
# need not be counted; counting made a pass over named tuples of arrays ten times slower
borrowing = numba.njit(**_options | {"_nrt": False})
inlined_borrowing = numba.njit(forceinline=True, **_options | {"_nrt": False})

# sums over memory that lies in order may be split among the lanes of a register;
# there is nothing to gather
njit_reordering = numba.njit(**_options | {"fastmath": {"contract", "reassoc"}})
borrowing_reordering = numba.njit(**_options | {"fastmath": {"contract", "reassoc"}, "_nrt": False})
