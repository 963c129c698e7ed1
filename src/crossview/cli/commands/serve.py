"""``crossview serve``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

from crossview.catalog.names import check_task
from crossview.cli.loading import load_heavy
from crossview.cli.options import ColumnArguments, parse_seconds
from crossview.cli.output import compiling_as_line
from crossview.errors import InputError
from crossview.server_log.addresses import is_address

OPTIONS = """
model MODEL: A file that `train` wrote, to begin with; without it DIR goes on.
--data DIR: The folder of the log, which is made if there is none: predictions, labels and
    snapshots of the model.
--log ADDRESS: In place of --data: postgresql://user@host/database, in which any number of servers
    on any number of machines share a log. The password is in PGPASSWORD or ~/.pgpass.
--port N: 0: any that is free.
--host ADDRESS: The default is seen from this machine only.
--token-file FILE: Ask for the header authorization: Bearer TOKEN. One token, for all, or lines of
    predict, label or operator and a token.
--new-classes: A label of no class so far becomes one. Without it, it is refused.
--new: Begin with nothing, in place of MODEL: the default model learns from --label, and its
    columns are those of the first 20 rows whose labels come.
--label COLUMN: With --new: the name of what is predicted.
--view NAME=COLUMNS: With --new: a view and its columns, names or globs. Once for each. Without
    any, columns called VIEW__COLUMN, or rows by view, are grouped.
--text [NAME=]COLUMNS: With --new: columns of free text.
--categorical [NAME=]COLUMNS: With --new: columns whose numbers are categories.
--numeric [NAME=]COLUMNS: With --new: columns that must be numbers, also if the first row has text.
--sparse [NAME=]COLUMNS: With --new: columns of numbers that are mostly 0, which keep their zeros.
--date [NAME=]COLUMNS[=FORMAT]: With --new: columns of text that are dates, and how they are
    written, such as paid_on=%d.%m.%Y.
--ignore COLUMNS: With --new: columns that are in no view.
--task NAME: With --new: classification, or regression to predict a number.
--target-scale NAME: With --new --task regression: log or log1p to learn the logarithm of the
    number, as of prices.
--wait TIME: How long a row waits for its label, such as 2h or 7d; then it is dropped, and a label
    gets 410. Default: for ever.
--no-label CLASS: With --wait: learn such a row as this class, as a click that never came;
    negative: the class of two that is not the positive one. A later label corrects it.
--keep TIME: Remove rows and labels from the log once they are this old, such as 30d.
--hash-rows: Log slots and standardized numbers of rows, and no names and values. The encoder then
    stays as it is in MODEL.
--frozen: MODEL learns nothing, and may be of any kind, such as trees, a network or an ensemble.
    Labels are taken as ever, for scores, drift and challengers.
--challenger FILE: Another model, which learns the same labels and is compared with the one that
    is served. Once for each; the name is that of the file.
--frozen-challenger FILE: The same, of a model that learns nothing more.
--workers N: Processes that answer at this port. Each learns all labels.
"""


def run(
    model: str | None = None,
    *,
    data: str | None = None,
    log: str | None = None,
    port: int = 8080,
    host: str = "127.0.0.1",
    token_file: str | None = None,
    new_classes: bool = False,
    new: bool = False,
    columns: ColumnArguments,
    task: str | None = "classification",
    target_scale: str = "linear",
    wait: str | None = None,
    no_label: str | None = None,
    keep: str | None = None,
    hash_rows: bool = False,
    frozen: bool = False,
    challenger: list[str] | None = None,
    frozen_challenger: list[str] | None = None,
    workers: int = 1,
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
    label = columns.label
    if not new:
        for name, value in asdict(columns).items():
            if value:
                raise InputError(f"--{name} is about a new model; add --new, or leave it out")
        if task != "classification":
            raise InputError("--task is about a new model; add --new, or leave it out")
    elif model is not None:
        raise InputError(f"--new begins with nothing; leave it out, or {model}")
    elif frozen:
        raise InputError("--frozen is about a model that has learned; leave it, or --new, out")
    elif label is None:
        raise InputError("--new needs the name of what is predicted; give --label COLUMN")
    elif task is not None:
        check_task(task)
    if target_scale not in ("linear", "log", "log1p"):
        raise InputError(f"--target-scale {target_scale}; give linear, log or log1p")
    if target_scale != "linear" and not (new and task == "regression"):
        raise InputError(
            "--target-scale is about a new model of numbers; add --new --task regression"
        )
    if (data is None) == (log is None):
        raise InputError("give --data DIR, or --log postgresql://user@host/database")
    if log is not None and not is_address(log):
        raise InputError("--log is no address of PostgreSQL; give postgresql://user@host/database")
    seconds = {
        option: None if value is None else parse_seconds(value, f"--{option}")
        for option, value in {"wait": wait, "keep": keep}.items()
    }
    load_heavy()
    from crossview.serving.beginning import Beginning
    from crossview.serving.serve import serve

    first: Any = model
    if new and label is not None:
        own = columns.views, columns.kinds, columns.ignored
        first = Beginning(label, task or "classification", *own, target_scale=target_scale)

    def say(line: str) -> None:
        print(f"crossview: {line}", file=sys.stderr, flush=True)

    with compiling_as_line():
        serve(
            log or data or "",
            first,
            host=host,
            port=port,
            token_file=token_file,
            new_classes=new_classes,
            wait=seconds["wait"],
            no_label=no_label,
            keep=seconds["keep"],
            hash_rows=hash_rows,
            frozen=frozen,
            challengers=challenger or [],
            frozen_challengers=frozen_challenger or [],
            workers=workers,
            say=say,
        )
