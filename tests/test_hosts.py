"""Models in polars, DuckDB and scikit-learn: expressions, functions, routing, and pictures."""

import warnings

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.utils import estimator_html_repr

from benchmarks.exported_models import SCHEMA, cases, make_rows
from crossview import (
    AROWClassifier,
    InputError,
    PassiveAggressiveClassifier,
    Perceptron,
    Pipeline,
    ViewEncoder,
    ViewScaler,
    make_pipeline,
    predict,
    save,
)
from crossview.compat.duckdb import register
from crossview.compat.polars import predict_expr


@pytest.fixture
def connection():
    with duckdb.connect() as one:
        yield one


@pytest.fixture(scope="module")
def odd():
    """Rows with missing cells and views, odd text, and categories that nobody learned."""
    rows = make_rows(40, 2)
    rows[3] |= {"city": "never seen", "msg": "żółć"}
    rows[4] = dict.fromkeys(rows[4])
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.fixture(scope="module")
def model():
    rows = make_rows(60, 0)
    encoder = ViewEncoder({"user": ["age", "city"], "dim": "dim_*"}, hash_bits=6)
    y = np.where([(row["age"] or 0) > 40 for row in rows], "old", "young")
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    return make_pipeline(encoder, PassiveAggressiveClassifier(random_state=0)).fit(table, y)


@pytest.mark.parametrize("each", ["module", pytest.param("learner", marks=pytest.mark.exhaustive)])
def test_every_learner_gives_its_own_numbers(connection, odd, each):
    frame = pl.from_arrow(odd).lazy()
    connection.register("odd", odd)
    modules = set()

    def wanted(learner):
        is_known = type(learner).__module__ in modules
        modules.add(type(learner).__module__)
        return each == "learner" or not is_known

    for case in cases(wanted=wanted):
        there = predict(case.fitted, odd)
        expr = case.fitted.predict_expr(frame.collect_schema().names(), there.column_names)
        # in batches and on threads, as the engine likes
        found = frame.select(expr.struct.unnest()).collect(engine="streaming")
        assert found.to_arrow().cast(there.schema).equals(there), case.name
        assert register(connection, case.fitted) == there.column_names
        found = connection.sql("SELECT unnest(crossview_predict(o)) FROM odd AS o")
        assert found.to_arrow_table().cast(there.schema).equals(there), case.name
        if hasattr(case.fitted, "predict_proba"):
            p = case.fitted.predict_proba(odd)
            columns = [name for name in there.column_names if name.startswith("probability")]
            assert np.array_equal(p, np.column_stack([there[name] for name in columns]))


def test_a_lazy_query_reads_the_columns_of_the_model_only(model, odd, tmp_path):
    file = tmp_path / "odd.parquet"
    pl.from_arrow(odd).write_parquet(file)
    lazy = pl.scan_parquet(file)
    names = lazy.collect_schema().names()
    likely = model.predict_expr(names, "probability_old")
    plan = lazy.select(likely).explain()
    assert f"PROJECT 5/{len(names)} COLUMNS" in plan
    there = predict(model, odd)
    kept = lazy.filter(likely > 0.5).select("age").collect()
    assert kept["age"].to_list() == odd.filter(pa.compute.greater(there[2], 0.5))["age"].to_pylist()
    assert lazy.select(likely).collect_schema() == {"probability_old": pl.Float64}
    assert lazy.limit(0).select(model.predict_expr(names)).collect().schema == {
        "prediction": pl.String
    }
    saved = tmp_path / "model.safetensors"
    save(model, saved)
    found = lazy.select(predict_expr(saved, names)).collect()
    assert found["prediction"].to_list() == there["prediction"].to_pylist()


def test_nan_is_missing_as_null_is(model, connection):
    cells = {
        "age": [float("nan"), None, 31.0],
        "city": ["Oslo", "Oslo", None],
        "dim_0": [1.0, 1.0, 2.0],
        "dim_1": [0.5, 0.5, float("nan")],
        "dim_2": [None, None, -1.0],
    }
    frame = pl.DataFrame(cells)
    there = predict(model, frame.fill_nan(None))["score"].to_pylist()
    assert there[0] == there[1]
    assert frame.select(model.predict_expr(frame.columns, "score"))["score"].to_list() == there
    register(connection, model, "score_of")
    connection.register("frame", frame.to_arrow())
    rows = connection.sql("SELECT score_of(f).score FROM frame AS f").fetchall()
    assert [score for (score,) in rows] == there


