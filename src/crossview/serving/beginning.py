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
from crossview.encoding.rows.one_row import first_row
from crossview.errors import InputError
from crossview.saving.files import replacing
from crossview.saving.pipelines import pipeline
from crossview.saving.schema import check_header
from crossview.tables.arrow import pyarrow

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
    kinds: columns that are ``text``, ``categorical``, ``numeric`` or ``date``.
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

    def table(self, rows: Sequence[Any]) -> Any:
        """Return the first rows as an Arrow table, with the columns of all of them.

        A column whose values are of several types has text.
        """
        declared = {name.partition("=")[0] for names in self.kinds.values() for name in names}
        flat = [first_row(_present(row), declared) for row in rows]
        names = [
            name
            for name in dict.fromkeys(k for row in flat for k in row)
            if not self.is_aside(name)
        ]
        columns = {}
        for name in names:
            cells = [row.get(name) for row in flat]
            if len({_kind(cell) for cell in cells if cell is not None}) > 1:
                cells = [None if cell is None else str(cell) for cell in cells]
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


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without views that are missing."""
    return {name: value for name, value in row.items() if value is not None}


def _kind(cell: Any) -> type:
    return float if type(cell) is int else type(cell)
