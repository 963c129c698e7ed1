"""What each command does: options to library calls, answers to text."""

from __future__ import annotations

import ast
import json as jsonlib
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import crossview
from crossview import datasets as bundled
from crossview import persistence
from crossview.cli.output import STDOUT, check_writable, replacing, writing
from crossview.cli.progress import stepping, watching
from crossview.errors import InputError, closest_names
from crossview.evaluation import compare as comparing
from crossview.evaluation.labeled import (
    LabeledTable,
    columns_by_view,
    with_label,
    with_row_location,
)
from crossview.evaluation.methods import METHODS, Method, find_method
from crossview.evaluation.metrics import check_metric
from crossview.evaluation.progressive import progressive
from crossview.evaluation.tasks import Classification, check_task, has_label
from crossview.report.model import model_tables, training_summary
from crossview.report.tables import comparison_notes, comparison_table
from crossview.streams.prefetch import prefetch
from crossview.streams.table import is_query, open_table
from crossview.views import MultiView

# the last rows of training, on which the views' shares of the score are measured
ROWS_FOR_SHARE = 1000
# wide enough for a table that goes to a file
WIDTH_OF_A_FILE = 160


@dataclass
class Columns:
    """Which column is what, as the options say it."""

    label: str
    views: dict[str, list[str]] | None
    text: list[str]
    categorical: list[str]
    numeric: list[str]
    hash_bits: int
    options: list[str]

    @classmethod
    def parse(
        cls,
        label: str,
        view: list[str] | None,
        text: list[str] | None,
        categorical: list[str] | None,
        numeric: list[str] | None,
        hash_bits: int,
    ) -> Columns:
        """Read ``NAME=COLUMN,COLUMN`` options; a column named with its kind joins its view."""
        views: dict[str, list[str]] = {}
        kinds: dict[str, list[str]] = {"--text": [], "--categorical": [], "--numeric": []}
        options = ["--label", label]
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
        return cls(
            label,
            views or None,
            kinds["--text"],
            kinds["--categorical"],
            kinds["--numeric"],
            hash_bits,
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
        }


