"""The source of a command: options, standard input, and what is wrong before all else loads.

Nothing here imports scikit-learn or compiles, so a mistyped column, file or option is answered at
once.
"""

from __future__ import annotations

import ast
import json as jsonlib
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Self, TextIO

from rich.console import Console

from crossview.catalog.learners import find_learner
from crossview.catalog.metrics import check_metric
from crossview.catalog.readers import READERS
from crossview.cli.loading import loading_meanwhile
from crossview.cli.words import as_options
from crossview.data.encoding.dates import split_format
from crossview.data.encoding.view_columns import KINDS, plan_columns
from crossview.data.joining.join import join_sources
from crossview.data.readers.duck import named_files
from crossview.data.readers.find import find_format, find_reader, is_query
from crossview.data.source import Source, open_rows, open_table
from crossview.data.table_columns import (
    check_label,
    columns_of_model,
    dates_in_views,
    match_ignored,
    predictors,
    views_of_join,
    with_dates,
    without_ignored,
)
from crossview.describing import describe as describing
from crossview.errors import GuessedEncodingWarning, InputError, closest_names
from crossview.evaluating.windows import parse_window
from crossview.reporting.description import description_table, rows_table
from crossview.saving.files import (
    DESCRIPTION,
    REPORT,
    Kind,
    check_writable,
    is_pipe,
    naming,
    replacing,
)
from crossview.saving.model_header import ReadsTables, read_label, read_tables

__all__ = [
    "STANDARD",
    "Columns",
    "Report",
    "check_columns",
    "check_names",
    "literal_value",
    "open_source",
    "parse_settings",
    "parse_window",
    "standard_input",
]

# wide enough for a table that goes to a file
WIDTH_OF_A_FILE = 160
MOST_COLUMNS_SHOWN = 200
# as SOURCE and as the file to write
STANDARD = "-"
# of the options that say how columns are encoded and files are read
DEFAULTS: dict[str, Any] = {
    "ignore": None,
    "hash_bits": 18,
    "ngrams": 1,
    "tf_idf": False,
    "scale_views": True,
    "bins": None,
    "format": None,
    "null": None,
    "decimal": None,
    "delimiter": None,
    "quote": None,
    "header": None,
    "encoding": None,
}


# a comparison is stored as .json
_SUFFIXES = {
    **{reader.name: reader.suffixes[0] for reader in READERS if reader.suffixes},
    "json": ".jsonl",
}


