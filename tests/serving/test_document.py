"""Explanations, MLflow's form of requests, and the document of all of them."""

import re

import msgspec
import pytest

import crossview
from crossview import ViewEncoder, make_pipeline
from crossview.serving.endpoints.requests import (
    ErrorAnswer,
    InvocationsAnswer,
    LabelAnswer,
    PredictAnswer,
)
from live_servers import make_rows, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory, model_file):
    with serving(tmp_path_factory.mktemp("document"), model_file) as client:
        yield client


def test_a_prediction_is_explained(server, model_file):
    model = crossview.load(model_file)
    encoder, learner = (step for _, step in model.steps)
    rows, _ = make_rows(9)
    answers = server.post("/predict?explain=1", {"rows": rows})["predictions"]
    for row, answer in zip(rows, answers, strict=True):
        found = answer["explanation"]
        X = encoder.transform_one(row).as_views()
        each = learner.contributions(X)
        assert found["score_of"] == "skip"
        assert found["views"].keys() == {"user", "page"}
        assert sum(found["views"].values()) == pytest.approx(each.sum())
        columns = {one["column"]: one["contribution"] for one in found["columns"]}
        assert sorted(columns.values()) == pytest.approx(sorted(each.data))
        if "user" in row and row["user"]["city"]:
            assert f"user__city={row['user']['city']}" in columns
        sizes = [abs(one["contribution"]) for one in found["columns"]]
        assert sizes == sorted(sizes, reverse=True)
    assert "explanation" not in server.post("/predict?explain=0", {"row": rows[0]})
    assert "at most 64" in server.post("/predict?explain=1", {"rows": rows * 10}, 413)["error"]
    assert "give 0 or 1" in server.post("/predict?explain=yes", {"row": {}}, 422)["error"]


@pytest.mark.parametrize("several", [False, True])
def test_explanations_of_other_models(tmp_path, several):
    """A stack; several classes; numbers."""
    rows, labels = make_rows(30)
    learner = crossview.OnlineStackingClassifier(random_state=0)
    if several:
        labels = [["a", "b", "c"][i % 3] for i in range(30)]
    else:
        learner, labels = crossview.MultiViewMachineRegressor(early_stopping=False), range(30)
    columns = {"categorical": ["user__city"], "numeric": ["user__age", "page__size"]}
    model = make_pipeline(ViewEncoder(**columns, hash_bits=10), learner)
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(row, label if several else float(label))
    crossview.save(model, tmp_path / "m.safetensors")
    with serving(tmp_path / "d", tmp_path / "m.safetensors") as server:
        answer = server.post("/predict?explain=1", {"row": rows[1]})
        assert answer["explanation"]["score_of"] == (answer["prediction"] if several else None)
        assert answer["explanation"]["columns"]
        found = server.post("/predict?top=2", {"rows": [rows[1], {"user": 1}]}, 207)["predictions"]
        if several:
            best = sorted(answer["probabilities"].items(), key=lambda one: -one[1])[:2]
            assert list(found[0]["probabilities"].items()) == best
        else:
            assert found[0]["probabilities"] is None
        for wrong in ("0", "-1", "two", "٣"):
            refused = server.post(f"/predict?top={wrong}", {"row": rows[1]}, 422)
            assert f"top={wrong}; give a number from 1" in refused["error"]


def test_the_form_of_mlflow(server):
    rows = [{"user__city": "Oslo", "user__age": 3.0, "page__size": t / 3} for t in range(3)]
    right = [server.post("/predict", {"row": row}) for row in rows]
    columns = list(rows[0])
    split = {"columns": columns, "data": [[row[name] for name in columns] for row in rows]}
    for body in (
        {"dataframe_split": split},
        {"dataframe_split": split | {"index": [0, 1, 2]}},
        {"dataframe_records": rows},
        {"instances": rows},
    ):
        found = server.post("/invocations", body)
        assert found["predictions"] == [one["prediction"] for one in right]
        assert found["probabilities"] == [one["probabilities"] for one in right]
        assert server.post("/label", {"id": found["ids"][0], "label": "skip"})
        msgspec.convert(found, InvocationsAnswer)
        server.learned()
        right = [server.post("/predict", {"row": row}) for row in rows]
    server.post("/predict?durable=1", {"row": rows[0]})  # all before it are written
    before = server.get("/stats")["predictions"]
    for body, words in (
        ({}, "give one of"),
        ({"instances": rows, "dataframe_records": rows}, "give one of"),
        ({"dataframe_split": {"columns": ["a", "a"], "data": []}}, "twice"),
        ({"dataframe_split": {"columns": ["a"], "data": [[1], [1, 2]]}}, "2 values"),
        ({"instances": [rows[0], {"user__age": "old"}]}, "'old' is not a number"),
        ({"inputs": {}}, "inputs"),
    ):
        assert words in server.post("/invocations", body, 422)["error"]
    assert server.get("/stats")["predictions"] == before  # all rows, or none
    assert server.post("/invocations", {"instances": []})["predictions"] == []
    assert server.get("/ping") == server.get("/readyz")


def test_the_document_has_all_endpoints_and_its_schemas_are_those_of_answers(server):
    document = server.get("/openapi.json")
    assert {*document["paths"]} == {path for _, path in server.serving.endpoints}
    schemas = document["components"]["schemas"]
    used = set(re.findall(r"#/components/schemas/(\w+)", str(document)))
    assert used <= schemas.keys()
    row = make_rows(1)[0][0]
    msgspec.convert(server.post("/predict?explain=1", {"row": row}), PredictAnswer, strict=True)
    msgspec.convert(server.post("/learn", {"row": row, "label": "skip"}), LabelAnswer)
    msgspec.convert(server.post("/label", {"id": "no", "label": "skip"}, 404), ErrorAnswer)
    page = server.http.get("/docs")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "POST /predict" in page.text
    assert not re.search(r"https?://|<script", page.text)
