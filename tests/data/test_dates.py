"""Dates: how text writes them, what they become, and how tables of them are read."""

import datetime
import itertools
import json
import math
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from command_line import run
from crossview import (
    Checkpoint,
    InputError,
    ViewEncoder,
    compare,
    describe,
    evaluate,
    open_table,
    predict,
    train,
)
from crossview.saving.model_files import load, save
from crossview.tables.dates import PARTS, as_times, check_format, date_numbers, find_formats

RNG = np.random.default_rng(0)
N = 300
DAYS = np.datetime64("2024-01-01", "D") + RNG.integers(700, size=N)
DOTS = [f"{day.day:02}.{day.month}.{day.year}" for day in DAYS.tolist()]
LABEL = np.where(np.isin((DAYS.astype(int) + 3) % 7, [5, 6]), "weekend", "week").tolist()
NOISE = RNG.normal(size=N)


def times(values, format):
    return [None if np.isnat(one) else str(one) for one in as_times("x", pa.array(values), format)]


@pytest.mark.parametrize(
    ("text", "format", "expected"),
    [
        ("2025-04-12", "", "2025-04-12T00:00:00.000000"),
        (" 2025-04-12T10:30 ", "", "2025-04-12T10:30:00.000000"),
        ("2025-04-12 10:30:15.25", "", "2025-04-12T10:30:15.250000"),
        ("2025-04-12T10:30:00Z", "", "2025-04-12T10:30:00.000000"),
        ("2025-04-12T00:30:00+02:00", "", "2025-04-11T22:30:00.000000"),
        ("2025-04-12 10:30-0330", "", "2025-04-12T14:00:00.000000"),
        ("12.4.2025", "%d.%m.%Y", "2025-04-12T00:00:00.000000"),
        ("12.04.2025 23:59", "%d.%m.%Y", "2025-04-12T23:59:00.000000"),
        ("4/12/25", "%m/%d/%y", "2025-04-12T00:00:00.000000"),
        ("4/12/69", "%m/%d/%y", "1969-04-12T00:00:00.000000"),
        ("20250412", "%Y%m%d", "2025-04-12T00:00:00.000000"),
        ("10h30 on 12.04.2025", "%Hh%M on %d.%m.%Y", "2025-04-12T10:30:00.000000"),
        ("29.02.2024", "%d.%m.%Y", "2024-02-29T00:00:00.000000"),
        ("", "", None),
        (None, "", None),
    ],
)
def test_dates_of_text(text, format, expected):
    assert times([text, "2025-01-02" if not format else text], format)[0] == expected


@pytest.mark.parametrize(
    "text",
    ["31.04.2025", "29.02.2025", "00.01.2025", "1.13.2025", "1.1.2025 24:00", "n/a", "1.1.25"],
)
def test_what_is_no_date_is_named(text):
    with pytest.raises(InputError, match=r"row 1, column 'x': .* is no date as in %d\.%m\.%Y"):
        as_times("x", pa.array(["01.01.2025", text]), "%d.%m.%Y")


def test_the_format_of_what_is_no_date_is_named():
    message = r"'1992-07-06' is no date as in %d\.%m\.%Y, but as in %Y-%m-%d; .*date='x=%Y-%m-%d'"
    with pytest.raises(InputError, match=message):
        as_times("x", pa.array(["01.01.2025", "1992-07-06"]), "%d.%m.%Y")


@pytest.mark.parametrize("format", ["%d.%m", "%d.%m.%Y %q", "%d.%m.%Y %y", "%d.%d.%m.%Y", "%A"])
def test_a_format_that_cannot_be(format):
    with pytest.raises(InputError, match="the format"):
        check_format(format)


