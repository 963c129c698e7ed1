"""The log of a server: rows that were predicted, with the labels that came, as a table."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crossview.data.readers.text import JsonSource
from crossview.data.server_log import ASSUMED, Log
from crossview.errors import InputError
from crossview.saving.model_header import read_label

BATCH = 4096


class ServedSource(JsonSource):
    """Rows of a log in the order in which their labels came, each with its last label.

    They are read as JSON lines, from a copy, because a server may write the log meanwhile.
    """

    def __init__(self, files: list[str]) -> None:
        if len(files) > 1:
            raise InputError("one log at a time; name its folder", file=files[1])
        folder = Path(files[0]).parent
        self._room = _Room()
        copy = self._room.path / f"{folder.resolve().name}.jsonl"
        log = Log(folder, read_only=True)
        n = 0
        try:
            log.check()
            if log.about().get("rows") == "slots":
                raise InputError("has slots of rows, and no names and values", file=files[0])
            with copy.open("w", encoding="utf-8") as file:
                for row in _rows(log, _label_of(folder)):
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    n += 1
        finally:
            log.close()
        if not n:
            raise InputError("has no row with a label", file=files[0])
        super().__init__([str(copy)])


class _Room:
    """A folder that goes when the last reader of it does."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="crossview-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _label_of(folder: Path) -> str:
    """Return the name of the column of the labels: as the first model says, or label."""
    new, first = folder / "first.json", folder / "first.safetensors"
    try:
        if new.is_file():
            return str(json.loads(new.read_bytes())["label"])
        return read_label(first) or "label"
    except (InputError, ValueError, LookupError, OSError):
        return "label"


def _rows(log: Log, label: str) -> Iterator[dict[str, Any]]:
    corrected, after = log.corrected(), log.first_label() - 1
    while found := log.labeled(after, BATCH):
        after = found[-1].label.sequence
        for record in found:
            if record.label.kind == ASSUMED and record.label.prediction in corrected:
                continue
            row = flat(json.loads(record.of.row))
            row[label] = json.loads(record.label.label)
            yield row


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with columns ``view__column`` in place of mappings."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            for own, cell in value.items():
                found[own if own.startswith(f"{name}__") else f"{name}__{own}"] = cell
        else:
            found[name] = value
    return found
