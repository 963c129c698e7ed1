"""``crossview train``."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossview.catalog.learners import ENSEMBLE
from crossview.catalog.settings import parse_settings
from crossview.cli.loading import load_heavy
from crossview.cli.options import (
    MODELS,
    STANDARD,
    TUNED_THRESHOLD,
    ClusterArguments,
    EncodedSource,
    ScoringArguments,
    check_models,
    parse_seconds,
)
from crossview.cli.output import Report, compiling_as_line, standard_output, warnings_as_lines
from crossview.cli.words import say, split_list
from crossview.errors import InputError, LearnedRowsWarning

if TYPE_CHECKING:
    from crossview.cli.opening import Opened
    from crossview.scoring.models.trained import Trained


OPTIONS = f"""
{TUNED_THRESHOLD}
--output, -o MODEL: The model file to write; - for stdout.
--model NAME: One of {MODELS}. Default: stacking.
--init MODEL: Go on from this model, which has learned other rows. Views, settings, metric and
    threshold are its own, and the label unless --label names another column.
settings --set NAME=VALUE: A parameter of the model, such as C=0.1 or n_factors=8. Once for each.
--member 'NAME [weight=NUMBER] [PARAMETER=VALUE ...]': With --model ensemble: a model of it, as
    crossview compare prints it. Once for each. Without weights five folds fit them.
--epochs: Passes over the rows, each in another random order; not for models that draw rows or
    need all rows in memory.
--in-order/--shuffle, --no-shuffle: Learn the rows in the order of SOURCE, as a stream, or
    shuffled: exactly up to 512 MB, more by blocks. Default: shuffled, but a query with ORDER BY
    in its order, and with --init as the model has learned before.
--groups COLUMN: Rows with the same value here, such as a user, are never both learned and held
    out, where rows are held out to stop trees, or for probabilities and thresholds. The column is
    in no view.
--seed: Of the order of the rows and of the model.
--classes A,B,...: All labels that may occur. Without it, the label column is read once before.
--checkpoint FILE: Keep the run in this file while it lasts: the model so far, the position in
    SOURCE, a hash of the rows that were read, all counts. It is a model file, too.
--every TIME: Time between two checkpoints, such as 10s or 5min. Default: 60s.
--resume: Go on from --checkpoint, if the file is there: the model is, to the last bit, the one of
    a run that never stopped. If SOURCE has other rows than before, nothing is written.
--log FILE: Write a JSON line for each window of rows, each predicted before it was learned: loss,
    log loss, accuracy, metric.
--log-every ROWS: Rows of a window of --log. Default: about 20 windows, of 100 rows or more.
--progress/--no-progress: Lines at 1, 2, 4, 8, ... rows on stderr, or nothing. Default: on a
    terminal a bar where the number of rows is known, otherwise lines; elsewhere nothing.
