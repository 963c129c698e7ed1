"""What a comparison tells while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crossview.comparing.comparison import Comparison

__all__ = ["ComparisonObserver"]


class ComparisonObserver:
    """Observer of the progress of `compare`; override the methods, which do nothing."""

    def say(self, words: str) -> None:
        """Handle a few words on what is being done."""

    def progress(self, done: float, total: float, words: str) -> None:
        """Handle a finished task: ``done`` of about ``total`` seconds of work of all workers."""

    def partial(self, answer: Comparison) -> None:
        """Handle the table of the folds that are finished, or of the rows of a stream so far."""
