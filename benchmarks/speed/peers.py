"""What a request costs other servers of models, by the rows and the client of `serving`.

They have an environment of their own: CROSSVIEW_PEERS names its Python, which needs ``fastapi``,
``uvicorn[standard]`` and ``river``, ``mlflow``, or ``bentoml``.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import Table, benchmark, size
from benchmarks.speed import serving as ours
from benchmarks.speed.streams import stream

SECONDS_TO_START = 120.0
ROWS = size(500, 60)

RIVER = """
import json
from fastapi import FastAPI, Request
from river import linear_model, preprocessing
model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
for x, y in zip(*json.load(open("rows.json"))):
    model.learn_one(x, y)
app = FastAPI()
@app.get("/healthz")
async def healthz():
    return {}
@app.post("/predict")
async def predict(request: Request):
    row = (await request.json())["row"]
    return {str(label): p for label, p in model.predict_proba_one(row).items()}
"""
# what a log takes that is there after a power cut, as ours is
LOGGED = RIVER.replace(
    "    return {str",
    """    log.execute("INSERT INTO log (row) VALUES (?)", (json.dumps(row),))
    log.commit()
    return {str""",
).replace(
    "app = FastAPI()",
    """import sqlite3
log = sqlite3.connect("log.db", check_same_thread=False)
log.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE log (row);")
app = FastAPI()""",
)
LEARNED = """
import json
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
rows, labels = json.load(open("rows.json"))
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(pd.DataFrame(rows), labels)
"""
MLFLOW = f"""{LEARNED}
import mlflow.sklearn
mlflow.sklearn.save_model(model, "model", serialization_format="cloudpickle")
"""
BENTO = f"""
import bentoml
{LEARNED}
@bentoml.service
class Served:
    @bentoml.api
    def predict(self, row: dict) -> list:
        return model.predict_proba(pd.DataFrame([row]))[0].tolist()
"""


class Peer(NamedTuple):
    """A server: its program, how it is started from it, and what it is asked."""

    needs: str
    program: str
    prepare: list[str]
    start: list[str]
    path: str
    body: str  # what the row is, in a request


UVICORN = ["-m", "uvicorn", "program:app", "--port", "{port}", "--log-level", "error"]
PEERS = {
    "River behind FastAPI": Peer("fastapi, uvicorn, river", RIVER, [], UVICORN, "/predict", "row"),
    "the same, each row logged": Peer(
        "fastapi, uvicorn, river", LOGGED, [], UVICORN, "/predict", "row"
    ),
    "MLflow, scikit-learn": Peer(
        "mlflow, fastapi, uvicorn, sklearn, pandas",
        MLFLOW,
        ["program.py"],
        [
            *("-m", "mlflow", "models", "serve", "--model-uri", "model", "--port", "{port}"),
            *("--env-manager", "local"),
        ],
        "/invocations",
        "dataframe_records",
    ),
    "BentoML, scikit-learn": Peer(
        "bentoml, sklearn, pandas",
        BENTO,
        [],
        ["-m", "bentoml", "serve", "program:Served", "--port", "{port}"],
        "/predict",
        "row",
    ),
}


def python() -> str:
    return os.environ.get("CROSSVIEW_PEERS", sys.executable)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def ask(port: int, peer: Peer, row: object) -> bytes:
    content = json.dumps({peer.body: [row] if peer.body.endswith("s") else row}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{peer.path}", content, ours.KIND)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read()


@contextmanager
def served(peer: Peer, folder: Path) -> Iterator[tuple[int, int]]:
    """Yield the port and the process of a server, once it predicts."""
    rows, labels = stream(ROWS)
    (folder / "rows.json").write_text(json.dumps([rows, labels]))
    (folder / "program.py").write_text(peer.program)
    path = f"{Path(python()).parent}{os.pathsep}{os.environ['PATH']}"  # they call others by name
    quiet = {**os.environ, "BENTOML_DO_NOT_TRACK": "True", "PYTHONPATH": str(folder), "PATH": path}
    there = {"cwd": folder, "env": quiet}
    if peer.prepare:
        subprocess.run([python(), *peer.prepare], check=True, capture_output=True, **there)
    port, errors = free_port(), folder / "errors"
    with errors.open("wb") as file:
        process = subprocess.Popen(
            [python(), *(word.format(port=port) for word in peer.start)],
            stdout=file,
            stderr=file,
            start_new_session=True,
            **there,
        )
    try:
        until = time.monotonic() + SECONDS_TO_START
        while True:
            try:
                ask(port, peer, rows[0])
                break
            except (OSError, urllib.error.URLError):
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(errors.read_text()) from None
                time.sleep(0.2)
        yield port, process.pid
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(process.pid, number)
                process.wait(20)


def measure(port: int, process: int, path: str, bodies: list) -> tuple[float, float, float]:
    """Return requests a second, the median of their milliseconds, and microseconds of each."""
    before = ours.processor_seconds(process)
    began = time.perf_counter()
    took = ours.load(port, "POST", path, bodies)
    seconds = time.perf_counter() - began
    spent = ours.processor_seconds(process) - before
    return len(took) / seconds, 1e3 * took[len(took) // 2], 1e6 * spent / len(took)


@benchmark(ours.PAGE)
def serving_peers() -> list[Table]:
    """One row in a request: ours, which logs it, beside other servers."""
    rows, _ = stream(400)
    table = Table(["server", "requests a second", "p50, ms", "processor, µs a request", "ours: 1"])
    base = 0.0
    for name in ("AROW, diagonal", "the default stack"):
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            with ours.server(folder, ours.model_file(folder, name)) as (port, pid):
                for words, path in (("", "/predict"), (", durable", "/predict?durable=1")):
                    found = measure(port, pid, path, [{"row": x} for x in rows])
                    base = base or found[2]
                    add(table, f"Crossview, {name}{words}", found, base)
    for name, peer in PEERS.items():
        probe = subprocess.run([python(), "-c", f"import {peer.needs}"], capture_output=True)
        if probe.returncode:
            table.add(name, "not installed", "", "", "")
            continue
        with tempfile.TemporaryDirectory() as made, served(peer, Path(made)) as (port, leader):
            bodies = [{peer.body: [x] if peer.body.endswith("s") else x} for x in rows]
            add(table, name, measure(port, leader, peer.path, bodies), base)
    return [table]


def add(table: Table, name: str, found: tuple[float, float, float], base: float) -> None:
    per_second, median, each = found
    table.add(name, f"{per_second:,.0f}", f"{median:.1f}", f"{each:,.0f}", f"{each / base:.1f}")
