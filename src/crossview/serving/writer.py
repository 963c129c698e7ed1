"""The thread that has the log written: many records, one commit."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, NamedTuple, cast

from crossview.data.server_log import Newest
from crossview.serving.commits import Committed, Entry, Group
from crossview.serving.workers import reason_of

__all__ = ["NotWrittenError", "Writer"]

MOST_RECORDS, MOST_SECONDS = 256, 0.005
SECONDS_TO_RETRY = 0.25
# after which a database that does not answer is one that cannot be written
MOST_SECONDS_OF_COMMIT = 5.0
# what runs `commits.main`, with the paths of this process and nothing of the current folder
PROGRAM = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from crossview.serving.commits import main; main()"
)


class NotWrittenError(Exception):
    """The log could not be written, and what was to be written is not in it."""


class Waiting(NamedTuple):
    """An entry, and who waits for its commit.

    Without somebody who waits the caller was answered, so the entry is kept until the log can be
    written, if it has predictions.
    """

    entry: Entry
    done: asyncio.Future | None

    @property
    def is_dropped(self) -> bool:
        """Whether it is dropped if it cannot be written: somebody is told, or nobody needs it."""
        return self.done is not None or not self.entry.predictions


class Writer:
    """Has entries written in the order in which they came, in groups, by a process of its own.

    Parameters
    ----------
    where : path-like
        The folder or the address of the log.
    committed : callable
        Called in the event loop after a commit, with how far the log is.
    most_waiting : int
        More records than that are not taken.
    wait : float or None
        Seconds after which a label is not taken any more; None: it always is.
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        committed: Callable[[Newest], None],
        most_waiting: int,
        wait: float | None = None,
    ) -> None:
        self._where, self._wait = where, wait
        self._failure: str | None = None
        self._since: float | None = None  # a commit waits for the database
        self.n_commits = 0
        self._committed, self._most = committed, most_waiting
        self._process: subprocess.Popen[bytes] | None = None
        self._new, self._n_new, self._waiting = deque[Waiting | None](), 0, 0
        self._kept: list[Waiting] = []
        self._lock = threading.Lock()  # of these numbers, and of what is new
        self._any, self._now = threading.Event(), threading.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="crossview-log", daemon=True)
        self._thread.start()

    @property
    def failure(self) -> str | None:
        """Why nothing can be written now."""
        since = self._since
        if since is not None and time.monotonic() - since > MOST_SECONDS_OF_COMMIT:
            return f"no answer for more than {MOST_SECONDS_OF_COMMIT:g} s"
        return self._failure

    @property
    def waiting(self) -> int:
        """How many records are not committed yet."""
        return self._waiting

    @property
    def process(self) -> int | None:
        """The number of the process that commits, if it runs."""
        return None if self._process is None else self._process.pid

    def is_full(self, more: int) -> bool:
        """Return whether more records would be too many."""
        return self._waiting + more > self._most

    def is_too_many(self, more: int) -> bool:
        """Return whether records are too many, however few wait."""
        return more > self._most

    def add(self, entry: Entry, done: asyncio.Future | None = None) -> None:
        """Write an entry soon."""
        with self._lock:
            self._waiting += len(entry)
            self._n_new += len(entry)
            self._new.append(Waiting(entry, done))
            is_first, is_enough = len(self._new) == 1, self._n_new >= MOST_RECORDS
        if is_first:
            self._any.set()
        if done is not None or is_enough:
            self._now.set()

    async def write(self, entry: Entry) -> None:
        """Write an entry, and wait for the commit."""
        done = self._loop.create_future()
        self.add(entry, done)
        await done

    async def close(self) -> None:
        """Write what waits, and end the thread."""
        with self._lock:
            self._new.append(None)
        self._any.set()
        self._now.set()
        await asyncio.to_thread(self._thread.join)

    # --- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        more = True
        with suppress(OSError):  # or it is tried again
            self._process = self._start()
        while more:
            more = self._gather()
            if self._kept or self._failure:
                self._since = time.monotonic()
                self._commit()
                self._since = None
        self._end()

    def _gather(self) -> bool:
        """Collect entries for one commit; return whether more may come.

        It waits until somebody waits for the commit, there are enough records, or a moment has
        gone by, and is woken once: each time takes longer than a row.
        """
        if self._any.wait(SECONDS_TO_RETRY if self._failure else None):
            self._now.wait(MOST_SECONDS)
        n, more = 0, True
        with self._lock:
            while self._new and more and (n < MOST_RECORDS or self._failure):
                one = self._new.popleft()
                more = one is not None
                if one is not None:
                    self._kept.append(one)
                    n += len(one.entry)
            self._n_new -= n
            if not self._new:
                self._any.clear()
                self._now.clear()
        return more

    def _commit(self) -> None:
        entries = [one.entry for one in self._kept]
        now, touches = time.time_ns() // 1000, self._failure is not None
        found = self._ask(Group(now, self._wait, touches, entries))
        if isinstance(found, str):
            self._failure = found
            dropped = [one for one in self._kept if one.is_dropped]
            self._kept = [one for one in self._kept if not one.is_dropped]
            self._tell(dropped, NotWrittenError(found))
            return
        for entry, known in zip(entries, found.known, strict=True):
            entry.earlier, entry.outcome, entry.result = known
        done, self._kept, self._failure = self._kept, [], None
        self.n_commits += 1
        self._tell(done, None, found.newest)

    def _tell(
        self, entries: list[Waiting], error: Exception | None, newest: Newest | None = None
    ) -> None:
        """Wake those who wait, in the event loop."""
        with self._lock:
            self._waiting -= sum(len(one.entry) for one in entries)

        def wake() -> None:
            for _, future in entries:
                if future is not None and not future.done():
                    if error is None:
                        future.set_result(None)
                    else:
                        future.set_exception(error)
            if newest is not None:
                self._committed(newest)

        self._loop.call_soon_threadsafe(wake)

    # --- the process ---------------------------------------------------------------------------

    def _ask(self, group: Group) -> Committed | str:
        """Return what became of a group, or why it could not be written.

        If the process ends meanwhile, nobody knows, and another one is asked the same: what is in
        the log already is not written again.
        """
        status = None
        for _ in range(2):
            try:
                process = self._process = self._process or self._start()
                return cast(Committed | str, _asked(process, group))
            except (OSError, EOFError, pickle.UnpicklingError):
                status = self._end()
        return f"the process that writes it has ended ({reason_of(status)})"

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a terminal sends its signals to us, and we end it
        )
        for value in (sys.path, self._where):
            pickle.dump(value, cast(IO[bytes], process.stdin))
        return process

    def _end(self) -> int | None:
        """End the process, and return its status."""
        process, self._process = self._process, None
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                cast(IO[bytes], pipe).close()
        return process.wait()


def _asked(process: subprocess.Popen[bytes], group: Group) -> Any:
    """Send a group, and return the answer."""
    given, told = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
    pickle.dump(group, given, pickle.HIGHEST_PROTOCOL)
    given.flush()
    return pickle.load(told)
