"""What a server has predicted and which labels came, in one SQLite file, or in PostgreSQL.

The log is the truth: the model is a function of the first model and of the labels in the order of
the log.  Every record has a checksum, and labels are numbered without a gap, so that damage which
the database does not see is found where the record is read.

Any number of servers may write one log.  Labels get their numbers in the transaction that commits
them, while nobody else can number any; so who has read number n has read, or can read, all before.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import xxhash

from crossview.errors import InputError
from crossview.server_log.addresses import LOG, is_address
from crossview.server_log.databases import Database, Postgres, Sqlite, open_database

FORMAT = 5
# N: the type of whole numbers, O: what a table of keys and values ends with
SCHEMA = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) {O}",
    "CREATE TABLE runs (run {N} PRIMARY KEY, predictions {N} NOT NULL)",
    "CREATE TABLE predictions (sequence {N} PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " time {N} NOT NULL, row TEXT NOT NULL, model {N} NOT NULL, prediction TEXT NOT NULL,"
    " probabilities TEXT NOT NULL, experts TEXT NOT NULL, checksum {N} NOT NULL)",
    "CREATE TABLE labels (sequence {N} PRIMARY KEY, prediction {N} NOT NULL,"
    " time {N} NOT NULL, label TEXT NOT NULL, kind {N} NOT NULL,"
    " assumed TEXT, checksum {N} NOT NULL)",
    "CREATE UNIQUE INDEX label_of ON labels (prediction, kind)",
    "CREATE TABLE snapshots (labels {N} PRIMARY KEY, time {N} NOT NULL,"
    " file TEXT NOT NULL, sha256 TEXT NOT NULL)",
)
TABLES = {"about", "runs", "predictions", "labels", "label_of", "snapshots"}
# ids that the server gives; no caller may use one
OWN_ID = re.compile(r"x[0-9]+-[0-9]+\Z")
# predictions of one run of the server, each of which has numbers of its own: an id that was given
# and is lost with the power is never given again
RUN = 1 << 40


def own_id(sequence: int) -> str:
    """Return the id that the server gives to a prediction."""
    return f"x{sequence // RUN}-{sequence % RUN}"


class Prediction(NamedTuple):
    """A row that was predicted; what is of no fixed type is JSON.

    id: of the caller, or `own_id`.
    time: microseconds since 1970, by the clock of the server.
    row: names and values, as they came.
    model: the number of labels that the model had learned.
    prediction: the class or the number; null before there was a class.
    probabilities: by class; null without probabilities.
    experts: what the experts of stacks said, in base64, by the number of the event by which the
      stack joined; 0 is the model that was served first.  null of a row that came with its label.
    """

    sequence: int
    id: str
    time: int
    row: str
    model: int
    prediction: str
    probabilities: str
    experts: str = "{}"


# kinds of labels: one that came; one that is assumed, as none came in time; one that came after it
CAME, ASSUMED, LATE = 0, 1, 2


class Label(NamedTuple):
    """A label of a prediction.

    sequence, prediction: its position, and that of its prediction.
    label: as JSON.
    assumed: of a late one the label that was assumed before.
    """

    sequence: int
    prediction: int
    time: int
    label: str
    kind: int = CAME
    assumed: str | None = None


class Labeled(NamedTuple):
    """A label with its prediction."""

    label: Label
    of: Prediction


class Counts(NamedTuple):
    """How much is in the log.

    predictions: with those that were removed.
    labels: the number of the last one.
    labeled: predictions that have a label, or had one; one that is assumed counts.
    """

    predictions: int
    labels: int
    labeled: int


class Snapshot(NamedTuple):
    """A model file: how many labels it has learned, the time, its name and its SHA-256."""

    labels: int
    time: int
    file: str
    sha256: str


# the model that is served at first
FIRST_NAME = "first"
# kinds of events
JOIN, LEAVE, PROMOTE = "join", "leave", "promote"


class Event(NamedTuple):
    """A change of who is served, or compared with what is served.

    at: it happens after so many labels.
    kind: JOIN, LEAVE or PROMOTE: a challenger joins or leaves, or is served from now on.
    sha256: of the model file with which one joins.
    frozen: whether one that joins learns nothing.
    """

    at: int
    kind: str
    name: str
    sha256: str = ""
    frozen: bool = False


def contestants(events: Iterable[Event]) -> tuple[str, Mapping[str, Event | None]]:
    """Return the name of the model that is served after some events, and the challengers.

    Returns its name, and by name the event by which each challenger has joined; None: the model
      that was served first.
    """
    served = FIRST_NAME
    known: dict[str, Event | None] = {FIRST_NAME: None}
    for event in events:
        if event.kind == JOIN:
            known[event.name] = event
        elif event.kind == LEAVE:
            del known[event.name]
        elif event.kind == PROMOTE:
            served = event.name
    return served, {name: event for name, event in known.items() if name != served}


class Newest(NamedTuple):
    """How far a log is.

    labels: the number of the last one.
    predictions: how many there were.
    events: all of them, as they are written.
    leader: the name of the server that leads, or did so last.
    """

    labels: int
    predictions: int
    events: str | None = None
    leader: str | None = None


# a prediction, and its newest label if it has one
Found = tuple[Prediction, Label | None]


class Log:
    """A connection to a log.

    where: its folder, or its address, ``postgresql://user@host/database``.
    """

    def __init__(self, where: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.db: Database = open_database(where, read_only=read_only)

    @classmethod
    def create(
        cls, where: str | os.PathLike[str], about: dict[str, str], first: Path | None = None
    ) -> Self:
        """Make a log, or return the one that is there, which another server may have made now.

        about: what the log says of itself.
        first: the first model, which is kept in a database.
        """
        if not is_address(where):
            (Path(where) / LOG).touch()
        log = cls(where)
        with log.db.reading(), log.db.transaction():
            if log.is_empty():
                more = {"N": log.db.number, "O": log.db.once}
                log.db.create([one.format(**more) for one in SCHEMA], FORMAT)
                log._set_about(about)
                if isinstance(log.db, Postgres) and first is not None:
                    log.db.put_file(first.name, first)
        if isinstance(log.db, Sqlite):
            log.db.keep_name()
        return log

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What writing may raise."""
        return (*self.db.errors, InputError)

    def check(self) -> None:
        """Raise an error if this is no log, or the database finds damage."""
        with self.db.reading():
            version, tables = self.db.version(), self.db.tables()
            if TABLES.isdisjoint(tables):
                raise InputError(
                    f"is no log of crossview serve; begin with another {self.db.home}, and to read "
                    f"the rows of this database, write them to a file: {self.db.rows_by}",
                    file=self.db.file,
                )
            if version is not None and version != FORMAT:
                raise InputError(
                    f"is a log of format {version}, and this version of crossview reads {FORMAT}",
                    file=self.db.file,
                )
            if version is None or TABLES - tables:
                missing = ", ".join(sorted(TABLES - tables)) or "format"
                raise self.db.damaged(f"it has no {missing}")
            words = self.db.find_damage()
            if words is not None:
                raise self.db.damaged(words)

    def is_empty(self) -> bool:
        """Return whether nothing was ever written."""
        with self.db.reading():
            return not self.db.tables()

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    # --- writing -------------------------------------------------------------------------------

    def add_predictions(self, records: Sequence[Prediction]) -> int:
        """Add predictions of one run, within a transaction; return how many there were not yet.

        One that is there was written by a commit of which nobody was told, as the connection was
        lost meanwhile.
        """
        if not records:
            return 0
        n = self.db.execute_many(
            "INSERT INTO predictions VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (sequence) DO NOTHING",
            [(*record, _checksum(record)) for record in records],
        )
        self.db.execute(
            "UPDATE runs SET predictions = predictions + ? WHERE run = ?",
            (n, records[-1].sequence // RUN),
        )
        return n

    def add_labels(self, labels: Sequence[Label]) -> None:
        """Add labels, within a transaction."""
        if labels:
            rows = [(*label, _checksum(label)) for label in labels]
            self.db.execute_many("INSERT INTO labels VALUES (?,?,?,?,?,?,?)", rows)

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Note a model file, within a transaction."""
        self.db.execute(
            "INSERT INTO snapshots VALUES (?,?,?,?) ON CONFLICT (labels) DO UPDATE SET "
            "time = excluded.time, file = excluded.file, sha256 = excluded.sha256",
            snapshot,
        )

    def touch(self) -> None:
        """Write a little, to see whether it can be written, within a transaction."""
        now = str(time.time_ns())
        self._set_about({"written": now})

    def set_leader(self, name: str) -> None:
        """Note the server that leads, within a transaction."""
        self._set_about({"leader": name})

    def add_event(
        self, kind: str, name: str, sha256: str = "", frozen: bool = False
    ) -> tuple[Event, int] | None:
        """Note an event after the labels so far, within a transaction.

        Labels that are written later follow it; so who has read one of these, and reads the events
        afterwards, knows of it.

        Returns it with the number of events that there are then; None if one joins that is there,
          or another one is not.
        """
        before = self.events()
        served, others = contestants(before)
        is_known = name in others or name == served
        if is_known if kind == JOIN else name not in others:
            return None
        event = Event(self.newest().labels, kind, name, sha256, frozen)
        text = msgspec.json.encode([*before, event]).decode()
        self._set_about({"events": f"{_checksum([text])} {text}"})
        return event, len(before) + 1

    def events(self) -> list[Event]:
        """Return all events, in their order."""
        known = self.about().get("events")
        if known is None:
            return []
        checksum, _, text = known.partition(" ")
        if checksum != str(_checksum([text])):
            raise self.db.damaged("its events are not as they were written")
        return [Event(*event) for event in msgspec.json.decode(text)]

    def begin_run(self) -> int:
        """Return the first sequence number of a new run, which no other run has."""
        with self.db.reading(), self.db.transaction():
            run = int(self.db.value("SELECT coalesce(max(run), 0) FROM runs")) + 1
            highest = self.db.value("SELECT max(sequence) FROM predictions")
            if highest is not None and highest >= run * RUN:
                raise self.db.damaged("it has predictions of a later run than the last one")
            self.db.execute("INSERT INTO runs VALUES (?, 0)", (run,))
        return run * RUN

    # --- reading -------------------------------------------------------------------------------

    def about(self) -> dict[str, str]:
        """Return what the log says of itself: the checksum of the first model, what is removed."""
        with self.db.reading():
            return dict(self.db.execute("SELECT key, value FROM about"))

    def newest(self) -> Newest:
        """Return how far it is, within a transaction or outside; it takes microseconds."""
        about = "(SELECT value FROM about WHERE key = '{}')".format
        with self.db.reading():
            ((labels, predictions, removed, events, leader),) = self.db.execute(
                "SELECT (SELECT max(sequence) FROM labels), "
                "(SELECT CAST(sum(predictions) AS BIGINT) FROM runs), "
                f"{about('removed labels')}, {about('events')}, {about('leader')}"
            )
        last = int(removed or 0) if labels is None else labels
        return Newest(last, predictions or 0, events, leader)

    def counts(self) -> Counts:
        """Return how much there is; an error if labels have a gap."""
        about = self.about()
        removed, late = (int(about.get(f"removed {what}", 0)) for what in ("labels", "late"))
        with self.db.reading():
            ((n, last, n_late),) = self.db.execute(
                "SELECT count(*), coalesce(max(sequence), ?), "
                "count(CASE WHEN kind = ? THEN 1 END) FROM labels",
                (removed, LATE),
            )
            n_predictions = self.newest().predictions
        if n + removed != last:
            raise self.db.damaged(f"it has {n + removed} labels, and the last one is number {last}")
        return Counts(n_predictions, last, last - n_late - late)

    def find(self, ids: Sequence[str]) -> dict[str, Found]:
        """Return the predictions with some ids, each with its newest label if it has one."""
        if not ids:
            return {}
        rows = self.db.execute(
            "SELECT p.*, l.* FROM predictions p LEFT JOIN labels l ON l.prediction = p.sequence "
            f"WHERE {self.db.among('p.id')} ORDER BY l.kind",
            (self.db.as_list(ids),),
        )
        found: dict[str, Found] = {}
        for row in rows:  # of several labels, the last one stays
            prediction = self._checked(Prediction, row[:9])
            label = None if row[9] is None else self._checked(Label, row[9:])
            found[prediction.id] = prediction, label
        return found

    def labeled(self, after: int, most: int) -> list[Labeled]:
        """Return labels in their order, with their predictions.

        after: the number of the last label that is not returned.
        """
        with self.db.reading():
            rows = self.db.execute(
                "SELECT l.*, p.* FROM labels l LEFT JOIN predictions p "
                "ON p.sequence = l.prediction WHERE l.sequence > ? ORDER BY l.sequence LIMIT ?",
                (after, most),
            )
        found = []
        for number, row in enumerate(rows, after + 1):
            label = self._checked(Label, row[:7])
            if label.sequence != number:
                if (first := self.first_label()) > number:
                    raise InputError(
                        f"has no labels before number {first} any more, and this server has not "
                        f"learned number {number}; start it again, and it begins from a snapshot",
                        file=self.db.file,
                    )
                raise self.db.damaged(f"label {number} is missing")
            if row[7] is None:
                raise self.db.damaged(f"the prediction of label {number} is missing")
            found.append(Labeled(label, self._checked(Prediction, row[7:])))
        return found

    def runs(self) -> list[int]:
        """Return the runs of servers, by the first sequence number that each has."""
        with self.db.reading():
            return [run * RUN for (run,) in self.db.execute("SELECT run FROM runs ORDER BY run")]

    def unlabeled(self, after: int, until: int, most: int) -> tuple[int, list[Prediction]]:
        """Return predictions of a run, from before a time, that have no label, in their order.

        after: the position of the last prediction of the run that was looked at, or one less than
          the first one's.
        Returns the position of the last one that was looked at now, and the predictions.
        """
        end = (after + 1) // RUN * RUN + RUN
        with self.db.reading():
            rows = self.db.execute(
                "SELECT p.*, EXISTS (SELECT 1 FROM labels WHERE prediction = p.sequence) "
                "FROM predictions p WHERE p.sequence > ? AND p.sequence < ? "
                "ORDER BY p.sequence LIMIT ?",
                (after, end, most),
            )
        found = []
        for *row, has_label in rows:
            prediction = self._checked(Prediction, row)
            if prediction.time >= until:
                break
            after = prediction.sequence
            if not has_label:
                found.append(prediction)
        return after, found

    # --- removing ------------------------------------------------------------------------------

    def set_base(self, labels: int, sha256: str) -> None:
        """Note the model from which a replay begins, unless a later one is, in a transaction."""
        base = self.base()
        if base is None or base[0] < labels:
            self._set_about({"base": f"{labels} {sha256}"})

    def base(self) -> tuple[int, str] | None:
        """Return the labels and the checksum of the model from which a replay begins.

        None: it begins from the first one.
        """
        known = self.about().get("base")
        if known is None:
            return None
        labels, _, checksum = known.partition(" ")
        return int(labels), checksum

    def first_label(self) -> int:
        """Return the number of the first label that was not removed."""
        return int(self.about().get("removed labels", 0)) + 1

    def corrected(self) -> set[int]:
        """Return the positions of predictions whose label came after one was assumed."""
        with self.db.reading():
            rows = self.db.execute("SELECT prediction FROM labels WHERE kind = ?", (LATE,))
            return {position for (position,) in rows}

    def oldest_label(self) -> Label | None:
        """Return the first label that was not removed."""
        with self.db.reading():
            rows = self.db.execute("SELECT * FROM labels ORDER BY sequence LIMIT 1")
        return self._checked(Label, rows[0]) if rows else None

    def remove_labels(self, until: int, last: int, most: int) -> int:
        """Remove the first labels, with their predictions, within a transaction.

        until: only labels of before this time are removed.
        last: the number of the last one that may be removed.
        """
        rows = self.db.execute(
            "SELECT * FROM labels WHERE sequence <= ? ORDER BY sequence LIMIT ?", (last, most)
        )
        some = []
        for row in rows:
            label = self._checked(Label, row)
            if label.time >= until:
                break
            some.append(label)
        if not some:
            return 0
        # a row whose label was assumed stays until the one that came after it is removed, too
        self.db.execute_many(
            "DELETE FROM labels WHERE sequence = ?", [(one.sequence,) for one in some]
        )
        self.remove_predictions([one.prediction for one in some])
        self._add_removed(labels=len(some), late=sum(one.kind == LATE for one in some))
        return len(some)

    def remove_predictions(self, sequences: Sequence[int]) -> None:
        """Remove predictions that have no label, within a transaction."""
        self.db.execute_many(
            "DELETE FROM predictions WHERE sequence = ? "
            "AND NOT EXISTS (SELECT 1 FROM labels WHERE prediction = predictions.sequence)",
            [(one,) for one in sequences],
        )
        self.db.shrink()

    def _add_removed(self, **counts: int) -> None:
        about = self.about()
        names = {f"removed {what}": n for what, n in counts.items()}
        self._set_about({name: str(int(about.get(name, 0)) + n) for name, n in names.items()})

    def _set_about(self, entries: dict[str, str]) -> None:
        self.db.execute_many(
            "INSERT INTO about VALUES (?, ?) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            entries.items(),
        )

    def check_predictions(self) -> None:
        """Raise an error if a prediction is not as it was written, with a label or without."""
        after = -1
        while True:
            with self.db.reading():
                rows = self.db.execute(
                    "SELECT * FROM predictions WHERE sequence > ? ORDER BY sequence LIMIT 4096",
                    (after,),
                )
            for row in rows:
                after = self._checked(Prediction, row).sequence
            if not rows:
                return

    def snapshots(self) -> list[Snapshot]:
        """Return the snapshots, the newest first."""
        with self.db.reading():
            rows = self.db.execute("SELECT * FROM snapshots ORDER BY labels DESC")
            return [Snapshot(*row) for row in rows]

    def _checked(self, kind: Any, row: Sequence[Any]) -> Any:
        """Return a record, if it is as it was written."""
        record = kind(*row[:-1])
        if _checksum(record) != row[-1]:
            what = "label" if kind is Label else "prediction"
            raise self.db.damaged(f"{what} {record.sequence} is not as it was written")
        return record


def _checksum(record: Sequence[Any]) -> int:
    """Return a hash of a record, which SQLite can hold."""
    return xxhash.xxh3_64_intdigest(msgspec.json.encode(record)) >> 1
