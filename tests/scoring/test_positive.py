"""Which of two classes is the positive one, and that every result says it."""

import json

import numpy as np
import pandas as pd
import pytest

from command_line import run
from comparisons import ONE, compare, made_answer, make_views
from crossview import (
    GuessWarning,
    InputError,
    MultiViewSVMPerf,
    OneClassWarning,
    PassiveAggressiveClassifier,
    Scoring,
    evaluate,
    open_rows,
    open_table,
    progressive,
    train,
)
from crossview.comparing.result.comparison import Comparison
from crossview.data.labeled_source import open_labeled
from crossview.labels import choose_positive
from crossview.reporting.evaluation import evaluation_tables
from crossview.reporting.page.comparison import comparison_page
from crossview.reporting.page.evaluation import evaluation_page
from crossview.reporting.page.training import training_page
from crossview.reporting.tables import comparison_head, to_markdown
from crossview.scoring.metrics import RunningThreshold
from crossview.scoring.results import metric_words, one_class_warning, positive_note


@pytest.mark.parametrize(
    ("classes", "rows", "expected"),
    [
        ([0, 1], [99, 1], (1, "name")),
        ([0, 1], [400, 600], (1, "name")),
        ([0, 1], [399, 601], (1, "majority")),
        ([0, 1], [0, 9], (1, "name")),
        ([-1, 1], None, (1, "name")),
        ([-1.0, 1.0], None, (1, "name")),
        (["+1", "-1"], None, (0, "name")),
        (["0", "1"], None, (1, "name")),
        ([False, True], [1, 99], (1, "majority")),
        (["ja", "nein"], [99, 1], (0, "majority")),
        (["NO", "Yes "], None, (1, "name")),
        (["Oui", "non"], None, (0, "name")),
        (["no", "sí"], None, (1, "name")),
        (["case", "control"], None, (0, "name")),
        (["ham", "spam"], None, (1, "name")),
        (["n", "y"], None, (1, "name")),
        (["f", "m"], None, (1, "guess")),  # f is no opposite of t here
        (["x", "y"], None, (1, "guess")),
        ([1, 2], [30, 70], (0, "rarer")),  # 1 is the first of two here, and no yes
        (["true", "yes"], [10, 90], (0, "rarer")),  # both are in the list
        (["left", "stayed"], [399, 601], (0, "rarer")),
        (["left", "stayed"], [601, 399], (1, "rarer")),
        (["AD", "NC"], [400, 600], (1, "guess")),
        (["AD", "NC"], None, (1, "guess")),
    ],
)
def test_a_name_or_the_rarer_class_says_which_one_it_is(classes, rows, expected):
    assert choose_positive(classes, rows) == expected


def make_rows(n=120, rare=30, labels=("bought", "no order")):
    """A frame whose first label is the rarer one, which is not its second in sorted order."""
    rng = np.random.default_rng(0)
    y = np.where(rng.permutation(n) < rare, *labels)
    columns = {"a__1": rng.normal(size=n) + 3 * (y == labels[0]), "b__1": rng.normal(size=n)}
    return pd.DataFrame(columns | {"y": y})


def test_every_source_counts_the_rows_of_each_class(tmp_path):
    frame = make_rows()
    numbers = (frame["y"] == "bought").astype(int)
    csv, vw = tmp_path / "rows.csv", tmp_path / "rows.vw"
    frame.to_csv(csv, index=False)
    vw.write_text("".join(f"{one} |a x:{i} |b y:1\n" for i, one in enumerate(numbers)))
    table, views = frame.drop(columns="y"), make_views(120)[0]
    for source, y in (
        (open_table(frame, batch_rows=7), "y"),
        (str(csv), "y"),
        (frame.assign(y=frame["y"].astype("category")), "y"),
        (table, frame["y"]),
        (views, frame["y"]),
    ):
        assert open_labeled(source, y).class_rows.tolist() == [30, 90]
        gaps = open_labeled(source, y, unlabeled=True)
        assert gaps.class_rows.tolist() == [30, 90]
    assert open_labeled(open_rows(vw), None).class_rows.tolist() == [90, 30]
    given = open_labeled(str(csv), "y", classes=["bought", "no order"])
    assert given.class_rows is None  # a stream is not read for them
    with pytest.raises(InputError, match="has one class"):
        open_labeled(frame.assign(y="bought"), "y")


