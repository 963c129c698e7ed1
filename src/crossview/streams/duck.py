"""DuckDB: a connection, and names and text in its SQL."""

from __future__ import annotations

import contextlib
import glob
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crossview.errors import InputError

if TYPE_CHECKING:
    import duckdb

__all__ = [
    "connection",
    "empty_table",
    "has_order",
    "identifier",
    "literal",
    "load_remote",
    "quoted_path",
]


@contextmanager
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory that loads nothing from a network and sees no Python variable."""
    try:
        import duckdb
    except ImportError:
        raise InputError(
            "reading CSV, JSON lines and SQL needs duckdb: pip install 'crossview[cli]'"
        ) from None
    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",
        "preserve_insertion_order": "true",
    }
    with duckdb.connect(":memory:", config=config) as connection:
        yield connection


def load_remote(duck: Any, query: str) -> None:
    """Load what reads s3:// and https://, where a query names such a file and it is installed."""
    if "://" in query:
        with contextlib.suppress(Exception):  # the query says what is missing
            duck.execute("LOAD httpfs")


def empty_table(relation: Any) -> Any:
    """Return the columns of a relation without its rows."""
    return relation.limit(0).to_arrow_table()


def has_order(duck: Any, query: str) -> bool:
    """Return whether a query has an ORDER BY, or selects from a single subquery that has one."""
    (parsed,) = duck.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    node = json.loads(parsed).get("statements", [{}])[0].get("node")
    while node is not None:
        if any(one["type"] == "ORDER_MODIFIER" for one in node.get("modifiers", [])):
            return True
        node = (node.get("from_table") or {}).get("subquery", {}).get("node")
    return False


def literal(text: str) -> str:
    """Return text quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return the name of a column quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quoted_path(file: str) -> str:
    """Return the name of a file quoted for SQL, with nothing in it that is a pattern."""
    return literal(glob.escape(file))
