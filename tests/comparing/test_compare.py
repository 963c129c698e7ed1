"""Comparing by folds: encoders, choices, scores, and what is refused."""

import inspect
import json
import math

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    roc_auc_score,
    top_k_accuracy_score,
)
from sklearn.model_selection import KFold, StratifiedKFold

import crossview
import shared_data
from comparisons import ONE, make_frame, make_noisy, make_views, thorough
from crossview import (
    InputError,
    MultiView,
    MultiViewPAClassifier,
    PassiveAggressiveClassifier,
    Scoring,
    ViewEncoder,
    open_table,
)
from crossview.baselines import baselines
from crossview.catalog.learners import find_learner
from crossview.comparing.candidates import choose_learners
from crossview.comparing.run import Run
from crossview.reporting.tables import comparison_notes, to_markdown
from crossview.scoring.problems import Classification
from crossview.scoring.significance import holm

ALL = [
    *("view:strong", "view:weak", "view:noise"),
    *("pa:concatenated", "pa:independent", "pa:squared"),
    *("pam", "arow", "cw", "scw", "pam:squared"),
    *(
        "fm:cross-view",
        "fm",
        "mvm",
        "trees",
        "trees:additive",
        "extra-trees",
        "network",
        "kernel-ridge",
    ),
    "pegasos",
    *("linear", "stacking"),
    *(learner.name for learner in baselines("classification")),
]
# without trees, which take longer than all others together
MULTICLASS = [name for name in ALL if not name.startswith(("view:", "trees", "extra"))]


def test_every_way_of_using_the_views_is_a_row_and_the_best_is_first(answer):
    assert sorted(row.model for row in answer.rows) == sorted([*ALL, "ensemble"])
    assert answer.views == {"strong": 4, "weak": 4, "noise": 4}
    assert all(len(row.scores) == len(row.chosen) == len(row.inner) == 3 for row in answer.rows)
    values = [row.value for row in answer.rows[1:]]
    assert values == sorted(values, reverse=True)
    assert answer.recommended is answer.best is answer.rows[0]
    assert answer.best.model == "ensemble"
    assert {member.model for member in answer.best.members} <= {*ALL}
    assert (answer.folds, answer.planned_folds, answer.left_out) == (3, 3, [])


def test_one_view_is_compared_without_what_is_the_same_with_one_view():
    X, y = make_views()
    X = X.select(["weak"])
    layout, run = X.layout, Run([], Classification(np.unique(y), metric="f1"), 0, 1, ONE)
    left = [learner.name for learner in choose_learners(run, layout, 150, None)]
    assert left == [
        *("pa:concatenated", "pam", "arow", "cw", "scw", "fm", "trees", "extra-trees", "network"),
        *("kernel-ridge", "pegasos"),
        *(
            "linear",
            "stacking",
            "logistic-regression",
            "baseline:gradient-boosting",
            "baseline:majority",
        ),
    ]
    for kept, others in {
        "pa:concatenated": ("view:weak", "pa:independent", "pa:squared", "pa:absolute"),
        "pam": ("pam:squared",),
        "svmperf": ("svmperf:concatenated",),
        "linear": ("fm:cross-view", "mvm"),
    }.items():
        given = {"variant": "PAM-II"} if kept == "pam" else {}
        scores = [
            find_learner(name, "classification", layout.names)
            .make(random_state=0, **(given if name == kept else {}))
            .fit(X, y)
            .decision_function(X)
            for name in (kept, *others)
        ]
        for other in scores[1:]:
            assert np.corrcoef(other, scores[0])[0, 1] > 0.9999  # machines start at random
    answer = thorough(X, y, grid=ONE, models=["pa:concatenated", "arow"])
    [note] = [note for note in comparison_notes(answer) if note.startswith("one view, 'weak': ")]
    assert "views= makes several" in note


