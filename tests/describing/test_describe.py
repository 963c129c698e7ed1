"""What a table holds: counts, ranges, relations to the label, and warnings."""

import io
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from rich.console import Console

from crossview import InputError, ViewEncoder, describe, open_table, train
from crossview.data.summaries import columns as summaries
from crossview.describing.describe import describe_head
from crossview.reporting.tables import description_table

RNG = np.random.default_rng(0)
N = 400
Y = RNG.integers(2, size=N)


def column(answer, name):
    (found,) = [one for one in answer.columns if one.name == name]
    return found


def warnings_of(values, y=Y, **options):
    table = pa.table({"a__x": values, "b__z": RNG.normal(size=len(values)), "y": y})
    return column(describe(table, "y", **options), "a__x").warnings


def test_a_text_that_a_view_takes_apart_is_no_category():
    texts = [f"the {i} words of this one" for i in range(200)]
    table = pa.table({"t": texts, "n": np.arange(200) % 7, "y": ["a", "b"] * 100})
    encoder = ViewEncoder({"a": ["words(t)"], "b": ["n"]})
    assert describe(table, "y", encoder=encoder).warnings == []


def test_counts_ranges_examples_and_kinds():
    table = pa.table(
        {
            "u__age": [30, None, 30, 25],
            "u__city": pa.array(["Oslo", "Bonn", None, "Oslo"]).dictionary_encode(),
            "p__text": ["a b", "c d", "e f", "a b"],
            "u__day": pa.array([1, 2, 3, 4], pa.timestamp("s")),
            "else": [True, False, True, True],
            "y": ["p", "q", "p", None],
        }
    )
    answer = describe(table, "y", encoder=ViewEncoder(text=["p__text"]))
    shown = {one.name: (one.view, one.kind, one.distinct, one.missing) for one in answer.columns}
    assert shown == {
        "u__age": ("u", "numeric", 2, 1),
        "u__city": ("u", "categorical", 2, 1),
        "p__text": ("p", "text", 3, 0),
        "u__day": ("u", "date", 4, 0),
        "else": (None, "categorical", 2, 0),
        "y": (None, "categorical", 2, 1),
    }
    age = column(answer, "u__age")
    assert (age.minimum, age.maximum, age.examples) == (25.0, 30.0, ["30", "25"])
    assert column(answer, "else").examples == ["true", "false"]
    assert answer.n_rows == 4
    assert "y: 25 % of the rows have no label" in answer.warnings
    day = column(answer, "u__day")
    assert (day.minimum, day.maximum) == ("1970-01-01 00:00:01", "1970-01-01 00:00:04")
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(description_table(answer))
    assert ">50,000" not in console.export_text()
    header, *rows = repr(answer).splitlines()
    assert header.split()[:3] == ["column", "view", "kind"]
    assert any(row.split()[:3] == ["u__age", "u", "numeric"] for row in rows)
    assert f"warning: {answer.warnings[0]}" in rows
    json.dumps(answer.to_dict())


def test_relations_are_those_of_the_textbook(monkeypatch):
    """Also in parts, of any size."""
    x = RNG.normal(size=N) + Y
    category = RNG.choice(list("abc"), size=N, p=[0.5, 0.3, 0.2])
    numbers = x * 2.0 + np.where(category == "a", 5.0, 0.0)
    table = pa.table({"v__x": x, "v__c": category, "y": Y, "number": numbers})
    # 1. a class: the correlation ratio and Cramér's V, corrected
    groups = [x[k == Y] for k in (0, 1)]
    within = sum(((g - g.mean()) ** 2).sum() for g in groups) / (N - 2)
    ratio = np.sqrt(1.0 - within / x.var(ddof=1))
    counts = np.array([[((category == c) & (k == Y)).sum() for k in (0, 1)] for c in "abc"])
    expected = counts.sum(1, keepdims=True) * counts.sum(0, keepdims=True) / N
    phi2 = max(0.0, ((counts - expected) ** 2 / expected).sum() / N - 2 / (N - 1))
    v = np.sqrt(phi2 / (2 - 1 / (N - 1) - 1))
    # 2. a number: the correlation, and the correlation ratio
    r = abs(np.corrcoef(x, numbers)[0, 1])
    groups = [numbers[category == c] for c in "abc"]
    within = sum(((g - g.mean()) ** 2).sum() for g in groups) / (N - 3)
    ratio_of_number = np.sqrt(1.0 - within / numbers.var(ddof=1))
    for cells in (summaries.MOST_DISTINCT * 100, 4 * 97):
        monkeypatch.setattr("crossview.data.summaries.table.MOST_CELLS", cells)
        answer = describe(table, "y")
        assert column(answer, "v__x").relation == pytest.approx(ratio)
        assert column(answer, "v__c").relation == pytest.approx(v, abs=1e-9)
        assert column(answer, "y").relation is None
        answer = describe(table, "number", task="regression")
        assert column(answer, "v__x").relation == pytest.approx(r)
        assert column(answer, "v__c").relation == pytest.approx(ratio_of_number)
    assert describe(table.drop_columns(["y"]), Y).columns[0].relation == pytest.approx(ratio)


