"""The source of a command: standard input, joins, and what is wrong before all else loads.

Nothing here imports scikit-learn or compiles, so a mistyped column, file or option is answered at
once.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from crossview.catalog.readers import READERS
from crossview.cli.loading import loading_meanwhile
from crossview.cli.options import STANDARD, SourceArguments
from crossview.cli.words import in_list, say
from crossview.data import guessed_task
from crossview.data.joining.join import join_sources
from crossview.describing import describe as describing
from crossview.encoding.table_columns import (
    check_label,
    columns_of_model,
    dates_in_views,
    predictors,
    recognized,
    views_of_join,
)
from crossview.encoding.view_columns import (
    check_per,
    columns_of_views,
    names_of_views,
    plan_columns,
    without_ignored,
)
from crossview.errors import GuessWarning, InputError, NumbersAsTextWarning, closest_names
from crossview.readers.duck import named_files
from crossview.readers.encodings import MOST_MAGIC, compression
from crossview.readers.find import find_format, find_reader, is_query
from crossview.readers.source import Source, open_rows, open_table
from crossview.saving.files import is_pipe, naming
from crossview.saving.model_header import ReadsTables, read_label, read_tables
from crossview.tables.columns import match_names

# a comparison is stored as .json
_SUFFIXES = {
    **{reader.name: reader.suffixes[0] for reader in READERS if reader.suffixes},
    "json": ".jsonl",
}


class Opened(NamedTuple):
    """A source that is open.

    arguments: the source as the user names it.
    model: the file of the model that reads it.
    inputs: files that no output may replace.
    in_no_view: columns of times, weights and groups.
    weight: that of the weights.
    """

    arguments: Any
    table: Any
    model: str | None
    inputs: list[str]
    in_no_view: Sequence[str] = ()
    weight: str | None = None


@contextmanager
def opened(
    arguments: SourceArguments,
    *,
    model: str | None = None,
    in_no_view: Mapping[str, str | None] | None = None,
    named: Sequence[str | None] = (),
    label: str | None = None,
    learns: bool = False,
) -> Iterator[Opened]:
    """Yield a source that is open and has its columns; model or rows may be standard input.

    model: a model file: the columns are those that it has learned, and CSV is read as it was then.
    in_no_view: columns that are in no view, by the option that names them, such as weight.
    named: columns that keep their names where tables are joined.
    label: the column of the labels, where the arguments do not say it.
    learns: whether the rows are learned, so that all labels are needed at once.
    """
    if model is not None and model == arguments.source == STANDARD:
        raise InputError("the model and the rows cannot both be read from standard input")
    options = in_no_view or {}
    aside = {name: option for option, name in options.items() if name is not None}
    per = getattr(arguments, "per", None)
    keep = [name for name in (*named, per) if name is not None]
    with model_input(model) as model_file, standard_input(arguments.source, arguments) as file:
        table = open_source(
            file, arguments, ignored=aside, named=keep, label=label, model=model_file, learns=learns
        )
        check_columns(table, keep)
        inputs = [name for one in (model_file, file, table) for name in files_of(one)]
        yield Opened(arguments, table, model_file, inputs, list(aside), options.get("weight"))


@contextmanager
def model_input(model: str | None) -> Iterator[str | None]:
    """Yield the file of a model, if there is one; it may be standard input."""
    with nullcontext() if model is None else standard_input(model) as file:
        if file is not None and not os.path.exists(file):
            raise InputError("no such model file", file=file)
        yield file


@contextmanager
def standard_input(source: Any, columns: SourceArguments | None = None) -> Iterator[Any]:
    """Yield the source, or a temporary copy of what is read only once: stdin (``-``) and pipes.

    Guesses about the source, which are warnings of the library, are a line each on stderr.
    """
    if source is None or (source != STANDARD and not is_pipe(source)):
        with guesses_as_lines():
            yield source
        return
    name = "standard input" if source == STANDARD else source
    with tempfile.TemporaryDirectory(prefix="crossview-") as folder:
        with _opened_once(source, name) as stream, naming(folder):
            start = stream.read(MOST_MAGIC)
            copy = Path(folder) / _name_of_copy(source, columns, start)
            with copy.open("wb") as file:
                file.write(start)
                shutil.copyfileobj(stream, file)
        try:
            with guesses_as_lines(str(copy), name):
                yield str(copy)
        except InputError as error:
            if error.file != str(copy):
                raise
            raise InputError(error.message, file=name, row=error.row, column=error.column) from None


def _name_of_copy(source: str, columns: SourceArguments | None, start: bytes) -> str:
    """A name that ends as the format does: that of a pipe, or else CSV, or as ``--format`` says.

    So does it where the first bytes say that the rows are compressed.
    """
    if columns is None:
        return "model"
    name, packed = (
        f"rows{_SUFFIXES[columns.reading.get('format', 'csv')]}",
        compression(start) or "",
    )
    if source != STANDARD and "format" not in columns.reading:
        with suppress(InputError):
            find_format(source)
            name = os.path.basename(source)
    return name.removesuffix(packed) + packed


def _opened_once(source: str, name: str) -> Any:
    """The bytes of standard input or of a pipe."""
    if source != STANDARD:
        return open(source, "rb")
    if sys.stdin is None:
        raise InputError("is closed; name a file", file=name)
    return nullcontext(sys.stdin.buffer)


@contextmanager
def guesses_as_lines(copy: str = "", name: str = "") -> Iterator[None]:
    """Write what is guessed about a file as lines; a copy has the name of what it was made of."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", GuessWarning)
        show_others = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any) -> None:
            if not issubclass(category, GuessWarning):
                show_others(message, category, *where)
                return
            words = str(message).replace(copy, name) if copy else str(message)
            say(words)

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def is_stored(source: str | None, columns: SourceArguments) -> bool:
    """Return whether a source of ``compare`` is a comparison that was stored, and no table."""
    return source is not None and source.endswith(".json") and not columns.sources


