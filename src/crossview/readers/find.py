"""The entry of the reader of a source, by its type and the names of its files."""

from __future__ import annotations

import difflib
import glob
import os
import re
from typing import Any

from crossview.catalog.names import unknown_name
from crossview.catalog.readers import READERS, Reader
from crossview.errors import InputError, NoRowsError, argument, has_argument, type_of
from crossview.readers.duck import is_sql, literal
from crossview.saving.files import is_pipe
from crossview.server_log.addresses import (
    FROM_DUCKDB,
    FROM_SQLITE,
    LOG,
    has_password,
    is_address,
)

_COMPRESSIONS = {".gz", ".zst"}
_REMOTE = re.compile(r"(https?|s3[an]?|gc?s|r2|hf)://", re.IGNORECASE)
_WORKBOOK = "is a workbook; save the sheet as CSV, or give Python the frame of pandas.read_excel"
# what people have, and what to do with it
_OTHERS = dict.fromkeys((".xlsx", ".xls", ".ods"), _WORKBOOK) | {".zip": "is an archive; unpack it"}
_OTHERS |= dict.fromkeys(
    (".sqlite3", ".db"), f"is a database; write the rows to a file: {FROM_SQLITE}"
)
_OTHERS |= {".duckdb": f"is a database; {FROM_DUCKDB}"}
_OF_VIEWS = {end for reader in READERS if reader.kind == "sparse" for end in reader.suffixes}
_QUERY = re.compile(r"(\s|--.*\n|/\*(?s:.*?)\*/\s)*+(SELECT|WITH|FROM)\b\s*\S", re.IGNORECASE)
# what may be the name of a file, too
_MAYBE_QUERY = re.compile(
    r"(\s|--.*\n|/\*(?s:.*?)\*/|\()*+(SELECT|WITH|FROM|VALUES|TABLE|(UN)?PIVOT|ATTACH)\b",
    re.IGNORECASE,
)


def find_reader(source: Any, format: str | None = None) -> tuple[Reader, Any]:
    """Return the entry of the reader of a source, and its files, query or table in memory.

    Without a format, the ends of the names of the files say it.
    """
    if isinstance(source, str) and is_query(source):
        if not _is_utf8(source):
            raise InputError("the query holds bytes that are not UTF-8, which DuckDB cannot read")
        return _entry("query"), source
    if isinstance(source, str) and is_address(source):
        if has_password(source):  # results say what they were made from
            raise InputError(
                "the address of the log has a password, which would be in what is written and "
                "printed; set PGPASSWORD, or use ~/.pgpass"
            )
        return _entry("served"), [source]
    if isinstance(source, str) and _REMOTE.match(source):
        return _entry("query"), f"FROM {literal(source)}"  # DuckDB reads it
    if isinstance(source, str | os.PathLike):
        files = _expand(os.fspath(source))
    elif isinstance(source, list | tuple):
        for path in source:
            if not isinstance(path, str | os.PathLike):
                raise InputError(
                    f"X is a list that holds {type_of(path)}; give names of files, or of rows that "
                    "are mappings the table pyarrow.Table.from_pylist(X)"
                )
        if any(map(is_address, source)):
            raise InputError("a log in PostgreSQL is read alone; give its address, and no list")
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
        if not _is_utf8(file):
            raise InputError(
                "its name holds bytes that are not UTF-8, so Arrow and DuckDB cannot open it; "
                "rename it, or read it from standard input: - <FILE",
                file=file,
            )
    if format is None and isinstance(source, str | os.PathLike) and os.path.isdir(source):
        _check_folder(os.fspath(source), files)
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
    if os.path.exists(source):
        return False
    is_maybe = _MAYBE_QUERY.match(source) is not None
    return bool(_QUERY.match(source)) or (is_maybe and is_sql(source))


def _is_utf8(text: str) -> bool:
    """Return whether a text has no bytes that Python could not read, as of old names of files."""
    return not any("\udc80" <= mark <= "\udcff" for mark in text)


