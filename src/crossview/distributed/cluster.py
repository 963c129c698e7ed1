"""Connection to a Dask cluster."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from crossview.errors import InputError, type_of

_LOCAL = re.compile(r"local:(\d+)")
# a scheduler that is there answers within it
TIMEOUT = "10s"
NANNY_ENVIRON = "distributed.nanny.pre-spawn-environ"


def dask_distributed() -> Any:
    """Return the module distributed, or raise an error that says how to install it."""
    try:
        import distributed
    except ImportError:
        raise InputError("several machines need Dask: pip install 'dask[distributed]'") from None
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
    """Raise an error for what is no client of a cluster."""
    if not isinstance(client, dask_distributed().Client):
        raise InputError(f"client= is {type_of(client)}; give a distributed.Client of your cluster")


def n_threads(client: Any) -> int:
    """Return how many tasks the cluster runs at a time; `InputError` if none."""
    n = sum(client.ncores().values())
    if not n:
        raise InputError("the Dask cluster has no workers; start some, then run it again")
    return int(n)
