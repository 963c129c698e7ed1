"""The next export is read as the first one was: the dialect of CSV files is kept in the model."""

import random

import pytest

import crossview
from command_line import run
from crossview import GuessWarning, InputError, describe, evaluate, open_table, predict, train
from crossview.saving.model_header import read_tables

HEADER = "Nr;ware__Preis;ware__Größe;kunde__Alter;Kauf"
HOW = {"null": ["k.A."], "decimal": ","}
DIALECT = HOW | {"delimiter": ";", "encoding": "cp1252"}
MODEL = {"model": "pa:squared", "settings": {"C": 0.1}}


def export(path, n, seed=0, encoding="cp1252", header=HEADER):
    """Write rows as a German spreadsheet does."""
    rng, lines = random.Random(seed), [header]
    for i in range(n):
        price, buys = rng.gauss(100, 30), rng.random() < 0.5
        age = "k.A." if i % 5 == 0 else rng.randrange(18, 80)
        price = f"{price + 60 * buys:.2f}".replace(".", ",")
        lines.append(f"{i};{price};{rng.choice(['groß', 'klein'])};{age};{['nein', 'ja'][buys]}")
    path.write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    return path


@pytest.fixture
def first(tmp_path):
    return open_table(export(tmp_path / "first.csv", 60), encoding="cp1252", **HOW)


@pytest.mark.filterwarnings("ignore:.*rows that the model has learned")
def test_a_model_reads_the_next_export_as_the_first(first, tmp_path):
    trained = train(first, "Kauf", output=tmp_path / "m.st", **MODEL)
    assert trained.encoder.dialect == first.dialect == DIALECT
    assert read_tables(tmp_path / "m.st").dialect == DIALECT
    assert crossview.load(tmp_path / "m.st")[0].dialect == DIALECT
    expected = predict(trained.fitted, open_table(tmp_path / "first.csv", dialect=DIALECT))
    again = export(tmp_path / "again.csv", 60, encoding="utf-16")
    for model in (trained.fitted, tmp_path / "m.st"):
        assert predict(model, tmp_path / "first.csv").equals(expected)
        assert predict(model, again).equals(expected)
        assert evaluate(model, tmp_path / "first.csv", "Kauf").n_rows == 60
    second = export(tmp_path / "second.csv", 30, seed=1)
    goes_on = train(second, init=tmp_path / "m.st")
    assert (goes_on.rows, goes_on.encoder.dialect) == (90, DIALECT)


def test_blanks_around_names_are_not_of_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a, b,c ,"  d ",\te\n1, 2, x, 4,5\n6, 7, y, 9,10\n')
    found = open_table(path)
    assert found.schema.names == ["a", "b", "c", "d", "e"]
    rows = [row for batch in found for row in batch.X.to_pylist()]
    assert [row["b"] for row in rows] == [2, 7]
    path.write_text("a, a\n1,2\n")
    with pytest.raises(InputError, match="two columns are called 'a'"):
        open_table(path)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig", "utf-16"])
def test_a_first_line_for_excel_says_the_delimiter_and_names_no_column(encoding, tmp_path):
    rows = "\r\n1;groß, alt;5\r\n2;klein, neu;6\r\n"
    path = tmp_path / "excel.csv"
    path.write_bytes(("sep=;\r\nNr;Größe, Alter;Preis" + rows).encode(encoding))
    found = open_table(path, encoding=encoding)
    assert found.schema.names == ["Nr", "Größe, Alter", "Preis"]
    assert [row for batch in found for row in batch.X.to_pylist()] == [
        {"Nr": 1, "Größe, Alter": "groß, alt", "Preis": 5},
        {"Nr": 2, "Größe, Alter": "klein, neu", "Preis": 6},
    ]


@pytest.mark.parametrize(
    ("rows", "comma"),
    [
        ("a;b\n1,5;x\n2;y\n", True),
        ('a;b\n"-1,5";x\nNA;y\n;z\n', True),
        ("a;b\n1,5;2.5\n2;3\n", False),  # one column has points
        ("a;b\n1,5;x\nabout 2;y\n", False),
        ("a;b\n1;x\n2;y\n", False),
        ('a,b\n"1,5",x\n"2,5",y\n', False),  # may be thousands
    ],
)
def test_a_decimal_comma_is_a_guess_that_is_said(rows, comma, tmp_path, recwarn):
    path = tmp_path / "a.csv"
    path.write_text(rows)
    found = open_table(path, null=["NA"])
    assert found.dialect.get("decimal", ".") == (",." if comma else "..")[0]
    said = [str(one.message) for one in recwarn]
    words = f"{path}: read with a decimal comma; if that looks wrong, give decimal='.'"
    assert said == [words] * comma
    assert (found.schema.field("a").type == "double") == comma
    given = open_table(path, null=["NA"], decimal=".")
    assert "decimal" not in given.dialect
    assert len(recwarn) == comma


