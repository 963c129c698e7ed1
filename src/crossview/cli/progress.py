"""Progress of training and comparison, on stderr."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from crossview.cli.output import make_console
from crossview.cli.words import say
from crossview.comparing.result.comparison import ComparisonObserver
from crossview.scoring.models.trained import TrainingObserver

if TYPE_CHECKING:
    from crossview.comparing.result.comparison import Comparison
    from crossview.scoring.progressive import Record


# until the first line of a comparison that goes on, and between two, where there is no terminal
SECONDS_TO_LINE, SECONDS_PER_LINE = 10.0, 30.0


class _Start(TrainingObserver):
    """A line about where a run goes on that was stopped."""

    began = False

    def start_pass(self, number: int, n_passes: int, n_rows: int | None, n_done: int = 0) -> None:
        if not self.began and (n_done or number > 1):
            of_rows = "" if n_rows is None else f" of {n_rows:,}"
            say(f"goes on in pass {number} of {n_passes}, after {n_done:,}{of_rows} rows")
        self.began = True


class _Lines(_Start):
    """One line per record."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.first = True

    def start_pass(self, number: int, n_passes: int, n_rows: int | None, n_done: int = 0) -> None:
        super().start_pass(number, n_passes, n_rows, n_done)
        self.first = True
        if number > 1:
            self.file.write(_words_of_pass(number, n_passes))

    def add_record(self, record: Record) -> None:
        r, width = record, max(9, len(record.metric_name))
        number = math.isnan(r.accuracy)  # a number is predicted
        if self.first:
            self.file.write(
                f"{'rows':>12} {'loss':>8} {'since last':>10} {r.metric_name:>{width}} "
                f"{'' if number else 'accuracy '}{'seconds':>8}\n"
            )
            self.first = False
        form = ".4g" if number else ".4f"
        self.file.write(
            f"{r.rows:>12,} {r.loss:>8{form}} {r.loss_since_last:>10{form}} "
            f"{r.metric:>{width}{form}} {'' if number else f'{r.accuracy:>8.4f} '}"
            f"{r.seconds:>8.1f}\n"
        )
        self.file.flush()


class _Bar(_Start):
    """A bar that moves with the rows and shows the last record; lines where nobody counts them."""

    def __init__(self, bar: Progress, file: TextIO) -> None:
        self.bar = bar
        self.lines = _Lines(file)
        self.task = bar.add_task("", visible=False)
        self.counted = False

    def start_pass(self, number: int, n_passes: int, n_rows: int | None, n_done: int = 0) -> None:
        self.counted = bool(n_rows)
        if not self.counted:
            self.lines.start_pass(number, n_passes, n_rows, n_done)
            return
        super().start_pass(number, n_passes, n_rows, n_done)
        if number > 1:
            self.bar.console.print(_words_of_pass(number, n_passes), end="", highlight=False)
        self.bar.reset(self.task, total=n_rows, completed=n_done, visible=True)

    def add_rows(self, n_rows: int) -> None:
        self.bar.advance(self.task, n_rows)

    def add_record(self, record: Record) -> None:
        if not self.counted:
            self.lines.add_record(record)
            return
        form = ".4g" if math.isnan(record.accuracy) else ".4f"
        words = f"loss {record.loss:{form}}, {record.metric_name} {record.metric:{form}}"
        self.bar.update(self.task, description=words)


def _words_of_pass(number: int, n_passes: int) -> str:
    return f"pass {number} of {n_passes}, over rows seen before\n"


@contextmanager
def watching(*, show: bool | None = None, file: TextIO | None = None) -> Iterator[TrainingObserver]:
    """Show a training as it goes.

    A run that goes on says where.  On a terminal: a bar where the number of rows is known,
    otherwise one line at 1, 2, 4, 8, ... rows with the loss since the line before.  Elsewhere:
    nothing, unless it is asked for, and then lines.

    show: True: lines, terminal or not.  False: nothing.  None: as above.
    file: where to; None: stderr.
    Yields: to be passed to `crossview.train`.

    >>> import sys
    >>> from crossview.scoring.progressive import Record
    >>> from crossview.cli.progress import watching
    >>> with watching(show=True, file=sys.stdout) as observer:
    ...     observer.start_pass(1, 1, 2)
    ...     observer.add_record(Record(1, 1.0, 1.0, 0.0, 0.0, 0.1, "f1"))
    ...     observer.add_record(Record(2, 0.75, 0.5, 0.5, 0.5, 0.1, "f1"))
            rows     loss since last        f1 accuracy  seconds
               1   1.0000     1.0000    0.0000   0.0000      0.1
               2   0.7500     0.5000    0.5000   0.5000      0.1
    """
    file = file or sys.stderr
    if show is None and file.isatty():
        columns = [
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows"),
            BarColumn(),
            TextColumn("{task.description}", markup=False),
            TimeRemainingColumn(),
        ]
        with Progress(*columns, console=make_console(file), transient=True) as bar:
            yield _Bar(bar, file)
    elif show:
        yield _Lines(file)
    else:
        yield _Start()


class _Rounds(ComparisonObserver):
    """A bar with the time left, or on a file lines now and then; keeps the answer so far."""

    def __init__(self, bar: Progress | None, file: TextIO) -> None:
        self.bar, self.file = bar, file
        self.answer: Comparison | None = None
        self.task = None if bar is None else bar.add_task("", total=None)
        self.words = "opening the rows"

    def say(self, words: str) -> None:
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, description=words)
        self.words = words

    def write_lines(self, ended: threading.Event) -> None:
        """Write now and then what is being done, until the comparison has ended."""
        start, seconds = time.monotonic(), SECONDS_TO_LINE
        while not ended.wait(seconds):
            seconds = SECONDS_PER_LINE
            self.file.write(f"{time.monotonic() - start:,.0f} s: {self.words}\n")
            self.file.flush()

    def progress(self, done: float, total: float, words: str) -> None:
        if self.bar is not None and self.task is not None:
            finite = None if math.isnan(total) else total
            self.bar.update(self.task, completed=done, total=finite, description=words)
        self.words = words

    def partial(self, answer: Comparison) -> None:
        self.answer = answer
        if answer.folds >= answer.planned_folds:
            return
        self.note(f"after {answer.folds} of {answer.planned_folds} folds: {answer.verdict[0]}")

    def note(self, words: str) -> None:
        if self.bar is None:
            self.file.write(f"{words}\n")
            self.file.flush()
        else:
            self.bar.console.print(words)


@contextmanager
def watching_comparison() -> Iterator[_Rounds]:
    """Show a comparison as it goes: a bar on a terminal, elsewhere lines per fold and half minute.

    Yields: to be passed to `crossview.compare`; its ``answer`` is the table of the finished folds.
    """
    file = sys.stderr
    if not file.isatty():
        rounds = _Rounds(None, file)
        ended = threading.Event()
        lines = threading.Thread(target=rounds.write_lines, args=(ended,), daemon=True)
        lines.start()
        try:
            yield rounds
        finally:
            ended.set()
            lines.join()
        return
    columns = [
        TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True)),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=make_console(file), transient=True) as bar:
        yield _Rounds(bar, file)
