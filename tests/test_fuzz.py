"""A short run of `make fuzz`; a crash of a trial is a failure that the run names."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent.parent / "fuzz"


def run(script, trials, seed="1"):
    command = [sys.executable, FUZZ / script, "--seed", seed, "--trials", trials, "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{trials} trials" in done.stdout
    return done.stdout


@pytest.mark.parametrize("script", sorted(FUZZ.glob("*.py")), ids=lambda path: path.name)
def test_what_a_script_imports_is_there(script):
    """Most imports are in functions that only some trials call."""
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("crossview"):
            module = importlib.import_module(node.module)
            assert all(hasattr(module, name.name) for name in node.names), node.module


def test_mutants_of_model_files_are_refused_or_work():
    assert " works" in run("models.py", "25")


@pytest.mark.exhaustive
def test_tables_by_chance_are_read_or_refused():
    assert " learned" in run("tables.py", "30", seed="5")


@pytest.mark.exhaustive
def test_text_rows_by_chance_are_read_or_refused():
    assert " learned" in run("rows.py", "60")


@pytest.mark.exhaustive
def test_command_lines_by_chance_end_with_one_line_at_most():
    said = run("commands.py", "30")
    assert " status_0" in said
    assert " status_2" in said


CRASHES = """
import os, time
import harness

def trial(rng):
    i = int(rng.integers(20))
    if i == 3:
        os.abort()
    if i == 4:
        raise KeyError("four")
    if i == 5:
        bytearray(2**40)
    if i == 6:
        time.sleep(60)
    return "works"

harness.SECONDS = 2
options = harness.parser("").parse_args(["--trials", "60", "--jobs", "1"])
raise SystemExit(harness.fuzz(trial, options))
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_a_crash_a_hang_and_greed_are_failures_and_the_rest_goes_on():
    command = [sys.executable, "-c", CRASHES]
    done = subprocess.run(command, cwd=FUZZ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    for what in ("exit status -6", "exit status -14", "KeyError: 'four'", "MemoryError"):
        assert what in done.stdout
    assert "60 trials" in done.stdout
