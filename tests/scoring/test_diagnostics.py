"""What results keep for pictures: independent of batches and workers, bounded, and stored."""

import json

import numpy as np
import pytest

from comparisons import (
    OF_MACHINES,
    compare,
    make_few,
    make_frame,
    make_numbers_frame,
    make_views,
    thorough,
    train,
)
from crossview import (
    MultiView,
    PassiveAggressiveClassifier,
    Scoring,
    TrainingObserver,
    ViewEncoder,
    evaluate,
)
from crossview.catalog.learners import find_learner
from crossview.comparing.budget.planner import Planner
from crossview.comparing.followup import has_weights
from crossview.comparing.result.comparison import Comparison
from crossview.data.labeled import LabeledSource
from crossview.scoring.collector import cells_of_row, strong_columns
from crossview.scoring.diagnostics import (
    ErrorCurve,
    RowSample,
    ViewDifferences,
    mean_difference,
    most_differing,
    n_sampled,
    view_numbers,
)
from crossview.scoring.models.weights import ColumnNames

MODELS = ["pa:squared", "view:strong"]
GRID = {"C": [0.1], "disagreement": [0.1], "average": [], "epochs": [], "bins": []}


def same(one, other):
    """Whether two results kept the same, to the last bit."""
    parts = [
        (a.rows, a.values, b.rows, b.values)
        for name in ("errors", "differences")
        for a, b in zip(getattr(one, name), getattr(other, name), strict=True)
    ]
    arrays = [(a, c) for a, b, c, d in parts] + [(b, d) for a, b, c, d in parts]
    for name in ("scored", "by_view"):
        first, second = getattr(one, name), getattr(other, name)
        assert (first is None) == (second is None)
        if first is not None:
            pairs = zip(vars(first).values(), vars(second).values(), strict=True)
            arrays += [pair for pair in pairs if isinstance(pair[0], np.ndarray)]
    listed = ("differing", "differing_of", "columns", "columns_of", "interactions", "view_model")
    return all(getattr(one, name) == getattr(other, name) for name in listed) and all(
        np.array_equal(a, b, equal_nan=True) for a, b in arrays
    )


def test_the_difference_of_views_is_the_mean_over_pairs_that_are_there():
    scores = np.array([[1.0, 3.0, 2.0], [1.0, np.nan, -1.0], [np.nan, np.nan, 1.0]])
    assert mean_difference(scores)[:2] == pytest.approx([(2 + 1 + 1) / 3, 2.0])
    assert np.isnan(mean_difference(scores)[2])
    assert most_differing(scores).tolist() == [1, 0]
    assert not len(most_differing(scores[:, :1]))


def test_an_error_curve_is_the_mean_of_the_rows_so_far_whatever_the_batches():
    errors = np.random.default_rng(0).random(1000)
    whole, pieces = ErrorCurve(), ErrorCurve()
    whole.update(errors)
    for part in np.split(errors, [1, 7, 333, 334, 900]):
        pieces.update(part)
    curve, other = whole.curve("a"), pieces.curve("a", root=True)
    assert curve.values == pytest.approx([errors[:n].mean() for n in curve.rows])
    assert np.array_equal(np.sqrt(curve.values), other.values)
    assert curve.rows[0] == 1
    assert curve.rows[-1] == 1000
    assert len(curve.rows) < 8 * 11


def test_rows_whose_views_are_scored_become_fewer_and_are_known_in_advance():
    due = [n for n in range(1 << 12) if ViewDifferences().is_due(n)]
    assert due[:10] == [16, 18, 20, 22, 24, 26, 28, 30, 32, 36]
    assert sum(1 << 10 <= n < 1 << 11 for n in due) == 8
    n, reached = 0, []
    while n < 1 << 11:
        n += ViewDifferences.left(n)
        reached.append(n)
    assert set(due) & set(range(1, 1 << 11)) <= set(reached)


def test_a_sample_depends_on_the_rows_and_not_on_batches():
    y = np.arange(1000)
    samples = []
    for cuts in ([], [1, 10, 600, 601]):
        sample = RowSample(50)
        for part in np.split(y, cuts):
            drawn = sample.draw(len(part))
            sample.add(y=part[drawn], scores=2.0 * part[drawn], predicted=part[drawn])
        samples.append(sample.scored())
    assert len(samples[0].rows) == 50
    assert np.array_equal(samples[0].rows, samples[0].y)
    assert np.array_equal(samples[0].scores, 2.0 * samples[1].rows)
    parts = []
    for part in np.split(y, [0, 10, 600, 601]):  # on several machines, one of which has no row
        sample = RowSample(50, first_row=parts[-1].n_rows if parts else 0)
        drawn = sample.draw(len(part))
        sample.add(y=part[drawn], scores=2.0 * part[drawn], predicted=part[drawn])
        parts.append(sample)
    total = sum(parts[1:], start=parts[0]).scored()
    assert np.array_equal(total.rows, samples[0].rows)
    assert np.array_equal(total.scores, samples[0].scores)
    assert n_sampled(2, 3) == 20_000
    assert n_sampled(1000, 3) == 199
    assert n_sampled(1000, 100) == 20  # rows with the scores of all views for all classes


