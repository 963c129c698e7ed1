"""Raw rows one by one, through encoder and learner, give the same bits as tables of these rows."""

import datetime
import json
import math
import pickle

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline as PlainPipeline

import crossview
from contract.instances import assert_same_state, new
from crossview import (
    AROWClassifier,
    InputError,
    MultiViewMachineRegressor,
    MultiViewPAClassifier,
    PassiveAggressiveClassifier,
    Pipeline,
    UnusedColumnsWarning,
    ViewEncoder,
    ViewScaler,
    make_pipeline,
)
from crossview.catalog.learners import LEARNERS

CITIES = ["Köln", "Oslo", "", "São Paulo", "köln"]
WORDS = ["a", "of", "cheap", "flights", "to", "Oslo", "weather", "in", "Bonn", "Köln"]
WORDS += ["ünïcode", "x1", "WWW", "http://x.y", "42", "!"]
SCHEMA = pa.schema(
    [
        ("user__city", pa.string()),
        ("user__age", pa.float64()),
        ("user__id", pa.int64()),
        ("user__old", pa.bool_()),
        ("text__body", pa.string()),
        ("text__title", pa.string()),
        ("time__seen", pa.string()),
        ("time__day", pa.timestamp("us")),
        ("n__a", pa.float64()),
        ("n__b", pa.float64()),
        ("n__code", pa.float64()),
    ]
)
VIEWS = {
    "user": "user__*",
    "body": "text__body",
    "letters": ["chars(text__title)", "shape(text__title)"],
    "time": "time__*",
    "n": "n__*",
}
OPTIONS = {
    "text": ["text__body"],
    "categorical": ["user__id", "n__code"],
    "date": ["time__seen"],
    "hash_bits": 5,  # so that values collide
}


def make_stream(n=60, seed=0, classes=2):
    """Rows with all kinds of columns, in which each cell and each view may be missing."""
    rng = np.random.default_rng(seed)

    def text(most):
        return " ".join(rng.choice(WORDS, rng.integers(most)).tolist())

    rows = []
    for t in range(n):
        row = {
            "user": {
                "city": CITIES[rng.integers(5)],
                "age": float(rng.normal(40, 9)),
                "id": int(rng.integers(9)),
                "old": bool(rng.integers(2)),
            },
            "text": {"body": text(9), "title": text(4)},
            "time": {
                "seen": f"2025-0{rng.integers(1, 9)}-11 {rng.integers(10, 24)}:30",
                "day": datetime.datetime(2025, 1, 1 + t % 28, t % 24, 5, 6),
            },
            "n": {
                "a": float(rng.normal()),
                "b": float(rng.integers(3)),
                "code": float(rng.integers(3)) + 0.5 * (t % 2),
            },
        }
        if t:
            for own in row.values():
                for name in own:
                    if rng.random() < 0.2:
                        own[name] = None if rng.random() < 0.5 else math.nan
                for name in [name for name in own if rng.random() < 0.1]:
                    del own[name]
            for view in [view for view in row if rng.random() < 0.15]:
                if rng.random() < 0.5:
                    row[view] = None
                else:
                    del row[view]
        rows.append(row if t % 9 else row | {} if t < 9 else {})
    labels = [["ant", "bee", "cat"][int(k)] for k in rng.integers(classes, size=n)]
    labels[:2] = ["ant", "bee"]
    return rows, labels


def flat(row):
    return {
        f"{view}__{name}": value for view, own in row.items() if own for name, value in own.items()
    }


def table_of(rows):
    """A table of the rows, with null where there is nothing."""
    return pa.Table.from_pylist(
        [
            {name: None if value != value else value for name, value in flat(row).items()}
            for row in rows
        ],
        schema=SCHEMA,
    )


def make_encoder(**options):
    return ViewEncoder(VIEWS, **{**OPTIONS, **options})


