"""A hash of the content of rows, whatever the batches and buffers in which they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.data.arrow import numbers_of, pyarrow
from crossview.data.encoding.columns import plain_kinds
from crossview.data.source import RowBatch, TableBatch
from crossview.errors import InputError
from crossview.views import MultiView

__all__ = ["ContentHash", "hash_of"]

# of numbers; with more, Arrow takes long to look at the buffers of each
MANY = 64

# a stream of bytes by its name, and the next of its bytes
Piece = tuple[str, Any]


class ContentHash:
    """A hash of rows that come one after the other.

    It is the same in however many batches they come, sliced or not, as text or as a dictionary of
    it, and whatever lies beneath a missing value.  Each column has streams of bytes of its own: the
    values, the lengths of text, and the places of what is missing.  None of them says where a batch
    ends.

    Attributes
    ----------
    n_rows : int
        Number of rows so far.
    """

    def __init__(self) -> None:
        self._streams: dict[str, Any] = {}
        self.n_rows = 0

    def add(self, batch: TableBatch | RowBatch) -> None:
        """Add the next rows."""
        if isinstance(batch, TableBatch):
            pieces, n = _of_table(batch, self.n_rows), batch.data.num_rows
        else:
            pieces, n = _of_views(batch, self.n_rows), len(batch.X)
        for name, content in pieces:
            if name not in self._streams:
                self._streams[name] = _xxhash()
            self._streams[name].update(content)
        self.n_rows += n

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
    except ImportError:
        raise InputError("a checkpoint needs xxhash: pip install xxhash") from None
    return xxhash.xxh3_128(content)


def _of_table(batch: TableBatch, first: int) -> Iterator[Piece]:
    data, kinds = batch.data, batch.data.schema.types
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
    pa = pyarrow()
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
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


def _of_views(batch: RowBatch, first: int) -> Iterator[Piece]:
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
