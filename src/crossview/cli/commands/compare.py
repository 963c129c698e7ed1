"""``crossview compare``."""

from __future__ import annotations

import contextlib
import json as jsonlib
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossview.cli.loading import is_own_process, load_heavy
from crossview.cli.options import (
    PER_VARIANCE,
    STANDARD,
    TUNED_THRESHOLD,
    EncodedSource,
    Group,
    ScoringArguments,
    check_models,
    parse_seconds,
)
from crossview.cli.output import Report, make_console, to_stdout, warnings_as_lines, write_text
from crossview.cli.words import in_list, said
from crossview.errors import InputError
from crossview.server_log.addresses import is_log

if TYPE_CHECKING:
    from crossview.cli.opening import Opened
    from crossview.comparing.result.comparison import Comparison
    from crossview.comparing.result.ranking import ComparisonRow

# beyond, the file of --json has them
# the exit status of what Ctrl-C ended
INTERRUPTED = 130
# what goes with a stored comparison, and where a model is added to it
OF_STORED = ("--json", "--report", "--add")
OF_ADDED = ("--budget", "--thorough", "--jobs", "--dask")
SCORED = ("metric", "k", "cost", "positive", "threshold")
# options that name columns which are in no view
IN_NO_VIEW = ("groups", "time", "weight")


OPTIONS = f"""
{TUNED_THRESHOLD}
--budget TIME: Such as 60s, 5min or 1h. If everything takes longer, settings are left out, then
    rows that choose between them, then models; it says which.
--thorough: No budget: leave nothing out.
--jobs: Tasks at a time. -1: one per core. It does not change the scores.
--dask ADDRESS: Run the tasks on the workers of this Dask scheduler, such as tcp://10.0.0.1:8786;
    local:N starts N processes here. The rows are in memory here, and travel with the tasks. It
    does not change the scores.
--cv: Number of folds; no more than groups.
--repeats: How often the folds are drawn anew, to see smaller differences.
--groups COLUMN: Rows with the same value here, such as a user, are never both learned and scored.
    The column is in no view.
--in-order: The rows are in the order of time: score each fold by models that learned the rows
    before it.
--random-folds: Random folds also where a test says that rows near in the order, or with the same
    value in a column, are alike. Default: folds are then in order or by groups.
--rope: Differences in the metric up to this are none, for practical purposes; of a metric that is
    lower where it is better, a share of the best value.
--ablate: Also measure the recommended model without each view, and with that view missing in the
    rows to predict.
--seed: Of folds and shuffling.
--epochs: Passes over the training rows. Default: 1, and more where they are better on rows held
    out; models with interactions stop early, by the loss on a held-out tenth.
--progressive: Instead of folds: predict, score, then learn, in the order of the rows, with memory
    bounded by the batch.
--model NAME: Compare this one, and what other --model options name, instead of all; the names are
    those of `train --model`.
--baseline MODULE:CLASS: Also measure this scikit-learn model, such as
    sklearn.ensemble:RandomForestClassifier, or a class of a file in this folder; one whose fit
    calls the rows Xs gets a list of arrays, one per view. Once for each. --progressive needs a
    partial_fit.
    Without --model the table has logistic regression, gradient boosting, late fusion and the
    majority class.
--add NAME: Add this model, other than the ensemble, to the comparison in SOURCE, a file of --json.
"""


@dataclass
class HowToCompare(Group):
    """Arguments of `crossview.compare` that are options as they are."""

    cv: int = 5
    repeats: int = 1
    groups: str | None = None
    in_order: bool = False
    random_folds: bool = False
    time: str | None = None
    weight: str | None = None
    rope: float = 0.01
    ablate: bool = False
    seed: int = 0
    epochs: int | None = None
    progressive: bool = False


