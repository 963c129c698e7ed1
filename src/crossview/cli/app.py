"""Commands and options; what they do is in `crossview.cli.commands`, imported when needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import crossview
from crossview.catalog.learners import describe_models, model_names
from crossview.catalog.metrics import describe_metrics, metric_names
from crossview.catalog.names import TASKS
from crossview.catalog.readers import READERS
from crossview.cli.values import Command, Group

# of --model, --metric and --task: what the catalog has, which imports nothing heavy
MODELS = (
    f"{describe_models('classification')}; baseline:logistic-regression (scikit-learn's). "
    f"For a number (--task regression): {', '.join(model_names('regression'))}, baseline:ridge"
)
FORMATS = [one.name for one in READERS if one.suffixes]
METRICS = f"{describe_metrics('classification')}; for a number {describe_metrics('regression')}"

# the lines after \b keep their breaks
FIRST_COMMANDS = """\b
To begin, copy these three:
  crossview datasets breast-cancer -o tumors.parquet
  crossview compare tumors.parquet --label diagnosis --report report.html
  crossview train tumors.parquet --label diagnosis -o model.safetensors"""


def _starting_with(names: Sequence[str]) -> Callable[[str], list[str]]:
    """What a shell offers for an option: those of the names that start with what is typed."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


app = typer.Typer(
    name="crossview",
    cls=Group,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=FIRST_COMMANDS,
)

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        show_default=False,
        help=f"A file ({', '.join(suffix for one in READERS for suffix in one.suffixes)}), a glob "
        "of them, a query such as "
        "\"SELECT ... FROM 'a.parquet' JOIN 'b.csv' USING (id) ORDER BY time\", an https:// or "
        "s3:// address, a pipe, or - for stdin (CSV, or --format). Leave it out where --source "
        "names all.",
    ),
]
Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="A file that `train` wrote, or - for stdin.")
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The column to predict; leave it out if the file format has labels."
    ),
]
Views = Annotated[
    list[str] | None,
    typer.Option(
        "--view",
        metavar="NAME=COLUMNS",
        help="A view and its columns: names or globs, with commas between. Once for each view. "
        "Besides them each --source NAME=FILE is one. Without any, columns called VIEW__COLUMN are "
        "grouped. Of svmlight files ranges such as "
        "page=1:1840, of libffm fields, of Vowpal Wabbit namespaces.",
    ),
]
Text = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]COLUMNS", help="Columns (of a view) that hold free text: words are counted."
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]COLUMNS",
        help="Columns (of a view) whose numbers are categories, such as ids.",
    ),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]COLUMNS",
        help="Columns (of a view) that must be numbers: text in them, such as NA, is an error "
        "and does not make them categories.",
    ),
]
Dates = Annotated[
    list[str] | None,
    typer.Option(
        "--date",
        metavar="[NAME=]COLUMNS[=FORMAT]",
        help="Columns (of a view) of text that are dates, and how they are written, such as "
        "bought=%d/%m/%Y. Text that is dates in every row is recognized. The column of --time may "
        "be among them.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS", help="Columns that are in no view: names or globs, with commas between."
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"The format of the files: {', '.join(FORMATS)}. Default: as the name ends; of stdin "
        "csv.",
        autocompletion=_starting_with(FORMATS),
    ),
]
Null = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="CSV: these fields are missing values, as empty ones are."),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER", help="CSV: the decimal point of numbers, . (default) or a comma."
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="CSV: what divides two fields, such as ; or \\t. Default: what the first rows say.",
    ),
]
Quote = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="CSV: what encloses fields, \" by default; '' for files that quote nothing.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="CSV: what the text is written in, such as cp1252 or utf-16. Default: found in the "
        "bytes; where that is a guess, it says so.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="CSV: whether the first line names the columns. Otherwise they are called x0, x1, ...",
    ),
]
HashBits = Annotated[
    int,
    typer.Option(help="Each view has 2 to the power of this many slots for categories and words."),
]
Ngrams = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Count sequences of up to N words of a text, such as 2, and not only words.",
    ),
]
TfIdf = Annotated[
    bool,
    typer.Option("--tf-idf", help="Words that are in many texts of a column count less."),
]
ScaleViews = Annotated[
    bool,
    typer.Option(
        "--scale-views/--no-scale-views",
        help="Whether each view is divided by the mean norm of its rows.",
    ),
]
Bins = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Bins of each number, such as 10, where the score may be a curve of it. "
        "Default: none.",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="A column of times, dates or numbers: put the rows in its order, as --in-order wants "
        "them. It is in no view.",
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="A column of numbers, 0 or more and best about 1: how much a row counts in learning. "
        "Metrics count each row once. It is in no view.",
    ),
]
Task = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="classification, or regression where the column to predict holds numbers.",
        autocompletion=_starting_with(list(TASKS)),
    ),
]
Metric = Annotated[
    str | None,
    typer.Option(
        help=f"One of {METRICS}. Default: f1, macro_f1 if nothing says which of two classes is the "
        "positive one, cost if --cost is given, or rmse for a number.",
        autocompletion=_starting_with(metric_names()),
    ),
]
K = Annotated[
    str | None,
    typer.Option(
        "--k",
        metavar="NUMBER",
        help="Of precision_at_k and recall_at_k: how many rows, those with the highest scores, or "
        "a share of the rows between 0 and 1. Default: 0.1.",
    ),
]
Cost = Annotated[
    str | None,
    typer.Option(
        metavar="fp=NUMBER,fn=NUMBER",
        help="What a false positive and a false negative cost. The metric is then cost, the mean "
        "cost of a row, with two classes.",
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        metavar="CLASS",
        help="Of two classes, the one that the metric and --threshold are about. Default: the one "
        "that is called 1, true, yes, positive or the like, or has less than 40 % of the rows; "
        "otherwise the metric is macro_f1, of both.",
    ),
]
Threshold = Annotated[
    str,
    typer.Option(
        metavar="NUMBER",
        help="Of two classes, predict the positive one where its probability is above this. none: "
        "a score above 0 predicts the second. tuned: where the metric is best on rows that were "
        "not learned (f1 for precision and recall, macro_f1 for metrics without a threshold). More "
        "classes have no threshold.",
    ),
]