def test_a_view_of_noise_is_found_out():
    models = ["view:strong", "view:noise", "pa:squared", "arow", "svmperf"]
    answer = thorough(*make_views(), grid=ONE, models=models)
    noise = answer.row("view:noise")
    assert noise.p_adjusted < 0.01
    assert not noise.equal
    assert noise.difference.areas(answer.rope).worse > 0.99
    assert noise.accuracy < 0.7 < 0.95 < answer.row("view:strong").accuracy


def test_scores_are_those_of_the_folds_computed_by_hand(answer):
    X, y = make_views()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    for f, (train, test) in enumerate(folds.split(y, y)):
        for name, model in {
            "view:weak": PassiveAggressiveClassifier(C=0.1, random_state=0),
            "pa:concatenated": PassiveAggressiveClassifier(C=0.1, random_state=0),
            "pa:squared": MultiViewPAClassifier(C=0.1, disagreement=0.1, random_state=0),
        }.items():
            seen = X.select(["weak"]) if name == "view:weak" else X
            predicted = model.fit(seen[train], y[train]).predict(seen[test])
            expected = f1_score(y[test], predicted, pos_label="yes")
            # a score above 0 decides; test_tuned_thresholds.py is about the others
            untuned = answer.row(name).untuned_scores[f]
            assert untuned == pytest.approx(expected, abs=1e-12)
    row = answer.row("view:weak")
    assert row.value == pytest.approx(np.mean(row.scores))
    assert row.std == pytest.approx(np.std(row.scores, ddof=1))
    # of all rows together: as many as were scored, and on the diagonal those that were right
    confusion = np.asarray(row.confusion)
    assert confusion.sum(axis=1).tolist() == [(y == "no").sum(), (y == "yes").sum()]
    assert np.trace(confusion) / len(y) == pytest.approx(np.mean(row.others["accuracy"]))


def test_p_values_are_those_of_the_folds(answer):
    assert answer.best.p is answer.best.difference is answer.best.p_adjusted is None
    for row in answer.rows[1:]:
        d = np.subtract(answer.best.scores, row.scores)
        assert row.difference.location == pytest.approx(-d.mean())
        # the variance of the plain t-test times (1/k + 1/2) / (1/k), and at least half a row
        half = 0.5 / min(answer.class_rows)
        scale = max(math.sqrt((1 / 3 + 1 / 2) * d.var(ddof=1)), half)
        assert row.p == pytest.approx(2 * stats.t.sf(abs(d.mean()) / scale, 2))
    assert [row.p_adjusted for row in answer.rows] == holm([row.p for row in answer.rows])


def test_the_words_of_the_test_say_what_a_row_of_a_rare_class_changes():
    X, y = make_noisy(150)
    y = np.where(np.arange(150) < 8, "rare", y)
    given = {"cv": 3, "grid": ONE, "models": ["view:weak", "pa:concatenated"]}
    answer = thorough(X, y, **given)
    words = "standard error of 0.042 or more: a row of the rarest class"
    assert words in " ".join(comparison_notes(answer))
    assert answer.rows[1].difference.scale >= 1 / 24
    assert words not in " ".join(comparison_notes(thorough(X, y, **given, rope=0.05)))


def test_same_seed_same_answer_and_another_seed_other_folds(answer):
    given = {"cv": 3, "grid": ONE, "models": ["view:weak", "pa:independent", "scw", "mvm"]}
    again, other = thorough(*make_views(), **given), thorough(*make_views(), **given, seed=1)
    for name in given["models"]:
        assert again.row(name).scores == answer.row(name).scores
        assert again.row(name).thresholds != other.row(name).thresholds


