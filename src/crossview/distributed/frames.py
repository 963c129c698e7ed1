"""Dask data frames: their partitions are read where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from crossview.data.arrow import first_line, pyarrow, to_arrow
from crossview.data.labeled import LabeledSource
from crossview.data.readers.memory import MemorySource
from crossview.data.source import Batch, Source
from crossview.errors import InputError


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


def with_frames(source: LabeledSource, frames: Sequence[Any]) -> LabeledSource:
    """Return the rows of these partitions, which are here now."""
    return source.with_sources(lambda stream: frames_as_table(stream, frames))


def frames_as_table(stream: Source, frames: Sequence[Any]) -> Source:
    """Return the columns of a stream with the rows of these partitions."""
    return Source(FrameSource(stream.schema, frames), stream.column_names, stream.batch_rows)
