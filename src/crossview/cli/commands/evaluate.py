"""``crossview evaluate``."""

from __future__ import annotations

import json as jsonlib
import sys
from contextlib import ExitStack, redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

from crossview.cli.loading import load_heavy
from crossview.cli.options import (
    STANDARD,
    ClusterArguments,
    ScoringArguments,
    SourceArguments,
)
from crossview.cli.output import (
    Report,
    compiling_as_line,
    make_console,
    to_stdout,
    warnings_as_lines,
    write_text,
)
from crossview.cli.words import split_list

if TYPE_CHECKING:
    from crossview.cli.opening import Opened
    from crossview.evaluating.evaluation import Evaluation


OPTIONS = """
--label COLUMN: The labels. Default: the label of the model.
--by COLUMNS: The metric for each value of these columns of SOURCE, such as country: the 20 most
    frequent ones, or ten ranges of numbers (but of ids that the model takes as categories) or
    dates. Names with commas between.
--time COLUMN: Loss, metric and drift over time, by this column of times or numbers.
--window TIME|ROWS: The width of a window of --time, such as 1d, 6h or 30min; a bare number is a
    number of rows in the order of SOURCE. Default: about ten windows.
--groups COLUMN: Rows with the same value here, such as a user, count together for the intervals,
    as their errors are alike. Default: the column of train --groups, if SOURCE has it.
--views/--no-views: Whether to predict again with each view missing, to see what it is worth.
"""


def run(
    words: list[str],
    model: str,
    source: SourceArguments,
    *,
    label: str | None = None,
    by: list[str] | None = None,
    time: str | None = None,
    window: str | None = None,
    groups: str | None = None,
    scoring: ScoringArguments,
    views: bool = True,
    missing_columns: str = "error",
    json: str | None = None,
    report: str | None = None,
    cluster: Annotated[ClusterArguments, "rounds"],
) -> None:
    """Say how good a model is on labeled rows that it has not learned.

    All metrics with 95 % intervals, how good the probabilities are, what each view
    is worth, and whether the rows are distributed as in training: a warning names
    each view that has moved. Rows without a label are skipped. Memory is bounded by
    a batch.
    """
    from crossview.cli.opening import check_columns_of_model, opened
    from crossview.evaluating.windows import parse_window

    cluster.refuse(source=source.sources)
    scored = scoring.make()
    if window is not None:
        parse_window(window)
    slices = [name for one in by or [] for name in split_list(one)]
    named = [label, time, groups, *slices]
    with opened(source, model=model, named=named, label=label) as rows:
        check_columns_of_model(str(rows.model), rows.table, missing_columns)
        page = Report.parse(report, words, rows.inputs, [json])
        load_heavy()
        options = {"by": slices, "time": time, "window": window, "groups": groups}
        more = {"scoring": scored, "views": views, "missing_columns": missing_columns}
        _evaluate(rows, label, cluster, json, page, options, more)


def _evaluate(
    rows: Opened,
    label: str | None,
    cluster: ClusterArguments,
    json: str | None,
    report: Report | None,
    settings: dict[str, Any],
    options: dict[str, Any],
) -> None:
    """Evaluate, and write tables, JSON and page; the page shows the settings."""
    from crossview.predicting.predict import predict_inputs
    from crossview.reporting.evaluation import evaluation_tables
    from crossview.saving.files import EVALUATION, check_writable

    if json not in (None, STANDARD):
        check_writable(json, EVALUATION, predict_inputs(rows.model, rows.table))
    if cluster.dask is None:
        from crossview.evaluating.evaluate import evaluate

        with warnings_as_lines(), compiling_as_line():
            answer = evaluate(rows.model, rows.table, label, **settings, **options)
    else:
        from crossview import distributed

        parts = {"n_partitions": cluster.partitions, **settings, **options}
        with warnings_as_lines(), distributed.connected(cluster.dask) as client:
            answer = distributed.evaluate(rows.model, rows.table, label, client=client, **parts)
    with ExitStack() as files:  # first the tables, then the files, and each also if another fails
        if report is not None:
            files.callback(_write_page, report, rows, answer, settings)
        if json is not None:
            text = jsonlib.dumps(answer.to_dict(), indent=1, ensure_ascii=False)
            files.callback(write_text, json, text + "\n", EVALUATION)
        with redirect_stdout(sys.stderr if to_stdout(json, report) else sys.stdout):
            console = make_console()
            console.print(f"{rows.arguments.title}, {answer.summary}")
            for part in evaluation_tables(answer):
                console.print(part)
            sys.stdout.flush()


def _write_page(report: Report, rows: Opened, answer: Evaluation, settings: dict[str, Any]) -> None:
    from crossview.saving.pipelines import pipeline
    from crossview.scoring.models.fitted_model import FittedModel

    fitted = FittedModel(rows.model)
    about = {"source": rows.arguments.title, "label": answer.label, "settings": settings}
    whole = pipeline(fitted.encoder, fitted.learner)
    report.write(answer, about, fitted=whole, info=fitted.info)
