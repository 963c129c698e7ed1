"""Output files that are whole or not there, and the writers of predictions."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from crossview.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_writable", "replacing", "writing"]

STDOUT = "-"


def check_writable(path: Path) -> None:
    """Refuse early what could not be written at the end."""
    if path.is_dir():
        raise InputError("is a folder; name a file in it", file=str(path))
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {str(path.parent)!r}; make it", file=str(path))
    if not os.access(path.parent, os.W_OK):
        raise InputError("its folder cannot be written to", file=str(path))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name to write to, renamed to ``path`` at the end; nothing is left where it fails."""
    check_writable(path)
    try:
        # in the same folder, so that the last step is a rename
        with tempfile.TemporaryDirectory(prefix=".crossview-", dir=path.parent) as folder:
            unfinished = Path(folder) / path.name
            yield unfinished
            os.replace(unfinished, path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=str(path)) from error


@contextmanager
def writing(output: str, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """A function that writes batches to a .csv, .parquet or .jsonl file, or CSV to stdout."""
    if output == STDOUT:
        with _csv(sys.stdout.buffer, schema) as write:
            yield write
        return
    path = Path(output)
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        raise InputError(f"write to a name that ends in {', '.join(_WRITERS)}", file=output)
    with (
        replacing(path) as unfinished,
        unfinished.open("wb") as file,
        _WRITERS[suffix](file, schema) as write,
    ):
        yield write


@contextmanager
def _csv(file: IO[bytes], schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    from pyarrow import csv

    options = csv.WriteOptions(quoting_style="needed")
    with csv.CSVWriter(file, schema, write_options=options) as writer:
        yield writer.write_batch


@contextmanager
def _parquet(file: IO[bytes], schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    from pyarrow import parquet

    with parquet.ParquetWriter(file, schema) as writer:
        yield writer.write_batch


@contextmanager
def _jsonl(file: IO[bytes], schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    def write(batch: pa.RecordBatch) -> None:
        lines = (json.dumps(row, ensure_ascii=False, default=str) for row in batch.to_pylist())
        file.writelines(f"{line}\n".encode() for line in lines)

    yield write


_WRITERS: dict[str, Any] = {".csv": _csv, ".parquet": _parquet, ".jsonl": _jsonl}