@pytest.mark.filterwarnings("ignore:a view 'rest' has")
def test_labels_that_are_no_classes_are_refused_or_said():
    frame = make_rows()
    for y in ("id", np.arange(120).astype(str)):
        with pytest.raises(InputError, match="takes 120 values in 120 rows, so that no class has"):
            open_labeled(frame.assign(id=[f"n{i}" for i in range(120)]), y)
    many = [f"n{i % 61}" for i in range(120)]
    with pytest.warns(GuessWarning, match="y: the label takes 61 values in 120 rows; is it anoth"):
        open_labeled(frame.assign(y=many), "y")
    assert len(open_labeled(frame.assign(y=[f"n{i % 60}" for i in range(120)]), "y").classes) == 60


@pytest.mark.filterwarnings("ignore:.*rows that the model has learned")
def test_training_takes_the_rarer_class_and_says_so(tmp_path):
    frame = make_rows()
    trained = train(frame, "y", model="pa:squared", output=tmp_path / "m.safetensors")
    assert (trained.positive, trained.positive_by) == ("bought", "rarer")
    assert trained.metric_words == "f1 of 'bought' (30 of 120 rows)"
    takes = "scoring=Scoring(positive='no order') takes the other"
    assert f"the rarer one; {takes}" in trained.notes[0]
    assert trained.notes[1].startswith("predicts 'bought' above probability 0.")
    assert sum(trained.predicted_rows) == 120
    # with the classes given nobody counts their rows, and both count the same
    guessed = train(frame, "y", model="pa:squared", classes=["bought", "no order"])
    assert (guessed.positive, guessed.positive_by) == ("no order", "guess")
    assert guessed.metric["name"] == guessed.threshold_for == "macro_f1"
    assert "count the same" in guessed.notes[0]
    asked = train(frame, "y", model="pa:squared", classes=["bought", "no order"], scoring="f1")
    assert asked.metric_words.startswith("f1 of 'no order'")
    assert (
        asked.notes[0]
        == "positive class: 'no order', a guess; scoring=Scoring(positive='bought') takes the other"
    )
    # a model keeps its class, whatever the new rows say
    more = frame.assign(y=np.where(frame["y"] == "bought", "no order", "bought"))
    later = train(more, init=tmp_path / "m.safetensors")
    assert (later.positive, later.positive_by, later.metric["name"]) == ("bought", "rarer", "f1")
    assert later.class_rows == [120, 120]
    for model in (tmp_path / "m.safetensors", trained):
        found = evaluate(model, frame, "y")
        assert (found.positive, found.positive_by) == ("bought", "rarer")
        assert "f1 of 'bought' (30 of 120 rows) 0." in found.summary
    other = evaluate(tmp_path / "m.safetensors", frame, "y", scoring=Scoring(positive="no order"))
    assert other.positive_by == "given"
    assert "f1 of 'no order' (90 of 120 rows)" in other.summary


@pytest.mark.filterwarnings("ignore:.*rows that the model has learned")
def test_a_class_that_is_named_takes_the_place_of_a_guess():
    frame = make_rows(rare=55)
    trained = train(frame, "y", model="pa:squared")
    assert trained.metric["name"] == "macro_f1"
    found, named = (
        evaluate(trained, frame, "y"),
        evaluate(trained, frame, "y", scoring=Scoring(positive="bought")),
    )
    assert (found.metric, named.metric) == ("macro_f1", "f1")
    assert "a guess; scoring=Scoring(positive='bought')" in found.notes[0]
    assert "guess" not in str(named.notes)


@pytest.mark.parametrize("rows", [7, 1000])
def test_a_comparison_says_it_first_and_prints_a_command_that_trains_the_same(rows):
    given = {"grid": ONE, "cv": 2, "budget": None, "curve": False, "models": ["pa:squared"]}
    frame = make_rows()
    answer = compare(open_table(frame, batch_rows=rows), "y", **given)
    assert answer.class_rows == [30, 90]
    assert answer.metric_words == "f1 of 'bought' (30 of 120 rows)"
    assert to_markdown(answer).startswith(answer.metric_words)
    assert str(answer).startswith(answer.metric_words)
    assert answer.train_options[-4:] == ["--positive", "bought", "--bins", "0"]
    again = Comparison.from_dict(json.loads(json.dumps(answer.to_dict())))
    assert comparison_head(again) == comparison_head(answer)
    even = compare(make_rows(rare=55), "y", **given)
    assert even.metric_words == "macro_f1 of 'bought' and 'no order' (55 and 65 rows)"
    assert "--positive" not in even.train_options
    assert "--metric" not in even.train_options
    named = compare(make_rows(labels=("ja", "nein"), rare=70), "y", **given)
    assert named.metric_words == "f1 of 'ja' (70 of 120 rows)"
    assert not named.notes
    assert "--positive" not in named.train_options  # train reads the name as well


