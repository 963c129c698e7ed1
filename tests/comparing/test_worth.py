"""What the recommended model owes to each view, to more rows, and to bins of its numbers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from comparisons import ONE, made_answer, made_row, make_frame, make_views, thorough
from crossview import (
    InputError,
    MultiView,
    PassiveAggressiveClassifier,
    Scoring,
    ViewEncoder,
)
from crossview.catalog.learners import find_learner
from crossview.comparing.folds.parts import Fold
from crossview.comparing.folds.splits import draw_rows
from crossview.comparing.followup import Refit, ablate, learning_curve
from crossview.comparing.result.comparison import Comparison
from crossview.comparing.run import Run
from crossview.jobs.jobs import Jobs
from crossview.reporting.tables import (
    benefit_of_rows,
    class_tables,
    comparison_notes,
    tables_of_classes,
)
from crossview.scoring.problems import Classification
from crossview.scoring.significance import Posterior, correlated_t_posterior

GIVEN = {
    "grid": ONE,
    "cv": 2,
    "scoring": Scoring(threshold=None),
    "models": ["pa:concatenated"],
}


def folds(y):
    return StratifiedKFold(2, shuffle=True, random_state=0).split(y, y)


def f1(X_train, y_train, X_test, y_test):
    model = PassiveAggressiveClassifier(C=0.1, random_state=0).fit(X_train, y_train)
    return f1_score(y_test, model.predict(X_test), pos_label="yes")


def test_a_view_is_worth_what_is_lost_without_it():
    X, y = make_views()
    answer = thorough(X, y, ablate=True, **GIVEN)
    assert [one.view for one in answer.ablation] == ["strong", "weak", "noise"]
    for v, one in enumerate(answer.ablation):
        others = X.select([name for name in answer.views if name != one.view])
        present = np.ones((len(X), 3), dtype=bool)
        present[:, v] = False
        missing = MultiView.from_matrix(X.matrix, X.layout, present=present)
        for rows, value, difference in (
            ((others, others), one.without, one.without_difference),
            ((X, missing), one.missing, one.missing_difference),
        ):
            scores = [f1(rows[0][a], y[a], rows[1][b], y[b]) for a, b in folds(y)]
            assert value == pytest.approx(np.mean(scores))
            expected = correlated_t_posterior(np.subtract(scores, answer.best.scores), 1 / 2)
            assert difference.location == pytest.approx(expected.location)
            assert difference.scale == pytest.approx(expected.scale)
        notes = [note for note in comparison_notes(answer) if note.startswith(f"view {one.view}: ")]
        assert len(notes) == 1
        assert f"without it {one.without:.4f} (" in notes[0]
    assert answer.ablation[0].without < answer.ablation[2].without
    assert Comparison.from_dict(answer.to_dict()).ablation == answer.ablation
    # a model of one view has none to lose
    alone = thorough(X, y, ablate=True, **GIVEN | {"models": ["view:weak"]})
    assert alone.ablation == []
    notes = "\n".join(comparison_notes(alone))
    assert notes.count("view:weak uses one view: nothing is lost without the others") == 1


def test_the_learning_curve_is_that_of_parts_of_the_training_rows():
    X, y = make_views(160)
    answer = thorough(X, y, curve=True, **GIVEN)
    task = Classification(np.unique(y))
    *points, last = answer.curve.points
    assert (last.rows, last.value, last.std) == (80, answer.best.value, answer.best.std)
    assert len(points) == 2  # ten rows are too few
    for n, point in zip((20, 40), points, strict=True):
        scores = []
        for a, b in folds(y):
            part = a[draw_rows(task, y[a], n, 0)]
            assert len(part) == point.rows
            scores.append(f1(X[part], y[part], X[b], y[b]))
        assert point.value == pytest.approx(np.mean(scores))
    expected = correlated_t_posterior(np.subtract(answer.best.scores, scores), 1 / 2)
    assert answer.curve.last_doubling.location == pytest.approx(expected.location)
    assert answer.curve.last_doubling.scale == pytest.approx(expected.scale)
    assert any("more rows would" in note for note in comparison_notes(answer))
    assert Comparison.from_dict(answer.to_dict()).curve == answer.curve


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.002, 0.008, "more rows would bring little"),
        (0.002, 0.030, "more rows would help"),
        (-0.002, 0.030, "more rows may help"),
        (-0.020, 0.028, "it is not known whether more rows would help"),
        (-0.020, 0.004, "more rows would bring little"),
    ],
)
def test_more_rows_bring_little_only_where_the_interval_says_so(low, high, words):
    gain = Posterior((low + high) / 2, (high - low) / 2 / 1.96, np.inf)
    assert benefit_of_rows(gain, rope=0.01) == words


def test_a_constant_has_no_learning_curve():
    X, _ = make_views(160)
    y = np.random.default_rng(0).lognormal(sigma=2.0, size=160)  # which no column tells
    given = {"cv": 2, "models": ["linear"], "baselines": ["median"], "scoring": "mae"}
    answer = thorough(X, y, task="regression", curve=True, **given)
    assert answer.explained.model == "baseline:median"
    assert (answer.curve, answer.left_out) == (None, [])


class Watched(Jobs):
    def __init__(self, events):
        super().__init__(1)
        self.events = events

    def run(self, calls):
        self.events.append("run")
        return super().run(calls)


@pytest.mark.parametrize(("smallest", "points"), [(160, 4), (90, 3), (30, None)])
def test_each_fold_is_done_before_the_next_is_encoded(smallest, points):
    """Folds by groups have unlike sizes: a point needs all of them, and the curve the half."""
    X, y = make_views(160)
    events = []

    def folds():
        for n in (160, smallest):
            events.append("fold")
            rows = np.arange(n)
            inner = [(rows[: n // 2], rows[n // 2 :])]
            yield Fold(X[rows], y[rows], X, y, inner)

    run = Run([], Classification(np.unique(y), metric="f1"), 0, 1, ONE)
    row = made_row("pa:concatenated", [0.7, 0.8], chosen=[{"C": 0.1}] * 2)
    learner = find_learner(row.model, "classification", X.layout.names)
    refit = Refit(run, row, learner, folds, Watched(events), 1 / 2)
    curve = learning_curve(refit)
    assert (curve and len(curve.points)) == points
    assert events == ["fold", "run", "fold", "run"][: 4 if points else 3]
    events.clear()
    assert len(ablate(refit)) == 3
    assert events == ["fold", "run", "fold", "run"]


def test_a_point_of_the_learning_curve_needs_each_class_in_the_rows_that_learn():
    y = np.repeat([0, 1, 2], 6)
    X = MultiView({"a": np.arange(18.0)[:, None]})
    rows = np.arange(18)
    fold = Fold(X, y, X, y, [(rows[rows % 3 > 0], rows[rows % 3 == 0])])
    assert fold.take(np.array([0, 1, 6, 7, 12, 13]), 3).y_train.tolist() == [0, 0, 1, 1, 2, 2]
    lacking = np.array([0, 1, 6, 7, 12, 15])  # class 2 only where nothing is learned
    assert fold.take(lacking, 3) is None
    assert fold.take(lacking) is not None  # as of numbers


def test_points_of_the_learning_curve_have_different_rows():
    X, y = make_views(160)
    y = np.array([f"class {k}" for k in np.arange(160) % 7])
    answer = thorough(X, y, curve=True, **GIVEN | {"scoring": None})
    rows = [point.rows for point in answer.curve.points]
    assert len(rows) > 1
    assert rows == sorted({*rows})  # three rows of each class are no fewer than the half of them


def test_each_class_has_its_precision_and_recall():
    row = made_row("arow", [0.9, 0.8], confusion=[[8, 2], [0, 10]])
    (table,) = class_tables(made_answer([row]))
    assert [list(column) for column in zip(*table.rows, strict=True)] == [
        ["no", "yes"],
        ["10", "10"],
        ["1.000", "0.833"],
        ["0.800", "1.000"],
        ["0.889", "0.909"],
        ["yes (2)", ""],
    ]
    row.confusion = None
    assert list(class_tables(made_answer([row]))) == []


def test_of_many_classes_the_worst_ones_are_shown():
    """The one that is never right and has most rows is first, and one without rows is none."""
    counts = np.diag(np.arange(25) + 5)
    counts[0] = 0
    for k, other, n in ((7, 8, 2), (9, 10, 5), (11, 12, 1)):
        counts[k, other], counts[k, k] = n, counts[k, k] - n
    for k in (3, 4):
        counts[k, 24], counts[k, k] = counts[k, k], 0
    table, line = tables_of_classes("class", [f"c{k}" for k in range(25)], counts)
    assert [row[0] for row in table.rows[:4]] == ["c4", "c3", "c24", "c9"]
    assert [table.rows[0][k] for k in (1, 4, 5)] == ["9", "0.000", "c24 (9)"]
    assert len(table.rows) == 10
    assert line.startswith("the 10 of 25 classes with the lowest f1; --report FILE has all")


def test_rows_that_an_ensemble_does_not_count_are_said():
    whole, some = made_row("cw", [0.9, 0.8], confusion=[[8, 2], [0, 10]]), [[4, 1], [0, 5]]
    note = "the arow is made of 10 of the 20 rows held out, and scored on them: with 2 classes no"
    for confusion, said in ((some, 1), (whole.confusion, 0)):
        answer = made_answer([made_row("arow", [0.95, 0.9], confusion=confusion), whole])
        assert sum(line.startswith(note) for line in comparison_notes(answer)) == said


def test_groups_may_be_a_column_which_is_in_no_view():
    frame = make_frame(90)
    users = np.arange(90) // 4  # a column has numbers in the order in which they come
    given = GIVEN | {"models": ["view:weak"]}
    by_name = thorough(frame.assign(weak__user=users), "answer", groups="weak__user", **given)
    by_array = thorough(frame, "answer", groups=users, **given)
    assert by_name.views == by_array.views
    scores = by_name.best.scores
    assert scores == by_array.best.scores != thorough(frame, "answer", **given).best.scores
    with pytest.raises(InputError, match="groups='user' names a column, and X has views"):
        thorough(*make_views(), groups="user", **given)


def test_bins_are_chosen_where_a_number_is_not_better_the_higher_it_is():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a__x": rng.normal(size=240), "b__z": rng.normal(size=240)})
    y = np.where(np.abs(frame["a__x"]) > 0.7, "yes", "no")
    grid = {name: values for name, values in ONE.items() if name != "bins"}
    given = GIVEN | {"grid": grid}
    answer = thorough(frame.assign(answer=y), "answer", **given)
    assert answer.best.setting == {"C": 0.1, "bins": 10}
    assert answer.train_options[-2:] == ["--bins", "10"]
    for f, (a, b) in enumerate(folds(y)):
        encoder = ViewEncoder(bins=10, scale_views=False).fit(frame.iloc[a])
        parts = (encoder.transform(frame.iloc[part]) for part in (a, b))
        X_train, X_test = parts
        assert answer.best.scores[f] == pytest.approx(f1(X_train, y[a], X_test, y[b]))


@pytest.mark.parametrize(("metric", "ends"), [("f1", (0.0, 1.0)), ("log_loss", (0.0, np.inf))])
def test_intervals_of_two_folds_are_of_what_the_metric_can_be(metric, ends):
    rows = [made_row("arow", [0.99, 0.9]), made_row("cw", [0.7, 0.1])]
    answer = made_answer(rows, metric=metric)
    for row in answer.rows[1:]:
        low, high = (answer.best.value + end for end in answer.difference_interval(row))
        assert ends[0] <= low <= row.value <= high <= ends[1]
        assert low == 0.0
    low, high = answer.interval_of(Posterior(0.1, 1.0, 1))
    assert (low, high) == (-1.0, 1.0) or (metric == "log_loss" and high > 10.0)
