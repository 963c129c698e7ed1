"""``crossview card``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from crossview.cli.loading import load_heavy
from crossview.cli.options import STANDARD, ModelFile
from crossview.cli.output import write_text
from crossview.errors import InputError
from crossview.saving.files import CARD, check_writable

__all__ = ["run"]


def run(
    model: ModelFile,
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.md",
            help="README.md is what the hub shows. Without it, or with -, stdout.",
        ),
    ] = STANDARD,
    evaluation: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="What evaluate --json wrote of rows that the model has not learned: metrics with "
            "intervals, views and slices. Without it, the metric of training.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The heading. Default: the file's name.")
    ] = None,
    license: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The license of the model, such as bsd-3-clause."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What the rows of --evaluation are called."),
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Keep the card in the header of MODEL, too."),
    ] = False,
) -> None:
    """Write a model card: what a model predicts, from what, how well, and its limits.

    Markdown with the front matter that the Hugging Face hub reads. All it says is in
    the model file and in the evaluation; nothing is measured anew.
    """
    from crossview.cli.opening import model_input

    if keep and model == STANDARD:
        raise InputError("--keep writes into MODEL, and this is standard input; name a file")
    if dataset is not None and evaluation is None:
        raise InputError("--dataset names the rows of --evaluation; add it")
    with model_input(model) as file:
        if output != STANDARD:
            check_writable(output, CARD, [name for name in (file, evaluation) if name])
        load_heavy()
        from crossview.reporting.card import model_card, read_evaluation
        from crossview.saving.model_files import add_info

        known = None if evaluation is None else read_evaluation(evaluation)
        named = title or ("model" if model == STANDARD else None)
        text = model_card(str(file), known, title=named, license=license, dataset=dataset)
        write_text(output, text, CARD)
        if keep:
            add_info(str(file), card=text)
        if output != STANDARD:
            print(f"wrote {output}", file=sys.stderr)
        if keep:
            print(f"wrote the card into {model}", file=sys.stderr)
