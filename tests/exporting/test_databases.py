"""Exported SQL and ONNX give the numbers of the model: every learner of the catalog.

A new learner is here without an entry.  ONNX takes each learner, and so does DuckDB where all is
tested; else DuckDB, SQLite and PostgreSQL, which read the same arithmetic, take one of each kind.
"""

import datetime
import decimal
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import crossview
from benchmarks.exported_models import learners, make_rows, targets
from command_line import run
from crossview import (
    EnsembleClassifier,
    InputError,
    MultiViewNetworkClassifier,
    Pipeline,
    Scoring,
    ViewEncoder,
    datasets,
    export,
    predict,
    train,
)
from crossview.exporting.plan import make_plan
from crossview.exporting.vectorized.running import onnx_inputs

pytest.importorskip("sqlglot", reason="sqlglot is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

import onnx
import onnxruntime

from crossview.exporting.vectorized import sql
from crossview.exporting.vectorized.onnx import onnx_model
from crossview.exporting.vectorized.sql import DIALECTS, sql_query
from exporting.databases import postgres, run_duckdb, run_sqlite
from postgres_server import postgres_binaries

VIEWS = {"user": ["age", "city", "since", "vip"], "dim": "dim_*"}
# of float64, where what is left is the order of sums; and of the float32 of trees in ONNX
TOLERANCE, TOLERANCE_OF_ONNX = 1e-9, 1e-5
# no threshold, for which three more models would be fitted
PLAIN = Scoring(threshold=None)
SCHEMA = pa.Table.from_pylist(make_rows(20, 0, whole=True)).schema


def as_table(rows):
    """Rows with a city that training has not seen among them, as a table."""
    rows = [dict(row) for row in rows]
    rows[0]["city"], rows[1]["age"], rows[2]["age"] = "it's; new", 1e4, -1e4
    rows[3] |= dict.fromkeys(row for row in rows[3])
    return pa.Table.from_pylist(rows, schema=SCHEMA).drop_columns(["msg"])


@pytest.fixture(scope="module")
def cases():
    """Each learner: of two or of three classes, or of numbers; with bins, or without."""
    rows, table = make_rows(80, 0), as_table(make_rows(40, 1))
    first = pa.Table.from_pylist(rows, schema=SCHEMA)
    encoded = {}
    for bins in (None, 4):
        one = ViewEncoder(VIEWS, date=["since"], hash_bits=18, bins=bins)
        encoded[bins] = one, one.fit_transform(first)
    found = {}
    for at, entry, quick in learners(VIEWS):
        n_classes = 2 + at % 2 if entry.task == "classification" else 0
        encoder, X = encoded[None if at % 3 else 4]
        learner = entry.make(random_state=0, **quick)
        fitted = learner.fit(X, targets(rows, entry.task, n_classes))
        model = Pipeline([("encoder", encoder), ("model", fitted)])
        found[f"{entry.name} {entry.task}"] = model, make_plan(model), table
    return found


@pytest.fixture(scope="module")
def in_postgres():
    """A function that runs queries in PostgreSQL; None: it is not installed."""
    if postgres_binaries() is None:
        yield None
    else:
        with postgres() as run_query:
            yield run_query


def one_of_each_kind(cases):
    kinds = {}
    for name, (_, plan, _) in cases.items():
        kinds[type(plan.model.scorer).__name__, plan.model.n_scores > 1] = name
    assert {kind for kind, _ in kinds} == {
        "ViewSum",
        "Machine",
        "Trees",
        "Networks",
        "Stack",
        "Blend",
    }
    return [(name, cases[name]) for name in kinds.values()]


def check(found, model, table):
    """Compare rows of a database with those of `predict`."""
    there = predict(model, table)
    assert list(found[0]) == there.column_names
    classes = getattr(model[-1], "classes_", None)
    scores = [name for name in there.column_names if name.startswith(("score", "probability"))]
    for i, row in enumerate(there.to_pylist()):
        own = [row[name] for name in scores]
        for name, value in row.items():
            here = found[i][name]
            if name == "prediction" and classes is not None:
                is_tie = len(own) > 1 and abs(own[-1] - own[-2]) < TOLERANCE
                assert str(here) == str(value) or is_tie, (i, name)
            elif value is None or math.isnan(value):
                assert here is None, (i, name)
            else:
                assert float(here) == pytest.approx(value, rel=TOLERANCE, abs=TOLERANCE), (i, name)


@pytest.mark.parametrize(
    "names", ["one of each kind", pytest.param("all", marks=pytest.mark.exhaustive)]
)
def test_duckdb(cases, names):
    kinds = cases.items() if names == "all" else one_of_each_kind(cases)
    for name, (model, plan, table) in kinds:
        found = run_duckdb(sql_query(plan), table)
        try:
            check(found, model, table)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def test_sqlite(cases):
    for _, (model, plan, table) in one_of_each_kind(cases):
        check(run_sqlite(sql_query(plan, dialect="sqlite"), table), model, table)


def test_postgres(cases, in_postgres):
    if in_postgres is None:
        pytest.skip("the server of PostgreSQL is not installed")
    for _, (model, plan, table) in one_of_each_kind(cases):
        check(in_postgres(sql_query(plan, dialect="postgres"), table), model, table)


def test_queries_for_other_dialects_are_parsed():
    import sqlglot

    rows = make_rows(40, 0, whole=True)
    encoder = ViewEncoder({"user": ["age", "city", "since"]}, date=["since"], bins=None)
    X = encoder.fit_transform(pa.Table.from_pylist(rows, schema=SCHEMA))
    learner = crossview.Perceptron(random_state=0).fit(X, targets(rows, "classification", 2))
    plan = make_plan(Pipeline([("encoder", encoder), ("model", learner)]))
    for dialect in DIALECTS:
        query = sql_query(plan, dialect=dialect, table="shop.visits", keep=["id"])
        (parsed,) = sqlglot.parse(query, read=dialect)
        assert parsed.named_selects[:2] == ["id", "prediction"]
        tables = [one.sql() for one in parsed.find_all(sqlglot.exp.Table) if one.db]
        assert tables == ["shop.visits"]


def run_onnx(plan, table):
    content = onnx_model(plan)
    graph = onnx.load_model_from_string(content).graph
    read = {name for node in graph.node for name in node.input}
    assert {one.name for one in graph.initializer} <= read  # runtimes warn of others
    session = onnxruntime.InferenceSession(content)
    wanted = {one.name for one in session.get_inputs()}
    inputs = onnx_inputs(plan, table.to_pylist())
    names = [one.name for one in session.get_outputs()]
    found = session.run(names, {k: v for k, v in inputs.items() if k in wanted})
    return dict(zip(names, found, strict=True))


def test_onnx(cases):
    for name, (model, plan, table) in cases.items():
        found = run_onnx(plan, table)
        learner, X = model[-1], model[0].transform(table)
        close = {"rtol": TOLERANCE_OF_ONNX, "atol": TOLERANCE_OF_ONNX, "err_msg": name}
        predicted = found["prediction"].ravel()
        if plan.model.classes is None:
            np.testing.assert_allclose(predicted, learner.predict(X), **close)
        else:
            scores = learner.decision_function(X)
            np.testing.assert_allclose(found["scores"], scores.reshape(len(X), -1), **close)
            if "probabilities" in found:
                np.testing.assert_allclose(
                    found["probabilities"], learner.predict_proba(X), **close
                )
            others = np.flatnonzero(predicted != learner.predict(X))
            ordered = np.sort(np.column_stack([-scores, scores]) if scores.ndim == 1 else scores)
            assert (ordered[others, -1] - ordered[others, -2] < 1e-4).all(), name
        answer = predict(model, table)
        views = [one for one in answer.column_names if one.startswith("view_")]
        there = np.column_stack([answer[one].to_numpy() for one in views])
        np.testing.assert_allclose(found["view_scores"], there.astype(float), **close)


def test_onnx_of_views_of_numbers(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 2, 60)
    layout = crossview.ViewLayout(["a", "b"], [2, 3])
    views = crossview.MultiView.from_matrix(X, layout)
    model = crossview.MultiViewPAClassifier(random_state=0).fit(views, y)
    plan = make_plan(model)
    session = onnxruntime.InferenceSession(onnx_model(plan))
    a, b = X[:, :2].copy(), X[:, 2:].copy()
    b[:5] = np.nan
    (found,) = session.run(["scores"], {"a": a, "b": b})
    missing = X.copy()
    missing[:5, 2:] = np.nan
    there = model.decision_function(crossview.MultiView.from_matrix(missing, layout))
    np.testing.assert_allclose(found[:, 0], there, atol=1e-12)
    with pytest.raises(InputError, match="trained on a table"):
        export(model, tmp_path / "m.sql")
    assert not list(tmp_path.iterdir())


def test_a_graph_says_what_it_is(cases, tmp_path):
    _, (model, _, _) = one_of_each_kind(cases)[0]
    exported = export(model, tmp_path / "m.onnx")
    assert exported.difference.largest < TOLERANCE_OF_ONNX
    graph = onnx.load(tmp_path / "m.onnx")
    about = {one.key: one.value for one in graph.metadata_props}
    assert about["views"] == '["user", "dim"]'
    export(model, tmp_path / "m.onnx")  # it is one of ours
    (tmp_path / "other.onnx").write_bytes(b"other")
    with pytest.raises(InputError, match="exists and is not"):
        export(model, tmp_path / "other.onnx")


def test_statistics_of_categories_are_compared_to_the_last_bit():
    """What is looked up has no rounding: a threshold may be a bit below the mean of all rows."""
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in rng.integers(0, 40, 300)]
    table = pa.table({"v__c": names, "v__x": rng.normal(size=300)})
    encoder = ViewEncoder()
    learner = crossview.MultiViewTreesClassifier(n_bags=1, max_iter=5, max_categories=3)
    learner.fit(encoder.fit_transform(table), rng.integers(0, 2, 300))
    plan = make_plan(Pipeline([("encoder", encoder), ("model", learner)]))
    scorer = plan.model.scorer
    first = len(scorer.coded) + len(scorer.numbers)
    looked_up = (scorer.feature >= first) & (scorer.left != 0)
    threshold = learner.get_state()["threshold"]
    assert looked_up.any()
    assert (scorer.threshold[looked_up] == threshold[looked_up]).all()
    others = ~looked_up & (scorer.left != 0) & (scorer.threshold != 0)
    assert (scorer.threshold[others] > threshold[others]).all()


