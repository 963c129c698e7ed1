"""Requests, and the log: what was acknowledged is learned, once, in its order."""

import asyncio
import contextlib
import gzip
import json
import os
import random
import signal
import sqlite3
import sys
import threading
import time

import pyarrow as pa
import pytest
from sklearn.base import is_classifier
from starlette.requests import Request

import crossview
from command_line import run
from contract.test_single_rows import learners_of_catalog, make_encoder, make_stream
from crossview import InputError
from crossview.server_log.log import Label, Labeled, Log, Prediction
from crossview.serving.endpoints.requests import RefusedError, read_body, read_row
from crossview.serving.live import Answer, LiveModel
from crossview.serving.serve import read_tokens
from crossview.serving.storage.folder import Folder, replay
from live_servers import make_model, make_rows, serving

# --- predicting and learning ---------------------------------------------------------------


def test_it_predicts_and_learns_as_the_model_does_one_by_one(server, model_file):
    """Bit for bit, through JSON."""
    model = crossview.load(model_file)
    rows, labels = make_rows(60)
    for row, label in zip(rows[:20], labels, strict=False):
        answer = server.post("/predict", {"row": row})
        assert answer["probabilities"] == model.predict_proba_one(row)
        assert answer["prediction"] == model.predict_one(row)
        assert answer["model"] == server.learned()["model"]
        assert server.post("/label", {"id": answer["id"], "label": label})["label"] == "new"
        model.learn_one(row, label)
        server.learned()
    found = server.post("/predict", {"rows": rows})["predictions"]
    assert [one["probabilities"] for one in found] == [model.predict_proba_one(r) for r in rows]
    assert len({one["id"] for one in found}) == 60
    # labels in another order than the rows; the flat form is the same row
    order = random.Random(1).sample(range(60), 60)
    sent = [{"id": found[i]["id"], "label": labels[i]} for i in order]
    answer = server.post("/label", sent)
    assert {one["label"] for one in answer["labels"]} == {"new"}
    for i in order:
        model.learn_one(rows[i], labels[i])
    numbers = server.learned()
    assert (numbers["predictions"], numbers["labels"], numbers["scored"]) == (80, 80, 80)
    assert 0 < numbers["log_loss"] < 1
    flat = {f"{view}__{k}": v for view, own in rows[0].items() for k, v in own.items()}
    assert server.post("/predict", {"row": flat})["probabilities"] == model.predict_proba_one(
        rows[0]
    )
    # what it has is a model file
    file = server.http.get("/model")
    path = model_file.parent / "served.safetensors"
    path.write_bytes(file.content)
    assert crossview.load(path).predict_proba_one(rows[1]) == model.predict_proba_one(rows[1])


def test_labels_are_taken_once(server):
    rows, _ = make_rows(3)
    one = server.post("/predict?durable=1", {"row": rows[0]})
    sent = {"id": one["id"], "label": "click"}
    assert server.post("/label", sent)["label"] == "new"
    assert server.post("/label", sent)["label"] == "known"
    assert "another label" in server.post("/label", sent | {"label": "skip"}, 409)["error"]
    assert "no prediction" in server.post("/label", sent | {"id": "x9-0"}, 404)["error"]
    many = [sent, sent | {"id": "?"}, sent | {"label": "dog"}, sent | {"label": "skip"}]
    answer = server.post("/label", many, 207)["labels"]
    assert [part.get("status", 200) for part in answer] == [200, 404, 422, 409]
    assert "none of the classes click, skip" in answer[2]["error"]
    assert server.learned()["labels"] == 1


def test_ids_of_the_caller(server):
    rows, _ = make_rows(3)
    first = server.post("/predict", {"id": "Größe 1", "row": rows[0]})
    assert first["id"] == "Größe 1"
    server.post("/learn", {"row": rows[1], "label": "skip"})
    server.learned()
    # the same again is a retry, and has the answer of then
    assert server.post("/predict", {"id": "Größe 1", "row": rows[0]}) == first
    assert "another row" in server.post("/predict", {"id": "Größe 1", "row": rows[1]}, 409)["error"]
    sent = {"id": "a", "row": rows[2], "label": "click"}
    assert server.post("/learn", sent) == {"id": "a", "label": "new"}
    assert server.post("/learn", sent) == {"id": "a", "label": "known"}
    assert server.post("/learn", sent | {"row": rows[0]}, 409)["id"] == "a"
    both = [sent | {"id": "b"}, sent | {"id": "b", "row": rows[0]}, sent | {"id": "b"}]
    answer = server.post("/learn", both, 207)["labels"]
    assert [part.get("label", part.get("status")) for part in answer] == ["new", 409, "known"]
    for bad in ("x1-17", "", "a\nb", "a" * 201):
        server.post("/predict", {"id": bad, "row": rows[0]}, 422)
    assert server.learned()["labels"] == 3


