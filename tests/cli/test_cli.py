"""The command line: answers, files, and one line for whatever is wrong."""

import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import crossview
from command_line import read_csv, run
from crossview import Scoring
from crossview.catalog.learners import model_names
from crossview.cli.options import parse_seconds
from crossview.comparing.result.comparison import ComparisonObserver

# --- compare ------------------------------------------------------------------

TRAIN = ["train", "bc.parquet", "--label", "diagnosis", "-o", "x.st"]


# where other processes work on this machine
BUSY = "the machine is busy"


def test_compare_prints_the_table_the_verdict_and_how_to_train(here, capsys):
    models = [
        word for name in ("view:worst", "pa:concatenated", "arow") for word in ("--model", name)
    ]
    status, out, err = run(
        capsys, "compare", "bc.parquet", "--label", "diagnosis", "--json", "c.json", *models
    )
    assert status == 0
    content = json.loads(Path("c.json").read_text())
    # one line after each fold but the last, of which this is the table
    lines = [line.split(":")[0] for line in err if not line.startswith(BUSY)]
    assert lines == [f"after {k} of 5 folds" for k in (2, 3, 4)]
    assert content["metric"] == "f1"
    assert content["positive"] == "malignant"
    for row in content["rows"]:
        chosen = row["model"] == content["recommended"]
        start = f"{'→ ' * chosen}{row['model']} "
        assert any(line.startswith(start) and f"{row['value']:.3f}" in line for line in out)
    text = " ".join(" ".join(out).split())  # long sentences take more lines
    assert all(sentence in text for sentence in content["verdict"])
    options = " ".join(content["train_options"])
    assert out[-1] == f"crossview train bc.parquet --label diagnosis {options} -o MODEL"
    # the file shows it again, and nothing is computed
    assert run(capsys, "compare", "c.json") == (0, out, [])


def test_where_no_model_file_holds_the_best_the_next_is_printed_too(here, capsys, monkeypatch):
    X = np.random.default_rng(0).normal(size=(80, 2))
    lines = [f"{a},{b},{'yes' if a * b > 0 else 'no'}" for a, b in X]
    (here / "t.csv").write_text("\n".join(["a,b,y", *lines]))
    code = "from sklearn.ensemble import HistGradientBoostingClassifier\n"
    (here / "own_model.py").write_text(code + "class Own(HistGradientBoostingClassifier): pass\n")
    monkeypatch.setattr(sys, "path", [*sys.path])  # the folder is on it from the command on
    models = ["--baseline", "own_model:Own", "--model", "perceptron"]
    given = ["compare", here / "t.csv", "--label", "y", "--cv", 2, "--jobs", 1]
    status, out, _ = run(capsys, *given, *models, "--json", here / "c.json")
    assert status == 0
    assert "Train baseline:own_model:Own on all rows:" in out
    row = json.loads((here / "c.json").read_text())["rows"][1]
    value = f"perceptron (f1 {row['value']:.4f})"
    assert out[-2] == f"Train {value}, the best that is saved as a model file, on all rows:"
    assert out[-1].startswith("crossview train ")
    assert "--model perceptron" in out[-1]


def test_a_stored_comparison_gets_another_model(here, capsys):
    command = ["compare", "bc.parquet", "--label", "diagnosis", "--view", "w=worst__*", "--cv", "2"]
    command += ["--metric", "roc_auc", "--thorough"]
    assert run(capsys, *command, "--model", "pa:concatenated", "--json", "c.json")[0] == 0
    status, out, _ = run(capsys, "compare", "c.json", "--add", "arow", "--add", "view:w")
    assert status == 0
    models = ("pa:concatenated", "arow", "view:w")
    words = [word for name in models for word in ("--model", name)]
    _, whole, _ = run(capsys, *command, *words, "--json", "whole.json")
    stored, expected = (json.loads(Path(name).read_text()) for name in ("c.json", "whole.json"))
    assert [r["scores"] for r in stored["rows"]] == [r["scores"] for r in expected["rows"]]
    assert stored["verdict"] == expected["verdict"]
    assert (out[-1], len(out)) == (whole[-1], len(whole))
    # another file keeps the one that is extended
    before = Path("c.json").read_bytes()
    run(capsys, "compare", "c.json", "--add", "cw", "--json", "more.json")
    assert Path("c.json").read_bytes() == before
    assert len(json.loads(Path("more.json").read_text())["rows"]) == 4
    # the ensemble needs predictions that are not there
    status, _, err = run(capsys, "compare", "c.json", "--add", "cw", "--add", "ensemble")
    assert status == 2
    assert "the ensemble is made of the predictions of all models" in err[-1]
    assert Path("c.json").read_bytes() == before
    # the rows are other ones now
    fewer = pq.read_table("bc.parquet").slice(0, 400)
    Path("bc.parquet").unlink()
    pq.write_table(fewer, "bc.parquet")
    status, _, err = run(capsys, "compare", "c.json", "--add", "scw")
    assert status == 2
    assert err[-1].startswith("crossview: error: the comparison to extend has other rows, folds")
    stored["command"]["columns"]["of before"] = 1
    Path("old.json").write_text(json.dumps(stored))
    status, _, err = run(capsys, "compare", "old.json")
    assert status == 2
    assert "old.json: holds no comparison of this version of crossview" in err[-1]


def test_a_stored_comparison_refuses_what_would_change_nothing(here, capsys):
    command = ["compare", "bc.parquet", "--label", "diagnosis", "--cv", "2", "--thorough"]
    assert run(capsys, *command, "--model", "arow", "--json", "c.json")[0] == 0
    before = Path("c.json").read_bytes()
    for options in (
        *("--metric f2", "--label nosuch", "--ablate", "--cv=7", "--positive benign", "--cv 2"),
        *("--model arow", "--budget 5s", "--metric f2 --add cw", "--null NA --rope 0.2"),
    ):
        status, out, err = run(capsys, "compare", "c.json", *options.split())
        assert (status, out) == (2, []), options
        first = options.partition(" ")[0].partition("=")[0]
        assert err[-1].startswith(f"crossview: error: c.json: {first}")
        assert "leave it out, or compare the rows again" in err[-1]
        assert Path("c.json").read_bytes() == before
    assert run(capsys, "compare", "c.json", "--json", "again.json")[0] == 0


