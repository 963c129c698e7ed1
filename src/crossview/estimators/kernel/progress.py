"""A progress bar on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from crossview.errors import InputError

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(title: str, total: int, verbose: Any) -> Iterator[Callable[[int], None]]:
    """Show a bar if ``verbose``; call what it yields with the steps that were made."""
    if not verbose:
        yield lambda n: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        raise InputError(
            "verbose=True shows a bar and needs rich; install crossview[cli], or leave it out"
        ) from None
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda n: bar.advance(task, n)
