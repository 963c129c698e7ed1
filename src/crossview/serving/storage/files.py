"""Files beside the log: in its folder, or in PostgreSQL with copies in a temporary folder."""

from __future__ import annotations

import fnmatch
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

from crossview.errors import InputError
from crossview.server_log.addresses import is_address
from crossview.server_log.databases import Postgres

__all__ = ["Files", "open_files"]


class Files:
    """Files of a folder, and the lock of the server that leads.

    path: the folder, where files are written before they are published.
    name: what the folder is called in messages.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.name = str(self.path)
        self._lock: Any = None

    def names(self, pattern: str) -> list[str]:
        """Return the names of files, such as ``snapshots/1.safetensors``."""
        return [str(file.relative_to(self.path).as_posix()) for file in self.path.glob(pattern)]

    def find(self, name: str) -> Path | None:
        """Return the path of a file, or None if there is none."""
        file = self.path / name
        return file if file.is_file() else None

    def publish(self, name: str) -> None:
        """Keep a file that was written to the path, or written anew."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def describe(self, name: str) -> str:
        """Return what a file is called in messages."""
        return str(self.path / name)

    def try_to_lead(self) -> bool:
        """Return whether this server has the lock of the leader now."""
        from filelock import FileLock, Timeout

        if self._lock is None:
            self._lock = FileLock(self.path / "leader.lock", thread_local=False)
        if not self._lock.is_locked:
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                return False
            except OSError as error:
                raise InputError(f"cannot be locked ({error})", file=self._lock.lock_file) from None
        return True

    def close(self) -> None:
        """Let go of the lock."""
        if self._lock is not None:
            self._lock.release()


class DatabaseFiles(Files):
    """The same in PostgreSQL."""

    def __init__(self, address: str, *, read_only: bool = False) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="crossview-")
        super().__init__(self._folder.name)
        # snapshots are written and read by several threads
        self._db, self._alone = Postgres(address, read_only=read_only), threading.Lock()
        self.name, self._copies = self._db.name, set[str]()

    def names(self, pattern: str) -> list[str]:
        with self._alone:
            known = self._db.files()
            for name in self._copies - known:  # nobody needs them any more
                (self.path / name).unlink(missing_ok=True)
            self._copies &= known
        return fnmatch.filter(known, pattern)

    def find(self, name: str) -> Path | None:
        with self._alone:
            found = self._db.read_file(name, self.path / name)
            self._copies.add(name)
        return self.path / name if found else None

    def publish(self, name: str) -> None:
        with self._alone:
            with self._db.reading(), self._db.transaction(alone=False):
                self._db.put_file(name, self.path / name)
            self._copies.add(name)

    def remove(self, name: str) -> None:
        with self._alone:
            self._db.remove_file(name)
        super().remove(name)

    def describe(self, name: str) -> str:
        return f"{self.name} {name}"

    def try_to_lead(self) -> bool:
        with self._alone:
            return self._db.try_to_lead()

    def close(self) -> None:
        self._db.close()
        self._folder.cleanup()


def open_files(where: str | os.PathLike[str], *, read_only: bool = False) -> Files:
    """Return the files beside the log of a folder, or of an address."""
    if is_address(where):
        return DatabaseFiles(str(where), read_only=read_only)
    return Files(where)
