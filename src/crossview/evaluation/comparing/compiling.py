"""How long this process has compiled loops, or loaded compiled ones."""

from __future__ import annotations

from numba.core import event

__all__ = ["seconds_of_compiling"]

_timer = event.TimingListener()  # type: ignore[no-untyped-call]
event.register("numba:compile", _timer)  # type: ignore[no-untyped-call]


def seconds_of_compiling() -> float:
    """Return the seconds since this module was imported."""
    return float(_timer.duration) if _timer.done else 0.0
