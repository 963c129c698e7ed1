"""A progress bar on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from crossview.errors import InputError


@contextmanager
def progress_bar(title: str, total: int | None, verbose: Any) -> Iterator[Callable[[int], None]]:
    """Show a progress bar if ``verbose``; yield a function to call with the steps made.

    ``total`` None: the number of steps is unknown.
    """
    if not verbose:
        yield lambda n: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        raise InputError(
            "verbose=True needs rich: pip install rich, or leave verbose out"
        ) from None
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda n: bar.advance(task, n)
