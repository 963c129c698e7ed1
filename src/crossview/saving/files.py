"""Writing of output files: atomically, and never onto what is something else."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from crossview.errors import InputError, cannot_import

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX = ".crossview-unfinished-"
# a folder that is as young may not be locked yet
_GRACE_SECONDS = 60.0
# of symbolic links in a row; as Linux
_MOST_LINKS = 40
# of a file, to tell its kind
_START = 1 << 16
# the first two bytes of .gz and .zst
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5")


class Kind(NamedTuple):
    """Kind of an output file: its name in messages, and a test of whether a file is one."""

    name: str
    fits: Callable[[Path], bool]


def _start(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(_START)


def _is_text(file: Path) -> bool:
    start = _start(file)
    return b"\0" not in start and not start.startswith(b"PAR1")


def _is_model(file: Path) -> bool:
    """Return whether the header of a safetensors file names our model format."""
    with file.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        return b"crossview-model" in stream.read(min(size, file.stat().st_size))


def _object(text: bytes) -> dict[str, Any]:
    """Return an object of JSON, which is empty where the text is none."""
    try:
        content = json.loads(text)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _is_description(file: Path) -> bool:
    names = _object(file.read_bytes()).keys()
    return {"n_rows", "columns", "about_table"} <= names or {
        "n_rows",
        "views",
        "unlabeled",
    } <= names


def _is_exported(file: Path) -> bool:
    start = _start(file)
    marks = (b"a model that Crossview exported", b"no model of crossview", b'{"crossview":')
    return any(mark in start for mark in marks)


CARD = Kind("a model card of crossview", lambda file: b"library_name: crossview" in _start(file))
MODEL = Kind("a model file", _is_model)
EXPORTED = Kind("an exported model", _is_exported)
COMPARISON = Kind(
    "a comparison", lambda file: {"format", "rows"} <= _object(file.read_bytes()).keys()
)
DESCRIPTION = Kind("a description", _is_description)
EVALUATION = Kind(
    "an evaluation", lambda file: _object(file.read_bytes()).get("kind") == "evaluation"
)
PARQUET = Kind("a Parquet file", lambda file: _start(file).startswith(b"PAR1"))
CSV = Kind("a CSV file", _is_text)
ROWS = Kind("a file of rows", lambda file: _is_text(file) or _start(file)[:2] in _COMPRESSED)
LOG = Kind(
    "a log of training",
    lambda file: {"rows", "window", "loss"} <= _object(_start(file).split(b"\n")[0]).keys(),
)
REPORT = Kind(
    "a report of crossview",
    lambda file: b'<meta name="generator" content="crossview">' in _start(file),
)
JSON_LINES = Kind(
    "a file of JSON lines", lambda file: _is_text(file) and _start(file).lstrip()[:1] == b"{"
)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is written through, and not replaced: a device, FIFO or descriptor."""
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        return True
    for _ in range(_MOST_LINKS):
        if not path.is_symlink():
            break
        folder = path.parent.resolve()
        if folder.is_relative_to("/proc"):  # /dev/stdout leads to /proc/self/fd/1
            return True
        path = folder / path.readlink()
    return False


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Return whether what a path leads to can be read only once: a FIFO or a socket."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Give errors of the system that name no file the name of what is written."""
    try:
        yield
    except OSError as error:
        if error.filename is None and not isinstance(error, BrokenPipeError):
            error.filename = str(path)
        raise