def run(
    words: list[str],
    source: EncodedSource,
    *,
    task: str | None = None,
    scoring: ScoringArguments,
    budget: str = "60s",
    thorough: bool = False,
    jobs: int = -1,
    dask: str | None = None,
    how: HowToCompare,
    model: list[str] | None = None,
    baseline: list[str] | None = None,
    add: list[str] | None = None,
    json: str | None = None,
    report: str | None = None,
) -> int:
    """Say which way of using the views is best, and by how much, in a minute.

    Compares each view alone, all views concatenated, independent, and coupled,
    without and with a covariance, SVMs that are trained for the metric (only with
    --metric, and not with --progressive), linear models, models with
    interactions, and several models together. The label of some rows may be
    empty: then KeCo, which learns from them, is compared with the same model
    without them (Pegasos), and no other model sees them. For a number: each view
    alone, all views in a linear model, models with interactions, and several
    models together.

    Ctrl-C shows the table of the folds that are finished. A file of --json, given
    as SOURCE, is shown again without computing.
    """
    from crossview.cli.opening import Opened, is_stored, opened, task_of

    if thorough and "--budget" in _given(words):
        raise InputError("--thorough is without a --budget; leave one of them out")
    how.progressive = how.progressive or source.per is not None
    if baseline:  # a module of the folder that the command runs in, as Python would find it
        sys.path.append(os.getcwd())
    options = {
        "task": task,
        **asdict(scoring),
        "budget": None if thorough else parse_seconds(budget, "--budget"),
        "n_jobs": None if how.progressive and jobs == -1 else jobs,
        **asdict(how),
        "baselines": baseline,
    }
    command: dict[str, Any] = {"source": source.source, "columns": asdict(source)}
    command |= {"options": options, "words": words}
    if is_stored(source.source, source):
        path = str(source.source)
        Report.parse(report, words, [path], [json])
        load_heavy()
        earlier, command, columns = _read_comparison(path)
        _check_options(path, words, adds=bool(add))
        given = command["options"] | {name: options[name] for name in ("budget", "n_jobs")}
        aside = {name: given.get(name) for name in IN_NO_VIEW}
        if add:
            with opened(columns, in_no_view=aside, learns=True) as rows:
                to = json or path
                return _run(rows, command, given, list(add), earlier, to, report, dask, path)
        known = [name for name in aside.values() if name is not None]
        rows = Opened(columns, path, None, [path], known, given["weight"])
        return _run(rows, command, given, None, earlier, json, report, dask)
    task = check_models(model or [], task, scoring.make())
    aside = {name: options[name] for name in IN_NO_VIEW}
    with opened(source, in_no_view=aside, learns=True) as rows:
        if add:
            raise InputError(
                "--add extends a stored comparison; name its file, such as result.json"
            )
        Report.parse(report, words, rows.inputs, [json])
        load_heavy()
        options["task"] = task_of(task, rows)
        return _run(rows, command, options, model, None, json, report, dask)


def _run(
    rows: Opened,
    command: dict[str, Any],
    options: dict[str, Any],
    models: Sequence[str] | None,
    earlier: Comparison | None,
    json: str | None,
    report: str | None,
    cluster: str | None,
    path: str | None = None,
) -> int:
    """Compare, or take the earlier comparison, which is in ``path``; write table, JSON and page.

    Returns the exit status.
    """
    from crossview.jobs.allocator import give_back
    from crossview.readers.source import input_files
    from crossview.saving.files import COMPARISON, check_writable

    if is_own_process():
        give_back()
    if json not in (None, STANDARD):
        check_writable(json, COMPARISON, input_files(rows.table))
    if earlier is not None and models is None:
        answer, status = earlier, 0
    else:
        with _workers(cluster):
            answer, status = _compare(rows, models or None, earlier, options)
        command["said"] = list(dict.fromkeys([*command.get("said", []), *said()]))
        if earlier is not None and answer.folds < earlier.folds and json == path:
            print(
                f"{path} stays as it is: within the budget {answer.folds} of its {earlier.folds} "
                "folds were finished; --budget 5min takes longer, --json OTHER keeps the answer",
                file=sys.stderr,
            )
            json = None
    page = None if report is None else Report(report, command.get("words", []))
    with (
        contextlib.ExitStack() as files
    ):  # first the table, then the files, each also if another fails
        if page is not None:
            files.callback(_write_report, page, answer, command, rows)
        if json is not None and status == 0:
            content = answer.to_dict() | {"command": command}
            text = jsonlib.dumps(content, indent=1, ensure_ascii=False)
            if earlier is not None and models is not None:  # the same file, unless told otherwise
                files.callback(print, f"wrote {json}", file=sys.stderr)
            files.callback(write_text, json, text + "\n", COMPARISON)
        # what reads JSON from stdout wants nothing else there
        with redirect_stdout(sys.stderr if to_stdout(json, page) else sys.stdout):
            _show_comparison(answer, rows, command["options"])
            sys.stdout.flush()
    return status


