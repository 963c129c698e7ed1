"""A process that loads while it waits, and begins and ends without looking through what it has.

The garbage collector finds nothing while modules load, and at its end a process need not take them
apart: the two were a third of a short command.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import NoReturn

from crossview.lazily import load_scikit_learn
from crossview.saving.files import close_process_folder

# more of them before the collector looks: a table of 20,000 columns has as many, several times
OBJECTS_BEFORE_COLLECTION = 100_000

# what every command that opens a file needs next, none of which takes long by itself
NEEDED_NEXT = ["numba", "scipy.linalg", "joblib", "sklearn.base"]
# seconds in which a small file is open: loading would be in the way
A_MOMENT = 0.15

# the process that runs a command and nothing else
_own: list[int] = []


def is_own_process() -> bool:
    """Return whether this process runs a command and nothing else."""
    return os.getpid() in _own


@contextlib.contextmanager
def loading_meanwhile() -> Iterator[None]:
    """Load what the command needs next in a thread, while DuckDB looks through a large file."""
    if not is_own_process():
        yield
        return
    is_open = threading.Event()

    def load() -> None:
        if is_open.wait(A_MOMENT):
            return
        for name in NEEDED_NEXT:
            if not is_open.is_set():
                with contextlib.suppress(ImportError):  # which the command will say
                    load_scikit_learn() if name == "sklearn.base" else importlib.import_module(name)

    thread = threading.Thread(target=load, name="crossview-loading")
    thread.start()
    try:
        yield
    finally:
        is_open.set()
        thread.join()


def load_heavy() -> None:
    """Load scikit-learn, and let the garbage collector look again at objects that are new."""
    load_scikit_learn()
    if is_own_process():
        gc.freeze()
        gc.set_threshold(OBJECTS_BEFORE_COLLECTION)
        gc.enable()


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
    close_process_folder()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # nobody reads it
            stream.flush()
    os._exit(status)
