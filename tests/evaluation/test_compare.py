"""Comparing by folds: encoders, choices, scores, and what is refused."""

import json
import math

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

import shared_data
from comparing import ONE, compare, make_frame, make_noisy, make_views
from crossview import (
    InputError,
    MultiView,
    MultiViewPAClassifier,
    MultiViewSVMPerf,
    PassiveAggressiveClassifier,
    ViewEncoder,
    open_table,
)
from crossview.evaluation.comparing.candidates import compared_learners
from crossview.report.tables import to_markdown


def test_rows_are_each_view_alone_then_all_of_them(answer):
    assert [row.title for row in answer.rows] == [
        "strong alone",
        "weak alone",
        "noise alone",
        "concatenated",
        "independent",
        "coupled (squared)",
        "coupled (absolute)",
        "PAM-II",
        "AROW",
        "CW",
        "SCW-I",
        "coupled (PAM-II)",
        "SVM for f1",
        "SVM for f1 (concatenated)",
        "SVM for the error rate",
        "factorization machine (cross-view)",
        "factorization machine",
        "multi-view machine",
        "support tensor machine",
    ]
    assert answer.views == {"strong": 4, "weak": 4, "noise": 4}
    assert all(len(row.scores) == len(row.chosen) == 5 for row in answer.rows)


def test_a_view_of_noise_is_found_out(answer):
    by_title = {row.title: row for row in answer.rows}
    assert by_title["noise alone"].p < 0.01
    assert by_title["noise alone"].accuracy < 0.7 < 0.95 < by_title["strong alone"].accuracy
    assert answer.rows[answer.best].value == max(row.value for row in answer.rows)


def test_scores_are_those_of_the_folds_computed_by_hand(answer):
    X, y = make_views()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for f, (train, test) in enumerate(folds.split(y, y)):
        for position, model in {
            1: PassiveAggressiveClassifier(C=0.1, random_state=0),
            3: PassiveAggressiveClassifier(C=0.1, random_state=0),
            5: MultiViewPAClassifier(C=0.1, disagreement=0.1, random_state=0),
            12: MultiViewSVMPerf(C1=0.1, C2=0.01),
            13: MultiViewSVMPerf(C1=0.1, C2=0.0),
            14: MultiViewSVMPerf(C1=0.1, C2=0.01, measure="error_rate"),
        }.items():
            seen = X.select(["weak"]) if position == 1 else X
            predicted = model.fit(seen[train], y[train]).predict(seen[test])
            expected = f1_score(y[test], predicted, pos_label="yes")
            # a score above 0 decides; test_tuned_thresholds.py is about the others
            untuned = answer.rows[position].untuned_scores[f]
            assert untuned == pytest.approx(expected, abs=1e-12)
    assert len({tuple(answer.rows[i].scores) for i in (12, 13, 14)}) > 1
    row = answer.rows[1]
    assert row.value == pytest.approx(np.mean(row.scores))
    assert row.std == pytest.approx(np.std(row.scores, ddof=1))


def test_p_values_are_those_of_the_folds(answer):
    best = answer.rows[answer.best]
    assert best.p is None
    for row in answer.rows:
        if row is not best:
            d = np.subtract(best.scores, row.scores)
            # the plain t-test, with its variance times (1/k + 1/4) / (1/k)
            t = stats.ttest_1samp(d, 0.0).statistic / math.sqrt((1 / 5 + 1 / 4) * 5)
            expected = 2 * stats.t.sf(abs(t), 4) if d.any() else 1.0
            assert row.p == pytest.approx(expected)


def test_same_seed_same_answer_and_another_seed_other_folds(answer):
    given = {"grid": ONE, "models": ["view:weak", "pa:absolute", "scw", "mvm"]}
    again, other = compare(*make_views(), **given), compare(*make_views(), **given, seed=1)
    first = {row.model: row.scores for row in answer.rows}
    assert [row.scores for row in again.rows] == [first[name] for name in given["models"]]
    assert [row.scores for row in other.rows] != [first[name] for name in given["models"]]