def _write_report(
    report: Report, answer: Comparison, command: dict[str, Any], rows: Opened
) -> None:
    """The page, with the options that are not left at their defaults."""
    shown = ("budget", "cv", "repeats", "groups", "time", "weight", "threshold", "epochs")
    settings = {name: command["options"].get(name) for name in shown}
    settings["groups"] = answer.groups
    if answer.mode == "progressive":
        settings = {name: settings[name] for name in ("time", "weight", "threshold")}
    rows_of_page = (answer.recommended, answer.cheapest, answer.best_trained)
    trainable = [row for row in rows_of_page if row is not None and answer.entry(row)]
    about = {
        "source": rows.arguments.title,
        "label": rows.arguments.label,
        "settings": settings,
        "commands": {
            row.model: _command(answer, row, rows, command["options"]) for row in trainable
        },
        "said": command.get("said", []),
    }
    report.write(answer, about)


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
    rows: Opened,
    models: Sequence[str] | None,
    earlier: Comparison | None,
    options: dict[str, Any],
) -> tuple[Comparison, int]:
    """The answer and the exit status: after Ctrl-C, the table so far."""
    from crossview.cli.opening import warn
    from crossview.cli.progress import watching_comparison
    from crossview.comparing.compare import compare

    warn(rows, options["task"])
    scoring = ScoringArguments(**{name: options[name] for name in SCORED}).make()
    options = {name: value for name, value in options.items() if name not in SCORED}
    with warnings_as_lines(), watching_comparison() as observer:
        try:
            answer = compare(
                rows.table,
                rows.arguments.label,
                **rows.arguments.arguments(),
                **options,
                scoring=scoring,
                models=models,
                extend=earlier,
                observer=observer,
            )
        except KeyboardInterrupt:
            if observer.answer is None:
                raise
            return observer.answer, INTERRUPTED
    return answer, 0


def _given(words: Sequence[str]) -> list[str]:
    """Return the options of a command line, each once."""
    given = (word.partition("=")[0] for word in words if word.startswith("--"))
    return list(dict.fromkeys(given))


def _check_options(path: str, words: Sequence[str], *, adds: bool) -> None:
    """Raise an error for options that change nothing in a stored comparison."""
    known = [*OF_STORED, *(OF_ADDED if adds else ())]
    if others := [one for one in _given(words) if one not in known]:
        raise InputError(
            f"{', '.join(others)}: a stored comparison stays as it is, and takes "
            f"{', '.join(known)}; leave it out, or compare the rows again",
            file=path,
        )


def _read_comparison(path: str) -> tuple[Comparison, dict[str, Any], EncodedSource]:
    """A comparison from a file of ``compare --json``, the command that made it, and its columns."""
    from crossview.comparing.result.comparison import Comparison

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
        return answer, command, EncodedSource(**command["columns"])
    except InputError as error:
        raise InputError(error.message, file=path) from None
    except (KeyError, TypeError):
        raise InputError(
            "holds no comparison of this version of crossview; make it again", file=path
        ) from None


def _show_comparison(answer: Comparison, rows: Opened, given: dict[str, Any]) -> None:
    from crossview.comparing.result.verdict import short_value
    from crossview.reporting.tables import (
        class_tables,
        comparison_head,
        comparison_notes,
        comparison_table,
    )

    console, head = make_console(), comparison_head(answer)
    for line in head:
        console.print(line, soft_wrap=True)
    if head:
        console.print()
    console.print(comparison_table(answer, console.width))
    console.print()
    if classes := list(class_tables(answer)):
        for part in classes:
            console.print(part)
        console.print()
    for note in comparison_notes(answer):
        console.print(note)
    best, recommended = answer.best, answer.recommended
    simpler = answer.cheapest if best.members else recommended
    shown = [best, *([] if simpler is best else [simpler])]
    for row in shown:
        if answer.entry(row) is None and answer.mode == "progressive":
            print(f"\n{row.model} was best: its own partial_fit learns the rows in their order")
        elif answer.entry(row) is None:
            code = _python(answer, row, rows, given.get("weight"))
            print(f"\nTrain {row.model} on all rows:\n\n{code}")
        elif row in (recommended, simpler) or row.baseline:
            name = "it" if row is recommended and not best.baseline else row.model
            command = _command(answer, row, rows, given)
            # one line however narrow the terminal, to be copied
            print(f"\nTrain {name} on all rows:\n{command}")
    other = answer.best_trained
    if other is not None and all(answer.entry(row) is None for row in shown):
        value = f"{answer.metric} {short_value(answer, other.value)}"
        command = _command(answer, other, rows, given)
        print(
            f"\nTrain {other.model} ({value}), the best that is saved as a model file, on all rows:"
            f"\n{command}"
        )
    if is_log(log := rows.arguments.source):  # folds know all labels
        ask = f"crossview replay {shlex.quote(str(log))} --challenger EARLIER"
        print(
            "\nWould it have been better than what was served, as the labels came? EARLIER is such "
            "a model of earlier rows; one that has learned this log seems better than it is:\n"
            f"{ask}"
        )