@pytest.mark.parametrize(
    ("values", "format", "other"),
    [
        (["01.02.2025", "13.02.2025 10:00", None], "%d.%m.%Y", None),
        (["2025-01-02", ""], "%Y-%m-%d", None),
        (["01/02/2025", "13/02/2025"], "%d/%m/%Y", None),
        (["01/02/2025", "02/13/2025"], "%m/%d/%Y", None),
        (["01/02/2025", "02/03/2025"], "%m/%d/%Y", "%d/%m/%Y"),
        (["31-12-2025"], "%d-%m-%Y", None),
        (["13/02/2025", "02/13/2025"], None, None),
        (["01.02.2025", "unknown"], None, None),
        (["1.2.3", "10"], None, None),
        (["03/04/19", "03/27/19"], "%m/%d/%y", None),
        (["03/04/19", "27/03/19 10:00"], "%d/%m/%y", "%y/%m/%d"),
        (["27/03/99"], "%d/%m/%y", None),
        (["27.03.19"], "%d.%m.%y", None),
        (["03-04-05"], "%m-%d-%y", "%d-%m-%y"),
        (["97-03-27"], "%y-%m-%d", None),
        ([None, None], None, None),
        (["", ""], None, None),
    ],
)
def test_formats_are_those_of_all_rows(values, format, other):
    array = pa.array(values, pa.string())
    for parts in ([array], [array.slice(0, 1), array.slice(1).dictionary_encode()]):
        found = find_formats([{"x": part} for part in parts], ["x"])
        one = found.get("x")
        assert (one and (one.format, one.other)) == (None if format is None else (format, other))


@pytest.mark.parametrize(
    "array",
    [
        pa.array([datetime.date(2025, 4, 12), None]),
        pa.array([datetime.datetime(2025, 4, 12), None], pa.date64()),
        *(pa.array([datetime.datetime(2025, 4, 12), None], pa.timestamp(u)) for u in ("s", "ns")),
        # 00:00 in UTC
        pa.array([datetime.datetime(2025, 4, 12), None], pa.timestamp("ms", tz="Asia/Tokyo")),
        pa.array(["2025-04-12", None]).dictionary_encode(),
    ],
)
def test_all_types_of_dates(array):
    assert as_times("x", array).tolist() == [datetime.datetime(2025, 4, 12), None]
    numbers = pa.array([20250412, None])
    assert as_times("x", numbers, "%Y%m%d").tolist() == as_times("x", array).tolist()
    with pytest.raises(InputError, match="holds int64, and dates are dates, timestamps or text"):
        as_times("x", numbers)


def test_numbers_of_a_date():
    """Of a Sunday in April, at 18:00."""
    (row,) = date_numbers(np.array(["2025-04-13T18:00:00.5"], dtype="M8[us]"))
    days = (datetime.date(2025, 4, 13) - datetime.date(1970, 1, 1)).days
    turns = [3 / 12, 6 / 7, 18 / 24]
    circles = [f(2 * math.pi * turn) for turn in turns for f in (math.sin, math.cos)]
    assert row.tolist() == pytest.approx([days + 0.75 + 0.5 / 86400, 2025, *circles])
    assert np.isnan(date_numbers(np.array(["NaT"], dtype="M8[us]"))).all()


TABLE = pa.table(
    {
        "a__day": [None if i % 9 == 4 else day for i, day in enumerate(DOTS)],
        "b__at": pa.array(DAYS.astype("M8[ms]").tolist(), mask=np.arange(N) % 7 == 2),
        "b__x": NOISE,
        "y": LABEL,
    }
)


@pytest.mark.parametrize("options", [{}, {"bins": 4}, {"standardize": False}])
def test_a_date_is_a_few_numbers(options):
    encoder = ViewEncoder(**options)
    X = encoder.fit_transform(TABLE.drop_columns(["y"]))
    assert encoder.column_kinds() == {"a": {"date": 1}, "b": {"date": 1, "numeric": 1}}
    n_bins = options.get("bins", 0)
    assert X.layout.widths == (8 * (2 + n_bins), 9 * (2 + n_bins))
    assert [encoder.feature_name("a", k) for k in range(8)] == [f"a__day {one}" for one in PARTS]
    assert encoder.feature_name("a", 8) == "a__day days is missing"
    meaning = encoder.explain_columns("b", [2])[0]
    assert (meaning.column, meaning.value) == ("b__at", "month sin")
    # the view has one column, so it is missing where that is; the other one has an indicator
    assert X.present[:, 0].tolist() == [i % 9 != 4 for i in range(N)]
    dense = X["b"].toarray()
    assert (dense[:, 9] > 0).tolist() == [i % 7 == 2 for i in range(N)]
    assert not dense[:, 10:18].any()
    assert not dense[np.arange(N) % 7 == 2, :8].any()
    if not options:  # the time of day never changes
        assert not dense[:, 6:8].any()
        raw = ViewEncoder(standardize=False, scale_views=False).fit_transform(TABLE)
        values = raw["b"].toarray()[np.arange(N) % 7 != 2, :6]
        expected = (values - values.mean(0)) / values.std(0)
        mine = ViewEncoder(scale_views=False).fit_transform(TABLE)["b"].toarray()
        np.testing.assert_allclose(mine[np.arange(N) % 7 != 2, :6], expected, atol=1e-9)


