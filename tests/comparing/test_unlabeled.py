"""Comparing where some rows have no label."""

import json

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

import crossview
from command_line import run
from comparisons import ONE, SOME, make_few, make_frame, thorough
from crossview import (
    InputError,
    KeCoClassifier,
    MultiView,
    PassiveAggressiveClassifier,
    PegasosClassifier,
    Scoring,
    ViewEncoder,
    progressive,
)
from crossview.catalog.learners import find_learner
from crossview.comparing.candidates import compared_learners
from crossview.reporting.tables import comparison_notes, to_markdown
from crossview.scoring.significance import correlated_t_posterior
from crossview.views import ViewLayout
from reference.jackknife import block_jackknife


@pytest.fixture(scope="module")
def few():
    X, y, _ = make_few()
    return thorough(X, y, cv=3, grid=ONE, models=SOME)


def test_rows_without_label_change_nothing_but_keco(few):
    X, y, known = make_few()
    alone = thorough(X[known], y[known], cv=3, grid=ONE, models=SOME)
    before = {row.model: row.scores for row in alone.rows}
    same = {row.model for row in few.rows if row.scores == before[row.model]}
    assert same == set(SOME) - {"keco"}
    # without such rows it is what Pegasos is
    assert before["keco"] == before["pegasos"]
    assert (alone.unlabeled, alone.unlabeled_benefit) == (0, None)
    assert (few.n_rows, few.n_scored, few.unlabeled) == (150, known.sum(), (~known).sum())


def test_keco_by_hand():
    X, y, known = make_few()
    settings = [{"kernel": k, "lam": lam} for k in ("rbf", "linear") for lam in (1e-4, 10.0)]
    grid = {"lam": [1e-4, 10.0]}
    given = {"scoring": Scoring("accuracy", threshold=None), "grid": grid}
    answer = thorough(X, y, cv=2, models=["keco", "pegasos"], **given)
    places, others = np.flatnonzero(known), np.flatnonzero(~known)

    def folds(n=3):
        return StratifiedKFold(n, shuffle=True, random_state=0)

    def score(learner, setting, train, test):
        if learner is KeCoClassifier:
            train = np.concatenate([train, others])
        model = learner(**setting, random_state=0).fit(X[train], y[train])
        return np.mean(model.predict(X[test]) == y[test])

    for name, learner in (("keco", KeCoClassifier), ("pegasos", PegasosClassifier)):
        row = answer.row(name)
        for f, (train, test) in enumerate(folds(2).split(places, y[known].astype(str))):
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
    keco, pegasos = (np.asarray(answer.row(name).scores) for name in ("keco", "pegasos"))
    assert answer.unlabeled_benefit_p == pytest.approx(
        correlated_t_posterior(keco - pegasos, 1 / 3).p
    )


def test_what_unlabeled_rows_bring_is_told(few):
    values = {row.model: row.value for row in few.rows}
    more = values["keco"] - values["pegasos"]
    assert more
    what = f"{'raise' if more > 0 else 'lower'} f1 by {abs(more):.4f}: keco against pegasos"
    p = f"p = {few.unlabeled_benefit_p:.2g}"
    assert few.unlabeled_benefit == (
        f"the {few.unlabeled} unlabeled rows {what} "
        f"({'not significant, ' if few.unlabeled_benefit_p >= 0.05 else ''}{p})"
    )
    notes = comparison_notes(few)
    assert notes[: len(few.verdict) + 2] == [
        *few.verdict,
        few.unlabeled_benefit,
        f"{few.unlabeled} of 150 rows have no label: none is scored, and only keco learns from "
        "them",
    ]
    assert any(f"3 folds of {few.n_scored} labeled rows" in note for note in notes)
    assert str(few).splitlines()[-2] == few.unlabeled_benefit
    assert few.unlabeled_benefit in to_markdown(few)
    content = json.loads(json.dumps(few.to_dict(), allow_nan=False))
    assert (content["unlabeled"], content["unlabeled_benefit"]) == (
        few.unlabeled,
        few.unlabeled_benefit,
    )
    assert all(few.row(name).epochs == 1 for name in ("keco", "pegasos"))
    for row in (few.row("keco"), few.row("pegasos")):
        assert row.rows_per_second > 0
        assert row.predicted_per_second > 0
    X, y, _ = make_few()
    others = thorough(X, y, cv=3, grid=ONE, models=["view:weak", "pa:squared"])
    assert others.unlabeled_benefit is None
    assert any("no row above learns from them" in note for note in comparison_notes(others))