def test_what_a_target_cannot_do_is_said_before_anything_is_written(tmp_path):
    rows = make_rows(40, 0, whole=True)
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    table = table.append_column("y", pa.array([i % 2 for i in range(40)]))
    encoder = ViewEncoder({"t": ["msg"], "u": ["age"]}, text=["msg"])
    trained = train(table, "y", model="perceptron", encoder=encoder)
    for name in ("m.sql", "m.onnx"):
        with pytest.raises(InputError, match=r"text is hashed \(msg\)"):
            export(trained, tmp_path / name)
    encoder = ViewEncoder({"t": ["when"], "u": ["age"]}, date=["when=%H:%M:%S %d.%m.%Y"])
    when = pa.array([f"10:30:00 {1 + i % 28}.03.2024" for i in range(40)])
    dated = train(table.append_column("when", when), "y", model="perceptron", encoder=encoder)
    with pytest.raises(InputError, match="seconds and then a zone at the end only"):
        export(dated, tmp_path / "m.sql")
    plain = train(table, "y", model="perceptron", encoder=ViewEncoder({"u": ["age", "vip"]}))
    for options, what in (
        ({"dialect": "mysql"}, "is none of duckdb"),
        ({"keep": ["view_u"]}, "'view_u'; keep no such column"),
        ({"table": '"a'}, "no name of a table"),
        ({"keep": ["nope"], "rows": table}, "no column 'nope'"),
        ({"dialect": "sqlite", "rows": table}, "only dialect='duckdb' is run here; leave them out"),
    ):
        with pytest.raises(InputError, match=what):
            export(plain, tmp_path / "m.sql", **options)
    alike = table.append_column("AGE", table["age"])
    alike = train(alike, "y", model="perceptron", encoder=ViewEncoder({"u": ["age", "AGE"]}))
    with pytest.raises(InputError, match="duckdb takes column 'AGE' for 'age'"):
        export(alike, tmp_path / "m.sql")
    assert '"AGE"' in sql_query(make_plan(alike), dialect="postgres")
    with pytest.raises(InputError, match=r"is for \.sql"):
        export(plain, tmp_path / "m.py", dialect="sqlite")
    assert not list(tmp_path.iterdir())


