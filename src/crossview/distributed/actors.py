"""Parts of the rows that stay on their workers and keep their scores between calls."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from crossview.distributed.cluster import dask_distributed
from crossview.distributed.tasks import RETRIES
from crossview.estimators.svm.part import PartOfRows, ScoredPart


def assign_workers(client: Any, blocks: list[Any], sizes: list[int]) -> list[str]:
    """Return a worker for each block: the one that has it, unless that has its share already."""
    threads, places, homes = client.ncores(), client.who_has(blocks), []
    of_thread = sum(sizes) / max(1, sum(threads.values()))
    load = dict.fromkeys(sorted(threads), 0)
    for block, size in zip(blocks, sizes, strict=True):
        owners = [one for one in places[block.key] if one in load]
        free = [one for one in owners if load[one] + size / 2 <= threads[one] * of_thread]
        home = min(free or load, key=lambda one: (load[one] + size) / threads[one])
        load[home] += size
        homes.append(home)
    return homes


class RemoteParts:
    """The parts, on workers: an actor on each has those that are in its memory.

    A call of an actor is much faster than a task.  Its state is a copy of scores, so where
    a worker dies, Dask makes the parts again on another one, and a new actor repeats the call.
    """

    def __init__(self, client: Any, parts: list[Any]) -> None:
        self._client, self._parts = client, parts
        dask_distributed().wait(parts)
        places = client.who_has(parts)
        homes = [min(places[part.key], default="") for part in parts]  # a part that failed has none
        self._homes = sorted(set(homes))
        self._members = [[i for i, one in enumerate(homes) if one == home] for home in self._homes]
        self._futures: dict[int, Any] = {}
        self._actors = [self._hold(g) for g in range(len(self._homes))]

    def _hold(self, g: int) -> Any:
        parts, home = [self._parts[i] for i in self._members[g]], self._homes[g]
        threads = self._client.ncores().get(home, 1)
        # an actor lives as long as this future; it takes the client that is current
        self._futures[g] = self._client.submit(
            PartActor, parts, threads, actor=True, workers=[home], allow_other_workers=True,
            pure=False, retries=RETRIES,
        )  # fmt: skip
        with self._client.as_current():
            return self._futures[g].result()

    def each(self, method: str, values: list[tuple]) -> list[Any]:
        """Return what a method of each `ScoredPart` returns for its arguments."""
        own = [[values[i] for i in members] for members in self._members]
        calls = [self._begin(g, method, own[g]) for g in range(len(own))]
        found: dict[int, Any] = {}
        for g, (call, members) in enumerate(zip(calls, self._members, strict=True)):
            found |= zip(members, self._finish(g, call, method, own[g]), strict=True)
        return [found[i] for i in range(len(values))]

    def _begin(self, g: int, method: str, values: list[tuple]) -> Any:
        with contextlib.suppress(RuntimeError):  # its worker is known to be dead
            return self._actors[g].call(method, values)

    def _finish(self, g: int, call: Any, method: str, values: list[tuple]) -> list[Any]:
        for _ in range(RETRIES):
            with contextlib.suppress(OSError):  # its worker died
                if call is not None:
                    return list(call.result())
            self._actors[g] = self._hold(g)
            call = self._begin(g, method, values)
        return list(self._actors[g].call(method, values).result())

    def total(self, method: str, *values: Any) -> np.ndarray:
        """Return the sum of what a method of each `PartOfRows` returns, in their order."""
        call = getattr(PartOfRows, method)
        tasks = [
            self._client.submit(call, part, *values, pure=False, retries=RETRIES)
            for part in self._parts
        ]
        found = self._client.submit(_sum, tasks, pure=False, retries=RETRIES).result()
        return np.asarray(found)


class PartActor:
    """The parts in the memory of one worker."""

    def __init__(self, parts: list[PartOfRows], n_threads: int) -> None:
        self._parts, self._n_threads = [ScoredPart(part) for part in parts], n_threads

    def call(self, method: str, values: list[tuple]) -> list[Any]:
        """Return what a method of each part returns for its arguments."""
        call = getattr(ScoredPart, method)
        with ThreadPoolExecutor(self._n_threads) as pool:
            return list(pool.map(lambda part, own: call(part, *own), self._parts, values))


def _sum(values: list[np.ndarray]) -> np.ndarray:
    return np.asarray(np.add.reduce(values))