def _expand(path: str) -> list[str]:
    """The files that a path or glob names, in the order of their names."""
    if not path:
        raise InputError("the name of the source is empty; is a variable of the shell not set?")
    if os.path.isdir(path):
        log = os.path.join(path, LOG)
        if os.path.isfile(log):
            return [log]
        return _in_folder(path)
    if os.path.exists(path):
        return [path]
    if not any(mark in path for mark in "*?["):
        if os.path.islink(path):
            raise InputError(f"is a link to {os.readlink(path)!r}, which is not there", file=path)
        folder, name = os.path.split(path)
        there = sorted(os.listdir(folder or ".")) if os.path.isdir(folder or ".") else []
        close = difflib.get_close_matches(name, there, n=1)
        hint = f"; did you mean {os.path.join(folder, close[0])!r}?" if close else ""
        raise InputError(f"no such file{hint}", file=path)
    files = sorted((p for p in glob.glob(path, recursive=True) if os.path.isfile(p)), key=_by_name)
    if not files:
        raise InputError("no file matches this pattern", file=path)
    return files


def _by_name(file: str) -> tuple[Any, ...]:
    """Return by what files are sorted: their names, in which whole numbers count: 2 before 10."""
    parts = re.split(r"([0-9]+)", file)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], file


def _in_folder(folder: str) -> list[str]:
    """The files in a folder and those in it, by name, but for hidden ones and markers."""
    found = (
        name
        for name in glob.glob("**", root_dir=folder, recursive=True)
        if not name.startswith("_") and f"{os.sep}_" not in name
        if os.path.isfile(os.path.join(folder, name))
    )
    files = sorted(found, key=_by_name)
    if not files:
        raise NoRowsError("is a folder without files", file=folder)
    stem, suffix = os.path.splitext(files[0])
    if "=" in os.path.dirname(stem):
        format = suffix.lower()
        if format in _COMPRESSIONS:
            format = os.path.splitext(stem)[1]
            suffix = format + suffix
        every = os.path.join(folder, "**", "*" + suffix)
        how = f'give a query, such as "SELECT * FROM {literal(every)}"'
        if format.lower() in _OF_VIEWS:  # which no query reads
            how = f"and these files have none; to read them without it, give {every!r}"
        raise InputError(
            f"the names of its folders are values of a column; {how}",
            file=folder,
        )
    return [os.path.join(folder, name) for name in files]


def _check_folder(folder: str, files: list[str]) -> None:
    """Raise an error for a file in a folder of tables that is none by its name."""
    known = (
        {suffix for reader in READERS for suffix in reader.suffixes} | _COMPRESSIONS | {*_OTHERS}
    )
    suffixes = [os.path.splitext(file.lower())[1] for file in files]
    tables = [suffix for suffix in suffixes if suffix in known]
    if 0 < len(tables) < len(files):
        other = next(file for file, one in zip(files, suffixes, strict=True) if one not in known)
        raise InputError(
            "is no table by its name, and other files of the folder are: remove it, or name the "
            f"tables, such as {os.path.join(folder, '*' + tables[0])!r}",
            file=other,
        )


def find_format(file: str) -> Reader:
    """Return the entry that reads a file, by the end of its name."""
    stem, suffix = os.path.splitext(file.lower())
    compressed = suffix in _COMPRESSIONS
    if compressed:
        suffix = os.path.splitext(stem)[1]
    for reader in READERS:
        if suffix in reader.suffixes and (reader.compressed or not compressed):
            return reader
    if suffix in _OTHERS:
        raise InputError(_OTHERS[suffix], file=file)
    files = [reader for reader in READERS if reader.name != "served"]
    known = ", ".join(suffix for reader in files for suffix in reader.suffixes)
    packed = ", ".join(s for reader in READERS if reader.compressed for s in reader.suffixes)
    how = f"name the format, such as {argument(format='csv')}"
    if not has_argument("format"):
        how = f'give a query, such as "FROM read_csv({literal(file)})"'
    raise InputError(
        f"cannot tell the format from the name; use {known} ({packed} also with .gz or .zst), or "
        f"{how}",
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
