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
from contract.instances import CASES, assert_same_state, new, params
from crossview import (
    AROWClassifier,
    InputError,
    MultiViewMachineRegressor,
    MultiViewPAClassifier,
    OnlineStackingClassifier,
    PassiveAggressiveClassifier,
    Pipeline,
    UnusedColumnsWarning,
    ViewEncoder,
    ViewScaler,
    make_pipeline,
)
from crossview.catalog.learners import LEARNERS
from crossview.catalog.names import load_object

CITIES = ["Köln", "Oslo", "", "São Paulo", "köln"]
WORDS = "a of cheap flights to Oslo weather in Bonn Köln ünïcode x1 WWW http://x.y 42 !".split()
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


def learners_of_catalog():
    """Every learner of the catalog that learns single rows, with the parameters of its entry."""
    found = []
    for entry in LEARNERS:
        own = entry.for_views(list(VIEWS))
        learner = own.make(**({"random_state": 0} if own.random else {}))
        learner.set_params(**own.stream_params)
        if hasattr(learner, "partial_fit") and "{" not in entry.name:
            found.append(pytest.param(learner, id=f"{entry.task}-{entry.name}"))
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
    rows, _ = make_stream(140, seed=1)
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


@pytest.mark.parametrize("learner", learners_of_catalog())
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
