"""``crossview serve``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from crossview.cli.loading import load_heavy
from crossview.cli.output import compiling_as_line

__all__ = ["run"]


def run(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="A file that `train` wrote, to begin with; without it DIR goes on.",
            show_default=False,
        ),
    ] = None,
    *,
    data: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="The folder of the log, which is made if there is none: predictions, labels and "
            "snapshots of the model.",
        ),
    ],
    port: Annotated[int, typer.Option(metavar="N", help="0: any that is free.")] = 8080,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The default is seen from this machine only.")
    ] = "127.0.0.1",
    token_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Ask for the header authorization: Bearer TOKEN. One token, for all, or lines of "
            "predict, label or operator and a token.",
        ),
    ] = None,
    new_classes: Annotated[
        bool,
        typer.Option(
            "--new-classes",
            help="A label of no class so far becomes one. Without it, it is refused.",
        ),
    ] = False,
) -> None:
    """Serve a model that predicts rows, waits for their labels, and learns them.

    POST /predict {"row": {...}} gives an id, a prediction and probabilities.
    POST /label {"id": ..., "label": ...} is answered when the label is on disk,
    and is learned once. POST /learn takes rows with their labels. GET /model
    is the model now, /stats and /metrics are numbers, and /healthz and /readyz
    are probes.

    The model is a function of MODEL and the log: after a power cut the same
    command goes on as if nothing had been, and `crossview replay DIR` shows it.
    """
    load_heavy()
    from crossview.serving.serve import serve

    def say(line: str) -> None:
        print(f"crossview: {line}", file=sys.stderr, flush=True)

    with compiling_as_line():
        serve(
            data,
            model,
            host=host,
            port=port,
            token_file=token_file,
            new_classes=new_classes,
            say=say,
        )