def test_more_values_than_are_counted(monkeypatch):
    monkeypatch.setattr(summaries, "MOST_DISTINCT", 50)
    table = pa.table({"a__n": np.arange(N) / 7, "a__c": [f"k{i}" for i in range(N)], "y": Y})
    answer = describe(table, "y")
    assert [one.distinct for one in answer.columns] == [None, None, 2]
    assert column(answer, "a__c").relation is None
    days = np.datetime64("2024-01-01") + np.arange(N // 2)
    dates = [*days.astype(str), *(f"{one.day}.{one.month}.{one.year}" for one in days.tolist())]
    [line] = describe(pa.table({"a__d": dates, "y": Y}), "y").warnings
    assert line.startswith("a__d: a category, but of its different values most are dates: 50 % as")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            ["1,5", "2,75", "3,1", "4,0"] * 100,
            "look like numbers with a decimal comma: give numbers, and null for the others",
        ),
        (
            ["1.5", "2", "NA", "4"] * 100,
            "75 % look like numbers, the others are 'NA' (25 %): give n",
        ),
        ([*["1", "2", "3"] * 133, ">3"], "others are '>3' (0.2 %): all are categories; to learn"),
        (
            ["448.600", "1.250.000", "0", "950"] * 100,
            "look like numbers, and some are written as '1",
        ),
        (
            ["448,600", "1,250,000", "0", "950"] * 100,
            "look like numbers, and some are written as '1",
        ),
        (
            ["4,486", "1,250", "12", "950"] * 100,
            "or with one that separates thousands: write '4,486' as 4486 or as 4.486",
        ),
        (["121.700,50", "7,5", "0", "950"] * 100, "some are written as '121.700,50'"),
        (["5 km", "1911 km", "12km", "12"] * 100, "75 % are numbers with a unit"),
        (["448.600 €", "€ 7", "12 %", "NA"] * 100, "75 % look like numbers, and some are written"),
        (
            ["-$1,448.60", "- € 7", "($3)", "NA"] * 100,
            "75 % look like numbers, and some are written",
        ),
        (
            ["60\u202f000,50\u202f€", "CHF 60'000.50", "1 226,3", "k.A."] * 100,
            "75 % look like numbers, and some are written as '60 000,50 €'",
        ),
        (
            ["−1.5", "2.5", "(3.5)", "7"] * 100,
            "all look like numbers, and some are written as '−1.5'",
        ),
        (["1", "2", "3", "1e4"] * 100, "text, but all look like numbers: numeric='a__x'"),
        ([f"each sentence here is as long: k{i}" for i in range(N)], "6 words on average"),
        ([f"a sentence of seven words, number {i % 60}" for i in range(N)], "of 60 values, with 5"),
        (
            [f"ask k{i * 3 // 4} now" for i in range(N)],
            "of 300 values, with 2 words on average; free",
        ),
        ([f"k{i}" for i in range(N)], "different in nearly every row"),
        (
            [f"Ann Lee k{i}" for i in range(N)],
            "if its words count: text='a__x'; otherwise leave it",
        ),
        (
            ["1.5.2024", "2024-05-13", "2024-05-14", "1.6.2024"] * 100,
            "most are dates: 50 % as in %Y-%m-%d, 50 % as in %d.%m.%Y; a column has one format",
        ),
        (
            [*(f"{i % 28 + 1}.{i % 12 + 1}.2024" for i in range(N - 30)), *["offen"] * 30],
            "most are dates: 99 % as in %d.%m.%Y, the others 'offen' or the like: give null",
        ),
        ([7] * N, "constant: '7' in every row"),
        ([[0.5, 2.0], [1.0]] * (N // 2), "of different lengths, which is no vector; in SQL, array"),
        ([None] * N, "has no value in any row"),
        ([1.0, *[None] * (N - 1)], "99.8 % of the rows have no value"),
        (np.arange(N), "counts the rows: it is different in each of them, and tells nothing"),
        (np.argsort(np.argsort(-Y + 0.4 * RNG.random(N))), "if that is not known of new rows, le"),
        (np.append(np.arange(1, 301), RNG.integers(1, 301, 100)), "each whole number up to 300"),
        (Y * 2.0 + RNG.random(N), "tells the label almost exactly"),
        (
            np.where(Y == 1, "yes", "no"),
            f"is 'no' in exactly the {N - Y.sum()} rows whose label is 0",
        ),
        ([np.nan, *[1.5] * (N - 1)], "NaN or infinity in 1 row,"),
        ([-1e300, 1e300, *[1.5] * (N - 2)], "numbers that are too large in 2 rows: write null"),
    ],
)
def test_what_is_suspicious_is_named(values, expected):
    found = warnings_of(pa.array(values) if isinstance(values, list) else values)
    assert any(expected in line for line in found), found


