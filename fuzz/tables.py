"""Tables by chance: each is read, or refused with `InputError`, and stays as it is.

``python fuzz/tables.py --seconds 600`` writes small tables of odd columns in each format, changes
their bytes, and describes, learns, predicts and evaluates them with options by chance.
"""

import io
import json
import os
import resource
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from crossview import Scoring, ViewEncoder
from crossview.predicting.predict import Predictions
from crossview.tables.writer import writing
from harness import change_bytes, fuzz_files

ROWS = 24
# positions of the usual kinds of columns
NUMBERS, TEXT = 0, 6
# more than four times the file, for what the libraries take at their first use
CONSTANT_MEGABYTES = 256

TEXTS = [
    *("", " ", "a", "Oslo", "NA", "nan", "null", "None", "true", "yes", "1", "1,5", "1.5", "-0"),
    *("1e400", "0x10", "9" * 40, "2024-01-02", "2024-13-02", "25:61", "é", "日本", "😀", "\u2028"),
    *("a\u2028b", "\ufeffx", "a,b", "a;b", "a\tb", 'a"b', '"', '""', "a\nb", "a\r\nb", "\\", "\\N"),
    *("\x1b[31m", "a__b", "=1+1", "[1, 2]", '{"a": 1}', "x" * 5000, "\x00", "a\x00b", "\x7f"),
]
FLOATS = [0.0, -0.0, 1.5, 1e-320, 1e300, -1e300, float("nan"), float("inf"), -float("inf"), 1e16]
INTEGERS = [0, 1, -1, 2, 7, 255, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]
NAMES = ["a__x", "a__y", "b__u", "c__w", "b__v", "id", "x"]
ODD_NAMES = [
    *("", " ", "a__", "__a", "a__x ", "A__X", "é__x", "\u2028", "a__\u2028", "a\nb", 'a"b', "a,b"),
    *("*", "x" * 300, "prediction", "score"),
]


def columns_by_chance(rng: np.random.Generator) -> dict[str, Any]:
    """Return columns of all types that Arrow has, and a label."""
    import pyarrow as pa

    def pick(values: list) -> list:
        places = rng.integers(len(values), size=ROWS)
        nulls = rng.random(ROWS) < rng.choice([0.0, 0.2, 1.0], p=[0.6, 0.3, 0.1])
        return [None if null else values[i] for i, null in zip(places, nulls, strict=True)]

    few = ["Oslo", "b c", *(TEXTS[i] for i in rng.integers(len(TEXTS), size=2))]
    kinds: list[Callable[[], Any]] = [
        lambda: pa.array(rng.normal(size=ROWS)),
        lambda: pa.array(pick(FLOATS)),
        lambda: pa.array(pick(FLOATS[:3]), pa.float16()),
        lambda: pa.array(pick(INTEGERS)),
        lambda: pa.array(pick([0, 1, 200]), pa.uint8()),
        lambda: pa.array(pick([2**64 - 1, 0]), pa.uint64()),
        lambda: pa.array(pick(few), pa.string()),
        lambda: pa.array(pick(TEXTS), pa.large_string()),
        lambda: pa.array(pick(few), pa.string_view()),
        lambda: pa.array(pick(["a", "b"]), pa.string()).dictionary_encode(),
        lambda: pa.array(pick([b"\xff\xfe", b"", b"a"]), pa.binary()),
        lambda: pa.array(pick([b"0" * 16, b"\xff" * 16]), pa.uuid()),
        lambda: pa.array(pick([True, False])),
        lambda: pa.array(pick([Decimal("1.50"), Decimal("-9.99")]), pa.decimal128(38, 2)),
        lambda: pa.array(pick([date(1, 1, 1), date(2024, 2, 29)])),
        lambda: pa.array(pick([datetime(1970, 1, 1), datetime(2262, 4, 11)]), pa.timestamp("ns")),
        lambda: pa.array(pick([datetime(2024, 1, 1)]), pa.timestamp("us", tz="Europe/Oslo")),
        lambda: pa.array(pick([timedelta(days=-1), timedelta(0)])),
        lambda: pa.array(pick([[], [1, 2], [None]]), pa.list_(pa.int64())),
        lambda: pa.array(pick([{"p": 1, "q": "x"}, {"p": None, "q": "a"}])),
        lambda: pa.array(pick([[("k", 1)], []]), pa.map_(pa.string(), pa.int64())),
        lambda: pa.nulls(ROWS),
    ]
    weights = np.array([2, 4, 1, 3, 1, 1, 3, 4, 1, 2, *[1] * 12], dtype=float)
    columns: dict[str, Any] = {}
    for name in rng.permutation(NAMES)[: rng.integers(1, 8)]:
        if rng.random() < 0.04:
            name = rng.choice(ODD_NAMES)
        usual = TEXT if name in ("a__y", "b__u", "b__v") else NUMBERS
        kind = usual if rng.random() < 0.9 else rng.choice(len(kinds), p=weights / weights.sum())
        columns[str(name)] = kinds[kind]()
    if "id" in columns and rng.random() < 0.8:
        columns["id"] = pa.array(rng.permutation(ROWS))
    label = [["p", "q"], [0, 1], ["p", "q", "r"], [0.5, 1.5, -2.0], few, [True, False]]
    if rng.random() < 0.95:
        columns["label"] = pa.array([label[0][i % 2] for i in range(ROWS)])
    if rng.random() < 0.15:
        columns["label"] = pa.array(pick(label[rng.integers(len(label))]))
    if rng.random() < 0.05:
        columns["label"] = kinds[rng.integers(len(kinds))]()
    return columns