@dataclass
class Columns:
    """The columns and their kinds, and how the source is read, from the command-line options."""

    label: str | None
    views: dict[str, list[str]] | None
    kinds: dict[str, list[str]]
    encoding: dict[str, Any]
    reading: dict[str, Any]
    # the words of a command line that say the same, and those that say how the source is read
    options: list[str] = field(default_factory=list)
    reading_options: list[str] = field(default_factory=list)
    # more tables, as NAME=FILE or FILE, and the id by which they are joined
    sources: list[str] = field(default_factory=list)
    on: list[str] = field(default_factory=list)

    @classmethod
    def parse(
        cls,
        label: str | None,
        view: Sequence[str] | None,
        kinds: Mapping[str, Sequence[str] | None],
        encoding: Mapping[str, Any],
        reading: Mapping[str, Any],
    ) -> Columns:
        """Read ``NAME=COLUMN,COLUMN`` options; a column named with view and kind joins the view."""
        views: dict[str, list[str]] = {}
        found: dict[str, list[str]] = {kind: [] for kind in KINDS}
        options = [] if label is None else ["--label", label]
        for option, values in {"view": view, **kinds}.items():
            for value in values or []:
                named, format = split_format(value) if option == "date" else (value, "")
                name, equals, columns = named.rpartition("=")
                patterns = [column.strip() for column in columns.split(",") if column.strip()]
                needs_view = bool(equals) or option == "view"
                if not patterns or (needs_view and not name.strip()):
                    raise InputError(
                        f"--{option} {value!r}: give a view and its columns, such as "
                        f"--{option} user='user_*' or --{option} ad=ad_id,ad_size"
                    )
                if equals:
                    group = views.setdefault(name.strip(), [])
                    group += [pattern for pattern in patterns if pattern not in group]
                if option in found:
                    found[option] += [f"{one}={format}" if format else one for one in patterns]
                options += [f"--{option}", value]
        options += _as_words(_given(encoding))
        how = _given(reading)
        reading_options = _as_words(how)
        if "null" in how:
            how["null"] = [word for one in how["null"] for word in one.split(",") if word]
        if how.get("delimiter") in ("\\t", "tab"):
            how["delimiter"] = "\t"
        encoding = dict(encoding)
        encoding["ignore"] = [
            name.strip() for one in encoding.get("ignore") or [] for name in one.split(",")
        ]
        return cls(label, views or None, found, encoding, how, options, reading_options)

    @property
    def ignore(self) -> list[str]:
        """Columns that are in no view: names or globs."""
        return list(self.encoding["ignore"])

    def join(self, source: str | None, sources: Sequence[str] | None, on: str | None) -> Self:
        """Take over ``--source`` and ``--on``; some source must be named."""
        if source is None and not sources:
            raise InputError("name a file, or several by --source NAME=FILE and --on COLUMN")
        if on is not None and not sources:
            raise InputError(f"--on {on!r} is for --source; name a table to join")
        self.sources = list(sources or [])
        self.on = [name.strip() for name in (on or "").split(",") if name.strip()]
        self.options += [word for one in self.sources for word in ("--source", one)]
        self.options += ["--on", ",".join(self.on)] if self.on else []
        return self

    def tables(self, source: str | None) -> list[tuple[str | None, str]]:
        """Return the tables that are joined, each with the view that it is."""
        found: list[tuple[str | None, str]] = [] if source is None else [(None, source)]
        for one in self.sources:
            name, equals, file = one.partition("=")
            named = equals and re.fullmatch(r"[^\s/\\'\"]+", name) and not os.path.exists(one)
            found.append((name, file) if named else (None, one))
        return found

    def arguments(self) -> dict[str, Any]:
        """As keyword arguments of the library."""
        return {"views": self.views, **self.kinds, **self.encoding}


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not left at their defaults."""
    return {name: value for name, value in values.items() if value not in (DEFAULTS[name], [])}


def _as_words(given: Mapping[str, Any]) -> list[str]:
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


@contextmanager
def standard_input(source: Any, columns: Columns | None = None) -> Iterator[Any]:
    """Yield the source, or a temporary copy of what is read only once: stdin (``-``) and pipes.

    Guesses about the source, which are warnings of the library, are a line each on stderr.
    """
    if source is None or (source != STANDARD and not is_pipe(source)):
        with _guesses_as_lines():
            yield source
        return
    name = "standard input" if source == STANDARD else source
    with tempfile.TemporaryDirectory(prefix="crossview-") as folder:
        copy = Path(folder) / _name_of_copy(source, columns)
        with _opened_once(source, name) as stream, copy.open("wb") as file, naming(folder):
            shutil.copyfileobj(stream, file)
        try:
            with _guesses_as_lines(str(copy), name):
                yield str(copy)
        except InputError as error:
            if error.file != str(copy):
                raise
            raise InputError(error.message, file=name, row=error.row, column=error.column) from None


def _name_of_copy(source: str, columns: Columns | None) -> str:
    """A name that ends as the format does: that of a pipe, or else CSV, or as ``--format`` says."""
    if columns is None:
        return "model"
    if source != STANDARD and "format" not in columns.reading:
        with suppress(InputError):
            find_format(source)
            return os.path.basename(source)
    return f"rows{_SUFFIXES[columns.reading.get('format', 'csv')]}"


def _opened_once(source: str, name: str) -> Any:
    """The bytes of standard input or of a pipe."""
    if source != STANDARD:
        return open(source, "rb")
    if sys.stdin is None:
        raise InputError("is closed; name a file", file=name)
    return nullcontext(sys.stdin.buffer)


@contextmanager
def _guesses_as_lines(copy: str = "", name: str = "") -> Iterator[None]:
    """Write what is guessed about a file as lines; a copy has the name of what it was made of."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", GuessedEncodingWarning)
        show_others = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any) -> None:
            if not issubclass(category, GuessedEncodingWarning):
                show_others(message, category, *where)
                return
            words = str(message).replace(copy, name) if copy else str(message)
            print(f"crossview: {as_options(words)}", file=sys.stderr)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def is_stored(source: str | None, columns: Columns) -> bool:
    """Return whether a source of ``compare`` is a comparison that was stored, and no table."""
    return source is not None and source.endswith(".json") and not columns.sources


