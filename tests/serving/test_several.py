"""Several servers of one log: the same bits everywhere, whoever dies."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import pytest
from numba.core import event

import crossview
import forks
from crossview import InputError, compiling
from crossview.server_log.databases import AwayError
from crossview.server_log.log import Log, Prediction, own_id
from crossview.serving import workers
from crossview.serving.storage.folder import replay
from fuzz.servers import Servers, share_and_check
from live_servers import make_rows, serving
from postgres_server import postgres_binaries, postgres_server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kill -9")

PAUSE = 0.03  # of a client; more requests are more labels to learn, write and replay, and no other


@pytest.fixture(scope="module")
def postgres():
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    if postgres_binaries() is None:
        pytest.skip("PostgreSQL is not installed")
    with postgres_server() as server:
        yield server


@pytest.fixture
def address(postgres, request):
    return postgres.make_database(request.node.name)


def followed(server, n):
    """The numbers of a server that has learned so many labels."""
    until = time.monotonic() + 60
    while (numbers := server.get("/stats"))["model"] < n:
        assert time.monotonic() < until
        time.sleep(0.01)
    return numbers


def test_two_servers_learn_the_same_and_replay_does(address, model_file, tmp_path):
    rows, labels = make_rows(120)
    with contextlib.ExitStack() as stack:
        one = stack.enter_context(serving(address, model_file, name="one", snapshot_labels=40))
        other = stack.enter_context(serving(address, model_file, name="other"))
        found = one.post("/predict", {"rows": rows[:60]})["predictions"]
        sent = [{"id": a["id"], "label": y} for a, y in zip(found, labels, strict=False)]
        # a label that comes at once, to the other server, waits for the prediction
        assert {a["label"] for a in other.post("/label", sent)["labels"]} == {"new"}
        assert {a["label"] for a in one.post("/label", sent)["labels"]} == {"known"}
        wrong = {"id": found[0]["id"], "label": {"click": "skip", "skip": "click"}[labels[0]]}
        one.post("/label", wrong, 409)
        other.post("/label", wrong | {"id": "x9-0"}, 404)
        other.post("/predict", {"id": "mine", "row": rows[60]})
        assert one.post("/predict", {"id": "mine", "row": rows[60]})["id"] == "mine"
        one.post("/predict", {"id": "mine", "row": rows[61]}, 409)
        pairs = [{"row": r, "label": y} for r, y in zip(rows[60:], labels[60:], strict=True)]
        other.post("/learn", pairs)
        numbers = [followed(server, 120) for server in (one, other)]
        assert [n["leads"] for n in numbers] == [True, False]
        assert {n["leader"] for n in numbers} == {"one"}
        assert one.get("/readyz") == {"status": "ready", "leader": "one", "labels_to_learn": 0}
        answers = [
            [a["probabilities"] for a in server.post("/predict", {"rows": rows})["predictions"]]
            for server in (one, other)
        ]
        assert answers[0] == answers[1]
        models = {server.http.get("/model").content for server in (one, other)}
    assert len(models) == 1
    again = replay(address, output=tmp_path / "again.safetensors")
    assert (again.labels, again.different, again.same[-1]) == (120, [], 120)
    assert models == {(tmp_path / "again.safetensors").read_bytes()}
    # it is a source, and of no command that says what it has read with a password
    assert sum(batch.X.num_rows for batch in crossview.open_table(address)) == 120
    with pytest.raises(InputError, match="PGPASSWORD") as told:
        crossview.open_table(address.replace("tester@", "tester:secret@"))
    assert "secret" not in str(told.value)
    # a new machine begins from the newest snapshot
    with serving(address) as third:
        assert third.said == ["server leads: it writes snapshots"]
        assert third.get("/stats")["snapshot"] == 120


def test_a_server_that_stands_still_does_not_keep_others_from_writing(address):
    one, other = Log.create(address, {}), Log(address)
    with contextlib.closing(one), contextlib.closing(other):
        base = one.begin_run()
        records = [Prediction(base + i, own_id(base + i), 0, "{}", 0, "1", "1") for i in range(3)]

        def stand_still():
            with one.db.reading(), one.db.transaction():
                one.add_predictions(records)
                with other.db.transaction():  # waits until the session of the first one is ended
                    assert other.newest().predictions == 0
                one.newest()

        with pytest.raises(AwayError):
            stand_still()
        with one.db.transaction():
            assert one.add_predictions(records[:2]) == 2
            assert one.add_predictions(records) == 1  # as after a commit of unknown outcome
        assert other.newest().predictions == 3


def test_challengers_join_and_take_over_on_all_servers(address, model_file):
    rows, labels = make_rows(60)
    with contextlib.ExitStack() as stack:
        one = stack.enter_context(serving(address, model_file, snapshot_labels=20))
        other = stack.enter_context(serving(address, snapshot_labels=20))
        kind = {"content-type": "application/octet-stream"}
        content = model_file.read_bytes()
        joined = other.http.post("/challenger?name=same", content=content, headers=kind)
        assert joined.status_code == 200
        pairs = [{"row": r, "label": y} for r, y in zip(rows, labels, strict=True)]
        one.post("/learn", pairs)
        other.post("/promote", {"name": "same"})
        for server in (one, other):
            while (numbers := followed(server, 60))["serves"] != "same":
                time.sleep(0.01)
            assert [c["name"] for c in numbers["challengers"]] == ["first"]
        one.post("/learn", pairs[:5])
        followed(other, 65)
    assert replay(address).different == []


def test_servers_and_database_that_are_killed_under_load(postgres, address, model_file, tmp_path):
    rows, labels = make_rows(50)

    def draw(chance):
        t = chance.randrange(50)
        return rows[t], labels[t]

    servers_at = {}

    def start(port, errors):
        argv = ["serve", model_file, "--log", address, "--port", port]
        at = servers_at.setdefault(port, len(servers_at))
        return forks.start(argv, of=at, stdout=tmp_path / "out", stderr=errors)

    def kill_postgres():
        postgres.kill()
        time.sleep(1.0)
        postgres.start()

    servers = Servers(start, 2, tmp_path)
    disturbances = [servers.kill_leader, servers.stop_leader, kill_postgres]
    n_labels, n_predictions = share_and_check(address, servers, draw, disturbances, 0, PAUSE)
    assert 0 < n_labels < n_predictions


def test_workers_that_are_killed_under_load(model_file, tmp_path):
    """With their log in SQLite; one starts again, and all end when their parent is killed."""
    rows, labels = make_rows(50)

    def draw(chance):
        t = chance.randrange(50)
        return rows[t], labels[t]

    def start(port, errors):
        argv = ["serve", model_file, "--data", tmp_path / "d", "--port", port, "--workers", 2]
        return forks.start(argv, stdout=tmp_path / "out", stderr=errors)

    servers = Servers(start, 1, tmp_path)
    (port,) = servers.ports

    def running():
        command = ["pgrep", "-P", str(servers.running[port].pid), "-f", "spawn_main"]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        return [int(pid) for pid in found.stdout.split()]

    def kill_worker():
        os.kill(running()[0], signal.SIGKILL)
        assert count() == 20.0

    def kill_parent():
        servers.running[port].kill(signal.SIGKILL)
        with contextlib.ExitStack() as stack:  # the port is free once they have ended
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            until = time.monotonic() + 60
            while True:
                assert time.monotonic() < until, "workers go on without their parent"
                with contextlib.suppress(OSError):
                    one.bind(("127.0.0.1", port))
                    break
                time.sleep(0.02)
        servers.start_again(port)

    def count():
        """Requests of /healthz to any worker, of which the next one to answer knows."""
        line = 'crossview_requests_total{path="/healthz",status="200"}'
        while True:  # one that was killed may have taken the connection
            with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{port}/metrics") as page:
                return float(page.read().decode().partition(line)[2].split()[0])

    for _ in range(20):
        with urlopen(f"http://127.0.0.1:{port}/healthz"):
            pass
    assert [count() for _ in range(8)] == [20.0] * 8
    disturbances = [kill_worker, kill_parent]
    n_labels, n_predictions = share_and_check(tmp_path / "d", servers, draw, disturbances, 0, PAUSE)
    assert 0 < n_labels < n_predictions


def test_a_worker_says_that_it_compiles(monkeypatch):
    """The first start on a machine takes a minute or two."""
    told = []

    class Pipe:
        send = staticmethod(told.append)

    def work(number, say, ready):
        with event.trigger_event("numba:compile"):
            say(number)

    monkeypatch.setattr(compiling, "SECONDS_UNTOLD", -1.0)
    monkeypatch.setattr(workers.signal, "signal", lambda *_: None)
    workers._work(work, Pipe, 1, {}, None)
    assert told == ["compiling for this machine, once ...", 1]