def test_the_encoder_sees_the_training_part_only():
    frame = make_frame()
    frame.loc[frame.index % 3 == 0, "weak__0"] *= 1e3  # statistics that depend on the rows
    y = frame["answer"].to_numpy()
    given = {"grid": ONE, "cv": 3, "models": ["view:weak", "pa:squared"]}
    answer = compare(frame, "answer", threshold=None, **given)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    table = frame.drop(columns="answer")
    for f, (train, test) in enumerate(folds.split(y, y)):
        encoder = ViewEncoder(scale_views=False).fit(table.iloc[train])
        model = MultiViewPAClassifier(C=0.1, disagreement=0.1, random_state=0)
        model.fit(encoder.transform(table.iloc[train]), y[train])
        predicted = model.predict(encoder.transform(table.iloc[test]))
        expected = f1_score(y[test], predicted, pos_label="yes")
        assert answer.rows[1].scores[f] == pytest.approx(expected, abs=1e-12)


def test_parameters_are_chosen_inside_the_training_part():
    X, y = make_noisy()
    grid = [0.001, 0.1, 1000.0]
    tried = {"C": grid, "disagreement": [0.01]}
    models = ["view:strong", "pa:squared", "scw"]
    answer = compare(X, y, grid=tried, cv=3, threshold=None, models=models)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for f, (train, _) in enumerate(folds.split(y, y)):
        values = []
        for C in grid:
            inner = StratifiedKFold(3, shuffle=True, random_state=0)
            scores = []
            for a, b in inner.split(y[train], y[train]):
                model = PassiveAggressiveClassifier(C=C, random_state=0)
                model.fit(X["strong"][train[a]], y[train[a]])
                predicted = model.predict(X["strong"][train[b]])
                scores.append(f1_score(y[train[b]], predicted, pos_label="yes"))
            values.append(np.mean(scores))
        assert answer.rows[0].chosen[f] == {"C": grid[int(np.argmax(values))]}
    assert {choice["C"] for choice in answer.rows[0].chosen} < set(grid)
    settings = {row.model: set(row.setting) for row in answer.rows}
    assert settings["pa:squared"] == {"C", "disagreement"}
    assert settings["scw"] == {"C", "confidence"}


def test_a_large_training_part_is_validated_by_one_split(monkeypatch):
    monkeypatch.setattr("crossview.evaluation.folds.MOST_ROWS_FOR_INNER_FOLDS", 10)
    fits = []
    fit = PassiveAggressiveClassifier.fit

    def counting(self, X, y, sample_weight=None):
        fits.append(len(y))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(PassiveAggressiveClassifier, "fit", counting)
    views = [f"view:{name}" for name in ("strong", "weak", "noise")]
    compare(*make_views(), grid={"C": [0.1, 1.0]}, cv=3, models=views)
    # 3 views, 3 folds: two candidates on 80 of 100 rows, then all 100
    assert sorted(fits) == [80] * 18 + [100] * 9


def test_identical_views_tie():
    X, y = make_views()
    twins = MultiView({"a": X["strong"], "b": X["strong"]})
    answer = compare(twins, y, grid=ONE, models=["view:a", "view:b"])
    assert answer.rows[0].scores == answer.rows[1].scores
    assert answer.tie
    assert answer.verdict.startswith("tie: ")


def test_data_frames_of_any_kind_and_labels_of_their_own():
    frame = make_frame(60)
    given = {"cv": 3, "grid": ONE, "models": ["view:weak", "pa:squared", "fm"]}
    by_name = compare(frame, "answer", **given)
    X, y = frame.drop(columns="answer"), frame["answer"].to_numpy()
    for table in (X, pl.from_pandas(X)):
        apart = compare(table, y, **given)
        assert [row.scores for row in apart.rows] == [row.scores for row in by_name.rows]
    with pytest.raises(InputError, match="59 labels for a table of 60 rows"):
        compare(X, y[:-1], cv=3, grid=ONE)
    with pytest.raises(InputError, match="61 labels for a table of 60 rows"):
        compare(X, np.append(y, "yes"), cv=3, grid=ONE)


