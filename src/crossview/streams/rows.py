"""Views and labels of sparse files as a stream of batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crossview.catalog.names import load_object
from crossview.errors import InputError
from crossview.streams.source import RowBatch, RowSource, find_reader

__all__ = ["RowStream", "open_rows"]


class RowStream:
    """Iterable over the batches of rows with views and labels.

    Parameters
    ----------
    source : RowSource
        A sparse reader.
    batch_rows : int
        Maximum number of rows per batch.

    Attributes
    ----------
    layout : ViewLayout
        Names and widths of the views.
    files : list of str
        The files, in reading order.
    """

    def __init__(self, source: RowSource, batch_rows: int) -> None:
        self._source = source
        self._batch_rows = batch_rows
        self.layout = source.layout
        self.files = list(source.files)

    @property
    def n_rows(self) -> int:
        """Number of rows; a source that does not know it is read once."""
        if self._source.n_rows is None:
            for _ in self:
                pass
        assert self._source.n_rows is not None
        return self._source.n_rows

    def __iter__(self) -> Iterator[RowBatch]:
        n_rows = 0
        for batch in self._source.batches(self._batch_rows):
            n_rows += len(batch.X)
            yield batch
        self._source.n_rows = n_rows


def open_rows(source: Any, *, batch_rows: int = 65536) -> RowStream:
    """Open sparse files for reading in batches.

    Parameters
    ----------
    source : path, glob or list of paths
        Files that a sparse reader of `crossview.catalog` reads.
    batch_rows : int, default=65536
        Maximum number of rows per batch.

    Returns
    -------
    RowStream
        Iterate over it, as often as needed.
    """
    if isinstance(source, RowStream):
        return source
    if batch_rows < 1:
        raise InputError(f"batch_rows={batch_rows}; a batch has at least 1 row")
    reader, content = find_reader(source)
    if reader.kind != "sparse":
        raise InputError(f"is {reader.name}, which has columns and no views", file=content[0])
    return RowStream(load_object(reader.path)(content), int(batch_rows))