def test_a_stream_gives_the_same_bits_in_any_batches():
    X = TABLE.drop_columns(["y"])
    whole = ViewEncoder(date=["a__day=%d.%m.%Y"], bins=4)
    rows = whole.partial_fit_transform(X).matrix.toarray()
    parts = ViewEncoder(date=["a__day=%d.%m.%Y"], bins=4)
    cuts = [0, 1, 4, 5, 100, N]
    pieces = [
        parts.partial_fit_transform(X.slice(a, b - a)).matrix.toarray()
        for a, b in itertools.pairwise(cuts)
    ]
    assert np.array_equal(np.vstack(pieces), rows)
    assert all(
        np.array_equal(array, parts.get_state()[key]) for key, array in whole.get_state().items()
    )


def test_a_stream_does_not_guess_by_a_few_rows():
    encoder = ViewEncoder().partial_fit(TABLE.slice(0, 19))
    assert encoder.column_kinds()["a"] == {"categorical": 1}
    assert ViewEncoder(date=[]).fit(TABLE).column_kinds()["a"] == {"categorical": 1}
    assert ViewEncoder(categorical=["a__day"]).fit(TABLE).column_kinds()["a"] == {"categorical": 1}
    with pytest.raises(InputError, match=r"column 'a__day': '.*' is no date as in %Y-%m-%d"):
        ViewEncoder(date=["a__day"]).partial_fit(TABLE)


def test_a_model_reads_dates_as_it_learned_them(tmp_path):
    """From a file that it writes, rows of text, of timestamps, or of another format."""
    trained = train(TABLE, "y", model="pa:concatenated")
    assert trained.encoder.date == ["a__day=%d.%m.%Y"]
    save(trained.fitted, tmp_path / "m.safetensors")
    fitted = load(tmp_path / "m.safetensors")
    expected = trained.fitted.decision_function(TABLE)
    assert np.array_equal(fitted.decision_function(TABLE), expected)
    day = pa.array(DAYS.tolist(), mask=TABLE["a__day"].is_null().to_numpy())
    typed = TABLE.set_column(0, "a__day", day)
    assert np.array_equal(fitted.decision_function(typed), expected)
    lines = ["a__day;b__at;b__x"]
    for row in TABLE.to_pylist():
        at = "" if row["b__at"] is None else row["b__at"].isoformat(" ")
        lines.append(f"{row['a__day'] or ''};{at};{row['b__x']!r}")
    (tmp_path / "new.csv").write_text("\n".join([*lines, ""]))
    predicted = predict(tmp_path / "m.safetensors", tmp_path / "new.csv")
    assert predicted["score"].to_pylist() == pytest.approx(expected.tolist())
    (tmp_path / "new.csv").write_text("\n".join([*lines, "2025-01-01;;1"]))
    with pytest.raises(
        InputError, match=rf"new\.csv, row {N}, column 'a__day': '2025-01-01' is no"
    ):
        predict(tmp_path / "m.safetensors", tmp_path / "new.csv")
    # it goes on, and a model of one view has its dates
    more = train(TABLE, init=trained)
    assert more.encoder.column_kinds() == trained.encoder.column_kinds()
    alone = train(TABLE, "y", model="view:a")
    assert alone.encoder.declared_columns()["date"] == ["a__day=%d.%m.%Y"]


