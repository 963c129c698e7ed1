"""The folder of a server: the first model, the log, and snapshots; the model is made from them.

The first model is a copy of the file that the server was started with.  A snapshot is a model file
that says how many labels it has learned, so it and the labels after it give the model as it was,
bit for bit.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from crossview.data.server_log import JOIN, LOG, PROMOTE, Event, Labeled, Log, Snapshot
from crossview.errors import InputError
from crossview.saving.files import MODEL, replacing
from crossview.saving.model_files import read_info
from crossview.saving.model_header import read_header
from crossview.saving.schema import check_header
from crossview.serving.beginning import Beginning
from crossview.serving.challengers import Challenger, Compared, check_name, contestants
from crossview.serving.live import LiveModel
from crossview.serving.scores import Served

__all__ = ["FIRST", "Folder", "Replayed", "catch_up", "next_of", "replay"]

FIRST, FIRST_NEW, SNAPSHOTS = "first.safetensors", "first.json", "snapshots"
CHALLENGERS = "challengers"
# snapshots that stay
MOST_SNAPSHOTS = 3
BATCH = 256


class Folder:
    """The files of a server.

    Parameters
    ----------
    path : path-like
        The folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.snapshots = self.path / SNAPSHOTS

    @property
    def first(self) -> Path:
        """The file of the first model; of one that has learned nothing, what is known of it."""
        new = self.path / FIRST_NEW
        return new if new.is_file() else self.path / FIRST

    def open(
        self, model: str | os.PathLike[str] | Beginning | None, *, hash_rows: bool = False
    ) -> Log:
        """Return the log, which is new where the folder has none.

        Parameters
        ----------
        model : path-like, Beginning or None
            The first model; None where the folder has one.
        hash_rows : bool, default=False
            Whether rows are logged as slots and numbers.
        """
        if not self._has_log():
            if model is None:
                raise InputError(
                    "has no log yet; name the model file to begin with, or begin with --new",
                    file=str(self.path),
                )
            live = LiveModel.of(model)  # before anything is made
            if hash_rows:
                live.check_hashes()
            self.snapshots.mkdir(parents=True, exist_ok=True)
            (self.path / FIRST_NEW).unlink(missing_ok=True)
            if isinstance(model, Beginning):
                model.write(self.path / FIRST_NEW)
            else:
                with replacing(self.path / FIRST, MODEL) as unfinished:
                    shutil.copyfile(model, unfinished)
            rows = "slots" if hash_rows else "values"
            return Log.create(self.path, {"first": sha256_of(self.first), "rows": rows})
        self.snapshots.mkdir(exist_ok=True)
        log = Log(self.path)
        log.check()
        if hash_rows and log.about().get("rows") != "slots":
            raise InputError(
                "has a log of names and values; --hash-rows is for a new folder",
                file=str(self.path),
            )
        if isinstance(model, Beginning):
            if not self.first.is_file() or self.first.name != FIRST_NEW:
                raise InputError(
                    "goes on from a model file; leave --new out, or name another folder",
                    file=str(self.path),
                )
            if Beginning.read(self.first) != model:
                raise InputError(
                    "was begun with other options; leave them and --new out, or name another one",
                    file=str(self.path),
                )
        elif model is not None:
            read_header(model)
            if sha256_of(model) != log.about().get("first"):
                raise InputError(
                    f"goes on from another model than {model}; leave the model out, or name "
                    "another folder",
                    file=str(self.path),
                )
        return log

    def _has_log(self) -> bool:
        """Return whether there is a log; one that a kill left empty is none."""
        path = self.path / LOG
        if not path.exists() or not path.stat().st_size:
            return False
        log = Log(self.path)
        try:
            return not log.is_empty()
        finally:
            log.close()

    def first_model(self, log: Log) -> LiveModel:
        """Return the model before the first label of the log."""
        if not self.first.is_file() or sha256_of(self.first) != log.about().get("first"):
            raise InputError(
                f"is not the model that {LOG} goes on from; restore a copy", file=str(self.first)
            )
        if self.first.name == FIRST_NEW:
            live = LiveModel.of(Beginning.read(self.first))
            self._connect(live, log)
            return live
        live, live.first = LiveModel.load(self.first), LiveModel.load(self.first)
        live.hashes_rows = live.first.hashes_rows = log.about().get("rows") == "slots"
        self._connect(live, log)
        return live

    def _connect(self, live: LiveModel, log: Log) -> None:
        """Let a model find how it was before, and who challenges it."""
        live.model_at = partial(self._model_at, log, live)
        live.apply = partial(self._apply, log, live)

    def _model_at(self, log: Log, live: LiveModel, n_labels: int) -> LiveModel:
        """Return a model as it was when so many labels were learned, one by one."""
        other = self.newest_model(log, lambda _: None, n_labels)
        for one in (other, *(challenger.live for challenger in other.challengers)):
            one.model_at = None
        catch_up(other, log, n_labels, live.served.events)
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
        kept = self._challenger_file(name, checksum)
        kept.parent.mkdir(exist_ok=True)
        with replacing(kept, MODEL) as unfinished:
            shutil.copyfile(file, unfinished)
        return checksum

    def let_join(
        self, log: Log, live: LiveModel, path: str | os.PathLike[str], *, frozen: bool
    ) -> None:
        """Let the model of a file join, called as the file, if it has not joined already."""
        name = Path(path).stem
        check_name(name)
        served, others = contestants(log.events())
        if name in others or name == served:
            checksum = sha256_of(path)
            joined = [one for one in log.events() if one.kind == JOIN and one.name == name][-1]
            if (joined.sha256, joined.frozen) != (checksum, frozen):
                raise InputError(
                    f"a challenger {name} has joined already, from another file or by the other "
                    "option; leave this one out, or call the file something else",
                    file=str(path),
                )
            return
        try:
            live.check_challenger(LiveModel.load(path))
        except InputError as error:
            raise InputError(error.message, file=str(path)) from None
        checksum = self.keep_challenger(name, path)
        with log.transaction():
            log.add_event(JOIN, name, checksum, frozen=frozen)

    def _challenger_file(self, name: str, checksum: str) -> Path:
        return self.path / CHALLENGERS / f"{name}-{checksum[:16]}.safetensors"

    def load_challenger(self, event: Event) -> LiveModel:
        """Return the model with which a challenger joins."""
        file = self._challenger_file(event.name, event.sha256)
        if not file.is_file() or sha256_of(file) != event.sha256:
            raise InputError(
                "is not the challenger that has joined; restore a copy", file=str(file)
            )
        return LiveModel.load(file)

    def _add_challenger(self, live: LiveModel, log: Log, challenger: Challenger) -> None:
        if live.model_at is not None:
            challenger.live.model_at = partial(self._challenger_at, log, live, challenger)
        live.challengers = [*live.challengers, challenger]

    def _apply(self, log: Log, live: LiveModel, event: Event) -> None:
        """Let a challenger join or leave, or change places with the model that is served."""
        if event.kind == JOIN:
            own = Challenger(event.name, self.load_challenger(event), event.frozen)
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

        Parameters
        ----------
        log : Log
            The log.
        say : callable
            Gets what is wrong with newer snapshots, a line each.
        most_labels : int, default=None
            Labels that it may have learned; None: all.
        """
        n_labels, events = log.counts().labels, log.events()
        for labels, file in self.snapshot_files():
            if most_labels is not None and labels > most_labels:
                continue
            if labels > n_labels:
                raise InputError(
                    f"has learned {labels} labels, and {LOG} has {n_labels}: labels are lost; "
                    "restore a copy of the log, or remove this file to go on without them",
                    file=str(file),
                )
            try:
                live = LiveModel.load(file)
                if live.served.labels != labels:
                    raise InputError("is not the snapshot that its name says", file=str(file))
                if live.served.events > len(events):
                    raise InputError("has seen events that the log has not", file=str(file))
                return self._complete(live, log, file)
            except InputError as error:
                say(f"warning: {error}; went on from an older one")
        return self.base_model(log)

    def base_model(self, log: Log) -> LiveModel:
        """Return the model from which a replay begins: what it has learned may be removed."""
        base = log.base()
        if base is None:
            return self.first_model(log)
        labels, checksum = base
        file = self.base_file(labels)
        if not file.is_file() or sha256_of(file) != checksum:
            raise InputError(
                f"is not the model that {LOG} goes on from; restore a copy", file=str(file)
            )
        return self._complete(LiveModel.load(file), log, file)

    def _complete(self, live: LiveModel, log: Log, file: Path) -> LiveModel:
        """Return a model of a file, with the first one and the challengers, which are beside it."""
        first = self.first_model(log)
        live.first, live.hashes_rows = first.first, first.hashes_rows
        self._connect(live, log)
        live.name, challengers = contestants(log.events()[: live.served.events])
        for name in challengers:
            own = of_challenger(file, name)
            other = LiveModel.load(own)
            known: Any = read_info(own).get("compared")
            check_header({"compared": known}, {"compared": dict}, "a challenger")
            entries = {"at": int, "frozen": bool, "compared": dict}
            check_header(known, entries, "a challenger")
            if known["at"] != live.served.labels:
                raise InputError("is not the challenger that its name says", file=str(own))
            compared = Compared.from_json(known["compared"])
            challenger = Challenger(name, other, known["frozen"], compared)
            self._add_challenger(live, log, challenger)
        return live

    def base_file(self, labels: int) -> Path:
        """Return the file of the model from which a replay begins."""
        return self.path / f"base-{labels:015d}.safetensors"

    def write_base(self) -> tuple[int, str] | None:
        """Copy the newest snapshot, for replays to begin from; return its labels and checksum."""
        for labels, snapshot in self.snapshot_files():
            file = self.base_file(labels)
            others = self.snapshots.glob(f"{snapshot.stem}-*.safetensors")
            beside = [(one, file.stem + one.name.removeprefix(snapshot.stem)) for one in others]
            for one, name in (*beside, (snapshot, file.name)):
                with replacing(self.path / name, MODEL) as unfinished:
                    shutil.copyfile(one, unfinished)
            LiveModel.load(file)  # it is sound
            return labels, sha256_of(file)
        return None

    def remove_bases(self, log: Log) -> None:
        """Remove the files of bases that are no longer one."""
        base = log.base()
        for file in self.path.glob("base-*.safetensors"):
            if base is not None and not file.name.startswith(self.base_file(base[0]).stem):
                file.unlink(missing_ok=True)

    def snapshot_files(self) -> list[tuple[int, Path]]:
        """Return the snapshots by the number of their labels, the newest first."""
        files = self.snapshots.glob("*.safetensors") if self.snapshots.is_dir() else ()
        found = [(int(file.stem), file) for file in files if file.stem.isdecimal()]
        return sorted(found, reverse=True)

    def write_snapshot(self, live: LiveModel) -> Snapshot:
        """Write the model as it is, and remove old snapshots."""
        labels = live.served.labels
        file = self.snapshots / f"{labels:015d}.safetensors"
        for path, save in files_of(live, file).items():
            save(path)
        for _, old in self.snapshot_files()[MOST_SNAPSHOTS:]:
            old.unlink(missing_ok=True)
            for beside in self.snapshots.glob(f"{old.stem}-*.safetensors"):
                beside.unlink(missing_ok=True)
        name = str(file.relative_to(self.path))
        return Snapshot(labels, time.time_ns() // 1000, name, sha256_of(file))


class Replayed(NamedTuple):
    """What a replay found.

    Attributes
    ----------
    labels : int
        How many labels were learned: those that were not removed.
    same, different : list of int
        Snapshots, by the number of their labels, whose bytes were made again, and others.
    seconds : float
    challengers : list of dict
        How each model of ``challengers`` compares with what was served; see `Compared.summary`.
    """

    labels: int
    same: list[int]
    different: list[int]
    seconds: float
    challengers: list[dict[str, Any]]


def replay(
    path: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] | None = None,
    challengers: Sequence[str | os.PathLike[str]] = (),
    frozen_challengers: Sequence[str | os.PathLike[str]] = (),
) -> Replayed:
    """Learn the log of a folder from its first model on, and compare the model with snapshots.

    Parameters
    ----------
    path : path-like
        The folder, of a server that runs or has ended.
    output : path-like, default=None
        Write the model at the end to this file.
    challengers, frozen_challengers : sequence of path-like, default=()
        Model files that are compared with what was served, from the first label of the log on: as
        if they had been challengers then, which learn the labels or nothing.
    """
    folder = Folder(path)
    log = Log(folder.path, read_only=True)
    try:
        log.check()
        log.check_predictions()
        n_labels = log.counts().labels
        live = folder.base_model(log)
        base = live.served.labels
        snapshots = {n: file for n, file in folder.snapshot_files() if n >= base}
        if snapshots and max(snapshots) > n_labels:
            folder.newest_model(log, lambda _: None)  # says what is wrong
        others = [
            _as_if_it_had_joined(log, live, file, frozen=file in frozen_challengers)
            for file in (*challengers, *frozen_challengers)
        ]
        live.challengers = [*live.challengers, *others]
        began = time.perf_counter()
        same: list[int] = []
        different: list[int] = []
        for at in sorted({*snapshots, n_labels}):
            file = snapshots.get(at)
            seen = None if file is None or not file.exists() else events_of(file)
            catch_up(live, log, at, seen)
            if file is not None and file.exists():  # a server removes old ones
                (same if _is_same(live, file) else different).append(at)
        catch_up(live, log, n_labels)
        seconds = time.perf_counter() - began
    finally:
        log.close()
    if output is not None:
        live.save(output)
    found = [one.summary() for one in others]
    return Replayed(n_labels - base, same, different, seconds, found)


def _as_if_it_had_joined(
    log: Log, live: LiveModel, file: str | os.PathLike[str], *, frozen: bool
) -> Challenger:
    """Return a challenger of which the log does not know."""
    first, n_events = live.served.labels, len(log.events())

    def model_at(n_labels: int) -> LiveModel:
        other = LiveModel.load(file)
        other.served = Served(first, n_events)
        catch_up(other, log, n_labels)
        return other

    other = LiveModel.load(file)
    try:
        live.check_challenger(other)
    except InputError as error:
        raise InputError(error.message, file=str(file)) from None
    other.model_at = model_at
    return Challenger(Path(file).stem, other, frozen, is_logged=False)


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

    Parameters
    ----------
    live : LiveModel
        It has learned what is before.
    log : Log
        The log.
    most : int
        How many labels, at most.
    n_events : int, default=None
        Only so many events of the log; None: all.
    """
    at = live.served.labels
    records = log.labeled(at, most)
    events = log.events()[live.served.events : n_events]  # after the labels; see `add_event`
    if due := [event for event in events if event.at <= at]:
        return [], due
    if events:
        records = records[: events[0].at - at]
    return records, []


def of_challenger(file: Path, name: str) -> Path:
    """Return the file of a challenger beside that of the model that is served."""
    return file.with_name(f"{file.stem}-{name}.safetensors")


def files_of(live: LiveModel, file: Path) -> dict[Path, Callable[[Path], None]]:
    """Return the files of a snapshot, the main one last, and what writes each."""
    found: dict[Path, Callable[[Path], None]] = {}
    for one in live.challengers:
        if not one.is_logged:
            continue
        known = {
            "at": live.served.labels,
            "frozen": one.frozen,
            "compared": one.compared.to_json(),
        }
        found[of_challenger(file, one.name)] = partial(one.live.save, compared=known)
    return {**found, file: live.save}


def events_of(file: Path) -> int:
    """Return how many events a snapshot has seen."""
    served = read_info(file).get("served")
    return int(served.get("events", 0)) if isinstance(served, dict) else 0


def _is_same(live: LiveModel, file: Path) -> bool:
    """Return whether the files of a model would have the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        for path, save in files_of(live, file).items():
            again = Path(folder) / path.name
            save(again)
            if not path.is_file() or sha256_of(again) != sha256_of(path):
                return False
    return True


def sha256_of(file: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