def compare(
    source: str, columns: Columns, *, json: Path | None, k: str | None, **options: Any
) -> None:
    """``crossview compare``."""
    if json is not None:
        check_writable(json)
    with stepping() as status:
        answer = comparing.compare(
            source,
            columns.label,
            **columns.encoding(),
            **options,
            k=_literal(k or "none"),
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
    best = find_method(answer.rows[answer.best].model, tuple(answer.views), answer.task)
    if answer.unlabeled and not _in_memory(best):  # which would refuse the others
        source = _with_label(source, columns.label)
    command = ["crossview", "train", source, *columns.options, *answer.train_options, "-o", "MODEL"]
    # one line however narrow the terminal, to be copied
    print(f"\nTrain it on all rows:\n{shlex.join(command)}")


def train(
    source: str,
    columns: Columns,
    *,
    model: str,
    settings: Sequence[str],
    output: Path,
    task: str,
    epochs: int,
    classes: Sequence[str] | None,
    metric: str | None,
    k: str | None,
    positive: str | None,
    progress: bool | None,
) -> None:
    """``crossview train``."""
    # 1. refuse what can be refused before a row is read
    check_writable(output)
    number = check_task(task) == "regression"
    default = "rmse" if number else "f1"
    metric = check_metric(metric or default, number=number, k=_literal(k or "none"))
    if number and (classes or positive):
        raise InputError("--classes and --positive are for --task classification; leave them out")
    if epochs < 1:
        raise InputError(f"--epochs {epochs}; give 1 or more")
    unlabeled = any(method.name == model and _in_memory(method) for method in METHODS)
    table = LabeledTable(
        source,
        columns.label,
        task=task,
        unlabeled=unlabeled,
        classes=classes,
        **columns.encoding(),
    )
    method = find_method(model, tuple(table.columns), task)
    if not number:
        positive_label = Classification(table.classes, positive).positive_label
        method = method.trained_for(metric, positive_label)
    # machines start from random weights: the same in every run
    given = _bounded(method, parse_settings(method, settings))
    learner = method.make(**given, random_state=0)
    learner._validate_params()
    at_once = _in_memory(method) and getattr(learner, "schedule", None) != "stream"
    if not at_once:
        learner.check_streams()
    elif epochs > 1:
        instead = (
            "has all rows at once and stops by itself; leave --epochs out, or take --set tol=0.0001"
            if method.batch
            else "draws rows; take --set n_iterations=N, or --set schedule=stream"
        )
        raise InputError(f"--epochs {epochs}: {model} {instead}")
    if method.view is not None:
        table = table.select_view(method.view)
    info: dict[str, Any] = {
        "crossview": crossview.__version__,
        "task": task,
        "model": method.name,
        "label": columns.label,
    }
    if at_once:
        _train_at_once(table, method, learner, output, info)
        return

    # 2. the first pass is scored; later ones see rows that they know
    encoder = clone(table.encoder)
    tail = _Tail()
    start = time.perf_counter()
    last = None
    for epoch in range(epochs):
        if epoch and (progress or (progress is None and sys.stderr.isatty())):
            print(f"pass {epoch + 1} of {epochs}, over rows seen before", file=sys.stderr)
        with watching(metric=metric, n_rows=table.stream.n_rows, show=progress) as watch:
            batches: Any = prefetch(table.encoded(encoder, learn=epoch == 0))
            if unlabeled and not method.learns_unlabeled:
                batches = with_label(batches)
            batches = watch.batches(tail.watch(batches))
            known = None if number else table.classes
            records = watch.records(
                progressive(learner, batches, known, metric=metric, positive=positive)
            )
            *_, newest = [None, *records]
        last = last or newest
    if last is None:
        rows = "row has a label" if tail.n_unlabeled else "row is there"
        raise InputError(f"no {rows} to learn from", file=source)
    seconds = time.perf_counter() - start

    # 3. keep it, and say how it went
    info |= {
        "rows": last.rows,
        "unlabeled": tail.n_unlabeled,
        "passes": epochs,
        "loss": last.loss,
        "accuracy": _defined(last.accuracy),
        "metric": {"name": metric, "positive": positive, "value": _defined(last.metric)},
        "view_shares": tail.shares(learner),
        "rows_of_view_shares": tail.n_rows,
    }
    persistence.save(Pipeline([("encoder", encoder), ("model", learner)]), output, info=info)
    passes = "1 pass" if epochs == 1 else f"{epochs} passes"
    form = ".4g" if number else ".4f"
    told = {"loss": last.loss} | ({} if number else {"accuracy": last.accuracy})
    told[metric] = last.metric
    words = ", ".join(f"{name} {value:{form}}" for name, value in told.items())
    speed = (last.rows + tail.n_unlabeled) * epochs / seconds
    print(
        f"{_count(info)}, {passes}, {seconds:.1f} s, {speed:,.0f} rows/s\n"
        f"each row predicted before it was learned: {words}\n"
        f"wrote {output}",
        file=sys.stderr,
    )


def _in_memory(method: Method) -> bool:
    """Whether `train` has all rows in memory, unless it is told to stream."""
    return method.draws_rows or method.batch


def _train_at_once(
    table: LabeledTable, method: Method, learner: Any, output: Path, info: dict[str, Any]
) -> None:
    """All rows in memory, as in `compare` by folds; the learner may draw some of them."""
    start = time.perf_counter()
    data, y = table.load()
    known = np.flatnonzero(has_label(y))
    encoder = clone(table.encoder).fit(data.take(known))
    unlabeled = len(y) - len(known)
    if not method.learns_unlabeled:
        data, y = data.take(known), y[known]
    X = encoder.transform(data)
    learner.fit(X, y)
    seconds = time.perf_counter() - start
    tail = _Tail(X[-ROWS_FOR_SHARE:])
    info |= {
        "rows": len(known),
        "unlabeled": unlabeled if method.learns_unlabeled else 0,
        "passes": None,
        "loss": None,
        "accuracy": None,
        "metric": None,
        "view_shares": tail.shares(learner),
        "rows_of_view_shares": tail.n_rows,
    }
    persistence.save(Pipeline([("encoder", encoder), ("model", learner)]), output, info=info)
    left_out = (
        ""
        if method.learns_unlabeled or not unlabeled
        else (f"{unlabeled:,} rows without a label were left out\n")
    )
    print(
        f"{_count(info)}, {training_summary(learner)}, {seconds:.1f} s\n{left_out}wrote {output}",
        file=sys.stderr,
    )


def _with_label(source: str, label: str) -> str:
    """A query for the rows of a source that have a label."""
    name, label = source.replace("'", "''"), label.replace('"', '""')
    rows = f"({source})" if is_query(source) else f"'{name}'"
    return f'SELECT * FROM {rows} WHERE "{label}" IS NOT NULL'


def _bounded(method: Method, settings: dict[str, Any]) -> dict[str, Any]:
    """With a budget for a stream, where the settings do not bound its memory themselves."""
    return method.on_stream(settings) if settings.get("schedule") == "stream" else settings


def _count(info: dict[str, Any]) -> str:
    """How many rows were learned."""
    rows = f"{info['rows']:,} rows"
    return f"{rows} with a label and {info['unlabeled']:,} without" if info["unlabeled"] else rows


def parse_settings(method: Method, settings: Sequence[str]) -> dict[str, Any]:
    """``NAME=VALUE`` options as parameters of the method's learner."""
    known = method.settable()
    parsed: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting!r}: give a name and a value, such as --set C=0.1")
        if name in method.fixed:
            raise InputError(f"--set {setting!r}: --model {method.name} sets {name} by itself")
        if name not in known:
            hint = closest_names(name, known)
            raise InputError(f"--set {setting!r}: model {method.name} has no {name!r}{hint}")
        parsed[name] = _literal(text)
    return parsed


