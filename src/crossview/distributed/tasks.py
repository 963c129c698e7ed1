"""Tasks of a Dask cluster: pure functions, which run again where a worker dies.

What is merged with what depends on the number of partitions only, so workers change no bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

# results that one task merges; more are merged in a tree
FAN_IN = 8
# times that a task runs again, if its worker dies
RETRIES = 3


def share(client: Any, value: Any) -> Any:
    """Return a future of a value that many tasks use; one in a task outlives any worker."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return client.submit(_identity, value, pure=False)


def compute(client: Any, function: Callable[..., Any], calls: Sequence[Sequence[Any]]) -> list[Any]:
    """Return futures of calls, whose arguments may hold futures and delayed values."""
    from dask.delayed import delayed

    task = delayed(function, pure=False)
    return list(client.compute([task(*arguments) for arguments in calls], retries=RETRIES))


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

    task, join = delayed(function, pure=False), delayed(_sum, pure=False)
    sums = [merge_in_tree([task(*one) for one in calls], join) for calls in partitions]
    return client.compute(merge_in_tree(sums, join), retries=RETRIES).result()


def _identity(value: Any) -> Any:
    return value


def _sum(parts: Sequence[Any]) -> Any:
    return reduce(add, parts)
