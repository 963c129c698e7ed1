"""Arrow record batches to files: CSV, Parquet and JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from crossview.errors import InputError
from crossview.saving.files import (
    CSV,
    JSON_LINES,
    PARQUET,
    Kind,
    check_writable,
    is_stream,
    replacing,
)
from crossview.tables.arrow import first_line, pyarrow

if TYPE_CHECKING:
    import pyarrow as pa


def check_table(
    path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Raise an error if a table cannot or must not be written, before the work starts."""
    check_writable(path, _format(Path(path)).kind, inputs)


@contextmanager
def writing(
    path: str | os.PathLike[str], schema: pa.Schema
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Yield a function that writes record batches to a file, atomically.

    Its name ends in ``.csv``, ``.parquet`` or ``.jsonl``; a device or FIFO takes CSV by any other
    name.
    """
    known = _format(Path(path))
    with (
        replacing(path, known.kind) as unfinished,
        unfinished.open("wb") as file,
        table_errors(path),
        known.write(file, schema) as write,
    ):
        yield write


@contextmanager
def table_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of Arrow, such as that CSV has no lists, into an `InputError` of one line."""
    pa = pyarrow()
    try:
        yield
    except pa.ArrowException as error:
        raise InputError(
            f"cannot hold this table ({first_line(error)}); leave the column out, or convert it",
            file=str(path),
        ) from None


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


class _Format(NamedTuple):
    """A format of tables: the kind of its files, and what writes one."""

    kind: Kind
    write: Callable[..., AbstractContextManager[Callable[..., None]]]


_FORMATS = {
    ".csv": _Format(CSV, write_csv),
    ".parquet": _Format(PARQUET, _write_parquet),
    ".jsonl": _Format(JSON_LINES, _write_json_lines),
}


def _format(path: Path) -> _Format:
    """The format that the end of a name stands for."""
    known = _FORMATS.get(path.suffix.lower())
    if known is None and is_stream(path):
        known = _FORMATS[".csv"]
    if known is None:
        raise InputError(f"write to a name that ends in {', '.join(_FORMATS)}", file=str(path))
    return known
