"""A stack that counts the last labels, where these come late: served, restarted and replayed."""

import base64
import json

import numpy as np
import pyarrow as pa
import pytest

import crossview
from crossview import AROWClassifier, OnlineStackingClassifier, ViewEncoder, make_pipeline
from crossview.server_log.log import Label, Labeled, Prediction
from crossview.serving.live import LiveModel
from crossview.serving.storage.folder import replay
from live_servers import serving

ROWS_BEFORE = 2100  # the memory opens after 2,000


def stream(n, seed=0):
    """Rows that say little of their labels, of which the last one says much."""
    rng = np.random.default_rng(seed)
    y = np.cumsum(rng.random(n) < 0.01) % 2
    a = rng.normal(size=n) + 0.5 * y
    rows = [{"n__a": x, "n__b": z} for x, z in np.column_stack([a, rng.normal(size=n)]).tolist()]
    return rows, np.where(y == 1, "yes", "no").tolist()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    rows, labels = stream(ROWS_BEFORE)
    for name, r in (("first", 1.0), ("other", 10.0)):
        experts = [("arow", AROWClassifier(r=r)), ("diagonal", AROWClassifier())]
        stack = OnlineStackingClassifier(experts=experts, memory=True, random_state=0)
        model = make_pipeline(ViewEncoder(numeric=["n__a", "n__b"]), stack)
        model.partial_fit(pa.Table.from_pylist(rows), labels, classes=["no", "yes"])
        assert stack.uses_memory_
        crossview.save(model, folder / f"{name}.safetensors")
    return folder


def late_records(rows, labels, seed=0):
    """A log of labels in another order than their rows, of which some were assumed before."""
    rng = np.random.default_rng(seed)
    n = len(rows)
    late = rng.integers(9, size=n) * np.where(rng.random(n) < 0.02, 60, 1)
    records = []
    for number, t in enumerate(np.argsort(np.arange(n) + late, kind="stable").tolist(), 1):
        label = json.dumps(labels[t])
        seen = max(0, number - 1 - int(late[t]))
        of = Prediction(t, f"x1-{t}", 0, json.dumps(rows[t]), seen, '"no"', '{"no": 0.75}')
        records.append(Labeled(Label(number, t, 0, label, assumed=[label, None][t % 9 > 0]), of))
    return records


@pytest.mark.parametrize("cut", [0, 130])
def test_a_row_is_learned_with_what_the_last_labels_said_when_it_was_predicted(
    files, tmp_path, cut
):
    """By batches, from a snapshot, and with labels among them that are not learned (again)."""
    rows, labels = stream(400, seed=1)
    rows[50] = {"n__a": "old"}
    records = late_records(rows, labels)
    model = crossview.load(files / "first.safetensors")
    learner, n_learned = model.steps[-1][1], [0]
    for record in records:
        is_learned = record.label.assumed is None and record.of.sequence != 50
        if is_learned:
            learner.set_delay(n_learned[-1] - n_learned[record.of.model])
            model.learn_one(json.loads(record.of.row), json.loads(record.label.label))
        n_learned.append(n_learned[-1] + is_learned)
    assert learner.uses_memory_
    for size in (1, 17, 256):
        live = LiveModel.load(files / "first.safetensors")
        live.model_at = lambda n: pytest.fail("it was restored")
        live.learn(records[:cut])
        live.save(tmp_path / "s.safetensors")
        live = LiveModel.restore(tmp_path / "s.safetensors")
        live.model_at = lambda n: pytest.fail("it was restored")
        for lo in range(cut, 400, size):
            live.learn(records[lo : lo + size])
        for name, array in learner.get_state().items():
            np.testing.assert_array_equal(live.learner.get_state()[name], array, err_msg=name)