def _command(answer: Comparison, row: ComparisonRow, rows: Opened, given: Mapping[str, Any]) -> str:
    """Return the command that trains a model on all rows."""
    columns = _columns_of_user(answer, row, rows)
    kinds: dict[str, Any] = {}
    for kind, names in columns.kinds.items():
        if answer.groups in names:  # what is in no view has no kind
            kinds[kind] = [in_list(name) for name in names if name != answer.groups] or None
    columns = replace(columns, **kinds) if kinds else columns
    source, options = columns.source, [*columns.options, *columns.reading_options]
    if answer.groups is not None:
        options += ["--groups", answer.groups]
    of_answer, time = answer.train_options_of(row), given.get("time")
    if given.get("weight") is not None:
        options += ["--weight", given["weight"]]
    if time is not None:  # which is an order
        of_answer = ["--time", time, *(word for word in of_answer if word != "--in-order")]
    sources = [] if source is None else [source]
    command = ["crossview", "train", *sources, *options, *of_answer, "-o", "MODEL"]
    return shlex.join(command)


def _columns_of_user(answer: Comparison, row: ComparisonRow, rows: Opened) -> EncodedSource:
    """Return the columns with that of users as a model uses it."""
    columns: EncodedSource = rows.arguments
    if answer.per is None or row.user == "per":
        return columns
    columns = replace(columns, per=None, per_variance=PER_VARIANCE)
    if row.user == "without":
        return replace(columns, ignore=[*(columns.ignore or []), answer.per])
    views = [
        f"{name}={own if isinstance(own, str) else ','.join(own)}"
        for name, own in answer.category_views.items()
    ]
    return replace(
        columns,
        categorical=[*(columns.categorical or []), answer.per],
        view=[*(columns.view or []), *views] or None,
    )


def _python(answer: Comparison, row: ComparisonRow, rows: Opened, weight: str | None) -> str:
    """The Python that trains a baseline."""
    from crossview.baselines import Shape, find_baseline, training_code
    from crossview.encoding.table_columns import (
        RECOGNIZED,
        dates_in_views,
        predictors,
        recognized,
    )
    from crossview.encoding.view_columns import without_ignored
    from crossview.readers.source import open_table
    from crossview.tables.columns import match_names

    columns, threshold = rows.arguments, answer.threshold
    if weight is not None and threshold == "tuned":  # scikit-learn tunes none with weights
        threshold = row.threshold
    given: dict[str, Any] = {"views": columns.views, **columns.kinds}
    given |= columns.encoding_parameters()
    groups = [] if answer.groups is None else [answer.groups]
    ignored = [*given.pop("ignore"), *(name for name in rows.in_no_view if name != weight)]
    ignored += [name for name in groups if name not in ignored]
    if columns.label is not None:
        table = open_table(rows.table, **columns.reading)
        ignored = match_names(ignored, table.column_names)
        given["views"] = without_ignored(given["views"], ignored, table.column_names)
        if said := [kind for kind in RECOGNIZED if given[kind]]:  # `fit` finds none besides
            in_no_view = [*ignored, *rows.in_no_view]
            others = predictors(table, columns.label, given["views"], in_no_view)
            given["date"] = dates_in_views(given["date"], in_no_view)
            found = recognized(table, others.column_names, given["views"], given, said)
            given |= {kind: found.added_to(given)[kind] for kind in said}
    encoding = {key: value for key, value in given.items() if value not in (None, [])}
    return training_code(
        find_baseline(row.model, answer.task),
        row.setting,
        Shape(tuple(answer.views), answer.n_rows - answer.unlabeled, len(answer.classes)),
        source=columns.source,
        joined=columns.tables(columns.source) if columns.sources else (),
        on=columns.ids or None,
        reading=columns.reading,
        label=columns.label,
        weight=weight,
        ignored=ignored,
        encoding=None if columns.label is None else encoding,
        metric=answer.threshold_for,
        positive=answer.positive,
        threshold=None if answer.threshold_for is None else threshold,
    )
