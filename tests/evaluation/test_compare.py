"""The comparison of ways of using views: folds, choices, tests, the answer."""

import io
import json
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from rich.console import Console
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, mean_absolute_error, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

import shared_data
from crossview import (
    InputError,
    KeCoClassifier,
    MultiView,
    MultiViewPAClassifier,
    MultiViewSVMPerf,
    PassiveAggressiveClassifier,
    PegasosClassifier,
    ViewEncoder,
    compare,
    open_table,
    progressive,
)
from crossview.catalog.learners import find_learner
from crossview.evaluation.candidates import compared_learners
from crossview.evaluation.folds import draw_rows
from crossview.evaluation.result import Comparison, ComparisonRow
from crossview.evaluation.significance import corrected_t_test, error_test, mcnemar_test
from crossview.evaluation.tasks import Classification
from crossview.report.tables import comparison_notes, comparison_table, speed, to_markdown

OF_MACHINES = {"alpha": [1e-4], "learning_rate": [0.1]}
ONE = OF_MACHINES | {
    "C": [0.1],
    "disagreement": [0.1],
    "fit_intercept": [True],
    "r": [1.0],
    "confidence": [0.7],
    "initial_variance": [1.0],
    "lam": [0.001],
    "C1": [0.1],
    "C2": [0.01],
}