def _literal(text: str) -> Any:
    """What an option says: a number, a truth value, None, or a word, such as PA-II."""
    try:
        words = {"true": "True", "false": "False", "none": "None"}
        return ast.literal_eval(words.get(text.lower(), text))
    except (ValueError, SyntaxError):
        return text


def predict(model: Path, source: str, output: str, keep: Sequence[str]) -> None:
    """``crossview predict``."""
    import pyarrow as pa

    encoder, learner = _load_pipeline(model)
    views = columns_by_view(encoder)
    stream = open_table(source)
    absent = [v for v, group in views.items() if not set(group) & set(stream.column_names)]
    if len(absent) == len(views):
        needed = [column for group in views.values() for column in group]
        raise InputError(
            f"has none of the model's columns ({', '.join(needed[:5])}, ...); "
            f"it has {', '.join(stream.column_names[:5])}, ...",
            file=source,
        )
    for view in absent:
        print(
            f"crossview: view {view!r} is missing in {source}; scored without it", file=sys.stderr
        )
    here = [column for v, group in views.items() if v not in absent for column in group]
    stream = stream.select([*here, *keep])
    gone = [column for view in absent for column in views[view]]

    classes = learner.classes_.tolist() if hasattr(learner, "classes_") else None
    joint = []
    if classes is not None:
        joint = ["score"] if len(classes) == 2 else [f"score_{label}" for label in classes]
    own = [f"view_{view}" for view in learner.layout_.names]
    kind = pa.float64() if classes is None else pa.array(classes).type
    schema = pa.schema(
        [
            *((name, _plain(stream.schema.field(name).type)) for name in keep),
            ("prediction", kind),
            *((name, pa.float64()) for name in [*joint, *own]),
        ]
    )
    for name in keep:
        if schema.names.count(name) > 1:
            raise InputError(f"--keep {name!r}: the output has a column of that name already")
    n_rows = 0
    with writing(output, schema) as write:
        for batch in prefetch(stream):
            if not batch.data.num_rows:
                continue
            data = batch.data
            n_rows += data.num_rows
            for column in gone:
                data = data.append_column(column, pa.nulls(data.num_rows))
            with with_row_location(batch):
                X = encoder.transform(data)
            each = learner.view_scores(X)
            if classes is None:
                predicted, numbers = learner.predict(X), each
            else:
                scores = learner.decision_function(X)
                predicted = learner.decide(scores)
                if scores.ndim > 1:  # of the predicted class
                    each = each[np.arange(len(X)), :, scores.argmax(axis=1)]
                numbers = np.column_stack([scores, each])
            write(
                pa.RecordBatch.from_arrays(
                    [
                        *(data.column(c).cast(schema.field(c).type) for c in keep),
                        pa.array(predicted.tolist(), type=kind),
                        # a missing view has no score
                        *(pa.array(column, from_pandas=True) for column in numbers.T),
                    ],
                    schema=schema,
                )
            )
    if output != STDOUT:
        print(f"{n_rows:,} rows, wrote {output}", file=sys.stderr)


