"""The log of a server: rows that were predicted, with the labels that came, as a table."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from crossview.errors import InputError
from crossview.readers.columnar.text import JsonSource
from crossview.server_log.addresses import FROM_SQLITE, LOG, is_address
from crossview.server_log.log import ASSUMED, Log

BATCH = 4096
# different labels whose first form is kept: more of them are numbers to predict
MOST_FORMS = 1000


class ServedSource(JsonSource):
    """Rows of a log in the order in which their labels came, each with its last label.

    They are read as JSON lines, from a copy, because a server may write the log meanwhile.
    """

    def __init__(self, files: list[str]) -> None:
        if len(files) > 1:
            raise InputError("one log at a time; name its folder or address", file=files[1])
        where = files[0] if is_address(files[0]) else _folder(files[0])
        self._room = _Room()
        n = 0
        with closing(Log(where, read_only=True)) as log:
            log.check()
            about = log.about()
            if about.get("rows") == "slots":
                raise InputError("has slots of rows, and no names and values", file=log.db.file)
            name = "log" if is_address(where) else Path(where).resolve().name
            copy = self._room.path / f"{name}.jsonl"
            with copy.open("w", encoding="utf-8") as file:
                for row in _rows(log, about["label"]):
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    n += 1
            if not n:
                raise InputError("has no row with a label", file=log.db.file)
        super().__init__([str(copy)])


def _folder(file: str) -> Path:
    """Return the folder of a log, by which it is opened."""
    if Path(file).name != LOG:
        words = f"is not called {LOG}, as the log of a server; of another database write the rows "
        raise InputError(f"{words}to a file: {FROM_SQLITE}", file=file)
    return Path(file).parent


class _Room:
    """A folder that goes when the last reader of it does."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="crossview-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _rows(log: Log, label: str) -> Iterator[dict[str, Any]]:
    corrected, after = log.corrected(), log.first_label() - 1
    forms: dict[Any, Any] = {}  # a label as it came first: 1.0 and true are 1
    while found := log.labeled(after, BATCH):
        after = found[-1].label.sequence
        for record in found:
            if record.label.kind == ASSUMED and record.label.prediction in corrected:
                continue
            row = flat(json.loads(record.of.row))
            value = json.loads(record.label.label)
            row[label] = forms.setdefault(value, value) if len(forms) < MOST_FORMS else value
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
