"""Files, queries and data frames as batches, and what is said of bad ones."""

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview import GuessWarning, InputError, open_rows, open_table
from crossview.readers.columnar import text as text_module
from crossview.readers.columnar import wide
from crossview.readers.prefetch import prefetch
from crossview.readers.source import Source


def rows(stream):
    return [row for batch in stream for row in batch.X.to_pylist()]


def csv_text(n, start=0):
    return "id,city\n" + "".join(f"{i},c{i % 3}\n" for i in range(start, start + n))


def zstd(text):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(text.encode())
    return sink.getvalue().to_pybytes()


PEOPLE = [
    {"age": 30, "city": "Oslo", "score": 0.5},
    {"age": None, "city": "Bonn", "score": 1.5},
    {"age": 25, "city": None, "score": None},
]
CSV = "age,city,score\n30,Oslo,0.5\n,Bonn,1.5\n25,,\n"
JSONL = "".join(json.dumps(row) + "\n" for row in PEOPLE)
FILES = {
    "people.csv": CSV.encode(),
    "people.tsv": CSV.replace(",", "\t").encode(),
    "people.csv.gz": gzip.compress(CSV.encode()),
    "people.csv.zst": zstd(CSV),
    "people.tsv.gz": gzip.compress(CSV.replace(",", "\t").encode()),
    "semicolons.csv": CSV.replace(",", ";").encode(),
    "windows.csv": b"\xef\xbb\xbf" + CSV.replace("\n", "\r\n").encode(),
    "excel.csv": CSV.encode("utf-16"),
    "excel.tsv.gz": gzip.compress(CSV.replace(",", "\t").encode("utf-16")),
    "people.jsonl": JSONL.encode(),
    "marked.jsonl": JSONL.encode("utf-8-sig"),
    "people.ndjson": JSONL.encode(),
    "people.json": JSONL.encode(),
    "array.json": json.dumps(PEOPLE).encode(),
    "people.jsonl.gz": gzip.compress(JSONL.encode()),
    "people.jsonl.zst": zstd(JSONL),
}