def open_source(
    source: str | None,
    columns: SourceArguments,
    *,
    ignored: Mapping[str, str] | None = None,
    named: Sequence[str] = (),
    label: str | None = None,
    model: Any = None,
    learns: bool = False,
) -> Any:
    """Return a table that is open and has the columns; other sources as they are.

    source: a path, a glob or a query; None: tables that are joined.
    columns: how it is read.
    ignored: columns that are in no view, with the option that names each.
    named: of tables that are joined, columns that keep their names.
    label: the column of the labels, where ``columns`` does not say it.
    model: a model file: the columns are those that it has learned, and CSV is read as it was then.
    learns: whether the rows are learned.
    """
    known: ReadsTables | None = None
    aside = dict(ignored or {})
    with suppress(InputError):  # loading says what is wrong
        known = None if model is None else read_tables(model) or ReadsTables({}, None)
    if columns.sources:
        label = columns.label or label or (None if model is None else read_label(model))
        with loading_meanwhile():
            names = [*aside, *named]
            table = join(source, columns, label, names, known)
        _check_table(table, columns, list(aside), known)
        return table
    assert source is not None
    reader, files = find_reader(source, columns.reading.get("format"))
    if reader.kind == "sparse":
        said = [name for name in columns.reading if name != "format"]
        said += [kind for kind, names in columns.kinds.items() if names]
        said += ["ignore"] if columns.ignored else []
        said += aside.values()
        if said:
            what = f"--{said[0]} is about columns, and {reader.name} has views"
            raise InputError(what, file=files[0])
        how: dict[str, Any] = {"format": reader.name}
        if reader.takes_views:
            how |= {"views": columns.views, "hash_bits": getattr(columns, "hash_bits", 18)}
            columns.views = None  # the stream has them
        stream = open_rows(source, **how)
        if learns:  # all labels are needed
            stream.start()
        return stream
    with loading_meanwhile():
        table = open_table(source, **columns.reading, dialect=known and known.dialect)
    _check_table(table, columns, list(aside), known)
    return source if is_query(source) else table


def _check_table(
    table: Source, columns: SourceArguments, ignored: Sequence[str], known: ReadsTables | None
) -> None:
    """Raise an error if the table has not the columns; ``known`` are those of a model."""
    if columns.label is not None and known is not None:
        check_label(table, columns.label, known.columns)
    elif columns.label is not None:
        left_out, declared = _left_out(columns, table.column_names)
        views = without_ignored(columns.views, left_out, table.column_names)
        others = predictors(table, columns.label, views, [*ignored, *left_out])
        dates = dates_in_views(columns.kinds["date"], ignored)
        plan_columns(others.schema, others.column_names, views, declared | {"date": dates})
    check_columns(table, ignored)