def test_categories_in_one_slot_are_told_apart_by_the_rows_that_have_them(tmp_path, capsys):
    rng = np.random.default_rng(0)
    c, n = rng.integers(0, 12, 200), rng.integers(0, 9, 200)
    columns = {"v__c": [f"c{i}" for i in c], "v__n": [str(i) for i in n]}
    table = pa.table({**columns, "y": (c + n) % 3 == 0})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    settings = {"n_bags": 1, "max_iter": 8, "max_categories": 3}
    trained = train(table, "y", model="trees", encoder=ViewEncoder(hash_bits=4), settings=settings)
    file = tmp_path / "m.safetensors"
    crossview.save(trained.fitted, file, info=trained.info)
    words = [
        "export",
        file,
        "--rows",
        tmp_path / "t.parquet",
        "--categories",
        tmp_path / "t.parquet",
    ]
    for name in ("m.sql", "m.onnx"):
        status, _, err = run(capsys, *words[:4], "-o", tmp_path / name)
        assert status == 0
        assert "a slot that another one had first; --categories" in err[-1]
        status, _, err = run(capsys, *words, "-o", tmp_path / name)
        assert "scores as the model to within" in err[-1]
    check(run_duckdb((tmp_path / "m.sql").read_text(), table), trained.fitted, table)
    status, _, err = run(capsys, *words, "-o", tmp_path / "m.py")
    assert (status, "hashes them itself" in err[-1]) == (2, True)


