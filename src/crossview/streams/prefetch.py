"""Prefetching of the next item in a thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["prefetch"]

Item = TypeVar("Item")
_END = object()


def prefetch(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items in order, computing the next one in a thread.

    One thread draws the next item while the caller works on this one, so that
    reading, encoding and learning, which all run outside the interpreter's
    lock, share the cores.  One item is held, whatever the length.  What the
    items raise is raised here, in its place.

    Parameters
    ----------
    items : iterable
        Drawn from in another thread, one after the other.

    Yields
    ------
    item
        The next one.

    Examples
    --------
    >>> from crossview.streams.prefetch import prefetch
    >>> list(prefetch(n * n for n in range(4)))
    [0, 1, 4, 9]
    """
    source = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="crossview-prefetch") as thread:
        coming = thread.submit(next, source, _END)
        try:
            while (item := coming.result()) is not _END:
                coming = thread.submit(next, source, _END)
                yield item  # type: ignore[misc]  # it is not the end
        finally:
            # a caller who stops early closes the source, in the thread that works on it
            close = getattr(source, "close", None)
            if close is not None:
                thread.submit(close)