def content_by_chance(rng: np.random.Generator, path: Path) -> None:
    """Write a table."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    columns = columns_by_chance(rng)
    rows = int(rng.choice([0, 1, 2, ROWS], p=[0.03, 0.03, 0.04, 0.9]))
    table = pa.table(columns).slice(0, rows)
    kind = path.suffix
    if kind == ".parquet":
        groups = int(rng.choice([1, 5, ROWS]))
        compression = str(rng.choice(["none", "snappy", "zstd"]))
        pyarrow.parquet.write_table(table, path, row_group_size=groups, compression=compression)
    elif kind == ".jsonl":
        lines = [json.dumps(row, default=str) for row in table.to_pylist()]
        if lines and rng.random() < 0.3:
            lines[rng.integers(len(lines))] = str(rng.choice(ODD_LINES))
        path.write_text("\n".join(lines) + "\n", errors="surrogateescape")
    else:
        between = "\t" if kind == ".tsv" else str(rng.choice([",", ",", ",", ",", ";"]))
        names = [quoted(str(name), between, rng) for name in table.column_names]
        rows_of = [
            [quoted("" if value is None else str(value), between, rng) for value in row.values()]
            for row in table.to_pylist()
        ]
        if rows_of and rng.random() < 0.05:
            rows_of[rng.integers(len(rows_of))] *= int(rng.choice([0, 2, 50]))
        lines = [between.join(row) for row in [names, *rows_of]]
        path.write_text(str(rng.choice(["\n", "\n", "\r\n"])).join(lines), newline="")
    if rng.random() < (0.05 if kind == ".parquet" else 0.15):
        path.write_bytes(change_bytes(path.read_bytes(), rng))
    if rng.random() < 0.02:
        path.write_bytes(bytes(rng.choice(HUGE)))


ODD_LINES = [
    *("", "{}", "[]", "null", "1", "{", '{"a__x": 1, "a__x": 2}', '{"label": {"a": 1}}', "{}{}"),
    *('{"a__x": ' + "[" * 10_000 + "]" * 10_000 + "}", '{"a__x": 1e999}', '{"\\ud800": "\\udfff"}'),
]
HUGE = [
    *(
        b"",
        b"\x00" * 2**20,
        b"\n" * 10_000,
        b"," * 20_000,
        b'"' * 100_001,
        b"PAR1PAR1",
        b"{" * 50_000,
    ),
    *(b"x" * 3_000_000, b",".join(b"a__%d" % i for i in range(3000)) + b"\n1\n", b"\xff\xfea\x00"),
]


def quoted(text: str, between: str, rng: np.random.Generator) -> str:
    """Return a field of CSV, as a rule quoted where it must be."""
    odd = any(character in text for character in f'{between}"\r\n')
    if (odd and rng.random() < 0.98) or rng.random() < 0.02:
        return '"' + text.replace('"', '""') + '"'
    return text


def reading_by_chance(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    """Return options of `open_table`, most at their defaults."""
    choices: dict[str, list] = {
        "null": [["NA"], ["?", "1"], [""], ["a,b"], ["\x00"]],
        "decimal": [",", ".", "", ";", "--"],
        "delimiter": [",", ";", "\t", "\\t", "", "ab", "\x00", "\n", '"'],
        "quote": ["", "'", '"', ",", "ab", "\\"],
        "header": [True, False],
    }
    if kind not in (".csv", ".tsv") and rng.random() < 0.98:
        choices = {}
    choices["batch_rows"] = [1, 7]
    given = {k: v[rng.integers(len(v))] for k, v in choices.items() if rng.random() < 0.03}
    if rng.random() < 0.02:
        given["format"] = str(rng.choice(["csv", "json", "parquet", "x", ""]))
    return given


def columns_options(rng: np.random.Generator, names: list[str]) -> dict[str, Any]:
    """Return which columns are what."""
    picked = [str(name) for name in rng.permutation([*names, "none such", "a__*", "*"])[:2]]
    kinds = {name: picked for name in ("text", "categorical", "numeric") if rng.random() < 0.04}
    options: dict[str, Any] = {"encoder": ViewEncoder(**kinds)}
    if rng.random() < 0.06:
        options["views"] = {"one": picked[:1], str(rng.choice(["two", "", "é"])): picked[1:]}
    if rng.random() < 0.04:
        options["task"] = str(rng.choice(["regression", "classification", "x"]))
    return options


def trial(folder: Path, rng: np.random.Generator) -> str:
    """Use a table in one way; return what happened."""
    import crossview
    from crossview.errors import InputError

    kind = str(rng.choice([".csv", ".tsv", ".jsonl", ".parquet"], p=[0.4, 0.1, 0.2, 0.3]))
    path = folder / f"table-{os.getpid()}{kind}"
    content_by_chance(rng, path)
    before = path.read_bytes()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        reading = reading_by_chance(kind, rng)
        table = crossview.open_table(path, **reading)
        how = USES[rng.integers(len(USES))](folder, table, rng)
    except InputError as error:
        if len(str(error).splitlines()) != 1:
            raise ValueError(f"not one line: {error!r}") from error
        how = "refused"
    finally:
        assert path.read_bytes() == before, "the table was changed"
        path.unlink()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    allowed = 4 * len(before) / 1024 + CONSTANT_MEGABYTES * 1024
    assert grown <= allowed, f"{grown // 1024} MB for a file of {len(before) // 1024} kB"
    return how


def describe(folder: Path, table: Any, rng: np.random.Generator) -> str:
    """Say what it holds."""
    from rich.console import Console

    import crossview
    from crossview.reporting.tables import description_table

    label = [None, None, "label", "label", "label", "x"][rng.integers(6)]
    found = crossview.describe(table, label, **columns_options(rng, table.column_names))
    Console(file=io.StringIO()).print(description_table(found))
    return "described"


def train(folder: Path, table: Any, rng: np.random.Generator) -> str:
    """Learn from it."""
    import crossview

    options = columns_options(rng, table.column_names)
    own: dict[str, dict] = {"encoder": {"hash_bits": 5}, "scoring": {}}
    for part, name, values in (
        ("encoder", "hash_bits", [1, 4, 0]),
        ("encoder", "ngram_range", [(1, 2), (1, 0)]),
        ("encoder", "tf_idf", [True]),
        ("encoder", "bins", [3, 1]),
        ("", "in_order", [True, False]),
        ("", "time", ["id", "x", "a__y"]),
        ("", "weight", ["id", "a__x", "y"]),
        ("scoring", "metric", ["roc_auc", "log_loss", "mae", "x"]),
        ("scoring", "positive", ["p", "1", 0, True]),
        ("scoring", "threshold", [None, 0.3, 2.0, "x"]),
        ("", "classes", [["p", "q"], ["p"], []]),
    ):
        if rng.random() < 0.04:
            own.get(part, options)[name] = values[rng.integers(len(values))]
    encoder = options["encoder"].set_params(**own["encoder"])
    options |= {"encoder": encoder, "scoring": Scoring(**own["scoring"])}
    model = "linear" if options.get("task") == "regression" else "pa:squared"
    model = str(rng.choice([model, model, model, "arow", "fm"]))
    output = folder / f"trained-{os.getpid()}"
    label = str(rng.choice(["label"] * 30 + ["x", "none"]))
    crossview.train(table, label, model=model, output=output, **options)
    crossview.load(output)
    return "learned"


def predict(folder: Path, table: Any, rng: np.random.Generator) -> str:
    """Predict its rows, and write them."""
    names = [str(name) for name in rng.permutation([*table.column_names] * 9 + ["none"])]
    keep = list(dict.fromkeys(names[: rng.integers(3)]))
    missing = str(rng.choice(["error", *["null"] * 8]))
    explain = [None, 2][rng.integers(2)]
    model = folder / MODELS[rng.integers(len(MODELS))]
    rows = Predictions(model, table, keep=keep, missing_columns=missing, explain=explain)
    suffix = [".csv", ".parquet", ".jsonl"][rng.integers(3)]
    with writing(folder / f"predicted-{os.getpid()}{suffix}", rows.schema) as write:
        for batch in rows:
            write(batch)
    return "predicted"


def evaluate(folder: Path, table: Any, rng: np.random.Generator) -> str:
    """Say how good a model is on it."""
    from rich.console import Console

    import crossview
    from crossview.reporting.evaluation import evaluation_tables

    names = [str(name) for name in rng.permutation([*table.column_names, "none"])]
    found = crossview.evaluate(
        folder / MODELS[rng.integers(len(MODELS))],
        table,
        by=names[: rng.integers(2)] if rng.random() < 0.5 else [],
        time=[None, None, None, None, names[0], "id"][rng.integers(6)],
        window=[None, None, None, None, None, None, 5, "1d"][rng.integers(8)],
        views=bool(rng.integers(2)),
        missing_columns="null",
    )
    Console(file=io.StringIO()).print(*evaluation_tables(found))
    return "evaluated"


def join(folder: Path, table: Any, rng: np.random.Generator) -> str:
    """Join it with another one."""
    import crossview

    on = [None, None, None, "id", "id", "id", ["id", "x"], []][rng.integers(8)]
    other = crossview.open_table(folder / "late.parquet")
    left, right = (table, other) if rng.random() < 0.5 else (other, table)
    views = {} if rng.random() < 0.1 else {"v": right}
    for batch in crossview.join_tables(left, right if rng.random() < 0.5 else views, on=on):
        batch.X.validate(full=True)
    return "joined"


USES = [describe, train, train, predict, evaluate, join]
MODELS = ["classes", "numbers", "plain"]


def make_models(folder: Path) -> None:
    """Train the models that predict, and write what is joined."""
    import pyarrow as pa
    import pyarrow.parquet

    import crossview

    table = pa.table(
        {
            "a__x": np.arange(40.0),
            "a__y": ["Oslo", "Bonn"] * 20,
            "b__u": ["cheap flights", "weather in Oslo"] * 20,
            "c__w": np.arange(40) % 7,
            "label": ["p", "q", "q", "p"] * 10,
            "id": np.arange(40),
        }
    )
    kept = {"encoder": ViewEncoder(hash_bits=5, text=["b__u"])}
    crossview.train(table, "label", model="arow", output=folder / "classes", **kept)
    crossview.train(table, "id", model="fm", task="regression", output=folder / "numbers", **kept)
    plain = {"views": {"a": ["a__x", "c__w"]}, "encoder": ViewEncoder(hash_bits=5)}
    crossview.train(table, "label", model="pa:squared", output=folder / "plain", **plain)
    late = table.select(["id", "label"]).rename_columns(["id", "late"])
    pyarrow.parquet.write_table(late, folder / "late.parquet")


if __name__ == "__main__":
    sys.exit(fuzz_files(__doc__, make_models, trial))