def test_folds_of_a_stored_comparison_are_not_lost_to_a_small_budget(here, capsys):
    command = ["compare", "bc.parquet", "--label", "diagnosis", "--cv", "3", "--thorough"]
    assert run(capsys, *command, "--model", "arow", "--json", "c.json")[0] == 0
    before = Path("c.json").read_bytes()
    status, _, err = run(capsys, "compare", "c.json", "--add", "cw", "--budget", "0.001s")
    assert (status, Path("c.json").read_bytes()) == (0, before)
    assert err[-1].startswith("c.json stays as it is: within the budget 2 of its 3 folds were")


def test_ctrl_c_shows_the_table_of_the_finished_folds(here, capsys, monkeypatch):
    compare = crossview.compare

    def interrupted(*args, observer, **options):
        class Stopping(ComparisonObserver):
            def partial(self, answer):
                observer.partial(answer)
                if answer.folds == stop_after:
                    raise KeyboardInterrupt

            def progress(self, done, total, words):
                if stop_after == 0:
                    raise KeyboardInterrupt

        return compare(*args, observer=Stopping(), **options)

    monkeypatch.setattr("crossview.comparing.compare.compare", interrupted)
    command = ["compare", "bc.parquet", "--label", "diagnosis", "--thorough"]
    command += ["--model", "perceptron", "--model", "view:error", "--json", "c.json"]
    stop_after = 2
    status, out, err = run(capsys, *command)
    assert status == 130
    assert err[0].startswith("after 2 of 5 folds: ")
    assert err[1:] == ["crossview: interrupted"]
    assert "2 of 5 folds were finished" in out
    assert any("mean ± standard deviation over 2 folds" in line for line in out)
    assert not Path("c.json").exists()
    # before there are two folds there is no table
    stop_after = 0
    status, out, _ = run(capsys, *command)
    assert (status, out) == (130, [])
    # on a stream it is that of the rows so far, without the last quarter of 513
    status, out, err = run(capsys, *command, "--progressive")
    assert (status, err) == (130, ["crossview: interrupted"])
    assert any("441 rows, each predicted and then learned" in line for line in out)
    assert any(line.startswith("benign ") for line in out)


def test_compare_agrees_with_the_library(here, capsys):
    options = ["--view", "m=mean__*", "--view", "w=worst__*", "--metric", "roc_auc", "--seed", "3"]
    options += ["--model", "pa:concatenated", "--model", "view:m", "--cv", "2", "--repeats", "2"]
    options += ["--thorough", "--rope", "0.2"]
    run(capsys, "compare", "bc.parquet", "--label", "diagnosis", *options, "--json", "c.json")
    expected = crossview.compare(
        "bc.parquet",
        "diagnosis",
        views={"m": "mean__*", "w": "worst__*"},
        scoring="roc_auc",
        seed=3,
        cv=2,
        repeats=2,
        models=["pa:concatenated", "view:m"],
        budget=None,
        rope=0.2,
    )
    content = json.loads(Path("c.json").read_text())
    assert [r["scores"] for r in content["rows"]] == [r.scores for r in expected.rows]
    assert content["rope"] == 0.2
    assert content["folds"] == 4


def test_one_model_alone_and_rows_in_the_order_of_time(here, capsys):
    command = ["compare", "bc.parquet", "--label", "diagnosis", "--in-order", "--budget", "1h"]
    status, out, _ = run(capsys, *command, "--model", "arow", "--json", "c.json")
    assert status == 0
    content = json.loads(Path("c.json").read_text())
    value = content["rows"][0]["value"]
    assert content["verdict"][0].startswith(f"arow: f1 {value:.4f} (95 % interval")
    expected = crossview.compare(
        "bc.parquet", "diagnosis", in_order=True, models=["arow"], budget=None
    )
    assert content["rows"][0]["scores"] == expected.best.scores
    assert out[-1].startswith("crossview train bc.parquet --label diagnosis --model arow ")


def test_the_highest_scores_decide(here, capsys):
    compare = ["compare", "bc.parquet", "--label", "diagnosis", "--cv", "2", "--json", "c.json"]
    compare += ["--thorough"]
    compare += ["--model", "perceptron", "--model", "pa:concatenated", "--metric", "precision_at_k"]
    for k, name, library in (("20", "precision_at_20", 20), ("0.3", "precision_at_30%", 0.3)):
        status, out, err = run(capsys, *compare, "--k", k)
        assert (status, err) == (0, [])
        assert out[0] == f"{name} of 'malignant' (212 of 569 rows)"
        assert name in out[2]
        content = json.loads(Path("c.json").read_text())
        assert content["metric"] == name
        expected = crossview.compare(
            "bc.parquet",
            "diagnosis",
            scoring=Scoring("precision_at_k", k=library),
            cv=2,
            models=["perceptron", "pa:concatenated"],
            budget=None,
        )
        assert [r["scores"] for r in content["rows"]] == [r.scores for r in expected.rows]
    train = [*TRAIN, "--model", "pa:squared", "--metric", "recall_at_k"]
    _, _, err = run(capsys, *train, "--k", "50", "--progress")
    assert "recall_at_50" in err[0]
    assert err[1].split()[3] == "nan"  # one row, and no 50
    info = crossview.saving.model_files.read_info(Path("x.st"))
    assert info["metric"]["name"] == "recall_at_50"
    assert 0.0 < info["metric"]["value"] < 0.25  # of 212 malignant ones


def test_compare_in_stream_order(here, capsys):
    status, out, _ = run(
        capsys,
        "compare",
        "bc.parquet",
        "--label",
        "diagnosis",
        "--progressive",
        "--positive",
        "benign",
        *("--model", "pa:concatenated", "--model", "arow"),
    )
    assert status == 0
    assert out[0] == "f1 of 'benign' (357 of 569 rows)"
    assert any(line.startswith("f1: 569 rows, each predicted") for line in out)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60.0), ("90", 90.0), ("5min", 300.0), ("2m", 120.0), (" 1.5 h ", 5400.0)],
)
def test_a_budget_has_a_unit(text, seconds):
    assert parse_seconds(text, "--budget") == seconds


