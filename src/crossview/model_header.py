"""The header of a model file, which is read at once: nothing here imports scikit-learn."""

from __future__ import annotations

import json
import os
from pathlib import Path

from crossview.errors import InputError

__all__ = ["FORMAT", "VERSION", "read_header", "read_view_columns"]

FORMAT = "crossview-model"
VERSION = 6


def read_header(path: str | os.PathLike) -> dict[str, str]:
    """Return the header of a model file, as text.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    header : dict of str to str
        Its entries; that of the steps is JSON.

    Raises
    ------
    InputError
        The file is none of a model, or of another version.
    """
    from safetensors import SafetensorError, safe_open

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


def read_view_columns(path: str | os.PathLike) -> dict[str, list[str]]:
    """Return the table columns of each view of a model, without loading it.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    columns : dict of str to list of str
        Names of columns, view by view; none if the model reads no tables.
    """
    columns: dict[str, list[str]] = {}
    try:
        for step in json.loads(read_header(path)["steps"]):
            if step["class"] == "ViewEncoder":
                for name, view, *_ in step["header"]["columns"]:
                    columns.setdefault(view, []).append(name)
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        return {}  # damaged, which loading says
    return columns
