"""Tasks on all cores, through joblib."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import joblib
from joblib import Parallel, delayed, effective_n_jobs
from joblib.externals.loky.backend import resource_tracker

from crossview.errors import argument_spelling
from crossview.jobs.worker import call_here, call_in_worker

# private and not read-only: a read-only array would be another type, for which loops compile anew
MMAP_MODE = "c"
T = TypeVar("T")


class Call(NamedTuple):
    """A task: its key, a function that a process can find by its name, and the arguments."""

    key: Any
    function: Callable[..., Any]
    arguments: tuple


class Jobs:
    """Runs tasks by the workers of joblib, and gives their results as they come.

    n_jobs: how many at a time; -1: one per core; None: one, or what `joblib.parallel_config` says.
      With ``joblib.parallel_config("dask")`` the tasks run on a cluster.
    n_threads: of each task.
    n_workers: how many tasks run at a time.
    """

    def __init__(self, n_jobs: int | None = None, n_threads: int = 1) -> None:
        self.n_jobs, self.n_threads = n_jobs, n_threads
        self.n_workers = int(effective_n_jobs(n_jobs))

    def run(self, calls: Iterable[Call]) -> Iterator[tuple[Any, Any]]:
        """Make calls; the first ones start first.

        calls: the tasks.  A task is asked for when a worker is free, by threads of joblib, for
          which an error in the iterable is the end of the world.
        Yields: as soon as there is one.
        """
        if self.n_workers == 1:
            for call in calls:
                yield call_here(self.n_threads, *call)
            return
        parallel = Parallel(
            n_jobs=self.n_jobs,
            batch_size=1,
            pre_dispatch="2*n_jobs",
            return_as="generator_unordered",
            mmap_mode=MMAP_MODE,
        )
        how = os.getpid(), argument_spelling(), self.n_threads
        yield from parallel(delayed(call_in_worker)(*how, *call) for call in calls)

    def share(self, data: T) -> T:
        """Return data whose arrays are in a file that all workers map into their memory.

        It is written once, for all tasks.

        data: keep what is returned as long as there are tasks that need its arrays: then the file
          is removed.
        Returns data: a copy; the same object where there is one worker.
        """
        if self.n_workers == 1:
            return data
        handle, path = tempfile.mkstemp(prefix="crossview-")
        with os.fdopen(handle, "wb") as file:
            joblib.dump(data, file)
        # a process of joblib removes it if this one is killed
        resource_tracker.register(path, "file")
        shared: T = joblib.load(path, mmap_mode=MMAP_MODE)
        weakref.finalize(shared, resource_tracker.maybe_unlink, path, "file")
        return shared