def test_a_comparison_keeps_the_scores_of_rows_held_out():
    """Each row once, as a model scores it that has not learned it."""
    X, y = make_views(90)
    answer = thorough(X, y, models=MODELS, grid=GRID, cv=3)
    kept = answer.diagnostics
    assert [one.view for one in kept.views] == ["strong", "weak", "noise"]
    assert kept.views[0].used == 4
    assert kept.views[0].density == 1.0
    assert kept.class_rows == [int((y == "no").sum()), int((y == "yes").sum())]
    assert kept.scored.rows.tolist() == list(range(90))
    assert np.array_equal(np.array(["no", "yes"])[kept.scored.y], y)
    confusion = np.zeros((2, 2), dtype=int)
    np.add.at(confusion, (kept.scored.y, kept.scored.predicted), 1)
    assert confusion.tolist() == answer.recommended.confusion
    # one view is recommended; the views are those of the best model that has several
    assert (kept.model, kept.view_model) == ("view:strong", "pa:squared")
    assert kept.by_view.view_scores.shape == (90, 3)
    assert kept.by_view.view_scores.mean(axis=1) == pytest.approx(kept.by_view.scores, abs=1e-6)
    worst = kept.differing[0]
    assert mean_difference(kept.by_view.view_scores).argmax() == worst.row
    assert worst.label == y[worst.row]
    assert float(worst.values["strong: column 0"]) == pytest.approx(X["strong"][worst.row, 0], 1e-4)
    content = json.loads(json.dumps(answer.to_dict()))
    assert same(kept, Comparison.from_dict(content).diagnostics)
    del content["diagnostics"]  # a file that was written before
    assert Comparison.from_dict(content).diagnostics is None


def test_unlabeled_rows_have_their_place_in_the_source():
    X, y, known = make_few()
    kept = thorough(X, y, models=["pa:squared"], grid=GRID, cv=3).diagnostics
    assert kept.scored.rows.tolist() == list(range(int(known.sum())))
    assert all(known[one.row] and one.label == y[one.row] for one in kept.differing)


def make_cities(n=150):
    """A category that tells, in one of 2^18 slots, and a number of noise."""
    table = make_frame(n)[["noise__0", "answer"]]
    rng = np.random.default_rng(3)
    cities = np.where(table["answer"] == "yes", "Oslo", "Rome")
    wrong = rng.random(n) < 0.2
    table["place__city"] = np.where(wrong, rng.permutation(cities), cities)
    table["place__street"] = [f"street {i}" for i in rng.integers(0, 40, n)]
    return table


def test_a_comparison_names_the_columns_of_its_recommended_model():
    """As the model of the first fold, by hand on all slots, explains the rows held out of it."""
    table = make_cities()
    given = {"models": ["pa:squared"], "grid": GRID, "cv": 3}
    answer = thorough(table, "answer", **given)
    kept = answer.diagnostics
    test = first_fold(table["answer"])
    rows = table.drop(columns="answer")
    encoder = ViewEncoder(scale_views=False).fit(rows.drop(index=test))
    entry = find_learner("pa:squared", "classification", encoder.layout_.names)
    model = entry.make(C=0.1, disagreement=0.1, random_state=0)
    model.fit(encoder.transform(rows.drop(index=test)), table["answer"].drop(index=test))
    wanted = strong_columns(model, ColumnNames(encoder), encoder.transform(rows.iloc[test]))
    assert {"place__city=Rome", "place__city=Oslo"} < {one.column for one in kept.columns[:3]}
    assert [one.column for one in kept.columns] == [one.column for one in wanted]
    for one, other in zip(kept.columns, wanted, strict=True):
        assert (one.view, one.rows) == (other.view, other.rows)
        assert (one.size, one.mean) == pytest.approx((other.size, other.mean))
    stored = json.loads(json.dumps(answer.to_dict()))
    assert same(kept, Comparison.from_dict(stored).diagnostics)


def first_fold(y):
    """The rows held out of the first of three folds."""
    from sklearn.model_selection import StratifiedKFold

    return next(StratifiedKFold(3, shuffle=True, random_state=0).split(y, y))[1]


def test_a_comparison_names_the_interactions_of_a_machine():
    answer = thorough(
        *(make_numbers_frame(300), "rating"),
        task="regression",
        models=["fm:cross-view"],
        grid=OF_MACHINES | {"learning_rate": [0.3]},
        cv=2,
    )
    first, *_ = [one for one in answer.diagnostics.interactions if len(one.columns) == 2]
    assert first.columns == ["user__0", "item__1"]
    assert (first.weight > 0.0, first.label) == (True, "")


