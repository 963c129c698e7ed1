"""Objects in rows: each of their fields is a column."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crossview import InputError, load, open_table, predict, train

ROWS = [
    {
        "user": None if i % 7 == 0 else {"city": "ab"[i % 2], "home": {"km": i / 2, "new": i > 9}},
        "ad": {"price": i * 1.5},
        "click": i % 2 == 1,
    }
    for i in range(60)
]
FLAT = [
    {
        "user__city": row["user"] and row["user"]["city"],
        "user__home__km": row["user"] and row["user"]["home"]["km"],
        "user__home__new": row["user"] and row["user"]["home"]["new"],
        "ad__price": row["ad"]["price"],
        "click": row["click"],
    }
    for row in ROWS
]


@pytest.fixture(params=["jsonl", "parquet", "arrow", "query"])
def source(request, tmp_path):
    table = pa.Table.from_pylist(ROWS)
    if request.param == "arrow":
        return table
    if request.param == "jsonl":
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        return path
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=25)
    return path if request.param == "parquet" else f"SELECT * FROM '{path}'"


def rows_of(stream):
    return [row for batch in stream for row in batch.X.to_pylist()]


def test_each_field_is_a_column_of_its_view(source):
    table = open_table(source, batch_rows=16)
    assert table.column_names == list(FLAT[0])
    assert rows_of(table) == FLAT
    some = ["click", "user__home__km"]
    assert rows_of(table.select(some)) == [{name: row[name] for name in some} for row in FLAT]
    rng = np.random.default_rng(0)
    shuffled = [one for batch in table.with_shuffled_blocks(rng) for one in batch.X.to_pylist()]
    assert sorted(map(str, shuffled)) == sorted(map(str, FLAT))
    with pytest.raises(InputError, match="no column 'user__town'"):
        table.select(["user__town"])


def test_a_model_of_objects_predicts_rows_of_objects_and_of_columns_alike(source, tmp_path):
    trained = train(source, "click", output=tmp_path / "m.st", model="arow")
    assert trained.learner.layout_.names == ("user", "ad")
    expected = predict(tmp_path / "m.st", source)
    assert predict(tmp_path / "m.st", pa.Table.from_pylist(FLAT)).equals(expected)
    model = load(tmp_path / "m.st")
    for row, flat, p in zip(ROWS, FLAT, expected["probability_true"].to_pylist(), strict=True):
        single = model.predict_proba_one({k: v for k, v in flat.items() if k != "click"})
        assert single[True] == p
        objects = {name: row[name] for name in ("user", "ad")}
        assert model.predict_proba_one(objects)[True] == p
        if row["user"] is not None:
            some = {"user": {"city": row["user"]["city"], "home": None}}
            same = {"user__city": flat["user__city"]}
            assert model.predict_proba_one(some) == model.predict_proba_one(same)


def test_a_field_and_a_column_of_one_name_are_an_error():
    with pytest.raises(InputError, match="user__age"):
        open_table(pa.table({"user": [{"age": 1}], "user__age": [2]}))
