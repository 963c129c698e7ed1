"""Rows that workers read: files, or partitions of a Dask data frame, as blocks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from crossview.data.source import Source
from crossview.data.source import open_source as open_any_source
from crossview.distributed.cluster import n_threads
from crossview.distributed.frames import is_dask_frame, open_frame
from crossview.errors import InputError


def open_source(
    X: Any, *, views: Mapping[str, Any] | None = None, hash_bits: int = 18
) -> tuple[Source, list[Any]]:
    """Return the rows of files, or the columns of a Dask data frame and its partitions."""
    if is_dask_frame(X):
        return open_frame(X)
    return open_any_source(X, views=views, hash_bits=hash_bits), []


def check_partitions(n: int | None) -> None:
    """Raise an error for a number of partitions that is none."""
    if n is not None and n < 1:
        raise InputError(f"n_partitions={n}; give 1 or more")


def find_partitions(client: Any, n_blocks: int, n: int | None, file: str | None) -> int:
    """Return the number of partitions; None: as many as the cluster has threads, or blocks."""
    n = min(n_threads(client), n_blocks) if n is None else n
    check_blocks(n_blocks, max(n, 1), file)
    return n


def check_blocks(n_blocks: int, n: int, file: str | None) -> None:
    """Raise an error if there are fewer files or row groups than partitions."""
    if not n_blocks:
        raise InputError(
            "workers read the rows themselves: give files, such as 'clicks/*.parquet', or a Dask "
            "data frame"
        )
    if n_blocks < n:
        raise InputError(
            f"{n} partitions of {n_blocks} files or row groups; ask for fewer partitions, or write "
            "the rows to more files (of Parquet: to smaller row groups; of a Dask data frame: "
            "repartition it)",
            file=file,
        )


def cut_evenly(n_blocks: int, n: int) -> list[tuple[int, int]]:
    """Return n consecutive ranges of blocks, whose sizes differ by one at most.

    >>> from crossview.distributed.sources import cut_evenly
    >>> cut_evenly(5, 2)
    [(0, 2), (2, 5)]
    """
    return list(pairwise(n_blocks * k // n for k in range(n + 1)))