def learners_of_catalog(*, each_module=False):
    """Every learner of the catalog that learns single rows, with the parameters of its entry.

    ``each_module=True`` leaves all but the first of a module and a task to `make test-all`.
    """
    found, modules = [], set()
    for entry in LEARNERS:
        own = entry.for_views(list(VIEWS))
        learner = own.make(**({"random_state": 0} if own.random else {}))
        learner.set_params(**own.stream_params)
        if hasattr(learner, "partial_fit") and "{" not in entry.name:
            module = type(learner).__module__, entry.task
            marks = [pytest.mark.exhaustive] if each_module and module in modules else []
            modules.add(module)
            found.append(pytest.param(learner, id=f"{entry.task}-{entry.name}", marks=marks))
    return found


def encoded(encoder, rows):
    """What a table of each row becomes, row by row, as lists."""
    for row in rows:
        X = encoder.partial_fit_transform(table_of([row]))
        yield X.matrix.indices.tolist(), X.matrix.data.tolist(), X.present


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bins": 4},
        {"tf_idf": False, "scale_views": False},
        {"standardize": False, "remember_names": 7, "ngram_range": (1, 2)},
    ],
    ids=str,
)
def test_a_row_is_encoded_as_the_table_of_this_row(options):
    rows, _ = make_stream(100, seed=1)
    # numbers at and beyond the knots, too
    rows[50:60] = [{"n": {"a": a}} for a in (-9.0, 0.0, 99.0, 0.0, -0.0, 1e99, -1e-300, 3, 7, 2.5)]
    tables, single = make_encoder(**options), make_encoder(**options)
    expected = encoded(tables, rows)
    for t, row in enumerate(rows):
        x = single.partial_fit_transform_one(row if t % 2 else flat(row))
        columns, values, present = next(expected)
        assert (x.columns, x.values) == (columns, values)
        assert x.present == ([True] * len(VIEWS) if present is None else present[0].tolist())
        if t == 70:  # a model file, and a copy in another process
            single = pickle.loads(pickle.dumps(single))
            other = make_encoder(**options)
            other.set_header(single.get_header())
            other.set_state(single.get_state())
            single = other
    state = tables.get_state()
    for name, array in single.get_state().items():
        np.testing.assert_array_equal(array, state[name], err_msg=name)
    for row in rows[:20]:  # without learning
        X = tables.transform(table_of([row]))
        x = single.transform_one(row)
        assert (x.columns, x.values) == (X.matrix.indices.tolist(), X.matrix.data.tolist())


@pytest.mark.parametrize("options", [{}, {"bins": None}, {"standardize": False}], ids=str)
def test_a_row_without_texts_is_encoded_as_the_table_of_this_row(options):
    """By the loop of tables: numbers between knots, slots that are shared, views that are gone."""
    rng = np.random.default_rng(4)
    names = {
        "u__a": "n",
        "u__b": "n",
        "u__c": "s",
        "u__d": "s",
        "u__e": "s",
        "v__f": "n",
        "w__g": "s",
    }
    kinds = {"n": pa.float64(), "s": pa.string()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in names.items()])

    def number(t):  # at the knots, and between them
        return float(rng.integers(-3, 9)) / 3 if t % 3 else float(rng.normal())

    rows = []
    for t in range(400):
        row = {
            name: number(t) if kind == "n" else f"v{rng.integers(5)}"
            for name, kind in names.items()
            if rng.random() > 0.15
        }
        rows.append(
            row if t else {name: 1.0 if kind == "n" else "v0" for name, kind in names.items()}
        )
    tables, single = (ViewEncoder(hash_bits=2, **options) for _ in range(2))
    for row in rows:
        X = tables.partial_fit_transform(pa.Table.from_pylist([row], schema=schema))
        assert_rows(X, [single.partial_fit_transform_one(row)], n_views=3)
    assert_same_state(tables, single)
    for row in rows[::4]:
        assert_rows(
            tables.transform(pa.Table.from_pylist([row], schema=schema)),
            [single.transform_one(row)],
            n_views=3,
        )


