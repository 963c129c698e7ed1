"""Options of the commands, each declared once, and the objects that several of them make."""

import functools
import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import typer

from crossview.catalog.learners import describe_models, find_learner, model_names
from crossview.catalog.metrics import describe_metrics, metric_names
from crossview.catalog.names import TASKS, check_task
from crossview.catalog.readers import READERS
from crossview.catalog.settings import literal_value
from crossview.cli.words import QUOTED, declare, in_list, split_list
from crossview.errors import InputError
from crossview.scoring.specification import Scoring

# as SOURCE and as the file to write
STANDARD = "-"
# of `ViewEncoder`, which takes long to load
MOST_BINS = 4096
# columns of one kind; `crossview.data` has the same names, and loads NumPy
KINDS = ("text", "categorical", "numeric", "sparse", "date")
FORMATS = [one.name for one in READERS if one.suffixes]
SUFFIXES = ", ".join(suffix for one in READERS if one.name != "served" for suffix in one.suffixes)
# of --model and --metric: what the catalog has
MODELS = (
    f"{describe_models('classification')}. "
    f"For a number (--task regression): {', '.join(model_names('regression'))}"
)
METRICS = f"{describe_metrics('classification')}; for a number {describe_metrics('regression')}"

# of a model that is there, and of commands that train one
THRESHOLD = """
--threshold NUMBER: Of two classes, predict the positive one where its probability is above this.
    Of more, such as 0.1,0.4,0.5: one for each, sorted; the highest multiple of its own predicts.
    none: the scores decide.
""".strip()
TUNED_THRESHOLD = f"""{THRESHOLD}
    tuned: where the metric is best on rows that were not learned (f1 for precision and recall,
    macro_f1 for metrics without a threshold). Default: as a model was trained; a new one is tuned.
""".strip()

# by what a shell completes the values of options
CHOICES: dict[str, Sequence[str]] = {
    "task": list(TASKS),
    "missing_columns": ["error", "null"],
    "metric": metric_names(),
    "format": FORMATS,
    "model": model_names(),
    "add": model_names(),
}
# arguments of the library that have another name than their option
ARGUMENTS = {
    "label": "y",
    "metric": "scoring",
    "view": "views",
    "jobs": "n_jobs",
    "baseline": "baselines",
    "ngrams": "ngram_range",
}

# 1. options that several commands have; each command has a text of its own options, which may
#    override these.  Of each: the parameter, if it is not called like the option; the option, or
#    none of an argument; what the value is called; the help.

