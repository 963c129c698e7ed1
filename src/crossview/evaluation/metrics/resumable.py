"""Counts that can be kept, and taken up again."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from crossview.errors import InputError

__all__ = ["Resumable"]


class Resumable:
    """Base of counts whose state is some numbers and arrays.

    Attributes
    ----------
    STATE : tuple of str
        Names of the attributes: numbers, None, arrays, or dicts of numbers with fixed keys.
    """

    STATE: ClassVar[tuple[str, ...]]

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the counts as arrays."""
        return {name: _as_array(getattr(self, name)) for name in self.STATE}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from counts that `get_state` of an equal object returned."""
        try:
            for name in self.STATE:
                setattr(self, name, _like(getattr(self, name), state[name]))
        except (KeyError, ValueError) as error:
            raise InputError(f"these are no counts of the same kind ({error})") from error


# a longer array is a histogram, of which only what is not 0 is kept
LONG = 1000


def _as_array(value: Any) -> np.ndarray:
    if value is None:
        return np.empty(0)
    if isinstance(value, np.ndarray) and value.size > LONG:
        places = np.flatnonzero(value)
        return np.stack([places, value.reshape(-1)[places]])
    return np.array(list(value.values()) if isinstance(value, dict) else value).copy()


def _like(value: Any, array: np.ndarray) -> Any:
    if isinstance(value, np.ndarray) and value.size > LONG:
        places, counts = array
        if len(places) and not 0 <= places.min() <= places.max() < value.size:
            raise ValueError("a place in a histogram is out of range")
        whole = np.zeros(value.size, dtype=value.dtype)
        whole[places] = counts
        return whole.reshape(value.shape)
    if isinstance(value, np.ndarray):
        return array.reshape(value.shape).astype(value.dtype)
    if isinstance(value, dict):
        return dict(zip(value, array.tolist(), strict=True))
    return array.reshape(-1)[0].item() if array.size else None
