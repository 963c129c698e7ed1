"""Columns of a table that predict a label, by names and types, before a row is read.

It loads nothing heavy, so that the command line names a mistyped column at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from crossview.encoding.view_columns import (
    KINDS,
    columns_of_views,
    declared_kinds,
    items_of,
    names_of_views,
    split_form,
)
from crossview.errors import InputError, argument, check_kind, closest_names
from crossview.readers.source import Source
from crossview.tables.columns import kind_of, listed, match_names
from crossview.tables.dates import DateFormat, split_format
from crossview.tables.sparse import sparse_of_views
from crossview.tables.text import warn_of_number
from crossview.views import matching

if TYPE_CHECKING:
    import pyarrow as pa

# kinds that values may say
RECOGNIZED = ("date", "text", "sparse")


def predictors(
    stream: Source,
    label: str | None,
    views: Mapping[str, Any] | None = None,
    ignored: Sequence[str] = (),
    per: str | None = None,
) -> pa.Table:
    """Return the columns that may predict a label, without rows, for `plan_columns`.

    No view may name the label or what is ``ignored`` (names or globs), and globs pass them over.
    The id of a join is among the columns only if a view names it, or if it is the user ``per`` of a
    personal view.
    """
    if label is not None:
        check_label(stream, label, {})
    for view, spec in (views or {}).items():
        if label is not None and label in _named(spec, stream.column_names):
            raise InputError(
                f"view {view!r} names the label column; leave it out of the views", column=label
            )
    in_no_view = match_names(ignored, stream.column_names)
    if per is not None and per in (label, *in_no_view):
        what = "the label" if per == label else "in no view"
        raise InputError(f"is {what}, so it is not the column of {argument('per')}", column=per)
    _check_no_view_names(in_no_view, views, stream.column_names)
    left_out = {label, *in_no_view, *_ids_in_no_view(stream, views)} - {per}
    return stream.select([n for n in stream.column_names if n not in left_out]).without_rows()


def _check_no_view_names(
    in_no_view: Sequence[str], views: Mapping[str, Any] | None, names: Sequence[str]
) -> None:
    """Raise an error for a name or glob of a view that only columns in no view have."""
    known = set(names)
    for view, spec in (views or {}).items() if in_no_view else ():
        for item in _named(spec, known):
            own = matching(item, names, known) if isinstance(item, str) else []
            if own and set(own) <= set(in_no_view):
                raise InputError(
                    f"view {view!r} names it, and a column of groups, times or weights is in no "
                    "view; leave it out of the view",
                    column=own[0],
                )


def _ids_in_no_view(stream: Source, views: Mapping[str, Any] | None) -> list[str]:
    """The id of a join, unless a view names it: a glob does not."""
    if stream.join is None:
        return []
    if views is None:
        return [name for name in stream.join.on if "__" not in name]
    named = {name for spec in views.values() for name in _named(spec, stream.column_names)}
    return [name for name in stream.join.on if name not in named]


def _named(spec: Any, names: Collection[str]) -> list[Any]:
    """The names and globs of a view, without what it has of a text."""
    return [split_form(one, names)[0] for one in items_of(spec)]


def views_of_join(stream: Source, views: Mapping[str, Any] | None) -> Any:
    """Return the views, if any are given, and those that are tables of a join besides."""
    if stream.join is None or not isinstance(views, Mapping):
        return views
    return {**{name: [f"{name}__*"] for name in stream.join.views}, **views}


def check_label(stream: Source, label: str, views: Mapping[str, Sequence[str]]) -> None:
    """Raise an error for a label that a table has not, or that a model predicts from."""
    names = stream.column_names
    if label not in names:
        close = closest_names(label, names)
        raise InputError(f"no label column {label!r}{close}", file=stream.file)
    for view, group in views.items():
        if label in group:
            raise InputError(
                f"is in view {view!r} of the model, so it is not the label", column=label
            )


def dates_in_views(date: Sequence[str], in_no_view: Sequence[str]) -> list[str]:
    """Return the columns of dates, as for `ViewEncoder`, without those that are in no view."""
    left_out = {*in_no_view}
    return [one for one in date if left_out.isdisjoint((one, split_format(one)[0]))]


def split_time(date: Sequence[str] | None, time: str | None) -> tuple[list[str], str]:
    """Return the columns of dates without that of times, which is in no view, and its format."""
    date = listed(date)
    columns = date if time is None else dates_in_views(date, [time])
    formats = [split_format(one)[1] for one in date if one not in columns and one != time]
    return columns, formats[-1] if formats else ""


class Recognized(NamedTuple):
    """Columns that are of a kind by their values.

    dates: strings that are dates in every row.
    texts: strings that are sentences.
    sparse: numbers that are mostly 0, of views that have many of them.
    numbers: categories whose values look like numbers, and such a value; they stay categories.
    """

    dates: dict[str, DateFormat]
    texts: list[str]
    sparse: list[str]
    numbers: dict[str, str]

    def added_to(self, declared: Mapping[str, Any]) -> dict[str, list[str]]:
        """Return parameters of `ViewEncoder` for these columns and those that are declared."""
        date, text, sparse = (listed(declared.get(kind)) for kind in RECOGNIZED)
        dates = [one for one in date if one not in self.dates]
        return {
            "date": [*dates, *(f"{name}={one.format}" for name, one in self.dates.items())],
            "text": [*text, *self.texts],
            "sparse": [*sparse, *self.sparse],
        }

    def warn(self) -> None:
        """Warn of categories whose values look like numbers."""
        for name, number in self.numbers.items():
            warn_of_number(name, number)


def recognized(
    stream: Source,
    names: list[str],
    views: Mapping[str, Any] | None,
    declared: Mapping[str, Any],
    recognize: Collection[str] = RECOGNIZED,
) -> Recognized:
    """Return which columns, of these names and in a view, are of a kind that nobody declares.

    ``declared`` has the columns of each kind; of dates that are declared without a format it finds
    the format.  ``recognize`` are the kinds to look for.
    """
    parts = [part for group in columns_of_views(views, names).values() for part in group]
    used = list(dict.fromkeys(name for name, _ in parts))
    types = dict(zip(stream.schema.names, stream.schema.types, strict=True))
    of_kinds = {kind: declared.get(kind) or () for kind in KINDS}
    kinds, formats = declared_kinds(of_kinds, used)
    kinds |= dict.fromkeys((name for name, form in parts if form), "text")
    plain = [name for name in used if name in types]  # and no object with fields
    unknown = [name for name in plain if name not in kinds or formats.get(name) == ""]
    dates = stream.find_dates(unknown) if "date" in recognize else {}
    dates = {name: one for name, one in dates.items() if one.is_sure or name in formats}
    unknown = [name for name in unknown if name not in {**kinds, **dates}]
    texts = stream.find_texts(unknown) if "text" in recognize else []
    unknown = [name for name in unknown if name not in texts]
    like_numbers = stream.find_numbers(unknown) if recognize else {}
    sparse: list[str] = []
    if "sparse" in recognize:
        numbers = [name for name in plain if kind_of(types[name]) == "numeric"]
        numbers = [name for name in numbers if name not in kinds]
        sparse = sparse_of_views(numbers, names_of_views(views, names), stream.find_sparse)
    return Recognized(dates, texts, sparse, like_numbers)


class ColumnsOfModel(NamedTuple):
    """The columns of a model that a table has (``here``), and what is missing.

    Those are views of which the table has no column, and columns of other views, where it is
    allowed that they are null.
    """

    here: list[str]
    missing_views: list[str]
    null_columns: list[str]


def check_missing_columns(missing_columns: str) -> None:
    """Raise an error for what is no way to take a missing column."""
    check_kind("a name", missing_columns=missing_columns)
    if missing_columns not in ("error", "null"):
        raise InputError(f"{argument(missing_columns=missing_columns)}; give error or null")


def columns_of_model(
    table: Source, views: Mapping[str, list[str]], missing_columns: str
) -> ColumnsOfModel:
    """Return which columns of a model a table has, if they are enough for ``missing_columns``."""
    check_missing_columns(missing_columns)
    known = set(table.column_names)
    absent = [view for view, group in views.items() if known.isdisjoint(group)]
    if len(absent) == len(views):
        needed = list(dict.fromkeys(column for group in views.values() for column in group))
        own = [
            view
            for view, group in views.items()
            if any(f"{view}__{name}" in group for name in known)
        ]
        fix = (
            f"; is it written in another way? Say how by {argument('delimiter')}, "
            f"{argument('encoding')} or {argument(header=False)}"
            if table.dialect is not None
            else ""
        )
        if own:
            fix = f"; name its view: --source {own[0]}=FILE, in Python {{{own[0]!r}: table}}"
        raise InputError(
            f"has none of the model's columns ({', '.join(needed[:5])}, ...); "
            f"it has {', '.join(table.column_names[:5])}, ...{fix}",
            file=table.file,
        )
    used = (column for view, group in views.items() if view not in absent for column in group)
    wanted = list(dict.fromkeys(used))
    nulls = [column for column in wanted if column not in known]
    if nulls and missing_columns == "error":
        near = closest_names(nulls[0], table.column_names, taken=wanted)
        without = argument(missing_columns="null")
        raise InputError(f"no column {nulls[0]!r}{near}; without it: {without}")
    return ColumnsOfModel([column for column in wanted if column in known], absent, nulls)