def test_the_encoder_sees_the_training_part_only():
    frame = make_frame()
    frame.loc[frame.index % 3 == 0, "weak__0"] *= 1e3  # statistics that depend on the rows
    y = frame["answer"].to_numpy()
    given = {"grid": ONE, "cv": 3, "models": ["view:weak", "pa:squared"]}
    answer = thorough(frame, "answer", scoring=Scoring(threshold=None), **given)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    table = frame.drop(columns="answer")
    for f, (train, test) in enumerate(folds.split(y, y)):
        encoder = ViewEncoder(scale_views=False).fit(table.iloc[train])
        model = MultiViewPAClassifier(C=0.1, disagreement=0.1, random_state=0)
        model.fit(encoder.transform(table.iloc[train]), y[train])
        predicted = model.predict(encoder.transform(table.iloc[test]))
        expected = f1_score(y[test], predicted, pos_label="yes")
        assert answer.row("pa:squared").scores[f] == pytest.approx(expected, abs=1e-12)


def test_parameters_are_chosen_inside_the_training_part():
    X, y = make_noisy()
    grid = [0.001, 0.1, 1000.0]
    tried = {"C": grid, "disagreement": [0.01], "average": [], "epochs": [], "bins": []}
    models = ["view:strong", "pa:squared", "scw"]
    answer = thorough(X, y, grid=tried, cv=3, scoring=Scoring(threshold=None), models=models)
    row = answer.row("view:strong")
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
        assert row.chosen[f] == {"C": grid[int(np.argmax(values))]}
        assert row.inner[f] == pytest.approx(max(values))
    assert {choice["C"] for choice in row.chosen} < set(grid)
    settings = {row.model: set(row.setting) for row in answer.rows}
    assert settings["pa:squared"] == {"C", "disagreement"}
    assert settings["scw"] == {"C", "confidence"}


def test_a_large_training_part_is_validated_by_one_split(monkeypatch):
    monkeypatch.setattr("crossview.comparing.folds.splits.MOST_ROWS_FOR_INNER_FOLDS", 10)
    fits = []
    fit = PassiveAggressiveClassifier.fit

    def counting(self, X, y, sample_weight=None):
        fits.append(len(y))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(PassiveAggressiveClassifier, "fit", counting)
    views = [f"view:{name}" for name in ("strong", "weak", "noise")]
    thorough(*make_views(), grid=ONE | {"C": [0.1, 1.0]}, cv=3, models=views)
    # 3 views, 3 folds: two candidates on 80 of 100 rows, then all 100; and once for the columns
    assert sorted(fits) == [80] * 18 + [100] * (9 + 1)


def test_identical_views_are_equal():
    X, y = make_views()
    twins = MultiView({"a": X["strong"], "b": X["strong"]})
    answer = thorough(twins, y, grid=ONE, models=["view:a", "view:b"])
    assert answer.rows[0].scores == answer.rows[1].scores
    assert answer.equals == answer.rows
    assert answer.row("view:b").p == 1.0
    assert "not clearly ahead: view:b is 0.0000 behind" in answer.verdict[0]


def test_data_frames_of_any_kind_and_labels_of_their_own():
    frame = make_frame(60)
    given = {"cv": 3, "grid": ONE, "models": ["view:weak", "pa:squared", "fm"]}
    by_name = thorough(frame, "answer", **given)
    X, y = frame.drop(columns="answer"), frame["answer"].to_numpy()
    for table in (X, pl.from_pandas(X)):
        apart = thorough(table, y, **given)
        assert [row.scores for row in apart.rows] == [row.scores for row in by_name.rows]
    with pytest.raises(InputError, match="59 labels for a table of 60 rows"):
        thorough(X, y[:-1], cv=3, grid=ONE)
    with pytest.raises(InputError, match="61 labels for a table of 60 rows"):
        thorough(X, np.append(y, "yes"), cv=3, grid=ONE)