def test_columns_to_keep_and_the_table_are_named(tmp_path):
    table = pa.table(
        {
            "no": list(range(40)),
            "a b": [float(i % 7) for i in range(40)],
            "c": [["x", "y'"][i % 2] for i in range(40)],
            "y": [i % 7 > 3 for i in range(40)],
        }
    )
    encoder = ViewEncoder({"v": ["a b", "c"]})
    trained = train(table, "y", model="stacking", encoder=encoder)
    exported = export(trained, tmp_path / "m.sql", table="visits", keep=["no"])
    assert exported.difference.largest < TOLERANCE
    query = (tmp_path / "m.sql").read_text().replace("FROM visits", "FROM rows_to_score")
    found = run_duckdb(query, table)
    assert [row.pop("no") for row in found] == list(range(40))
    check(found, trained.fitted, table)
    assert {type(row["prediction"]) for row in found} == {bool}


def test_the_check_does_not_depend_on_the_order_in_which_rows_come_back(tmp_path):
    """DuckDB joins the weights of thousands of categories, and few rows come in another order."""
    rng = np.random.default_rng(0)
    users = np.array([f"u{i}" for i in rng.integers(0, 3000, 20_000)])
    y = np.where(rng.random(20_000) < 0.3 + 0.4 * (np.char.str_len(users) > 4), "yes", "no")
    table = pa.table({"user": users, "price": rng.normal(size=20_000), "y": y})
    trained = crossview.train(table, "y", model="arow")
    exported = crossview.export(trained.fitted, tmp_path / "m.sql")
    assert exported.difference.n_rows == 64
    assert exported.difference.largest < 1e-9


