"""Models that learn nothing, which may be of any kind: served, compared and promoted."""

import numpy as np
import pyarrow as pa
import pytest

import crossview
from command_line import run
from crossview import InputError
from crossview.serving.beginning import Beginning
from crossview.serving.live import LiveModel
from crossview.serving.storage.folder import Folder, replay
from live_servers import join, learn, make_model, make_rows, serving

TREES = crossview.MultiViewTreesClassifier(max_iter=5, n_bags=1, random_state=0)
NETWORK = crossview.MultiViewNetworkClassifier(
    n_members=1, n_hidden=4, max_epochs=3, random_state=0
)
KINDS = {
    "trees": TREES,
    "network": NETWORK,
    "late": crossview.LateFusionClassifier(),
    "extra": crossview.MultiViewExtraTreesClassifier(n_estimators=5, random_state=0),
    "kernel": crossview.MultiViewKernelRidgeClassifier(random_state=0),
    "logistic": crossview.MultiViewLogisticRegression(),
    "ensemble": crossview.EnsembleClassifier(
        members=[("trees", TREES), ("network", NETWORK)], weights=[0.5, 0.5], random_state=0
    ),
}


# one with trees and networks in it, and one that is linear; `make test-all` has all
FEW = ("logistic", "ensemble")
FEW_KINDS = [
    pytest.param(name, marks=[] if name in FEW else pytest.mark.exhaustive) for name in KINDS
]