# --- train, predict, inspect --------------------------------------------------


def test_train_predict_and_the_library_agree(here, capsys):
    status, out, err = run(capsys, "predict", "m.safetensors", "bc.parquet", "-o", "p.csv")
    assert (status, out, err) == (0, [], ["569 rows, wrote p.csv"])
    model = crossview.load("m.safetensors")
    table = pq.read_table("bc.parquet").drop_columns(["diagnosis"])
    rows = read_csv("p.csv")
    assert [row["prediction"] for row in rows] == model.predict(table).tolist()
    scores = model.decision_function(table)
    np.testing.assert_allclose([float(row["score"]) for row in rows], scores)
    own = model[-1].view_scores(model[0].transform(table))
    for v, view in enumerate(("mean", "error", "worst")):
        np.testing.assert_allclose([float(row[f"view_{view}"]) for row in rows], own[:, v])


def test_training_in_batches_is_progressive_and_learns(here, capsys):
    arguments = ["bc.parquet", "--label", "diagnosis", "--model", "pa:squared", "--set", "C=0.1"]
    _, out, err = run(capsys, "train", *arguments, "-o", "x.st", "--progress", "--epochs", 2)
    assert out == []
    counts = [line.split()[0] for line in err if line.split()[0].replace(",", "").isdigit()]
    once = ["1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "569"]
    assert counts == [*once, *once, "569"]
    assert "pass 2 of 2, over rows seen before" in err
    info = crossview.saving.model_files.read_info("x.st")
    assert info["rows"] == 569
    assert info["passes"] == 2
    assert info["label"] == "diagnosis"
    assert (crossview.load("x.st")[0].count_ == 569).all()
    run(capsys, "train", *arguments, "-o", "once.st")
    once = crossview.saving.model_files.read_info("once.st")
    assert info["accuracy"] == once["accuracy"] > 0.9
    assert info["loss"] == once["loss"]
    assert sum(info["view_shares"].values()) == pytest.approx(1)
    # the summary tells the first pass, where each row was new
    assert err[-4].startswith("f1 of 'malignant' (212 of 569 rows) 0.9")
    assert f"accuracy {info['accuracy']:.4f}" in err[-4]
    cut = f"{info['threshold']:.3g}, the best for f1"
    assert err[-3] == f"predicts 'malignant' above probability {cut}"
    assert err[-1] == "wrote x.st"


def test_one_pass_over_one_batch_is_the_same_as_by_hand(here):
    table = pq.read_table("bc.parquet")
    table = table.take(np.random.default_rng(0).permutation(len(table)))  # as train shuffles it
    X = crossview.ViewEncoder().partial_fit_transform(table.drop_columns(["diagnosis"]))
    y = np.asarray(table["diagnosis"].to_pylist())
    by_hand = crossview.MultiViewPAClassifier(C=0.1).partial_fit(X, y, classes=np.unique(y))
    np.testing.assert_array_equal(crossview.load("m.safetensors")[-1].coef_, by_hand.coef_)


OF_CLASSES = [name for name in model_names("classification") if name != "view:NAME"]
# the first of its kind, as "pa:concatenated"; the others differ from it in parameters
FIRST = {name.partition(":")[0]: name for name in reversed(OF_CLASSES)}.values()


@pytest.mark.parametrize(
    "method",
    [
        *(pytest.param(n, marks=[pytest.mark.exhaustive] * (n not in FIRST)) for n in OF_CLASSES),
        "view:worst",
    ],
)
def test_every_model_trains_predicts_and_is_inspected(method, here, capsys):
    arguments = ["bc.parquet", "--label", "diagnosis", "--model", method, "-o", "x.st"]
    if method.startswith("trees"):
        arguments += ["--set", "max_iter=20"]
    if method == "network":
        arguments += ["--set", "n_members=1"]
    if method != "stm":  # which needs more
        few = pq.read_table("bc.parquet").slice(0, 200)
        pq.write_table(few, "bc.parquet")
    if method == "ensemble":
        arguments += ["--member", "arow r=1", "--member", "view:worst epochs=2"]
    if method == "stm":  # products of three columns, and nothing else, are slow to learn
        arguments += ["--set", "learning_rate=0.3", "--epochs", "40", "--threshold", "none"]
    assert run(capsys, "train", *arguments)[0] == 0
    assert run(capsys, "predict", "x.st", "bc.parquet", "-o", "p.parquet")[0] == 0
    truth = pq.read_table("bc.parquet")["diagnosis"].to_pylist()
    predicted = pq.read_table("p.parquet")["prediction"].to_pylist()
    assert np.mean(np.equal(truth, predicted)) > (0.75 if method == "stm" else 0.9)
    status, out, _ = run(capsys, "inspect", "x.st")
    assert status == 0
    if method in ("keco", "pegasos"):  # no column has a weight
        assert any(line.startswith("view   columns  support rows") for line in out)
        return
    if method == "stacking":  # its experts have weights over time
        assert any(line.startswith("weight in the mixture after") for line in out)
        assert sum("view:worst" in line for line in out) == 2
        return
    if method == "ensemble":
        members = [line.split()[0] for line in out if line.startswith(("arow", "view:worst"))]
        assert members == ["arow", "view:worst"]
        return
    assert any("worst__" in line for line in out)
    assert any("mean__" in line for line in out) == (method != "view:worst")


def test_train_says_that_many_numbers_have_no_bins(here, capsys):
    rng = np.random.default_rng(0)
    header = ",".join([*(f"a__{i}" for i in range(101)), "y"])
    rows = [",".join([*map(str, rng.normal(size=101)), "pq"[i % 2]]) for i in range(60)]
    Path("many.csv").write_text("\n".join([header, *rows]))
    given = ["many.csv", "--label", "y", "--model", "arow", "-o", "x.st"]
    line = "no bins: 101 numbers are more than 100; with bins: --bins 10"
    assert line in run(capsys, "train", *given)[2]
    assert line not in run(capsys, "train", *given, "--bins", "0")[2]


def test_further_passes_of_the_stack_teach_the_experts_alone(here, capsys):
    """Without a model the stack is trained."""
    arguments = ["bc.parquet", "--label", "diagnosis", "-o"]
    once, more = [], []
    for epochs, kept in ((1, once), (3, more)):
        status, _, err = run(capsys, "train", *arguments, "x.st", "--epochs", str(epochs))
        assert status == 0
        assert f"{epochs} pass" in " ".join(err)
        assert "each row predicted before it was learned" in " ".join(err)
        kept += [crossview.load("x.st")[-1], crossview.saving.model_files.read_info("x.st")]
    (one, of_one), (three, of_three) = once, more
    assert isinstance(one, crossview.OnlineStackingClassifier)
    before, after = one.get_state(), three.get_state()
    own = [name for name in before if "/" not in name]
    assert {"omega", "v", "calibrations"} <= set(own)
    for name in own:
        np.testing.assert_array_equal(before[name], after[name])
    assert int(after["0/t"][0] - before["0/t"][0]) == 2 * 569
    assert not np.array_equal(before["0/W"], after["0/W"])
    assert of_one["threshold"] == of_three["threshold"] is not None
    assert three.learns_combination


def test_bins_and_views_as_they_are_from_the_command_line(here, capsys):
    given = ["--no-scale-views", "--bins", "5"]
    assert run(capsys, *TRAIN, "--model", "pa:concatenated", *given)[0] == 0
    encoder = crossview.load("x.st")[0]
    assert (encoder.scale_views, encoder.bins) == (False, 5)
    _, out, _ = run(capsys, "inspect", "x.st", "--top", "20")
    assert any(" near " in line for line in out)
    # the command that is printed encodes as the comparison did
    models = [
        *("--model", "view:mean", "--model", "view:error"),
        "--cv",
        "2",
        "--metric",
        "roc_auc",
    ]
    _, out, _ = run(capsys, "compare", "bc.parquet", "--label", "diagnosis", *models, *given)
    assert " ".join(given) in out[-1]
    assert run(capsys, *TRAIN, "--ngrams", "0")[2] == [
        "crossview: error: --ngrams 0; give a whole number, 1 or more"
    ]
    assert run(capsys, *TRAIN, "--bins", "1")[2] == [
        "crossview: error: --bins 1; give a whole number from 2 to 4096, or 0 for none"
    ]


# --- trained for the metric -----------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        "svmperf",
        pytest.param("svmperf:concatenated", marks=pytest.mark.exhaustive),
        "svmperf:error_rate",
    ],
)
def test_an_svm_is_compared_trained_for_the_metric_and_scores(model, here, capsys):
    words = ["--metric", "prbep", "--positive", "benign", "--cv", "2", "--json", "c.json"]
    words += ["--thorough"]
    words += ["--model", model, "--model", "view:error"]
    status, out, err = run(capsys, "compare", "bc.parquet", "--label", "diagnosis", *words)
    assert (status, err) == (0, [])
    content = json.loads(Path("c.json").read_text())
    row = content["rows"][0]
    assert content["recommended"] == row["model"] == model
    whose = {"svmperf": "prbep", "svmperf:concatenated": "prbep (concatenated)"}
    assert row["title"] == f"SVM for {whose.get(model, 'the error rate')}"
    # the command that is printed trains what won
    command = shlex.split(out[-1])[1:-1]
    status, _, err = run(capsys, *command, "x.st")
    assert status == 0
    encoder, fitted = crossview.load("x.st")
    fixed = {"measure": "prbep", "pos_label": "benign"}
    if model == "svmperf:error_rate":
        fixed = {"measure": "error_rate"}
    table = pq.read_table("bc.parquet")
    columns, y = table.drop_columns(["diagnosis"]), table["diagnosis"].to_numpy()
    X = crossview.ViewEncoder().fit_transform(columns)
    setting = {"C2": 0.0} | row["setting"]
    by_hand = crossview.MultiViewSVMPerf(**setting, **fixed).fit(X, y)
    scores = fitted.decision_function(encoder.transform(columns))
    np.testing.assert_allclose(scores, by_hand.decision_function(X))
    done = f"{by_hand.n_iter_} rounds to a gap of {by_hand.dual_gap_:.2g}"
    assert err[0].startswith("prbep of 'benign' (357 of 569 rows): ")
    assert err[1].endswith("the best for macro_f1")
    assert err[2].startswith(f"569 rows, {done}, ")
    assert err[3] == "wrote x.st"
    # and it is used like any other
    assert run(capsys, "predict", "x.st", "bc.parquet", "-o", "p.csv")[0] == 0
    predicted = read_csv("p.csv")
    assert [float(row["score"]) for row in predicted] == pytest.approx(scores)
    named = [row["prediction"] for row in predicted]
    assert named == fitted.predict(encoder.transform(columns)).tolist()
    if model != "svmperf:error_rate":  # as many are called benign as are
        assert (by_hand.predict(X) == "benign").sum() == (y == "benign").sum()
    assert np.mean(np.array(named) == y) > 0.97
    _, out, _ = run(capsys, "inspect", "x.st", "--top", 1)
    assert out[1] == f"learned 569 rows in {done}; label: diagnosis"
    assert sum("__" in line for line in out) == 3
    info = crossview.saving.model_files.read_info("x.st")
    assert (info["model"], info["passes"]) == (model, None)
    assert info["metric"] == {"name": "prbep", "value": None}


