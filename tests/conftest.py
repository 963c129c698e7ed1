"""Where compiled code is cached, and what the whole suite may have compiled."""

import gc
import hashlib
import json
import os
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import hypothesis
import pytest

from compiled_loops import LOOPS, signatures

# before the first import of numba; code of other versions is stale by itself (`crossview._jit`)
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / "crossview-numba"))

# what a loop calls is compiled for Python by its first example
hypothesis.settings.register_profile("few", deadline=None, max_examples=20)
hypothesis.settings.register_profile("many", deadline=None, max_examples=200)


# `make test` leaves them to `make test-slow`
SLOW = Path(__file__).with_name("slow.txt")
_seconds: dict[str, Counter] = defaultdict(Counter)  # by function and test


def pytest_addoption(parser):
    """Add what makes the list of slow tests again."""
    parser.addoption(
        "--write-slow",
        type=float,
        metavar="SECONDS",
        help=f"write the functions whose tests take longer in the mean to {SLOW.name}",
    )


@pytest.hookimpl(tryfirst=True)  # before those of other markers are left out
def pytest_collection_modifyitems(items):
    """Mark the tests that are listed as slow."""
    slow = set(SLOW.read_text().splitlines())
    for item in items:
        if _function(item.nodeid) in slow:
            item.add_marker("slow")


def _function(nodeid):
    return nodeid.partition("[")[0]


def pytest_runtest_logreport(report):
    """Add up what a test took with its fixtures."""
    _seconds[_function(report.nodeid)][report.nodeid] += report.duration


def pytest_sessionfinish(session):
    """Write the list, if asked to; the workers of pytest-xdist have a part each."""
    most = session.config.getoption("write_slow")
    if most and not hasattr(session.config, "workerinput"):
        slow = [name for name, tests in _seconds.items() if tests.total() / len(tests) > most]
        SLOW.write_text("".join(f"{name}\n" for name in sorted(slow)))


def pytest_configure(config):
    """Each run tries other examples; `make test-all` tries many."""
    hypothesis.settings.load_profile("few" if config.getoption("markexpr") else "many")
    gc.disable()


def pytest_collection_finish():
    """What is loaded stays: to look through it took a third of the time of collecting."""
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


# a comparison starts no workers, which load everything again, unless a test asks for some
os.environ["LOKY_MAX_CPU_COUNT"] = "1"

# the workers of pytest-xdist share the cores and the cache
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # before numpy


@pytest.fixture(scope="session", autouse=True)
def two_workers_compile_different_loops():
    """Fill an empty cache from both ends, so that two workers seldom compile the same loop."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker or "NUMBA_DISABLE_JIT" in os.environ:
        return
    from crossview._jit import sources_digest

    cache = Path(os.environ["NUMBA_CACHE_DIR"])
    # of the files in this folder: another clone of them has a cache of its own
    folder = hashlib.sha256(str(Path(__file__).parent).encode()).hexdigest()
    filled = cache / f"filled-{sources_digest()[:16]}-{folder[:16]}"
    if filled.exists():
        return
    cache.mkdir(parents=True, exist_ok=True)
    from contract.instances import calls_of_every_loop

    calls = list(enumerate(calls_of_every_loop()))
    for i, call in reversed(calls) if int(worker.removeprefix("gw")) % 2 else calls:
        try:
            (cache / f"{os.environ['PYTEST_XDIST_TESTRUNUID']}-{i}").touch(exist_ok=False)
        except FileExistsError:  # the other worker does it
            continue
        call()
    filled.touch()


@pytest.fixture(autouse=True)
def each_test_draws_the_same_numbers(request):
    """A file's generator starts anew, whichever tests have run before."""
    rng = getattr(request.module, "RNG", None)
    if rng is not None:
        state = vars(request.module).setdefault("STATE_OF_RNG", rng.bit_generator.state)
        rng.bit_generator.state = state


@pytest.fixture(scope="session", autouse=True)
def models_are_small():
    """Most tests are not about what trees and networks learn, which takes longer than all else."""
    from comparisons import SMALL, models_have

    with models_have(SMALL):
        yield


@pytest.fixture(scope="module")
def models_are_as_in_use():
    """They have as many trees and passes as without tests."""
    from comparisons import AS_IN_USE, models_have

    with models_have(AS_IN_USE):
        yield


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
