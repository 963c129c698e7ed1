"""Has the log written by a process of its own: many records, one commit."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, cast

from crossview.server_log.log import Newest
from crossview.serving.storage.commits import LENGTH, Committed, Entry, Group
from crossview.serving.workers import reason_of

MOST_RECORDS, MOST_SECONDS = 256, 0.005
SECONDS_TO_RETRY = 0.25
# after which a database that does not answer is one that cannot be written
MOST_SECONDS_OF_COMMIT = 5.0
# what runs `commits.main`, with the paths of this process and nothing of the current folder
PROGRAM = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from crossview.serving.storage.commits import main; main()"
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

    where: the folder or the address of the log.
    committed: called after a commit, with how far the log is.
    most_waiting: more records than that are not taken.
    wait: seconds after which a label is not taken any more; None: it always is.
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
        self._process: Process | None = None
        self._new, self._n_new, self.waiting = deque[Waiting](), 0, 0  # records not committed
        self._kept: list[Waiting] = []
        self._ends = False
        # there is an entry; somebody waits for one, or there are enough
        self._any, self._now = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._run())

    @property
    def failure(self) -> str | None:
        """Why nothing can be written now."""
        since = self._since
        if since is not None and time.monotonic() - since > MOST_SECONDS_OF_COMMIT:
            return f"no answer for more than {MOST_SECONDS_OF_COMMIT:g} s"
        return self._failure

    @property
    def process(self) -> int | None:
        """The number of the process that commits, if it runs."""
        return None if self._process is None else self._process.pid

    def is_full(self, more: int) -> bool:
        """Return whether more records would be too many."""
        return self.waiting + more > self._most

    def add(self, entry: Entry, done: asyncio.Future | None = None) -> None:
        """Write an entry soon."""
        self.waiting += len(entry)
        self._n_new += len(entry)
        self._new.append(Waiting(entry, done))
        self._any.set()
        if done is not None or self._n_new >= MOST_RECORDS:
            self._now.set()

    async def write(self, entry: Entry) -> None:
        """Write an entry, and wait for the commit."""
        done = asyncio.get_running_loop().create_future()
        self.add(entry, done)
        await done

    async def close(self) -> None:
        """Write what waits, and end the process."""
        self._ends = True
        self._any.set()
        self._now.set()
        await self._task

    async def _run(self) -> None:
        with suppress(OSError):  # or it is tried again
            self._process = await self._start()
        more = True
        while more:
            await self._gather()
            if self._kept or self._failure:
                self._since = time.monotonic()
                await self._commit()
                self._since = None
            more = not self._ends or bool(self._new)
        await self._end()

    async def _gather(self) -> None:
        """Collect entries for one commit, until somebody waits, there are enough, or for long."""
        if not self._any.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(SECONDS_TO_RETRY if self._failure else None):
                    await self._any.wait()
        if self._new and not self._now.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(MOST_SECONDS):
                    await self._now.wait()
        n = 0
        while self._new and (n < MOST_RECORDS or self._failure):
            self._kept.append(self._new.popleft())
            n += len(self._kept[-1].entry)
        self._n_new -= n
        if not self._new and not self._ends:
            self._any.clear()
            self._now.clear()

    async def _commit(self) -> None:
        entries = [one.entry for one in self._kept]
        now, touches = time.time_ns() // 1000, self._failure is not None
        found = await self._ask(Group(now, self._wait, touches, entries))
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
        self._tell(done, None)
        self._committed(found.newest)

    def _tell(self, entries: Sequence[Waiting], error: Exception | None) -> None:
        """Wake those who wait."""
        self.waiting -= sum(len(one.entry) for one in entries)
        for _, future in entries:
            if future is not None and not future.done():
                if error is None:
                    future.set_result(None)
                else:
                    future.set_exception(error)

    # --- the process ---------------------------------------------------------------------------

    async def _ask(self, group: Group) -> Committed | str:
        """Return what became of a group, or why it could not be written.

        If the process ends meanwhile, nobody knows, and another one is asked the same: what is in
        the log already is not written again.
        """
        status = None
        for _ in range(2):
            try:
                process = self._process = self._process or await self._start()
                given, told = process.stdin, process.stdout
                assert given is not None
                assert told is not None
                given.write(pickle.dumps(group, pickle.HIGHEST_PROTOCOL))
                n = int.from_bytes(await told.readexactly(LENGTH), "little")
                return cast(Committed | str, pickle.loads(await told.readexactly(n)))
            except Exception:  # each kind of loop has its own for a pipe that is closed
                status = await self._end()
        return f"the process that writes it has ended ({reason_of(status)})"

    async def _start(self) -> Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-c", PROGRAM),
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,  # a terminal sends its signals to us, and we end it
        )
        assert process.stdin is not None
        process.stdin.write(pickle.dumps(sys.path) + pickle.dumps(self._where))
        return process

    async def _end(self) -> int | None:
        """End the process, and return its status."""
        process, self._process = self._process, None
        if process is None:
            return None
        assert process.stdin is not None
        process.stdin.close()
        return await process.wait()