def check_writable(
    path: str | os.PathLike[str],
    kind: Kind | None = None,
    inputs: Iterable[str | os.PathLike[str]] = (),
) -> None:
    """Raise an error if a file cannot or must not be written, before the work starts.

    It must not be one of the ``inputs``, nor an existing file of another ``kind`` than will be
    written.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError("is a folder; name a file in it", file=str(path))
    if is_stream(path):
        return
    target = _target(path) if path.is_symlink() else path
    if target.is_symlink():  # a link is followed to its end, unless there is none
        raise InputError(
            "is a loop of symbolic links; remove it, or write to another file", file=str(path)
        )
    folder = target.parent
    if not folder.is_dir():
        raise InputError(
            f"cannot be written: there is no folder {str(folder)!r}; create it", file=str(path)
        )
    if not os.access(folder, os.W_OK):
        raise InputError("cannot be written: its folder is read-only", file=str(path))
    if not path.exists():
        return
    if not os.access(path, os.W_OK):
        raise InputError("cannot be written: it is read-only", file=str(path))
    for file in inputs:
        if os.path.exists(file) and os.path.samefile(file, path):
            raise InputError("is one of the inputs; write to another file", file=str(path))
    if kind is not None and path.stat().st_size and not kind.fits(path):
        raise InputError(
            f"exists and is not {kind.name}; write to another file, or remove it", file=str(path)
        )


@contextmanager
def replacing(path: str | os.PathLike[str], kind: Kind | None = None) -> Iterator[Path]:
    """Yield a temporary file to write, and rename it to ``path`` when it is complete.

    If an error occurs, an existing file is not changed.  A new one has its mode, replaces what a
    symbolic link leads to, and never a file of another ``kind``.  A device or FIFO is written
    through.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from crossview.saving.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/a.txt") as unfinished:
    ...         _ = unfinished.write_text("all of it")
    ...     Path(f"{folder}/a.txt").read_text()
    'all of it'
    """
    check_writable(path, kind)
    try:
        if is_stream(path):
            yield Path(path)
            return
        target = _target(path)
        # in the same folder, so that the rename is atomic
        with temporary_folder(target.parent) as folder:
            unfinished = folder / target.name
            yield unfinished
            with unfinished.open("rb+") as file:
                os.fsync(file.fileno())
            if target.exists():
                _copy_mode(target, unfinished)
            os.replace(unfinished, target)
    except BrokenPipeError:  # whoever reads the FIFO has enough
        raise
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror or error})", file=str(path)
        ) from error


def _copy_mode(source: Path, target: Path) -> None:
    """Give a file the owner, where that is allowed, and the mode of another one."""
    known = source.stat()
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(target, known.st_uid, known.st_gid)
    target.chmod(stat.S_IMODE(known.st_mode))


def _target(path: str | os.PathLike[str]) -> Path:
    """The file that a path leads to, whether or not it exists."""
    return Path(os.path.realpath(path))


@contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes, and other threads, from using a file in the same way.

    The lock is that of the operating system on a file beside it, ``path`` with ``.lock``, which is
    removed in the end.  A process that is killed leaves that file, and no lock.  Where another
    process has the lock, or the folder cannot have one, it is an error.
    """
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise cannot_import("the lock of a file", "filelock", error) from None
    if is_stream(path):
        yield
        return
    target = _target(path)
    lock = FileLock(target.with_name(f"{target.name}.lock"), fallback_to_soft=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(
            "another run that has not ended uses this file; wait for it, or name another file",
            file=str(path),
        ) from None
    except (OSError, NotImplementedError) as error:
        what = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot be locked ({what}); name a file in another folder", file=str(path)
        ) from None
    try:
        yield
    finally:
        if fcntl is not None:  # who waits for the lock sees that the file is gone, and makes one
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Yield a folder that is removed in the end, and remove those of processes that died."""
    _remove_stale(parent)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as folder:
        descriptor = None
        with suppress(OSError):  # a file system without locks
            descriptor = _lock(folder)
        try:
            yield Path(folder)
        finally:
            if descriptor is not None:
                os.close(descriptor)


# of a process, which a fork does not share: its folder, and what removes it
_of_process: dict[int, tuple[Path, ExitStack]] = {}


def process_folder() -> Path:
    """Return a temporary folder of this process, which is removed when it ends."""
    process = os.getpid()
    if process not in _of_process:
        stack = ExitStack()
        folder = stack.enter_context(temporary_folder(Path(tempfile.gettempdir())))
        _of_process[process] = folder, stack
        atexit.register(close_process_folder)
    return _of_process[process][0]


def close_process_folder() -> None:
    """Remove the temporary folder of this process, if it has one."""
    _, stack = _of_process.pop(os.getpid(), (None, None))
    if stack is not None:
        stack.close()


def _remove_stale(parent: Path) -> None:
    """Remove the temporary folders of processes that died, which hold no lock any more."""
    try:
        names = os.listdir(parent)
    except OSError:
        return
    for old in (parent / name for name in names if name.startswith(_PREFIX)):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime < _GRACE_SECONDS:
                continue
            descriptor = _lock(old)
            if descriptor is not None:
                shutil.rmtree(old)
                os.close(descriptor)


def _lock(folder: str | os.PathLike[str]) -> int | None:
    """Lock a folder until the descriptor is closed or the process ends; OSError if it is locked."""
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
