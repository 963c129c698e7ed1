"""Each loop is compiled for few types, and does the same without the compiler."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from compiled_loops import LOOPS, signatures
from contract.instances import REPRESENTATIVES, calls_of_every_loop
from package_source import modules


@pytest.fixture(scope="module")
def every_loop_ran():
    for call in calls_of_every_loop():
        call()


@pytest.mark.usefixtures("every_loop_ran")
@pytest.mark.parametrize("loop", LOOPS)
def test_each_loop_is_compiled_for_as_many_types_as_allowed(loop):
    """The same holds for the tests of all processes together: see conftest.py."""
    assert len(signatures(loop)) == LOOPS[loop], signatures(loop)


SELECTION = (
    f"slow_reference and (PA-II or percep) or single_rows and ({' or '.join(REPRESENTATIVES)})"
)
HASHES_WRAP = "ignore:overflow encountered in scalar:RuntimeWarning"  # NumPy's warning, not Numba's


@pytest.mark.exhaustive  # a process that compiles every loop again, or interprets it
@pytest.mark.parametrize("setting", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_a_selection_passes_as_plain_python_and_with_bounds_checked(setting, tmp_path):
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", HASHES_WRAP, "-k", SELECTION]
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=Path(__file__).parents[1],
        env=env | {setting: "1", "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


def test_no_two_named_tuples_of_loops_look_alike():
    """Numba tells them by the names of class and fields, and looks at each field of one of two."""
    found = [
        (node.name, *(own.target.id for own in node.body if isinstance(own, ast.AnnAssign)))
        for name, tree in modules().items()
        if name.startswith(("crossview.kernels", "crossview.algorithms", "crossview.data"))
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and [ast.unparse(b) for b in node.bases] == ["NamedTuple"]
    ]
    assert len(found) > 20
    assert len({*found}) == len(found), sorted(found)
