"""The process that commits: it gets groups of entries, and writes each in one transaction.

It is one of its own, as a thread would wait for the one that predicts at every statement, and that
one for it.  It loads little.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from crossview.errors import InputError
from crossview.server_log.log import (
    ASSUMED,
    CAME,
    LATE,
    OWN_ID,
    Found,
    Label,
    Log,
    Newest,
    Prediction,
    Snapshot,
)

# bytes of the number that says how long an answer is
LENGTH = 8
# what became of a label: of this prediction, the same as before, another one, of no prediction, of
# one that has waited too long
NEW, KNOWN, CONFLICT, UNKNOWN, EXPIRED = "new", "known", "conflict", "unknown", "expired"


@dataclass(eq=False)
class Entry:
    """What is written in one transaction.

    predictions: one with an id of the caller may be there already.
    labels: ids and labels as JSON.
    assumed: ids and labels as JSON of predictions for which no label came in time.
    work: a function of the log and some arguments, which runs within the transaction, before
      anything else is written; what it returns is the ``result``.
    earlier: afterwards: by id, predictions that were in the log already and are not written again.
    outcome: afterwards: what became of each label.
    result: afterwards: what ``work`` has returned.
    """

    predictions: Sequence[Prediction] = ()
    labels: Sequence[tuple[str, str]] = ()
    snapshot: Snapshot | None = None
    assumed: Sequence[tuple[str, str]] = ()
    work: tuple[Callable[..., Any], tuple[Any, ...]] | None = None
    earlier: dict[str, Prediction] = field(default_factory=dict)
    outcome: list[str] = field(default_factory=list)
    result: Any = None

    def __len__(self) -> int:
        return len(self.predictions) + len(self.labels) + len(self.assumed) + 1


class Group(NamedTuple):
    """Entries of one transaction, in their order.

    time: when labels of it came, in microseconds since 1970.
    wait: seconds after which a label is not taken any more; None: it always is.
    touches: whether something is written in any case, to see whether it can be.
    """

    time: int
    wait: float | None
    touches: bool
    entries: list[Entry]


class Committed(NamedTuple):
    """How far the log is then, and of each entry what is known afterwards."""

    newest: Newest
    known: list[tuple[dict[str, Prediction], list[str], Any]]


def main() -> None:
    """Commit groups that come by standard input, until it ends; tell of each by standard output.

    First comes where the log is.  A group that could not be written, and is not in the log, is
    answered by the reason.
    """
    groups, told = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    where, log = pickle.load(groups), None
    while True:
        try:
            group = pickle.load(groups)
        except EOFError:
            break
        found: Committed | str
        try:
            log = log or Log(where)
            found = _commit(log, group)
        except Exception as error:
            words, known = " ".join(str(error).split()), () if log is None else log.errors
            is_bug = not isinstance(error, (InputError, *known))
            found = f"{type(error).__name__}: {words}" if is_bug else words
        answer = pickle.dumps(found, pickle.HIGHEST_PROTOCOL)
        told.write(len(answer).to_bytes(LENGTH, "little") + answer)
        told.flush()
    if log is not None:
        log.close()


def _commit(log: Log, group: Group) -> Committed:
    ids = {id_ for entry in group.entries for id_ in _looked_up(entry)}
    works = any(entry.work for entry in group.entries)
    with log.db.transaction(alone=bool(ids) or works):
        if group.touches:
            log.touch()
        newest = _write(log, group, list(ids))
    return Committed(newest, [(one.earlier, one.outcome, one.result) for one in group.entries])


def _write(log: Log, group: Group, ids: list[str]) -> Newest:
    """Write all entries; return how far the log is then."""
    for entry in group.entries:
        if entry.work:
            function, arguments = entry.work
            entry.result = function(log, *arguments)
    newest, known = log.newest(), log.find(ids)
    predictions: list[Prediction] = []
    labels: list[Label] = []
    for entry in group.entries:
        entry.earlier, entry.outcome = {}, []  # one may come again
        predictions += _new_predictions(entry, known)
        _label(group, entry, known, newest.labels, labels)
    n = log.add_predictions(predictions)
    log.add_labels(labels)
    for entry in group.entries:
        if entry.snapshot:
            log.add_snapshot(entry.snapshot)
    return newest._replace(labels=newest.labels + len(labels), predictions=newest.predictions + n)


def _label(
    group: Group, entry: Entry, known: dict[str, Found], last: int, labels: list[Label]
) -> None:
    """Append the labels of an entry to those that follow the last one of the log."""

    def append(id_: str, label: str, kind: int, *more: str) -> None:
        prediction = known[id_][0]
        number = last + len(labels) + 1
        labels.append(Label(number, prediction.sequence, group.time, label, kind, *more))
        known[id_] = prediction, labels[-1]

    others = {p.id for p in entry.predictions if entry.earlier.get(p.id, p).row != p.row}
    for id_, label in entry.labels:
        outcome = CONFLICT if id_ in others else _outcome(group, known.get(id_), label)
        entry.outcome.append(outcome)
        if outcome == NEW:
            before = known[id_][1]
            append(id_, label, *((CAME,) if before is None else (LATE, before.label)))
    for id_, label in entry.assumed:
        if id_ in known and known[id_][1] is None:
            append(id_, label, ASSUMED)


def _outcome(group: Group, found: Found | None, label: str) -> str:
    """Return what becomes of a label."""
    if found is None:
        return UNKNOWN
    prediction, known = found
    if known is not None and known.kind != ASSUMED:
        same = msgspec.json.decode(known.label) == msgspec.json.decode(label)
        return KNOWN if same else CONFLICT
    waited = (group.time - prediction.time) / 1e6
    if known is None and group.wait is not None and waited > group.wait:
        return EXPIRED
    return NEW


def _looked_up(entry: Entry) -> Iterator[str]:
    """Yield the ids of which the log may know something."""
    for prediction in entry.predictions:
        if not OWN_ID.match(prediction.id):
            yield prediction.id
    for id_, _ in (*entry.labels, *entry.assumed):
        yield id_


def _new_predictions(entry: Entry, known: dict[str, Found]) -> list[Prediction]:
    """Return the predictions of an entry that are not in the log; from now on they are known."""
    new = []
    for prediction in entry.predictions:
        found = known.get(prediction.id)
        if found is None:
            new.append(prediction)
            known[prediction.id] = prediction, None
        else:
            entry.earlier[prediction.id] = found[0]
    return new
