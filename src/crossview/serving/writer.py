"""The thread that writes the log: many records, one commit."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from crossview.data.server_log import (
    ASSUMED,
    CAME,
    LATE,
    OWN_ID,
    Found,
    Label,
    Log,
    Newest,
    Prediction,
    Snapshot,
)

__all__ = ["CONFLICT", "EXPIRED", "KNOWN", "NEW", "UNKNOWN", "Entry", "NotWrittenError", "Writer"]

MOST_RECORDS, MOST_SECONDS = 256, 0.005
SECONDS_TO_RETRY, SECONDS_TO_GATHER = 0.25, 0.001
# after which a database that does not answer is one that cannot be written
MOST_SECONDS_OF_COMMIT = 5.0
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
        Gets the log, within the transaction, before anything else is written; what it returns is
        the result of ``done``.
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
    committed : callable
        Called in the event loop after a commit, with the number of the last label and how many
        predictions there are.
    most_waiting : int
        More records than that are not taken.
    wait : float or None
        Seconds after which a label is not taken any more; None: it always is.
    """

    def __init__(
        self,
        log: Log,
        committed: Callable[[Newest], None],
        most_waiting: int,
        wait: float | None = None,
    ) -> None:
        self._wait = wait
        self._failure: str | None = None
        self._since: float | None = None  # a commit waits for the database
        self.n_commits = 0
        self._log, self._committed, self._most = log, committed, most_waiting
        self._queue: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._kept: list[Entry] = []
        self._waiting, self._count = 0, threading.Lock()
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
            if self._kept or self._failure:
                self._since = time.monotonic()
                self._commit()
                self._since = None
        self._log.close()

    def _gather(self) -> bool:
        """Collect entries for one commit; return whether more may come."""
        until, n = 0.0, 0
        timeout = SECONDS_TO_RETRY if self._failure else None
        while n < MOST_RECORDS or self._failure:
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
        try:
            ids = {id_ for entry in self._kept for id_ in _looked_up(entry)}
            works = any(entry.work for entry in self._kept)
            with self._log.transaction(alone=bool(ids) or works):
                if self._failure:
                    self._log.touch()
                newest = self._write(list(ids))
        except self._log.errors as error:
            self._failure = " ".join(str(error).split())
            dropped = [entry for entry in self._kept if entry.is_dropped]
            self._kept = [entry for entry in self._kept if not entry.is_dropped]
            self._tell(dropped, NotWrittenError(self._failure))
            return
        done, self._kept, self._failure = self._kept, [], None
        self.n_commits += 1
        self._tell(done, None, newest)

    def _write(self, ids: list[str]) -> Newest:
        """Write all entries; return how far the log is then."""
        log = self._log
        for entry in self._kept:
            if entry.work:
                entry.result = entry.work(log)
        newest, known = log.newest(), log.find(ids)
        predictions: list[Prediction] = []
        labels: list[Label] = []
        for entry in self._kept:
            predictions += _new_predictions(entry, known)
            self._label(entry, known, newest.labels, labels)
        n = log.add_predictions(predictions)
        log.add_labels(labels)
        for entry in self._kept:
            if entry.snapshot:
                log.add_snapshot(entry.snapshot)
        return newest._replace(
            labels=newest.labels + len(labels), predictions=newest.predictions + n
        )

    def _label(self, entry: Entry, known: dict[str, Found], last: int, labels: list[Label]) -> None:
        """Append the labels of an entry to those that follow the last one of the log."""
        now = time.time_ns() // 1000

        def append(id_: str, label: str, kind: int, *more: str) -> None:
            prediction = known[id_][0]
            number = last + len(labels) + 1
            labels.append(Label(number, prediction.sequence, now, label, kind, *more))
            known[id_] = prediction, labels[-1]

        others = {p.id for p in entry.predictions if entry.earlier.get(p.id, p).row != p.row}
        entry.outcome = []
        for id_, label in entry.labels:
            outcome = CONFLICT if id_ in others else self._outcome(known.get(id_), label)
            entry.outcome.append(outcome)
            if outcome == NEW:
                before = known[id_][1]
                append(id_, label, *((CAME,) if before is None else (LATE, before.label)))
        for id_, label in entry.assumed:
            if id_ in known and known[id_][1] is None:
                append(id_, label, ASSUMED)

    def _outcome(self, found: Found | None, label: str) -> str:
        """Return what becomes of a label."""
        if found is None:
            return UNKNOWN
        prediction, known = found
        if known is not None and known.kind != ASSUMED:
            same = msgspec.json.decode(known.label) == msgspec.json.decode(label)
            return KNOWN if same else CONFLICT
        waited = time.time() - prediction.time / 1e6
        if known is None and self._wait is not None and waited > self._wait:
            return EXPIRED
        return NEW

    def _tell(
        self, entries: list[Entry], error: Exception | None, newest: Newest | None = None
    ) -> None:
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
            if newest is not None:
                self._committed(newest)

        self._loop.call_soon_threadsafe(wake)


def _looked_up(entry: Entry) -> Iterator[str]:
    """Yield the ids of which the log may know something."""
    for prediction in entry.predictions:
        if not OWN_ID.match(prediction.id):
            yield prediction.id
    for id_, _ in (*entry.labels, *entry.assumed):
        yield id_


def _new_predictions(entry: Entry, known: dict[str, Found]) -> list[Prediction]:
    """Return the predictions of an entry that are not in the log; from now on they are known."""
    entry.earlier, new = {}, []
    for prediction in entry.predictions:
        found = known.get(prediction.id)
        if found is None:
            new.append(prediction)
            known[prediction.id] = prediction, None
        else:
            entry.earlier[prediction.id] = found[0]
    return new