OPTIONS = f"""
model MODEL: A file that `train` wrote, or - for stdin.
--task NAME: classification, or regression to predict a number. By default what the labels say: a
    number if they have decimals, more than 100 values, or more than 10 that begin above 1, have a
    gap, or have neighbors that are about as frequent where others are not.
--time COLUMN: A column of times, dates or numbers: put the rows in its order, as --in-order wants
    them. It is in no view. They are sorted in memory; of more than 512 MB give a query with ORDER
    BY.
--weight COLUMN: A column of numbers, 0 or more and best about 1: how much a row counts in
    learning. Metrics count each row once. It is in no view.
--missing-columns error|null: What a column of the model is that SOURCE has not: an error, or null
    in every row. A whole view may be missing in any case.
--json FILE: Write everything to this file too; - for stdout, and the tables to stderr.
--report FILE.html: Write a page with pictures to this file too: one file that needs no network; -
    for stdout.
--positive CLASS: Of two classes, the one that the metric and --threshold are about. Default: as a
    model was trained; of a new one, the class that is called 1, true, yes, positive or the like,
    or has less than 40 % of the rows; otherwise the metric is macro_f1, of both.
{THRESHOLD}
    Default: as the model was trained.
--metric: One of {METRICS}. Default: cost if --cost is given, or as a model was trained; of a new
    one f1, macro_f1 if nothing says which of two classes is the positive one, or rmse for a
    number.
--k NUMBER: Of precision_at_k and recall_at_k: how many rows, those with the highest scores, or a
    share of the rows between 0 and 1. Default: 0.1. Of top_accuracy: how many classes. Default: 2.
    With another --metric of evaluate only, which shows precision_at_k and recall_at_k, too.
--cost fp=NUMBER,fn=NUMBER: What a false positive and a false negative cost. The metric is then
    cost, the mean cost of a row, with two classes.
--dask ADDRESS: Work on the workers of this Dask scheduler, such as tcp://10.0.0.1:8786, which
    read the files themselves; local:N starts N processes here. Not with --source, nor train with
    --time, --epochs, --init, --checkpoint, --log and --report.
--partitions N: With --dask: parts that are learned or counted at the same time, each of some of
    the files or row groups. A model depends on it, and of an evaluation only the rounding of
    sums. Default: as many as workers.
--rounds N: With --dask: passes over all rows; the models are merged after each. Default: until
    held-out rows are predicted no better.
source SOURCE: A file ({SUFFIXES}), a glob or folder of them, a query such as "SELECT ... FROM
    'a.parquet' JOIN 'b.csv' USING (id) ORDER BY time", an https:// or s3:// address, a pipe, or -
    for stdin (CSV, or --format); of a server's log the folder, or its address of PostgreSQL. Leave
    it out where --source names all.
sources --source [NAME=]FILE: Another table of the same rows, joined by --on. With a name it is a
    view, whose columns are called NAME__COLUMN; rows that it has not are without that view.
    Without a name its columns, such as late labels, keep their names, and rows that it has not
    are left out. Once for each.
--on COLUMN,...: The id by which --source finds a row. Default: the columns that all tables have.
--format NAME: The format of the files: {", ".join(FORMATS)}. Default: as the name ends; of stdin
    csv.
--null A,B: CSV: these fields are missing values, as empty ones are.
--decimal CHARACTER: CSV: the decimal point of numbers, . (default) or a comma.
--delimiter CHARACTER: CSV: what divides two fields, such as ; or \\t. Default: what the first
    rows say.
--quote CHARACTER: CSV: what encloses fields, " by default; '' for files that quote nothing.
--header/--no-header: CSV: whether the first line names the columns. Otherwise they are called x0,
    x1, ...
--encoding NAME: CSV: what the text is written in, such as cp1252 or utf-16. Default: found in the
    bytes; where that is a guess, it says so.
--label COLUMN: The column to predict; leave it out if the file format has labels.
--view NAME=COLUMNS: A view and its columns: names or globs, with commas between. Once for each
    view. Of a column of text also its characters, chars(COLUMN), or its shape(COLUMN). Besides
    them each --source NAME=FILE is one. Without any, columns called VIEW__COLUMN are grouped
    (all others are the view rest beside a single one); else texts are views. Of svmlight files
    ranges such as page=1:1840, of libffm fields, of Vowpal Wabbit namespaces.
--text [NAME=]COLUMNS: Columns (of a view) that hold free text, whose words count. Strings that
    are sentences are recognized; --categorical makes them categories.
--categorical [NAME=]COLUMNS: Columns (of a view) whose numbers are categories, such as ids, or
    whose strings are no text.
--numeric [NAME=]COLUMNS: Columns (of a view) that must be numbers: text in them, such as NA, is
    an error and does not make them categories.
--sparse [NAME=]COLUMNS: Columns (of a view) of numbers that are mostly 0, such as counts of words:
    they keep their zeros and have one scale. Where a view has more than 100 they are recognized;
    --numeric scales each by itself.
--date [NAME=]COLUMNS[=FORMAT]: Columns (of a view) of text that are dates, and how they are
    written, such as bought=%d/%m/%Y. Text that is dates in every row is recognized. The column of
    --time may be among them.
--ignore COLUMNS: Columns that are in no view: names or globs, with commas between. In all lists
    a name with a comma or = is in double quotes: --ignore '"a,b",c'.
--hash-bits: Each view has 2 to the power of this many slots for categories and words.
--ngrams N: Count sequences of up to N words of a text, such as 2, and not only words.
--tf-idf/--no-tf-idf: Whether words count less that are in many texts, or a second time in one.
--scale-views/--no-scale-views: Whether each view is divided by the mean norm of its rows, after
    columns of very different sizes that no table standardizes: of text files and of arrays.
--bins N: Bins of each number, where the score may be a curve of it; 0: none. Default: 10 for
    models that learn row by row, if there are at most 100 numbers; compare by folds tries both.
--per COLUMN: Whose row it is, such as a user: scores deviate from the shared ones by what each
    user's rows say. The column is in no other view. compare says whether that is better than the
    column as a category.
--per-variance NUMBER: With --per: prior variance of a user's own weights, by that of the shared
    ones.
--max-users N: With --per and train --in-order, and where that model is served: how many users
    have weights of their own, thousands: few are slow. Of more, those who were not seen for
    longest lose theirs.
"""


# 2. objects that are made of several options


class Group:
    """Options of which a command makes one argument: a dataclass, whose fields they are."""

    # those that stand below all others in a help text
    LAST: ClassVar[tuple[str, ...]] = ()


