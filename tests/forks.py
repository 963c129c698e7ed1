"""Commands in forks of a process that has loaded what they need, which takes most of their time.

A fork is a process of its own: it has a working folder, an environment and standard streams, ends
with a status, and can be killed.  How a command starts is for tests of real processes.
"""

import atexit
import contextlib
import functools
import importlib
import io
import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

# what every command loads before it looks at its arguments, and some tables
LIGHT = ["crossview.cli.app", "crossview.cli.opening", "duckdb", "pyarrow.csv", "pyarrow.parquet"]
# what training, predicting and comparing load
HEAVY = [*LIGHT, "crossview.comparing.compare", "crossview.predicting.predict"]
HEAVY += [
    "crossview.training.train",
    "crossview.saving.model_files",
    "crossview.estimators.coupled",
]


class Fork:
    """A running command: what ``subprocess.Popen`` is for a process."""

    def __init__(self, server: subprocess.Popen, job: dict) -> None:
        self._server = server
        server.stdin.write(json.dumps(job) + "\n")
        server.stdin.flush()
        self.pid = self._read("begins")

    def _read(self, what: str) -> int:
        """Return the number of the next line that says so; earlier ends may be before it."""
        for line in self._server.stdout:
            word, number = line.split()
            if word == what:
                return int(number)
        raise ChildProcessError("the process that forks has ended")

    def kill(self, signal: int) -> None:
        """Send a signal."""
        os.kill(self.pid, signal)

    def wait(self) -> int:
        """Wait for the end; return the status, negative if a signal ended it."""
        return self._read("ends")


def start(
    argv, *, loaded=True, of=0, cwd=None, stdin="/dev/null", stdout, stderr, **environment
) -> Fork:
    """Start ``crossview ARGV`` or ``-c CODE``, with files as its standard streams.

    Commands that run at the same time are of several processes: ``of`` is the number of one.
    """
    job = {
        "argv": [str(word) for word in argv],
        "cwd": str(cwd or Path.cwd()),
        "streams": [str(stdin), str(stdout), str(stderr)],
        "environment": environment,
    }
    return Fork(_server(loaded, of), job)


def run(argv, *, stdin=b"", stdout=None, **options) -> subprocess.CompletedProcess:
    """Run ``crossview ARGV`` or ``-c CODE``; the streams are bytes."""
    with tempfile.TemporaryDirectory() as folder:
        given, out, err = (Path(folder, name) for name in ("in", "out", "err"))
        given.write_bytes(stdin)
        status = start(argv, stdin=given, stdout=stdout or out, stderr=err, **options).wait()
        written = b"" if stdout else out.read_bytes()
        return subprocess.CompletedProcess(argv, status, written, err.read_bytes())


@functools.cache
def _server(loaded: bool, of: int) -> subprocess.Popen:
    source = str(Path(__file__).parents[1] / "src")
    server = subprocess.Popen(
        [sys.executable, __file__, "loaded" if loaded else "light"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": source, "COLUMNS": "80"},
    )

    def end() -> None:
        with server:  # closes its streams, and waits
            server.kill()

    atexit.register(end)
    return server


def _serve(modules: list[str]) -> None:
    for module in modules:
        importlib.import_module(module)
    from crossview.cli import main

    with contextlib.redirect_stdout(io.StringIO()):
        main(["--version"])  # makes the commands, for all forks
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _become(json.loads(line))
        print("begins", pid, flush=True)
        print("ends", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _become(job: dict) -> None:
    status = 1
    try:
        os.chdir(job["cwd"])
        os.environ.update(job["environment"])
        for number, file in enumerate(job["streams"]):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT
            os.dup2(os.open(file, flags), number)
        encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
        sys.stdin = os.fdopen(0, encoding=encoding)
        sys.stdout = os.fdopen(1, "w", encoding=encoding)
        sys.stderr = os.fdopen(2, "w", encoding=encoding, errors="backslashreplace")
        if job["argv"][0] == "-c":
            sys.argv = ["-c", *job["argv"][2:]]
            exec(job["argv"][1], {"__name__": "__main__"})
            status = 0
        else:
            from crossview.cli import main

            status = main(job["argv"])
        sys.stdout.flush()
    except SystemExit as end:
        status = end.code or 0
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve(HEAVY if sys.argv[1] == "loaded" else LIGHT)
