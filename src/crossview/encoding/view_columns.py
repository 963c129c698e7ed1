"""The columns of each view, and their kinds: all that the names and types of a table say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.errors import InputError, argument, closest_names
from crossview.tables.columns import (
    Column,
    format_of,
    kind_of,
    listed,
    match_names,
    refuse_unusable,
)
from crossview.tables.dates import check_format, split_format
from crossview.tables.text import FORMS
from crossview.views import (
    ALL,
    REST,
    match_columns,
    matching,
    resolve_views,
    views_by_prefix,
)

if TYPE_CHECKING:
    import pyarrow as pa

# a suggestion of more views than this is no help
MOST_SUGGESTED = 6

# more texts than these have words alone, because characters take ten times as long, and more than
# those one view together
MOST_TEXTS_WITH_FORMS, MOST_VIEWS_OF_TEXT = 2, 4
TEXT = "text"

KINDS = ("text", "categorical", "numeric", "sparse", "date")
_FORM = re.compile(rf"({'|'.join(FORMS)})\((.+)\)")


def plan_columns(
    schema: pa.Schema, names: list[str], views: Any, declared: Mapping[str, Sequence[str]]
) -> list[Column]:
    """Return the columns of each view, and their kinds.

    schema: has those of the ``names`` that are in a view.
    views: as for `ViewEncoder`.
    declared: columns whose kind the user declares, by kind: names or globs; of dates also with a
      format.
    Returns columns: view by view.
    """
    parts = [part for group in columns_of_views(views, names).values() for part in group]
    used = list(dict.fromkeys(name for name, _ in parts))
    kinds, formats = declared_kinds(declared, used)
    for name in (name for name, form in parts if form):
        if kinds.setdefault(name, "text") != "text":
            raise InputError(
                f"is taken apart as text, and named in {argument(kinds[name])}", column=name
            )
    types = dict(zip(schema.names, schema.types, strict=True))
    texts = [name for name, kind in kinds.items() if kind == "text"]
    of_type = {name: kind_of(types[name]) for name in used if name not in kinds}
    refuse_unusable({name: types[name] for name, kind in of_type.items() if kind is None})
    known = {name: kinds.get(name) or of_type[name] or "" for name in used}
    formats |= {n: format_of(types[n]) for n, kind in known.items() if kind == "categorical"}
    columns = [
        Column(name, view, known[name], name in kinds, form or formats.get(name, ""))
        for view, group in columns_of_views(views, names, texts).items()
        for name, form in group
    ]
    check_columns(columns, names)
    return columns


def check_columns(columns: Sequence[Column], names: Collection[str]) -> None:
    """Raise an error if some are no column of a table, or the same twice.

    Only the forms of a text, which are different, may be of one column.
    """
    found: dict[str, list[Column]] = {}
    for column in columns:
        found.setdefault(column.name, []).append(column)
    for name, same in found.items():
        forms = {column.format or "words" for column in same if column.kind == "text"}
        if len(same) > 1 and len(forms) < len(same):
            raise InputError("is in two views as the same", column=name)
    if unknown := found.keys() - set(names):
        raise InputError(f"the columns of the encoder contradict each other: {min(unknown)!r}")


def declared_kinds(
    declared: Mapping[str, Sequence[str]], names: list[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the kinds of columns that are declared, and the formats of dates ("": none given)."""
    kinds: dict[str, str] = {}
    formats: dict[str, str] = {}
    known = set(names)
    for kind, patterns in declared.items():
        for pattern in listed(patterns):
            name, format = (pattern, "")
            if kind == "date" and pattern not in known:
                name, format = split_format(pattern)
            if format:
                check_format(format)
            for column in [name] if name in known else match_names([name], names, kind):
                if kinds.setdefault(column, kind) != kind:
                    raise InputError(
                        f"is named in {argument(kinds[column])} and {argument(kind)}", column=column
                    )
                if kind == "date":
                    formats[column] = format or formats.get(column, "")
    return kinds, formats


def columns_of_views(
    views: Any, names: list[str], texts: Collection[str] = ()
) -> dict[str, list[tuple[str, str]]]:
    """Return the columns of each view by name, and what it has of a text (`FORMS`; "": all words).

    views: as for `ViewEncoder`.
    texts: the columns of text, which are views of their own where nobody names any.
    Returns columns: view by view.
    """
    if views is None:
        if not names:
            raise InputError("there is no column to learn from")
        views = views_by_prefix(names) or _views_of_texts(names, texts)
    plain, formed = views, {}
    if isinstance(views, Mapping):
        plain, known = {}, set(names)
        for view, spec in views.items():
            parts = [split_form(one, known) for one in items_of(spec)]
            formed[view] = [(pattern, form) for pattern, form in parts if form]
            if not formed[view]:
                plain[view] = spec
            elif rest := [pattern for pattern, form in parts if not form]:
                plain[view] = rest
    groups: dict[str, list[tuple[str, str]]] = {view: [] for view in formed}
    if not isinstance(plain, Mapping) or plain or not formed:
        layout, columns = resolve_views(plain, len(names), names)
        columns = np.arange(len(names)) if columns is None else columns
        for view, start, stop in zip(layout.names, layout.ptr[:-1], layout.ptr[1:], strict=True):
            groups[view] = [(names[c], "") for c in columns[start:stop]]
    for view, patterns in formed.items():
        for pattern, form in patterns:
            found = match_columns(view, pattern, names)
            groups[view] += [(names[c], form) for c in found]
    return groups