def test_labels_that_come_very_late_give_the_same_bits_in_batches(files):
    """Later than after 256 others they all count the same, however many are learned at once."""
    rows, labels = stream(600, seed=4)
    live = LiveModel.load(files / "first.safetensors")
    live.begin(0)
    before = []  # what the model had learned, and its experts said, when each row was predicted
    for answer in live.predict_to_learn(rows):
        experts = json.dumps({k: base64.b64encode(v).decode() for k, v in answer.experts.items()})
        before.append(Prediction(0, "", 0, "", 0, '"no"', "null", experts))
    records = [
        Labeled(
            Label(t + 1, t, 0, json.dumps(label)), one._replace(sequence=t, row=json.dumps(row))
        )
        for t, (row, label, one) in enumerate(zip(rows, labels, before, strict=True))
    ]
    states = []
    for size in (1, 256):
        live = LiveModel.load(files / "first.safetensors")
        live.begin(0)
        live.model_at = lambda n: pytest.fail("it was restored")
        for lo in range(0, 600, size):
            live.learn(records[lo : lo + size])
        states.append(live.learner.get_state())
    for name, array in states[0].items():
        np.testing.assert_array_equal(states[1][name], array, err_msg=name)


def test_what_is_served_follows_the_labels_that_have_come(files, tmp_path):
    """Challengers do, too, but not what learns nothing; after a restart, and in a replay."""
    rows, labels = stream(180, seed=2)
    first = files / "first.safetensors"
    model = crossview.load(first)
    learner = model.steps[-1][1].follow_stream()
    waiting, n_waiting, n_learned = [], 2, 0
    for part in range(3):
        with serving(tmp_path / "d", first if part == 0 else None) as server:
            for name, frozen in (("learns", 0), ("frozen", 1)) if part == 0 else ():
                path, kind = f"/challenger?name={name}&frozen={frozen}", "application/octet-stream"
                content = (files / "other.safetensors").read_bytes()
                answer = server.http.post(path, content=content, headers={"content-type": kind})
                assert answer.status_code == 200
            for t in range(60 * part, 60 * part + 60):
                found = server.post("/predict?durable=1", {"row": rows[t]})
                assert found["probabilities"] == model.predict_proba_one(rows[t])
                said = learner.expert_predictions()
                waiting.append((found["id"], rows[t], labels[t], said, n_learned))
                if len(waiting) <= n_waiting:
                    continue
                id_, row, label, said, n_then = waiting.pop(0)
                server.post("/label", {"id": id_, "label": label})
                server.learned()
                learner.set_delay(n_learned - n_then, said)
                model.learn_one(row, label)
                n_learned += 1
            if part == 1:
                server.post("/promote", {"name": "frozen"})
                server.post("/promote", {"name": "first"})
            live = server.serving.live
            assert [live.first.learner._follows, live.learner._follows] == [False, True]
            challengers = {one.name: one.live for one in live.challengers}
            assert challengers["learns"].learner._follows
            # a frozen one that was promoted once learns since
            assert challengers["frozen"].learner._follows == (part > 0)
    assert learner.uses_memory_
    learner.follow_stream(False)
    assert model.predict_proba_one(rows[-1]) != found["probabilities"]
    again = replay(tmp_path / "d")
    assert len(again.same) == 3
    assert not again.different


def test_the_model_of_another_server_begins_anew(files, tmp_path):
    """It has learned labels of the other log, and none of this one."""
    rows, labels = stream(60, seed=3)
    sent = [{"row": row, "label": label} for row, label in zip(rows, labels, strict=True)]
    with serving(tmp_path / "one", files / "first.safetensors") as server:
        server.post("/learn", sent[:40])
        server.learned()
        (tmp_path / "m.safetensors").write_bytes(server.http.get("/model").content)
    model = crossview.load(tmp_path / "m.safetensors")
    with serving(tmp_path / "two", tmp_path / "m.safetensors") as server:
        server.post("/learn", sent[40:])
        assert server.learned()["model"] == 20
        for t in range(40, 60):
            model.learn_one(rows[t], labels[t])  # rows that come labeled are not late
        model.steps[-1][1].follow_stream()
        found = server.post("/predict", {"row": rows[0]})["probabilities"]
        assert found == model.predict_proba_one(rows[0])
    assert replay(tmp_path / "two").same == [20]
