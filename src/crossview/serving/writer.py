"""The thread that writes the log: many records, one commit."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from crossview.data.server_log import (
    ASSUMED,
    CAME,
    LATE,
    OWN_ID,
    Counts,
    Label,
    Log,
    Prediction,
    Snapshot,
)
from crossview.errors import InputError

__all__ = ["CONFLICT", "EXPIRED", "KNOWN", "NEW", "UNKNOWN", "Entry", "NotWrittenError", "Writer"]

MOST_RECORDS, MOST_SECONDS = 256, 0.005
SECONDS_TO_RETRY, SECONDS_TO_GATHER = 0.25, 0.001
# what became of a label: of this prediction, the same as before, another one, of no prediction, of
# one that has waited too long
NEW, KNOWN, CONFLICT, UNKNOWN, EXPIRED = "new", "known", "conflict", "unknown", "expired"


class NotWrittenError(Exception):
    """The log could not be written, and what was to be written is not in it."""


@dataclass(eq=False)
class Entry:
    """What is written in one transaction.

    Attributes
    ----------
    predictions : sequence of Prediction
        Those with an id of the caller need ``done``: there may be one with this id.
    labels : sequence of (str, str)
        Ids and labels as JSON.
    snapshot : Snapshot or None
    assumed : sequence of (str, str)
        Ids and labels as JSON of predictions for which no label came in time.
    work : callable or None
        Gets the log, within the transaction; what it returns is the result of ``done``.
    done : asyncio.Future or None
        Done after the commit.  Without it nobody waits: the caller was answered, so the entry is
        kept until the log can be written.
    earlier : dict of str to Prediction
        Afterwards: by id, predictions that were in the log already and are not written again.
    outcome : list of str
        Afterwards: what became of each label.
    """

    predictions: Sequence[Prediction] = ()
    labels: Sequence[tuple[str, str]] = ()
    snapshot: Snapshot | None = None
    assumed: Sequence[tuple[str, str]] = ()
    work: Callable[[Log], Any] | None = None
    done: asyncio.Future | None = None
    earlier: dict[str, Prediction] = field(default_factory=dict)
    outcome: list[str] = field(default_factory=list)
    result: Any = None

    def __len__(self) -> int:
        return len(self.predictions) + len(self.labels) + len(self.assumed) + 1

    @property
    def is_dropped(self) -> bool:
        """Whether it is dropped if it cannot be written: somebody is told, or nobody needs it."""
        return self.done is not None or not self.predictions


class Writer:
    """Writes entries in the order in which they came, in groups.

    Parameters
    ----------
    log : Log
        Only the thread of the writer uses it from now on.
    counts : Counts
        How many records there are.
    committed : callable
        Called in the event loop with the number of labels, after a commit that has new ones.
    most_waiting : int
        More records than that are not taken.
    wait : float or None
        Seconds after which a label is not taken any more; None: it always is.
    """

    def __init__(
        self,
        log: Log,
        counts: Counts,
        committed: Callable[[int], None],
        most_waiting: int,
        wait: float | None = None,
    ) -> None:
        self.n_predictions, self.n_labels, self.n_labeled = counts
        self._wait = wait
        self.failure: str | None = None
        self.n_commits = 0
        self._log, self._committed, self._most = log, committed, most_waiting
        self._queue: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._kept: list[Entry] = []
        self._waiting, self._count = 0, threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="crossview-log", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many records are not committed yet."""
        return self._waiting

    def is_full(self, more: int) -> bool:
        """Return whether more records would be too many."""
        return self._waiting + more > self._most

    def is_too_many(self, more: int) -> bool:
        """Return whether records are too many, however few wait."""
        return more > self._most

    def add(self, entry: Entry) -> None:
        """Write an entry soon."""
        with self._count:
            self._waiting += len(entry)
        self._queue.put(entry)

    async def write(self, entry: Entry) -> None:
        """Write an entry, and wait for the commit."""
        entry.done = self._loop.create_future()
        self.add(entry)
        await entry.done

    async def close(self) -> None:
        """Write what waits, and end the thread."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    # --- the thread ----------------------------------------------------------------------------

    def _run(self) -> None:
        more = True
        while more:
            more = self._gather()
            if self._kept or self.failure:
                self._commit()
        self._log.close()

    def _gather(self) -> bool:
        """Collect entries for one commit; return whether more may come."""
        until, n = 0.0, 0
        timeout = SECONDS_TO_RETRY if self.failure else None
        while n < MOST_RECORDS or self.failure:
            if timeout and n and self._queue.empty():
                time.sleep(SECONDS_TO_GATHER)  # to be woken by each would take longer
            try:
                entry = self._queue.get(timeout is None or timeout > 0.0, timeout)
            except queue.Empty:
                return True
            if entry is None:
                return False
            self._kept.append(entry)
            n += len(entry)
            if not until:
                until = time.monotonic() + MOST_SECONDS
            # who waits gets those that came meanwhile with it, and no more
            timeout = 0.0 if entry.done else max(0.0, until - time.monotonic())
        return True

    def _commit(self) -> None:
        before = self.n_predictions, self.n_labels, self.n_labeled
        try:
            with self._log.transaction():
                if self.failure:
                    self._log.touch()
                for entry in self._kept:
                    self._write(entry)
        except (sqlite3.Error, InputError) as error:
            self.n_predictions, self.n_labels, self.n_labeled = before
            self.failure = " ".join(str(error).split())
            dropped = [entry for entry in self._kept if entry.is_dropped]
            self._kept = [entry for entry in self._kept if not entry.is_dropped]
            self._tell(dropped, NotWrittenError(self.failure))
            return
        done, self._kept, self.failure = self._kept, [], None
        self.n_commits += 1
        self._tell(done, None, self.n_labels if self.n_labels > before[1] else 0)

    def _write(self, entry: Entry) -> None:
        entry.earlier, mine = {}, []
        for prediction in entry.predictions:
            own = OWN_ID.match(prediction.id)
            found = None if own else self._log.find(prediction.id)
            if found is None:
                mine.append(prediction)
            else:
                entry.earlier[prediction.id] = found[0]
        self._log.add_predictions(mine)
        self.n_predictions += len(mine)
        others = {p.id for p in entry.predictions if entry.earlier.get(p.id, p).row != p.row}
        entry.outcome = [
            CONFLICT if id_ in others else self._add_label(id_, label)
            for id_, label in entry.labels
        ]
        for id_, label in entry.assumed:
            found = self._log.find(id_)
            if found is not None and found[1] is None:
                self._append(found[0], label, ASSUMED)
        if entry.snapshot:
            self._log.add_snapshot(entry.snapshot)
        if entry.work:
            entry.result = entry.work(self._log)

    def _add_label(self, id_: str, label: str) -> str:
        found = self._log.find(id_)
        if found is None:
            return UNKNOWN
        prediction, known = found
        if known is not None and known.kind != ASSUMED:
            same = msgspec.json.decode(known.label) == msgspec.json.decode(label)
            return KNOWN if same else CONFLICT
        waited = time.time() - prediction.time / 1e6
        if known is None and self._wait is not None and waited > self._wait:
            return EXPIRED
        if known is None:
            self._append(prediction, label, CAME)
        else:
            self._append(prediction, label, LATE, known.label)
        return NEW

    def _append(self, prediction: Prediction, label: str, kind: int, *more: str) -> None:
        number = self.n_labels + 1
        now = time.time_ns() // 1000
        self._log.add_label(Label(number, prediction.sequence, now, label, kind, *more))
        self.n_labels = number
        self.n_labeled += kind != LATE

    def _tell(self, entries: list[Entry], error: Exception | None, n_labels: int = 0) -> None:
        """Wake those who wait, in the event loop."""
        with self._count:
            self._waiting -= sum(map(len, entries))

        def wake() -> None:
            for entry in entries:
                future: Any = entry.done
                if future is not None and not future.done():
                    if error is None:
                        future.set_result(None)
                    else:
                        future.set_exception(error)
            if n_labels:
                self._committed(n_labels)

        self._loop.call_soon_threadsafe(wake)
