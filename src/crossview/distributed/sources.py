"""Rows that workers read: files, or partitions of a Dask data frame, as blocks.

The partitions of a data frame are read where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from crossview.distributed.cluster import n_threads
from crossview.errors import InputError
from crossview.readers.columnar.memory import MemorySource
from crossview.readers.source import Batch, Source
from crossview.tables.arrow import first_line, pyarrow, to_arrow


class FrameSource:
    """Partitions of a data frame as a table: on the client their number, on a worker the frames."""

    def __init__(self, schema: Any, frames: Sequence[Any]) -> None:
        self.schema = schema
        self.blocks = list(frames)
        self.files: Sequence[str] = []
        self.n_rows: int | None = None

    def of_blocks(self, blocks: Sequence[Any]) -> FrameSource:
        """Return some of the partitions."""
        return FrameSource(self.schema, blocks)

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[Batch]:
        """Yield the rows with these columns."""
        pa = pyarrow()
        schema = pa.schema([self.schema.field(name) for name in columns])
        row = 0
        for frame in self.blocks:
            try:
                table = to_arrow(frame, columns).cast(schema)
            except pa.ArrowException as error:
                raise InputError(
                    f"a partition of the data frame differs from its types: {first_line(error)}"
                ) from None
            for batch in MemorySource(table).batches(columns, batch_rows):
                yield Batch(batch.X, None, row + batch.first_row)
            row += table.num_rows


def is_dask_frame(X: Any) -> bool:
    """Return whether it is a data frame of Dask."""
    return type(X).__module__.startswith("dask.dataframe") and hasattr(X, "to_delayed")


def open_frame(X: Any) -> tuple[Source, list[Any]]:
    """Return the columns of a Dask data frame, and its partitions."""
    pa = pyarrow()
    import pandas as pd  # type: ignore[import-untyped]

    # without rows objects have no type, and categories may differ between partitions
    empty = {name: pd.Series(dtype=str(kind)) for name, kind in X.dtypes.items()}
    schema = to_arrow(pd.DataFrame(empty)).schema.remove_metadata()
    for i, field in enumerate(schema):
        if pa.types.is_null(field.type) or pa.types.is_dictionary(field.type):
            schema = schema.set(i, field.with_type(pa.large_string()))
    partitions = X.to_delayed()
    return Source(FrameSource(schema, range(len(partitions)))), partitions


def frames_as_table(stream: Source, frames: Sequence[Any]) -> Source:
    """Return the columns of a stream with the rows of these partitions."""
    return Source(FrameSource(stream.schema, frames), stream.column_names, stream.batch_rows)


def check_partitions(n: int | None) -> None:
    """Raise an error for a number of partitions that is none."""
    if n is not None and n < 1:
        raise InputError(f"n_partitions={n}; give 1 or more")


def find_partitions(client: Any, n_blocks: int, n: int | None, file: str | None) -> int:
    """Return the number of partitions; None: as many as the cluster has threads, or blocks."""
    n = min(n_threads(client), n_blocks) if n is None else n
    check_blocks(n_blocks, max(n, 1), file)
    return n


def check_blocks(n_blocks: int, n: int, file: str | None) -> None:
    """Raise an error if there are fewer files or row groups than partitions."""
    if not n_blocks:
        raise InputError(
            "workers read the rows themselves: give files, such as 'clicks/*.parquet', or a Dask "
            "data frame"
        )
    if n_blocks < n:
        raise InputError(
            f"{n} partitions of {n_blocks} files or row groups; ask for fewer partitions, or write "
            "the rows to more files (of Parquet: to smaller row groups; of a Dask data frame: "
            "repartition it)",
            file=file,
        )


def cut_evenly(n_blocks: int, n: int) -> list[tuple[int, int]]:
    """Return n consecutive ranges of blocks, whose sizes differ by one at most.

    >>> from crossview.distributed.sources import cut_evenly
    >>> cut_evenly(5, 2)
    [(0, 2), (2, 5)]
    """
    return list(pairwise(n_blocks * k // n for k in range(n + 1)))