def test_an_svm_takes_k_and_its_parameters_from_the_command_line(here, capsys):
    given = ["--metric", "precision_at_k", "--k", "30", "--set", "C1=0.2", "--set", "tol=0.05"]
    given += ["--set", "solver=joint", "--set", "scaling=published"]
    assert run(capsys, *TRAIN, "--model", "svmperf", *given)[0] == 0
    model = crossview.load("x.st")[-1]
    assert (model.measure, model.k, model.pos_label) == ("precision_at_k", 30, "malignant")
    assert (model.C1, model.tol) == (0.2, 0.05)
    assert (model.solver, model.scaling) == ("joint", "published")
    # the name of an option, and not None
    run(capsys, *TRAIN, "--model", "svmperf", "--set", "calibration=none", "--set", "tol=0.1")
    assert crossview.load("x.st")[-1].calibration == "none"
    # of several classes, all cuts count
    pq.write_table(pq.read_table("digits.parquet").slice(0, 300), "few.parquet")
    train = ["train", "few.parquet", "--label", "digit", "--view", "p=pixel*", "-o", "x.st"]
    _, _, err = run(capsys, *train, "--model", "svmperf", "--set", "tol=0.1", "--set", "C1=0.01")
    model = crossview.load("x.st")[-1]
    assert len(model.n_iter_) == 10
    told = f"300 rows, {model.n_iter_.sum()} rounds to a gap of {model.dual_gap_.max():.2g}, "
    assert any(line.startswith(told) for line in err)
    assert re.search(
        r"all 300 rows checked in training are predicted as \d: change the metric or the model$",
        err[1],
    )
    assert (model.measure, model.pos_label) == ("f1", None)
    # the corners of the images are empty
    assert re.fullmatch(r"crossview: warning: .* and \d more: constant: '0' in every row", err[0])