def open_source(
    source: str | None,
    columns: Columns,
    *,
    ignored: Sequence[str] = (),
    named: Sequence[str] = (),
    label: str | None = None,
    model: Any = None,
) -> Any:
    """Return a table that is open and has the columns; other sources as they are.

    Parameters
    ----------
    source : str or None
        A path, a glob or a query; None: tables that are joined.
    columns : Columns
        What the options say.
    ignored : sequence of str, default=()
        Columns that are in no view.
    named : sequence of str, default=()
        Of tables that are joined, columns that keep their names.
    label : str, default=None
        The column of the labels, where ``columns`` does not say it.
    model : path-like, default=None
        A model file: the columns are those that it has learned, and CSV is read as it was then.

    Returns
    -------
    source : Source or str
        What the library takes.
    """
    known: ReadsTables | None = None
    with suppress(InputError):  # loading says what is wrong
        known = None if model is None else read_tables(model) or ReadsTables({}, None)
    if columns.sources:
        label = columns.label or label or (None if model is None else read_label(model))
        with loading_meanwhile():
            names = [*ignored, *named]
            table = _join(source, columns, label, names, known)
        _check_table(table, columns, ignored, known)
        return table
    assert source is not None
    reader, files = find_reader(source, columns.reading.get("format"))
    if reader.kind == "sparse":
        said = [name for name in columns.reading if name != "format"]
        said += [kind for kind, names in columns.kinds.items() if names]
        said += ["ignore"] if columns.ignore else []
        if said or ignored:
            what = f"--{said[0]}" if said else repr(ignored[0])
            raise InputError(f"{what} is about columns, and {reader.name} has views", file=files[0])
        how: dict[str, Any] = {"format": reader.name}
        if reader.takes_views:
            how |= {"views": columns.views, "hash_bits": columns.encoding.get("hash_bits", 18)}
            columns.views = None  # the stream has them
        stream = open_rows(source, **how)
        if "scale_views" in columns.encoding:  # it is learned from: all labels are needed
            stream.start()
        return stream
    with loading_meanwhile():
        table = open_table(source, **columns.reading, dialect=known and known.dialect)
    _check_table(table, columns, ignored, known)
    return source if is_query(source) else table


def _check_table(
    table: Source, columns: Columns, ignored: Sequence[str], known: ReadsTables | None
) -> None:
    """Raise an error if the table has not the columns; ``known`` are those of a model."""
    if columns.label is not None and known is not None:
        check_label(table, columns.label, known.columns)
    elif columns.label is not None:
        left_out = match_ignored(columns.ignore, table.column_names)
        views = without_ignored(columns.views, left_out, table.column_names)
        others = predictors(table, columns.label, views, [*ignored, *left_out])
        dates = dates_in_views(columns.kinds["date"], ignored)
        plan_columns(others, views, columns.kinds | {"date": dates})
    for name in ignored:
        if name not in table.column_names:
            raise InputError(f"no column {name!r}{closest_names(name, table.column_names)}")


def _join(
    source: str | None,
    columns: Columns,
    label: str | None,
    named: Sequence[str],
    model: ReadsTables | None = None,
) -> Source:
    """The tables of a command, joined; says which rows some have not."""
    tables = [
        (name, _open_part(file, columns.reading, model and model.dialect, main=file is source))
        for name, file in columns.tables(source)
    ]
    on = columns.on or None
    table = join_sources(tables, on, main=source is not None, label=label, named=named)
    columns.views = views_of_join(table, columns.views)
    for line in table.join.lines if table.join else ():
        print(f"crossview: {as_options(line)}", file=sys.stderr)
    return table


def _open_part(source: str, reading: Mapping[str, Any], dialect: Any, *, main: bool) -> Source:
    """One of several tables: ``--format`` is about SOURCE and names that do not say it."""
    format = reading.get("format")
    try:
        reader, files = find_reader(source, format if main else None)
    except InputError:
        if main or format is None:
            raise
        reader, files = find_reader(source, format)
    if reader.kind == "sparse":
        raise InputError(f"is {reader.name}, and --source joins tables by a column", file=files[0])
    how = dict(reading) if reader.name == "csv" else {}
    if reader.suffixes:
        how["format"] = reader.name
    return open_table(source, **how, dialect=dialect)


class Cluster(NamedTuple):
    """The Dask cluster to learn or count on: ``--dask``, ``--partitions`` and ``--rounds``."""

    address: str
    partitions: int | None
    rounds: int | None

    @classmethod
    def parse(
        cls, address: str | None, partitions: int | None, rounds: int | None, **others: Any
    ) -> Cluster | None:
        """Return the cluster, None without ``--dask``; refuse options that do not go together."""
        if address is None:
            for name, value in (("partitions", partitions), ("rounds", rounds)):
                if value is not None:
                    raise InputError(f"--{name} is about a cluster; add --dask ADDRESS")
            return None
        for name, value in others.items():
            if value is not None:
                option = name.replace("_", "-")
                more = "; give --rounds" if name == "epochs" else ""
                raise InputError(f"--{option} does not go with --dask; leave it out{more}")
        for name, value in (("partitions", partitions), ("rounds", rounds)):
            if value is not None and value < 1:
                raise InputError(f"--{name} {value}; give 1 or more")
        return cls(address, partitions, rounds)


