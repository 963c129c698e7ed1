"""How a training run is doing, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.status import Status

if TYPE_CHECKING:
    from crossview.evaluation.progressive import Record

__all__ = ["show_records", "stepping"]


def show_records(
    records: Iterable[Record],
    *,
    metric: str,
    n_rows: int | None = None,
    show: bool | None = None,
    file: TextIO | None = None,
) -> Record | None:
    """Run through the records of a training run and show them as they come.

    On a terminal: a bar where the number of rows is known, otherwise one line
    at 1, 2, 4, 8, ... rows with the loss since the line before.  Not on a
    terminal: nothing, unless it is asked for, and then lines.

    Parameters
    ----------
    records : iterable of Record
        From `crossview.progressive`.
    metric : str
        Name of the records' measure.
    n_rows : int, default=None
        How many rows there will be, where it is known.
    show : bool, default=None
        True: lines, terminal or not.  False: nothing.  None: as above.
    file : text file, default=None
        Where to; None: stderr.

    Returns
    -------
    Record or None
        The last one; None if there was none.
    """
    file = file or sys.stderr
    if show is None and file.isatty() and n_rows:
        records = _with_bar(records, metric, n_rows, file)
    elif show or (show is None and file.isatty()):
        records = _with_lines(records, metric, file)
    last = None
    for record in records:
        last = record
    return last


def _with_lines(records: Iterable[Record], metric: str, file: TextIO) -> Iterator[Record]:
    print(
        f"{'rows':>12} {'loss':>8} {'since last':>10} {metric:>9} {'accuracy':>8} {'seconds':>8}",
        file=file,
    )
    for r in records:
        print(
            f"{r.rows:>12,} {r.loss:>8.4f} {r.loss_since_last:>10.4f} "
            f"{r.metric:>{max(9, len(metric))}.4f} {r.accuracy:>8.4f} {r.seconds:>8.1f}",
            file=file,
            flush=True,
        )
        yield r


def _with_bar(
    records: Iterable[Record], metric: str, n_rows: int, file: TextIO
) -> Iterator[Record]:
    columns = [
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=Console(file=file), transient=True) as bar:
        task = bar.add_task("", total=n_rows)
        for record in records:
            what = f"loss {record.loss:.4f}, {metric} {record.metric:.4f}"
            bar.update(task, completed=record.rows, description=what)
            yield record


@contextmanager
def stepping(file: TextIO | None = None) -> Iterator[Status]:
    """A line on stderr that says what is being done; nothing where it is not a terminal."""
    with Status("", console=Console(file=file or sys.stderr)) as status:
        yield status