# --- unlabeled rows ---------------------------------------------------------


@pytest.fixture
def few(here):
    """Some rows with three labels in five left empty, as CSV; all labels as Parquet."""
    table = pq.read_table("bc.parquet").slice(0, 240)
    pq.write_table(table, "rows.parquet")
    labels = table["diagnosis"].to_pylist()
    known = np.random.default_rng(0).random(240) < 0.4
    few = [label if k else None for label, k in zip(labels, known, strict=True)]
    i = table.column_names.index("diagnosis")
    pa_csv.write_csv(table.set_column(i, "diagnosis", pa.array(few)), "few.csv")
    return known, table


def test_compare_says_what_rows_without_label_bring(few, capsys):
    known, _ = few
    n, rest = int(known.sum()), int((~known).sum())
    command = ["compare", "few.csv", "--label", "diagnosis", "--cv", "2", "--json", "c.json"]
    command += ["--thorough"]
    words = [*("--model", "keco"), *("--model", "pegasos"), *("--model", "view:worst")]
    status, out, err = run(capsys, *command, *words)
    assert (status, err) == (0, [])
    content = json.loads(Path("c.json").read_text())
    assert (content["n_rows"], content["n_scored"], content["unlabeled"]) == (240, n, rest)
    assert content["unlabeled_benefit"] in out
    assert content["unlabeled_benefit"].startswith(f"the {rest} unlabeled rows ")
    told = f"{rest} of 240 rows have no label: none is scored, and only keco learns from them"
    assert told in out
    # whatever is best, its command runs, and learns the rows that it learned there
    for models, left in (
        (["keco"], rest),
        (["view:worst", "view:error"], 0),
        (["svmperf"], 0),
    ):
        words = [word for model in models for word in ("--model", model)]
        _, out, _ = run(capsys, *command, *words)
        assert shlex.split(out[-1])[1:3] == ["train", "few.csv"]
        assert run(capsys, *shlex.split(out[-1])[1:-1], "x.st")[0] == 0
        info = crossview.saving.model_files.read_info("x.st")
        assert (info["model"], info["rows"], info["unlabeled"]) == (models[0], n, left)


def test_keco_trains_on_rows_without_label_as_compare_does(few, capsys):
    known, table = few
    train = ["train", "few.csv", "--label", "diagnosis", "-o", "x.st", "--model"]
    status, _, err = run(capsys, *train, "keco", "--set", "lam=0.001")
    n, rest = int(known.sum()), int((~known).sum())
    assert status == 0
    encoder, model = crossview.load("x.st")
    steps = f"{model.n_steps_:,} steps"
    assert err[2].startswith(f"{n} rows with a label and {rest} without, {steps}, ")
    columns = table.drop_columns(["diagnosis"])
    X = crossview.ViewEncoder().fit(columns.filter(known)).transform(columns)
    y = np.where(known, np.asarray(table["diagnosis"].to_pylist(), dtype=object), None)
    by_hand = crossview.KeCoClassifier(lam=0.001, random_state=0).fit(X, y)
    scores = model.decision_function(encoder.transform(columns))
    np.testing.assert_allclose(scores, by_hand.decision_function(X))
    assert run(capsys, "predict", "x.st", "rows.parquet", "-o", "p.csv")[0] == 0
    assert [float(row["score"]) for row in read_csv("p.csv")] == pytest.approx(scores)
    _, out, _ = run(capsys, "inspect", "x.st")
    assert out[1] == (
        f"learned {n} rows with a label and {rest} without in {steps}; label: diagnosis"
    )
    lines = [line.split() for line in out]
    for view in ("mean", "error", "worst"):
        row = next(line for line in lines if line[:1] == [view])
        assert row[1:4] == ["20", str(model.n_support_[view]), f"{model.gamma_[view]:.4g}"]
    # the same without them
    _, _, err = run(capsys, *train, "pegasos")
    assert err[2].startswith(f"{n} rows, 1,000 steps")
    assert err[3] == f"{rest} rows without a label were skipped"
    _, _, err = run(capsys, *train, "svmperf")
    assert err[2].startswith(f"{n} rows, ")
    assert err[3] == f"{rest} rows without a label were skipped"
    X, y = crossview.ViewEncoder().fit_transform(columns.filter(known)), y[known].astype(str)
    by_hand = crossview.MultiViewSVMPerf().fit(X, y)
    np.testing.assert_allclose(crossview.load("x.st")[-1].coef_, by_hand.coef_)