def test_the_option_for_nan_and_infinity_is_as_they_are_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\nInf,1\n1.5,NaN\n2.5,2\n3.5,-infinity\n")
    lines = describe(path).warnings
    assert any("a: NaN or infinity in 1 row" in one and "null='Inf'" in one for one in lines)
    assert any("null='NaN'" in one and "null='-infinity'" in one for one in lines)
    assert describe(open_table(path, null=["Inf", "NaN", "-infinity"])).warnings == []
    for column, value in (("a", 2.5), ("b", 1.5)):
        query = f"SELECT {column}::DOUBLE AS {column} FROM '{path}'"
        [line] = [one for one in describe(query).warnings if "infinity" in one]
        finite = line[line.index("SELECT ") :].replace("...", f"({query})")
        assert (
            np.mean([row.as_py() for row in next(iter(open_table(finite))).X[0].drop_null()])
            == value
        )


@pytest.mark.parametrize(
    "values",
    [
        ["01", "02", "10", "11"] * 100,  # codes with leading zeros
        list("abcd") * 100,
        RNG.integers(100, size=N),
        RNG.normal(size=N) + Y,
    ],
)
def test_what_is_usual_is_not(values):
    assert warnings_of(values) == []


def test_classes_that_may_be_a_rating_are_named():
    table = pa.table({"a__x": RNG.normal(size=N), "y": np.arange(N) % 5 + 1})
    [line] = describe(table, "y").warnings
    assert line.startswith("y: 5 whole numbers from 1 to 5, which are classes without an order")
    assert describe(table, "y", task="classification").warnings == []


def test_a_constant_number_to_predict_is_named():
    table = pa.table({"a__x": RNG.normal(size=N), "y": np.full(N, 7.5)})
    expected = ["y: constant: '7.5' in every row that has a label"]
    assert describe(table, "y", task="regression").warnings == expected
    trained = train(table, "y", task="regression", model="ridge")
    assert trained.warnings[0].startswith("the number to predict is 7.5 in every row")


def test_a_label_that_is_too_large_is_no_warning_of_numpy():
    table = pa.table({"a__x": RNG.normal(size=N), "y": [1e300, 1e200, *RNG.normal(size=N - 2)]})
    assert describe(table, "y", task="regression").n_rows == N