@pytest.mark.parametrize("options", [{}, {"tf_idf": False, "remember_names": 7}], ids=str)
def test_rows_are_encoded_together_as_one_by_one(options):
    """Also where the cells of a column are of several types, as in JSON."""
    rows, _ = make_stream(120, seed=3)
    rows = [json.loads(json.dumps(row, default=str)) for row in rows]  # dates are strings
    single = make_encoder(**options).partial_fit(table_of(make_stream(5)[0]))
    together = pickle.loads(pickle.dumps(single))
    for t, row in enumerate(rows):
        own = row.get("user") or {}
        if t % 3 == 0 and own.get("id"):
            own["id"] = [3, 2.5, True, "3", 7.0][t % 5]
        if own.get("age"):
            own["age"] = [31, 40.5, 2**60, -0.0, 1e-300][t % 5]
    for lo, hi in ((0, 1), (1, 1), (1, 60), (60, 120)):
        expected = [single.partial_fit_transform_one(row) for row in rows[lo:hi]]
        X = together.partial_fit_transform(together.table_of([flat_or(r) for r in rows[lo:hi]]))
        assert_rows(X, expected)
        assert_rows(together.transform(together.table_of(rows)), map(single.transform_one, rows))
    assert_same_state(single, together)
    for row, message in (
        ({"user": {"age": "old"}}, "'old' is not a number"),
        ({"user": {"age": 31}, "user__age": 32}, "is there twice"),
        ({"n": {"a": 10**400}}, "too large"),
        ({"n": {"a": -1e101}}, "too large"),
        ({"user": {"city": 7}}, "7 is a number, and the column holds text: give it in quotes"),
        ({"time": {"seen": "soon"}}, "'soon' is no date as in"),
        ({"time": {"day": datetime.datetime(2025, 1, 1)}}, "dates of several types"),
        ({"user": "Oslo"}, "'Oslo' has no columns"),
    ):
        with pytest.raises(InputError, match=message):
            together.partial_fit_transform(together.table_of([*rows[:30], row]))
    assert_same_state(single, together)


def flat_or(row):
    """Every other row without views."""
    return flat(row) if len(repr(row)) % 2 else row


def assert_rows(X, expected, n_views=5):
    bounds = X.matrix.indptr.tolist()
    for t, (lo, hi, row) in enumerate(zip(bounds, bounds[1:], expected, strict=False)):
        assert X.matrix.indices[lo:hi].tolist() == row.columns
        assert X.matrix.data[lo:hi].tolist() == row.values
        assert row.present == ([True] * n_views if X.present is None else X.present[t].tolist())


@pytest.mark.parametrize("learner", learners_of_catalog(each_module=True))
def test_learners_of_the_catalog_learn_and_predict_single_rows(learner):
    n_classes = 2 if getattr(learner, "update", None) == "published" else 3
    rows, labels = make_stream(40, classes=n_classes)
    y = (
        labels
        if is_classifier(learner)
        else [float(len(label)) + i for i, label in enumerate(labels)]
    )
    single = make_pipeline(make_encoder(), clone(learner))
    batches = make_pipeline(make_encoder(), clone(learner))
    assert single.predict_one(rows[0]) is None
    grow = {"new_classes": True} if is_classifier(learner) else {}
    for lo, hi in ((0, 1), (1, 2), (2, 17), (17, 40)):
        for row, target in zip(rows[lo:hi], y[lo:hi], strict=True):
            single.learn_one(row, target)
        batches.partial_fit(table_of(rows[lo:hi]), y[lo:hi], **grow)
        for row in rows[:hi][-5:]:
            table = table_of([row])
            assert single.predict_one(row) == batches.predict(table).tolist()[0]
            if is_classifier(learner):
                p = dict(
                    zip(
                        batches.classes_.tolist(),
                        batches.predict_proba(table)[0].tolist(),
                        strict=True,
                    )
                )
                assert single.predict_proba_one(flat(row)) == p
                score = batches.decision_function(table)[0]
                one = single.score_one(row)
                assert (one if np.ndim(score) == 0 else list(one.values())) == score.tolist()
    assert_same_state(single[-1], batches[-1])
    assert_same_state(single[0], batches[0])


# --- what rows may look like --------------------------------------------------------------


def trained(**options):
    rows, labels = make_stream(40)
    model = make_pipeline(make_encoder(), PassiveAggressiveClassifier(C=0.1, **options))
    return model.partial_fit(table_of(rows), labels, classes=["ant", "bee"])


