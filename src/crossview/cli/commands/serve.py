"""``crossview serve``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from crossview.cli.loading import load_heavy
from crossview.cli.options import Task, parse_columns, parse_seconds
from crossview.cli.output import compiling_as_line
from crossview.errors import InputError

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
    new: Annotated[
        bool,
        typer.Option(
            "--new",
            help="Begin with nothing, in place of MODEL: the default model learns from --label, "
            "and its columns are those of the first 20 rows whose labels come.",
        ),
    ] = False,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="With --new: the name of what is predicted."),
    ] = None,
    task: Task = "classification",
    view: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COLUMNS",
            help="With --new: a view and its columns, names or globs. Once for each. Without any, "
            "columns called VIEW__COLUMN, or rows by view, are grouped.",
        ),
        "views",
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]COLUMNS", help="With --new: columns of free text."),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]COLUMNS", help="With --new: columns whose numbers are categories."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="With --new: columns that are in no view."),
    ] = None,
    wait: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long a row waits for its label, such as 2h or 7d; then it is dropped, and a "
            "label gets 410. Default: for ever.",
        ),
    ] = None,
    no_label: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="With --wait: learn such a row as this class, as a click that never came; "
            "negative: the class of two that is not the positive one. A later label corrects it.",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Remove rows and labels from the log once they are this old, such as 30d.",
        ),
    ] = None,
    hash_rows: Annotated[
        bool,
        typer.Option(
            "--hash-rows",
            help="Log slots and standardized numbers of rows, and no names and values. The "
            "encoder then stays as it is in MODEL.",
        ),
    ] = False,
    challenger: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Another model, which learns the same labels and is compared with the one that "
            "is served. Once for each; the name is that of the file.",
        ),
    ] = None,
    frozen_challenger: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="The same, of a model that learns nothing more."),
    ] = None,
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
    kinds_given = {"view": view or [], "text": text or [], "categorical": categorical or []}
    if not new:
        for name, value in {"label": label, "ignore": ignore, **kinds_given}.items():
            if value:
                raise InputError(f"--{name} is about a new model; add --new, or leave it out")
        if task != "classification":
            raise InputError("--task is about a new model; add --new, or leave it out")
    elif model is not None:
        raise InputError(f"--new begins with nothing; leave it out, or {model}")
    elif label is None:
        raise InputError("--new needs the name of what is predicted; give --label COLUMN")
    seconds = {
        option: None if value is None else parse_seconds(value, f"--{option}")
        for option, value in {"wait": wait, "keep": keep}.items()
    }
    load_heavy()
    from crossview.serving.beginning import Beginning
    from crossview.serving.serve import serve

    first: Any = model
    if new and label is not None:
        views, kinds = parse_columns(kinds_given)
        ignored = [name.strip() for one in ignore or [] for name in one.split(",")]
        first = Beginning(label, task or "classification", views, kinds, ignored)

    def say(line: str) -> None:
        print(f"crossview: {line}", file=sys.stderr, flush=True)

    with compiling_as_line():
        serve(
            data,
            first,
            host=host,
            port=port,
            token_file=token_file,
            new_classes=new_classes,
            wait=seconds["wait"],
            no_label=no_label,
            keep=seconds["keep"],
            hash_rows=hash_rows,
            challengers=challenger or [],
            frozen_challengers=frozen_challenger or [],
            say=say,
        )