THOUSANDS = [f"{100 + 7 * i}.{100 * (i % 10):03}" for i in range(40)]


@pytest.mark.parametrize(
    ("values", "mark", "read"),
    [
        (THOUSANDS, ".", "100"),  # more than half end in 0
        ([*[one[:-1] + "7" for one in THOUSANDS], "950"], ".", "100.007"),
        ([one.replace(".", ",") for one in THOUSANDS], ",", "100"),
        ([*THOUSANDS, "0.500"], ".", None),
        ([*THOUSANDS, "12.34"], ".", None),
        ([one[:-1] + "7" for one in THOUSANDS], ".", None),  # as of %.3f
        (THOUSANDS[:12], ".", None),
        ([*THOUSANDS, "1.250.000"], ".", None),  # text
    ],
)
def test_numbers_whose_point_may_separate_thousands_are_named(
    values, mark, read, tmp_path, recwarn
):
    path = tmp_path / "a.csv"
    path.write_text("".join(f"{one};x\n" for one in ["Preis", *values]))
    source = open_table(path, decimal=mark)
    said = [str(one.message) for one in recwarn]
    words = f"{path}: Preis: {values[0]} is read as {read}; if its mark separates thousands, write"
    assert [one.startswith(words) for one in said] == [True] * (read is not None)
    assert (source.schema.field("Preis").type == "double") == (values[-1] != "1.250.000")
    path.write_text("".join(f"{one};x\n" for one in values))
    assert len(recwarn) == len(said)
    open_table(path, decimal=mark, delimiter=";", header=False)
    assert [": x0: " in str(one.message) for one in recwarn][len(said) :] == [True] * len(said)


@pytest.mark.parametrize(
    ("text", "how", "message"),
    [
        ("9;1.5;klein;30;ja", {}, r"row 0, column 'ware__Preis': .*\"1.5\".*decimal='\.'"),
        ("9;1,5;klein;-;ja", {}, r"column 'kunde__Alter': .*missing value, say null='-'"),
        ("9;1,5;klein;1.234,5;ja", {}, r"'kunde__Alter': .*; write numbers without separators"),
        ("9;1,5;klein;30;ja", {"decimal": "."}, r"decimal point a comma\? decimal=','"),
        (HEADER, {}, "the line names the columns again: remove it"),
    ],
)
def test_what_does_not_fit_the_dialect_names_the_option(text, how, message, first, tmp_path):
    trained = train(first, "Kauf", **MODEL)
    path = tmp_path / "new.csv"
    path.write_text(f"{HEADER}\n{text}\n", encoding="cp1252")
    with pytest.raises(InputError, match=message):
        predict(trained.fitted, open_table(path, dialect=trained.encoder.dialect, **how))


