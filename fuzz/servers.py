"""Kill a server at random moments under load; nothing that it acknowledged may be lost.

Clients remember what was answered: durable predictions, and labels.  The server is stopped for a
while (SIGSTOP) before one kill in four, the process that commits is killed before every other one,
and the server starts again after each.  In the end the log has all of that, each label once, and
the model of the server is that of a replay, byte by byte.

    python fuzz/servers.py MODEL.safetensors ROWS.jsonl --kills 1000

Then bytes of its log are changed at many places: a replay refuses it, or gives the same model.

    python fuzz/servers.py MODEL.safetensors ROWS.jsonl --kills 20 --damage 1000

Several servers of one log: the one that leads is killed, or stands still until another one leads.

    python fuzz/servers.py MODEL.safetensors ROWS.jsonl --kills 20 --log postgresql://user@host/db

Requests are cut and changed: each is answered, none by an error of the server, and what was learned
meanwhile is learned again by a replay.  Or clients ask for an hour, and memory stays flat.

    python fuzz/servers.py MODEL.safetensors ROWS.jsonl --requests 1000000
    python fuzz/servers.py MODEL.safetensors ROWS.jsonl --soak 3600

A small disk is filled while clients ask, and emptied again: the server goes on by itself.

    mount -t tmpfs -o size=4m none /mnt/small
    python fuzz/servers.py MODEL.safetensors ROWS.jsonl --kills 0 --disk /mnt/small
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from crossview.errors import InputError
from crossview.server_log.log import Log
from crossview.serving.storage.folder import replay

CLIENTS = 3


class NotTakenError(Exception):
    """The server has refused a request."""


class Memory:
    """What the server has acknowledged."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.refused: list[str] = []