def test_training_goes_on_with_dates_that_were_typed_and_are_text(tmp_path):
    """As rows of JSON, such as the log of a server, have them; a category is not made of them."""
    table = pa.table({"day": pa.array(DAYS.tolist()), "a__x": NOISE, "y": LABEL})
    text = table.set_column(0, "day", pa.array([f"{day}" for day in DAYS]))
    rows = "\n".join(map(json.dumps, text.to_pylist()))
    (tmp_path / "rows.jsonl").write_text(rows + "\n")
    given = {"views": {"a": ["day", "a__x"]}, "model": "pa:squared", "in_order": True}
    first = train(table, "y", **given)
    expected = train(table, init=first, in_order=True)
    for source in (text, str(tmp_path / "rows.jsonl")):
        more = train(source, init=first, in_order=True)
        np.testing.assert_array_equal(more.learner.coef_, expected.learner.coef_)
        assert more.encoder.column_kinds() == first.encoder.column_kinds()
    kept = {"checkpoint": Checkpoint(tmp_path / "kept.st", every=0.0, resume=True)}
    resumed = train(text, init=first, in_order=True, output=tmp_path / "more.st", **kept)
    np.testing.assert_array_equal(resumed.learner.coef_, expected.learner.coef_)
    wrong = text.set_column(0, "day", pa.array(["soon", *[None] * (N - 1)]))
    with pytest.raises(InputError, match="row 0, column 'day': 'soon' is no"):
        train(wrong, init=first, in_order=True)
    words = table.set_column(1, "a__x", pa.array(map(str, NOISE)))
    with pytest.raises(InputError, match="'a__x': was numeric in the first rows, and holds string"):
        train(words, init=first, in_order=True)


def test_dates_are_learned_from():
    """A week day is one of seven, however many days there are."""
    trained = train(
        TABLE,
        "y",
        model="pa:concatenated",
        epochs=3,
        encoder=ViewEncoder(text=[]),
        views={"a": "a*"},
    )
    assert trained.accuracy > 0.85
    models = {"models": ["view:a", "view:b"], "cv": 2, "grid": {"C": [1.0]}, "curve": False}
    assert compare(TABLE, "y", **models).best.accuracy > 0.85


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_in_the_order_of_dates_of_text(tmp_path, suffix):
    import pyarrow.csv
    import pyarrow.parquet

    order = np.argsort(DAYS, kind="stable")
    table = pa.table({"day": DOTS, "a__x": NOISE, "b__z": NOISE**2, "y": LABEL})
    file = str(tmp_path / f"t.{suffix}")
    write = pyarrow.csv.write_csv if suffix == "csv" else pyarrow.parquet.write_table
    write(table, file)
    given = {"model": "pa:concatenated", "classes": ["week", "weekend"]}
    by_time = train(file, "y", time="day", **given)
    sorted_before = train(
        table.take(pa.array(order)).drop_columns("day"), "y", in_order=True, **given
    )
    assert np.array_equal(by_time.learner.coef_, sorted_before.learner.coef_)
    typed = table.set_column(0, "day", pa.array(DAYS.tolist()))
    windows, expected = (
        [(one.start, one.rows) for one in answer.windows]
        for answer in (
            evaluate(by_time.fitted, rows, "y", time="day", window="91d") for rows in (file, typed)
        )
    )
    assert windows == expected
    american = pa.array([f"{day.month}/{day.day}/{day.year}" for day in DAYS.tolist()])
    table = table.set_column(0, "day", american)
    again = train(table, "y", time="day", **given)
    assert np.array_equal(again.learner.coef_, by_time.learner.coef_)
    few = table.filter(pa.array([day.day < 13 for day in DAYS.tolist()]))
    with pytest.raises(InputError, match=r"column 'day': its dates may be %m/%d/%Y or %d/%m/%Y"):
        train(few, "y", time="day", **given)
    assert train(
        few, "y", time="day", encoder=ViewEncoder(date=["day=%m/%d/%Y"]), **given
    ).rows == len(few)
    with pytest.raises(InputError, match="holds text that is not a date in every row"):
        train(table.set_column(0, "day", pa.array(["?", *DOTS[1:]])), "y", time="day", **given)