UNUSED = pytest.mark.filterwarnings("ignore::crossview.UnusedColumnsWarning")


@pytest.mark.parametrize(
    ("row", "column", "words"),
    [
        ({"user": {"age": "31,5"}}, "user__age", "'31,5' is not a number: give one without quotes"),
        ({"user": {"age": [1]}}, "user__age", "[1] is not a number: give one without quotes"),
        ({"user": {"age": {"a": 1}}}, "user__age", "{'a': 1} is a mapping; give a number, text"),
        ({"user": {"city": ["Oslo"]}}, "user__city", "['Oslo'] is no text: give text in quotes"),
        ({"user": "Oslo"}, "user", """give them with their values, as {"city": ...}, or null"""),
        ({"day": {"is": "soon"}}, "day__is", '%d.%m.%Y: give one, such as "12.04.2025", or null'),
        ({"day": {"is": 5.5}}, "day__is", "5.5 is no date as in %d.%m.%Y: give one, such as"),
        ({"text": {"body": 7}}, "text__body", "7 is a number, and the column holds text: give it"),
        ({"text": {"body": ["a"]}}, "text__body", "['a'] is no text: give text in quotes, or null"),
    ],
)
def test_what_is_wrong_with_a_cell_is_said_to_who_sends_json(tmp_path, row, column, words):
    encoder = crossview.ViewEncoder(
        numeric=["user__age"],
        categorical=["user__city"],
        date=["day__is=%d.%m.%Y"],
        text=["text__body"],
    )
    model = crossview.make_pipeline(encoder, crossview.AROWClassifier())
    crossview.save(model.learn_one({}, "click").learn_one({}, "skip"), tmp_path / "m.safetensors")
    with serving(tmp_path / "d", tmp_path / "m.safetensors") as server:
        for rows in ([row], [row] * 13):  # one by one, and as a table
            (answer, *_) = server.post("/predict", {"rows": rows}, 422)["predictions"]
            assert answer["column"] == column
            assert words in answer["error"]


def test_a_name_that_comes_twice_in_a_row_is_refused(server):
    kind = {"content-type": "application/json"}
    for row, name in (
        ('{"user": {"city": "Oslo", "city": "Rome"}}', "city"),
        ('{"user": {}, "page": {}, "user": {}}', "user"),
        ('{"user": {"city": "a:b"}}', None),
    ):
        body = f'{{"row": {row}}}'
        answer = server.http.post("/predict", content=body, headers=kind)
        assert answer.status_code == (200 if name is None else 422)
        assert name is None or f"the name {name!r} comes twice" in answer.json()["error"]


@UNUSED
def test_names_of_which_the_model_has_no_column_are_in_the_answer(server):
    right = {"user": {"city": "Oslo"}, "page": None}
    wrong = {"user": {"citty": "Oslo", "geo": {"lat": 1}}, "usr": None}
    names = ["user__citty", "user__geo__lat", "usr"]
    assert "unknown" not in server.post("/predict", {"row": right})
    for n in (1, 30):  # one by one, and as a table
        answer = server.post("/predict", {"rows": [right] * n + [wrong]})["predictions"]
        assert [one.get("unknown") for one in answer] == [None] * n + [names]
    for _ in range(2):
        assert server.post("/predict", {"row": wrong})["unknown"] == names
    rows = [wrong, {"user": {"age": "old"}, "usr": 1}, right]
    sent = [{"row": row, "label": "skip"} for row in rows]
    answer = server.post("/learn", sent, 207)["labels"]
    assert [one.get("unknown") for one in answer] == [names, None, None]
    assert server.post("/invocations", {"instances": [right, wrong]})["unknown"] == names
    assert "unknown" not in server.post("/invocations", {"instances": [right]})
    assert server.serving.monitor.new_columns() == names
    many = {f"a{i:03}" * 50: i for i in range(30)}
    found = server.post("/predict", {"row": many})["unknown"]
    assert found == [f"a{i:03}" * 25 + "..." for i in range(20)]


@UNUSED
def test_columns_that_were_in_no_view_are_known_names(tmp_path):
    cells = {"user__age": [3.0, 4.0, 4.0, 3.0] * 10, "day": [*range(40)], "row id": [*range(40)]}
    table = pa.table(cells | {"click": ["yes", "no", "no", "yes"] * 10})
    encoder, path = crossview.ViewEncoder({"user": "user__*"}, ignore=["row id"]), tmp_path / "m.st"
    crossview.train(table, "click", encoder=encoder, model="arow", output=path)
    row = table.slice(0, 1).to_pylist()[0]
    with serving(tmp_path / "live", path) as server:
        assert "unknown" not in server.post("/predict", {"row": row})
        assert server.post("/predict", {"row": row | {"dya": 1}})["unknown"] == ["dya"]