def check_columns(table: Any, names: Sequence[str | None]) -> None:
    """Raise an error for a column that an open table does not have."""
    if not (isinstance(table, Source) and table.has_columns):
        if not (isinstance(table, str) and is_query(table)):
            return
        table = open_table(table)
    for name in names:
        if name is not None and name not in table.column_names:
            raise InputError(f"no column {name!r}{closest_names(name, table.column_names)}")


def check_columns_of_model(model: str, table: Any, missing_columns: str = "error") -> None:
    """Raise an error for a column of a model that an open table does not have."""
    known = read_tables(model)
    if isinstance(table, str) and is_query(table):
        table = open_table(table)
    if known is not None and isinstance(table, Source) and table.has_columns:
        columns_of_model(table, known.columns, missing_columns)


class Rows(NamedTuple):
    """A source as the user names it, as it is open, and what the options say of it."""

    source: str | None
    table: Any
    columns: Columns
    in_no_view: Sequence[str] = ()
    weight: str | None = None

    @property
    def title(self) -> str:
        """How output calls the source."""
        return " + ".join([*([self.source] if self.source else []), *self.columns.sources])


@contextmanager
def model_and_source(model: str | None, source: Any, columns: Columns) -> Iterator[tuple[Any, Any]]:
    """Yield the files of a model, if there is one, and of a source; one may be standard input."""
    if model == source == STANDARD:
        raise InputError("the model and the rows cannot both be read from standard input")
    if model is None:
        with standard_input(source, columns) as file:
            yield None, file
        return
    with standard_input(model) as model_file, standard_input(source, columns) as file:
        check_exists(model_file)
        yield model_file, file


def check_exists(model: str) -> None:
    """Raise an error if there is no such model file."""
    if not os.path.exists(model):
        raise InputError("no such model file", file=model)


def describe(source: str | None, columns: Columns, *, json: str | None, **options: Any) -> None:
    """``crossview describe``."""
    if source is None or columns.sources:
        named = [options[name] for name in ("time", "weight") if options[name] is not None]
        table = _join(source, columns, columns.label, named)
    elif find_reader(source, columns.reading.get("format"))[0].takes_views:
        table = open_source(source, columns)
    else:
        table = open_table(source, **columns.reading)
    if json not in (None, STANDARD):
        is_one_query = source is not None and not columns.sources and is_query(source)
        inputs = named_files(source) if source is not None and is_one_query else table.files
        check_writable(json, DESCRIPTION, inputs)
    what: dict[str, Any] = {"views": columns.views, **columns.kinds, **options}
    what["ignore"] = columns.ignore
    description = describing.describe(table, columns.label, **what)
    if json is not None:
        text = jsonlib.dumps(description.to_dict(), indent=1, ensure_ascii=False) + "\n"
        write_text(json, text, DESCRIPTION)
    if json == STANDARD:
        return
    console = make_console()
    if description.views:
        console.print(rows_table(description))
        labels = [f"{label}: {n:,}" for label, n in description.labels.items()]
        labels += [f"none: {description.unlabeled:,}"] if description.unlabeled else []
        shown = f", labels {', '.join(labels)}" if labels else ""
        console.print(f"\n{description.n_rows:,} rows{shown}")
        return
    console.print(description_table(description))
    hidden = len(description.columns) - MOST_COLUMNS_SHOWN
    if hidden > 0:
        console.print(f"... and {hidden:,} more columns (--json has all of them)")
    console.print(f"\n{description.n_rows:,} rows, {len(description.columns):,} columns")
    for warning in description.warnings:
        console.print(f"warning: {as_options(warning)}", soft_wrap=True)


def warn(rows: Rows, task: str, *, leaks: bool = False) -> None:
    """Say what may be wrong with the first rows, a line each on stderr.

    ``leaks``: also which columns tell the label, where learning does not look for them.
    """
    table, columns = rows.table, rows.columns
    if isinstance(table, str) and is_query(table):
        table = open_table(table)
    if not (isinstance(table, Source) and table.has_columns):
        return
    dates = _say_dates(table, rows)
    if table.ordered:  # sorting takes long
        return
    options: dict[str, Any] = {"views": columns.views, **columns.kinds, "task": task}
    options |= {"date": dates, "leaks": leaks}
    options["ignore"] = [*rows.in_no_view, *columns.ignore]
    description = describing.describe_head(table, columns.label, weight=rows.weight, **options)
    for warning in description.warnings:
        print(f"crossview: warning: {as_options(warning)}", file=sys.stderr)


