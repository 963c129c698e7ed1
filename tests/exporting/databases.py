"""Databases that run exported queries, and models of tables without text."""

import csv
import io
import sqlite3
from contextlib import contextmanager

import duckdb

from postgres_server import postgres_server


def run_duckdb(query, table):
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.register("rows_to_score", table)
        found = connection.execute(query)
        names = [one[0] for one in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def run_sqlite(query, table):
    with sqlite3.connect(":memory:") as connection:
        names = table.column_names
        columns = ", ".join(f'"{name}"' for name in names)
        connection.execute(f"CREATE TABLE rows_to_score ({columns})")
        marks = ", ".join("?" * len(names))
        rows = zip(*(table[name].to_pylist() for name in names), strict=True)
        connection.executemany(f"INSERT INTO rows_to_score VALUES ({marks})", rows)
        found = connection.execute(query)
        names = [one[0] for one in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@contextmanager
def postgres():
    """A function that runs queries in PostgreSQL."""
    with postgres_server() as server:
        yield lambda query, table: _in_postgres(server, query, table)


def _in_postgres(server, query, table):
    """The rows of a query, numbers with all digits."""
    types = {"double": "double precision", "bool": "boolean", "int64": "bigint"}
    columns = ", ".join(
        f'"{field.name}" {types.get(str(field.type), "text")}' for field in table.schema
    )
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    for row in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
        writer.writerow(["\\N" if cell is None else cell for cell in row])
    rest = query.partition("\n")[2]
    script = (
        f"DROP TABLE IF EXISTS rows_to_score;\nCREATE TABLE rows_to_score ({columns});\n"
        f"COPY rows_to_score FROM STDIN WITH (FORMAT csv, NULL '\\N');\n{lines.getvalue()}\\.\n"
        f"COPY (\n{rest}\n) TO STDOUT WITH (FORMAT csv, HEADER, NULL '\\N');\n"
    )
    rows = list(csv.DictReader(io.StringIO(server.run(script))))
    return [{k: None if v == "\\N" else v for k, v in row.items()} for row in rows]