@UNUSED
def test_unknown_names_where_rows_are_hashed(tmp_path, model_file):
    with serving(tmp_path, model_file, hash_rows=True) as server:
        assert server.post("/predict", {"row": {"usr__age": 3}})["unknown"] == ["usr__age"]
        assert "unknown" not in server.post("/predict", {"row": {"user__age": 3}})


def test_one_bad_row_is_refused_alone(server, model_file):
    model = crossview.load(model_file)
    rows, _ = make_rows(4)
    rows[2] = {"user": {"age": "old"}}
    answer = server.post("/predict", {"rows": rows}, 207)["predictions"]
    assert answer[2]["status"] == 422
    assert answer[2]["column"] == "user__age"
    assert "'old' is not a number" in answer[2]["error"]
    good = [part["probabilities"] for part in answer if "error" not in part]
    assert good == [model.predict_proba_one(row) for row in rows if row is not rows[2]]
    sent = [{"row": row, "label": "click"} for row in rows]
    assert [part.get("status") for part in server.post("/learn", sent, 207)["labels"]] == [
        *(None, None),
        *(422, None),
    ]
    assert server.post("/predict", {"row": rows[2]}, 422)["column"] == "user__age"
    assert server.learned()["labels"] == 3


@pytest.fixture(scope="module")
def one_server(tmp_path_factory, model_file):
    with serving(tmp_path_factory.mktemp("served"), model_file) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/predict", b"", 422, "the body is empty"),
        ("/predict", b'{"row": {', 422, "the body ends before the JSON does"),
        ("/predict", rb'{"row": {"user__city": "\ud83d"}}', 422, "half of a character, as"),
        ("/predict", rb'{"row": {"user__city": "\ud83d, or"}}', 422, "half of a character, as"),
        ("/predict", rb'{"row": {"user__city": "\udc00 or so"}}', 422, "half of a character, as"),
        ("/predict", b"{}", 422, "give row"),
        ("/predict", b"[]", 422, 'object`, got `array`; give {"row": {...}}, with "id" if you'),
        ("/predict", b'{"user__age": 3}', 422, 'unknown field `user__age`; give {"row": {...}}'),
        ("/predict", b'{"row": {"user__age": NaN}}', 422, "at 'NaN}}'; JSON has no NaN and no"),
        ("/predict", b'{"row": {"user__age": -Infinity}}', 422, "no infinity: write null"),
        ("/predict", b'{"row": {"user__age": -1e999}}', 422, "-1e999 is too large: write null"),
        ("/predict", b'{"row": {}, "id": "x1-0"}', 422, "'x1-0' looks like an id of the server"),
        ("/predict?explian=1", b'{"row": {}}', 422, "'explian' (there are: durable, explain, top)"),
        ("/predict", b'{"row": {}, "rows": []}', 422, "give row, or rows"),
        ("/predict", b'{"rows": [], "id": "a"}', 422, "an id is for one row"),
        ("/predict", b'{"row": {}, "more": 1}', 422, "more"),
        ("/predict", b'{"row": [1]}', 422, "a row is an object"),
        ("/predict", b'{"row": {"user": 1}}', 422, "is a view, and 1 has no columns: give them"),
        ("/predict", b'{"row": {"user": {"city": "\xff"}}}', 422, "is not UTF-8"),
        ("/predict", '{"row": {}}'.encode("utf-16"), 422, "send UTF-8, without a byte order mark"),
        ("/predict", '{"row": {}}'.encode("utf-8-sig"), 422, "without a byte order mark"),
        ("/predict", gzip.compress(b'{"row": {}}', mtime=0), 422, "the body is compressed"),
        ("/predict", b'{"row": {"a": ' + b"9" * 9999 + b"}}", 422, "9 is too large: write null"),
        ("/predict", b'{"row": ' + b'{"a":' * 5000 + b"1" + b"}" * 5001, 422, "deep"),
        ("/predict", b'{"row": {"page": {"size": 1e999}}}', 422, ""),
        ("/predict", b'{"rows": [' + b"{}," * 10_000 + b"{}]}", 413, "at most 10,000"),
        ("/predict", b" " * ((8 << 20) + 1), 413, "8 MB"),
        ("/label", b'{"id": 7, "label": "click"}', 422, "$.id"),
        ("/label", b'{"id": "a", "label": null}', 422, "$.label"),
        ("/label", b'{"id": "a", "label": 7}', 422, "kind"),
        ("/learn", b'{"row": {}}', 422, "label"),
    ],
)
def test_bad_requests_say_why(one_server, path, body, status, words):
    assert words in one_server.post(path, body, status)["error"]
    assert one_server.get("/stats")["predictions"] == 0


def test_a_form_of_a_foreign_page_is_refused(server):
    kind = {"content-type": "text/plain"}
    assert server.http.post("/learn", content=b"{}", headers=kind).status_code == 415


