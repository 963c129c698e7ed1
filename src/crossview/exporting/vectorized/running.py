"""Queries and graphs of ONNX, run here: do they score rows as the model does?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from crossview.errors import InputError
from crossview.exporting.plan import Plan
from crossview.exporting.vectorized.vectors import format_of
from crossview.labels import written_label
from crossview.portable.encoding import Column, NumberEncoder
from crossview.readers.prefetch import prefetch, stopped_by
from crossview.tables.arrow import first_line
from crossview.tables.dates import as_times, is_text

# the number of a row, which is no column of a model
_ROW = "crossview row"


def rows_as_table(plan: Plan, rows: Sequence[dict[str, Any]]) -> Any:
    """Return rows as an Arrow table: what is no number, with the types that it has."""
    import pyarrow as pa

    encoder: Any = plan.encoder
    columns: dict[str, Any] = {}
    for column in encoder.columns:
        cells = [row.get(column.name) for row in rows]
        if column.kind == "number":
            columns[column.name] = pa.array([as_number(cell) for cell in cells], pa.float64())
        elif column.kind == "category" and len(set(map(type, cells)) - {type(None)}) > 1:
            columns[column.name] = pa.array([category_text(cell) for cell in cells], pa.string())
        else:
            columns[column.name] = pa.array(cells)
    return pa.table(columns)


def answers_of_sql(
    plan: Plan, content: bytes, rows: Sequence[dict[str, Any]], **options: Any
) -> Any:
    """Return the numbers of each row from a query for DuckDB; None for another database.

    ``content`` may name another table, and returns rows in any order, as a join does; so what runs
    is the same query of a table here, which keeps the number of the row.
    """
    import duckdb
    import pyarrow as pa

    from crossview.exporting.vectorized.sql import TABLE, sql_query

    if options.get("dialect", "duckdb") != "duckdb":
        return None
    table = rows_as_table(plan, rows).append_column(_ROW, pa.array(range(len(rows))))
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.register(TABLE, table)
        query = sql_query(plan, keep=[_ROW])

        def run() -> Iterator[dict[str, Any]]:
            with stopped_by(connection.interrupt):
                yield connection.execute(query).fetchnumpy()

        try:
            (found,) = prefetch(run())  # in a thread, or no signal would be seen meanwhile
        except duckdb.Error as error:
            words = first_line(error)
            raise InputError(f"DuckDB cannot run the query on these rows: {words}") from None
    order = np.argsort(found[_ROW])
    return _by_name(plan, {name: values[order] for name, values in found.items()})


def _by_name(plan: Plan, found: dict[str, Any]) -> list[list[float]]:
    model = plan.model
    classes = list(map(written_label, model.classes or []))
    if model.classes is None:
        names = ["prediction"]
    elif model.calibration is not None:
        names = [f"probability_{label}" for label in classes]
    else:
        names = ["score"] if len(classes) == 2 else [f"score_{label}" for label in classes]
    columns: list[np.ndarray] = [
        np.ma.filled(np.ma.asarray(found[name], dtype=float), np.nan) for name in names
    ]
    return np.column_stack(columns).tolist()


def answers_of_onnx(plan: Plan, content: bytes, rows: Sequence[dict[str, Any]]) -> Any:
    """Return the numbers of each row from a graph; None where there is no onnxruntime."""
    if find_spec("onnxruntime") is None:
        return None
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    wanted = {one.name for one in session.get_inputs()}
    inputs = {k: value for k, value in onnx_inputs(plan, rows).items() if k in wanted}
    outputs = [one.name for one in session.get_outputs()]
    found = dict(zip(outputs, session.run(outputs, inputs), strict=True))
    name = "prediction" if plan.model.classes is None else "scores"
    name = name if plan.model.calibration is None else "probabilities"
    return found[name].tolist()


def onnx_inputs(plan: Plan, rows: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return rows as the inputs of a graph of ONNX."""
    encoder = plan.encoder
    if isinstance(encoder, NumberEncoder):
        views: dict[str, np.ndarray] = {}
        for name, width in zip(encoder.views, encoder.widths, strict=True):
            views[name] = np.full((len(rows), width), np.nan)
            for i, row in enumerate(rows):
                own = row.get(name)
                if own is not None:
                    views[name][i] = 0.0
                    for at, value in own.items() if isinstance(own, dict) else enumerate(own):
                        views[name][i, int(at)] = value
        return views
    return {
        column.name: _input(column, [row.get(column.name) for row in rows])
        for column in encoder.columns
    }


def _input(column: Column, cells: Sequence[Any]) -> np.ndarray:
    import pyarrow as pa

    if column.kind == "category":
        return np.array([["" if c is None else category_text(c)] for c in cells], dtype=object)
    if column.kind == "date":
        array = pa.array(cells)
        format = format_of(column.pattern or "") if is_text(array.type) else ""
        times = as_times(column.name, array, format)
        seconds = times.astype("M8[us]").astype(np.int64) / 1e6
        return np.where(np.isnat(times), np.nan, seconds)[:, None]
    return np.array([[np.nan if c is None else as_number(c)] for c in cells], dtype=float)


def as_number(cell: Any) -> float | None:
    """Return a cell of a column of numbers, in which Booleans may be text."""
    if isinstance(cell, str):
        return {"true": 1.0, "false": 0.0}.get(cell.lower()) if cell.isalpha() else float(cell)
    return None if cell is None else float(cell)


def category_text(cell: Any) -> str | None:
    """Return the name of a category, as the encoder has it."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).lower()
    return str(int(cell)) if isinstance(cell, int) or cell.is_integer() else str(cell)
