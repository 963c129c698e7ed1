"""The first use on a machine compiles loops, and says so."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import TextIO

from crossview.scoring.compiling import telling_of_compiling

__all__ = ["compiling_as_line"]


def compiling_as_line(file: TextIO | None = None) -> AbstractContextManager[None]:
    """Write one line where compiling takes more than a moment.

    Parameters
    ----------
    file : text file, default=None
        Where to; None: stderr.
    """

    def say() -> None:
        print("compiling for this machine, once ...", file=file or sys.stderr, flush=True)

    return telling_of_compiling(say)
