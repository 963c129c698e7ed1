"""What a server has predicted and which labels came, in one SQLite file.

The log is the truth: the model is a function of the first model and of the labels in the order of
the log.  Every record has a checksum, and labels are numbered without a gap, so that damage which
SQLite does not see is found where the record is read.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import xxhash

from crossview.errors import InputError

__all__ = [
    "ASSUMED",
    "CAME",
    "LATE",
    "LOG",
    "OWN_ID",
    "Counts",
    "Label",
    "Labeled",
    "Log",
    "Prediction",
    "Snapshot",
    "own_id",
]

LOG = "log.sqlite"
APPLICATION, FORMAT = 0x43725677, 2
SCHEMA = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE predictions (sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    " time INTEGER NOT NULL, row TEXT NOT NULL, model INTEGER NOT NULL, prediction TEXT NOT NULL,"
    " probabilities TEXT NOT NULL, checksum INTEGER NOT NULL)",
    "CREATE TABLE labels (sequence INTEGER PRIMARY KEY, prediction INTEGER NOT NULL,"
    " time INTEGER NOT NULL, label TEXT NOT NULL, kind INTEGER NOT NULL,"
    " assumed TEXT, checksum INTEGER NOT NULL)",
    "CREATE UNIQUE INDEX label_of ON labels (prediction, kind)",
    "CREATE TABLE snapshots (labels INTEGER PRIMARY KEY, time INTEGER NOT NULL,"
    " file TEXT NOT NULL, sha256 TEXT NOT NULL)",
)
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

    Attributes
    ----------
    sequence : int
        Its position.
    id : str
        Of the caller, or `own_id`.
    time : int
        Microseconds since 1970, by the clock of the server.
    row : str
        Names and values, as they came.
    model : int
        The number of labels that the model had learned.
    prediction : str
        The class or the number; null before there was a class.
    probabilities : str
        By class; null without probabilities.
    """

    sequence: int
    id: str
    time: int
    row: str
    model: int
    prediction: str
    probabilities: str


# kinds of labels: one that came; one that is assumed, as none came in time; one that came after it
CAME, ASSUMED, LATE = 0, 1, 2


