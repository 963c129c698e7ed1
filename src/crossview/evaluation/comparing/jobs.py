"""Tasks on all cores, through joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs

__all__ = ["Call", "Jobs"]


class Call(NamedTuple):
    """A task: its key, a function that a process can find by its name, and the arguments."""

    key: Any
    function: Callable[..., Any]
    arguments: tuple


class Jobs:
    """Runs tasks by the workers of joblib, and gives their results as they come.

    Parameters
    ----------
    n_jobs : int or None
        How many at a time; -1: one per core; None: one, or what `joblib.parallel_config` says.
        With ``joblib.parallel_config("dask")`` the tasks run on a cluster.

    Attributes
    ----------
    n_workers : int
        How many tasks run at a time.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs
        self.n_workers = int(effective_n_jobs(n_jobs))

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[Any, Any]]:
        """Make calls; the first ones start first.

        Parameters
        ----------
        calls : sequence of Call
            The tasks.

        Yields
        ------
        key, result
            As soon as there is one.
        """
        if self.n_workers == 1:
            for call in calls:
                yield _keyed(*call)
            return
        parallel = Parallel(
            n_jobs=self.n_jobs,
            batch_size=1,
            pre_dispatch="2*n_jobs",
            return_as="generator_unordered",
            mmap_mode="c",  # a read-only array would be another type, for which loops compile anew
        )
        yield from parallel(delayed(_keyed)(*call) for call in calls)


def _keyed(key: Any, function: Callable[..., Any], arguments: tuple) -> tuple[Any, Any]:
    return key, function(*arguments)