def test_a_label_without_a_value_has_no_class():
    table = pa.table({"a__x": RNG.normal(size=N), "y": pa.nulls(N, pa.string())})
    assert describe(table, "y").warnings == ["y: all of the rows have no label"]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_labels_that_are_numbers_but_for_a_word_are_named(task):
    y = pa.array([*map(str, range(N - 2)), "n/a", "n/a"])
    table = pa.table({"a__x": RNG.normal(size=N), "y": y})
    expected = "y: text, but 99.5 % look like numbers, the others are 'n/a' (0.5 %): "
    expected += "give numbers, and null for the others"
    assert describe(table, "y", task=task).warnings == [expected]
    assert describe_head(open_table(table), "y", task=task).warnings == [expected]
    table = table.set_column(1, "y", pa.array([f"{i % 3}" for i in range(N)]))
    assert describe(table, "y").warnings == []  # the names of classes


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()])
def test_whole_numbers_that_no_float_tells_apart_are_named(kind):
    ids = pa.array([1234567890123456000 + i % 30 for i in range(N)], kind)
    table = pa.table({"a__of": ids, "a__x": RNG.normal(size=N), "y": Y})
    [line] = describe(table, "y").warnings
    assert line.endswith("rounded: are they categories? categorical='a__of'")
    assert describe(table, "y", encoder=ViewEncoder(categorical=["a__of"])).warnings == []


def test_what_makes_numbers_of_text_is_what_the_source_can(tmp_path):
    """Options are about CSV files; of others a query gives the numbers, as it is said to do."""
    values = [*map(str, range(300)), "n/a"]
    table = pa.table({"a__x": values, "y": ["a", "b"] * 150 + ["a"]})
    pq.write_table(table, tmp_path / "t.parquet")
    csv.write_csv(table, tmp_path / "t.csv")
    [line] = describe(tmp_path / "t.csv", "y").warnings
    assert line.endswith("the others are 'n/a' (0.3 %): null='n/a'")
    [line] = describe(tmp_path / "t.parquet", "y").warnings
    _, _, query = line.partition("read it by a query, ")
    query = query.replace("...", f"'{tmp_path}/t.parquet'")
    answer = describe(query, "y")
    assert answer.warnings == []
    assert column(answer, "a__x").missing == 1
    assert column(answer, "a__x").kind == "numeric"


