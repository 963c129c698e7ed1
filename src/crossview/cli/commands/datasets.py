"""``crossview datasets``."""

from __future__ import annotations

import sys

from crossview import datasets
from crossview.catalog.readers import READERS
from crossview.cli.loading import after_loading
from crossview.cli.opening import STANDARD, make_console, standard_output
from crossview.errors import InputError
from crossview.report.fitting_table import FittingTable

__all__ = ["run", "show"]


@after_loading
def show() -> None:
    """List the data sets."""
    header = ("data set", "rows are", "views", "license", "where", "rows", "MB")
    rows = [
        (
            one.name,
            one.what + (" (regression)" if one.task == "regression" else ""),
            ", ".join(one.views),
            one.license,
            one.where if "://" not in one.where else one.page.partition("://")[2],
            f"{one.n_rows:,}",
            f"{one.size / 1e6:.2f}" if one.size else "",
        )
        for one in datasets.known()
    ]
    make_console().print(FittingTable(header, rows, texts=5))


@after_loading
def run(name: str, output: str | None) -> None:
    """Write a data set."""
    if output is None:
        raise InputError(f"say where to write it: -o {name}.parquet")
    stem = output.lower().removesuffix(".gz").removesuffix(".zst")
    if stem.endswith(tuple(end for one in READERS if one.takes_views for end in one.suffixes)):
        _write_rows(name, output)
    else:
        with standard_output(output, ".csv") as file:
            datasets.write(name, file)
    if output != STANDARD:
        print(f"wrote {output}", file=sys.stderr)


def _write_rows(name: str, output: str) -> None:
    """Write a data set as text with views."""
    from crossview.evaluation.convert import convert

    if name in datasets.names():
        table = datasets.load(name)
        convert(table, table.column_names[-1], output)
        return
    found = datasets.fetch(name)
    task = next(one.task for one in datasets.known() if one.name == name)
    if hasattr(found.data, "column_names"):
        table = found.data.append_column(found.label, [found.target])
        convert(table, found.label, output, task=task)
    else:
        convert(found.data, found.target, output)