def names_of_views(views: Any, names: list[str]) -> list[list[str]]:
    """Return the names of the columns of each view."""
    return [[name for name, _ in group] for group in columns_of_views(views, names).values()]


def _views_of_texts(names: list[str], texts: Collection[str]) -> dict[str, list[str]]:
    """Views where nobody names any: words, characters and shapes of texts, and the rest."""
    mine = [name for name in names if name in texts]
    rest = [name for name in names if name not in texts]
    if not mine:
        return {ALL: rest}
    views = {name: [name] for name in mine} if len(mine) <= MOST_VIEWS_OF_TEXT else {TEXT: mine}
    if len(mine) == 1:
        views = {"words": [f"words({mine[0]})"]}
    if len(mine) <= MOST_TEXTS_WITH_FORMS:
        views |= {
            next(name for name in (form, f"{form} of texts") if name not in views): [
                f"{form}({name})" for name in mine
            ]
            for form in ("chars", "shape")
        }
    if rest:
        views[next(name for name in (REST, ALL, *rest) if name not in views)] = rest
    return views


def split_form(item: Any, names: Collection[str]) -> tuple[Any, str]:
    """Return the column or glob that an item of a view names, and its form of a text, if any."""
    found = _FORM.fullmatch(item) if isinstance(item, str) and item not in names else None
    return (item, "") if found is None else (found[2], found[1])


def specification(column: Column) -> str:
    """Return how ``views`` name a column."""
    return f"{column.format}({column.name})" if column.format in FORMS else column.name


def items_of(spec: Any) -> list[Any]:
    """The names, globs or positions of a view."""
    return list(spec) if isinstance(spec, Sequence) and not isinstance(spec, str) else [spec]


def suggested_views(names: Sequence[str]) -> dict[str, str]:
    """Return ``{"user": "user_*"}`` for each of a few prefixes that names without ``__`` share."""
    prefixes = Counter(name.partition("_")[0] for name in names if "_" in name)
    common = [prefix for prefix, count in prefixes.items() if count > 1 and prefix.isalnum()]
    return {p: f"{p}_*" for p in common} if 2 <= len(common) <= MOST_SUGGESTED else {}


def check_per(per: str, ignored: Collection[str], names: Sequence[str]) -> None:
    """Raise an error where the column of the users is none, or is ignored."""
    if per not in names:
        raise InputError(
            f"{argument('per')} names {per!r}, which is no column{closest_names(per, names)}"
        )
    if per in ignored:
        raise InputError(
            f"is named in {argument('per')} and {argument('ignore')}; leave one of them out",
            column=per,
        )


def view_for(views: Mapping[str, Any] | None, names: Sequence[str], column: str) -> dict[str, Any]:
    """Return the views to add so that one has a column; none if one has it already.

    views: as for `ViewEncoder`.
    names: the columns that views may have.
    Returns added: where views follow from prefixes, these too.
    """
    groups = columns_of_views(views, list(names))
    if any(column == name for group in groups.values() for name, _ in group):
        return {}
    own = column if column not in groups else f"{column}_category"
    named = {
        view: f"{view}__*" if group[0][0].startswith(f"{view}__") else [name for name, _ in group]
        for view, group in groups.items()
    }
    return {**(named if views is None else {}), own: [column]}


def without_ignored(
    views: Mapping[str, Any] | None, ignored: Sequence[str], names: Sequence[str]
) -> dict[str, Any] | None:
    """Return the views without the names and globs that only ignored columns have.

    views: as for `ViewEncoder`.
    Returns views: None where there were none.
    """
    if views is None or not len(ignored):
        return None if views is None else dict(views)
    left: dict[str, Any] = {}
    known, left_out = set(names), set(ignored)
    for view, spec in views.items():
        patterns = items_of(spec)
        kept = []
        for item in patterns:
            own = matching(str(split_form(item, known)[0]), names, known)
            if not own or not left_out.issuperset(own):
                kept.append(item)
        if not kept:
            raise InputError(
                f"view {view!r} has only columns of {argument('ignore')} or {argument('per')}; "
                "leave the view out"
            )
        left[view] = spec if kept == patterns else kept
    return left
