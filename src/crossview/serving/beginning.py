"""A model that begins with nothing: what the first labels say of classes and columns."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from crossview.catalog.learners import find_learner
from crossview.encoding.encode import ViewEncoder
from crossview.encoding.rows.one_row import check_cell, first_row, numbers_of_cells
from crossview.encoding.view_columns import items_of, split_form
from crossview.errors import InputError
from crossview.saving.files import replacing
from crossview.saving.pipelines import pipeline
from crossview.saving.schema import check_header
from crossview.tables.arrow import pyarrow
from crossview.tables.columns import Column
from crossview.tables.dates import split_format
from crossview.views import matching, views_by_prefix

# the columns are those of the first rows, as the first one alone may lack some
FEWEST_LABELS = 20
MODEL = "stacking"
_SCHEMA = {
    "label": str,
    "task": str,
    "target_scale": str,
    "views": (None, dict),
    "kinds": dict,
    "ignore": [str],
}


@dataclass(frozen=True)
class Beginning:
    """What is known before the first label.

    label: the column that is predicted; a row that has it is predicted without it.
    views: as for `ViewEncoder`; None: columns called ``user__age`` belong to the view ``user``.
    kinds: columns that are ``text``, ``categorical``, ``numeric``, ``sparse`` or ``date``.
    ignore: columns that are in no view.
    target_scale: what is learned of a number.
    """

    label: str
    task: str = "classification"
    views: Mapping[str, Any] | None = None
    kinds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ignore: Sequence[str] = ()
    target_scale: str = "linear"

    def make(self) -> Any:
        """Return the model that `train` begins with, too, with nothing learned."""
        kinds: dict[str, Any] = {kind: list(names) for kind, names in self.kinds.items() if names}
        encoder = ViewEncoder(self.views, **kinds)
        encoder.check_params()
        entry = find_learner(MODEL, self.task, ())
        settings = {"random_state": 0, **entry.in_order_params}
        if self.target_scale != "linear":
            settings["target_scale"] = self.target_scale
        return pipeline(encoder, entry.make(**settings))

    @property
    def info(self) -> dict[str, Any]:
        """What a model file says of it."""
        return {"model": MODEL, "task": self.task, "label": self.label, "seed": 0}

    def is_aside(self, name: str) -> bool:
        """Return whether a column is the label, or is ignored."""
        aside = "|".join(map(fnmatch.translate, [self.label, *self.ignore]))
        return re.match(aside, name) is not None

    def declared(self, name: str) -> Column | None:
        """Return a column whose kind is declared; None of another one."""
        for kind, patterns in self.kinds.items():
            for pattern in patterns:
                dated = kind == "date" and pattern != name
                known, format = split_format(pattern) if dated else (pattern, "")
                if matching(known, [name], (name,)):
                    return Column(name, "", kind, True, format)
        return None

    def used(self, names: Sequence[str]) -> dict[str, Column | None]:
        """Return which columns are in a view, those whose kind is declared with it."""
        own = [name for name in names if not self.is_aside(name)]
        if self.views is None:
            groups = views_by_prefix(own)
            own = own if groups is None else [name for one in groups.values() for name in one]
            return {name: self.declared(name) for name in own}
        found: dict[str, Column | None] = {}
        for item in (item for spec in self.views.values() for item in items_of(spec)):
            pattern, form = split_form(item, own)
            for name in matching(pattern, own, own):
                text = Column(name, "", "text", True) if form else None
                found[name] = self.declared(name) or text or found.get(name)
        return found

    def table(self, rows: Sequence[Any]) -> Any:
        """Return the first rows as an Arrow table, with the columns of all of them.

        One that is declared, and has values of several types, has text; one in no view is empty.
        """
        declared = {name.partition("=")[0] for names in self.kinds.values() for name in names}
        flat = [first_row(_present(row), declared) for row in rows]
        names = [
            name
            for name in dict.fromkeys(k for row in flat for k in row)
            if not self.is_aside(name)
        ]
        used, columns = self.used(names), dict[str, Any]()
        for name in names:
            cells = [row.get(name) if name in used else None for row in flat]
            kinds = {_kind(cell) for cell in cells if cell is not None}
            kind = "numeric" if kinds == {float} else ""
            column = used.get(name) or Column(name, "", kind, False)
            if column.is_number:
                numbers = numbers_of_cells(column, cells)
                columns[name] = pyarrow().array(numbers, from_pandas=True)
            elif len(kinds) > 1 or any(type(cell) is int and abs(cell) >> 63 for cell in cells):
                columns[name] = [None if cell is None else str(cell) for cell in cells]
            else:
                columns[name] = cells
        try:
            return pyarrow().table(columns)
        except (ValueError, TypeError, OverflowError) as error:  # those of Arrow are among them
            raise InputError(f"the first rows are no table ({error})") from None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `read` reads."""
        with replacing(path) as unfinished:
            Path(unfinished).write_bytes(msgspec.json.encode(asdict(self)))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Beginning:
        """Return what `write` wrote."""
        try:
            known = {"target_scale": "linear", **msgspec.json.decode(Path(path).read_bytes())}
            check_header(known, _SCHEMA, "the first model")
        except (OSError, msgspec.DecodeError, InputError) as error:
            raise InputError(f"cannot be read ({error})", file=str(path)) from None
        return cls(**known)


