"""Where the log of a server is: in a folder, or at the address of a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeGuard

# in a folder
LOG = "log.sqlite"
SCHEMES = ("postgresql://", "postgres://")
# how rows come out of other databases
FROM_SQLITE = "sqlite3 -header -csv FILE 'SELECT ...' >rows.csv, or in Python pandas.read_sql"
FROM_DUCKDB = (
    "of one table \"SELECT * FROM 'FILE'\" reads them, of several "
    "duckdb FILE \"COPY (SELECT ...) TO 'rows.parquet'\", or in Python "
    "duckdb.connect(FILE).sql('SELECT ...').to_arrow_table()"
)
FROM_POSTGRES = (
    "psql ADDRESS -c \"\\copy (SELECT ...) TO 'rows.csv' CSV HEADER\", or in Python pandas.read_sql"
)


def is_address(where: Any) -> TypeGuard[str]:
    """Return whether it is the address of a database, and no path."""
    return isinstance(where, str) and where.startswith(SCHEMES)


def is_log(where: Any) -> bool:
    """Return whether it is the log of a server: its address, or its folder."""
    return is_address(where) or (isinstance(where, str) and Path(where, LOG).is_file())


def has_password(address: str) -> bool:
    """Return whether an address has a password."""
    from urllib.parse import parse_qs, urlsplit

    parts = urlsplit(address)
    return parts.password is not None or "password" in parse_qs(parts.query)