def test_several_classes_and_every_metric():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    X = MultiView({"a": rng.normal(size=(90, 3)) + 3 * np.eye(3)[y], "b": rng.normal(size=(90, 3))})
    for metric in ("f1", "roc_auc", "average_precision", "accuracy", "prbep"):
        # every way of using the views once, and some of them for the other metrics
        models = ["view:a", "view:b", "pa:squared"]
        if metric == "f1":
            models = [*MULTICLASS, "view:a", "view:b"]
        for stream, how in ((False, {"cv": 2}), (True, {"progressive": True})):
            some = models if stream else [*models, "svmperf"]
            if stream and metric == "f1":
                some = ["view:a", "pa:squared", "pa:absolute", "scw", "pam:squared", "mvm"]
            answer = thorough(X, y, scoring=metric, grid=ONE, models=some, **how)
            assert answer.positive is None
            json.dumps(answer.to_dict())
            if not stream:
                assert answer.row("view:a").value > 0.75 > answer.row("view:b").value
                svm = answer.row("svmperf")
                assert svm.value > 0.75
                assert svm.epochs == 1
                assert np.shape(svm.confusion) == (3, 3)


@pytest.mark.parametrize(
    ("models", "scoring"),
    [
        (["logistic-regression", "trees", "ensemble"], "roc_auc"),
        (["logistic-regression"], "average_precision"),
        (["logistic-regression", "trees", "ensemble"], Scoring("top_accuracy", k=2)),
        (["linear"], Scoring("roc_auc", threshold=None)),
        (["trees"], "f1"),
    ],
)
def test_probabilities_order_the_rows_of_several_classes_as_in_scikit_learn(models, scoring):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = np.digitize(X[:, 0] + rng.normal(size=400), [-1, 1])
    views = MultiView({"a": X[:, :2], "b": X[:, 2:]})
    answer = thorough(views, y, models=models, scoring=scoring, cv=2, grid=ONE)
    row, kept = answer.recommended, answer.diagnostics.scored
    assert row.model == models[-1]
    assert kept.rows.tolist() == list(range(400))
    p = kept.probabilities.astype(np.float64)
    p /= p.sum(axis=1, keepdims=True)
    parts = [test for _, test in StratifiedKFold(2, shuffle=True, random_state=0).split(y, y)]
    areas = [roc_auc_score(y[here], p[here], multi_class="ovr") for here in parts]
    precision = [average_precision_score(np.eye(3)[y[here]], p[here]) for here in parts]
    assert row.roc_auc == pytest.approx(np.mean(areas), abs=1e-6)
    first = [top_k_accuracy_score(y[here], p[here], k=2) for here in parts]
    values = {"roc_auc": areas, "average_precision": precision, "top_2_accuracy": first}
    if answer.metric != "f1":
        expected = values[answer.metric]
        assert row.scores == pytest.approx(expected, abs=1e-6)
    if answer.metric == "top_2_accuracy":
        given = {"models": ["pa:concatenated"], "scoring": scoring, "grid": ONE}
        (stream,) = thorough(views, y, progressive=True, **given).rows
        assert stream.accuracy < stream.value < 1.0


@pytest.mark.parametrize(("k", "name"), [(5, "precision_at_5"), (0.2, "precision_at_20%")])
def test_the_highest_scores_of_each_fold_decide(k, name):
    X, y = make_noisy(150)
    given = {"cv": 3, "grid": ONE, "models": ["pa:concatenated", "view:weak"]}
    answer = thorough(X, y, scoring=Scoring("precision_at_k", k=k), **given)
    learner = PassiveAggressiveClassifier(C=0.1, shuffle=True, random_state=0)
    expected = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(y, y):
        scores = learner.fit(X[train], y[train]).decision_function(X[test])
        highest = np.argsort(-scores)[: k if k == 5 else 10]
        expected.append(np.mean(y[test][highest] == np.unique(y)[1]))
    assert answer.row("pa:concatenated").scores == pytest.approx(expected)
    assert answer.metric == answer.to_dict()["metric"] == name
    assert f"| {name} |" in to_markdown(answer)
    assert name in answer.verdict[0]
    # the name that it has now is one to ask for
    again = thorough(X, y, scoring=name, **given)
    assert [row.scores for row in again.rows] == [row.scores for row in answer.rows]


