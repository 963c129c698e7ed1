"""How a command ends: a full disk, a pipe that breaks, signals, two runs; and what is left."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import forks
from command_line import HERE, python, read_csv, run
from crossview import cli
from crossview.cli import progress

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and devices of POSIX")

ENDLESS = "SELECT b.* FROM 'bc.parquet' b, range(1000000000)"
PREDICT = ["predict", "m.safetensors"]


def start(*argv):
    environment = os.environ | {"PYTHONPATH": str(HERE / "src")}
    command = [sys.executable, "-m", "crossview", *argv]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def default_handler(number, request):
    """A process in the background may ignore it, and so would the ones that it starts."""
    default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    before = signal.signal(number, default)
    request.addfinalizer(lambda: signal.signal(number, before))
    return default


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("number", "status", "line"),
    [
        (signal.SIGTERM, 143, "crossview: terminated\n"),
        pytest.param(
            *(getattr(signal, "SIGHUP", 1), 129, "crossview: terminated\n"),
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            *(signal.SIGINT, 130, "crossview: interrupted\n"), marks=pytest.mark.exhaustive
        ),
    ],
)
def test_a_signal_leaves_the_state_before(number, status, line, here, request):
    default_handler(number, request)
    before = names(here)
    Path("p.csv").write_text("old\n")
    process = start(*PREDICT, ENDLESS, "-o", "p.csv")
    # an unfinished file that grows
    wait_for(lambda: any(p.stat().st_size for p in here.glob(".crossview-*/p.csv")))
    process.send_signal(number)
    assert process.communicate(timeout=60)[1] == line
    assert process.returncode == status
    assert names(here) == [*before, "p.csv"]
    assert Path("p.csv").read_text() == "old\n"


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_in_a_function_that_c_calls_ends_the_command(
    number, status, fails, monkeypatch, request
):
    handler = default_handler(number, request)

    def compiles(**_):
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))()  # Python only prints it
        if fails:  # for want of what the function should have left
            raise RuntimeError("no compiled object yet")
        wait_for(lambda: False)

    monkeypatch.setattr(cli, "_made", lambda app: SimpleNamespace(main=compiles))
    assert cli.main([]) == status
    assert signal.getsignal(number) == handler


@pytest.mark.exhaustive
def test_workers_end_with_a_comparison_that_is_killed(here, monkeypatch):
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT")
    process = start("compare", "bc.parquet", "--label", "diagnosis", "--jobs", "2")

    def workers():
        command = ["pgrep", "-P", str(process.pid)]
        return subprocess.run(command, capture_output=True, text=True).stdout.split()

    def is_alive(pid):
        stat = Path(f"/proc/{pid}/stat")
        with contextlib.suppress(OSError):
            return stat.read_text().rpartition(")")[2].split()[0] != "Z"
        return False

    wait_for(lambda: len(workers()) >= 2)
    time.sleep(5.0)  # they load what they need
    started = workers()
    process.kill()
    process.wait()
    process.stderr.close()
    wait_for(lambda: not any(map(is_alive, started)))


@pytest.mark.exhaustive
def test_a_killed_run_leaves_what_the_next_one_removes(here):
    before = names(here)
    process = start(*PREDICT, ENDLESS, "-o", "p.csv")
    wait_for(lambda: any(p.stat().st_size for p in here.glob(".crossview-*/p.csv")))
    process.kill()
    process.communicate()
    (left,) = here.glob(".crossview-*")
    os.utime(left, (0, 0))  # long ago
    assert python("-m", "crossview", *PREDICT, "bc.parquet", "-o", "p.csv").returncode == 0
    assert names(here) == [*before, "p.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full of Linux")
def test_a_full_disk_is_one_line_and_the_table_is_printed(here, capsys, monkeypatch):
    for argv in ([*PREDICT, "bc.parquet"], ["inspect", "m.safetensors"]):
        done = forks.run(argv, stdout="/dev/full")
        assert done.returncode == 2
        assert done.stderr.endswith(b"No space left on device\n")
        assert len(done.stderr.splitlines()) == 1
    status, out, err = run(capsys, *PREDICT, "bc.parquet", "-o", "/dev/full")
    assert (status, out) == (2, [])
    assert err == ["crossview: error: /dev/full: cannot be written (No space left on device)"]
    compare = ["compare", "bc.parquet", "--label", "diagnosis", "--model", "view:worst"]
    compare += ["--model", "arow", "--cv", "2", "--json", "/dev/full"]
    for name in ("SECONDS_TO_LINE", "SECONDS_PER_LINE"):
        monkeypatch.setattr(progress, name, 0.001)  # also a line now and then
    status, out, err = run(capsys, *compare)
    assert status == 2
    assert any("view:worst" in line for line in out)
    assert any(line.startswith("0 s: ") for line in err)
    assert "No space left" in err[-1]


@pytest.mark.exhaustive
def test_two_runs_onto_one_output_leave_one_of_them(here):
    before = names(here)
    rows = "SELECT * FROM 'bc.parquet' LIMIT {}"
    runs = [start(*PREDICT, rows.format(n), "-o", "p.csv") for n in (100, 200)]
    for process in runs:
        process.communicate(timeout=120)
        assert process.returncode == 0
    assert len(read_csv("p.csv")) in (100, 200)
    assert names(here) == [*before, "p.csv"]