class Label(NamedTuple):
    """A label of a prediction.

    Attributes
    ----------
    sequence, prediction : int
        Its position, and that of its prediction.
    time : int
        When it came.
    label : str
        As JSON.
    kind : {CAME, ASSUMED, LATE}
    assumed : str or None
        Of a late one the label that was assumed before.
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

    Attributes
    ----------
    predictions : int
        With those that were removed.
    labels : int
        The number of the last one.
    labeled : int
        Predictions that have a label, or had one; one that is assumed counts.
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


class Log:
    """A connection to the log of a folder.

    Parameters
    ----------
    folder : path-like
        It has the log.
    read_only : bool, default=False
        Whether nothing is written.
    """

    def __init__(self, folder: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(folder) / LOG
        if not self.path.is_file():
            raise InputError(
                f"has no {LOG}, so no server has used it; name another folder, or start one with "
                "crossview serve",
                file=str(folder),
            )
        mode = "ro" if read_only else "rw"
        with self._as_input():
            self.connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode={mode}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                timeout=10.0,
            )
            self.connection.execute("PRAGMA trusted_schema = OFF")
            if not read_only:
                self.connection.execute("PRAGMA journal_mode = WAL")
                self.connection.execute("PRAGMA synchronous = FULL")

    @classmethod
    def create(cls, folder: str | os.PathLike[str], about: dict[str, str]) -> Self:
        """Make a log in a folder, or return the one that is there."""
        path = Path(folder) / LOG
        path.touch()
        log = cls(folder)
        with log._as_input(), log.transaction():
            if log.is_empty():
                for statement in SCHEMA:
                    log.connection.execute(statement)
                log.connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
                log.connection.execute(f"PRAGMA application_id = {APPLICATION}")
                log.connection.execute(f"PRAGMA user_version = {FORMAT}")
        with suppress(OSError):  # so that a power cut leaves the name of the file, too
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        return log

    def check(self) -> None:
        """Raise an error if this is no log, or SQLite finds damage."""
        with self._as_input():
            found = self._value("PRAGMA application_id")
            version = self._value("PRAGMA user_version")
            if found == APPLICATION and version != FORMAT:
                raise InputError(
                    f"is a log of format {version}, and this version of crossview reads {FORMAT}",
                    file=str(self.path),
                )
            tables = self._value(
                "SELECT count(*) FROM sqlite_master WHERE name IN "
                "('about', 'predictions', 'labels', 'label_of', 'snapshots')"
            )
            if found != APPLICATION or tables != len(SCHEMA):
                raise self._damaged("it is no log of crossview serve")
            words = self._value("PRAGMA integrity_check(1)")
            if words != "ok":
                raise self._damaged(str(words))

    def is_empty(self) -> bool:
        """Return whether nothing was ever written."""
        with self._as_input():
            return not self._value("SELECT count(*) FROM sqlite_master")

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is written meanwhile, or nothing of it."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    # --- writing -------------------------------------------------------------------------------

    def add_predictions(self, records: Sequence[Prediction]) -> None:
        """Add predictions, within a transaction."""
        rows = [(*record, _checksum(record)) for record in records]
        self.connection.executemany("INSERT INTO predictions VALUES (?,?,?,?,?,?,?,?)", rows)

    def add_label(self, label: Label) -> None:
        """Add a label, within a transaction."""
        row = (*label, _checksum(label))
        self.connection.execute("INSERT INTO labels VALUES (?,?,?,?,?,?,?)", row)

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Note a model file, within a transaction."""
        self.connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?,?,?,?)", snapshot)

    def touch(self) -> None:
        """Write a little, to see whether it can be written, within a transaction."""
        now = str(time.time_ns())
        self._set_about({"written": now})

    def begin_run(self) -> int:
        """Return the first sequence number of a new run, which no other run has."""
        with self._as_input(), self.transaction():
            run = int(self.about().get("run", 0)) + 1
            highest = self._value("SELECT max(sequence) FROM predictions")
            if highest is not None and highest >= run * RUN:
                raise self._damaged("it has predictions of a later run than the last one")
            self._set_about({"run": str(run)})
        return run * RUN

    # --- reading -------------------------------------------------------------------------------

    def about(self) -> dict[str, str]:
        """Return what the log says of itself: the checksum of the first model, and runs."""
        with self._as_input():
            return dict(self.connection.execute("SELECT key, value FROM about"))

    def counts(self) -> Counts:
        """Return how much there is; an error if labels have a gap."""
        about = self.about()
        removed = [int(about.get(f"removed {what}", 0)) for what in ("predictions", "labels")]
        late = int(about.get("removed late", 0))
        with self._as_input():
            n_predictions = self._value("SELECT count(*) FROM predictions")
            n, last, n_late = self.connection.execute(
                "SELECT count(*), coalesce(max(sequence), ?), total(kind = ?) FROM labels",
                (removed[1], LATE),
            ).fetchone()
        if n + removed[1] != last:
            raise self._damaged(
                f"it has {n + removed[1]} labels, and the last one is number {last}"
            )
        return Counts(n_predictions + removed[0], last, last - int(n_late) - late)

    def find(self, id_: str) -> tuple[Prediction, Label | None] | None:
        """Return the prediction with an id, and its newest label if it has one."""
        found = self.connection.execute("SELECT * FROM predictions WHERE id = ?", (id_,)).fetchone()
        if found is None:
            return None
        prediction = self._checked(Prediction, found)
        label = self.connection.execute(
            "SELECT * FROM labels WHERE prediction = ? ORDER BY kind DESC LIMIT 1",
            (prediction.sequence,),
        ).fetchone()
        return prediction, None if label is None else self._checked(Label, label)

    def labeled(self, after: int, most: int) -> list[Labeled]:
        """Return labels in their order, with their predictions.

        Parameters
        ----------
        after : int
            The number of the last label that is not returned.
        most : int
            How many, at most.
        """
        with self._as_input():
            rows = self.connection.execute(
                "SELECT l.*, p.* FROM labels l LEFT JOIN predictions p "
                "ON p.sequence = l.prediction WHERE l.sequence > ? ORDER BY l.sequence LIMIT ?",
                (after, most),
            ).fetchall()
        found = []
        for number, row in enumerate(rows, after + 1):
            label = self._checked(Label, row[:7])
            if label.sequence != number:
                raise self._damaged(f"label {number} is missing")
            if row[7] is None:
                raise self._damaged(f"the prediction of label {number} is missing")
            found.append(Labeled(label, self._checked(Prediction, row[7:])))
        return found

    def unlabeled(self, after: int, until: int, most: int) -> tuple[int, list[Prediction]]:
        """Return predictions of before a time that have no label, in their order.

        Parameters
        ----------
        after : int
            The position of the last prediction that was looked at.
        until : int
            The time.
        most : int
            How many are looked at.

        Returns
        -------
        last : int
            The position of the last one that was looked at now.
        found : list of Prediction
        """
        with self._as_input():
            rows = self.connection.execute(
                "SELECT p.*, EXISTS (SELECT 1 FROM labels WHERE prediction = p.sequence) "
                "FROM predictions p WHERE p.sequence > ? ORDER BY p.sequence LIMIT ?",
                (after, most),
            ).fetchall()
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
        """Note the model from which a replay begins, within a transaction."""
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
        with self._as_input():
            rows = self.connection.execute("SELECT prediction FROM labels WHERE kind = ?", (LATE,))
            return {position for (position,) in rows}

    def oldest_label(self) -> Label | None:
        """Return the first label that was not removed."""
        with self._as_input():
            row = self.connection.execute(
                "SELECT * FROM labels ORDER BY sequence LIMIT 1"
            ).fetchone()
        return None if row is None else self._checked(Label, row)

    def remove_labels(self, until: int, last: int, most: int) -> int:
        """Remove the first labels, with their predictions, within a transaction.

        Parameters
        ----------
        until : int
            Only labels of before this time are removed.
        last : int
            The number of the last one that may be removed.
        most : int
            How many, at most.

        Returns
        -------
        n : int
            How many were removed.
        """
        rows = self.connection.execute(
            "SELECT * FROM labels WHERE sequence <= ? ORDER BY sequence LIMIT ?", (last, most)
        ).fetchall()
        some = []
        for row in rows:
            label = self._checked(Label, row)
            if label.time >= until:
                break
            some.append(label)
        if not some:
            return 0
        # a row whose label was assumed stays until the one that came after it is removed, too
        self.connection.executemany(
            "DELETE FROM labels WHERE sequence = ?", [(one.sequence,) for one in some]
        )
        n_predictions = self.connection.executemany(
            "DELETE FROM predictions WHERE sequence = ?1 "
            "AND NOT EXISTS (SELECT 1 FROM labels WHERE prediction = ?1)",
            [(one.prediction,) for one in some],
        ).rowcount
        n_late = sum(one.kind == LATE for one in some)
        self._add_removed(predictions=n_predictions, labels=len(some), late=n_late)
        return len(some)

    def remove_predictions(self, sequences: Sequence[int]) -> None:
        """Remove predictions that have no label, within a transaction."""
        n = self.connection.executemany(
            "DELETE FROM predictions WHERE sequence = ?1 "
            "AND NOT EXISTS (SELECT 1 FROM labels WHERE prediction = ?1)",
            [(one,) for one in sequences],
        ).rowcount
        self._add_removed(predictions=n)

    def _add_removed(self, **counts: int) -> None:
        about = self.about()
        names = {f"removed {what}": n for what, n in counts.items()}
        self._set_about({name: str(int(about.get(name, 0)) + n) for name, n in names.items()})

    def _set_about(self, entries: dict[str, str]) -> None:
        self.connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", entries.items())

    def check_predictions(self) -> None:
        """Raise an error if a prediction is not as it was written, with a label or without."""
        with self._as_input():
            for row in self.connection.execute("SELECT * FROM predictions"):
                self._checked(Prediction, row)

    def snapshots(self) -> list[Snapshot]:
        """Return the snapshots, the newest first."""
        with self._as_input():
            rows = self.connection.execute("SELECT * FROM snapshots ORDER BY labels DESC")
            return [Snapshot(*row) for row in rows]

    def _value(self, query: str) -> Any:
        return self.connection.execute(query).fetchone()[0]

    def _checked(self, kind: Any, row: Sequence[Any]) -> Any:
        """Return a record, if it is as it was written."""
        record = kind(*row[:-1])
        if _checksum(record) != row[-1]:
            what = "label" if kind is Label else "prediction"
            raise self._damaged(f"{what} {record.sequence} is not as it was written")
        return record

    def _damaged(self, what: str) -> InputError:
        what = " ".join(what.split())[:200]
        return InputError(
            f"is a damaged log ({what}); restore a copy, or begin with another folder",
            file=str(self.path),
        )

    @contextmanager
    def _as_input(self) -> Iterator[None]:
        """Say in one line what SQLite cannot read."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise InputError(f"cannot be used ({error})", file=str(self.path)) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self._damaged(str(error)) from error


def _checksum(record: Sequence[Any]) -> int:
    """Return a hash of a record, which SQLite can hold."""
    return xxhash.xxh3_64_intdigest(msgspec.json.encode(record)) >> 1
