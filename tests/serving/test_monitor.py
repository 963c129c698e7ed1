"""What the server says of its model and its rows."""

import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import crossview
from crossview.scoring.diagnostics import sizes_of_views
from crossview.serving.endpoints import app
from crossview.serving.storage import writer
from crossview.serving.storage.folder import replay
from live_servers import make_model, make_rows, serving

N = 300


def flat(rows):
    names = ["user__city", "user__age", "page__size"]
    found = [{f"{v}__{k}": x for v, own in row.items() for k, x in own.items()} for row in rows]
    return pa.table({name: [row.get(name) for row in found] for name in names})


@pytest.mark.filterwarnings("ignore::crossview.UnusedColumnsWarning")
def test_what_has_moved_is_said(tmp_path, monkeypatch):
    """Views that are missing, columns that are new, a model that is too sure."""
    monkeypatch.setattr(app, "SECONDS_TO_LOOK", 3600.0)  # the test looks
    rows, labels = make_rows(2 * N)
    table = flat(rows[:N]).append_column("y", [labels[:N]])
    stack = {"model": "stacking", "in_order": True, "output": tmp_path / "m.safetensors"}
    crossview.train(table, "y", encoder=crossview.ViewEncoder(hash_bits=8), **stack)
    with serving(tmp_path / "d", tmp_path / "m.safetensors") as server:

        def shown(rows, labels):
            sent = [{"row": row, "label": label} for row, label in zip(rows, labels, strict=True)]
            server.post("/learn", sent)
            server.learned()
            server.http.portal.call(server.serving.monitor.look)
            return server.serving.shown()

        # as in training
        found = shown(rows[N:], labels[N:])
        assert found["warnings"] == []
        assert {one["view"] for one in found["views"]} == {"user", "page"}
        live = server.serving.live
        size = sizes_of_views(live.learner.view_scores(live.as_views(rows[-256:]))).mean(axis=0)
        shares = [one["share"] for one in found["views"]]
        assert shares == pytest.approx(size / size.sum())  # as on a page, and of training
        assert abs(sum(one["share"] for one in found["experts"]) - 1.0) < 1e-9
        shares = [one["share"] for one in found["experts"]]
        assert shares == sorted(shares, reverse=True)
        assert found["hour"]["labels"] == found["total"]["labels"] == N
        assert found["total"]["first_loss"] is not None
        assert sum(one["labels"] for one in found["curve"]) >= N - 16
        assert {one["label"] for one in found["now"]} == {'"click"', '"skip"'}
        assert 0 <= found["delay"]["median"] <= found["delay"]["p99"]
        # one view never comes, another has a new column, and labels are the opposite
        other = {"click": "skip", "skip": "click"}
        moved = [{"page": row.get("page", {}) | {"color": "red"}} for row in rows[N:]]
        found = shown(moved, [other[label] for label in labels[N:]])
        lines = "\n".join(found["warnings"])
        assert "view 'user' is not as in training: it is missing in 100% of the rows" in lines
        assert "the log loss has turned" in lines
        assert "came in the last minute: page__color" in lines
        views = {one["view"]: one for one in found["views"]}
        assert views["user"]["missing"] == 1.0
        assert views["user"]["moved"]
        # the same for Prometheus
        text = server.http.get("/metrics").text
        assert 'crossview_view_missing{view="user"} 1.0' in text
        assert "crossview_new_columns 1.0" in text
        assert f"crossview_warnings {float(len(found['warnings']))}" in text
        # a model that is surer than right
        found, hour = server.serving.monitor, server.serving.hour()
        hour = hour.__class__(hour.time, 1000, 900.0, 600, 900.0, 90.0)
        assert found.calibration(hour)[1]
        assert any("90% on average, and 60% were right" in one for one in found.warnings(hour))
        hour.correct = 890
        assert not found.calibration(hour)[1]


def test_the_thread_that_predicts_looks_at_new_rows(tmp_path, monkeypatch):
    """A stack keeps what its experts said last, which another thread must not change."""
    rows, _ = make_rows(60)
    threads = {}

    learner = crossview.OnlineStackingClassifier
    view_scores = learner.view_scores

    def spied(learner, X):
        threads.setdefault(id(learner), set()).add(threading.get_ident())
        return view_scores(learner, X)

    monkeypatch.setattr(learner, "view_scores", spied)
    model = make_model(learner(random_state=0))
    crossview.save(model, tmp_path / "m.safetensors")
    monkeypatch.setattr(app, "SECONDS_TO_LOOK", 0.01)
    with serving(tmp_path / "d", tmp_path / "m.safetensors") as server:
        live = server.serving.live
        server.post("/predict", {"rows": rows})
        while not server.serving.monitor.views:
            time.sleep(0.01)
        assert threads[id(live.learner)] == {server.http.portal.call(threading.get_ident)}


def test_a_clock_that_is_set_back_loses_nothing(tmp_path, model_file, monkeypatch):
    rows, labels = make_rows(40)
    with serving(tmp_path, model_file, wait=3600.0, no_label="skip", tend_seconds=0.02) as server:
        found = server.post("/predict?durable=1", {"rows": rows})["predictions"]
        sent = [{"id": one["id"], "label": label} for one, label in zip(found, labels, strict=True)]
        server.post("/label", sent[:20])
        server.learned()

        class DayBefore:
            def __getattr__(self, name):
                return getattr(time, name)

            def time_ns(self):
                return time.time_ns() - 86_400 * 10**9

            def time(self):
                return time.time() - 86_400

        monkeypatch.setattr(writer, "time", DayBefore())
        server.post("/label", sent[20:])
        numbers = server.learned()
        assert (numbers["labels"], numbers["without_label"]) == (40, 0)
        curve = server.serving.live.served.curve
        assert sum(one.n for one in curve) == 40
        assert [one.time for one in curve] == sorted(one.time for one in curve)
    assert replay(tmp_path).different == []


@pytest.mark.parametrize("frozen", [False, True])
def test_a_model_that_has_learned_since_has_not_drifted(frozen, tmp_path):
    """Its scores are others than those of training; inputs that move are named as ever."""

    def table(n, seed, shift=0.0):
        a, b, noise = np.random.default_rng(seed).normal(size=(3, n))
        y = np.where(a + b + noise > 0, "yes", "no")
        return pa.table({"u__a": a + shift, "p__b": b + shift, "y": y})

    crossview.train(table(200, 0), "y", model="arow", in_order=True, output=tmp_path / "m.st")
    taught = table(300, 1)
    rows, labels = taught.drop(["y"]).to_pylist(), taught["y"].to_pylist()
    with serving(tmp_path / "d", tmp_path / "m.st", frozen=frozen) as server:
        pairs = [{"row": row, "label": label} for row, label in zip(rows, labels, strict=True)]
        server.post("/learn", pairs)
        server.learned()
        (tmp_path / "now.st").write_bytes(server.http.get("/model").content)
    for shift in (0.0, 3.0):
        found = crossview.evaluate(tmp_path / "now.st", table(300, 2, shift)).drift
        assert {one.what for one in found} == {"missing", "inputs", *["scores"][: int(frozen)]}
        moved = {one.view for one in found if one.moved and one.what == "inputs"}
        assert moved == ({"u", "p"} if shift else set())