@pytest.mark.parametrize("name", FILES)
def test_every_text_format_gives_the_same_rows(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    stream = open_table(path)
    assert stream.column_names == ["age", "city", "score"]
    assert [str(t) for t in stream.schema.types] == ["int64", "string", "double"]
    assert stream.files == [str(path)]
    assert repr(stream) == "Source(columns: age, city, score)"  # not counted before asked
    assert stream.n_rows == 3
    assert repr(stream).startswith("Source(3 rows")
    assert rows(stream) == PEOPLE


@pytest.mark.parametrize(
    "frame",
    [
        pa.Table.from_pylist(PEOPLE),
        pa.RecordBatch.from_pylist(PEOPLE),
        pl.DataFrame(PEOPLE),
        pd.DataFrame(PEOPLE, index=[7, 8, 9]).convert_dtypes(),
    ],
    ids=lambda frame: type(frame).__module__ + "." + type(frame).__name__,
)
def test_every_data_frame_gives_the_same_rows(frame):
    stream = open_table(frame)
    assert stream.n_rows == 3
    assert stream.files == []
    assert rows(stream) == PEOPLE


def test_nan_in_pandas_is_null():
    assert rows(open_table(pd.DataFrame({"a": [1.5, float("nan")]}))) == [{"a": 1.5}, {"a": None}]


def test_parquet_keeps_text_as_dictionaries_and_knows_its_length(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.Table.from_pylist(PEOPLE), path)
    stream = open_table(path)
    assert stream.n_rows == 3
    assert pa.types.is_dictionary(stream.schema.field("city").type)
    assert rows(stream) == PEOPLE
    (batch,) = stream
    assert batch.X.schema == stream.schema


@pytest.mark.parametrize("write", ["pandas", "polars"])
def test_parquet_of_other_writers(write, tmp_path):
    path = tmp_path / "people.parquet"
    if write == "pandas":
        frame = pd.DataFrame(PEOPLE, index=[3, 4, 5])
        frame["city"] = frame["city"].astype("category")
        frame.to_parquet(path)
        assert rows(open_table(path).select(["age", "city", "score"])) == PEOPLE
    else:
        pl.DataFrame(PEOPLE).with_columns(pl.col("city").cast(pl.Categorical)).write_parquet(path)
        assert rows(open_table(path)) == PEOPLE


def test_an_index_of_pandas_is_a_column_only_if_it_has_a_name(tmp_path):
    frame = pd.DataFrame({"n": [1.5, 2.5, 3.5]}, index=[7, 3, 5])
    frame.to_parquet(tmp_path / "a.parquet")
    assert rows(open_table(tmp_path / "a.parquet")) == [{"n": n} for n in (1.5, 2.5, 3.5)]
    frame.rename_axis("patient").to_parquet(tmp_path / "b.parquet")
    assert open_table(tmp_path / "b.parquet").column_names == ["n", "patient"]


@given(
    lengths=st.lists(st.integers(0, 20), min_size=1, max_size=4),
    batch_rows=st.integers(1, 25),
    columns=st.permutations(["id", "city"]),
)
def test_batches_cover_the_rows_in_order_with_their_numbers(
    tmp_path_factory, lengths, batch_rows, columns
):
    folder = tmp_path_factory.mktemp("glob")
    expected, start = [], 0
    for k, n in enumerate(lengths):
        ids = list(range(start, start + n))
        table = pa.table({"id": pa.array(ids, pa.int64()), "city": [f"c{i % 3}" for i in ids]})
        if n == 0:
            table = table.cast(pa.schema([("id", pa.int64()), ("city", pa.string())]))
        pq.write_table(table, folder / f"{k}.parquet", row_group_size=7)
        expected += [(f"{k}.parquet", r, i) for r, i in enumerate(ids)]
        start += n
    stream = open_table(f"{folder}/*.parquet", batch_rows=batch_rows).select(columns)
    assert stream.n_rows == start
    found = []
    for batch in stream:
        data, file, first_row = batch.X, batch.file, batch.first_row
        assert 0 < data.num_rows <= batch_rows
        assert data.schema.names == columns
        found += [
            (file.rpartition("/")[2], first_row + i, value)
            for i, value in enumerate(data.column("id").to_pylist())
        ]
    assert found == expected


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_glob_is_read_in_the_order_of_the_names(suffix, tmp_path):
    for k in (2, 0, 1):
        text = csv_text(5, start=5 * k).encode()
        (tmp_path / f"{k}{suffix}").write_bytes(
            gzip.compress(text) if suffix.endswith("gz") else text
        )
    stream = open_table(f"{tmp_path}/*{suffix}", batch_rows=2)
    assert [row["id"] for row in rows(stream)] == list(range(15))
    starts = {}
    for batch in stream:
        starts.setdefault(batch.file, batch.first_row)
    assert list(starts.values()) == [0, 0, 0]
    again = open_table([tmp_path / f"1{suffix}", tmp_path / f"0{suffix}"])
    assert [row["id"] for row in rows(again)] == [*range(5, 10), *range(5)]


def test_a_stream_can_be_read_again_and_stopped_midway(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(csv_text(10))
    stream = open_table(path, batch_rows=3)
    next(iter(stream))
    assert rows(stream) == rows(stream)
    assert open_table(stream) is stream


def test_types_fit_rows_far_behind_the_first_block(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("a,b\n" + "1,1\n" * 30_000 + "1.5,x\n")
    stream = open_table(path)
    assert [str(t) for t in stream.schema.types] == ["double", "string"]
    assert rows(stream)[-1] == {"a": 1.5, "b": "x"}


def test_numbers_in_the_names_of_a_glob_or_folder_count_as_numbers(tmp_path):
    for k in (10, 2, 1, 20):
        (tmp_path / f"day_{k}.csv").write_text(f"id\n{k}\n")
    for source in (tmp_path, f"{tmp_path}/day_*.csv"):
        assert [row["id"] for row in rows(open_table(source))] == [1, 2, 10, 20]


def test_types_fit_all_files_of_a_glob(tmp_path):
    for k, value in enumerate(["", "1", "2.5"]):
        (tmp_path / f"{k}.csv").write_text(f"a,b\n{value},x\n")
        (tmp_path / f"{k}.jsonl").write_text(f'{{"a": {value or "null"}, "b": "x"}}\n')
    for pattern in ("*.csv", "*.jsonl"):
        stream = open_table(f"{tmp_path}/{pattern}")
        assert [row["a"] for row in rows(stream)] == [None, 1.0, 2.5]
        assert {str(b.X.schema.field("a").type) for b in stream} == {"double"}


def test_parquet_files_share_the_wider_type(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"a": [2.5]}), tmp_path / "1.parquet")
    stream = open_table(f"{tmp_path}/*.parquet")
    assert rows(stream) == [{"a": 1.0}, {"a": 2.5}]
    assert str(stream.schema.field("a").type) == "double"


def test_fields_may_hold_commas_quotes_line_ends_and_hashes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('text,n\n"a,b",1\n"say ""hi""",2\n"two\nlines",3\n#4,4\n')
    assert [row["text"] for row in rows(open_table(path))] == [
        "a,b",
        'say "hi"',
        "two\nlines",
        "#4",
    ]


@pytest.mark.parametrize(
    ("text", "how", "names"),
    [
        ("price, eur\tcolor\n1\tred\n2\tblue\n", {}, ["price, eur", "color"]),
        ('"a,1";"b,2"\n1,5;2\n3,5;4\n', {"decimal": ","}, ["a,1", "b,2"]),
        ("a|b\nx, y|1,5\nz, w|2,5\n", {"decimal": ","}, ["a", "b"]),
        (
            "id,title,genres\n1,Toy Story,Ad|An|Ch\n2,Jumanji,Ad|Ch|Fa\n",
            {},
            ["id", "title", "genres"],
        ),
        ("text\nhello; you\nand; me\n", {}, ["text"]),
        # in which the sniffer sees one column, and the first line decides
        ('id\ttext\n1\t5" disk\n2\t"odd\n3\tx\n', {"quote": ""}, ["id", "text"]),
        ('id\ttext\n1\t"a" b\n', {"quote": ""}, ["id", "text"]),
    ],
)
def test_the_delimiter_is_found(text, how, names, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    stream = open_table(path, **how)
    assert stream.column_names == names
    assert stream.n_rows == text.count("\n") - 1


WIDE_ROWS = '''n,x,words,flag,when
1,1.5,"a,b",True,2026-01-01
-2,,"say ""hi""",false,2026-01-02
,1e-400,"",true,
 7 , 7,  ,,2026-01-03

0x1F,NaN,"two
lines",FALSE,2026-01-03
6,-inf,NA,True,2026-01-03
4,5.,é{more},True,2026-01-03
4,Infinity,x,True,2026-01-03
'''


@pytest.mark.parametrize(("delimiter", "null"), [(",", ()), (";", ("NA",)), ("||", ())])
@pytest.mark.parametrize("more", ["", "z" * 300])  # which is longer than a block, and refused
def test_thousands_of_columns_are_read_as_a_few_are(delimiter, null, more, tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    text = WIDE_ROWS.format(more=more).replace(",", delimiter)
    path.write_text(text.replace("\n", "\r\n"), newline="", encoding="utf-8")
    how = {"delimiter": delimiter, "null": null}
    narrow = open_table(path, **how)
    chosen = [["words", "n"], ["x"], ["flag", "words"], narrow.column_names]
    expected = [rows(narrow.select(names)) for names in chosen]
    monkeypatch.setattr(text_module, "WIDE", 0)
    monkeypatch.setattr(wide, "BLOCK_BYTES", 100)
    monkeypatch.setattr(wide, "CELLS", 1)
    stream = open_table(path, batch_rows=2, **how)
    assert stream.schema == narrow.schema
    assert [repr(rows(stream.select(names))) for names in chosen] == list(map(repr, expected))


def test_thousands_of_columns_do_not_go_through_duckdb(tmp_path, monkeypatch):
    names = [f"a{i}" for i in range(wide.WIDE + 1)]
    path = tmp_path / "a.csv"
    path.write_text(f"{','.join(names)}\n" + f"{'1,' * wide.WIDE}x\n" * 3)
    stream = open_table(path)

    def refuse(*args):
        raise AssertionError("takes a time quadratic in the columns")

    monkeypatch.setattr(text_module, "read_batches", refuse)
    assert rows(stream.select(names[-2:])) == [{names[-2]: 1, names[-1]: "x"}] * 3
    assert [batch.X.num_columns for batch in stream] == [len(names)]


@pytest.mark.parametrize("within", ["", ",", ",;"])
def test_the_delimiter_of_thousands_of_columns_is_the_most_frequent(within, tmp_path, monkeypatch):
    names = [f"a{within}{i}" for i in range(wide.WIDE + 2)]
    path = tmp_path / "a.txt"
    path.write_text("\t".join(names) + "\n" + "\t".join("1" for _ in names) + "\n")
    sniffed = []
    sniff = text_module.sniff_delimiter
    monkeypatch.setattr(
        text_module, "sniff_delimiter", lambda *args: sniffed.append(args) or sniff(*args)
    )
    assert open_table([path], format="csv").column_names == names
    assert bool(sniffed) == bool(within)  # as frequent in the first line


def test_no_line_is_a_comment(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("tag\n1\n#2\n3\n")
    assert [row["tag"] for row in rows(open_table(path))] == ["1", "#2", "3"]


def test_codes_with_leading_zeros_stay_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("zip,n\n01234,1\n20200,2\n")
    assert [row["zip"] for row in rows(open_table(path))] == ["01234", "20200"]


def test_a_name_with_glob_characters_that_exists_is_that_file(tmp_path):
    (tmp_path / "a[1].csv").write_text("a,b\n1,2\n")
    (tmp_path / "a1.csv").write_text("a,b\n3,4\n")
    assert rows(open_table(tmp_path / "a[1].csv")) == [{"a": 1, "b": 2}]


# --- queries -------------------------------------------------------------------------------


def test_a_query_joins_files_and_keeps_its_order(tmp_path):
    pq.write_table(pa.table({"user_id": [1, 2, 1], "ts": [3, 1, 2]}), tmp_path / "clicks.parquet")
    (tmp_path / "users.csv").write_text("user_id,name\n1,Ann\n2,Bob\n")
    stream = open_table(
        f"select ts, name from '{tmp_path}/clicks.parquet' "
        f"join '{tmp_path}/users.csv' using (user_id) order by ts;"
    )
    assert stream.column_names == ["ts", "name"]
    assert rows(stream) == [
        {"ts": 1, "name": "Bob"},
        {"ts": 2, "name": "Ann"},
        {"ts": 3, "name": "Ann"},
    ]
    assert [b.file for b in stream] == [None]
    assert list(stream.value_counts("name")) == ["Ann", "Bob"]


@pytest.mark.parametrize("words", ["yes no", "t f", "Y N", "F F", "no true"])
def test_a_query_has_the_words_of_a_csv_file(words, tmp_path, monkeypatch):
    """DuckDB made Booleans of them, which no model of the file knows."""
    monkeypatch.chdir(tmp_path)
    some, other = words.split()
    written = f"x,my member,A,b,flag\n1,{some},{some},x,True\n2,{other},{other},y,False\n"
    (tmp_path / "f.csv").write_text(written)
    with gzip.open("it's.csv.gz", "wt") as file:
        file.write(written)
    alone = rows(open_table("f.csv"))
    for query in (
        "FROM 'f.csv'",
        'SELECT * FROM "f.csv" t',
        "FROM './*.csv'",
        "FROM 'it''s.csv.gz'",
    ):
        found = rows(open_table(query))
        assert [{**row, "flag": str(row["flag"]).lower()} for row in found] == alone
    stream = open_table(
        "SELECT sum(flag::INT) AS n FROM 'f.csv' WHERE \"my member\" = true GROUP BY x"
    )
    assert all(row["n"] in (0, 1) for row in rows(stream))


def test_two_csv_files_of_a_query_whose_names_differ_in_case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.csv").write_text("a\nyes\nno\n")
    (tmp_path / "F.csv").write_text("a\nred\n")
    assert rows(open_table("FROM 'F.csv'")) == [{"a": "red"}]
    assert rows(open_table("SELECT b.a FROM 'f.csv' a, 'F.csv' b LIMIT 1")) == [{"a": "red"}]


def test_a_query_is_batched_in_order_also_with_fewer_columns():
    stream = open_table(
        "FROM range(10000) t(i) SELECT i, i % 7 AS m ORDER BY i DESC", batch_rows=3000
    ).select(["i"])
    batches = list(stream)
    assert len(batches) > 1
    assert [b.first_row for b in batches] == [9999 - b.X["i"][0].as_py() for b in batches]
    assert [row["i"] for row in rows(stream)] == list(range(9999, -1, -1))


@pytest.mark.parametrize(
    "query", ["SELECT 1 AS one", " with t as (select 1 as one) from t", "From\nrange(1) t(one)"]
)
def test_what_counts_as_a_query(query):
    assert open_table(query).column_names == ["one"]


def test_a_query_sees_no_python_variable_and_no_network():
    # a name that is a variable where the query is run
    with pytest.raises(InputError, match="Table with name duck does not exist"):
        open_table("SELECT * FROM duck")
    with pytest.raises(InputError, match="httpfs"):
        open_table("SELECT * FROM 'https://example.invalid/x.parquet'")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1 AS one; COPY (SELECT 1) TO 'written'", "holds SELECT and COPY"),
        ("SELECT 1 AS one; SELECT 2 AS two", "one SELECT, and this one holds SELECT and SELECT"),
        ("WITH x AS (COPY (SELECT 1) TO 'written') SELECT 1 AS one", "only reads; leave out COPY"),
        ("FROM (WITH x AS (COPY (SELECT 1) TO 'written') FROM x)", "only reads; leave out COPY"),
        ("FROM query('WITH x AS (COPY (SELECT 1) TO ''written'') FROM x')", "leave out query"),
        ("WITH x AS (SELECT 1) INSERT INTO t FROM x", "holds INSERT"),
        ("FROM enable_logging(storage='file', storage_path='written')", "leave out enable_logging"),
    ],
)
def test_a_query_is_one_select_that_only_reads(query, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        open_table(query)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "query",
    [
        "/* of May */ SELECT * FROM 't.csv'",
        "/* of\nMay */SELECT * FROM 't.csv'",
        "-- of May\nSELECT * FROM 't.csv'",
        "(SELECT * FROM 't.csv')",
        "(FROM 't.csv' LIMIT 1) UNION ALL (FROM 't.csv' OFFSET 1)",
        "VALUES (1, 'a'), (2, 'b')",
        "TABLE 't.csv'",
        "PIVOT 't.csv' ON label IN ('a', 'b') USING sum(x) GROUP BY x",
    ],
)
def test_a_query_may_begin_as_in_sql(query, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,label\n1,a\n2,b\n")
    assert sum(len(batch) for batch in open_table(query)) == 2


@pytest.mark.parametrize(
    "name",
    ["table 1.csv", "values.csv", "pivot x.csv", "(from May) 1.csv", "--x.csv", "x/*/y*/z.csv"],
)
def test_what_begins_as_a_query_may_be_a_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no such file|no file matches"):
        open_table(name)
    path = Path(name.replace("*", "_"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x,label\n1,a\n2,b\n")
    for source in (name, name.replace("1", "*")):
        assert sum(len(batch) for batch in open_table(source)) == 2


def test_a_pivot_names_its_values(tmp_path):
    (tmp_path / "t.csv").write_text("x,label\n1,a\n2,b\n")
    with pytest.raises(InputError, match="names its values"):
        open_table(f"PIVOT '{tmp_path / 't.csv'}' ON label USING sum(x)")


def test_a_query_may_end_in_a_semicolon_or_a_comment():
    for query in ("SELECT 1 AS one;", "SELECT 1 AS one -- of; one", "SELECT ';' AS one;"):
        assert open_table(query).column_names == ["one"]


@pytest.mark.skipif(sys.platform == "win32", reason="a signal of POSIX")
@pytest.mark.parametrize("read", [iter, prefetch, lambda rows: prefetch(prefetch(rows))])
def test_ctrl_c_ends_a_query_that_would_not_end(read, request):
    # a process in the background may ignore the signal
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    query = "SELECT sum(hash(a.range + b.range)) AS n FROM range(1000000000) a, range(1000000) b"
    ctrl_c = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT])
    request.addfinalizer(ctrl_c.cancel)
    stream = open_table(query)
    ctrl_c.start()
    with pytest.raises(KeyboardInterrupt):
        list(read(stream))


# --- choosing columns ----------------------------------------------------------------------


def test_select_reads_only_those_columns(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"], "c.d": [0.5, 1.5]}), path)
    stream = open_table(path).select(["c.d", "a"])
    assert rows(stream) == [{"c.d": 0.5, "a": 1}, {"c.d": 1.5, "a": 2}]
    assert stream.column_names == stream.schema.names == ["c.d", "a"]
    with pytest.raises(InputError, match="no column 'b'"):
        stream.select(["b"])


def test_an_unknown_column_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="no column 'agee'; did you mean 'age'"):
        open_table(pa.Table.from_pylist(PEOPLE)).select(["agee"])


@pytest.mark.parametrize("n_files", [1, 2])
def test_distinct_sorts_the_values_and_finds_the_empty_one(n_files, tmp_path):
    for k in range(n_files):
        (tmp_path / f"{k}.csv").write_text("y,x\nb,1\na,2\nb,3\n")
    stream = open_table(f"{tmp_path}/*.csv", batch_rows=2)
    assert list(stream.value_counts("y")) == ["a", "b"]
    (tmp_path / f"{n_files - 1}.csv").write_text("y,x\nb,1\na,2\nb,3\n,4\n")
    with pytest.raises(InputError, match="is empty") as caught:
        open_table(f"{tmp_path}/*.csv", batch_rows=2).value_counts("y")
    assert caught.value.file == str(tmp_path / f"{n_files - 1}.csv")
    assert (caught.value.row, caught.value.column) == (3, "y")


def test_distinct_takes_dictionaries_numbers_and_booleans(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"s": ["b", "a"], "n": [2, 1], "t": [True, False]}), path)
    stream = open_table(path)
    assert [list(stream.value_counts(name)) for name in "snt"] == [
        ["a", "b"],
        [1, 2],
        [False, True],
    ]


def test_a_nan_is_no_label():
    with pytest.raises(InputError, match="row 1, column 'y': is empty"):
        open_table(pa.table({"y": [1.0, float("nan")]})).value_counts("y")


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("row", [0, 1, 5])
@pytest.mark.parametrize("word", ["inf", "-inf", "Infinity", "nan"])
def test_infinity_is_a_number_wherever_it_stands(word, row, decimal, tmp_path):
    values = [f"{i}{decimal}5" for i in range(8)]
    values[row] = word
    for file in ("0.csv", "1.csv"):
        (tmp_path / file).write_text("a;b\n" + "".join(f"{one};1\n" for one in values))
    for n_files in (1, 2):
        files = [tmp_path / file for file in ("0.csv", "1.csv")[:n_files]]
        expected = np.arange(8) + 0.5
        expected[row] = float(word)
        found = [one["a"] for one in rows(open_table(files, decimal=decimal))]
        np.testing.assert_array_equal(found, np.tile(expected, n_files))


def test_text_that_begins_with_infinity_is_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\ninf,1\n2.5,1\nred,2\n")
    assert [one["a"] for one in rows(open_table(path))] == ["inf", "2.5", "red"]
    path.write_text("a;b\ninf;1\n2,5;1\n")
    assert [one["a"] for one in rows(open_table(path, decimal="."))] == ["inf", "2,5"]


# --- columns without a name ----------------------------------------------------------------


def opened_with_a_word(source, words):
    with pytest.warns(GuessWarning, match=words) as said:
        table = open_table(source)
    assert len(said) == 1
    return table


@pytest.mark.parametrize("n_columns", [3, wide.WIDE + 1])
def test_the_index_of_pandas_is_left_out(n_columns, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = pd.DataFrame({f"x{i}": [0.5, 1.5, 2.5] for i in range(n_columns)})
    expected = data.to_dict("records")
    data.to_csv("t.csv")
    data[::-1].to_csv("part.csv")
    data.set_axis(range(1, 4)).to_csv("r.csv", quoting=csv.QUOTE_NONNUMERIC)
    pd.concat([data, data[:2]]).to_csv("twice.csv")
    assert opened_with_a_word("twice.csv", "numbers the rows").column_names == list(data)
    Path("twice.csv").unlink()
    for file in ("t.csv", "part.csv", "r.csv"):
        table = opened_with_a_word(file, f"^{file}: its first column has no name and numbers the")
        assert table.column_names == list(data)
        assert rows(table) == (expected[::-1] if file == "part.csv" else expected)
    table = opened_with_a_word("*.csv", "numbers the rows")
    assert table.column_names == list(data)
    assert table.n_rows == 9


def test_other_columns_without_a_name_get_that_of_pandas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in (",a\nu,1\nv,2\n", ",a\n3,1\n3,2\n", ",a\n1.5,1\n2.5,2\n", ",a\n-1,1\n0,2\n"):
        Path("t.csv").write_text(text)
        table = opened_with_a_word("t.csv", "the column without a name is called 'Unnamed: 0'")
        assert rows(table) == pd.read_csv("t.csv").to_dict("records")
    Path("t.csv").write_text("a,,Unnamed: 1,\n7,8,9,10\n")
    named = r"the columns without names are called 'Unnamed: 1\.1', 'Unnamed: 3'"
    assert rows(opened_with_a_word("t.csv", named)) == pd.read_csv("t.csv").to_dict("records")
    # of several files, one that does not number its rows
    Path("t.csv").write_text(",a\n0,1\n1,2\n")
    Path("u.csv").write_text(",a\n5,1\n5,2\n")
    assert opened_with_a_word("*.csv", "is called").column_names == ["Unnamed: 0", "a"]


# --- what cannot be read -------------------------------------------------------------------

BAD = {
    "empty.csv": (b"", None, "is empty"),
    "empty.csv.gz": (gzip.compress(b""), None, "is empty"),
    "empty.jsonl": (b"", None, "is empty"),
    "empty.parquet": (b"", None, "is empty"),
    "short.csv": (b"a,b\n1,2\n3\n", 1, "1 fields instead of the 2 .*line 3"),
    "above.csv": (b"# of 2024\na,b\n1,2\n", 0, "line, '# of 2024', is taken .* remove the lines"),
    "long.csv": (b"a,b\n1,2\n3,4,5\n", 1, "3 fields instead of the 2 .*line 3"),
    "long.csv.gz": (gzip.compress(b"a,b\n1,2\n3,4,5\n"), 1, "3 fields instead of the 2"),
    "late.csv": (b"a,b\n" + b"1,2\n" * 30_000 + b"3\n", 30_000, "1 fields instead of the 2"),
    "quoted.csv": (b'a,b\n"x\ny",2\n3\n', 1, "1 fields instead of the 2"),
    "quote.csv": (b'a,b\n1,"x\n2,y\n', 0, "unterminated quote"),
    "mixed.csv": ("a,b\n1,é\n".encode() + b"2,caf\xe9\n", None, "byte 0xe9 in line 3"),
    "latin1.jsonl": (b'{"a": 1}\n{"a": "\xe9"}\n', None, "not UTF-8 .byte 0xe9 in line 2"),
    "zeros.csv": (b"a,b\n\x00\xe9,2\n", None, "zero bytes"),
    "twice.csv": (b"a,B,a\n1,2,3\n", None, "two columns are called 'a'"),
    "unnamed.csv": (b",,\n1,2,3\n", None, "first line, which must name the columns"),
    "packed.csv.gz": (b"a,b\n1,2\n", None, "incorrect header check"),
    "cut.csv.gz": (gzip.compress(csv_text(3000).encode())[:-2000], None, "runcated|end of GZIP"),
    "cut.jsonl": (b'{"a": 1}\n{"a": 2}\n{"a": \n', 2, r"not valid JSON \(line 3\)"),
    "comma.jsonl": (b'{"a": 1}\n{"a": ,2}\n{"a": 3}\n', 1, r"not valid JSON \(line 2\)"),
    "list.jsonl": (b'{"a": 1}\n[2]\n', 1, "not a JSON object"),
    "text.parquet": (b"a,b\n1,2\n" * 9, None, "[Pp]arquet"),
    "table.xlsx": (b"PK", None, "is a workbook; save the sheet as CSV"),
    "table.csv.zip": (b"PK", None, "is an archive; unpack it"),
    "table.dat": (b"PK", None, "cannot tell the format"),
    "table.parquet.gz": (b"PK", None, "cannot tell the format"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_with_its_row_in_one_line(name, tmp_path):
    content, row, message = BAD[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        rows(open_table(path))
    assert caught.value.file == str(path)
    assert caught.value.row == row
    assert "\n" not in str(caught.value)


def test_the_bad_file_of_a_glob_is_the_one_named(tmp_path):
    (tmp_path / "0.csv").write_text("a,b\n1,2\n")
    (tmp_path / "1.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(InputError, match="1 fields") as caught:
        open_table(f"{tmp_path}/*.csv")
    assert (caught.value.file, caught.value.row) == (str(tmp_path / "1.csv"), 1)


def test_a_truncated_parquet_file(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": range(1000)}), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"a\.parquet: ") as caught:
        open_table(path)
    assert "\n" not in str(caught.value)


def test_parquet_damaged_in_the_middle_fails_in_reading(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [f"text {i}" for i in range(5000)]}), path)
    content = bytearray(path.read_bytes())
    content[200:3000] = b"\xff" * 2800
    path.write_bytes(content)
    stream = open_table(path)
    with pytest.raises(InputError, match=r"a\.parquet: ") as caught:
        rows(stream)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("codes", [[0, 1, 7], [0, -1, 1], [0, 7, None]])
def test_codes_that_are_not_in_their_dictionary(codes):
    column = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["x", "y"]), safe=False)
    with pytest.raises(InputError, match="codes that are not in its dictionary") as caught:
        rows(open_table(pa.table({"n": [1, 2, 3], "a": column})))
    assert caught.value.column == "a"


def test_what_a_code_of_null_is_does_not_matter():
    codes = pa.Array.from_buffers(
        pa.int32(), 3, [pa.py_buffer(b"\x03"), pa.py_buffer(np.array([1, 0, 99], np.int32))]
    )
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["x", "y"]), safe=False)
    assert rows(open_table(pa.table({"a": column}))) == [{"a": "y"}, {"a": "x"}, {"a": None}]


def test_text_of_a_dictionary_is_checked():
    text = pa.array([b"fine", b"\xff\xfe"]).view(pa.string())
    column = pa.DictionaryArray.from_arrays(pa.array([0, 0]), text)
    with pytest.raises(InputError, match="not UTF-8") as caught:
        rows(open_table(pa.table({"a": column})))
    assert caught.value.column == "a"


def test_a_file_that_changes_under_the_stream_is_an_input_error(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    stream = open_table(path)
    path.write_text("a,b\n1,2\nx,3\n")
    with pytest.raises(InputError, match="changed while it was in use: it had 8 bytes, and has 12"):
        rows(stream)  # and not that x could not be converted
    path.unlink()
    with pytest.raises(InputError, match="changed while it was in use: it is gone"):
        rows(stream)


def test_a_missing_file_and_an_empty_glob_are_named(tmp_path):
    (tmp_path / "clicks.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match=r"click\.csv: no such file; did you mean '.*clicks\.csv'"):
        open_table(tmp_path / "click.csv")
    with pytest.raises(InputError, match=r"\*\.parquet: no file matches"):
        open_table(f"{tmp_path}/*.parquet")
    with pytest.raises(InputError, match="empty list"):
        open_table([])
    with pytest.raises(InputError, match="the name of the source is empty"):
        open_table("")


def test_a_folder_is_all_files_in_it_but_markers_and_hidden_ones(tmp_path):
    folder = tmp_path / "days [old]"
    (folder / "may").mkdir(parents=True)
    with pytest.raises(InputError, match="is a folder without files"):
        open_table(folder)
    (folder / "b.csv").write_text("a\n1\n")
    (folder / "may" / "c.csv").write_text("a\n2\n3\n")
    for name in ("_SUCCESS", ".b.csv.crc"):  # what Spark writes beside
        (folder / name).write_text("x")
    assert [row["a"] for row in rows(open_table(folder))] == [1, 2, 3]
    (folder / "may" / "notes.md").write_text("x")
    with pytest.raises(InputError, match=r"notes\.md: is no table by its name, .* as '.*\*\.csv'"):
        open_table(folder)


@pytest.mark.parametrize("name", ["part.parquet", "part.csv", "part.csv.gz", "part.jsonl"])
def test_a_folder_of_partitions_is_not_read_without_its_column(name, tmp_path):
    day = tmp_path / "day=1"
    day.mkdir()
    if name.endswith("parquet"):
        pq.write_table(pa.table({"a": [1.5]}), day / name)
    else:
        text = b'{"a": 1.5}\n' if name.endswith("jsonl") else b"a\n1.5\n"
        (day / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    with pytest.raises(InputError, match="names of its folders are values of a column") as caught:
        open_table(tmp_path)
    query = str(caught.value).split('"')[1]
    assert rows(open_table(query)) == [{"a": 1.5, "day": 1}]


@pytest.mark.parametrize(("name", "line"), [("a.vw", "1 |a x"), ("a.svm.gz", "1 1:2.5")])
def test_a_folder_of_partitions_without_columns_is_read_by_a_pattern(name, line, tmp_path):
    part = tmp_path / "day=1"
    part.mkdir()
    text = f"{line}\n".encode()
    (part / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    with pytest.raises(InputError, match="these files have none; to read them") as caught:
        open_rows(tmp_path)
    assert open_rows(str(caught.value).split("'")[1]).n_rows == 1


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_name_that_is_not_utf8_is_refused(suffix, tmp_path):
    table = pl.DataFrame({"a": [1, 2]})
    write = {"csv": table.write_csv, "jsonl": table.write_ndjson, "parquet": table.write_parquet}
    write[suffix](tmp_path / f"t.{suffix}")
    name = os.fsdecode(b"K\xf6ln.") + suffix
    (tmp_path / f"t.{suffix}").rename(tmp_path / name)
    for source in (tmp_path / name, f"{tmp_path}/*.{suffix}"):
        with pytest.raises(InputError, match=r"name holds bytes that are not UTF-8.*; rename it"):
            open_table(source)
    with pytest.raises(InputError, match="the query holds bytes that are not UTF-8"):
        open_table(f"FROM '{tmp_path / name}'")


def test_a_query_reads_files_whose_columns_are_in_another_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("0.csv").write_text("a,b\n1,2\n")
    Path("1.csv").write_text("b,a\n4,3\n")
    with pytest.raises(InputError, match="a query reads them by name: ") as caught:
        open_table("*.csv")
    query = str(caught.value).split('"')[1]
    assert sorted(rows(open_table(query)), key=str) == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("a\n1\n", "has no column 'b'"),
        ("a,b,c\n1,2,3\n", "has a column 'c'"),
        ("b,a\n1,2\n", r"another order .*read_csv\(\['.*', '.*'\], union_by_name=true\)"),
    ],
)
def test_csv_files_of_a_glob_have_the_same_columns(second, message, tmp_path):
    (tmp_path / "0.csv").write_text("a,b\n1,2\n")
    (tmp_path / "1.csv").write_text(second)
    with pytest.raises(InputError, match=message) as caught:
        open_table(f"{tmp_path}/*.csv")
    assert caught.value.file == str(tmp_path / "1.csv")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"a": [1]}, "has no column 'b'"),
        ({"a": [1], "b": [2], "c": [3]}, "has a column 'c'"),
        ({"a": [1], "b": ["x"]}, "holds .*string.*, but"),
    ],
)
def test_parquet_files_of_a_glob_have_the_same_columns(second, message, tmp_path):
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "0.parquet")
    pq.write_table(pa.table(second), tmp_path / "1.parquet")
    with pytest.raises(InputError, match=message) as caught:
        open_table(f"{tmp_path}/*.parquet")
    assert caught.value.file == str(tmp_path / "1.parquet")


