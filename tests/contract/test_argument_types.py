"""An argument of a wrong type is an error of one line, which names it and what to give."""

import numpy as np
import pandas as pd
import pytest

import crossview
from crossview import InputError

TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["u__a", "v__b"])
TABLE["y"] = (TABLE["u__a"] > 0).astype(int)
PATHS = [("train", "output"), ("train", "init"), ("train", "checkpoint"), ("train", "log")]
PATHS += [("predict", "output"), ("weights", "output"), ("convert", "output"), ("export", "path")]
FLAGS = [("train", "in_order"), ("compare", "in_order"), ("compare", "ablate")]
FLAGS += [("export", "prune"), ("evaluate", "views")]
OBJECTS = [("compare", "extend"), ("compare", "observer")]
OBJECTS += [("model_card", "evaluation")]
NAMES = [(verb, "task") for verb in ("train", "compare", "describe", "convert")]
NAMES += [(verb, "time") for verb in ("train", "compare", "describe", "evaluate")]
ROWS = [(verb, "y") for verb in ("train", "compare", "describe", "evaluate", "convert")]
ROWS += [("compare", "groups"), ("train", "weight"), ("evaluate", "by"), ("predict", "keep")]


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    trained = crossview.train(TABLE, "y", model="pa:squared")
    rows, output = {"X": TABLE, "y": "y"}, tmp_path_factory.mktemp("files") / "rows.svm"
    given = dict.fromkeys(["train", "compare", "describe"], rows)
    given |= {"predict": {"model": trained, "X": TABLE}, "evaluate": {"model": trained, **rows}}
    given |= {"convert": {**rows, "output": output}, "load": {"path": output}}
    given |= {"export": {"model": trained, "path": output.with_suffix(".py")}}
    return given | {verb: {"model": trained} for verb in ("weights", "model_card")}


@pytest.mark.parametrize(
    ("verb", "name", "value"),
    [(*at, 3) for at in [*PATHS, *OBJECTS, *NAMES, *ROWS, *FLAGS, ("load", "path")]]
    + [(*at, "zz") for at in [*OBJECTS, *FLAGS]]
    + [(*at, TABLE) for at in [*ROWS, *PATHS, *NAMES]]
    + [("predict", "explain", True), ("predict", "top", 2.0), ("train", "classes", 3)],
)
def test_an_argument_of_a_wrong_type_is_an_error_of_one_line(given, verb, name, value):
    with pytest.raises(InputError, match=rf"^{name}= is an? \w+( of 2 dimensions)?; give "):
        getattr(crossview, verb)(**given[verb] | {name: value})


def test_a_list_of_files_holds_files(given):
    with pytest.raises(InputError, match="X is a list that holds an int; give names of files"):
        crossview.describe([3], "y")
    with pytest.raises(InputError, match=r"holds a dict; .* pyarrow\.Table\.from_pylist\(X\)"):
        crossview.predict(given["predict"]["model"], [{"a": 1.0}])
