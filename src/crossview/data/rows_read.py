"""What a run has read of its source, so that a later one can tell whether it is the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from crossview.data.content import ContentHash
from crossview.data.source import RowBatch, TableBatch
from crossview.errors import InputError
from crossview.saving.schema import MAX_COUNT, Array, check_state

__all__ = ["RowsRead"]

ADVICE = "bring them back, or remove the checkpoint to train from the first row"

Batch = TypeVar("Batch", bound=TableBatch | RowBatch)

_STATE = {
    "rows": Array("i8", ("blocks",), 0, MAX_COUNT),
    "whole": Array("b1", ("blocks",)),
    "hashes": Array("u1", ("blocks", 16), 0, 255),
}


class _Block(NamedTuple):
    """What was read of a file or row group: so many rows, their hash, and whether those are all."""

    n_rows: int
    hash: bytes
    whole: bool


class RowsRead:
    """How many rows of each file or row group were read, and a hash of them.

    A row is hashed when it is read for the first time, in the order of its file; so it does not
    matter in which order row groups are read, nor how often.

    Parameters
    ----------
    starts : mapping of (str or None) to sequence of int
        Of each file the rows at which its row groups begin, from 0; None is what is in no file.
    """

    def __init__(self, starts: Mapping[str | None, Sequence[int]]) -> None:
        self._starts = {file: np.unique(rows) for file, rows in starts.items()}
        self._places = [(file, row) for file, rows in self._starts.items() for row in rows.tolist()]
        self._numbers = {place: i for i, place in enumerate(self._places)}
        self._blocks = [_Block(0, bytes(16), False) for _ in self._places]
        self._open: dict[int, ContentHash] = {}  # those of which more may come
        self._wanted: dict[int, _Block] = {}  # by the run of this checkpoint
        self._checkpoint = ""

    def watch(self, batches: Iterable[Batch], *, shuffled: bool = False) -> Iterator[Batch]:
        """Yield the batches, and take note of their rows.

        Parameters
        ----------
        batches : iterable of TableBatch or RowBatch
            They begin with the first row of the source, or the row groups come in random order.
        shuffled : bool, default=False
            Whether they do that.

        Yields
        ------
        TableBatch or RowBatch
            The same.
        """
        last: int | None = None
        for batch in batches:
            for number, done, part in self._parts(batch):
                if number != last:
                    left = [] if last is None else [last]  # some have no rows, and are never seen
                    self._close(left if shuffled else range(last or 0, number))
                    last = number
                self._add(number, done, part)
            yield batch
        self._close(range(len(self._blocks)))

    def _close(self, numbers: Iterable[int]) -> None:
        """Take note that these have no more rows."""
        for number in numbers:
            if not self._blocks[number].whole:
                self._blocks[number] = self._blocks[number]._replace(whole=True)
                self._open.pop(number, None)

    def _parts(self, batch: Batch) -> Iterator[tuple[int, int, Batch]]:
        """Cut a batch at row groups: the number of each, its rows before, and those here."""
        starts, n = self._starts[batch.file], _length(batch)
        first, stop = batch.first_row, batch.first_row + n
        at = int(np.searchsorted(starts, first, "right")) - 1
        while first < stop:
            start = int(starts[at])
            end = min(stop, int(starts[at + 1])) if at + 1 < len(starts) else stop
            number = self._numbers[batch.file, start]
            yield number, first - start, _cut(batch, first - batch.first_row, end - batch.first_row)
            first, at = end, at + 1

    def _add(self, number: int, done: int, part: Batch) -> None:
        """Hash those rows that are new, in two parts where an earlier run has stopped."""
        known, n = self._blocks[number].n_rows, done + _length(part)
        if known >= n:
            return
        hashed = self._open.setdefault(number, ContentHash())
        wanted = self._wanted.get(number)
        stops = [n] if wanted is None or not known < wanted.n_rows < n else [wanted.n_rows, n]
        for stop in stops:
            hashed.add(_cut(part, known - done, stop - done))
            known = stop
            block = _Block(known, hashed.digest(), False)
            if wanted is not None and known == wanted.n_rows and block.hash != wanted.hash:
                self._refuse(number)
        self._blocks[number] = block

    def get_state(self) -> dict[str, np.ndarray]:
        """Return what was read, as arrays."""
        blocks = list(self._blocks)
        hashes = np.frombuffer(b"".join(block.hash for block in blocks), dtype=np.uint8)
        return {
            "rows": np.array([block.n_rows for block in blocks], dtype=np.int64),
            "whole": np.array([block.whole for block in blocks]),
            "hashes": hashes.reshape(-1, 16),
        }

    def check(self, state: Mapping[str, np.ndarray]) -> None:
        """Raise an error for arrays that are no state."""
        check_state(state, _STATE, "the rows that were read")

    def compare(
        self, state: Mapping[str, np.ndarray], batches: Iterable[Any], checkpoint: str
    ) -> None:
        """Raise an error if an earlier run has read other rows.

        Parameters
        ----------
        state : mapping of str to ndarray
            What it has read; it was checked.
        batches : iterable
            What `watch` yields, in the order of the source.
        checkpoint : str
            The file that has kept the state.
        """
        if len(state["rows"]) != len(self._blocks):
            raise InputError(
                f"is of another run: the source had {len(state['rows']):,} files or row groups, "
                f"and has {len(self._blocks):,}; {ADVICE}",
                file=checkpoint,
            )
        rows, whole = state["rows"].tolist(), state["whole"].tolist()
        blocks = map(_Block, rows, map(bytes, state["hashes"]), whole)
        self._wanted = {i: one for i, one in enumerate(blocks) if one.n_rows or one.whole}
        self._checkpoint = checkpoint
        for _ in batches:
            if all(map(self._is_there, self._wanted)):
                break
        for number in self._wanted:
            if not self._is_there(number):
                self._refuse(number)
        self._wanted = {}

    def _is_there(self, number: int) -> bool:
        """Whether the rows that an earlier run has read of a block are read again."""
        wanted, found = self._wanted[number], self._blocks[number]
        if wanted.whole:
            return found.whole and found.n_rows == wanted.n_rows
        return found.n_rows >= wanted.n_rows

    def _refuse(self, number: int) -> None:
        (file, start), wanted = self._places[number], self._wanted[number]
        which = f"its rows {start:,} to {max(start + wanted.n_rows - 1, start):,}"
        raise InputError(
            f"{which} are not those that the run of {self._checkpoint} has read; {ADVICE}",
            file=file or "the source",
        )


def _length(batch: TableBatch | RowBatch) -> int:
    return batch.data.num_rows if isinstance(batch, TableBatch) else len(batch.X)


def _cut(batch: Any, start: int, stop: int) -> Any:
    """Consecutive rows of a batch; their place does not matter."""
    if stop - start == _length(batch):
        return batch
    if isinstance(batch, TableBatch):
        return batch._replace(data=batch.data.slice(start, stop - start))
    rows = slice(start, stop)
    weight = None if batch.weight is None else batch.weight[rows]
    return batch._replace(X=batch.X[rows], y=batch.y[rows], weight=weight)
