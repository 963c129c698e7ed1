"""Atomic writing of output files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crossview.errors import InputError

__all__ = ["check_writable", "replacing"]


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file cannot be written, before the work starts.

    Parameters
    ----------
    path : path-like
        The file.

    Raises
    ------
    InputError
        The path is a folder, or its folder does not exist or is not writable.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError("is a folder; name a file in it", file=str(path))
    if not path.parent.is_dir():
        raise InputError(
            f"cannot be written: there is no folder {str(path.parent)!r}; create it", file=str(path)
        )
    if not os.access(path.parent, os.W_OK):
        raise InputError("cannot be written: its folder is read-only", file=str(path))


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file to write, and rename it to ``path`` when it is complete.

    Parameters
    ----------
    path : path-like
        The file.  An existing file of this name is not changed if an error occurs.

    Yields
    ------
    unfinished : Path
        A file that does not exist yet, in a temporary folder.

    Raises
    ------
    InputError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from crossview.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/a.txt") as unfinished:
    ...         _ = unfinished.write_text("all of it")
    ...     Path(f"{folder}/a.txt").read_text()
    'all of it'
    """
    path = Path(path)
    check_writable(path)
    try:
        # in the same folder, so that the rename is atomic
        with tempfile.TemporaryDirectory(prefix=".crossview-", dir=path.parent) as folder:
            unfinished = Path(folder) / path.name
            yield unfinished
            with unfinished.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(unfinished, path)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror or error})", file=str(path)
        ) from error
