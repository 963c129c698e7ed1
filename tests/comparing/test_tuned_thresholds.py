"""Each model gets the threshold that suits the metric: compared, trained, stored, overridden."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, f1_score, log_loss
from sklearn.model_selection import StratifiedKFold

from comparisons import ONE, make_few, make_frame, make_noisy, make_views, thorough, train
from crossview import (
    InputError,
    MultiView,
    MultiViewSVMPerf,
    PassiveAggressiveClassifier,
    Scoring,
    ViewEncoder,
    load,
    open_table,
    predict,
)
from crossview.catalog.learners import find_learner
from crossview.catalog.names import load_object
from crossview.reporting.tables import comparison_notes, to_markdown
from crossview.saving.model_files import read_info
from crossview.scoring.metrics import RunningThreshold, best_threshold
from crossview.scoring.progressive import progressive
from reference.jackknife import block_jackknife

RARE = {"scoring": Scoring("f2", positive="no")}


def held_out(X, y, make, n_folds=3):
    """The labels and what `make` gives of the rows of each inner fold, all folds together."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    parts = [(y[b], *make(X[a], y[a], X[b])) for a, b in list(folds.split(y, y))[:n_folds]]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def test_log_loss_chooses_settings_unless_a_metric_is_asked_for():
    X, y = make_noisy()
    given = {
        "models": ["pa:concatenated"],
        "grid": {"C": [0.001, 1.0], "epochs": [], "average": []},
    }
    found = {name: thorough(X, y, scoring=name, **given).best for name in (None, "log_loss", "f1")}
    assert found[None].inner == pytest.approx(found["log_loss"].inner)
    assert max(found[None].inner) < 0.0 < min(found["f1"].inner)


def test_the_rows_of_the_inner_folds_choose_setting_and_threshold():
    X, y = make_noisy()
    grid = ONE | {"C": [0.001, 0.1, 10.0]}
    answer = thorough(X, y, grid=grid, cv=3, models=["view:strong", "pa:squared"], **RARE)
    row = answer.row("view:strong")
    for f, (a, b) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(y, y)):
        found = []
        for C in grid["C"]:
            model = PassiveAggressiveClassifier(C=C, random_state=0)

            def make(seen, labels, unseen, model=model):
                model.fit(seen, labels)
                return (model.predict_proba(unseen)[:, 1],)

            labels, p = held_out(X["strong"][a], y[a], make)
            threshold, value = best_threshold("f2", (labels == "yes").astype(int), p, positive=0)
            found.append((value, C, threshold))
        _, C, threshold = max(found, key=lambda one: one[0])
        assert row.chosen[f]["C"] == C
        # shown as a probability of the positive class, which is the first
        assert row.thresholds[f] == pytest.approx(1.0 - threshold)
        model = PassiveAggressiveClassifier(C=C, random_state=0).fit(X["strong"][a], y[a])
        untuned = model.predict(X["strong"][b])
        tuned = np.where(model.predict_proba(X["strong"][b])[:, 1] > threshold, "yes", "no")
        assert (tuned == model.set_threshold(threshold).predict(X["strong"][b])).all()
        for scores, predicted in (
            (row.scores, tuned),
            (row.untuned_scores, untuned),
        ):
            right = (predicted == "no") & (y[b] == "no")
            size = 5 * right.sum() + 4 * (y[b] == "no").sum() + (predicted == "no").sum()
            expected = 5 * right.sum() / (size - 5 * right.sum())
            assert scores[f] == pytest.approx(expected)
    assert row.threshold == np.median(row.thresholds)
    assert row.untuned == pytest.approx(np.mean(row.untuned_scores))
    # the command that is printed tunes for the same
    assert answer.train_options[-4:] == ["--metric", "f2", "--positive", "no"]
    assert to_markdown(answer).splitlines()[0] == "f2 of 'no' (137 of 300 rows)"
    (header,) = [one for one in to_markdown(answer).splitlines() if one.startswith("| model |")]
    assert "| cut |" in header
    notes = " ".join(comparison_notes(answer))
    assert "cut: 'no' is predicted where its probability is above this threshold, the best" in notes


