"""``crossview compare``."""

from __future__ import annotations

import contextlib
import json as jsonlib
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from crossview.baselines import Shape, find_baseline, training_code
from crossview.cli.loading import after_loading, is_own_process
from crossview.cli.opening import (
    STANDARD,
    Columns,
    Report,
    Rows,
    is_stored,
    literal_value,
    make_console,
    open_source,
    warn,
    write_text,
)
from crossview.cli.progress import warnings_as_lines, watching_comparison
from crossview.cli.report import to_stdout, write_report
from crossview.cli.words import as_options
from crossview.comparing import compare as comparing
from crossview.comparing.comparison import Comparison
from crossview.comparing.folds.allocator import give_back
from crossview.comparing.ranking import ComparisonRow
from crossview.data.readers.csv_format import CsvFormat
from crossview.data.readers.duck import identifier, literal
from crossview.data.readers.find import find_reader, is_query
from crossview.data.source import input_files, open_table
from crossview.data.table_columns import (
    dates_in_views,
    match_ignored,
    predictors,
    with_dates,
    without_ignored,
)
from crossview.errors import InputError
from crossview.reporting.tables import (
    class_table,
    comparison_head,
    comparison_notes,
    comparison_table,
)
from crossview.saving.files import COMPARISON, check_writable

__all__ = ["run"]

# beyond, the file of --json has them
MOST_CLASSES_SHOWN = 20
# the exit status of what Ctrl-C ended
INTERRUPTED = 130


@after_loading
def run(
    rows: Rows,
    *,
    json: str | None,
    report: Report | None,
    add: Sequence[str],
    models: Sequence[str],
    options: dict[str, Any],
    cluster: str | None = None,
) -> None:
    """``crossview compare``."""
    if is_own_process():
        give_back()
    source, columns = rows.source, rows.columns
    stored = source if is_stored(source, columns) else None
    command: dict[str, Any] = {"source": source, "columns": asdict(columns), "options": options}
    if report is not None:
        command["words"] = report.command
    earlier: Comparison | None = None
    if stored is not None:
        earlier, command, columns = _read_comparison(stored)
        source = command["source"]
        given = [command["options"].get(name) for name in ("groups", "time", "weight")]
        in_no_view = [name for name in given if name is not None]
        table = open_source(source, columns, ignored=in_no_view) if add else source
        rows = Rows(source, table, columns, in_no_view, command["options"].get("weight"))
        json = json or (stored if add else None)
    if json not in (None, STANDARD):
        check_writable(json, COMPARISON, input_files(rows.table))
    if add and stored is None:
        raise InputError("--add extends a stored comparison; name its file, such as result.json")
    if earlier is not None and not add:
        answer, status = earlier, 0
    else:
        kept = command["options"] | {key: options[key] for key in ("budget", "n_jobs")}
        models = list(add) if add else list(models)
        with _workers(cluster):
            answer, status = _compare(rows, models or None, earlier, kept)
    with (
        contextlib.ExitStack() as files
    ):  # first the table, then the files, each also if another fails
        files.callback(_write_report, report, answer, command, rows)
        if json is not None and status == 0:
            content = answer.to_dict() | {"command": command}
            text = jsonlib.dumps(content, indent=1, ensure_ascii=False)
            files.callback(write_text, json, text + "\n", COMPARISON)
        # what reads JSON from stdout wants nothing else there
        with redirect_stdout(sys.stderr if to_stdout(json, report) else sys.stdout):
            _show_comparison(answer, rows, command["options"])
            sys.stdout.flush()
    if status:
        raise typer.Exit(status)


def _write_report(
    report: Report | None, answer: Comparison, command: dict[str, Any], rows: Rows
) -> None:
    """The page, with the options that are not left at their defaults."""
    shown = ("budget", "cv", "repeats", "groups", "time", "weight", "threshold", "epochs")
    settings = {name: command["options"].get(name) for name in shown}
    if answer.mode == "progressive":
        settings = {name: settings[name] for name in ("time", "weight", "threshold")}
    about = {"source": rows.title, "label": rows.columns.label, "settings": settings}
    about["command"] = command.get("words", [])
    if answer.entry(answer.recommended) is not None:
        about["train"] = _command(answer, answer.recommended, rows, command["options"])[1]
    write_report(report, answer, about)


@contextlib.contextmanager
def _workers(cluster: str | None) -> Iterator[None]:
    """Run tasks on a Dask cluster; None: on this machine."""
    if cluster is None:
        yield
        return
    import joblib

    from crossview.distributed import connected

    with connected(cluster), joblib.parallel_config("dask"):
        yield


def _compare(
    rows: Rows,
    models: Sequence[str] | None,
    earlier: Comparison | None,
    options: dict[str, Any],
) -> tuple[Comparison, int]:
    """The answer and the exit status: after Ctrl-C, the table so far."""
    warn(rows, options["task"])
    parsed = {key: literal_value(options[key] or "none") for key in ("k", "threshold")}
    with warnings_as_lines(), watching_comparison() as observer:
        try:
            answer = comparing.compare(
                rows.table,
                rows.columns.label,
                **rows.columns.arguments(),
                **options | parsed,
                models=models,
                extend=earlier,
                observer=observer,
            )
        except KeyboardInterrupt:
            if observer.answer is None:
                raise
            return observer.answer, INTERRUPTED
    return answer, 0


