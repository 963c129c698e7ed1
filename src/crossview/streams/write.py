"""Arrow record batches to files: CSV, Parquet and JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from crossview.errors import InputError
from crossview.files import replacing

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["write_csv", "writing"]


@contextmanager
def writing(
    path: str | os.PathLike[str], schema: pa.Schema
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Yield a function that writes record batches to a file, atomically.

    Parameters
    ----------
    path : path-like
        Ends in ``.csv``, ``.parquet`` or ``.jsonl``.
    schema : pyarrow.Schema
        Of the batches.

    Yields
    ------
    write : callable
        Takes a record batch.
    """
    path = Path(path)
    writer = _WRITERS.get(path.suffix.lower())
    if writer is None:
        raise InputError(f"write to a name that ends in {', '.join(_WRITERS)}", file=str(path))
    with (
        replacing(path) as unfinished,
        unfinished.open("wb") as file,
        writer(file, schema) as write,
    ):
        yield write


@contextmanager
def write_csv(file: IO[bytes], schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Yield a function that writes record batches as CSV to an open file."""
    from pyarrow import csv

    options = csv.WriteOptions(quoting_style="needed")
    with csv.CSVWriter(file, schema, write_options=options) as writer:
        yield writer.write_batch


@contextmanager
def _write_parquet(
    file: IO[bytes], schema: pa.Schema
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    from pyarrow import parquet

    with parquet.ParquetWriter(file, schema) as writer:
        yield writer.write_batch


@contextmanager
def _write_json_lines(
    file: IO[bytes], schema: pa.Schema
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    def write(batch: pa.RecordBatch) -> None:
        lines = (json.dumps(row, ensure_ascii=False, default=str) for row in batch.to_pylist())
        file.writelines(f"{line}\n".encode() for line in lines)

    yield write


_WRITERS: dict[str, Callable[..., AbstractContextManager[Callable[..., None]]]] = {
    ".csv": write_csv,
    ".parquet": _write_parquet,
    ".jsonl": _write_json_lines,
}
