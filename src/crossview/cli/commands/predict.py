"""``crossview predict``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from crossview.catalog.settings import literal_value
from crossview.cli.loading import load_heavy
from crossview.cli.options import (
    STANDARD,
    SourceArguments,
)
from crossview.cli.output import compiling_as_line, warnings_as_lines
from crossview.cli.words import split_list
from crossview.errors import NO_ROWS

OPTIONS = """
--output, -o FILE: Ends in .csv, .parquet or .jsonl. Without it, or with -, CSV on stdout.
--keep COLUMNS: Copy columns of SOURCE, such as an id: names, with commas between; of Vowpal Wabbit
    files tag.
--explain N: Also name the N columns, such as 3, that contribute most to the score of each row,
    with their contributions: explain_1_column, explain_1_contribution, ... A number counts with its
    bins, and a date with all its parts.
--top N: Of each row the N most probable classes, such as 5, and their probabilities, in place of a
    column per class: top_1_class, top_1_probability, top_2_class, ...
"""


def run(
    model: str,
    source: SourceArguments,
    *,
    output: str = "-",
    keep: list[str] | None = None,
    threshold: str | None = None,
    positive: str | None = None,
    missing_columns: str = "error",
    explain: int | None = None,
    top: int | None = None,
) -> int:
    """Score rows: a prediction, a score, probabilities, and one score per view.

    Rows keep their order.

    With two classes the threshold of the model predicts the second, sorted, or
    a score above 0 if it has none. With more there is one score per class, the
    highest multiple of its threshold predicts (a probability; without
    thresholds the highest score), and a view's score is that for the predicted
    class. There is one column probability_CLASS per class. A view that is missing in a row
    has no score. Where a number is predicted there is no score, and a view's is
    the prediction from that view alone.
    """
    from crossview.cli.opening import check_columns, check_columns_of_model, opened

    own: dict[str, Any] = {"missing_columns": missing_columns, "explain": explain, "top": top}
    if threshold is not None:
        own["threshold"] = literal_value(threshold)
    with opened(source, model=model) as rows:
        kept = [name for one in keep or [] for name in split_list(one)]
        check_columns(rows.table, kept)
        check_columns_of_model(str(rows.model), rows.table, missing_columns)
        load_heavy()
        return _predict(rows, output, kept, positive=positive, **own)


def _predict(rows: Any, output: str, keep: Sequence[str], **options: Any) -> int:
    """Write predictions, and say what is missing and what has moved; return the status."""
    from crossview.predicting.predict import Predictions, predict_inputs, with_id
    from crossview.tables.writer import check_table, write_csv, writing

    to_stdout = output == STANDARD
    if not to_stdout:
        check_table(output, predict_inputs(rows.model, rows.table))
    keep = with_id(rows.table, keep)
    predictions = Predictions(rows.model, rows.table, keep=keep, **options)
    for line in predictions.missing_lines(f" in {rows.arguments.title}"):
        print(f"crossview: {line}", file=sys.stderr)
    for column in predictions.null_columns:
        print(
            f"crossview: column {column!r} is missing in {rows.arguments.title}: null",
            file=sys.stderr,
        )
    schema = predictions.schema
    wanted = write_csv(sys.stdout.buffer, schema) if to_stdout else writing(output, schema)
    with warnings_as_lines(), compiling_as_line(), wanted as write:
        for batch in predictions:
            write(batch)
    for line in predictions.warnings:
        print(f"crossview: warning: {line}", file=sys.stderr)
    if not predictions.n_rows:
        words = f"{rows.arguments.title}: no row is there, so the predictions have none"
        print(f"crossview: {words}", file=sys.stderr)
    if not to_stdout:
        print(f"{predictions.n_rows:,} rows, wrote {output}", file=sys.stderr)
    return 0 if predictions.n_rows else NO_ROWS
