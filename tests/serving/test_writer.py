"""The process that commits, as the loop of a server and that of Python know it."""

import asyncio
import os
import shutil
import signal
import sqlite3
import sys
from contextlib import closing
from types import SimpleNamespace

import pytest

from crossview.server_log.addresses import LOG
from crossview.server_log.databases import AwayError, Sqlite
from crossview.server_log.log import Prediction, own_id
from crossview.serving.storage.commits import KNOWN, NEW, Entry
from crossview.serving.storage.folder import Folder
from crossview.serving.storage.writer import NotWrittenError, Writer


def run(loop, main):
    if loop == "uvloop":
        pytest.importorskip("uvloop", reason="uvloop is not installed").run(main)
    else:
        asyncio.run(main)


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9")
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("noticed", [True, False])
def test_another_process_is_asked_where_one_was_killed(tmp_path, model_file, loop, noticed):
    """Whether or not the loop has noticed it by then."""

    async def main(where, first):
        writer = Writer(where, lambda newest: None, 1000)
        row = Prediction(first, own_id(first), 1, "{}", 0, "null", "null")
        await writer.write(Entry([row]))
        killed = writer.process
        os.kill(killed, signal.SIGKILL)
        while noticed and writer._process.returncode is None:
            await asyncio.sleep(0.01)
        for outcome in (NEW, KNOWN):
            entry = Entry(labels=[(row.id, "1")])
            await writer.write(entry)
            assert entry.outcome == [outcome]
        assert writer.process != killed
        assert writer.failure is None
        assert writer.waiting == 0
        await writer.close()
        assert writer.process is None

    with closing(Folder(tmp_path)) as folder, closing(folder.open(model_file)) as log:
        run(loop, main(folder.where, log.begin_run()))
        assert log.counts().labels == 1


def test_a_bug_of_the_process_is_told_and_others_are_written(tmp_path, model_file):
    async def main(where):
        writer = Writer(where, lambda newest: None, 1000)
        with pytest.raises(NotWrittenError, match="TypeError: "):
            await writer.write(Entry(work=(divmod, (1, 2))))
        assert "TypeError" in writer.failure
        await writer.write(Entry())
        assert writer.failure is None
        await writer.close()

    with closing(Folder(tmp_path)) as folder, closing(folder.open(model_file)):
        run("asyncio", main(folder.where))


def test_a_full_disk_is_called_so(tmp_path, monkeypatch):
    (tmp_path / LOG).touch()
    folder = Sqlite(tmp_path)
    for free, words in ((1 << 30, "disk I/O error"), (4096, "the disk is full")):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        with (
            pytest.raises(AwayError, match=rf"cannot be used \({words}\)"),
            folder.reading(),
        ):
            raise sqlite3.OperationalError("disk I/O error")
    folder.close()