PredictionThreshold = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="Of two classes, predict the positive one where its probability is above this. "
        "none: a score above 0 predicts the second. Default: as the model was trained.",
    ),
]
MissingColumns = Annotated[
    str,
    typer.Option(
        metavar="error|null",
        help="What a column of the model is that SOURCE has not: an error, or null in every "
        "row. A whole view may be missing in any case.",
        autocompletion=_starting_with(["error", "null"]),
    ),
]


Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="[NAME=]FILE",
        help="Another table of the same rows, joined by --on. With a name it is a view, whose "
        "columns are called NAME__COLUMN; rows that it has not are without that view. Without a "
        "name its columns, such as late labels, keep their names, and rows that it has not are "
        "left out. Once for each.",
    ),
]
On = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN,...",
        help="The id by which --source finds a row. Default: the columns that all tables have.",
    ),
]


ReportFile = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="FILE.html",
        help="Write a page with pictures to this file too: one file that needs no network; - for "
        "stdout.",
    ),
]


@app.callback(invoke_without_command=True)
def crossview_command(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Learn from several views of the same thing, as they stream in."""
    if version:
        typer.echo(f"crossview {crossview.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _reading(
    format: str | None,
    null: list[str] | None,
    decimal: str | None,
    delimiter: str | None,
    quote: str | None,
    header: bool | None,
    encoding: str | None,
) -> dict[str, Any]:
    """How the files of a source are read, as keyword arguments of `crossview.open_table`."""
    return {
        "format": format,
        "null": null,
        "decimal": decimal,
        "delimiter": delimiter,
        "quote": quote,
        "header": header,
        "encoding": encoding,
    }


@app.command(cls=Command)
def describe(
    source: Source = None,
    *,
    sources: Sources = None,
    on: On = None,
    label: Label = None,
    view: Views = None,
    text: Text = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    date: Dates = None,
    ignore: Ignore = None,
    task: Task = "classification",
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="A column of times, dates or numbers: checked as for train, and in no view.",
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="A column of weights: checked as for train, and in no view.",
        ),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write everything to this file too; - for stdout only."),
    ] = None,
    format: Format = None,
    null: Null = None,
    decimal: Decimal = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    header: Header = None,
    encoding: Encoding = None,
) -> None:
    """Show what a source holds, column by column, and what may be wrong with it.

    The kind, view, different and missing values, range and most frequent values of
    each column, and how much it says of the label by itself, from 0 to 1.
    """
    from crossview.cli import opening

    columns = opening.Columns.parse(
        label,
        view,
        {"text": text, "categorical": categorical, "numeric": numeric, "date": date},
        {"ignore": ignore},
        _reading(format, null, decimal, delimiter, quote, header, encoding),
    ).join(source, sources, on)
    with opening.standard_input(source, columns) as file:
        opening.describe(file, columns, json=json, task=task, time=time, weight=weight)


@app.command(cls=Command)
def compare(
    context: typer.Context,
    source: Source = None,
    *,
    sources: Sources = None,
    on: On = None,
    label: Label = None,
    view: Views = None,
    text: Text = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    date: Dates = None,
    ignore: Ignore = None,
    task: Task = "classification",
    metric: Metric = None,
    k: K = None,
    cost: Cost = None,
    positive: Positive = None,
    threshold: Threshold = "tuned",
    budget: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Such as 60s, 5min or 1h. If everything takes longer, settings are left out, then "
            "rows that choose between them, then models; it says which.",
        ),
    ] = "60s",
    thorough: Annotated[
        bool, typer.Option("--thorough", help="No budget: leave nothing out.")
    ] = False,
    jobs: Annotated[
        int, typer.Option(help="Tasks at a time. -1: one per core. It does not change the scores.")
    ] = -1,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run the tasks on the workers of this Dask scheduler, such as "
            "tcp://10.0.0.1:8786; local:N starts N processes here. The rows are in memory here, "
            "and travel with the tasks. It does not change the scores.",
        ),
    ] = None,
    cv: Annotated[int, typer.Option(help="Number of folds.")] = 5,
    repeats: Annotated[
        int, typer.Option(help="How often the folds are drawn anew, to see smaller differences.")
    ] = 1,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Rows with the same value here, such as a user, are never both learned and "
            "scored. The column is in no view.",
        ),
    ] = None,
    in_order: Annotated[
        bool,
        typer.Option(
            "--in-order",
            help="The rows are in the order of time: score each fold by models that learned the "
            "rows before it.",
        ),
    ] = False,
    time: Time = None,
    weight: Weight = None,
    rope: Annotated[
        float,
        typer.Option(
            help="Differences in the metric up to this are none, for practical purposes; of a "
            "metric that is lower where it is better, a share of the best value."
        ),
    ] = 0.01,
    ablate: Annotated[
        bool,
        typer.Option(
            "--ablate",
            help="Also measure the recommended model without each view, and with that view "
            "missing in the rows to predict.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Of folds and shuffling.")] = 0,
    epochs: Annotated[
        int | None,
        typer.Option(
            help="Passes over the training rows. Default: 1, and more where they are better on "
            "rows held out; models with interactions stop early, by the loss on a held-out tenth.",
        ),
    ] = None,
    progressive: Annotated[
        bool,
        typer.Option(
            "--progressive",
            help="Instead of folds: predict, score, then learn, in the order of the rows, "
            "with memory bounded by the batch.",
        ),
    ] = False,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Compare this one, and what other --model options name, instead of all; "
            "the names are those of `train --model`.",
            autocompletion=_starting_with(model_names()),
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:CLASS",
            help="Also measure this scikit-learn model, such as "
            "sklearn.ensemble:RandomForestClassifier. Once for each. Without --model the table "
            "has logistic regression, gradient boosting, late fusion and the majority class.",
        ),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Add this model to the comparison in SOURCE, a file of --json.",
            autocompletion=_starting_with(model_names()),
        ),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write everything to this file too; - for stdout, and the table to stderr. Given "
            "as SOURCE, it shows the comparison again without computing.",
        ),
    ] = None,
    report: ReportFile = None,
    hash_bits: HashBits = 18,
    ngrams: Ngrams = 1,
    tf_idf: TfIdf = False,
    scale_views: ScaleViews = True,
    bins: Bins = None,
    format: Format = None,
    null: Null = None,
    decimal: Decimal = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    header: Header = None,
    encoding: Encoding = None,
) -> None:
    """Say which way of using the views is best, and by how much, in a minute.

    Compares each view alone, all views concatenated, independent, and coupled,
    without and with a covariance, SVMs that are trained for the metric (not with
    --progressive), linear models, models with interactions, and several models
    together. The label of some rows may be empty: then KeCo, which learns from
    them, is compared with the same model without them (Pegasos), and no other
    model sees them. For a number: each view alone, all views in a linear model,
    models with interactions, and several models together.

    Ctrl-C shows the table of the folds that are finished.
    """
    from crossview.cli import opening

    columns = opening.Columns.parse(
        label,
        view,
        {"text": text, "categorical": categorical, "numeric": numeric, "date": date},
        {
            "ignore": ignore,
            "hash_bits": hash_bits,
            "ngrams": ngrams,
            "tf_idf": tf_idf,
            "scale_views": scale_views,
            "bins": bins,
        },
        _reading(format, null, decimal, delimiter, quote, header, encoding),
    ).join(source, sources, on)
    options = {
        "task": task,
        "metric": metric,
        "k": k,
        "cost": cost,
        "positive": positive,
        "threshold": threshold,
        "budget": None if thorough else opening.parse_seconds(budget, "--budget"),
        "n_jobs": None if progressive and jobs == -1 else jobs,
        "cv": cv,
        "repeats": repeats,
        "groups": groups,
        "in_order": in_order,
        "time": time,
        "weight": weight,
        "rope": rope,
        "ablate": ablate,
        "baselines": baseline,
        "seed": seed,
        "epochs": epochs,
        "progressive": progressive,
    }
    in_no_view = [name for name in (groups, time, weight) if name is not None]
    with opening.standard_input(source, columns) as file:
        table: Any = file
        if not opening.is_stored(
            file, columns
        ):  # a stored comparison, or rows that are checked later
            opening.check_names(task=task, metric=metric, k=k, cost=cost, models=model or [])
            table = opening.open_source(file, columns, ignored=in_no_view)

        page = opening.Report.parse(report, context.find_root().obj, [file, table], [json])

        from crossview.cli.commands.compare import run

        rows = opening.Rows(source, table, columns, in_no_view, weight)
        given = {"add": add or [], "models": model or []}
        run(rows, json=json, report=page, **given, options=options, cluster=dask)


@app.command(cls=Command)
def train(
    context: typer.Context,
    source: Source = None,
    *,
    sources: Sources = None,
    on: On = None,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="MODEL", help="The model file to write; - for stdout."
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"One of {MODELS}. Default: stacking.",
            autocompletion=_starting_with(model_names()),
        ),
    ] = None,
    init: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Go on from this model, which has learned other rows. Views, settings, metric and "
            "threshold are its own, and the label unless --label names another column.",
        ),
    ] = None,
    label: Label = None,
    view: Views = None,
    text: Text = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    date: Dates = None,
    ignore: Ignore = None,
    task: Task = "classification",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the model, such as C=0.1 or n_factors=8. Once for each.",
        ),
    ] = None,
    epochs: Annotated[
        int,
        typer.Option(
            help="Passes over the rows, each in another random order; not for models that draw "
            "rows or need all rows in memory."
        ),
    ] = 1,
    in_order: Annotated[
        bool | None,
        typer.Option(
            "--in-order/--shuffle",
            help="Learn the rows in the order of SOURCE, as a stream, or shuffled: exactly up to "
            "512 MB, more by blocks. Default: shuffled, but a query with ORDER BY in its order.",
        ),
    ] = None,
    time: Time = None,
    weight: Weight = None,
    seed: Annotated[int, typer.Option(help="Of the order of the rows and of the model.")] = 0,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="All labels that may occur. Without it, the label column is read once before.",
        ),
    ] = None,
    metric: Metric = None,
    k: K = None,
    cost: Cost = None,
    positive: Positive = None,
    threshold: Threshold = "tuned",
    hash_bits: HashBits = 18,
    ngrams: Ngrams = 1,
    tf_idf: TfIdf = False,
    scale_views: ScaleViews = True,
    bins: Bins = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Learn on the workers of this Dask scheduler, such as tcp://10.0.0.1:8786, which "
            "read the files themselves; local:N starts N processes here. Not with --time, "
            "--epochs, --init, --checkpoint, --log, --source.",
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --dask: models that learn at the same time, each from some of the files or "
            "row groups. The result depends on it. Default: as many as workers.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --dask: passes over all rows; the models are merged after each. Default: "
            "until held-out rows are predicted no better.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep the run in this file while it lasts: the model so far, the position in "
            "SOURCE, a hash of the rows that were read, all counts. It is a model file, too.",
        ),
    ] = None,
    every: Annotated[
        str, typer.Option(metavar="TIME", help="Time between two checkpoints, such as 10s or 5min.")
    ] = "60s",
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on from --checkpoint, if the file is there: the model is, to the last bit, "
            "the one of a run that never stopped. If SOURCE has other rows than before, nothing is "
            "written.",
        ),
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a JSON line for each window of rows, each predicted before it was learned: "
            "loss, log loss, accuracy, metric.",
        ),
    ] = None,
    log_every: Annotated[
        int | None,
        typer.Option(
            metavar="ROWS",
            help="Rows of a window of --log. Default: about 20 windows, of 100 rows or more.",
        ),
    ] = None,
    report: ReportFile = None,
    progress: Annotated[
        bool | None,
        typer.Option(
            "--progress/--no-progress",
            help="Lines at 1, 2, 4, 8, ... rows on stderr, or nothing. Default: on a terminal a "
            "bar where the number of rows is known, otherwise lines; elsewhere nothing.",
        ),
    ] = None,
    format: Format = None,
    null: Null = None,
    decimal: Decimal = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    header: Header = None,
    encoding: Encoding = None,
) -> None:
    """Train a model on the rows of a source, shuffled, or in order as a stream.

    Without --model, several models learn in the same pass and are weighted by how
    well they predict: there is nothing to choose.

    Memory is bounded, by 512 MB of rows and with --in-order by one batch. But keco
    and pegasos draw rows, all of which are in memory; with --set schedule=stream
    they learn each row once, and keep 500 support rows per view (--set budget=N).
    svmperf has all rows in memory, too, and is trained for --metric, of the class
    that --positive names.
    """
    from crossview.cli import opening

    cluster = opening.Cluster.parse(
        *(dask, partitions, rounds),
        time=time,
        epochs=None if epochs == 1 else epochs,
        init=init,
        checkpoint=checkpoint,
        resume=resume or None,
        log=log,
        log_every=log_every,
        source=sources,
        report=report,
    )
    columns = opening.Columns.parse(
        label,
        view,
        {"text": text, "categorical": categorical, "numeric": numeric, "date": date},
        {
            "ignore": ignore,
            "hash_bits": hash_bits,
            "ngrams": ngrams,
            "tf_idf": tf_idf,
            "scale_views": scale_views,
            "bins": bins,
        },
        _reading(format, null, decimal, delimiter, quote, header, encoding),
    ).join(source, sources, on)
    opening.check_names(
        task=task,
        metric=metric,
        k=k,
        cost=cost,
        models=[] if init else [model or "stacking"],
        settings=settings or [],
    )
    with opening.model_and_source(init, source, columns) as (start, file):
        in_no_view = [name for name in (time, weight) if name is not None]
        table = opening.open_source(file, columns, ignored=in_no_view, model=start)
        inputs, outputs = [file, table, init], [output, checkpoint, log]
        page = opening.Report.parse(report, context.find_root().obj, inputs, outputs)

        from crossview.cli.commands.train import run

        run(
            opening.Rows(source, table, columns, in_no_view, weight),
            cluster=cluster,
            report=page,
            model=model,
            init=start,
            settings=settings or [],
            output=output,
            task=task,
            epochs=epochs,
            in_order=in_order,
            time=time,
            weight=weight,
            seed=seed,
            classes=classes.split(",") if classes else None,
            metric=metric,
            k=k,
            cost=cost,
            positive=positive,
            threshold=threshold,
            checkpoint=checkpoint,
            every=opening.parse_seconds(every, "--every", zero=True),
            resume=resume,
            log=log,
            log_every=log_every,
            progress=progress,
        )


@app.command(cls=Command)
def predict(
    model: Model,
    source: Source = None,
    *,
    sources: Sources = None,
    on: On = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Ends in .csv, .parquet or .jsonl. Without it, or with -, CSV on stdout.",
        ),
    ] = "-",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Copy a column of SOURCE, such as an id; of Vowpal Wabbit files tag.",
        ),
    ] = None,
    threshold: PredictionThreshold = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="The class that --threshold is about. Default: as the model was trained.",
        ),
    ] = None,
    missing_columns: MissingColumns = "error",
    explain: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Also name the N columns, such as 3, that contribute most to the score of each "
            "row, with their contributions: explain_1_column, explain_1_contribution, ...",
        ),
    ] = None,
    format: Format = None,
    null: Null = None,
    decimal: Decimal = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    header: Header = None,
    encoding: Encoding = None,
) -> None:
    """Score rows: a prediction, a score, probabilities, and one score per view.

    Rows keep their order.

    With two classes the threshold of the model predicts the second, sorted, or
    a score above 0 if it has none. With more there is one score per class, the
    highest predicts, and a view's score is that for the predicted class. There
    is one column probability_CLASS per class. A view that is missing in a row
    has no score. Where a number is predicted there is no score, and a view's is
    the prediction from that view alone.
    """
    from crossview.cli import opening

    reading = _reading(format, null, decimal, delimiter, quote, header, encoding)
    columns = opening.Columns.parse(None, None, {}, {}, reading).join(source, sources, on)
    with opening.model_and_source(model, source, columns) as (model_file, file):
        table = opening.open_source(file, columns, model=model_file)
        opening.check_columns(table, keep or [])
        opening.check_columns_of_model(model_file, table, missing_columns)

        from crossview.cli.commands.predict import run

        run(
            model_file,
            opening.Rows(source, table, columns),
            output,
            keep=keep or [],
            missing_columns=missing_columns,
            threshold=threshold,
            positive=positive,
            explain=explain,
        )


@app.command(cls=Command)
def evaluate(
    context: typer.Context,
    model: Model,
    source: Source = None,
    *,
    sources: Sources = None,
    on: On = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The labels. Default: the label of the model."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="The metric for each value of this column of SOURCE, such as country: the 20 most "
            "frequent ones, or ten ranges of numbers. Once for each.",
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Loss, metric and drift over time, by this column of times or numbers.",
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|ROWS",
            help="The width of a window of --time, such as 1d, 6h or 30min; a bare number is a "
            "number of rows in the order of SOURCE. Default: about ten windows.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help=f"The metric of views, slices and windows, one of {METRICS}. Default: cost if "
            "--cost is given, or the one that the model was trained for.",
            autocompletion=_starting_with(metric_names()),
        ),
    ] = None,
    k: K = None,
    cost: Cost = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="Of two classes, the one that metric and --threshold are about. Default: as the "
            "model was trained.",
        ),
    ] = None,
    threshold: PredictionThreshold = None,
    views: Annotated[
        bool,
        typer.Option(
            "--views/--no-views",
            help="Whether to predict again with each view missing, to see what it is worth.",
        ),
    ] = True,
    missing_columns: MissingColumns = "error",
    json: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write everything to this file too; - for stdout, and the tables to stderr.",
        ),
    ] = None,
    report: ReportFile = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Count on the workers of this Dask scheduler, such as tcp://10.0.0.1:8786, which "
            "read the files themselves; local:N starts N processes here. It does not change the "
            "answer. Not with --source.",
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --dask: parts that are counted at the same time, each of some of the files "
            "or row groups. Only the rounding of sums depends on it. Default: as many as workers.",
        ),
    ] = None,
    format: Format = None,
    null: Null = None,
    decimal: Decimal = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    header: Header = None,
    encoding: Encoding = None,
) -> None:
    """Say how good a model is on labeled rows that it has not learned.

    All metrics with 95 % intervals, how good the probabilities are, what each view
    is worth, and whether the rows are distributed as in training: a warning names
    each view that has moved. Rows without a label are skipped. Memory is bounded by
    a batch.
    """
    from crossview.cli import opening

    cluster = opening.Cluster.parse(dask, partitions, None, source=sources)
    reading = _reading(format, null, decimal, delimiter, quote, header, encoding)
    columns = opening.Columns.parse(None, None, {}, {}, reading).join(source, sources, on)
    task = "regression" if metric in metric_names("regression") else "classification"
    opening.check_names(task=task, metric=metric, k=k, cost=cost, models=[])
    if window is not None:
        opening.parse_window(window)
    with opening.model_and_source(model, source, columns) as (model_file, file):
        named = [name for name in (label, time, *(by or [])) if name is not None]
        table = opening.open_source(file, columns, named=named, label=label, model=model_file)
        opening.check_columns(table, named)
        opening.check_columns_of_model(model_file, table, missing_columns)
        inputs = [model_file, file, table]
        page = opening.Report.parse(report, context.find_root().obj, inputs, [json])

        from crossview.cli.commands.evaluate import run

        run(
            model_file,
            opening.Rows(source, table, columns),
            label,
            cluster=cluster,
            json=json,
            report=page,
            by=by or [],
            time=time,
            window=window,
            metric=metric,
            k=k,
            cost=cost,
            positive=positive,
            threshold=threshold,
            views=views,
            missing_columns=missing_columns,
        )


@app.command(cls=Command)
def inspect(
    model: Model,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write all weights that are not 0 to this file instead, by view, column, value "
            "and class. Ends in .csv, .parquet or .jsonl; - for CSV on stdout.",
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(help="How many columns of each view, or interactions of each order, to show."),
    ] = 10,
) -> None:
    """Show a model: its views, weights and strongest columns, or interactions between views."""
    from crossview.cli import opening

    with opening.standard_input(model) as file:
        opening.check_exists(file)

        from crossview.cli.commands.inspect import run

        run(file, top, weights)


@app.command(cls=Command)
def convert(
    source: Source = None,
    *,
    sources: Sources = None,
    on: On = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Ends in .svm, .ffm or .vw, also with .gz or .zst.",
        ),
    ],
    label: Label = None,
    view: Views = None,
    text: Text = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    date: Dates = None,
    ignore: Ignore = None,
    task: Task = "classification",
    hash_bits: HashBits = 18,
    ngrams: Ngrams = 1,
    tf_idf: TfIdf = False,
    bins: Bins = None,
    format: Format = None,
    null: Null = None,
    decimal: Decimal = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    header: Header = None,
    encoding: Encoding = None,
) -> None:
    """Write rows as svmlight, libffm or Vowpal Wabbit text, with their views.

    The columns of a table are encoded as by train, without dividing views by
    their norm. It says by which --view options the file has the same views.
    """
    from crossview.cli import opening

    columns = opening.Columns.parse(
        label,
        view,
        {"text": text, "categorical": categorical, "numeric": numeric, "date": date},
        {
            "ignore": ignore,
            "hash_bits": hash_bits,
            "ngrams": ngrams,
            "tf_idf": tf_idf,
            "bins": bins,
        },
        _reading(format, null, decimal, delimiter, quote, header, encoding),
    ).join(source, sources, on)
    with opening.standard_input(source, columns) as file:
        table = opening.open_source(file, columns)

        from crossview.cli.commands.convert import run

        run(opening.Rows(source, table, columns), output, task=task)


@app.command(cls=Command)
def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Without it: lists the data sets.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Ends in .parquet, .csv, .svm, .ffm or .vw; - for CSV on stdout.",
        ),
    ] = None,
) -> None:
    """Write a data set with views to a file, to try things on.

    Two are bundled. The others are public, and are fetched from their address:
    each file is checked by its SHA-256 and kept in CROSSVIEW_CACHE, by default
    a folder of the system. CROSSVIEW_DATA names a folder that has them already,
    in NAME/FILE. Without a name all are listed.
    """
    from crossview.cli.commands.datasets import run, show

    if name is None:
        show()
    else:
        run(name, output)
