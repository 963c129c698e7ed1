"""Counts that can be kept, and taken up again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from crossview.saving.schema import MAX_COUNT, Array, check_state

# a longer array is a histogram, of which only what is not 0 is kept
LONG = 1000

COUNT = Array("i8", (1,), 0, MAX_COUNT)


def counts_of_shape(shape: tuple[int, ...]) -> Array:
    """Return what an array of counts looks like when it is kept."""
    size = int(np.prod(shape))
    if size <= LONG:
        return Array("i8", shape, 0, MAX_COUNT)
    return Array("i8", (2, "kept"), low=[[0], [0]], high=[[size - 1], [MAX_COUNT]])


def sum_of(n: int | None = None, *, low: float = 0.0) -> Array:
    """Return what a sum, or some of them, looks like: what it adds up is ``low`` or more."""
    return Array("f8", (1 if n is None else n,), low, np.inf)


class Resumable:
    """Base of counts whose state is some numbers and arrays, which `_state_schema` names.

    A dict of numbers with fixed keys is kept as an array; numbers in ``OPTIONAL`` may be None.
    """

    OPTIONAL: ClassVar[tuple[str, ...]] = ()

    def _state_schema(self) -> dict[str, Array]:
        """Return the attributes to keep, and what each looks like."""
        raise NotImplementedError

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the counts as arrays."""
        return {name: _as_array(getattr(self, name)) for name in self._state_schema()}

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from counts that `get_state` of an equal object returned; all else is an error."""
        schema = self._state_schema()
        unknown = {k for k in self.OPTIONAL if k in state and state[k].shape == (0,)}
        known = {name: array for name, array in state.items() if name not in unknown}
        wanted = {name: array for name, array in schema.items() if name not in unknown}
        check_state(known, wanted, "the counts")
        for name in schema:
            like = getattr(self, name)
            setattr(self, name, None if name in unknown else _like(like, state[name]))


def _as_array(value: Any) -> np.ndarray:
    if value is None:
        return np.empty(0)
    if isinstance(value, np.ndarray) and value.size > LONG:
        places = np.flatnonzero(value)
        return np.stack([places, value.reshape(-1)[places]])
    values = list(value.values()) if isinstance(value, dict) else value
    return np.atleast_1d(np.array(values))


def _like(value: Any, array: np.ndarray) -> Any:
    if isinstance(value, np.ndarray) and value.size > LONG:
        places, counts = array
        whole = np.zeros(value.size, dtype=value.dtype)
        whole[places] = counts
        return whole.reshape(value.shape)
    if isinstance(value, np.ndarray):
        return array.copy()
    if isinstance(value, dict):
        return dict(zip(value, array.tolist(), strict=True))
    return array.item()