class Client(threading.Thread):
    """Sends requests until the server is gone."""

    def __init__(
        self, port: int, memory: Memory, rows: Callable[[random.Random], tuple[Any, Any]], seed: str
    ) -> None:
        super().__init__(daemon=True)
        self._port, self._memory, self._rows = port, memory, rows
        self._random, self._name = random.Random(seed), seed
        self._sent, self.ended = 0, threading.Event()

    def run(self) -> None:
        """Send, until the connection is lost."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            with contextlib.closing(connection):
                while not self.ended.is_set():
                    with contextlib.suppress(NotTakenError):
                        self._step(connection)
        except (OSError, http.client.HTTPException):
            return  # killed

    def _post(self, connection: http.client.HTTPConnection, path: str, body: Any) -> Any:
        kind = {"content-type": "application/json"}
        connection.request("POST", path, json.dumps(body), kind)
        answer = connection.getresponse()
        content = json.loads(answer.read())
        if answer.status != 200:
            self._memory.refused.append(f"{path} {answer.status}: {content}")
            raise NotTakenError
        return content

    def _step(self, connection: http.client.HTTPConnection) -> None:
        memory = self._memory
        row, label = self._rows(self._random)
        chance = self._random.random()
        self._sent += 1
        id_ = f"{self._name}/{self._sent}"
        if chance < 0.3:  # an id of ours, twice at times
            for _ in range(1 + (self._random.random() < 0.2)):
                self._post(connection, "/learn", {"id": id_, "row": row, "label": label})
                memory.labels[id_], memory.rows[id_] = json.dumps(label), json.dumps(row)
            return
        durable = chance < 0.6
        path = "/predict?durable=1" if durable else "/predict"
        rows = [row] * self._random.randint(1, 20)
        found = self._post(connection, path, {"rows": rows})["predictions"]
        ids = [one["id"] for one in found]
        if durable:
            memory.rows |= dict.fromkeys(ids, json.dumps(row))
        if chance < 0.9:
            self._post(connection, "/label", [{"id": one, "label": label} for one in ids])
            memory.labels |= dict.fromkeys(ids, json.dumps(label))


class Calm(Client):
    """Sends some requests a second."""

    def _step(self, connection: http.client.HTTPConnection) -> None:
        time.sleep(0.02)
        super()._step(connection)


class Roamer(Client):
    """Sends requests to any of several servers, and again where one is gone or cannot write."""

    def __init__(
        self,
        ports: list[int],
        memory: Memory,
        rows: Callable[[random.Random], Any],
        seed: str,
        pause: float,
    ) -> None:
        super().__init__(0, memory, rows, seed)
        self._ports, self._pause = ports, pause

    def run(self) -> None:
        """Send, until it is told to end; the cores are for the servers."""
        while not self.ended.is_set():
            time.sleep(self._pause)
            with contextlib.suppress(NotTakenError):
                self._step(None)

    def _post(self, connection: Any, path: str, body: Any) -> Any:
        kind = {"content-type": "application/json"}
        while not self.ended.is_set():
            try:
                connection = http.client.HTTPConnection(
                    "127.0.0.1", self._random.choice(self._ports), timeout=3
                )
                with contextlib.closing(connection):
                    connection.request("POST", path, json.dumps(body), kind)
                    answer = connection.getresponse()
                    content = json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
                continue
            if answer.status == 503:
                time.sleep(0.02)
                continue
            if answer.status != 200:  # a prediction that nobody waited for died with its server
                lost = [one for one in content.get("labels", [content]) if "error" in one]
                if not all("no prediction has this id" in one["error"] for one in lost):
                    self._memory.refused.append(f"{path} {answer.status}: {content}")
                raise NotTakenError
            return content
        raise NotTakenError


class Servers:
    """Servers of one log, each of which starts again where it has ended.

    Parameters
    ----------
    start : callable
        Starts a server on a port, whose stderr is a file.
    n : int
    folder : path
        For the errors of the servers.
    """

    def __init__(self, start: Callable[[int, Path], Any], n: int, folder: Path) -> None:
        self._start, self._folder = start, folder
        self.ports = _free_ports(n)
        self.running = {port: self._started(port) for port in self.ports}
        for port in self.ports:
            self.wait(port)

    def _started(self, port: int) -> Any:
        errors = self._folder / f"errors-{port}"
        errors.write_text("")
        return self._start(port, errors)

    def wait(self, port: int) -> None:
        """Wait until a server answers."""
        wait_for_port(self.running[port], self._folder / f"errors-{port}")

    def leader(self, but: int | None = None) -> int:
        """Return the port of the server that leads, once there is one."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            for port in self.ports:
                if port != but and (numbers := _ask(port, "/stats")) and numbers["leads"]:
                    return port
            time.sleep(0.05)
        raise AssertionError("no server leads")

    def start_again(self, port: int) -> None:
        """Start a server that was killed."""
        self.running[port].wait()
        self.running[port] = self._started(port)
        self.wait(port)

    def kill_leader(self) -> None:
        """Kill it; another one leads, and it comes back."""
        port = self.leader()
        self.running[port].kill(signal.SIGKILL)
        self.leader(but=port)
        self.start_again(port)

    def stop_leader(self) -> None:
        """Have it stand still until another one leads; then it goes on, and follows."""
        port = self.leader()
        self.running[port].kill(signal.SIGSTOP)
        other = self.leader(but=port)
        self.running[port].kill(signal.SIGCONT)
        until = time.monotonic() + 60
        while (_ask(port, "/stats") or {"leads": True})["leads"]:
            assert time.monotonic() < until, "two servers lead"
            time.sleep(0.05)
        assert self.leader() == other

    def kill(self) -> None:
        """Kill all."""
        for server in self.running.values():
            server.kill(signal.SIGKILL)

    def end(self) -> None:
        """Tell all to end, and wait."""
        for server in self.running.values():
            server.kill(signal.SIGTERM)
        for server in self.running.values():
            server.wait()


