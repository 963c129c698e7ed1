"""Rows of a stream in random order: exactly where they fit in memory, by blocks elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from crossview.errors import InputError, argument

# rows that take more than this are shuffled by blocks
MAX_BYTES = 512 * 2**20
# the share of it that a buffer takes, because the rows that stay are copied: three quarters in all
BUFFER_SHARE = 0.5


class Rows(Protocol):
    """Interface of rows that can be taken by position and joined."""

    @property
    def nbytes(self) -> int:
        """Their size in memory."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def take(self, rows: np.ndarray | slice) -> Self:
        """Return some of the rows, in this order."""

    @classmethod
    def join(cls, parts: list[Self]) -> Self:
        """Return the rows of all parts."""

    def packed(self) -> Self:
        """Return the same rows, ready to be taken in many parts."""


Batch = TypeVar("Batch", bound=Rows)


class Shuffled(Generic[Batch]):
    """The rows of a source in random order; each iteration has another one.

    Rows of at most `MAX_BYTES`, or of any size if they are in memory already, are read once and
    kept, and all their orders are equally likely: then ``exact`` is True, after the first
    iteration.  The order depends on the seed and the number of rows only.  More rows pass through a
    buffer of half that size: whenever it is full, a random half of its rows leave it.  So a row is
    mixed with those that are read within some buffers of it, and the blocks of the source, where it
    has some, are read in random order.

    ``read(None)`` yields the rows in their order; with a generator of random numbers, blocks of
    them in random order if it can.  ``order_state`` is that of the random numbers before the last
    iteration; an iteration after `set_order` of it has the same order.
    """

    def __init__(
        self,
        read: Callable[[np.random.Generator | None], Iterator[Batch]],
        *,
        seed: int,
        batch_rows: int,
        in_memory: bool = False,
    ) -> None:
        self._read = read
        self._rng = np.random.default_rng(seed)
        self.order_state = self._rng.bit_generator.state
        self._batch_rows = batch_rows
        self._max_bytes = np.inf if in_memory else MAX_BYTES
        self._all: Batch | None = None
        self.exact: bool | None = None

    def set_order(self, state: Mapping[str, Any]) -> None:
        """Let the next iteration have the order of that before which the state was this one."""
        try:
            self._rng.bit_generator.state = state
        except (LookupError, OverflowError, TypeError, ValueError):
            raise InputError("the order of a pass is no state of random numbers") from None

    def __iter__(self) -> Iterator[Batch]:
        self.order_state = self._rng.bit_generator.state
        if self.exact is None:
            buffer = _Buffer(self._read(None), self._max_bytes)
            self.exact = buffer.exhausted
            if self.exact and buffer.batches:
                self._all = type(buffer.batches[0]).join(buffer.batches).packed()
            del buffer
        if not self.exact:
            yield from self._by_blocks()
        elif self._all is not None:
            yield from self._taken(self._all, self._rng.permutation(len(self._all)))

    def _by_blocks(self) -> Iterator[Batch]:
        blocks = self._read(self._rng)
        kept: list[Batch] = []
        while True:
            buffer = _Buffer(blocks, BUFFER_SHARE * self._max_bytes, kept)
            rows = type(buffer.batches[0]).join(buffer.batches).packed()
            order = self._rng.permutation(len(rows))
            if buffer.exhausted:
                yield from self._taken(rows, order)
                return
            half = len(rows) // 2
            yield from self._taken(rows, order[:half])
            kept = list(self._taken(rows, np.sort(order[half:])))
            del buffer, rows  # before the buffer is filled again

    def _taken(self, rows: Batch, order: np.ndarray) -> Iterator[Batch]:
        for start in range(0, len(order), self._batch_rows):
            yield rows.take(order[start : start + self._batch_rows])


class _Buffer(Generic[Batch]):
    """Batches up to a size: those kept, and then the next ones."""

    def __init__(
        self, coming: Iterator[Batch], max_bytes: float, kept: list[Batch] | None = None
    ) -> None:
        self.batches = kept or []
        self.exhausted = False
        size = sum(batch.nbytes for batch in self.batches)
        for batch in coming:
            self.batches.append(batch)
            size += batch.nbytes
            if size > max_bytes:
                return
        self.exhausted = True


def check_sortable(n_bytes: float, file: str | None) -> None:
    """Raise the error of `take_in_order` for rows that are known to take so much memory."""
    if n_bytes > MAX_BYTES:
        raise _too_large(file)


def _too_large(file: str | None = None) -> InputError:
    return InputError(
        f"the rows take more than {MAX_BYTES / 2**20:,.0f} MB, and are sorted by "
        f"{argument('time')} in memory; give a query with ORDER BY instead",
        file=file,
    )


def take_in_order(
    batches: Iterator[Batch],
    sort: Callable[[Batch], tuple[Batch, np.ndarray]],
    in_memory: bool,
    batch_rows: int,
) -> Iterator[Batch]:
    """Yield all rows in order; an error if they do not fit in memory.

    ``sort`` returns the rows to yield, and their positions in order.
    """
    buffer = _Buffer(batches, np.inf if in_memory else MAX_BYTES)
    if not buffer.exhausted:
        raise _too_large()
    if buffer.batches:
        rows = type(buffer.batches[0]).join(buffer.batches).packed()
        del buffer
        rows, order = sort(rows)
        for start in range(0, len(order), batch_rows):
            yield rows.take(order[start : start + batch_rows])


def regroup(batches: Iterator[Batch], batch_rows: int, first: int = 0) -> Iterator[Batch]:
    """Yield the same rows in batches of ``batch_rows``, whatever the batches of the source.

    The first batch has ``first`` rows (0: as the others), and the last one may have fewer.
    """
    held: list[Batch] = []
    missing = first or batch_rows
    for batch in batches:
        start = 0
        while len(batch) - start >= missing:
            whole = start == 0 and missing == len(batch)
            held.append(batch if whole else batch.take(slice(start, start + missing)))
            yield held[0] if len(held) == 1 else type(batch).join(held)
            start += missing
            held, missing = [], batch_rows
        if start < len(batch):
            held.append(batch.take(slice(start, None)))
            missing -= len(batch) - start
    if held:
        yield type(held[0]).join(held)
