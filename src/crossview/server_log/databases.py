"""The databases that can have the log of a server: SQLite in a folder, or PostgreSQL.

Both take the same statements, with ``?`` for a value.  A statement that has failed inside of a
transaction undoes all of it.
"""

# ruff: noqa: D102 - what a method does is said once, by Database

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from crossview.errors import InputError
from crossview.server_log.addresses import FROM_POSTGRES, FROM_SQLITE, LOG, is_address

# of SQLite's file, and of locks in PostgreSQL
APPLICATION = 0x43725677
WRITING, LEADING = 1, 2
# seconds after which PostgreSQL ends a session that stands still: within a transaction, in which
# it keeps others from writing, and as the leader
MOST_IDLE, MOST_IDLE_LEADING = 5, 5
# of one statement, in either database
MOST_VALUES = 32_766
# bytes that SQLite needs beside the log; with less a disk is full
ROOM = 1 << 16
# bytes of a file in one row of a table
PART = 1 << 24


class AwayError(InputError):
    """The database cannot be used now; later it may be."""


def open_database(where: str | os.PathLike[str], *, read_only: bool = False) -> Database:
    """Connect to the database of a folder, or that of an address."""
    if is_address(where):
        return Postgres(str(where), read_only=read_only)
    return Sqlite(where, read_only=read_only)


