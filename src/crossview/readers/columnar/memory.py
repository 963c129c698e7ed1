"""Data frames in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from crossview.readers.source import Batch
from crossview.tables.arrow import check_text, pyarrow, to_arrow


class MemorySource:
    """A data frame, through Arrow."""

    in_memory = True

    def __init__(self, frame: Any) -> None:
        pa = pyarrow()
        arrow = to_arrow(frame)
        self._table = arrow if isinstance(arrow, pa.Table) else pa.Table.from_batches([arrow])
        self.files: Sequence[str] = []
        self.schema = self._table.schema.remove_metadata()
        self.n_rows: int | None = self._table.num_rows

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[Batch]:
        """Yield the rows with these columns."""
        row = 0
        for data in self._table.select(columns).to_batches(max_chunksize=batch_rows):
            check_text(data, None)
            yield Batch(data, None, row)
            row += data.num_rows