def flat(rows):
    return pa.Table.from_pylist(
        [{f"{v}__{k}": x for v, own in row.items() for k, x in own.items()} for row in rows]
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of each kind that learns all rows at once, one that learns from a stream, numbers."""
    path = tmp_path_factory.mktemp("models")
    rows, labels = make_rows(80, seed=5)
    rows[0] = {"user": {"city": "Oslo", "age": 30.0}, "page": {"size": 0.5}}
    columns = {"categorical": ["user__city"], "numeric": ["user__age", "page__size"]}
    for name, learner in KINDS.items():
        encoder = crossview.ViewEncoder(**columns, hash_bits=6)
        model = crossview.make_pipeline(encoder, learner).fit(flat(rows), labels)
        crossview.save(model, path / f"{name}.safetensors")
    numbers = crossview.make_pipeline(
        crossview.ViewEncoder(**columns, hash_bits=6),
        crossview.MultiViewTreesRegressor(max_iter=5, n_bags=1, random_state=0),
    ).fit(flat(rows), np.arange(80.0))
    crossview.save(numbers, path / "numbers.safetensors")
    for name, learner in (
        ("pa", crossview.PassiveAggressiveClassifier()),
        ("stack", crossview.OnlineStackingClassifier()),
    ):
        crossview.save(make_model(learner), path / f"{name}.safetensors")
    return path


def said(server, rows):
    return [server.post("/predict", {"row": row})["probabilities"] for row in rows]


@pytest.mark.parametrize("kind", [*FEW_KINDS, "stack"])
def test_a_frozen_model_of_any_kind_is_served_and_challenged(kind, files, tmp_path):
    rows, labels = make_rows(90)
    file = files / f"{kind}.safetensors"
    model = crossview.load(file)
    expected = [model.predict_proba_one(row) for row in rows[:5]]
    with serving(tmp_path / "d", file, frozen=True, snapshot_labels=20) as server:
        join(server, files / "pa.safetensors")
        assert said(server, rows[:5]) == expected
        made = server.post("/predict", {"row": rows[0], "id": "own"})
        server.post("/label", {"id": "own", "label": labels[0]})
        numbers = learn(server, rows[:30], labels[:30])
        assert (numbers["frozen"], numbers["scored"], numbers["labels_refused"]) == (True, 31, 0)
        assert numbers["log_loss"] > 0.0
        assert not server.serving.shown()["has_first"]
        assert "crossview_frozen 1.0" in server.http.get("/metrics").text
        assert said(server, rows[:5]) == expected
        (tmp_path / "now.safetensors").write_bytes(server.http.get("/model").content)
        server.http.portal.call(server.serving.monitor.look)
        assert [one["view"] for one in server.serving.monitor.views] == ["user", "page"]
        (challenger,) = numbers["challengers"]
        assert (challenger["name"], challenger["labels"]) == ("pa", 31)
    assert made["probabilities"] == expected[0]
    now = crossview.load(tmp_path / "now.safetensors")
    assert [now.predict_proba_one(row) for row in rows[:5]] == expected
    with serving(tmp_path / "d") as server:  # it goes on frozen
        assert (server.learned()["frozen"], server.learned()["labels"]) == (True, 31)
        assert said(server, rows[:5]) == expected
        # one that learns takes over, and the other one stays as it is
        server.post("/promote", {"name": "pa"})
        numbers = learn(server, rows[30:60], labels[30:60])
        assert (numbers["serves"], numbers["frozen"]) == ("pa", False)
        (first,) = numbers["challengers"]
        assert (first["name"], first["frozen"], first["labels"]) == ("first", True, 30)
        assert server.serving.shown()["has_first"]
    pa_model = crossview.load(files / "pa.safetensors")
    for row, label in zip([rows[0], *rows[:60]], [labels[0], *labels[:60]], strict=True):
        pa_model.learn_one(row, label)
    with serving(tmp_path / "d") as server:
        assert said(server, rows[:5]) == [pa_model.predict_proba_one(row) for row in rows[:5]]
        server.post("/promote", {"name": "first"})
        assert learn(server, rows[60:], labels[60:])["frozen"] is (kind != "stack")
        if kind != "stack":
            assert said(server, rows[:5]) == expected
    again = replay(tmp_path / "d", output=tmp_path / "end.safetensors")
    assert (again.labels, again.different, again.damaged) == (91, [], {})
    assert again.same


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_of_a_frozen_model_starts_and_explains(kind, files):
    """It explains a row without any column first."""
    live = LiveModel.load(files / f"{kind}.safetensors", frozen=True)
    live.warm_up()
    for row in ({}, {"user": {"city": "Oslo"}}):
        assert {*live.explain(row).views} == {"user", "page"}


@pytest.mark.parametrize("kind", FEW_KINDS)
def test_frozen_challengers_are_of_any_kind(kind, files, tmp_path):
    rows, labels = make_rows(60)
    file = files / f"{kind}.safetensors"
    with serving(tmp_path / "d", files / "pa.safetensors") as server:
        words = "learns from all rows at once; serve it with crossview serve --frozen"
        assert words in join(server, file, status=422)["error"]
        join(server, file, frozen=1)
        (found,) = learn(server, rows[:40], labels[:40])["challengers"]
        assert (found["frozen"], found["labels"]) == (True, 40)
    model = crossview.load(file)
    losses = [
        -np.log(model.predict_proba_one(row)[label])
        for row, label in zip(rows[:40], labels, strict=False)
    ]
    assert found["loss"] == pytest.approx(np.mean(losses))
    with serving(tmp_path / "d") as server:
        server.post("/promote", {"name": kind})
        assert server.said[-1].endswith("after 40 labels; it is frozen: it learns nothing")
        assert said(server, rows[:3]) == [model.predict_proba_one(row) for row in rows[:3]]
        numbers = learn(server, rows[40:], labels[40:])
        assert numbers["frozen"]
        assert not numbers["challengers"][0]["frozen"]  # the one that was served still learns
    found = replay(tmp_path / "d", frozen_challengers=[file])
    assert (found.different, found.challengers[0]["labels"]) == ([], 60)


def test_a_frozen_challenger_of_a_frozen_model_stays_frozen(files, tmp_path):
    rows, labels = make_rows(40)
    model = files / "trees.safetensors"
    with serving(tmp_path / "d", model, frozen=True) as server:
        join(server, files / "pa.safetensors", frozen=1)
        server.post("/promote", {"name": "pa"})
        assert learn(server, rows, labels)["frozen"]
        pa_model = crossview.load(files / "pa.safetensors")
        assert said(server, rows[:3]) == [pa_model.predict_proba_one(row) for row in rows[:3]]
    assert replay(tmp_path / "d").different == []


def test_numbers_and_slots_of_a_frozen_model(files, tmp_path):
    rows, labels = make_rows(20)
    for name, targets in (("numbers", list(range(20))), ("trees", labels)):
        file = files / f"{name}.safetensors"
        for hashed in (False, True):
            path = tmp_path / f"{name}-{hashed}"
            with serving(path, file, frozen=True, hash_rows=hashed) as server:
                found = server.post("/predict", {"row": rows[0]})["prediction"]
                assert found == crossview.load(file).predict_one(rows[0])
                assert learn(server, rows, targets)["scored"] == 20
            assert replay(path).different == []


@pytest.mark.parametrize("option", ["--challenger", "--frozen-challenger"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_refused_challenger_leaves_no_log(option, workers, files, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "torn.safetensors").write_bytes(b"none")
    refused = [
        ("torn.safetensors", "torn.safetensors: "),
        (files / "numbers.safetensors", "numbers"),
    ]
    if option == "--challenger":
        refused.append((files / "trees.safetensors", "--frozen-challenger"))
    for file, words in refused:
        argv = ["serve", files / "pa.safetensors", "--data", "d", "--port", 0, option, file]
        status, _, err = run(capsys, *argv, "--workers", workers)
        assert status == 2
        assert words in err[-1]
        assert not (tmp_path / "d").exists()


def test_what_cannot_be_frozen_is_refused(files, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in KINDS:
        with pytest.raises(InputError, match="serve it with crossview serve --frozen"):
            Folder(tmp_path / "d").open(files / f"{name}.safetensors")
    assert not (tmp_path / "d").exists()
    with serving(tmp_path / "learns", files / "pa.safetensors"):
        pass
    for argv, words in (
        (["--new", "--label", "y", "--data", "n"], "--frozen is about a model that has learned"),
        (["--data", "learns"], "learns: has a log of a model that learns; --frozen is for a new"),
    ):
        status, _, err = run(capsys, "serve", "--frozen", "--port", 0, *argv)
        assert (status, len(err)) == (2, 1), err
        assert words in err[0]


def test_a_frozen_model_has_no_other_classes(files):
    live = LiveModel.load(files / "pa.safetensors", frozen=True)
    with pytest.raises(
        InputError, match=r"none of the classes .*; a frozen model learns no others"
    ):
        live.check_label("another", new_classes=True)
    with pytest.raises(InputError, match="frozen=True is about a model that has learned"):
        LiveModel.of(Beginning("y"), frozen=True)


def test_a_snapshot_that_says_something_else_than_frozen_is_damaged(files, tmp_path):
    live = LiveModel.load(files / "trees.safetensors", frozen=True)
    live.info = live.info | {"frozen": "yes"}
    live.begin(1)
    live.save(tmp_path / "m.safetensors")
    with pytest.raises(InputError, match=r"m\.safetensors: .*frozen"):
        LiveModel.restore(tmp_path / "m.safetensors")