class Database:
    """A connection, which one thread at a time uses.

    name: for messages; it has no password.
    file: what a damage is of, in messages.
    errors: what a statement may raise.
    number: the type of whole numbers.
    once: what a table of keys and values ends with.
    """

    name: str
    file: str
    errors: tuple[type[Exception], ...]
    number: str
    once = ""

    def execute(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement; return its rows."""
        return self._run(query, values)[0]

    def execute_many(self, query: str, rows: Iterable[Sequence[Any]]) -> int:
        """Run a statement for each row of values; return how many rows it changed.

        An INSERT writes many rows at a time.  Where another thread computes, one after the other
        would wait for it at each row.
        """
        rows, n = list(rows), 0
        head, marks, rest = _cut_values(query)
        at_once = MOST_VALUES // max(1, marks.count("?")) if marks else 1
        for lo in range(0, len(rows), at_once):
            some = rows[lo : lo + at_once]
            statement = head + ",".join([marks] * len(some)) + rest
            n += self._run(statement, [value for row in some for value in row])[1]
        return n

    def _run(self, query: str, values: Sequence[Any]) -> tuple[list[tuple[Any, ...]], int]:
        """Run a statement; return its rows, and how many it changed."""
        raise NotImplementedError

    @contextmanager
    def transaction(self, *, alone: bool = True) -> Iterator[None]:
        """Commit what is written meanwhile, or nothing of it.

        alone: whether what others have committed is seen, and nobody else can commit meanwhile what
          asks for the same.
        """
        raise NotImplementedError

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say in one line what cannot be read."""
        raise NotImplementedError

    def among(self, column: str) -> str:
        """Return the condition that a column has one of several values, which `as_list` makes."""
        raise NotImplementedError

    def as_list(self, values: Sequence[Any]) -> Any:
        """Return several values as one."""
        raise NotImplementedError

    def version(self) -> int | None:
        """Return the format of the log that is there; None: none."""
        raise NotImplementedError

    def tables(self) -> set[str]:
        """Return the names of its tables."""
        raise NotImplementedError

    def create(self, statements: Sequence[str], version: int) -> None:
        """Make tables, within a transaction."""
        raise NotImplementedError

    def find_damage(self) -> str | None:
        """Return what the database itself finds."""
        return None

    def cautions(self) -> list[str]:
        """Return what the operator should know of it."""
        return []

    def shrink(self) -> None:
        """Give room of removed rows back to the disk, within a transaction."""

    def close(self) -> None:
        """End the connection."""
        raise NotImplementedError

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Return the only value of a query."""
        return self.execute(query, values)[0][0]

    def damaged(self, what: str) -> InputError:
        """Return the error of a log that is not as it was written."""
        what = " ".join(what.split())[:200]
        return InputError(
            f"is a damaged log ({what}); restore a copy, or begin with another {self.home}",
            file=self.file,
        )

    home, rows_by = "database", FROM_POSTGRES


class Sqlite(Database):
    """The file of a folder."""

    errors = (sqlite3.Error,)
    number, once, home = "INTEGER", "WITHOUT ROWID", "folder"
    rows_by = FROM_SQLITE

    def __init__(self, folder: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(folder) / LOG
        self.name, self.file = LOG, str(self.path)
        if not self.path.is_file():
            raise InputError(
                f"has no {LOG}, so no server has used it; name another folder, or start one with "
                "crossview serve",
                file=str(folder),
            )
        mode = "ro" if read_only else "rw"
        with self.reading():
            self._connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode={mode}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                timeout=10.0,
            )
            self.execute("PRAGMA trusted_schema = OFF")
            if not read_only:
                self.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file
                self.execute("PRAGMA journal_mode = WAL")
                self.execute("PRAGMA synchronous = FULL")

    def _run(self, query: str, values: Sequence[Any]) -> tuple[list[tuple[Any, ...]], int]:
        cursor = self._connection.execute(query, values)
        return cursor.fetchall(), cursor.rowcount

    @contextmanager
    def transaction(self, *, alone: bool = True) -> Iterator[None]:
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self.execute("ROLLBACK")
            raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            is_full = shutil.disk_usage(self.path.parent).free < ROOM  # SQLite: disk I/O error
            words = "the disk is full" if is_full else str(error)
            raise AwayError(f"cannot be used ({words})", file=self.file) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self.damaged(str(error)) from error

    def among(self, column: str) -> str:
        return f"{column} IN (SELECT value FROM json_each(?))"

    def as_list(self, values: Sequence[Any]) -> Any:
        return json.dumps(values)

    def version(self) -> int | None:
        if self.value("PRAGMA application_id") != APPLICATION:
            return None
        return int(self.value("PRAGMA user_version"))

    def tables(self) -> set[str]:
        return {name for (name,) in self.execute("SELECT name FROM sqlite_master")}

    def create(self, statements: Sequence[str], version: int) -> None:
        for statement in statements:
            self.execute(statement)
        self.execute(f"PRAGMA application_id = {APPLICATION}")
        self.execute(f"PRAGMA user_version = {version}")

    def keep_name(self) -> None:
        """Have the name of the file survive a power cut, too."""
        with suppress(OSError):
            descriptor = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def shrink(self) -> None:
        for _ in range(self.value("PRAGMA freelist_count")):
            self.execute("PRAGMA incremental_vacuum(1)")  # sqlite3 takes one step of a PRAGMA

    def find_damage(self) -> str | None:
        words = str(self.value("PRAGMA integrity_check(1)"))
        return None if words == "ok" else words

    def close(self) -> None:
        self._connection.close()


class Postgres(Database):
    """A database of PostgreSQL, in which the log has the schema ``crossview``.

    A connection that was lost is made again at the next statement outside of a transaction.

    address: ``postgresql://user@host/database``, with all that libpq takes.
    """

    number = "BIGINT"

    def __init__(self, address: str, *, read_only: bool = False) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise InputError(
                f"a log in PostgreSQL needs psycopg ({error}): pip install 'crossview[postgres]'"
            ) from None
        self._driver: Any = psycopg
        logging.getLogger("psycopg").addHandler(logging.NullHandler())  # errors are raised, too
        self.errors = (psycopg.Error,)
        self._address, self._read_only = address, read_only
        try:
            known = psycopg.conninfo.conninfo_to_dict(address)
        except psycopg.Error:  # its words may have the password
            raise InputError(
                "the address of the log cannot be read; give postgresql://user@host/database"
            ) from None
        user, host, port = (known.get(one) for one in ("user", "host", "port"))
        self.name = "".join(
            [
                "postgresql://",
                f"{user}@" if user else "",
                str(host or ""),
                f":{port}" if port else "",
                f"/{known.get('dbname') or user or ''}",
            ]
        )
        self.file = self.name
        self._known = known
        self._connection: Any = None
        self._connecting = threading.Lock()
        self._inside = False
        self._leads_by: Any = None
        with self.reading():
            self._connected()

    def _connected(self) -> Any:
        """Return the connection, which is made anew if it was lost."""
        with self._connecting:  # threads that read do so at once
            if not self._inside and (self._connection is None or self._connection.closed):
                self._connection = self._connect()
            return self._connection

    def _connect(self) -> Any:
        more = {
            "connect_timeout": 5,
            "application_name": "crossview",
            # a machine that is gone is noticed, on both sides
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 3,
            "tcp_user_timeout": 10_000,
        }
        if not self._read_only:
            more["target_session_attrs"] = "read-write"
        connection = self._driver.connect(
            self._address,
            autocommit=True,
            **{name: value for name, value in more.items() if name not in self._known},
        )
        connection.isolation_level = self._driver.IsolationLevel.READ_COMMITTED
        connection.execute(
            "SELECT set_config(name, value, false) FROM (VALUES"
            " ('search_path', 'crossview'), ('client_encoding', 'UTF8'),"
            f" ('idle_in_transaction_session_timeout', '{MOST_IDLE}s'),"
            " ('lock_timeout', '10s'), ('tcp_keepalives_idle', '5'),"
            " ('tcp_keepalives_interval', '2'), ('tcp_keepalives_count', '3'),"
            # who was answered must find it after a power cut
            " (CASE current_setting('synchronous_commit') WHEN 'off' THEN 'synchronous_commit'"
            " END, 'on')) AS settings (name, value) WHERE name IS NOT NULL"
        )
        return connection

    def _run(self, query: str, values: Sequence[Any]) -> tuple[list[tuple[Any, ...]], int]:
        # no executemany: that of psycopg would use a pipeline, which ends with a message that
        # switches the timeout of a transaction off in which a server stands still
        cursor = self._connected().execute(query.replace("?", "%s"), values)
        return cursor.fetchall() if cursor.description else [], int(cursor.rowcount)

    @contextmanager
    def transaction(self, *, alone: bool = True) -> Iterator[None]:
        connection = self._connected()
        self._inside = True  # what follows a loss must not begin another one
        try:
            with connection.transaction():
                if alone:
                    connection.execute(f"SELECT pg_advisory_xact_lock({APPLICATION}, {WRITING})")
                yield
        finally:
            self._inside = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        try:
            yield
        except self._driver.Error as error:
            away = (self._driver.OperationalError, self._driver.InterfaceError)
            is_lost = self._connection is None or self._connection.closed
            kind = AwayError if is_lost or isinstance(error, away) else InputError
            line = " ".join(str(error).split()) or type(error).__name__
            raise kind(f"cannot be used ({line})", file=self.file) from error

    def among(self, column: str) -> str:
        return f"{column} = ANY(?)"

    def as_list(self, values: Sequence[Any]) -> Any:
        return list(values)

    def version(self) -> int | None:
        if "about" not in self.tables():
            return None
        return int(self.value("SELECT max(value) FROM about WHERE key = 'format'") or 0)

    def tables(self) -> set[str]:
        rows = self.execute(
            "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = 'crossview' AND relkind IN ('r', 'i')"
        )
        return {name for (name,) in rows}

    def create(self, statements: Sequence[str], version: int) -> None:
        if self.value("SHOW server_encoding") != "UTF8":
            raise InputError(
                "cannot hold all characters; make the database with ENCODING 'UTF8'", file=self.file
            )
        self.execute("CREATE SCHEMA IF NOT EXISTS crossview")
        for statement in statements:
            self.execute(statement)
        self.execute(
            "CREATE TABLE files (name TEXT, part INTEGER, sha256 TEXT NOT NULL,"
            " content BYTEA NOT NULL, PRIMARY KEY (name, part))"
        )
        self.execute("INSERT INTO about VALUES ('format', ?)", (str(version),))

    def cautions(self) -> list[str]:
        if self.value("SHOW fsync") == "on":
            return []
        return [f"{self.name} does not wait for its disk (fsync = off): a power cut loses labels"]

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def try_to_lead(self) -> bool:
        """Return whether this connection has the lock of the leader now, for some seconds more."""
        with self.reading():
            connection = self._connected()
            if self._leads_by is connection:
                return bool(self.value("SELECT true"))  # so the session does not stand still
            if not self.value(f"SELECT pg_try_advisory_lock({APPLICATION}, {LEADING})"):
                return False
            if connection.info.server_version >= 140000:
                self.execute(f"SET idle_session_timeout = '{MOST_IDLE_LEADING}s'")
            self._leads_by = connection
            return True

    # --- files ---------------------------------------------------------------------------------

    def files(self) -> set[str]:
        """Return the names of the files that are kept beside the log."""
        with self.reading():
            return {name for (name,) in self.execute("SELECT DISTINCT name FROM files")}

    def read_file(self, name: str, path: Path) -> bool:
        """Copy a file to a path, unless it is there; return whether the log has it."""
        parts, known = "FROM files WHERE name = ?", ""
        with self.reading():
            found = self.execute(f"SELECT max(sha256) {parts}", (name,))
            if found == [(None,)]:
                return False
            ((known,),) = found
            if path.is_file() and sha256_of(path) == known:
                return True
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(f"{path.name}.part")
            with unfinished.open("wb") as stream:
                part = 0
                while rows := self.execute(f"SELECT content {parts} AND part = ?", (name, part)):
                    stream.write(rows[0][0])
                    part += 1
        if sha256_of(unfinished) != known:
            if name not in self.files():  # it was removed meanwhile
                return False
            raise self.damaged(f"its file {name} is not as it was written")
        unfinished.replace(path)
        return True

    def put_file(self, name: str, path: Path) -> None:
        """Keep a copy of a file, within a transaction."""
        self.execute("DELETE FROM files WHERE name = ?", (name,))
        known, part = sha256_of(path), 0
        with path.open("rb") as stream:
            while (content := stream.read(PART)) or not part:
                self.execute("INSERT INTO files VALUES (?,?,?,?)", (name, part, known, content))
                part += 1

    def remove_file(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self.reading():
            self.execute("DELETE FROM files WHERE name = ?", (name,))


def sha256_of(file: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _cut_values(query: str) -> tuple[str, str, str]:
    """Return what is before the values of an INSERT, the marks of one row, and what is after."""
    head, word, rest = query.partition("VALUES (")
    if not word:
        return query, "", ""
    marks, _, rest = rest.partition(")")
    return f"{head}VALUES ", f"({marks})", rest