def test_keco_learns_a_stream_with_bounded_memory(few, capsys):
    known, _ = few
    train = ["train", "few.csv", "--label", "diagnosis", "-o", "x.st", "--set", "schedule=stream"]
    status, _, err = run(capsys, *train, "--model", "keco", "--progress", "--epochs", "2")
    n, rest = int(known.sum()), int((~known).sum())
    assert status == 0
    assert err[-2].startswith(f"{n} rows with a label and {rest} without shuffled, 2 passes")
    model = crossview.load("x.st")[-1]
    assert (model.budget, model.unlabeled_ratio) == (500, 1 / 3)
    assert 2 * n < model.n_steps_ < 3 * n
    run(capsys, *train, "--model", "pegasos", "--set", "budget=7")
    info, model = crossview.saving.model_files.read_info("x.st"), crossview.load("x.st")[-1]
    assert (info["rows"], info["unlabeled"], model.n_steps_) == (n, 0, n)
    assert max(model.n_support_.values()) == 7
    run(capsys, *train, "--model", "keco", "--set", "approximation=fourier")
    _, out, _ = run(capsys, "inspect", "x.st")
    assert any(line.startswith("view   columns  features") for line in out)
    run(capsys, *train, "--model", "keco", "--set", "kernel=linear")
    _, out, _ = run(capsys, "inspect", "x.st", "--top", 1)
    assert sum("__" in line for line in out) == 3


@pytest.fixture
def ratings(here):
    """A table whose number is a product of a user's and an item's columns, and more."""
    rng = np.random.default_rng(0)
    genre, likes = rng.choice(["Drama", "Action"], 400), rng.choice(["yes", "no"], 400)
    a, b = rng.normal(size=(2, 400))
    agree = (genre == "Drama") & (likes == "yes")
    table = {"user__a": a, "user__likes": likes, "item__b": b, "item__genre": genre}
    table["rating"] = 100 + 20 * agree - 10 * a * b + rng.normal(size=400)
    pq.write_table(pa.table(table), "r.parquet")
    return [*("r.parquet", "--label", "rating", "--task", "regression", "--hash-bits", "4")]


def test_a_number_is_compared_trained_predicted_and_inspected(ratings, capsys):
    models = ["view:user", "linear", "fm", "mvm", "ridge"]
    words = [word for model in models for word in ("--model", model)]
    words += ["--json", "c.json", "--thorough", "--cv", "2"]
    status, out, _ = run(capsys, "compare", *ratings, *words)
    assert status == 0
    content = json.loads(Path("c.json").read_text())
    by_model = {row["model"]: row for row in content["rows"]}
    assert by_model.keys() == set(models)  # tests/comparing/test_numbers.py has the default ones
    assert by_model["mvm"]["value"] < 3 < 9 < by_model["linear"]["value"]
    header = ["model", "what", "it", "is", "rmse", "worse", "p", "mae", "rows/s", "chosen"]
    assert out[0].split() == header
    options = content["train_options"]
    assert options[:2] == ["--task", "regression"]
    passes = by_model[content["recommended"]]["epochs"]
    assert int(options[options.index("--epochs") + 1]) == passes
    command = f"crossview train r.parquet --label rating --hash-bits 4 {' '.join(options)} -o MODEL"
    assert out[-1] == command

    status, _, err = run(capsys, *command.split()[1:-1], "x.st")
    assert status == 0
    assert err[-3].startswith("rmse ")
    assert "loss" in err[-3]
    assert "accuracy" not in err[-3]
    info = crossview.saving.model_files.read_info("x.st")
    assert info["metric"]["name"] == "rmse"
    assert info["metric"]["value"] == pytest.approx(np.sqrt(info["loss"]))
    assert info["accuracy"] is None

    assert (
        run(capsys, "predict", "x.st", "r.parquet", "-o", "p.csv", "--keep", "rating,user__a")[0]
        == 0
    )
    rows = read_csv("p.csv")
    assert list(rows[0]) == ["rating", "user__a", "prediction", "view_user", "view_item"]
    predicted = [float(row["prediction"]) for row in rows]
    error = np.subtract(predicted, [float(row["rating"]) for row in rows])
    assert np.sqrt(np.mean(error**2)) < 3
    model = crossview.load("x.st")
    table = pq.read_table("r.parquet").drop_columns(["rating"])
    np.testing.assert_allclose(predicted, model.predict(table))

    _, out, _ = run(capsys, "inspect", "x.st", "--top", 3)
    assert [line.split()[:2] for line in out if line.startswith(("user ", "item "))] == [
        *(["user", "18"], ["item", "18"])
    ]
    pairs = [line for line in out if " × " in line]
    assert len(pairs) == 3
    product = next(line for line in pairs if line.startswith("user__a × item__b"))
    assert product.split()[-1].startswith("-")
    _, out, _ = run(capsys, "inspect", "x.st", "--top", 0)
    assert not any("×" in line for line in out)


def test_interactions_of_categories_have_their_names(ratings, capsys):
    run(capsys, "train", *ratings, "--model", "mvm", "--epochs", 20, "-o", "x.st")
    run(capsys, "train", *ratings, "--model", "mvm", "--epochs", 20, "-o", "again.st")
    again, factors = (crossview.load(name)[-1].factors_ for name in ("again.st", "x.st"))
    assert all((again[view] == factors[view]).all() for view in factors)
    _, out, _ = run(capsys, "inspect", "x.st", "--top", 20)
    assert any(line.startswith("user__likes=yes × item__genre=Drama") for line in out)


@pytest.mark.parametrize("method", ["linear", "fm:cross-view", "fm", "mvm", "view:user"])
def test_every_model_of_a_number_trains_and_predicts_in_lines(method, ratings, capsys):
    command = ["train", *ratings, "--model", method, "-o", "x.st", "--progress", "--metric", "mae"]
    status, _, err = run(capsys, *command)
    assert status == 0
    assert err[0].split() == ["rows", "loss", "since", "last", "mae", "seconds"]
    assert [len(line.split()) for line in err[1:11]] == [5] * 10
    assert run(capsys, "predict", "x.st", "r.parquet", "-o", "p.jsonl")[0] == 0
    row = json.loads(Path("p.jsonl").read_text().splitlines()[0])
    assert isinstance(row["prediction"], float)
    assert ("view_item" in row) == (method != "view:user")
    # a linear model is the sum of its views, so a source without one has a prediction
    query = "SELECT user__a, user__likes FROM 'r.parquet'"
    assert run(capsys, "predict", "x.st", query, "-o", "p.jsonl")[0] == 0
    row = json.loads(Path("p.jsonl").read_text().splitlines()[0])
    assert row["prediction"] == pytest.approx(row["view_user"])