def test_a_line_that_names_the_columns_again_is_no_class(tmp_path):
    lines = [f"{'ab'[i % 2]},{'xyz'[i % 3]},{['ham', 'spam'][i % 2]}" for i in range(40)]
    again = ["city,kind,spam", *lines]
    (tmp_path / "twice.csv").write_text("\n".join([*again, *again]))
    with pytest.raises(InputError, match=r"twice\.csv, row 40: the line names the columns again"):
        train(tmp_path / "twice.csv", "spam", **MODEL)
    (tmp_path / "once.csv").write_text("\n".join(again))  # a class is called as the column
    assert train(tmp_path / "once.csv", "spam", **MODEL).fitted[-1].classes_.tolist() == [
        "ham",
        "spam",
    ]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_line_that_names_the_columns_again_is_no_missing_value(
    task, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    lines = ["a__x,b__x,y", *(f"{i}.5,{i % 7},{i % 2}" for i in range(40))]
    (tmp_path / "twice.csv").write_text("\n".join([*lines, *lines]))
    status, _, err = run(capsys, *("train", "twice.csv", "--label", "y", "--task", task, "-o", "m"))
    row = ", row 40" if task == "classification" else ", row 40, column 'y'"
    assert status == 2
    assert err == [f"crossview: error: twice.csv{row}: the line names the columns again: remove it"]
    found = describe(str(tmp_path / "twice.csv"), "y")
    assert all("the line names the columns again" in str(one.warnings) for one in found.columns)


def test_files_of_one_source_with_other_delimiters_are_told(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_text("a;b\n1;2\n")
    with pytest.raises(InputError, match=r"b\.csv: has ';' between its columns, and .*a\.csv ','"):
        open_table(tmp_path)


def test_names_in_the_first_line_are_told_where_the_model_has_none(tmp_path):
    rows = "".join(f"{i},{-i},{'ab'[i > 5]}\n" for i in range(12))
    (tmp_path / "no.csv").write_text(rows)
    trained = train(
        open_table(tmp_path / "no.csv", header=False), "x2", views={"v": ["x0", "x1"]}, **MODEL
    )
    (tmp_path / "names.csv").write_text("a,b,c\n" + rows)
    with pytest.raises(InputError, match="if this line names the columns, say header=True"):
        predict(trained.fitted, tmp_path / "names.csv")


def test_models_of_files_in_other_dialects_merge(first, tmp_path):
    other = export(tmp_path / "other.csv", 60, seed=1, encoding="utf-8")
    sources = (first, open_table(other, **HOW))
    apart = [train(one, "Kauf", **MODEL).fitted for one in sources]
    with pytest.raises(InputError, match=r"other bins.* or set bins=None"):
        crossview.merge(apart)
    without = MODEL | {"encoder": crossview.ViewEncoder(bins=None)}
    models = [train(one, "Kauf", **without).fitted for one in sources]
    assert models[1][0].dialect == HOW | {"delimiter": ";"}
    merged = crossview.merge(models)
    assert merged[0].dialect == DIALECT
    assert len(predict(merged, tmp_path / "first.csv")) == 60


def test_joined_rows_have_the_dialect_of_the_first_table(first, tmp_path):
    (tmp_path / "late.csv").write_text("Nr;late\n1;7,5\n2;8,5\n")
    with pytest.warns(GuessWarning, match="decimal comma"):
        joined = crossview.join_tables(first, tmp_path / "late.csv", on="Nr")
    assert joined.dialect == DIALECT


@pytest.mark.filterwarnings("ignore:.*rows that the model has learned")
@pytest.mark.filterwarnings("ignore:.*read with a decimal comma")
def test_files_of_both_decimal_points_are_read_again(tmp_path):
    rng = random.Random(0)
    values = [rng.gauss(0, 1) for _ in range(60)]
    labels = ["ja" if x > 0 else "nein" for x in values]
    by_point = [f"{i},{x:.3f}" for i, x in enumerate(values)]
    by_comma = [f"{i};{x:.3f};{labels[i]}".replace(".", ",") for i, x in enumerate(values)]
    for name, lines in (("a", ["id;x;y", *by_comma]), ("b", ["id,x", *by_point])):
        (tmp_path / f"{name}.csv").write_text("\n".join([*lines, ""]))
    sources = {name: tmp_path / f"{name}.csv" for name in "ab"}
    train(sources, "y", on="id", output=tmp_path / "m.st", **MODEL)
    predicted = predict(tmp_path / "m.st", sources, on="id")
    assert predicted.num_rows == evaluate(tmp_path / "m.st", sources, "y", on="id").n_rows == 60
    assert train(sources, on="id", init=tmp_path / "m.st").rows == 120


def test_a_file_of_another_decimal_point_is_one_line_for_all_of_its_columns(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{i % 7}.5;{i % 5}.25;{i % 3}.125;{i % 2}" for i in range(60)]
    path.write_text("\n".join(["a;b;c;y", *rows, ""]))
    [line] = describe(open_table(path, decimal=","), "y").warnings
    assert line == (
        "a, b, c: text, but all look like numbers with a decimal point, and are read with a comma: "
        "without decimal=',' each file shows its own"
    )
    assert describe(open_table(path), "y").warnings == []


@pytest.mark.parametrize("dialect", [{"decimal": 5}, {"decimal": ";"}, {"null": [1]}, ["decimal"]])
def test_a_dialect_is_checked(dialect):
    with pytest.raises(InputError, match=r"decimal|dialect"):
        crossview.ViewEncoder(dialect=dialect).check_params()


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
@pytest.mark.parametrize("ends", [("\n", "\r\n"), ("\r\n", "\n"), ("\n", "\r")])
def test_lines_may_end_in_several_ways_which_is_said(ends, encoding, tmp_path):
    """As in a file that two systems have written to."""
    lines = ["sep=;", "stadt;n", *(f"Köln {i};{i}" for i in range(60))]
    text = "".join(line + ends[i > 30] for i, line in enumerate(lines))
    file = tmp_path / "t.csv"
    file.write_bytes(text.encode(encoding))
    with pytest.warns(GuessWarning, match=r"t.csv: its lines end in several ways \((CR|LF)"):
        table = open_table(file, encoding=encoding)
    rows = [row for batch in table for row in batch.X.to_pylist()]
    assert rows == [{"stadt": f"Köln {i}", "n": i} for i in range(60)]
