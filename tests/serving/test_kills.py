"""Kills under load; `fuzz/servers.py` makes more of them."""

import signal
import sys

import pytest

import forks
from fuzz.servers import change_and_check, kill_and_check, wait_for_port
from live_servers import make_rows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kill -9")


def draw(chance):
    rows, labels = make_rows(50)
    t = chance.randrange(50)
    return rows[t], labels[t]


@pytest.fixture
def start(tmp_path, model_file):
    def started(errors):
        argv = ["serve", model_file, "--data", tmp_path / "data", "--port", "0"]
        return forks.start(argv, stdout=tmp_path / "out", stderr=errors)

    return started


def test_what_was_acknowledged_survives_kills(tmp_path, start):
    n_labels, n_predictions = kill_and_check(tmp_path, start, draw, kills=2, seed=0)
    assert 0 < n_labels < n_predictions


def test_changed_requests_are_answered_and_replayed(tmp_path, start):
    statuses = change_and_check(tmp_path, start, draw, 100, seed=0)
    assert {200, 422} <= statuses.keys() <= {200, 207, 404, 409, 413, 422}


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_server_ends_in_order_when_it_is_told_or_its_terminal_is_closed(tmp_path, start, name):
    if signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
        pytest.skip(f"{name} is ignored here, as under nohup, and so by a server")
    errors = tmp_path / "errors"
    errors.write_text("")
    server = start(errors)
    wait_for_port(server, errors)
    server.kill(getattr(signal, name))
    server.wait()
    assert errors.read_text().splitlines()[-1] == "crossview: ended; 0 labels learned"