def test_wide_views_and_many_classes_make_no_deep_query():
    """Parsers have a stack of a hundred places; of a maximum of two DuckDB wrote each twice."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.1, (120, 200)).astype(float)
    wide = pa.table({f"w__{j}": column for j, column in enumerate(counts.T)})
    wide = wide.append_column("o__x", pa.array(rng.normal(size=120)))
    wide = wide.append_column("y", pa.array(np.where(counts[:, 0] > 0, "yes", "no")))
    many = pa.table({"v__x": rng.normal(size=120), "y": [f"class {i % 40}" for i in range(120)]})
    for table, model in ((wide, "logistic-regression"), (many, "linear")):
        fitted = train(table, "y", model=model, scoring=PLAIN).fitted
        for dialect, run_query in (("duckdb", run_duckdb), ("sqlite", run_sqlite)):
            query = sql_query(make_plan(fitted), dialect=dialect)
            assert len(query) < 250_000
            check(run_query(query, table), fitted, table)


def test_times_are_read_to_the_microsecond():
    rng = np.random.default_rng(0)
    start = np.datetime64("1969-12-31T23:59:50", "us")
    times = (start + rng.integers(0, 10**14, 60)).astype("M8[s]").astype(str)
    ends = ["", ".999999", ",9996", ".9994+02:00", ".5Z", ".000001 -0130"]
    words = [f"{t}{ends[i % 6]}" for i, t in enumerate(times)]
    table = pa.table({"v__t": words, "y": np.where(times < "1971-08", "no", "yes")})
    fitted = train(table, "y", model="logistic-regression").fitted
    for dialect, run_query in (("duckdb", run_duckdb), ("sqlite", run_sqlite)):
        check(run_query(sql_query(make_plan(fitted), dialect=dialect), table), fitted, table)


TIMES = ["", " 9:05", "T10:30", " 23:59:59,5", "  10:30:00.123456789 Z", " 10:30-0330", "T0:30+02"]
NO_DATES = [
    "soon",
    "",
    " ",
    "31.02.2024",
    "2024-13-01",
    "1.1.24 24:00",
    "99",
    "infinity",
    "1/1/2024x",
]


@pytest.mark.parametrize(
    "format", ["%d.%m.%Y", "%m/%d/%y", "%Y-%m-%d", "%Y%m%d", "%d.%m.%Y, %H Uhr"]
)
def test_dates_are_read_as_the_model_reads_them(format, in_postgres):
    """With a time and its zone after them, too; what is no date is missing."""
    days = [datetime.datetime(2023, 1, 1) + datetime.timedelta(hours=35 * i) for i in range(210)]
    more = TIMES if "%H" not in format else [""]
    words = [f"{day.strftime(format)}{more[i % len(more)]}" for i, day in enumerate(days)]
    words = [
        w.replace("0", "", 1) if i % 9 == 0 and w[0] == "0" else w for i, w in enumerate(words)
    ]
    y = [int(day.hour > 11) for day in days]
    x = np.random.default_rng(0).normal(size=len(days))
    table = pa.table({"v__t": words, "u__x": x, "y": y})
    encoder = ViewEncoder(date=[f"v__t={format}"])
    settings = {"encoder": encoder, "scoring": PLAIN}
    fitted = train(table, "y", model="logistic-regression", **settings).fitted
    odd = pa.table({"v__t": [*words, *NO_DATES], "u__x": [*x, *[0.5] * len(NO_DATES)]})
    there = odd.set_column(0, "v__t", pa.array([*words, *[None] * len(NO_DATES)]))
    typed = there.set_column(0, "v__t", pa.array([*days, *[None] * len(NO_DATES)], "timestamp[us]"))
    plan = make_plan(fitted)
    check(run_duckdb(sql_query(plan), typed), fitted, typed)
    for score in in_databases(plan, in_postgres):
        check(score(odd), fitted, there)


def in_databases(plan, in_postgres):
    """Yield a function per database that runs the query of a model; rows come back in order."""

    def in_order(run_query, dialect):
        query = sql_query(plan, dialect=dialect, keep=["row"])

        def score(table):
            numbered = table.append_column("row", pa.array(range(len(table)), "int64"))
            found = run_query(query, numbered)
            found.sort(key=lambda one: int(one["row"]))
            return [{k: v for k, v in one.items() if k != "row"} for one in found]

        return score

    yield in_order(run_duckdb, "duckdb")
    yield in_order(run_sqlite, "sqlite")
    if in_postgres is not None:
        yield in_order(in_postgres, "postgres")


@pytest.mark.parametrize("model", ["extra-trees", "ensemble"])
def test_rows_walk_through_a_table_of_the_nodes_of_large_trees(model, in_postgres, monkeypatch):
    monkeypatch.setattr(sql, "MANY_NODES", 1)
    rng = np.random.default_rng(0)
    size = np.where(np.arange(200) % 9 == 0, np.nan, rng.normal(size=200))
    color = rng.choice(["it's red", "blue", "green"], 200).astype(object)
    color[::11] = None
    columns = {"a__size": pa.array(size, from_pandas=True), "a__color": color.tolist()}
    columns |= {"b__x": rng.normal(size=200), "b__on": rng.random(200) < 0.5}
    y = np.where(np.nan_to_num(size) > 0.4, "few", np.where(color == "blue", "some", "most"))
    table = pa.table({**columns, "y": y})
    settings = {"n_estimators": 4}
    if model == "ensemble":  # with two forests
        settings = {"members": [f"extra-trees n_estimators={n}" for n in (2, 3)]}
    trained = train(table[:150], "y", model=model, settings=settings)
    plan, rows = make_plan(trained), table[150:].drop_columns(["y"])
    score, _, *others = in_databases(plan, in_postgres)
    for one in (score, *others):
        check(one(rows), trained.fitted, rows)
    assert "RECURSIVE" in sql_query(plan)
    assert run_duckdb(sql_query(plan), rows.slice(0, 0)) == []


def test_many_deep_trees_are_refused_where_a_query_does_not_end(monkeypatch):
    monkeypatch.setattr(sql, "MOST_NODES", 1)
    monkeypatch.setattr(sql, "DEEP", 1)
    table = pa.table({"x": np.arange(50.0), "y": np.arange(50.0)})
    plan = make_plan(train(table, "y", model="extra-trees", task="regression"))
    for dialect in ("sqlite", "snowflake"):
        with pytest.raises(InputError, match=rf"nodes, .* does not end in {dialect}; export for"):
            sql_query(plan, dialect=dialect)


IDS = [1e15, 1e16, 12345678901234568.0, 4.0, 123456789.0, 2.5, 1e22, 1e-4, 1e-5, -0.0, 0.1 + 0.2]


def test_numbers_that_are_categories_are_found_however_a_database_writes_them(
    tmp_path, in_postgres
):
    cells = IDS * 20
    y = [i % 2 for i in range(len(IDS))] * 20
    x = np.random.default_rng(0).normal(size=len(y))
    table = pa.table({"v__id": cells, "u__x": x, "y": y})
    encoder = ViewEncoder(categorical=["v__id"])
    trained = train(table, "y", model="logistic-regression", encoder=encoder)
    rows = table.slice(0, 2 * len(IDS))
    whole = rows.set_column(0, "v__id", pa.array([4, 123456789] * len(IDS)))
    for score in in_databases(make_plan(trained), in_postgres):
        check(score(rows), trained.fitted, rows)
        check(score(whole), trained.fitted, whole)
    path = tmp_path / "m.sql"
    exported = export(trained, path, rows=table, categories=table)
    assert exported.difference.largest < TOLERANCE


def test_the_check_runs_the_query_on_columns_of_the_types_of_the_rows(tmp_path):
    """Were they text, it would not see what the query does with numbers, dates and decimals."""
    days = [datetime.date(2024, 1, 1 + i % 9) for i in range(120)]
    prices = [decimal.Decimal(i % 7) / 4 for i in range(120)]
    columns = {
        "v__day": days,
        "v__price": pa.array(prices, pa.decimal128(6, 2)),
        "v__half": [0.5] * 120,
    }
    y = [i % 9 % 2 for i in range(120)]
    table = pa.table({**columns, "u__x": np.arange(120.0), "y": y})
    encoder = ViewEncoder(categorical=["v__day", "v__price", "v__half"])
    trained = train(table, "y", model="logistic-regression", encoder=encoder)
    exported = export(trained, tmp_path / "m.sql", rows=table, categories=table)
    assert exported.difference.largest < TOLERANCE
    check(run_duckdb((tmp_path / "m.sql").read_text(), table), trained.fitted, table)


@pytest.mark.parametrize("words", [False, True], ids=["Boolean", "text"])
def test_true_and_false_are_found_in_columns_of_any_type(words, in_postgres):
    rng = np.random.default_rng(0)
    cells, x = (rng.random(120) < 0.4).tolist(), rng.normal(size=120)
    table = pa.table({"v__b": cells, "u__x": x, "y": np.where(cells, 1, np.arange(120) % 2)})
    texts = table.set_column(0, "v__b", pa.array([str(cell).lower() for cell in cells]))
    fitted = train(texts if words else table, "y", model="logistic-regression").fitted
    rows = [table, texts]
    if not words:
        others = (
            [str(cell).upper() for cell in cells],
            list(map(int, cells)),
            list(map(float, cells)),
        )
        rows += [table.set_column(0, "v__b", pa.array(other)) for other in others]
    for score in in_databases(make_plan(fitted), in_postgres):
        for one in rows:
            check(score(one), fitted, one)
    plan = make_plan(fitted)
    for one in rows:
        found, there = run_onnx(plan, one)["probabilities"], predict(fitted, one)
        np.testing.assert_allclose(found[:, 1], there["probability_1"].to_numpy(), atol=1e-9)


def test_an_error_of_the_database_is_one_line(tmp_path, monkeypatch):
    table = pa.table({"v__x": np.arange(40.0), "y": np.arange(40) > 20})
    trained = train(table, "y", model="perceptron")
    query = "crossview.exporting.vectorized.sql.sql_query"
    monkeypatch.setattr(query, lambda *_, **__: "SELECT error('a\nb')")
    with pytest.raises(InputError, match=r"DuckDB cannot run the query on these rows: \S.*$"):
        export(trained, tmp_path / "m.sql", rows=table)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("bins", [None, 4])
def test_a_query_of_too_many_columns_says_what_helps(tmp_path, bins):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(400 if bins else 900, 40))
    table = pa.table({f"v__{j}": column for j, column in enumerate(numbers)})
    table = table.append_column("y", pa.array(np.arange(40) % 2 == 0))
    trained = train(table, "y", model="perceptron", encoder=ViewEncoder(bins=bins))
    advice = "; train without bins" if bins else "; export to .onnx"
    with pytest.raises(InputError, match=advice):
        export(trained, tmp_path / "m.sql", dialect="postgres")
    assert not list(tmp_path.iterdir())


def test_the_empty_category_is_missing_in_onnx_and_the_answer_says_so(tmp_path, capsys):
    table = pa.table({"v__c": ["", "a", "b"] * 20, "y": ["yes", "no", "no"] * 20})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    crossview.save(train(table, "y", model="perceptron").fitted, tmp_path / "m.safetensors")
    words = ["export", tmp_path / "m.safetensors", "--rows", tmp_path / "t.parquet"]
    status, _, err = run(capsys, *words, "-o", tmp_path / "m.onnx")
    assert (status, "are '' (missing in ONNX), new, or" in err[-1]) == (0, True)
    exported = export(tmp_path / "m.safetensors", tmp_path / "m.onnx", rows=table)
    assert "missing in ONNX), new, or in a slot that another one had first; cat" in str(exported)
    status, _, err = run(capsys, *words, "-o", tmp_path / "m.sql")
    assert "scores as the model to within" in err[-1]


def test_numbers_that_the_model_refuses_are_missing():
    """A database has no error for a row, and would answer with a number that means nothing."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 60))
    table = pa.table({"a__x": x, "b__z": z, "y": np.where(x > 0, "yes", "no")})
    fitted = train(table, "y", model="trees", settings={"max_iter": 20}).fitted
    plan = make_plan(fitted)
    odd = [math.inf, -math.inf, math.nan, 1e300, -1e101, None, 1e100]
    rows = pa.table({"a__x": odd, "b__z": [0.5] * len(odd)})
    read = rows.set_column(0, "a__x", pa.array([None] * 6 + [1e100]))
    check(run_duckdb(sql_query(plan), rows), fitted, read)
    check(run_sqlite(sql_query(plan, dialect="sqlite"), rows), fitted, read)
    found = run_onnx(plan, rows)["probabilities"][:, 1]
    there = predict(fitted, read)["probability_yes"].to_numpy()
    np.testing.assert_allclose(found, there, atol=TOLERANCE_OF_ONNX)


