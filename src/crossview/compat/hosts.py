"""A fitted model as a function of rows in an engine: what polars and DuckDB have in common.

A batch of the engine's rows becomes an Arrow table, and `crossview.predict` does the rest, so each
learner gives the numbers that it gives there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossview.errors import InputError, closest_names
from crossview.predicting.predict import Predictions
from crossview.scoring.models.fitted_model import FittedModel


class RowFunction:
    """The predictions of a model as a function of columns that an engine has.

    model: a model of tables, as for `crossview.predict`; it is loaded once.
    columns: names of the columns that there are.  None: those of the model.
    missing_columns: as for `crossview.predict`.
    columns: those of ``columns`` that the model has, in their order.
    schema: of the predictions.
    missing_views: views of which there is no column.
    missing_lines: a line about each of them.
    null_columns: columns of other views that there are not.
    """

    def __init__(
        self,
        model: Any,
        columns: Sequence[str] | None = None,
        missing_columns: str = "error",
    ) -> None:
        fitted = FittedModel(model)
        encoder = fitted.encoder
        if encoder is None or not hasattr(encoder, "view_columns"):
            raise InputError(
                "the model learned views and no table, so it has no columns; give one with a "
                "ViewEncoder",
                file=fitted.file,
            )
        # of the parts, so that a file is read once, and its threshold stays
        self._fitted, self._missing_columns = fitted, missing_columns
        own = list(dict.fromkeys(c for group in encoder.view_columns().values() for c in group))
        if isinstance(columns, str):
            raise InputError(f"columns={columns!r}; give a list of names")
        known = own if columns is None else list(columns)
        self.columns = [name for name in known if name in set(own)]
        empty = pa.table({name: pa.nulls(0) for name in self.columns or known})
        found = self._predictions(empty)
        self.schema = found.schema
        self.missing_views, self.null_columns = found.missing_views, found.null_columns
        self.missing_lines = found.missing_lines()

    def check_output(self, name: str) -> None:
        """Raise an error for what is no column of the predictions."""
        if name not in self.schema.names:
            raise InputError(
                f"output={name!r}: no such column of the predictions"
                + closest_names(name, self.schema.names)
            )

    def __call__(self, rows: pa.Table) -> pa.Table:
        """Return the predictions of rows; NaN is missing, as null is."""
        cells = {name: _nan_as_null(rows.column(name)) for name in rows.column_names}
        found = self._predictions(pa.table(cells))
        return pa.Table.from_batches(list(found), self.schema if len(rows) else found.schema)

    def _predictions(self, rows: pa.Table) -> Predictions:
        return Predictions(self._fitted, rows, missing_columns=self._missing_columns)


def _nan_as_null(column: Any) -> Any:
    if not pa.types.is_floating(column.type):
        return column
    missing = pc.is_nan(column)
    if not pc.any(missing).as_py():
        return column
    return pc.if_else(missing, pa.scalar(None, column.type), column)
