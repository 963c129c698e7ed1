"""A model as a function of SQL, in DuckDB within this process: ``pip install 'crossview[cli]'``.

    import duckdb
    from crossview.compat.duckdb import register

    connection = duckdb.connect("shop.db")
    register(connection, "clicks.safetensors")
    connection.sql('SELECT visit_id, crossview_predict(v).prediction FROM visits AS v')

`crossview export` writes a query that needs neither Python nor this package; this runs every model,
also of text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from crossview.compat.hosts import RowFunction
from crossview.errors import InputError

try:
    import duckdb
except ImportError:
    raise ImportError(
        "crossview.compat.duckdb needs DuckDB: pip install 'crossview[cli]'"
    ) from None


def register(
    connection: duckdb.DuckDBPyConnection,
    model: Any,
    name: str = "crossview_predict",
    *,
    columns: Sequence[str] | None = None,
    missing_columns: str = "error",
) -> list[str]:
    """Make a function of SQL that predicts with a model.

    Its argument is a row: that of a table by its name or alias, or a struct of columns.

    .. code-block:: sql

        SELECT crossview_predict(v).prediction FROM visits AS v
        SELECT crossview_predict({'age': age, 'city': city}).probability_click FROM people
        SELECT unnest(crossview_predict(v)) FROM visits AS v

    It may also be the columns themselves, in the order of ``columns``.  The function returns a
    struct with the columns of `crossview.predict`, computed by its code in batches, so every
    learner gives the same numbers as there, to the last bit.  NULL and NaN are missing, and so is a
    view of which the row has no column; columns that the model has not are ignored.  The function
    is gone with the connection.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        The connection; ``duckdb.default_connection()`` is that of ``duckdb.sql``.
    model : path-like, Trained or Pipeline
        A model of tables: its file, what `crossview.train` returned, or the fitted pipeline.
    name : str, default="crossview_predict"
        Name of the function: letters, digits and underscores.  One that was registered before is
        replaced.
    columns : sequence of str, default=None
        The columns that the arguments are, where they are no struct.  None: all of the model, in
        the order of its views.
    missing_columns : {"error", "null"}, default="error"
        What is done about a column that a row has not, though it has others of its view: "error",
        or "null" takes it as missing.

    Returns
    -------
    fields : list of str
        Names in the struct that the function returns: ``prediction``, ``score``,
        ``probability_<class>``, ``view_<view>``.

    Raises
    ------
    InputError
        The name is none, a column is not one of the model, or the model reads no tables.  What is
        wrong with a value is an error of DuckDB when the query runs.

    Examples
    --------
    >>> import duckdb
    >>> from crossview import datasets, train
    >>> from crossview.compat.duckdb import register
    >>> tumors = datasets.load("breast-cancer")
    >>> with duckdb.connect() as connection:
    ...     names = register(connection, train(tumors, "diagnosis", model="pa:squared"))
    ...     connection.sql(
    ...         "SELECT crossview_predict(t).prediction AS found, count(*) AS n "
    ...         "FROM tumors AS t WHERE diagnosis = 'benign' GROUP BY found ORDER BY n DESC LIMIT 1"
    ...     ).fetchall()
    [('benign', 350)]
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise InputError(f"name={name!r}; give letters, digits and underscores")
    function = RowFunction(model, columns, missing_columns)
    if columns is not None and (unknown := [c for c in columns if c not in function.columns]):
        raise InputError(
            "is no column of the model, so it is not one of columns=", column=unknown[0]
        )

    def predict(*cells: pa.ChunkedArray) -> pa.ChunkedArray:
        found = function(_as_table(cells, function.columns))
        return pa.chunked_array([found.to_struct_array().combine_chunks()])

    fields = connection.from_arrow(function.schema.empty_table())
    kinds = dict(zip(fields.columns, fields.types, strict=True))
    if connection.execute(
        "SELECT count(*) FROM duckdb_functions() WHERE function_name = ?", [name.lower()]
    ).fetchall() != [(0,)]:
        connection.remove_function(name)
    create: Any = connection.create_function  # whose types know no function of Arrow columns
    create(
        name,
        predict,
        None,  # any columns, as the query has them
        duckdb.struct_type(kinds),
        type="arrow",
        null_handling="special",  # a row of which some cells are NULL is predicted
    )
    return list(kinds)


def _as_table(cells: Sequence[pa.ChunkedArray], columns: Sequence[str]) -> pa.Table:
    """The rows of one struct, or of a cell for each column."""
    if len(cells) == 1 and pa.types.is_struct(cells[0].type):
        kind = cells[0].type
        parts = cells[0].combine_chunks()
        parts = parts.chunk(0) if isinstance(parts, pa.ChunkedArray) else parts
        # where the row itself is NULL, as that of an outer join, so are its cells
        return pa.table(dict(zip([field.name for field in kind], parts.flatten(), strict=True)))
    if len(cells) != len(columns):
        raise InputError(
            f"{len(cells)} arguments; give a row (the name of a table, or a struct of columns), or "
            f"the {len(columns)} columns of the model in their order: {', '.join(columns[:5])}, ..."
        )
    return pa.table(dict(zip(columns, cells, strict=True)))
