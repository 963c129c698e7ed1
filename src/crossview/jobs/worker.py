"""Entry point of a worker process; imported first."""

from __future__ import annotations

import gc
import os
import threading
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from multiprocessing import current_process
from typing import Any

from crossview.compiling import seconds_of_compiling
from crossview.errors import Spelling, UnlabeledRowsWarning, spell_arguments
from crossview.jobs.allocator import give_back
from crossview.jobs.threads import threadpool_limits
from crossview.lazily import load_scikit_learn


def _end_with(parent: int) -> None:
    """End this process when its parent is killed, which loky notices after its next task."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


# before what the tasks need: the process is one of loky, which ran nothing yet
if current_process().name.startswith("LokyProcess"):
    if os.name == "posix":  # elsewhere a process keeps the number of its parent
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    load_scikit_learn()


def call_in_worker(parent: int, spelling: Spelling | None, *how: Any) -> tuple[Any, Any]:
    """Return what `call_here` returns; a worker then gives back free memory.

    parent: number of the process that asks.  If it is this one, it keeps its memory.
    spelling: how that process names arguments in messages.
    """
    spell_arguments(spelling)
    result = call_here(*how)
    if os.getpid() != parent:
        _spare_the_collector(seconds_of_compiling())
    return result


def call_here(
    n_threads: int, key: Any, function: Callable[..., Any], arguments: tuple
) -> tuple[Any, Any]:
    """Return a key, and what a function returns, in a few threads: others have the processors."""
    with threadpool_limits(n_threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", UnlabeledRowsWarning)  # the comparison says so once
        return key, function(*arguments)


@lru_cache(maxsize=1)
def _spare_the_collector(compiled: float) -> None:
    """Except what is loaded by now from garbage collection, again when more loops are loaded.

    joblib collects once a second in each worker, which takes a tenth of a second otherwise.
    Memory that is free goes back to the system, then and later.
    """
    gc.collect()
    give_back()
    gc.freeze()