def test_a_row_that_cannot_be_learned_leaves_no_trace():
    model = trained()
    before = pickle.dumps([step.get_state() for step in model])
    for row, label, message in (
        (
            {"user": {"age": "old"}},
            "ant",
            "column 'user__age': 'old' is not a number",
        ),
        ({"user__age": 32, "user": {"age": 31}}, "ant", "column 'user__age': is there twice"),
        ({"n": {"a": math.inf}}, "ant", "column 'n__a': inf is too large"),
        (
            {"user": {"city": 7}},
            "ant",
            "column 'user__city': 7 is a number, and the column holds text",
        ),
        ({"user": {"city": ["Oslo"]}}, "ant", "column 'user__city'"),
        ({"user": {"city": {"name": "Oslo"}}}, "ant", "column 'user__city': .*is a mapping"),
        ({"user": {"city": object()}}, "ant", "is no text: give text in quotes, or null"),
        ({"time": {"seen": "soon"}}, "ant", "'soon' is no date as in"),
        (
            {"text": {"body": 7}},
            "ant",
            "column 'text__body': 7 is a number, and the column holds text",
        ),
        ({"user": "Oslo"}, "ant", "column 'user': is a view, and 'Oslo' has no columns"),
        (["Oslo"], "ant", "a row is a mapping of names to values, and not a list"),
        ({}, None, "the label is missing"),
        ({}, 7, "of another kind than the classes so far"),
    ):
        with pytest.raises(InputError, match=message) as found:
            model.learn_one(row, label)
        assert found.value.row is None
        if label == "ant":
            with pytest.raises(InputError, match=message):
                model.predict_one(row)
    with pytest.raises(InputError, match="sample_weight=-1"):
        model.learn_one({}, "ant", -1)
    with pytest.raises(InputError, match=r"label 'cat' is not .*classes=.*new_classes=True"):
        model.partial_fit(table_of([{}] * 2), ["ant", "cat"])
    assert pickle.dumps([step.get_state() for step in model]) == before


@pytest.mark.parametrize("n", [63, 64, 100])
def test_a_category_may_be_any_whole_number(n):
    rows = [{"a__id": 2**n + i % 3, "a__x": i / 7} for i in range(12)]
    single, text = (
        make_pipeline(ViewEncoder(categorical="a__id"), PassiveAggressiveClassifier())
        for _ in range(2)
    )
    for i, row in enumerate(rows):
        single.learn_one(row, ["ant", "bee"][i % 2])
        text.learn_one({**row, "a__id": str(row["a__id"])}, ["ant", "bee"][i % 2])
    for row in rows:
        found = single.predict_proba_one(row)
        assert found == single.predict_proba_one({**row, "a__id": str(row["a__id"])})
        assert found == text.predict_proba_one(row)
    with pytest.raises(InputError, match=r"column 'b': 1\d+ is larger than the whole numbers of a"):
        make_pipeline(ViewEncoder(), PassiveAggressiveClassifier()).learn_one({"b": 2**100}, "ant")


def test_a_new_column_is_ignored_and_said_once():
    model = trained()
    expected = model.predict_proba_one({"user": {"city": "Oslo"}})
    row = {"user": {"city": "Oslo", "shoe": 44}, "page": {"size": 3}}
    with pytest.warns(UnusedColumnsWarning, match=r"user__shoe, page__size"):
        first = model.predict_proba_one(row)
    assert first == expected
    assert model.predict_proba_one(row) == expected  # a warning is an error here
    with pytest.warns(UnusedColumnsWarning, match="user__cty.*did you mean 'user__city'"):
        model.predict_one({"user__cty": "Oslo"})
    with pytest.warns(UnusedColumnsWarning) as told:
        model.predict_one({"x" * 100_000: "Oslo"})
    assert len(str(told[0].message)) < 1000


def test_a_mapping_in_place_of_a_cell_is_refused_whatever_came_before():
    encoder = ViewEncoder(numeric=["user__age", "user__size"], categorical=["user__city"])
    row = {"user": {"city": "Oslo", "age": 31, "size": 2}}
    encoder.partial_fit_transform_one({"user": {"city": "Oslo", "age": 31}})
    for _ in range(2):  # the second time the names are known
        for odd in ({"user": row["user"] | {"size": {}}}, {"user__city": "Oslo", "user__size": {}}):
            with pytest.raises(InputError, match=r"user__size.*is a mapping"):
                encoder.transform_one(odd)
        encoder.transform_one(row)
        encoder.transform_one({"user__city": "Oslo", "user__size": 2})


