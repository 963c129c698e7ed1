"""Model cards: what they say is in the model and the evaluation, and the hub can read them."""

import json

import pyarrow as pa
import pytest
import yaml

from command_line import run
from crossview import InputError, datasets, evaluate, load, model_card, save, train
from crossview.saving.model_files import load_steps, read_info

OPTIONS = ["--evaluation", "e.json", "-o", "README.md", "--keep"]


@pytest.fixture(scope="module")
def made():
    """A model, and its evaluation on other rows."""
    table = datasets.load("breast-cancer")
    odd = pa.array([["a|b", "<i>*c*"][i % 2] for i in range(len(table))])
    table = table.append_column("mean__a_*b*|", odd)
    trained = train(table.slice(0, 300), "diagnosis", model="pa:squared")
    return trained, evaluate(trained, table.slice(300), "diagnosis", by=["mean__a_*b*|"])


def front_matter(card):
    start, matter, text = card.split("---\n", 2)
    assert start == ""
    return yaml.safe_load(matter), text


def test_a_card_says_what_the_evaluation_found(made):
    trained, evaluation = made
    card = model_card(
        trained, evaluation, title="Tumors: a try", license="bsd-3-clause", dataset="x"
    )
    matter, text = front_matter(card)
    assert matter["library_name"] == "crossview"
    assert (matter["pipeline_tag"], matter["license"]) == ("tabular-classification", "bsd-3-clause")
    (result,) = matter["model-index"]
    (found,) = result["results"]
    assert (result["name"], found["dataset"]["name"]) == ("Tumors: a try", "x")
    values = {one["name"]: one["value"] for one in found["metrics"]}
    assert values == {name: one.value for name, one in evaluation.metrics.items()}
    value, low, high = evaluation.metrics["f1"]
    assert f"| **f1** | {value:.4g} | {low:.4g} to {high:.4g} |" in text
    assert f"It predicts 'malignant' above probability {trained.threshold:.3g}" in text
    assert "300 rows, shuffled, 1 pass; seed 0" in text
    assert "| a\\|b |" in text
    assert "| \\<i\\>\\*c\\* |" in text
    for one in evaluation.views:
        assert f"| {one.difference.value:.4g} ({one.difference.low:.4g} to" in text
    for warning in evaluation.warnings:
        assert warning.replace("_", "\\_") in text
    assert "hashed" in text


def test_without_an_evaluation_a_card_says_that_nothing_was_measured(made):
    trained, _ = made
    matter, text = front_matter(model_card(trained))
    assert "model-index" not in matter
    assert f"**{trained.metric['value']:.4g}** in the first pass of training" in text
    assert "not evaluated" in text
    assert "Not measured" in model_card(trained.fitted)
    table = pa.table({"a__x": [1.0, 2.0, 3.0] * 10, "b__x": [0.5, 0.1] * 15, "y": [0.5, 1.5] * 15})
    number = train(table, "y", task="regression")
    matter, text = front_matter(model_card(number))
    assert matter["pipeline_tag"] == "tabular-regression"
    assert "`y`, a number" in text


def test_a_slice_that_is_surely_worse_is_a_limit(made):
    trained, evaluation = made
    known = json.loads(json.dumps(evaluation.to_dict()))
    first, second = known["by"][0]["slices"]
    first["metric"] = {"value": 0.25, "low": 0.125, "high": 0.375}
    second["metric"] = {"value": 0.5, "low": 0.25, "high": 1.0}
    limits = model_card(trained, known).split("## Limits")[1]
    assert "f1 is 0.25 where" in limits
    assert "f1 is 0.5 where" not in limits


def test_an_evaluation_of_another_model_is_refused(made):
    trained, evaluation = made
    known = evaluation.to_dict()
    for change, words in (
        ({"classes": ["ja", "nein"]}, "its classes are ja, nein"),
        ({"model": "pam"}, "of another model, 'pam', and this is 'pa:squared'"),
        ({"metrics": {"f1": 3}}, "a metric of the evaluation"),
        ({"metric": "mae"}, "no metric 'mae'"),
        ({"by": None}, "the entry 'by'"),
    ):
        with pytest.raises(InputError, match=words):
            model_card(trained, known | change)


def test_the_command_writes_the_card_and_keeps_it_in_the_file(made, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained, evaluation = made
    save(trained.fitted, "m.st", info=trained.info)
    steps = load_steps("m.st")
    (tmp_path / "e.json").write_text(json.dumps(evaluation.to_dict()))
    status, _, _ = run(capsys, "card", "m.st", *OPTIONS)
    card = (tmp_path / "README.md").read_text()
    assert (status, card) == (0, model_card("m.st", evaluation))
    assert read_info("m.st") == json.loads(json.dumps(trained.info)) | {"card": card}
    load("m.st")  # its checksum is right
    for (_, a), (_, b) in zip(steps[0], load_steps("m.st")[0], strict=True):
        assert a.get_header() == b.get_header()
        assert all((value == b.get_state()[name]).all() for name, value in a.get_state().items())
    before = (tmp_path / "m.st").read_bytes()
    for argv, words in (
        ("card m.st -o e.json", "not a model card"),
        ("card m.st -o m.st", "one of the inputs"),
        ("card m.st --evaluation README.md", "is no evaluation"),
        ("card m.st --dataset x", "add it"),
        ("card e.json", "not a model file"),
    ):
        status, out, err = run(capsys, *argv.split())
        assert (status, out) == (2, [])
        assert words in err[-1]
    assert (tmp_path / "m.st").read_bytes() == before
