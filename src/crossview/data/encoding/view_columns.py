"""The columns of each view, and their kinds: all that the names and types of a table say."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from crossview.data.arrow import column_names, to_arrow
from crossview.data.encoding.columns import Column, kind_of, match_names, one_array
from crossview.data.encoding.dates import check_format, find_formats, is_text, split_format
from crossview.errors import InputError, closest_names
from crossview.views import ALL, resolve_views, views_by_prefix

__all__ = [
    "KINDS",
    "columns_of_views",
    "declared_kinds",
    "match_ignored",
    "plan_columns",
    "suggested_views",
    "without_ignored",
]

# a suggestion of more views than this is no help
MOST_SUGGESTED = 6

KINDS = ("text", "categorical", "numeric", "date")


def plan_columns(
    X: Any,
    views: Any,
    declared: Mapping[str, Sequence[str]],
    *,
    ignored: Sequence[str] = (),
    recognize: bool = False,
) -> list[Column]:
    """Return the columns of each view, and their kinds.

    Parameters
    ----------
    X : pandas, polars or Arrow table, or ndarray
        The first rows.
    views : mapping of str to columns, or None
        As for `ViewEncoder`.
    declared : mapping of str to sequence of str
        Columns whose kind the user declares, by kind: names or globs; of dates also with a format.
    ignored : sequence of str, default=()
        Names of columns that are in no view.
    recognize : bool, default=False
        Whether the rows are all there are, so that text that is dates in all of them is of dates.

    Returns
    -------
    columns : list of Column
        View by view.
    """
    left_out = set(ignored)
    names = [name for name in column_names(X) if name not in left_out]
    columns_of = columns_of_views(views, names)
    used = list(chain.from_iterable(columns_of.values()))
    kinds, formats = declared_kinds(declared, used)
    table = to_arrow(X, used)
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    unknown = [
        name
        for name in used
        if is_text(types[name]) and (name not in kinds or formats.get(name) == "")
    ]
    if recognize and unknown:
        rows = {name: one_array(table.column(name)) for name in unknown}
        formats |= {name: one.format for name, one in find_formats([rows], unknown).items()}
    return [
        Column(
            name,
            view,
            kinds.get(name) or ("date" if name in formats else kind_of(types[name], name)),
            name in kinds or name in formats,
            formats.get(name, ""),
        )
        for view, group in columns_of.items()
        for name in group
    ]


def declared_kinds(
    declared: Mapping[str, Sequence[str]], names: list[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the kinds of columns that are declared, and the formats of dates ("": none given)."""
    kinds: dict[str, str] = {}
    formats: dict[str, str] = {}
    for kind, patterns in declared.items():
        for pattern in [patterns] if isinstance(patterns, str) else patterns:
            name, format = (pattern, "")
            if kind == "date" and pattern not in names:
                name, format = split_format(pattern)
            if format:
                check_format(format)
            for column in match_names([name], names, kind):
                if kinds.setdefault(column, kind) != kind:
                    raise InputError(f"is named in {kinds[column]}= and {kind}=", column=column)
                if kind == "date":
                    formats[column] = format or formats.get(column, "")
    return kinds, formats


def columns_of_views(views: Any, names: list[str]) -> dict[str, list[str]]:
    """Return the names of each view's columns; ``views`` as for `ViewEncoder`."""
    if views is not None:
        layout, columns = resolve_views(views, len(names), names)
        if columns is None:
            columns = np.arange(len(names))
        return {
            view: [names[c] for c in columns[start:stop]]
            for view, start, stop in zip(layout.names, layout.ptr[:-1], layout.ptr[1:], strict=True)
        }
    if not names:
        raise InputError("there is no column to learn from")
    return views_by_prefix(names) or {ALL: list(names)}


def suggested_views(names: Sequence[str]) -> dict[str, str]:
    """Return ``{"user": "user_*"}`` for each of a few prefixes that names without ``__`` share."""
    prefixes = Counter(name.partition("_")[0] for name in names if "_" in name)
    common = [prefix for prefix, count in prefixes.items() if count > 1 and prefix.isalnum()]
    return {p: f"{p}_*" for p in common} if 2 <= len(common) <= MOST_SUGGESTED else {}


def match_ignored(ignored: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the columns of a table that names or globs leave out."""
    found: dict[str, None] = {}
    for pattern in [ignored] if isinstance(ignored, str) else ignored:
        match = re.compile(fnmatch.translate(pattern)).match
        matching = [pattern] if pattern in names else [name for name in names if match(name)]
        if not matching:
            raise InputError(f"no column {pattern!r}{closest_names(pattern, names)}")
        found |= dict.fromkeys(matching)
    return list(found)


def without_ignored(
    views: Mapping[str, Any] | None, ignored: Sequence[str], names: Sequence[str]
) -> dict[str, Any] | None:
    """Return the views without the names and globs that only ignored columns have.

    Parameters
    ----------
    views : mapping of str to columns, or None
        As for `ViewEncoder`.
    ignored : sequence of str
        Names of columns.
    names : sequence of str
        The columns of the table.

    Returns
    -------
    views : dict of str to columns, or None
        None where there were none.
    """
    if views is None or not len(ignored):
        return None if views is None else dict(views)
    left: dict[str, Any] = {}
    for view, spec in views.items():
        patterns = [spec] if isinstance(spec, str) else list(spec)
        kept = []
        for pattern in patterns:
            match = re.compile(fnmatch.translate(str(pattern))).match
            matching = [pattern] if pattern in names else [name for name in names if match(name)]
            if not matching or not set(matching) <= set(ignored):
                kept.append(pattern)
        if not kept:
            raise InputError(f"view {view!r} has only columns of ignore=; leave the view out")
        left[view] = spec if kept == patterns else kept
    return left
