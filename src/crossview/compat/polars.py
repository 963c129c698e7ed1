"""Predictions as expressions of polars: ``pip install polars``.

A lazy query then predicts as it runs, batch by batch, and reads only the columns of the model:

    import polars as pl
    from crossview import load

    model = load("clicks.safetensors")
    visits = pl.scan_parquet("visits/*.parquet")
    likely = model.predict_expr(visits.collect_schema().names(), "probability_click")
    visits.filter(likely > 0.5).sink_parquet("likely.parquet")
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from crossview.compat.hosts import RowFunction
from crossview.errors import InputError

try:
    import polars as pl
except ImportError:
    raise ImportError("expressions need polars: pip install polars") from None


def predict_expr(
    model: Any,
    columns: Sequence[str],
    output: str | Sequence[str] = "prediction",
    *,
    missing_columns: str = "error",
) -> pl.Expr:
    """Return the predictions of a model as an expression of polars.

    It is evaluated for batches of rows, in any order, by the code of `crossview.predict`, and not
    by arithmetic of polars: so every learner and every encoder gives the same numbers as there, to
    the last bit; also text, which polars cannot hash as we do.  Null and NaN are missing.

    narwhals has no such expression for lazy frames: call ``to_native()`` on one of polars.

    Parameters
    ----------
    model : path-like, Trained or Pipeline
        A model of tables: its file, what `crossview.train` returned, or the fitted pipeline.
    columns : sequence of str
        Names of the columns that the frame has, as ``frame.columns``, of a lazy one
        ``frame.collect_schema().names()``.  Those that the model has are read, and no others.
    output : str or sequence of str, default="prediction"
        A column of `crossview.predict`, such as ``"prediction"``, ``"score"``,
        ``"probability_click"`` or ``"view_user"``.  Several are a struct: one evaluation, and
        ``expr.struct.unnest()`` gives the columns.
    missing_columns : {"error", "null"}, default="error"
        What is done about a column that the frame has not, though it has others of its view:
        "error", or "null" takes it as missing in all rows.

    Returns
    -------
    expr : polars.Expr
        It is called like its column, and a struct ``predictions``.

    Raises
    ------
    InputError
        There is no such output, or a column is missing, or the model reads no tables.  What is
        wrong with a value is an error of polars when the query runs.

    Warns
    -----
    UserWarning
        The frame has no column of a view; the model predicts without it.

    Examples
    --------
    >>> import polars as pl
    >>> from crossview import datasets, train
    >>> from crossview.compat.polars import predict_expr
    >>> table = datasets.load("breast-cancer")
    >>> model = train(table, "diagnosis", model="pa:squared")
    >>> frame = pl.from_arrow(table).lazy()
    >>> found = predict_expr(model, table.column_names, ["prediction", "probability_malignant"])
    >>> frame.select("diagnosis", found.struct.unnest()).head(2).collect()["prediction"].to_list()
    ['malignant', 'malignant']
    """
    function = RowFunction(model, columns, missing_columns)
    single = isinstance(output, str)
    wanted = [output] if isinstance(output, str) else list(output)
    if not wanted:
        raise InputError("output= is empty; give a column of the predictions")
    for name in wanted:
        function.check_output(name)
    for line in function.missing_lines:
        warnings.warn(line, UserWarning, stacklevel=2)
    types = _frame(function.schema.empty_table()).schema

    def evaluate(rows: pl.Series) -> pl.Series:
        found = _frame(function(rows.struct.unnest().to_arrow()).select(wanted))
        return found[wanted[0]] if single else found.to_struct("predictions")

    kind = types[wanted[0]] if single else pl.Struct({name: types[name] for name in wanted})
    expression = pl.struct(function.columns).map_batches(
        evaluate, return_dtype=kind, is_elementwise=True
    )
    return expression.alias(wanted[0] if single else "predictions")


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
