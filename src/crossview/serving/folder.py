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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from crossview.data.server_log import LOG, Log, Snapshot
from crossview.errors import InputError
from crossview.saving.files import MODEL, replacing
from crossview.saving.model_header import read_header
from crossview.serving.beginning import Beginning
from crossview.serving.live import LiveModel

__all__ = ["FIRST", "Folder", "Replayed", "catch_up", "replay"]

FIRST, FIRST_NEW, SNAPSHOTS = "first.safetensors", "first.json", "snapshots"
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
            live.model_at = partial(self._model_at, log)
            return live
        live, live.first = LiveModel.load(self.first), LiveModel.load(self.first)
        live.hashes_rows = live.first.hashes_rows = log.about().get("rows") == "slots"
        live.model_at = partial(self._model_at, log)
        return live

    def _model_at(self, log: Log, n_labels: int) -> LiveModel:
        """Return the model of when so many labels were learned."""
        live = self.newest_model(log, lambda _: None, n_labels)
        live.model_at = None  # one by one
        catch_up(live, log, n_labels)
        return live

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
        n_labels = log.counts().labels
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
            except InputError as error:
                say(f"warning: {error}; went on from an older one")
                continue
            return self._with_first(live, log)
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
        return self._with_first(LiveModel.load(file), log)

    def _with_first(self, live: LiveModel, log: Log) -> LiveModel:
        """Return a model of a snapshot, which is scored beside the first one."""
        first = self.first_model(log)
        live.first, live.hashes_rows = first.first, first.hashes_rows
        live.model_at = first.model_at
        return live

    def base_file(self, labels: int) -> Path:
        """Return the file of the model from which a replay begins."""
        return self.path / f"base-{labels:015d}.safetensors"

    def write_base(self) -> tuple[int, str] | None:
        """Copy the newest snapshot, for replays to begin from; return its labels and checksum."""
        for labels, snapshot in self.snapshot_files():
            file = self.base_file(labels)
            with replacing(file, MODEL) as unfinished:
                shutil.copyfile(snapshot, unfinished)
            LiveModel.load(file)  # it is sound
            return labels, sha256_of(file)
        return None

    def remove_bases(self, log: Log) -> None:
        """Remove the files of bases that are no longer one."""
        base = log.base()
        for file in self.path.glob("base-*.safetensors"):
            if base is not None and file != self.base_file(base[0]):
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
        live.save(file)
        for _, old in self.snapshot_files()[MOST_SNAPSHOTS:]:
            old.unlink(missing_ok=True)
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
    """

    labels: int
    same: list[int]
    different: list[int]
    seconds: float


def replay(
    path: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] | None = None,
) -> Replayed:
    """Learn the log of a folder from its first model on, and compare the model with snapshots.

    Parameters
    ----------
    path : path-like
        The folder, of a server that runs or has ended.
    output : path-like, default=None
        Write the model at the end to this file.
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
        began = time.perf_counter()
        same: list[int] = []
        different: list[int] = []
        for at in sorted({*snapshots, n_labels}):
            catch_up(live, log, at)
            if at in snapshots and snapshots[at].exists():  # a server removes old ones
                (same if _is_same(live, snapshots[at]) else different).append(at)
        seconds = time.perf_counter() - began
    finally:
        log.close()
    if output is not None:
        live.save(output)
    return Replayed(n_labels - base, same, different, seconds)


def catch_up(live: LiveModel, log: Log, n_labels: int) -> None:
    """Learn the labels of a log until so many are learned."""
    while live.served.labels < n_labels:
        live.learn(log.labeled(live.served.labels, min(BATCH, n_labels - live.served.labels)))


def _is_same(live: LiveModel, file: Path) -> bool:
    """Return whether the file of a model would have the same bytes."""
    with tempfile.TemporaryDirectory() as folder:
        live.save(Path(folder) / "model.safetensors")
        return sha256_of(Path(folder) / "model.safetensors") == sha256_of(file)


def sha256_of(file: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
