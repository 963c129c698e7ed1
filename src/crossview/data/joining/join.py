"""Tables joined by an id: views in several files, and labels that came later."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crossview.data.arrow import pyarrow
from crossview.data.joining.join_keys import (
    PLACE,
    JoinedTable,
    Matches,
    database,
    key_name,
    register,
    unify_keys,
)
from crossview.data.readers.duck import identifier, read_batches
from crossview.data.source import Batch, Source, open_table
from crossview.errors import InputError, closest_names, some_names
from crossview.views import index_as_columns, row_index

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Join", "JoinedSource", "join_sources", "join_tables"]

# of a batch, about
CELLS = 4_000_000
LEAST_ROWS = 1024
# in the order of the rows of several tables: the first table, then the place in it
ROWS_OF_A_TABLE = 10**15


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
    dialect: Mapping[str, Any] | None = None,
) -> Source:
    """Return the rows of several tables, joined by an id.

    ``sources`` are pairs of a view and its table; columns of a table without a view keep their
    names, and rows that it has not are left out.  With ``main`` the first table gives the rows and
    their order; otherwise the table that has the label does, and without a label all ids that a
    table has, in their order.  The label and the ``named`` columns keep their names.
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
    tables = _name_columns(streams, keys, names)
    rows = 0 if main else _with_label(tables, label)
    tables = [one._replace(required=one.view is None and i != rows) for i, one in enumerate(tables)]
    joined = JoinedSource(tables, keys, rows)
    if guessed:
        joined.join.lines.insert(0, f"joined by {', '.join(keys)}; another id is on=")
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
                f"which column is the id? Name it: on= (there are: {some_names(keys)})"
            )
        if not keys:
            raise InputError("the tables of the join have no column in common; name the id: on=")
        if len(keys) > 1 and any(view is not None for view, _ in streams):
            raise InputError(f"which column is the id? Name it: on= (all have {some_names(keys)})")
    if not keys:
        raise InputError("the tables of the join have no column in common; name the id: on=")
    for name in keys:
        for view, stream in streams:
            if name not in stream.column_names:
                close = closest_names(name, stream.column_names)
                file = stream.files[0] if stream.files else None
                where = f" in view {view!r}" if file is None and view is not None else ""
                raise InputError(f"no column {name!r} to join by{where}{close}", file=file)
    return keys


def _name_columns(
    streams: Sequence[tuple[str | None, Source]], keys: Sequence[str], named: Sequence[str]
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
            if own in named and own not in plain:
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


def _with_label(tables: Sequence[JoinedTable], label: str | None) -> int | None:
    """The table that has the label, if one has."""
    return next((i for i, table in enumerate(tables) if label in table.columns), None)


class JoinedSource:
    """Rows of several tables, joined by an id.

    ``rows`` is the table that gives the rows and their order.  None: all ids of all tables, in the
    order in which they come.
    """

    def __init__(self, tables: Sequence[JoinedTable], on: Sequence[str], rows: int | None) -> None:
        self.on = list(on)
        self.files: Sequence[str] = [file for one in tables for file in one.stream.files]
        self._rows = rows
        self.ordered = rows is not None and tables[rows].stream.ordered
        dialects = [one.stream.dialect for one in tables]
        self.dialect = next((one for one in dialects if one is not None), None)
        self._tables, self._types = unify_keys(tables, on)
        matches = Matches(self._tables, on, self._types, rows)
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
            for name, kind in zip(self.on, self._types, strict=True):
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
        return arrow.schema([_without_dictionary(one) for one in fields])

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
        with database() as (duck, raised):
            for i in read:
                self._load(duck, i, columns, raised)
            query = self._query(columns, read)
            for data in read_batches(duck, duck.sql(query), batch_rows):
                yield Batch(data.cast(schema), None, done)
                done += data.num_rows

    def _load(self, duck: Any, i: int, columns: Sequence[str], raised: list[Any]) -> None:
        """Give the database a table with these columns and its id."""
        table = self._tables[i]
        wanted = {name: own for name, own in table.columns.items() if name in set(columns)}
        stream = table.stream.select([*self.on, *wanted.values()])
        register(duck, f"read_{i}", stream, self.on, raised)
        keys = [
            f"{self._key(name, kind)} AS {identifier(key_name(k))}"
            for k, (name, kind) in enumerate(zip(self.on, self._types, strict=True))
        ]
        has_ids = self._rows is None or i == self._rows
        keys += map(identifier, self.on if has_ids else ())
        own = [f"{identifier(own)} AS {identifier(name)}" for name, own in wanted.items()]
        select = f"SELECT {', '.join([*keys, *own, identifier(PLACE)])} FROM read_{i}"
        if i == self._rows:  # it streams
            duck.execute(f"CREATE TEMP VIEW t{i} AS {select}")
        else:
            duck.execute(f"CREATE TABLE t{i} AS {select}")

    @staticmethod
    def _key(name: str, kind: str | None) -> str:
        column = identifier(name)
        return column if kind is None else f"TRY_CAST({column} AS {kind})"

    def _query(self, columns: Sequence[str], read: Sequence[int]) -> str:
        """The SQL of the join."""
        keys = ", ".join(identifier(key_name(k)) for k in range(len(self.on)))
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


def _without_dictionary(field: pa.Field) -> pa.Field:
    """The field as DuckDB returns it."""
    coded = pyarrow().types.is_dictionary(field.type)
    return field.with_type(field.type.value_type) if coded else field
