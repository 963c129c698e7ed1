"""Prefetching of the next item in a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

__all__ = ["prefetch", "stopped_by"]

# a handler of signals such as polars' lets a wait go on after Ctrl-C
POLL_SECONDS = 0.1

Item = TypeVar("Item")
_END = object()
# what ends the work of the thread that prefetches
_hooks: ContextVar[list[Callable[[], None]] | None] = ContextVar("hooks", default=None)


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
    hooks: list[Callable[[], None]] = []
    context = copy_context()
    context.run(_hooks.set, hooks)

    def draw() -> Item | object:
        return context.run(next, source, _END)

    def stop() -> None:
        for hook in list(hooks):
            hook()

    with (
        ThreadPoolExecutor(1, thread_name_prefix="crossview-prefetch") as thread,
        stopped_by(stop),
    ):
        coming = thread.submit(draw)
        try:
            while (item := _result(coming)) is not _END:
                coming = thread.submit(draw)
                yield item  # type: ignore[misc]  # it is not the end
        finally:
            # a caller who stops early ends what is under way, again if it was just beginning
            while not coming.done():
                stop()
                wait([coming], timeout=POLL_SECONDS)
            # and closes the source, in the thread that works on it
            close = getattr(source, "close", None)
            if close is not None:
                thread.submit(context.run, close)


def _result(coming: Future[Item]) -> Item:
    """The result, as soon as it is there; Ctrl-C ends the wait."""
    while not coming.done():
        wait([coming], timeout=POLL_SECONDS)
    return coming.result()


@contextmanager
def stopped_by(stop: Callable[[], None]) -> Iterator[None]:
    """Let those who stop early, while work is prefetched in this thread, end it at once.

    Parameters
    ----------
    stop : callable
        Ends the work; called from another thread, perhaps several times.
    """
    hooks = _hooks.get()
    if hooks is None:
        yield
        return
    hooks.append(stop)
    try:
        yield
    finally:
        hooks.remove(stop)
