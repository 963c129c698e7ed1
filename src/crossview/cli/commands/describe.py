"""``crossview describe``."""

from __future__ import annotations

import json as jsonlib
import sys
from typing import Any

from crossview.cli.loading import load_heavy
from crossview.cli.options import STANDARD, TableSource
from crossview.cli.output import make_console, write_text
from crossview.saving.files import DESCRIPTION, check_writable

MOST_COLUMNS_SHOWN = 200


OPTIONS = """
--time COLUMN: A column of times, dates or numbers: checked as for train, and in no view.
--weight COLUMN: A column of weights: checked as for train, and in no view.
--json FILE: Write everything to this file too; - for stdout only.
"""


def run(
    source: TableSource,
    *,
    task: str | None = None,
    time: str | None = None,
    weight: str | None = None,
    json: str | None = None,
) -> None:
    """Show what a source holds, column by column, and what may be wrong with it.

    The kind, view, different and missing values, range and most frequent values of
    each column, and how much it says of the label by itself, from 0 to 1.
    """
    from crossview.cli.opening import files_of, join, open_source, standard_input
    from crossview.readers.find import find_reader, is_query
    from crossview.readers.source import open_table

    with standard_input(source.source, source) as file:
        if file is None or source.sources:
            named = [name for name in (time, weight) if name is not None]
            table: Any = join(file, source, source.label, named)
        elif is_query(file):
            table = open_table(file, **source.reading)
        elif find_reader(file, source.reading.get("format"))[0].takes_views:
            table = open_source(file, source)
        else:
            table = open_table(file, **source.reading)
        if json not in (None, STANDARD):
            check_writable(json, DESCRIPTION, files_of(file if file and is_query(file) else table))
        if source.label in getattr(table, "column_names", ()):  # folds are chosen by it
            load_heavy()
        _describe(table, source, json, task=task, time=time, weight=weight)


def _describe(table: Any, source: TableSource, json: str | None, **options: Any) -> None:
    """Describe columns, or views."""
    from crossview.cli.opening import guesses_as_lines, lines_of_text
    from crossview.describing.describe import describe_columns
    from crossview.reporting.tables import description_table, rows_table
    from crossview.tables.columns import match_names

    with guesses_as_lines():
        description = describe_columns(
            *(table, source.label),
            views=source.views,
            kinds=source.kinds,
            ignore=source.ignored,
            **options,
        )
    if not _write(description, json):
        return
    console = make_console()
    if description.views:
        console.print(rows_table(description))
        labels = [f"{label}: {n:,}" for label, n in description.labels.items()]
        labels += [f"none: {description.unlabeled:,}"] if description.unlabeled else []
        shown = f", labels {', '.join(labels)}" if labels else ""
        console.print(f"\n{description.n_rows:,} rows{shown}")
        return
    console.print(description_table(description))
    hidden = len(description.with_vectors()) - MOST_COLUMNS_SHOWN
    if hidden > 0:
        console.print(f"... and {hidden:,} more columns (--json has all of them)")
    console.print(f"\n{description.n_rows:,} rows, {len(description.columns):,} columns")
    texts = [one.name for one in description.columns if one.kind == "text"]
    names = [one.name for one in description.columns if one.view is not None]
    found = [name for name in texts if name not in match_names(source.kinds["text"], names, "text")]
    for line in lines_of_text(found, source.views, names, texts):
        console.print(line, soft_wrap=True)
    for warning in description.warnings:
        console.print(f"warning: {warning}", soft_wrap=True)


def _write(description: Any, json: str | None) -> bool:
    """Write the description as JSON, if asked for; return whether tables are shown too."""
    if json is not None:
        text = jsonlib.dumps(description.to_dict(), indent=1, ensure_ascii=False) + "\n"
        write_text(json, text, DESCRIPTION)
        sys.stdout.flush()
    return json != STANDARD
