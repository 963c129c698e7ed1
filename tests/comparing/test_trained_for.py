"""Models that are trained for the metric, as `compare` uses them."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from comparisons import ONE, make_noisy, make_views, thorough
from crossview import MultiView, MultiViewSVMPerf, Scoring
from crossview.catalog.learners import find_learner
from crossview.comparing.candidates import compared_learners
from crossview.comparing.folds.splits import draw_rows
from crossview.scoring.problems import Classification, Regression, Scored


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
        ("f2", {"measure": "fbeta", "beta": 2.0}, "f2"),
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
    given = {"metric": metric, "given_metric": True}
    names = [m.name for m in compared_learners(X.layout, 90, **given)]
    assert "svmperf" in names
    by_default = [m.name for m in compared_learners(X.layout, 90, metric=metric)]
    assert not any(name.startswith("svmperf") for name in by_default)
    assert ("svmperf:error_rate" in names) == (metric != "accuracy")
    # the learner has it, and the class that is asked for
    scoring = Scoring(metric, positive="no", threshold=None)
    given = {"scoring": scoring, "cv": 2, "grid": ONE}
    answer = thorough(X, y, models=["svmperf", "view:weak"], **given)
    model = MultiViewSVMPerf(C1=0.1, C2=0.01, **fixed, pos_label="no")
    task = Classification(np.unique(y), "no")
    for f, (train, test) in enumerate(StratifiedKFold(2, shuffle=True, random_state=0).split(y, y)):
        scores = model.fit(X[train], y[train]).decision_function(X[test])
        assert answer.row("svmperf").scores[f] == pytest.approx(
            task.measure(metric, y[test], Scored(scores))
        )
    options = answer.train_options
    if answer.recommended.model == "svmperf":
        assert options[-6:-2] == ["--metric", metric, "--positive", "no"]
        assert options[-2:] == ["--threshold", "none"]


def test_the_command_names_a_metric_that_is_not_the_default():
    """An SVM is trained for it, and no other model shall get a threshold for f1."""
    X, y = make_noisy(90)
    noise = np.random.default_rng(0).normal(size=(90, 2))
    X = MultiView({"a": X["strong"], "b": X["strong"], "noise": noise})
    given = {"cv": 3, "grid": ONE}
    for model in ("svmperf", "svmperf:error_rate", "pa:squared"):
        answer = thorough(X, y, models=["view:noise", model], scoring="roc_auc", **given)
        assert answer.recommended.model == model
        assert answer.train_options[-2:] == ["--metric", "roc_auc"]
    by_default = thorough(X, y, models=["view:noise", model], **given)
    assert "--metric" not in by_default.train_options


def test_one_inner_split_and_a_coarse_gap_choose_for_the_svm():
    X, y = make_noisy()
    tried = {"C1": [0.0001, 1.0], "C2": [0.001, 10.0]}
    models = ["svmperf", "svmperf:concatenated"]
    answer = thorough(X, y, grid=tried, cv=3, scoring=Scoring(threshold=None), models=models)
    for f, (train, test) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(y, y)):
        inner = StratifiedKFold(3, shuffle=True, random_state=0)
        a, b = next(iter(inner.split(y[train], y[train])))
        settings = [{"C1": C1, "C2": C2} for C1 in tried["C1"] for C2 in tried["C2"]]
        values = []
        for setting in settings:
            model = MultiViewSVMPerf(**setting, tol=0.01).fit(X[train[a]], y[train[a]])
            values.append(f1_score(y[train[b]], model.predict(X[train[b]]), pos_label="yes"))
        best = settings[int(np.argmax(values))]
        assert answer.row("svmperf").chosen[f] == best
        predicted = MultiViewSVMPerf(**best).fit(X[train], y[train]).predict(X[test])
        expected = f1_score(y[test], predicted, pos_label="yes")
        assert answer.row("svmperf").scores[f] == pytest.approx(expected, abs=1e-12)
    assert set(answer.row("svmperf:concatenated").setting) == {"C1"}


def test_some_of_many_rows_choose_for_the_svm(monkeypatch):
    monkeypatch.setattr("crossview.comparing.folds.tuning.MOST_ROWS_AT_ONCE", 30)
    fits = []
    fit = MultiViewSVMPerf.fit

    def counting(self, X, y, sample_weight=None):
        fits.append((len(y), self.tol))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(MultiViewSVMPerf, "fit", counting)
    X, y = make_views()
    given = {"grid": {"C1": [0.1, 1.0]}, "cv": 3}
    models = ["svmperf:concatenated", "view:weak"]
    thorough(X, y, models=models, **given)
    assert len(fits) == 9 + 1  # the last one for its columns
    assert all(28 <= n <= 32 for n, tol in fits if tol == 0.01)
    assert [n for n, tol in fits if tol == 1e-3] == [100] * (3 + 1)
    # a metric of 6 rows needs 60 of them, where there are so many
    fits.clear()
    thorough(X, y, models=models, scoring=Scoring("precision_at_k", k=6), **given)
    assert 58 <= min(fits)[0] <= 62


def test_no_threshold_is_that_of_a_coarse_model_whose_weights_are_0():
    """Its scores are all the same, so that all rows were predicted positive."""
    rng = np.random.default_rng(2)
    y = np.where(rng.random(900) < 0.35, "yes", "no")
    a = rng.normal(size=(900, 4)) + 0.45 * (y == "yes")[:, None]
    X, grid = MultiView({"a": a, "b": rng.normal(size=(900, 3))}), {"C1": [0.01], "C2": [0.001]}
    answer = thorough(X, y, models=["svmperf"], cv=3, grid=grid, scoring="f1")
    assert min(answer.row("svmperf").thresholds) > 0.2


def test_rows_are_drawn_by_class():
    y = np.array(["a"] * 200 + ["b"] * 700 + ["c"] * 5 + ["d"] * 2)
    np.random.default_rng(0).shuffle(y)
    task = Classification(np.unique(y))
    places = draw_rows(task, y, 90, seed=0)
    labels, counts = np.unique(y[places], return_counts=True)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {
        "a": 20,
        "b": 69,
        "c": 3,
        "d": 2,
    }
    assert (np.diff(places) > 0).all()
    again, other = (draw_rows(task, y, 90, seed).tolist() for seed in (0, 1))
    assert again == places.tolist() != other
    # of numbers as many as are asked for
    drawn = draw_rows(Regression("rmse"), np.arange(9.0), 4, seed=0)
    assert len(set(drawn.tolist())) == 4
    assert (np.diff(drawn) > 0).all()


def test_only_the_last_fit_warns_that_it_is_not_there_yet(monkeypatch):
    fit = MultiViewSVMPerf.fit

    def warning(self, X, y, sample_weight=None):
        warnings.warn(f"stopped, tol={self.tol:g}", ConvergenceWarning, stacklevel=1)
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(MultiViewSVMPerf, "fit", warning)
    with pytest.warns(ConvergenceWarning) as caught:
        thorough(*make_views(), cv=3, grid=ONE, models=["svmperf", "view:weak"])
    assert [str(w.message) for w in caught] == ["stopped, tol=0.001"] * 3


def test_the_svm_makes_no_passes_to_be_counted():
    given = {"cv": 3, "grid": ONE, "models": ["svmperf", "view:noise"]}
    once = thorough(*make_views(), **given)
    told = thorough(*make_views(), **given, epochs=3)
    assert (told.row("svmperf").epochs, told.row("view:noise").epochs) == (1, 3)
    assert told.row("svmperf").scores == once.row("svmperf").scores
    assert told.recommended.model == "svmperf"
    assert "--epochs" not in told.train_options