def make_views(n=150, seed=0):
    """A view that tells, one that tells a little, and one of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    sign = (2 * y - 1)[:, None]
    return MultiView(
        {
            "strong": rng.normal(size=(n, 4)) + 1.5 * sign,
            "weak": rng.normal(size=(n, 4)) + 0.3 * sign,
            "noise": rng.normal(size=(n, 4)),
        }
    ), np.where(y == 1, "yes", "no")


def make_noisy(n=300):
    """A label in five is wrong, so that a large C does harm."""
    X, y = make_views(n)
    wrong = np.random.default_rng(1).random(n) < 0.2
    return X.select(["strong", "weak"]), np.where(wrong, np.where(y == "yes", "no", "yes"), y)


def make_frame(n=150, seed=0):
    X, y = make_views(n, seed)
    columns = {f"{v}__{i}": X[v][:, i] for v in X.keys() for i in range(4)}  # noqa: SIM118
    return pd.DataFrame(columns | {"answer": y})


@pytest.fixture(scope="module")
def answer():
    return compare(*make_views(), grid=ONE)


def test_rows_are_each_view_alone_then_all_of_them(answer):
    assert [row.title for row in answer.rows] == [
        "strong alone",
        "weak alone",
        "noise alone",
        "pa:concatenated",
        "pa:independent",
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
            assert answer.rows[position].scores[f] == pytest.approx(expected, abs=1e-12)
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
    answer = compare(frame, "answer", grid=ONE, cv=3, models=["view:weak", "pa:squared"])
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    table = frame.drop(columns="answer")
    for f, (train, test) in enumerate(folds.split(y, y)):
        encoder = ViewEncoder().fit(table.iloc[train])
        model = MultiViewPAClassifier(C=0.1, disagreement=0.1, random_state=0)
        model.fit(encoder.transform(table.iloc[train]), y[train])
        predicted = model.predict(encoder.transform(table.iloc[test]))
        expected = f1_score(y[test], predicted, pos_label="yes")
        assert answer.rows[1].scores[f] == pytest.approx(expected, abs=1e-12)


def test_parameters_are_chosen_inside_the_training_part():
    X, y = make_noisy()
    grid = [0.001, 0.1, 1000.0]
    tried = {"C": grid, "disagreement": [0.01], "fit_intercept": [True]}
    answer = compare(X, y, grid=tried, cv=3, models=["view:strong", "pa:squared", "scw"])
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
        assert answer.rows[0].chosen[f] == {
            "C": grid[int(np.argmax(values))],
            "fit_intercept": True,
        }
    assert {choice["C"] for choice in answer.rows[0].chosen} < set(grid)
    settings = {row.model: set(row.setting) for row in answer.rows}
    assert settings["pa:squared"] == {"C", "disagreement", "fit_intercept"}
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
    compare(*make_views(), grid={"C": [0.1, 1.0], "fit_intercept": [True]}, cv=3, models=views)
    # 3 views, 3 folds: two candidates on 80 of 100 rows, then all 100
    assert sorted(fits) == [80] * 18 + [100] * 9


def test_identical_views_tie():
    X, y = make_views()
    twins = MultiView({"a": X["strong"], "b": X["strong"]})
    answer = compare(twins, y, grid=ONE, models=["view:a", "view:b"])
    assert answer.rows[0].scores == answer.rows[1].scores
    assert answer.tie
    assert answer.verdict.startswith("tie: ")


def made_answer(p, mode="cross-validation", accuracies=(0.9, 0.8)):
    rows = [
        ComparisonRow(
            "a alone", "view:a", 0.9, 0.01, accuracies[0], 0.95, 1e5, {"C": 0.1}, epochs=2
        ),
        ComparisonRow(
            "pa:squared", "pa:squared", 0.8, 0.01, accuracies[1], math.nan, 1e5, {"C": 1.0}, p
        ),
    ]
    return Comparison(
        metric="f1",
        positive="yes",
        classes=["no", "yes"],
        views={"a": 1, "b": 1},
        n_rows=10,
        n_scored=9,
        mode=mode,
        test="some test",
        folds=5,
        seed=0,
        epochs=2,
        rows=rows,
        best=0,
        runner_up=1,
    )


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ({"p": 0.01}, "best: a alone leads squared by 0.1000 f1 (p = 0.01)"),
        ({"p": 0.0}, "best: a alone leads squared by 0.1000 f1 (p < 0.001)"),
        (
            {"p": 0.31},
            "tie: a alone leads squared by 0.1000 f1, which is not significant at 0.05 (p = 0.31)",
        ),
        (
            {"p": 0.31, "mode": "progressive"},
            "tie: a alone leads squared by 0.1000 f1, but not with significantly fewer mistakes "
            "(p = 0.31)",
        ),
        (
            {"p": 0.01, "mode": "progressive", "accuracies": (0.8, 0.9)},
            "tie: a alone leads squared by 0.1000 f1, but makes more mistakes (p = 0.01)",
        ),
    ],
)
def test_the_verdict_calls_a_tie_a_tie(given, verdict):
    answer = made_answer(**given)
    assert answer.verdict == verdict
    assert answer.tie == verdict.startswith("tie")


def test_train_options_name_the_winner_and_its_choice():
    assert made_answer(0.1).train_options == [
        *("--model", "view:a", "--set", "C=0.1"),
        *("--epochs", "2"),
    ]


def test_the_corrected_t_test_by_hand():
    # d = 1, 2, 3: mean 2, variance 1; t = 2 / sqrt(1/3 + 1/2), 2 degrees of freedom
    t = 2 / math.sqrt(5 / 6)
    # survival function of Student's t with 2 degrees of freedom
    assert corrected_t_test([1, 2, 3], 1 / 2) == pytest.approx(1 - t / math.sqrt(2 + t * t))
    assert corrected_t_test([-1, -2, -3], 1 / 2) == corrected_t_test([1, 2, 3], 1 / 2)


def test_the_corrected_t_test_without_variance():
    assert corrected_t_test([0.0, 0.0, 0.0], 1 / 2) == 1.0
    assert corrected_t_test([0.1, 0.1, 0.1], 1 / 2) == 0.0
    assert math.isnan(corrected_t_test([0.1, math.nan], 1.0))


def test_mcnemar_counts_coin_flips():
    # 1 against 5: six flips with one head or none, on either side
    assert mcnemar_test(1, 5) == pytest.approx(2 * (1 + 6) / 2**6)
    assert mcnemar_test(5, 1) == mcnemar_test(1, 5)
    assert mcnemar_test(0, 0) == 1.0


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
        models = None if metric == "f1" else ["view:a", "view:b", "pa:squared", "scw", "fm"]
        for stream in (False, True):
            some = [*models, "svmperf"] if models and not stream else models
            answer = compare(X, y, cv=3, metric=metric, grid=ONE, progressive=stream, models=some)
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
    assert compare(X, y, cv=3, grid=ONE).rows[0].value > 0.9


# --- trained for the metric ----------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "fixed", "title"),
    [
        ("f1", {"measure": "f1"}, "f1"),
        ("accuracy", {"measure": "error_rate"}, "accuracy"),
        ("balanced_accuracy", {"measure": "balanced_accuracy"}, "balanced_accuracy"),
        ("g_mean", {"measure": "g_mean"}, "g_mean"),
        ("roc_auc", {"measure": "roc_auc"}, "roc_auc"),
        ("average_precision", {"measure": "average_precision"}, "average_precision"),
        ("prbep", {"measure": "prbep"}, "prbep"),
        ("precision_at_5", {"measure": "precision_at_k", "k": 5}, "precision_at_5"),
        ("recall_at_20%", {"measure": "recall_at_k", "k": 0.2}, "recall_at_20%"),
        # alone they are best with one row, or all rows, predicted positive
        ("precision", {"measure": "f1"}, "f1"),
        ("recall", {"measure": "f1"}, "f1"),
    ],
)
def test_every_metric_is_trained_for(metric, fixed, title):
    X, y = make_noisy(90)
    own, all_at_once, error_rate = (
        find_learner(name, "classification", X.layout.names).for_metric(metric, "no")
        for name in ("svmperf", "svmperf:concatenated", "svmperf:error_rate")
    )
    for method, more in ((own, {}), (all_at_once, {"C2": 0.0})):
        assert method.fixed == fixed | {"pos_label": "no"} | more
    assert own.title == f"SVM for {title}"
    assert all_at_once.title == f"SVM for {title} (concatenated)"
    assert error_rate.fixed == {"measure": "error_rate"}
    names = [m.name for m in compared_learners(X.layout, 90, metric=metric)]
    assert ("svmperf:error_rate" in names) == (metric != "accuracy")
    # the learner has it, and the class that is asked for
    given = {"metric": metric, "positive": "no", "cv": 2, "grid": ONE}
    answer = compare(X, y, models=["svmperf", "view:weak"], **given)
    model = MultiViewSVMPerf(C1=0.1, C2=0.01, **fixed, pos_label="no")
    task = Classification(np.unique(y), "no")
    for f, (train, test) in enumerate(StratifiedKFold(2, shuffle=True, random_state=0).split(y, y)):
        scores = model.fit(X[train], y[train]).decision_function(X[test])
        assert answer.rows[0].scores[f] == pytest.approx(task.measure(metric, y[test], scores))
    options = answer.train_options
    if answer.best == 0:
        assert options[-4:] == ["--metric", metric, "--positive", "no"]


def test_only_the_svm_that_is_trained_for_a_metric_needs_it_to_be_trained():
    X, y = make_noisy(90)
    noise = np.random.default_rng(0).normal(size=(90, 2))
    X = MultiView({"a": X["strong"], "b": X["strong"], "noise": noise})
    given = {"cv": 3, "grid": ONE, "metric": "roc_auc"}
    for model, more in (
        ("svmperf", ["--metric", "roc_auc"]),
        ("svmperf:error_rate", []),
        ("pa:squared", []),
    ):
        answer = compare(X, y, models=["view:noise", model], **given)
        assert answer.best == 1
        assert ("--metric" in answer.train_options) == bool(more)
        assert answer.train_options[len(answer.train_options) - len(more) :] == more


def test_one_inner_split_and_a_coarse_gap_choose_for_the_svm():
    X, y = make_noisy()
    tried = {"C1": [0.0001, 1.0], "C2": [0.001, 10.0]}
    answer = compare(X, y, grid=tried, cv=3, models=["svmperf", "svmperf:concatenated"])
    for f, (train, test) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(y, y)):
        inner = StratifiedKFold(3, shuffle=True, random_state=0)
        a, b = next(iter(inner.split(y[train], y[train])))
        settings = [{"C1": C1, "C2": C2} for C1 in tried["C1"] for C2 in tried["C2"]]
        values = []
        for setting in settings:
            model = MultiViewSVMPerf(**setting, tol=0.01).fit(X[train[a]], y[train[a]])
            values.append(f1_score(y[train[b]], model.predict(X[train[b]]), pos_label="yes"))
        best = settings[int(np.argmax(values))]
        assert answer.rows[0].chosen[f] == best
        predicted = MultiViewSVMPerf(**best).fit(X[train], y[train]).predict(X[test])
        expected = f1_score(y[test], predicted, pos_label="yes")
        assert answer.rows[0].scores[f] == pytest.approx(expected, abs=1e-12)
    assert set(answer.rows[1].setting) == {"C1"}


def test_some_of_many_rows_choose_for_the_svm(monkeypatch):
    monkeypatch.setattr("crossview.evaluation.folds.MOST_ROWS_AT_ONCE", 30)
    fits = []
    fit = MultiViewSVMPerf.fit

    def counting(self, X, y, sample_weight=None):
        fits.append((len(y), self.tol))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(MultiViewSVMPerf, "fit", counting)
    X, y = make_views()
    given = {"grid": {"C1": [0.1, 1.0]}, "cv": 3}
    models = ["svmperf:concatenated", "view:weak"]
    compare(X, y, models=models, **given)
    chosen, final = fits[:2], fits[2]
    assert all(tol == 0.01 and 18 <= n <= 22 for n, tol in chosen)
    assert final == (100, 1e-3)
    assert len(fits) == 9
    # a metric of 6 rows needs 60 of them, where there are so many
    fits.clear()
    compare(X, y, models=models, metric="precision_at_k", k=6, **given)
    assert 38 <= fits[0][0] <= 42


def test_rows_are_drawn_by_class():
    y = np.array(["a"] * 200 + ["b"] * 700 + ["c"] * 5 + ["d"] * 2)
    np.random.default_rng(0).shuffle(y)
    places = draw_rows(y, 90, seed=0)
    labels, counts = np.unique(y[places], return_counts=True)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {
        "a": 20,
        "b": 69,
        "c": 3,
        "d": 2,
    }
    assert (np.diff(places) > 0).all()
    assert draw_rows(y, 90, seed=0).tolist() == places.tolist() != draw_rows(y, 90, 1).tolist()


def test_only_the_last_fit_warns_that_it_is_not_there_yet(monkeypatch):
    fit = MultiViewSVMPerf.fit

    def warning(self, X, y, sample_weight=None):
        warnings.warn(f"stopped, tol={self.tol:g}", ConvergenceWarning, stacklevel=1)
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(MultiViewSVMPerf, "fit", warning)
    with pytest.warns(ConvergenceWarning) as caught:
        compare(*make_views(), cv=3, grid=ONE, models=["svmperf", "view:weak"])
    assert [str(w.message) for w in caught] == ["stopped, tol=0.001"] * 3


def test_the_svm_makes_no_passes_to_be_counted():
    given = {"cv": 3, "grid": ONE, "models": ["svmperf", "view:noise"]}
    once = compare(*make_views(), **given)
    told = compare(*make_views(), **given, epochs=3)
    assert [row.epochs for row in told.rows] == [1, 3]
    assert told.rows[0].scores == once.rows[0].scores
    assert told.best == 0
    assert "--epochs" not in told.train_options


# --- stream order -------------------------------------------------------------


def test_progressive_by_hand():
    X, y = make_noisy(200)
    answer = compare(X, y, progressive=True, grid=ONE)
    assert (answer.n_rows, answer.n_scored) == (200, 180)
    right = []
    for row, method in zip(answer.rows, compared_learners(X.layout, len(X)), strict=True):
        seen = method.select_view(X)
        model = method.make(**method.candidates(ONE)[0], random_state=0)
        model.partial_fit(seen[:20], y[:20], classes=["no", "yes"])
        predicted = []
        for i in range(20, 200):
            predicted += model.predict(seen[i]).tolist()
            model.partial_fit(seen[i], y[i : i + 1])
        right.append(np.equal(predicted, y[20:]))
        assert row.value == pytest.approx(f1_score(y[20:], predicted, pos_label="yes"))
        assert row.accuracy == pytest.approx(right[-1].mean())
    best = right[answer.best]
    expected = [
        mcnemar_test(int((best & ~other).sum()), int((other & ~best).sum())) for other in right
    ]
    expected[answer.best] = None
    assert [row.p for row in answer.rows] == expected
    assert len(set(expected)) > 3


def test_progressive_does_not_depend_on_the_batches():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 400)
    noisy = np.where(rng.random(400) < 0.2, 1 - label, label)
    frame = pd.DataFrame(
        {
            "a__x": noisy.astype(str),
            "b__y": rng.integers(0, 5, 400).astype(str),
            "label": label,
        }
    )
    answers = [
        compare(
            open_table(frame, batch_rows=rows), "label", progressive=True, grid=ONE, hash_bits=6
        )
        for rows in (7, 40, 1000)
    ]
    assert answers[0].n_scored == 360
    for other in answers[1:]:
        assert [(r.value, r.p) for r in other.rows] == [(r.value, r.p) for r in answers[0].rows]


def test_progressive_chooses_on_the_first_part():
    X, y = make_noisy(1000)
    grid = [0.001, 1000.0]
    answer = compare(X, y, progressive=True, grid={"C": grid})
    values = []
    for C in grid:
        model = PassiveAggressiveClassifier(C=C)
        scores = model.score_then_learn(X["strong"][:100], y[:100], classes=["no", "yes"])
        values.append(f1_score(y[:100] == "yes", scores > 0))
    assert values[0] != values[1]
    assert answer.rows[0].setting == {
        "C": grid[int(np.argmax(values))],
        "fit_intercept": True,
    }


def test_a_stream_of_unknown_length_chooses_on_its_first_thousand_rows(tmp_path):
    make_frame(1200).to_csv(tmp_path / "t.csv", index=False)
    answer = compare(tmp_path / "t.csv", "answer", progressive=True, grid=ONE)
    assert (answer.n_rows, answer.n_scored) == (1200, 200)
    make_frame(900).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match="ends within its first 1000 rows"):
        compare(tmp_path / "t.csv", "answer", progressive=True, grid=ONE)


# --- rows without label ---------------------------------------------------------

SOME = ["view:weak", "pa:squared", "scw", "svmperf", "mvm", "pegasos", "keco"]


def make_few(n=150):
    """Three rows in five have no label."""
    X, y = make_views(n)
    known = np.random.default_rng(2).random(n) < 0.4
    return X, np.where(known, y.astype(object), None), known


@pytest.fixture(scope="module")
def few():
    X, y, _ = make_few()
    return compare(X, y, cv=3, grid=ONE, models=SOME)


def test_rows_without_label_change_nothing_but_keco(few):
    X, y, known = make_few()
    alone = compare(X[known], y[known], cv=3, grid=ONE, models=SOME)
    before = {row.model: row.scores for row in alone.rows}
    same = [row.model for row in few.rows if row.scores == before[row.model]]
    assert same == SOME[:-1]
    # without such rows it is what Pegasos is
    assert before["keco"] == before["pegasos"]
    assert (alone.unlabeled, alone.unlabeled_benefit) == (0, None)
    assert (few.n_rows, few.n_scored, few.unlabeled) == (150, known.sum(), (~known).sum())


def test_keco_by_hand():
    X, y, known = make_few()
    settings = [{"kernel": k, "lam": lam} for k in ("rbf", "linear") for lam in (1e-4, 10.0)]
    grid = {"lam": [1e-4, 10.0]}
    answer = compare(X, y, cv=3, metric="accuracy", grid=grid, models=["keco", "pegasos"])
    places, others = np.flatnonzero(known), np.flatnonzero(~known)

    def folds():
        return StratifiedKFold(3, shuffle=True, random_state=0)

    def score(learner, setting, train, test):
        if learner is KeCoClassifier:
            train = np.concatenate([train, others])
        model = learner(**setting, random_state=0).fit(X[train], y[train])
        return np.mean(model.predict(X[test]) == y[test])

    for row, learner in zip(answer.rows, (KeCoClassifier, PegasosClassifier), strict=True):
        for f, (train, test) in enumerate(folds().split(places, y[known].astype(str))):
            train, test = places[train], places[test]
            values = [
                np.mean(
                    [
                        score(learner, setting, train[a], train[b])
                        for a, b in folds().split(train, y[train].astype(str))
                    ]
                )
                for setting in settings
            ]
            assert row.chosen[f] == settings[int(np.argmax(values))]
            assert row.scores[f] == pytest.approx(score(learner, row.chosen[f], train, test))
    keco, pegasos = (np.asarray(row.scores) for row in answer.rows)
    assert answer.unlabeled_benefit_p == corrected_t_test(keco - pegasos, 1 / 2)


def test_what_unlabeled_rows_bring_is_told(few):
    values = {row.model: row.value for row in few.rows}
    more = values["keco"] - values["pegasos"]
    assert more
    what = f"bring KeCo {more:.4f}" if more > 0 else f"cost KeCo {-more:.4f}"
    p = f"p = {few.unlabeled_benefit_p:.2g}"
    assert few.unlabeled_benefit == (
        f"the {few.unlabeled} rows without label {what} f1, compared with Pegasos "
        f"({'not significant, ' if few.unlabeled_benefit_p >= 0.05 else ''}{p})"
    )
    notes = comparison_notes(few)
    assert notes[:3] == [
        few.verdict,
        few.unlabeled_benefit,
        f"{few.unlabeled} of 150 rows have no label: none is scored, and only KeCo learns from "
        "them",
    ]
    assert f"3 folds of {few.n_scored} rows with a label" in notes[3]
    assert str(few).splitlines()[-1] == few.unlabeled_benefit
    assert few.unlabeled_benefit in to_markdown(few)
    content = json.loads(json.dumps(few.to_dict(), allow_nan=False))
    assert (content["unlabeled"], content["unlabeled_benefit"]) == (
        few.unlabeled,
        few.unlabeled_benefit,
    )
    assert all(row.epochs == 1 and row.rows_per_second > 0 for row in few.rows[-2:])
    X, y, _ = make_few()
    others = compare(X, y, cv=3, grid=ONE, models=["view:weak", "pa:squared"])
    assert others.unlabeled_benefit is None
    assert "no row above learns from them" in comparison_notes(others)[1]


def test_keco_and_pegasos_are_rows_where_labels_are_missing():
    layout = make_few()[0].layout
    names = [m.name for m in compared_learners(layout, 60, unlabeled=True, metric="f1")]
    assert names[-2:] == ["pegasos", "keco"]
    assert names[:-2] == [method.name for method in compared_learners(layout, 60, metric="f1")]
    X, y, _ = make_few(60)
    answer = compare(X, y, cv=2, grid=ONE)
    assert [row.model for row in answer.rows] == names
    assert answer.unlabeled_benefit is not None


@pytest.mark.parametrize("kind", ["NaN", "NA", "category", "float", "csv", "apart"])
def test_a_missing_label_has_many_forms(kind, tmp_path):
    frame = make_frame(90)
    known = np.random.default_rng(2).random(90) < 0.6
    code = (frame["answer"] == "yes").astype(float)
    labels = {
        "NaN": frame["answer"].where(known),
        "NA": code.where(known).astype("Int64"),
        "category": frame["answer"].where(known).astype("category"),
        "float": code.where(known),
        "csv": frame["answer"].where(known),
        "apart": np.where(known, frame["answer"], None),
    }[kind]
    given = {"cv": 3, "grid": ONE, "models": ["pa:squared", "pegasos", "keco"]}
    # the encoder is fitted on rows with a label, and these have other numbers
    frame.loc[~known, "weak__0"] *= 1e3
    table = frame.assign(answer=labels)
    expected = compare(frame[known], "answer", **given)
    if kind == "csv":
        table.to_csv(tmp_path / "t.csv", index=False)
        found = compare(tmp_path / "t.csv", "answer", **given)
    elif kind == "apart":
        found = compare(frame.drop(columns="answer"), labels, **given)
    else:
        found = compare(table, "answer", **given)
    assert found.unlabeled == (~known).sum()
    for row, other in zip(found.rows[:2], expected.rows, strict=False):
        assert row.scores == pytest.approx(other.scores)


def test_several_classes_with_rows_without_label():
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 120)
    X = MultiView(
        {"a": rng.normal(size=(120, 3)) + 3 * np.eye(3)[k], "b": rng.normal(size=(120, 3))}
    )
    y = np.where(rng.random(120) < 0.5, k, np.nan)
    for stream in (False, True):
        answer = compare(
            X, y, cv=3, grid=ONE, models=["pa:squared", "pegasos", "keco"], progressive=stream
        )
        assert answer.rows[1].value > 0.6
        assert answer.unlabeled_benefit is not None


@pytest.mark.parametrize("rows_at_once", [10_000, 7])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_stream_with_rows_without_label_by_hand(kernel, rows_at_once, monkeypatch):
    monkeypatch.setattr("crossview.evaluation.rows.ROWS_AT_ONCE", rows_at_once)
    X, y, known = make_few()
    grid = ONE | {"kernel": [kernel]}
    answer = compare(X, y, progressive=True, grid=grid, models=["pa:squared", "pegasos", "keco"])
    first = np.arange(150) < 15
    scored = known & ~first
    assert (answer.n_rows, answer.n_scored, answer.unlabeled) == (
        150,
        scored.sum(),
        150 - known.sum(),
    )
    right = []
    for row in answer.rows:
        method = find_learner(row.model, "classification", X.layout.names)
        setting = method.on_stream(method.candidates(grid)[0])
        assert ("budget" in setting) == (row.model != "pa:squared" and kernel == "rbf")
        model = method.make(**setting, random_state=0)
        learned = known if row.model != "keco" else np.ones(150, dtype=bool)
        # the first rows choose, and say what disagreement is
        now, then = learned & first, learned & ~first
        model.partial_fit(X[now], y[now], classes=["no", "yes"])
        scores = model.score_then_learn(X[then], y[then])[known[then]]
        predicted = np.where(scores > 0, "yes", "no")
        truth = y[scored].astype(str)
        right.append(predicted == truth)
        assert row.value == pytest.approx(f1_score(truth, predicted, pos_label="yes"))
    _, pegasos, keco = right
    expected = mcnemar_test(int((keco & ~pegasos).sum()), int((pegasos & ~keco).sum()))
    assert answer.unlabeled_benefit_p == expected
    notes = comparison_notes(answer)
    assert any(f"{scored.sum()} rows with a label, each predicted" in note for note in notes)
    n_first = (known & first).sum()
    assert any(f"chosen on the {n_first} rows with a label before" in note for note in notes)
    best = answer.rows[answer.best].model
    assert ("schedule=stream" in answer.train_options) == (best != "pa:squared")


def test_rows_without_label_are_learned_and_not_scored_in_a_stream():
    X, y, known = make_few()
    model = KeCoClassifier(schedule="stream", random_state=0)
    batches = [(X[:40], y[:40]), (X[40:41], y[40:41]), (X[41:], y[41:])]
    records = list(progressive(model, batches, classes=["no", "yes"]))
    n = int(known.sum())
    assert [record.rows for record in records] == [1, 2, 4, 8, 16, 32, n]
    by_hand = KeCoClassifier(schedule="stream", random_state=0)
    scores = by_hand.partial_fit(X[:40], y[:40], classes=["no", "yes"]).score_then_learn(
        X[40:], y[40:]
    )
    assert model.n_steps_ == by_hand.n_steps_ > n
    assert len(scores) == 110
    with pytest.raises(InputError, match="the label is missing"):
        list(progressive(PassiveAggressiveClassifier(), batches, classes=["no", "yes"]))


# --- numbers ------------------------------------------------------------------


def make_numbers(n=300, seed=0):
    """A target that is mostly a product of a column of each of two views."""
    rng = np.random.default_rng(seed)
    X = MultiView({"user": rng.normal(size=(n, 3)), "item": rng.normal(size=(n, 3))})
    y = 40 + 5 * X["user"][:, 0] * X["item"][:, 1] + 2 * X["user"][:, 1] + rng.normal(size=n)
    return X, y


def make_numbers_frame(n=300):
    X, y = make_numbers(n)
    columns = {f"{v}__{i}": X[v][:, i] for v in X.keys() for i in range(3)}  # noqa: SIM118
    return pd.DataFrame(columns | {"rating": y})


@pytest.fixture(scope="module")
def numbers():
    return compare(*make_numbers(), task="regression", grid=OF_MACHINES)


def test_of_numbers_the_lowest_error_is_best_and_interactions_are_seen(numbers):
    assert [row.model for row in numbers.rows] == [
        *("view:user", "view:item", "linear", "fm:cross-view", "fm", "mvm")
    ]
    by_model = {row.model: row for row in numbers.rows}
    assert numbers.rows[numbers.best].value == min(row.value for row in numbers.rows)
    assert by_model["mvm"].value < 2 < 4 < by_model["linear"].value
    assert by_model["linear"].p < 0.01
    assert by_model["linear"].value < by_model["view:item"].value
    assert (numbers.metric, numbers.task, numbers.classes) == ("rmse", "regression", [])
    assert all(row.rmse == row.value and row.mae < row.rmse for row in numbers.rows)
    assert all(math.isnan(row.accuracy) for row in numbers.rows)


def test_errors_are_those_of_the_folds_computed_by_hand(numbers):
    X, y = make_numbers()
    method = find_learner("mvm", "regression", X.layout.names)
    passes = []
    for f, (train, test) in enumerate(KFold(5, shuffle=True, random_state=0).split(y)):
        model = method.make(alpha=1e-4, learning_rate=0.1, random_state=0).fit(X[train], y[train])
        predicted = model.predict(X[test])
        row = numbers.rows[-1]
        assert row.scores[f] == pytest.approx(root_mean_squared_error(y[test], predicted))
        assert row.others["mae"][f] == pytest.approx(mean_absolute_error(y[test], predicted))
        passes.append(model.n_iter_)
    assert row.epochs == round(np.median(passes)) > 1


def test_a_machine_makes_as_many_passes_as_it_is_told(numbers):
    assert "--epochs" in numbers.train_options
    assert any(note.startswith("passes until the loss") for note in comparison_notes(numbers))
    X, y = make_numbers()
    told = compare(X, y, task="regression", grid=OF_MACHINES, epochs=3, models=["mvm", "linear"])
    assert [row.epochs for row in told.rows] == [3, 3]
    assert told.train_options[-2:] == ["--epochs", "3"]
    assert not any("passes" in note for note in comparison_notes(told))
    labels = np.where(y > 40, "high", "low")
    mixed = compare(X, labels, cv=3, grid=ONE, models=["mvm", "pa:squared"])
    assert mixed.rows[0].epochs > mixed.rows[1].epochs == 1
    assert mixed.best == 0


def test_a_lead_in_error_is_told_as_a_positive_number(numbers):
    best, other = numbers.rows[numbers.best], numbers.rows[numbers.runner_up]
    ahead = f"{other.value - best.value:.4g}"
    assert f"{best.title} leads {other.title} by {ahead} rmse" in numbers.verdict
    assert numbers.train_options[:2] == ["--task", "regression"]
    header, _, *rows = to_markdown(numbers).splitlines()
    assert header == "| views | rmse | mae | rows/s | chosen | p |"
    assert f"**{best.value:.3f} ± {best.std:.3f}**" in rows[numbers.best]
    assert numbers.verdict.splitlines()[0] in str(numbers)
    content = json.loads(json.dumps(numbers.to_dict(), allow_nan=False))
    assert content["rows"][0]["accuracy"] is None
    assert content["task"] == "regression"


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_errors_have_the_unit_of_the_target_and_four_digits(unit):
    X, y = make_numbers(100)
    answer = compare(
        X, unit * y, task="regression", cv=2, grid=OF_MACHINES, models=["fm", "linear"]
    )
    cell = to_markdown(answer).splitlines()[2 + answer.best].split("|")[2].strip(" *").split()[0]
    assert len(cell.replace(".", "").lstrip("0")) in (4, 5)
    assert float(cell) == pytest.approx(answer.rows[answer.best].value, rel=1e-3)


def test_mae_may_decide():
    X, y = make_numbers(150)
    answer = compare(
        X, y, task="regression", metric="mae", cv=3, grid=OF_MACHINES, models=["fm", "linear"]
    )
    assert all(row.value == row.mae for row in answer.rows)
    assert "| views | mae | rmse |" in to_markdown(answer)


@pytest.mark.parametrize("metric", ["rmse", "mae"])
def test_numbers_in_stream_order_by_hand(metric, monkeypatch):
    X, y = make_numbers()
    models = ["linear", "fm", "mvm"]
    given = {"task": "regression", "progressive": True, "metric": metric, "models": models}
    answer = compare(X, y, grid=OF_MACHINES, **given)
    assert (answer.n_rows, answer.n_scored) == (300, 270)
    errors = []
    for row in answer.rows:
        method = find_learner(row.model, "regression", X.layout.names)
        model = method.make(alpha=1e-4, learning_rate=0.1, random_state=0)
        model.partial_fit(X[:30], y[:30])
        predicted = model.score_then_learn(X[30:], y[30:])
        each = np.abs(predicted - y[30:])
        assert row.mae == pytest.approx(each.mean())
        assert row.rmse == pytest.approx(np.sqrt((each**2).mean()))
        errors.append(each if metric == "mae" else each**2)
    for row, each in zip(answer.rows, errors, strict=True):
        if row.p is not None:
            d = each - errors[answer.best]
            z = d.mean() / (d.std(ddof=1) / math.sqrt(len(d)))
            assert row.p == pytest.approx(2 * stats.norm.sf(abs(z)))
    monkeypatch.setattr("crossview.evaluation.rows.ROWS_AT_ONCE", 13)
    pieces = compare(X, y, grid=OF_MACHINES, **given)
    for row, other in zip(answer.rows, pieces.rows, strict=True):
        assert other.value == pytest.approx(row.value)
        assert other.p == pytest.approx(row.p)


def test_the_test_of_errors_by_hand():
    d = np.array([1.0, 2.0, -0.5, 0.3])
    z = d.mean() / math.sqrt(d.var(ddof=1) / 4)
    expected = 2 * stats.norm.sf(z)
    assert error_test(d.sum(), (d * d).sum(), 4) == pytest.approx(expected)
    assert error_test(-d.sum(), (d * d).sum(), 4) == pytest.approx(expected)
    assert error_test(0.0, 0.0, 4) == 1.0
    assert error_test(2.0, 1.0, 4) == 0.0
    assert math.isnan(error_test(1.0, 1.0, 1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "f1"}, "metric 'f1' is about classes, and numbers are predicted; .* rmse, mae"),
        ({"metric": "rsme"}, "no metric 'rsme'; did you mean 'rmse'"),
        ({"task": "classification", "metric": "mae"}, "metric 'mae' is about numbers"),
        ({"task": "classification"}, "is not a class.*task='regression'"),
        ({"task": "regresion"}, "no task 'regresion'; did you mean 'regression'"),
        ({"positive": 1}, "positive= is about classes"),
        (
            {"models": ["pa:squared", "mvm"]},
            "model 'pa:squared' predicts classes; .*there are: fm:cross",
        ),
        ({"models": ["mvn", "fm"]}, "no model 'mvn'; did you mean 'mvm'"),
        ({"grid": {"C": [1]}}, "grid= names 'C' .*alpha, learning_rate"),
        ({"cv": 200}, "300 rows are too few for 200 folds"),
        ({"cv": 1}, "cv=1; give 2 folds or more"),
        ({"y": ["a"] * 300}, "row 0: 'a' is not a number to predict"),
        ({"y": [1.0] * 299 + [np.nan]}, "row 299: the number to predict is missing"),
        ({"y": [1.0, None] * 150}, "row 1: the number to predict is missing"),
        ({"y": [1.0, np.inf] * 150}, "row 1: inf is not a number to predict"),
        ({"y": np.ones((300, 2))}, "y has 2 dimensions; give one number a row"),
        ({"y": [1.0]}, "1 labels for 300 rows"),
    ],
)
def test_compare_of_numbers_refuses(change, message):
    X, y = make_numbers()
    given = {"X": X, "y": y, "task": "regression", "grid": None} | change
    with pytest.raises(InputError, match=message):
        compare(given.pop("X"), given.pop("y"), **given)


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize(
    ("value", "what"),
    [("", "is missing"), ("n/a", "'n/a' is not a number to predict"), ("inf", "inf is not")],
)
def test_a_bad_number_names_its_row_in_the_file(value, what, progressive, tmp_path):
    lines = make_numbers_frame(1100).to_csv(index=False).splitlines()
    lines[1051] = ",".join([*lines[1051].split(",")[:-1], value])
    (tmp_path / "t.csv").write_text("\n".join(lines))
    stream = open_table(tmp_path / "t.csv", batch_rows=300)
    with pytest.raises(InputError, match=what) as caught:
        compare(
            stream, "rating", task="regression", progressive=progressive, grid=OF_MACHINES,
            models=["linear", "fm"],
        )  # fmt: skip
    assert (caught.value.row, caught.value.column) == (1050, "rating")
    assert caught.value.file.endswith("t.csv")


def test_numbers_of_any_type_of_column():
    frame = make_numbers_frame(60)
    frame["rating"] = frame["rating"].round()
    given = {"task": "regression", "cv": 2, "grid": OF_MACHINES, "models": ["linear", "fm"]}
    expected = [row.scores for row in compare(frame, "rating", **given).rows]
    for kind in (int, str, "category", "Int64"):
        other = frame.assign(rating=frame["rating"].astype(int).astype(kind))
        assert [row.scores for row in compare(other, "rating", **given).rows] == expected
    apart = compare(frame.drop(columns="rating"), frame["rating"], **given)
    assert [row.scores for row in apart.rows] == expected
    dates = frame.assign(rating=pd.Timestamp("2020-01-01"))
    with pytest.raises(InputError, match=r"column 'rating': .*is not a number to predict"):
        compare(dates, "rating", **given)


def test_a_missing_view_of_a_linear_model_adds_nothing():
    X, y = make_numbers()
    present = np.ones((300, 2), dtype=bool)
    present[::3, 1] = False
    X = MultiView({name: X[name] for name in X.keys()}, present=present)  # noqa: SIM118
    answer = compare(X, y, task="regression", cv=3, grid=OF_MACHINES)
    assert all(math.isfinite(row.value) for row in answer.rows)


# --- what is wrong ------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": 1}, "cv=1; give 2 folds or more"),
        ({"cv": 76}, r"class 'no' has \d+ row\(s\), too few for 76 folds"),
        ({"metric": "f2"}, "no metric 'f2'"),
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
        ({"y": ["yes", None] * 75}, "one class, 'yes', and rows without label"),
        ({"y": [None] * 150}, "the label is empty in every row"),
        ({"y": np.full(150, np.nan)}, "the label is empty in every row"),
        (
            {"y": ["yes", "no"] * 4 + [None] * 142},
            r"'no' has 4 row\(s\), too few for 5 folds; .*label more of the 142 rows without",
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
            "model 'svmperf:error_rate' needs all rows at once.*; compare it by folds",
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


# --- the table ----------------------------------------------------------------


def printed(answer, width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(comparison_table(answer))
    return console.export_text().splitlines()


def test_the_table_fits_a_terminal_of_80_columns(answer):
    lines = printed(answer, 80)
    assert max(map(len, lines)) <= 80
    # a title may take more lines
    firsts = [line for line in lines[2:] if "±" in line]
    assert len(firsts) == len(answer.rows)
    assert firsts[answer.best].rstrip().endswith("best")
    assert "…" not in "".join(lines)


def test_markdown_says_the_same(answer):
    text = to_markdown(answer)
    header, rule, *rows = [line for line in text.splitlines() if line.startswith("|")]
    assert header == "| views | f1 | accuracy | AUC | rows/s | chosen | p |"
    assert rule.count("|") == header.count("|")
    best = answer.rows[answer.best]
    assert f"**{best.value:.3f} ± {best.std:.3f}**" in rows[answer.best]
    assert answer.verdict in text


def test_as_text_it_has_a_line_a_row_and_the_verdict(answer):
    *rows, verdict = str(answer).splitlines()
    assert verdict == answer.verdict
    for line, row in zip(rows, answer.rows, strict=True):
        assert line.startswith(row.title)
        assert f" {row.value:.4f} ± {row.std:.4f}" in line


def test_the_notes_say_how_it_was_scored():
    assert comparison_notes(made_answer(0.1))[1] == (
        "f1 of 'yes': mean ± standard deviation over 5 folds of 10 rows"
    )
    notes = comparison_notes(made_answer(0.1, mode="progressive"))
    assert "9 rows" in notes[1]
    assert "on the 1 rows before them" in notes[2]


def test_json_has_everything_and_no_nan(answer):
    content = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert content["rows"][0]["scores"] == answer.rows[0].scores
    assert content["train_options"][:2] == ["--model", answer.rows[answer.best].model]
    assert made_answer(0.1).to_dict()["rows"][1]["roc_auc"] is None


@pytest.mark.parametrize(
    ("value", "text"), [(950.4, "950"), (8312, "8.3k"), (83120, "83k"), (1.25e6, "1.2M")]
)
def test_speeds_are_short(value, text):
    assert speed(value) == text


# --- methods ------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method_makes_its_learner_from_its_grid(method):
    for candidate in method.candidates():
        assert method.make(**candidate).get_params().items() >= candidate.items()
    assert set(method.grid) <= set(method.settable())
    assert find_method(method.name, ("a",), method.task) is method


def test_a_view_alone_is_a_method():
    method = find_learner("view:page", "classification", ("page", "link"))
    assert method.view == "page"
    with pytest.raises(InputError, match=r"no model 'view:pag'; did you mean 'view:page'\?"):
        find_learner("view:pag", "classification", ("page", "link"))


def test_on_web_pages_two_views_beat_the_worse_one():
    X, y = shared_data.webkb_course()
    methods = compared_learners(X.layout, len(y))
    answer = compare(X, y, grid=ONE, cv=3, models=[*(m.name for m in methods), "svmperf"])
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
