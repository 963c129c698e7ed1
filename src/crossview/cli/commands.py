"""The commands: options to library calls, results to text."""

from __future__ import annotations

import ast
import json as jsonlib
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.pipeline import Pipeline

from crossview import datasets as bundled
from crossview import persistence
from crossview.catalog.learners import find_learner, learner_of_class
from crossview.catalog.metrics import check_metric
from crossview.cli.progress import stepping, warnings_as_lines, watching
from crossview.errors import InputError
from crossview.evaluation import compare as comparing
from crossview.evaluation import train as training
from crossview.evaluation.predict import Predictions
from crossview.files import check_writable, replacing
from crossview.report.model import model_tables, training_summary
from crossview.report.tables import comparison_notes, comparison_table
from crossview.streams.duck import identifier, literal
from crossview.streams.encode import ViewEncoder
from crossview.streams.source import find_reader, is_query
from crossview.streams.write import write_csv, writing

STDOUT = "-"
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
    k: str | None,
    threshold: str,
    **options: Any,
) -> None:
    """``crossview compare``."""
    if json is not None:
        check_writable(json)
    with warnings_as_lines(), stepping() as status:
        answer = comparing.compare(
            source,
            columns.label,
            **columns.encoding(),
            **options,
            k=_literal(k or "none"),
            threshold=_literal(threshold),
            on_step=lambda words: status.update(words),
        )
    if json is not None:
        with replacing(json) as unfinished:
            text = jsonlib.dumps(answer.to_dict(), indent=1, ensure_ascii=False)
            unfinished.write_text(text + "\n", encoding="utf-8")
    console = _console()
    console.print(comparison_table(answer))
    console.print()
    for note in comparison_notes(answer):
        console.print(note, highlight=False, markup=False)
    best = find_learner(answer.rows[answer.best].model, answer.task, list(answer.views))
    if answer.unlabeled and not best.in_memory and columns.label is not None:
        # a model that streams refuses the other rows
        source = _with_label(source, columns.label, answer.classes)
    command = ["crossview", "train", source, *columns.options, *answer.train_options, "-o", "MODEL"]
    # one line however narrow the terminal, to be copied
    print(f"\nTrain it on all rows:\n{shlex.join(command)}")


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
    predictions = Predictions(model, source, keep=keep, positive=positive, **own)
    for view in predictions.missing_views:
        print(
            f"crossview: view {view!r} is missing in {source}; scored without it", file=sys.stderr
        )
    schema = predictions.schema
    to_stdout = output == STDOUT
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
        console.print(part, highlight=False, markup=False)


def datasets(name: str, output: Path) -> None:
    """``crossview datasets``."""
    bundled.write(name, output)
    print(f"wrote {output}", file=sys.stderr)


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_FILE)