def test_held_out_rows_calibrate_a_model_that_needs_all_rows():
    X, y = make_noisy(150)
    given = {"grid": ONE, "cv": 2, "models": ["view:weak", "svmperf:error_rate"]}
    by_f1, by_loss = (thorough(X, y, scoring=metric, **given) for metric in ("f1", "log_loss"))
    for f, (a, b) in enumerate(StratifiedKFold(2, shuffle=True, random_state=0).split(y, y)):
        options = {"C1": 0.1, "C2": 0.01, "measure": "error_rate", "calibration": "none"}
        rough = MultiViewSVMPerf(tol=0.01, **options)
        labels, scores = held_out(
            X[a], y[a], lambda x, t, z, m=rough: (m.fit(x, t).decision_function(z),), n_folds=1
        )
        model = MultiViewSVMPerf(**options).fit(X[a], y[a])
        model.calibrate(scores, labels)
        p = model.probabilities(scores)[:, 1]
        threshold, _ = best_threshold("f1", (labels == "yes").astype(int), p)
        p = model.probabilities(model.decision_function(X[b]))[:, 1]
        expected = f1_score(y[b] == "yes", p > threshold)
        assert by_f1.row("svmperf:error_rate").scores[f] == pytest.approx(expected)
        assert by_loss.row("svmperf:error_rate").scores[f] == pytest.approx(
            log_loss(y[b] == "yes", p)
        )


@pytest.mark.parametrize("model", ["pa:squared", "svmperf:error_rate", "keco"])
def test_a_threshold_costs_no_fit(model, monkeypatch):
    X, y, _ = make_few()
    fits = []
    learner = load_object(find_learner(model, "classification", X.layout.names).path)
    fit = learner.fit

    def counting(self, X, y, sample_weight=None):
        fits.append(len(y))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(learner, "fit", counting)
    counts = []
    for options in (
        {"scoring": Scoring(threshold=None)},
        {},
        {"scoring": Scoring(threshold=0.3)},
        {"scoring": "log_loss"},
    ):
        fits.clear()
        thorough(X, y, cv=2, grid=ONE, models=[model], **options)
        counts.append(sorted(fits))
    assert counts[0] == counts[1] == counts[2] == counts[3] != []


@pytest.mark.parametrize("in_stream_order", [False, True])
def test_a_given_threshold_is_that_of_every_model(in_stream_order):
    X, y = make_noisy()
    given = {"grid": ONE} | ({"progressive": True} if in_stream_order else {"cv": 2})
    models = ["view:strong", "mvm", *([] if in_stream_order else ["svmperf:error_rate"])]
    answer = thorough(X, y, scoring=Scoring(threshold=0.3), models=models, **given)
    other = thorough(X, y, scoring=Scoring(positive="no", threshold=0.7), models=models, **given)
    untuned = thorough(X, y, scoring=Scoring(threshold=None), models=models, **given)
    for name in models:
        row, same, zero = (one.row(name) for one in (answer, other, untuned))
        assert row.threshold == pytest.approx(0.3)
        assert same.threshold == pytest.approx(0.7)
        assert np.isnan(row.untuned)
        assert np.isnan(zero.threshold)
        # they are the same predictions
        assert row.accuracy == same.accuracy != zero.accuracy
    assert answer.train_options[-2:] == ["--threshold", "0.3"]
    assert other.train_options[-4:] == ["--positive", "no", "--threshold", "0.7"]
    assert untuned.train_options[-2:] == ["--threshold", "none"]
    assert "cut" not in to_markdown(untuned).splitlines()[0]
    json.dumps(answer.to_dict())


@pytest.mark.parametrize("metric", ["roc_auc", "log_loss", "precision_at_k"])
def test_a_metric_without_a_threshold_takes_that_of_macro_f1_and_is_not_changed_by_it(metric):
    X, y = make_noisy(90)
    given = {"cv": 2, "grid": ONE | {"C": [0.01, 1.0]}, "models": ["perceptron", "pa:squared"]}
    answer = thorough(X, y, scoring=metric, **given)
    without = thorough(X, y, scoring=Scoring(metric, threshold=None), **given)
    for row in answer.rows:
        other = without.row(row.model)
        assert row.scores == other.scores
        assert row.chosen == other.chosen
        assert np.isnan(row.untuned)
        assert np.isnan(other.threshold)
    assert answer.threshold_for == "macro_f1"
    assert without.threshold_for is None
    assert "the best for macro_f1 on rows held out" in " ".join(comparison_notes(answer))
    trained = [train(X, y, model="pa:squared", scoring=name) for name in (metric, "macro_f1")]
    assert trained[0].threshold == trained[1].threshold is not None
    assert trained[0].threshold_for == trained[1].threshold_for == "macro_f1"


