"""The header of a model file, which is read at once: nothing here imports scikit-learn."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from crossview.errors import InputError
from crossview.saving.files import is_pipe

FORMAT = "crossview-model"
VERSION = 9


def read_header(path: str | os.PathLike) -> dict[str, str]:
    """Return the header of a model file, as text."""
    from safetensors import SafetensorError, safe_open

    if is_pipe(path):
        raise InputError("is a pipe, which is read only once; copy it into a file", file=str(path))
    if not Path(path).is_file():
        raise InputError("no such model file", file=str(path))
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = dict(file.metadata() or {})
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"is not a model file, or is truncated ({error})", file=str(path)
        ) from error
    if metadata.get("format") != FORMAT:
        raise InputError("is a safetensors file, but not a crossview model", file=str(path))
    version = metadata.get("version", "")
    if version != str(VERSION):
        older = version.isdigit() and int(version) < VERSION
        raise InputError(
            f"was written by {'an older' if older else 'a newer'} version of crossview (format "
            f"{version}, and this one reads {VERSION}); "
            f"{'train the model again' if older else 'upgrade crossview'}",
            file=str(path),
        )
    return metadata


def read_label(path: str | os.PathLike) -> str | None:
    """Return the column of the labels of a model, if it has one, without loading the model."""
    try:
        label = json.loads(read_header(path)["info"])["label"]
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        return None
    return label if isinstance(label, str) else None


class ReadsTables(NamedTuple):
    """Columns and dialect by which a model reads tables.

    columns: the columns of each view.
    dialect: how the CSV files that it learned are written.
    """

    columns: dict[str, list[str]]
    dialect: Mapping[str, Any] | None

    @property
    def names(self) -> list[str]:
        """The columns of all views."""
        return [name for of_view in self.columns.values() for name in of_view]


def read_tables(path: str | os.PathLike) -> ReadsTables | None:
    """Return how a model reads tables, if it reads any, without loading it."""
    try:
        for step in json.loads(read_header(path)["steps"]):
            if step["class"] == "ViewEncoder":
                columns: dict[str, list[str]] = {}
                for name, view, *_ in step["header"]["columns"]:
                    columns.setdefault(view, []).append(name)
                dialect = step["params"].get("dialect")
                return ReadsTables(columns, dialect and dict(dialect["dict"]))
    except (LookupError, TypeError, ValueError, RecursionError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
    return None  # or damaged, which loading says