def test_json_rows_of_declared_views_and_plain_names():
    encoder = ViewEncoder({"user": "user_*", "page": ["size"]}, categorical=["user_id"])
    model = make_pipeline(encoder, AROWClassifier())
    lines = [
        '{"user_id": 3, "user_age": 31, "size": 1.5, "spare": "x"}',
        '{"user": {"user_id": 4, "user_age": null}, "size": 2}',
        '{"user": {"user_id": 3}, "page": null}',
    ]
    for line, label in zip(lines, [True, False, True], strict=True):
        model.learn_one(json.loads(line), label)
    assert encoder.specified_views() == {"user": ["user_id", "user_age"], "page": ["size"]}
    X = model[0].transform_one(json.loads(lines[1])).as_views()
    assert X.present is None or X.present.all()
    assert model.predict_one({"page": {"size": 1.5}, "user": {"user_id": 3}}) is True


def test_a_first_row_that_does_not_say_the_kind_of_a_column_is_an_error():
    model = make_pipeline(ViewEncoder(), PassiveAggressiveClassifier())
    with pytest.raises(InputError, match=r"column 'user__age': has no value.* numeric="):
        model.learn_one({"user": {"age": None}}, "ant")
    assert model.predict_one({"user": {"age": None}}) is None
    assert model.predict_proba_one({"user": {"age": 3.0}}) == {}
    with pytest.raises(InputError, match=r"view 'ad' is missing in the first row.*partial_fit"):
        model.learn_one({"user": {"age": 3.0}, "ad": None}, "ant")
    encoder = ViewEncoder(numeric=["user__age"], categorical="ad__id", date=["ad__day=%Y%m%d"])
    model = make_pipeline(encoder, PassiveAggressiveClassifier())
    model.learn_one({"user": {"age": 3.0}, "ad": None}, "ant").learn_one({"ad": {"id": 7}}, "bee")
    assert encoder.kinds() == {"user__age": "numeric", "ad__id": "categorical", "ad__day": "date"}
    assert model.predict_one({"ad": {"id": 7, "day": "20250412"}}) == "bee"
    model = make_pipeline(ViewEncoder(numeric=["user__age"]), PassiveAggressiveClassifier())
    assert model.learn_one({"user": {"age": None}}, "ant").predict_one({}) == "ant"


def test_scaled_views_take_numbers_by_their_position():
    rng = np.random.default_rng(0)
    X = crossview.MultiView({"a": rng.normal(size=(30, 2)), "b": rng.normal(size=(30, 3))})
    model = make_pipeline(ViewScaler(), MultiViewPAClassifier())
    model.partial_fit(X, np.arange(30) % 2, classes=[0, 1])
    x = {"a": X["a"][3].tolist(), "b": {str(i): v for i, v in enumerate(X["b"][3].tolist())}}
    assert model.score_one(x) == model.decision_function(X[3:4])[0]
    whole = model.predict_proba_one({"a": None, "b": [0.0, 1.0, 0.0]})
    assert whole == model.predict_proba_one({"b": {1: 1}})
    for bad, message in (
        ({"a": [1.0, 2.0, 3.0]}, "view 'a' has 2 columns"),
        ({"a": {"x": 1.0}}, "view 'a' has no column 'x'; give its position"),
        ({"a": [1.0, None]}, "None in view 'a' is not a finite number"),
        ({"c": [1.0]}, "'c'"),
    ):
        with pytest.raises(InputError, match=message):
            model.predict_one(bad)