def test_describe_shows_dates_and_what_it_guessed():
    answer = describe(TABLE, "y")
    day, at, *_ = answer.columns
    assert (day.kind, at.kind) == ("date", "date")
    assert (day.minimum, day.maximum) == (str(DAYS[TABLE["a__day"].is_valid()].min()), day.maximum)
    assert day.distinct == len(set(TABLE["a__day"].drop_null().to_pylist()))
    assert day.missing == TABLE["a__day"].null_count
    (line,) = answer.warnings
    assert line.startswith("'a__day' is a date, and compare has random folds: time='a__day' scores")
    slashes = pa.table({"a__d": ["01/02/2025", "03/04/2025"] * 20, "b__x": NOISE[:40]})
    (line,) = describe(slashes).warnings
    assert "read as %m/%d/%Y, and %d/%m/%Y fits as well: date='a__d=%d/%m/%Y'" in line
    named = describe(slashes, encoder=ViewEncoder(date=["a__d=%d/%m/%Y"]))
    assert named.warnings == []
    assert named.columns[0].minimum == "2025-02-01"


def test_two_digits_of_the_year_are_dates_if_the_order_is_known(tmp_path, capsys):
    days = [f"0{i % 9 + 1}/{i % 28 + 1:02}/{i % 3 + 18}" for i in range(60)]
    versions = [f"{i % 9 + 1}.{i % 12 + 1}.{i % 3 + 18}" for i in range(60)]
    table = pa.table({"a__day": days, "a__version": versions, "b__x": NOISE[:60]})
    answer = describe(table)
    assert [one.kind for one in answer.columns] == ["date", "categorical", "numeric"]
    assert answer.columns[0].minimum == "2018-01-01"
    (line,) = answer.warnings
    assert line.endswith("look like dates, as in %d.%m.%y or %m.%d.%y: date='a__version=%d.%m.%y'")
    for k, encoder in enumerate((None, ViewEncoder(date=["a__version"]))):
        found = describe(table, encoder=encoder).columns[1].kind
        assert found == ("categorical", "date")[k]
    (tmp_path / "t.csv").write_text(
        "\n".join(["day,y", *(f"{one},{k % 2}" for k, one in enumerate(days))])
    )
    _, _, err = run(capsys, "convert", tmp_path / "t.csv", "--label", "y", "-o", tmp_path / "t.vw")
    assert "crossview: read as dates: day (%m/%d/%y, of 1969 to 2068)" in err


def test_that_dates_have_a_time_is_said(tmp_path, capsys):
    path = tmp_path / "t.csv"
    days = [f"7/{i % 28 + 1}/20 {i % 24}:{i % 60:02}" for i in range(60)]
    path.write_text("\n".join(["day,y", *(f"{one},{k % 2}" for k, one in enumerate(days))]))
    _, _, err = run(capsys, "convert", path, "--label", "y", "-o", tmp_path / "t.vw")
    assert "crossview: read as dates: day (%m/%d/%y with a time, of 1969 to 2068)" in err