def test_columns_that_are_absent(model, connection, odd):
    connection.register("odd", odd)
    with pytest.warns(UserWarning, match="view 'user' is missing; scored without it"):
        expr = model.predict_expr(["dim_0", "dim_1", "dim_2"], ["score", "view_user"])
    dims = odd.select(["dim_0", "dim_1", "dim_2"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = predict(model, dims)
    found = pl.from_arrow(dims).select(expr.struct.unnest())
    assert found["score"].to_list() == there["score"].to_pylist()
    assert found["view_user"].null_count() == len(odd)
    with pytest.raises(InputError, match="no column 'dim_1'"):
        model.predict_expr(["dim_0"])
    with pytest.raises(InputError, match="none of the model's columns"):
        model.predict_expr(["other"])
    register(connection, model)
    call = "SELECT crossview_predict({'dim_0': dim_0, 'dim_1': dim_1, 'dim_2': dim_2}).score"
    rows = connection.sql(f"{call} FROM odd").fetchall()
    assert [score for (score,) in rows] == there["score"].to_pylist()
    with pytest.raises(duckdb.Error, match="no column 'dim_1'"):
        connection.sql("SELECT crossview_predict({'dim_0': 1.0})").fetchall()
    register(connection, model, missing_columns="null")
    one = connection.sql("SELECT crossview_predict({'dim_0': 1.0}).score").fetchall()
    one_null = model.score_one({"dim_0": 1.0})
    assert one == [(one_null,)]


def test_arguments_of_the_function(model, connection, odd):
    connection.register("odd", odd)
    there = predict(model, odd)["prediction"].to_pylist()
    register(connection, model, columns=["city", "age", "dim_2", "dim_1", "dim_0"])
    query = "SELECT crossview_predict(city, age, dim_2, dim_1, dim_0).prediction FROM odd"
    assert [found for (found,) in connection.sql(query).fetchall()] == there
    with pytest.raises(duckdb.Error, match="2 arguments; give a row"):
        connection.sql("SELECT crossview_predict(city, age) FROM odd").fetchall()
    # a row that an outer join did not find has nothing, as one whose cells are all NULL
    (found,) = connection.sql(
        "SELECT crossview_predict(o).score, o.age FROM (SELECT 1) LEFT JOIN odd AS o ON false"
    ).fetchall()
    assert found == (model.score_one({}), None)
    assert connection.sql("SELECT crossview_predict(o) FROM odd AS o LIMIT 0").fetchall() == []


def test_what_is_refused(model, connection):
    with pytest.raises(InputError, match="did you mean 'score'"):
        model.predict_expr(["dim_0", "dim_1", "dim_2", "age", "city"], "scores")
    with pytest.raises(InputError, match="give a list of names"):
        model.predict_expr("age")
    with pytest.raises(InputError, match="output= is empty"):
        model.predict_expr(["dim_0", "dim_1", "dim_2", "age", "city"], [])
    with pytest.raises(InputError, match="letters, digits and underscores"):
        register(connection, model, "drop table")
    with pytest.raises(InputError, match="no column of the model"):
        register(connection, model, columns=["age", "city", "dim_0", "dim_1", "dim_2", "msg"])
    learner = Perceptron().fit(np.eye(4), [0, 1, 0, 1])
    for views in (learner, Pipeline([("model", learner)])):
        with pytest.raises(InputError, match="learned views and no table"):
            register(connection, views)
    frame = pl.DataFrame({"age": ["old"], "city": ["Oslo"]})
    with pytest.warns(UserWarning, match="view 'dim' is missing"):
        expr = model.predict_expr(frame.columns)
    with pytest.raises(InputError, match="column 'age': was numeric"):
        frame.select(expr)


def test_steps_between_encoder_and_learner_count(model, odd, connection):
    rows = make_rows(60, 0)
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    encoder = ViewEncoder({"user": ["age", "city"], "dim": "dim_*"}, scale_views=False)
    learner = AROWClassifier(random_state=0)
    scaled = make_pipeline(encoder, "passthrough", ViewScaler(), learner)
    scaled.fit(table, [0, 1] * 30)
    p = scaled.predict_proba(odd)[:, 1]
    assert np.array_equal(predict(scaled, odd)["probability_1"], p)
    found = pl.from_arrow(odd).select(scaled.predict_expr(odd.column_names, "probability_1"))
    assert np.array_equal(found["probability_1"], p)


def test_scikit_learn_routes_weights():
    table = pa.Table.from_pylist(make_rows(120, 0), schema=SCHEMA)
    frame = table.select(["age", "city", "dim_0", "dim_1", "dim_2"]).to_pandas()
    y, rng = np.array([0, 1] * 60), np.random.default_rng(0)
    weight = rng.exponential(size=120)
    cv = StratifiedKFold(3)
    with config_context(enable_metadata_routing=True):
        learner = AROWClassifier(random_state=0).set_fit_request(sample_weight=True)
        routed = make_pipeline(
            ViewEncoder({"user": ["age", "city"], "dim": "dim_*"}),
            learner.set_score_request(sample_weight=True),
        )
        found = cross_validate(
            routed, frame, y, cv=cv, params={"sample_weight": weight}, return_estimator=True
        )
    for (train, _), estimator in zip(cv.split(frame, y), found["estimator"], strict=True):
        alone = make_pipeline(clone(routed[0]), AROWClassifier(random_state=0))
        alone.fit(frame.iloc[train], y[train], arowclassifier__sample_weight=weight[train])
        assert np.array_equal(alone.predict_proba(frame), estimator.predict_proba(frame))
        alone.fit(frame.iloc[train], y[train])
        assert not np.array_equal(alone.predict_proba(frame), estimator.predict_proba(frame))


def test_the_diagram_of_scikit_learn_shows_the_views(model):
    before = estimator_html_repr(make_pipeline(ViewEncoder({"<b>": "age"}), Perceptron()))
    assert "sk-parallel" not in before.split("</style>")[-1]
    shown = estimator_html_repr(model).split("</style>")[-1]
    parts = shown.split("sk-parallel-item")
    assert len(parts) == 3
    assert all(text in parts[1] for text in ("user", "1 numeric, 1 categorical", "age\ncity<"))
    assert all(text in parts[2] for text in ("dim", "3 numeric", "dim_0\ndim_1\ndim_2<"))
    odd = pa.table({"<i>x": [1.0, 2.0]})
    odd_model = make_pipeline(ViewEncoder({"<b>": ["<i>x"]}), Perceptron()).fit(odd, [0, 1])
    assert "&lt;i&gt;x" in estimator_html_repr(odd_model)
    assert "<i>x" not in estimator_html_repr(odd_model)
