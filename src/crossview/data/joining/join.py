"""Tables joined by an id: views in several files, and labels that came later."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from crossview.errors import InputError, argument, closest_names, some_names
from crossview.readers.duck import connection, identifier, read_batches
from crossview.readers.source import Batch, Source, open_table
from crossview.tables.arrow import integers, is_number, one_line, pyarrow, type_of_values
from crossview.tables.dates import is_text
from crossview.views import index_as_columns, row_index

if TYPE_CHECKING:
    import pyarrow as pa

# of a batch, about
CELLS = 4_000_000
LEAST_ROWS = 1024
# in the order of the rows of several tables: the first table, then the place in it
ROWS_OF_A_TABLE = 10**15
# the column that keeps the place of a row in its table
PLACE = "place of the row"
MOST_EXAMPLES = 3
# ids that are compared with names of columns
MOST_COMPARED = 1000


class Join(NamedTuple):
    """The id of a join, the views that are tables, and messages about it.

    The messages name an id that is a guess, and rows that are not in all tables.
    """

    on: list[str]
    views: list[str]
    lines: list[str]


def join_tables(left: Any, right: Any, on: str | Sequence[str] | None = None) -> Source:
    """Return the rows of a table with the columns of others: views, or labels that came late.

    Parameters
    ----------
    left : path, glob, query, data frame or Source
        The rows, opened as by `open_table`.
    right : mapping of str to table, or one table
        A mapping: each table is a view of that name.  All its columns but the id are in it, called
        ``name__column``, and in rows that it has not the view is missing.  One table, such as late
        labels: its columns keep their names, and rows that it has not are left out.  The rows of
        all of these are kept in memory, up to 2 GB, then on disk.
    on : str or sequence of str, default=None
        The id: columns of all tables that say which rows belong together.  No two rows of
        ``right`` have the same; several of ``left`` may.  None: the columns that all have, of
        views only if it is one.  Of a pandas frame also its index, by its name.

    Returns
    -------
    Source
        A stream of all columns, in the order of ``left``.

    Raises
    ------
    InputError
        A column is missing or is in both tables, an id is missing or there twice, ids are text in
        one table and numbers in the other, or no id is in both.

    Warns
    -----
    UserWarning
        A view has not all rows, or rows that ``left`` has not.

    Notes
    -----
    In text files ids with leading zeros, such as 007, are text and not the number 7.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from crossview import join_tables
    >>> shown = pa.table({"id": [7, 8, 9], "ad__size": [1.0, 2.0, 3.0]})
    >>> clicks = pa.table({"id": [9, 7], "click": ["no", "yes"]})
    >>> next(iter(join_tables(shown, clicks))).X.to_pydict()
    {'id': [7, 9], 'ad__size': [1.0, 3.0], 'click': ['yes', 'no']}
    >>> users = pa.table({"id": [9, 7, 8], "age": [30, 41, 25]})
    >>> next(iter(join_tables(shown, {"user": users}, "id"))).X.to_pydict()
    {'id': [7, 8, 9], 'ad__size': [1.0, 2.0, 3.0], 'user__age': [41, 25, 30]}
    """
    others = list(right.items()) if isinstance(right, Mapping) else [(None, right)]
    joined = join_sources([(None, left), *others], on)
    if isinstance(right, Mapping) and joined.join is not None:
        for line in joined.join.lines:
            warnings.warn(line, UserWarning, stacklevel=2)
    return joined


def join_sources(
    sources: Sequence[tuple[str | None, Any]],
    on: str | Sequence[str] | None = None,
    *,
    main: bool = True,
    label: str | None = None,
    named: Iterable[str] = (),
    learned: Collection[str] = (),
    dialect: Mapping[str, Any] | None = None,
) -> Source:
    """Return the rows of several tables, joined by an id.

    ``sources`` are pairs of a view and its table; columns of a table without a view keep their
    names, and rows that it has not are left out.  With ``main`` the first table gives the rows and
    their order; otherwise the table that has the label does, and without a label all ids that a
    table has, in their order.  The label and the ``named`` columns keep their names, other than
    where a model has ``learned`` a column of the view by the other name.
    """
    keys = None if on is None else [on] if isinstance(on, str) else list(on)
    for view, _ in sources:
        if view is not None and re.search(r"__|[*?[]|_$|^$", view):
            raise InputError(
                f"view {view!r}: the name of a source has no __, *, ? or [, and no _ at its end"
            )
    views = [view for view, _ in sources if view is not None]
    if twice := [view for view in views if views.count(view) > 1]:
        raise InputError(f"two sources are called {twice[0]!r}; give each view one")
    streams = [
        (view, open_table(_with_index(table, keys), dialect=dialect)) for view, table in sources
    ]
    guessed = keys is None
    keys = _check_keys(keys, streams)
    names = [name for name in [label, *named] if name is not None]
    tables = _name_columns(streams, keys, names, learned)
    with_label = (i for i, table in enumerate(tables) if label in table.columns)
    rows = 0 if main else next(with_label, None)
    tables = [one._replace(required=one.view is None and i != rows) for i, one in enumerate(tables)]
    joined = JoinedSource(tables, keys, rows)
    if guessed:
        joined.join.lines.insert(0, f"joined by {', '.join(keys)}; another id is {argument('on')}")
    return Source(joined, batch_rows=streams[0][1].batch_rows)


def _with_index(table: Any, keys: Sequence[str] | None) -> Any:
    """A pandas frame with its index as a column, where that is the id."""
    index = row_index(table)
    if index is None or keys is None or not hasattr(table, "columns"):
        return table
    wanted = [name for name in keys if name not in table.columns]
    return index_as_columns(table) if wanted and set(wanted) <= set(index.names) else table


def _check_keys(keys: list[str] | None, streams: Sequence[tuple[str | None, Source]]) -> list[str]:
    """The id, if all tables have it."""
    if keys is None:
        tables = [stream.column_names for _, stream in streams]
        keys = [name for name in tables[0] if all(name in other for other in tables[1:])]
        if len(tables) == 1:
            raise InputError(
                f"which column is the id? Name it: {argument('on')} (there are: {some_names(keys)})"
            )
        if len(keys) > 1 and any(view is not None for view, _ in streams):
            raise InputError(
                f"which column is the id? Name it: {argument('on')} (all have {some_names(keys)})"
            )
    if not keys:
        raise InputError(
            f"the tables of the join have no column in common; name the id: {argument('on')}"
        )
    for name in keys:
        for view, stream in streams:
            if name not in stream.column_names:
                close = _transposed(name, stream, streams)
                own = [one for one in keys if one in stream.column_names]
                if own and not close:  # such as items, beside users
                    close = (
                        f"; tables that have {own[0]} alone are joined by a query: SELECT ... "
                        f"LEFT JOIN {(stream.file or view)!r} USING ({own[0]})"
                    )
                close = close or closest_names(name, stream.column_names)
                where = f" in view {view!r}" if stream.file is None and view is not None else ""
                raise InputError(f"no column {name!r} to join by{where}{close}", file=stream.file)
    return keys


def _transposed(key: str, table: Source, streams: Sequence[tuple[str | None, Source]]) -> str:
    """Return, in words, that columns of a table are called as the ids of another one, if so."""
    for _, other in streams:
        if key not in other.column_names:
            continue
        batch = next(iter(other.select([key])), None)
        ids = [] if batch is None else batch.X.column(0).slice(0, MOST_COMPARED).to_pylist()
        columns = set(table.column_names)
        found = [name for name in dict.fromkeys(map(str, ids)) if name in columns]
        if len(found) > 1 and 2 * len(found) > len(ids):
            return (
                ": the table is transposed, as its columns are the ids of the others "
                f"({some_names(found, 4)}); give it a row for each {key}, in pandas by "
                f"read_csv(FILE, index_col=0).T.rename_axis({key!r}).to_csv(FILE)"
            )
    return ""


def _name_columns(
    streams: Sequence[tuple[str | None, Source]],
    keys: Sequence[str],
    named: Sequence[str],
    learned: Collection[str],
) -> list[JoinedTable]:
    """The tables with the names of their columns in the join."""
    tables: list[JoinedTable] = []
    taken = set(keys)
    plain = {name for view, one in streams if view is None for name in one.column_names}
    for i, (view, stream) in enumerate(streams):
        columns = {}
        for own in stream.column_names:
            if own in keys:
                continue
            as_it_is = view is None or own.startswith(f"{view}__")
            if own in named and own not in plain and f"{view}__{own}" not in learned:
                as_it_is = True
            name = own if as_it_is else f"{view}__{own}"
            if name in taken:
                raise InputError(
                    f"is in both tables of the join; they are joined by {', '.join(keys)}"
                    if view is None or own not in named
                    else "is in several sources; name a table of the labels first",
                    column=own,
                )
            taken.add(name)
            columns[name] = own
        title = "the other table" if i else "the table"
        if stream.files:
            title = stream.files[0] + (", ..." if len(stream.files) > 1 else "")
        elif view is not None:
            title = repr(view)
        tables.append(JoinedTable(stream, view, False, columns, title))
    return tables


class JoinedTable(NamedTuple):
    """One of the tables that are joined."""

    stream: Source
    view: str | None  # the view that it is; None: its columns keep their names
    required: bool  # whether rows that it has not are left out
    columns: dict[str, str]  # without the id: the name in the join, and its own
    title: str  # its name in messages


def _keys(on: Collection[str]) -> list[str]:
    """The SQL names of the columns of the id, made comparable."""
    return [f'"key {k} of the join"' for k in range(len(on))]


def _unify_keys(
    tables: Sequence[JoinedTable], on: Sequence[str]
) -> tuple[list[JoinedTable], dict[str, str | None]]:
    """Return the tables with ids that can be compared, and the SQL type of each column of the id.

    Text files say nothing of types: ids of digits are numbers if all tables have numbers, and text
    if another table has text, such as 007 or P12.  A type of None leaves the column as it is.
    """
    tables = list(tables)
    types: dict[str, str | None] = {}
    for name in on:
        kinds = {_family(table, name) for table in tables}
        if "text" in kinds and len(kinds) > 1:
            tables = [one._replace(stream=one.stream.as_kinds([name], [])) for one in tables]
            kinds = {_family(table, name) for table in tables}
        if kinds <= {"whole numbers", "numbers"}:
            types[name] = "HUGEINT" if kinds == {"whole numbers"} else "DOUBLE"
        elif len(kinds) == 1:
            types[name] = "VARCHAR" if kinds == {"text"} else None
        else:
            words = [f"{_family(one, name)} ({_first(one, name)}) in {one.title}" for one in tables]
            raise InputError(
                f"is {' and '.join(words)}; give the id one type in all tables", column=name
            )
    return tables, types


def _family(table: JoinedTable, name: str) -> str:
    """Return the family of types of a column of ids, also where it is stored as a dictionary."""
    kind = type_of_values(table.stream.schema.field(name).type)
    if is_text(kind):
        return "text"
    if pyarrow().types.is_integer(kind):
        return "whole numbers"
    return "numbers" if is_number(kind) else str(kind)


def _first(table: JoinedTable, name: str) -> str:
    """The first value of a column, as an example."""
    for batch in table.stream.select([name]):
        if len(batch):
            return f"such as {batch.X.column(0)[0].as_py()!r}"
    return "no rows"


@contextmanager
def _database() -> Iterator[tuple[Any, list[InputError]]]:
    """Open a database, and a list for what reading a table raises, which DuckDB would reword."""
    raised: list[InputError] = []
    with connection(own=True) as duck:
        try:
            with one_line(None):
                yield duck, raised
        except InputError as error:
            raise (raised[0] if raised else error) from None


def _load(
    duck: Any,
    name: str,
    table: JoinedTable,
    types: Mapping[str, str | None],
    raised: list[InputError],
    columns: Mapping[str, str] | None = None,
    ids: bool = True,
    streams: bool = False,
) -> None:
    """Give the database a table with its id made comparable, its places, and some columns.

    Each row must have an id; ``raised`` gets the error that ends the reading.  ``columns`` are
    names in the join and own ones, and ``ids`` adds the id as it is.  The table is read once: now,
    or where a query ``streams`` it.
    """
    arrow, own = pyarrow(), columns or {}
    stream = table.stream.select([*types, *own.values()])
    schema = stream.schema.append(arrow.field(PLACE, arrow.int64()))

    def batches() -> Iterator[pa.RecordBatch]:
        done = 0
        try:
            for batch in stream:
                for key in types:
                    batch.check_complete(key, "the id is missing; fill it in, or leave the row out")
                n = len(batch)
                place = integers(np.arange(done, done + n))
                yield arrow.RecordBatch.from_arrays([*batch.X.columns, place], schema=schema)
                done += n
        except InputError as error:
            raised.append(error)
            raise

    duck.register(f"read {name}", arrow.RecordBatchReader.from_batches(schema, batches()))
    casts = [
        identifier(key) if kind is None else f"TRY_CAST({identifier(key)} AS {kind})"
        for key, kind in types.items()
    ]
    parts = [f"{cast} AS {key}" for cast, key in zip(casts, _keys(types), strict=True)]
    parts += map(identifier, [PLACE, *(types if ids else ())])
    parts += [f"{identifier(one)} AS {identifier(name)}" for name, one in own.items()]
    kind = "TEMP VIEW" if streams else "TABLE"
    duck.execute(f'CREATE {kind} {name} AS SELECT {", ".join(parts)} FROM "read {name}"')


class Matches:
    """The ids that the tables have in common, found by reading their ids only.

    ``rows`` is the table that gives the rows; None: they are all ids of all tables.  ``n_rows`` are
    those of the join, and ``n_first`` those of the first table, or ids of all; ``lines`` are
    messages about rows that are not in all tables.
    """

    def __init__(
        self, tables: Sequence[JoinedTable], types: Mapping[str, str | None], rows: int | None
    ) -> None:
        self._tables, self._on, self._rows = tables, list(types), rows
        self._first, self._types = "rows" if rows is None else f"t{rows}", types
        self._keys, self._raw = ", ".join(_keys(types)), ", ".join(map(identifier, types))
        self.lines: list[str] = []
        with _database() as (self._duck, raised):
            for i, table in enumerate(tables):
                _load(self._duck, f"t{i}", table, types, raised)
                self._check_twice(i, table)
            self._make_rows()
            for i, table in enumerate(tables):
                self._match(i, table)
            self.n_rows = self._count("rows")
        del self._duck

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
            by = argument(groups=self._on[0])
            only = f"; compare never learns and scores the same one by {by}"
            apart = only if len(self._on) == 1 else ""
            self.lines.append(
                f"{table.title} has {name} {some} in several rows{more}, which get the same values "
                f"of the other tables{apart}"
            )
            return
        own = "; or give it as SOURCE, in which rows may share an id" if i == self._rows else ""
        raise InputError(
            f"has {name} {some} twice{more}; give each id once, such as by a query: SELECT "
            f"DISTINCT ON ({name}) * FROM ...{own}",
            file=table.title,
        )

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
                f"written alike in both?{self._written_otherwise(i, f't{other}')}"
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
                f"as {name} {some}, and are not used{self._written_otherwise(i, first)}"
            )
        if said:
            self.lines.append("; ".join(said))

    def _written_otherwise(self, i: int, other: str) -> str:
        """Return how many ids of a table others have in another case or with spaces, in words."""
        if "VARCHAR" not in self._types.values():
            return ""
        names = _keys(self._types)
        alike = ", ".join(
            f"lower(trim({name})) AS {name}" if kind == "VARCHAR" else name
            for name, kind in zip(names, self._types.values(), strict=True)
        )
        own = f"(SELECT {alike} FROM t{i} ANTI JOIN {other} USING ({self._keys}))"
        n = self._count(f"{own} SEMI JOIN (SELECT {alike} FROM {other}) USING ({self._keys})")
        if not n:
            return ""
        one = " and ".join(f"lower(trim({name}))" for name in self._on)
        return f"; {n:,} would be if case and spaces around them did not count: {one} in a query"

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


class JoinedSource:
    """Rows of several tables, joined by an id.

    ``rows`` is the table that gives the rows and their order.  None: all ids of all tables, in the
    order in which they come.
    """

    def __init__(self, tables: Sequence[JoinedTable], on: Sequence[str], rows: int | None) -> None:
        self.on = list(dict.fromkeys(on))
        self.files: Sequence[str] = [file for one in tables for file in one.stream.files]
        self._rows = rows
        self.ordered = rows is not None and tables[rows].stream.ordered
        self.dialect = _joint_dialect([one.stream.dialect for one in tables])
        self._tables, self._types = _unify_keys(tables, self.on)
        matches = Matches(self._tables, self._types, rows)
        self.n_rows: int | None = matches.n_rows
        views = [
            one.view
            for one in tables
            if one.view is not None
            and any(name.startswith(f"{one.view}__") for name in one.columns)
        ]
        self.join = Join(self.on, views, matches.lines)
        self.schema = self._schema()

    def _schema(self) -> pa.Schema:
        arrow = pyarrow()
        fields: list[pa.Field] = []
        if self._rows != 0:  # else they are where the first table has them
            of_rows = self._tables[self._rows or 0].stream.schema
            common = {"HUGEINT": arrow.int64(), "DOUBLE": arrow.float64()}
            common["VARCHAR"] = arrow.string()
            for name, kind in self._types.items():
                own = of_rows.field(name).type
                found = own if self._rows is not None or kind is None else common[kind]
                fields.append(arrow.field(name, found))
        for i, table in enumerate(self._tables):
            names = {own: name for name, own in table.columns.items()}
            if i == self._rows == 0:
                names |= {name: name for name in self.on}
            fields += [
                arrow.field(names[one.name], one.type)
                for one in table.stream.schema
                if one.name in names
            ]
        return arrow.schema([one.with_type(type_of_values(one.type)) for one in fields])

    def as_written(self, columns: Sequence[str]) -> Self:
        """Return the source in which these columns are text as it is in the file."""
        return self._of(lambda table: table.stream.as_written(self._own(table, columns)))

    def as_kinds(self, words: Sequence[str], numbers: Sequence[str]) -> Self:
        """Return the source in which some columns are text, and others numbers."""
        return self._of(
            lambda table: table.stream.as_kinds(self._own(table, words), self._own(table, numbers))
        )

    def _own(self, table: JoinedTable, columns: Sequence[str]) -> list[str]:
        """The columns that are of this table, by its names; its id is compared as it is."""
        names = dict(table.columns)
        if self._rows is not None and table is self._tables[self._rows]:
            names |= {name: name for name in self.on}
        return [names[name] for name in columns if name in names]

    def _of(self, read: Any) -> Self:
        """The same, of the same tables read in another way."""
        other = copy.copy(self)
        other._tables = [table._replace(stream=read(table)) for table in self._tables]
        other.schema = other._schema()
        return other

    def batches(self, columns: list[str], batch_rows: int) -> Iterator[Batch]:
        """Yield the rows with these columns."""
        schema = pyarrow().schema([self.schema.field(name) for name in columns])
        read = [
            i
            for i, table in enumerate(self._tables)
            if i == self._rows
            or self._rows is None
            or table.required
            or not set(table.columns).isdisjoint(columns)
        ]
        batch_rows = min(batch_rows, max(LEAST_ROWS, CELLS // max(1, len(columns))))
        done = 0
        with _database() as (duck, raised):
            for i in read:
                table, streams = self._tables[i], i == self._rows
                own = {name: one for name, one in table.columns.items() if name in set(columns)}
                ids = streams or self._rows is None
                _load(duck, f"t{i}", table, self._types, raised, own, ids, streams)
            query = self._query(columns, read)
            for data in read_batches(duck, duck.sql(query), batch_rows):
                yield Batch(data.cast(schema), None, done)
                done += data.num_rows

    def _query(self, columns: Sequence[str], read: Sequence[int]) -> str:
        """The SQL of the join."""
        keys = ", ".join(_keys(self.on))
        rows = f"t{self._rows}"
        sql = f"FROM {rows}"
        if self._rows is None:
            rows = "ids"
            sql = f"FROM ({self._all_ids(keys)}) AS ids"
        for i in read:
            if i != self._rows:
                kind = "JOIN" if self._tables[i].required else "LEFT JOIN"
                sql += f" {kind} t{i} USING ({keys})"
        chosen = [
            f"{rows}.{identifier(name)}" if name in self.on else identifier(name)
            for name in columns
        ]
        return f"SELECT {', '.join(chosen)} {sql} ORDER BY {rows}.{identifier(PLACE)}"

    def _all_ids(self, keys: str) -> str:
        """The SQL of the ids that a table has, each at the place where it comes first."""
        place, ids = identifier(PLACE), ", ".join(map(identifier, self.on))
        parts = [
            f"SELECT {keys}, {ids}, {i * ROWS_OF_A_TABLE} + {place} AS {place} FROM t{i}"
            for i in range(len(self._tables))
        ]
        firsts = [f"arg_min({identifier(name)}, {place}) AS {identifier(name)}" for name in self.on]
        return (
            f"SELECT {keys}, {', '.join(firsts)}, min({place}) AS {place} "
            f"FROM ({' UNION ALL '.join(parts)}) GROUP BY {keys}"
        )


def _joint_dialect(dialects: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """The dialect of the first CSV file, without a decimal point that others have not."""
    known = [one for one in dialects if one is not None]
    if not known:
        return None
    points = {one.get("decimal", ".") for one in known}
    return {k: v for k, v in known[0].items() if k != "decimal" or len(points) == 1}