def test_a_foreign_name_that_leads_here_is_refused(tmp_path, model_file):
    with serving(tmp_path, model_file, local=True) as server:
        assert "'evil.example'" in server.get("/stats", 403, host="evil.example")["error"]
        for host in ("127.0.0.1:8080", "localhost", "[::1]:80"):
            server.get("/stats", host=host)


def test_too_many_waiting_records_are_refused(tmp_path, model_file):
    with serving(tmp_path, model_file, most_waiting=5) as server:
        rows, _ = make_rows(6)
        assert "wait for the disk" in server.post("/predict", {"rows": rows}, 429)["error"]
        server.post("/predict", {"rows": rows[:5]})


def test_a_bug_is_answered_and_said_in_a_line(server, monkeypatch):
    row = {"row": make_rows(1)[0][0]}

    def predict(*arguments):
        return read_row(None)

    monkeypatch.setattr(server.serving.live, "predict_to_learn", predict)
    for _ in range(2):
        assert "bug" in server.post("/predict", row, 500)["error"]
    (line,) = (line for line in server.said if line.startswith("error"))
    assert line.startswith("error: POST /predict failed: TypeError: ")
    assert "(serving/endpoints/requests.py, line " in line
    assert 'crossview_requests_total{path="/predict",status="500"} 2.0' in (
        server.http.get("/metrics").text
    )
    monkeypatch.setattr(server.serving.live, "learn", predict)
    server.post("/learn", {**row, "label": "click"})
    while not server.serving.broken:
        time.sleep(0.01)
    assert "learning has ended: TypeError: " in server.get("/readyz", 503)["error"]
    assert "learning has ended: TypeError: " in server.said[-1]


def test_what_the_page_and_explanations_need_is_compiled_at_the_start(model_file, monkeypatch):
    live, called = LiveModel.load(model_file), []
    for name in ("view_scores", "contributions", "partial_fit", "decision_function"):
        method = getattr(crossview.AROWClassifier, name)

        def call(self, *arguments, name=name, method=method, **options):
            called.append(name)
            return method(self, *arguments, **options)

        monkeypatch.setattr(crossview.AROWClassifier, name, call)
    live.warm_up()
    assert {*called} >= {"view_scores", "contributions"}


def test_numbers_and_probes(server):
    row = make_rows(1)[0][0]
    server.post("/learn", {"row": row, "label": "click"})
    server.learned()
    assert server.get("/healthz") == {"status": "ok"}
    assert "no GET /predict" in server.get("/predict", 405)["error"]
    assert "no GET /nothing" in server.get("/nothing", 404)["error"]
    assert server.get("/readyz") == {"status": "ready", "leader": "server", "labels_to_learn": 0}
    text = server.http.get("/metrics").text
    assert "crossview_labels 1.0" in text
    assert 'crossview_requests_total{path="/learn",status="200"} 1.0' in text


def test_tokens(tmp_path, model_file):
    file = tmp_path / "tokens"
    file.write_text("predict p-1\nlabel l-1\noperator o-1\n")
    with serving(tmp_path / "d", model_file, tokens=read_tokens(file)) as server:
        for token, statuses in (
            ("p-1", (200, 401, 401)),
            ("l-1", (401, 404, 401)),
            ("o-1", (200, 404, 200)),
            ("ö", (401, 401, 401)),
            ("", (401, 401, 401)),
        ):
            given = {"authorization": f"Bearer {token}".encode()}
            server.post("/predict", {"row": {}}, statuses[0], **given)
            server.post("/label", {"id": "a", "label": "skip"}, statuses[1], **given)
            server.get("/stats", statuses[2], **given)
        server.get("/readyz")
        given = {"authorization": b"Bearer p-1"}
        assert server.get("/stats", 401, **given) == {"error": "this is not a token of operator"}
        assert "Bearer TOKEN" in server.get("/stats", 401)["error"]
    file.write_text("only-one\n")
    assert read_tokens(file) == {"operator": "only-one"}
    file.write_text("\ufeffoperator a\r\n", "utf-8")  # as of an editor of Windows
    assert read_tokens(file) == {"operator": "a"}
    file.write_text("operator a\npredict größe\n", "utf-8")
    with pytest.raises(InputError, match="tokens: line 2 has other characters than ASCII"):
        read_tokens(file)
    for bad in ("", "predict a", "operator a\noperator b", "boss a"):
        file.write_text(bad)
        with pytest.raises(InputError, match="token"):
            read_tokens(file)


# --- the log and the model --------------------------------------------------------------------


