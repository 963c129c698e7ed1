"""Ids by which tables are joined: of one type in all of them, each once, and which are in both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crossview.data.arrow import integers, one_line, pyarrow
from crossview.data.readers.duck import connection, identifier
from crossview.data.source import Source
from crossview.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PLACE", "JoinedTable", "Matches", "database", "key_name", "register", "unify_keys"]

# the column that keeps the place of a row in its table
PLACE = "place of the row"
MOST_EXAMPLES = 3


class JoinedTable(NamedTuple):
    """One of the tables that are joined."""

    stream: Source
    view: str | None  # the view that it is; None: its columns keep their names
    required: bool  # whether rows that it has not are left out
    columns: dict[str, str]  # without the id: the name in the join, and its own
    title: str  # its name in messages


def key_name(k: int) -> str:
    """Return the name of a column of ids, made comparable."""
    return f"key {k} of the join"


def unify_keys(
    tables: Sequence[JoinedTable], on: Sequence[str]
) -> tuple[list[JoinedTable], list[str | None]]:
    """Return the tables with ids that can be compared, and the SQL type of each column of the id.

    Text files say nothing of types: ids of digits are numbers if all tables have numbers, and text
    if another table has text, such as 007 or P12.  A type of None leaves the column as it is.
    """
    tables = list(tables)
    types: list[str | None] = []
    for name in on:
        kinds = {_family(table, name) for table in tables}
        if "text" in kinds and len(kinds) > 1:
            tables = [one._replace(stream=one.stream.as_kinds([name], [])) for one in tables]
            kinds = {_family(table, name) for table in tables}
        if kinds <= {"whole numbers", "numbers"}:
            types.append("HUGEINT" if kinds == {"whole numbers"} else "DOUBLE")
        elif len(kinds) == 1:
            types.append("VARCHAR" if kinds == {"text"} else None)
        else:
            words = [f"{_family(one, name)} ({_first(one, name)}) in {one.title}" for one in tables]
            raise InputError(
                f"is {' and '.join(words)}; give the id one type in all tables", column=name
            )
    return tables, types


def _family(table: JoinedTable, name: str) -> str:
    """Return the family of types of a column of ids, also where it is stored as a dictionary."""
    types = pyarrow().types
    kind = table.stream.schema.field(name).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_integer(kind):
        return "whole numbers"
    return "numbers" if types.is_floating(kind) or types.is_decimal(kind) else str(kind)


def _first(table: JoinedTable, name: str) -> str:
    """The first value of a column, as an example."""
    for batch in table.stream.select([name]):
        if len(batch):
            return f"such as {batch.X.column(0)[0].as_py()!r}"
    return "no rows"


@contextmanager
def database() -> Iterator[tuple[Any, list[InputError]]]:
    """Open a database, and a list for what reading a table raises, which DuckDB would reword."""
    raised: list[InputError] = []
    with connection() as duck:
        try:
            with one_line(None):
                yield duck, raised
        except InputError as error:
            raise (raised[0] if raised else error) from None


def register(
    duck: Any, name: str, stream: Source, on: Sequence[str], raised: list[InputError]
) -> None:
    """Give the database the rows of a table with their places, to be read once.

    Each row must have an id; ``raised`` gets the error that ends the reading.
    """
    arrow = pyarrow()
    schema = stream.schema.append(arrow.field(PLACE, arrow.int64()))

    def batches() -> Iterator[pa.RecordBatch]:
        done = 0
        try:
            for batch in stream:
                for key in on:
                    batch.check_complete(key, "the id is missing; fill it in, or leave the row out")
                n = len(batch)
                place = integers(np.arange(done, done + n))
                yield arrow.RecordBatch.from_arrays([*batch.X.columns, place], schema=schema)
                done += n
        except InputError as error:
            raised.append(error)
            raise

    duck.register(name, arrow.RecordBatchReader.from_batches(schema, batches()))


class Matches:
    """The ids that the tables have in common, found by reading their ids only.

    ``rows`` is the table that gives the rows; None: they are all ids of all tables.  ``n_rows`` are
    those of the join, and ``n_first`` those of the first table, or ids of all; ``lines`` are
    messages about rows that are not in all tables.
    """

    def __init__(
        self,
        tables: Sequence[JoinedTable],
        on: Sequence[str],
        types: Sequence[str | None],
        rows: int | None,
    ) -> None:
        self._tables, self._on, self._rows = tables, list(on), rows
        self._first = "rows" if rows is None else f"t{rows}"
        self._keys = ", ".join(identifier(key_name(k)) for k in range(len(on)))
        self._raw = ", ".join(map(identifier, on))
        self.lines: list[str] = []
        with database() as (self._duck, raised):
            for i, table in enumerate(tables):
                self._read(i, table, types, raised)
            self._make_rows()
            for i, table in enumerate(tables):
                self._match(i, table)
            self.n_rows = self._count("rows")
        del self._duck

    def _read(
        self, i: int, table: JoinedTable, types: Sequence[str | None], raised: list[InputError]
    ) -> None:
        """Read the ids of a table, as they are and made comparable."""
        register(self._duck, "read_once", table.stream.select(self._on), self._on, raised)
        casts = [
            f"{_cast(identifier(name), kind)} AS {identifier(key_name(k))}"
            for k, (name, kind) in enumerate(zip(self._on, types, strict=True))
        ]
        self._duck.execute(f"CREATE TABLE t{i} AS SELECT {', '.join(casts)}, * FROM read_once")
        self._duck.unregister("read_once")
        self._check_twice(i, table)

    def _check_twice(self, i: int, table: JoinedTable) -> None:
        """Say which ids are there twice: an error, unless they are rows such as visits."""
        twice = f"FROM t{i} GROUP BY {self._keys} HAVING count(*) > 1"
        n_twice = self._count(f"(SELECT 1 {twice})")
        if not n_twice:
            return
        place, name = identifier(PLACE), ", ".join(self._on)
        columns = ", ".join(f"arg_min({identifier(name)}, {place})" for name in self._on)
        order = f"ORDER BY min({place}) LIMIT {MOST_EXAMPLES}"
        some = self._examples(f"SELECT {columns} {twice} {order}")
        more = f" ({n_twice:,} such ids)" if n_twice > 1 else ""
        if i == self._rows and table.view is None:
            self.lines.append(
                f"{table.title} has {name} {some} in several rows{more}, which get the same values "
                "of the other tables"
            )
            return
        raise InputError(f"has {name} {some} twice{more}; give each row once", file=table.title)

    def _make_rows(self) -> None:
        """Make the table of the ids of the join."""
        sql = f"FROM {self._first}"
        if self._rows is None:
            sql = self._ids(range(len(self._tables)))
        for i, table in enumerate(self._tables):
            if table.required:
                sql = f"SELECT * FROM ({sql}) SEMI JOIN t{i} USING ({self._keys})"
        self._duck.execute(f"CREATE TABLE rows AS {sql}")
        self.n_first = self._count(self._first)
        if not self.n_first:
            raise InputError("has no rows", file=self._tables[self._rows or 0].title)

    def _ids(self, which: Iterable[int]) -> str:
        """The SQL of the ids of some tables."""
        return " UNION ".join(f"SELECT {self._keys} FROM t{i}" for i in which)

    def _match(self, i: int, table: JoinedTable) -> None:
        """Say how many rows a table has not, and which of its own belong to none."""
        if i == self._rows:
            return
        first, name = self._first, ", ".join(self._on)
        n, n_own = self.n_first, self._count(f"t{i}")
        n_there = self._count(f"{first} SEMI JOIN t{i} USING ({self._keys})")
        n_used = self._count(f"t{i} SEMI JOIN {first} USING ({self._keys})")
        others = [j for j in range(len(self._tables)) if j != i]
        other = others[0] if self._rows is None and others else self._rows or 0
        rows = self._tables[other].title
        n_shared = n_there
        if self._rows is None and others:
            n_shared = self._count(f"t{i} SEMI JOIN ({self._ids(others)}) USING ({self._keys})")
        if not n_shared:
            theirs, ours = self._first_ids(f"t{i}"), self._first_ids(f"t{other}")
            raise InputError(
                f"no {name} of {table.title} ({theirs}, ...) is in {rows} ({ours}, ...); is it "
                "written alike in both?"
            )
        said: list[str] = []
        if n_there < n:
            what = ", and are left out"
            if not table.required:
                what = f": view {table.view!r} is missing there"
            said.append(f"{n - n_there:,} of {n:,} rows are not in {table.title}{what}")
        if n_used < n_own:
            some = self._first_ids(f"t{i} ANTI JOIN {first} USING ({self._keys})")
            said.append(
                f"{n_own - n_used:,} of {n_own:,} rows of {table.title} are not in {rows}, such "
                f"as {name} {some}, and are not used"
            )
        if said:
            self.lines.append("; ".join(said))

    def _count(self, sql: str) -> int:
        ((n,),) = self._duck.sql(f"SELECT count(*) FROM {sql}").fetchall()
        return int(n)

    def _first_ids(self, sql: str) -> str:
        """The first ids of a table."""
        order = f"ORDER BY {identifier(PLACE)} LIMIT {MOST_EXAMPLES}"
        return self._examples(f"SELECT {self._raw} FROM {sql} {order}")

    def _examples(self, sql: str) -> str:
        """Some ids, in words."""
        return ", ".join(" and ".join(map(str, row)) for row in self._duck.sql(sql).fetchall())


def _cast(column: str, kind: str | None) -> str:
    return column if kind is None else f"TRY_CAST({column} AS {kind})"