def test_no_class_matters_where_neither_is_the_positive_one():
    """With the names exchanged the answer is the same but for ties."""
    frame = make_rows(rare=55, labels=("AD", "NC"))
    mirrored = frame.assign(y=frame["y"].map({"AD": "NC", "NC": "AD"}))
    values = [
        train(one, "y", model="pa:squared", scoring=Scoring(threshold=None))
        for one in (frame, mirrored)
    ]
    assert values[0].metric["value"] == pytest.approx(values[1].metric["value"], abs=0.01)
    assert {one.metric["name"] for one in values} == {"macro_f1"}


def test_an_svm_is_trained_for_the_rarer_class():
    X, y = make_views(120)
    y = np.where(np.arange(120) < 25, "bought", "order")
    chosen = MultiViewSVMPerf(calibration="none").fit(X, y)
    named = MultiViewSVMPerf(calibration="none", pos_label="bought").fit(X, y)
    np.testing.assert_array_equal(chosen.coef_, named.coef_)
    # also where the rows of a fold of the calibration would say something else
    calibrated = [MultiViewSVMPerf(pos_label=one).fit(X, y) for one in (None, "bought")]
    p = [model.predict_proba(X) for model in calibrated]
    np.testing.assert_array_equal(*p)


def test_records_of_a_stream_say_the_class():
    X, y = make_views(30)
    model = PassiveAggressiveClassifier()
    last = list(progressive(model, [(X["strong"], y)], ["no", "yes"], scoring="f1"))[-1]
    assert (last.metric_name, last.positive, last.positive_by) == ("f1", "yes", "name")


@pytest.mark.filterwarnings("ignore:.*rows that the model has learned")
def test_pages_name_the_class_and_warn_of_a_model_with_one_answer():
    frame = make_rows()
    with pytest.warns(OneClassWarning, match="all 120 rows .* 'no order'"):
        trained = train(
            frame,
            "y",
            model="pa:squared",
            scoring=Scoring("recall", positive="no order", threshold=1e-12),
        )
    page = training_page(trained)
    assert page.answer.startswith("Recall of 'no order' (90 of 120 rows): ")
    assert "ccuracy" not in page.answer
    assert (
        page.doubts[0] == "All 120 rows checked in training are predicted as 'no order': change "
        "scoring=Scoring(threshold=, positive= or metric=)."
    )
    found = evaluate(trained, frame, "y")
    learned, same = found.warnings
    assert "all 120 scored rows are predicted as 'no order'" in same
    doubts = evaluation_page(found).doubts
    assert [learned[1:] in doubts[0], same[1:] in doubts[1]] == [True, True]
    assert next(iter(evaluation_tables(found))) == f"warning: {same}"
    answer = made_answer({"pa:squared": [0.5, 0.5], "arow": [0.1, 0.1]})
    answer.class_rows = [30, 90]
    answer.recommended.confusion = [[0, 30], [0, 90]]
    answer.warnings = answer.one_class
    assert (
        "all 120 rows scored by the recommended model are predicted as 'yes'"
        in comparison_head(answer)[1]
    )
    assert "f1 of 'yes' = 0.500" in comparison_page(answer).answer


def test_one_answer_is_a_warning_only_if_rows_of_other_classes_were_there():
    for predicted in ([100, 0], [95, 5]):
        assert one_class_warning(["a", "b"], predicted, [50, 50])
    assert one_class_warning(["a", "b", "c"], [0, 0, 9], [3, 3, 3])[0].endswith("or the model")
    for predicted, rows in (([94, 6], [50, 50]), ([1000, 0], [998, 2]), (None, [5, 5])):
        assert not one_class_warning(["a", "b"], predicted, rows)
    assert not one_class_warning([], None, None)


