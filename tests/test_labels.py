"""Places of labels among the classes."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crossview
from crossview.errors import InputError
from crossview.estimators.targets import read_labels
from crossview.labels import known_labels, places_of


@pytest.mark.parametrize(
    "classes",
    [
        np.array([0, 1], dtype=np.int8),
        np.array([-1, 1]),
        np.array([0.5, 2.5]),
        np.array([False, True]),
        np.array(["ham", "spam"]),
        np.array([7]),
        np.array(["a", "b", "c"]),
        np.array(["no", "yes"], dtype=object),
    ],
    ids=lambda classes: f"{classes.dtype}-{len(classes)}",
)
def test_the_place_of_each_label(classes):
    places = np.random.default_rng(0).integers(0, len(classes), 50)
    found = places_of(classes[places], classes)
    assert found.dtype == np.intp
    assert found.tolist() == places.tolist()


@pytest.mark.parametrize("labels", [[1, None, 0], [1.0, np.nan, 0.0], ["a", None, "b"], [1, 0]])
def test_labels_that_are_known(labels):
    known = [label for label in labels if label is not None and label == label]
    assert known_labels(np.array(labels, dtype=object)).tolist() == known
    if None not in labels:
        assert known_labels(np.array(labels)).tolist() == known


def test_labels_of_which_each_is_another_one():
    """As in a batch of a stream with many classes, of which scikit-learn warns."""
    assert len(read_labels(np.arange(30.0), 30, "Learner")) == 30
    with pytest.raises(InputError, match="Unknown label type: continuous"):
        read_labels(np.arange(30) + 0.5, 30, "Learner")


@pytest.mark.parametrize(
    ("labels", "kinds"),
    [
        (pd.date_range("2020", periods=2, tz="Europe/Berlin"), "Timestamp"),
        (pd.Series([True, 0], dtype=object), "bool, int"),
    ],
)
def test_labels_of_a_type_that_is_none_of_classes(labels, kinds):
    with pytest.raises(InputError, match=rf"Unknown label type: {kinds}. .* by .astype\(str\)"):
        read_labels(labels, 2, "Learner")


MISSING = {
    "boolean": (pd.Series([True, False, None] * 40, dtype="boolean"), [False, True]),
    "Int64": (pd.Series([2, 1, None] * 40, dtype="Int64"), [1, 2]),
    "int8[pyarrow]": (pd.Series([2, 1, None] * 40, dtype="int8[pyarrow]"), [1, 2]),
    "Int64 array": (pd.array([2, 1, None] * 40, dtype="Int64"), [1, 2]),
    "string": (pd.Series(["v", "u", None] * 40, dtype="string"), ["u", "v"]),
    "category": (pd.Series(["v", "u", None] * 40, dtype="category"), ["u", "v"]),
    "category of Int64": (pd.Series([2, 1, None] * 40, dtype="Int64").astype("category"), [1, 2]),
    "object": (pd.Series([True, False, pd.NA] * 40, dtype=object), [False, True]),
    "polars": (pl.Series([2, 1, None] * 40), [1, 2]),
    "arrow": (pa.array([2, 1, None] * 40), [1, 2]),
    "floats": (np.array([2.0, 1.0, np.nan] * 40), [1.0, 2.0]),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_label_makes_no_other_classes(name):
    y, classes = MISSING[name]
    x, z = np.random.default_rng(0).normal(size=(2, 120))
    x += np.tile([2.0, -2.0, 0.0], 40)
    X = pa.table({"a__x": x, "b__z": z})
    answer = crossview.train(X, y, model="arow")
    assert repr(answer.fitted.classes_.tolist()) == repr(classes)
    assert answer.rows == 80
    assert len(crossview.describe(X, y).columns) == 2
    compared = crossview.compare(X, y, models=["arow"], cv=2, baselines=[])
    assert repr(compared.classes) == repr(classes)
    later = pa.table({"a__x": x + 0.5, "b__z": z})
    assert crossview.evaluate(answer, later, y, views=False).n_rows == 80
    if isinstance(y, pd.Series):
        column = crossview.train(X.to_pandas().assign(y=y), "y", model="arow")
        assert repr(column.fitted.classes_.tolist()) == repr(classes)