def test_keco_and_pegasos_are_rows_where_labels_are_missing():
    layout = make_few()[0].layout
    names = [m.name for m in compared_learners(layout, 60, unlabeled=True, metric="f1")]
    always = [learner.name for learner in compared_learners(layout, 60, metric="f1")]
    assert [name for name in names if name not in always] == ["keco"]
    assert [name for name in names if name in always] == always
    # of many columns a kernel is there for unlabeled rows only, and on a stream likewise
    wide = ViewLayout(["a", "b"], [1500, 600])
    for given in ({"layout": wide, "metric": "f1"}, {"layout": layout, "metric": None}):
        assert "pegasos" not in [one.name for one in compared_learners(n_rows=1000, **given)]
    assert "pegasos" in [one.name for one in compared_learners(wide, 60, metric="f1")]
    X, y, _ = make_few(60)
    answer = thorough(X, y, cv=2, grid=ONE)
    ours = {row.model for row in answer.rows if not row.model.startswith("baseline:")}
    assert ours == {*names, "ensemble"}
    assert "keco" not in {one.model for one in answer.best.members}
    assert answer.unlabeled_benefit is not None


@pytest.mark.filterwarnings("error")
def test_with_one_view_rows_without_label_have_no_effect_and_nothing_is_said_to_learn_them():
    X, y, known = make_few()
    few = X.select(["strong"])
    given = {"grid": ONE | {"kernel": ["linear"], "lam": [0.01]}, "cv": 2}
    answer = thorough(few, y, models=["pegasos", "keco"], **given)
    assert answer.unlabeled == (~known).sum()
    assert answer.unlabeled_pair is None
    assert any("no row above learns from them" in note for note in comparison_notes(answer))
    names = [one.name for one in compared_learners(few.layout, len(y), unlabeled=True, metric="f1")]
    assert "pegasos" in names
    assert "keco" not in names
    assert "keco" in [
        one.name for one in compared_learners(X.layout, len(y), unlabeled=True, metric="f1")
    ]


def test_train_says_in_one_line_that_one_view_learns_no_unlabeled_rows(tmp_path, capsys):
    frame = make_frame(60)
    frame["answer"] = frame["answer"].where(np.arange(60) % 3 > 0)
    frame.to_csv(tmp_path / "t.csv", index=False)
    given = ["--view", "a=*", "--label", "answer", "--model", "keco", "--set", "n_iterations=5"]
    status, _, err = run(capsys, "train", tmp_path / "t.csv", *given, "-o", tmp_path / "m")
    assert status == 0
    lines = [line for line in err if "co-agreement" in line]
    assert lines == [
        "crossview: warning: co-agreement needs two views, so the unlabeled rows have no effect; "
        "give --view"
    ]