def test_machines_take_their_parameters_from_the_command_line(ratings, capsys):
    settings = ["n_factors=3", "optimizer=sgd", "learning_rate=1e-3", "loss=huber"]
    words = [word for setting in settings for word in ("--set", setting)]
    assert run(capsys, "train", *ratings, "--model", "mvm", *words, "-o", "x.st")[0] == 0
    learner = crossview.load("x.st")[-1]
    assert (learner.n_factors, learner.optimizer) == (3, "sgd")
    assert (learner.learning_rate, learner.loss) == (1e-3, "huber")


def test_interactions_of_several_classes_name_the_class(here, capsys):
    arguments = ["digits.parquet", "--label", "digit", "--model", "mvm", "--set", "n_factors=4"]
    assert run(capsys, "train", *arguments, "-o", "x.st")[0] == 0
    _, out, _ = run(capsys, "inspect", "x.st", "--top", 2)
    headers = [line.split() for line in out if line.startswith("strongest")]
    assert headers == [
        ["strongest", "columns", "class", "weight"],
        ["strongest", "of", "2", "columns", "class", "weight"],
        ["strongest", "of", "3", "columns", "class", "weight"],
    ]


def test_several_classes_have_a_score_each(here, capsys):
    run(capsys, "predict", "d.safetensors", "digits.parquet", "-o", "p.parquet", "--keep", "digit")
    table = pq.read_table("p.parquet")
    classes = [f"score_{k}" for k in range(10)]
    views = ["view_pixels", "view_profile", "view_fourier"]
    probabilities = [f"probability_{k}" for k in range(10)]
    assert table.column_names == ["digit", "prediction", *classes, *probabilities, *views]
    scores = np.column_stack([table[name].to_numpy() for name in classes])
    np.testing.assert_array_equal(table["prediction"].to_numpy(), scores.argmax(axis=1))
    assert (table["prediction"].to_numpy() == table["digit"].to_numpy()).mean() > 0.9
    # concatenated: the views' scores of the predicted class sum up to its score
    total = sum(table[name].to_numpy() for name in views)
    np.testing.assert_allclose(total, scores.max(axis=1))
    _, out, _ = run(capsys, "inspect", "d.safetensors", "--top", 1)
    assert [word for line in out if "strongest" in line for word in line.split()] == [
        *("view", "strongest", "columns", "class", "weight")
    ]


def test_predictions_in_every_format_are_the_same(here, capsys):
    for name in ("p.csv", "p.parquet", "p.jsonl"):
        assert run(capsys, "predict", "m.safetensors", "bc.parquet", "-o", name)[0] == 0
    text = read_csv("p.csv")
    lines = [json.loads(line) for line in Path("p.jsonl").read_text().splitlines()]
    assert lines == pq.read_table("p.parquet").to_pylist()
    assert [row["prediction"] for row in text] == [row["prediction"] for row in lines]
    assert [float(row["score"]) for row in text] == [row["score"] for row in lines]


def test_a_source_without_a_view_is_scored_without_it(here, capsys):
    status, _, err = run(
        capsys, "predict", "m.safetensors", "-o", "p.jsonl",
        "SELECT COLUMNS('(error|worst)__.*') FROM 'bc.parquet'",
    )  # fmt: skip
    assert status == 0
    assert "view 'mean' is missing" in err[0]
    assert err[1:] == ["569 rows, wrote p.jsonl"]
    rows = [json.loads(line) for line in Path("p.jsonl").read_text().splitlines()]
    assert {row["view_mean"] for row in rows} == {None}
    # the squared coupling predicts with the mean of the views that are there, and a constant
    rest = [row["score"] - (row["view_error"] + row["view_worst"]) / 2 for row in rows]
    np.testing.assert_allclose(rest, rest[0])


def test_text_and_categories_reach_the_model(here, capsys):
    rows = ["id,title,color,y"]
    rows += [f"{i % 7},{'good day' if i % 2 else 'bad night'},{i % 3},{i % 2}" for i in range(60)]
    Path("t.csv").write_text("\n".join(rows))
    status, _, _ = run(
        capsys, "train", "t.csv", "--label", "y", "--model", "pa:squared", "-o", "x.st",
        "--view", "who=color", "--categorical", "who=id", "--text", "what=title",
        "--hash-bits", 8,
    )  # fmt: skip
    assert status == 0
    _, out, _ = run(capsys, "inspect", "x.st")
    text = "\n".join(out)
    assert "title:good" in text
    assert "id=3" in text
    _, out, _ = run(capsys, "predict", "x.st", "t.csv")
    assert out[0].replace('"', "") == (
        "prediction,score,probability_0,probability_1,view_who,view_what"
    )
    assert [line.split(",")[0] for line in out[1:5]] == ["0", "1", "0", "1"]


def test_a_view_alone_with_text_in_another_view(here, capsys):
    Path("t.csv").write_text("a,b,t,y\n" + "1,2,x y,0\n3,1,y z,1\n" * 5)
    options = ["--label", "y", "--view", "n=a,b", "--text", "w=t", "-o", "x.st"]
    assert run(capsys, "train", "t.csv", *options, "--model", "view:n")[0] == 0
    assert crossview.load("x.st")[-1].layout_.names == ("n",)
    assert run(capsys, "train", "t.csv", *options, "--model", "view:w")[0] == 0
    assert crossview.load("x.st")[-1].layout_.names == ("w",)