def test_the_query_of_a_network_of_the_usual_size_is_answered():
    table = datasets.load("breast-cancer")
    trained = train(table, "diagnosis", model="network", settings={"max_epochs": 1}, scoring=PLAIN)
    plan, rows = make_plan(trained), table.slice(0, 9)
    for dialect, run_query in (("sqlite", run_sqlite), ("duckdb", run_duckdb)):
        query = sql_query(plan, dialect=dialect)
        assert len(query) < 3_000_000
        check(run_query(query, rows), trained.fitted, rows)


def test_a_query_has_several_networks():
    table = datasets.load("breast-cancer")
    own = MultiViewNetworkClassifier(n_members=1, max_epochs=1, random_state=0)
    members = [("mean", own, "mean"), ("worst", own, "worst")]
    ensemble = EnsembleClassifier(members=members, weights=[0.5, 0.5])
    model = crossview.make_pipeline(ViewEncoder(), ensemble)
    X, y = table.drop_columns(["diagnosis"]), table["diagnosis"].to_numpy()
    plan, rows = make_plan(model.fit(X, y)), X.slice(0, 9)
    for dialect, run_query in (("sqlite", run_sqlite), ("duckdb", run_duckdb)):
        check(run_query(sql_query(plan, dialect=dialect), rows), model, rows)


