"""``crossview export``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from crossview.cli.loading import load_heavy
from crossview.cli.options import ModelFile
from crossview.cli.output import compiling_as_line

if TYPE_CHECKING:
    from crossview.exporting.export import Exported

__all__ = ["lines_about", "run"]


def run(
    model: ModelFile,
    *,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Ends in .py, .js or .json."),
    ],
) -> None:
    """Write a model as Python, JavaScript or JSON, which score rows without Crossview.

    A row is a mapping of columns to values, {"user__age": 31}, or of views to
    mappings, {"user": {"age": 31}}; what is absent is missing. Probabilities
    are those of the model, up to rounding.

    The .py file needs Python alone; with rows as JSON lines on stdin it prints
    an answer per line. The .js file is an ES module for browsers and Node, with
    predict, predictProba, viewScores and explain. The .json file is the model
    alone: load(model) of any such module reads it.
    """
    from crossview.cli.opening import model_input
    from crossview.exporting.target import target_of

    target_of(output)  # before a model is read
    with model_input(model) as file:
        load_heavy()
        from crossview.exporting.export import export

        with compiling_as_line():
            exported = export(str(file), output)
    for line in lines_about(exported):
        print(line, file=sys.stderr)


def lines_about(exported: Exported) -> list[str]:
    """Return what was written, and what it costs."""
    away = exported.difference
    precise = f"as the model to within {max(away.largest, 1e-16):.0e} on {away.n_rows} made-up rows"
    if away.n_larger:
        precise += f", {away.n_larger} of which differ by more than rounding"
    return [f"wrote {exported.path}: {exported.n_bytes / 1000:,.0f} kB; it scores {precise}"]
