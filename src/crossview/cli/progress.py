"""How a training run is doing, on stderr."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.status import Status

if TYPE_CHECKING:
    from crossview.evaluation.progressive import Record

__all__ = ["Watcher", "stepping", "watching"]


class Watcher:
    """Lets batches and records through, and shows nothing.

    Parameters
    ----------
    metric : str
        Name of the records' measure.
    """

    def __init__(self, metric: str) -> None:
        self.metric = metric

    def batches(self, batches: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        """Rows on their way to the learner."""
        yield from batches

    def records(self, records: Iterable[Record]) -> Iterator[Record]:
        """What `crossview.progressive` says of them."""
        yield from records


class _Lines(Watcher):
    """One line a record."""

    def __init__(self, metric: str, file: TextIO) -> None:
        super().__init__(metric)
        self.file = file

    def records(self, records: Iterable[Record]) -> Iterator[Record]:
        width = max(9, len(self.metric))
        first = True
        for r in records:
            number = math.isnan(r.accuracy)  # a number is predicted
            if first:
                self.file.write(
                    f"{'rows':>12} {'loss':>8} {'since last':>10} {self.metric:>{width}} "
                    f"{'' if number else 'accuracy '}{'seconds':>8}\n"
                )
                first = False
            form = ".4g" if number else ".4f"
            self.file.write(
                f"{r.rows:>12,} {r.loss:>8{form}} {r.loss_since_last:>10{form}} "
                f"{r.metric:>{width}{form}} {'' if number else f'{r.accuracy:>8.4f} '}"
                f"{r.seconds:>8.1f}\n"
            )
            self.file.flush()
            yield r


class _Bar(Watcher):
    """A bar that moves with the batches and tells the last record."""

    def __init__(self, metric: str, bar: Progress, n_rows: int) -> None:
        super().__init__(metric)
        self.bar = bar
        self.task = bar.add_task("", total=n_rows)

    def batches(self, batches: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        for X, y in batches:
            yield X, y
            self.bar.advance(self.task, len(y))

    def records(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            form = ".4g" if math.isnan(record.accuracy) else ".4f"
            words = f"loss {record.loss:{form}}, {self.metric} {record.metric:{form}}"
            self.bar.update(self.task, description=words)
            yield record


@contextmanager
def watching(
    *, metric: str, n_rows: int | None = None, show: bool | None = None, file: TextIO | None = None
) -> Iterator[Watcher]:
    """Show a pass over a stream as it goes.

    On a terminal: a bar where the number of rows is known, otherwise one line
    at 1, 2, 4, 8, ... rows with the loss since the line before.  Not on a
    terminal: nothing, unless it is asked for, and then lines.

    Parameters
    ----------
    metric : str
        Name of the records' measure.
    n_rows : int, default=None
        How many rows there will be, where it is known.
    show : bool, default=None
        True: lines, terminal or not.  False: nothing.  None: as above.
    file : text file, default=None
        Where to; None: stderr.

    Yields
    ------
    Watcher
        Its `batches` and `records` are to be passed through.

    Examples
    --------
    >>> import sys
    >>> from crossview.evaluation.progressive import Record
    >>> from crossview.cli.progress import watching
    >>> records = [Record(1, 1.0, 1.0, 0.0, 0.0, 0.1), Record(2, 0.75, 0.5, 0.5, 0.5, 0.1)]
    >>> with watching(metric="f1", show=True, file=sys.stdout) as watch:
    ...     last = list(watch.records(records))[-1]
            rows     loss since last        f1 accuracy  seconds
               1   1.0000     1.0000    0.0000   0.0000      0.1
               2   0.7500     0.5000    0.5000   0.5000      0.1
    """
    file = file or sys.stderr
    if show is None and file.isatty() and n_rows:
        columns = [
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows"),
            BarColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
        ]
        with Progress(*columns, console=Console(file=file), transient=True) as bar:
            yield _Bar(metric, bar, n_rows)
    elif show or (show is None and file.isatty()):
        yield _Lines(metric, file)
    else:
        yield Watcher(metric)


@contextmanager
def stepping(file: TextIO | None = None) -> Iterator[Status]:
    """A line on stderr that says what is being done; nothing where it is not a terminal.

    Parameters
    ----------
    file : text file, default=None
        Where to; None: stderr.

    Yields
    ------
    rich.status.Status
        Its ``update`` takes the words.
    """
    with Status("", console=Console(file=file or sys.stderr)) as status:
        yield status
