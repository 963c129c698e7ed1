"""The one place that says how Crossview compiles.

``njit`` is for the learners' loops: cached on disk, without the GIL, and free
to reorder sums and to fuse multiply with add, but never to assume that NaN or
infinity cannot occur.  ``njit_strict`` keeps the order of every operation as
written: for convergence tests and for anything that compares two values that
should be equal.
"""

from typing import Any

import numba

_options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

njit = numba.njit(fastmath={"reassoc", "contract"}, **_options)
njit_strict = numba.njit(**_options)