@pytest.mark.parametrize(
    "model",
    [
        *("fm", "extra-trees"),
        *(
            pytest.param(one, marks=pytest.mark.exhaustive)
            for one in ("logistic-regression", "trees", "stacking", "ensemble")
        ),
    ],
)
def test_models_with_the_usual_settings_are_no_deeper_than_sqlite_reads(model):
    """Its parser has a stack of a hundred places, which trees without a limit need more of."""
    table = datasets.load("breast-cancer")
    settings = {"members": ["extra-trees", "late-fusion"]} if model == "ensemble" else {}
    trained = train(table, "diagnosis", model=model, settings=settings, scoring=PLAIN)
    rows = table.slice(0, 40)
    query = sql_query(make_plan(trained), dialect="sqlite")
    check(run_sqlite(query, rows), trained.fitted, rows)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_deep_trees_are_cut_where_they_are_nested_too_deeply(task):
    """Each leaf is one row, and some trees split one after the other."""
    x = np.arange(300.0)
    columns = {"a__x": 1.05**x, "b__z": [None if i % 7 == 0 else i for i in x.tolist()]}
    y = x if task == "regression" else [f"class {i % 5 % 3}" for i in range(300)]
    table = pa.table({**columns, "y": y})
    settings = {"n_estimators": 5}
    trained = train(table, "y", model="extra-trees", task=task, settings=settings)
    query = sql_query(make_plan(trained), dialect="sqlite")
    check(run_sqlite(query, table), trained.fitted, table)


