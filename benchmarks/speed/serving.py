"""What a request costs ``crossview serve``, beside one of the same server that does nothing."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import Table, benchmark, size
from benchmarks.speed.streams import stream

PAGE = "docs/benchmarks.md"
SECONDS, CLIENTS, ROWS = size((4.0, 4, 500), (0.2, 1, 60))
KIND = {"content-type": "application/json"}


def model_file(folder: Path, name: str) -> Path:
    """Write a model that has learned some rows."""
    import crossview as cv

    learners = {
        "the default stack": lambda: cv.OnlineStackingClassifier(random_state=0),
        "AROW, diagonal": lambda: cv.AROWClassifier(covariance="diagonal"),
    }
    model = cv.make_pipeline(cv.ViewEncoder(views={"n": "*"}), learners[name]())
    for x, y in zip(*stream(ROWS), strict=True):
        model.learn_one(x, y)
    cv.save(model, folder / "m.safetensors")
    return folder / "m.safetensors"


@contextmanager
def server(folder: Path, model: Path) -> Iterator[tuple[int, int]]:
    """Yield the port and the process of a server."""
    errors = folder / "errors"
    argv = [sys.executable, "-m", "crossview", "serve", str(model), "--port", "0"]
    with errors.open("wb") as stderr:
        process = subprocess.Popen([*argv, "--data", str(folder / "data")], stderr=stderr)
    try:
        while not (found := re.search(r"serving at http://127\.0\.0\.1:(\d+)", errors.read_text())):
            if process.poll() is not None:
                raise RuntimeError(errors.read_text())
            time.sleep(0.05)
        yield int(found[1]), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def processor_seconds(pid: int) -> float:
    """Return what a process, and those that it has started, have used of a processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    started = [one.read_text().split() for one in Path(f"/proc/{pid}/task").glob("*/children")]
    return own + sum(processor_seconds(int(child)) for children in started for child in children)


def load(port: int, method: str, path: str, bodies: list[Any]) -> list[float]:
    """Send requests from several clients at once; return the seconds of each."""
    until = time.perf_counter() + SECONDS
    sent = [json.dumps(body).encode() for body in bodies]
    found: list[float] = []

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        n = 0
        while (began := time.perf_counter()) < until:
            content = None if method == "GET" else sent[n % len(sent)]
            connection.request(method, path, content, KIND)
            answer = connection.getresponse()
            answer.read()
            if answer.status == 429:  # too many records wait for the disk
                time.sleep(0.01)
                continue
            if answer.status != (422 if b'"row": [1]' in sent[0] else 200):
                raise RuntimeError(f"{path}: {answer.status}")
            found.append(time.perf_counter() - began)
            n += 1
        connection.close()

    clients = [threading.Thread(target=work) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return sorted(found)


@benchmark(PAGE)
def serving() -> list[Table]:
    """Requests of one row and of many, labels, and what a request costs the server."""
    rows, labels = stream(400)
    pairs = [{"row": x, "label": y} for x, y in zip(rows, labels, strict=True)]
    requests: dict[str, tuple[str, str, list[Any], int]] = {
        "nothing: `GET /healthz`": ("GET", "/healthz", [None], 1),
        "JSON that is refused: `POST /predict`": ("POST", "/predict", [{"row": [1]}], 1),
        "`POST /predict`, one row": ("POST", "/predict", [{"row": x} for x in rows], 1),
        "the same, `durable=1`": ("POST", "/predict?durable=1", [{"row": x} for x in rows], 1),
        "`POST /predict`, 100 rows": ("POST", "/predict", [{"rows": rows[:100]}], 100),
        "`POST /learn`, 100 rows": ("POST", "/learn", [pairs[i : i + 100] for i in (0, 100)], 100),
    }
    from crossview.serving.storage.folder import replay

    tables = []
    for name in ("AROW, diagonal", "the default stack"):
        table = Table(
            [name, "rows a second", "p50 / p99, ms", "processor, µs a row", "of nothing's"]
        )
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            with server(folder, model_file(folder, name)) as (port, pid):
                nothing = 0.0
                for words, (method, path, bodies, n) in requests.items():
                    before, began = processor_seconds(pid), time.perf_counter()
                    took = load(port, method, path, bodies)
                    seconds = time.perf_counter() - began
                    # with what is learned after the answer
                    if path == "/learn":
                        wait_until_learned(port)
                    each = (processor_seconds(pid) - before) / (len(took) * n) * 1e6
                    nothing = nothing or each
                    low, high = (1e3 * took[int(q * (len(took) - 1))] for q in (0.5, 0.99))
                    table.add(
                        words,
                        f"{len(took) * n / seconds:,.0f}",
                        f"{low:.1f} / {high:.1f}",
                        f"{each:,.0f}",
                        f"{each / nothing:.2f}",
                    )
            found = replay(folder / "data")
            each = found.seconds / found.labels * 1e6
            speed = f"{found.labels / found.seconds:,.0f}"
            table.add("`crossview replay`", speed, "", f"{each:,.0f}", f"{each / nothing:.2f}")
        tables.append(table)
    return tables


def wait_until_learned(port: int) -> None:
    """Wait for the labels of the log."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while True:
        connection.request("GET", "/stats")
        if not json.loads(connection.getresponse().read())["labels_to_learn"]:
            connection.close()
            return
        time.sleep(0.02)
