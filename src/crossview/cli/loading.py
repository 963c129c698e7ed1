"""The garbage collector, which finds nothing while modules load, and takes a fifth of the start."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["after_loading", "load_without_collecting"]

P = ParamSpec("P")
T = TypeVar("T")


def load_without_collecting() -> None:
    """Collect nothing until a command runs that is `after_loading`."""
    gc.disable()


def after_loading(run: Callable[P, T]) -> Callable[P, T]:
    """Let a command collect again when it runs, but never look at what was loaded before."""

    @functools.wraps(run)
    def running(*args: P.args, **kwargs: P.kwargs) -> T:
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        return run(*args, **kwargs)

    return running
