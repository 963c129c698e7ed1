"""Failures that must not end a comparison: of baselines, and of learners that diverge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, NamedTuple

from crossview.catalog.learner import Learner
from crossview.comparing.result.ranking import LeftOut
from crossview.errors import DivergedError


class Failure(NamedTuple):
    """The error that a learner raised, in one line."""

    error: str


def or_failure(task: Callable[..., Any]) -> Callable[..., Any]:
    """Return the task with a `Failure` as its result where a learner fails.

    Of baselines every error is a failure, of learners of this package a `DivergedError`.

    task: its second argument is the learner.
    """

    @wraps(task)
    def guarded(run: Any, learner: Learner, *rest: Any) -> Any:
        try:
            return task(run, learner, *rest)
        except Exception as error:
            if isinstance(error, DivergedError):  # its row is one of the training part
                return Failure("a row " * (error.row is not None) + error.message)
            words = " ".join(str(error).split("\n\n")[0].split())
            if not learner.baseline:
                raise
            return Failure(f"{type(error).__name__}: {words}")

    return guarded


class Failures(dict[str, str]):
    """The error of each learner that failed, by its name."""

    def drop(self, results: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        """Yield results with their keys, which end in a learner, but none of one that failed."""
        for key, result in results:
            if isinstance(result, Failure):
                self[key[-1]] = result.error
            elif key[-1] not in self:
                yield key, result

    def left_out(self) -> list[LeftOut]:
        """Return the failures as parts of an answer."""
        return [LeftOut(name, error, 0.0, failed=True) for name, error in self.items()]