@pytest.mark.parametrize("kind", ["array", "csv", "progressive"])
def test_numbers_may_be_missing(kind, tmp_path):
    frame = make_frame(120)
    rng = np.random.default_rng(0)
    number = frame["strong__0"] + rng.normal(size=120) + 100.5
    known = rng.random(120) < 0.5
    frame["answer"] = number.where(known)
    models = ["linear", "keco:supervised", "keco"]
    grid = {"alpha": [1e-3], "learning_rate": [0.3], "bins": [], "kernel": ["linear"], "lam": [0.1]}
    given = {"task": "regression", "grid": grid | {"disagreement": [1.0]}, "models": models}
    given |= {"progressive": True} if kind == "progressive" else {"cv": 3}
    source, y = frame, "answer"
    if kind == "csv":
        source = tmp_path / "t.csv"
        frame.to_csv(source, index=False)
    elif kind == "array":
        source, y = frame.drop(columns="answer"), frame["answer"].to_list()
    found = thorough(source, y, **given)
    alone = thorough(frame[known], "answer", **given)
    assert (found.unlabeled, found.n_scored, alone.unlabeled) == ((~known).sum(), known.sum(), 0)
    assert "keco against keco:supervised" in found.unlabeled_benefit
    assert alone.unlabeled_benefit is None
    if kind != "progressive":  # whose first rows, labeled or not, choose
        same = {m for m in models if found.row(m).value == pytest.approx(alone.row(m).value)}
        assert same == {"linear", "keco:supervised"}
    frame.loc[3, "answer"] = np.inf
    with pytest.raises(InputError, match=r"inf is not a number to predict"):
        thorough(frame, "answer", **given)


def test_keco_for_numbers_is_a_row_where_some_are_missing():
    layout = make_few()[0].layout
    always, more = (
        [m.name for m in compared_learners(layout, 60, "regression", unlabeled=u, metric="rmse")]
        for u in (False, True)
    )
    assert [name for name in more if name not in always] == ["keco:supervised", "keco"]


@pytest.mark.parametrize(
    "kind",
    [
        *("NaN", "category", "csv"),
        *(pytest.param(kind, marks=pytest.mark.exhaustive) for kind in ("NA", "float", "apart")),
    ],
)
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
    # the encoder is fitted on labeled rows, and these have other numbers
    frame.loc[~known, "weak__0"] *= 1e3
    table = frame.assign(answer=labels)
    expected = thorough(frame[known], "answer", **given)
    if kind == "csv":
        table.to_csv(tmp_path / "t.csv", index=False)
        found = thorough(tmp_path / "t.csv", "answer", **given)
    elif kind == "apart":
        found = thorough(frame.drop(columns="answer"), labels, **given)
    else:
        found = thorough(table, "answer", **given)
    assert found.unlabeled == (~known).sum()
    for name in ("pa:squared", "pegasos"):
        assert found.row(name).scores == pytest.approx(expected.row(name).scores)


def test_several_classes_with_rows_without_label():
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 120)
    X = MultiView(
        {"a": rng.normal(size=(120, 3)) + 3 * np.eye(3)[k], "b": rng.normal(size=(120, 3))}
    )
    y = np.where(rng.random(120) < 0.5, k, np.nan)
    for how in ({"cv": 3}, {"progressive": True}):
        answer = thorough(X, y, grid=ONE, models=["pa:squared", "pegasos", "keco"], **how)
        assert answer.row("pegasos").value > 0.6
        assert answer.unlabeled_benefit is not None


