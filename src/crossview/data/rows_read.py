"""The rows that a run has read: how many of each file, and a hash of their content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from crossview.errors import InputError, cannot_import
from crossview.readers.source import Batch
from crossview.saving.schema import MAX_COUNT, Array, check_state
from crossview.tables.arrow import decoded, numbers_of, pyarrow
from crossview.tables.columns import plain_kinds
from crossview.views import MultiView

ADVICE = "bring them back, or remove the checkpoint to train from the first row"

_STATE = {
    "rows": Array("i8", ("blocks",), 0, MAX_COUNT),
    "whole": Array("b1", ("blocks",)),
    "hashes": Array("u1", ("blocks", 16), 0, 255),
}


class _Block(NamedTuple):
    """Rows of a file or row group that were read: their number, hash, and whether those are all."""

    n_rows: int
    hash: bytes
    whole: bool


class RowsRead:
    """Record of the number of rows of each file or row group that were read, and a hash of them.

    A row is hashed when it is read for the first time, in the order of its file; so it does not
    matter in which order row groups are read, nor how often.  ``starts`` are the rows of each file
    at which its row groups begin, from 0; the file None stands for no file.
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
        """Yield the batches, and keep a record of their rows.

        They begin with the first row of the source, or row groups come in random order
        (``shuffled``).
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
        starts, n = self._starts[batch.file], len(batch)
        first, stop = batch.first_row, batch.first_row + n
        at = int(np.searchsorted(starts, first, "right")) - 1
        while first < stop:
            start = int(starts[at])
            end = min(stop, int(starts[at + 1])) if at + 1 < len(starts) else stop
            number = self._numbers[batch.file, start]
            yield number, first - start, batch.cut(first - batch.first_row, end - batch.first_row)
            first, at = end, at + 1

    def _add(self, number: int, done: int, part: Batch) -> None:
        """Hash those rows that are new, in two parts where an earlier run has stopped."""
        known, n = self._blocks[number].n_rows, done + len(part)
        if known >= n:
            return
        hashed = self._open.setdefault(number, ContentHash())
        wanted = self._wanted.get(number)
        stops = [n] if wanted is None or not known < wanted.n_rows < n else [wanted.n_rows, n]
        for stop in stops:
            hashed.add(part.cut(known - done, stop - done))
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
        """Raise an error if an earlier run, whose checkpoint holds the state, has read other rows.

        ``batches`` are what `watch` yields, in the order of the source.
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
        """Return whether the rows of a block that an earlier run has read are read again."""
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


# of numbers; with more, Arrow takes long to look at the buffers of each
MANY = 64

# a stream of bytes by its name, and the next of its bytes
Piece = tuple[str, Any]


class ContentHash:
    """A hash of rows that come one after the other, and their number.

    It is the same in however many batches they come, sliced or not, as text or as a dictionary of
    it, and whatever lies beneath a missing value.  Each column has streams of bytes of its own: the
    values, the lengths of text, and the places of what is missing.  None of them says where a batch
    ends.
    """

    def __init__(self) -> None:
        self._streams: dict[str, Any] = {}
        self.n_rows = 0

    def add(self, batch: Batch) -> None:
        """Add the next rows."""
        of_kind = _of_views if isinstance(batch.X, MultiView) else _of_columns
        for name, content in of_kind(batch, self.n_rows):
            if name not in self._streams:
                self._streams[name] = _xxhash()
            self._streams[name].update(content)
        self.n_rows += len(batch)

    def digest(self) -> bytes:
        """Return the hash of all rows so far, 16 bytes."""
        whole = _xxhash(str(self.n_rows).encode())
        for name in sorted(self._streams):
            whole.update(name.encode(errors="surrogatepass") + self._streams[name].digest())
        return bytes(whole.digest())


def hash_of(array: np.ndarray) -> str:
    """Return a hash of the values of an array in memory, such as labels."""
    content = next(_labels(array))[1] if array.dtype.hasobject else np.ascontiguousarray(array)
    return str(_xxhash(content).hexdigest())