@pytest.mark.parametrize("seed", range(3))
def test_a_running_threshold_counts_what_it_would_predict(seed):
    rng = np.random.default_rng(seed)
    running, p = RunningThreshold("f1"), rng.beta(0.1, 0.1, 300)
    assert running.predicted_rows() is None
    running.decide((rng.random(300) < p).astype(int), p - 0.5, p)
    second = int((p > running.place()).sum())
    assert running.predicted_rows() == [300 - second, second]
    for end, expected in ((0.0, [0, 300]), (1.0, [300, 0])):
        running.threshold = end
        assert running.predicted_rows() == expected


def test_words_of_metrics_and_guesses():
    assert metric_words("rmse", [], None) == "rmse"
    assert metric_words("accuracy", ["a", "b", "c"], None) == "accuracy"
    assert metric_words("f1", [0, 1], 1) == "f1 of 1"
    assert metric_words("macro_f1", ["a", "b"], "b") == "macro_f1 of 'a' and 'b'"
    assert metric_words("log_loss", ["a", "b"], "b", [3, 1]) == "log_loss ('b': 1 of 4 rows)"
    assert not positive_note("accuracy", ["a", "b"], "b", "guess")
    assert positive_note("accuracy", ["a", "b"], "b", "guess", fixed=True)
    assert not positive_note("f1", ["a", "b"], "b", "given") + positive_note("f1", [], None, None)


def test_the_command_line_says_it_in_its_first_line(tmp_path, capsys):
    file, model = tmp_path / "rows.csv", tmp_path / "m.safetensors"
    make_rows(labels=("ja", "nein")).to_csv(file, index=False)
    given = ["train", file, "--label", "y", "--model", "pa:squared", "-o", model]
    status, _, err = run(capsys, *given)
    assert status == 0
    assert err[0].startswith("f1 of 'ja' (30 of 120 rows) 0.")
    assert err[1].startswith("predicts 'ja' above probability 0.")
    status, _, err = run(capsys, *given, "--threshold", "1e-12", "--positive", "nein")
    change = "are predicted as 'nein': change --threshold, --positive or --metric"
    assert err[0] == f"crossview: warning: all 120 rows checked in training {change}"
    _, out, _ = run(capsys, "evaluate", model, file, "--report", tmp_path / "page.html")
    assert f"warning: all 120 scored rows {change}" in out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("--threshold</span>, <span") == 1
    assert "Scoring(" not in page


def test_the_command_line_names_the_options_of_the_other_class(tmp_path, capsys):
    file, model = tmp_path / "rows.csv", tmp_path / "m.safetensors"
    make_rows(labels=("it's in", "out")).to_csv(file, index=False)
    given = ["train", file, "--label", "y", "--model", "pa:squared", "-o", model]
    _, _, err = run(capsys, *given)
    assert err[1] == 'positive class: "it\'s in", the rarer one; --positive out takes the other'


def test_f1_of_a_class_that_most_rows_are_of_is_no_default():
    x = np.random.default_rng(0).normal(size=200)
    table = pd.DataFrame({"x": x, "y": np.where(x > -0.5, "yes", "no")})
    trained = train(table, "y", model="arow")
    assert (trained.metric["name"], trained.positive) == ("macro_f1", "yes")
    note = "'yes' has more than 60 % of the rows, so both classes count the same; "
    assert note + "scoring=Scoring(positive='yes') takes f1 of it" in trained.notes
    given = train(table, "y", model="arow", scoring=Scoring(positive="yes"))
    assert given.metric["name"] == "f1"
    answer = compare(table, "y", models=["arow"], cv=3, baselines=())
    assert answer.metric == "macro_f1"
    assert not {"--positive", "--metric"} & set(answer.train_options)


def test_few_rows_of_a_rare_class_are_judged_by_ranking_unless_f1_is_asked_for():
    X, y = make_views(450)
    y = np.where(np.arange(450) % 25 == 0, "yes", "no")
    answer = compare(X, y, models=["arow"], grid=ONE, curve=False)
    assert answer.metric == "roc_auc"
    assert answer.notes == [
        "18 rows of 'yes' are few for f1, so roc_auc decides; scoring='f1' insists"
    ]
    insists = compare(X, y, models=["arow"], grid=ONE, curve=False, scoring="f1")
    assert (insists.metric, insists.notes) == ("f1", [])
    assert "--metric" not in answer.train_options
    assert insists.train_options[-2:] == ["--metric", "f1"]
    model = train(X, y, model="arow")
    assert model.metric["name"] == "roc_auc"