def test_on_a_stream_each_row_is_decided_by_the_rows_before_it():
    X, y = make_noisy(200)
    answer = thorough(X, y, progressive=True, grid=ONE, models=["view:strong", "pa:squared"])
    model = PassiveAggressiveClassifier(C=0.1, random_state=0)
    scores, p = model.score_then_learn(X["strong"], y, ["no", "yes"], return_proba=True)
    running = RunningThreshold("f1")
    predicted = running.decide((y == "yes").astype(int), scores, p[:, 1])
    row = answer.row("view:strong")
    assert row.value == pytest.approx(f1_score(y == "yes", predicted))
    assert row.untuned == pytest.approx(f1_score(y == "yes", scores > 0))
    assert row.threshold == running.place()
    # training keeps the threshold after the last row
    options = {"model": "pa:concatenated", "settings": {"C": 0.1}, "in_order": True}
    trained = train(X.select(["strong"]), y, **options)
    assert trained.threshold == trained.learner.threshold_ == row.threshold
    assert trained.metric["value"] == pytest.approx(
        f1_score(
            y == "yes", RunningThreshold("f1").decide((y == "yes").astype(int), scores, p[:, 1])
        )
    )


@pytest.mark.parametrize("metric", ["f1", "log_loss", "cost:fp=1,fn=5"])
def test_a_record_does_not_depend_on_the_batches(metric):
    X, y = make_noisy(150)
    frames = []
    for sizes in ([150], [1, 2, 40, 107], [1] * 150):
        model, done, batches = PassiveAggressiveClassifier(C=0.1), 0, []
        for size in sizes:
            batches.append((X["strong"][done : done + size], y[done : done + size]))
            done += size
        records = list(progressive(model, batches, ["no", "yes"], scoring=metric))
        frames.append([(r.rows, r.loss, r.loss_since_last, r.metric, r.accuracy) for r in records])
    assert frames[0] == frames[1] == frames[2]


def test_probabilities_are_scored_before_a_row_is_learned():
    X, y = make_noisy(150)
    model = PassiveAggressiveClassifier(C=0.1)
    _, p = model.score_then_learn(X["strong"], y, ["no", "yes"], return_proba=True)
    for metric, expected in (
        ("log_loss", log_loss(y == "yes", p[:, 1])),
        ("brier_score", brier_score_loss(y == "yes", p[:, 1])),
    ):
        model = PassiveAggressiveClassifier(C=0.1)
        records = list(progressive(model, [(X["strong"], y)], ["no", "yes"], scoring=metric))
        assert records[-1].metric == pytest.approx(expected)
    model = PassiveAggressiveClassifier(calibration="none")
    with pytest.raises(InputError, match="metric 'log_loss' needs probabilities, and the model"):
        next(progressive(model, [(X["strong"], y)], ["no", "yes"], scoring="log_loss"))


def test_the_p_of_a_mean_over_rows_is_that_of_its_terms():
    X, y = make_noisy(400)
    models = ["view:strong", "view:weak"]
    losses = {}
    for view in ("strong", "weak"):
        model = PassiveAggressiveClassifier(C=0.1, random_state=0)
        _, p = model.score_then_learn(X[view], y, ["no", "yes"], return_proba=True)
        losses[f"view:{view}"] = -np.log(np.where(y == "yes", p[:, 1], p[:, 0]))
    answer = thorough(X, y, progressive=True, grid=ONE, scoring="log_loss", models=models)
    best, other = answer.rows
    ahead = losses[best.model] - losses[other.model]  # a lower loss is better
    expected = block_jackknife(400, lambda rows: ahead[rows].mean())
    assert other.difference.location == pytest.approx(expected.location)
    assert other.difference.location < 0.0
    assert other.difference.scale == pytest.approx(expected.scale)
    assert other.p == pytest.approx(expected.p)
    assert "differences in log_loss" in answer.test


