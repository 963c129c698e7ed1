"""Targets of the export, by the suffix of the file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from crossview.errors import InputError


class Target(NamedTuple):
    """A kind of file: its name, and the function from a `Plan` to its text or bytes.

    The function raises `InputError` for what the target cannot do; nothing is written then.
    ``options`` are its further arguments.  ``answers`` scores rows by the content, where that is
    possible here: a function of `Plan`, content, rows and options, which returns the numbers of
    each row.  What is above the ``tolerance`` is more than rounding.
    """

    name: str
    path: str
    options: tuple[str, ...] = ()
    answers: str | None = None
    tolerance: float = 1e-9


# by suffix
TARGETS = {
    ".py": Target("Python", "crossview.exporting.programs:python_file"),
    ".js": Target("JavaScript", "crossview.exporting.programs:javascript_module"),
    ".html": Target("page", "crossview.exporting.programs:page"),
    ".json": Target("JSON", "crossview.exporting.programs:json_file"),
    ".sql": Target(
        *("SQL", "crossview.exporting.vectorized.sql:sql_query", ("dialect", "table", "keep")),
        "crossview.exporting.vectorized.running:answers_of_sql",
    ),
    ".onnx": Target(
        *("ONNX", "crossview.exporting.vectorized.onnx:onnx_model", ()),
        "crossview.exporting.vectorized.running:answers_of_onnx",
        1e-5,
    ),
}


def target_of(path: str | os.PathLike[str]) -> Target:
    """Return what the suffix of a file stands for; `InputError` if it stands for nothing."""
    suffix = Path(path).suffix.lower()
    if suffix not in TARGETS:
        known = ", ".join(TARGETS)
        raise InputError(f"a model is exported to {known}; name the file so", file=os.fspath(path))
    return TARGETS[suffix]
