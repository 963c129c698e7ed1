"""Comparing in the order of the stream."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from comparing import ONE, compare, make_frame, make_noisy
from crossview import (
    PassiveAggressiveClassifier,
    open_table,
)
from crossview.catalog.learners import find_learner
from crossview.evaluation.significance import holm
from reference.jackknife import block_jackknife


def test_progressive_by_hand():
    X, y = make_noisy(120)
    models = ["view:strong", "view:weak", "pa:squared", "scw", "mvm"]
    answer = compare(X, y, progressive=True, grid=ONE, threshold=None, models=models)
    assert (answer.n_rows, answer.n_scored) == (120, 108)
    true, all_predicted = y[12:], []
    for row in answer.rows:
        method = find_learner(row.model, "classification", X.layout.names)
        seen = method.select_view(X)
        model = method.make(**method.on_stream(row.setting), random_state=0)
        model.partial_fit(seen[:12], y[:12], classes=["no", "yes"])
        predicted = []
        for i in range(12, 120):
            predicted += model.predict(seen[i]).tolist()
            model.partial_fit(seen[i], y[i : i + 1])
        all_predicted.append(np.array(predicted))
        assert row.value == pytest.approx(f1_score(true, predicted, pos_label="yes"))
        assert row.accuracy == pytest.approx(np.mean(all_predicted[-1] == true))

    def difference(i, j):
        """Of the F1 of row i from that of row j."""
        f1 = [
            lambda rows, k=k: f1_score(true[rows], all_predicted[k][rows], pos_label="yes")
            for k in (i, j)
        ]
        return block_jackknife(108, lambda rows: f1[0](rows) - f1[1](rows))

    pairs = list(combinations(range(len(answer.rows)), 2))
    adjusted = dict(zip(pairs, holm([difference(*pair).p for pair in pairs]), strict=True))
    best, *others = answer.rows
    assert best.difference is best.p is best.p_adjusted is None
    for i, row in enumerate(others, start=1):
        expected = difference(i, 0)
        assert row.difference.location == pytest.approx(expected.location)
        assert row.difference.scale == pytest.approx(expected.scale)
        assert row.difference.degrees == expected.degrees == 53
        assert row.p == pytest.approx(expected.p)
        assert row.p_adjusted == pytest.approx(adjusted[0, i])
    assert len({row.p for row in others}) > 3


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
        for rows in (7, 1000)
    ]
    assert answers[0].n_scored == 360
    for other in answers[1:]:
        for row, same in zip(other.rows, answers[0].rows, strict=True):
            assert (row.value, row.p, row.difference) == (same.value, same.p, same.difference)


def test_progressive_chooses_on_the_first_part():
    X, y = make_noisy(1000)
    grid = [0.001, 1000.0]
    answer = compare(X, y, progressive=True, grid={"C": grid}, threshold=None)
    values = []
    for C in grid:
        model = PassiveAggressiveClassifier(C=C)
        scores = model.score_then_learn(X["strong"][:100], y[:100], classes=["no", "yes"])
        values.append(f1_score(y[:100] == "yes", scores > 0))
    assert values[0] != values[1]
    (strong,) = (row for row in answer.rows if row.model == "view:strong")
    assert strong.setting == {"C": grid[int(np.argmax(values))]}


def test_rows_of_text_are_counted_and_a_tenth_of_them_chooses(tmp_path):
    make_frame(1200).to_csv(tmp_path / "t.csv", index=False)
    for source in (tmp_path / "t.csv", f"SELECT * FROM '{tmp_path / 't.csv'}'"):
        answer = compare(source, "answer", progressive=True, grid=ONE, models=["scw", "view:weak"])
        assert (answer.n_rows, answer.n_scored) == (1200, 1080)
