"""``crossview train``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from crossview.cli.first_use import compiling_as_line
from crossview.cli.loading import after_loading
from crossview.cli.opening import (
    STANDARD,
    Cluster,
    Report,
    Rows,
    literal_value,
    parse_settings,
    standard_output,
    warn,
)
from crossview.cli.progress import warnings_as_lines, watching
from crossview.cli.report import write_report
from crossview.cli.words import as_options
from crossview.reporting.model import training_summary
from crossview.scoring.compiling import SECONDS_UNTOLD
from crossview.training import train as training

__all__ = ["run"]


@after_loading
def run(
    rows: Rows,
    *,
    cluster: Cluster | None,
    report: Report | None,
    output: str,
    init: str | None,
    settings: Sequence[str],
    task: str,
    metric: str | None,
    k: str | None,
    cost: Any,
    threshold: str,
    progress: bool | None,
    **options: Any,
) -> None:
    """``crossview train``."""
    if cluster is not None:
        warn(rows, task, leaks=True)
        scoring = {"task": task, "metric": metric, "k": literal_value(k or "none"), "cost": cost}
        about = {"settings": parse_settings(settings), "threshold": literal_value(threshold)}
        _run_on_cluster(rows, cluster, output, progress, {**options, **scoring, **about})
        return
    if init is None:
        warn(rows, task)
    with (
        standard_output(output) as file,
        warnings_as_lines(),
        compiling_as_line(),
        watching(show=progress) as observer,
    ):
        trained = training.train(
            rows.table,
            rows.columns.label,
            **rows.columns.arguments(),
            **options,
            settings=parse_settings(settings),
            init=init,
            output=file,
            task=task,
            metric=metric,
            k=literal_value(k or "none"),
            cost=cost,
            threshold=literal_value(threshold),
            observer=observer,
            history=report is not None,
        )
    wrote = [] if output == STANDARD else [f"wrote {output}"]
    print("\n".join([*_summary(trained), *wrote]), file=sys.stderr)
    about = {"source": rows.title, "label": trained.label, "settings": {"set": settings}}
    write_report(report, trained, about)


def _run_on_cluster(
    rows: Rows, cluster: Cluster, output: str, progress: bool | None, options: dict[str, Any]
) -> None:
    """``crossview train --dask``."""
    from crossview.distributed import connected
    from crossview.distributed import training as distributed

    def show(number: int, n_rows: int, loss: float | None) -> None:
        if progress or (progress is None and sys.stderr.isatty()):
            print(f"round {number}: {n_rows:,} rows, held-out loss {loss:.4f}", file=sys.stderr)

    own = {k: v for k, v in options.items() if k not in distributed.NOT_DISTRIBUTED}
    distributed.check_streams(own["model"], own["task"], own["settings"])
    with (
        warnings_as_lines(),
        connected(cluster.address) as client,
        standard_output(output) as file,
    ):
        trained = distributed.train(
            rows.table,
            rows.columns.label,
            client=client,
            output=file,
            n_partitions=cluster.partitions,
            n_rounds=cluster.rounds,
            observer=show,
            **rows.columns.arguments(),
            **own,
        )
    wrote = [] if output == STANDARD else [f"wrote {output}"]
    print("\n".join([*_summary(trained, "held-out rows"), *wrote]), file=sys.stderr)


def _summary(
    trained: training.Trained, scored: str = "each row predicted before it was learned"
) -> list[str]:
    """How a training went, in lines; ``scored`` says which rows the metrics are about."""
    rows = f"{trained.rows:,} rows"
    if trained.unlabeled:
        rows += f" with a label and {trained.unlabeled:,} without"
    if trained.order is not None:
        rows += f" {trained.order}"
    if trained.earlier:
        rows += f", {trained.earlier:,} of them before"
    lines = [f"crossview: warning: {as_options(line)}" for line in trained.warnings]
    lines += [_headline(trained, scored), *trained.notes]
    if trained.passes is None:
        seconds = trained.seconds - trained.compiled
        lines.append(f"{rows}, {training_summary(trained.learner)}, {seconds:.1f} s")
    else:
        passes = "1 pass" if trained.passes == 1 else f"{trained.passes} passes"
        new = trained.rows - trained.earlier + trained.unlabeled
        seconds = max(trained.seconds - trained.compiled, 1e-3)
        lines.append(
            f"{rows}, {passes}, {seconds:.1f} s, {new * trained.passes / seconds:,.0f} rows/s"
        )
    if trained.compiled > SECONDS_UNTOLD:
        lines.append(f"compiled for this machine, once: {trained.compiled:.0f} s")
    if trained.skipped:
        lines.append(f"{trained.skipped:,} unlabeled rows were skipped")
    return lines


def _headline(trained: training.Trained, scored: str) -> str:
    """The metric, what it is about, and its value; ``scored`` says of which rows."""
    if trained.loss is None:
        return f"{trained.metric_words}: crossview evaluate says how good it is on other rows"
    form = ".4g" if trained.task == "regression" else ".4f"
    values = {trained.metric_words: trained.metric["value"], "loss": trained.loss}
    if trained.task == "classification" and trained.metric["name"] != "accuracy":
        values["accuracy"] = trained.accuracy
    words = ", ".join(
        f"{name} {np.nan if value is None else value:{form}}" for name, value in values.items()
    )
    return f"{words}; {scored}"