def share_and_check(
    where: str,
    servers: Servers,
    rows: Callable[[random.Random], tuple[Any, Any]],
    disturbances: list[Callable[[], None]],
    seed: int,
    pause: float = 0.005,
) -> tuple[int, int]:
    """Disturb servers of one log under load, and check what is left; return labels, predictions.

    Parameters
    ----------
    where : str
        The address, or the folder, of the log.
    servers : Servers
    rows : callable
        Draws a row and a label.
    disturbances : list of callable
        What happens, one after the other.
    seed : int
    pause : float, default=0.005
        Seconds between two steps of a client.
    """
    memory, chance = Memory(), random.Random(seed)
    clients = [Roamer(servers.ports, memory, rows, f"{seed}-{i}", pause) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        for disturb in disturbances:
            before, until = len(memory.labels), time.monotonic() + 60
            while len(memory.labels) < before + 50:  # it goes on
                assert time.monotonic() < until, "no label is acknowledged any more"
                time.sleep(0.02)
            time.sleep(chance.uniform(0.0, 0.3))
            disturb()
    except BaseException:
        servers.kill()
        raise
    finally:
        for client in clients:
            client.ended.set()
        for client in clients:
            client.join()
    assert not memory.refused, memory.refused[:3]
    with contextlib.closing(Log(where, read_only=True)) as log:
        _check_memory(memory, log)
        n_predictions, n_labels, _ = log.counts()
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / "again.safetensors"
        found = replay(where, output=again)
        content = again.read_bytes()
    assert not found.different, found
    for port in servers.ports:  # of several workers any one answers, and it may be behind
        until = time.monotonic() + 60
        while _content(port, "/model") != content:
            assert time.monotonic() < until, _ask(port, "/stats")
            time.sleep(0.05)
    servers.end()
    assert len(memory.labels) <= n_labels == found.labels
    return n_labels, n_predictions


def _free_ports(n: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        found = []
        for _ in range(n):
            one = stack.enter_context(socket.socket())
            one.bind(("127.0.0.1", 0))
            found.append(one.getsockname()[1])
        return found


def _content(port: int, path: str) -> bytes | None:
    """Return what a server answers; None if it does not, or refuses."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            content = answer.read()
            return content if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None


def _ask(port: int, path: str) -> Any:
    content = _content(port, path)
    return None if content is None else json.loads(content)


def wait_for_port(process: Any, errors: Path) -> int:
    """Return the port of a server that has begun to answer."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        found = re.search(r"serving at http://127\.0\.0\.1:(\d+)", errors.read_text())
        if found:
            return int(found[1])
        time.sleep(0.01)
    raise AssertionError(f"the server does not begin: {errors.read_text()}")


def kill_and_check(
    folder: Path,
    start: Callable[[Path], Any],
    rows: Callable[[random.Random], tuple[Any, Any]],
    kills: int,
    seed: int,
) -> tuple[int, int]:
    """Kill a server many times, and check what is left; return labels and predictions.

    Parameters
    ----------
    folder : path
        For the errors of the servers; ``data`` in it is the folder of the server.
    start : callable
        Starts a server on a port of its own, whose stderr is a file; it has ``kill`` and ``wait``.
    rows : callable
        Draws a row and a label.
    kills, seed : int
    """
    memory, chance, errors = Memory(), random.Random(seed), folder / "errors"
    for number in range(kills + 1):
        errors.write_text("")
        server = start(errors)
        if number < kills and number % 10 == 9:  # while it begins
            time.sleep(chance.uniform(0.0, 3.0))
        else:
            port = wait_for_port(server, errors)
            clients = [Client(port, memory, rows, f"{number}-{i}") for i in range(CLIENTS)]
            for client in clients:
                client.start()
            time.sleep(chance.uniform(0.02, 0.5))
            for own in children(server.pid) if number % 2 else []:  # which commit
                with contextlib.suppress(ProcessLookupError):
                    os.kill(own, signal.SIGKILL)
                time.sleep(chance.uniform(0.0, 0.5))
        if number < kills:
            if number % 4 == 3:  # as a machine that is asleep
                server.kill(signal.SIGSTOP)
                time.sleep(chance.uniform(0.0, 0.5))
                if chance.random() < 0.5:
                    server.kill(signal.SIGCONT)
                    time.sleep(chance.uniform(0.0, 0.3))
            server.kill(signal.SIGKILL)
            server.wait()
            for client in clients:
                client.join()
    # the last one learns what is left, and is then told to end
    assert not memory.refused, memory.refused[:3]
    return _end_and_check(folder, server, clients, memory)


def _end_and_check(
    folder: Path, server: Any, clients: list[Client], memory: Memory
) -> tuple[int, int]:
    """Tell a server to end, and check what is left; return labels and predictions."""
    for client in clients:
        client.ended.set()
    for client in clients:
        client.join()
    server.kill(signal.SIGTERM)
    server.wait()
    newest = max((folder / "data" / "snapshots").iterdir()).read_bytes()
    found = replay(folder / "data", output=folder / "again.safetensors")
    assert not found.different, found
    assert (folder / "again.safetensors").read_bytes() == newest
    with contextlib.closing(Log(folder / "data", read_only=True)) as log:
        _check_memory(memory, log)
        n_predictions, n_labels, _ = log.counts()
    assert len(memory.labels) <= n_labels == found.labels
    return n_labels, n_predictions


def soak_and_check(
    folder: Path,
    start: Callable[[Path], Any],
    rows: Callable[[random.Random], tuple[Any, Any]],
    seconds: float,
    seed: int,
) -> tuple[int, int, list[float]]:
    """Ask a server for long; return labels, predictions, and its memory in MB along the way.

    Parameters
    ----------
    folder, start, rows, seed
        As for `kill_and_check`.
    seconds : float
        How long.
    """
    memory, errors, used = Memory(), folder / "errors", list[float]()
    errors.write_text("")
    server = start(errors)
    port = wait_for_port(server, errors)
    clients: list[Client] = [Calm(port, memory, rows, f"{seed}-{i}") for i in range(CLIENTS)]
    for client in clients:
        client.start()
    for _ in range(20):
        time.sleep(seconds / 20)
        status = Path(f"/proc/{server.pid}/status").read_text()
        used.append(int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024)
    assert not memory.refused, memory.refused[:3]
    return *_end_and_check(folder, server, clients, memory), used


ODD: list[Any] = [
    None,
    True,
    -1,
    1e308,
    10**40,
    "",
    "\ud800",
    "x" * 70_000,
    [],
    {},
    [[[]]],
    {"a": {"b": {}}},
]


def odd_request(
    chance: random.Random, rows: Callable[[random.Random], tuple[Any, Any]], number: int
) -> tuple[str, bytes]:
    """Return path and body of a request that is cut or changed, or as it should be.

    Parameters
    ----------
    chance : random.Random
    rows : callable
        Draws a row and a label.
    number : int
        Of the request, for its id.
    """
    row, label = rows(chance)
    path, body = chance.choice(
        [
            ("/predict", {"row": row}),
            ("/predict?durable=1", {"row": row, "id": f"f{number}"}),
            ("/predict?explain=1", {"rows": [row, row]}),
            ("/label", {"id": f"f{chance.randrange(number + 1)}", "label": label}),
            ("/label", [{"id": f"f{chance.randrange(number + 1)}", "label": label}]),
            ("/learn", [{"row": row, "label": label}]),
            ("/invocations", {"dataframe_records": [row]}),
            ("/invocations", {"dataframe_split": {"columns": ["a"], "data": [[1]]}}),
        ]
    )
    if chance.random() < 0.5:  # a part of it is another one
        body = json.loads(json.dumps(body))
        part: Any = body
        while isinstance(part, dict | list) and part:
            key = chance.choice(list(part) if isinstance(part, dict) else range(len(part)))
            if chance.random() < 0.4 or not isinstance(part[key], dict | list):
                part[key] = chance.choice(ODD)
                break
            part = part[key]
    sent = bytearray(json.dumps(body).encode())
    kind = chance.random()
    if kind < 0.2:
        del sent[chance.randrange(len(sent)) :]
    elif kind < 0.5:
        for _ in range(chance.choice([1, 1, 3])):
            sent[chance.randrange(len(sent))] = chance.randrange(256)
    elif kind < 0.6:
        at = chance.randrange(len(sent))
        sent[at:at] = chance.choice([b'"', b"}", b"[" * 2000, b"1e999", b"\xff", b"\x00", b"NaN"])
    return path, bytes(sent)


def change_and_check(
    folder: Path,
    start: Callable[[Path], Any],
    rows: Callable[[random.Random], tuple[Any, Any]],
    n: int,
    seed: int,
) -> dict[int, int]:
    """Send requests that are cut and changed; return how many had each status.

    Parameters
    ----------
    folder, start, rows, seed
        As for `kill_and_check`.
    n : int
        Requests.
    """
    errors = folder / "errors"
    errors.write_text("")
    server = start(errors)
    port = wait_for_port(server, errors)

    def send(client: int) -> Counter[int]:
        counts = Counter[int]()
        chance = random.Random(f"{seed}-{client}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for number in range(client, n, CLIENTS):
            path, body = odd_request(chance, rows, number)
            connection.request("POST", path, body, {"content-type": "application/json"})
            answer = connection.getresponse()
            content = json.loads(answer.read())
            counts[answer.status] += 1
            if answer.status == 429:  # too many records wait for the disk
                time.sleep(0.01)
            assert answer.status < 500, (path, body[:500], answer.status, content)
        connection.close()
        return counts

    with ThreadPoolExecutor(CLIENTS) as pool:
        counts = sum(pool.map(send, range(CLIENTS)), Counter[int]())
    _end_and_check(folder, server, [], Memory())
    return dict(sorted(counts.items()))


def _check_memory(memory: Memory, log: Log) -> None:
    """Raise an error unless a log has all that was acknowledged."""
    lost = []
    written = log.find([*memory.rows, *memory.labels])
    for id_, row in memory.rows.items():
        known = written.get(id_)
        if known is None or json.loads(known[0].row) != json.loads(row):
            lost.append(f"prediction {id_}")
    for id_, label in memory.labels.items():
        known = written.get(id_)
        if known is None or known[1] is None or known[1].label != label:
            lost.append(f"label {id_}")
    assert not lost, (len(lost), lost[:5])


def damage_and_check(folder: Path, places: int, seed: int) -> int:
    """Change bytes of a log at many places, one after the other; return how many were refused.

    Parameters
    ----------
    folder : path
        ``data`` in it is the folder of a server that has ended.
    places, seed : int
    """
    chance, log = random.Random(seed), folder / "data" / "log.sqlite"
    with contextlib.closing(sqlite3.connect(log)) as connection:  # all of it in one file
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sound, refused = log.read_bytes(), 0
    output = folder / "damaged.safetensors"
    replay(folder / "data", output=output)
    right = output.read_bytes()
    for _ in range(places):
        content = bytearray(sound)
        at = chance.randrange(len(content))
        for i in range(at, min(at + chance.choice([1, 1, 8, 512]), len(content))):
            content[i] ^= chance.randrange(1, 256)
        log.write_bytes(content)
        output.unlink(missing_ok=True)
        try:
            replay(folder / "data", output=output)
        except InputError:
            refused += 1
        else:
            assert output.read_bytes() == right, at
    log.write_bytes(sound)
    return refused


def fill_and_check(
    folder: Path,
    start: Callable[[Path], Any],
    rows: Callable[[random.Random], tuple[Any, Any]],
    seed: int,
) -> tuple[float, int]:
    """Fill the disk of a server, and empty it; return the seconds until it goes on, and labels.

    Parameters
    ----------
    folder : path
        On a small disk, which has ``data``, the folder of the server.
    start, rows, seed
        As for `kill_and_check`.
    """
    memory, chance = Memory(), random.Random(seed)
    with tempfile.TemporaryDirectory() as elsewhere:
        errors = Path(elsewhere) / "errors"
        errors.write_text("")
        server = start(errors)
        port = wait_for_port(server, errors)
        client = Client(port, memory, rows, str(chance.random()))
        client.start()
        until = time.monotonic() + 120
        while len(memory.labels) < 100:
            assert client.is_alive(), memory.refused[:3]
            assert time.monotonic() < until, memory.refused[:3]
            time.sleep(0.01)
        filler = folder / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        until = time.monotonic() + 120
        while not memory.refused and client.is_alive():
            assert time.monotonic() < until, "nothing was refused"
            time.sleep(0.01)
        assert all(" 503: " in one for one in memory.refused), memory.refused[:3]
        client.ended.set()
        client.join()
        filler.unlink()
        began = time.monotonic()
        while _status(port, "/readyz") != 200:
            assert time.monotonic() < began + 60, "it does not go on"
            time.sleep(0.02)
        took = time.monotonic() - began
        server.kill(signal.SIGTERM)
        server.wait()
    log = Log(folder / "data", read_only=True)
    written = log.find(list(memory.labels))
    for id_, label in memory.labels.items():
        known = written.get(id_)
        assert known is not None, id_
        assert known[1] is not None, id_
        assert known[1].label == label, id_
    n_labels = log.counts().labels
    log.close()
    assert not replay(folder / "data").different
    return took, n_labels


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True)
    return [int(one) for one in found.stdout.split()]


def _status(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", path)
        return connection.getresponse().status


class Process(subprocess.Popen):
    """A server as a process."""

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal."""
        os.kill(self.pid, number)


def main() -> None:
    """Kill a server of a model file, fed with the rows of a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("table", help='JSON lines of row and label: {"row": {}, "label": 1}')
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--damage", type=int, default=0, help="places of its log, afterwards")
    parser.add_argument("--log", help="the address of an empty database, for three servers")
    parser.add_argument("--requests", type=int, help="cut and changed, in place of kills")
    parser.add_argument("--soak", type=float, help="seconds of requests, in place of kills")
    parser.add_argument("--disk", help="a small disk to fill, in place of kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", help="a new folder, which stays, in place of one that goes")
    given = parser.parse_args()
    lines = [json.loads(line) for line in Path(given.table).read_text().splitlines()]

    def draw(chance: random.Random) -> tuple[Any, Any]:
        line = chance.choice(lines)
        return line["row"], line["label"]

    with contextlib.ExitStack() as stack:
        folder = given.keep or stack.enter_context(tempfile.TemporaryDirectory())
        Path(folder).mkdir(exist_ok=True)

        def start(errors: Path) -> Process:
            argv = [sys.executable, "-m", "crossview", "serve", given.model, "--port", "0"]
            with errors.open("wb") as stderr:
                return Process([*argv, "--data", f"{folder}/data"], stderr=stderr)

        if given.log:

            def start_at(port: int, errors: Path) -> Process:
                argv = [sys.executable, "-m", "crossview", "serve", given.model, "--log", given.log]
                with errors.open("wb") as stderr:
                    return Process([*argv, "--port", str(port)], stderr=stderr)

            servers = Servers(start_at, 3, Path(folder))
            four = [*[servers.kill_leader] * 3, servers.stop_leader]
            disturbances = four * (given.kills // 4)
            labels, predictions = share_and_check(
                given.log, servers, draw, disturbances, given.seed
            )
            print(
                f"{len(disturbances):,} times another server had to lead: {predictions:,} "
                f"predictions and {labels:,} labels in the log, none that was acknowledged is "
                "lost; three servers and a replay have the same bytes"
            )
            return
        if given.disk:
            folder = given.disk
            took, labels = fill_and_check(Path(folder), start, draw, given.seed)
            print(
                f"a full disk: 503, and {took:.1f} s after it had room again it went on, with all "
                f"labels that it had acknowledged ({labels:,} in the log)"
            )
            return
        if given.soak:
            found = soak_and_check(Path(folder), start, draw, given.soak, given.seed)
            labels, predictions, used = found
            print(
                f"{given.soak:,.0f} s: {predictions:,} predictions and {labels:,} labels, none "
                "that was acknowledged is lost; live and replay have the same bytes; MB of memory: "
                f"{', '.join(f'{one:.0f}' for one in used)}"
            )
            return
        if given.requests:
            statuses = change_and_check(Path(folder), start, draw, given.requests, given.seed)
            words = ", ".join(f"{n:,} {status}" for status, n in statuses.items())
            print(
                f"{given.requests:,} requests: {words}; none was an error of the server, and a "
                "replay gave the same bytes"
            )
            return
        labels, predictions = kill_and_check(Path(folder), start, draw, given.kills, given.seed)
        print(
            f"{given.kills:,} kills: {predictions:,} predictions and {labels:,} labels in the log, "
            "none that was acknowledged is lost; live and replay have the same bytes",
            flush=True,
        )
        if given.damage:
            found = damage_and_check(Path(folder), given.damage, given.seed)
            print(
                f"{given.damage:,} damaged places: {found:,} refused, and of all others a replay "
                "gave the same bytes"
            )


if __name__ == "__main__":
    main()
