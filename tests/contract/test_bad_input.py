"""Bad input is one clear line that says what is wrong, and where."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from contract.instances import COLUMN_NAMES, has_kernel, make_rows, new, params, targets
from grids import parametrize_pairwise

CONTAINERS = {
    "array": np.asarray,
    "csr": sp.csr_array,
    "pandas": lambda X: pd.DataFrame(X, columns=COLUMN_NAMES),
}


@parametrize_pairwise(name=params(each_loop=True), container=CONTAINERS, word=["NaN", "infinity"])
def test_what_is_not_finite_is_named_with_row_and_column(name, container, word):
    X, y = make_rows()
    X[17, 6] = np.nan if word == "NaN" else np.inf
    learner = new(name)
    with pytest.raises(ValueError, match=r"row 17, column '(6|2|c6)'") as info:
        learner.fit(CONTAINERS[container](X), targets(learner, y))
    assert word in str(info.value)
    assert "\n" not in str(info.value)


BAD = {
    "one class": (lambda m, X, y: m.fit(X, ["a"] * len(y)), "one class, 'a'"),
    "no classes": (lambda m, X, y: m.partial_fit(X, y), "classes= is required"),
    "other classes": (
        lambda m, X, y: m.partial_fit(X, y, np.unique(y)).partial_fit(X, y, ["x", "y"]),
        "not the same as in the first call",
    ),
    "unknown label": (lambda m, X, y: m.partial_fit(X, y, ["ant", "fly"]), "'bee'.* not among"),
    "missing label": (
        lambda m, X, y: m.fit(X, [None if i == 4 else v for i, v in enumerate(y)]),
        "row 4: the label is missing",
    ),
    "balanced": (
        lambda m, X, y: m.set_params(class_weight="balanced").partial_fit(X, y, np.unique(y)),
        "needs the labels of all rows",
    ),
    "text column": (
        lambda m, X, y: m.fit(pd.DataFrame(X, columns=COLUMN_NAMES).assign(c3="text"), y),
        "column 'c3': has the type string, which is not numeric",
    ),
    "too few columns": (lambda m, X, y: m.fit(X, y).predict(X[:, :5]), "5 features"),
    "negative weight": (lambda m, X, y: m.fit(X, y, sample_weight=-np.ones(len(y))), "[Nn]egative"),
    "epochs": (lambda m, X, y: m.set_params(n_epochs=0).fit(X, y), "n_epochs"),
}


@pytest.mark.parametrize("what", BAD)
def test_the_message_is_one_clear_line(stream_classifier_of_loop, what):
    X, y = make_rows()
    learner = stream_classifier_of_loop
    if has_kernel(learner) and what == "missing label":
        return  # an unlabeled row is learned
    if what == "epochs" and "n_epochs" not in learner.get_params():
        return
    call, message = BAD[what]
    with pytest.raises(ValueError, match=message) as info:
        call(learner, X, y)
    assert "\n" not in str(info.value) or what == "too few columns"  # scikit-learn's message
