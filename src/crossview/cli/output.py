"""Output of commands: tables, files, standard output, and pages of results."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from crossview.cli.options import STANDARD
from crossview.cli.words import said, say
from crossview.errors import (
    FirstDownloadWarning,
    InputError,
    LabelOrderWarning,
    LeakWarning,
    LearnedRowsWarning,
    OneClassWarning,
    UnlabeledRowsWarning,
    UnusedColumnsWarning,
)
from crossview.saving.files import REPORT, Kind, check_writable, replacing

# wide enough for a table that goes to a file
WIDTH_OF_A_FILE = 160
PACKAGE = Path(__file__).parents[1]
# warnings about the data of the user, who knows no Python
AS_LINES = (
    *(FirstDownloadWarning, LabelOrderWarning, LearnedRowsWarning),
    *(UnlabeledRowsWarning, UnusedColumnsWarning),
)


@contextmanager
def standard_output(path: str, suffix: str = "") -> Iterator[str]:
    """Yield a file to write; where the path is ``-``, a temporary one that then goes to stdout."""
    if path != STANDARD:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="crossview-") as folder:
        copy = Path(folder) / f"stdout{suffix}"
        yield str(copy)
        with copy.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()


def write_text(path: str, text: str, kind: Kind) -> None:
    """Write a file, or to stdout where the path is ``-``."""
    if path == STANDARD:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
        return
    with replacing(path, kind) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def make_console(file: TextIO | None = None) -> Console:
    """Return a console on which names from the data mean nothing but themselves."""
    file = file or sys.stdout
    width = None if file.isatty() else WIDTH_OF_A_FILE
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)


def to_stdout(json: str | None, report: Report | None) -> bool:
    """Return whether stdout is for what a program reads, and tables go to stderr."""
    return json == STANDARD or (report is not None and report.file == STANDARD)


def compiling_as_line() -> AbstractContextManager[None]:
    """Write one line where compiling takes more than a moment, as at the first use on a machine."""
    from crossview.compiling import telling_of_compiling

    def tell() -> None:
        print("compiling for this machine, once ...", file=sys.stderr, flush=True)

    return telling_of_compiling(tell)


@contextmanager
def warnings_as_lines(*answered: type[Warning]) -> Iterator[None]:
    """Write each warning about labels, columns and downloads as one line, when all else is done.

    Those about leaks and models with one answer, and ``answered``, are part of the answer.
    """
    with warnings.catch_warnings(record=True) as caught:
        for kind in AS_LINES:
            warnings.simplefilter("always", kind)
        silent: tuple[type[Warning], ...] = (LeakWarning, OneClassWarning, *answered)
        for ignored in silent:
            warnings.simplefilter("ignore", ignored)
        # joblib, which starts another one
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        yield
    said = set()
    for one in caught:
        if (line := str(one.message)) in said:
            continue
        said.add(line)
        ours = one.category is UserWarning and Path(one.filename).is_relative_to(PACKAGE)
        if ours or issubclass(one.category, AS_LINES):
            say(f"warning: {line}")
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


@dataclass(frozen=True)
class Report:
    """A page to write, and the command line that makes it again."""

    file: str
    command: list[str]

    @classmethod
    def parse(
        cls,
        file: str | None,
        command: Sequence[str],
        inputs: Iterable[str] = (),
        outputs: Sequence[Any] = (),
    ) -> Report | None:
        """Return the page, None without ``--report``; refuse one that cannot be written.

        ``inputs`` are files that stay, ``outputs`` what else is written; each may be None.
        """
        if file is None:
            return None
        for name in ("jinja2", "matplotlib"):
            if find_spec(name) is None:
                raise InputError(f"--report needs {name}: pip install 'crossview[report]'")
        for other in outputs:
            if other is not None and os.path.realpath(other) == os.path.realpath(file):
                raise InputError("is the report and another output; name two files", file=file)
        if file != STANDARD:
            check_writable(file, REPORT, inputs)
        return cls(file, list(command))

    def write(self, result: Any, about: dict[str, Any], **more: Any) -> None:
        """Write the page of a result; what it needs loads only here.

        about: ``source``, ``label``, ``settings`` and ``commands`` of `Made`; ``command`` and
          ``said`` where they are others.
        **more: further arguments of `report_html`.
        """
        os.environ.setdefault("MPLBACKEND", "agg")  # of a terminal without a screen
        from crossview.reporting.page.render import report_html
        from crossview.reporting.page.sections import Made

        made = Made(**{"command": self.command, "said": said(), **about})
        write_text(self.file, report_html(result, made, **more), REPORT)
        if self.file != STANDARD:
            print(f"wrote {self.file}", file=sys.stderr)