@pytest.mark.parametrize(
    "learner",
    [
        None,
        crossview.OnlineStackingClassifier(random_state=0),
    ],
    ids=["arow", "stacking"],
)
def test_replay_and_restarts_give_the_same_bits(tmp_path, learner):
    crossview.save(make_model(learner), tmp_path / "m.safetensors")
    rows, labels = make_rows(90)
    rows[40] = {"page": {"size": 1e99}}
    for t, (lo, hi) in enumerate(((0, 30), (30, 31), (31, 90))):
        first = None if t else tmp_path / "m.safetensors"
        with serving(tmp_path / "d", first, snapshot_labels=17) as server:
            ids = [
                one["id"] for one in server.post("/predict", {"rows": rows[lo:hi]})["predictions"]
            ]
            assert ids[0] == f"x{t + 1}-0"
            sent = [
                {"id": id_, "label": label} for id_, label in zip(ids, labels[lo:hi], strict=True)
            ]
            server.post("/label", sent[: len(sent) // 2 + 1])
            server.post("/label", sent)
            numbers = server.learned()
            assert numbers["labels"] == hi
    model = make_model(learner)
    stack = model.steps[-1][1]
    for lo, hi in ((0, 30), (30, 31), (31, 90)):
        said = []
        for row in rows[lo:hi]:
            model.predict_one(row)
            said += stack.expert_predictions() if hasattr(stack, "set_delay") else [None]
        for t in range(lo, hi):
            if hasattr(stack, "set_delay"):
                stack.set_delay(t - lo, [said[t - lo]])
            model.learn_one(rows[t], labels[t])
    found = replay(tmp_path / "d", output=tmp_path / "again.safetensors")
    assert (found.labels, found.different) == (90, [])
    assert found.same[-1] == 90
    again = crossview.load(tmp_path / "again.safetensors")
    for row in rows[:10]:
        assert again.predict_proba_one(row) == model.predict_proba_one(row)


def records_of(rows, labels):
    """What a log has of rows that were predicted as "skip"."""
    p = '{"skip": 0.75}'
    return [
        Labeled(
            Label(t + 1, t, 0, json.dumps(label)),
            Prediction(t, f"x1-{t}", 0, json.dumps(row), 0, '"skip"', p),
        )
        for t, (row, label) in enumerate(zip(rows, labels, strict=True))
    ]


def test_batches_of_labels_change_no_bit(tmp_path):
    """Also where a row of a batch is too large to be learned, and all others were learned."""
    encoder = crossview.ViewEncoder(
        categorical=["user__city"],
        numeric=["user__age", "page__size"],
        standardize=False,
        scale_views=False,
        bins=None,
        hash_bits=6,
    )
    model = crossview.make_pipeline(encoder, crossview.FactorizationMachineClassifier())
    for row, label in zip(*make_rows(20, seed=99), strict=True):
        model.learn_one(row, label)
    crossview.save(model, tmp_path / "m.safetensors")
    rows, labels = make_rows(150)
    rows[20], rows[29], rows[70] = ({"page": {"size": x}} for x in (1e99, 1e98, "large"))
    labels[110:113] = ["none", "click", "none"]
    records, found, restored = records_of(rows, labels), {}, []
    for size in (1, 13, 50, 256):
        live, live.first = (LiveModel.load(tmp_path / "m.safetensors") for _ in range(2))

        def one_by_one(n):
            restored.append(n)
            other = LiveModel.load(tmp_path / "m.safetensors")
            other.learn(records[:n])
            return other

        live.model_at = one_by_one
        for lo in range(0, len(rows), size):
            live.learn(records[lo : lo + size])
        live.save(tmp_path / f"{size}.safetensors")
        found[size] = (tmp_path / f"{size}.safetensors").read_bytes()
        assert (live.served.labels, live.served.refused) == (150, 3)
    assert {*found.values()} == {found[1]}
    assert restored == [13, 0]  # 256 rows have one that is refused before any is learned


@pytest.mark.parametrize("learner", learners_of_catalog(each_module=True))
def test_many_rows_are_predicted_as_one_by_one(learner):
    rows, labels = make_stream(40)
    rows = [json.loads(json.dumps(row, default=str)) for row in rows]
    y = labels if is_classifier(learner) else [float(len(str(row))) for row in rows]
    live = LiveModel(crossview.make_pipeline(make_encoder(), learner), {})
    live.model_at = LiveModel.load
    assert live.predict(rows) == [Answer(None, None)] * len(rows)
    for row, label in zip(rows[:25], y, strict=False):
        live.model.learn_one(row, label)
    if is_classifier(learner) and len(live.classes) == 2:
        live.learner.set_threshold(0.3)
    assert live.predict(rows) == [live.predict([row])[0] for row in rows]
    rows[3] = {"n": {"a": "old"}}
    found = live.predict(rows)
    assert isinstance(found[3], InputError)
    assert found[4:] == live.predict(rows[4:])


def test_labels_that_cannot_be_learned_are_counted(model_file):
    """They were good when they came, and the model has changed since."""
    rows, labels = make_rows(12)
    rows[3], labels[7] = {"user": {"age": "old"}}, 7
    live, model = LiveModel.load(model_file), crossview.load(model_file)
    live.learn(records_of(rows, labels))
    for row, label in zip(rows, labels, strict=True):
        with contextlib.suppress(InputError):
            model.learn_one(row, label)
    assert (live.served.labels, live.served.refused, live.served.total.n) == (12, 2, 12)
    assert live.predict(rows[:1])[0].probabilities == model.predict_proba_one(rows[0])


def test_numbers_as_labels(tmp_path):
    model = crossview.make_pipeline(
        crossview.ViewEncoder(numeric=["n__a"]),
        crossview.MultiViewMachineRegressor(early_stopping=False),
    )
    model.learn_one({"n__a": 1.0}, 2.0)
    crossview.save(model, tmp_path / "m.safetensors")
    with serving(tmp_path / "d", tmp_path / "m.safetensors") as server:
        for a in (1.0, 2.0, 3.5):
            answer = server.post("/predict", {"row": {"n": {"a": a}}})
            assert answer["prediction"] == model.predict_one({"n__a": a})
            assert answer["probabilities"] is None
            server.post("/label", {"id": answer["id"], "label": 2 * a})
            server.learned()
            model.learn_one({"n__a": a}, 2 * a)
        server.post("/label", {"id": answer["id"], "label": "much"}, 422)
        assert server.get("/stats")["squared_error"] > 0


def test_new_classes_come_if_they_may(tmp_path, model_file):
    with serving(tmp_path, model_file, new_classes=True) as server:
        rows, _ = make_rows(9)
        sent = [{"row": row, "label": ["skip", "buy"][t % 2]} for t, row in enumerate(rows)]
        server.post("/learn", sent)
        assert server.learned()["classes"] == ["buy", "click", "skip"]
        assert set(server.post("/predict", {"row": {}})["probabilities"]) == {
            "buy",
            "click",
            "skip",
        }
    assert replay(tmp_path).same == [9]


def fill(folder, model_file, n=40, **settings):
    """A folder with labels, and predictions without one."""
    with serving(folder, model_file, **settings) as server:
        rows, labels = make_rows(n)
        server.post("/learn", [{"row": r, "label": y} for r, y in zip(rows, labels, strict=True)])
        server.post("/predict?durable=1", {"rows": rows[:5]})
        server.learned()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process")
def test_a_full_disk_loses_nothing_and_recovers(tmp_path, model_file):
    import resource

    rows, labels = make_rows(40)
    with serving(tmp_path, model_file) as server:
        sent = [{"row": r, "label": y} for r, y in zip(rows, labels, strict=True)]
        server.post("/learn", sent[:20])
        before = server.learned()
        size = (tmp_path / "log.sqlite-wal").stat().st_size
        limited = server.serving.writer.process, resource.RLIMIT_FSIZE
        soft, hard = resource.prlimit(*limited)
        resource.prlimit(*limited, (max(size, 1 << 16), hard))
        try:
            acknowledged = None
            big = {"user": {"city": "x" * (1 << 18)}}  # more than what is left
            while True:
                kind = {"content-type": "application/json"}
                answer = server.http.post(
                    "/predict", content=json.dumps({"row": big}), headers=kind
                )
                if answer.status_code == 503:
                    break
                acknowledged = answer.json()["id"]
            server.post("/learn", sent[20:], 503)
            assert "cannot be written" in server.get("/readyz", 503)["error"]
            (line,) = server.said
            assert line.startswith("warning: the log cannot be written (")
            assert server.get("/healthz")
            numbers = server.get("/stats")
            assert numbers["labels"] == before["labels"]
        finally:
            resource.prlimit(*limited, (soft, hard))
        while server.http.get("/readyz").status_code != 200:
            pass
        # what was answered before the disk was full is there
        server.post("/label", {"id": acknowledged, "label": "skip"})
        server.post("/learn", sent[20:])
        assert server.learned()["labels"] == 41
    assert replay(tmp_path).different == []


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9")
def test_the_process_that_commits_may_be_killed(tmp_path, model_file):
    """Another one is asked the same, and nobody who waits is told of it."""
    rows, labels = make_rows(120)
    sent = [{"row": r, "label": y} for r, y in zip(rows, labels, strict=True)]
    with serving(tmp_path, model_file) as server:
        writer = server.serving.writer
        for n, one in enumerate(sent):
            if n % 10 == 0:
                id_ = server.post("/predict", {"row": one["row"]})["id"]
                killed = writer.process
                if n % 20 == 0:  # it is in the middle of a commit, for all that we know
                    os.kill(killed, signal.SIGSTOP)
                    threading.Timer(0.02, os.kill, (killed, signal.SIGKILL)).start()
                else:
                    os.kill(killed, signal.SIGKILL)
                assert server.post("/label", {"id": id_, "label": one["label"]})["label"] in (
                    "new",
                    "known",  # the commit was there, and its answer was not
                )
                assert writer.process != killed
            else:
                server.post("/learn", one)
        assert server.learned()["labels"] == 120
        assert writer.failure is None
    assert replay(tmp_path).different == []


def test_a_request_that_cannot_be_counted_is_answered(tmp_path, model_file, monkeypatch):
    """The folder of the counts goes with the parent of the workers, which end after it."""
    rows, _ = make_rows(1)

    def gone(*labels):
        raise FileNotFoundError(2, "No such file", "counter_1.db")

    with serving(tmp_path, model_file) as server:
        monkeypatch.setattr(server.serving._metrics, "_known", {})
        monkeypatch.setattr(server.serving._metrics._requests, "labels", gone)
        assert "id" in server.post("/predict", {"row": rows[0]})
        assert server.said[-1] == "warning: requests are not counted: No such file"


def test_a_request_that_a_server_ends_without_is_to_be_tried_again(
    tmp_path, model_file, monkeypatch
):
    rows, _ = make_rows(1)

    def ended(rows):
        raise asyncio.CancelledError

    with serving(tmp_path, model_file) as server:
        monkeypatch.setattr(server.serving.live, "predict_to_learn", ended)
        answer = server.post("/predict", {"row": rows[0]}, 503)
        assert answer["error"] == "the server ends; try again"


def test_a_damaged_log_is_refused_or_gives_the_same_model(tmp_path, model_file):
    """Never another model."""
    fill(tmp_path / "d", model_file)
    path = tmp_path / "d" / "log.sqlite"
    sound = path.read_bytes()
    replay(tmp_path / "d", output=tmp_path / "right.safetensors")
    right = (tmp_path / "right.safetensors").read_bytes()
    rng = random.Random(0)
    refused = 0
    for _ in range(30):
        content = bytearray(sound)
        at = rng.randrange(len(content))
        for i in range(at, min(at + rng.choice([1, 1, 8, 512]), len(content))):
            content[i] ^= rng.randrange(1, 256)
        path.write_bytes(content)
        try:
            replay(tmp_path / "d", output=tmp_path / "found.safetensors")
        except InputError:
            refused += 1
        else:
            assert (tmp_path / "found.safetensors").read_bytes() == right
    assert refused > 4
    for statement, words in (
        ("UPDATE predictions SET row = '{}' WHERE sequence = (1 << 40) + 3", "not as it was"),
        ("UPDATE labels SET label = '\"skip\"' WHERE label = '\"click\"'", "not as it was"),
        ("DELETE FROM labels WHERE sequence = 7", "39 labels, and the last one is number 40"),
        ("DELETE FROM predictions WHERE sequence = (1 << 40) + 7", "of label 8 is missing"),
        ("DELETE FROM labels WHERE sequence > 30", "labels are lost"),
        ("DROP TABLE labels", "is a damaged log .it has no .*labels"),
    ):
        path.write_bytes(sound)
        with sqlite3.connect(path) as connection:
            connection.execute(statement)
        connection.close()
        with pytest.raises(InputError, match=words):
            replay(tmp_path / "d")


def test_a_damaged_snapshot_is_passed_over(tmp_path, model_file):
    fill(tmp_path, model_file)
    folder = Folder(tmp_path)
    ((_, name),) = folder.snapshots()
    file = tmp_path / name
    file.write_bytes(file.read_bytes()[:-1])
    said = []
    log = Log(tmp_path)
    assert folder.newest_model(log, said.append).served.labels == 0
    assert "went on from an older one" in said[0]
    folder.first().write_bytes(b"")
    with pytest.raises(InputError, match=r"not the model that log\.sqlite goes on from"):
        folder.newest_model(log, said.append)
    log.close()


def test_labels_that_no_snapshot_has_are_in_one_after_the_next_start(tmp_path, model_file):
    """So a server that is killed again and again does not learn more and more of the log."""
    fill(tmp_path, model_file)
    ((labels, name),) = Folder(tmp_path).snapshots()
    (tmp_path / name).unlink()
    with serving(tmp_path, snapshot_labels=labels + 1) as server:
        assert server.get("/stats")["snapshot"] == 0
    (tmp_path / name).unlink()
    with serving(tmp_path, snapshot_labels=labels) as server:
        assert server.get("/stats")["snapshot"] == labels
    assert Folder(tmp_path).snapshots() == [(labels, name)]


@UNUSED
def test_requests_that_were_cut_and_changed_break_nothing(server, tmp_path):
    rows, labels = make_rows(8)
    good = [
        ("/predict", {"row": rows[0], "id": "a"}),
        ("/predict", {"rows": rows}),
        ("/label", [{"id": f"x1-{i}", "label": labels[i]} for i in range(4)]),
        ("/learn", [{"row": rows[i], "label": labels[i]} for i in range(4)]),
    ]
    pieces = [b"null", b"-1", b"1e308", b"1e-400", b'"\\u0000"', b'"\\ud800"', b"[]", b"{}"]
    pieces += [b"true", b'"click"', b"9" * 40, b'{"city":{"a":[1]}}', b'""', b"\xff", b":", b'"']
    rng = random.Random(0)
    statuses = {}
    for _ in range(250):
        path, body = rng.choice(good)
        content = json.dumps(body, ensure_ascii=rng.random() < 0.5).encode()
        for _ in range(rng.randrange(1, 4)):
            at, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
            if rng.random() < 0.7:  # whole values, rather
                marks = [i for i, c in enumerate(content) if c in b",:[]{}"] or [-1]
                at = rng.choice(marks) + 1
                end = min([i for i in marks if i >= at], default=len(content))
            content = content[:at] + rng.choice(pieces) + content[end:]
        answer = server.http.post(
            path, content=content, headers={"content-type": "application/json"}
        )
        answer.json()
        statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
        assert answer.status_code < 500
    assert statuses[200] > 5
    assert statuses[422] > 50
    server.learned()
    server.post("/snapshot", {})
    assert replay(tmp_path).different == []


# --- the commands ------------------------------------------------------------------------------


def test_commands_say_what_is_wrong(tmp_path, model_file, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fill(tmp_path / "d", model_file, 4)
    crossview.save(make_model(crossview.MultiViewPAClassifier()), "other.safetensors")
    (tmp_path / "plain").write_text("x")
    for argv, words in (
        (["serve", "--data", "new"], "no log yet; name the model"),
        (["serve", "no.safetensors", "--data", "new"], "no such model file"),
        (["serve", "other.safetensors", "--data", "d"], "from another model than other.safet"),
        (["serve", model_file, "--data", "plain"], "is a file; name a folder"),
        (["serve", model_file, "--data", "e", "--port", "99999"], "--port 99999; give"),
        (["serve", model_file, "--data", "e", "--host", "192.0.2.1"], "name one of this machine"),
        (["serve", model_file, "--data", "e", "--token-file", "no"], "no: cannot be read"),
        (["serve", model_file], "--data"),
        (["replay", "nowhere"], "no server has used it"),
    ):
        status, _, err = run(capsys, *argv)
        assert (status, len(err)) == (2, 1), err
        assert words in err[0]
    status, out, err = run(capsys, "replay", "d", "-o", "end.safetensors")
    assert (status, err) == (0, ["wrote end.safetensors"])
    assert out[1:] == ["snapshot after 4 labels: same bits"]
    # a snapshot of another model
    (file,) = (tmp_path / "d" / "snapshots").iterdir()
    live = LiveModel.restore(file)
    live.model.learn_one({}, "skip")
    live.save(file)
    status, out, _ = run(capsys, "replay", "d")
    assert (status, out[1]) == (1, "snapshot after 4 labels: OTHER BITS")
    # one that is damaged is passed over, as by a server
    with serving(tmp_path / "d") as server:
        server.post("/learn", {"row": {}, "label": "skip"})
        server.learned()
    newest = file.with_name(f"{5:015d}.safetensors")
    sound = newest.read_bytes()
    for content in (b"", sound[:-1], sound[:-9] + b"x" * 9):
        newest.write_bytes(content)
        status, out, err = run(capsys, "replay", "d", "-o", "end.safetensors")
        assert (status, err, len(out)) == (1, ["wrote end.safetensors"], 3)
        assert out[1] == "snapshot after 4 labels: OTHER BITS"
        assert out[2].startswith("snapshot after 5 labels: DAMAGED, so that no server goes on from")
        assert newest.name in out[2]


def test_models_that_cannot_be_served(tmp_path):
    rows, labels = make_rows(20)
    rows = [row | {"user": {"city": "a", "age": 1.0}, "page": {"size": 2.0}} for row in rows]
    flat = [{f"{v}__{k}": x for v, own in row.items() for k, x in own.items()} for row in rows]
    table = pa.Table.from_pylist(flat)
    batch = crossview.make_pipeline(crossview.ViewEncoder(), crossview.LateFusionClassifier())
    crossview.save(batch.fit(table, labels), tmp_path / "m.safetensors")
    with pytest.raises(
        InputError, match="LateFusionClassifier, which learns from all rows at once"
    ):
        Folder(tmp_path / "d").open(tmp_path / "m.safetensors")
    assert not (tmp_path / "d").exists()


def test_a_body_that_is_too_large_is_read_before_it_is_refused():
    """A client that is cut off while it sends reads no answer."""
    parts = [
        {"type": "http.request", "body": b" " * (1 << 20), "more_body": n > 0} for n in range(9)
    ]

    async def receive():
        return parts.pop()

    kind = [(b"content-type", b"application/json")]
    with pytest.raises(RefusedError, match="at most 8 MB"):
        asyncio.run(read_body(Request({"type": "http", "headers": kind}, receive)))
    assert not parts
