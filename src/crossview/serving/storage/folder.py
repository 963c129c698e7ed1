"""What servers keep: the first model, the log, and snapshots; the model is made from them.

It is in a folder, or in PostgreSQL, where any number of servers share it.

The first model is a copy of the file that the server was started with.  A snapshot is a model file
that says how many labels it has learned, so it and the labels after it give the model as it was,
bit for bit.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from crossview.errors import InputError, argument, in_file
from crossview.saving.files import MODEL, replacing
from crossview.saving.model_files import read_info
from crossview.saving.model_header import read_header
from crossview.saving.schema import check_header
from crossview.server_log.addresses import LOG, is_address
from crossview.server_log.databases import AwayError, sha256_of
from crossview.server_log.log import (
    JOIN,
    PROMOTE,
    Event,
    Labeled,
    Log,
    Snapshot,
    contestants,
)
from crossview.serving.beginning import Beginning
from crossview.serving.challengers import (
    Challenger,
    Compared,
    check_name,
    number_of,
)
from crossview.serving.live import LiveModel
from crossview.serving.scores import Served
from crossview.serving.storage.files import open_files

MODEL_END = ".safetensors"
FIRST, FIRST_NEW, SNAPSHOTS = f"first{MODEL_END}", "first.json", "snapshots"
CHALLENGERS = "challengers"
# snapshots that stay
MOST_SNAPSHOTS = 3
SECONDS_TO_RETRY = 0.5
# of a model of which the log does not know
NOT_LOGGED = -1
BATCH = 256


class Folder:
    """The log, and the files of servers.

    where: the folder, or an address, ``postgresql://user@host/database``.
    is_shared: whether other processes write the log, as they may at an address.
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        *,
        read_only: bool = False,
        is_shared: bool = False,
    ) -> None:
        self.where = where
        self.is_shared = is_shared or is_address(where)
        self.files = open_files(where, read_only=read_only)

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.files.name

    def first(self) -> Path:
        """Return the file of the first model; of one that has learned nothing, what is known."""
        found = self.files.find(FIRST_NEW) or self.files.find(FIRST)
        return found or self.files.path / FIRST

    def open(
        self,
        model: str | os.PathLike[str] | Beginning | None,
        *,
        hash_rows: bool = False,
        frozen: bool = False,
        challengers: Mapping[str, bool] = MappingProxyType({}),
        check: bool = True,
    ) -> Log:
        """Return the log, which is new where there is none.

        model: the first model; None where there is one.
        hash_rows: whether rows are logged as slots and numbers.
        frozen: whether the first model learns nothing.
        challengers: files of models that will join, and whether they are frozen.
        check: whether the database looks for damage.
        """
        if not self._has_log():
            if model is None:
                raise InputError(
                    "has no log yet; name the model file to begin with, or begin with --new",
                    file=self.name,
                )
            live = LiveModel.of(model, frozen=frozen)  # before anything is made
            if hash_rows:
                live.check_hashes()
                live.hashes_rows = True
            for file, learns_nothing in challengers.items():
                _checked_name(live, file, frozen=learns_nothing)
            path = self.files.path
            path.mkdir(parents=True, exist_ok=True)
            (path / FIRST_NEW).unlink(missing_ok=True)
            if isinstance(model, Beginning):
                first = path / FIRST_NEW
                model.write(first)
            else:
                first = path / FIRST
                with replacing(first, MODEL) as unfinished:
                    shutil.copyfile(model, unfinished)
            about = {
                "first": sha256_of(first),
                "rows": "slots" if hash_rows else "values",
                "label": str(live.info.get("label") or "label"),
                "learns": "nothing" if frozen else "labels",
            }
            log = Log.create(self.where, about, first)
            if log.about().get("first") == about["first"]:
                (self.files.path / SNAPSHOTS).mkdir(exist_ok=True)
                return log  # and no server has made it meanwhile, from another model
        else:
            log = Log(self.where)
        (self.files.path / SNAPSHOTS).mkdir(exist_ok=True)
        if check:
            log.check()
        if hash_rows and log.about().get("rows") != "slots":
            raise InputError(
                "has a log of names and values; --hash-rows is for a new one",
                file=self.name,
            )
        if frozen and not is_frozen(log):
            raise InputError(
                f"has a log of a model that learns; {argument(frozen=True)} is for a new one",
                file=self.name,
            )
        if isinstance(model, Beginning):
            begun = self.files.find(FIRST_NEW)
            if begun is None:
                raise InputError(
                    "goes on from a model file; leave --new out, or name another log",
                    file=self.name,
                )
            if Beginning.read(begun) != model:
                raise InputError(
                    "was begun with other options; leave them and --new out, or name another one",
                    file=self.name,
                )
        elif model is not None:
            read_header(model)
            if sha256_of(model) != log.about().get("first"):
                raise InputError(
                    f"goes on from another model than {model}; leave the model out, or name "
                    "another log",
                    file=self.name,
                )
        return log

    def _has_log(self) -> bool:
        """Return whether there is a log; one that a kill left empty is none."""
        if not is_address(self.where):
            path = self.files.path / LOG
            if not path.exists() or not path.stat().st_size:
                return False
        with closing(Log(self.where)) as log:
            return not log.is_empty()

    def first_model(self, log: Log) -> LiveModel:
        """Return the model before the first label of the log."""
        first = self.first()
        if not first.is_file() or sha256_of(first) != log.about().get("first"):
            raise InputError(
                f"is not the model that {log.db.name} goes on from; restore a copy",
                file=self.files.describe(first.name),
            )
        if first.name == FIRST_NEW:
            live = LiveModel.of(Beginning.read(first))
        else:
            live = LiveModel.load(first, frozen=is_frozen(log))
            live.first = LiveModel.load(first, frozen=True)
            live.hashes_rows = live.first.hashes_rows = log.about().get("rows") == "slots"
        self._connect(live, log)
        return live

    def _connect(self, live: LiveModel, log: Log) -> None:
        """Let a model find how it was before, and who challenges it."""
        live.model_at = partial(self._model_at, log, live)
        live.apply = partial(self._apply, log, live)

    def _model_at(self, log: Log, live: LiveModel, n_labels: int) -> LiveModel:
        """Return a model as it was when so many labels were learned, one by one.

        The model that asks is half learned, so it waits for a database that is away.
        """
        while True:
            try:
                other = self.newest_model(log, lambda _: None, n_labels)
                for one in (other, *(challenger.live for challenger in other.challengers)):
                    one.model_at = None
                catch_up(other, log, n_labels, live.served.events)
            except AwayError:
                time.sleep(SECONDS_TO_RETRY)
            else:
                return other

    def _challenger_at(
        self, log: Log, live: LiveModel, challenger: Challenger, n_labels: int
    ) -> LiveModel:
        """Return the same of a challenger."""
        others = self._model_at(log, live, n_labels).challengers
        found: LiveModel = next(one.live for one in others if one.name == challenger.name)
        return found

    # --- challengers ----------------------------------------------------------------------------

    def keep_challenger(self, name: str, file: str | os.PathLike[str]) -> str:
        """Copy the model file with which a challenger joins; return its checksum."""
        checksum = sha256_of(file)
        self._copy(Path(file), _challenger_file(name, checksum))
        return checksum

    def _copy(self, file: Path, name: str) -> None:
        kept = self.files.path / name
        kept.parent.mkdir(exist_ok=True)
        with replacing(kept, MODEL) as unfinished:
            shutil.copyfile(file, unfinished)
        self.files.publish(name)

    def let_join(
        self, log: Log, live: LiveModel, path: str | os.PathLike[str], *, frozen: bool
    ) -> None:
        """Let the model of a file join, called as the file, if it has not joined already."""
        name = _checked_name(live, path, frozen=frozen)
        checksum = self.keep_challenger(name, path)
        with log.db.reading(), log.db.transaction():  # another server may let it join, too
            if log.add_event(JOIN, name, checksum, frozen) is not None:
                return
            joined = [one for one in log.events() if one.kind == JOIN and one.name == name][-1]
        if (joined.sha256, joined.frozen) != (checksum, frozen):
            raise InputError(
                f"a challenger {name} has joined already, from another file or by the other "
                "option; leave this one out, or call the file something else",
                file=str(path),
            )

    def load_challenger(self, event: Event) -> LiveModel:
        """Return the model with which a challenger joins."""
        name = _challenger_file(event.name, event.sha256)
        file = self.files.find(name)
        if file is None or sha256_of(file) != event.sha256:
            raise InputError(
                "is not the challenger that has joined; restore a copy",
                file=self.files.describe(name),
            )
        return LiveModel.load(file, frozen=event.frozen)

    def _add_challenger(self, live: LiveModel, log: Log, challenger: Challenger) -> None:
        if live.model_at is not None:
            challenger.live.model_at = partial(self._challenger_at, log, live, challenger)
        live.challengers = [*live.challengers, challenger]

    def _apply(self, log: Log, live: LiveModel, event: Event) -> None:
        """Let a challenger join or leave, or change places with the model that is served."""
        if event.kind == JOIN:
            own = Challenger(event.name, self.load_challenger(event))
            own.live.begin(None if event.frozen else event.at)
            own.live.number = live.served.events + 1
            self._add_challenger(live, log, own)
        else:
            logged = (one for one in live.challengers if one.is_logged)
            own = next(one for one in logged if one.name == event.name)
            if event.kind == PROMOTE:
                live.swap(own)
            else:
                live.challengers = [one for one in live.challengers if one is not own]
        live.served.events += 1

    def newest_model(
        self, log: Log, say: Callable[[str], None], most_labels: int | None = None
    ) -> LiveModel:
        """Return the model of the newest sound snapshot, or the first one.

        say: gets what is wrong with newer snapshots, a line each.
        most_labels: labels that it may have learned; None: all.
        """
        snapshots = self.snapshots()  # before the labels, which may become more meanwhile
        n_labels = log.counts().labels
        for labels, name in snapshots:
            if most_labels is not None and labels > most_labels:
                continue
            shown = self.files.describe(name)
            if labels > n_labels:
                raise InputError(
                    f"has learned {labels} labels, and {log.db.name} has {n_labels}: labels are "
                    "lost; restore a copy of the log, or remove this file to go on without them",
                    file=shown,
                )
            try:
                file = self.files.find(name)
                if file is None:  # a server has removed it meanwhile
                    continue
                return self._model_of(file, log, name)
            except AwayError:
                raise
            except InputError as error:
                say(f"warning: {error}; went on from an older one")
        return self.base_model(log)

    def _model_of(self, file: Path, log: Log, name: str) -> LiveModel:
        """Return the model of a snapshot; raise an error if it, or a file beside it, is damaged."""
        live, shown = LiveModel.restore(file), self.files.describe(name)
        if live.served.labels != int(Path(name).stem):
            raise InputError("is not the snapshot that its name says", file=shown)
        if live.served.events > len(log.events()):
            raise InputError("has seen events that the log has not", file=shown)
        return self._complete(live, log, name)

    def damage_of(self, name: str, log: Log) -> str | None:
        """Return what is wrong with a snapshot, so that no server goes on from it."""
        try:
            file = self.files.find(name)
            if file is not None:
                self._model_of(file, log, name)
        except AwayError:
            raise
        except InputError as error:
            return str(error)
        return None

    def base_model(self, log: Log) -> LiveModel:
        """Return the model from which a replay begins: what it has learned may be removed."""
        base = log.base()
        if base is None:
            return self.first_model(log)
        labels, checksum = base
        name = base_name(labels)
        file = self.files.find(name)
        if file is None or sha256_of(file) != checksum:
            raise InputError(
                f"is not the model that {log.db.name} goes on from; restore a copy",
                file=self.files.describe(name),
            )
        return self._complete(LiveModel.restore(file), log, name)

    def _complete(self, live: LiveModel, log: Log, name: str) -> LiveModel:
        """Return a model of a file, with the first one and the challengers, which are beside it."""
        first = self.first_model(log)
        live.first, live.hashes_rows = first.first, first.hashes_rows
        live.beginning = first.beginning
        self._connect(live, log)
        events = log.events()[: live.served.events]
        live.name, challengers = contestants(events)
        live.number = number_of(live.name, events)
        for one in challengers:
            beside = of_challenger(name, one)
            own = self.files.find(beside)
            if own is None:
                raise InputError("is missing", file=self.files.describe(beside))
            other = LiveModel.restore(own)
            other.number = number_of(one, events)
            known: Any = read_info(own).get("compared")
            check_header({"compared": known}, {"compared": dict}, "a challenger")
            entries = {"at": int, "frozen": bool, "compared": dict}
            check_header(known, entries, "a challenger")
            if known["at"] != live.served.labels:
                raise InputError("is not the challenger that its name says", file=str(own))
            compared = Compared.from_json(known["compared"])
            if known["frozen"]:
                other.begin(None)
            self._add_challenger(live, log, Challenger(one, other, compared))
        return live

    def write_base(self) -> tuple[int, str] | None:
        """Copy the newest snapshot, for replays to begin from; return its labels and checksum."""
        for labels, name in self.snapshots():
            base = base_name(labels)
            for one in (*self._beside(name), name):
                file = self.files.find(one)
                if file is not None:
                    self._copy(file, base.removesuffix(MODEL_END) + one[len(_stem(name)) :])
            file = self.files.find(base)
            if file is not None:
                LiveModel.restore(file)  # it is sound
                return labels, sha256_of(file)
        return None

    def remove_bases(self, log: Log) -> None:
        """Remove the files of bases that were before the one now."""
        base = log.base()
        for name in self.files.names(f"base-*{MODEL_END}"):
            if base is not None and int(name.split("-")[1].removesuffix(MODEL_END)) < base[0]:
                self.files.remove(name)

    def snapshots(self) -> list[tuple[int, str]]:
        """Return the names of snapshots by the number of their labels, the newest first."""
        names = self.files.names(f"{SNAPSHOTS}/*{MODEL_END}")
        found = [(Path(name).stem, name) for name in names]
        return sorted(((int(n), name) for n, name in found if n.isdecimal()), reverse=True)

    def _beside(self, name: str) -> list[str]:
        """Return the names of challengers beside a snapshot."""
        return self.files.names(f"{_stem(name)}-*{MODEL_END}")

    def save_snapshot(self, live: LiveModel) -> list[str]:
        """Write the model as it is; return the names of its files, the main one last."""
        name = f"{SNAPSHOTS}/{live.served.labels:015d}{MODEL_END}"
        saved = files_of(live, name)
        for one, save in saved.items():
            save(self.files.path / one)
        return list(saved)

    def publish_snapshot(self, names: Sequence[str]) -> Snapshot:
        """Keep a snapshot that was written, and remove old ones."""
        for one in names:
            self.files.publish(one)
        name = names[-1]
        checksum = sha256_of(self.files.path / name)
        for _, old in self.snapshots()[MOST_SNAPSHOTS:]:
            for one in (old, *self._beside(old)):
                self.files.remove(one)
        return Snapshot(int(Path(name).stem), time.time_ns() // 1000, name, checksum)

    def is_same(self, live: LiveModel, name: str) -> bool:
        """Return whether the files of a model would have the bytes of a snapshot."""
        with tempfile.TemporaryDirectory() as folder:
            for one, save in files_of(live, name).items():
                again, file = Path(folder) / Path(one).name, self.files.find(one)
                save(again)
                if file is None or sha256_of(again) != sha256_of(file):
                    return False
        return True

    def close(self) -> None:
        """Let go of what was opened."""
        self.files.close()


class Replayed(NamedTuple):
    """What a replay found.

    labels: how many labels were learned: those that were not removed.
    same, different: snapshots, by the number of their labels, whose bytes were made again, and
      others.
    damaged: snapshots from which no server goes on, and why.
    challengers: how each model of ``challengers`` compares with what was served; see
      `Compared.summary`. ``learned``: the share of the rows that it had learned before, None if not
      known. ``labels_served``: how many labels of a server it has learned, of this log or
      another one.
    """

    labels: int
    same: list[int]
    different: list[int]
    damaged: dict[int, str]
    seconds: float
    challengers: list[dict[str, Any]]


def replay(
    where: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] | None = None,
    challengers: Sequence[str | os.PathLike[str]] = (),
    frozen_challengers: Sequence[str | os.PathLike[str]] = (),
) -> Replayed:
    """Learn a log from its first model on, and compare the model with snapshots.

    where: the folder or the address, of servers that run or have ended.
    output: write the model at the end to this file.
    challengers, frozen_challengers: model files that are compared with what was served, from the
      first label of the log on: as if they had been challengers then, which learn the labels or
      nothing.
    """
    with (
        closing(Folder(where, read_only=True)) as folder,
        closing(Log(where, read_only=True)) as log,
    ):
        log.check()
        log.check_predictions()
        n_labels = log.counts().labels
        live = folder.base_model(log)
        base = live.served.labels
        snapshots = {n: name for n, name in folder.snapshots() if n >= base}
        if snapshots and max(snapshots) > n_labels:
            folder.newest_model(log, lambda _: None)  # says what is wrong
        others = [
            _as_if_it_had_joined(log, live, file, frozen=file in frozen_challengers)
            for file in (*challengers, *frozen_challengers)
        ]
        labels_served = [_labels_of(file) for file in (*challengers, *frozen_challengers)]
        live.challengers = [*live.challengers, *others]
        began = time.perf_counter()
        same: list[int] = []
        different: list[int] = []
        damaged: dict[int, str] = {}
        for at in sorted({*snapshots, n_labels}):
            name = snapshots.get(at)
            if name is not None and (why := folder.damage_of(name, log)) is not None:
                damaged[at] = why
                continue
            # a server removes old ones meanwhile
            file = None if name is None else folder.files.find(name)
            catch_up(live, log, at, None if file is None else events_of(file))
            if name is not None and folder.files.find(name) is not None:
                (same if folder.is_same(live, name) else different).append(at)
        catch_up(live, log, n_labels)
        seconds = time.perf_counter() - began
    if output is not None:
        live.save(output)
    found = [
        one.summary() | {"learned": one.learned_share, "labels_served": served}
        for one, served in zip(others, labels_served, strict=True)
    ]
    return Replayed(n_labels - base, same, different, damaged, seconds, found)


