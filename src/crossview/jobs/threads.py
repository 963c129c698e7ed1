"""How many threads BLAS and OpenMP take."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def threadpool_limits(
    limits: int | None, user_api: str | None = None
) -> AbstractContextManager[Any]:
    """Limit the threads of the libraries that are loaded, as `threadpoolctl` does.

    That looks through all files of the process for them, which takes longer than a small model.
    """
    found: AbstractContextManager[Any] = _controller(len(sys.modules)).limit(
        limits=limits, user_api=user_api
    )
    return found


@lru_cache(maxsize=1)
def _controller(_n_modules: int) -> ThreadpoolController:
    """Return the libraries; another module may have loaded more."""
    return ThreadpoolController()
