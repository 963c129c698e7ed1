"""DuckDB: a connection, and names and text in its SQL."""

from __future__ import annotations

import atexit
import contextlib
import glob
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossview.errors import InputError, cannot_import
from crossview.readers.prefetch import is_prefetched, prefetch, stopped_by
from crossview.saving.files import temporary_folder

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


# of rows: a query may sort or join, and a file have many columns
MEMORY_OF_ROWS = "2GB"
# of the search for types: as long as there is room, DuckDB keeps the text that it has read
MEMORY_OF_TYPES = "256MB"
TIMES = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
# from which the delimiter is found
ROWS_OF_DELIMITER = 100

_CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "preserve_insertion_order": "true",
    "enable_external_file_cache": "false",  # a file may change between two queries
    "memory_limit": MEMORY_OF_ROWS,
}


# a database that nobody has now: to make one takes longer than most queries
_idle: list[duckdb.DuckDBPyConnection] = []


def _close_idle() -> None:
    while _idle:
        _idle.pop().close()


atexit.register(_close_idle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_idle)  # a fork has none of its threads


@contextmanager
def connection(*, own: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory that loads nothing from a network and sees no Python variable.

    Beyond `MEMORY_OF_ROWS`, it writes to a temporary folder.  A database that did, or whose query
    failed, is closed; else the next one gets it.

    own: for tables that are no temporary ones, which no other one may get.
    """
    try:
        import duckdb
    except ImportError as error:
        raise cannot_import("reading CSV, JSON lines and SQL", "duckdb", error) from None
    with temporary_folder(Path(tempfile.gettempdir())) as folder:
        try:
            database = _idle.pop()
        except IndexError:
            database = duckdb.connect(":memory:", config=_CONFIG)
        is_sound = False
        try:
            with database.cursor() as connection:
                connection.execute(f"SET temp_directory = {literal(str(folder))}")
                connection.execute("SET enable_progress_bar = false")  # stdout is for predictions
                yield connection
            is_sound = True
        except GeneratorExit:  # rows that nobody asked for
            is_sound = True
            raise
        finally:
            if own or _idle or not is_sound or any(folder.iterdir()):
                database.close()
            else:
                _idle.append(database)


def load_remote(duck: Any, query: str) -> None:
    """Load what reads s3:// and https://, where a query names such a file and it is installed."""
    if "://" in query:
        with contextlib.suppress(Exception):  # the query says what is missing
            duck.execute("LOAD httpfs")


def describe(duck: Any, table: str) -> list[tuple[str, str]]:
    """Return the name and type of each column of a table function."""
    return [row[:2] for row in _find_types(duck, f"DESCRIBE FROM {table}")]


def sniff_csv(duck: Any, file: str, options: str, *, wide: bool) -> list[tuple[str, str]]:
    """Return the name and type of each column of a CSV file, which may have very many.

    Times that are not as in ISO 8601 are text.
    """
    query = f"SELECT columns, TimestampFormat FROM sniff_csv({file}, {options})"
    ((columns, times),) = duck.sql(query).fetchall() if wide else _find_types(duck, query)
    found = [(column["name"], column["type"]) for column in columns]
    return [(name, "VARCHAR" if times and kind in TIMES else kind) for name, kind in found]


def sniff_delimiter(file: str, quote: str) -> str | None:
    """Return the delimiter of a CSV file; None if it is not clear."""
    options = f"quote={literal(quote)}, escape={literal(quote)}, comment='', header=true, skip=0"
    options += f", all_varchar=true, sample_size={ROWS_OF_DELIMITER}"
    query = f"SELECT delimiter, columns FROM sniff_csv({quoted_path(file)}, {options})"
    with connection() as duck, contextlib.suppress(Exception):  # reading says what is wrong
        ((delimiter, columns),) = duck.sql(query).fetchall()
        return str(delimiter) if len(columns) > 1 else None
    return None


def _find_types(duck: Any, query: str) -> list[tuple]:
    """The answer to a query that reads the rows only to find types."""
    import duckdb

    try:
        duck.execute(f"SET memory_limit = '{MEMORY_OF_TYPES}'")
        return list(duck.sql(query).fetchall())
    except duckdb.OutOfMemoryException:  # many columns
        duck.execute(f"SET memory_limit = '{MEMORY_OF_ROWS}'")
        return list(duck.sql(query).fetchall())
    finally:
        duck.execute(f"SET memory_limit = '{MEMORY_OF_ROWS}'")


def schema_of(duck: Any, types: Mapping[str, str]) -> pa.Schema:
    """Return the Arrow schema of columns with these DuckDB types."""
    import pyarrow as pa

    kinds = list(dict.fromkeys(types.values()))
    nulls = ", ".join(f"NULL::{kind}" for kind in kinds)
    arrow = dict(zip(kinds, duck.sql(f"SELECT {nulls}").to_arrow_table().schema.types, strict=True))
    return pa.schema([(name, arrow[kind]) for name, kind in types.items()])


def empty_table(relation: Any) -> Any:
    """Return the columns of a relation without its rows."""
    return relation.limit(0).to_arrow_table()


def read_batches(duck: Any, relation: Any, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a relation, read in a thread unless this one prefetches already.

    A caller that stops, also by Ctrl-C, interrupts the query, however long it still runs.
    """

    def batches() -> Iterator[pa.RecordBatch]:
        with stopped_by(duck.interrupt):
            yield from relation.to_arrow_reader(batch_rows)

    return batches() if is_prefetched() else prefetch(batches())


def is_sql(text: str) -> bool:
    """Return whether DuckDB can parse a text."""
    import duckdb

    with connection() as duck:
        try:
            return bool(duck.extract_statements(text))
        except duckdb.Error:
            return False


def check_select(duck: Any, query: str) -> None:
    """Raise an error if text is not one SELECT, or writes, as COPY may inside of one."""
    kinds = [statement.type.name for statement in duck.extract_statements(query)]
    if kinds != ["SELECT"]:
        if kinds == ["MULTI"]:
            raise InputError("a PIVOT in a query names its values, as in ON kind IN ('u', 'v')")
        what = "is empty" if not kinds else f"holds {' and '.join(kinds)}"
        raise InputError(f"a query is one SELECT, and this one {what}")
    for node in _nodes(_parse(duck, query)):
        kind, function = str(node.get("type")), node.get("function_name")
        if kind.endswith(_WRITES) or function in _RUNS_TEXT:
            what = function if function in _RUNS_TEXT else kind.removesuffix(_WRITES)
            raise InputError(f"a query only reads; leave out {what}")


# nodes of a tree that write, such as COPY_QUERY_NODE
_WRITES = "_QUERY_NODE"
# functions that run text, or write a file
_RUNS_TEXT = ("query", "json_execute_serialized_sql", "enable_logging")


def has_order(duck: Any, query: str) -> bool:
    """Return whether a query has an ORDER BY, or selects from a single subquery that has one."""
    node = _parse(duck, query)
    while node is not None:
        if any(one["type"] == "ORDER_MODIFIER" for one in node.get("modifiers", [])):
            return True
        node = (node.get("from_table") or {}).get("subquery", {}).get("node")
    return False


def named_files(query: str) -> list[str]:
    """Return the files that a query reads, with globs expanded, and those that a text names."""
    with connection() as duck:
        read = read_names(duck, query)
        texts = (node["text"] for node in _nodes(_parse(duck, query)) if _is_text(node))
        return matching_files([*read, *map(glob.escape, texts)])


def read_names(duck: Any, query: str) -> list[str]:
    """Return the names of the tables of a query, such as files and globs."""
    texts: set[str] = set()
    for node in _nodes(_parse(duck, query)):
        if node.get("type") == "BASE_TABLE":  # of t.csv without quotes t is a schema
            parts = (node.get(f"{part}_name") for part in ("catalog", "schema", "table"))
            texts.add(".".join(part for part in parts if part))
        elif node.get("type") == "TABLE_FUNCTION":
            first = node.get("function", {}).get("arguments", [])[:1]
            texts.update(part["text"] for part in _nodes(first) if _is_text(part))
    return sorted(texts)


def _is_text(node: dict[str, Any]) -> bool:
    return node.get("kind") == "STRING" and "text" in node


def views_of_words(duck: Any, names: Iterable[str]) -> list[str]:
    """Return statements by which a query has yes and no of CSV files as words.

    The files have them so where they are read by themselves.  names: the tables of the query.
    """
    names, statements = list(names), []
    for name in filter(_CSV.search, names):
        if [other.lower() for other in names].count(name.lower()) > 1:  # one table, for DuckDB
            continue
        file = literal(name)
        with contextlib.suppress(Exception):  # the query says what is wrong
            found = describe(duck, f"read_csv({file})")
            kinds = {column: "VARCHAR" for column, kind in found if kind == "BOOLEAN"}
            if not kinds:
                continue
            rows = f"FROM read_csv({file}, types={_typed(kinds)})"
            truths = (f"lower({identifier(one)}) IN ('true', 'false')" for one in kinds)
            tests = ", ".join(f"bool_and({truth})" for truth in truths)
            (are_truths,) = duck.sql(f"SELECT {tests} {rows}").fetchall()
            words = [one for one, truth in zip(kinds, are_truths, strict=True) if not truth]
            if words:
                kinds = dict.fromkeys(words, "VARCHAR")
                rows = f"FROM read_csv({file}, types={_typed(kinds)})"
                statements.append(f"CREATE TEMP VIEW {identifier(name)} AS {rows}")
    return statements


# files that DuckDB reads as CSV by their names
_CSV = re.compile(r"\.[ct]sv(\.gz|\.zst)?$", re.IGNORECASE)


def _typed(kinds: Mapping[str, str]) -> str:
    """Columns and their types, as an option of DuckDB's readers."""
    return "{" + ", ".join(f"{literal(c)}: {literal(kind)}" for c, kind in kinds.items()) + "}"


def matching_files(texts: Iterable[str]) -> list[str]:
    """Return the files that have one of these names, or match one of these globs, sorted."""
    names = [os.path.expanduser(text.removeprefix("file://")) for text in texts]
    files = {name for name in names if os.path.isfile(name)}
    return sorted(files.union(*(glob.glob(name, recursive=True) for name in names)))


def _parse(duck: Any, query: str) -> Any:
    """The syntax tree of a SELECT; None of what DuckDB refuses when it is run."""
    ((parsed,),) = duck.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    return json.loads(parsed).get("statements", [{}])[0].get("node")


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """All parts of a syntax tree that have names."""
    pending = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            yield part
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)


def literal(text: str) -> str:
    """Return text quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return the name of a column quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted_path(file: str) -> str:
    """Return the name of a file quoted for SQL, with nothing in it that is a pattern."""
    return literal(glob.escape(file))