def _say_dates(table: Source, rows: Rows) -> list[str]:
    """Say which text is read as dates; return all columns of dates, with their formats."""
    columns = rows.columns
    left_out = match_ignored(columns.ignore, table.column_names)
    views = without_ignored(columns.views, left_out, table.column_names)
    others = predictors(table, columns.label, views, [*rows.in_no_view, *left_out])
    kinds = columns.kinds | {"date": dates_in_views(columns.kinds["date"], rows.in_no_view)}
    dates = with_dates(table, others.column_names, views, kinds)
    found = {one: split_format(one) for one in dates if one not in kinds["date"]}
    if found:
        words = ", ".join(f"{name} ({format})" for name, format in found.values())
        print(f"crossview: read as dates: {words}", file=sys.stderr)
    for name, one in table.find_dates([name for name, _ in found.values()]).items():
        if one.other is not None:
            words = as_options(describing.explain_open_format(name, one))
            print(f"crossview: warning: {name}: {words}", file=sys.stderr)
    return dates


@contextmanager
def standard_output(path: str, suffix: str = "") -> Iterator[str]:
    """Yield a file to write; where the path is ``-``, a temporary one that then goes to stdout."""
    if path != STANDARD:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="crossview-") as folder:
        copy = Path(folder) / f"stdout{suffix}"
        yield str(copy)
        with copy.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()


def write_text(path: str, text: str, kind: Kind) -> None:
    """Write a file, or to stdout where the path is ``-``."""
    if path == STANDARD:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
        return
    with replacing(path, kind) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def make_console(file: TextIO | None = None) -> Console:
    """Return a console on which names from the data mean nothing but themselves."""
    file = file or sys.stdout
    width = None if file.isatty() else WIDTH_OF_A_FILE
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)


class Report(NamedTuple):
    """A page to write: ``--report``, and the command line that makes it again."""

    file: str
    command: list[str]

    @classmethod
    def parse(
        cls,
        file: str | None,
        command: Sequence[str],
        inputs: Sequence[Any],
        outputs: Sequence[Any] = (),
    ) -> Report | None:
        """Return the page, None without ``--report``; refuse one that cannot be written.

        ``inputs`` are files and open sources, ``outputs`` what else is written; each may be None.
        """
        if file is None:
            return None
        for name in ("jinja2", "matplotlib"):
            if find_spec(name) is None:
                raise InputError(f"--report needs {name}: pip install {name}")
        for other in outputs:
            if other is not None and os.path.realpath(other) == os.path.realpath(file):
                raise InputError("is the report and another output; name two files", file=file)
        if file != STANDARD:
            check_writable(file, REPORT, [name for one in inputs for name in _files_of(one)])
        return cls(file, list(command))


def _files_of(source: Any) -> list[str]:
    """The files of a source that is open, of a query, or of a name."""
    if source is None:
        return []
    if isinstance(source, Source):
        return list(source.files)
    return named_files(source) if is_query(source) else [source]


def parse_seconds(text: str, option: str, *, zero: bool = False) -> float:
    """Return a time such as 60s, 5min, 2h or 90 in seconds; 0 only where it may be."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|m|h)?\s*", text)
    if found is None or not (zero or float(found[1]) > 0.0):
        raise InputError(f"{option} {text!r}: give a time, such as 60s, 5min or 1h")
    return float(found[1]) * {"s": 1, "m": 60, "min": 60, "h": 3600}[found[2] or "s"]


def check_names(
    *,
    task: str,
    metric: str | None,
    k: str | None,
    cost: str | None,
    models: Sequence[str],
    settings: Sequence[str] = (),
) -> None:
    """Raise an error for a metric, model or parameter that does not exist."""
    metric = check_metric(metric, task=task, k=literal_value(k or "none"), cost=cost)
    for model in models:
        if model.startswith(("view:", "baseline:")):  # they depend on the rows
            continue
        entry = find_learner(model, task, ["NAME"]).for_metric(metric)
        entry.check_settings(parse_settings(settings))


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Return ``NAME=VALUE`` options as parameters."""
    parsed: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting!r}: give a name and a value, such as --set C=0.1")
        # "none" is the name of an option, None is no value
        parsed[name] = text if text == "none" else literal_value(text)
    return parsed


def literal_value(text: str) -> Any:
    """Return the value of an option: a number, a Boolean, None, or text, such as PA-II."""
    try:
        words = {"true": "True", "false": "False", "none": "None"}
        return ast.literal_eval(words.get(text.lower(), text))
    except (ValueError, SyntaxError):
        return text
