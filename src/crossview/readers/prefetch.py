"""Prefetching of the next item in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

# a handler of signals such as polars' lets a wait go on after Ctrl-C
POLL_SECONDS = 0.1
# who stops waits so long for an item that is under way
MOST_SECONDS_TO_END = 60.0

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

    >>> from crossview.readers.prefetch import prefetch
    >>> list(prefetch(n * n for n in range(4)))
    [0, 1, 4, 9]
    """
    hooks: list[Callable[[], None]] = []
    context = copy_context()
    context.run(_hooks.set, hooks)
    # these queues take no lock of Python's: the collector may close a stream that was left
    # wherever it runs, also where somebody holds a lock
    asked: SimpleQueue[bool] = SimpleQueue()
    made: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    thread = threading.Thread(
        target=_draw,
        args=(iter(items), context.run, asked, made),
        name="crossview-prefetch",
        daemon=True,
    )

    def stop() -> None:
        for hook in list(hooks):
            hook()

    with stopped_by(stop):
        asked.put(True)
        thread.start()
        try:
            while (item := _result(made)) is not _END:
                asked.put(True)
                yield item
        finally:
            asked.put(False)
            _end(thread, stop)


class Background(Generic[Item]):
    """A function that runs in a thread, and its result."""

    def __init__(self, work: Callable[[], Item]) -> None:
        self._made: list[Item] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._run, work), name="crossview-ahead", daemon=True
        )
        self._thread.start()

    def _run(self, work: Callable[[], Item]) -> None:
        try:
            self._made.append(work())
        except BaseException as error:
            self._error = error

    def result(self) -> Item:
        """Return what the function returned, or raise what it raised; Ctrl-C ends the wait."""
        while self._thread.is_alive():
            self._thread.join(POLL_SECONDS)
        if self._error is not None:
            raise self._error
        return self._made[0]


def _draw(
    source: Iterator[Any],
    run: Callable[..., Any],
    asked: SimpleQueue[bool],
    made: SimpleQueue[tuple[Any, BaseException | None]],
) -> None:
    """Make an item each time that one is asked for, and close the source in the end."""
    while asked.get():
        try:
            made.put((run(next, source, _END), None))
        except BaseException as error:
            made.put((None, error))
            del error  # it refers to the frames
    close = getattr(source, "close", None)
    if close is not None:
        run(close)


def _result(made: SimpleQueue[tuple[Any, BaseException | None]]) -> Any:
    """The item, as soon as it is there; Ctrl-C ends the wait."""
    while True:
        try:
            item, error = made.get(timeout=POLL_SECONDS)
        except Empty:
            continue
        if error is None:
            return item
        try:
            raise error
        finally:
            del error  # it refers to this frame


def _end(thread: threading.Thread, stop: Callable[[], None]) -> None:
    """End what is under way, again if it was just beginning, and wait for it."""
    if thread is threading.current_thread():  # the collector may run in it
        return
    waited = 0.0
    while thread.is_alive() and waited < MOST_SECONDS_TO_END:
        stop()
        thread.join(POLL_SECONDS)
        waited += POLL_SECONDS


def is_prefetched() -> bool:
    """Return whether this runs in a thread that prefetches."""
    return _hooks.get() is not None


@contextmanager
def stopped_by(stop: Callable[[], None]) -> Iterator[None]:
    """Let a caller that stops early end the work that is prefetched in this thread at once.

    ``stop`` ends it; it is called from another thread, perhaps several times.
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