def _xxhash(content: Any = b"") -> Any:
    try:
        import xxhash
    except ImportError as error:
        raise cannot_import("a checkpoint", "xxhash", error) from None
    return xxhash.xxh3_128(content)


def _of_columns(batch: Batch, first: int) -> Iterator[Piece]:
    data, kinds = batch.X, batch.X.schema.types
    numbers = {i for i, kind in enumerate(kinds) if kind in plain_kinds()}
    if len(numbers) <= MANY or pyarrow().float64() not in kinds:
        numbers = set()
    else:  # all at once, as the encoder takes them; a missing one is NaN, which else is an error
        tensor = data.select(sorted(numbers)).to_tensor(null_to_nan=True, row_major=True)
        yield "numbers", tensor.to_numpy()
    for i in range(len(kinds)):
        if i not in numbers:
            yield from _column(str(i), data.column(i), first)


def _column(name: str, column: Any, first: int) -> Iterator[Piece]:
    """An Arrow array; ``first`` is the number of rows before."""
    pa, column = pyarrow(), decoded(column)
    kind = column.type
    if str(kind) in ("string", "string_view"):
        column = column.cast(pa.large_string())
        kind = column.type
    is_text, is_truth = pa.types.is_large_string(kind), pa.types.is_boolean(kind)
    if not (is_text or is_truth or pa.types.is_primitive(kind) or pa.types.is_decimal(kind)):
        yield f"{name} {kind}", _written(column.to_pylist())  # nobody has many of them
        return
    if column.null_count:
        yield f"{name} missing", np.flatnonzero(~numbers_of(column.is_valid())) + first
        column = column.drop_null()
    if not len(column):
        return
    if is_text:
        yield from _text(f"{name} text", column)
    elif is_truth:
        yield f"{name} {kind}", numbers_of(column).view(np.uint8)
    else:
        width, values = kind.bit_width // 8, column.buffers()[1]
        yield f"{name} {kind}", values.slice(column.offset * width, len(column) * width)


def _written(values: list[Any]) -> bytes:
    return "".join(f"{value!r}\n" for value in values).encode()


def _text(name: str, column: Any) -> Iterator[Piece]:
    _, offsets, values = column.buffers()
    places = np.frombuffer(offsets, dtype=np.int64, count=len(column) + 1, offset=8 * column.offset)
    yield f"{name} lengths", np.diff(places)
    if places[-1] > places[0]:
        yield name, values.slice(places[0], places[-1] - places[0])


def _of_views(batch: Batch, first: int) -> Iterator[Piece]:
    X: MultiView = batch.X
    matrix = X.matrix
    if sp.issparse(matrix):
        narrow = X.layout.n_columns <= np.iinfo(np.int32).max
        yield "entries", np.diff(matrix.indptr).astype(np.int64, copy=False)
        yield "columns", matrix.indices.astype(np.int32 if narrow else np.int64, copy=False)
        yield "values", np.ascontiguousarray(matrix.data)
    else:
        yield "dense", np.ascontiguousarray(matrix)
    if X.present is not None and not X.present.all():
        yield "missing", np.flatnonzero(~X.present) + first * X.layout.n_views
    if batch.y is not None:
        yield from _labels(batch.y)
    if batch.weight is not None:
        yield "weights", np.ascontiguousarray(batch.weight, dtype=np.float64)


def _labels(y: np.ndarray) -> Iterator[Piece]:
    """The labels, numbers or text; some batches may have whole numbers, and others None, too."""
    if y.dtype.kind not in "biuf":
        values = y.tolist()
        if not all(value is None or isinstance(value, int | float) for value in values):
            yield "names", _written(values)
            return
        y = np.array([np.nan if value is None else value for value in values])
    yield "labels", np.ascontiguousarray(y, dtype=np.float64)
