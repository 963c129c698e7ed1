"""Kills under load; `fuzz/servers.py` makes more of them."""

import sys

import pytest

import forks
from fuzz.servers import kill_and_check
from live_servers import make_rows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kill -9")


def test_what_was_acknowledged_survives_kills(tmp_path, model_file):
    rows, labels = make_rows(50)

    def draw(chance):
        t = chance.randrange(50)
        return rows[t], labels[t]

    def start(errors):
        argv = ["serve", model_file, "--data", tmp_path / "data", "--port", "0"]
        return forks.start(argv, stdout=tmp_path / "out", stderr=errors)

    n_labels, n_predictions = kill_and_check(tmp_path, start, draw, kills=3, seed=0)
    assert 0 < n_labels < n_predictions