def _labels_of(file: str | os.PathLike[str]) -> int:
    """Return how many labels of a server a model file has learned."""
    info = read_info(file)
    served = None if info.get("frozen") else info.get("served")
    return 0 if served is None else Served.from_json(served).labels


def _as_if_it_had_joined(
    log: Log, live: LiveModel, file: str | os.PathLike[str], *, frozen: bool
) -> Challenger:
    """Return a challenger of which the log does not know."""
    first, n_events = live.served.labels, len(log.events())

    def model_at(n_labels: int) -> LiveModel:
        other = LiveModel.load(file)
        other.begin(first)
        other.number = NOT_LOGGED
        other.served = Served(first, n_events)
        catch_up(other, log, n_labels)
        return other

    other = LiveModel.load(file, frozen=frozen)
    with in_file(file):
        live.check_challenger(other)
    other.begin(None if frozen else first)
    other.number = NOT_LOGGED
    other.model_at = model_at
    return Challenger(Path(file).stem, other, is_logged=False, sketch=other.sketch)


def is_frozen(log: Log) -> bool:
    """Return whether the first model of a log learns nothing."""
    return log.about().get("learns") == "nothing"


def _checked_name(live: LiveModel, path: str | os.PathLike[str], *, frozen: bool) -> str:
    """Return what the model of a file is called as a challenger of another one, if it can join."""
    name = Path(path).stem
    check_name(name)
    with in_file(path):
        live.check_challenger(LiveModel.load(path, frozen=frozen))
    return name


