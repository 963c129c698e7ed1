"""The commands: options to library calls, results to text."""

from __future__ import annotations

import ast
import json as jsonlib
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from sklearn.pipeline import Pipeline

from crossview import datasets as bundled
from crossview import persistence
from crossview.catalog.learners import learner_of_class
from crossview.catalog.metrics import check_metric
from crossview.cli.progress import warnings_as_lines, watching, watching_comparison
from crossview.errors import InputError
from crossview.evaluation import compare as comparing
from crossview.evaluation import train as training
from crossview.evaluation.predict import Predictions, predict_inputs
from crossview.evaluation.result import Comparison, ComparisonRow
from crossview.evaluation.sources import input_files
from crossview.evaluation.yardsticks import Shape, find_yardstick, training_code
from crossview.files import COMPARISON, check_writable, replacing
from crossview.report.model import model_tables, training_summary
from crossview.report.tables import class_table, comparison_notes, comparison_table
from crossview.streams.duck import identifier, literal
from crossview.streams.encode import ViewEncoder
from crossview.streams.source import find_reader, is_query
from crossview.streams.write import check_table, write_csv, writing

STDOUT = "-"
# beyond, the file of --json has them
MOST_CLASSES_SHOWN = 20
# the exit status of what Ctrl-C ended
INTERRUPTED = 130
# wide enough for a table that goes to a file
WIDTH_OF_A_FILE = 160


@dataclass
class Columns:
    """The columns and their kinds, from the command-line options."""

    label: str | None
    views: dict[str, list[str]] | None
    text: list[str]
    categorical: list[str]
    numeric: list[str]
    hash_bits: int
    scale_views: bool
    bins: int | None
    options: list[str]

    @classmethod
    def parse(
        cls,
        label: str | None,
        view: list[str] | None,
        text: list[str] | None,
        categorical: list[str] | None,
        numeric: list[str] | None,
        hash_bits: int,
        scale_views: bool,
        bins: int | None,
    ) -> Columns:
        """Read ``NAME=COLUMN,COLUMN`` options; a column named with its kind joins its view."""
        views: dict[str, list[str]] = {}
        kinds: dict[str, list[str]] = {"--text": [], "--categorical": [], "--numeric": []}
        options = [] if label is None else ["--label", label]
        for option, values in (
            ("--view", view),
            ("--text", text),
            ("--categorical", categorical),
            ("--numeric", numeric),
        ):
            for value in values or []:
                name, _, columns = value.partition("=")
                patterns = [column.strip() for column in columns.split(",") if column.strip()]
                if not (name.strip() and patterns):
                    raise InputError(
                        f"{option} {value!r}: give a view and its columns, such as "
                        f"{option} user='user_*' or {option} ad=ad_id,ad_size"
                    )
                group = views.setdefault(name.strip(), [])
                group += [pattern for pattern in patterns if pattern not in group]
                if option in kinds:
                    kinds[option] += patterns
                options += [option, value]
        if hash_bits != 18:
            options += ["--hash-bits", str(hash_bits)]
        if not scale_views:
            options.append("--no-scale-views")
        if bins is not None:
            options += ["--bins", str(bins)]
        return cls(
            label,
            views or None,
            kinds["--text"],
            kinds["--categorical"],
            kinds["--numeric"],
            hash_bits,
            scale_views,
            bins,
            options,
        )

    def encoding(self) -> dict[str, Any]:
        """As keyword arguments of the library."""
        return {
            "views": self.views,
            "text": self.text,
            "categorical": self.categorical,
            "numeric": self.numeric,
            "hash_bits": self.hash_bits,
            "scale_views": self.scale_views,
            "bins": self.bins,
        }


def compare(
    source: str,
    columns: Columns,
    *,
    json: Path | None,
    add: Sequence[str],
    models: Sequence[str],
    options: dict[str, Any],
) -> None:
    """``crossview compare``."""
    stored = source if source.endswith(".json") else None
    command: dict[str, Any] = {"source": source, "columns": asdict(columns), "options": options}
    earlier: Comparison | None = None
    if stored is not None:
        earlier, command = _read_comparison(stored)
        source, columns = command["source"], Columns(**command["columns"])
        json = json or (Path(stored) if add else None)
    if json is not None:
        check_writable(json, COMPARISON, input_files(source))
    if add and stored is None:
        raise InputError("--add extends a stored comparison; name its file, such as result.json")
    if earlier is not None and not add:
        answer, status = earlier, 0
    else:
        kept = command["options"] | {key: options[key] for key in ("budget", "n_jobs")}
        models = list(add) if add else list(models)
        answer, status = _compare(source, columns, models or None, earlier, kept)
    try:  # first the table, then the file, and each also if the other one fails
        _show_comparison(answer, source, columns)
        sys.stdout.flush()
    finally:
        if json is not None and status == 0:
            with replacing(json, COMPARISON) as unfinished:
                content = answer.to_dict() | {"command": command}
                text = jsonlib.dumps(content, indent=1, ensure_ascii=False)
                unfinished.write_text(text + "\n", encoding="utf-8")
    if status:
        raise typer.Exit(status)


