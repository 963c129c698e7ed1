"""A process that begins and ends without looking through what it has loaded.

The garbage collector finds nothing while modules load, and at its end a process need not take them
apart: the two were a third of a short command.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
import threading
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

__all__ = ["after_loading", "as_process", "is_own_process"]

P = ParamSpec("P")
T = TypeVar("T")

# more of them before the collector looks: a table of 20,000 columns has as many, several times
OBJECTS_BEFORE_COLLECTION = 100_000

# the process that runs a command and nothing else
_own: list[int] = []


def is_own_process() -> bool:
    """Return whether this process runs a command and nothing else."""
    return os.getpid() in _own


def after_loading(run: Callable[P, T]) -> Callable[P, T]:
    """Let a command collect again when it runs, but never look at what was loaded before."""

    @functools.wraps(run)
    def running(*args: P.args, **kwargs: P.kwargs) -> T:
        if is_own_process():
            gc.freeze()
            gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
            gc.enable()
        return run(*args, **kwargs)

    return running


def as_process(main: Callable[[], int]) -> NoReturn:
    """Run a command as a process, which ends at once if nothing else of it is running."""
    _own.append(os.getpid())
    gc.disable()
    try:
        status = main()
    except BaseException:
        gc.unfreeze()
        raise
    if threading.active_count() > 1:
        gc.unfreeze()
        sys.exit(status)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # nobody reads it
            stream.flush()
    os._exit(status)