@pytest.mark.parametrize("model", ["pa:squared", "svmperf", "keco"])
def test_a_model_file_keeps_the_threshold_and_predicts_by_it(model, tmp_path):
    X, y, _ = make_few(200)
    file = tmp_path / "m.st"
    if model == "pa:squared":
        labeled = np.flatnonzero([label is not None for label in y])
        X, y = X[labeled], y[labeled].astype(str)
    metric = "f2" if model == "svmperf" else "cost:fp=1,fn=9"
    trained = train(X, y, model=model, output=file, scoring=Scoring(metric, positive="no"))
    threshold = trained.threshold
    assert 0.0 < threshold < 1.0
    assert read_info(file)["threshold"] == threshold
    assert (trained.positive, read_info(file)["positive"]) == ("no", "no")
    answer = predict(file, X)
    p, predicted = (np.asarray(answer[name]) for name in ("probability_no", "prediction"))
    assert (predicted == np.where(p >= threshold, "no", "yes")).all()
    np.testing.assert_allclose(p + np.asarray(answer["probability_yes"]), 1.0)
    assert set(predicted) == {"no", "yes"}
    # by the numbers that are asked for; those of a file are about its positive class
    scores = np.asarray(answer["score"])
    for given, expected in (
        ({"threshold": None}, np.where(scores > 0, "yes", "no")),
        ({"threshold": 0.2}, np.where(p >= 0.2, "no", "yes")),
        ({"threshold": 0.2, "positive": "yes"}, np.where(1 - p > 0.2, "yes", "no")),
    ):
        assert (np.asarray(predict(file, X, **given)["prediction"]) == expected).all()
    assert load(file).threshold_ == pytest.approx(1.0 - threshold)
    # given to train, it is stored as it is
    fixed = train(X, y, model=model, scoring=Scoring(positive="no", threshold=0.2))
    assert fixed.threshold == pytest.approx(0.2)
    assert (np.asarray(predict(fixed.fitted, X)["prediction"]) == "no").mean() == pytest.approx(
        (np.asarray(predict(fixed.fitted, X)["probability_no"]) >= 0.2).mean()
    )
    assert train(X, y, model=model, scoring=Scoring(threshold=None)).threshold is None


def test_the_batches_do_not_change_the_threshold_that_is_stored():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 150)
    noisy = np.where(rng.random(150) < 0.3, 1 - y, y)
    frame = pd.DataFrame({"a__x": noisy.astype(str), "b__y": rng.choice(list("pqr"), 150), "y": y})
    found = [
        train(
            open_table(frame, batch_rows=rows),
            "y",
            model="pa:squared",
            epochs=2,
            encoder=ViewEncoder(hash_bits=6),
            scoring="accuracy",
        )
        for rows in (7, 1000)
    ]
    assert found[0].threshold == found[1].threshold is not None
    assert found[0].metric == found[1].metric


def test_what_is_predicted_has_a_column_per_class():
    rng = np.random.default_rng(0)
    frame = make_frame(90)
    frame["answer"] = rng.choice(["ant", "bee", "cat"], 90)
    trained = train(frame, "answer", model="pa:squared")
    assert trained.threshold == trained.learner.threshold_
    answer = predict(trained.fitted, frame)
    names = [f"probability_{name}" for name in ("ant", "bee", "cat")]
    assert answer.column_names[1:7] == ["score_ant", "score_bee", "score_cat", *names]
    np.testing.assert_allclose(sum(np.asarray(answer[name]) for name in names), 1.0)
    frame["probability_ant"] = 1.0
    with pytest.raises(InputError, match="'probability_ant', which the predictions have already"):
        predict(trained.fitted, frame, keep=["probability_ant"])
    X, y = make_views(90)
    without = PassiveAggressiveClassifier(calibration="none").fit(X, y)
    names = ["prediction", "score", "view_strong", "view_weak", "view_noise"]
    assert predict(without, X).column_names == names


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"scoring": {"threshold": 2}},
            "threshold=2; give a probability between 0 and 1 ",
        ),
        ({"scoring": {"threshold": "0.3"}}, "threshold='0.3'; give a probability"),
        ({"scoring": {"threshold": True}}, "threshold=True; give"),
        ({"scoring": {"threshold": float("nan")}}, "threshold=nan; give"),
        ({"scoring": {"cost": {"fp": 1}}}, "cost fp=1: give that of a false positive"),
        ({"scoring": {"metric": "cost"}}, "the metric cost needs costs"),
        (
            {"task": "regression", "scoring": {"threshold": 0.3}},
            "threshold= is about classes; leave it out",
        ),
        ({"task": "regression", "scoring": {"cost": {"fp": 1, "fn": 2}}}, "is about classes"),
    ],
)
def test_what_cannot_be_a_threshold_or_a_cost_is_refused(change, message):
    X, y = make_views(60)
    if change.get("task"):
        y = np.arange(60.0)
    for call, given in (
        (thorough, {"models": ["pa:squared", "view:weak"]}),
        (train, {"model": "mvm"}),
    ):
        with pytest.raises(InputError, match=message):
            call(X, y, **given, **change | {"scoring": Scoring(**change["scoring"])})