@dataclass
class ScoringArguments(Group):
    """Metric, positive class and threshold."""

    metric: str | None = None
    k: str | None = None
    cost: str | None = None
    positive: str | None = None
    threshold: str | None = None

    def make(self) -> Scoring:
        """Return the scoring that the options say."""
        own = {} if self.threshold is None else {"threshold": literal_value(self.threshold)}
        k = literal_value(self.k or "none")
        return Scoring(self.metric, k=k, cost=self.cost, positive=self.positive, **own)


@dataclass
class ClusterArguments(Group):
    """The Dask cluster to learn or count on."""

    dask: str | None = None
    partitions: int | None = None
    rounds: int | None = None

    def __post_init__(self) -> None:
        for name in ("partitions", "rounds"):
            value = getattr(self, name)
            if value is not None and self.dask is None:
                raise InputError(f"--{name} is about a cluster; add --dask ADDRESS")
            if value is not None and value < 1:
                raise InputError(f"--{name} {value}; give 1 or more")

    def refuse(self, **options: Any) -> None:
        """Raise an error for options that need one machine, where a cluster is given."""
        for name, value in options.items():
            if self.dask is not None and value not in (None, []):
                option = name.replace("_", "-")
                more = "; give --rounds" if name == "epochs" else ""
                raise InputError(f"--{option} does not go with --dask; leave it out{more}")


@dataclass
class SourceArguments(Group):
    """A source as the user names it, and how its files are read.

    views: the columns of each view.
    kinds: columns whose kind is declared.
    ignored: columns that are in no view: names or globs.
    reading: keyword arguments of `crossview.open_table`.
    ids: columns by which tables are joined; empty: those that all have.
    """

    LAST: ClassVar[tuple[str, ...]] = (
        "format",
        "null",
        "decimal",
        "delimiter",
        "quote",
        "header",
        "encoding",
    )

    source: str | None = None
    sources: list[str] | None = None
    on: str | None = None
    format: str | None = None
    null: list[str] | None = None
    decimal: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    header: bool | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.source is None and not self.sources:
            raise InputError("name a file, or several by --source NAME=FILE and --on COLUMN")
        if self.on is not None and not self.sources:
            raise InputError(f"--on {self.on!r} is for --source; name a table to join")
        self.label: str | None = getattr(self, "label", None)
        self.views: dict[str, list[str]] | None = None
        self.kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
        self.ignored: list[str] = []
        self.ids = split_list(self.on or "")
        self.reading = self._given(SourceArguments.LAST)
        if "null" in self.reading:
            self.reading["null"] = [
                word for one in self.reading["null"] for word in split_list(one, strip=False)
            ]
        if self.reading.get("delimiter") in ("\\t", "tab"):
            self.reading["delimiter"] = "\t"

    @property
    def title(self) -> str:
        """Name of the source in output."""
        return " + ".join([*([self.source] if self.source else []), *(self.sources or [])])

    @property
    def reading_options(self) -> list[str]:
        """The words of a command line that say how files are read."""
        return _as_words(self._given(SourceArguments.LAST))

    def tables(self, source: str | None) -> list[tuple[str | None, str]]:
        """Return the tables that are joined, each with its view; the source may be a copy."""
        found: list[tuple[str | None, str]] = [] if source is None else [(None, source)]
        for one in self.sources or []:
            name, equals, file = one.partition("=")
            named = equals and re.fullmatch(r"[^\s/\\'\"]+", name) and not os.path.exists(one)
            found.append((name, file) if named else (None, one))
        return found

    def _given(self, names: Sequence[str]) -> dict[str, Any]:
        """The options that are not left at their defaults."""
        defaults = {one.name: one.default for one in fields(self)}
        values = {name: getattr(self, name) for name in names}
        return {k: value for k, value in values.items() if value not in (defaults[k], [])}


@dataclass
class ColumnArguments(Group):
    """The label, and the views and kinds of columns."""

    label: str | None = None
    view: list[str] | None = None
    text: list[str] | None = None
    categorical: list[str] | None = None
    numeric: list[str] | None = None
    sparse: list[str] | None = None
    date: list[str] | None = None
    ignore: list[str] | None = None

    def __post_init__(self) -> None:
        given = {option: getattr(self, option) or [] for option in ("view", *KINDS)}
        self.views, self.kinds = parse_columns(given)
        self.ignored = [name for one in self.ignore or [] for name in split_list(one)]


