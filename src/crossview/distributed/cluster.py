"""Connection to a Dask cluster, and its tasks: pure functions, run again where a worker dies.

What is merged with what depends on the number of partitions only, so workers change no bit.
"""

from __future__ import annotations

import contextlib
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

from crossview.errors import (
    InputError,
    Spelling,
    argument_spelling,
    cannot_import,
    spell_arguments,
    type_of,
)

_LOCAL = re.compile(r"local:(\d+)")
# a scheduler that is there answers within it
TIMEOUT = "10s"
NANNY_ENVIRON = "distributed.nanny.pre-spawn-environ"
# bytes; a worker takes 350 MB before it reads a row, and is paused at 80 % of its limit
LEAST_MEMORY = 500_000_000
# for which all workers may be paused; and between two looks
PAUSED_SECONDS, LOOK_SECONDS = 30.0, 2.0


def dask_distributed() -> Any:
    """Return the module distributed, or raise an error that says how to install it."""
    try:
        import distributed
    except ImportError as error:
        raise cannot_import("work on several machines", "dask", error) from None
    return distributed


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a scheduler, or start processes on this machine, until the end of the context.

    Parameters
    ----------
    address : str
        That of a scheduler, such as ``tcp://10.0.0.1:8786``, or ``local:N`` for N processes.

    Yields
    ------
    distributed.Client
        The connection.

    Raises
    ------
    InputError
        Dask is not installed, the address is none, or no scheduler answers.

    Examples
    --------
    >>> from crossview.distributed import connected
    >>> with connected("local:2") as client:  # doctest: +SKIP
    ...     print(len(client.ncores()))
    2
    """
    dask = dask_distributed()
    if local := _LOCAL.fullmatch(address):
        n = int(local[1])
        if n < 1:
            raise InputError(f"{address!r}: give 1 process or more, such as local:4")
        with _own_allocator():
            cluster = dask.LocalCluster(
                n_workers=n, threads_per_worker=1, dashboard_address=":0", silence_logs=50
            )
        with cluster, dask.Client(cluster) as client:
            yield client
        return
    try:
        client = dask.Client(address, timeout=TIMEOUT)
    except (OSError, ValueError, TypeError) as error:
        text = " ".join(str(error).split())[:120]
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({text}); give its address, such as "
            "tcp://10.0.0.1:8786, or local:N for N processes here"
        ) from None
    with client:
        yield client


@contextlib.contextmanager
def _own_allocator() -> Iterator[None]:
    """Let processes that start here keep freed memory for the next batch, as this one does.

    Dask makes them give it back at once; pages that are mapped anew for each batch take two thirds
    more processor time (docs/scale.md).
    """
    import dask.config

    environ = dict(dask.config.get(NANNY_ENVIRON))
    environ.pop("MALLOC_TRIM_THRESHOLD_", None)
    with dask.config.set({NANNY_ENVIRON: environ}):
        yield


def check_client(client: Any) -> None:
    """Raise an error for what is no client of a cluster whose workers have room for a process."""
    if not isinstance(client, dask_distributed().Client):
        raise InputError(f"client= is {type_of(client)}; give a distributed.Client of your cluster")
    if client.status == "closed":
        raise InputError("client= is closed; give a distributed.Client that is connected")
    for address, worker in client.scheduler_info()["workers"].items():
        if 0 < (limit := worker["memory_limit"] or 0) < LEAST_MEMORY:
            raise InputError(
                f"the Dask worker {address} may take {_megabytes(limit)} of memory, and its "
                "process alone takes 350 MB; give each worker 1 GB or more, such as "
                "memory_limit='1GB'"
            )


def n_threads(client: Any) -> int:
    """Return how many tasks the cluster runs at a time; `InputError` if none."""
    n = sum(client.ncores().values())
    if not n:
        raise InputError("the Dask cluster has no workers; start some, then run it again")
    return int(n)


# results that one task merges; more are merged in a tree
FAN_IN = 8
# times that a task runs again, if its worker dies
RETRIES = 3


def share(client: Any, value: Any) -> Any:
    """Return a future of a value that many tasks use; one in a task outlives any worker."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return client.submit(_identity, value, pure=False)