def test_each_of_three_classes_has_a_threshold():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 2))
    z = rng.gumbel(size=(900, 3)) + np.column_stack([x, np.full(900, 2.0)])
    y = np.array(["maybe", "no", "yes"])[z.argmax(axis=1)]
    X = MultiView({"a": x[:, :1], "b": x[:, 1:]})
    trained = train(X, y, model="arow")
    model, t = trained.fitted, trained.threshold
    assert sum(t) == pytest.approx(1.0)
    assert trained.threshold_for == "f1"
    assert f"'maybe' {t[0]:.2g}" in trained.notes[-1]
    p = model.predict_proba(X)
    assert (model.predict(X) == model.classes_[(p / t).argmax(axis=1)]).all()
    assert [model.answer_one(X[i : i + 1])[0] for i in range(9)] == model.predict(X[:9]).tolist()
    explained = model.contributions(X).sum(axis=1)  # of the predicted class
    codes, s = (p / t).argmax(axis=1), model.decision_function(X)
    assert (codes != p.argmax(axis=1)).mean() > 0.05
    slack = s[np.arange(900), codes] - explained  # its intercept
    assert all(np.ptp(slack[codes == k]) < 1e-9 for k in range(3))
    table = predict(model, X)
    each = model.view_scores(X)
    own = each[np.arange(900), :, codes] - each.mean(axis=2)
    np.testing.assert_allclose(np.column_stack([table["view_a"], table["view_b"]]), own)
    given = [0.001, 0.5, 0.499]  # whatever is nearly never said before
    assert (np.asarray(predict(model, X, threshold=given)["prediction"]) == "maybe").mean() > 0.9
    by_score = model.classes_[model.decision_function(X).argmax(axis=1)]
    assert (np.asarray(predict(model, X, threshold=None)["prediction"]) == by_score).all()
    given = [0.3, 0.4, 0.3]
    fixed = train(X, y, model="arow", scoring=Scoring(threshold=given))
    assert (fixed.threshold, fixed.threshold_for) == (given, None)


def test_the_answer_has_a_threshold_for_each_class_that_is_trained():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    z = rng.gumbel(size=(600, 3)) + np.column_stack([x, np.full(600, 2.0)])
    y = np.array(["a", "d", "c"])[z.argmax(axis=1)]
    y[:2] = "b"  # of too few rows for the folds
    X = MultiView({"a": x[:, :1], "b": x[:, 1:]})
    answer = thorough(X, y, models=["view:a", "view:b", "ensemble"], grid=ONE, cv=3)
    ensemble = answer.row("ensemble")
    a, c, d = ensemble.class_thresholds
    assert c > max(a, d)
    arguments = answer.train_arguments_of(ensemble)
    np.testing.assert_allclose(arguments["scoring"].threshold, [a, c, c, d], rtol=1e-3)
    assert train(X, y, **arguments).threshold == arguments["scoring"].threshold


@pytest.mark.parametrize("threshold", [0.3, [0.3, 0.7], [0.5, 0.5, 0.0]])
def test_what_is_not_one_threshold_per_class_is_refused(threshold):
    X, y = make_views(60)
    y = np.where(np.arange(60) % 3 == 0, "maybe", y)
    for call, given in ((thorough, {"models": ["arow"]}), (train, {"model": "arow"})):
        with pytest.raises(InputError, match=r"give (a probability|one number)"):
            call(X, y, **given, scoring=Scoring(threshold=threshold))
    model = train(X, y, model="arow").fitted
    before = model.threshold_
    for call in (lambda t: predict(model, X, threshold=t), model.set_threshold):
        with pytest.raises(InputError, match=r"give (a probability|probabilities|one number)"):
            call(threshold)
    assert model.threshold_ == before


def test_costs_are_of_two_classes():
    X, y = make_views(60)
    y = np.where(np.arange(60) % 3 == 0, "maybe", y)
    with pytest.raises(InputError, match="is for two classes, and there are 3"):
        train(X, y, model="arow", scoring=Scoring(cost={"fp": 1, "fn": 2}))
    with pytest.raises(InputError, match=r"threshold=1\.5; give prob"):
        train(*make_views(60), model="arow").fitted.set_threshold(1.5)