def test_files_of_two_formats_are_not_one_table(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(InputError, match="read them apart"):
        open_table([tmp_path / "a.csv", tmp_path / "b.jsonl"])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM nowhere", "Table with name nowhere does not exist"),
        ("SELECT FROM WHERE", "syntax error"),
        ("SELECT 1 AS a, 2 AS a", "two columns are called 'a'"),
        ("SELECT error('late') FROM range(3)", "late"),
        ("SELECT * FROM 'nofile.csv'", "No files found"),
    ],
)
def test_a_bad_query_gets_the_first_line_of_the_answer(query, message):
    with pytest.raises(InputError, match=message) as caught:
        rows(open_table(query))
    assert "\n" not in str(caught.value)
    assert not str(caught.value).startswith(("Catalog", "Parser", "IO Error"))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (7, "from int"),
        (pl.LazyFrame({"a": [1]}), "collect"),
        (
            pd.DataFrame({"b": [1, 2, 3], "a": [1, None, "x"]}),
            r"column 'a': holds values of several types \(int 1, str 'x'\); give it one",
        ),
        (np.array([[1], ["x"]], dtype=object), r"column 'x0': .* several types \(int 1, str 'x'"),
        (
            pd.DataFrame({"b": [1, 2], "a": [-(2**63), 2**70]}),
            r"^row 1, column 'a': holds 1180591620717411303424, .* beyond 64 bits; .*astype\(str\)",
        ),
        (
            pd.DataFrame({"a": [{"b": 2**70}]}),
            "column 'a': holds lists or objects with a whole number",
        ),
        (pd.DataFrame({"a": [1j]}), "column 'a': holds complex128, which cannot be read"),
        (
            pd.DataFrame({"a": pd.arrays.SparseArray([0, 1])}),
            r"column 'a': holds Sparse.*; \.sparse\.to_dense\(\)",
        ),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns are called 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), "two columns are called 'a'"),
    ],
    ids=[
        *("number", "lazy", "mixed", "array", "large", "nested", "complex", "sparse"),
        *("pandas twice", "arrow twice"),
    ],
)
def test_what_is_no_table_in_memory(frame, message):
    with pytest.raises(InputError, match=message):
        open_table(frame)