class FirstRows:
    """The rows and labels that came before the model begins, and what the next ones must be like.

    Of a column whose kind is not declared the first value says it.

    label: of the first row; None before there is one.
    """

    def __init__(self, beginning: Beginning) -> None:
        self.label: Any = None
        self._beginning = beginning
        self._columns: dict[str, Column | None] = {}  # those that are in a view
        self._values: dict[str, Any] = {}  # the first ones of all columns

    def check(self, row: Mapping[str, Any]) -> None:
        """Raise an error if a cell of a row is none of its column."""
        self._checked(row)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take a row, if each cell is one of its column."""
        flat, self._columns = self._checked(row)
        self._values |= {k: v for k, v in flat.items() if self._values.get(k) is None}

    def _checked(self, row: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Column | None]]:
        """Return the cells of a row, and the columns that are in a view with it."""
        flat, columns = first_row(_present(row), ()), self._columns
        if not flat.keys() <= self._values.keys():
            columns = self._beginning.used([*self._values | flat])
        for name, value in flat.items():
            if value is None or name not in columns:
                continue
            column, first = columns[name], self._values.get(name)
            vector, _, number = name.rpartition("__")
            before = self._values.get(vector) if number.isdecimal() else None
            if before is not None:
                what = f"is a vector, and the rows before have {before!r:.60}"
                raise InputError(f"{what}: give that, or null", column=vector)
            if column is None:
                if type(value) not in _KINDS:
                    what = f"{value!r:.60} is no value of a column: give a number, text in quotes"
                    raise InputError(f"{what}, true, false or null", column=name)
                if first is not None and _kind(value) != _kind(first):
                    raise _changed(name, value, first)
                kind = "numeric" if _kind(value) is float else "categorical"
                column = Column(name, "", kind, False)
            check_cell(column, value)
        return flat, columns


# what a value is called, many of them, and what to give
_KINDS = {
    str: ("text", "text", "text in quotes"),
    bool: ("a Boolean", "true and false", "true or false, without quotes"),
    int: ("a number", "numbers", "a number without quotes"),
    float: ("a number", "numbers", "a number without quotes"),
}


def _changed(name: str, value: Any, first: Any) -> InputError:
    """The error of a value that is of another kind than the first one of its column."""
    sent, before = (
        f"{one!r:.60}" if type(one) is not bool else msgspec.json.encode(one).decode()
        for one in (value, first)
    )
    (what, *_), (_, many, fix) = _KINDS[type(value)], _KINDS[type(first)]
    return InputError(
        f"{sent} is {what}, and the rows before have {many}, such as {before}: give {fix}, or null",
        column=name,
    )


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without views that are missing."""
    return {name: value for name, value in row.items() if value is not None}


def _kind(cell: Any) -> type:
    return float if type(cell) is int else type(cell)