def test_missing_views_are_compared_as_they_are():
    X, y = make_views()
    present = np.ones((len(X), 3), dtype=bool)
    present[::4, 1] = False
    X = MultiView({name: X[name] for name in X.keys()}, present=present)  # noqa: SIM118
    # one of each loop
    models = ["view:strong", "view:weak", "pa:squared", "pa:absolute", "arow", "pam:squared"]
    answer = thorough(X, y, cv=2, grid=ONE, models=[*models, "svmperf", "fm", "mvm", "stm"])
    assert answer.row("view:strong").value > 0.9
    assert all(math.isfinite(row.value) for row in answer.rows)


def test_classes_with_too_few_rows_for_the_folds_are_left_out_and_named():
    X, y = make_views()
    y = y.astype(object)
    y[[3, 50, 90]], y[7], y[11] = "rare", "odd", None
    options = {"grid": ONE, "models": ["arow", "logistic-regression", "ensemble"]}
    answer = thorough(X, y, **options)
    kept = [i for i in range(150) if i not in (3, 7, 11, 50, 90)]
    without = thorough(X[kept], y[kept].astype(str), **options)
    assert [row.scores for row in answer.rows] == [row.scores for row in without.rows]
    assert (answer.rare_classes, answer.n_scored, answer.unlabeled) == (["odd", "rare"], 145, 1)
    assert answer.warnings[0].startswith("classes with too few rows for 5 folds are left out of")
    assert "with them 3% of the rows, of which" in answer.warnings[0]  # 4 of 149
    assert "(rows of each): 'odd' (1), 'rare' (3); train learns them; cv=3" in answer.warnings[0]
    # of the four classes that train sees, none has a threshold
    assert not {"--threshold", "--positive"}.intersection(answer.train_options)
    assert thorough(X, y, cv=3, **options).rare_classes == ["odd"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": 1}, "cv=1; give 2 folds or more"),
        ({"cv": KFold(3)}, "cv= is a KFold; give a whole number"),
        ({"seed": None}, "seed= is a NoneType; give a whole number"),
        ({"budget": "60"}, "budget= is a str; give a number or None"),
        ({"models": "arow"}, "models= is a str; give a list of names"),
        ({"models": []}, "no model is left to compare: none is named"),
        ({"baselines": [DummyClassifier()]}, "by its name, .* and not as a DummyClassifier"),
        ({"views": [2, 2]}, "views= is a list; give a mapping"),
        ({"grid": {"C": [1.0]}}, "grid= names C, and these models are tuned by .*r"),
        ({"cv": 76}, r"class 'no' has too few rows \(\d+\) for 76 folds"),
        ({"scoring": {"metric": "g2"}}, "no metric 'g2'"),
        ({"scoring": {"k": 5}}, "leave it out where the metric is 'f1'"),
        ({"scoring": {"metric": "recall_at_k", "k": 1.5}}, "k=1.5; give a whole number of rows"),
        # four in five of 150 rows choose parameters by three folds; of the test folds each has 30
        (
            {"scoring": {"metric": "recall_at_k", "k": 31}},
            "recall_at_31 needs 31 rows, and a test fold, or a .* has 30; give a smaller k",
        ),
        (
            {"scoring": {"metric": "recall_at_k", "k": 151}, "progressive": True},
            "recall_at_151 needs 151 rows, and the stream has 150; give a smaller k",
        ),
        ({"scoring": {"positive": "maybe"}}, r"no class 'maybe' \(there are: no, yes\)"),
        ({"grid": {"c": [1]}}, "grid= names 'c'"),
        ({"epochs": 0}, "epochs=0"),
        ({"rope": -0.1}, "rope=-0.1; give 0 or more"),
        ({"budget": 0.0}, "budget=0.0; give seconds, or None"),
        ({"repeats": 0}, "repeats=0; give 1 or more"),
        ({"in_order": True, "repeats": 2}, "repeats=2: folds in the order of time are the same"),
        ({"in_order": True, "groups": np.arange(150)}, "by groups or in the order of time"),
        ({"groups": np.arange(149)}, "149 groups for 150 rows"),
        ({"groups": np.zeros(150)}, "all rows are of one group, and folds by groups take two"),
        ({"views": {"a": "strong"}}, "leave views= at None"),
        ({"y": "answer"}, "not a column name"),
        ({"y": ["yes"] * 150}, "one class, 'yes'"),
        ({"y": ["yes", None] * 75}, "one class, 'yes', and unlabeled rows"),
        ({"y": [None] * 150}, "the label is empty in every row"),
        ({"y": np.full(150, np.nan)}, "the label is empty in every row"),
        (
            {"y": ["yes", "no"] * 4 + [None] * 142},
            r"'no' has too few rows \(4\) for 5 folds; take fewer.*label more of the 142",
        ),
        (
            {"y": ["yes"] + ["no"] * 149},
            r"'yes' has too few rows \(1\) for 5 folds; find more rows of it, or leave",
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
        ({"y": np.linspace(0, 1, 150), "task": "classification"}, "is not a class"),
        (
            {"X": MultiView({"only": np.ones((150, 2))}), "ablate": True},
            "ablate= takes views away, and there is one, 'only'",
        ),
    ],
)
def test_compare_refuses(change, message):
    X, y = make_views()
    given = {"X": X, "y": y, "grid": ONE, "scoring": {}, "models": ["arow"]} | change
    X, y, scoring = (given.pop(name) for name in ("X", "y", "scoring"))
    with pytest.raises(InputError, match=message):
        thorough(X, y, scoring=Scoring(**scoring), **given)


