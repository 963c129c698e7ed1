"""Several processes that answer at one address, each of which learns the log itself."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, cast

from crossview.errors import InputError, Spelling, argument_spelling, spell_arguments

# a worker that ends sooner than that is started again after that time
SECONDS_BETWEEN_STARTS = 1.0


class Ready(NamedTuple):
    """What a worker tells when it answers."""

    words: str


class Worker(NamedTuple):
    """A process, and when it was started."""

    number: int
    process: BaseProcess
    began: float


def supervise(
    work: Callable[..., None],
    arguments: dict[str, Any],
    n: int,
    begun: Callable[[str], None],
    say: Callable[[str], None],
    told_to_end: Callable[[Callable[..., None]], Any],
) -> None:
    """Run workers until this process is told to end, and start another one for each that dies.

    The others start when the first one answers.

    work: what a worker runs, with ``number``, ``say`` and ``ready``, a function that it calls with
      some words when it answers.  It ends when it gets SIGTERM.
    begun: called once, when all answer, with the words of the last one.
    say: gets what a worker says, and when one dies.
    told_to_end: a context that passes signals to a handler.
    Raises `InputError`: that of a worker.
    """
    context = multiprocessing.get_context("spawn")
    workers: dict[Connection, Worker] = {}
    is_ending = False
    failure: InputError | None = None
    waiting = set(range(1, n + 1))
    later = list(range(2, n + 1))  # they load what the first one has compiled

    def start(number: int) -> None:
        ours, its = context.Pipe(duplex=False)
        process = context.Process(
            target=_work,
            args=(work, its, number, arguments, argument_spelling()),
            name=f"worker {number}",
        )
        process.start()
        its.close()
        workers[ours] = Worker(number, process, time.monotonic())

    def end(*_: Any) -> None:
        nonlocal is_ending
        is_ending = True
        for one in list(workers.values()):
            one.process.terminate()

    with told_to_end(end):
        if not is_ending:
            start(1)
        while workers:
            for told_by in wait(list(workers)):
                pipe = cast(Connection, told_by)
                number, process, began = workers[pipe]
                try:
                    told = pipe.recv()
                except (EOFError, OSError):
                    pipe.close()
                    process.join()
                    del workers[pipe]
                    if is_ending:
                        continue
                    say(
                        f"worker {number} has ended ({reason_of(process.exitcode)}); another starts"
                    )
                    time.sleep(max(0.0, began + SECONDS_BETWEEN_STARTS - time.monotonic()))
                    if not is_ending:
                        start(number)
                    continue
                if isinstance(told, InputError):
                    failure = failure or told
                    end()
                elif isinstance(told, Ready):
                    if waiting == {number}:
                        begun(told.words)
                    waiting.discard(number)
                    while later and not is_ending:
                        start(later.pop(0))
                else:
                    say(f"worker {number}: {told}")
    if failure is not None:
        raise failure


def reason_of(status: int | None) -> str:
    """Return why a process has ended, by its status."""
    if status is not None and status < 0:
        return signal.Signals(-status).name
    return f"status {status}"


def _work(
    work: Callable[..., None],
    pipe: Connection,
    number: int,
    arguments: dict[str, Any],
    spelling: Spelling | None,
) -> None:
    """Run a worker, which ends when its parent does."""
    from crossview.compiling import telling_of_compiling  # which loads Numba

    spell_arguments(spelling)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent tells us
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def tell(told: Any) -> None:
        with suppress(OSError):  # the parent is gone
            pipe.send(told)

    try:
        with telling_of_compiling(lambda: tell("compiling for this machine, once ...")):
            work(**arguments, number=number, say=tell, ready=lambda words: tell(Ready(words)))
    except InputError as error:
        tell(error)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        counts = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
        if counts is not None:  # which it can no longer remove
            shutil.rmtree(counts, ignore_errors=True)
        os.kill(os.getpid(), signal.SIGTERM)
