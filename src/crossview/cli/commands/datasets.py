"""``crossview datasets``."""

from __future__ import annotations

import shlex
import sys

from crossview.catalog.readers import READERS
from crossview.cli.loading import load_heavy
from crossview.cli.options import STANDARD
from crossview.cli.output import make_console, standard_output, warnings_as_lines
from crossview.errors import InputError

OPTIONS = """
name [NAME]: Without it: lists the data sets.
--output, -o FILE: Ends in .parquet, .csv, .svm, .ffm or .vw; - for CSV on stdout.
"""


def run(
    name: str | None = None,
    output: str | None = None,
) -> None:
    """Write a data set with views to a file, to try things on.

    Two are bundled. The others are public, and are fetched from their address:
    each file is checked by its SHA-256 and kept in CROSSVIEW_CACHE, by default
    a folder of the system. CROSSVIEW_DATA names a folder that has them already,
    in NAME/FILE. Without a name all are listed.
    """
    load_heavy()
    if name is None:
        _show()
    else:
        _write(name, output)


def _show() -> None:
    """List the data sets."""
    from crossview import datasets
    from crossview.reporting.fitting_table import FittingTable

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


def _write(name: str, output: str | None) -> None:
    """Write a data set, and say how to compare learners on it."""
    from crossview import datasets

    datasets.check_name(name)
    if output is None:
        raise InputError(f"say where to write it: -o {name}.parquet")
    stem = output.lower().removesuffix(".gz").removesuffix(".zst")
    with warnings_as_lines():
        if stem.endswith(tuple(end for one in READERS if one.takes_views for end in one.suffixes)):
            lines, options = _write_rows(name, output)
        else:
            with standard_output(output, ".csv") as file:
                table = datasets.write(name, file)
            lines = [f"{table.num_rows:,} rows, wrote {output}"]
            options = ["--label", table.column_names[-1]]
    if output != STANDARD:
        options += ["--task", "regression"] if _task(name) == "regression" else []
        command = shlex.join(["crossview", "compare", output, *options])
        lines += ["", "Compare learners on it:", command]
        print("\n".join(lines), file=sys.stderr)


def _task(name: str) -> str:
    from crossview import datasets

    return next(one.task for one in datasets.known() if one.name == name)


def _write_rows(name: str, output: str) -> tuple[list[str], list[str]]:
    """Write a data set as text with views; returns what was written, and how it is read."""
    from crossview import datasets
    from crossview.cli.commands.convert import lines_about, view_options
    from crossview.converting.convert import convert

    if name in datasets.names():
        table = datasets.load(name)
        answer = convert(table, table.column_names[-1], output)
    else:
        found = datasets.fetch(name)
        if hasattr(found.data, "column_names"):
            table = found.data.append_column(found.label, [found.target])
            answer = convert(table, found.label, output, task=_task(name))
        else:
            answer = convert(found.data, found.target, output)
    return lines_about(answer, output), view_options(answer)
