"""Seconds of compiling, and a progress message while it lasts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

# less is not worth a word
SECONDS_UNTOLD = 2.0


class _Clock(event.Listener):
    """Adds up what compiles, also within what compiles; Numba compiles in one thread at a time.

    time: the clock that says how late it is.
    """

    def __init__(self, time: Callable[[], float]) -> None:
        self.time = time
        self.before, self.began, self.depth = 0.0, 0.0, 0

    @property
    def seconds(self) -> float:
        return self.before + (self.time() - self.began if self.depth else 0.0)

    def on_start(self, _: Any) -> None:
        if not self.depth:
            self.began = self.time()
        self.depth += 1

    def on_end(self, _: Any) -> None:
        if self.depth == 1:
            self.before = self.seconds
        self.depth = max(0, self.depth - 1)


class _Word(event.Listener):
    """Listener that calls a function once if compiling takes long."""

    def __init__(self, say: Callable[[], None]) -> None:
        self.say: Callable[[], None] | None = say
        self.before = _clock.seconds

    def on_start(self, _: Any) -> None:
        if self.say is not None and _clock.seconds - self.before > SECONDS_UNTOLD:
            say, self.say = self.say, None
            say()

    def on_end(self, _: Any) -> None:
        pass


_clock, _work = _Clock(time.perf_counter), _Clock(time.thread_time)
for one in (_clock, _work):
    event.register("numba:compile", one)  # type: ignore[no-untyped-call]


def seconds_of_compiling() -> float:
    """Return the seconds since this module was imported; loading what is compiled takes none."""
    return _clock.seconds


def seconds_of_work() -> float:
    """Return the seconds that this thread has had a processor, without those of compiling."""
    return time.thread_time() - _work.seconds


@contextmanager
def telling_of_compiling(say: Callable[[], None]) -> Iterator[None]:
    """Call ``say`` once, while loops compile, if that takes more than a moment."""
    word = _Word(say)
    event.register("numba:compile", word)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        event.unregister("numba:compile", word)  # type: ignore[no-untyped-call]