def test_there_are_no_columns_where_there_are_no_weights_or_there_is_no_time(monkeypatch):
    kernel = find_learner("pegasos", "classification", ["a", "b"])
    assert has_weights(kernel, {"kernel": "linear"})
    assert not has_weights(kernel, {"kernel": "rbf"})
    X, y = make_views(60)
    given = {"models": ["baseline:majority"], "grid": GRID, "cv": 2}
    assert not thorough(X, y, **given).diagnostics.columns
    monkeypatch.setattr(Planner, "allows", lambda *_: False)
    answer = thorough(X, y, **given | {"models": ["pa:squared"]})
    assert not answer.diagnostics.columns
    assert [one.what for one in answer.left_out] == ["no strongest columns"]


def test_columns_of_views_have_the_names_they_were_given():
    X, _ = make_views(4)
    named = MultiView({"a": X["strong"]}, feature_names={"a": ["w", "x", "y", "z"]})
    values = cells_of_row(named, 2, ColumnNames(given=named.feature_names))
    assert list(values) == ["a: w", "a: x", "a: y", "a: z"]
    kept = ColumnNames(given=named.feature_names, kept={"a": np.array([1, 3, -1])})
    assert kept.texts("a", [2, 0, 1]) == ["a: other columns", "a: x", "a: z"]


@pytest.fixture(scope="module")
def people():
    """Numbers, categories and cells that are missing; one row in six has no label."""
    rng, n = np.random.default_rng(2), 400
    table = make_frame(n)[["answer"]]
    table["person__age"] = np.where(rng.random(n) < 0.4, np.nan, rng.integers(18, 90, n))
    table["person__city"] = rng.choice(["Köln", "Oslo"], n)
    for i in range(12):  # more than can be shown
        table[f"shop__{i}"] = rng.normal(size=n).round(3) + (table["answer"] == "yes")
    table["answer"] = np.where(rng.random(n) < 1 / 6, None, table["answer"].astype(object))
    return table


@pytest.mark.parametrize(
    "make",
    [
        lambda table: train(
            table.fillna({"answer": "no"}), "answer", log=TrainingObserver(history=True)
        ),
        lambda table: train(table, "answer", model="pegasos"),
        lambda table: evaluate(train(table, "answer", model="pegasos").fitted, table, "answer"),
        lambda table: compare(table, "answer", models=["pa:squared"], progressive=True),
        lambda table: thorough(table, "answer", models=["pa:squared"], grid=GRID, cv=2),
    ],
    ids=["train in batches", "train at once", "evaluate", "compare a stream", "compare by folds"],
)
def test_rows_that_differ_are_shown_as_they_are_in_the_source(make, people, monkeypatch):
    """Not as they are encoded: a number has its unit, a category its name."""
    monkeypatch.setattr(LabeledSource, "batch_rows", 37)
    monkeypatch.setattr("crossview.training.last_rows.N_ROWS", 100)
    found = make(people).diagnostics.differing
    assert len(found) == 8
    for one in found:
        row = people.iloc[one.row]
        assert one.label == (row["answer"] if isinstance(row["answer"], str) else "no")
        assert {"person__age", "person__city"} < set(one.values)
        assert len(one.values) == 6
        for name, cell in one.values.items():
            if cell is None:
                assert np.isnan(row[name])
            elif name == "person__city":
                assert cell == row[name]
            else:
                assert float(cell) == pytest.approx(row[name])
    assert any(one.values["person__age"] is None for one in found)


@pytest.mark.parametrize("unlabeled", [False, True])
def test_the_last_rows_of_a_stream_are_scored_before_they_are_learned(unlabeled):
    X, y = make_views(400)
    if unlabeled:
        y = np.where(np.random.default_rng(0).random(400) < 0.2, None, y.astype(object))
    known = np.flatnonzero([label is not None for label in y])
    given = {
        "models": ["pa:squared"],
        "grid": GRID,
        "scoring": Scoring(threshold=None),
        "progressive": True,
    }
    kept = compare(X, y, **given).diagnostics
    begin = 400 - 360 // 4
    before, last = known[known < begin], known[known >= begin]
    entry = find_learner("pa:squared", "classification", ["strong", "weak", "noise"])
    model = entry.make(C=0.1, disagreement=0.1, random_state=0)
    model.partial_fit(X[before], y[before].astype(str), ["no", "yes"])
    each = model.view_scores(X[last])
    assert kept.by_view.view_scores == pytest.approx(each, abs=1e-5)
    order = np.argsort(-mean_difference(each), kind="stable")[:8]
    assert [one.row for one in kept.differing] == last[order].tolist()
    assert [one.label for one in kept.differing] == y[last[order]].tolist()
    said = model.predict(X[last[order]]).tolist()
    assert [one.predicted for one in kept.differing] == said
    value = X["strong"][kept.differing[0].row, 0]
    assert float(kept.differing[0].values["strong: column 0"]) == pytest.approx(value, rel=1e-4)
    assert kept.differing_of == f"the last {len(last)}, scored before they were learned"
    model.partial_fit(X[last], y[last].astype(str))
    wanted = strong_columns(model, ColumnNames(), X[last])
    assert [one.column for one in kept.columns] == [one.column for one in wanted]
    assert [one.size for one in kept.columns] == pytest.approx([one.size for one in wanted])