def pass_on(client: Any, future: Any) -> None:
    """Give what many tasks use to all workers, as one that computes is slow to pass it on.

    Where all are paused they get it when they need it, and `result` says what to do.
    """
    with contextlib.suppress(ValueError):  # there is no worker that could take it
        client.replicate([future])


def task(function: Callable[..., Any]) -> Any:
    """Return a function that makes tasks, whose errors name arguments as this process does."""
    from dask.delayed import delayed

    return partial(delayed(_spelled, pure=False), argument_spelling(), function)


def _spelled(spelling: Spelling | None, function: Callable[..., Any], *arguments: Any) -> Any:
    spell_arguments(spelling)
    return function(*arguments)


def compute(client: Any, function: Callable[..., Any], calls: Sequence[Sequence[Any]]) -> list[Any]:
    """Return futures of calls, whose arguments may hold futures and delayed values."""
    call = task(function)
    return list(client.compute([call(*arguments) for arguments in calls], retries=RETRIES))


def merge_in_tree(parts: Sequence[Any], join: Callable[[Sequence[Any]], Any]) -> Any:
    """Return one delayed value for several, a few of which are joined at a time, in their order."""
    while len(parts) > 1:
        parts = [join(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    return parts[0]


def compute_sum(
    client: Any, function: Callable[..., Any], partitions: Sequence[Sequence[Sequence[Any]]]
) -> Any:
    """Return the sum of what calls return, added on the workers."""
    from dask.delayed import delayed

    call, join = task(function), delayed(_sum, pure=False)
    sums = [merge_in_tree([call(*one) for one in calls], join) for calls in partitions]
    return result(client, client.compute(merge_in_tree(sums, join), retries=RETRIES))


def result(client: Any, future: Any) -> Any:
    """Return the value of a future, as `results` does."""
    (value,) = results(client, [future])
    return value


def results(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Return the values of futures; `InputError` where the memory of the workers is too small."""
    dask = dask_distributed()
    pending, paused_since = list(futures), None
    while pending:
        with contextlib.suppress(TimeoutError):
            done, _ = dask.wait(pending, timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED")
            if any(one.status != "finished" for one in done):
                break
            pending, paused_since = [one for one in pending if one not in done], None
            continue
        if not (paused := _paused(client)):
            paused_since = None
        elif paused_since is None:
            paused_since = time.monotonic()
        elif time.monotonic() - paused_since > PAUSED_SECONDS:
            raise InputError(f"{paused}; {_MORE_MEMORY}")
    try:
        return list(client.gather(list(futures)))
    except dask.KilledWorker as error:
        raise InputError(
            f"workers died {error.allowed_failures + 1} times at one task; {_MORE_MEMORY}"
        ) from None


_MORE_MEMORY = (
    "if memory is short, give each worker more (memory_limit), or write the rows to smaller files "
    "or row groups"
)


def _paused(client: Any) -> str:
    """What is said if all workers are paused, as Dask does where their memory is nearly full."""
    workers = client.scheduler_info()["workers"].values()
    if not workers or any(one["status"] != "paused" for one in workers):
        return ""
    least = min(workers, key=lambda one: one["memory_limit"] or 0)
    used, limit = least["metrics"]["memory"], least["memory_limit"] or 0
    return (
        f"Dask has paused all workers, one of them with {_megabytes(used)} of its "
        f"{_megabytes(limit)} of memory in use"
    )


def _megabytes(n: float) -> str:
    return f"{n / 1e6:,.0f} MB"


def _identity(value: Any) -> Any:
    return value


def _sum(parts: Sequence[Any]) -> Any:
    return reduce(add, parts)