def test_rows_sorted_by_label_are_no_stream():
    X, y = make_views()
    order = np.argsort(y, kind="stable")
    with pytest.raises(InputError, match="first 15 rows are all of class 'no'"):
        thorough(X[order], y[order], progressive=True)


# other values than the defaults; what a comparison in stream order honors changes its answer
STREAMED = {
    "baselines": ["sklearn.linear_model:SGDClassifier"],
    "y": "other",
    "views": {"a": ["strong__*", "weak__*"]},
    "time": "weak__1",
    "weight": "noise__1",
    "task": "regression",
    "rope": 0.2,
    "seed": 1,
    "grid": ONE | {"C": [10.0]},
    "models": ["view:weak"],
}
ENCODERS = {
    "text": ["weak__word", "noise__name"],
    "categorical": ["weak__1"],
    "numeric": ["weak__code"],
    "date": ["weak__day=%Y.%d.%m"],
    "ignore": ["other", "answer", "strong__*"],
    "hash_bits": 1,
    "ngram_range": (1, 2),
    "tf_idf": False,
    "scale_views": False,
    "bins": 4,
}
SCORINGS = [
    Scoring("accuracy"),
    Scoring(cost={"fp": 1, "fn": 3}),
    Scoring(positive="no"),
    Scoring(threshold=None),
]
OF_FOLDS = {
    "cv": 4,
    "repeats": 2,
    "groups": "weak__0",
    "ablate": True,
    "budget": 30.0,
    "n_jobs": 2,
    "random_folds": True,
}
# tested elsewhere, or what a stream is and lacks anyway
OTHERS = {"X", "on", "extend", "observer", "progressive", "in_order", "curve", "epochs"}


@pytest.fixture(scope="module")
def streamed():
    """Compares a stream with some options; the answer, but what depends on the clock."""
    rng = np.random.default_rng(0)
    words = rng.choice(["red car", "blue car", "red", "old blue car"], 60)
    frame = make_frame(60).assign(weak__word=words, weak__code=rng.choice(["1", "2"], 60))
    frame["noise__1"], frame["noise__name"] = rng.random(60), words[::-1]
    frame["weak__day"] = [f"2024.{1 + i % 12}.{1 + i % 9}" for i in range(60)]
    frame["other"] = frame["answer"][::-1].to_numpy()
    given = {"y": "answer", "progressive": True, "models": ["pa:concatenated"], "grid": ONE}
    encoded = {"ignore": ["other", "answer"], "text": ["weak__word"]}

    def answer(encoder=None, **options):
        options["encoder"] = ViewEncoder(**encoded | (encoder or {}))
        content = crossview.compare(frame, **given | options).to_dict()
        rows = content.pop("rows")
        return content, [{k: v for k, v in row.items() if "second" not in k} for row in rows]

    return answer


