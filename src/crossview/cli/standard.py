"""Standard streams of a process: closed ones, and the name of the one that takes no more."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from crossview.saving.files import naming

STANDARD_OUTPUT = "standard output"


class _Output(io.FileIO):
    """A descriptor whose errors say what could not be written."""

    def write(self, data: Any, /) -> int:
        """Write bytes; an error of the system names the stream."""
        with naming(STANDARD_OUTPUT):
            return super().write(data)


def check_streams() -> None:
    """Prepare the standard streams of a process.

    Errors of stdout name it.  A closed stream keeps its number, so that no file that is opened
    later gets it: writing to stdout is then an error, and stderr goes nowhere.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the end
    before = sys.stdout
    if before is not None:
        before.flush()
    encoding, errors = (getattr(before, name, None) for name in ("encoding", "errors"))
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(1, "w", closefd=False)),
        encoding=encoding,
        errors=errors,
        line_buffering=getattr(before, "line_buffering", False),
    )