def inspect(model: Path, top: int) -> None:
    """``crossview inspect``."""
    if top < 0:
        raise InputError(f"--top {top}; give 0 or more")
    fitted = persistence.load(model)
    encoder, learner = None, fitted
    if isinstance(fitted, Pipeline):
        encoder, learner = fitted[0], fitted[-1]
    if not any(hasattr(learner, what) for what in ("coef_", "interactions", "n_support_")):
        raise InputError("holds no learner to inspect", file=str(model))
    console = _console()
    for part in model_tables(learner, encoder, persistence.read_info(model), top=top):
        console.print(part, highlight=False, markup=False)


def datasets(name: str, output: Path) -> None:
    """``crossview datasets``."""
    bundled.write(name, output)
    print(f"wrote {output}", file=sys.stderr)


class _Tail:
    """The last rows of a stream that goes by."""

    def __init__(self, rows: MultiView | None = None) -> None:
        self.rows = rows
        self.n_unlabeled = 0

    @property
    def n_rows(self) -> int:
        return 0 if self.rows is None else len(self.rows)

    def watch(self, batches: Iterator[tuple[MultiView, Any]]) -> Iterator[tuple[MultiView, Any]]:
        self.n_unlabeled = 0
        for X, y in batches:
            self.rows = X[-ROWS_FOR_SHARE:]
            self.n_unlabeled += int((~has_label(y)).sum())
            yield X, y

    def shares(self, learner: Any) -> dict[str, float] | None:
        """Mean absolute score of each view, as a share of all; a missing view scores 0.

        A machine's score is more than the sum of its views' and has no shares.
        """
        if self.rows is None or hasattr(learner, "interactions"):
            return None
        scores = np.abs(np.nan_to_num(learner.view_scores(self.rows)))
        size = scores.reshape(len(self.rows), learner.layout_.n_views, -1).mean(axis=(0, 2))
        if not size.sum() > 0:
            return None
        return dict(zip(learner.layout_.names, (size / size.sum()).tolist(), strict=True))


def _load_pipeline(model: Path) -> tuple[Any, Any]:
    fitted = persistence.load(model)
    if not isinstance(fitted, Pipeline):
        raise InputError(
            "holds a model without an encoder, so it cannot read tables; load it in Python "
            "with crossview.load, or train it with crossview train",
            file=str(model),
        )
    return fitted[0], fitted[-1]


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_FILE)


def _plain(kind: Any) -> Any:
    """The type of a column that is not stored as a dictionary."""
    return getattr(kind, "value_type", kind)


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else value
