"""Comparing in the order of the stream."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from comparisons import ONE, compare, make_frame, make_noisy
from crossview import InputError, PassiveAggressiveClassifier, Scoring, ViewEncoder, open_table
from crossview.catalog.learners import find_learner
from crossview.comparing.result.comparison import ComparisonObserver
from crossview.scoring.diagnostics import ViewDifferences
from crossview.scoring.problems import Classification
from crossview.scoring.significance import holm
from reference.jackknife import block_jackknife


@pytest.mark.parametrize("weighted", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
def test_progressive_by_hand(weighted):
    X, y = make_noisy(120)
    w = np.random.default_rng(1).integers(0, 4, 120) / 2 if weighted else None
    models = ["view:strong", "view:weak", "pa:squared", "scw", "mvm"]
    given = {"grid": ONE, "scoring": Scoring(threshold=None), "models": models, "weight": w}
    answer = compare(X, y, progressive=True, **given)
    assert (answer.n_rows, answer.n_scored) == (120, 120)
    predictions = {}
    for name in models:
        learner = find_learner(name, "classification", X.layout.names)
        seen = learner.select_view(X)
        model = learner.make(**learner.candidates(ONE)[0], random_state=0)
        own = np.ones(120) if w is None else w
        options = {"classes": ["no", "yes"], "sample_weight": own[:12]}
        scores = model.score_then_learn(seen[:12], y[:12], **options)
        predicted = np.where(scores > 0, "yes", "no").tolist()
        for i in range(12, 120):
            predicted += model.predict(seen[i]).tolist()
            model.partial_fit(seen[i], y[i : i + 1], sample_weight=own[i : i + 1])
        predictions[learner.name] = np.array(predicted)
        row = answer.row(learner.name)
        assert row.value == pytest.approx(f1_score(y, predicted, pos_label="yes"))
        assert row.accuracy == pytest.approx(np.mean(predictions[learner.name] == y))
    assert len(models) == len(answer.rows)
    best, is_yes = answer.best, y == "yes"
    assert best.difference is best.p is best.p_adjusted is None

    def difference(row, other):
        said = [predictions[name] == "yes" for name in (row.model, other.model)]

        def f1(found, rows):
            return 2 * np.sum(is_yes & found & rows) / (is_yes[rows].sum() + found[rows].sum())

        return block_jackknife(120, lambda rows: f1(said[0], rows) - f1(said[1], rows))

    for row in answer.rows[1:]:
        expected = difference(row, best)
        assert row.difference.location == pytest.approx(expected.location)
        assert row.difference.scale == pytest.approx(expected.scale)
        assert row.difference.degrees == expected.degrees == 59
        assert row.p == pytest.approx(expected.p)
    # of all pairs, because the data choose the best row; its own come first
    pairs = [difference(row, other).p for other, row in combinations(answer.rows, 2)]
    adjusted = holm(pairs)[: len(models) - 1]
    assert [row.p_adjusted for row in answer.rows[1:]] == pytest.approx(adjusted)
    assert len({row.p for row in answer.rows}) > 3


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
            open_table(frame, batch_rows=rows),
            "label",
            progressive=True,
            grid=ONE,
            encoder=ViewEncoder(hash_bits=6),
        )
        for rows in (7, 1000)
    ]
    assert answers[0].n_scored == 400
    for other in answers[1:]:
        for row, same in zip(other.rows, answers[0].rows, strict=True):
            assert (row.model, row.value) == (same.model, same.value)
            assert (row.p, row.difference) == (same.p, same.difference)


def test_a_stream_tells_the_table_so_far_at_each_doubling_of_its_rows(monkeypatch):
    told = []

    class Observer(ComparisonObserver):
        def partial(self, answer):
            told.append(answer)

    frame = make_frame(400)
    given = {"grid": ONE, "models": ["view:weak", "view:strong"], "progressive": True}
    monkeypatch.setattr("crossview.data.labeled.LabeledSource.batch_rows", 50)
    answer = compare(frame, "answer", observer=Observer(), **given)
    assert [one.n_scored for one in told] == [90, 190, 390]
    for one in (*told, answer):
        for row in one.rows:
            counts = np.array(row.confusion)
            assert counts.sum() == one.n_scored
            assert counts.trace() / counts.sum() == pytest.approx(row.accuracy)
    assert told[0].best.model == "view:strong"
    assert told[0].row("view:weak").difference.degrees == 44
    with pytest.raises(InputError, match="a progressive comparison is not extended"):
        compare(frame, "answer", extend=answer, **given)


def test_looking_at_the_views_does_not_slow_a_model_in_the_table(monkeypatch):
    now = 0.0

    def takes(function, seconds):
        def slow(*args):
            nonlocal now
            now += seconds(*args)
            return function(*args)

        return slow

    clock = SimpleNamespace(perf_counter=lambda: now)
    monkeypatch.setattr("crossview.comparing.stream.time", clock)
    learn = takes(Classification.score_then_learn, lambda task, model, X, *_: 1 + len(X) / 100)
    monkeypatch.setattr(Classification, "score_then_learn", learn)
    look = takes(ViewDifferences.add, lambda *_: 1000)
    monkeypatch.setattr(ViewDifferences, "add", look)
    models = ["view:strong", "pa:squared"]
    X, y = make_noisy(3000)
    answer = compare(X, y, progressive=True, models=models, grid=ONE)
    assert answer.n_scored == 3000
    # one call before the last 675 rows, and one for these
    assert answer.row("view:strong").rows_per_second == pytest.approx(2700 / (2 + 27))
    assert now > 10_000
    # the longest pieces: an eighth of 2,048 rows, before the last 675 and in these
    assert answer.row("pa:squared").rows_per_second == pytest.approx((256 + 256) / (2 + 5.12))


def test_a_stack_that_counts_the_last_labels_says_so():
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.random(2600) < 0.1) % 2
    X = pd.DataFrame({"x": 0.5 * y + rng.normal(size=2600), "y": y})
    models = ["stacking", "pa:concatenated"]
    answer = compare(X, "y", progressive=True, models=models)
    (line,) = answer.note_lines
    assert line.startswith("stacking: the last labels predict the next one")
    assert line in answer.notes
    assert line in str(answer)
    assert answer.best.model == "stacking"
    mixed = X.iloc[rng.permutation(2600)]
    assert compare(mixed, "y", progressive=True, models=models).note_lines == []


def test_progressive_chooses_on_the_first_part():
    X, y = make_noisy(1000)
    grid = [0.001, 1000.0]
    answer = compare(X, y, progressive=True, grid={"C": grid}, scoring=Scoring(threshold=None))
    values = []
    for C in grid:
        model = PassiveAggressiveClassifier(C=C)
        scores = model.score_then_learn(X["strong"][:100], y[:100], classes=["no", "yes"])
        values.append(f1_score(y[:100] == "yes", scores > 0))
    assert values[0] != values[1]
    assert answer.row("view:strong").setting == {"C": grid[int(np.argmax(values))]}


def test_rows_of_text_are_counted_and_a_tenth_of_them_chooses(tmp_path):
    make_frame(1200).to_csv(tmp_path / "t.csv", index=False)
    for source in (tmp_path / "t.csv", f"SELECT * FROM '{tmp_path / 't.csv'}'"):
        answer = compare(source, "answer", progressive=True, grid=ONE, models=["scw", "view:weak"])
        assert (answer.n_rows, answer.n_scored) == (1200, 1200)
