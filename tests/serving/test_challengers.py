"""Challengers: what they learn, how they are compared, and changing over while requests come."""

import json
import threading

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import is_classifier

import crossview
from command_line import run
from contract.test_single_rows import learners_of_catalog, make_encoder, make_stream
from crossview import InputError
from crossview.scoring.significance import ConfidenceSequence
from crossview.serving.challengers import Compared
from crossview.serving.live import Example, LiveModel
from crossview.serving.storage.folder import Folder, replay
from live_servers import join, learn, make_model, make_rows, serving


@pytest.fixture
def files(tmp_path):
    """A model that is served, one like it, one that knows nothing yet, and one of numbers."""
    learners = {
        "m": None,
        "same": None,
        "pa": crossview.PassiveAggressiveClassifier(),
    }
    for name, learner in learners.items():
        crossview.save(make_model(learner), tmp_path / f"{name}.safetensors")
    numbers = crossview.make_pipeline(
        crossview.ViewEncoder(), crossview.MultiViewMachineRegressor()
    )
    numbers.learn_one({"user__age": 3.0}, 2.5)
    crossview.save(numbers, tmp_path / "numbers.safetensors")
    return tmp_path


def summaries(server):
    return {one["name"]: one for one in server.get("/stats")["challengers"]}


def test_challengers_learn_are_compared_and_take_over(files, capsys):
    rows, labels = make_rows(300)
    with serving(files / "d", files / "m.safetensors", snapshot_labels=45) as server:
        learn(server, rows[:40], labels[:40])
        assert join(server, files / "pa.safetensors", "pa") == {
            "name": "pa",
            "at": 40,
            "serves": "first",
        }
        join(server, files / "same.safetensors", "frozen", frozen=1)
        learn(server, rows[40:100], labels[40:100])
    # what is known after a restart, and in a replay
    assert replay(files / "d").different == []
    pa = make_model(crossview.PassiveAggressiveClassifier())
    first, frozen = (make_model() for _ in range(2))
    for row, label in zip(rows[:40], labels, strict=False):
        first.learn_one(row, label)
    losses = []
    for row, label in zip(rows[40:100], labels[40:100], strict=True):
        # the encoder has seen the row, and the learner not its label
        own = [model.named_steps for model in (first, pa)]
        p = []
        for steps in own:
            encoder, learner = steps.values()
            x = encoder.partial_fit_transform_one(row)
            (own,) = learner.score_then_learn(x.as_views(), [label], return_proba=True)[1]
            p.append(own[learner.classes_.tolist().index(label)])
        losses.append([-np.log(value) for value in (*p, frozen.predict_proba_one(row)[label])])
    losses = np.array(losses, dtype=float)
    with serving(files / "d", snapshot_labels=45) as server:
        found = summaries(server)
        for name, own in (("pa", losses[:, 1]), ("frozen", losses[:, 2])):
            assert found[name]["labels"] == 60
            assert found[name]["loss_of_served"] == pytest.approx(losses[:, 0].mean())
            assert found[name]["loss"] == pytest.approx(own.mean())
            sequence = ConfidenceSequence(1.0)
            for difference in losses[:, 0] - own:
                sequence.add(difference)
            assert (found[name]["low"], found[name]["high"]) == pytest.approx(sequence.interval())
            line = f'crossview_challenger_low{{challenger="{name}"}} {found[name]["low"]}'
            assert line in server.http.get("/metrics").text
        # it takes over while requests come, and none fails
        statuses, stop = [], threading.Event()

        def ask():
            while not stop.is_set():
                answer = server.http.post("/predict", json={"rows": rows[:3]})
                statuses.append(answer.status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        assert server.post("/promote", {"name": "pa"})["serves"] == "pa"
        assert server.post("/predict", {"row": rows[0]})["probabilities"] == (
            pa.predict_proba_one(rows[0])
        )
        stop.set()
        asking.join()
        assert {*statuses} == {200}
        assert summaries(server)["first"]["labels"] == 0
        learn(server, rows[100:200], labels[100:200])
        assert summaries(server)["first"]["labels"] == 100
        kind = {"content-type": "application/json"}
        assert server.http.delete("/challenger?name=frozen", headers=kind).status_code == 200
        learn(server, rows[200:210], labels[200:210])
        assert {*summaries(server)} == {"first"}
    for row, label in zip(rows[100:210], labels[100:210], strict=True):
        pa.learn_one(row, label)
    with serving(files / "d") as server:
        assert server.get("/stats")["serves"] == "pa"
        assert summaries(server)["first"]["labels"] == 110
        found = server.post("/predict", {"rows": rows[:20]})["predictions"]
        assert [one["probabilities"] for one in found] == [
            pa.predict_proba_one(row) for row in rows[:20]
        ]
    again = replay(files / "d", output=files / "again.safetensors")
    assert (again.labels, again.different, again.same[-1]) == (210, [], 210)
    assert LiveModel.load(files / "again.safetensors").predict(rows[:1])[0].probabilities == (
        pa.predict_proba_one(rows[0])
    )
    # another one that was never there: as if it had been, and the same bits of the others
    other = replay(files / "d", challengers=[files / "same.safetensors"])
    assert (other.different, other.same) == (again.different, again.same)
    (own,) = other.challengers
    assert (own["name"], own["labels"], own["is"]) == ("same", 210, "not told apart")
    status, out, _ = run(
        capsys, "replay", files / "d", "--frozen-challenger", files / "same.safetensors"
    )
    assert status == 0
    assert out[-1].startswith("same, frozen: not told apart; loss ")
    assert out[-1].endswith("over 210 labels")
    # a damaged file of a challenger is no snapshot
    newest = max((files / "d" / "snapshots").glob("*-first.safetensors"))
    newest.write_bytes(newest.read_bytes()[:-9])
    with serving(files / "d") as server:
        assert "went on from an older one" in server.said[0]
        assert summaries(server)["first"]["labels"] == 110


def test_a_replay_says_that_a_challenger_has_learned_the_log(files, capsys):
    rows, labels = make_rows(300)
    with serving(files / "d", files / "m.safetensors") as server:
        learn(server, rows[:150], labels[:150])
    with serving(files / "e", files / "m.safetensors") as server:
        learn(server, rows[150:], labels[150:])
    for name in "de":
        crossview.train(
            files / name, "label", model="arow", output=files / f"of-{name}.safetensors"
        )
    words = "100% of the rows of the log are equal to rows that it has learned"
    for option in ("--challenger", "--frozen-challenger"):
        for name, share in (("d", 1.0), ("e", 0.0)):
            model = files / f"of-{name}.safetensors"
            status, out, err = run(capsys, "replay", files / "d", option, model)
            assert status == 0
            assert out[-1].endswith("over 150 labels")
            said = [line for line in err if words in line]
            assert len(said) == int(share)
            if said:
                assert said[0].startswith("crossview: warning: of-d: ")
    (own,) = replay(files / "d", challengers=[files / "of-e.safetensors"]).challengers
    assert own["learned"] == 0.0
    (own,) = replay(files / "d", challengers=[files / "same.safetensors"]).challengers
    assert (own["learned"], own["labels_served"]) == (None, 0)
    again = files / "again.safetensors"  # of no training
    run(capsys, "replay", files / "d", "-o", again)
    for name, share in (("d", 1), ("e", 0)):
        _, _, err = run(capsys, "replay", files / name, "--challenger", again)
        assert sum(f"again: {words}" in line for line in err) == share
        assert not any("from a server" in line for line in err)


def test_challengers_that_cannot_join_are_refused(files):
    with serving(files / "d", files / "m.safetensors") as server:
        assert "predicts numbers" in join(server, files / "numbers.safetensors", "n", 422)["error"]
        assert "letters" in join(server, files / "pa.safetensors", "../pa", 422)["error"]
        assert "letters" in join(server, files / "pa.safetensors", "first", 422)["error"]
        assert "not a" in join(server, None, "pa", 422)["error"]
        join(server, files / "pa.safetensors", "pa")
        assert "there already" in join(server, files / "pa.safetensors", "pa", 409)["error"]
        assert "no challenger" in server.post("/promote", {"name": "first"}, 404)["error"]
        assert "no challenger" in server.http.delete("/challenger?name=none").json()["error"]
        server.post("/promote", b"{}", 422)
        assert server.post("/snapshot", {})["labels"] == 0
    folder = Folder(files / "d")
    log = folder.open(None)
    live = folder.newest_model(log, print)
    folder.let_join(log, live, files / "pa.safetensors", frozen=False)  # it is there
    assert len(log.events()) == 1
    for name, frozen, words in (
        ("pa", True, "has joined already"),
        ("numbers", False, "predicts numbers"),
    ):
        with pytest.raises(InputError, match=words):
            folder.let_join(log, live, files / f"{name}.safetensors", frozen=frozen)
    log.close()
    with serving(files / "h", files / "m.safetensors", hash_rows=True) as server:
        assert "log of slots" in join(server, files / "pa.safetensors", "pa", 422)["error"]


def test_files_that_cannot_be_written_are_no_bug(files, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    def refuse(*_):
        raise InputError("cannot be written (No space left on device)", file="f")

    with serving(files / "d", files / "m.safetensors") as server:
        monkeypatch.setattr(server.serving.folder, "keep_challenger", fail)
        refused = join(server, files / "pa.safetensors", "pa", 503)
        assert refused == {"error": "No space left on device"}
        assert server.said[-1] == "warning: POST /challenger: No space left on device"
        monkeypatch.setattr(server.serving.live, "save", refuse)
        words = "f: cannot be written (No space left on device)"
        assert server.get("/model", 503) == {"error": words}


@pytest.mark.filterwarnings("ignore::crossview.UnusedColumnsWarning")
def test_challengers_have_classes_of_the_model_that_is_served(files):
    """Labels of a class that one lacks would be refused from its promotion on."""
    for name, classes in (("other", ["yes", "no"]), ("fewer", ["click", "view"])):
        encoder = crossview.ViewEncoder(numeric=["z__z"])  # it may read other columns
        model = crossview.make_pipeline(encoder, crossview.AROWClassifier())
        model.partial_fit(pa.table({"z__z": [1.0, 2.0]}), classes, classes=classes)
        crossview.save(model, files / f"{name}.safetensors")
    words = (
        "challenger 'other': predicts the classes no, yes, and the model that is served click, skip"
    )
    for settings in ({}, {"new_classes": True}):
        with serving(files / f"d{len(settings)}", files / "m.safetensors", **settings) as server:
            assert join(server, files / "other.safetensors", "other", 422) == {"error": words}
            join(server, files / "fewer.safetensors", "fewer", frozen=1)
            if settings:
                assert server.post("/promote", {"name": "fewer"})["serves"] == "fewer"
                learn(server, [{"z": {"z": 1.0}}], ["skip"])
            else:
                refused = server.post("/promote", {"name": "fewer"}, 409)["error"]
                assert refused.startswith("fewer does not have the class skip")
                assert server.get("/stats")["serves"] == "first"


@pytest.mark.filterwarnings("ignore::crossview.UnusedColumnsWarning")
def test_the_page_has_the_views_of_the_model_that_was_promoted(files):
    encoder = crossview.ViewEncoder(views={"all": ["user__*", "new"]})
    rows, labels = make_rows(40)
    table = pa.Table.from_pylist(
        [{f"{v}__{k}": x for v, own in row.items() for k, x in own.items()} for row in rows]
    ).append_column("new", [list(range(40))])
    other = crossview.make_pipeline(encoder, crossview.AROWClassifier()).fit(table, labels)
    crossview.save(other, files / "other.safetensors")
    with serving(files / "d", files / "m.safetensors") as server:
        monitor = server.serving.monitor
        join(server, files / "other.safetensors", "other")
        server.post("/predict", {"row": rows[0] | {"new": 1}})
        server.http.portal.call(monitor.look)
        assert monitor.new_columns() == ["new"]
        server.post("/promote", {"name": "other"})
        server.http.portal.call(monitor.look)
        assert [one["view"] for one in monitor.views] == ["all"]
        assert monitor.new_columns() == []


@pytest.mark.parametrize("learner", learners_of_catalog(each_module=True))
def test_answers_before_a_label_are_the_same_in_batches(learner):
    rows, labels = make_stream(40)
    rows = [json.loads(json.dumps(row, default=str)) for row in rows]
    y = labels if is_classifier(learner) else [float(len(str(row))) for row in rows]
    found = []
    for together in (False, True):
        live = LiveModel(
            crossview.make_pipeline(
                make_encoder(), learner.__class__(**learner.get_params(deep=False))
            ),
            {},
        )
        live.model_at = (lambda n: pytest.fail("it was restored")) if together else None
        examples = [Example(rows[t], y[t], t + 1, max(0, t - t % 3)) for t in range(40)]
        answers = live.learn_rows(examples[:20], 0, answered=True)
        answers += live.learn_rows(examples[20:], 20, answered=True)
        assert answers[0] is None
        found.append(answers)
    assert found[0] == found[1]


def test_numbers_are_compared_by_squared_errors_of_a_size_that_is_learned_first():
    compared, rng = Compared(), np.random.default_rng(0)
    for _ in range(2000):
        y, a, b = rng.normal(size=3)
        compared.add((1e3 * (y - a)) ** 2, (1e3 * (y - 0.2 * b)) ** 2, is_bounded=False)
    again = Compared.from_json(json.loads(json.dumps(compared.to_json())))
    assert again == compared
    assert compared.sequence.n == 1900
    assert compared.summary()["is"] == "better"
    assert 0.0 < compared.summary()["low"] < compared.summary()["difference"]
