"""Rows of two tables that belong together."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from command_line import run
from crossview import InputError, describe, evaluate, join_tables, load, open_table, predict, train
from crossview.data.joining.join import join_sources

SHOWN = pa.table({"id": [7, 8, 9], "ad__size": [1.0, 2.0, 3.0]})


def rows(stream):
    return pa.Table.from_batches([batch.X for batch in stream], stream.schema)


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
        ({"id": [7, 7], "y": [1, 2]}, "id", "has id 7 twice; give each id once, such as by"),
        ({"id": ["7"], "y": [1]}, None, "column 'id': is whole numbers .such as 7. in the table"),
        ({"ids": [7], "y": [1]}, "id", "no column 'id' to join by; did you mean 'ids'"),
        ({"ids": [7], "y": [1]}, None, "have no column in common"),
        (
            {"id": [17], "y": [1]},
            None,
            r"no id of the other table \(17, ...\) is in the table \(7, 8, 9",
        ),
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


# --- views in several tables -----------------------------------------------------

ON = ["007", "008", "009", "010"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Labels, and two views in other orders, of which one has not all rows and one has more."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ids = [f"{i:03d}" for i in range(60)]
    y = rng.integers(0, 2, 60)
    labels = {"id": ids, "y": ["pq"[one] for one in y], "age": y + rng.integers(30, 60, 60)}
    a = {"id": ids, **{f"x{c}": y + rng.normal(size=60) for c in range(3)}}
    b = {"id": [*ids[15:], "X1", "X2"], "x0": rng.normal(size=47)}
    for name, columns in (("a", a), ("b", b), ("labels", labels)):
        table = pa.table(columns)
        if name != "labels":
            table = table.take(rng.permutation(len(table)))
        pa.csv.write_csv(table, f"{name}.csv")
    pa.parquet.write_table(pa.csv.read_csv("b.csv", convert_options=TEXT), "b.parquet")
    pa.csv.write_csv(pa.csv.read_csv("b.csv", convert_options=TEXT).slice(0, 20), "new.csv")
    return tmp_path


TEXT = pa.csv.ConvertOptions(column_types={"id": pa.string()})
SOURCES = {"a": "a.csv", "b": "b.parquet"}
LINE = (
    "15 of 60 rows are not in b.parquet: view 'b' is missing there; 2 of 47 rows of b.parquet are "
    "not in labels.csv, such as id "
)


def test_a_view_is_missing_in_rows_that_its_table_has_not(files):
    with pytest.warns(UserWarning, match=LINE):
        stream = join_tables("labels.csv", SOURCES, "id")
    assert stream.column_names == ["id", "y", "age", "a__x0", "a__x1", "a__x2", "b__x0"]
    assert (stream.join.on, stream.join.views) == (["id"], ["a", "b"])
    table = rows(stream)
    labels = pa.csv.read_csv("labels.csv", convert_options=TEXT)
    assert table.select(["id", "y", "age"]).equals(labels)
    x0 = {one["id"]: one["x0"] for one in pa.parquet.read_table("b.parquet").to_pylist()}
    assert table["b__x0"].to_pylist() == [x0.get(one) for one in table["id"].to_pylist()]
    # of columns of the first table no other one is read
    (files / "a.csv").unlink()
    assert rows(stream.select(["y"]))["y"].equals(labels["y"])


def test_without_a_first_table_the_rows_are_those_of_the_label_or_all(files):
    sources = [("b", "b.csv"), ("clinical", "labels.csv"), ("a", "a.csv")]
    stream = join_sources(sources, "id", main=False, label="y")
    assert stream.column_names[:4] == ["id", "b__x0", "y", "clinical__age"]
    assert rows(stream)["id"].to_pylist() == [f"{i:03d}" for i in range(60)]
    stream = join_sources(sources, "id", main=False)
    assert stream.n_rows == 62
    own = pa.csv.read_csv("b.csv", convert_options=TEXT)["id"].to_pylist()
    first = [f"{i:03d}" for i in range(15)]  # in the order of the labels, the next table
    assert rows(stream)["id"].to_pylist() == [*own, *first]
    assert rows(stream)["a__x0"].null_count == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b.set_column(0, "id", [pa.array(range(47))]), "is text .such as '000'. in lab"),
        (lambda b: pa.concat_tables([b, b]), r"b\.parquet: has id .* twice \(47 such ids\); give"),
        (lambda b: b.slice(45).set_column(0, "id", [["7", "8"]]), r"no id of b.parquet \(7, 8, "),
        (lambda b: b.set_column(0, "id", [[None, *ON, *["z"] * 42]]), "row 0, column 'id': the id"),
        (lambda b: b.rename_columns(["ids", "x0"]), "no column 'id' to join by; did you mean"),
    ],
)
def test_ids_that_do_not_fit_are_one_line(files, change, message):
    pa.parquet.write_table(change(pa.parquet.read_table("b.parquet")), "b.parquet")
    with pytest.raises(InputError, match=message):
        join_tables("labels.csv", SOURCES, "id")


@pytest.mark.filterwarnings("error")
def test_ids_in_another_case_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("id,y\nPat1,p\nPat2,q\nPat3,p\n")
    for ids, message in (
        (["PAT1", "pat2 ", "x"], r"no id of .* written alike in both\?; 2 would be if case and"),
        (["PAT1", "Pat2", "x"], r"2 of 3 rows of .* are not used; 1 would be if case and spaces"),
        (["Pat1", "Pat2", "x"], r"1 of 3 rows of .* are not used$"),
    ):
        other = pa.table({"id": ids, "x": [1, 2, 3]})
        with pytest.raises((InputError, UserWarning), match=message):
            join_tables(tmp_path / "a.csv", {"t": other}, "id")


def test_digits_in_text_files_are_what_the_other_tables_have(tmp_path):
    (tmp_path / "n.csv").write_text("id,y\n1,p\n2,q\n3,p\n")
    (tmp_path / "t.csv").write_text("id,x\nX,7\n3,9\n1,8\n")
    for other in (tmp_path / "t.csv", pa.table({"id": [3.0, 1.0], "x": [9, 8]})):
        with pytest.warns(UserWarning, match="1 of 3 rows are not in"):
            joined = join_tables(tmp_path / "n.csv", {"t": other}, "id")
        assert rows(joined)["t__x"].to_pylist() == [8, None, 9]


def test_ids_of_many_digits_stay_apart(tmp_path):
    longer = [f"{'1234567890' * 4}{i}" for i in range(4)]
    (tmp_path / "longer.csv").write_text("id,y\n" + "".join(f"{one},p\n" for one in longer))
    assert rows(open_table(tmp_path / "longer.csv"))["id"].to_pylist() == longer
    ids = [f"1234567890123456789{i}" for i in range(4)]
    lines = "".join(f"{one},{'pq'[i % 2]}\n" for i, one in enumerate(ids))
    (tmp_path / "n.csv").write_text(f"id,y\n{lines}")
    rows_of_t = "".join(f'{{"id": {one}, "x": {one[-1]}}}\n' for one in ids[::-1])
    (tmp_path / "t.jsonl").write_text(rows_of_t)
    assert rows(open_table(tmp_path / "n.csv"))["id"].to_pylist() == ids
    joined = join_tables(tmp_path / "n.csv", {"t": tmp_path / "t.jsonl"}, "id")
    assert rows(joined)["t__x"].to_pylist() == [0, 1, 2, 3]


def test_several_rows_of_one_id_are_said():
    visits = pa.table({"id": [1, 2, 1], "y": ["p", "q", "q"]})
    users = pa.table({"id": [2, 1], "age": [30, 40]})
    with pytest.warns(UserWarning, match="the table has id 1 in several rows, .* by groups='id'"):
        joined = join_tables(visits, {"user": users}, "id")
    assert rows(joined)["user__age"].to_pylist() == [40, 30, 40]
    with pytest.raises(InputError, match="has id 1 twice; give each id once"):
        join_sources([("a", users), ("b", visits)], "id", main=False, label="y")


def test_names_of_sources_and_ids_are_checked(files):
    for sources, on, message in (
        ({"a__b": "a.csv"}, "id", "view 'a__b': the name of a source has no __"),
        ({"a": "a.csv", "b": "b.csv"}, None, "which column is the id"),
        ({"a": pa.table({"a": [1]})}, None, "no column in common; name the id: on="),
    ):
        left = "labels.csv" if on else pa.csv.read_csv("a.csv")
        with pytest.raises(InputError, match=message):
            join_tables(left, sources, on)


def frames(**others):
    """The tables as pandas frames, whose index is the id."""
    read = {name: pd.read_csv(file, dtype={"id": str}) for name, file in others.items()}
    return {name: frame.set_index("id") for name, frame in read.items()}


def test_functions_take_views_from_several_sources(files):
    options = {"on": "id", "model": "pa:squared", "seed": 1}
    with pytest.warns(UserWarning, match=r"15 of 60 rows are not in b\.parquet"):
        whole = train({**SOURCES, "c": "labels.csv"}, "y", **options)
    assert whole.fitted[0].view_columns() == {
        "a": ["a__x0", "a__x1", "a__x2"],
        "b": ["b__x0"],
        "c": ["c__age"],
    }
    # frames with the id as their index, and labels that say which rows there are
    given = frames(a="a.csv", b="b.csv", c="labels.csv")
    y = given["c"].pop("y")
    with pytest.warns(UserWarning, match="15 of 60 rows are not in 'b'"):
        same = train(given, y, **options)
    assert np.array_equal(whole.fitted[-1].coef_, same.fitted[-1].coef_)
    # rows of which no view is missing need no join
    side = {name: given[name] for name in "ac"}
    assert train(side, y.loc[side["a"].index], model="pa:squared").rows == 60
    with pytest.warns(UserWarning, match="view") as said:
        found = predict(whole.fitted, {"b": "new.csv", "a": "a.csv"}, on="id")
    assert found.column_names[:2] == ["id", "prediction"]
    line = "view 'c' is missing; scored by the others, and a constant in its place"
    assert line in [str(one.message) for one in said]
    extra = set(pd.read_csv("new.csv")["id"]) & {"X1", "X2"}
    assert found.num_rows == 60 + len(extra)
    with pytest.warns(UserWarning, match="are not in b.csv"):
        scored = evaluate(whole.fitted, {"c": "labels.csv", "b": "b.csv"}, "y", on="id")
    assert (scored.n_rows, scored.missing_views) == (60, ["a"])
    with pytest.warns(UserWarning, match="are not in b.csv"):
        described = describe({"c": "labels.csv", "b": "b.csv"}, "y", on="id")
    assert [one.view for one in described.columns] == [None, None, "c", "b"]


@pytest.mark.parametrize(
    ("X", "on", "message"),
    [
        (SOURCES, None, "name the column by which the rows of the views belong together"),
        ({}, "id", "X has no views; give at least one"),
        ("labels.csv", "id", "on='id' joins several sources; give X as"),
        (
            {"a": pa.table({"id": [1], "x": [2.0]})} | {"b": pa.table({"id": [1]})},
            None,
            "say on='id'",
        ),
        ({"a": pa.table({"x": [2.0]}), "b": pa.table({"x": [1.0, 2.0]})}, None, "numbers of rows"),
    ],
)
def test_rows_that_cannot_be_told_apart_are_refused(files, X, on, message):
    with pytest.raises(InputError, match=message):
        train(X, "y", on=on)


@pytest.mark.filterwarnings("ignore::crossview.errors.UnusedColumnsWarning")  # of age
def test_commands_take_several_sources(files, capsys):
    sources = ["--source", "a=a.csv", "--source", "b=b.parquet", "--on", "id"]
    learn = ["train", "labels.csv", *sources, "--label", "y", "--model", "pa:squared"]
    status, _, err = run(capsys, *learn, "--view", "more=age", "-o", "m.st")
    assert status == 0
    assert err[0].startswith(f"crossview: {LINE}")
    assert load("m.st")[0].layout_.names == ("a", "b", "more")
    assert run(capsys, *learn, "-o", "m.st")[0] == 0
    new = ["--source", "b=new.csv", "--on", "id"]
    status, out, err = run(capsys, "predict", "m.st", *new)
    assert status == 0
    assert len(out) == 21
    assert out[0].startswith('"id","prediction"')
    told = "scored by the others, and a constant in its place"
    assert err[0] == f"crossview: view 'a' is missing in b=new.csv; {told}"
    status, out, _ = run(capsys, "evaluate", "m.st", "labels.csv", *new)
    assert status == 0
    assert out[0].startswith("labels.csv + b=new.csv, 60 rows with a label: ")
    less = pa.csv.read_csv("a.csv", convert_options=TEXT).drop_columns(["x2"])
    pa.csv.write_csv(less, "less.csv")
    again = ["evaluate", "m.st", "labels.csv", "--source", "a=less.csv", "--on", "id", "--no-views"]
    assert "no column 'a__x2'" in run(capsys, *again)[2][-1]
    assert run(capsys, *again, "--missing-columns", "null")[0] == 0
    status, out, _ = run(capsys, "describe", *sources)
    assert "62 rows, 5 columns" in out
    assert run(capsys, "convert", *learn[1:4], "--on", "id", "--label", "y", "-o", "o.vw")[0] == 0


def test_a_view_may_have_a_column_called_like_the_label(files, capsys):
    """A model that had learned it could not predict: it became the label."""
    mrna = pa.csv.read_csv("a.csv", convert_options=TEXT)
    words = pa.array(["smoker" if i % 2 else "never" for i in range(len(mrna))])
    pa.csv.write_csv(mrna.append_column("y", words), "a.csv")
    a = ["--source", "a=a.csv", "--on", "id"]
    learn = ["train", "labels.csv", *a, "--label", "y", "--model", "arow", "-o", "m.st"]
    assert run(capsys, *learn)[0] == 0
    assert "a__y" in load("m.st")[0].view_columns()["a"]
    pa.csv.write_csv(
        pa.csv.read_csv("labels.csv", convert_options=TEXT).select(["id", "age"]), "ids.csv"
    )
    status, expected, _ = run(capsys, "predict", "m.st", "labels.csv", *a)
    assert status == 0
    status, out, err = run(capsys, "predict", "m.st", "ids.csv", *a)
    assert (status, out) == (0, expected), err
    assert run(capsys, "predict", "m.st", *a)[0] == 0  # without the age
    status, _, err = run(capsys, "evaluate", "m.st", *a)
    assert status == 2
    assert "no column 'y' (the label of the model)" in err[-1]
    assert run(capsys, "evaluate", "m.st", "labels.csv", *a)[0] == 0
    for model in ("m.st", load("m.st")):
        with pytest.raises(InputError, match="no column 'y'"):
            evaluate(model, {"a": "a.csv"}, "y", on="id")


def test_a_comparison_of_several_sources_can_be_extended(files, capsys):
    sources = ["--source", "c=labels.csv", "--source", "a=a.csv", "--label", "y"]
    budget = ["--cv", "2", "--budget", "1s", "--jobs", "1"]
    compared = ["compare", *sources, *budget, "--model", "view:a", "--json", "c.json"]
    status, out, err = run(capsys, *compared)
    assert status == 0
    assert err[0] == "crossview: joined by id; another id is --on"
    assert out[-1].startswith("crossview train --label y --source c=labels.csv --source a=a.csv ")
    status, out, _ = run(capsys, "compare", "c.json", "--add", "view:c", "--jobs", "1")
    assert status == 0
    assert any(line.startswith("view:c ") for line in out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--on", "id"], "--on 'id' is for --source; name a table to join"),
        (["--source", "a=o.svm"], "o.svm: is svmlight, and --source joins tables by a column"),
        (["--source", "a=a.csv", "--dask", "local:2"], "--source does not go with --dask"),
        (["--source", "a=none.csv"], "none.csv: no such file"),
    ],
)
def test_what_cannot_be_a_source_is_one_line(files, capsys, words, message):
    (files / "o.svm").write_text("1 1:2\n")
    status, _, err = run(capsys, "train", "labels.csv", *words, "--label", "y", "-o", "m.st")
    assert (status, len(err)) == (2, 1)
    assert message in err[0]
    assert run(capsys, "predict", "m.st")[2] == [
        "crossview: error: name a file, or several by --source NAME=FILE and --on COLUMN"
    ]


def test_a_model_of_several_files_keeps_how_they_are_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = {"l": "id;y\n" + "K1;ja\nK2;nein\n", "a": "id;x\nK2;1,5\nK1;2,5\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(text)
    learn = ["train", "l.csv", "--source", "a=a.csv", "--label", "y", "--decimal", ","]
    assert run(capsys, *learn, "--model", "pa:concatenated", "-o", "m.st")[0] == 0
    status, out, err = run(capsys, "predict", "m.st", "--source", "a=a.csv", "--on", "id")
    assert (status, len(out)) == (0, 3), err


def test_a_table_with_a_column_per_id_is_transposed(tmp_path):
    ids = [f"s{i}" for i in range(30)]
    obs = pd.DataFrame({"age": np.arange(30.0), "y": [0, 1] * 15}, pd.Index(ids, name="sample"))
    genes = pd.DataFrame({name: [1.0, 2.0] for name in ids}, pd.Index(["g0", "g1"], name="gene"))
    obs.to_csv(tmp_path / "obs.csv")
    genes.to_csv(tmp_path / "genes.csv")
    sources = {"obs": tmp_path / "obs.csv", "genes": tmp_path / "genes.csv"}
    message = (
        r"genes\.csv: no column 'sample' .* transposed, as its columns are the ids .*\(s0, .*\.T"
    )
    with pytest.raises(InputError, match=message):
        train(sources, "y", on="sample")
    with pytest.raises(InputError, match=r"no column 'gene' to join by \(there are"):
        train(sources, "y", on="gene")
    query = r"no column 'sample' to join by; .* query: .* LEFT JOIN .*g\.csv' USING \(gene\)"
    obs.assign(gene="g0").to_csv(sources["obs"])
    genes.rename(columns=str.upper).to_csv(tmp_path / "g.csv")
    with pytest.raises(InputError, match=query):  # of several ids
        train(sources | {"genes": tmp_path / "g.csv"}, "y", on=["sample", "gene"])