@pytest.mark.parametrize("name", OF_FOLDS)
def test_a_stream_refuses_options_of_folds(streamed, name):
    words = "is for a comparison by folds; leave it out, or leave out progressive=True$"
    with pytest.raises(InputError, match=f"^{name}= {words}"):
        streamed(**{name: OF_FOLDS[name]})


def test_a_stream_honors_or_refuses_every_option(streamed):
    keywords = inspect.signature(crossview.compare).parameters
    assert set(keywords) == {*STREAMED, *OF_FOLDS, *OTHERS, "encoder", "scoring"}
    plain = streamed(**{name: keywords[name].default for name in OF_FOLDS})
    assert plain == streamed(budget=None, curve=False, in_order=True)
    with pytest.raises(InputError, match="predicts classes; for regression there are"):
        streamed(task="regression", grid={})
    for name in STREAMED.keys() - {"task"}:
        assert streamed(**{name: STREAMED[name]}) != plain, name
    for name, value in ENCODERS.items():
        assert streamed(encoder={name: value}) != plain, name
    for scoring in SCORINGS:
        assert streamed(scoring=scoring) != plain, scoring


@pytest.mark.parametrize("progressive", [False, True])
def test_an_error_in_a_row_names_its_row_in_the_file(progressive, tmp_path):
    frame = make_frame(1100)
    lines = frame.to_csv(index=False).splitlines()
    lines[1051] = ",".join(["nan", *lines[1051].split(",")[1:]])
    (tmp_path / "t.csv").write_text("\n".join(lines))
    stream = open_table(tmp_path / "t.csv", batch_rows=300)
    with pytest.raises(InputError) as caught:
        thorough(stream, "answer", progressive=progressive, grid=ONE)
    assert (caught.value.row, caught.value.column) == (1050, "strong__0")
    assert caught.value.file.endswith("t.csv")


def test_a_nan_in_a_multiview_is_named_before_rows_are_shuffled():
    X, y = make_views()
    X["weak"][7, 2] = np.nan
    with pytest.raises(InputError, match="row 7, column '2': NaN of view 'weak'"):
        thorough(X, y)


def test_on_web_pages_two_views_beat_the_worse_one():
    X, y = shared_data.webkb_course()
    names = ["view:page", "view:link", "pa:concatenated", "pa:squared", "arow", "linear", "svmperf"]
    answer = thorough(X, y, grid=ONE, cv=3, scoring=Scoring(threshold=None), models=names)
    both = [row.value for row in answer.rows if not row.model.startswith("view:")]
    page, link = answer.row("view:page").value, answer.row("view:link").value
    assert min(both) > link
    assert max(both) > max(page, link, 0.95)


def test_only_the_named_models_are_compared(answer):
    X, y = make_views()
    some = thorough(X, y, cv=3, grid=ONE, models=["arow", "view:weak", "arow", "pa:squared"])
    assert {row.model for row in some.rows} == {"arow", "view:weak", "pa:squared"}
    assert len(some.rows) == 3
    assert all(row.scores == answer.row(row.model).scores for row in some.rows)
    with pytest.raises(InputError, match="no row for 'pam'; there are "):
        some.row("pam")
    with pytest.raises(InputError, match="no model 'arrow'; did you mean 'arow'"):
        thorough(X, y, models=["arow", "arrow"])
    # one model alone is scored, also of a single view
    for rows in (X, X.select(["weak"])):
        alone = thorough(rows, y, cv=3, grid=ONE, models=["view:weak"])
        assert [row.scores for row in alone.rows] == [answer.row("view:weak").scores]
        assert alone.verdict[0].startswith(f"view:weak: f1 {alone.best.value:.4f} (95 % interval")
        assert alone.recommended is alone.best