def catch_up(live: LiveModel, log: Log, n_labels: int, n_events: int | None = None) -> None:
    """Learn the labels of a log until so many are learned, and so many events have happened.

    ``n_events`` None: all that happen before the next label.
    """
    while True:
        records, events = next_of(live, log, BATCH, n_events)
        for event in events:
            assert live.apply is not None
            live.apply(event)
        if live.served.labels >= n_labels:
            if not events:
                return
            continue
        if not events:
            live.learn(records[: n_labels - live.served.labels])


def next_of(
    live: LiveModel, log: Log, most: int, n_events: int | None = None
) -> tuple[list[Labeled], list[Event]]:
    """Return what comes next in a log: events, or the labels before the next one.

    live: it has learned what is before.
    most: how many labels, at most.
    n_events: only so many events of the log; None: all.
    """
    at = live.served.labels
    records = log.labeled(at, most)
    events = log.events()[live.served.events : n_events]  # after the labels; see `add_event`
    if due := [event for event in events if event.at <= at]:
        return [], due
    if events:
        records = records[: events[0].at - at]
    return records, []


def of_challenger(name: str, challenger: str) -> str:
    """Return the name of the file of a challenger beside that of the model that is served."""
    return f"{_stem(name)}-{challenger}{MODEL_END}"


def base_name(labels: int) -> str:
    """Return the name of the model from which a replay begins."""
    return f"base-{labels:015d}{MODEL_END}"


def _stem(name: str) -> str:
    return name.removesuffix(MODEL_END)


def _challenger_file(name: str, checksum: str) -> str:
    return f"{CHALLENGERS}/{name}-{checksum[:16]}{MODEL_END}"


def files_of(live: LiveModel, name: str) -> dict[str, Callable[[Path], None]]:
    """Return the names of the files of a snapshot, the main one last, and what writes each."""
    found: dict[str, Callable[[Path], None]] = {}
    for one in live.challengers:
        if not one.is_logged:
            continue
        known = {
            "at": live.served.labels,
            "frozen": one.live.is_frozen,
            "compared": one.compared.to_json(),
        }
        found[of_challenger(name, one.name)] = partial(one.live.save, compared=known)
    return {**found, name: live.save}


def events_of(file: Path) -> int:
    """Return how many events a snapshot has seen."""
    served = read_info(file).get("served")
    return int(served.get("events", 0)) if isinstance(served, dict) else 0