def test_batch_rows_must_be_positive():
    with pytest.raises(InputError, match="batch_rows=0"):
        open_table(pa.table({"a": [1]}), batch_rows=0)


def test_the_repr_names_the_columns():
    stream = open_table(pa.table({"a": [1], "b": [2]}))
    assert isinstance(stream, Source)
    assert repr(stream) == "Source(1 rows, columns: a, b)"


@pytest.mark.parametrize("absent", ["pyarrow", "duckdb"])
def test_a_missing_package_is_answered_with_its_name(absent, monkeypatch, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(InputError, match=rf"needs {absent}: pip install 'crossview.cli.'"):
        open_table(path)


def test_importing_the_module_loads_no_optional_package():
    heavy = "{'pyarrow', 'duckdb', 'numba', 'sklearn', 'pandas', 'polars'}"
    code = f"import sys, crossview.readers.source; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise ModuleNotFoundError", "SQL needs duckdb: pip install 'crossview.cli.'"),
        (
            "raise ImportError('libduckdb.so: failed to map segment')",
            r"duckdb, which is there and cannot be loaded \(libduckdb.so: failed to map segment\)",
        ),
    ],
)
def test_a_package_that_cannot_be_loaded_is_not_to_be_installed(
    code, message, tmp_path, monkeypatch
):
    (tmp_path / "duckdb.py").write_text(code)
    (tmp_path / "t.csv").write_text("a\n1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "duckdb", raising=False)
    with pytest.raises(InputError, match=message):
        open_table(tmp_path / "t.csv")


def test_names_that_differ_in_upper_and_lower_case_alone(tmp_path):
    """DuckDB takes W for w."""
    file = tmp_path / "case.csv"
    file.write_text("y,W,w,name\nno,1,2.5,a\nyes,3,4.5,b\n")
    source = open_table(str(file))
    assert source.column_names == ["y", "W", "w", "name"]
    table = pa.Table.from_batches([batch.X for batch in source.select(["w", "W"])])
    assert table.to_pydict() == {"w": [2.5, 4.5], "W": [1, 3]}
    whole = pa.Table.from_batches([batch.X for batch in source.select(["y", "W", "w", "name"])])
    assert whole.column("w").to_pylist() == [2.5, 4.5]
    file.write_text("y,W,w,name\nno,1,2.5,a\nyes,3,oh,b\n")
    with pytest.raises(InputError) as error:
        list(open_table(str(file)).as_kinds([], ["w"]).select(["w"]))
    assert (error.value.column, error.value.row) == ("w", 1)
    file.write_text("y,W,w\nno,1,2.5\nyes,3\n")
    with pytest.raises(InputError, match="2 fields instead of the 3"):
        open_table(str(file))