@pytest.mark.parametrize(
    ("name", "lines", "rows"),
    [
        ("t.svm", ["+1 1:0.5 3:2", "-1 2:1 3:1"], [{"1": 0.5, "3": 2}, {"all": {2: 1, 3: 1.0}}]),
        ("t.ffm", ["1 0:1:0.5 1:7:1", "0 1:8:2"], [{"0:1": 0.5, "1:7": 1}, {"1:8": 2}]),
        (
            "t.vw",
            ["1 |a x:2 y |b z", "-1 |b z:3"],
            [{"a": {"x": 2, "y": 1}, "b": {"z": 1}}, {"b": {"z": 3}}],
        ),
    ],
)
@pytest.mark.parametrize("scale_views", [True, False])
def test_rows_of_text_files_are_named_as_in_the_files(name, lines, rows, scale_views, tmp_path):
    path = tmp_path / name
    path.write_text("\n".join(lines * 10) + "\n")
    model = crossview.train(path, model="arow:diagonal", in_order=True).fitted
    model[0].scale_views = scale_views
    expected = crossview.predict(model, path)
    for k, row in enumerate(rows):
        assert model.score_one(row) == expected["score"][k].as_py()
    model.learn_one(rows[0], model.classes_.tolist()[1])
    for bad in ({"x|y": 1.0}, ["x"], {"b": "z"}):
        with pytest.raises(InputError):
            model.predict_one(bad)


# --- the pipeline --------------------------------------------------------------------------


def test_it_is_a_pipeline_of_scikit_learn(tmp_path):
    model = trained()
    assert isinstance(model, PlainPipeline)
    assert "ViewEncoder" in model._repr_html_()
    other = clone(model).set_params(passiveaggressiveclassifier__C=0.5)
    assert other[-1].C == 0.5
    assert other.predict_one({}) is None
    crossview.save(model, tmp_path / "m.safetensors")
    loaded = crossview.load(tmp_path / "m.safetensors")
    row = {"user": {"city": "Oslo"}}
    assert isinstance(loaded, Pipeline)
    for each in (model, loaded):
        each.learn_one(row, "cat")
    assert_same_state(model[-1], loaded[-1])
    assert loaded.predict_proba_one(row) == model.predict_proba_one(row)
    half = crossview.merge([model, loaded])
    assert isinstance(half, Pipeline)
    result = crossview.train(
        table_of(make_stream(60)[0]).append_column("y", pa.array(["ant", "bee"] * 30)),
        "y",
        views=VIEWS,
        model="arow",
    )
    assert (
        result.fitted.predict_one(row)
        == crossview.predict(result.fitted, table_of([row]))["prediction"].to_pylist()[0]
    )


def test_what_a_step_cannot_do_is_said():
    from sklearn.preprocessing import StandardScaler

    plain = make_pipeline(StandardScaler(), PassiveAggressiveClassifier())
    with pytest.raises(InputError, match="'standardscaler' has no partial_fit_transform"):
        plain.partial_fit(np.eye(2), [0, 1], classes=[0, 1])
    with pytest.raises(InputError, match="'standardscaler' takes no single rows"):
        plain.learn_one({"x": 1.0}, 0)
    batch = make_pipeline(ViewEncoder(), crossview.MultiViewSVMPerf())
    assert not hasattr(batch, "learn_one")
    assert not hasattr(batch, "partial_fit")
    assert hasattr(batch, "predict_one")
    numbers = make_pipeline(ViewEncoder(), MultiViewMachineRegressor(early_stopping=False))
    assert not hasattr(numbers, "predict_proba_one")
    assert not hasattr(numbers, "score_one")
    alone = Pipeline([("model", PassiveAggressiveClassifier())])
    assert alone.learn_one({"x": 1.0}, "ant").predict_one({"x": 1.0}) == "ant"


def test_new_classes_grow_in_batches_as_in_single_rows():
    X = np.random.default_rng(0).normal(size=(30, 12))
    y = np.array(["bee", "bee", "cat", "ant", "bee"] * 6)
    for name in ("PA-I", "squared", "KeCo-linear", "stacking", "FM"):
        single, batch = new(name), new(name)
        for x, label in zip(X, y.tolist(), strict=True):
            single.learn_one(x, label)
        batch.partial_fit(X[:2], y[:2], new_classes=True)
        assert batch.classes_.tolist() == ["bee"]
        batch.partial_fit(X[2:], y[2:], new_classes=True)
        assert_same_state(single, batch)
        with pytest.raises(InputError, match="not the same as in the first call"):
            batch.partial_fit(X, y, classes=["ant"], new_classes=True)
    model = new("PA-I").partial_fit(X[:1], ["dog"], classes=["dog", "ant"], new_classes=True)
    assert model.partial_fit(X, y, new_classes=True).classes_.tolist() == [
        *("ant", "bee", "cat", "dog")
    ]


