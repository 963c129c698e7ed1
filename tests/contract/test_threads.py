"""Predicting shares nothing between threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import is_classifier

from contract.instances import make_rows, new, params, scores_of, streams
from crossview import InputError
from crossview.encoding.plan import Plan
from crossview.encoding.view_columns import plan_columns
from crossview.estimators.base import learner as reading


def named_row(seed):
    rng = np.random.default_rng(seed)
    return {"a": {f"x{j}": float(rng.normal()) for j in range(4)}, "b": {"z": float(seed)}}


def score_of(model, row):
    if is_classifier(model):
        return tuple(model.predict_proba_one(row).values())
    return model.predict_one(row)


@pytest.mark.parametrize("name", params(streams, each_loop=True))
def test_a_row_is_not_answered_with_another_row(name, monkeypatch):
    model = new(name)
    if "views" in model.get_params():
        model.set_params(views=None)
    try:
        for i in range(30):
            model.learn_one(named_row(i), ["ant", "bee"][i % 2] if is_classifier(model) else i % 2)
    except InputError:
        return  # its groups or experts name views
    rows = [named_row(100 + i) for i in range(8)]
    alone = [score_of(model, row) for row in rows]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda row: score_of(model, row), rows * 20)) == alone * 20

    make_row_of = reading.make_row

    def interrupted(*args, **options):  # another thread comes in between reading and scoring
        monkeypatch.setattr(reading, "make_row", make_row_of)
        score_of(model, rows[1])
        return make_row_of(*args, **options)

    monkeypatch.setattr(reading, "make_row", interrupted)
    assert score_of(model, rows[0]) == alone[0]


def test_batches_are_predicted_in_threads(learner_of_loop):
    X, y = make_rows()
    y = y if is_classifier(learner_of_loop) else np.arange(float(len(y)))
    model = learner_of_loop.fit(X, y)
    parts = [X[i : i + 10] for i in range(0, 80, 10)]
    alone = [scores_of(model, part) for part in parts]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda part: scores_of(model, part), parts * 5))
    for a, b in zip(found, alone * 5, strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_encoder_does_not_return_the_batch_of_another_thread(monkeypatch):
    tables = [pd.DataFrame({"a__x": [float(i), i + 1.0]}) for i in range(2)]
    plan = Plan(plan_columns(pa.schema([("a__x", pa.float64())]), ["a__x"], None, {}), 1, 0)
    batches = [plan.decode(table) for table in tables]
    answers = iter([*zip(tables, batches, strict=True)] * 2)  # each look finds another one
    monkeypatch.setattr(
        Plan,
        "_recent",
        property(lambda self: next(answers), lambda self, value: None),
        raising=False,
    )
    assert plan.decode(tables[0]) is batches[0]