def _read_comparison(path: str) -> tuple[Comparison, dict[str, Any], Columns]:
    """A comparison from a file of ``compare --json``, the command that made it, and its columns."""
    try:
        content = jsonlib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except ValueError:
        raise InputError(
            "holds no JSON; name a file of crossview compare --json", file=path
        ) from None
    try:
        answer, command = Comparison.from_dict(content), content["command"]
        return answer, command, Columns(**command["columns"])
    except InputError as error:
        raise InputError(error.message, file=path) from None
    except (KeyError, TypeError):
        raise InputError(
            "holds no comparison of this version of crossview; make it again", file=path
        ) from None


def _show_comparison(answer: Comparison, rows: Rows, given: dict[str, Any]) -> None:
    console, head = make_console(), comparison_head(answer)
    for line in head:
        console.print(as_options(line), soft_wrap=True)
    if head:
        console.print()
    console.print(comparison_table(answer, console.width))
    console.print()
    if (classes := class_table(answer)) is not None and len(answer.classes) <= MOST_CLASSES_SHOWN:
        console.print(classes)
        console.print()
    for note in comparison_notes(answer):
        console.print(note)
    best, recommended = answer.best, answer.recommended
    for row in [best, *([] if recommended is best else [recommended])]:
        if answer.entry(row) is None:
            code = _python(answer, row, rows, given.get("weight"))
            print(f"\nTrain {row.model} on all rows:\n\n{code}")
        elif row is recommended or row.baseline:
            name = row.model if best.baseline else "it"
            which, command = _command(answer, row, rows, given)
            # one line however narrow the terminal, to be copied
            print(f"\nTrain {name} on {which}:\n{command}")


def _command(
    answer: Comparison, row: ComparisonRow, rows: Rows, given: Mapping[str, Any]
) -> tuple[str, str]:
    """Return which rows a model is trained on, and the command."""
    source, columns, entry = rows.source, rows.columns, answer.entry(row)
    assert entry is not None
    options, which = list(columns.options), "all rows"
    labeled = answer.unlabeled and not entry.in_memory and columns.label is not None
    if labeled:  # a model that streams refuses the other rows
        which = "all rows with a label"
    encoding = (getattr(rows.table, "dialect", None) or {}).get("encoding")
    if labeled and encoding is None and _has_label(source, columns):
        source = _with_label(source, columns, answer.classes)
        options += columns.reading_options if columns.sources else []
    else:
        if labeled:  # a query reads UTF-8
            which += ", in a file of their own"
        options += columns.reading_options
    of_answer, time = answer.train_options_of(row), given.get("time")
    if given.get("weight") is not None:
        options += ["--weight", given["weight"]]
    if time is not None:  # which is an order
        of_answer = ["--time", time, *(word for word in of_answer if word != "--in-order")]
    sources = [] if source is None else [source]
    command = ["crossview", "train", *sources, *options, *of_answer, "-o", "MODEL"]
    return which, shlex.join(command)


def _python(answer: Comparison, row: ComparisonRow, rows: Rows, weight: str | None) -> str:
    """The Python that trains a baseline."""
    columns, threshold = rows.columns, answer.threshold
    if weight is not None and threshold == "tuned":  # scikit-learn tunes none with weights
        threshold = row.threshold
    given = columns.arguments()
    ignored = [*given.pop("ignore"), *(name for name in rows.in_no_view if name != weight)]
    if columns.label is not None:
        table = open_table(rows.table, **columns.reading)
        ignored = match_ignored(ignored, table.column_names)
        given["views"] = without_ignored(given["views"], ignored, table.column_names)
        if given["date"]:  # of which some are recognized
            in_no_view = [*ignored, *rows.in_no_view]
            others = predictors(table, columns.label, given["views"], in_no_view)
            given["date"] = dates_in_views(given["date"], in_no_view)
            given["date"] = with_dates(table, others.column_names, given["views"], given)
    given["ngram_range"] = (1, given.pop("ngrams", 1))
    encoding = {key: value for key, value in given.items() if value not in (None, [])}
    return training_code(
        find_baseline(row.model, answer.task),
        row.setting,
        Shape(tuple(answer.views), answer.n_rows - answer.unlabeled, len(answer.classes)),
        source=rows.source,
        joined=columns.tables(rows.source) if columns.sources else (),
        on=columns.on or None,
        reading=columns.reading,
        label=columns.label,
        weight=weight,
        ignored=ignored,
        encoding=None if columns.label is None else encoding,
        metric=answer.threshold_for,
        positive=answer.positive,
        threshold=None if answer.threshold_for is None else threshold,
    )


def _has_label(source: str | None, columns: Columns) -> bool:
    """Whether the first of several tables has the label; one table has."""
    if not columns.sources:
        return True
    return (
        source is not None and columns.label in open_table(source, **columns.reading).column_names
    )


def _with_label(source: Any, columns: Columns, classes: Sequence[Any]) -> str:
    """A query for the rows of a source that have a label."""
    rows, label = f"({source})", columns.label or ""
    if not is_query(source):
        rows = literal(source)
        if find_reader(source, columns.reading.get("format"))[0].name == "csv":
            # a query would read yes and no as booleans
            words = any(isinstance(one, str) for one in classes)
            types = [f"types={{{literal(label)}: 'VARCHAR'}}"] if words else []
            options = [*types, *CsvFormat.of(columns.reading).as_sql()]
            rows = f"read_csv({', '.join([rows, *options])})" if options else rows
    return f"SELECT * FROM {rows} WHERE {identifier(label)} IS NOT NULL"
