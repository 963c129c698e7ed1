"""How compiled code is cached: what is inlined from another file makes it stale."""

import importlib
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import numba
import pytest
from filelock import FileLock
from numba.core import event
from numba.core.caching import InTreeCacheLocator

from crossview import _jit
from crossview.compiling import seconds_of_compiling, seconds_of_work

PIECE = """
from toy._jit import inlined

@inlined
def piece(x):
    return x + {}
"""
LOOP = """
from toy._jit import njit
from toy.algorithms.rules.piece import piece

@njit
def loop(x):
    return 10.0 * piece(x)
"""
pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package with our `_jit`, whose loop inlines a function of a subfolder."""
    package = tmp_path / "toy"
    write(package / "algorithms" / "loop.py", LOOP)
    write(package / "algorithms" / "rules" / "piece.py", PIECE.format(1))
    shutil.copy(_jit.__file__, package / "_jit.py")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")

    def load():
        for name in [name for name in sys.modules if name.partition(".")[0] == "toy"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        return importlib.import_module("toy.algorithms.loop").loop

    load.package = package
    yield load
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy"]:
        del sys.modules[name]


def test_an_edit_of_an_inlined_function_makes_the_cached_loop_stale(toy):
    assert toy()(1.0) == 20.0
    again = toy()
    assert again(1.0) == 20.0
    assert sum(again.stats.cache_hits.values()) == 1
    write(toy.package / "algorithms" / "rules" / "piece.py", PIECE.format(200))
    edited = toy()
    assert edited(1.0) == 2010.0
    assert sum(edited.stats.cache_hits.values()) == 0


def test_a_type_that_has_moved_makes_the_cached_loop_stale(toy):
    """Its code says for which types it is, and cannot be read where one is gone."""
    record = "from typing import NamedTuple\n\nclass Record(NamedTuple):\n    x: float\n"
    loop = "from toy._jit import njit\n{}\n\n@njit\ndef loop(record):\n    return record.x\n"
    inside = toy.package / "algorithms" / "rules" / "piece.py"
    write(inside, record)
    write(
        toy.package / "algorithms" / "loop.py",
        loop.format("from toy.algorithms.rules.piece import Record\n\n\n\n"),
    )
    toy()
    assert sys.modules["toy.algorithms.loop"].loop(sys.modules["toy.algorithms.loop"].Record(2.0))
    write(inside, "")
    write(toy.package / "algorithms" / "loop.py", loop.format(record))
    assert toy()(sys.modules["toy.algorithms.loop"].Record(3.0)) == 3.0


def test_what_a_loop_calls_is_compiled_for_python_only_when_python_calls_it(toy):
    loop = toy()
    assert loop(1.0) == 20.0
    files = {file.name.partition("-")[0] for file in toy.package.rglob("*.nbc")}
    assert files == {"loop.loop"}
    piece = sys.modules["toy.algorithms.rules.piece"].piece
    assert piece.signatures == loop.signatures
    assert piece(2.0) == 3.0  # now it is, once, and cached
    assert piece(2.0) == 3.0
    assert len(list(toy.package.rglob("piece.piece*.nbc"))) == 1
    # an integer is another type, and finds no code of the first one
    assert loop(1) == 20.0
    assert len(piece.signatures) == 2


def test_a_process_waits_for_another_one_that_compiles_the_same(toy):
    toy()(1.0)
    (file,) = toy.package.rglob("*.nbc")
    code = file.read_bytes()
    file.unlink()
    assert toy()(1.0) == 20.0  # nobody else compiles
    file.unlink()
    other = FileLock(f"{file}.lock", thread_local=False)
    other.acquire()

    def finish():
        file.write_bytes(code)
        other.release()

    class Other(event.Listener):
        def on_start(self, started):
            if "waits" in started.data:
                threads.append(threading.Thread(target=finish))
                threads[0].start()

        def on_end(self, _):
            pass

    threads, listener, loop = [], Other(), toy()
    event.register("numba:compile", listener)
    try:
        assert loop(1.0) == 20.0
    finally:
        event.unregister("numba:compile", listener)
    threads[0].join()
    assert sum(loop.stats.cache_hits.values()) == 1
    assert not list(toy.package.rglob("*.lock"))


def test_two_processes_that_compile_for_two_types_at_once_keep_the_code_of_each(
    tmp_path, monkeypatch
):
    one, other = (_jit._CodeFiles(str(tmp_path), "loop", "stamp") for _ in range(2))
    replace, waiting = os.replace, ["the other process"]

    def replace_late(*names):
        if waiting:  # it begins and ends before the first file is in its place
            waiting.clear()
            other.save(("float64",), "code for numbers")
        replace(*names)

    monkeypatch.setattr(os, "replace", replace_late)
    one.save(("array",), "code for arrays")
    for reader in (one, other):
        assert reader.load(("array",)) == "code for arrays"
        assert reader.load(("float64",)) == "code for numbers"
    assert not waiting
    # what is stale, of another Numba or cut is compiled again
    assert _jit._CodeFiles(str(tmp_path), "loop", "edited").load(("array",)) is None
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:-3])
    assert one.load(("array",)) is None
    one._version = "0.1"
    assert one.load(("float64",)) is None


def test_every_compiled_source_counts(tmp_path):
    """All files that hold a compiled function."""
    shutil.copytree(
        Path(_jit.__file__).parent, tmp_path / "p", ignore=shutil.ignore_patterns("__pycache__")
    )
    compiled = [
        p
        for p in (tmp_path / "p").rglob("*.py")
        if re.search(r"^@(njit|inlined|borrowing)", p.read_text(), re.MULTILINE)
    ]
    assert len(compiled) > 10
    digest = _jit.sources_digest.__wrapped__
    for path in [tmp_path / "p" / "_jit.py", *compiled]:
        before = digest(tmp_path / "p")
        write(path, path.read_text() + "\n# edited\n")
        assert digest(tmp_path / "p") != before, path


def test_a_package_that_cannot_be_written_is_cached_elsewhere_or_not_at_all(
    toy, monkeypatch, tmp_path
):
    def refuse(self):
        raise OSError("read-only")

    def folder_of_cache(loop):
        assert loop(1.0) == 20.0
        return Path(loop._cache.cache_path)

    (tmp_path / "file").touch()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(InTreeCacheLocator, "ensure_cache_path", refuse)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert folder_of_cache(toy()).is_relative_to(tmp_path / "user")
    # nor can the home folder
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert folder_of_cache(toy()).is_relative_to(temporary)
    # a folder that others may write is not trusted: the cache runs code
    (own,) = temporary.iterdir()
    own.chmod(0o777)
    assert type(toy()._cache).__name__ == "NullCache"
    assert toy()(1.0) == 20.0


def test_waiting_for_what_another_process_compiles_is_no_work():
    work, compiled = seconds_of_work(), seconds_of_compiling()
    with event.trigger_event("numba:compile", data={}):
        while seconds_of_compiling() - compiled < 0.02:
            time.sleep(0.001)  # which no processor does
    assert seconds_of_work() >= work