def _left_out(
    columns: SourceArguments, names: Sequence[str]
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the columns that no view may name, and the kinds that are declared of the others."""
    left_out, per = match_names(columns.ignored, names), getattr(columns, "per", None)
    if per is None:
        return left_out, columns.kinds
    check_per(per, left_out, names)
    kinds = {kind: [one for one in own if one != per] for kind, own in columns.kinds.items()}
    return [*left_out, per], kinds


def join(
    source: str | None,
    columns: SourceArguments,
    label: str | None,
    named: Sequence[str],
    model: ReadsTables | None = None,
) -> Source:
    """The tables of a command, joined; says which rows some have not."""
    tables = [
        (name, _open_part(file, columns.reading, model and model.dialect, main=file is source))
        for name, file in columns.tables(source)
    ]
    on = columns.ids or None
    learned = () if model is None else model.names
    table = join_sources(
        tables, on, main=source is not None, label=label, named=named, learned=learned
    )
    columns.views = views_of_join(table, columns.views)
    for line in table.join.lines if table.join else ():
        say(line)
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


def task_of(task: str | None, rows: Opened) -> str:
    """Return the task; None: what the first labels of the rows say, in a line on stderr."""
    table = rows.table
    if task is None and isinstance(table, str):
        table = open_table(table, **rows.arguments.reading)
    if task is not None or not isinstance(table, Source):
        return task or "classification"
    label = rows.arguments.label
    with guesses_as_lines():
        task = guessed_task.task_of(None, table, label)
    levels = None if label is None else guessed_task.about_first_levels(table, label)
    if task == "classification" and levels is not None:
        say(f"warning: {label}: {levels}")
    return task


def warn(rows: Opened, task: str, *, leaks: bool = False) -> None:
    """Say what may be wrong with the first rows, a line each on stderr.

    ``leaks``: also which columns tell the label, where learning does not look for them.
    """
    table, columns = rows.table, rows.arguments
    if isinstance(table, str) and is_query(table):
        table = open_table(table)
    if not (isinstance(table, Source) and table.has_columns):
        return
    found = _say_kinds(table, rows)
    if table.ordered:  # sorting takes long
        return
    options: dict[str, Any] = {"views": columns.views, "task": task, "leaks": leaks}
    options["kinds"] = columns.kinds | found
    options["ignore"] = [*rows.in_no_view, *_left_out(columns, table.column_names)[0]]
    description = describing.describe_head(table, columns.label, weight=rows.weight, **options)
    for warning in description.warnings:
        say(f"warning: {warning}")
    warnings.simplefilter("ignore", NumbersAsTextWarning)  # it is said


def _say_kinds(table: Source, rows: Opened) -> dict[str, list[str]]:
    """Say which strings are read as dates and as text; return all columns of these kinds."""
    columns = rows.arguments
    left_out, declared = _left_out(columns, table.column_names)
    views = without_ignored(columns.views, left_out, table.column_names)
    names = predictors(table, columns.label, views, [*rows.in_no_view, *left_out]).column_names
    kinds = declared | {"date": dates_in_views(declared["date"], rows.in_no_view)}
    found = recognized(table, names, views, kinds)
    dates = {name: one for name, one in found.dates.items() if name not in kinds["date"]}
    if dates:
        words = ", ".join(f"{name} ({one.words})" for name, one in dates.items())
        say(f"read as dates: {words}")
    for name, one in dates.items():
        if one.other is not None:
            say(f"warning: {name}: {describing.explain_open_format(name, one)}")
    all_kinds = found.added_to(kinds)
    for line in lines_of_text(found.texts, views, names, all_kinds["text"]):
        say(line)
    if found.sparse:
        say(line_of_sparse(found.sparse, names_of_views(views, names)))
    return all_kinds


def line_of_sparse(found: Sequence[str], groups: Sequence[Sequence[str]]) -> str:
    """Return which columns are read as sparse unasked: a few, and how many."""
    wanted = set(found)
    parts = []
    for group in groups:
        if own := [name for name in group if name in wanted]:
            parts.append(f"{len(own):,} columns ({own[0]}, ..., {own[-1]})")
    return (
        f"read as sparse, since most rows have 0 in them: {', '.join(parts)}; each scaled by "
        f"itself: --numeric {','.join(found[:1])},..."
    )


def lines_of_text(
    found: Sequence[str], views: Any, names: list[str], texts: Sequence[str]
) -> Iterator[str]:
    """Yield which columns are read as text unasked, and the views that text makes, if it does."""
    if found:
        given = shlex.quote(",".join(map(in_list, found)))
        yield f"read as text: {', '.join(found)}; as categories: --categorical {given}"
    if not names:
        return
    made = columns_of_views(views, names, match_names(texts, names, "text"))
    if made.keys() != columns_of_views(views, names).keys():
        shown = [shlex.quote(f"{view}={_some(group)}") for view, group in made.items()]
        yield f"views: {' '.join(shown)}; others: --view NAME=COLUMNS"


def _some(group: Sequence[tuple[str, str]], most: int = 3) -> str:
    """The columns of a view as ``--view`` names them, or a few of many."""
    parts = [in_list(f"{form}({name})" if form else name) for name, form in group[:most]]
    return ",".join(parts) + (",..." if len(group) > most else "")


def files_of(source: Any) -> list[str]:
    """The files of a source that is open, of a query, or of a name."""
    if source is None:
        return []
    if isinstance(source, Source):
        return list(source.files)
    return named_files(source) if is_query(source) else [source]
