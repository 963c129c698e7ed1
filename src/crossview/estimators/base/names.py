"""Rows as mappings of feature names to values; new features get new columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np

from crossview.errors import InputError, closest_names
from crossview.views import ALL, ViewLayout


class NamedRow(NamedTuple):
    """A row that was given as a mapping."""

    columns: list[int]  # of the state, ascending
    values: list[float]
    present: list[bool]  # of each view
    moved: np.ndarray | None  # new position of each old column of the state, if columns were added
    added: list[tuple[str, Any]]  # new views (with None) and features
    old_room: list[int]


class NamedColumns:
    """Map from the feature names of each view to the columns of the learned state.

    Views are consecutive blocks of ``slots``, each with spare columns.  When a block is full, its
    size doubles and the blocks after it move, so that adding n features costs O(n).

    views: views known from the start; later rows may add others.
    """

    def __init__(self, views: list[str]) -> None:
        self.views: dict[str, dict[Any, int]] = {name: {} for name in views}
        self.room: list[int] = [1] * len(views)
        self.fixed: np.ndarray | None = None  # the column map of a learner fitted on a matrix

    @classmethod
    def of_fitted(
        cls, layout: ViewLayout, column_map: np.ndarray | None, names: Any
    ) -> NamedColumns:
        """Return the names of the columns of a learner that was fitted on a matrix.

        No column can be added to them.  The name of a feature is its column name, or its position
        in its view.
        """
        self = cls(list(layout.names))
        self.room = list(layout.widths)
        if column_map is None:
            column_map = np.arange(layout.n_columns)
        self.fixed = column_map
        column_of = np.full(layout.n_columns, -1)
        used = column_map >= 0
        column_of[column_map[used]] = np.flatnonzero(used)
        for v, known in enumerate(self.views.values()):
            for position, slot in enumerate(range(layout.ptr[v], layout.ptr[v + 1])):
                known[position if names is None else str(names[column_of[slot]])] = position
        return self

    def select(self, view: str) -> NamedColumns:
        """Return the columns of one view; shares its names."""
        other = NamedColumns([])
        other.views = {view: self.views[view]}
        other.room = [self.room[list(self.views).index(view)]]
        return other

    @property
    def slots(self) -> ViewLayout:
        """Columns of the state, spare ones included."""
        return ViewLayout(list(self.views), self.room)

    @property
    def layout(self) -> ViewLayout:
        """Views and the number of their features so far; 1 for a view without features."""
        return ViewLayout(list(self.views), [max(1, len(known)) for known in self.views.values()])

    @property
    def column_map(self) -> np.ndarray:
        """Column of each feature in the state, view by view, in the order of first occurrence."""
        if self.fixed is not None:
            return self.fixed
        starts, widths = self.slots.ptr, self.layout.widths
        return np.concatenate([starts[v] + np.arange(width) for v, width in enumerate(widths)])

    def read(self, x: Mapping[Any, Mapping[Any, Any]], *, learn: bool) -> NamedRow:
        """Return one row; ``learn`` adds its new views and features."""
        # 1. raise errors before anything changes
        row: list[tuple[str, Any, float]] = []
        for view, features in x.items():
            if view not in self.views and self.fixed is not None:
                raise InputError(f"no view {view!r}{closest_names(str(view), list(self.views))}")
            for feature, value in features.items():
                if self.fixed is not None and feature not in self.views[view]:
                    raise InputError(
                        f"view {view!r} has no feature {feature!r}"
                        f"{closest_names(str(feature), [str(k) for k in self.views[view]])}"
                    )
                row.append((view, feature, _number(view, feature, value)))

        # 2. add new views and features
        old_room = list(self.room)
        added: list[tuple[str, Any]] = []
        if learn and self.fixed is None:
            for view in x:
                if view not in self.views:
                    self.views[view] = {}
                    self.room.append(1)
                    added.append((view, None))
            for view, feature, _ in row:
                known = self.views[view]
                if feature not in known:
                    known[feature] = len(known)
                    v = list(self.views).index(view)
                    while len(known) > self.room[v]:
                        self.room[v] *= 2
                    added.append((view, feature))

        # 3. the row in the columns of the state
        first = dict(zip(self.views, accumulate(self.room, initial=0), strict=False))
        entries = sorted(
            (first[view] + self.views[view][feature], number)
            for view, feature, number in row
            if view in first and feature in self.views[view]
        )
        present = [view in x for view in self.views]
        moved = None
        if added:
            starts = zip(first.values(), old_room, strict=False)
            old = [np.arange(start, start + room) for start, room in starts]
            moved = np.concatenate([np.empty(0, dtype=np.int64), *old])
        columns, values = [at for at, _ in entries], [value for _, value in entries]
        return NamedRow(columns, values, present, moved, added, old_room)

    def undo(self, row: NamedRow) -> None:
        """Delete the views and features that this row, the last one, has added."""
        for view, feature in reversed(row.added):
            if feature is not None:
                del self.views[view][feature]
            elif not self.views[view]:
                del self.views[view]
        self.room = row.old_room

    def to_json(self) -> dict[str, Any]:
        """Return the names for a model file; they must be text, numbers or Booleans."""
        for view, known in self.views.items():
            for feature in known:
                if not isinstance(feature, str | int | float | bool):
                    raise InputError(
                        f"feature {feature!r} of view {view!r} is not text; a model file "
                        "stores only names that are text"
                    )
        views = [[name, list(known)] for name, known in self.views.items()]
        return {"views": views, "room": self.room}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Undo `to_json`; `InputError` if a name is given twice, or there is room without need."""
        self = cls([])
        for name, features in value["views"]:
            self.views[name] = {feature: i for i, feature in enumerate(features)}
            # a full block doubles
            self.room.append(1 << max(len(features) - 1, 0).bit_length())
        given = [len(features) for _, features in value["views"]]
        if [*map(len, self.views.values())] != given or self.room != value["room"]:
            raise InputError("the names of the columns contradict each other")
        return self


def features_by_view(x: Mapping[Any, Any], known: Sequence[str]) -> Mapping[Any, Mapping[Any, Any]]:
    """Return the features of each view that a row has.

    ``x`` maps a view to its features, None for a missing view; or it is the features of the only
    view.
    """
    there = {view: features for view, features in x.items() if features is not None}
    nested = all(isinstance(features, Mapping) for features in there.values())
    if nested and (there or len(known) > 1 or (x and set(x) <= set(known))):
        return there
    if len(known) > 1:
        raise InputError(
            "a row of a learner with several views is a mapping of view to features, such as "
            f"{{{known[0]!r}: {{'feature': 1.0}}}}"
        )
    return {known[0] if known else ALL: x}


def _number(view: str, feature: Any, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, str) and not math.isfinite(number):
        raise InputError(
            f"{value!r} is text, and features are numbers; name the value in the feature, "
            f"{{{f'{feature}={value}'!r}: 1.0}}, or encode tables with ViewEncoder, and learn "
            "them by partial_fit",
            column=str(feature),
        )
    if not math.isfinite(number):
        raise InputError(
            f"{value!r} is not a finite number; leave the feature out where it is 0, "
            f"and the whole view {view!r} where it is missing",
            column=str(feature),
        )
    return number