@dataclass
class TableSource(ColumnArguments, SourceArguments):
    """A source, its label, and the views and kinds of its columns."""

    def __post_init__(self) -> None:
        SourceArguments.__post_init__(self)
        ColumnArguments.__post_init__(self)

    def arguments(self) -> dict[str, Any]:
        """Return views and encoder, as keyword arguments of the library."""
        from crossview.encoding.encode import ViewEncoder

        kinds: dict[str, Any] = {kind: names for kind, names in self.kinds.items() if names}
        return {"views": self.views, "encoder": ViewEncoder(**kinds, **self.encoding_parameters())}

    def encoding_parameters(self) -> dict[str, Any]:
        """Return the other parameters of `ViewEncoder`."""
        return {"ignore": self.ignored}

    @property
    def options(self) -> list[str]:
        """The words of a command line that say the same of the columns."""
        words = _as_words(self._given(["label"]))
        for option in ("view", *KINDS):
            words += [word for one in getattr(self, option) or [] for word in (f"--{option}", one)]
        words += _as_words(self._given(self._encoding))
        words += [word for one in self.sources or [] for word in ("--source", one)]
        return words + (["--on", ",".join(map(in_list, self.ids))] if self.ids else [])

    _encoding: ClassVar[tuple[str, ...]] = ("ignore",)


# as of the encoder
PER_VARIANCE = 0.3


@dataclass
class EncodedSource(TableSource):
    """A source, and how its columns become views."""

    _encoding = (
        *("ignore", "hash_bits", "ngrams", "tf_idf", "scale_views", "bins"),
        *("per", "per_variance", "max_users"),
    )
    LAST: ClassVar[tuple[str, ...]] = (*_encoding[1:], *SourceArguments.LAST)

    hash_bits: int = 18
    ngrams: int = 1
    tf_idf: bool = True
    scale_views: bool = True
    bins: int | None = None
    per: str | None = None
    per_variance: float = PER_VARIANCE
    max_users: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ngrams < 1:
            raise InputError(f"--ngrams {self.ngrams}; give a whole number, 1 or more")
        if self.bins not in (None, 0) and not 2 <= self.bins <= MOST_BINS:
            raise InputError(
                f"--bins {self.bins}; give a whole number from 2 to {MOST_BINS}, or 0 for none"
            )
        if self.per is None and self.per_variance != PER_VARIANCE:
            raise InputError(
                f"--per-variance {self.per_variance:g} is about --per, the column of the users; "
                "name it, or leave it out"
            )

    def encoding_parameters(self) -> dict[str, Any]:
        """Return the other parameters of `ViewEncoder`."""
        names = ("hash_bits", "tf_idf", "scale_views", "per", "per_variance", "max_users")
        own = {name: getattr(self, name) for name in names}
        bins = "auto" if self.bins is None else self.bins or None
        return {"ignore": self.ignored, "ngram_range": (1, self.ngrams), "bins": bins, **own}


def parse_columns(
    given: Mapping[str, Sequence[str]],
) -> tuple[dict[str, list[str]] | None, dict[str, list[str]]]:
    """Return the views and the kinds of columns that --view, --text and so on say."""
    views: dict[str, list[str]] = {}
    kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for option, values in given.items():
        for value in values:
            name, patterns, format = _columns_of(option, value)
            if name is not None:
                group = views.setdefault(name, [])
                group += [pattern for pattern in patterns if pattern not in group]
            if option in KINDS:
                kinds[option] += [f"{p}={format}" if format else p for p in patterns]
    return views or None, kinds


def _columns_of(option: str, value: str) -> tuple[str | None, list[str], str]:
    """The view, the columns and the format that ``[NAME=]COLUMN,COLUMN[=FORMAT]`` names."""
    from crossview.tables.dates import split_format

    named, format = split_format(value) if option == "date" else (value, "")
    equals = QUOTED.sub(lambda quoted: "-" * len(quoted[0]), named).rfind("=")
    name, patterns = named[: max(equals, 0)].strip(), split_list(named[equals + 1 :])
    needs_view = equals >= 0 or option == "view"
    if not patterns or (needs_view and not name):
        raise InputError(
            f"--{option} {value!r}: give a view and its columns, such as "
            f"--{option} user='user_*' or --{option} ad=ad_id,ad_size"
        )
    return name or None, patterns, format


def _as_words(given: dict[str, Any]) -> list[str]:
    """Options and their values."""
    words = []
    for name, value in given.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
            continue
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{option}", str(one)]
    return words


# 3. from a function with such arguments to a command

_ENTRY = re.compile(r"^(\S.*?): (.*(?:\n {4}.*)*)", re.MULTILINE)
_HEAD = re.compile(r"(?:(\w+) ?)?((?:-[^\s,]+(?:, )?)*) ?(.*)")


