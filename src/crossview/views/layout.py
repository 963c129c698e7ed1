"""Names and column blocks of views, and the ``views=`` parameter."""

from __future__ import annotations

import fnmatch
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from crossview.errors import (
    GuessWarning,
    InputError,
    UnusedColumnsWarning,
    argument,
    closest_names,
    some_names,
)

# the view of a table that has no other, and that of columns that are in none of the others
ALL, REST = "all", "rest"


class ViewLayout:
    """Names and widths of views that form consecutive blocks of columns.

    Parameters
    ----------
    names : sequence of str
        One name per view, all different.
    widths : sequence of int
        Number of columns of each view, at least 1.

    Attributes
    ----------
    ptr : ndarray of shape (n_views + 1,), int64
        View ``v`` holds the columns ``ptr[v]`` to ``ptr[v + 1] - 1``.

    Examples
    --------
    >>> from crossview import ViewLayout
    >>> layout = ViewLayout(["page", "link"], [3, 2])
    >>> layout.block("link")
    slice(3, 5, None)
    """

    def __init__(self, names: Sequence[str], widths: Sequence[int]) -> None:
        self.names = tuple(str(name) for name in names)
        self.widths = tuple(int(width) for width in widths)
        if len(self.names) != len(self.widths):
            raise InputError(
                f"{len(self.names)} names and {len(self.widths)} widths; give one width per view"
            )
        if not self.names:
            raise InputError("there are no views; give at least one")
        if len(set(self.names)) != len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InputError(f"view {twice!r} is given twice; view names must be unique")
        for name, width in zip(self.names, self.widths, strict=True):
            if width < 0:
                raise InputError(f"view {name!r} has {width} columns; widths are 1 or more")
            if not width:
                raise InputError(f"view {name!r} has no columns; leave it out or give it columns")
        self.ptr = np.concatenate([[0], np.cumsum(self.widths)]).astype(np.int64)

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.names)

    @property
    def n_columns(self) -> int:
        """Total number of columns of all views."""
        return int(self.ptr[-1])

    def index(self, name: str) -> int:
        """Return the position of a view.

        Parameters
        ----------
        name : str
            Its name; `InputError` if no view has that name.

        Returns
        -------
        int
            Its position, from 0.
        """
        if name not in self.names:
            raise InputError(f"no view {name!r}{closest_names(name, self.names)}")
        return self.names.index(name)

    def block(self, name: str) -> slice:
        """Return the columns of a view.

        Parameters
        ----------
        name : str
            Its name; `InputError` if no view has that name.

        Returns
        -------
        slice
            The block of columns.
        """
        v = self.index(name)
        return slice(int(self.ptr[v]), int(self.ptr[v + 1]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ViewLayout):
            return NotImplemented
        return self.names == other.names and self.widths == other.widths

    def __hash__(self) -> int:
        return hash((self.names, self.widths))

    def __repr__(self) -> str:
        views = ", ".join(f"{n}: {w}" for n, w in zip(self.names, self.widths, strict=True))
        return f"ViewLayout({views})"


def resolve_views(
    views: Mapping[str, Any] | Sequence[int] | None,
    n_features: int,
    feature_names: Sequence[str] | None = None,
) -> tuple[ViewLayout, np.ndarray | None]:
    """Turn the ``views=`` parameter of an estimator into blocks of columns.

    views: None: the prefixes of columns that are called ``view__column``, by `views_by_prefix`; one
      view "all" where no column is.  A sequence of widths: consecutive blocks, called ``view0``,
      ``view1``, ...  A mapping of view name to columns: a slice, integer positions, column names,
      one column name, or a glob such as ``"user_*"``.  Columns in no view are ignored.
    n_features: number of columns of ``X``.
    feature_names: names of the columns of ``X``, if they have names.
    Returns layout: names and widths; columns (layout.n_columns,): the column of ``X`` at each
      position of the layout; None: all columns in their order.
    """
    if views is None:
        views = views_by_prefix(() if feature_names is None else feature_names)
        if views is None:
            return ViewLayout([ALL], [n_features]), None
    if isinstance(views, Mapping):
        chosen = {
            str(name): _choose(str(name), spec, n_features, feature_names)
            for name, spec in views.items()
        }
        layout = ViewLayout(list(chosen), [len(c) for c in chosen.values()])
        columns = np.concatenate(list(chosen.values()))
        owner: dict[int, str] = {}
        for name, group in chosen.items():
            for column in group.tolist():
                if column in owner:
                    label = feature_names[column] if feature_names is not None else column
                    raise InputError(
                        f"column {label!r} is in view {owner[column]!r} and again in {name!r}; "
                        "give each column to one view only"
                    )
                owner[column] = name
        return layout, columns
    if isinstance(views, str) or not all(isinstance(w, int | np.integer) for w in views):
        raise InputError(
            f"{argument('views')} takes None, a mapping of name to columns such as "
            f"{{'page': slice(0, 100), 'link': slice(100, 150)}}, which names slices, or a list of "
            f"widths such as [100, 50], not {views!r}"
        )
    layout = ViewLayout([f"view{v}" for v in range(len(views))], list(views))
    if layout.n_columns != n_features:
        raise InputError(
            f"{argument('views')} has {layout.n_columns} columns ({' + '.join(map(str, views))}) "
            f"and X has {n_features}"
        )
    return layout, None


def views_by_prefix(names: Iterable[Any]) -> dict[str, list[str]] | None:
    """Return the columns called ``view__column``, by view; None if there are none.

    Returns views: names of columns.  Those without a prefix are the last view where there is but
    one: a column that happens to have one does not take the others away; or but one that is no
    vector.  Else they are in no view.
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_prefix(name), []).append(name)
    others = groups.pop("", [])
    several = [own for own in groups.values() if len(groups) > 1 and not _is_vector(own)]
    if groups and others and len(several) <= 1:
        groups["others" if REST in groups else REST] = others
    return groups or None


def _is_vector(names: Iterable[Any]) -> bool:
    """Return whether columns are the numbers of vectors: vector__0, vector__1, ..."""
    return all(str(name).rpartition("__")[2].isdecimal() for name in names)


def _prefix(name: Any) -> str:
    """Return the view of a column called ``view__column``; "" of another one."""
    view, _, column = str(name).partition("__")
    return view if column else ""


def about_unused(
    names: Iterable[Any], *, ignores: bool = True
) -> list[tuple[type[UserWarning], str]]:
    """Return what to say of columns without a prefix where others are called ``view__column``.

    names: names of all columns, of which nobody named the views.
    ignores: whether ``ignore=`` leaves columns out.
    """
    groups = views_by_prefix(names := list(names))
    others = [name for name in names if not _prefix(name)]
    if groups is None or not others:
        return []
    how = f"{argument('views')} names the columns of each view"
    if others not in groups.values():
        words = f"not used, as columns called view__column are: {some_names(others)}; {how}"
        return [(UnusedColumnsWarning, words)]
    words = f"a view {[*groups][-1]!r} has the columns without a prefix: {some_names(others)}"
    left_out = f", {argument('ignore')} those to leave out" if ignores else ""
    return [(GuessWarning, f"{words}; {how}{left_out}")]


def warn_of_unused(names: Iterable[Any], *, ignores: bool = True) -> None:
    """Warn of the columns of `about_unused`."""
    for kind, words in about_unused(names, ignores=ignores):
        warnings.warn(words, kind, stacklevel=2)


def matching(pattern: str, names: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the names that are a pattern, or that it matches as a glob; ``known`` are the same.

    A pattern that matches none is a prefix: user stands for user__age and user__city.
    """
    if pattern in known:
        return [pattern]
    found = list(filter(re.compile(fnmatch.translate(pattern)).match, names))
    return found or [name for name in names if name.startswith(f"{pattern}__")]


def match_columns(view: str, pattern: str, names: Sequence[str]) -> list[int]:
    """Return the positions of the columns that a name or glob matches; `InputError` if none."""
    found = set(matching(pattern, names, names))
    if not found:
        raise InputError(
            f"view {view!r}: no column is called {pattern!r}{closest_names(pattern, names)}"
        )
    return [i for i, name in enumerate(names) if name in found]


def _choose(
    view: str, spec: Any, n_features: int, feature_names: Sequence[str] | None
) -> np.ndarray:
    """Return the positions of the columns of one view."""
    if isinstance(spec, slice):
        return np.arange(n_features)[spec]
    items = list(spec) if isinstance(spec, Iterable) and not isinstance(spec, str) else [spec]
    patterns = [item for item in items if isinstance(item, str)]
    if items and len(patterns) == len(items):
        if feature_names is None:
            raise InputError(
                f"view {view!r} names its columns ({items[0]!r}), but X has no column names; "
                "pass a data frame, or positions"
            )
        known = {name: column for column, name in enumerate(feature_names)}
        columns = [
            column
            for pattern in patterns
            for column in (
                [known[pattern]]
                if pattern in known
                else match_columns(view, pattern, feature_names)
            )
        ]
        return np.asarray(list(dict.fromkeys(columns)), dtype=np.int64)
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != n_features:
            raise InputError(
                f"view {view!r}: the mask has {len(items)} entries, but X has {n_features} columns"
            )
        return np.flatnonzero(np.asarray(items))
    if not all(isinstance(item, int | np.integer) for item in items):
        raise InputError(f"view {view!r}: columns are a slice, positions or names, not {spec!r}")
    positions = np.asarray(items, dtype=np.int64)
    for column in positions.tolist():
        if not -n_features <= column < n_features:
            raise InputError(
                f"view {view!r}: column {column} is out of range; X has {n_features} columns"
            )
    return positions % n_features
