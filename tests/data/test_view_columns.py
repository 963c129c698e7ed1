"""Which view a column is in, where the user says it and where the names do."""

import numpy as np
import pandas as pd
import pytest

from crossview import (
    FactorizationMachineClassifier,
    MultiViewPAClassifier,
    OnlineStackingClassifier,
    UnusedColumnsWarning,
    ViewEncoder,
)
from crossview.encoding.table_columns import predictors
from crossview.encoding.view_columns import columns_of_views, suggested_views
from crossview.errors import InputError
from crossview.readers.source import open_source

PREFIXED = ["user__age", "ad__size", "user__income"]
FITTED = [
    MultiViewPAClassifier(),
    FactorizationMachineClassifier(n_epochs=1, early_stopping=False),
    OnlineStackingClassifier(),
    ViewEncoder(),
]


def table_of(names):
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(20, len(names))), columns=names)


def columns_of(views, names):
    groups = columns_of_views(views, names).items()
    return {view: [name for name, form in group if not form] for view, group in groups}


def test_prefixes_of_the_names_are_suggested_as_views():
    names = ["user_age", "user_city", "ad_text", "ad_size", "hour"]
    suggested = suggested_views(names)
    assert suggested == {"user": "user_*", "ad": "ad_*"}
    assert columns_of(suggested, names) == {"user": names[:2], "ad": names[2:4]}


@pytest.mark.parametrize(
    "names", [["age", "city"], ["user_age", "user_city", "hour"], [f"c{i}_x" for i in range(40)]]
)
def test_names_without_a_few_common_prefixes_suggest_nothing(names):
    assert suggested_views(names) == {}
    assert columns_of(None, names) == {"all": names}


def test_no_columns_are_no_view():
    with pytest.raises(InputError, match="no column to learn from"):
        columns_of_views(None, [])


@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
def test_fit_takes_prefixes_as_views(model):
    y = np.arange(20) % 2
    model.fit(table_of(PREFIXED), y)
    assert model.layout_.names == ("user", "ad")
    columns = {view: list(some) for view, some in model.view_columns().items()}
    by_name = {"user": [PREFIXED[0], PREFIXED[2]], "ad": [PREFIXED[1]]}
    by_position = {"user": [0, 2], "ad": [1]}
    assert columns in (by_name, by_position)
    assert model.fit(table_of(["age", "size"]), y).layout_.names == ("all",)


@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
def test_fit_says_which_columns_without_a_prefix_are_not_used(model):
    X, y = table_of([*PREFIXED, "hour"]), np.arange(20) % 2
    with pytest.warns(UnusedColumnsWarning, match=r"not used.*: hour; views="):
        model.fit(X, y)
    assert model.layout_.names == ("user", "ad")
    model.set_params(views={"all": ["user__age", "hour"]}).fit(X, y)  # who names them is not told
    assert model.layout_.names == ("all",)


def test_views_of_a_table_with_labels_may_be_slices():
    table = table_of(["x", "y", "z"])
    others = predictors(open_source(table.assign(label=0)), "label", {"a": slice(0, 2)})
    assert others.column_names == ["x", "y", "z"]
