"""Tables that hold something unusual: it works, or one line says what is wrong."""

import datetime
import json
import sqlite3
import tracemalloc
import uuid
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crossview
from command_line import python
from crossview import GuessWarning, InputError, ViewEncoder, open_table, train
from crossview.tables.arrow import to_arrow

N = 20


def ids(values):
    """A frame of two rows with an id and a number."""
    return pd.DataFrame({"id": ["u", "v"], "x": values})


TABLE = {"a__x": np.arange(N) * 1.0, "b__y": np.sin(np.arange(N)), "l": ["p", "q"] * (N // 2)}


def not_utf8():
    offsets = np.arange(N + 1, dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), N, [None, pa.py_buffer(offsets), pa.py_buffer(b"\xff" * N)]
    )


COLUMNS = {
    "not_utf8": not_utf8(),
    "binary": pa.array([b"\xff\x00"] * N),
    "list": pa.array([[1, 2]] * N),
    "map": pa.array([[("k", 1)]] * N, pa.map_(pa.string(), pa.int64())),
    "float16": pa.array(np.arange(N, dtype=np.float16) % 2),
    "string_view": pa.array(["u", "v"] * (N // 2), pa.string_view()),
    "uuid": pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([uuid.UUID(int=7).bytes] * N, pa.binary(16))
    ),
}
NOT_IN_CSV = ("binary", "list", "map", "uuid")


@pytest.fixture(scope="module")
def model():
    return crossview.train(pa.table(TABLE), "l", model="view:a").fitted


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_kept_or_refused_in_one_line(name, suffix, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table(TABLE | {name: COLUMNS[name]}), "t.parquet")
    output = f"out.{suffix}"
    if name == "not_utf8" or (suffix == "csv" and name in NOT_IN_CSV):
        with pytest.raises(InputError, match=r"not UTF-8|cannot hold this table") as caught:
            crossview.predict(model, "t.parquet", output, keep=[name])
        assert "\n" not in str(caught.value)
        assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
    else:
        assert crossview.predict(model, "t.parquet", output, keep=[name]) == N
        if suffix == "parquet":
            kept = pq.read_table(output)[name]
            assert kept.to_pylist() == COLUMNS[name].to_pylist()


@pytest.mark.parametrize("classes", [None, ["u", "v"]])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_label_is_learned_or_refused_in_one_line(name, classes, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(TABLE | {"l": COLUMNS[name]}), path)
    options = {"model": "view:a", "classes": classes}
    if name == "string_view":
        assert crossview.train(path, "l", **options).rows == N
        return
    with pytest.raises(InputError, match=r"column 'l': holds|no label column 'l'") as caught:
        crossview.train(path, "l", **options)
    assert "\n" not in str(caught.value)


OTHERS = {
    "list": pa.array([[i % 5, i] for i in range(300)]),
    "list_of_two": pa.array([[i, 1] for i in range(300)], pa.list_(pa.int64(), 2)),
    "texts": pa.array([["u"], ["v", "w"]] * 150),
    "string_view": pa.array(["u", "v"] * 150, pa.string_view()),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([100, 300]), pa.array(["u", "v"])),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_column_in_no_view_may_be_of_any_type(name):
    x, z = np.random.default_rng(0).normal(size=(2, 300))
    table = pa.table({"a__x": x, "b__z": z, "other": OTHERS[name], "l": (x > z).astype(int)})
    assert [column.name for column in crossview.describe(table, "l").columns][:2] == [
        "a__x",
        "b__z",
    ]
    assert crossview.compare(table, "l", models=["view:a"], cv=2, baselines=[]).n_rows == 300


@pytest.mark.parametrize("name", ["string_view", "runs"])
def test_text_in_views_and_runs_is_text(name):
    text = OTHERS[name].to_pylist()
    label = ["p" if (c == "u") != (i % 7 == 0) else "q" for i, c in enumerate(text)]
    rows = {"a__x": np.arange(300.0), "l": label}
    plain, stored = (pa.table(rows | {"b__c": column}) for column in (pa.array(text), OTHERS[name]))
    scores = []
    for table in (plain, stored):
        answer = crossview.train(table, "l", model="view:b")
        scores.append(crossview.predict(answer, table)["score"].to_pylist())
        crossview.compare(table, "l", models=["view:b"], cv=2, baselines=[])
    assert scores[0] == scores[1]


def test_a_label_is_no_long_text():
    long = pa.table(TABLE | {"l": ["p", "q" * 100_000] * (N // 2)})
    with pytest.raises(InputError, match=r"'q{20}\.\.\.' has 100,000 characters, and a class 256"):
        crossview.train(long, "l")


def test_a_long_label_is_in_memory_once_and_not_in_every_row():
    n, width = 4000, 250
    rng = np.random.default_rng(0)
    views = {"a__x": rng.normal(size=n), "b__y": rng.normal(size=n)}
    positive = views["a__x"] + views["b__y"] > 0.5
    values, peaks = [], []
    for label in ("p", "p", "p" * width):  # the first run imports and compiles
        table = pa.table(views | {"l": np.where(positive, label, "q").tolist()})
        tracemalloc.start()
        answer = crossview.train(table, "l", model="pa:concatenated")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        values.append([answer.loss, answer.metric])
        assert answer.fitted[-1].classes_.tolist() == [label, "q"]
    assert values[1] == values[2]
    # an array of text is as wide as the longest one in every row: 4 bytes per character
    assert peaks[2] - peaks[1] < 0.5 * n * width


@pytest.mark.parametrize("seed", [-1, 2**40])
def test_a_seed_fits_the_generators(seed):
    for function in (crossview.train, crossview.compare):
        with pytest.raises(InputError, match=f"seed={seed}; give a whole number from 0 to 42949"):
            function(pa.table(TABLE), "l", seed=seed)


WIDE = [f"a__{'x' * 3000}{i}" for i in range(500)]
FILES = {
    "wide.csv": (",".join(WIDE) + "\n" + ",".join("1" for _ in WIDE) + "\n", None),
    "line.csv": ("a\u2028b,c\n1,2\n", None),
    "nul.csv": ("\0" * (1 << 20), "names no columns"),
    "nuls.csv": ("a,b\n" + "\0" * (1 << 20), "1 fields instead of the 2"),
    "deep.jsonl": ('{"a":' + "[" * 10_000 + "]" * 10_000 + "}\n", "maximum recursion depth"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_text_file_is_read_or_refused_in_one_line(name, tmp_path):
    content, message = FILES[name]
    path: Path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    if message is None:
        (batch,) = crossview.open_table(path)
        assert batch.X.num_rows == 1
        assert ",".join(batch.X.schema.names) == content.split("\n")[0]
        return
    with pytest.raises(InputError, match=message) as caught:
        crossview.open_table(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", COLUMNS)
def test_any_use_of_a_column_works_or_is_one_line(name, model, tmp_path):
    table = tmp_path / "t.parquet"
    pq.write_table(pa.table(TABLE | {name: COLUMNS[name]}), table)
    for use in (
        lambda: crossview.describe(table, name),
        lambda: crossview.evaluate(model, table, name),
        lambda: crossview.evaluate(model, table, "l", by=[name]),
        lambda: crossview.evaluate(model, table, "l", time=name),
        lambda: crossview.train(
            table, "l", views={"v": [name]}, encoder=ViewEncoder(categorical=[name])
        ),
    ):
        message = ""
        try:
            use()
        except InputError as error:
            message = str(error)
        assert "\n" not in message


def test_whole_numbers_that_no_float_holds_make_slices(model):
    table = pa.table(TABLE | {"big": [2**63 - 1 - i for i in range(N)]})
    (one,) = crossview.evaluate(model, table, "l", by=["big"]).by
    assert sum(part.rows for part in one.slices) == N
    unnamed = table.append_column("", table["big"])
    (one,) = crossview.evaluate(model, unnamed, "l", by=[""]).by
    assert sum(part.rows for part in one.slices) == N


def test_names_that_are_no_text_or_hold_a_line_break(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(TABLE), path)
    path.write_bytes(path.read_bytes().replace(b"a__x", b"\xf6__x"))
    with pytest.raises(InputError, match="can't decode byte"):
        crossview.open_table(path)
    with pytest.raises(InputError, match="no label column 'none'") as caught:
        crossview.train(pa.table(TABLE | {"a\nb": [1] * N, "c\u2028d": [1] * N}), "none")
    assert len(str(caught.value).splitlines()) == 1


def test_a_frame_without_names_has_those_of_an_array():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    frame = pd.DataFrame(X)
    fitted = [train(data, y).fitted for data in (X, frame)]
    fitted.append(train(frame.assign(y=y), "y").fitted)
    for model in fitted:
        assert model[0].view_columns() == {"all": ["x0", "x1", "x2"]}
        assert (model.predict_proba(frame[:5]) == fitted[0].predict_proba(X[:5])).all()
    with pytest.raises(InputError, match="two columns are called 'x0'"):
        train(frame.assign(x0=1), y)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_times_of_day_in_text_are_text(suffix, tmp_path):
    """As in a frame of pandas; of type time they were refused."""
    times = [f"{i % 3 + 8:02d}:{i % 2 * 30:02d}" for i in range(N)]
    frame = pd.DataFrame({"at": times, "l": TABLE["l"]})
    if suffix == "csv":
        frame.to_csv(tmp_path / "t.csv", index=False)
    else:
        frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    (batch,) = open_table(tmp_path / f"t.{suffix}")
    assert batch.X.column("at").to_pylist() == times
    train(tmp_path / f"t.{suffix}", "l", model="arow")


def test_text_beside_numbers_is_text_without_its_quotes(tmp_path):
    """DuckDB has a type of its own for such values of JSON, and predict reads them as text."""
    rows = [{"c": c, "y": "ab"[c in ("u", 3)]} for c in ["u", 3, "v", 4, True] * 20]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for source in (path, f"FROM '{path}'"):
        (batch,) = open_table(source)
        assert batch.X.column("c").to_pylist()[:5] == ["u", "3", "v", "4", "true"]
    with pytest.raises(InputError, match="two columns are called 'c'"):
        open_table(f"SELECT c, c FROM '{path}'")
    trained = train(path, "y", model="linear")
    predicted = trained.fitted.predict(pd.DataFrame({"c": ["u", "3", "v"]}))
    assert predicted.tolist() == ["b", "b", "a"]
    assert trained.fitted.predict_proba_one({"c": "u"})["b"] > 0.5


@pytest.mark.parametrize("name", ["*", "^a.*$"])
def test_names_that_polars_reads_as_patterns_are_names(name):
    table = pa.table(TABLE | {name: np.arange(N) % 3 * 1.0})
    assert to_arrow(pl.from_arrow(table)).to_pydict() == table.to_pydict()
    assert to_arrow(pl.from_arrow(table), [name, "l"]).column_names == [name, "l"]


def test_a_label_beyond_64_bits_with_a_sign_is_refused():
    table = pa.table({"a__x": [1.0, 2.0], "y": pa.array([0, 2**64 - 1], pa.uint64())})
    with pytest.raises(InputError, match="the label 18446744073709551615 is too large"):
        crossview.train(table, "y", model="pa:squared")


@pytest.mark.parametrize("column", ["v__c", "label"])
def test_codes_of_one_byte_leave_room_for_a_missing_value(column):
    """128 categories need all positive codes of a byte, so that no one is left for null."""
    names = pa.array([f"c{i:03d}" for i in range(128)])
    codes = pa.array([*range(128), *range(128), None], pa.int8())
    coded = pa.DictionaryArray.from_arrays(codes, names)
    table = pa.table({"u__x": np.arange(257.0), "v__c": coded, "label": coded})
    assert crossview.describe(table, column).n_rows == 257
    known = table.slice(0, 256)
    fitted = crossview.train(
        known, "label", views={"u": "u__*", "v": "v__*"}, model="pa:squared"
    ).fitted
    assert crossview.evaluate(fitted, table.slice(1), "label", by=[column]).skipped == 1


@pytest.mark.parametrize("X", [{"a": ids([1, 2]), "b": ids([3, 4])}, ids([1, 2])])
def test_labels_are_no_table(X):
    y = pd.DataFrame({"id": ["u", "v"], "y": ["p", "q"]})
    with pytest.raises(InputError, match="y= is a DataFrame of 2 dimensions; give a name or one"):
        train(X, y, on="id" if isinstance(X, dict) else None)


def test_labels_that_differ_in_blanks_or_capitals_are_said():
    table = pa.table({"v__x": range(8), "y": ["ja", "nein", "Ja ", "nein"] * 2})
    with pytest.warns(GuessWarning, match="y: 'Ja ' and 'ja' are two classes, and differ in blank"):
        train(table, "y", model="perceptron")


def test_categories_that_are_no_text_are_refused_with_what_makes_text_of_them():
    frame = pd.DataFrame({"a": pd.cut([1, 2, 3, 4], 2), "b": 1.0})
    with pytest.raises(InputError, match=r"column 'a': holds categories of .*\.astype\(str\)"):
        ViewEncoder().fit(frame)
    ViewEncoder().fit(frame.astype({"a": str}))


def test_durations_are_seconds_and_periods_begin(tmp_path):
    begun = ["2024-01-01", None, "2024-03-01", "2024-02-01"]
    hours = [1.0, 2.5, None, 4.0]
    frame = pd.DataFrame(
        {
            "month": pd.PeriodIndex(begun, freq="M"),
            "took": pd.to_timedelta(hours, unit="h"),
            "x": [1.0, 2.0, 3.0, 4.0],
        }
    )
    plain = pd.DataFrame(
        {"month": pd.to_datetime(begun), "took": [3600 * h if h else None for h in hours]}
    ).assign(x=frame["x"])
    frame.to_parquet(tmp_path / "t.parquet")
    expected = ViewEncoder().fit_transform(plain)
    for table in (frame, pq.read_table(tmp_path / "t.parquet")):
        encoder = ViewEncoder()
        found = encoder.fit_transform(table)
        np.testing.assert_array_equal(found.matrix.toarray(), expected.matrix.toarray())
    row = {"month": datetime.date(2024, 1, 1), "took": datetime.timedelta(hours=1), "x": 1.0}
    one = encoder.transform_one(row)
    assert one == encoder.transform_one({**row, "took": 3600})
    kinds = {one.name: one.kind for one in crossview.describe(tmp_path / "t.parquet").columns}
    assert kinds == {"month": "date", "took": "numeric", "x": "numeric"}


@pytest.mark.parametrize("column", ["month", "took"])
def test_what_a_query_reads_as_other_numbers_than_a_file_is_refused(column, tmp_path):
    values = {"month": pd.period_range("2024-01", periods=4, freq="M")}
    values["took"] = pd.to_timedelta([1, 2, 3, 4], unit="h")
    path = tmp_path / "t.parquet"
    pd.DataFrame({column: values[column], "y": [1.0, 2.0, 3.0, 4.0]}).to_parquet(path)
    query = f"SELECT {{}} FROM '{path}'"
    with pytest.raises(InputError, match=f"t.parquet, column '{column}': holds durations or per"):
        open_table(query.format("*"))
    seen = [b.X.to_pylist() for b in open_table(query.format(f"y, {column} / 2.0 AS {column}"))]
    assert len(seen[0]) == 4
    code = f"import crossview; print(crossview.describe({str(path)!r}).columns[0].kind)"
    done = python("-c", code)  # which has not made a period of pandas
    assert done.stdout == f"{'date' if column == 'month' else 'numeric'}\n", done.stderr


def test_intervals_are_refused_with_what_makes_categories_of_them():
    frame = pd.DataFrame({"a": pd.interval_range(0, 4), "b": 1.0})
    with pytest.raises(
        InputError, match=r"column 'a': holds intervals, .*\.astype\(str\) in pandas"
    ):
        ViewEncoder().fit(frame)
    ViewEncoder().fit(frame.astype({"a": str}))
    ViewEncoder().fit(frame.assign(a=frame["a"].array.mid))


def test_databases_are_refused_with_how_rows_come_out_of_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("t.sqlite", "t.sqlite3", "log.sqlite"):
        with sqlite3.connect(name) as connection:
            connection.execute("CREATE TABLE t (a INTEGER)")
        connection.close()
    duckdb.connect("t.duckdb").execute("CREATE TABLE t AS SELECT 1 AS a").close()
    for source, words in (
        ("t.sqlite", r"not called log\.sqlite, .*: sqlite3 -header"),
        ("t.sqlite3", r"is a database; write the rows to a file: sqlite3 -header"),
        ("log.sqlite", r"is no log of crossview serve; .*: sqlite3 -header"),
        (
            "t.duckdb",
            r"a database; of one table \"SELECT \* FROM .FILE.\" reads them, of sev",
        ),
        ("SELECT * FROM sqlite_scan('t.sqlite', 't')", "sqlite_scan needs .* extension sqlite_sca"),
        (
            "ATTACH 't.duckdb'; SELECT * FROM t.t",
            "is one SELECT, and this one holds ATTACH and SEL",
        ),
    ):
        with pytest.raises(InputError, match=words):
            open_table(source)


def test_half_a_character_is_refused_with_its_column():
    rows = pd.DataFrame({"a__x": np.arange(40.0), "b__c": ["u", "v"] * 20, "t": ["r s", "r"] * 20})
    encoder = ViewEncoder({"a": "a__*", "b": ["b__*", "t"]}, text="t")
    model = train(rows, ["p", "q"] * 20, model="arow", encoder=encoder).fitted
    broken = rows.astype({"b__c": object})
    broken.loc[3, "b__c"] = "x\ud800"
    message = "row 3, column 'b__c': holds .* which is not UTF-8"
    with pytest.raises(InputError, match=message):
        train(broken, ["p", "q"] * 20)
    with pytest.raises(InputError, match=message):
        crossview.predict(model, broken)
    with pytest.raises(InputError, match=r"^column 'b__c': holds '\\ud800', half a character"):
        model.predict_one({"b__c": "\ud800"})
    with pytest.raises(InputError, match=r"^column 'b__c'"):
        model.learn_one({"b__c": "\ud800"}, "p")
    with pytest.raises(InputError, match=r"the label '\\ud800' is not UTF-8"):
        train(rows, ["p", "\ud800"] * 20)


@pytest.mark.parametrize("values", [[1.0, 2.0], ["some", "words"], ["no_file.csv"]])
def test_a_mapping_of_lists_is_refused_with_what_each_may_be(values):
    columns = {"a__x": values, "y": ["p", "q"]}
    for read in (ViewEncoder().fit, lambda columns: train(columns, "y")):
        with pytest.raises(InputError, match=r"'a__x' is a list: .*pandas\.DataFrame.* on='id'"):
            read(columns)


@pytest.mark.parametrize("one", [np.arange(2.0), pd.Series([1.0, 2.0])])
def test_a_mapping_of_columns_is_refused_with_what_makes_a_table_of_it(one):
    with pytest.raises(InputError, match=r"view 'a__x' is one column: .*pandas\.DataFrame"):
        train({"a__x": one, "y": one}, "y")
