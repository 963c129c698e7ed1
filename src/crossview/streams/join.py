"""Two tables joined by columns that both have: rows, and labels that came later."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from crossview.errors import InputError, closest_names
from crossview.streams.arrow import one_line, pyarrow
from crossview.streams.duck import connection, identifier, read_batches
from crossview.streams.source import TableBatch
from crossview.streams.table import TableStream, open_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["JoinedSource", "join_tables"]

# the column that keeps the place of a row in the first table
_PLACE = "place of the row"


def join_tables(left: Any, right: Any, on: str | Sequence[str] | None = None) -> TableStream:
    """Return the rows of a table that another one has, too, with its columns, such as late labels.

    Parameters
    ----------
    left, right : path, glob, query, data frame or TableStream
        Opened as by `open_table`.  The rows of ``right`` are kept in memory, up to 2 GB, then on
        disk.
    on : str or sequence of str, default=None
        Columns of both tables that say which rows belong together, such as an id.  No two
        rows of ``right`` have the same.  None: all columns that both have.

    Returns
    -------
    TableStream
        A stream of all columns, in the order of ``left``.

    Raises
    ------
    InputError
        A column is missing or is in both tables, a row of ``right`` is there twice, or no row
        is in both.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from crossview import join_tables
    >>> shown = pa.table({"id": [7, 8, 9], "ad__size": [1.0, 2.0, 3.0]})
    >>> clicks = pa.table({"id": [9, 7], "click": ["no", "yes"]})
    >>> next(iter(join_tables(shown, clicks))).data.to_pydict()
    {'id': [7, 9], 'ad__size': [1.0, 3.0], 'click': ['yes', 'no']}
    """
    rows, more = open_table(left), open_table(right)
    if on is None:
        on = [name for name in rows.column_names if name in more.column_names]
    joined = JoinedSource(rows, more, [on] if isinstance(on, str) else on)
    return TableStream(joined, list(joined.schema.names), rows.batch_rows)


class JoinedSource:
    """The rows of a table that another table has, too, with its columns; in their order.

    Parameters
    ----------
    left : TableStream
        The rows.
    right : TableStream
        More columns.  No two of its rows have the same values of ``on``.
    on : sequence of str
        Columns of both.

    Attributes
    ----------
    n_rows : int
        Number of rows that both have.
    n_left, n_right : int
        Rows of the two tables.
    """

    def __init__(self, left: TableStream, right: TableStream, on: Sequence[str]) -> None:
        self.left, self.right, self.on = left, right, list(on)
        self.files: Sequence[str] = [*left.files, *right.files]
        self.ordered, self.dialect = left.ordered, left.dialect
        self._check()
        self.schema = self._schema()
        self.n_rows: int | None
        self.n_rows, self.n_left, self.n_right = self._count()

    def _check(self) -> None:
        """Raise an error for columns by which the tables cannot be joined."""
        both = set(self.left.column_names) & set(self.right.column_names)
        if not self.on:
            raise InputError("the tables of the join have no column in common")
        for name in self.on:
            for table in (self.left, self.right):
                if name not in table.column_names:
                    close = closest_names(name, table.column_names)
                    where = table.files[0] if table.files else None
                    raise InputError(f"no column {name!r} to join by{close}", file=where)
            kinds = [_is_text(one.schema.field(name).type) for one in (self.left, self.right)]
            if kinds[0] != kinds[1]:
                raise InputError(
                    "is text in one table of the join and numbers in the other", column=name
                )
        if twice := sorted(both - set(self.on)):
            raise InputError(
                f"is in both tables of the join; they are joined by {', '.join(self.on)}",
                column=twice[0],
            )

    def _schema(self) -> pa.Schema:
        more = [field for field in self.right.schema if field.name not in self.on]
        return pyarrow().schema([*self.left.schema, *more])

    def _count(self) -> tuple[int, int, int]:
        """The rows of both together, and of each."""
        keys = ", ".join(map(identifier, self.on))
        with self._joined(self.on) as duck:
            twice = duck.sql(
                f"SELECT {keys} FROM labels GROUP BY ALL HAVING count(*) > 1 LIMIT 1"
            ).fetchall()
            if twice:
                value = " and ".join(map(str, twice[0]))
                file = self.right.files[0] if self.right.files else None
                raise InputError(
                    f"has {', '.join(self.on)} {value} twice; give each row once", file=file
                )
            duck.execute("CREATE TABLE kept AS FROM rows")
            ((n_right, n_left, n_both),) = duck.sql(
                "SELECT (SELECT count(*) FROM labels), (SELECT count(*) FROM kept), "
                f"(SELECT count(*) FROM kept JOIN labels USING ({keys}))"
            ).fetchall()
        if not n_both:
            raise InputError(f"no {', '.join(self.on)} is in both tables of the join")
        return n_both, n_left, n_right

    def as_written(self, columns: Sequence[str]) -> Self:
        """Return the source in which these columns are text as it is in the file."""
        return self._of(
            *(table.as_written(_there(columns, table)) for table in (self.left, self.right))
        )

    def as_kinds(self, words: Sequence[str], numbers: Sequence[str]) -> Self:
        """Return the source in which some columns are text, and others numbers."""
        return self._of(
            *(
                table.as_kinds(_there(words, table), _there(numbers, table))
                for table in (self.left, self.right)
            )
        )

    def _of(self, left: TableStream, right: TableStream) -> Self:
        """The same, of the same tables read in another way."""
        other = copy.copy(self)
        other.left, other.right = left, right
        other._check()
        other.schema = other._schema()
        return other

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[TableBatch]:
        """Yield the rows with these columns."""
        query = (
            f"SELECT {', '.join(map(identifier, columns))} FROM rows "
            f"JOIN labels USING ({', '.join(map(identifier, self.on))}) "
            f"ORDER BY {identifier(_PLACE)}"
        )
        done = 0
        with self._joined(columns) as duck:
            for data in read_batches(duck, duck.sql(query), batch_rows):
                yield TableBatch(data, None, done)
                done += data.num_rows

    @contextmanager
    def _joined(self, columns: Sequence[str]) -> Iterator[Any]:
        """A database with these columns of both tables, ``rows`` and ``labels``."""
        raised: list[InputError] = []
        wanted = {*columns, *self.on}
        left, right = (
            table.select([name for name in table.column_names if name in wanted])
            for table in (self.left, self.right)
        )
        with connection() as duck:
            try:
                with one_line(None):
                    duck.register("rows", _reader(left, raised))
                    duck.register("read_once", _reader(right, raised))
                    duck.execute(
                        "CREATE TABLE labels AS SELECT * EXCLUDE "
                        f"({identifier(_PLACE)}) FROM read_once"
                    )
                    yield duck
            except InputError as error:  # DuckDB says that of a reader in its own words
                raise (raised[0] if raised else error) from None


def _reader(table: TableStream, raised: list[InputError]) -> pa.RecordBatchReader:
    """The rows with their places; what reading them raises is kept, too."""
    arrow = pyarrow()
    schema = table.schema.append(arrow.field(_PLACE, arrow.int64()))

    def batches() -> Iterator[pa.RecordBatch]:
        done = 0
        try:
            for batch in table:
                n = batch.data.num_rows
                place = arrow.array(range(done, done + n), arrow.int64())
                yield arrow.RecordBatch.from_arrays([*batch.data.columns, place], schema=schema)
                done += n
        except InputError as error:
            raised.append(error)
            raise

    reader: pa.RecordBatchReader = arrow.RecordBatchReader.from_batches(schema, batches())
    return reader


def _there(columns: Sequence[str], table: TableStream) -> list[str]:
    return [name for name in columns if name in table.column_names]


def _is_text(kind: Any) -> bool:
    """Whether a column holds text, whether or not it is stored as a dictionary."""
    types = pyarrow().types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
