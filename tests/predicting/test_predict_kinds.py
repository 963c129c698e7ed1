"""Prediction reads a text file with the kinds of the model, whatever its values look like."""

import datetime
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import crossview
from crossview import InputError, ViewEncoder

DAYS = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]
COLUMNS = "u__zip,u__n,u__flag,u__old,p__x,p__t"
ROWS = [
    "A1,1,yes,True,1.5,one two",
    "22,2,maybe,False,2.5,two",
    "33,3,no,True,0.5,one",
    "007,4,yes,,1.0,22",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("kinds") / "train.csv"
    labels = ["p", "q", "p", "q"]
    lines = [f"{row},{label}" for row, label in zip(ROWS, labels, strict=True)] * 5
    path.write_text("\n".join([f"{COLUMNS},y", *lines]) + "\n")
    return crossview.train(path, "y", model="pa:squared", encoder=ViewEncoder(text=["p__t"])).fitted


def scores(model, path, rows):
    path.write_text("\n".join([COLUMNS, *rows]) + "\n")
    return crossview.predict(model, path)["score"].to_pylist()


@pytest.mark.parametrize("some", [[1], [3], [1, 2], [0, 2], [1, 3]])
def test_some_rows_have_the_scores_that_they_have_among_all(some, model, tmp_path):
    path = tmp_path / "new.csv"
    whole = scores(model, path, ROWS)
    assert scores(model, path, [ROWS[i] for i in some]) == [whole[i] for i in some]


def test_a_column_that_is_empty_today_is_missing(model, tmp_path):
    path = tmp_path / "new.csv"
    gap = ROWS[0].replace("A1", "").replace("1.5", "")
    whole = scores(model, path, [*ROWS, gap])
    assert scores(model, path, [gap, gap]) == [whole[-1]] * 2


def test_a_number_that_is_none_is_named_by_its_row(model, tmp_path):
    with pytest.raises(InputError, match="row 1, column 'p__x': Could not convert string \"n/a\""):
        scores(model, tmp_path / "new.csv", [ROWS[1], ROWS[2].replace("0.5", "n/a")])


def test_lines_of_json_too(model, tmp_path):
    row = dict(zip(COLUMNS.split(","), (22, 2, "maybe", False, 2.5, "two"), strict=True))
    (tmp_path / "new.jsonl").write_text(json.dumps(row) + "\n")
    found = crossview.predict(model, tmp_path / "new.jsonl")["score"].to_pylist()
    assert found == scores(model, tmp_path / "new.csv", [ROWS[1]])


def test_true_and_false_are_numbers_where_they_are_declared(tmp_path):
    path = tmp_path / "flags.csv"
    path.write_text("a__x,b__y,l\nTrue,1,p\nfalse,2,q\n")
    table = crossview.ViewEncoder(numeric=["a__x"])
    (batch,) = crossview.open_table(path).select(["a__x", "b__y"])
    assert table.fit(batch.X).mean_.tolist() == [0.5, 1.5]


@pytest.mark.parametrize("first", [0, 1])
def test_rows_that_lack_a_view_are_counted_in_any_order(first, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(10_000, 2)), columns=["a__x", "b__x"])
    table["y"] = np.where(table.sum(axis=1) > 0.0, "p", "q")
    model = crossview.train(table[:2000], "y", model="pa:squared")
    table.loc[first::2, "a__x"] = None  # each second one
    with pytest.warns(UserWarning, match=".") as said:
        crossview.predict(model, table)
    assert "missing in 50% of the rows, in training in 0%" in str(said[0].message)
    table.loc[:6, "b__x"] = None
    n = len(table[:6][first::2])
    with pytest.warns(UserWarning, match=".") as said:
        crossview.predict(model, table[:6])
    assert str(said[0].message).startswith(f"{n} of 6 rows have no value in any view: what is")


def test_a_link_to_no_file_is_called_that(tmp_path):
    (tmp_path / "a.csv").symlink_to("b.csv")
    with pytest.raises(InputError, match=r"a.csv: is a link to 'b.csv', which is not there"):
        crossview.open_table(tmp_path / "a.csv")


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("labels", "names"),
    [([0.0, 1.0, 2.0], ["0", "1", "2"]), ([False, True], ["false", "true"]), (DAYS, None)],
    ids=["floats", "booleans", "dates"],
)
def test_columns_of_classes_are_called_as_labels_are_written(labels, names, suffix, tmp_path):
    table = pa.table(
        {"u__x": [i % len(labels) for i in range(24)], "p__x": [1, 2] * 12, "y": (labels * 12)[:24]}
    )
    path = tmp_path / f"t.{suffix}"
    (pa_csv.write_csv if suffix == "csv" else pq.write_table)(table, path)
    if names is None:
        with pytest.raises(InputError, match="column 'y': the labels are dates, and a model has"):
            crossview.train(path, "y", model="pa:squared")
        return
    model = crossview.train(path, "y", model="pa:squared").fitted
    found = crossview.predict(model, path, tmp_path / "p.csv")
    rows = pa_csv.read_csv(
        tmp_path / "p.csv",
        convert_options=pa_csv.ConvertOptions(column_types={"prediction": pa.string()}),
    )
    assert found == 24
    called = [name for name in rows.column_names if name.startswith("probability_")]
    assert called == [f"probability_{name}" for name in names]
    assert {*rows["prediction"].to_pylist()} <= {*names}
