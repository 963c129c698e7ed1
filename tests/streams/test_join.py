"""Rows of two tables that belong together."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from crossview import InputError, join_tables, open_table

SHOWN = pa.table({"id": [7, 8, 9], "ad__size": [1.0, 2.0, 3.0]})


def rows(stream):
    return pa.Table.from_batches([batch.data for batch in stream], stream.schema)


def test_the_order_is_that_of_the_first_table_in_batches_too():
    rng = np.random.default_rng(0)
    left = pa.table({"id": rng.permutation(5000), "day": rng.integers(0, 3, 5000)})
    left = left.append_column("x", pa.array(rng.normal(size=5000)))
    kept = rng.permutation(5000)[:2000]
    place = np.argsort(left["id"].to_numpy())
    labels = np.where(kept % 3 == 0, "yes", "no")
    right = pa.table({"id": kept, "day": left["day"].to_numpy()[place[kept]], "y": labels})
    for on in (None, ["id", "day"]):
        stream = join_tables(open_table(left, batch_rows=300), right, on)
        assert stream.n_rows == 2000
        got = rows(stream)
        assert got.column_names == ["id", "day", "x", "y"]
        expected = [one for one in left.to_pylist() if one["id"] in set(kept.tolist())]
        labels_of = dict(zip(kept.tolist(), labels.tolist(), strict=True))
        assert got.to_pylist() == [one | {"y": labels_of[one["id"]]} for one in expected]
        assert rows(stream.select(["y"]))["y"].equals(got["y"])


def test_words_stay_words_and_categories_of_digits_too(tmp_path):
    (tmp_path / "a.csv").write_text("id,zip\n1,0012\n2,0013\n")
    (tmp_path / "b.csv").write_text("id,y\n2,yes\n1,no\n")
    stream = join_tables(tmp_path / "a.csv", tmp_path / "b.csv", "id")
    assert stream.files == [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    stream = stream.as_written(["y"]).as_kinds(["zip"], [])
    assert rows(stream)["y"].to_pylist() == ["no", "yes"]
    assert rows(stream)["zip"].to_pylist() == ["0012", "0013"]


@pytest.mark.parametrize(
    ("right", "on", "message"),
    [
        ({"id": [7, 7], "y": [1, 2]}, "id", "has id 7 twice; give each row once"),
        ({"id": ["7"], "y": [1]}, None, "column 'id': is text in one table of the join"),
        ({"ids": [7], "y": [1]}, "id", "no column 'id' to join by; did you mean 'ids'"),
        ({"ids": [7], "y": [1]}, None, "have no column in common"),
        ({"id": [17], "y": [1]}, None, "no id is in both tables"),
        ({"id": [7], "ad__size": [1]}, "id", "column 'ad__size': is in both tables"),
    ],
)
def test_what_cannot_be_joined_is_one_line(right, on, message):
    with pytest.raises(InputError, match=message):
        join_tables(SHOWN, pa.table(right), on)


def test_what_cannot_be_read_is_named_by_its_file(tmp_path):
    (tmp_path / "b.csv").write_text("id,y\n7,1\n8\n")
    with pytest.raises(InputError, match=r"b\.csv"):
        join_tables(SHOWN, tmp_path / "b.csv")
