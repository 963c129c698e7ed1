"""The container of views that scikit-learn slices by rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.utils import _safe_indexing

from crossview import InputError, MultiView, ViewLayout

P, L = np.arange(12.0).reshape(4, 3), np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "key",
    [
        [0, 2],
        np.array([3, 1]),
        np.array([True, False, True, False]),
        slice(1, 3),
        2,
        -1,
        ([0, 3], Ellipsis),
    ],
    ids=str,
)
def test_rows_are_selected_with_their_present_mask(key, sparse):
    present = np.array([[1, 1], [1, 0], [0, 1], [1, 1]], dtype=bool)
    X = MultiView({"page": sp.csr_array(P) if sparse else P, "link": L}, present=present)
    part = X[key]
    rows = key[0] if isinstance(key, tuple) else [key] if isinstance(key, int) else key
    assert isinstance(part, MultiView)
    dense = part.matrix.toarray() if sparse else part.matrix
    np.testing.assert_array_equal(dense, np.hstack([P, L])[rows])
    np.testing.assert_array_equal(part.present, present[rows])
    assert part.layout == X.layout


def test_scikit_learn_indexes_a_multiview():
    X = MultiView({"page": P, "link": L})
    np.testing.assert_array_equal(_safe_indexing(X, [1, 3]).matrix, np.hstack([P, L])[[1, 3]])


def test_views_are_read_and_selected_by_name():
    frame = pd.DataFrame(P, columns=["x", "y", "z"])
    X = MultiView({"page": frame, "link": pl.DataFrame(L, schema=["u", "v"])})
    assert X.feature_names == {"page": ("x", "y", "z"), "link": ("u", "v")}
    np.testing.assert_array_equal(X["link"], L)
    back = X.select(["link", "page"])
    assert back.keys() == ("link", "page")
    np.testing.assert_array_equal(back.matrix, np.hstack([L, P]))
    assert (X.shape, len(X), X.ndim, X.dtype) == ((4, 5), 4, 2, np.float64)
    arrow = MultiView({"link": pa.table({"u": L[:, 0], "v": L[:, 1]})})
    np.testing.assert_array_equal(arrow.matrix, L)
    assert repr(back) == "MultiView(4 rows, link: 2, page: 3)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MultiView([P, L]), "a mapping of view name to columns"),
        (lambda: MultiView({"a": P, "b": L[:2]}), r"different numbers of rows \(a: 4, b: 2\)"),
        (lambda: MultiView({"a": P[0]}), r"1 dimension\(s\)"),
        (lambda: MultiView({"a": [["x"]]}), "not a number"),
        (lambda: MultiView({"a": P}, present=[1, 1, 1, 1]), "booleans of shape"),
        (lambda: MultiView({"a": P}, feature_names={"a": ["x"]}), "1 feature names for the 3"),
        (lambda: MultiView({"a": P})[0, 1], "indexed by rows"),
        (lambda: MultiView({"a": P})["b"], "no view 'b'"),
        (lambda: MultiView.from_matrix(P, ViewLayout(["a"], [2])), "3 columns, but"),
    ],
)
def test_impossible_containers_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("kind", ["complex128", "datetime64[s]", "timedelta64[s]"])
def test_numbers_with_an_imaginary_part_or_a_unit_are_refused(kind):
    X = np.ones((3, 2), kind)
    with pytest.raises(InputError, match=f"view 'b' holds {kind}".replace("[", r"\[")):
        MultiView({"a": np.ones((3, 1)), "b": X})
    if kind == "complex128":
        with pytest.raises(InputError, match="view 'b' holds complex128"):
            MultiView({"a": np.ones((3, 1)), "b": sp.csr_array(X)})


def test_an_estimator_that_knows_no_views_is_told_where_the_columns_are():
    X = MultiView({"a": np.eye(4), "b": np.ones((4, 1))})
    for call in (np.asarray, lambda X: LogisticRegression().fit(X, [0, 1, 0, 1])):
        with pytest.raises(InputError, match=r"X\.matrix, the columns of all views side by side"):
            call(X)
    LogisticRegression().fit(X.matrix, [0, 1, 0, 1])