"""


def run(
    words: list[str],
    source: EncodedSource,
    *,
    output: str,
    model: str | None = None,
    init: str | None = None,
    task: str | None = None,
    settings: list[str] | None = None,
    member: list[str] | None = None,
    epochs: int = 1,
    in_order: bool | None = None,
    time: str | None = None,
    weight: str | None = None,
    groups: str | None = None,
    seed: int = 0,
    classes: str | None = None,
    scoring: ScoringArguments,
    cluster: ClusterArguments,
    checkpoint: Path | None = None,
    every: str | None = None,
    resume: bool = False,
    log: Path | None = None,
    log_every: int | None = None,
    report: str | None = None,
    progress: bool | None = None,
) -> None:
    """Train a model on the rows of a source, shuffled, or in order as a stream.

    Without --model, several models learn in the same pass and are weighted by how
    well they predict: there is nothing to choose.

    Memory is bounded, by 512 MB of rows and with --in-order by one batch. But keco
    and pegasos draw rows, all of which are in memory; with --set schedule=stream
    they learn each row once, and keep 500 support rows per view (--set budget=N).
    svmperf, trees, extra-trees, network, logistic-regression, ridge and late-fusion have all rows
    in memory, too; svmperf is trained for --metric, of the class that --positive names.
    """
    from crossview.cli.opening import opened, task_of, warn

    # 1. check the options, and open the rows
    cluster.refuse(
        time=time,
        groups=groups,
        epochs=None if epochs == 1 else epochs,
        init=init,
        checkpoint=checkpoint,
        every=every,
        resume=resume or None,
        log=log,
        log_every=log_every,
        source=source.sources,
        report=report,
    )
    seconds = parse_seconds(every or "60s", "--every", zero=True)
    if checkpoint is None and (resume or every is not None):
        option = "--resume goes on from" if resume else "--every is about"
        raise InputError(f"{option} a checkpoint; name its file by --checkpoint")
    if log_every is not None and log is None:
        raise InputError("--log-every is about a log; name its file by --log")
    own, scored = parse_settings(settings), scoring.make()
    if member:
        if model != ENSEMBLE:
            raise InputError("--member is about --model ensemble; name that model, or leave it out")
        own["members"] = member
    if init is None:
        task = check_models([model or "stacking"], task, scored, own)
    aside = {"time": time, "weight": weight, "groups": groups}
    with opened(source, model=init, in_no_view=aside, learns=True) as rows:
        inputs = [*rows.inputs, *([init] if init else [])]
        page = Report.parse(report, words, inputs, [output, checkpoint, log])
        load_heavy()
        if init is None:
            task = task_of(task, rows)
        options: dict[str, Any] = {
            "model": model,
            "settings": own,
            "task": task,
            "scoring": scored,
            "in_order": in_order,
            "weight": weight,
            "seed": seed,
            "classes": split_list(classes) if classes else None,
            **source.arguments(),
        }
        # 2. learn
        if cluster.dask is not None:
            options["task"] = task or "classification"
            warn(rows, options["task"], leaks=True)
            _train_on_cluster(rows, cluster, output, progress, options)
            return
        from crossview.cli.progress import watching
        from crossview.training.checkpoint import Checkpoint
        from crossview.training.log import TrainingLog
        from crossview.training.train import train

        if checkpoint is not None:
            if resume and not os.path.exists(checkpoint):
                say(f"{checkpoint}: no such file yet, so it begins with the first row")
            options["checkpoint"] = Checkpoint(checkpoint, every=seconds, resume=resume)
        written = None if log is None else TrainingLog(log, log_every)
        if init is None:
            warn(rows, options["task"])
        with (
            standard_output(output) as file,
            warnings_as_lines(LearnedRowsWarning),
            compiling_as_line(),
            watching(show=progress) as observer,
        ):
            observer.history, observer.log = page is not None, written
            options |= {"epochs": epochs, "time": time, "init": rows.model, "output": file}
            options["groups"] = groups
            trained = train(rows.table, source.label, **options, log=observer)
        # 3. say how it went
        wrote = [] if output == STANDARD else [f"wrote {output}"]
        guessed = source.bins is None and init is None
        lines = [*_summary(trained), *(_no_bins(trained) if guessed else []), *wrote]
        print("\n".join(lines), file=sys.stderr)
        if page is not None:
            about = {
                "source": source.title,
                "label": trained.label,
                "settings": {"set": settings or []},
                "commands": _next_steps(output),
            }
            page.write(trained, about)


def _no_bins(trained: Trained) -> list[str]:
    """Say that a stream has no bins, where its numbers are too many for the default."""
    from crossview.encoding.encode import AUTO_BINS, MOST_BINNED, ViewEncoder

    encoder = trained.encoder
    if trained.passes is None or not isinstance(encoder, ViewEncoder) or encoder.n_bins_:
        return []
    sparse = sum(kinds.get("sparse", 0) for kinds in encoder.column_kinds().values())
    n = len(encoder.count_) - sparse  # which have no bins
    if n <= MOST_BINNED:
        return []
    return [f"no bins: {n:,} numbers are more than {MOST_BINNED}; with bins: --bins {AUTO_BINS}"]


def _next_steps(model: str) -> dict[str, str]:
    """Return what to do with a model, and the commands."""
    if model == STANDARD:
        return {}
    file = shlex.quote(model)
    return {
        "Measure it on rows that it has not learned": f"crossview evaluate {file} OTHER_ROWS",
        "Predict new rows": f"crossview predict {file} NEW_ROWS -o PREDICTIONS.csv",
    }


def _train_on_cluster(
    rows: Opened,
    cluster: ClusterArguments,
    output: str,
    progress: bool | None,
    options: dict[str, Any],
) -> None:
    """Train with ``--dask``."""
    from crossview import distributed
    from crossview.distributed.training import check_streams

    def show(number: int, n_rows: int, loss: float | None) -> None:
        if progress or (progress is None and sys.stderr.isatty()):
            print(f"round {number}: {n_rows:,} rows, held-out loss {loss:.4f}", file=sys.stderr)

    check_streams(options["model"], options["task"], options["settings"])
    with (
        warnings_as_lines(),
        distributed.connected(str(cluster.dask)) as client,
        standard_output(output) as file,
    ):
        trained = distributed.train(
            rows.table,
            rows.arguments.label,
            client=client,
            output=file,
            n_partitions=cluster.partitions,
            n_rounds=cluster.rounds,
            observer=show,
            **options,
        )
    wrote = [] if output == STANDARD else [f"wrote {output}"]
    print("\n".join([*_summary(trained), *wrote]), file=sys.stderr)


def _summary(trained: Trained) -> list[str]:
    """Return the lines about a training."""
    warned = [f"crossview: warning: {line}" for line in trained.warnings]
    return [*warned, *trained.lines]
