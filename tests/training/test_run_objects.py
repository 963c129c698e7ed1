"""Encoder, views and scoring of a run: where they may stand, and that none is passed over."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import f1_score

import crossview
from crossview import (
    InputError,
    MultiView,
    Perceptron,
    Scoring,
    ViewEncoder,
    compare,
    describe,
    train,
)
from crossview.saving.model_files import load
from training_runs import make_table

VIEWS = {"n": "n__*", "t": ["t__words"]}


@pytest.fixture(scope="module")
def table():
    rows = make_table(120).drop_columns(["number"])
    return rows.filter(rows["y"].is_valid())


def quick(table, **options):
    return train(table, "y", model="pa:concatenated", **options)


def test_views_are_those_of_either_argument(table):
    given = [
        quick(table, views=VIEWS),
        quick(table, encoder=ViewEncoder(VIEWS)),
        quick(table, views=VIEWS, encoder=ViewEncoder()),
    ]
    assert {str(one.encoder.view_columns()) for one in given} == {
        "{'n': ['n__x', 'n__z'], 't': ['t__words']}"
    }
    for call in (train, compare, describe):
        with pytest.raises(InputError, match="both name views; leave one of them out"):
            call(table, "y", views=VIEWS, encoder=ViewEncoder(VIEWS))


def test_all_parameters_of_the_encoder_are_used_and_it_stays_as_it_is(table, tmp_path):
    encoder = ViewEncoder(ignore=["c__*"], text=["t__words"], standardize=False, bins=3)
    before = encoder.get_params()
    trained = quick(table, encoder=encoder, output=tmp_path / "m.st")
    assert encoder.get_params() == before
    assert not hasattr(encoder, "layout_")
    assert list(trained.encoder.view_columns()) == ["n", "t"]
    assert not load(tmp_path / "m.st")[0].standardize
    same = ViewEncoder(ignore=["c__*", "y"]).fit(table)
    assert list(same.view_columns()) == ["n", "t"]
    with pytest.raises(InputError, match="no column 'c_'"):
        ViewEncoder(ignore=["c_"]).fit(table)


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (ViewEncoder(bins=3), "encoded already; leave bins= out"),
        (ViewEncoder(hash_bits=9), "encoded already; leave hash_bits= out"),
        (ViewEncoder(text="t"), "encoded already; leave text= out"),
        (ViewEncoder(ignore=["t"]), "ignore= is for tables"),
        (ViewEncoder(VIEWS), "names its views"),
    ],
)
def test_an_encoder_does_not_encode_views_again(encoder, message, table):
    X = ViewEncoder().fit_transform(table.drop_columns(["y"]))
    assert isinstance(X, MultiView)
    with pytest.raises(InputError, match=message):
        train(X, table["y"].to_numpy(zero_copy_only=False), encoder=encoder)


def test_dates_are_recognized_unless_none_are_wanted():
    days = [f"2024-01-{day:02}" for day in range(1, 25)]
    rows = pa.table({"a__day": days, "a__x": list(range(24)), "y": ["p", "q"] * 12})
    for encoder, kind in (
        (None, "date"),
        (ViewEncoder(), "date"),
        (ViewEncoder(date=["a__day=%Y-%m-%d"]), "date"),
        (ViewEncoder(date=()), "categorical"),
    ):
        trained = quick(rows, encoder=encoder)
        assert kind in trained.encoder.column_kinds()["a"], encoder
        assert describe(rows, "y", encoder=encoder).columns[0].kind == kind


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": "text"}, "encoder= is a str; give a ViewEncoder"),
        ({"scoring": 1}, "scoring= is an int; give the name of a metric, or a"),
        ({"scoring": "F1"}, "no metric 'F1'; did you mean 'f1'"),
        ({"scoring": "rmse"}, "is about numbers, and classes are predicted"),
    ],
)
def test_what_is_no_encoder_or_scoring_is_refused(options, message, table):
    for call in (train, compare):
        with pytest.raises(InputError, match=message):
            call(table, "y", **options)


def test_an_estimator_is_no_name_of_a_model(table):
    for call in (
        lambda: train(table, "y", model=Perceptron()),
        lambda: compare(table, "y", models=[Perceptron()]),
    ):
        with pytest.raises(InputError, match=r"a model is given by its name, .* a Perceptron;"):
            call()


def test_what_train_returned_is_saved_as_train_saves_it(table, tmp_path):
    trained = train(table, "y", model="arow", output=tmp_path / "by train")
    crossview.save(trained, tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes() == (tmp_path / "by train").read_bytes()
    assert crossview.weights(trained).equals(crossview.weights(tmp_path / "saved"))


def test_scoring_is_checked_where_it_is_made():
    for wrong, message in (
        ({"metric": "none such"}, "no metric 'none such'"),
        ({"metric": "rmse", "k": 3}, "k=3 is for"),
        ({"k": 0}, "k=0; give a whole number of rows"),
        ({"cost": {"fp": 1}}, "give that of a false positive"),
        ({"metric": "f1", "cost": {"fp": 1, "fn": 2}}, "is for cost"),
        ({"threshold": 1.5}, "threshold=1.5; give a probability"),
        ({"threshold": "best"}, "threshold='best'; give a probability"),
    ):
        with pytest.raises(InputError, match=message):
            Scoring(**wrong)
    assert Scoring.of("f2") == Scoring("f2")
    assert Scoring.of(None).given() == {}


def test_shuffling_rows_whose_order_may_mean_something_is_said():
    rng = np.random.default_rng(0)
    state = np.cumsum(rng.random(400) < 0.1) % 2
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(k) for k in range(400)]
    random, ordered, runs = (
        pa.table({"x": 6 * y + rng.normal(size=400), "y": y})
        for y in (rng.permutation(state), np.sort(state), state)
    )
    dated = random.append_column("day", [days])

    def said(table, **options):
        return [line for line in quick(table, **options).warnings if "shuffled" in line]

    assert said(random) == said(ordered) == []  # rows sorted by label have to be shuffled
    (line,) = said(runs)
    assert "in their order the label changes in" in line
    assert "in_order=True learns them in order" in line
    (line,) = said(dated)
    assert "'day' is a date. For a stream that goes on, time='day' or in_order=True" in line
    assert said(runs, in_order=True) == said(runs, in_order=False) == said(dated, time="day") == []


def test_rows_in_order_are_remembered_where_the_last_label_predicts_the_next_one():
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.random(2600) < 0.1) % 2
    table = pa.table({"x": 0.5 * y + rng.normal(size=2600), "y": y})
    mixed = table.take(rng.permutation(2600))

    def trained(rows, **options):
        found = train(rows, "y", model="stacking", task="classification", **options)
        return found, [line for line in found.notes if "the last labels predict" in line]

    shuffled, said = trained(table, in_order=False)
    assert (shuffled.learner.memory, said) == (False, [])
    without, said = trained(table, in_order=True, settings={"memory": False})
    assert said == []
    ordered, (line,) = trained(table, in_order=True)
    assert "nats a row" in line
    assert ordered.accuracy > without.accuracy + 0.05
    # the same model, for rows of a table
    X = ordered.encoder.transform(table.drop(["y"]))
    p, expected = (one.learner.predict_proba(X) for one in (ordered, without))
    np.testing.assert_array_equal(p, expected)
    random, said = trained(mixed, in_order=True)
    assert (random.learner.memory, said) == (True, [])


def test_rows_without_their_last_labels_are_decided_by_a_threshold_of_their_own(tmp_path):
    rng = np.random.default_rng(0)
    y = np.zeros(6000, dtype=int)  # one of four rows, in runs
    for t in range(1, 6000):
        y[t] = rng.random() < (0.88 if y[t - 1] else 0.04)
    table = pa.table({"x": y + rng.normal(size=6000), "y": y})
    past, later = table[:4000], table[4000:].take(rng.permutation(2000))

    def f1(model, rows):
        X, truth = rows.drop(["y"]), rows["y"].to_numpy()
        return f1_score(truth, model.predict(X))

    given = {"model": "stacking", "in_order": True, "scoring": Scoring("f1", positive=1)}
    file = tmp_path / "model.safetensors"
    found = train(past, "y", output=file, **given)
    without = train(past, "y", settings={"memory": False}, **given)
    (note,) = [line for line in found.notes if "the last labels predict" in line]
    assert f"had f1 {without.metric['value']:.4g} without them on these rows" in note
    assert found.threshold == without.threshold == found.learner.threshold_
    assert found.predicted_rows == without.predicted_rows
    model = load(file)
    stack = model[-1]
    assert stack.threshold_ == found.threshold
    assert stack.stream_threshold_ == found.learner.stream_threshold_ != found.threshold
    mine = f1(model, later)
    assert mine == f1(without.fitted, later)
    stack.follow_stream()
    assert stack.threshold_in_use == stack.stream_threshold_
    stack.follow_stream(False).set_threshold(stack.stream_threshold_)  # as it would be
    assert mine > f1(model, later) + 0.01
    # a run in two parts is the same
    parts = train(past[:2500], "y", **given)
    parts = train(past[2500:], init=parts, in_order=True)
    assert (parts.threshold, parts.notes) == (found.threshold, found.notes)
    assert parts.learner.stream_threshold_ == found.learner.stream_threshold_


def test_learners_of_a_stream_have_bins_and_others_none():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    table = pa.table({"x": y + rng.normal(size=60), "z": rng.normal(size=60), "y": y})
    found = {
        model: train(table, "y", model=model).encoder.bins
        for model in ("pa:concatenated", "arow", "logistic-regression")
    }
    assert found == {"pa:concatenated": 10, "arow": None, "logistic-regression": None}
    for bins in (None, 5):
        assert quick(table, encoder=ViewEncoder(bins=bins)).encoder.bins == bins