def _compare(
    source: str,
    columns: Columns,
    models: Sequence[str] | None,
    earlier: Comparison | None,
    options: dict[str, Any],
) -> tuple[Comparison, int]:
    """The answer and the exit status: after Ctrl-C, the table so far."""
    parsed = {key: _literal(options[key] or "none") for key in ("k", "threshold")}
    with warnings_as_lines(), watching_comparison() as observer:
        try:
            answer = comparing.compare(
                source,
                columns.label,
                **columns.encoding(),
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


def _read_comparison(path: str) -> tuple[Comparison, dict[str, Any]]:
    """A comparison from a file of ``compare --json``, and the command that made it."""
    try:
        content = jsonlib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except ValueError:
        raise InputError(
            "holds no JSON; name a file of crossview compare --json", file=path
        ) from None
    try:
        return Comparison.from_dict(content), content["command"]
    except InputError as error:
        raise InputError(error.message, file=path) from None
    except (KeyError, TypeError):
        raise InputError(
            "holds no comparison of this version of crossview; make it again", file=path
        ) from None


def _show_comparison(answer: Comparison, source: str, columns: Columns) -> None:
    console = _console()
    console.print(comparison_table(answer, console.width))
    console.print()
    if (classes := class_table(answer)) is not None and len(answer.classes) <= MOST_CLASSES_SHOWN:
        console.print(classes)
        console.print()
    for note in comparison_notes(answer):
        console.print(note)
    for row in dict.fromkeys((answer.best.model, answer.recommended.model)):
        if answer.row(row).yardstick:
            code = _python(answer, answer.row(row), source, columns)
            print(f"\nTrain {row} on all rows:\n\n{code}")
    entry = answer.entry(answer.recommended)
    if entry is None:
        return
    if answer.unlabeled and not entry.in_memory and columns.label is not None:
        # a model that streams refuses the other rows
        source = _with_label(source, columns.label, answer.classes)
    command = ["crossview", "train", source, *columns.options, *answer.train_options, "-o", "MODEL"]
    # one line however narrow the terminal, to be copied
    print(f"\nTrain it on all rows:\n{shlex.join(command)}")


def _python(answer: Comparison, row: ComparisonRow, source: str, columns: Columns) -> str:
    """The Python that trains a yardstick."""
    encoding = {key: value for key, value in columns.encoding().items() if value not in (None, [])}
    return training_code(
        find_yardstick(row.model, answer.task),
        row.setting,
        Shape(tuple(answer.views), answer.n_rows - answer.unlabeled, len(answer.classes)),
        source=source,
        label=columns.label,
        encoding=None if columns.label is None else encoding,
        metric=answer.metric if answer.tuned else None,
        positive=answer.positive,
        threshold=answer.threshold if answer.tuned else None,
    )


def parse_seconds(text: str, option: str, *, zero: bool = False) -> float:
    """Return a time such as 60s, 5min, 2h or 90 in seconds; 0 only where it may be."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|m|h)?\s*", text)
    if found is None or not (zero or float(found[1]) > 0.0):
        raise InputError(f"{option} {text!r}: give a time, such as 60s, 5min or 1h")
    return float(found[1]) * {"s": 1, "m": 60, "min": 60, "h": 3600}[found[2] or "s"]


def train(
    source: str,
    columns: Columns,
    *,
    output: Path,
    settings: Sequence[str],
    task: str,
    metric: str | None,
    k: str | None,
    cost: str | None,
    threshold: str,
    progress: bool | None,
    **options: Any,
) -> None:
    """``crossview train``."""
    metric = check_metric(metric, task=task, k=_literal(k or "none"), cost=cost)
    with warnings_as_lines(), watching(metric=metric, show=progress) as observer:
        trained = training.train(
            source,
            columns.label,
            **columns.encoding(),
            **options,
            settings=parse_settings(settings),
            output=output,
            task=task,
            metric=metric,
            threshold=_literal(threshold),
            observer=observer,
        )
    print("\n".join([*_summary(trained), f"wrote {output}"]), file=sys.stderr)


def _summary(trained: training.Trained) -> list[str]:
    """How a training went, in lines."""
    rows = f"{trained.rows:,} rows"
    if trained.unlabeled:
        rows += f" with a label and {trained.unlabeled:,} without"
    if trained.order is not None:
        rows += f" {trained.order}"
    lines = []
    if trained.passes is None:
        lines.append(f"{rows}, {training_summary(trained.learner)}, {trained.seconds:.1f} s")
    else:
        passes = "1 pass" if trained.passes == 1 else f"{trained.passes} passes"
        speed = (trained.rows + trained.unlabeled) * trained.passes / trained.seconds
        lines.append(f"{rows}, {passes}, {trained.seconds:.1f} s, {speed:,.0f} rows/s")
    if trained.skipped:
        lines.append(f"{trained.skipped:,} unlabeled rows were skipped")
    if trained.metric is not None:
        form = ".4g" if trained.task == "regression" else ".4f"
        values = {"loss": trained.loss, "accuracy": trained.accuracy}
        if trained.task == "regression":
            values.pop("accuracy")
        values[trained.metric["name"]] = trained.metric["value"]
        words = ", ".join(
            f"{name} {np.nan if value is None else value:{form}}" for name, value in values.items()
        )
        lines.append(f"each row predicted before it was learned: {words}")
    if trained.threshold is not None:
        lines.append(f"{trained.positive}: where its probability is above {trained.threshold:.3g}")
    return lines


def _with_label(source: str, label: str, classes: Sequence[Any]) -> str:
    """A query for the rows of a source that have a label."""
    rows = f"({source})"
    if not is_query(source):
        rows = literal(source)
        if find_reader(source)[0].name == "csv" and any(isinstance(one, str) for one in classes):
            # a query would read yes and no as booleans
            rows = f"read_csv({rows}, types={{{literal(label)}: 'VARCHAR'}})"
    return f"SELECT * FROM {rows} WHERE {identifier(label)} IS NOT NULL"


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Return ``NAME=VALUE`` options as parameters."""
    parsed: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting!r}: give a name and a value, such as --set C=0.1")
        # "none" is the name of an option, None is no value
        parsed[name] = text if text == "none" else _literal(text)
    return parsed