def test_a_glob_passes_the_label_over(here, capsys):
    arguments = ["bc.parquet", "--label", "diagnosis", "--view", "all=*", "-o", "x.st"]
    assert run(capsys, "train", *arguments, "--model", "pa:concatenated")[0] == 0
    # 30 numbers, each with its indicator and ten bins
    assert crossview.load("x.st")[-1].layout_.widths == (360,)
    assert run(capsys, "train", *arguments, "--model", "pa:concatenated", "--bins", "0")[0] == 0
    assert crossview.load("x.st")[-1].layout_.widths == (60,)
    # in memory, and of an exact covariance, there are none unless they are asked for
    for model in ("logistic-regression", "arow"):
        assert run(capsys, "train", *arguments, "--model", model)[0] == 0
        assert crossview.load("x.st")[-1].layout_.widths == (60,)


def test_classes_may_be_named_instead_of_searched(here, capsys, monkeypatch):
    monkeypatch.setattr(
        "crossview.readers.source.Source.value_counts", lambda *a: pytest.fail("scanned")
    )
    arguments = ["digits.parquet", "--label", "digit", "--model", "perceptron", "-o", "x.st"]
    assert run(capsys, "train", *arguments, "--classes", "0,1,2,3,4,5,6,7,8,9,10")[0] == 0
    assert crossview.load("x.st")[-1].classes_.tolist() == list(range(11))


def test_inspect_shows_weights_and_shares(here, capsys):
    _, out, _ = run(capsys, "inspect", "m.safetensors", "--top", 2)
    model = crossview.load("m.safetensors")[-1]
    weights = model.coef_[0, :120]
    assert out[0].startswith("MultiViewPAClassifier(C=0.1")
    assert "569 rows" in out[1]
    assert any(f"{np.linalg.norm(weights):.4g}" in line for line in out)
    strongest = [line for line in out if "mean__" in line]
    assert len(strongest) == 2
    assert f"{weights[np.abs(weights).argmax()]:+.4f}" in strongest[0]
    assert any(line.startswith("share of score: of the absolute scores") for line in out)


def test_inspect_of_a_model_from_python_tells_what_it_knows(here, capsys):
    X = crossview.MultiView({"a": np.eye(4)[:, :2], "b": np.eye(4)[:, 2:]})
    crossview.save(crossview.Perceptron(random_state=0).fit(X, [0, 1, 1, 0]), "x.st")
    status, out, _ = run(capsys, "inspect", "x.st")
    assert status == 0
    assert any("of the weight norms" in line for line in out)
    status, _, err = run(capsys, "predict", "x.st", "bc.parquet")
    assert status == 2
    assert "without an encoder" in err[0]


def test_datasets_and_version(here, capsys):
    assert run(capsys, "datasets", "digits", "-o", "d.csv")[0] == 0
    assert len(read_csv("d.csv")) == 1797
    assert run(capsys, "--version")[1] == [f"crossview {crossview.__version__}"]


def test_a_column_that_must_be_numbers_is_no_category_where_it_is_not(here, capsys):
    Path("na.csv").write_text("label,a__x,b__y\n" + "1,2,7\n0,4,NA\n1,2,5\n0,1,1\n" * 3)
    command = ["train", "na.csv", "--label", "label", "--model", "pa:squared", "-o", "na.st"]
    status, _, _ = run(capsys, *command)
    assert status == 0  # text makes a category
    given = ["--in-order", "--view", "a=a__x", "--numeric", "b=b__y"]
    status, _, err = run(capsys, *command, *given)
    assert status == 2
    assert err == ["crossview: error: na.csv, row 1, column 'b__y': 'NA' is not a number"]


def test_labels_in_blocks_bring_one_line(here, capsys):
    table = pq.read_table("bc.parquet").sort_by("diagnosis")
    pq.write_table(table, "sorted.parquet")
    command = ["train", "sorted.parquet", "--label", "diagnosis", "--model", "scw", "-o", "x.st"]
    _, _, err = run(capsys, *command, "--in-order")
    assert err[0].startswith("crossview: warning: the labels come in long blocks: ")
    assert err[3].startswith("569 rows in order, 1 pass, ")
    assert not any("warning" in line for line in err[1:])
    scores = []
    for seed in (0, 1):
        _, _, err = run(capsys, *command, "--seed", seed)
        assert err[2].startswith("569 rows shuffled, 1 pass, ")
        _, out, _ = run(capsys, "inspect", "x.st")
        assert out[1] == "learned 569 rows shuffled in 1 pass; label: diagnosis"
        scores.append(err[0])
    assert scores[0] != scores[1]


def test_yes_and_no_stay_words_from_the_comparison_to_the_predictions(here, capsys):
    table = pq.read_table("bc.parquet")
    words = {"benign": "no", "malignant": "yes"}
    labels = [
        words[label] if i % 3 else None for i, label in enumerate(table["diagnosis"].to_pylist())
    ]
    i = table.column_names.index("diagnosis")
    pa_csv.write_csv(table.set_column(i, "diagnosis", pa.array(labels)), "words.csv")
    command = ["compare", "words.csv", "--label", "diagnosis", "--cv", "2", "--positive", "no"]
    status, out, err = run(capsys, *command, "--model", "view:worst", "--model", "view:error")
    assert (status, [line for line in err if not line.startswith(BUSY)]) == (0, [])
    # a model that streams has no use for the other rows
    assert run(capsys, *shlex.split(out[-1])[1:-1], "x.st")[0] == 0
    assert run(capsys, "predict", "x.st", "words.csv", "--keep", "diagnosis", "-o", "p.csv")[0] == 0
    rows = read_csv("p.csv")
    assert {row["prediction"] for row in rows} == {"no", "yes"}
    assert [row["diagnosis"] or None for row in rows] == labels


def test_names_mean_nothing_but_themselves(here, capsys):
    """No markup, no emoji: ``view:a:`` is no letter in a box, and "[bold]" a class."""
    lines = ["a__x,b__x,y"] + [f"{i % 7},{i % 3},{'[bold]' if i % 2 else ':a:'}" for i in range(60)]
    Path("names.csv").write_text("\n".join(lines) + "\n")
    status, out, _ = run(capsys, "compare", "names.csv", "--label", "y", "--model", "view:a")
    assert status == 0
    assert any(line.startswith("view:a: class ") for line in out)
    rows = [line.split()[:2] for line in out]
    assert ["[bold]", "30"] in rows
    assert [":a:", "30"] in rows
