"""``crossview predict``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from crossview.cli.first_use import compiling_as_line
from crossview.cli.loading import after_loading
from crossview.cli.opening import STANDARD, Rows, literal_value
from crossview.data.writers.tables import check_table, write_csv, writing
from crossview.predicting.predict import Predictions, predict_inputs, with_id
from crossview.scoring.drift import drift_warnings

__all__ = ["run"]


@after_loading
def run(
    model: str,
    rows: Rows,
    output: str,
    *,
    keep: Sequence[str],
    missing_columns: str,
    threshold: str | None,
    positive: str | None,
    explain: int | None,
) -> None:
    """``crossview predict``."""
    own = {} if threshold is None else {"threshold": literal_value(threshold)}
    own["missing_columns"] = missing_columns
    to_stdout = output == STANDARD
    if not to_stdout:
        check_table(output, predict_inputs(model, rows.table))
    own["explain"] = explain
    keep = with_id(rows.table, keep)
    predictions = Predictions(model, rows.table, keep=keep, positive=positive, **own)
    for view in predictions.missing_views:
        print(
            f"crossview: view {view!r} is missing in {rows.title}; scored without it",
            file=sys.stderr,
        )
    for column in predictions.null_columns:
        print(f"crossview: column {column!r} is missing in {rows.title}: null", file=sys.stderr)
    schema = predictions.schema
    wanted = write_csv(sys.stdout.buffer, schema) if to_stdout else writing(output, schema)
    with compiling_as_line(), wanted as write:
        for batch in predictions:
            write(batch)
    for line in drift_warnings(predictions.drift):
        print(f"crossview: warning: {line}", file=sys.stderr)
    if not to_stdout:
        print(f"{predictions.n_rows:,} rows, wrote {output}", file=sys.stderr)
