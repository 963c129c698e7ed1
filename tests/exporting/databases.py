"""Databases that run exported queries, and models of tables without text."""

import csv
import io
import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import duckdb


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


def postgres_binaries():
    """The folder of PostgreSQL's server, or None."""
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    folders = [*known, *([Path(found).parent] if found else [])]
    return next((one for one in folders if (one / "initdb").exists()), None)


@contextmanager
def postgres():
    """A server of its own, which is gone in the end; a function that runs queries."""
    binaries = postgres_binaries()
    # it refuses to be root
    user = {"user": "nobody"} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        if user:
            shutil.chown(folder, "nobody")
        data = f"{folder}/data"
        options = dict(check=True, capture_output=True, cwd=folder, **user)
        subprocess.run(
            [binaries / "initdb", "-D", data, "-A", "trust", "-U", "tester", "-E", "UTF8", "-N"],
            **options,
        )
        settings = f"-k {folder} -c listen_addresses='' -c fsync=off"
        log = ["-l", f"{folder}/log", "-w", "-o", settings]
        subprocess.run([binaries / "pg_ctl", "-D", data, *log, "start"], **options)
        try:
            yield lambda query, table: _in_postgres(binaries, folder, query, table)
        finally:
            stop = [binaries / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"]
            subprocess.run(stop, **options)


def _in_postgres(binaries, folder, query, table):
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
    found = subprocess.run(
        [
            binaries / "psql",
            "-h",
            folder,
            "-U",
            "tester",
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "postgres",
        ],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr[:2000]
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    return [{k: None if v == "\\N" else v for k, v in row.items()} for row in rows]
