"""A PostgreSQL of its own for tests, from the programs that are installed."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path


def postgres_binaries():
    """The folder of PostgreSQL's server, or None."""
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    folders = [*known, *([Path(found).parent] if found else [])]
    return next((one for one in folders if (one / "initdb").exists()), None)


class PostgresServer:
    """A server that listens to a socket in a folder, and can be killed and started again."""

    def __init__(self, folder, settings):
        self.folder, self._settings = folder, settings
        self.binaries = postgres_binaries()
        self._data = f"{folder}/data"
        # it refuses to be root
        user = {"user": "nobody"} if os.getuid() == 0 else {}
        if user:
            shutil.chown(folder, "nobody")
        self._options = dict(check=True, capture_output=True, cwd=folder, **user)
        initdb = [self.binaries / "initdb", "-D", self._data, "-A", "trust", "-U", "tester"]
        subprocess.run([*initdb, "-E", "UTF8", "-N"], **self._options)
        self.start()

    def _control(self, *words):
        control = [self.binaries / "pg_ctl", "-D", self._data, "-w", *words]
        subprocess.run(control, **self._options)

    def start(self):
        """Start it; after a kill, too."""
        settings = f"-k {self.folder} -c listen_addresses='' {self._settings}"
        self._control("-l", f"{self.folder}/log", "-o", settings, "start")

    def stop(self):
        """End it at once."""
        self._control("-m", "immediate", "stop")

    def kill(self):
        """Kill all of its processes, as a machine that loses its power does."""
        main = int(Path(self._data, "postmaster.pid").read_text().split()[0])
        os.kill(main, signal.SIGSTOP)  # it starts no more of them
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(main)], **self._options)
        killed = (main, *map(int, listed.stdout.split()))
        for pid in killed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while any(map(_runs, killed)):
            time.sleep(0.01)
        # where nobody has reaped them yet, the next server would take them for running
        for lock in (f"{self._data}/postmaster.pid", f"{self.folder}/.s.PGSQL.5432.lock"):
            Path(lock).unlink()

    def make_database(self, name):
        """Make a database; return its address."""
        self.run(f'CREATE DATABASE "{name}"')
        return f"postgresql://tester@/{name}?host={self.folder}"

    def run(self, script, database="postgres"):
        """Return what psql says to a script."""
        words = [self.binaries / "psql", "-h", self.folder, "-U", "tester", "-q", "-A", "-t"]
        found = subprocess.run(
            [*words, "-v", "ON_ERROR_STOP=1", database],
            input=script,
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stderr[:2000]
        return found.stdout


def _runs(pid):
    """Whether there is such a process, which has not ended."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False)
    return bool(found.stdout.strip()) and not found.stdout.strip().startswith(b"Z")


@contextmanager
def postgres_server(settings="-c fsync=off"):
    """Yield a server, which is gone in the end."""
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        server = PostgresServer(folder, settings)
        try:
            yield server
        finally:
            server.stop()
