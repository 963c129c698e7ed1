"""What a program of a user is told by mypy, which checks this file: no public name is Any."""

from typing import Any, assert_type

import numpy as np
import pyarrow as pa

import crossview
from crossview import (
    InputError,
    MultiView,
    MultiViewPAClassifier,
    ViewEncoder,
    ViewLayout,
    compare,
    describe,
    load,
    open_table,
    predict,
    train,
)
from crossview.comparing.result.comparison import Comparison
from crossview.describing.describe import Description
from crossview.readers.source import Source
from crossview.scoring.models.trained import Trained


def program(X: np.ndarray, y: np.ndarray, table: Any) -> None:
    """Use what the README uses; it is only checked, never run."""
    views = assert_type(MultiView({"a": X[:, :2], "b": X[:, 2:]}), MultiView)
    assert_type(views.layout, ViewLayout)
    model = MultiViewPAClassifier(C=0.1).fit(views, y)
    assert_type(model, MultiViewPAClassifier)
    assert_type(model.partial_fit(views, y), MultiViewPAClassifier)
    assert_type(model.predict(views), np.ndarray)
    assert_type(ViewEncoder().fit_transform(table), MultiView)
    assert_type(compare(table, "y"), Comparison)
    assert_type(compare(table, "y").best.value, float)
    assert_type(train(table, "y"), Trained)
    assert_type(train(table, "y").accuracy, float | None)
    assert_type(describe(table, "y"), Description)
    assert_type(open_table("a.csv", null=["NA"]), Source)
    assert_type(crossview.__version__, str)
    assert_type(InputError("wrong", row=3).row, int | None)
    assert_type(predict("model.safetensors", table), pa.Table)
    assert_type(predict("model.safetensors", table, "scores.csv"), int)
    print(predict("model.safetensors", table)["prediction"][0])
    loaded = load("model.safetensors")
    assert_type(loaded.predict(table), np.ndarray)
    print(loaded.predict_proba(table), loaded.coef_)
    row = {"user": {"age": 0.3}}
    assert_type(model.predict_proba_one(row), dict[Any, float])
    assert_type(model.predict_proba(views), np.ndarray)
    assert_type(model.learn_one(row, "click"), MultiViewPAClassifier)