def test_several_classes_and_every_metric():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    X = MultiView({"a": rng.normal(size=(90, 3)) + 3 * np.eye(3)[y], "b": rng.normal(size=(90, 3))})
    for metric in ("f1", "roc_auc", "average_precision", "accuracy", "prbep"):
        # every way of using the views once, and some of them for the other metrics
        models = None if metric == "f1" else ["view:a", "view:b", "pa:squared"]
        for stream in (False, True):
            some = [*models, "svmperf"] if models and not stream else models
            if stream and metric == "f1":
                some = ["view:a", "pa:squared", "pa:absolute", "scw", "pam:squared", "mvm"]
            answer = compare(X, y, cv=2, metric=metric, grid=ONE, progressive=stream, models=some)
            assert answer.positive is None
            json.dumps(answer.to_dict())
            if not stream:
                assert answer.rows[0].value > 0.75 > answer.rows[1].value
                svm = next(row for row in answer.rows if row.model == "svmperf")
                assert svm.value > 0.75
                assert svm.epochs == 1


@pytest.mark.parametrize(("k", "name"), [(5, "precision_at_5"), (0.2, "precision_at_20%")])
def test_the_highest_scores_of_each_fold_decide(k, name):
    X, y = make_noisy(150)
    given = {"cv": 3, "grid": ONE, "models": ["pa:concatenated", "view:weak"]}
    answer = compare(X, y, metric="precision_at_k", k=k, **given)
    learner = PassiveAggressiveClassifier(C=0.1, shuffle=True, random_state=0)
    expected = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(y, y):
        scores = learner.fit(X[train], y[train]).decision_function(X[test])
        highest = np.argsort(-scores)[: k if k == 5 else 10]
        expected.append(np.mean(y[test][highest] == np.unique(y)[1]))
    assert answer.rows[0].scores == pytest.approx(expected)
    assert answer.metric == answer.to_dict()["metric"] == name
    assert f"| {name} |" in to_markdown(answer)
    assert name in answer.verdict
    # the name that it has now is one to ask for
    again = compare(X, y, metric=name, **given)
    assert [row.scores for row in again.rows] == [row.scores for row in answer.rows]


def test_missing_views_are_compared_as_they_are():
    X, y = make_views()
    present = np.ones((len(X), 3), dtype=bool)
    present[::4, 1] = False
    X = MultiView({name: X[name] for name in X.keys()}, present=present)  # noqa: SIM118
    # one of each loop
    models = ["view:strong", "view:weak", "pa:squared", "pa:absolute", "arow", "pam:squared"]
    answer = compare(X, y, cv=2, grid=ONE, models=[*models, "svmperf", "fm", "mvm", "stm"])
    assert answer.rows[0].value > 0.9
    assert all(math.isfinite(row.value) for row in answer.rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": 1}, "cv=1; give 2 folds or more"),
        ({"cv": 76}, r"class 'no' has \d+ row\(s\), too few for 76 folds"),
        ({"metric": "g2"}, "no metric 'g2'"),
        ({"k": 5}, "leave it out where the metric is 'f1'"),
        ({"metric": "recall_at_k", "k": 1.5}, "k=1.5; give a whole number of rows"),
        # four in five of 150 rows choose parameters by three folds; of the test folds each has 30
        (
            {"metric": "recall_at_k", "k": 31},
            "recall_at_31 needs 31 rows, and a test fold, or a .* has 30; give a smaller k",
        ),
        (
            {"metric": "recall_at_k", "k": 136, "progressive": True},
            "recall_at_136 needs 136 rows, and the stream, after .* has 135; give a smaller k",
        ),
        ({"positive": "maybe"}, r"no class 'maybe' \(there are: no, yes\)"),
        ({"grid": {"c": [1]}}, "grid= names 'c'"),
        ({"epochs": 0}, "epochs=0"),
        ({"views": {"a": "strong"}}, "leave views= at None"),
        ({"y": "answer"}, "not a column name"),
        ({"y": ["yes"] * 150}, "one class, 'yes'"),
        ({"y": ["yes", None] * 75}, "one class, 'yes', and unlabeled rows"),
        ({"y": [None] * 150}, "the label is empty in every row"),
        ({"y": np.full(150, np.nan)}, "the label is empty in every row"),
        (
            {"y": ["yes", "no"] * 4 + [None] * 142},
            r"'no' has 4 row\(s\), too few for 5 folds; .*label more of the 142 unlabeled rows",
        ),
        (
            {"y": ["yes", "no"] * 4 + [None] * 142, "progressive": True},
            "no row after the first 15, which choose the parameters, has a label",
        ),
        (
            {"y": [None] * 14 + ["yes"] + ["no"] * 135, "progressive": True},
            "the first 15 rows have only 'yes' as a label, so they cannot",
        ),
        (
            {"y": [None] * 20 + ["yes", "no"] * 65, "progressive": True},
            "the first 15 rows have no label, so they cannot",
        ),
        ({"y": ["yes", "no"]}, "2 labels for 150 rows"),
        (
            {"models": ["pa:squared", "svmperf:error_rate"], "progressive": True},
            "model 'svmperf:error_rate' needs all rows in memory.*; compare it by folds",
        ),
        ({"y": np.linspace(0, 1, 150)}, "is not a class"),
        ({"X": MultiView({"only": np.ones((150, 2))})}, "one view, 'only'"),
    ],
)
def test_compare_refuses(change, message):
    X, y = make_views()
    given = {"X": X, "y": y, "grid": ONE} | change
    with pytest.raises(InputError, match=message):
        compare(given.pop("X"), given.pop("y"), **given)


