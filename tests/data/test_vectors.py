"""Vectors in rows, such as embeddings: each of their numbers is a column of a view."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crossview import (
    InputError,
    MultiViewPAClassifier,
    ViewEncoder,
    compare,
    describe,
    evaluate,
    load,
    make_pipeline,
    open_table,
    predict,
    train,
)
from crossview.errors import NumbersAsTextWarning
from crossview.exporting.checking import as_program
from crossview.exporting.plan import make_plan

pytestmark = pytest.mark.filterwarnings("ignore:a view 'rest' has:crossview.GuessWarning")

N, RNG = 60, np.random.default_rng(0)
VECTORS = {"text": RNG.normal(size=(N, 3)), "image": RNG.normal(size=(N, 2))}
GONE = 7  # a row without the vector of its text
ROWS = [
    {
        "text": None if i == GONE else VECTORS["text"][i].tolist(),
        "image": VECTORS["image"][i].tolist(),
        "age": 20 + i,
        "click": bool(VECTORS["text"][i, 0] + VECTORS["image"][i, 1] > 0),
    }
    for i in range(N)
]
FLAT = [
    {
        **{f"text__{k}": row["text"] and row["text"][k] for k in range(3)},
        **{f"image__{k}": row["image"][k] for k in range(2)},
        "age": row["age"],
        "click": row["click"],
    }
    for row in ROWS
]
FIXED = pa.schema(
    [
        ("text", pa.list_(pa.float64(), 3)),
        ("image", pa.large_list(pa.float64())),
        ("age", pa.int64()),
        ("click", pa.bool_()),
    ]
)


@pytest.fixture(params=["jsonl", "parquet", "fixed", "query", "pandas", "polars"])
def source(request, tmp_path):
    table = pa.Table.from_pylist(ROWS)
    if request.param == "pandas":
        frame = table.to_pandas()
        assert isinstance(frame["image"][0], np.ndarray)
        return frame
    if request.param == "polars":
        return pl.from_arrow(table).with_columns(pl.col("text").cast(pl.Array(pl.Float64, 3)))
    if request.param == "fixed":
        return pa.Table.from_pylist(ROWS, FIXED)
    path = tmp_path / f"rows.{'jsonl' if request.param == 'jsonl' else 'parquet'}"
    if request.param == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    else:
        pq.write_table(table, path, row_group_size=25)
    return f"SELECT * FROM '{path}'" if request.param == "query" else path


def test_each_number_is_a_column_of_its_view(source):
    table = open_table(source, batch_rows=16)
    assert table.column_names == list(FLAT[0])
    assert [row for batch in table for row in batch.X.to_pylist()] == FLAT
    some = ["click", "text__2"]
    found = [row for batch in table.select(some) for row in batch.X.to_pylist()]
    assert found == [{name: row[name] for name in some} for row in FLAT]


def test_vectors_are_predicted_as_their_columns_are(source, tmp_path):
    trained = train(source, "click", output=tmp_path / "m.st", model="arow")
    assert trained.learner.layout_.names == ("text", "image", "rest")
    expected = predict(tmp_path / "m.st", source)
    assert predict(tmp_path / "m.st", pa.Table.from_pylist(FLAT)).equals(expected)
    model = load(tmp_path / "m.st")
    for row, flat, p in zip(ROWS, FLAT, expected["probability_true"].to_pylist(), strict=True):
        own = {name: cell for name, cell in row.items() if name != "click"}
        assert model.predict_proba_one(own)[True] == p
        assert model.predict_proba_one({k: v for k, v in flat.items() if k != "click"})[True] == p
        arrays = own | {"image": np.array(own["image"], dtype=np.float64)}
        assert model.predict_proba_one(arrays)[True] == p


def test_an_encoder_of_frames_takes_vectors():
    frame = pd.DataFrame(ROWS).drop(columns="click")
    y = [row["click"] for row in ROWS]
    model = make_pipeline(ViewEncoder(), MultiViewPAClassifier()).fit(frame, y)
    flat = pd.DataFrame(FLAT).drop(columns="click")
    assert list(model[0].feature_names_in_) == list(flat.columns)
    scores = model.decision_function(frame)
    np.testing.assert_array_equal(model.decision_function(flat), scores)
    gone = frame.iloc[[GONE]]
    assert gone["text"].isna().all()
    np.testing.assert_array_equal(model.decision_function(gone), scores[[GONE]])
    short = frame.iloc[:3].assign(text=[[1.0, 2.0]] * 3)
    with pytest.raises(InputError, match="row 0, column 'text': holds 2 numbers, and 3 in other"):
        model.predict(short)


def test_a_stream_that_begins_with_vectors():
    model = make_pipeline(ViewEncoder(), MultiViewPAClassifier())
    flat = make_pipeline(ViewEncoder(), MultiViewPAClassifier())
    for row, own in zip(ROWS, FLAT, strict=True):
        if row["text"] is not None:
            model.learn_one({k: row[k] for k in ("text", "image", "age")}, row["click"])
            flat.learn_one({k: v for k, v in own.items() if k != "click"}, row["click"])
    assert model[0].view_columns() == flat[0].view_columns()
    row = {"text": None, "image": [1.0, 2.0], "age": 3}
    same = {"image__0": 1.0, "image__1": 2.0, "age": 3}
    assert model.predict_proba_one(row) == flat.predict_proba_one(same)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": [1.0, 2.0]}, "column 'text': is a vector of 3 numbers, and not of 2"),
        ({"text": ["a", 1, 2]}, "column 'text__0': 'a' is not a number"),
        (
            {"text": "a"},
            r"column 'text': is a view, and 'a' has no columns: .* as \[...\], or null",
        ),
    ],
)
def test_a_row_with_another_vector(row, message):
    model = make_pipeline(ViewEncoder(), MultiViewPAClassifier())
    model.learn_one({"text": [1.0, 2.0, 3.0], "age": 1}, "yes")
    with pytest.raises(InputError, match=message):
        model.predict_one(row)


def test_some_numbers_of_a_vector_may_be_views():
    views = {"a": ["text__2", "image__1"], "b": ["age"]}
    table = pa.Table.from_pylist(ROWS).drop_columns(["click"])
    model = make_pipeline(ViewEncoder(views), MultiViewPAClassifier())
    model.fit(table, [row["click"] for row in ROWS])
    row = table.to_pylist()[0]
    assert model.predict_proba_one(row)[True] == model.predict_proba(table)[0, 1]
    with pytest.raises(InputError, match="column 'text': is a vector of 3 numbers, and not of 1"):
        model.predict_one(row | {"text": [1.0]})
    program = as_program(make_plan(model))
    assert program.predict_proba(row)[True] == pytest.approx(model.predict_proba(table)[0, 1])
    with pytest.raises(ValueError, match="'text' is a vector of 3 numbers, and not of 1"):
        program.predict(row | {"text": [1.0]})


def test_a_vector_of_another_length_has_a_place(tmp_path):
    rows = [{"v": [1.0, 2.0], "click": i % 2} for i in range(3000)]
    rows[2100]["v"] = [1.0, 2.0, 3.0]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    message = r"rows.parquet, row 2100, column 'v': holds 3 numbers, and 2 in other rows"
    with pytest.raises(InputError, match=message):
        train(tmp_path / "rows.parquet", "click", model="perceptron")


@pytest.mark.filterwarnings("ignore:column .* is not as in training")
@pytest.mark.parametrize("use", ["predict", "evaluate", "train"])
def test_a_model_of_vectors_does_not_take_others_for_missing_ones(use, tmp_path):
    table = pa.Table.from_pylist(ROWS)
    trained = train(table, "click", output=tmp_path / "m.st", model="arow")
    others = [row | {"text": [1.0] * (2 + i % 2)} for i, row in enumerate(ROWS)]
    words = pa.Table.from_pylist([row | {"text": "a"} for row in ROWS])
    used = {
        "predict": lambda rows: predict(trained, rows),
        "evaluate": lambda rows: evaluate(trained, rows, "click"),
        "train": lambda rows: train(rows, init=tmp_path / "m.st"),
    }[use]
    with pytest.raises(InputError, match="row 0, column 'text': holds 2 numbers, and 3 in other"):
        used(pa.Table.from_pylist(others))
    with pytest.raises(InputError, match="'text': holds string, and the model has a vector of 3"):
        used(words)
    none = table.set_column(0, "text", pa.nulls(N, pa.list_(pa.float64())))
    if use == "predict":
        expected = used(pa.Table.from_pylist([row | {"text": None} for row in ROWS]))
        assert used(none).equals(expected)


def test_lists_that_are_no_vectors_are_said_to_be_none():
    rows = [{"tags": [1.0] * (1 + i % 3), "age": i, "click": i > 30} for i in range(60)]
    table = pa.Table.from_pylist(rows)
    with pytest.raises(InputError, match=r"column 'tags': holds list.* of different lengths"):
        train(table, "click", model="perceptron")
    trained = train(table, "click", model="perceptron", encoder=ViewEncoder(ignore="tags"))
    assert trained.learner.layout_.names == ("all",)


def test_a_prefix_names_its_columns():
    table = pa.Table.from_pylist(ROWS)
    both = train(table, "click", views={"both": ["text", "image"]}, model="perceptron")
    assert both.encoder.view_columns() == {"both": list(FLAT[0])[:5]}
    rest = train(table, "click", encoder=ViewEncoder(ignore="text"), model="perceptron")
    assert rest.learner.layout_.names == ("image", "rest")


def test_matrices_and_half_floats():
    images = pa.array(
        [[[1, 2], [3, 4]], None, [[5, 6], [7, 8]]], pa.list_(pa.list_(pa.int8(), 2), 2)
    )
    halves = pa.array([[0.5, np.nan]] * 3, pa.list_(pa.float32(), 2)).cast(
        pa.list_(pa.float16(), 2)
    )
    (batch,) = open_table(pa.table({"image": images, "half": halves}))
    assert batch.X.to_pydict() == {
        "image__0__0": [1.0, None, 5.0],
        "image__0__1": [2.0, None, 6.0],
        "image__1__0": [3.0, None, 7.0],
        "image__1__1": [4.0, None, 8.0],
        "half__0": [0.5] * 3,
        "half__1": [None] * 3,
    }


def test_a_long_vector_is_one_line_of_a_description():
    vectors = pa.array(RNG.normal(size=(50, 20)).tolist())
    found = describe(pa.table({"v": vectors, "age": list(range(50))}))
    assert [row[0] for row in found.cells()] == ["column", "v__0 to __19", "age"]
    assert len(found.columns) == 21


@pytest.mark.parametrize("write", [json.dumps, lambda v: str(np.array(v))], ids=["json", "numpy"])
def test_vectors_as_text_are_told_of_with_a_query_that_reads_them(write, tmp_path):
    frame = pd.DataFrame({"v": [write(v) for v in RNG.normal(size=(50, 12)).round(3).tolist()]})
    path = tmp_path / "rows.csv"
    frame.assign(click=[0, 1] * 25).to_csv(path, index=False)
    (words,) = describe(path, "click").columns[0].warnings
    query = words.partition("read it by a query, ")[2].replace("...", f"'{path}'")
    assert open_table(query).column_names == [*(f"v__{k}" for k in range(12)), "click"]
    with pytest.warns(NumbersAsTextWarning, match="'v' is learned as a category"):
        compare(path, "click", models=["perceptron"], cv=2)
