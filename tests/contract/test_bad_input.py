"""Bad input is one clear line that says what is wrong, and where."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from contract.instances import COLUMN_NAMES, has_kernel, make_rows, new, params, targets
from crossview import (
    InputError,
    MultiView,
    MultiViewPAClassifier,
    OnlineNewtonRegressor,
    PassiveAggressiveClassifier,
    ViewScaler,
)
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
    "labels of two types": (
        lambda m, X, y: m.fit(X, np.array([1, "b"], dtype=object)[np.arange(len(y)) % 2]),
        r"labels of different types \(int, str\)",
    ),
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


def sparse_with(change):
    """Return a CSR matrix of 3 rows and 12 columns after a change that SciPy does not check."""
    X = sp.csr_array(np.arange(1.0, 37.0).reshape(3, 12))
    getattr(X, change[0])[change[1]] = change[2]
    return X


BAD_INDICES = {
    "negative": (("indices", 14, -1), "row 1: X .* column index -1, and it has 12 columns"),
    "too large": (("indices", 30, 12), "row 2: X .* column index 12, and it has 12 columns"),
    "far": (("indices", 0, 2**31 - 1), "column index 2147483647"),
    "pointers fall": (("indptr", 1, 30), "indptr falls from 30 to 24 in row 1"),
    "pointers past the end": (("indptr", 3, 10**6), "from 0 to 1000000; it takes 4, from 0 to"),
    "pointers from elsewhere": (("indptr", 0, -7), "from -7 to 36"),
}


@parametrize_pairwise(name=params(each_loop=True), what=list(BAD_INDICES))
def test_indices_out_of_range_reach_no_loop(name, what):
    change, message = BAD_INDICES[what]
    bad, good = sparse_with(change), sparse_with(("indices", 0, 0))
    learner = new(name)
    y = targets(learner, np.array(["ant", "bee", "ant"]))
    calls = [lambda: learner.fit(bad, y), lambda: learner.fit(good, y).predict(bad)]
    if hasattr(learner, "partial_fit"):
        calls.append(lambda: learner.partial_fit(bad, y))
    for call in calls:
        with pytest.raises(InputError, match=message) as info:
            call()
        assert "\n" not in str(info.value)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_every_sparse_format_is_checked(kind):
    good = sp.csr_array(np.arange(1.0, 37.0).reshape(3, 12)).asformat(kind)
    bad = good.copy()
    (bad.row if kind == "coo" else bad.indices)[-1] = 2**30
    learner = PassiveAggressiveClassifier().fit(good, [0, 1, 0])
    for call in (
        learner.predict,
        lambda X: learner.fit(X, [0, 1, 0]),
        lambda X: MultiView({"a": X}),
    ):
        with pytest.raises(InputError, match=r"index 1073741824, and it has \d+ (rows|columns)"):
            call(bad)
    scaler, views = ViewScaler(), MultiView({"a": good})
    views.matrix.indices[-1] = 2**30
    for call in (scaler.fit, scaler.fit(MultiView({"a": good})).transform):
        with pytest.raises(InputError, match="column index 1073741824"):
            call(views)


@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[s]"])
def test_dates_and_durations_are_no_numbers(kind):
    X, y = np.full((4, 2), "NaT", kind), [0, 1, 0, 1]
    with pytest.raises(InputError, match=r"X holds \w+64\[s\], which is not numeric"):
        PassiveAggressiveClassifier().fit(X, y)
    with pytest.raises(InputError, match="the target is not a number"):
        OnlineNewtonRegressor().fit(np.eye(4), np.arange(4).astype(kind))
    with pytest.raises(InputError, match="row 2: the label is missing"):
        PassiveAggressiveClassifier().fit(np.eye(4), np.array([0, 1, "NaT", 1], kind))


def test_complex_targets_are_refused():
    with pytest.raises(InputError, match="the target is not a number"):
        OnlineNewtonRegressor().fit(np.eye(4), np.arange(4) + 1j)


@pytest.mark.parametrize("container", [list, tuple])
def test_tables_without_the_names_of_their_views_are_refused(container):
    X = container([np.eye(4), np.ones((4, 2))])
    with pytest.raises(InputError, match=r"a (list|tuple) of 2 tables; give their views names"):
        PassiveAggressiveClassifier().fit(X, [0, 1, 0, 1])


def test_a_view_without_columns_to_choose_is_refused():
    with pytest.raises(InputError, match="view 'a': columns are a slice, positions or names"):
        MultiViewPAClassifier({"a": None}).fit(np.eye(4), [0, 1, 0, 1])
