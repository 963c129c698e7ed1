"""``crossview evaluate``."""

from __future__ import annotations

import json as jsonlib
import sys
from contextlib import ExitStack, redirect_stdout
from typing import Any

from crossview.cli.first_use import compiling_as_line
from crossview.cli.loading import after_loading
from crossview.cli.opening import (
    STANDARD,
    Cluster,
    Report,
    Rows,
    literal_value,
    make_console,
    write_text,
)
from crossview.cli.report import to_stdout, write_report
from crossview.evaluating import evaluate as evaluating
from crossview.evaluating.evaluation import Evaluation
from crossview.predicting.predict import predict_inputs
from crossview.reporting.evaluation import evaluation_tables
from crossview.saving.files import EVALUATION, check_writable
from crossview.saving.pipelines import pipeline
from crossview.scoring.fitted_model import FittedModel

__all__ = ["run"]


@after_loading
def run(
    model: str,
    rows: Rows,
    label: str | None,
    *,
    cluster: Cluster | None,
    json: str | None,
    report: Report | None,
    k: str | None,
    threshold: str | None,
    **options: Any,
) -> None:
    """``crossview evaluate``."""
    if json not in (None, STANDARD):
        check_writable(json, EVALUATION, predict_inputs(model, rows.table))
    if threshold is not None:
        options["threshold"] = literal_value(threshold)
    options["k"] = literal_value(k or "none")
    if cluster is None:
        with compiling_as_line():
            answer = evaluating.evaluate(model, rows.table, label, **options)
    else:
        answer = _evaluate_on_cluster(model, rows.table, label, cluster, options)
    with ExitStack() as files:  # first the tables, then the files, and each also if another fails
        files.callback(_write_page, report, model, rows, answer, options)
        if json is not None:
            text = jsonlib.dumps(answer.to_dict(), indent=1, ensure_ascii=False)
            files.callback(write_text, json, text + "\n", EVALUATION)
        with redirect_stdout(sys.stderr if to_stdout(json, report) else sys.stdout):
            console = make_console()
            console.print(f"{rows.title}, {answer.summary}")
            for part in evaluation_tables(answer):
                console.print(part)
            sys.stdout.flush()


def _write_page(
    report: Report | None, model: str, rows: Rows, answer: Evaluation, options: dict[str, Any]
) -> None:
    """The page, if one was asked for."""
    if report is None:
        return
    fitted = FittedModel(model)
    settings = {name: options.get(name) for name in ("by", "time", "window")}
    about = {"source": rows.title, "label": answer.label, "settings": settings}
    whole = pipeline(fitted.encoder, fitted.learner)
    write_report(report, answer, about, fitted=whole, info=fitted.info)


def _evaluate_on_cluster(
    model: str, table: Any, label: str | None, cluster: Cluster, options: dict[str, Any]
) -> Evaluation:
    """``crossview evaluate --dask``."""
    from crossview import distributed

    with distributed.connected(cluster.address) as client:
        return distributed.evaluate(
            model, table, label, client=client, n_partitions=cluster.partitions, **options
        )
