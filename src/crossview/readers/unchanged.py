"""Files that must stay as they were while they are read."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from crossview.errors import InputError
from crossview.readers.duck import matching_files

ADVICE = "run again when nobody writes there, or on a copy"

Batch = TypeVar("Batch", bound=Any)


class _State(NamedTuple):
    """Size of a file, and when it was written; None: on another machine, which has its own copy."""

    size: int
    written: int | None


class UnchangedFiles:
    """Files as they were when they were opened, with a check that they still are.

    Size and time of change are compared.  Pipes and devices have neither, and are passed over.
    Each check finds the files of the globs again: there must be no others.
    """

    def __init__(self, files: Iterable[str] = (), globs: Sequence[str] = ()) -> None:
        files = list(files)
        self._globs, self._found = globs, files if globs else []
        self._states = {file: state for file in files if (state := _state(file)) is not None}

    def __getstate__(self) -> dict[str, Any]:
        """Without times: another machine may have a copy."""
        states = {file: _State(one.size, None) for file, one in self._states.items()}
        return {"_states": states, "_globs": (), "_found": []}

    def only(self, files: Iterable[str]) -> UnchangedFiles:
        """Return the same about some of the files."""
        some = UnchangedFiles()
        some._states = {file: self._states[file] for file in files if file in self._states}
        return some

    def check(self, file: str | None = None) -> None:
        """Raise an error if a file, or any of them, is not as it was."""
        found = matching_files(self._globs) if file is None and self._globs else self._found
        if new := [name for name in found if name not in self._found]:
            raise InputError(f"appeared while the files were in use; {ADVICE}", file=new[0])
        for name in list(self._states) if file is None else [file]:
            before, now = self._states.get(name), _state(name)
            if before is None or before == now:
                continue
            if now is not None and now.size == before.size and before.written is None:
                self._states[name] = now
                continue
            what = f"changed while it was in use: {_difference(before, now)}"
            raise InputError(f"{what}; {ADVICE}", file=name)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Check in the end; if what is read is wrong, check first whether a change is the cause."""
        try:
            yield
        except InputError:
            self.check()
            raise
        self.check()

    def watch(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield batches, which know their ``file``, as long as that is as it was.

        So no row is passed on that was read after a change, such as half a line.
        """
        try:
            with self.reading():
                for batch in batches:
                    self.check(batch.file)
                    yield batch
        finally:  # an error keeps it, and what it has opened
            getattr(batches, "close", lambda: None)()


def _state(file: str) -> _State | None:
    """The state of a regular file; None of anything else, and of what is not there."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return _State(found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _difference(before: _State, now: _State | None) -> str:
    if now is None:
        return "it is gone"
    if now.size != before.size:
        return f"it had {before.size:,} bytes, and has {now.size:,}"
    assert now.written is not None
    return f"it was written again at {time.strftime('%H:%M:%S', time.localtime(now.written / 1e9))}"