def test_rows_sorted_by_label_are_no_stream():
    X, y = make_views()
    order = np.argsort(y, kind="stable")
    with pytest.raises(InputError, match="first 15 rows are all of class 'no'"):
        compare(X[order], y[order], progressive=True)


@pytest.mark.parametrize("progressive", [False, True])
def test_an_error_in_a_row_names_its_row_in_the_file(progressive, tmp_path):
    frame = make_frame(1100)
    lines = frame.to_csv(index=False).splitlines()
    lines[1051] = ",".join(["nan", *lines[1051].split(",")[1:]])
    (tmp_path / "t.csv").write_text("\n".join(lines))
    stream = open_table(tmp_path / "t.csv", batch_rows=300)
    with pytest.raises(InputError) as caught:
        compare(stream, "answer", progressive=progressive, grid=ONE)
    assert (caught.value.row, caught.value.column) == (1050, "strong__0")
    assert caught.value.file.endswith("t.csv")


def test_a_nan_in_a_multiview_is_named_before_rows_are_shuffled():
    X, y = make_views()
    X["weak"][7, 2] = np.nan
    with pytest.raises(InputError, match="row 7, column '2': NaN of view 'weak'"):
        compare(X, y)


def test_on_web_pages_two_views_beat_the_worse_one():
    X, y = shared_data.webkb_course()
    methods = compared_learners(X.layout, len(y))
    given = {"grid": ONE, "cv": 3, "threshold": None}
    answer = compare(X, y, models=[*(m.name for m in methods), "svmperf"], **given)
    # products of words of both sides, and nothing else, tell little
    page, link, *both = [row.value for row in answer.rows if row.model != "stm"]
    assert min(both) > link
    assert max(both) > max(page, link, 0.95)


def test_only_the_named_models_are_compared(answer):
    X, y = make_views()
    whole = {row.model: row.scores for row in answer.rows}
    some = compare(X, y, grid=ONE, models=["arow", "view:weak", "arow", "pa:squared"])
    assert [row.model for row in some.rows] == ["arow", "view:weak", "pa:squared"]
    assert all(row.scores == whole[row.model] for row in some.rows)
    with pytest.raises(InputError, match=r"models=\['arow'\]; comparing needs two"):
        compare(X, y, models=["arow"])
    with pytest.raises(InputError, match="no model 'arrow'; did you mean 'arow'"):
        compare(X, y, models=["arow", "arrow"])