# --- the compiled road -----------------------------------------------------------------------


def named(x):
    return {f"f{j}": value for j, value in enumerate(x.tolist())}


ON_THE_ROAD = ["PA-I", "PA-II-average", "perceptron", "CW", "FM", "FM-regressor-huber"]
ON_THE_ROAD += ["stacking", "stacking-pruned"]


@pytest.mark.parametrize("form", [named, np.asarray], ids=["mapping", "array"])
@pytest.mark.parametrize("name", ON_THE_ROAD)
def test_a_stream_takes_the_compiled_road_until_something_changes(name, form, monkeypatch):
    model = new(name)
    if form is named and name in ("CW", "stacking"):
        pytest.skip("a covariance that grows is low-rank, and an expert names a view")
    if form is named and "views" in model.get_params():
        model.set_params(views=None)
    X = np.random.default_rng(0).normal(size=(40, 12))
    y = np.arange(40) % 2
    for x, label in zip(X[:20], y[:20].tolist(), strict=True):
        model.learn_one(form(x), label)

    def no_table(*args, **options):
        raise AssertionError("a row went the way of tables")

    other = pickle.loads(pickle.dumps(model))  # which has no road yet, nor gets one
    with monkeypatch.context() as patched:
        if name != "stacking-pruned":  # after an expert was dropped, a road is built anew
            patched.setattr(model.__class__, "_read_one", no_table)
        for x, label in zip(X[20:30], y[20:30].tolist(), strict=True):
            guess = model.predict_one(form(x))
            model.learn_one(form(x), label, 0.5)
    for x, label in zip(X[20:30], y[20:30].tolist(), strict=True):
        other = pickle.loads(pickle.dumps(other))
        expected = other.predict_one(form(x))
        other.learn_one(form(x), label, 0.5)
    assert guess == expected
    assert_same_state(model, other)
    # what was bound is not used after a change: of a parameter, the state, the classes
    other = pickle.loads(pickle.dumps(model))
    for each in (model, other):
        if hasattr(each, "C"):
            each.C = 0.01
        each.set_state(each.get_state())
        if is_classifier(each):
            each.set_threshold(0.99)
        for x in X[30:34]:
            each.learn_one(form(x), 1)
        if is_classifier(each):
            each.learn_one(form(X[35]), 2)
        each.learn_one(form(X[36]), 0)
    assert_same_state(model, other)
    assert model.predict_one(form(X[0])) == other.predict_one(form(X[0]))
    wrong = X[0] * 1e200
    with pytest.raises(InputError, match=r"too large or too small|variance of the targets"):
        model.learn_one(form(wrong), 0)
    assert_same_state(model, other)


@pytest.mark.parametrize("change", ["array", "update", "parameter", "class"])
def test_a_change_inside_a_stack_is_seen_by_the_next_row(change):
    model = new("stacking-pruned")
    X = np.random.default_rng(0).normal(size=(40, 12))
    for i, x in enumerate(X):
        model.predict_one(x)
        model.learn_one(x, i % 2)
    before = model.predict_proba_one(X[0])
    expert = next(one.learner for one in model._experts if "W" in one.learner._state)
    if change == "array":
        expert._state["W"] = expert._state["W"] + 1.0
    elif change == "update":
        model._state |= {"v": model._state["v"] + 1.0}
    elif change == "parameter":
        expert.set_threshold(0.9)
    else:
        model.learn_one(X[1], 2)
    found = model.predict_proba_one(X[0])
    expected = pickle.loads(pickle.dumps(model)).predict_proba_one(X[0])
    assert found == expected
    assert (found == before) == (change == "parameter")


def test_an_optimizer_that_needs_all_rows_predicts_single_rows():
    X = np.random.default_rng(0).normal(size=(30, 4))
    model = crossview.FactorizationMachineClassifier(optimizer="lbfgs", random_state=0, n_epochs=2)
    model.fit(X, np.arange(30) % 2)
    for x in X[:5]:
        assert model.predict_one(x) == model.predict(x[None]).tolist()[0]
    with pytest.raises(InputError, match="optimizer='lbfgs' needs all rows"):
        model.learn_one(X[0], 1)
