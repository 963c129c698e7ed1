"""The commands as one program; what each does is in `crossview.cli.commands`."""

from __future__ import annotations

from typing import Annotated

import typer

import crossview
from crossview.cli.commands import (
    card,
    compare,
    convert,
    datasets,
    describe,
    evaluate,
    export,
    inspect,
    predict,
    replay,
    serve,
    train,
)
from crossview.cli.options import as_callback

# the lines after \b keep their breaks
FIRST_COMMANDS = """\b
To begin, copy these three:
  crossview datasets breast-cancer -o tumors.parquet
  crossview compare tumors.parquet --label diagnosis --report report.html
  crossview train tumors.parquet --label diagnosis -o model.safetensors"""

app = typer.Typer(
    name="crossview",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=FIRST_COMMANDS,
)


@app.callback(invoke_without_command=True)
def crossview_command(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Combine several data sources in one model, which predicts even if one is missing."""
    if version:
        typer.echo(f"crossview {crossview.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


VERBS = (
    describe,
    compare,
    train,
    predict,
    evaluate,
    inspect,
    card,
    serve,
    replay,
    export,
    convert,
    datasets,
)
for module in VERBS:
    app.command(module.__name__.rpartition(".")[2])(as_callback(module.run, module.OPTIONS))
