"""Interface of the readers.

The entry of a reader in `crossview.catalog` names its class and its kind.  The class is made from
the list of its files (a query from its text, a table in memory from the table), and finds out all
that can be known before the rows are read.  Both kinds have

``files``
    The files, in reading order; none for a query or a table in memory.
``n_rows``
    The number of rows, or None if it is not known without reading them; whoever has read all of
    them sets it.

A *columnar* reader (`TableSource`) has ``schema``, a ``pyarrow.Schema``, and
``batches(columns, batch_rows)``, which yields a `TableBatch` for consecutive rows of one file.  A
`ViewEncoder` makes views of the columns.

A *sparse* reader (`RowSource`) has ``layout``, the `ViewLayout` of its rows, and
``batches(batch_rows)``, which yields a `RowBatch`: the views and the labels.

The same source may be read several times, each time from the start.  That its files stay as they
were is not its business: the streams look after each batch (`crossview.data.unchanged`).

A columnar reader may also have

``batches_of_shuffled_blocks(columns, batch_rows, rng)``
    The same as ``batches``, but the blocks that the source consists of, such as its files, come in
    random order.  Rows that do not fit in memory are shuffled better by it.
``as_written(columns)``
    The source in which these columns, unless they are numbers, are text as it is in the file, where
    yes or 2026-01-01 would be read as another type.
``as_kinds(words, numbers)``
    The source in which some columns are text, and others numbers, whatever they look like.
``blocks`` and ``of_blocks(blocks)``
    Its files or row groups, in the order of the rows, and the source of only some of them: what
    several machines read at the same time.
``starts``
    Of each file the rows at which its row groups begin, if they may come in random order.
``reads``
    Of a query, the names and globs of the files that it reads.
``in_memory``
    True if the batches are parts of a table in memory.
``dialect``
    Of CSV files: how they are written, as options of `open_table`.
``join``
    Of several tables that are joined: the id, and what is said of it.
``ordered``
    True if the order of the rows was asked for, as by ORDER BY.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from crossview.catalog.names import unknown_name
from crossview.catalog.readers import READERS, Reader
from crossview.data.readers.duck import literal
from crossview.errors import InputError
from crossview.saving.files import is_pipe
from crossview.views import MultiView, ViewLayout

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "RowBatch",
    "RowSource",
    "TableBatch",
    "TableSource",
    "find_format",
    "find_reader",
    "is_query",
]

_COMPRESSIONS = {".gz", ".zst"}
_REMOTE = re.compile(r"(https?|s3[an]?|gc?s|r2|hf)://", re.IGNORECASE)
_QUERY = re.compile(r"\s*(SELECT|WITH|FROM)\b\s*\S", re.IGNORECASE)


class TableBatch(NamedTuple):
    """Consecutive rows of one source.

    Attributes
    ----------
    data : pyarrow.RecordBatch
        The rows.
    file : str or None
        The file they were read from, where there is one.
    first_row : int
        Row number of the first of them in that file (or stream), from 0.
    """

    data: pa.RecordBatch
    file: str | None
    first_row: int

    def location(self, row: int) -> tuple[str | None, int]:
        """Return the file of a row, and its row there."""
        return self.file, self.first_row + row


class RowBatch(NamedTuple):
    """Consecutive rows of one sparse source.

    Attributes
    ----------
    X : MultiView
        The rows.
    y : ndarray of shape (n_samples,)
        Their labels; None or NaN where one is missing.
    file : str or None
        The file they were read from, where there is one.
    first_row : int
        Row number of the first of them in that file, from 0.
    weight : ndarray of shape (n_samples,) or None
        How much each counts in learning; None: all the same.
    tags : list of (str or None), or None
        What the file calls each row, if that was asked for.
    """

    X: MultiView
    y: np.ndarray
    file: str | None
    first_row: int
    weight: np.ndarray | None = None
    tags: list[str | None] | None = None

    def location(self, row: int) -> tuple[str | None, int]:
        """Return the file of a row, and its row there."""
        return self.file, self.first_row + row


class TableSource(Protocol):
    """A columnar reader."""

    schema: pa.Schema
    n_rows: int | None
    files: Sequence[str]

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[TableBatch]:
        """Yield the rows with these columns."""


class RowSource(Protocol):
    """A sparse reader."""

    layout: ViewLayout
    n_rows: int | None
    files: Sequence[str]

    def batches(self, batch_rows: int) -> Iterator[RowBatch]:
        """Yield the rows."""


def find_reader(source: Any, format: str | None = None) -> tuple[Reader, Any]:
    """Return the reader of a source, and the argument of its class.

    Parameters
    ----------
    source : path, glob, list of paths, query or data frame
        As for `open_table`.
    format : str, default=None
        Name of the format of files.  None: the end of their names says it.

    Returns
    -------
    reader : Reader
        The entry.
    content : list of str, str or data frame
        The files, the query, or the table in memory.
    """
    if isinstance(source, str) and is_query(source):
        return _entry("query"), source
    if isinstance(source, str) and _REMOTE.match(source):
        return _entry("query"), f"FROM {literal(source)}"  # DuckDB reads it
    if isinstance(source, str | os.PathLike):
        files = _expand(os.fspath(source))
    elif isinstance(source, list | tuple):
        files = [file for path in source for file in _expand(os.fspath(path))]
        if not files:
            raise InputError("an empty list of files; name at least one")
    else:
        return _entry("memory"), source
    for file in files:
        if is_pipe(file):
            raise InputError("is a pipe, which is read only once; copy it into a file", file=file)
        if not os.path.isfile(file):
            raise InputError("is a device, and no file", file=file)
    readers = [find_format(file) if format is None else _of_format(format) for file in files]
    for file, reader in zip(files, readers, strict=True):
        if reader is not readers[0]:
            raise InputError(
                f"is {reader.name}, and {files[0]} is {readers[0].name}; read them apart", file=file
            )
        if os.path.getsize(file) == 0:
            raise InputError("is empty (0 bytes)", file=file)
    return readers[0], files


def is_query(source: str) -> bool:
    """Return whether it is a query for DuckDB, and no file of that name."""
    return bool(_QUERY.match(source)) and not os.path.exists(source)


def _expand(path: str) -> list[str]:
    """The files that a path or glob names, sorted by name."""
    if os.path.isdir(path):
        raise InputError(f"is a folder; name its files, for example {path}/*.parquet", file=path)
    if os.path.exists(path):
        return [path]
    if not any(mark in path for mark in "*?["):
        folder, name = os.path.split(path)
        there = sorted(os.listdir(folder or ".")) if os.path.isdir(folder or ".") else []
        close = difflib.get_close_matches(name, there, n=1)
        hint = f"; did you mean {os.path.join(folder, close[0])!r}?" if close else ""
        raise InputError(f"no such file{hint}", file=path)
    files = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
    if not files:
        raise InputError("no file matches this pattern", file=path)
    return files


def find_format(file: str) -> Reader:
    """Return the entry that reads a file, by the end of its name."""
    stem, suffix = os.path.splitext(file.lower())
    compressed = suffix in _COMPRESSIONS
    if compressed:
        suffix = os.path.splitext(stem)[1]
    for reader in READERS:
        if suffix in reader.suffixes and (reader.compressed or not compressed):
            return reader
    known = ", ".join(suffix for reader in READERS for suffix in reader.suffixes)
    packed = ", ".join(s for reader in READERS if reader.compressed for s in reader.suffixes)
    raise InputError(
        f"cannot tell the format from the name; use {known} ({packed} also with .gz or .zst), or "
        "name the format, such as format='csv'",
        file=file,
    )


def _of_format(name: str) -> Reader:
    """The entry that reads files of a format."""
    known = [reader.name for reader in READERS if reader.suffixes]
    if name not in known:
        raise unknown_name("format", name, known)
    return _entry(name)


def _entry(name: str) -> Reader:
    return next(reader for reader in READERS if reader.name == name)