def _literal(text: str) -> Any:
    """Return the value of an option: a number, a Boolean, None, or text, such as PA-II."""
    try:
        words = {"true": "True", "false": "False", "none": "None"}
        return ast.literal_eval(words.get(text.lower(), text))
    except (ValueError, SyntaxError):
        return text


def predict(
    model: Path,
    source: str,
    output: str,
    *,
    keep: Sequence[str],
    threshold: str | None,
    positive: str | None,
) -> None:
    """``crossview predict``."""
    own = {} if threshold is None else {"threshold": _literal(threshold)}
    to_stdout = output == STDOUT
    if not to_stdout:
        check_table(output, predict_inputs(model, source))
    predictions = Predictions(model, source, keep=keep, positive=positive, **own)
    for view in predictions.missing_views:
        print(
            f"crossview: view {view!r} is missing in {source}; scored without it", file=sys.stderr
        )
    schema = predictions.schema
    with write_csv(sys.stdout.buffer, schema) if to_stdout else writing(output, schema) as write:
        for batch in predictions:
            write(batch)
    if not to_stdout:
        print(f"{predictions.n_rows:,} rows, wrote {output}", file=sys.stderr)


def inspect(model: Path, top: int) -> None:
    """``crossview inspect``."""
    if top < 0:
        raise InputError(f"--top {top}; give 0 or more")
    fitted = persistence.load(model)
    encoder, learner = None, fitted
    if isinstance(fitted, Pipeline):
        # a scaler of views knows no columns
        encoder = fitted[0] if isinstance(fitted[0], ViewEncoder) else None
        learner = fitted[-1]
    if learner_of_class(type(learner).__name__) is None:
        raise InputError("holds no learner to inspect", file=str(model))
    console = _console()
    for part in model_tables(learner, encoder, persistence.read_info(model), top=top):
        console.print(part)


def datasets(name: str, output: Path) -> None:
    """``crossview datasets``."""
    bundled.write(name, output)
    print(f"wrote {output}", file=sys.stderr)


def _console() -> Console:
    width = None if sys.stdout.isatty() else WIDTH_OF_A_FILE
    # names come from the data: neither "[red]" nor ":a:" in them means anything
    return Console(width=width, highlight=False, markup=False, emoji=False)