def test_a_column_that_adds_the_same_to_all_rows_is_not_a_strong_one():
    X = np.random.default_rng(0).normal([0.0, 0.0, 9.0], size=(200, 3))
    model = PassiveAggressiveClassifier(fit_intercept=False).fit(X, (X[:, 0] > 0.0) * 1)
    model._state["W"][:, 0] = [1.0, 0.2, 0.5]
    found = strong_columns(model, ColumnNames(), MultiView({"all": X}))
    assert [one.column for one in found] == [f"all: column {i}" for i in (0, 2, 1)]
    each = X * [1.0, 0.2, 0.5]
    apart = np.abs(each - each.mean(axis=0)).mean(axis=0)
    assert [one.size for one in found] == pytest.approx(apart[[0, 2, 1]])
    assert [one.mean for one in found] == pytest.approx(each.mean(axis=0)[[0, 2, 1]])


def test_a_stream_keeps_the_same_in_any_batches(monkeypatch):
    table = make_frame(300)
    given = {"models": [*MODELS, "stacking"], "grid": GRID, "progressive": True}
    kept = compare(table, "answer", **given).diagnostics
    assert [one.model for one in kept.errors] == ["pa:squared", "view:strong", "stacking"]
    assert [one.model for one in kept.differences] == ["pa:squared"]
    assert kept.errors[0].rows[-1] == len(kept.scored.rows) == 300
    worst = kept.differing[0]  # with its values as they are in the table
    assert len(worst.values) == 9
    for name, cell in worst.values.items():
        assert cell == f"{table[name].iloc[worst.row]:.8g}"
    assert kept.columns
    monkeypatch.setattr(LabeledSource, "batch_rows", 37)
    assert same(kept, compare(table, "answer", **given).diagnostics)


def test_training_keeps_its_history_in_any_batches_and_the_model_is_the_same(monkeypatch):
    table = make_frame(300)
    given = {
        "model": "pa:squared",
        "in_order": True,
        "encoder": ViewEncoder(bins=None, scale_views=False),
    }
    plain = train(table, "answer", **given)
    kept = train(table, "answer", log=TrainingObserver(history=True), **given)
    assert not plain.diagnostics.errors
    state, other = plain.learner.get_state(), kept.learner.get_state()
    assert all(np.array_equal(state[name], other[name]) for name in state)
    (errors,), (differences,) = kept.diagnostics.errors, kept.diagnostics.differences
    assert 1.0 - errors.values[-1] == pytest.approx(kept.accuracy)
    assert kept.diagnostics.columns[0].view == "strong"
    monkeypatch.setattr(LabeledSource, "batch_rows", 23)
    cut = train(table, "answer", log=TrainingObserver(history=True), **given)
    assert same(kept.diagnostics, cut.diagnostics)
    # by hand: the views of the last row, scored by a model of the rows before it
    n = int(differences.rows[-1])
    before = train(table[: n - 1], "answer", **given).fitted
    row = before[0].transform(table[n - 1 : n].drop(columns="answer"))
    scores = before[1].view_scores(row)
    assert differences.values[-1] == pytest.approx(mean_difference(scores)[0], rel=1e-2)


def test_an_evaluation_keeps_rows_and_what_contributes():
    table = make_frame(300)
    encoder = ViewEncoder(bins=None, scale_views=False)
    fitted = train(table[:150], "answer", model="pa:squared", encoder=encoder).fitted
    kept = evaluate(fitted, table[150:], "answer").diagnostics
    assert kept.scored.view_scores.shape == (150, 3)
    worst = kept.differing[0]
    assert mean_difference(kept.scored.view_scores).argmax() == worst.row
    assert worst.label == table["answer"].iloc[150 + worst.row]
    assert kept.columns[0].column.startswith("strong__")


def test_views_in_numbers_count_what_is_there():
    X, _ = make_views(10)
    sparse = view_numbers(X)[0]
    assert (sparse.columns, sparse.used, sparse.entries, sparse.missing) == (4, 4, 4.0, 0.0)