@pytest.mark.parametrize("format", ["%b %d %Y", "%d-%b-%y", "%B %d, %Y", "%d%b%Y"])
def test_names_of_months_are_read_by_the_query_that_is_named(format, tmp_path):
    path = tmp_path / "t.csv"
    days = [day.strftime(format) for day in DAYS[:60].tolist()]
    pd.DataFrame({"the day": days, "x": NOISE[:60]}).to_csv(path, index=False)
    (line,) = describe(path).warnings
    assert f"dates with names of months, as in {format}: read it by a query, SELECT" in line
    query = line[line.index("SELECT") :].replace("...", f"'{path}'")
    assert describe(query).columns[0].minimum == str(DAYS[:60].min())
    words = ["May 3 people", "June", "march of 12 men"] * 20
    assert describe(pa.table({"x": words})).warnings == []


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("28-04-2025 10:00:00", "%d-%m-%Y"),
        ("28/04/2025 10:00:00", "%d/%m/%Y"),
        ("2025/04/28 10:00:00", "%Y/%m/%d"),
        ("28.04.2025 10:00", "%d.%m.%Y"),
        ("28/04/25 10:00:00", "%d/%m/%y"),
        ("28-04-25 10:00", "%d-%m-%y"),
        ("2025-04-28 10:00:00", None),
        ("2025-04-28T12:00:00+02:00", None),
    ],
)
def test_times_of_csv_and_json(tmp_path, text, format):
    for k in range(2):
        (tmp_path / f"{k}.csv").write_text(f"a__t,b__x,y\n{text},1,u\n{text},2,v\n")
        (tmp_path / f"{k}.jsonl").write_text(f'{{"a__t": "{text}", "b__x": 1, "y": "u"}}\n')
    expected = np.datetime64("2025-04-28T10:00", "us")
    for suffix in ("csv", "jsonl"):
        stream = open_table(f"{tmp_path}/*.{suffix}")
        found = stream.find_dates(["a__t"])
        if format is not None:
            assert found["a__t"].format == format
        values = next(iter(stream)).X.column("a__t")
        assert as_times("a__t", values, format or "")[0] == expected


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMPTZ"])
def test_infinity_is_no_date(kind):
    query = f"SELECT unnest(['2024-01-01', 'infinity']::{kind}[]) AS day, unnest([1, 2]) AS y"
    with pytest.raises(InputError, match="row 1, column 'day': has a date after the year 9999"):
        train(query, "y", model="linear")


@pytest.mark.parametrize("use", [train, describe, compare])
def test_what_is_no_date_is_named_by_its_row_of_the_file(use, tmp_path):
    """The rows are shuffled, and summaries read a few of them at a time."""
    for k in range(2):
        rows = [f"2024-01-{i % 28 + 1:02},{i % 2}" for i in range(700)]
        rows[640] = "later,1" if k else rows[640]
        (tmp_path / f"{k}.csv").write_text("\n".join(["day,y", *rows]))
    where = f"^{re.escape(str(tmp_path))}/1.csv, row 640, column 'day': 'later' is no date"
    with pytest.raises(InputError, match=where):
        use(f"{tmp_path}/*.csv", "y", encoder=ViewEncoder(date=["day"]))


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_years_of_two_digits_are_dates_or_text_in_each_file(tmp_path, suffix):
    """DuckDB takes 25/03/24 for the 24th of March in the year 25."""
    values = {"day": "25/03/24", "iso": "2024-03-25", "code": "9/11/9", "none": "0001-01-01"}
    values["end"] = "infinity"
    for k, name in enumerate(("0", "1")):
        row = values if k else dict.fromkeys(values)
        path = tmp_path / f"{name}.{suffix}"
        if suffix == "csv":
            path.write_text(f"{','.join(row)}\n{','.join(one or '' for one in row.values())}\n")
        else:
            path.write_text(json.dumps(row) + "\n")
    stream = open_table(f"{tmp_path}/*.{suffix}")
    rows = [row for batch in stream for row in batch.X.to_pylist()]
    read = values | ({"end": "inf"} if suffix == "csv" else {})  # a number
    assert {name: str(value) for name, value in rows[1].items()} == read
    dates = stream.find_dates(list(values))
    assert (dates["day"].format, dates["none"].format) == ("%d/%m/%y", "%Y-%m-%d")
    assert not {"code", "end"} & set(dates)


def test_a_column_that_is_dates_at_first_only(tmp_path):
    """All rows decide, and a column is read no longer than it may be dates."""
    rows = ["01.02.2025"] * 50 + ["later"]
    stream = open_table(pa.table({"d": rows, "e": ["x"] * 51}), batch_rows=10)
    assert stream.find_dates(["d", "e"]) == {}
    stream = open_table(pa.table({"d": [None] * 20 + rows[:50]}), batch_rows=10)
    assert stream.find_dates(["d"])["d"].format == "%d.%m.%Y"
