"""``crossview export``."""

from __future__ import annotations

import sys
from typing import Any

from crossview.cli.loading import load_heavy
from crossview.cli.output import compiling_as_line
from crossview.cli.words import split_list

OPTIONS = """
--output, -o FILE: Ends in .py, .js, .html, .json, .sql or .onnx.
--rows SOURCE: Rows on which the export is compared with the model, and --prune measures: a file,
    a glob or a query; at most 2,000 of them. Default: made-up rows. Of .sql the dialect is duckdb.
--prune: Drop models, columns and digits that do not matter: the log loss of --rows, or of numbers
    the squared error, grows by at most 0.1 %. Give rows that the model has not learned.
--label COLUMN: The labels of --rows. Default: the label of the model.
--dialect NAME: Of .sql: duckdb (default), postgres, sqlite, bigquery or snowflake.
--table NAME: Of .sql: the table with the columns of the model. Default: rows_to_score.
--keep COLUMNS: Of .sql: columns of the table that the query returns too, such as an id: names, with
    commas between.
--categories SOURCE: Of .sql and .onnx: rows, such as those of training, whose categories are
    looked up too. Default: of each slot the category that training had first.
"""


def run(
    model: str,
    *,
    output: str,
    rows: str | None = None,
    prune: bool = False,
    label: str | None = None,
    dialect: str | None = None,
    table: str | None = None,
    keep: list[str] | None = None,
    categories: str | None = None,
) -> None:
    """Write a model as Python, JavaScript or a page, which score rows without Crossview.

    A row is a mapping of columns to values, {"user__age": 31}, or of views to
    mappings, {"user": {"age": 31}}; what is absent is missing. Probabilities
    are those of the model, up to rounding.

    The .py file needs Python alone; with rows as JSON lines on stdin it prints
    an answer per line. The .js file is an ES module for browsers and Node, with
    predict, predictProba, viewScores and explain. The .html file is a page that
    explains a prediction while one types. The .json file is the model alone:
    load(model) of any such module reads it. The .sql file is one query, the
    .onnx file a graph; both look categories up, and cannot hash text.
    """
    from crossview.cli.opening import model_input
    from crossview.exporting.target import target_of

    target_of(output)  # before a model is read
    with model_input(model) as file:
        load_heavy()
        from crossview.exporting.export import export

        options: dict[str, Any] = {"rows": rows, "label": label, "prune": prune}
        options |= {
            "dialect": dialect,
            "table": table,
            "keep": [name for one in keep or [] for name in split_list(one)],
        }
        options["categories"] = categories
        with compiling_as_line():
            exported = export(str(file), output, **options)
    print(exported, file=sys.stderr)
