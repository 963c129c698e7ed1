"""Where compiled code is cached, and what the whole suite may have compiled."""

import hashlib
import json
import os
import tempfile
from pathlib import Path

import pytest

from compiled_loops import LOOPS, signatures

_package = Path(__file__).parents[1] / "src" / "crossview"


def _compiled_sources() -> str:
    """A hash of everything that the compiled loops are made of.

    Numba's disk cache looks only at the file of the function that it compiles,
    not at those it calls; a folder a version keeps stale machine code away.
    """
    digest = hashlib.sha256()
    for path in sorted(
        [_package / "_jit.py", *_package.glob("kernels/*.py"), *_package.glob("algorithms/*.py")]
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# before the first import of numba
os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"crossview-numba-{_compiled_sources()}")
)

# the workers of pytest-xdist share the cores and the cache
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # before numpy

    import fcntl

    from numba.core.caching import IndexDataCacheFile

    _save = IndexDataCacheFile.save

    def _save_alone(cache, key, code):
        """Two processes at once may give the code for two types of a function one file name."""
        with Path(os.environ["NUMBA_CACHE_DIR"], "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _save(cache, key, code)

    IndexDataCacheFile.save = _save_alone


@pytest.fixture(scope="session", autouse=True)
def two_workers_compile_different_loops():
    """Fill an empty cache from both ends, so that two workers seldom compile the same loop."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    filled = Path(os.environ["NUMBA_CACHE_DIR"], "filled")
    if worker and not filled.exists() and "NUMBA_DISABLE_JIT" not in os.environ:
        from contract.instances import run_every_loop

        run_every_loop(backwards=int(worker.removeprefix("gw")) % 2 == 1)
        filled.touch()


@pytest.fixture(scope="session", autouse=True)
def each_loop_is_compiled_once_by_all_tests_together(request, tmp_path_factory):
    """Another type of argument means another compilation, which takes a user seconds.

    Each process writes what it compiled when it ends, so the last one sees what all of them
    compiled.
    """
    yield
    shared = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        shared = shared.parent
    written = shared / f"{os.getpid()}.part"
    written.write_text(json.dumps({loop: signatures(loop) for loop in LOOPS}))
    written.rename(written.with_suffix(".signatures"))
    parts = [json.loads(path.read_text()) for path in shared.glob("*.signatures")]
    for loop, most in LOOPS.items():
        types = {one for part in parts for one in part[loop]}
        assert len(types) <= most, (loop, types)