@pytest.mark.parametrize(
    ("others", "named"),
    [
        (["n/a", "-"], "the others are 'n/a' (5 %), '-' (5 %): "),
        (["na", "?", "not so"], "'not so' "),
        (["-", "k.A.", ".", "n/a", "?", "#N/A"], "'?' (4 %), ...: "),
    ],
)
def test_all_words_for_missing_numbers_are_named(others, named, tmp_path):
    values = [*map(str, range(360)), *[value for value in others for _ in range(20)]]
    values = [str(int(value) // 2) if value.isdigit() else value for value in values]
    table = pa.table({"a__x": values, "a__z": RNG.random(len(values))})
    csv.write_csv(table, tmp_path / "t.csv")
    [line] = describe(tmp_path / "t.csv").warnings
    assert named in line
    assert line.endswith(f": null={others!r}")
    answer = describe(open_table(tmp_path / "t.csv", null=others))
    assert answer.warnings == []
    assert answer.columns[0].kind == "numeric"


def test_where_many_words_are_no_numbers_no_option_is_named(tmp_path):
    values = [*map(str, range(200)), *[f"w{chr(97 + i % 20)}" for i in range(40)]]
    table = pa.table({"a__x": values, "a__z": RNG.random(len(values))})
    csv.write_csv(table, tmp_path / "t.csv")
    [line] = describe(tmp_path / "t.csv").warnings
    assert "..." in line
    assert line.endswith("to learn numbers, write these as numbers, or leave them empty")


def test_the_head_of_a_table_says_nothing_of_later_rows(tmp_path):
    path = tmp_path / "t.csv"
    rows = (f"{i % 7 if i < 12_000 else 'n/a'},{'ab'[i % 2]}" for i in range(12_100))
    path.write_text("\n".join(["a__x,y", *rows]))
    [line] = describe_head(open_table(path), "y").warnings
    assert line.startswith("a__x: text, but all of the first 10,000 rows look like numbers: ")
    assert line.endswith("; crossview describe reads all rows")
    [line] = describe(path, "y").warnings
    assert line.endswith("99.2 % look like numbers, the others are 'n/a' (0.8 %): null='n/a'")


def test_an_identifier_by_its_name_unless_it_is_declared():
    ids, paid = (np.random.default_rng(n).integers(n, size=N) for n in (50, 900))
    # a column in no view is not learned
    table = pa.table({"u__user_id": ids, "v__movieId": ids, "u__paid": paid, "id": ids, "y": Y})
    [unused, *_] = describe(table, "y").about_table
    assert unused.startswith("not used, as columns called view__column are: id; views= names")
    columns = describe(table, "y").columns
    assert [one.name for one in columns if one.warnings] == ["u__user_id", "v__movieId"]
    columns = describe(table, "y", encoder=ViewEncoder(categorical=["*__*"])).columns
    assert not any(one.warnings for one in columns)
    line = describe(table.select(["id", "y"]), "y").warnings[-1]
    assert line.startswith("id: whole numbers")


def test_ids_with_several_rows_each_are_not_to_be_learned_as_categories():
    """Models would learn by heart whoever new rows do not have."""
    rng = np.random.default_rng(0)
    for n, of_user in ((50, 0.0), (50, 3.0)):
        user = np.repeat(np.arange(n), 8)
        y = of_user * rng.normal(size=n)[user] + rng.normal(size=len(user)) > 0.0
        table = pa.table({"id": user, "x": rng.normal(size=len(user)), "y": np.where(y, "a", "b")})
        answer = describe(table, "y")
        lines = [line for line in answer.warnings if "id" in line]
        assert not any("categorical=" in line for line in lines)
        assert any("groups='id'" in line for line in answer.about_table) == (of_user > 0.0)
        [line] = describe_head(open_table(table), "y").warnings
        assert line.endswith("if new rows have other ones, leave it out: ignore='id'")
    shop = pa.table({"shop_id": rng.integers(0, 5, 2000), "y": rng.normal(size=2000)})
    assert (
        "categories? categorical='shop_id'" in describe(shop, "y", task="regression").warnings[-1]
    )


def test_identifiers_that_are_text_are_no_numbers():
    rng = np.random.default_rng(0)
    ids = np.repeat(np.arange(24), 50)
    x = rng.normal(size=len(ids))
    own = 3.0 * (rng.permutation(24) % 2)[ids]  # rows of one are alike, and stand together
    table = pa.table(
        {
            "u__user_id": rng.permutation(ids).astype(str),
            "u__class": ids.astype(str),
            "u__size": rng.permutation(ids).astype(str),
            "u__x": x,
            "y": np.where(x + own > 1.5, "yes", "no"),
        }
    )
    answer = describe(table, "y")
    assert any("groups='u__class'" in line for line in answer.about_table)
    assert [one.name for one in answer.columns if one.warnings] == ["u__size"]
    assert column(answer, "u__size").warnings[0].endswith("numeric='u__size'")


def test_the_table_as_a_whole():
    table = pa.table({"196": [1, 2], "242": [3, 4]})
    about = describe(table).about_table
    assert "look like a row: header=False" in about[0]
    table = pa.table({name: [1, 2] for name in ("user_a", "user_b", "ad_a", "ad_b")})
    said = describe(table)
    assert said.about_table[0].endswith("several: views={'user': 'user_*', 'ad': 'ad_*'}")
    assert {one.view for one in said.columns} == {"all"}
    alike = pa.table({f"a__{i}": [0] * 30 for i in range(5)} | {"y": [0, 1] * 15})
    assert describe(alike, "y").warnings == [
        "a__0, a__1, a__2 and 2 more: constant: '0' in every row"
    ]


def test_a_label_that_is_something_else():
    table = pa.table(
        {"a__x": np.arange(3000) % 7, "y": np.arange(3000) / 3, "t": ["a", "b"] * 1500}
    )
    assert (
        "to predict a number: task='regression'"
        in describe(table, "y", task="classification").warnings[-1]
    )
    alike = table.set_column(1, "y", pa.array(["ja", "ja ", "nein", "Nein"] * 750))
    assert "y: 'ja' and 'ja ' are two classes" in describe(alike, "y").warnings[-1]
    answer = describe(table, "t", task="regression", views={"a": "a__x"})
    assert "is no number; to predict a class" in answer.warnings[-1]
    with pytest.raises(InputError, match="no label column 'z'"):
        describe(table, "z")
    with pytest.raises(InputError, match="labels for more than"):
        describe(table, [1, 2])


def test_the_head_leaves_out_what_is_refused_anyway():
    table = pa.table(
        {"a__x": [np.nan, 1.0, 2.0, 0.5] * 10, "a__c": [1] * 40, "z": [1] * 40, "y": [0] * 40}
    )
    answer = describe_head(open_table(table), "y")
    assert answer.warnings == ["a__c, z: constant: '1' in every row"]
    # of the first rows of more nobody knows it
    more = pa.table(
        {
            "a__c": [1] * 10_000 + [2],
            "a__d": [0.5, 1.5, 0.5] * 3333 + [1.5] * 2,
            "y": [0, 1] * 5000 + [0],
        }
    )
    assert describe_head(open_table(more), "y").warnings == []


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_table_of_columns_loses_nothing(width):
    table = pa.table({"user__a_long_name": ["x", "y"] * 20, "ad__n": range(40), "y": [0, 1] * 20})
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(description_table(describe(table, "y")))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    for word in ("user__a_long_name", "relation", "examples", "0 to 39", "(label)"):
        assert word in text


def test_many_columns_are_no_square():
    """The work per column does not grow with the number of columns."""

    def calls(n):
        table = pa.table({f"a__{i}": ["x", "y"] for i in range(n)})
        script = []
        sys.setprofile(lambda *event: script.append(1))
        try:
            describe(table)
        finally:
            sys.setprofile(None)
        return len(script)

    calls(10)
    assert calls(80) < 2.2 * calls(40)


def test_describing_loads_nothing_heavy():
    script = (
        "import sys, pyarrow as pa; from crossview import describe\n"
        "describe(pa.table({'a__x': [1, 2], 'y': ['p', 'q']}), 'y')\n"
        "assert not {'numba', 'sklearn', 'scipy.stats'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_rows_with_views_are_described_view_by_view(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("+1 1:0.5 3:2\n-1 2:1\nnan 3:-1\n")
    answer = describe(str(path), views={"page": "1:2", "link": "3"})
    assert (answer.n_rows, answer.labels, answer.unlabeled) == (3, {"-1": 1, "1": 1}, 1)
    page, link = answer.views
    assert (page.width, page.used, page.entries, page.empty_rows) == (2, 2, 2, 1)
    assert (link.minimum, link.maximum) == (-1.0, 2.0)
    assert set(answer.to_dict()) == {"files", "n_rows", "labels", "unlabeled", "views"}
    for options, what in (
        ({"y": "y"}, "leave the label out"),
        ({"encoder": ViewEncoder(text=["a"])}, "text= is about columns"),
    ):
        with pytest.raises(InputError, match=what):
            describe(str(path), **options)


def test_a_warning_says_the_option_and_a_share_is_never_rounded_to_all():
    table = pa.table(
        {
            "gone": pa.nulls(N, pa.string()),
            "it's": np.arange(N),
            "list": [["a"]] * N,
            "few": [1.0, *[None] * (N - 1)],
            "y": Y,
        }
    )
    answer = describe(table, "y")
    gone, counts, nested, few = answer.warnings[:4]
    assert gone == "gone: has no value in any row; leave it out: ignore='gone'"
    assert counts.endswith('new ones; leave it out: ignore="it\'s"')
    assert nested.startswith("list: holds list<")
    assert nested.endswith("or leave it out: ignore='list'")
    assert few == "few: 99.8 % of the rows have no value"
    console = Console(file=io.StringIO(), width=200)
    console.print(description_table(answer))
    shown = console.file.getvalue()
    assert " all " in shown
    assert "99.8 %" in shown