def test_further_parameters_are_tried_from_the_best_setting_on(monkeypatch):
    """Averaging, then more passes, each as long as it gains 0.002 on what was best before."""
    X, y = make_noisy(150)
    X = X.select(["strong"])
    tried = []
    make = Run.make

    def recording(self, learner, setting):
        tried.append(dict(setting))
        return make(self, learner, setting)

    monkeypatch.setattr(Run, "make", recording)
    grid = {"C": [10.0], "average": [True], "epochs": [3, 10], "bins": []}
    given = {"cv": 2, "scoring": Scoring(threshold=None), "models": ["view:strong"]}
    answer = thorough(X, y, grid=grid, **given)

    def value(train, setting):
        scores = []
        inner = StratifiedKFold(3, shuffle=True, random_state=0)
        for a, b in inner.split(y[train], y[train]):
            options = {"C": setting["C"], "average": setting.get("average", False)}
            model = PassiveAggressiveClassifier(
                **options, n_epochs=setting.get("epochs", 1), random_state=0
            )
            model.fit(X[train[a]], y[train[a]])
            predicted = model.predict(X[train[b]])
            scores.append(f1_score(y[train[b]], predicted, pos_label="yes"))
        return np.mean(scores)

    refined = set()
    for f, (train, _) in enumerate(StratifiedKFold(2, shuffle=True, random_state=0).split(y, y)):
        best = max(({"C": C} for C in grid["C"]), key=lambda setting: value(train, setting))
        for name, more in (("average", [True]), ("epochs", [3, 10])):
            for one in more:
                if not value(train, best | {name: one}) > value(train, best) + 0.002:
                    break
                best = best | {name: one}
        assert answer.best.chosen[f] == best
        assert answer.best.inner[f] == pytest.approx(value(train, best))
        refined |= set(best)
    assert refined > {"C"}
    # as many passes as are asked for, and no others are tried
    tried.clear()
    told = thorough(X, y, grid=grid, epochs=2, **given)
    assert not any("epochs" in setting for setting in tried)
    assert told.best.epochs == 2


def test_one_model_is_no_ensemble():
    rng = np.random.default_rng(1)
    X = pl.DataFrame({"a__x": rng.normal(size=200), "b__x": rng.normal(size=200)})
    y = X["a__x"].to_numpy() + 0.3 * rng.normal(size=200) > 0
    models = ["view:a", "view:b", "ensemble"]
    answer = crossview.compare(X, y, models=models, baselines=[], budget=None)
    assert answer.recommended.model == "view:a"
    assert sorted(row.model for row in answer.rows) == ["view:a", "view:b"]


@pytest.mark.parametrize("steps", [[0.1, 1e9], [1e9]])
def test_setting_that_diverges_ends_no_comparison(steps):
    rng = np.random.default_rng(0)
    X = pl.DataFrame(rng.normal(size=(200, 4)), schema=["a_0", "a_1", "b_0", "b_1"])
    y = (X["a_0"] * X["b_1"] > 0).to_numpy().astype(int)
    options = {
        "views": {"a": "a_*", "b": "b_*"},
        "baselines": [],
        "grid": {"learning_rate": steps},
        "budget": None,
    }
    found = crossview.compare(X, y, models=["fm", "pam"], **options)
    if len(steps) > 1:
        assert found.row("fm").setting["learning_rate"] == steps[0]
    else:
        assert [row.model for row in found.rows] == ["pam"]
        (left,) = [one for one in found.left_out if one.failed]
        assert left.model == "fm"
        assert left.what.startswith(("the loss diverges", "a row is too large"))
        with pytest.raises(InputError, match="no model is left to compare: fm failed"):
            crossview.compare(X, y, models=["fm"], **options)