@pytest.mark.parametrize("model", ["stacking", "fm"])
def test_numbers_of_many_classes_are_lists_in_duckdb(model):
    """It plans in the square of the columns, and in the memory of each product."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 20
    near = rng.normal(size=(20, 6))[y] + 0.3 * rng.normal(size=(120, 6))
    columns = {f"{'ab'[j % 2]}__x{j}": near[:, j] for j in range(6)}
    table = pa.table({**columns, "y": [f"c{i}" for i in y]})
    trained = train(table, "y", model=model)
    plan, rows = make_plan(trained), table[:20].drop_columns(["y"])
    rows = rows.set_column(0, "a__x0", pa.array([None, *near[1:20, 0]]))
    query = sql_query(plan)
    assert max(step.count("\n") for step in query.split("FROM crossview_")[:-1]) < 200
    check(run_duckdb(query, rows), trained.fitted, rows)
    if model == "stacking":
        with pytest.raises(InputError, match="sqlite has at most 2,000"):
            sql_query(plan, dialect="sqlite")


@pytest.mark.parametrize("target", ["sql", "onnx"])
def test_a_view_without_numbers_has_a_score_beside_random_features_of_the_others(target, tmp_path):
    rng = np.random.default_rng(0)
    columns = {"a__x": rng.normal(size=120), "b__city": rng.choice(["Bonn", "Oslo"], 120)}
    table = pa.table({**columns, "y": np.where(rng.random(120) < 0.5, "yes", "no")})
    settings = {"columns": "numbers", "fourier_features": 100}
    trained = train(table, "y", model="newton", settings=settings, scoring=PLAIN)
    exported = crossview.export(trained.fitted, tmp_path / f"m.{target}")
    assert exported.difference.largest < 1e-9