def read_options(text: str) -> dict[str, tuple[list[str], str, str]]:
    """Return the options of a text: parameter -> names of the option, of its value, and help."""
    found = {}
    for head, help in _ENTRY.findall(text):
        name, options, metavar = _HEAD.fullmatch(head).groups()  # type: ignore[union-attr]
        names = options.split(", ") if options else []
        name = name or first_option(names)[0].removeprefix("--").replace("-", "_")
        found[name] = names, metavar, " ".join(help.split())
    return found


def first_option(names: Sequence[str]) -> tuple[str, str]:
    """Return the first long option of some, and that for False."""
    on, _, off = next(name for name in names if name.startswith("--")).partition("/")
    return on, off or on


def starting_with(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return what a shell offers: those of the names that start with what is typed."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def as_callback(
    run: Callable[..., int | None], own: str
) -> Callable[..., Callable[[], int | None]]:
    """Return the function that typer calls with options: it makes the arguments of a command.

    What it returns is to be called without arguments when the options are read.  So nothing of
    typer is below a command that runs.

    run: the command.  A parameter whose type is a `Group` stands for the options of the group; as
      ``Annotated[Group, "a", "b"]`` for all but these.  ``words`` gets the command line.
    own: the text of its own options.
    Returns: a function with one parameter per option.
    """
    hints, texts = get_type_hints(run, include_extras=True), read_options(OPTIONS + own)
    groups: dict[str, tuple[type[Group], list[str]]] = {}
    first: list[inspect.Parameter] = []
    last: list[inspect.Parameter] = []
    declared: dict[str, tuple[str, str, bool]] = {}

    def parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
        names, metavar, help = texts[name]
        known: dict[str, Any] = {"metavar": metavar or None, "help": help}
        if not names:
            hint = Annotated[hint, typer.Argument(show_default=False, **known)]
        else:
            takes_list = metavar.endswith(("COLUMNS", "A,B", ",..."))
            declared[name] = (*first_option(names), takes_list)
            declared[ARGUMENTS.get(name, name)] = declared[name]
            if name in CHOICES:
                known["autocompletion"] = starting_with(CHOICES[name])
            hint = Annotated[hint, typer.Option(*names, **known)]
        return _keyword(name, hint, default)

    for name, one in inspect.signature(run).parameters.items():
        kind, *without = (
            get_args(hints[name]) if get_origin(hints[name]) is Annotated else [hints[name]]
        )
        if name == "words":
            first.append(_keyword("context", typer.Context))
        elif not (isinstance(kind, type) and issubclass(kind, Group)):
            first.append(parameter(name, kind, one.default))
        else:
            types = get_type_hints(kind)
            mine = [one for one in fields(kind) if one.name not in without]  # type: ignore[arg-type]
            groups[name] = kind, [one.name for one in mine]
            for part in mine:
                place = last if part.name in kind.LAST else first
                place.append(parameter(part.name, types[part.name], part.default))

    def callback(**options: Any) -> Callable[[], int | None]:
        declare(declared)
        arguments: dict[str, Any] = {}
        if "words" in hints:
            arguments["words"] = options.pop("context").find_root().obj
        for name, (kind, names) in groups.items():
            arguments[name] = kind(**{one: options.pop(one) for one in names})
        return functools.partial(run, **arguments, **options)

    callback.__doc__ = run.__doc__
    callback.__signature__ = inspect.Signature([*first, *last])  # type: ignore[attr-defined]
    callback.__annotations__ = {one.name: one.annotation for one in [*first, *last]}
    return callback


def _keyword(name: str, hint: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=default)


# 4. values


def parse_seconds(text: str, option: str, *, zero: bool = False) -> float:
    """Return a time such as 60s, 5min, 2h, 7d or 90 in seconds; 0 only where it may be."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d)?\s*", text)
    if found is None or not (zero or float(found[1]) > 0.0):
        raise InputError(f"{option} {text!r}: give a time, such as 60s, 5min, 2h or 7d")
    return float(found[1]) * {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}[found[2] or "s"]


def check_models(
    models: Sequence[str],
    task: str | None,
    scoring: Scoring,
    settings: dict[str, Any] | None = None,
) -> str | None:
    """Raise an error for a model, a metric or a parameter that does not exist.

    Returns the task; None if there is more than one to which all of them belong.
    """
    possible, errors = [], []
    for one in [task] if task else TASKS:
        try:
            scoring.check_task(check_task(one))
            for model in models:
                if not model.startswith(("view:", "baseline:")):  # they depend on the rows
                    learner = find_learner(model, one, ["NAME"]).for_metric(scoring.metric_of(one))
                    learner.check_settings(settings or {})
            possible.append(one)
        except InputError as error:
            errors.append(error)
    if not possible:
        raise errors[0]
    return possible[0] if len(possible) == 1 else None
