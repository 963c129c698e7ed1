"""The table of weights, explanations of predictions, and their files."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crossview
from command_line import run
from crossview import InputError, ViewEncoder, predict, train, weights
from crossview.serving.live import LiveModel

VIEWS = {"user": "user_*", "page": "page"}
WORDS = np.array(["sun", "rain", "snow", "wind", "fog"])
COLUMNS = [
    *("expert", "view", "column", "value", "class", "weight", "variance", "factor_norm"),
    *("importance", "slot", "collides"),
]


def make_table(n=300, classes=("no", "yes")):
    rng = np.random.default_rng(0)
    age, city = rng.normal(40, 9, n), rng.choice(["Oslo", "Bonn", "Rome"], n)
    pages = [" ".join(rng.choice(WORDS, 3)) for _ in range(n)]
    score = (city == "Oslo") * 2.0 + (age - 40) / 9 + rng.normal(size=n) * 0.3
    label = np.array(classes)[np.digitize(score, np.linspace(-0.2, 1.2, len(classes) - 1))]
    age = [None if i % 7 == 0 else a for i, a in enumerate(age.tolist())]
    return pa.table({"user_age": age, "user_city": city, "page": pages, "label": label})


def fitted(model, table=None, encoder=None, **options):
    table = make_table() if table is None else table
    encoder = ViewEncoder(**{"text": ["page"], "bins": None, "hash_bits": 14} | (encoder or {}))
    return train(table, "label", views=VIEWS, encoder=encoder, model=model, **options).fitted


def test_every_weight_that_is_not_zero_has_its_name():
    model = fitted("arow:diagonal")
    encoder, learner = model[0], model[-1]
    table = weights(model)
    assert table.column_names == COLUMNS
    rows = table.to_pylist()
    assert len(rows) == np.count_nonzero(learner.coef_)
    found = {(row["view"], row["column"], row["value"]): row for row in rows}
    assert set(found) == {
        ("user", "user_age", None),
        ("user", "user_age", "is missing"),
        *(("user", "user_city", city) for city in ("Oslo", "Bonn", "Rome")),
        *(("page", "page", word) for word in WORDS.tolist()),
    }
    at = encoder.layout_.block("user").start
    names = [encoder.feature_name("user", i) for i in range(2)]
    assert names == ["user_age", "user_age is missing"]
    for i, value in enumerate((None, "is missing")):
        row = found["user", "user_age", value]
        assert row["weight"] == learner.coef_[0, at + i]
        assert row["variance"] == learner.variance_[at + i]
        assert (row["slot"], row["collides"], row["class"], row["expert"]) == (
            None,
            False,
            None,
            None,
        )
    oslo = found["user", "user_city", "Oslo"]
    assert oslo["weight"] == learner.coef_[0, at + 2 + oslo["slot"]]
    assert oslo["weight"] > found["user", "user_city", "Bonn"]["weight"]


def test_classes_interactions_bins_and_experts():
    three = weights(
        fitted("pa:squared", make_table(classes=("a", "b", "c")), encoder={"bins": 3})
    ).to_pylist()
    assert {row["class"] for row in three} == {"a", "b", "c"}
    assert any((row["value"] or "").startswith("near ") for row in three)
    products = weights(fitted("fm", epochs=1)).to_pylist()
    assert all(row["factor_norm"] > 0 and row["weight"] is not None for row in products)
    stack = fitted("stacking")
    rows = weights(stack).to_pylist()
    assert {row["expert"] for row in rows} == {name for name, _, _ in stack[-1].experts_}
    alone = [row for row in rows if row["expert"] == "user"]
    assert {row["view"] for row in alone} <= {"user"}
    with pytest.raises(InputError, match="support rows"):
        weights(fitted("pegasos"))
    with pytest.raises(InputError, match="has no weights; give a fitted model"):
        weights(stack[0])


@pytest.mark.parametrize("model", ["pa:squared", "fm", "stacking"])
@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
def test_the_strongest_columns_of_each_row(model, classes, tmp_path):
    table = make_table(classes=classes)
    model = fitted(model, table)
    answer = predict(model, table, explain=3)
    X = model[0].transform(table)
    found = model[-1].contributions(X).toarray()
    names = np.array(
        [
            model[0].feature_name(view, i)
            for view in X.layout.names
            for i in np.unique(X[view].indices).tolist()
        ]
    )
    used = np.unique(X.matrix.indices)
    order = np.argsort(-np.abs(found[:, used]), axis=1, kind="stable")
    for rank in range(3):
        best = order[:, rank]
        assert answer[f"explain_{rank + 1}_column"].to_pylist() == names[best].tolist()
        np.testing.assert_array_equal(
            answer[f"explain_{rank + 1}_contribution"].to_numpy(),
            found[np.arange(len(found)), used[best]],
        )
    # all columns, and nothing where a row has fewer
    longest = predict(model, table, explain=20)
    assert longest["explain_20_column"].null_count == len(table)
    assert answer.column_names[-2:] == ["explain_3_column", "explain_3_contribution"]
    predict(model, table, tmp_path / "p.jsonl", explain=1)
    first = json.loads((tmp_path / "p.jsonl").read_text().splitlines()[0])
    assert first["explain_1_column"] == answer["explain_1_column"][0].as_py()


@pytest.mark.parametrize("model", ["pa:squared", "stacking"])
def test_a_number_with_its_bins_and_a_date_are_explained_as_one(model, tmp_path):
    """By `predict`, and by a server."""
    table = make_table()
    days = np.datetime64("2026-01-01") + np.arange(len(table))
    days[3] = np.datetime64("NaT")
    table = table.append_column("user_seen", pa.array(days))
    encoder, learner = model = fitted(model, table, encoder={"bins": 3})
    answer = predict(model, table, explain=20).to_pylist()
    X = encoder.transform(table)
    found, block = learner.contributions(X).toarray(), encoder.layout_.block("user")
    n = max(np.unique(X["user"].indices)) + 1
    meanings = encoder.explain_columns("user", range(n))
    explained = [
        {row[f"explain_{k}_column"]: row[f"explain_{k}_contribution"] for k in range(1, 21)}
        for row in answer
    ]
    for i, contributions in enumerate(explained):
        assert not any("near" in (name or "") for name in contributions)
        for column in ("user_age", "user_seen"):
            parts = [k for k, one in enumerate(meanings) if one.column == column]
            name = column if column in contributions else f"{column} is missing"
            assert contributions[name] == pytest.approx(found[i, block][parts].sum())
        sizes = [abs(x) for x in contributions.values() if x is not None]
        assert sizes == sorted(sizes, reverse=True)
    crossview.save(model, tmp_path / "m.st")
    row = table.slice(1, 1).to_pylist()[0] | {"user_seen": str(days[1])}
    served = LiveModel.load(tmp_path / "m.st").explain(row)
    found = {one.column: one.contribution for one in served.columns}
    assert found == pytest.approx({k: v for k, v in explained[1].items() if k is not None})


def test_what_collides_is_marked_everywhere(tmp_path, capsys):
    table = make_table()
    model = fitted("arow:diagonal", table, encoder={"hash_bits": 1})
    rows = weights(model).to_pylist()
    assert [row["collides"] for row in rows if row["column"] == "page"] == [True, True]
    explained = predict(model, table, explain=2).to_pylist()
    assert any("(+ others)" in row["explain_2_column"] for row in explained)
    crossview.save(model, tmp_path / "m.st")
    status, out, _ = run(capsys, "inspect", tmp_path / "m.st")
    assert status == 0
    assert sum("(+ others)" in line for line in out) == sum(row["collides"] for row in rows)


def test_without_names():
    model = fitted("arow:diagonal")
    model[0].set_params(remember_names=0)
    table = make_table()
    model[0].fit(table)
    rows = [row for row in weights(model).to_pylist() if row["slot"] is not None]
    assert rows
    assert all(row["column"] is None and not row["collides"] for row in rows)
    learner = crossview.Perceptron().fit(np.eye(3), [0, 1, 1])
    assert {row["column"] for row in weights(learner).to_pylist()} <= {
        f"column {i}" for i in range(3)
    }


def test_the_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pq.write_table(make_table(), "t.parquet")
    crossview.save(model := fitted("arow:diagonal"), "m.st")
    crossview.save(fitted("pegasos"), "k.st")
    expected = weights(model)
    for name in ("w.csv", "w.parquet", "w.jsonl"):
        assert run(capsys, "inspect", "m.st", "--weights", name) == (
            *(0, []),
            [f"{expected.num_rows} weights, wrote {name}"],
        )
    assert pq.read_table("w.parquet").equals(expected)
    with open("w.csv", newline="") as file:
        read = list(csv.DictReader(file))
    assert [float(row["weight"]) for row in read] == expected["weight"].to_pylist()
    lines = (tmp_path / "w.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == expected.to_pylist()
    status, out, _ = run(capsys, "predict", "m.st", "t.parquet", "--explain", "1")
    assert status == 0
    assert out[0].endswith('"explain_1_column","explain_1_contribution"')
    for argv, message in (
        (["inspect", "m.st", "--weights", "w.txt"], "write to a name that ends in .csv"),
        (["inspect", "m.st", "--weights", "no/w.csv"], "there is no folder"),
        (["inspect", "k.st", "--weights", "x.csv"], "has no weight per column, but support rows"),
        (["predict", "m.st", "t.parquet", "--explain", "0"], "--explain 0; give a number from 1"),
        (["predict", "m.st", "t.parquet", "--explain", "-2"], "--explain -2; give a number from 1"),
    ):
        status, out, err = run(capsys, *argv)
        assert (status, out, len(err)) == (2, [], 1), (argv, err)
        assert message in err[0]
    assert not (tmp_path / "x.csv").exists()
    status, out, _ = run(capsys, "predict", "k.st", "t.parquet", "--explain", "1")
    assert status == 0
    assert out[0].endswith('"explain_1_column","explain_1_contribution"')


def test_names_of_vowpal_wabbit_are_found_in_rows(tmp_path, capsys):
    """A model has slots only; the names are in the lines, behind namespaces with and without."""
    lines = ["1 2.0 tag|user:0.5 age:0.3 city=Köln |page sun", "-1 |user city=Bonn |page rain:2.5"]
    rows, few = tmp_path / "rows.vw", tmp_path / "few.vw"
    rows.write_text("\n".join(lines * 20))
    few.write_text("| city=Bonn\n0 |user city=Bonn age\n")
    model = train(rows, model="pa:concatenated", output=tmp_path / "m.st").fitted
    known = {(row["view"], row["value"]) for row in weights(model, names=rows).to_pylist()}
    user, page = ["age", "city=Köln", "city=Bonn"], ["sun", "rain"]
    assert known == {("user", one) for one in user} | {("page", one) for one in page}
    assert {row["value"] for row in weights(tmp_path / "m.st").to_pylist()} == {None}
    status, out, _ = run(capsys, "inspect", tmp_path / "m.st", "--names", few)
    assert status == 0
    shown = " ".join(out)
    assert "user: city=Bonn" in shown
    assert "user: age" in shown
    assert "page: slot" in shown  # which these rows have not
    few.write_text("1 2.0\n")
    with pytest.raises(InputError, match="has no feature behind a bar"):
        weights(model, names=few)
    with pytest.raises(InputError, match="names= is for models of Vowpal Wabbit files"):
        weights(fitted("arow:diagonal"), names=rows)


def test_a_model_of_text_files_says_so_where_it_is_given_a_table(tmp_path):
    """It has an encoder, which it was said to lack; the log of a server is a table, too."""
    rows = tmp_path / "rows.vw"
    rows.write_text("1 |user age:0.3\n-1 |user age:0.1\n" * 20)
    train(rows, model="pa:concatenated", output=tmp_path / "m.st")
    with pytest.raises(InputError, match="holds a model of vw files, so it cannot read tables"):
        predict(tmp_path / "m.st", make_table())
    with pytest.raises(InputError, match="the model has learned vw files, so it cannot read"):
        train(make_table(), "label", init=tmp_path / "m.st")
