"""A small model of a stream, rows for it, and a server in this process."""

import json
import time
from contextlib import closing, contextmanager

import numpy as np
from sklearn.base import clone
from starlette.testclient import TestClient

from crossview import AROWClassifier, ViewEncoder, make_pipeline
from crossview.serving.endpoints.app import Serving, Settings
from crossview.serving.storage.folder import Folder, catch_up

CITIES = ["Köln", "Oslo", "", "São Paulo"]


def make_rows(n, seed=0):
    """Nested rows, some with a view missing, and labels that they tell."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for _ in range(n):
        city, age = int(rng.integers(4)), float(rng.normal(40, 9))
        row = {"user": {"city": CITIES[city], "age": age}, "page": {"size": float(rng.normal())}}
        if rng.random() < 0.2:
            del row[["user", "page"][int(rng.integers(2))]]
        rows.append(row)
        labels.append("click" if city + rng.normal() > 2 else "skip")
    return rows, labels


def join(server, file, name=None, status=200, **query):
    """Add the model of a file as a challenger; what the server answers."""
    more = "".join(f"&{key}={value}" for key, value in query.items())
    kind = {"content-type": "application/octet-stream"}
    content = file.read_bytes() if file else b"none"
    asked = f"/challenger?name={name or file.stem}{more}"
    answer = server.http.post(asked, content=content, headers=kind)
    assert answer.status_code == status, answer.text
    return answer.json()


def learn(server, rows, labels):
    """Send labeled rows, and wait until they are learned."""
    pairs = [{"row": row, "label": label} for row, label in zip(rows, labels, strict=True)]
    server.post("/learn", pairs)
    return server.learned()


def make_model(learner=None):
    """A model that has learned twenty rows."""
    columns = {"categorical": ["user__city"], "numeric": ["user__age", "page__size"]}
    encoder = ViewEncoder(**columns, hash_bits=10)
    model = make_pipeline(encoder, AROWClassifier() if learner is None else clone(learner))
    for row, label in zip(*make_rows(20, seed=99), strict=True):
        model.learn_one(row, label)
    return model


class Client:
    """Requests in JSON, and the lines that the operator gets."""

    def __init__(self, client, serving, said):
        self.http, self.serving, self.said = client, serving, said

    def post(self, path, body, status=200, **headers):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = {"content-type": "application/json"}
        answer = self.http.post(path, content=content, headers=kind | headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    def get(self, path, status=200, **headers):
        answer = self.http.get(path, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    def learned(self):
        """Wait until all labels of the log are learned; return the counts."""
        while (numbers := self.get("/stats"))["labels_to_learn"]:
            assert self.serving.broken is None, self.said
            time.sleep(0.005)  # else to ask takes longer than to learn
        return numbers


@contextmanager
def serving(path, model=None, hash_rows=False, frozen=False, **settings):
    """Serve a folder, as `crossview.serving.serve` does, without a socket."""
    said = []
    given = {"hash_rows": hash_rows, "frozen": frozen}
    with closing(Folder(path)) as folder, closing(folder.open(model, **given)) as log:
        live = folder.newest_model(log, said.append)
        catch_up(live, log, log.counts().labels)
        made = Serving(folder, log, live, said.append, Settings(**settings))
        with TestClient(made.app) as client:
            yield Client(client, made, said)
