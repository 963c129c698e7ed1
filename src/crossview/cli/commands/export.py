"""``crossview export``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from crossview.cli.loading import load_heavy
from crossview.cli.output import compiling_as_line
from crossview.cli.words import split_list

if TYPE_CHECKING:
    from crossview.exporting.checking import Difference
    from crossview.exporting.export import Exported


OPTIONS = """
--output, -o FILE: Ends in .py, .js, .html, .json, .sql or .onnx.
--rows SOURCE: Rows on which the export is compared with the model, and --prune measures: a file,
    a glob or a query; at most 2,000 of them. Default: made-up rows.
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
    for line in lines_about(exported):
        print(line, file=sys.stderr)


def lines_about(exported: Exported) -> list[str]:
    """Return what was written, and what it costs."""
    away, pruned = exported.difference, exported.pruned
    if away is None:
        precise = "was not run here; its dialect is another one"
    else:
        precise = _precise(exported.target, away)
    if pruned is None:
        return [f"wrote {exported.path}: {_size(exported.n_bytes)}; it {precise}"]
    before, after = (f"{loss:.4f}" for loss in (pruned.before, pruned.after))
    dropped = [f"{pruned.n_weights:,} of {pruned.n_weights + pruned.n_left:,} weights"]
    if pruned.n_members:
        dropped.insert(0, f"{pruned.n_members} of the models")
    if pruned.levels:
        dropped.append(f"all but {pruned.levels:,} levels of each table")
    return [
        f"dropped {', '.join(dropped)}: loss {before} before, {after} after, on "
        f"{pruned.n_rows:,} rows; before it {precise}",
        f"wrote {exported.path}: {_size(exported.n_bytes)}, and "
        f"{_size(exported.n_bytes_unpruned)} without --prune",
    ]


def _precise(target: str, away: Difference) -> str:
    """How far the numbers are from those of the model."""
    within = f"{max(away.largest, 1e-16):.0e}"
    if not away.n_larger:
        return f"scores as the model to within {within} on {away.n_rows:,} rows"
    words = f"scores {away.n_larger:,} of {away.n_rows:,} rows by up to {within} otherwise"
    if target in ("SQL", "ONNX"):
        empty = " '' (missing in ONNX)," if target == "ONNX" else ""
        words += (
            f": their categories are{empty} new, or in a slot that another one had first; "
            "--categories SOURCE looks up those of SOURCE, too"
        )
    return words


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1000:,.0f} kB"