@pytest.mark.parametrize("rows_at_once", [10_000, 7])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_stream_with_rows_without_label_by_hand(kernel, rows_at_once, monkeypatch):
    monkeypatch.setattr("crossview.data.labeled.LabeledSource.batch_rows", rows_at_once)
    X, y, known = make_few()
    grid = ONE | {"kernel": [kernel]}
    models = ["pa:squared", "pegasos", "keco"]
    answer = thorough(
        X, y, progressive=True, grid=grid, models=models, scoring=Scoring(threshold=None)
    )
    first = np.arange(150) < 15
    scored = known
    assert (answer.n_rows, answer.n_scored, answer.unlabeled) == (
        150,
        scored.sum(),
        150 - known.sum(),
    )
    labels = {}
    for row in answer.rows:
        method = find_learner(row.model, "classification", X.layout.names)
        setting = method.on_stream(method.candidates(grid)[0])
        assert ("budget" in setting) == (row.model != "pa:squared" and kernel == "rbf")
        model = method.make(**setting, random_state=0)
        learned = known if row.model != "keco" else np.ones(150, dtype=bool)
        # the first rows choose, and say what disagreement is
        now, then = learned & first, learned & ~first
        options = {"classes": ["no", "yes"]}
        scores = model.score_then_learn(X[now], y[now], **options)[known[now]]
        scores = np.append(scores, model.score_then_learn(X[then], y[then])[known[then]])
        predicted = np.where(scores > 0, "yes", "no")
        truth = y[scored].astype(str)
        labels[row.model] = predicted
        assert row.value == pytest.approx(f1_score(truth, predicted, pos_label="yes"))
    keco, pegasos = (
        lambda rows, one=labels[name]: f1_score(truth[rows], one[rows], pos_label="yes")
        for name in ("keco", "pegasos")
    )
    expected = block_jackknife(int(scored.sum()), lambda rows: keco(rows) - pegasos(rows))
    assert answer.unlabeled_benefit_p == pytest.approx(expected.p)
    notes = comparison_notes(answer)
    assert any(f"{scored.sum()} labeled rows, each predicted" in note for note in notes)
    assert any("chosen on the first tenth of them" in note for note in notes)
    chosen = answer.recommended.model
    assert ("schedule=stream" in answer.train_options) == (chosen != "pa:squared")


def test_rows_without_label_are_learned_and_not_scored_in_a_stream():
    X, y, known = make_few()
    model = KeCoClassifier(gamma=0.3, schedule="stream", random_state=0)
    batches = [(X[:40], y[:40]), (X[40:41], y[40:41]), (X[41:], y[41:])]
    records = list(progressive(model, batches, classes=["no", "yes"]))
    n = int(known.sum())
    assert [record.rows for record in records] == [1, 2, 4, 8, 16, 32, n]
    by_hand = KeCoClassifier(gamma=0.3, schedule="stream", random_state=0)
    scores = by_hand.partial_fit(X[:40], y[:40], classes=["no", "yes"]).score_then_learn(
        X[40:], y[40:]
    )
    assert model.n_steps_ == by_hand.n_steps_ > n
    assert len(scores) == 110
    np.testing.assert_array_equal(model.decision_function(X), by_hand.decision_function(X))
    with pytest.raises(InputError, match="the label is missing"):
        list(progressive(PassiveAggressiveClassifier(), batches, classes=["no", "yes"]))


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("epochs", [1, 2])
def test_a_stream_learns_the_rows_with_a_label_and_says_how_many_have_none(task, epochs):
    rng = np.random.default_rng(0)
    X = MultiView({"a": rng.normal(size=(200, 3)), "b": rng.normal(size=(200, 2))})
    y = X["a"][:, 0] + X["b"][:, 0]
    known = rng.random(200) < 0.7
    gaps = np.where(known, y, np.nan)
    if task == "classification":
        y = np.where(y > 0.0, "yes", "no")
        gaps = np.where(known, y, None)
    given = {"encoder": ViewEncoder(scale_views=False), "task": task, "epochs": epochs}
    model = "pa:squared" if task == "classification" else "linear"
    found = crossview.train(X, gaps, model=model, in_order=True, **given)
    alone = crossview.train(X[known], y[known], model=model, in_order=True, **given)
    assert (found.rows, found.skipped, alone.skipped) == (known.sum(), (~known).sum(), 0)
    assert f"{(~known).sum()} rows without a label were skipped" in found.lines
    assert (found.loss, found.metric) == (alone.loss, alone.metric)
    for name, array in alone.learner.get_state().items():
        np.testing.assert_array_equal(found.learner.get_state()[name], array)
    gaps[-1] = None
    more = crossview.train(X[-2:], gaps[-2:], init=found)
    assert (more.rows, more.skipped) == (found.rows + known[-2], found.skipped + 2 - known[-2])
